//! `berth lint`: every mistake in the documents.

use std::{fmt::Write as _, io::Read};

use berth_documents::{Diagnostic, Lint, Sources};
use berth_site::{Resolver, check};
use serde::Serialize;

use crate::{
    args::LintArgs,
    exit::Exit,
    failure::Failure,
    findings::{self, Finding, Tally},
    lints,
    output::{Printer, Report, Table, excerpts},
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &LintArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    if let Some(code) = &args.explain {
        printer.report(args.output.format, &Explained::of(code)?)?;
        return Ok(Exit::Done);
    }
    if args.list {
        printer.report(args.output.format, &Codes(lints()))?;
        return Ok(Exit::Done);
    }
    let loaded = Loaded::read_with_mistakes(&args.paths, stdin)?;
    let resolver = Resolver::new(&loaded.site, args.flavour.of(&loaded.site));
    let resolutions = resolver.resolve_all();
    let mut diagnostics = check(&loaded.sources, &resolver, &resolutions);
    diagnostics.extend_from_slice(&loaded.diagnostics);
    findings::sort(&loaded.sources, &mut diagnostics);

    let tally = Tally::of(&diagnostics);
    let report = LintReport {
        sources: &loaded.sources,
        diagnostics: &diagnostics,
    };
    printer.report(args.output.format, &report)?;
    if let Some(reason) = loaded.site.flavour_reason(args.flavour.typed()) {
        printer.note(&format!("judged by the rules of OpenShift: {reason}"))?;
    }
    printer.aside(&format!("{}\n", tally.summary()))?;
    Ok(if tally.must_act() { Exit::No } else { Exit::Done })
}

/// Findings as the answer of a command.
pub(super) struct LintReport<'a> {
    pub(super) sources: &'a Sources,
    pub(super) diagnostics: &'a [Diagnostic],
}

impl LintReport<'_> {
    fn findings(&self) -> impl Iterator<Item = Finding> {
        self.diagnostics
            .iter()
            .map(|diagnostic| Finding::new(self.sources, diagnostic))
    }
}

impl Serialize for LintReport<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.findings())
    }
}

impl Report for LintReport<'_> {
    fn text(&self, _wide: bool) -> String {
        excerpts(self.sources, self.diagnostics)
    }

    fn names(&self) -> Vec<String> {
        self.findings().map(|finding| finding.name()).collect()
    }
}

/// One code with everything said about it.
#[derive(Debug, Serialize)]
struct Explained {
    code: &'static str,
    severity: &'static str,
    summary: &'static str,
    explanation: &'static str,
}

impl Explained {
    fn of(code: &str) -> Result<Self, Failure> {
        let known = lints();
        let Some(lint) = known.iter().find(|lint| lint.code == code) else {
            let close = berth_site::close_matches(code, known.iter().map(|lint| lint.code));
            return Err(Failure::Unknown {
                what: "code",
                name: code.to_owned(),
                problem: "is not known; `berth lint --list` shows all".to_owned(),
                close: close.into_iter().map(str::to_owned).collect(),
            });
        };
        Ok(Self {
            code: lint.code,
            severity: lint.severity.as_str(),
            summary: lint.summary,
            explanation: lint.explanation,
        })
    }
}

impl Report for Explained {
    fn text(&self, _wide: bool) -> String {
        let mut text = format!("{}[{}]: {}\n\n", self.severity, self.code, self.summary);
        let _ = writeln!(text, "{}", self.explanation.trim_end());
        text
    }

    fn names(&self) -> Vec<String> {
        vec![self.code.to_owned()]
    }
}

/// All codes, one line each.
struct Codes(Vec<&'static Lint>);

#[derive(Serialize)]
struct Entry {
    code: &'static str,
    severity: &'static str,
    summary: &'static str,
}

impl Serialize for Codes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|lint| Entry {
            code: lint.code,
            severity: lint.severity.as_str(),
            summary: lint.summary,
        }))
    }
}

impl Report for Codes {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["CODE", "SEVERITY", "SUMMARY"]);
        for lint in &self.0 {
            table.row([lint.code, lint.severity.as_str(), lint.summary]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|lint| lint.code.to_owned()).collect()
    }
}
