//! `berth templates`: the machine configs that templates become.

use std::io::Read;

use berth_documents::emit::to_yaml_documents;
use berth_pools::{MachineConfig, select};
use berth_site::Resolver;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Format, TemplatesArgs},
    exit::Exit,
    failure::Failure,
    findings,
    output::{Printer, Report, Table, printable},
    rendering,
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &TemplatesArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let site = &loaded.site;
    let mut configs: Vec<&MachineConfig> = site.generated.templates.configs.values().collect();
    if let Some(name) = &args.pool {
        rendering::known_pool([site], name)?;
        let pool = site.pools.iter().find(|pool| *pool.name.value == **name);
        let selector = pool.and_then(|pool| pool.machine_config_selector.as_ref());
        // A selector that selects nothing, or is wrong, has its finding.
        configs = selector
            .and_then(|selector| select(configs, &selector.value).ok())
            .unwrap_or_default();
    }
    configs.retain(|config| args.role.is_none() || config.role() == args.role.as_deref());
    let report = TemplatesReport(configs);
    match args.format {
        Format::Yaml => printer.data(&to_yaml_documents(&report.objects()))?,
        format => printer.report(format, &report)?,
    }
    let resolver = Resolver::new(site, args.flavour.of(site));
    let exit = findings::show_errors(printer, &loaded.sources, loaded.findings_without_nodes(&resolver))?;
    let templates = &site.generated.templates;
    for held in &templates.held {
        printer.note(&held.to_string())?;
    }
    for missing in templates.findings.iter().filter(|finding| finding.is_missing_object) {
        printer.error(&format!("nothing is made of templates: {missing} among the documents"))?;
    }
    if site.template_documents.controller.is_none() && exit == Exit::Done {
        printer.error("the documents have no ControllerConfig `machine-config-controller` with `spec.berth`")?;
    }
    let is_made = site.template_documents.controller.is_some() && templates.findings.is_empty();
    Ok(exit.max(if is_made { Exit::Done } else { Exit::No }))
}

struct TemplatesReport<'a>(Vec<&'a MachineConfig>);

impl TemplatesReport<'_> {
    fn objects(&self) -> Vec<Value> {
        self.0.iter().map(|config| config.to_json()).collect()
    }
}

impl Serialize for TemplatesReport<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.objects().serialize(serializer)
    }
}

impl Report for TemplatesReport<'_> {
    fn text(&self, _wide: bool) -> String {
        let mut table = Table::new(vec!["NAME", "ROLE", "FILES", "UNITS"]);
        for config in &self.0 {
            let length = |pointer: &str| {
                let list = config.spec.config.as_ref().and_then(|config| config.pointer(pointer));
                list.and_then(Value::as_array).map_or(0, Vec::len).to_string()
            };
            table.row(vec![
                config.name.clone(),
                config.role().unwrap_or_default().to_owned(),
                length("/storage/files"),
                length("/systemd/units"),
            ]);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        let names = self
            .0
            .iter()
            .map(|config| format!("machineconfig/{}", printable(&config.name)));
        names.collect()
    }
}
