//! `berth store`: the database itself, whatever is in it.

use std::fmt::Write as _;

use berth_store::CheckReport;
use serde::Serialize;

use crate::{
    args::{DatabaseArgs, StoreBackupArgs, StoreCheckArgs, StoreCompactArgs},
    database::{self, IfMissing},
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, counted},
};

/// Runs `berth store check`.
pub(crate) fn check(args: &StoreCheckArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let report = database::wait(async {
        let store = database::open(&args.database, IfMissing::Refuse).await?;
        Ok(store.check().await?)
    })?;
    let report = Checked::from(report);
    printer.report(args.output.format, &report)?;
    Ok(if report.problems.is_empty() {
        Exit::Done
    } else {
        Exit::No
    })
}

/// Runs `berth store backup`.
pub(crate) fn backup(args: &StoreBackupArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    database::wait(async {
        let store = database::open(&args.database, IfMissing::Refuse).await?;
        Ok(store.backup(&args.to).await?)
    })?;
    let bytes = std::fs::metadata(&args.to).map(|metadata| metadata.len()).ok();
    let report = BackedUp {
        file: args.to.display().to_string(),
        bytes,
    };
    printer.report(args.output.format, &report)?;
    Ok(Exit::Done)
}

/// Runs `berth store compact`.
pub(crate) fn compact(args: &StoreCompactArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let report = database::wait(async {
        let store = database::open(&args.database, IfMissing::Refuse).await?;
        let before = size(&args.database);
        store.compact().await?;
        Ok(Compacted {
            before,
            after: size(&args.database),
        })
    })?;
    printer.report(args.output.format, &report)?;
    Ok(Exit::Done)
}

/// How large the database is, with what is not yet in its main file. A server does not tell.
fn size(args: &DatabaseArgs) -> Option<u64> {
    let file = database::file(&args.address().ok()?)?;
    let beside = std::path::PathBuf::from(format!("{}-wal", file.display()));
    let length = |path: &std::path::Path| std::fs::metadata(path).map(|metadata| metadata.len()).ok();
    Some(length(&file)? + length(&beside).unwrap_or_default())
}

/// What is wrong. The fields are a contract.
#[derive(Debug, Serialize)]
struct Checked {
    revisions: u64,
    documents: u64,
    sealed: u64,
    problems: Vec<DamageReport>,
}

#[derive(Debug, Serialize)]
struct DamageReport {
    place: String,
    message: String,
}

impl From<CheckReport> for Checked {
    fn from(report: CheckReport) -> Self {
        Self {
            revisions: report.revisions,
            documents: report.documents,
            sealed: report.sealed,
            problems: report
                .problems
                .into_iter()
                .map(|problem| DamageReport {
                    place: problem.place,
                    message: problem.message,
                })
                .collect(),
        }
    }
}

impl Report for Checked {
    fn text(&self, _wide: bool) -> String {
        let count = |number: u64, noun| counted(usize::try_from(number).unwrap_or(usize::MAX), noun);
        let mut text = String::new();
        for problem in &self.problems {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}: {}", problem.place, problem.message);
        }
        let verdict = match self.problems.len() {
            0 => "nothing is wrong".to_owned(),
            number => counted(number, "problem"),
        };
        let _ = writeln!(
            text,
            "{}, {}: {verdict}",
            count(self.revisions, "revision"),
            count(self.documents, "stored document")
        );
        if self.sealed > 0 {
            let _ = writeln!(
                text,
                "{} could not be looked into: their key was not given (--sealing-key-file)",
                count(self.sealed, "sealed document")
            );
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.problems.iter().map(|problem| problem.place.clone()).collect()
    }
}

/// Where the copy is. The fields are a contract.
#[derive(Debug, Serialize)]
struct BackedUp {
    file: String,
    bytes: Option<u64>,
}

impl Report for BackedUp {
    fn text(&self, _wide: bool) -> String {
        format!("wrote {}\n", self.file)
    }

    fn names(&self) -> Vec<String> {
        vec![self.file.clone()]
    }
}

/// What it was good for, in bytes; null where only the server knows. The fields are a contract.
#[derive(Debug, Serialize)]
struct Compacted {
    before: Option<u64>,
    after: Option<u64>,
}

impl Report for Compacted {
    fn text(&self, _wide: bool) -> String {
        match (self.before, self.after) {
            (Some(before), Some(after)) => format!("compacted: {before} bytes before, {after} bytes now\n"),
            _ => "compacted\n".to_owned(),
        }
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}
