//! `berth ignition`: what a machine of a pool, or one machine, boots from.

mod url;

use std::io::Read;

use berth_boot::{IgnitionAnswer, IgnitionInput, ignition, kubelet_unit};
use berth_documents::emit::to_yaml;
use berth_ignition::{Config, SpecVersion, file_contents, parse};
use berth_ignition_server::{Pointer, pointer};
use berth_labels::LabelSet;
use berth_pools::{OS_IMAGE_OVERRIDDEN, Rendered};
use berth_site::Resolver;
use serde_json::Value;

use super::pointer::{in_version, read_token, secret};
use crate::{
    args::{ArtefactFormat, IgnitionArgs},
    boot::{self, Known},
    exit::Exit,
    failure::{Chain, Failure},
    files,
    input::STDIN_NAME,
    output::Printer,
    rendering::{self, PoolConfig},
    site::Loaded,
};

/// Runs the command.
pub(crate) fn run(args: &IgnitionArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    stdin_for_one(args)?;
    let token = if args.token_stdin {
        Some(read_token(stdin)?)
    } else {
        args.token.clone()
    };
    let mut known = Known::read(&args.boot, &args.files, stdin, printer)?;
    let loaded = Loaded::read(&args.files.paths, stdin)?;
    let flavour = args.flavour.of(&loaded.site);
    let resolver = Resolver::new(&loaded.site, flavour);
    let Some(subject) = Subject::of(args, &loaded, &resolver, printer)? else {
        return Ok(Exit::No);
    };

    if let (Some(url), false) = (&args.pointer, args.with_labels) {
        let config = in_version(args.spec, &pointer_config(args, &subject, url, token.as_deref())?)?;
        print(args, &config, printer)?;
        return Ok(Exit::Done);
    }
    known.carry(&match &subject.node {
        Some(node) => loaded.site.carried_labels(|name| name == node),
        None => boot::carried_by_pool(&loaded.site, &resolver, &subject.pool),
    });
    let configs = rendering::render_pools(&loaded.site, Some(&subject.pool), &rendering::options(None))?;
    rendering::show_warnings(printer, &configs)?;
    if let Some(error) = configs.iter().find_map(PoolConfig::failure) {
        printer.error(&Chain(error).to_string())?;
        return Ok(Exit::No);
    }
    let rendered = configs.first().and_then(PoolConfig::rendered);
    let served = match rendered.map(|rendered| served(rendered, args.spec)).transpose() {
        Ok(served) => served,
        Err(reason) => {
            printer.error(&reason)?;
            return Ok(Exit::No);
        }
    };
    let mut boot = known.input(&subject.labels, flavour, None);
    let pool_unit = match served.as_ref().map(kubelet_unit).transpose() {
        Ok(unit) => unit.flatten(),
        Err(error) => return boot::refused(printer, &error),
    };
    boot.unit = boot.unit.or(pool_unit.as_ref());
    let base = match &args.pointer {
        None => served.clone(),
        Some(url) => {
            let config = pointer_config(args, &subject, url, token.as_deref())?;
            parse(&config).config
        }
    };
    let answer = match ignition(&IgnitionInput {
        base: base.as_ref(),
        boot,
        files: &[],
        spec: args.spec,
    }) {
        Ok(answer) => answer,
        Err(error) => return boot::refused(printer, &error),
    };
    let other = other_contents(served.as_ref(), &answer);
    if let (Some(path), Some(_)) = (other.first(), &args.pointer) {
        printer.error(&format!(
            "{path} is also in the config of pool `{}`, which counts more than the pointer: the labels would be lost",
            subject.pool
        ))?;
        printer.hint("boot the machine from the whole config, or take the file out of the pool's machine configs")?;
        return Ok(Exit::No);
    }
    print(args, &answer.config, printer)?;
    printer.note(&format!("{}: labels via {}", subject.name, answer.way))?;
    boot::show_asides(printer, &answer.left_out, &answer.notes)?;
    if let Some(rendered) = rendered {
        show_what_ignition_cannot(rendered, printer)?;
    } else {
        printer.note(&format!(
            "the documents hold no machine config for pool `{}`: the config has the labels alone",
            subject.pool
        ))?;
    }
    for path in other {
        printer.warning(&format!(
            "{path} differs from the one in the pool's machine configs; where OpenShift's operator runs, it takes that for a \
             local change and calls the node degraded"
        ))?;
    }
    Ok(Exit::Done)
}

/// Standard input is read for one purpose.
fn stdin_for_one(args: &IgnitionArgs) -> Result<(), Failure> {
    let is_stdin = |path: &std::path::PathBuf| path.as_os_str() == "-";
    let documents = args.files.paths.iter().any(is_stdin);
    let unit = args.boot.unit.as_ref().is_some_and(is_stdin);
    if args.token_stdin && (documents || unit) {
        return Err(Failure::Argument {
            message: format!("the token and other input cannot both come from {STDIN_NAME}"),
            hint: None,
        });
    }
    Ok(())
}

/// Whom the config is for.
struct Subject {
    /// How messages call it.
    name: String,
    node: Option<String>,
    pool: String,
    labels: LabelSet,
}

impl Subject {
    /// Looks it up. Without one, the reason has been shown.
    fn of(
        args: &IgnitionArgs,
        loaded: &Loaded,
        resolver: &Resolver<'_>,
        printer: &mut Printer<'_>,
    ) -> Result<Option<Self>, Failure> {
        let resolution = args.node.as_ref().map(|node| boot::resolve(resolver, node));
        let resolution = resolution.transpose()?;
        if let Some(pool) = &args.pool {
            rendering::known_pool([&loaded.site], pool)?;
        }
        if boot::mistakes(printer, loaded, resolver, resolution.as_ref())? != Exit::Done {
            return Ok(None);
        }
        if let Some(resolution) = resolution {
            let node = resolution.node.to_string();
            let Some(pool) = resolution.pool_name() else {
                printer.error(&format!("node `{node}` is in no pool, so there is no config for it"))?;
                return Ok(None);
            };
            return Ok(Some(Self {
                name: format!("node `{node}` of pool `{pool}`"),
                pool: pool.to_owned(),
                labels: resolution.label_set(),
                node: Some(node),
            }));
        }
        let pool = args.pool.clone().unwrap_or_default();
        Ok(resolver.pool_labels(&pool).map(|labels| Self {
            name: format!("pool `{pool}`"),
            node: None,
            pool,
            labels,
        }))
    }
}

fn pointer_config(args: &IgnitionArgs, subject: &Subject, url: &str, token: Option<&str>) -> Result<Value, Failure> {
    let url = url::complete(url, &subject.pool, subject.node.as_deref())
        .map_err(|message| Failure::Argument { message, hint: None })?;
    let ca = args.ca.as_deref().map(files::read).transpose()?;
    let token = token.map(secret).transpose()?;
    Ok(pointer(&Pointer {
        url: &url,
        ca_pem: ca.as_deref(),
        token: token.as_ref(),
        headers: &[],
    })?)
}

/// The pool's config as a machine gets it from its Ignition: kernel arguments are set there too.
fn served(rendered: &Rendered, version: SpecVersion) -> Result<Config, String> {
    let mut config = match &rendered.spec.config {
        None => Config::new(),
        Some(json) => parse(json).usable().map_err(|findings| {
            let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
            texts.join("; ")
        })?,
    };
    let arguments = &rendered.spec.kernel_arguments;
    if arguments.is_empty() {
        return Ok(config);
    }
    if version < SpecVersion::V3_3 {
        return Err(format!(
            "pool `{}` has kernel arguments ({}), for which spec {version} has no words: use 3.3.0 or newer",
            rendered.pool,
            arguments.join(" ")
        ));
    }
    let section = config.as_v3_5_mut().kernel_arguments.get_or_insert_default();
    let list = section.should_exist.get_or_insert_default();
    for argument in arguments {
        if !list.contains(argument) {
            list.push(argument.clone());
        }
    }
    Ok(config)
}

/// The files that the pool has with other contents.
fn other_contents(served: Option<&Config>, answer: &IgnitionAnswer) -> Vec<String> {
    let Some(made) = parse(&answer.config).config else {
        return Vec::new();
    };
    let differs = |path: &str| {
        let old = served.and_then(|served| served.find_file(path)).map(file_contents);
        let new = made.find_file(path).map(file_contents);
        matches!((old, new), (Some(Ok(old)), Some(Ok(new))) if old != new)
    };
    let paths = made.files().iter().map(|file| file.path.clone());
    paths.filter(|path| differs(path)).collect()
}

/// Names what a machine config asks for and Ignition has no words for.
fn show_what_ignition_cannot(rendered: &Rendered, printer: &mut Printer<'_>) -> Result<(), Failure> {
    let spec = &rendered.spec;
    // The image that a cluster has anyhow is asked for by no machine config.
    let names_image = rendered.annotations.contains_key(OS_IMAGE_OVERRIDDEN);
    let asked = [
        (names_image, "an operating system image"),
        (!spec.extensions.is_empty(), "extensions"),
        (!matches!(spec.kernel_type.as_str(), "" | "default"), "another kernel"),
        (spec.fips, "FIPS mode"),
    ];
    let asked: Vec<&str> = asked
        .iter()
        .filter(|(asked, _)| *asked)
        .map(|(_, what)| *what)
        .collect();
    if !asked.is_empty() {
        printer.warning(&format!(
            "the pool's machine configs ask for {}, which Ignition cannot give",
            asked.join(", ")
        ))?;
    }
    Ok(())
}

fn print(args: &IgnitionArgs, config: &Value, printer: &mut Printer<'_>) -> Result<(), Failure> {
    match args.format {
        ArtefactFormat::Json => printer.data(&format!("{config:#}\n")),
        ArtefactFormat::Yaml => printer.data(&to_yaml(config)),
    }
}
