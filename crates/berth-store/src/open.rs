//! The store that an address names.

use std::{path::Path, sync::Arc};

use crate::{action_store::Database, error::Error, postgres::PostgresStore, sealing::SealingKeys, sqlite::SqliteStore};

/// Opens `sqlite:PATH` or `postgres://…`, and brings the database to the schema of this program.
///
/// # Errors
/// [`Error::Address`], [`Error::NewerSchema`], [`Error::ForeignDatabase`], [`Error::Database`].
pub async fn open(address: &str, keys: SealingKeys) -> Result<Arc<dyn Database>, Error> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        // Three slashes are how other programs write an absolute path.
        let path = path.strip_prefix("//").unwrap_or(path);
        if !path.is_empty() {
            return Ok(Arc::new(SqliteStore::open(Path::new(path), keys).await?));
        }
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        return Ok(Arc::new(PostgresStore::connect(address, keys).await?));
    }
    let scheme = address.split_once(':').map_or(address, |(scheme, _)| scheme);
    Err(Error::Address {
        given: scheme.to_owned(),
    })
}
