use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Vec<(String, String, String)> {
    UnitFile::parse(text)
        .assignments()
        .map(|found| {
            (
                found.section().to_owned(),
                found.key().to_owned(),
                found.value().to_owned(),
            )
        })
        .collect()
}

fn service(pairs: &[(&str, &str)]) -> Vec<(String, String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ("Service".to_owned(), (*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// (name, text, [(key, value)])
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

#[test]
fn values_are_joined_and_stripped_as_systemd_does() {
    let table: &[Row] = &[
        ("blanks around =", "A = b c \nB\t=\td", &[("A", "b c"), ("B", "d")]),
        ("only the first = counts", "A=b=c", &[("A", "b=c")]),
        ("empty value", "A=\nB= \t", &[("A", ""), ("B", "")]),
        ("comments", "#A=1\n ; B=2\nC=3 # no comment", &[("C", "3 # no comment")]),
        ("continuation keeps inner blanks", "A=b \\\n   c", &[("A", "b     c")]),
        ("comment in a continuation", "A=b \\\n# no\n; no\n c", &[("A", "b   c")]),
        (
            "empty line ends a continuation",
            "A=b \\\n\nB=c",
            &[("A", "b"), ("B", "c")],
        ),
        ("continuation at the end", "A=b\\", &[("A", "b")]),
        (
            "escaped backslash does not continue",
            "A=b\\\\\nB=c",
            &[("A", "b\\\\"), ("B", "c")],
        ),
        (
            "blank behind the backslash",
            "A=b \\ \nB=c",
            &[("A", "b \\"), ("B", "c")],
        ),
        ("key in a continuation", "A\\\n=b", &[("A", "b")]),
        ("CRLF", "A=b\\\r\nc\r\nB=d\r\n", &[("A", "b c"), ("B", "d")]),
        (
            "lone CR and NUL end lines",
            "A=b\rB=c\0C=d",
            &[("A", "b"), ("B", "c"), ("C", "d")],
        ),
        ("junk", "junk\n=x\n  =y\nA=b", &[("A", "b")]),
        ("no final newline", "A=b", &[("A", "b")]),
        ("other blanks are not blanks", "A=\u{b}b", &[("A", "\u{b}b")]),
    ];
    for (name, text, expected) in table {
        assert_eq!(read(&format!("[Service]\n{text}")), service(expected), "{name}");
    }
}

#[test]
fn sections_change_and_repeat() {
    let found = read("[Unit]\nA=1\n[Service]\nB=2\n [X-Own] \nC=3\n[Unit]\nD=4");
    let sections: Vec<_> = found
        .iter()
        .map(|(section, key, _)| (section.as_str(), key.as_str()))
        .collect();
    assert_eq!(
        sections,
        [("Unit", "A"), ("Service", "B"), ("X-Own", "C"), ("Unit", "D")]
    );
}

#[test]
fn byte_order_mark_is_not_part_of_the_first_line() {
    assert_eq!(read("\u{feff}[Service]\nA=b"), service(&[("A", "b")]));
}

fn messages(text: impl Into<Vec<u8>>) -> Vec<String> {
    UnitFile::parse(text)
        .diagnostics()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn what_systemd_complains_about_is_reported_with_its_line() {
    assert_eq!(
        messages("A=1\n[Service]\n  junk\n=x\nB=2 \\ \n"),
        [
            "1:1: warning: assignment outside of a section, systemd ignores it",
            "3:3: warning: no `=` in the line, systemd ignores it",
            "4:1: warning: no key in front of `=`, systemd ignores the line",
            "5:1: warning: blanks follow the backslash, so the line is not continued: the backslash stays in the \
             value and the next line stands alone",
        ]
    );
    assert_eq!(messages("[Service]\nA=b\n# fine\n\n"), [""; 0]);
}

#[test]
fn a_broken_header_or_text_ends_the_file() {
    for (text, message) in [
        (
            &b"[Service]\nA=1\n[Bad\nB=2\n"[..],
            "3:1: error: the section header has no `]` at its end: systemd stops reading the file here",
        ),
        (
            b"[Service]\nA=1\n[B\"ad]\nB=2",
            "3:1: error: the section header has a bad character: systemd stops reading the file here",
        ),
        (
            b"[Service]\nA=1\nC=x \xff\nB=2",
            "3:5: error: the line is not UTF-8: systemd stops reading the file here",
        ),
    ] {
        let file = UnitFile::parse(text);
        assert_eq!(file.assignments().count(), 1);
        assert!(file.is_broken());
        assert_eq!(messages(text), [message]);
        assert_eq!(file.print(), text);
    }
}

#[test]
fn a_line_over_the_limit_ends_the_file() {
    let long = format!("[Service]\nA={}\nB=2\n", "x".repeat(LONGEST_LINE));
    let file = UnitFile::parse(long.as_str());
    assert_eq!(file.assignments().count(), 0);
    assert_eq!(file.print(), long.as_bytes());
    let fits = format!("[Service]\nA={}\nB=2\n", "x".repeat(LONGEST_LINE - 2));
    assert_eq!(UnitFile::parse(fits.as_str()).assignments().count(), 2);
    let half = "x".repeat(LONGEST_LINE / 2 + 1);
    let joined = format!("[Service]\nA={half}\\\n{half}\nB=2\n");
    let file = UnitFile::parse(joined.as_str());
    assert_eq!(file.assignments().count(), 0);
    assert_eq!(file.print(), joined.as_bytes());
}

#[test]
fn a_place_in_a_continued_value_is_known() {
    let text = "[Service]\nExecStart=/bin/é \\\n# note\n  --two \\\n  --three\nB=1\n";
    let file = UnitFile::parse(text);
    let exec = file.assignments().next().unwrap();
    assert_eq!((exec.line(), exec.last_line()), (2, 5));
    let place = |word: &str| exec.position(exec.value().find(word).unwrap());
    assert_eq!(place("/bin"), (2, 11));
    assert_eq!(place("--two"), (4, 3));
    assert_eq!(place("--three"), (5, 3));
    let span = exec.span();
    assert_eq!(&text[span], "ExecStart=/bin/é \\\n# note\n  --two \\\n  --three\n");
}

fn unit_like() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just(b"[Service]".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\0".to_vec()),
        Just(b"\\\n".to_vec()),
        Just(b"\\ ".to_vec()),
        Just(b"\\".to_vec()),
        Just(b"#".to_vec()),
        Just(b"; x".to_vec()),
        Just(b"ExecStart = ".to_vec()),
        Just(b"=".to_vec()),
        Just(b"[".to_vec()),
        Just(b"\xff".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        "[ -~]{0,6}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn printing_gives_the_bytes_back(source in prop_oneof![unit_like(), any::<Vec<u8>>()]) {
        let file = UnitFile::parse(source.clone());
        prop_assert_eq!(file.print(), source.clone());
        let mut end = 0;
        for item in file.items() {
            prop_assert_eq!(item.span().start, end);
            end = item.span().end;
        }
        prop_assert_eq!(end, source.len());
        for found in file.assignments() {
            for byte in 0..found.value().len() {
                let (line, column) = found.position(byte);
                prop_assert!(line >= found.line() && line <= found.last_line() && column > 0);
            }
        }
    }
}
