//! Drop-ins loaded by the real systemd.

use proptest::{strategy::ValueTree, test_runner::TestRunner};

use super::{shapes::SHAPES, *};
use crate::oracle;

#[test]
fn systemd_runs_the_command_with_one_more_flag() {
    let mut runner = TestRunner::deterministic();
    let mut texts: Vec<(String, Vec<(String, String)>)> = SHAPES
        .iter()
        .map(|shape| {
            let drop_ins = shape
                .drop_ins
                .iter()
                .map(|(path, text)| (file_name(path).to_owned(), (*text).to_owned()))
                .collect();
            (format!("[Service]\nType=notify\n{}\n", shape.unit), drop_ins)
        })
        .collect();
    for _ in 0..150 {
        let text = unit_text().new_tree(&mut runner).unwrap().current();
        texts.push((text, Vec::new()));
    }

    let mut files = Vec::new();
    let mut expected = Vec::new();
    for (number, (text, drop_ins)) in texts.iter().enumerate() {
        let name = format!("k{number}.service");
        let given: Vec<_> = drop_ins
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_bytes()))
            .collect();
        let unit = EffectiveUnit::assemble(&name, (&name, text.as_bytes()), &given);
        let Ok(made) = compute(&unit, "pool=infra", Flavour::Upstream) else {
            continue;
        };
        let environment = unit.environment(|_| EnvFileContent::Missing);
        let argv: Vec<Vec<String>> = argv_with(&unit, &made)
            .into_iter()
            .map(|argv| {
                argv.iter()
                    .map(|word| environment.expand_specifiers(word, &mut Vec::new()))
                    .collect()
            })
            .collect();
        files.push((name.clone(), text.clone().into_bytes()));
        for (path, text) in drop_ins {
            files.push((format!("{name}.d/{path}"), text.clone().into_bytes()));
        }
        let text = made.text.unwrap().into_bytes();
        files.push((format!("{name}.d/{}", made.file_name), text));
        expected.push((name, argv));
    }
    assert!(expected.len() > 100);
    let Some(loaded) = oracle::load(&files) else {
        return;
    };
    for (name, argv) in expected {
        let systemd = &loaded[&name];
        assert_eq!(systemd.state, "loaded", "{name}");
        assert_eq!(systemd.argv, argv, "{name}");
        assert!(
            argv[0].contains(&"--node-labels=pool=infra".to_owned()),
            "{name}: {argv:?}"
        );
    }
}
