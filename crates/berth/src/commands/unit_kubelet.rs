//! `berth unit kubelet`: the kubelet's command, and the drop-in that gives it labels.

use std::{collections::BTreeMap, io::Read};

use berth_labels::Label;
use berth_units::{
    DropIn, DropInError, DropInRequest, EffectiveUnit, EnvFileContent, Environment, FileDiagnostic, KubeletCommand,
    SEED_VARIABLE, Severity, UnitRefusal, drop_in, read_seed_labels, see_through, seed_labels,
};
use serde::Serialize;

use crate::{
    args::{UnitFormat, UnitKubeletArgs},
    boot,
    exit::Exit,
    failure::{Chain, Failure},
    output::Printer,
};

/// Runs the command.
pub(crate) fn run(args: &UnitKubeletArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let asked = boot::labels("--labels", &args.labels)?;
    let unit = boot::read_unit(&args.unit, &args.dropins, stdin, printer)?;
    // What makes systemd refuse the unit is said as the reason why there is no drop-in.
    for FileDiagnostic { path, diagnostic } in unit.diagnostics() {
        if diagnostic.severity != Severity::Error {
            printer.warning(&format!("{path}:{}: {}", diagnostic.line, diagnostic.message))?;
        }
    }
    let environment = environment(&unit);
    // As on a machine: labels that older scripts keep in a drop-in count too, and what is asked for counts more.
    let mut labels = seed_labels(&environment);
    labels.extend(asked);
    let request = DropInRequest {
        labels: &labels,
        flavour: args.flavour.or_upstream(),
        environment: &environment,
    };
    let made = match drop_in(&unit, request) {
        Ok(made) => made,
        Err(error) => {
            printer.error(&refusal(&unit, &error))?;
            return Ok(Exit::No);
        }
    };
    let mut report = UnitReport::new(&unit, &made);
    let illegal = illegal_labels(&environment);
    for left in &illegal {
        printer.error(&format!(
            "{} is not a label, and is left out: {}",
            left.label, left.reason
        ))?;
    }
    let is_whole = made.left_out.is_empty() && illegal.is_empty();
    report.left_out.extend(illegal);
    match args.format {
        UnitFormat::Conf => printer.data(made.text.as_deref().unwrap_or_default())?,
        UnitFormat::Json => {
            let json = serde_json::to_string_pretty(&report).map_err(|source| Failure::Format {
                format: "JSON",
                source: Box::new(source),
            })?;
            printer.data(&format!("{json}\n"))?;
        }
    }
    show_asides(args, &made, printer)?;
    Ok(if is_whole { Exit::Done } else { Exit::No })
}

/// What older scripts would have given to the kubelet, which would not start with it.
fn illegal_labels(environment: &Environment) -> Vec<LeftOutReport> {
    let Some(variable) = environment.variables().get(SEED_VARIABLE) else {
        return Vec::new();
    };
    let checked = read_seed_labels(&variable.value).checked().into_iter();
    checked
        .filter_map(Result::err)
        .map(|(label, reason)| LeftOutReport {
            label,
            reason: reason.to_string(),
        })
        .collect()
}

/// What is outside of the unit is not known here.
fn environment(unit: &EffectiveUnit) -> Environment {
    unit.environment(|_| EnvFileContent::Unread)
}

fn show_asides(args: &UnitKubeletArgs, made: &DropIn, printer: &mut Printer<'_>) -> Result<(), Failure> {
    for note in &made.notes {
        printer.note(note)?;
    }
    for left in &made.left_out {
        printer.error(&format!(
            "{} is left out, the kubelet would not start with it: {}",
            left.label, left.reason
        ))?;
    }
    if made.text.is_none() && args.format == UnitFormat::Conf {
        let why = if args.labels.is_empty() && made.left_out.is_empty() {
            "no labels were given with `--labels`"
        } else if made.left_out.is_empty() {
            "the unit gives every label already"
        } else {
            "there is no label that it could add"
        };
        printer.note(&format!("no drop-in is needed: {why}"))?;
    }
    Ok(())
}

/// The reason with the file it is about; most reasons have a line too.
fn refusal(unit: &EffectiveUnit, error: &DropInError) -> String {
    let path = unit.sources().first().map(|source| source.path.as_str());
    match error {
        DropInError::Unit(refusal @ (UnitRefusal::NoExecStart | UnitRefusal::Masked | UnitRefusal::NotFound)) => {
            let more = match refusal {
                UnitRefusal::Masked => ": the file is empty",
                _ => "",
            };
            let place = path.map(|path| format!("{path}: ")).unwrap_or_default();
            format!("{place}systemd does not start the unit: {refusal}{more}")
        }
        DropInError::Unit(UnitRefusal::SeveralExecStart { places, .. }) => {
            let place = places.last().map(|place| format!("{}:{}: ", place.path, place.line));
            format!("{}{}", place.unwrap_or_default(), Chain(error))
        }
        DropInError::Unit(refusal @ UnitRefusal::Broken { .. }) => refusal.to_string(),
        other => Chain(other).to_string(),
    }
}

/// The answer. The fields are a contract.
#[derive(Debug, Serialize)]
struct UnitReport {
    /// What systemd runs with the drop-in in place.
    exec: Vec<ExecReport>,
    /// The labels that the kubelet registers with then, as far as they stand in the unit.
    node_labels: BTreeMap<String, String>,
    dropin: Option<String>,
    dropin_name: &'static str,
    left_out: Vec<LeftOutReport>,
    /// Variables that may bring more flags or labels, whose values are not in the unit.
    unresolved: Vec<String>,
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ExecReport {
    prefix: String,
    path: String,
    argv: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LeftOutReport {
    label: String,
    reason: String,
}

impl UnitReport {
    fn new(unit: &EffectiveUnit, made: &DropIn) -> Self {
        let mut after = with_drop_in(unit, made);
        let environment = environment(&after);
        let mut report = Self {
            exec: Vec::new(),
            node_labels: BTreeMap::new(),
            dropin: made.text.clone(),
            dropin_name: made.file_name,
            left_out: made
                .left_out
                .iter()
                .map(|left| LeftOutReport {
                    label: left.label.to_string(),
                    reason: left.reason.clone(),
                })
                .collect(),
            unresolved: Vec::new(),
            notes: made.notes.clone(),
        };
        let settings = after.list("Service", "ExecStart");
        let commands = settings.iter().flat_map(|setting| setting.commands());
        report.exec.extend(commands.map(|command| ExecReport {
            prefix: command.prefix().to_owned(),
            path: command.path().to_owned(),
            argv: command.argv().to_vec(),
        }));
        // A shell that only runs the command which its drop-in replaced starts the kubelet with that command's labels.
        see_through(&mut after);
        let settings = after.list("Service", "ExecStart");
        for command in settings.iter().flat_map(|setting| setting.commands()) {
            if let Ok(kubelet) = KubeletCommand::find(command, &environment) {
                report.kubelet(&kubelet);
            }
        }
        report.unresolved.sort();
        report.unresolved.dedup();
        report
    }

    fn kubelet(&mut self, kubelet: &KubeletCommand) {
        for label in kubelet.node_labels() {
            let flag = kubelet.flags().get(label.flag);
            self.unresolved
                .extend(flag.into_iter().flat_map(|flag| flag.unresolved.iter().cloned()));
            // A variable that stands for whole labels is not a label.
            if !label.open || Label::parse_parts(&label.key, "").is_ok() {
                self.node_labels.insert(label.key, label.value);
            }
        }
        let opaque = kubelet.opaque().iter().map(|opaque| opaque.variable.clone());
        self.unresolved.extend(opaque);
    }
}

/// The unit as it is once the drop-in lies beside the others.
fn with_drop_in(unit: &EffectiveUnit, made: &DropIn) -> EffectiveUnit {
    let Some(text) = &made.text else {
        return unit.clone();
    };
    let mut texts: Vec<(&str, Vec<u8>)> = unit
        .sources()
        .iter()
        .map(|source| (source.path.as_str(), source.file.print()))
        .collect();
    if texts.is_empty() {
        return unit.clone();
    }
    let (path, fragment) = texts.remove(0);
    // The first of two with the same name counts, so what an earlier run wrote gives way.
    let mut dropins: Vec<(&str, &[u8])> = vec![(made.file_name, text.as_bytes())];
    dropins.extend(texts.iter().map(|(path, text)| (*path, text.as_slice())));
    EffectiveUnit::assemble(unit.name(), (path, &fragment), &dropins)
}
