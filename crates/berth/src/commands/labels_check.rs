//! `berth labels check`: are labels legal, and who may set them.

use berth_labels::{Flavour, Label, NodeLabels, Route, Writer, permission, routes};
use serde::Serialize;

use crate::{
    args::LabelsCheckArgs,
    exit::Exit,
    failure::Failure,
    output::{Printer, Report, Table},
};

/// Runs the command.
pub(crate) fn run(args: &LabelsCheckArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let flavour = args.flavour.or_upstream();
    let writer = args.writer.into();
    let checks = match &args.list {
        Some(list) => NodeLabels::parse([list])
            .entries()
            .iter()
            .map(|(key, value)| Check::new(format!("{key}={value}"), key, value, flavour, writer))
            .collect(),
        None => args
            .labels
            .iter()
            .map(|text| {
                let (key, value) = text.split_once('=').unwrap_or((text, ""));
                Check::new(text.clone(), key, value, flavour, writer)
            })
            .collect(),
    };
    let report = Checks(checks);
    printer.report(args.output.format, &report)?;
    let good = report.0.iter().all(|check| check.valid && check.allowed);
    Ok(if good { Exit::Done } else { Exit::No })
}

/// The answer for one label. The fields are a contract.
#[derive(Debug, Serialize)]
struct Check {
    label: String,
    key: String,
    value: String,
    valid: bool,
    allowed: bool,
    reason: String,
    routes: Vec<Route>,
}

impl Check {
    fn new(text: String, key: &str, value: &str, flavour: Flavour, writer: Writer) -> Self {
        let (valid, allowed, reason, routes) = match Label::parse_parts(key, value) {
            Ok(label) => {
                let permission = permission(flavour, writer, &label.key);
                let routes = routes(flavour, &label.key);
                (true, permission.allowed, permission.reason.into_owned(), routes)
            }
            Err(error) => (false, false, error.to_string(), Vec::new()),
        };
        Self {
            label: text,
            key: key.to_owned(),
            value: value.to_owned(),
            valid,
            allowed,
            reason,
            routes,
        }
    }
}

#[derive(Debug, Serialize)]
struct Checks(Vec<Check>);

impl Report for Checks {
    fn text(&self, wide: bool) -> String {
        let yes_or_no = |yes| if yes { "yes" } else { "no" };
        let mut table = if wide {
            Table::new(["LABEL", "VALID", "ALLOWED", "ROUTES", "REASON"])
        } else {
            Table::new(["LABEL", "VALID", "ALLOWED", "REASON"])
        };
        for check in &self.0 {
            let routes: Vec<_> = check.routes.iter().map(|route| route.as_str()).collect();
            let mut row = vec![
                check.label.clone(),
                yes_or_no(check.valid).to_owned(),
                yes_or_no(check.allowed).to_owned(),
            ];
            if wide {
                row.push(routes.join(","));
            }
            row.push(check.reason.clone());
            table.row(row);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|check| check.label.clone()).collect()
    }
}
