//! `berth pointer`: the small Ignition config that a machine boots from.

use std::io::Read;

use berth_ignition::{SpecVersion, parse};
use berth_ignition_server::{Pointer, pointer};
use berth_tokens::Secret;
use serde_json::Value;

use crate::{
    args::PointerArgs,
    exit::Exit,
    failure::{Chain, Failure},
    files,
    input::STDIN_NAME,
    output::Printer,
};

/// Runs the command.
pub(crate) fn run(args: &PointerArgs, stdin: &mut dyn Read, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let ca = args.ca.as_deref().map(files::read).transpose()?;
    let text = if args.token_stdin {
        Some(read_token(stdin)?)
    } else {
        args.token.clone()
    };
    let token = text.as_deref().map(secret).transpose()?;
    let config = pointer(&Pointer {
        url: &args.url,
        ca_pem: ca.as_deref(),
        token: token.as_ref(),
        headers: &[],
    })?;
    let config = match args.spec {
        None => config,
        Some(version) => in_version(version, &config)?,
    };
    printer.data(&format!("{config:#}\n"))?;
    Ok(Exit::Done)
}

pub(super) fn read_token(stdin: &mut dyn Read) -> Result<String, Failure> {
    let mut text = String::new();
    stdin.read_to_string(&mut text).map_err(|source| Failure::ReadFile {
        path: STDIN_NAME.into(),
        source,
    })?;
    Ok(text)
}

/// The text itself is never repeated in the message: it may be nearly right.
pub(super) fn secret(text: &str) -> Result<Secret, Failure> {
    Secret::parse(text.trim()).ok_or_else(|| Failure::Argument {
        message: "that is not a token of `berth token create`".to_owned(),
        hint: Some("a token begins with `berth`, and is shown once, when it is made".to_owned()),
    })
}

pub(super) fn in_version(version: SpecVersion, config: &Value) -> Result<Value, Failure> {
    let refuse = |reason: String| Failure::Argument {
        message: format!("the pointer cannot be written in spec {version}: {reason}"),
        hint: None,
    };
    let parsed = parse(config);
    let parsed = parsed
        .usable()
        .map_err(|findings| refuse(findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    parsed
        .to_version(version)
        .map_err(|error| refuse(Chain(&error).to_string()))
}
