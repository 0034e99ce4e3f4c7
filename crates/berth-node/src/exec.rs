//! Runs the kubelet in place of this program, with the labels in its arguments.

use std::{ffi::OsString, io, os::unix::process::CommandExt as _, process::ExitCode};

use berth_units::{HookError, LABELS_PATH, merge_argv};

use crate::{
    log::{chain, say},
    node::{flavour, labels_file},
    root::Root,
};

/// Merges and runs. Labels that cannot be added do not keep the kubelet from starting; a command line that is wrong does.
pub(crate) fn run(root: &Root, labels: Option<&str>, argv: &[OsString]) -> ExitCode {
    match merged(root, labels, argv) {
        Ok(argv) => start(&argv),
        Err(message) => {
            say(&message);
            ExitCode::from(2)
        }
    }
}

fn merged(root: &Root, path: Option<&str>, argv: &[OsString]) -> Result<Vec<OsString>, String> {
    let mut problems = Vec::new();
    let labels = match labels_file(root, path.unwrap_or(LABELS_PATH), &mut problems) {
        Ok(Some(labels)) => Some(labels),
        Ok(None) => match path {
            Some(path) => return Err(format!("{path}: there is no such file")),
            None => None,
        },
        Err(message) if path.is_some() => return Err(message),
        Err(message) => {
            problems.push(message);
            None
        }
    };
    let (flavour, _) = flavour(root, None, &mut problems);
    let words: Option<Vec<&str>> = argv.iter().map(|word| word.to_str()).collect();
    let merged = match (labels, words) {
        (None, _) => argv.to_vec(),
        (Some(_), None) => {
            problems.push("an argument is not UTF-8, so no labels are added".to_owned());
            argv.to_vec()
        }
        (Some(labels), Some(words)) => match merge_argv(&words, &labels, flavour) {
            Ok(merged) => {
                for left in merged.left_out {
                    problems.push(format!("{} is left out: {}", left.label, left.reason));
                }
                merged.argv.into_iter().map(OsString::from).collect()
            }
            Err(error @ HookError::NotKubelet(_)) => return Err(chain(&error)),
            Err(error) => {
                problems.push(format!("no labels are added: {}", chain(&error)));
                argv.to_vec()
            }
        },
    };
    for problem in problems {
        say(&problem);
    }
    Ok(merged)
}

fn start(argv: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = argv.split_first() else {
        return ExitCode::from(2);
    };
    // This only returns when it fails.
    let error = std::process::Command::new(program).args(arguments).exec();
    say(&format!("cannot run {}: {error}", program.to_string_lossy()));
    // The codes that shells and `env` give.
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    })
}
