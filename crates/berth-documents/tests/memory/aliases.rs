//! Aliases: what it takes to read them, and to make JSON of them.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{BASE, read};

/// How many bytes reading takes for one byte of text, at most.
const READING: u64 = 80;
/// What aliases may bring in, and what making JSON of it takes for each byte that is counted.
const EXPANSION: u64 = 64 << 20;
const JSON: u64 = 2;

/// Levels of ten that refer to the level before.
fn levels(first: &str, count: usize, level: impl Fn(usize) -> String) -> String {
    let mut text = format!("a0: &a0 {first}\n");
    for number in 1..count {
        let _ = writeln!(text, "a{number}: &a{number} {}", level(number - 1));
    }
    text
}

/// Documents that expand to far more than they hold.
fn bombs() -> Vec<(&'static str, String)> {
    let ten = |each: &dyn Fn(usize) -> String| (0..10).map(each).collect::<Vec<_>>().join(", ");
    let long = "x".repeat(150_000);
    vec![
        (
            "lists",
            levels("[x, x, x]", 12, |n| format!("[{}]", ten(&|_| format!("*a{n}")))),
        ),
        (
            "mappings",
            levels("{x: 1}", 12, |n| format!("{{{}}}", ten(&|i| format!("k{i}: *a{n}")))),
        ),
        ("a long text", format!("a: &a {long}\nb:\n{}", "- *a\n".repeat(12_000))),
        (
            "a long text in a list",
            format!("a: &a {long}\nb: [{}1]\n", "*a,".repeat(12_000)),
        ),
        (
            "a long key",
            format!("a: &a {long}\nb:\n{}", "- {*a : 1}\n".repeat(12_000)),
        ),
        (
            "a long anchored key",
            format!("? &a {long}\n: 1\nb:\n{}", "- *a\n".repeat(12_000)),
        ),
        (
            "a long quoted text",
            format!("a: &a \"{long}\"\nb:\n{}", "- *a\n".repeat(12_000)),
        ),
        (
            "a long block text",
            format!("a: &a |\n  {long}\nb:\n{}", "- *a\n".repeat(12_000)),
        ),
        ("merges", {
            let keys: String = (0..5000).map(|i| format!("  key-{i}: {i}\n")).collect();
            format!("a: &a\n{keys}b:\n{}", "- <<: *a\n".repeat(12_000))
        }),
        ("lists of merges", {
            let keys: String = (0..5000).map(|i| format!("  key-{i}: {i}\n")).collect();
            format!("a: &a\n{keys}b:\n{}", "- <<: [*a, *a, *a]\n".repeat(12_000))
        }),
        (
            "merges of merges",
            levels("{x: 1}", 40, |n| format!("{{<<: [*a{n}, *a{n}], k{n}: *a{n}}}")),
        ),
        (
            "many documents",
            "---\na: &a [x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b]\n".repeat(10_000),
        ),
    ]
}

#[test]
fn aliases_take_no_memory_until_they_are_written_out() {
    for (name, text) in bombs() {
        let read = read(&text);
        let length = text.len() as u64;
        let is_bomb = name != "many documents";
        assert_eq!(
            read.codes(),
            if is_bomb { vec!["alias-bomb"] } else { vec![] },
            "{name}"
        );
        // Merged entries are copied, up to what aliases may bring in.
        let copied = if name.contains("merges") {
            EXPANSION + 8 * length
        } else {
            0
        };
        assert!(
            read.peak <= READING * length + copied + BASE,
            "{name}: {} for {length}",
            read.peak
        );
        assert!(read.json_peak() <= JSON * (EXPANSION + 20 * length), "{name}");
        if is_bomb {
            let finding = &read.parsed.diagnostics[0];
            let place = read.sources.location(finding.span.unwrap());
            assert!(place.file == "site.yaml" && place.line() > Some(1), "{name}: {place}");
            assert!(
                finding.help.as_deref().unwrap().contains("write the values out"),
                "{name}"
            );
        }
    }
}

/// What is written out just below the limit takes what the limit says, whatever its shape.
#[test]
fn what_aliases_bring_in_is_limited_in_bytes() {
    let shapes = [
        ("1", 64),
        ("[]", 64),
        ("{}", 576),
        ("{a: 1}", 576 + 64 + 33),
        (
            "{a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 10, k: 11, l: 12}",
            576 + 12 * 97,
        ),
        ("[[[[[[1]]]]]]", 7 * 64),
        ("{a: {b: {c: {d: 1}}}}", 4 * 609 + 64),
        ("text", 68),
        (
            "'a text of more than a hundred bytes a text of more than a hundred bytes a text of more than a hundred by'",
            168,
        ),
    ];
    for (shape, weight) in shapes {
        // As many as fit, in two levels so that the text is short.
        let count = (64 << 20) / weight / 100 / 2;
        let text = format!(
            "a: &a {shape}\nb: &b [{}]\nc: [{}]\n",
            vec!["*a"; 100].join(","),
            vec!["*b"; count].join(",")
        );
        let read = read(&text);
        assert_eq!(read.codes(), [""; 0], "{shape}");
        let (taken, length) = (read.json_peak(), text.len() as u64);
        assert!(
            taken <= JSON * (EXPANSION + 20 * length),
            "{shape}: {taken} for {length}"
        );
    }
}

/// What kubectl reads: thousands of nodes that share their labels, profiles that merge defaults, one certificate for all.
#[test]
fn honest_aliases_are_read() {
    let labels: String = (0..30)
        .map(|i| format!("  example.com/label-{i}: value-{i}\n"))
        .collect();
    let mut text =
        format!("labels: &labels\n{labels}defaults: &defaults {{kernel: ga, disk: sda, mtu: 9000}}\nca: &ca |\n");
    for _ in 0..40 {
        text.push_str("  MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n");
    }
    text.push_str("nodes:\n");
    for node in 0..5000 {
        let _ = writeln!(
            text,
            "- name: node-{node}\n  profile: {{<<: *defaults, rack: r{node}}}\n  labels: *labels"
        );
        if node % 4 == 0 {
            text.push_str("  ca: *ca\n");
        }
    }
    let read = read(&text);
    assert_eq!(read.codes(), [""; 0]);
    assert!(read.peak <= READING * text.len() as u64 + BASE);
    let nodes = read.parsed.documents[0].root.get("nodes").unwrap().as_seq().unwrap();
    assert_eq!(nodes.len(), 5000);
    assert_eq!(nodes[4999].get("labels").unwrap().as_map().unwrap().len(), 30);
    assert_eq!(nodes[4999].at(&["profile", "mtu"]).unwrap().as_u64(), Some(9000));
}

/// A value of a document with anchors: written, or an alias of one that was written before.
#[derive(Clone, Debug)]
enum Part {
    Text(String, u16),
    List(Vec<Self>),
    Mapping(Vec<Self>),
    /// An alias to one of the anchors before, by position.
    Alias(prop::sample::Index),
    /// A mapping that merges an anchor before, if it is a mapping.
    Merge(prop::sample::Index, Box<Self>),
}

fn parts() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        ("[a-z]{1,8}", 1_u16..2000).prop_map(|(text, times)| Part::Text(text, times)),
        any::<prop::sample::Index>().prop_map(Part::Alias),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Part::List),
            prop::collection::vec(inner.clone(), 0..8).prop_map(Part::Mapping),
            (any::<prop::sample::Index>(), inner).prop_map(|(at, part)| Part::Merge(at, Box::new(part))),
        ]
    })
}

/// Writes documents, and knows what a reader without limits makes of them.
#[derive(Default)]
struct Writer {
    text: String,
    /// Finished values, by the number of their anchor.
    values: Vec<Value>,
    /// The size of all values that aliases bring in.
    expanded: usize,
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 64 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => {
            576 + map
                .iter()
                .map(|(key, value)| 32 + key.len() + size(value))
                .sum::<usize>()
        }
        Value::String(text) => 64 + text.len(),
        _ => 64,
    }
}

impl Writer {
    /// An alias, unless there is nothing to refer to or what it brings in would be too much for the test to hold.
    fn alias(&mut self, at: prop::sample::Index, wanted: impl Fn(&Value) -> bool) -> Option<(usize, Value)> {
        let fitting: Vec<usize> = (0..self.values.len())
            .filter(|number| wanted(&self.values[*number]))
            .collect();
        let number = *fitting.get(at.index(fitting.len().max(1)))?;
        let value = self.values[number].clone();
        let expanded = self.expanded + size(&value);
        (expanded < 32 << 20).then(|| {
            self.expanded = expanded;
            (number, value)
        })
    }

    fn write(&mut self, part: &Part) -> Value {
        if let Part::Alias(at) = part {
            return match self.alias(*at, |_| true) {
                Some((number, value)) => {
                    let _ = write!(self.text, "*v{number} ");
                    value
                }
                None => {
                    self.text.push_str("~ ");
                    Value::Null
                }
            };
        }
        // The anchor gets its number when the value is complete, so that no alias refers to what is around it.
        let at = self.text.len();
        let value = match part {
            Part::Text(text, times) => {
                let text = text.repeat(usize::from(*times));
                let _ = write!(self.text, "'{text}'");
                Value::from(text)
            }
            Part::List(parts) => {
                self.text.push('[');
                let mut items = Vec::new();
                for part in parts {
                    items.push(self.write(part));
                    self.text.push(',');
                }
                self.text.push(']');
                Value::from(items)
            }
            Part::Mapping(parts) => {
                self.text.push('{');
                let mut map = Map::new();
                for (number, part) in parts.iter().enumerate() {
                    let _ = write!(self.text, "k{number}: ");
                    map.insert(format!("k{number}"), self.write(part));
                    self.text.push(',');
                }
                self.text.push('}');
                Value::Object(map)
            }
            Part::Merge(at, part) => {
                self.text.push('{');
                let mut map = Map::new();
                if let Some((number, Value::Object(merged))) = self.alias(*at, Value::is_object) {
                    let _ = write!(self.text, "<<: *v{number} ,");
                    map = merged;
                }
                self.text.push_str("k0: ");
                map.insert("k0".to_owned(), self.write(part));
                self.text.push('}');
                Value::Object(map)
            }
            Part::Alias(_) => Value::Null,
        };
        self.text.insert_str(at, &format!("&v{} ", self.values.len()));
        self.values.push(value.clone());
        value
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn documents_with_aliases_take_little_and_mean_what_they_say(parts in prop::collection::vec(parts(), 1..24)) {
        let mut writer = Writer::default();
        let mut expected = Map::new();
        for (number, part) in parts.iter().enumerate() {
            let _ = write!(writer.text, "p{number}: ");
            let value = writer.write(part);
            writer.text.push('\n');
            expected.insert(format!("p{number}"), value);
        }
        let read = read(&writer.text);
        prop_assert_eq!(read.codes(), Vec::<&str>::new(), "{}", writer.text);
        let length = writer.text.len() as u64;
        // Merged entries are copied.
        prop_assert!(read.peak <= READING * length + writer.expanded as u64 + BASE, "{} for {}", read.peak, length);
        let taken = read.json_peak();
        prop_assert!(taken <= JSON * (writer.expanded as u64 + 20 * length) + BASE, "{} for {}", taken, length);
        prop_assert_eq!(read.parsed.documents[0].root.to_json(), Value::Object(expected));
    }
}

#[test]
fn the_writer_of_the_property_writes_aliases() {
    let mut writer = Writer::default();
    let part = Part::List(vec![Part::Text("a".to_owned(), 2)]);
    assert_eq!(writer.write(&part), json!(["aa"]));
    assert_eq!(writer.text, "&v1 [&v0 'aa',]");
}
