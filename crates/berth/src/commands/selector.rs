//! `berth selector`: conversions of a label selector.

use std::{
    collections::BTreeMap,
    io::Read,
    path::{Path, PathBuf},
};

use berth_documents::{Document, Envelope, Severity, Sources, parse};
use berth_labels::{Label, LabelKey, LabelSelector, LabelSet, LabelValue, Requirement, Selector};
use serde::Serialize;

use crate::{
    args::SelectorArgs,
    exit::Exit,
    failure::Failure,
    input,
    output::{Printer, Report, Table, excerpts},
};

/// How a selector given as argument appears in findings.
const ARGUMENT_NAME: &str = "<selector>";

/// Findings that a bare selector always causes: it is not a document.
const EXPECTED: [&str; 2] = ["unknown-envelope", "missing-name"];

/// Runs the command.
pub(crate) fn run(args: &SelectorArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let choices = choices(&args.choose)?;
    let mut sources = Sources::new();
    let id = match (&args.file, &args.selector) {
        (Some(path), _) => add_file(&mut sources, path, stdin)?,
        (None, Some(text)) if text == "-" => add_file(&mut sources, Path::new("-"), stdin)?,
        (None, text) => sources.add(ARGUMENT_NAME, text.as_deref().unwrap_or_default()),
    };
    let parsed = parse(&sources, id);
    let broken: Vec<_> = parsed
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity() == Severity::Error && !EXPECTED.contains(&diagnostic.code()))
        .collect();
    if !broken.is_empty() {
        printer.aside(&excerpts(&sources, broken.iter().copied()))?;
        return Err(argument(format!("`{}` cannot be read", sources.name(id))));
    }
    let [document] = parsed.documents.as_slice() else {
        return Err(argument(format!(
            "`{}` holds {} documents; one selector is needed",
            sources.name(id),
            parsed.documents.len()
        )));
    };
    let selector = selector_of(document)?;
    for key in choices.keys() {
        known_key(selector.as_ref(), key)?;
    }
    if args.to_map {
        finish(args, printer, &MapReport::new(selector.as_ref()))
    } else {
        finish(args, printer, &InvertReport::new(selector.as_ref(), &choices))
    }
}

fn finish(args: &SelectorArgs, printer: &mut Printer<'_>, report: &(impl Report + Answer)) -> Result<Exit, Failure> {
    printer.report(args.output.format, report)?;
    match report.error() {
        Some(error) => {
            // The JSON and YAML forms hold the error themselves.
            if !args.output.format.is_structured() {
                printer.error(error)?;
            }
            Ok(Exit::No)
        }
        None => Ok(Exit::Done),
    }
}

fn add_file(sources: &mut Sources, path: &Path, stdin: &mut dyn Read) -> Result<berth_documents::SourceId, Failure> {
    if path.is_dir() {
        return Err(argument(format!(
            "`{}` is a folder; a file with one selector is needed",
            path.display()
        )));
    }
    let texts = input::read_text(&[PathBuf::from(path)], stdin).map_err(Failure::Input)?;
    let (name, text) = texts.into_iter().next().unwrap_or_default();
    Ok(sources.add(name, text))
}

fn choices(texts: &[String]) -> Result<BTreeMap<LabelKey, LabelValue>, Failure> {
    texts
        .iter()
        .map(|text| match text.parse::<Label>() {
            Ok(label) => Ok((label.key, label.value)),
            Err(error) => Err(argument(format!("`--choose {text}` is not a label: {error}"))),
        })
        .collect()
}

/// The selector of a document: the document itself, or the nodeSelector of a kind that has one. `None` where such a
/// document has no selector, which selects nothing.
fn selector_of(document: &Document) -> Result<Option<LabelSelector>, Failure> {
    let node = match (&document.envelope, document.kind()) {
        (Envelope::None, _) => Some(&document.root),
        (_, "MachineConfigPool") => document.root.at(&["spec", "nodeSelector"]),
        (_, "IngressController") => document.root.at(&["spec", "nodePlacement", "nodeSelector"]),
        (_, kind) => {
            return Err(Failure::Argument {
                message: format!("a document of kind `{kind}` has no nodeSelector that can be taken"),
                hint: Some("give a selector, a MachineConfigPool or an IngressController".to_owned()),
            });
        }
    };
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Ok(None);
    };
    let unknown = node
        .as_map()
        .and_then(|map| map.iter().map(|(key, _)| key.as_str()).find(|key| !is_field(key)));
    if let Some(field) = unknown {
        return Err(Failure::Argument {
            message: format!("a selector has no field `{field}`"),
            hint: Some("the fields are `matchLabels` and `matchExpressions`".to_owned()),
        });
    }
    serde_json::from_value(node.to_json())
        .map(Some)
        .map_err(|error| Failure::Argument {
            message: format!("this is not a label selector: {error}"),
            hint: Some("the fields are `matchLabels` and `matchExpressions`".to_owned()),
        })
}

/// A choice for a key that the selector does not have is a slip: it would be ignored.
fn known_key(selector: Option<&LabelSelector>, key: &LabelKey) -> Result<(), Failure> {
    let keys = || {
        let labels = selector.into_iter().flat_map(|selector| selector.match_labels.keys());
        let expressions = selector.into_iter().flat_map(|selector| &selector.match_expressions);
        labels
            .chain(expressions.map(|expression| &expression.key))
            .map(String::as_str)
    };
    if keys().any(|known| known == key.as_str()) {
        return Ok(());
    }
    Err(Failure::Unknown {
        what: "key",
        name: key.as_str().to_owned(),
        problem: "is not in the selector".to_owned(),
        close: berth_site::close_matches(key.as_str(), keys())
            .into_iter()
            .map(str::to_owned)
            .collect(),
    })
}

fn is_field(key: &str) -> bool {
    matches!(key, "matchLabels" | "matchExpressions")
}

fn argument(message: String) -> Failure {
    Failure::Argument { message, hint: None }
}

/// An answer that can be no.
trait Answer {
    fn error(&self) -> Option<&str>;
}

/// The answer to `--to-map`. The fields are a contract.
#[derive(Debug, Serialize)]
struct MapReport {
    map: Option<BTreeMap<String, String>>,
    error: Option<String>,
}

impl MapReport {
    /// As in the API machinery, an absent selector is an absent map, and no error.
    fn new(selector: Option<&LabelSelector>) -> Self {
        let (map, error) = match selector.map(LabelSelector::to_map).transpose() {
            Ok(map) => (map, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { map, error }
    }
}

impl Answer for MapReport {
    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

impl Report for MapReport {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["KEY", "VALUE"]);
        for (key, value) in self.map.iter().flatten() {
            table.row([key.as_str(), &quoted_if_empty(value)]);
        }
        if self.error.is_some() {
            return String::new();
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.map
            .iter()
            .flatten()
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }
}

/// The answer to `--invert`. The fields are a contract.
#[derive(Debug, Serialize)]
struct InvertReport {
    labels: LabelSet,
    constraints: Vec<Requirement>,
    error: Option<String>,
}

impl InvertReport {
    fn new(selector: Option<&LabelSelector>, choices: &BTreeMap<LabelKey, LabelValue>) -> Self {
        let inversion = match selector {
            None => Selector::nothing().invert(choices).map_err(|error| error.to_string()),
            Some(selector) => match selector.compile() {
                Ok(compiled) => compiled.invert(choices).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            },
        };
        match inversion {
            Ok(inversion) => Self {
                labels: inversion.labels,
                constraints: inversion.constraints,
                error: None,
            },
            Err(error) => Self {
                labels: LabelSet::new(),
                constraints: Vec::new(),
                error: Some(error),
            },
        }
    }
}

impl Answer for InvertReport {
    fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

impl Report for InvertReport {
    fn text(&self, _wide: bool) -> String {
        if self.error.is_some() {
            return String::new();
        }
        let mut table = Table::new(["KEY", "MUST", "VALUE"]);
        for (key, value) in &self.labels {
            table.row([key.as_str(), "be", &quoted_if_empty(value.as_str())]);
        }
        for constraint in &self.constraints {
            let values: Vec<_> = constraint
                .values
                .iter()
                .map(|value| quoted_if_empty(value.as_str()))
                .collect();
            let must = if values.is_empty() { "be absent" } else { "not be" };
            table.row([constraint.key.as_str(), must, &values.join(",")]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        self.labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect()
    }
}

fn quoted_if_empty(value: &str) -> String {
    if value.is_empty() {
        "\"\"".to_owned()
    } else {
        value.to_owned()
    }
}
