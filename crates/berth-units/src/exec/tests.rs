use proptest::prelude::*;

use super::*;

/// (value, [(prefix, path, argv)])
type Row = (
    &'static str,
    &'static [(&'static str, &'static str, &'static [&'static str])],
);

#[test]
fn commands_are_split_as_systemd_does() {
    let table: &[Row] = &[
        ("/bin/a", &[("", "/bin/a", &["/bin/a"])]),
        ("/bin/a b 'c d' \"e\"", &[("", "/bin/a", &["/bin/a", "b", "c d", "e"])]),
        ("-/bin/a b", &[("-", "/bin/a", &["/bin/a", "b"])]),
        ("@/bin/a zero b", &[("@", "/bin/a", &["zero", "b"])]),
        ("-@:+/bin/a zero", &[("-@:+", "/bin/a", &["zero"])]),
        ("!!/bin/a", &[("!!", "/bin/a", &["/bin/a"])]),
        ("!-!/bin/a", &[("!-!", "/bin/a", &["/bin/a"])]),
        ("|/bin/a b", &[("|", "/bin/a", &["/bin/a", "b"])]),
        ("--/bin/a", &[]),
        ("+!/bin/a", &[]),
        ("\"-/bin/my prog\" x", &[("-", "/bin/my prog", &["/bin/my prog", "x"])]),
        ("kubelet --v=2", &[("", "kubelet", &["kubelet", "--v=2"])]),
        (
            "/bin/a x ; /bin/b y ;",
            &[("", "/bin/a", &["/bin/a", "x"]), ("", "/bin/b", &["/bin/b", "y"])],
        ),
        (
            "/bin/a x; y \\; z ';'",
            &[("", "/bin/a", &["/bin/a", "x;", "y", ";", "z", ";"])],
        ),
        ("; ; /bin/a", &[("", "/bin/a", &["/bin/a"])]),
        (
            "/bin/a $$X ${Y} $Z %%i %n a\\sb",
            &[("", "/bin/a", &["/bin/a", "$$X", "${Y}", "$Z", "%%i", "%n", "a b"])],
        ),
        (
            "/usr/bin/kubelet \\",
            &[("", "/usr/bin/kubelet", &["/usr/bin/kubelet", "\\"])],
        ),
        ("", &[]),
    ];
    for (value, expected) in table {
        let line = ExecLine::parse(value);
        let found: Vec<_> = line
            .commands
            .iter()
            .map(|command| {
                let argv: Vec<_> = command.argv().iter().map(String::as_str).collect();
                (command.prefix(), command.path(), argv)
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(prefix, path, argv)| (*prefix, *path, argv.to_vec()))
            .collect();
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn refused_lines_say_why() {
    let table = [
        ("/bin/a \"b", "a quote has no end"),
        ("@", "the command line has no program"),
        ("@/bin/a", "`@` needs the program's name as the next word"),
        ("bin/a", "`bin/a` is neither a program's name nor an absolute path"),
        ("/bin/", "`/bin/` names a directory, not a program"),
        (
            "/bin/a\\n",
            "the program's path has a control character, a quote or a backslash",
        ),
    ];
    for (value, message) in table {
        let line = ExecLine::parse(value);
        assert!(line.is_refused(), "{value}");
        assert_eq!(line.problems.last().unwrap().message, message, "{value}");
        assert!(line.commands.is_empty(), "{value}");
    }
}

#[test]
fn a_dash_or_an_open_quote_in_front_makes_a_bad_line_a_warning() {
    for value in ["-/bin/a \"b", "\"/bin/a", "-bin/a", "-"] {
        let line = ExecLine::parse(value);
        assert!(!line.is_refused(), "{value}");
        assert!(line.commands.is_empty(), "{value}");
        assert_eq!(line.problems.len(), 1, "{value}");
    }
}

#[test]
fn a_bad_second_command_leaves_the_first() {
    let line = ExecLine::parse("/bin/a ; bin/b");
    assert!(line.is_refused());
    assert_eq!(line.commands.len(), 1);
}

#[test]
fn words_know_their_bytes() {
    let value = "-/bin/a  'b c' ; /bin/d \\; e  ";
    let line = ExecLine::parse(value);
    let text = |command: usize, word: usize| {
        let span = line.commands[command].word_span(word).unwrap();
        &value[span]
    };
    assert_eq!(text(0, 0), "-/bin/a");
    assert_eq!(text(0, 1), "'b c'");
    assert_eq!(&value[..line.commands[0].end()], "-/bin/a  'b c'");
    assert_eq!(text(1, 1), "\\;");
    assert_eq!(text(1, 2), "e");
    assert_eq!(&value[line.commands[1].end()..], "  ");
}

proptest! {
    #[test]
    fn no_value_makes_it_panic(value in prop_oneof![any::<String>(), "[-@:+!|/a '\";\\\\$%]{0,30}"]) {
        let line = ExecLine::parse(&value);
        for command in &line.commands {
            prop_assert!(!command.argv().is_empty());
            for index in 0..command.argv().len() {
                let span = command.word_span(index).unwrap();
                prop_assert!(value.get(span).is_some());
            }
            prop_assert!(value.is_char_boundary(command.end()));
        }
    }
}
