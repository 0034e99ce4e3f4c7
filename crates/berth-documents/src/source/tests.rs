use super::*;

fn at(text: &str, offset: u32) -> (u32, u32) {
    let mut sources = Sources::new();
    let id = sources.add("f", text);
    let location = sources.location(Span::new(id, offset, offset));
    assert_eq!(location.file, "f");
    (location.line().unwrap(), location.column().unwrap())
}

#[test]
fn lines_and_columns_count_from_one() {
    for (text, offset, expected) in [
        ("", 0, (1, 1)),
        ("", 9, (1, 1)),
        ("ab\ncd", 0, (1, 1)),
        ("ab\ncd", 1, (1, 2)),
        ("ab\ncd", 3, (2, 1)),
        ("ab\ncd", 4, (2, 2)),
        ("ab\r\ncd", 4, (2, 1)),
        ("ab\n", 3, (2, 1)),
        ("ab\ncd", 99, (2, 3)),
        // Columns are characters: `é` has two bytes.
        ("é: x", 4, (1, 4)),
        // A byte order mark is not a column.
        ("\u{feff}ab", 3, (1, 1)),
        ("\u{feff}ab\ncd", 6, (2, 1)),
    ] {
        assert_eq!(at(text, offset), expected, "{text:?} at {offset}");
    }
}

#[test]
fn several_sources_are_kept_apart() {
    let mut sources = Sources::new();
    let a = sources.add("a.yaml", "x\ny");
    let b = sources.add("b.yaml", "zz");
    assert_eq!((sources.name(a), sources.text(a)), ("a.yaml", "x\ny"));
    assert_eq!((sources.name(b), sources.text(b)), ("b.yaml", "zz"));
    assert_eq!(sources.location(Span::new(b, 1, 2)).to_string(), "b.yaml:1:2");
    assert_eq!(sources.snippet(Span::new(a, 2, 3)), "y");
    assert_eq!(sources.ids().collect::<Vec<_>>(), [a, b]);
}

#[test]
fn a_span_from_elsewhere_gives_empty_answers() {
    let sources = Sources::new();
    let span = Span::new(SourceId(7), 3, 9);
    assert_eq!(sources.snippet(span), "");
    assert_eq!(sources.location(span).to_string(), ":1:1");
}

#[test]
fn spans_are_small() {
    assert_eq!(size_of::<Span>(), 12);
}
