use proptest::prelude::*;

use super::*;
use crate::ExecLine;

fn place() -> Place {
    Place {
        path: "/etc/env".to_owned(),
        line: 1,
        column: 1,
    }
}

fn environment(pairs: &[(&str, &str)]) -> Environment {
    let mut environment = Environment::new();
    for (name, value) in pairs {
        environment.set(*name, *value, place());
    }
    environment
}

fn expand(environment: &Environment, value: &str) -> Vec<String> {
    let line = ExecLine::parse(value);
    environment
        .expand(&line.commands[0])
        .into_iter()
        .map(|argument| argument.text)
        .collect()
}

#[test]
fn variables_expand_as_systemd_does() {
    let environment = environment(&[
        ("ONE", "one"),
        ("TWO", "two two"),
        ("QUOTED", "'two two' too"),
        ("EMPTY", ""),
    ]);
    let table: &[(&str, &[&str])] = &[
        (
            "/bin/echo $ONE $TWO ${TWO}",
            &["/bin/echo", "one", "two", "two", "two two"],
        ),
        (
            "/bin/echo $QUOTED ${QUOTED}",
            &["/bin/echo", "two two", "too", "'two two' too"],
        ),
        ("/bin/echo $EMPTY ${EMPTY} $NONE ${NONE}", &["/bin/echo", "", ""]),
        (
            "/bin/echo a${ONE}b $$ONE a$ONE ${ONE",
            &["/bin/echo", "aoneb", "$ONE", "a$ONE", "${ONE"],
        ),
        (":/bin/echo $ONE ${ONE} $$", &["/bin/echo", "$ONE", "${ONE}", "$$"]),
        ("/bin/echo %%n %n", &["/bin/echo", "%n", "%n"]),
    ];
    for (value, expected) in table {
        assert_eq!(expand(&environment, value), *expected, "{value}");
    }
}

#[test]
fn what_is_not_known_stays_and_is_named() {
    let mut environment = environment(&[("ONE", "one")]);
    environment.set_specifier('n', "kubelet.service");
    environment.add_unread("/etc/kubernetes/kubelet-env");
    let line = ExecLine::parse("/bin/a --x=${ONE},%n,%H $ARGS");
    let found = environment.expand(&line.commands[0]);
    assert_eq!(found[1].text, "--x=${ONE},kubelet.service,%H");
    assert_eq!(found[1].unresolved, ["%H", "ONE"]);
    assert!(!found[1].is_opaque());
    assert_eq!(found[2].text, "$ARGS");
    assert!(found[2].is_opaque());
}

#[test]
fn environment_files_are_read_as_systemd_does() {
    let table: &[(&str, &[(&str, &str)])] = &[
        ("A=b", &[("A", "b")]),
        ("A=b c  \nB=\n", &[("A", "b c"), ("B", "")]),
        (" A = b\n", &[("A", "b")]),
        ("# A=1\n;B=2\nC=3 # x", &[("C", "3 # x")]),
        ("A=b \\\n c\nB=1", &[("A", "b  c"), ("B", "1")]),
        ("A=\"b\\\nc\" d\n", &[("A", "bcd")]),
        ("A='b\nc'\nB=\"x\\\"y\\q\\$\"\n", &[("A", "b\nc"), ("B", "x\"y\\q$")]),
        ("A=b\\ \n", &[("A", "b ")]),
        ("A=\\\"x\n", &[("A", "\"x")]),
        ("A=it's\n", &[("A", "it's")]),
        ("A=1\r\nB=2\r\n", &[("A", "1"), ("B", "2")]),
        ("junk\nA=1\nexport B=2\n1C=3\n", &[("A", "1")]),
        ("# comment \\\nA=1\n", &[("A", "1")]),
        ("A='open\nB=2\n", &[("A", "open\nB=2\n")]),
    ];
    for (text, expected) in table {
        let file = EnvFile::parse(text.as_bytes());
        let found: Vec<_> = file
            .entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.value.as_str()))
            .collect();
        assert_eq!(found, *expected, "{text:?}");
    }
}

#[test]
fn entries_know_their_place() {
    let text = "# head\nA=1\n\nB=\"x\ny\"\nC=3";
    let file = EnvFile::parse(text.as_bytes());
    let found: Vec<_> = file
        .entries
        .iter()
        .map(|entry| (entry.line, &text[entry.span.clone()]))
        .collect();
    assert_eq!(found, [(2, "A=1"), (4, "B=\"x\ny\""), (6, "C=3")]);
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(source in any::<Vec<u8>>()) {
        let file = EnvFile::parse(&source);
        for entry in file.entries {
            prop_assert!(source.get(entry.span).is_some());
        }
    }

    #[test]
    fn a_quoted_value_comes_back(value in "[^\0]*") {
        let text = format!("A={}\n", quote_value(&value));
        let file = EnvFile::parse(text.as_bytes());
        prop_assert_eq!(&file.get("A").unwrap().value, &value);
    }
}
