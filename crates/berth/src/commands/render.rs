//! `berth render`: the machine configs of a pool, merged into one.

use std::io::Read;

use berth_documents::emit::to_yaml_documents;
use berth_pools::Rendered;
use berth_site::Resolver;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Format, RenderArgs},
    exit::Exit,
    failure::{Chain, Failure},
    findings,
    output::{Printer, Report, Table, printable},
    rendering::{self, PoolConfig},
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &RenderArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let options = rendering::options(args.os_image_url.as_deref());
    let configs = rendering::render_pools(&loaded.site, args.pool.as_deref(), &options)?;
    let report = RenderReport {
        rendered: configs.iter().filter_map(PoolConfig::rendered).collect(),
        is_one: args.pool.is_some(),
    };
    match args.format {
        Format::Yaml => printer.data(&to_yaml_documents(&report.objects()))?,
        // With nothing rendered there is no object to print.
        Format::Json if report.is_one && report.rendered.is_empty() => {}
        format => printer.report(format, &report)?,
    }
    rendering::show_warnings(printer, &configs)?;
    let flavour = args.flavour.of(&loaded.site);
    rendering::show_name_notes(printer, &loaded.site, flavour, &configs)?;
    let resolver = Resolver::new(&loaded.site, flavour);
    let exit = findings::show_errors(printer, &loaded.sources, loaded.findings_without_nodes(&resolver))?;
    let failures = show_failures(printer, &configs, exit)?;
    Ok(exit.max(failures))
}

/// Names the pools that have no rendered config; where no finding said why, this does.
fn show_failures(printer: &mut Printer<'_>, configs: &[PoolConfig<'_>], shown: Exit) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for config in configs {
        if let Err(error) = &config.rendered {
            exit = Exit::No;
            if shown == Exit::No && config.failure().is_some() {
                printer.error(&format!("pool `{}` cannot be rendered", config.name()))?;
            } else {
                printer.error(&Chain(error).to_string())?;
            }
        }
    }
    Ok(exit)
}

struct RenderReport<'a> {
    rendered: Vec<&'a Rendered>,
    is_one: bool,
}

impl RenderReport<'_> {
    fn objects(&self) -> Vec<Value> {
        let objects = self
            .rendered
            .iter()
            .map(|rendered| rendered.to_machine_config().to_json());
        objects.collect()
    }
}

impl Serialize for RenderReport<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let objects = self.objects();
        match objects.as_slice() {
            [one] if self.is_one => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl Report for RenderReport<'_> {
    fn text(&self, wide: bool) -> String {
        let mut headers = vec!["POOL", "RENDERED", "SOURCES", "SIZE"];
        if wide {
            headers.extend(["FILES", "UNITS", "KERNEL ARGUMENTS"]);
        }
        let mut table = Table::new(headers);
        for rendered in &self.rendered {
            let mut row = vec![
                rendered.pool.clone(),
                rendered.name.clone(),
                rendered.sources.join(","),
                rendered.size.to_string(),
            ];
            if wide {
                let length = |pointer: &str| {
                    let list = rendered.spec.config.as_ref().and_then(|config| config.pointer(pointer));
                    list.and_then(Value::as_array).map_or(0, Vec::len).to_string()
                };
                row.push(length("/storage/files"));
                row.push(length("/systemd/units"));
                row.push(rendered.spec.kernel_arguments.join(" "));
            }
            table.row(row);
        }
        table.to_string()
    }

    fn names(&self) -> Vec<String> {
        let names = self
            .rendered
            .iter()
            .map(|rendered| format!("machineconfig/{}", printable(&rendered.name)));
        names.collect()
    }
}
