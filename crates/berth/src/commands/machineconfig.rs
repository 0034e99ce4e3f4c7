//! `berth machineconfig`: the machine configs that carry a pool's boot labels.

use std::io::Read;

use berth_boot::{
    BootError, ExistingFile, MachineConfigInput, MachineConfigs, is_own_machine_config, kubelet_unit, machine_configs,
};
use berth_documents::emit::to_yaml_documents;
use berth_ignition::{Config, file_contents, parse};
use berth_labels::{Flavour, LabelSet, Route};
use berth_pools::{
    Action, MachineConfig, ProtectKind, ProtectedLabels, RenderOptions, Rendered, SelectError, protect, render, select,
};
use berth_site::{Pool, Resolver, Site};
use berth_units::{DEFAULT_KUBELET_PATH, EffectiveUnit, KUBELET_ENV_PATH};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    args::{Format, MachineConfigArgs},
    boot::{self, Known},
    exit::Exit,
    failure::{Chain, Failure},
    output::{Printer, Report, Table, counted, printable},
    rendering,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &MachineConfigArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let mut known = Known::read(&args.boot, &args.files, stdin, printer)?;
    let mut loaded = Loaded::read(&args.files.paths, stdin)?;
    // What an earlier run made is about to be replaced, so it may be out of date.
    let site = &mut loaded.site;
    site.machine_configs
        .retain(|config| !is_own_machine_config(&config.name.value));
    rendering::known_pool([&loaded.site], &args.pool)?;
    // Machine configs are OpenShift's, so without a word on it so is the kubelet.
    let flavour = args.flavour.of_or(&loaded.site, Flavour::Openshift);
    let resolver = Resolver::new(&loaded.site, flavour);
    // What is made here brings the labels, and is judged together with the pool's configs below.
    let exit = boot::mistakes_but(printer, &loaded, &resolver, None, Some("pool-labels-lost"))?;
    if exit != Exit::Done {
        return Ok(exit);
    }
    let pool = loaded.site.pools.iter().find(|pool| *pool.name.value == *args.pool);
    let (Some(pool), Some(labels)) = (pool, resolver.pool_labels(&args.pool)) else {
        return Ok(Exit::No);
    };
    let base = match Base::of(&loaded.site, pool, flavour) {
        Ok(base) => base,
        Err(NoBase::Unreadable(error)) => return boot::refused(printer, &error),
        Err(NoBase::Said(reason)) => {
            printer.error(&reason)?;
            return Ok(Exit::No);
        }
    };
    known.unit = known.unit.or(base.unit);
    known.carry(&boot::carried_by_pool(&loaded.site, &resolver, &args.pool));
    let environment = base
        .environment
        .as_ref()
        .map(|(contents, mode)| ExistingFile { contents, mode: *mode });
    let made = match machine_configs(&MachineConfigInput {
        pool: &args.pool,
        boot: known.input(&labels, flavour, environment),
        spec: args.spec,
    }) {
        Ok(made) => made,
        Err(error) => return boot::refused(printer, &error),
    };
    let together = goes_together(&loaded.site, pool, &made)
        .and_then(|()| keeps_labels(&loaded.site, pool, &labels, &made, flavour));
    if let Err(reason) = together {
        printer.error(&reason)?;
        return Ok(Exit::No);
    }
    let report = MachineConfigReport::new(args, &made);
    match args.format {
        Format::Yaml => printer.data(&to_yaml_documents(&report.objects))?,
        format => printer.report(format, &report)?,
    }
    show_asides(args, &made, &labels, &resolver, printer)?;
    Ok(Exit::Done)
}

fn show_asides(
    args: &MachineConfigArgs,
    made: &MachineConfigs,
    labels: &LabelSet,
    resolver: &Resolver<'_>,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let carried = labels.len().saturating_sub(made.left_out.len());
    printer.note(&format!(
        "pool `{}`: {} via {}",
        args.pool,
        counted(carried, "label"),
        made.way
    ))?;
    boot::show_asides(printer, &made.left_out, &made.notes)?;
    let mut own = resolver.resolve_all();
    own.retain(|node| node.pool_name() == Some(&args.pool));
    let total = own.len();
    own.retain(|node| {
        let boot = node.labels.iter().filter(|label| label.route == Route::Boot);
        boot.clone().any(|label| !labels.contains_key(label.key.as_str()))
    });
    if let Some(first) = own.first() {
        printer.note(&format!(
            "{} of {} in the pool have boot labels of their own, `{}` for one, which no machine config can carry: \
             they go by `berth ignition --node`, or from the Ignition server",
            own.len(),
            counted(total, "node"),
            first.node
        ))?;
    }
    if args.no_policy {
        printer.warning("without the policies OpenShift reboots the machines of the pool when these files change")?;
    }
    Ok(())
}

/// What the pool's machines have without Berth.
#[derive(Default)]
struct Base {
    unit: Option<EffectiveUnit>,
    /// The hook's environment file: bytes and mode.
    environment: Option<(Vec<u8>, u32)>,
}

enum NoBase {
    Unreadable(BootError),
    Said(String),
}

impl Base {
    fn of(site: &Site, pool: &Pool, flavour: Flavour) -> Result<Self, NoBase> {
        let Some(rendered) = rendered(site, pool, &[]).map_err(NoBase::Said)? else {
            return Ok(Self::default());
        };
        let config = config_of(&rendered).map_err(NoBase::Said)?;
        let path = match flavour {
            Flavour::Openshift => KUBELET_ENV_PATH,
            Flavour::Upstream => DEFAULT_KUBELET_PATH,
        };
        let environment = config
            .find_file(path)
            .map(|file| {
                let mode = file.mode.and_then(|mode| u32::try_from(mode).ok()).unwrap_or(0o644);
                let contents = file_contents(file).map_err(|source| {
                    NoBase::Unreadable(BootError::Contents {
                        path: path.to_owned(),
                        source,
                    })
                })?;
                Ok((contents, mode))
            })
            .transpose()?;
        Ok(Self {
            unit: kubelet_unit(&config).map_err(NoBase::Unreadable)?,
            environment,
        })
    }
}

fn config_of(rendered: &Rendered) -> Result<Config, String> {
    let Some(json) = &rendered.spec.config else {
        return Ok(Config::new());
    };
    parse(json).usable().map_err(|findings| {
        let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
        texts.join("; ")
    })
}

/// The pool's machine configs without those that Berth made, with these on top; nothing where there are none.
fn rendered(site: &Site, pool: &Pool, more: &[MachineConfig]) -> Result<Option<Rendered>, String> {
    let name = &*pool.name.value;
    let Some(selector) = &pool.machine_config_selector else {
        return Err(format!(
            "pool `{name}` has no machineConfigSelector, so it takes no machine config"
        ));
    };
    let others = berth_site::machine_configs(site)
        .into_iter()
        .filter(|config| !is_own_machine_config(&config.name));
    let all: Vec<&MachineConfig> = others.chain(more).collect();
    let selected = match select(all, &selector.value) {
        Ok(selected) => selected,
        Err(SelectError::NoneFound { .. }) => Vec::new(),
        Err(error) => return Err(format!("pool `{name}`: {error}")),
    };
    if let Some(missing) = more
        .iter()
        .find(|config| !selected.iter().any(|found| found.name == config.name))
    {
        return Err(format!(
            "pool `{name}` would not take {}: its machineConfigSelector does not select the label {}={name}",
            missing.name,
            berth_pools::ROLE_LABEL
        ));
    }
    if selected.is_empty() {
        return Ok(None);
    }
    render(name, selected, &RenderOptions::default())
        .map(Some)
        .map_err(|error| format!("pool `{name}`: {}", Chain(&error)))
}

/// Makes sure that the pool can be rendered with the new machine configs in it.
fn goes_together(site: &Site, pool: &Pool, made: &MachineConfigs) -> Result<(), String> {
    rendered(site, pool, &made.machine_configs).map(|_| ())
}

/// Makes sure that no machine config of the pool takes away what the new ones bring.
fn keeps_labels(
    site: &Site,
    pool: &Pool,
    labels: &LabelSet,
    made: &MachineConfigs,
    flavour: Flavour,
) -> Result<(), String> {
    let name = &*pool.name.value;
    let Some(selector) = &pool.machine_config_selector else {
        return Ok(());
    };
    let others = berth_site::machine_configs(site)
        .into_iter()
        .filter(|config| !is_own_machine_config(&config.name));
    let all: Vec<&MachineConfig> = others.chain(&made.machine_configs).collect();
    let selected = select(all, &selector.value).map_err(|error| format!("pool `{name}`: {error}"))?;
    let protected = ProtectedLabels {
        pool: name.to_owned(),
        identifying: labels.clone(),
        explicit: LabelSet::default(),
    };
    let lost = protect(selected, &protected, flavour)
        .into_iter()
        .find(|finding| matches!(finding.kind, ProtectKind::DropsLabels | ProtectKind::OverridesLabel));
    match lost {
        None => Ok(()),
        Some(finding) => Err(format!(
            "{} `{}`: {}; {}",
            finding.machine_config, finding.path, finding.message, finding.help
        )),
    }
}

struct MachineConfigReport<'a> {
    objects: Vec<Value>,
    made: &'a MachineConfigs,
}

impl<'a> MachineConfigReport<'a> {
    fn new(args: &MachineConfigArgs, made: &'a MachineConfigs) -> Self {
        let mut objects = made.objects();
        // The policy comes first.
        if args.only_policy {
            objects.truncate(1);
        } else if args.no_policy && !objects.is_empty() {
            objects.remove(0);
        }
        Self { objects, made }
    }

    fn on_change(&self, path: &str) -> String {
        let policy = self.made.policy.files.iter().find(|policy| policy.path == path);
        let actions = policy.map(|policy| policy.actions.as_slice()).unwrap_or_default();
        let texts: Vec<String> = actions.iter().map(Action::to_string).collect();
        texts.join(", ")
    }
}

impl Serialize for MachineConfigReport<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // What `oc apply -f` takes.
        json!({"apiVersion": "v1", "kind": "List", "items": self.objects}).serialize(serializer)
    }
}

impl Report for MachineConfigReport<'_> {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(["MACHINE CONFIG", "SIZE", "FILE", "MODE", "BYTES", "ON CHANGE"]);
        for machine_config in &self.made.machine_configs {
            let size = machine_config.to_json().to_string().len().to_string();
            let config = machine_config.spec.config.as_ref().and_then(|json| parse(json).config);
            for file in config.iter().flat_map(Config::files) {
                table.row([
                    machine_config.name.clone(),
                    size.clone(),
                    file.path.clone(),
                    format!("{:04o}", file.mode.unwrap_or(0o644)),
                    file_contents(file).map_or_else(|_| String::new(), |bytes| bytes.len().to_string()),
                    self.on_change(&file.path),
                ]);
            }
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        let text = |object: &Value, pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            printable(text).to_string()
        };
        let names = self.objects.iter().map(|object| {
            format!(
                "{}/{}",
                text(object, "/kind").to_lowercase(),
                text(object, "/metadata/name")
            )
        });
        names.collect()
    }
}
