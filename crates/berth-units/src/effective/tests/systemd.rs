//! The merged unit compared with what the real systemd loads.

use std::collections::BTreeMap;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

use super::*;
use crate::oracle;

/// Pieces from which unit files are put together.
fn piece() -> impl Strategy<Value = String> {
    let fixed = |text: &'static str| Just(text.to_owned());
    let lines = prop_oneof![
        4 => fixed("\n"),
        2 => fixed("\nExecStart="),
        2 => fixed("\nExecStart = /bin/a "),
        2 => fixed("\nEnvironment=A=1 "),
        1 => fixed("\nEnvironment="),
        1 => fixed("\nType=oneshot\n"),
        1 => fixed("\n[Service]\n"),
        1 => fixed("\n[Service\n"),
        1 => fixed("\njunk\n"),
        2 => fixed(" \\\n "),
        1 => fixed("\\\r\n"),
        1 => fixed("\r\n"),
        1 => fixed(" \\ \n"),
        1 => fixed("\\\\\n"),
        2 => fixed("\n# comment\n"),
        1 => fixed("\n ; comment \\\n"),
    ];
    let words = prop_oneof![
        1 => fixed(" ; "),
        1 => fixed(" \\; "),
        1 => fixed(" '"),
        1 => fixed("\" "),
        2 => fixed(" 'x y' "),
        2 => fixed(" \"z\\\"\\x41\\s\\101\\u00e9\" "),
        1 => fixed("\\q"),
        2 => fixed(" %% %n%p $$A ${B} $C "),
        2 => fixed(" /bin/b "),
        2 => fixed(" 'B=x y' A=\"2\" C= 1D=x "),
        1 => fixed(" D=%n "),
        2 => "[-@:+!]{1,3}/bin/c ",
        2 => "[a-z/.=]{1,5}",
    ];
    prop_oneof![lines, words]
}

fn random_file(runner: &mut TestRunner) -> String {
    let pieces = prop::collection::vec(piece(), 0..10);
    let tail = pieces.new_tree(runner).unwrap().current().concat();
    let start = prop_oneof![
        3 => Just("ExecStart=/bin/a x"),
        2 => Just("ExecStart=\nExecStart=/bin/k "),
        1 => Just("ExecStart="),
        1 => Just("Restart=no"),
    ];
    format!("[Service]\n{}{tail}", start.new_tree(runner).unwrap().current())
}

#[test]
fn systemd_loads_the_same_commands() {
    let mut runner = TestRunner::deterministic();
    let mut files = Vec::new();
    let mut units = Vec::new();
    for number in 0..300 {
        let name = format!("u{number}.service");
        let fragment = random_file(&mut runner);
        files.push((name.clone(), fragment.clone().into_bytes()));
        let mut tree = UnitTree::with_search_path(&["/units"]);
        tree.add(format!("/units/{name}"), fragment);
        for drop_in in 0..number % 3 {
            let text = random_file(&mut runner);
            let path = format!("{name}.d/{drop_in}.conf");
            files.push((path.clone(), text.clone().into_bytes()));
            tree.add(format!("/units/{path}"), text);
        }
        units.push(EffectiveUnit::load(&tree, &name));
    }
    let Some(loaded) = oracle::load(&files) else {
        return;
    };
    let mut good = 0;
    for unit in &units {
        let systemd = &loaded[unit.name()];
        let texts: Vec<_> = unit
            .sources()
            .iter()
            .map(|source| String::from_utf8(source.file.print()).unwrap())
            .collect();
        let refusal = unit.refusal();
        assert_eq!(
            systemd.state == "loaded",
            refusal.is_none(),
            "{} {refusal:?}: {texts:#?}",
            systemd.state
        );
        if refusal.is_some() {
            continue;
        }
        good += 1;
        let environment = unit.environment(|_| EnvFileContent::Missing);
        let argv: Vec<Vec<String>> = unit
            .list("Service", "ExecStart")
            .iter()
            .flat_map(|setting| setting.commands())
            .map(|command| {
                command
                    .argv()
                    .iter()
                    .map(|word| environment.expand_specifiers(word, &mut Vec::new()))
                    .collect()
            })
            .collect();
        assert_eq!(argv, systemd.argv, "{texts:#?}");
        let variables: BTreeMap<_, _> = environment
            .variables()
            .iter()
            .map(|(name, variable)| (name.clone(), variable.value.clone()))
            .collect();
        assert_eq!(variables, systemd.environment, "{texts:#?}");
    }
    assert!(good > 40, "only {good} of the units load: the comparison says little");
}
