//! What a source gives, from the outside. Helpers here; each file has one subject.

use serde_json::Value as Json;

use super::*;

mod bad_yaml;
mod envelopes;
mod json_text;
mod limits;
pub(crate) mod properties;
mod yaml_text;

/// A source that was read.
struct Read {
    sources: Sources,
    parsed: Parsed,
}

fn read(text: &str) -> Read {
    let mut sources = Sources::new();
    let id = sources.add("f.yaml", text);
    let parsed = parse(&sources, id);
    Read { sources, parsed }
}

impl Read {
    fn values(&self) -> Vec<Json> {
        self.parsed
            .documents
            .iter()
            .map(|document| document.root.to_json())
            .collect()
    }

    /// `line:column` of a span.
    fn place(&self, span: Span) -> String {
        let location = self.sources.location(span);
        format!("{}:{}", location.line().unwrap(), location.column().unwrap())
    }

    /// All findings as `code line:column`, `unknown-envelope` left out: most texts here have no envelope.
    fn findings(&self) -> Vec<String> {
        let findings = self.parsed.diagnostics.iter();
        findings
            .filter(|finding| finding.code() != "unknown-envelope")
            .map(|finding| format!("{} {}", finding.code(), self.place(finding.span.unwrap())))
            .collect()
    }

    fn only_finding(&self, code: &str) -> &Diagnostic {
        let found: Vec<_> = self
            .parsed
            .diagnostics
            .iter()
            .filter(|finding| finding.code() == code)
            .collect();
        assert_eq!(found.len(), 1, "{:?}", self.parsed.diagnostics);
        found[0]
    }
}

/// The value of the only document of a text that has no findings.
fn value(text: &str) -> Json {
    let read = read(text);
    assert_eq!(read.findings(), [""; 0], "{text}");
    let [value] = <[Json; 1]>::try_from(read.values()).unwrap();
    value
}

/// Joins numbered lines into one text.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}
