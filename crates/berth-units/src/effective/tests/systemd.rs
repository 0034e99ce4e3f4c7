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

/// Every file sets a variable of its own name, so what systemd took shows.
#[test]
fn systemd_picks_the_same_files() {
    const PLACES: &[&str] = &[
        "NAME.d/10-x.conf",
        "NAME.d/20-x.conf",
        "NAME.d/.hidden.conf",
        "NAME.d/note.txt",
        "a-.service.d/10-x.conf",
        "a-.service.d/15-x.conf",
        "a-b-.service.d/15-x.conf",
        "a-b-.service.d/20-x.conf",
        "service.d/05-x.conf",
        "service.d/10-x.conf",
        "service.d/15-x.conf",
    ];
    let name = "a-b-c.service";
    let mut runner = TestRunner::deterministic();
    for _ in 0..12 {
        let choice = prop::collection::vec(0..6u8, PLACES.len() * 2)
            .new_tree(&mut runner)
            .unwrap()
            .current();
        let mut tree = UnitTree::with_search_path(&["/units", "/low"]);
        let mut files = vec![(format!("low/{name}"), b"[Service]\nExecStart=/bin/a\n".to_vec())];
        tree.add(format!("/low/{name}"), "[Service]\nExecStart=/bin/a\n");
        for (number, kind) in choice.iter().enumerate() {
            let place = PLACES[number / 2].replace("NAME", name);
            let (ours, theirs) = match number % 2 {
                0 => (format!("/units/{place}"), place),
                _ => (format!("/low/{place}"), format!("low/{place}")),
            };
            let text = match kind {
                0 | 1 => continue,
                2 => "/dev/null".to_owned(),
                3 => String::new(),
                _ => format!("[Service]\nEnvironment=LAST=v{number} V{number}=1\n"),
            };
            let content = match text.as_str() {
                "/dev/null" => Content::Masked,
                text => Content::from(text),
            };
            assert!(tree.add(ours, content));
            files.push((theirs, text.into_bytes()));
        }
        let Some(loaded) = oracle::load(&files) else {
            return;
        };
        let unit = EffectiveUnit::load(&tree, name);
        let variables: BTreeMap<_, _> = unit
            .environment(|_| EnvFileContent::Missing)
            .variables()
            .iter()
            .map(|(name, variable)| (name.clone(), variable.value.clone()))
            .collect();
        assert_eq!(variables, loaded[name].environment, "{files:#?}");
    }
}
