//! `berth iso embed`: an Ignition config goes into a live image.

use std::{io::Read, path::Path, time::Duration};

use berth_decide::root_cause;
use berth_ignition::{Finding, SpecVersion, parse};
use berth_iso::Archive;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::IsoEmbedArgs,
    database,
    exit::Exit,
    failure::{Chain, Failure},
    files,
    input::STDIN_NAME,
    live_image::{self, LiveImage},
    output::{Printer, Report},
};

/// Runs the command.
pub(crate) fn run(args: &IsoEmbedArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let (name, config) = match (&args.url, &args.ignition) {
        (Some(url), _) => (url.clone(), fetch(url, args)?),
        (None, path) => read(path.as_deref().unwrap_or_else(|| Path::new("-")), stdin)?,
    };
    if !check(&name, &config, printer)? {
        return Ok(Exit::No);
    }
    let image = LiveImage::open_for(&args.image, &args.target)?;
    let shown = args.image.display();
    let mut archive = match image.archive() {
        Err(error) if args.force => {
            printer.warning(&format!("what is in the embed area is replaced: {}", Chain(&error)))?;
            Archive::default()
        }
        _ => image.readable_archive(Some("berth iso embed --force"))?,
    };
    let in_place = args.target.out.is_none();
    match archive.config() {
        Some(old) if old == config && in_place => {
            printer.report(args.target.format, &Embedded::already(args, &image, &config))?;
            return Ok(Exit::Done);
        }
        Some(old) if old != config && !args.force => {
            return Err(Failure::Refused {
                message: format!("`{shown}` has a config already"),
                hint: Some(format!("`berth iso show {shown}` prints it, and `--force` replaces it")),
            });
        }
        _ => {}
    }
    archive.set_config(config.as_slice());
    let contents = archive.encode(image.area().length).map_err(|error| Failure::Refused {
        message: format!("the config does not fit into `{shown}`: {error}"),
        hint: Some("embed a pointer (`berth pointer`), which fetches the whole config over the network".to_owned()),
    })?;
    let room = image.area().length;
    printer.flush()?;
    let written = image.write(&contents, &args.target)?;
    let embedded = Embedded {
        image: written.path.display().to_string(),
        changed: true,
        config_bytes: config.len(),
        used: live_image::used(&contents),
        room,
        backup: written.backup.map(|path| path.display().to_string()),
    };
    printer.report(args.target.format, &embedded)?;
    Ok(Exit::Done)
}

/// What Ignition sends when it fetches a config of a version that live images read.
const ACCEPT: &str = "application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1";

/// Fetches a config as Ignition would.
fn fetch(url: &str, args: &IsoEmbedArgs) -> Result<Vec<u8>, Failure> {
    let unreachable = |error: reqwest::Error| Failure::Unreachable {
        server: url.to_owned(),
        reason: root_cause(&error),
    };
    let mut client = reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_mins(1))
        .danger_accept_invalid_certs(args.insecure_url);
    if let Some(file) = &args.url_ca {
        let certificates = reqwest::Certificate::from_pem_bundle(&files::read(file)?).unwrap_or_default();
        if certificates.is_empty() {
            return Err(Failure::Argument {
                message: format!("`{}` holds no certificate", file.display()),
                hint: Some("it must be in PEM: `-----BEGIN CERTIFICATE-----`".to_owned()),
            });
        }
        client = certificates
            .into_iter()
            .fold(client, reqwest::ClientBuilder::add_root_certificate);
    }
    let client = client.build().map_err(unreachable)?;
    database::wait(async {
        let response = client.get(url).header(reqwest::header::ACCEPT, ACCEPT).send().await;
        let response = response.map_err(unreachable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreachable)?;
        if !status.is_success() {
            let said = String::from_utf8_lossy(&body);
            let said = said.lines().next().unwrap_or_default();
            return Err(Failure::Refused {
                message: format!("`{url}` answers with {status}: {said}"),
                hint: Some(
                    "a server that asks for a token serves it to the machine alone; embed a pointer (`berth pointer`)"
                        .to_owned(),
                ),
            });
        }
        Ok(body.to_vec())
    })
}

fn read(path: &Path, stdin: &mut dyn Read) -> Result<(String, Vec<u8>), Failure> {
    if path.as_os_str() != "-" {
        return Ok((path.display().to_string(), files::read(path)?));
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes).map_err(|source| Failure::ReadFile {
        path: STDIN_NAME.into(),
        source,
    })?;
    Ok((STDIN_NAME.to_owned(), bytes))
}

/// Shows what is wrong with the config, and says whether a machine would take it.
fn check(name: &str, config: &[u8], printer: &mut Printer<'_>) -> Result<bool, Failure> {
    let json: Value = serde_json::from_slice(config).map_err(|error| Failure::Argument {
        message: format!("`{name}` is not an Ignition config: it is not JSON: {error}"),
        hint: None,
    })?;
    let parsed = parse(&json);
    let too_old = parsed.config.as_ref().map(berth_ignition::Config::written_in) == Some(SpecVersion::V2_2);
    let mut findings = parsed.findings;
    if too_old {
        let message = "live images read spec version 3 and no older one";
        findings.push(Finding::error("$.ignition.version", message));
    }
    for finding in &findings {
        let message = format!("{name}: {}: {}", finding.path, finding.message);
        if finding.is_error() {
            printer.error(&message)?;
        } else {
            printer.warning(&message)?;
        }
    }
    Ok(!findings.iter().any(Finding::is_error))
}

/// How it went. The fields are a contract.
#[derive(Serialize)]
struct Embedded {
    image: String,
    changed: bool,
    config_bytes: usize,
    used: usize,
    room: u64,
    backup: Option<String>,
}

impl Embedded {
    fn already(args: &IsoEmbedArgs, image: &LiveImage, config: &[u8]) -> Self {
        Self {
            image: args.image.display().to_string(),
            changed: false,
            config_bytes: config.len(),
            used: image.used(),
            room: image.area().length,
            backup: None,
        }
    }
}

impl Report for Embedded {
    fn text(&self, _wide: bool) -> String {
        let Self {
            image,
            config_bytes,
            used,
            room,
            ..
        } = self;
        if !self.changed {
            return format!("{image} has this config already\n");
        }
        let backup = self.backup.iter();
        std::iter::once(format!(
            "{image}: config of {config_bytes} bytes embedded; {used} of {room} bytes are in use\n"
        ))
        .chain(backup.map(|backup| format!("what was there before is in {backup}\n")))
        .collect()
    }

    fn names(&self) -> Vec<String> {
        vec![self.image.clone()]
    }
}
