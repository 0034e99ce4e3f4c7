//! The command line. It is read by hand: four commands do not pay for a library in an executable that stays small.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use crate::root::Root;

/// The file name under which systemd finds the generator.
const GENERATOR_NAME: &str = "berth-generator";

pub(crate) const HELP: &str = "\
The part of Berth that runs on a node.

Usage: berth-node [--root DIR] COMMAND
       berth-generator [--root DIR] NORMAL [EARLY LATE]

Commands:
  generator NORMAL [EARLY LATE]   Write the kubelet's drop-in to the directory NORMAL, as systemd's generators do.
                                  Never fails: what is odd is logged, and then the kubelet starts as without Berth.
  exec [--labels FILE] -- KUBELET [ARGS]...
                                  Run the kubelet with the labels added to its arguments, where no systemd is
  kubelet-env                     Merge the labels into OpenShift's /etc/kubernetes/kubelet-env
  default-kubelet [--file FILE]   Merge the labels into kubeadm's /etc/default/kubelet or /etc/sysconfig/kubelet
  check                           Show what the kubelet would be started with, and what is left out
  help, version

Options:
  --root DIR   Read and write under DIR instead of /, as for an image. NORMAL is taken as it is.

Files:
  /etc/berth/labels    one key=value per line
  /etc/berth/flavour   `upstream` or `openshift`; found out from the system where it is missing

Exit codes: 0 done, 1 the answer is no, 2 wrong usage or unreadable input.

Example: berth-node --root /mnt/image check
";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) root: Root,
    pub(crate) command: Command,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    Generator {
        directory: PathBuf,
    },
    Exec {
        labels: Option<String>,
        argv: Vec<OsString>,
    },
    KubeletEnv,
    DefaultKubelet {
        file: Option<String>,
    },
    Check,
}

/// Why the command line cannot be followed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) message: String,
    /// Whether systemd is the caller: then nobody reads an exit code.
    pub(crate) generator: bool,
}

/// Reads the program's own name and its arguments.
pub(crate) fn read(program: &OsStr, arguments: impl Iterator<Item = OsString>) -> Result<Call, Usage> {
    let generator = Path::new(program).file_name() == Some(OsStr::new(GENERATOR_NAME));
    let mut words: Vec<OsString> = arguments.collect();
    if generator {
        // Options may stand in front of the directories; the command is clear.
        words.insert(0, OsString::from("generator"));
    }
    parse(words).map_err(|message| Usage { message, generator })
}

fn parse(words: Vec<OsString>) -> Result<Call, String> {
    let mut root = Root::default();
    let mut command: Option<OsString> = None;
    let mut labels = None;
    let mut file = None;
    let mut rest = Vec::new();
    let mut argv = None;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                argv = Some(words.by_ref().collect());
            }
            Some("--help" | "-h") => command = Some(OsString::from("help")),
            Some("--version" | "-V") => command = Some(OsString::from("version")),
            Some(option) if option.starts_with("--") => {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(OsString::from(value))),
                    None => (option.to_owned(), words.next()),
                };
                let value = value.ok_or_else(|| format!("{name} needs a value"))?;
                match name.as_str() {
                    "--root" => root = Root::new(PathBuf::from(value)),
                    "--labels" => labels = Some(text(value)?),
                    "--file" => file = Some(text(value)?),
                    _ => return Err(format!("there is no option `{name}`")),
                }
            }
            _ if command.is_none() => command = Some(word),
            _ => rest.push(word),
        }
    }
    let command = command.unwrap_or_else(|| OsString::from("help"));
    let name = command.to_string_lossy().into_owned();
    let options = [
        ("exec", "--labels", labels.is_some()),
        ("default-kubelet", "--file", file.is_some()),
    ];
    for (owner, option, given) in options {
        if given && name != owner {
            return Err(format!("{option} belongs to `{owner}`, not to `{name}`"));
        }
    }
    if argv.is_some() && name != "exec" {
        return Err(format!("`{name}` takes nothing behind `--`"));
    }
    let most = if name == "generator" { 3 } else { 0 };
    if let Some(extra) = rest.get(most) {
        return Err(format!("`{name}` does not take `{}`", extra.to_string_lossy()));
    }
    let command = match name.as_str() {
        "help" => Command::Help,
        "version" => Command::Version,
        "generator" => Command::Generator {
            directory: rest
                .into_iter()
                .next()
                .map(PathBuf::from)
                .ok_or("the directory for the drop-in is missing")?,
        },
        "exec" => Command::Exec {
            labels,
            argv: argv
                .filter(|argv: &Vec<OsString>| !argv.is_empty())
                .ok_or("`exec` needs `--` and behind it the kubelet with its arguments")?,
        },
        "kubelet-env" => Command::KubeletEnv,
        "default-kubelet" => Command::DefaultKubelet { file },
        "check" => Command::Check,
        _ => return Err(format!("there is no command `{name}`")),
    };
    Ok(Call { root, command })
}

fn text(value: OsString) -> Result<String, String> {
    value
        .into_string()
        .map_err(|value| format!("`{}` is not UTF-8", value.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Result<Call, Usage> {
        let mut words = line.split_whitespace().map(OsString::from);
        let program = words.next().unwrap();
        read(&program, words)
    }

    fn command(line: &str) -> Command {
        call(line).unwrap().command
    }

    #[test]
    fn systemd_calls_it_by_its_name() {
        let directory = PathBuf::from("/n");
        for line in [
            "/etc/systemd/system-generators/berth-generator /n /e /l",
            "berth-generator /n",
            "/usr/bin/berth-node generator /n /e /l",
        ] {
            assert_eq!(
                command(line),
                Command::Generator {
                    directory: directory.clone()
                }
            );
        }
        let call = call("berth-generator --root /mnt /n").unwrap();
        assert_eq!(call.root, Root::new(PathBuf::from("/mnt")));
        assert_eq!(call.command, Command::Generator { directory });
    }

    #[test]
    fn all_behind_the_dashes_is_the_kubelets() {
        assert_eq!(
            command("berth-node exec --labels /l -- kubelet --root --help -- x"),
            Command::Exec {
                labels: Some("/l".to_owned()),
                argv: ["kubelet", "--root", "--help", "--", "x"].map(OsString::from).to_vec(),
            }
        );
    }

    #[test]
    fn wrong_usage_is_named() {
        let table = [
            ("berth-node exec", "`exec` needs `--`", false),
            ("berth-node exec --", "`exec` needs `--`", false),
            ("berth-node chek", "there is no command `chek`", false),
            ("berth-node check --rot /x", "there is no option `--rot`", false),
            ("berth-node check --root", "--root needs a value", false),
            ("berth-node check x", "`check` does not take `x`", false),
            ("berth-node check --labels /x", "--labels belongs to `exec`", false),
            ("berth-node generator a b c d", "`generator` does not take `d`", false),
            ("berth-generator", "the directory for the drop-in is missing", true),
            (
                "berth-node generator",
                "the directory for the drop-in is missing",
                false,
            ),
        ];
        for (line, message, generator) in table {
            let usage = call(line).unwrap_err();
            assert!(usage.message.starts_with(message), "{line}: {}", usage.message);
            assert_eq!(usage.generator, generator, "{line}");
        }
    }
}
