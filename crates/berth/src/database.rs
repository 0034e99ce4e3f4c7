//! Opening the database, and waiting for it.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use berth_store::Database;

use crate::{args::DatabaseArgs, failure::Failure};

/// Whether a database that is not there is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// The command writes the first revision.
    Create,
    /// There is nothing to read: the address is mistyped, or nothing was ever written.
    Refuse,
}

/// Opens the database.
pub(crate) async fn open(args: &DatabaseArgs, if_missing: IfMissing) -> Result<Arc<dyn Database>, Failure> {
    let address = args.address()?;
    let path = file(&address);
    if let Some(path) = &path
        && if_missing == IfMissing::Refuse
        && !path.exists()
    {
        return Err(Failure::Argument {
            message: format!("there is no database `{}`", path.display()),
            hint: Some(
                "`berth apply` makes one; `--database` or BERTH_DATABASE names one that is elsewhere".to_owned(),
            ),
        });
    }
    if let Some(path) = &path {
        is_database(path)?;
    }
    Ok(berth_store::open(&address, args.sealing.keys()?).await?)
}

/// Looks at the first bytes, because what the database itself says of another file is hard to understand.
fn is_database(path: &Path) -> Result<(), Failure> {
    const BEGINNING: &[u8] = b"SQLite format 3\0";
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BEGINNING.len() as u64).read_to_end(&mut beginning));
    // What cannot be read is said when it is opened.
    if read.is_err() || beginning.is_empty() || beginning == BEGINNING {
        return Ok(());
    }
    Err(Failure::Argument {
        message: format!("`{}` is not a database", path.display()),
        hint: Some(
            "`--database sqlite:PATH` names a file that berth has made, or one that is not there yet".to_owned(),
        ),
    })
}

/// The file of an address, if it is one.
pub(crate) fn file(address: &str) -> Option<PathBuf> {
    let path = address.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    (!path.is_empty()).then(|| Path::new(path).to_owned())
}

/// Runs a future to its end: a command does one thing after the other.
pub(crate) fn wait<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(future)
}
