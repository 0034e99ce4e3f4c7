//! `berth doctor`: what is wrong with an installation, and what to do.

use berth_clock::Clock;
use berth_cluster::doctor::{Check, Expected, Health, doctor};
use serde::Serialize;

use super::install::mode;
use crate::{
    args::DoctorArgs,
    cluster::{connect, unanswered},
    database::wait,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let expected = Expected {
        namespace: args.namespace.clone(),
        mode: mode(args.mode),
        approve: args.approve,
        now: clock.now(),
    };
    let checks = wait(async {
        let client = connect(&args.cluster).await?;
        doctor(&client, &expected).await.map_err(unanswered)
    })?;
    let worst = checks.iter().map(|check| check.health).max().unwrap_or(Health::Ok);
    printer.report(args.output.format, &Diagnosis { checks })?;
    Ok(if worst >= Health::Warning { Exit::No } else { Exit::Done })
}

#[derive(Debug, Serialize)]
struct Diagnosis {
    checks: Vec<Check>,
}

impl Report for Diagnosis {
    fn text(&self, _wide: bool) -> String {
        let mut text = String::new();
        for check in &self.checks {
            let health = format!("{:<8}", check.health.as_str());
            text.extend([&health, " ", &check.check, ": ", &check.message, "\n"]);
            if !check.advice.is_empty() {
                text.extend(["         ", &check.advice, "\n"]);
            }
        }
        text
    }

    fn names(&self) -> Vec<String> {
        let attention = self.checks.iter().filter(|check| check.health >= Health::Warning);
        attention.map(|check| check.check.clone()).collect()
    }
}
