//! For each shape of unit: what Berth says that systemd runs is what systemd runs.

use std::{fs, path::Path};

use serde_json::Value;

use super::{FirstBoot, read};
use crate::{error::TestingError, process};

/// The labels of the machine while the shapes are tried.
const LABELS: &str = "pool=rwn";

/// The stand-in for the kubelet tells systemd nothing, so the units are of another type.
const TYPE: (&str, &str) = ("90-type.conf", "[Service]\nType=exec\n");

/// The files of one shape, by name.
fn files(shape: &Path) -> Result<Vec<(String, String)>, TestingError> {
    let mut files = vec![(TYPE.0.to_owned(), TYPE.1.to_owned())];
    for path in entries(shape)? {
        files.push((name(&path), read(&path)?));
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>, TestingError> {
    let entries = fs::read_dir(folder).map_err(|source| TestingError::File {
        path: folder.to_owned(),
        source,
    })?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// All shapes as files for the machine.
pub(super) fn staged(shapes: &Path) -> Result<Vec<(String, String)>, TestingError> {
    let mut staged = vec![("var/lib/e2e/labels".to_owned(), format!("{LABELS}\n"))];
    for shape in entries(shapes)? {
        for (file, contents) in files(&shape)? {
            staged.push((format!("var/lib/e2e/shapes/{}/{file}", name(&shape)), contents));
        }
    }
    Ok(staged)
}

/// Compares what the machine reports with what Berth says, and gives the number of shapes.
pub(super) fn compare(run: &FirstBoot<'_>, shapes: &Path, reported: &Path) -> Result<usize, TestingError> {
    let shapes = entries(shapes)?;
    let mut differences = Vec::new();
    for shape in &shapes {
        let said = said(run, shape)?;
        let ran = ran(&reported.join(name(shape)));
        if said != ran {
            differences.push(format!("{}: Berth says {said:?}, systemd ran {ran:?}", name(shape)));
        }
    }
    if shapes.is_empty() {
        differences.push("there are no shapes".to_owned());
    }
    if differences.is_empty() {
        Ok(shapes.len())
    } else {
        Err(TestingError::Wrong(differences.join("\n")))
    }
}

/// What systemd ran: the arguments and the generated command. `None` if it refused the unit, and the generator too.
fn ran(result: &Path) -> Option<(Vec<String>, String)> {
    let arguments = read(&result.join("arguments")).ok();
    let drop_in = read(&result.join("50-berth.conf")).ok();
    if arguments.is_none() && drop_in.is_none() && result.join("refusal").exists() {
        return None;
    }
    let arguments = arguments.unwrap_or_default();
    let arguments = arguments.strip_suffix('\0').unwrap_or(&arguments);
    let arguments = arguments.split('\0').map(str::to_owned).collect();
    Some((arguments, commands(&drop_in.unwrap_or_default())))
}

/// What Berth says, with what it leaves for systemd done.
fn said(run: &FirstBoot<'_>, shape: &Path) -> Result<Option<(Vec<String>, String)>, TestingError> {
    let folder = crate::scratch::scratch()?;
    let mut command = run.berth(&[
        "unit",
        "kubelet",
        "--flavour",
        "upstream",
        "--labels",
        LABELS,
        "-o",
        "json",
    ]);
    for (file, contents) in files(shape)? {
        let path = crate::scratch::write(folder.path().join(&file), contents)?;
        command.arg(if file == "kubelet.service" {
            "--unit"
        } else {
            "--dropin"
        });
        command.arg(path);
    }
    let answer = match process::run(&mut command) {
        Ok(answer) => answer,
        // The answer is no.
        Err(TestingError::Ended { status, .. }) if status.code() == Some(1) => return Ok(None),
        Err(error) => return Err(error),
    };
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    let exec = &answer["exec"][0];
    let plain = exec["prefix"].as_str().is_some_and(|prefix| prefix.contains(':'));
    let arguments = exec["argv"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let arguments = arguments.skip(1).map(|argument| started(argument, plain)).collect();
    let drop_in = answer["dropin"].as_str().unwrap_or_default();
    Ok(Some((arguments, commands(drop_in))))
}

fn commands(drop_in: &str) -> String {
    let lines: Vec<&str> = drop_in.lines().filter(|line| line.starts_with("ExecStart")).collect();
    lines.join("\n")
}

/// What systemd does with an argument when it starts the unit: specifiers, then variables unless the prefix forbids it.
fn started(argument: &str, plain: bool) -> String {
    let mut out = String::new();
    let mut rest = argument.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek()) {
            ('%', Some('%')) => out.push('%'),
            ('%', Some('n')) => out.push_str("kubelet.service"),
            ('$', Some('$')) if !plain => out.push('$'),
            _ => {
                out.push(character);
                continue;
            }
        }
        rest.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::KUBELET_PATH;

    #[test]
    fn what_is_left_for_systemd_is_done() {
        assert_eq!(started("--y=$$X", false), "--y=$X");
        assert_eq!(started("--y=$$X", true), "--y=$$X");
        assert_eq!(started("--z=%%i --unit=%n %", false), "--z=%i --unit=kubelet.service %");
    }

    #[test]
    fn the_machine_has_the_stand_in_where_the_shapes_look_for_it() {
        let shapes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../berth-node/tests/shapes");
        let staged = staged(&shapes).unwrap();
        assert!(staged.len() > 30);
        assert!(staged.iter().any(|(_, contents)| contents.contains("/usr/bin/kubelet")));
        assert!(!staged.iter().any(|(_, contents)| contents.contains(KUBELET_PATH)));
    }
}
