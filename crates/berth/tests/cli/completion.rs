//! `berth completion`: the shell itself is the judge.

use std::process::Command;

use crate::run::{finish, line};

#[test]
fn bash_completes_commands_options_and_values() {
    let script = line("completion bash");
    assert_eq!((script.exit, script.stderr.as_str()), (0, ""));
    for (typed, wanted) in [
        ("berth resol", "resolve"),
        ("berth token cre", "create"),
        ("berth resolve --fla", "--flavour"),
        ("berth install --mode fu", "full"),
        ("berth completion z", "zsh"),
    ] {
        let asked = format!(
            "{}\nCOMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _berth berth \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.stdout
        );
        let answer = finish(Command::new("bash").arg("-s"), asked.as_bytes());
        assert!(answer.stdout.lines().any(|line| line == wanted), "{typed}: {answer}");
    }
}

#[test]
fn every_shell_has_a_script_and_others_are_named() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = line(&format!("completion {shell}"));
        assert_eq!(script.exit, 0, "{script}");
        assert!(script.stdout.contains("ignition-server"), "{shell}");
    }
    let unknown = line("completion tcsh");
    assert_eq!(unknown.exit, 2, "{unknown}");
    assert!(
        unknown.stderr.contains("bash, elvish, fish, powershell, zsh"),
        "{unknown}"
    );
}
