use berth_documents::{Diagnostic, Lint, Severity, SourceId, Sources, Span};

use super::*;

static LINT: Lint = Lint {
    code: "some-code",
    severity: Severity::Error,
    summary: "a summary",
    explanation: "an explanation",
};

fn plain(sources: &Sources, diagnostic: &Diagnostic) -> String {
    anstream::adapter::strip_str(&excerpts(sources, [diagnostic])).to_string()
}

fn one(text: &str) -> (Sources, SourceId) {
    let mut sources = Sources::new();
    let id = sources.add("site/pool.yaml", text);
    (sources, id)
}

#[test]
fn a_finding_shows_its_line_help_and_related_places() {
    let (sources, id) = one("kind: A\nname: infra\n---\nname: infra\n");
    let diagnostic = Diagnostic::new(&LINT, Span::new(id, 30, 35), "two things named `infra`")
        .with_help("rename one")
        .with_related(Span::new(id, 14, 19), "the first is here");
    insta::assert_snapshot!(plain(&sources, &diagnostic));
}

#[test]
fn the_position_shown_is_the_location_of_the_source() {
    // Multi-byte characters, a byte order mark and CRLF must not shift columns.
    let texts = ["\u{feff}größe: ä\r\nb: ü x\r\n", "a: b\n", "", "\n\n", "a", "a\r\n"];
    for text in texts {
        let (sources, id) = one(text);
        for start in 0..=text.len() + 2 {
            for end in start..=text.len() + 2 {
                let span = Span::new(id, u32::try_from(start).unwrap(), u32::try_from(end).unwrap());
                let shown = plain(&sources, &Diagnostic::new(&LINT, span, "m"));
                if text.is_char_boundary(start)
                    && start < text.len()
                    && !text[start..].starts_with(['\u{feff}', '\r', '\n'])
                {
                    let location = sources.location(span).to_string();
                    assert!(shown.contains(&location), "{location} not in\n{shown}");
                }
            }
        }
    }
}

#[test]
fn a_span_over_several_lines_is_marked_on_its_first() {
    let (sources, id) = one("a:  \n  b: 1\n  c: 2\n");
    let diagnostic = Diagnostic::new(&LINT, Span::new(id, 0, 18), "m");
    insta::assert_snapshot!(plain(&sources, &diagnostic));
}

#[test]
fn a_minified_file_is_named_but_not_quoted() {
    let (sources, id) = one(&format!("{{{}}}", "\"a\": 1, ".repeat(1000)));
    let shown = plain(&sources, &Diagnostic::new(&LINT, Span::new(id, 5000, 5003), "m"));
    assert!(shown.contains("site/pool.yaml:1:5001"), "{shown}");
    assert!(shown.len() < 200, "{shown}");
}

#[test]
fn control_characters_of_a_message_are_escaped() {
    let (sources, _) = one("");
    let shown = plain(&sources, &Diagnostic::new(&LINT, None, "a\u{1b}[31mb"));
    assert!(shown.contains("a\\u{1b}[31mb"), "{shown}");
}

proptest::proptest! {
    /// Sources are whatever somebody saved, and spans may come from a parser that lost its way.
    #[test]
    fn any_text_and_any_span_can_be_shown(
        text in "(?s)[a-z \t\r\n\u{feff}\u{0}\u{1b}\u{2028}\u{200d}äß漢🦀\u{301}]{0,40}",
        start in 0_u32..120,
        length in 0_u32..120,
        message in "(?s).{0,20}",
    ) {
        let (sources, id) = one(&text);
        let span = Span::new(id, start, start + length);
        let diagnostic = Diagnostic::new(&LINT, span, message)
            .with_help("help")
            .with_related(Span::new(id, length, start.max(length)), "related");
        let shown = plain(&sources, &diagnostic);
        proptest::prop_assert!(shown.starts_with("error[some-code]: "), "{}", shown);
    }
}

#[test]
fn secrets_are_not_shown() {
    for (line, shown) in [
        ("    password: calvin", "    password: ******"),
        ("    \"password\": \"a,b}\", x: y", "    \"password\": ******, x: y"),
        (
            "bmc: {username: root, password: 'c d', address: x}",
            "bmc: {username: ****, password: *****, address: x}",
        ),
        ("  credential: p\u{e4}ss", "  credential: *****"),
        (
            "  address: redfish://root:calvin@10.0.0.1/x",
            "  address: redfish://***********@10.0.0.1/x",
        ),
        ("  credentialsName: w0-bmc", "  credentialsName: w0-bmc"),
        ("  address: redfish://10.0.0.1/a@b", "  address: redfish://10.0.0.1/a@b"),
        ("password:", "password:"),
        ("password", "password"),
    ] {
        assert_eq!(super::without_secrets(line, None), shown);
    }
    assert_eq!(super::without_secrets("key: value", Some(5..10)), "key: *****");
}

proptest::proptest! {
    /// Marks are byte positions, so the length stays.
    #[test]
    fn hiding_keeps_the_length(line in "(.{0,5}(password|username|://|@|:|'|\"|,|\\{)){0,6}.{0,5}") {
        proptest::prop_assert_eq!(super::without_secrets(&line, None).len(), line.len());
    }
}
