//! What the commands that make boot artefacts have in common.

use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use berth_boot::{BootError, BootInput, ExistingFile, Way, needs_loader};
use berth_documents::{Diagnostic, Sources, parse};
use berth_labels::{Flavour, LabelSet, NodeLabels};
use berth_site::{Resolution, Resolver, Site, check};
use berth_units::{EffectiveUnit, LeftOut};

use crate::{
    args::{BootArgs, Files},
    exit::Exit,
    failure::{Chain, Failure},
    files, findings,
    input::STDIN_NAME,
    output::Printer,
    site::{Loaded, subject},
};

/// The name of the executable for nodes.
const NODE_BINARY: &str = "berth-node";

const HOW_TO_GET_IT: &str = "name it with `--node-binary FILE`; `cargo xtask node` builds one";

/// What the arguments tell about the machines.
#[derive(Debug)]
pub(crate) struct Known {
    way: Option<Way>,
    pub(crate) unit: Option<EffectiveUnit>,
    executable: Option<Vec<u8>>,
    carried: LabelSet,
}

impl Known {
    /// Reads the files that the arguments name, and the executable beside this one where it may be wanted.
    pub(crate) fn read(
        args: &BootArgs,
        files: &Files,
        stdin: &mut dyn Read,
        printer: &mut Printer<'_>,
    ) -> Result<Self, Failure> {
        let is_stdin = |path: &Path| path == Path::new("-");
        if args.unit.as_deref().is_some_and(is_stdin) && files.paths.iter().any(|path| is_stdin(path)) {
            return Err(Failure::Argument {
                message: "standard input can be given to `-f` or to `--unit`, not to both".to_owned(),
                hint: None,
            });
        }
        let way = args.way.chosen();
        let unit = args.unit.as_deref();
        let unit = unit.map(|unit| read_unit(unit, &args.dropins, stdin, printer));
        let executable = match &args.node_binary {
            Some(path) => Some(files::read(path)?),
            None => beside(way)?,
        };
        Ok(Self {
            way,
            unit: unit.transpose()?,
            executable,
            carried: labels("--carry", &args.carry)?,
        })
    }

    /// Adds what the platform gives the machines itself. What was typed counts more.
    pub(crate) fn carry(&mut self, labels: &LabelSet) {
        for (key, value) in labels {
            if !self.carried.contains_key(key.as_str()) {
                self.carried.insert(key.clone(), value.clone());
            }
        }
    }

    /// The question for the pure crate.
    pub(crate) fn input<'a>(
        &'a self,
        labels: &'a LabelSet,
        flavour: Flavour,
        environment_file: Option<ExistingFile<'a>>,
    ) -> BootInput<'a> {
        BootInput {
            labels,
            flavour,
            way: self.way,
            unit: self.unit.as_ref(),
            executable: self.executable.as_deref(),
            environment_file,
            carried: &self.carried,
        }
    }
}

/// The executable for nodes beside this one. Where the way is still open, one that does not fit is as good as none.
fn beside(way: Option<Way>) -> Result<Option<Vec<u8>>, Failure> {
    if way.is_some_and(|way| way != Way::Generator) {
        return Ok(None);
    }
    let path: Option<PathBuf> = std::env::current_exe()
        .ok()
        .map(|program| program.with_file_name(NODE_BINARY))
        .filter(|path| path.is_file());
    let Some(path) = path else {
        return match way {
            None => Ok(None),
            Some(way) => Err(Failure::Argument {
                message: format!(
                    "the way `{way}` needs the static executable for nodes, and there is no `{NODE_BINARY}` beside this program"
                ),
                hint: Some(HOW_TO_GET_IT.to_owned()),
            }),
        };
    };
    let bytes = files::read(&path)?;
    if needs_loader(&bytes) == Some(false) {
        return Ok(Some(bytes));
    }
    match way {
        None => Ok(None),
        Some(_) => Err(Failure::Argument {
            message: format!(
                "`{}` is not linked statically, so it may not run on a node",
                path.display()
            ),
            hint: Some(HOW_TO_GET_IT.to_owned()),
        }),
    }
}

/// Labels of an option, written as the kubelet's flag takes them.
pub(crate) fn labels(option: &str, lists: &[String]) -> Result<LabelSet, Failure> {
    let checked = NodeLabels::parse(lists).checked().into_iter();
    checked
        .map(|label| {
            label.map_err(|(text, error)| Failure::Argument {
                message: format!("`{option}`: `{text}` is not a label: {error}"),
                hint: Some("labels are written `key=value`, with commas between them".to_owned()),
            })
        })
        .collect()
}

/// Reads a unit and its drop-ins as they would lie on a machine.
pub(crate) fn read_unit(
    unit: &Path,
    dropins: &[PathBuf],
    stdin: &mut dyn Read,
    printer: &mut Printer<'_>,
) -> Result<EffectiveUnit, Failure> {
    let (path, text) = if unit == Path::new("-") {
        let mut text = Vec::new();
        stdin.read_to_end(&mut text).map_err(|source| Failure::ReadFile {
            path: STDIN_NAME.into(),
            source,
        })?;
        (STDIN_NAME.to_owned(), text)
    } else {
        (unit.display().to_string(), files::read(unit)?)
    };
    let mut pieces = Vec::new();
    for dropin in dropins {
        if dropin == Path::new("-") {
            return Err(Failure::Argument {
                message: "a drop-in counts by its file name, so it cannot come from standard input".to_owned(),
                hint: None,
            });
        }
        if dropin.is_dir() {
            for path in conf_files(dropin)? {
                pieces.push((path.display().to_string(), files::read(&path)?));
            }
            continue;
        }
        if !is_conf(dropin) {
            printer.warning(&format!(
                "`{}`: on a machine systemd takes only drop-ins whose names end in .conf",
                dropin.display()
            ))?;
        }
        pieces.push((dropin.display().to_string(), files::read(dropin)?));
    }
    let name = unit.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = if name.ends_with(".service") {
        name
    } else {
        "kubelet.service"
    };
    let pieces: Vec<(&str, &[u8])> = pieces
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_slice()))
        .collect();
    Ok(EffectiveUnit::assemble(name, (&path, &text), &pieces))
}

/// The drop-ins of a folder such as `kubelet.service.d`.
fn conf_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::ReadFile {
        path: folder.to_owned(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.retain(|path| is_conf(path));
    paths.sort();
    Ok(paths)
}

fn is_conf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "conf")
}

/// Shows what is wrong with the documents, and with one node if one is asked for. Nothing is made from documents with
/// mistakes: a machine that boots from them would not come up where it belongs.
pub(crate) fn mistakes(
    printer: &mut Printer<'_>,
    loaded: &Loaded,
    resolver: &Resolver<'_>,
    node: Option<&Resolution>,
) -> Result<Exit, Failure> {
    mistakes_but(printer, loaded, resolver, node, None)
}

/// The same without the findings of one code, for a command that mends them.
pub(crate) fn mistakes_but(
    printer: &mut Printer<'_>,
    loaded: &Loaded,
    resolver: &Resolver<'_>,
    node: Option<&Resolution>,
    mended: Option<&str>,
) -> Result<Exit, Failure> {
    let mut diagnostics: Vec<Diagnostic> = match node {
        None => check(&loaded.sources, resolver, &[]),
        Some(node) => check(&loaded.sources, resolver, std::slice::from_ref(node)),
    };
    diagnostics.extend_from_slice(&loaded.diagnostics);
    diagnostics.retain(|diagnostic| Some(diagnostic.code()) != mended);
    let exit = findings::show_errors(printer, &loaded.sources, diagnostics)?;
    if exit != Exit::Done {
        printer.error("the documents have mistakes, so nothing is made from them")?;
    }
    Ok(exit)
}

/// What the platform gives every machine of a pool itself.
pub(crate) fn carried_by_pool(site: &Site, resolver: &Resolver<'_>, pool: &str) -> LabelSet {
    let in_pool: BTreeSet<String> = resolver
        .resolve_all()
        .iter()
        .filter(|node| node.pool_name() == Some(pool))
        .map(|node| node.node.to_string())
        .collect();
    site.carried_labels(|name| in_pool.contains(name))
}

/// The answer for a node by name.
pub(crate) fn resolve(resolver: &Resolver<'_>, name: &str) -> Result<Resolution, Failure> {
    Ok(resolver.resolve(subject(resolver, name)?))
}

/// Says why there is no artefact. What the user can mend with an argument is wrong usage; all else is an answer.
pub(crate) fn refused(printer: &mut Printer<'_>, error: &BootError) -> Result<Exit, Failure> {
    let usage = |hint: &str| Failure::Argument {
        message: Chain(error).to_string(),
        hint: Some(hint.to_owned()),
    };
    let hint = match error {
        BootError::NoExecutable | BootError::NotExecutable | BootError::NeedsLoader => {
            return Err(usage(HOW_TO_GET_IT));
        }
        BootError::NoUnit => {
            return Err(usage(
                "name the unit with `--unit FILE`, or choose `--way generator`, which reads it on the machine",
            ));
        }
        BootError::HookNotUsed { .. } | BootError::DropIn(_) => {
            Some("`--way generator` reads the unit on the machine and adds a flag to it")
        }
        BootError::TooLarge { .. } => Some("the ways `kubelet-env` and `dropin` need no executable"),
        _ => None,
    };
    printer.error(&Chain(error).to_string())?;
    if let Some(hint) = hint {
        printer.hint(hint)?;
    }
    Ok(Exit::No)
}

/// Says what an artefact does not do.
pub(crate) fn show_asides(printer: &mut Printer<'_>, left_out: &[LeftOut], notes: &[String]) -> Result<(), Failure> {
    for left in left_out {
        printer.warning(&format!(
            "{} is left out and has to reach the Node by another route: {}",
            left.label, left.reason
        ))?;
    }
    for note in notes {
        printer.note(note)?;
    }
    Ok(())
}

/// Prints YAML that was made here as JSON.
pub(crate) fn print_as_json(printer: &mut Printer<'_>, yaml: &str) -> Result<(), Failure> {
    let mut sources = Sources::new();
    let id = sources.add("made here", yaml);
    let document = parse(&sources, id).documents.into_iter().next();
    let json = document.map(|document| document.root.to_json()).unwrap_or_default();
    printer.data(&format!("{json:#}\n"))
}
