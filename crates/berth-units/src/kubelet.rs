//! The kubelet in a command line: where it is, its flags by pflag's rules, and the labels they give.

use berth_labels::NodeLabels;

use crate::{
    effective::file_name,
    environment::{Argument, Environment, lone_variable},
    exec::ExecCommand,
};

mod flags;

use flags::{Arity, arity};

const SHELLS: &[&str] = &["ash", "bash", "busybox", "dash", "ksh", "sh", "zsh"];

/// A command line that runs the kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletCommand {
    wrapper: Vec<String>,
    path: String,
    flags: Vec<Flag>,
    opaque: Vec<Opaque>,
    positional: Vec<String>,
    needs_value: Option<String>,
    insertion: Insertion,
}

/// One flag as the kubelet reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The name with `-` for `_`, without leading dashes.
    pub name: String,
    /// The value; `None` for a boolean without one.
    pub value: Option<String>,
    /// Index of the word of the argument list where the flag starts.
    pub word: usize,
    /// The `$NAME` that gave the flag, if it does not stand in the command line itself.
    pub variable: Option<String>,
    /// Variables whose values are part of the flag.
    pub through: Vec<String>,
    /// Variables and specifiers in the flag whose value is not known.
    pub unresolved: Vec<String>,
}

/// A `$NAME` that may stand for any number of flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// The variable.
    pub variable: String,
    /// Index of its word in the argument list.
    pub word: usize,
}

impl Opaque {
    fn of(argument: &Argument) -> Option<Self> {
        argument.is_opaque().then(|| Self {
            variable: argument.variable.clone().unwrap_or_default(),
            word: argument.word,
        })
    }
}

/// One label that the kubelet would register with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagLabel {
    /// The key as written.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// Index of the flag in [`KubeletCommand::flags`].
    pub flag: usize,
    /// Whether variables or specifiers that are not known are part of the label.
    pub open: bool,
}

impl Flag {
    /// Whether a part of the flag that is not known shows in `text`.
    fn leaves_open(&self, text: &str) -> bool {
        self.unresolved.iter().any(|name| {
            if name.starts_with('%') {
                text.contains(name.as_str())
            } else {
                text.contains(&format!("${{{name}}}")) || lone_variable(text) == Some(name)
            }
        })
    }
}

/// Where one more flag can be put so that the kubelet reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Behind the last word.
    End,
    /// In front of a word: a `--`, or a variable that holds one.
    Before(usize),
    /// At the end of the shell script that this word is.
    InsideScript(usize),
}

/// Why no kubelet was found in a command line, or none that a flag could be added to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotKubelet {
    /// Some other program.
    #[error("`{program}` does not run the kubelet")]
    OtherProgram {
        /// The program.
        program: String,
    },
    /// A shell runs a script that is more than one plain command.
    #[error(
        "the kubelet is started by the shell script `{script}`: its text is evaluated a second time, so no flag can be \
         added safely"
    )]
    ShellScript {
        /// The script.
        script: String,
    },
    /// A shell runs what a variable holds.
    #[error("the command in ${{{variable}}} is run by a shell: what it runs is not in the unit")]
    ShellVariable {
        /// The variable.
        variable: String,
    },
}

impl KubeletCommand {
    /// Finds the kubelet in a command of a unit.
    pub fn find(command: &ExecCommand, environment: &Environment) -> Result<Self, NotKubelet> {
        if let Some(variable) = shell_variable(command.path(), command.argv()) {
            return Err(NotKubelet::ShellVariable { variable });
        }
        Self::read(command.path(), &environment.expand(command))
    }

    /// Finds the kubelet in an argument list that needs no expansion.
    pub fn from_argv<S: AsRef<str>>(argv: &[S]) -> Result<Self, NotKubelet> {
        let arguments: Vec<_> = argv
            .iter()
            .enumerate()
            .map(|(word, text)| plain_argument(text.as_ref(), word))
            .collect();
        let program = arguments.first().map_or("", |first| first.text.as_str());
        Self::read(program, &arguments)
    }

    fn read(program: &str, arguments: &[Argument]) -> Result<Self, NotKubelet> {
        let at = locate(program, arguments)?;
        let (path, wrapper, rest, insertion) = match at {
            Location::Word(0) => (program.to_owned(), &[][..], arguments.get(1..), Insertion::End),
            Location::Word(word) => (
                arguments.get(word).map(|found| found.text.clone()).unwrap_or_default(),
                arguments.get(..word).unwrap_or_default(),
                arguments.get(word + 1..),
                Insertion::End,
            ),
            Location::Script { word, ref script } => {
                let index = arguments.iter().position(|found| found.word == word).unwrap_or(0);
                (
                    script.first().map(|found| found.text.clone()).unwrap_or_default(),
                    arguments.get(..index).unwrap_or_default(),
                    script.get(1..),
                    Insertion::InsideScript(word),
                )
            }
        };
        let mut command = Self {
            wrapper: wrapper.iter().map(|argument| argument.text.clone()).collect(),
            path,
            flags: Vec::new(),
            opaque: Vec::new(),
            positional: Vec::new(),
            needs_value: None,
            insertion,
        };
        command.read_flags(rest.unwrap_or_default());
        Ok(command)
    }

    fn read_flags(&mut self, arguments: &[Argument]) {
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            if let Some(opaque) = Opaque::of(argument) {
                self.opaque.push(opaque);
                continue;
            }
            if argument.text == "--" {
                if self.insertion == Insertion::End {
                    self.insertion = Insertion::Before(argument.word);
                }
                self.positional.extend(rest.map(|found| found.text.clone()));
                return;
            }
            let Some((name, mut value)) = split_flag(&argument.text) else {
                self.positional.push(argument.text.clone());
                continue;
            };
            let mut unresolved = argument.unresolved.clone();
            let mut through = argument.through.clone();
            let takes_next = value.is_none()
                && match arity(&name) {
                    Arity::Switch => false,
                    Arity::Value => true,
                    // A flag this crate does not know: a word that looks like a flag is not its value.
                    Arity::Unknown => rest
                        .peek()
                        .is_some_and(|next| !next.text.starts_with('-') && !next.is_opaque()),
                };
            if takes_next {
                if let Some(next) = rest.next() {
                    // It may be more words than the value.
                    self.opaque.extend(Opaque::of(next));
                    value = Some(next.text.clone());
                    unresolved.extend(next.unresolved.iter().cloned());
                    through.extend(next.through.iter().cloned());
                } else {
                    self.needs_value = Some(name.clone());
                }
            }
            self.flags.push(Flag {
                name,
                value,
                word: argument.word,
                variable: argument.variable.clone(),
                through,
                unresolved,
            });
        }
    }

    /// The words in front of the kubelet, such as OpenShift's kubenswrapper.
    pub fn wrapper(&self) -> &[String] {
        &self.wrapper
    }

    /// The kubelet's path, as written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// All flags in order.
    pub fn flags(&self) -> &[Flag] {
        &self.flags
    }

    /// The variables that may hold more flags and are not known.
    pub fn opaque(&self) -> &[Opaque] {
        &self.opaque
    }

    /// Words that are not flags. The kubelet refuses to start with any.
    pub fn positional(&self) -> &[String] {
        &self.positional
    }

    /// The flag that stands last without the value it needs. The kubelet refuses to start with one.
    pub fn needs_value(&self) -> Option<&str> {
        self.needs_value.as_deref()
    }

    /// The last flag of a name, which is the one that counts for all but collecting flags.
    pub fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags.iter().rev().find(|flag| flag.name == name)
    }

    /// The value of the last flag of a name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.flag(name)?.value.as_deref()
    }

    /// The labels of all `--node-labels` flags: repeats merge, the last value of a key wins.
    pub fn node_labels(&self) -> Vec<FlagLabel> {
        let mut labels: Vec<FlagLabel> = Vec::new();
        for (index, flag) in self.flags.iter().enumerate() {
            if flag.name != "node-labels" {
                continue;
            }
            for (key, value) in NodeLabels::parse(flag.value.as_deref()).entries() {
                let label = FlagLabel {
                    key: key.clone(),
                    value: value.clone(),
                    flag: index,
                    open: flag.leaves_open(key) || flag.leaves_open(value),
                };
                match labels.iter_mut().find(|known| known.key == *key) {
                    Some(known) => *known = label,
                    None => labels.push(label),
                }
            }
        }
        labels
    }

    pub(crate) fn insertion(&self) -> Insertion {
        self.insertion
    }
}

enum Location {
    /// Index of the argument that is the kubelet.
    Word(usize),
    /// The kubelet is in a plain script that this word holds.
    Script { word: usize, script: Vec<Argument> },
}

fn locate(program: &str, arguments: &[Argument]) -> Result<Location, NotKubelet> {
    if is_kubelet(program) {
        return Ok(Location::Word(0));
    }
    let shell = if is_shell(program) {
        Some(0)
    } else {
        (1..arguments.len()).find(|at| arguments.get(*at).is_some_and(|word| is_shell(&word.text)))
    };
    // Words behind a shell are the shell's, so they do not say where the kubelet is: a script of one word looks like a path.
    // The kubelet takes no other words than flags. So a word that names it and is followed by a path is an option's value,
    // as in `systemd-cat -t kubelet /usr/bin/kubelet`.
    let named: Vec<usize> = (1..shell.unwrap_or(arguments.len()))
        .filter(|at| arguments.get(*at).is_some_and(|word| is_kubelet(&word.text)))
        .collect();
    let with_flags = named.iter().find(|at| {
        let follows = arguments.get(**at + 1);
        follows.is_none_or(|next| next.text.starts_with('-') || next.is_opaque())
    });
    match (with_flags, shell, named.last()) {
        (Some(kubelet), _, _) | (None, None, Some(kubelet)) => Ok(Location::Word(*kubelet)),
        (None, Some(shell), _) => plain_script(program, arguments, shell),
        (None, None, None) => Err(NotKubelet::OtherProgram {
            program: program.to_owned(),
        }),
    }
}

/// A shell that runs `kubelet --flag …` with nothing in it that a shell would change.
fn plain_script(program: &str, arguments: &[Argument], shell: usize) -> Result<Location, NotKubelet> {
    let option = arguments
        .iter()
        .skip(shell + 1)
        .position(|word| word.text.starts_with('-') && word.text.ends_with('c'))
        .map(|at| at + shell + 1);
    let Some(script) = option.and_then(|at| arguments.get(at + 1)) else {
        return Err(NotKubelet::OtherProgram {
            program: program.to_owned(),
        });
    };
    let is_last = arguments.last().is_some_and(|last| last.word == script.word);
    let is_plain = script.unresolved.is_empty()
        && script.through.is_empty()
        && script
            .text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || " -_./,=:@+".contains(c));
    let mut words: Vec<_> = script.text.split(' ').filter(|word| !word.is_empty()).collect();
    if words.first() == Some(&"exec") {
        words.remove(0);
    }
    // A flag at the end of the script would not be one behind `--`.
    let is_open = !words.contains(&"--");
    if is_last && is_plain && is_open && words.first().is_some_and(|first| is_kubelet(first)) {
        return Ok(Location::Script {
            word: script.word,
            script: words
                .into_iter()
                .map(|text| plain_argument(text, script.word))
                .collect(),
        });
    }
    if script.text.contains("kubelet") || !script.unresolved.is_empty() {
        return Err(NotKubelet::ShellScript {
            script: script.text.clone(),
        });
    }
    Err(NotKubelet::OtherProgram {
        program: program.to_owned(),
    })
}

/// The variable in `bash -c "${VARIABLE}"`, whatever its value.
pub(crate) fn shell_variable(program: &str, argv: &[String]) -> Option<String> {
    if !is_shell(program) {
        return None;
    }
    let [_, option, script] = argv else {
        return None;
    };
    if !(option.starts_with('-') && option.ends_with('c')) {
        return None;
    }
    let script = script.trim().trim_start_matches("exec ").trim();
    let name = script
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .or_else(|| lone_variable(script))?;
    crate::environment::is_variable_name(name).then(|| name.to_owned())
}

fn plain_argument(text: &str, word: usize) -> Argument {
    Argument {
        text: text.to_owned(),
        word,
        variable: None,
        unresolved: Vec::new(),
        through: Vec::new(),
    }
}

fn is_kubelet(path: &str) -> bool {
    matches!(file_name(path), "kubelet" | "kubelet-wrapper")
}

fn is_shell(path: &str) -> bool {
    SHELLS.contains(&file_name(path))
}

/// Name and value of a word that is a flag.
fn split_flag(word: &str) -> Option<(String, Option<String>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        return Some((name.replace('_', "-"), value));
    }
    let short = word.strip_prefix('-')?;
    let name = short.chars().next()?;
    let rest = short.get(name.len_utf8()..).unwrap_or_default();
    let value = rest.strip_prefix('=').unwrap_or(rest);
    let value = (!rest.is_empty()).then(|| value.to_owned());
    Some((name.to_string(), value))
}

#[cfg(test)]
mod tests;
