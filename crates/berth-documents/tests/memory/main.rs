//! How much memory documents take at most, counted at the allocator: a small multiple of what was sent, whatever was sent.
//!
//! The counts are those of the thread that measures, so that tests can run side by side.
#![expect(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    clippy::format_collect,
    reason = "tables are long, documents are written in place, and a helper that fails stops its test"
)]

mod aliases;
mod reading;
mod rendering;
mod validating;

use allocation_counter::measure;
use berth_documents::{Parsed, Sources, parse};

/// What a source may take in any case.
const BASE: u64 = 1 << 20;

/// The most that was allocated at once while this ran.
fn peak(run: impl FnOnce()) -> u64 {
    measure(run).bytes_max
}

/// A source and what it took to read.
struct Read {
    sources: Sources,
    parsed: Parsed,
    peak: u64,
}

fn read(text: &str) -> Read {
    let mut sources = Sources::new();
    let id = sources.add("site.yaml", text);
    let mut parsed = Parsed::default();
    let peak = peak(|| parsed = parse(&sources, id));
    Read { sources, parsed, peak }
}

impl Read {
    fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<_> = self
            .parsed
            .diagnostics
            .iter()
            .map(berth_documents::Diagnostic::code)
            .collect();
        codes.sort_unstable();
        codes.dedup();
        codes.retain(|code| *code != "unknown-envelope");
        codes
    }

    /// What it takes to make JSON of everything.
    fn json_peak(&self) -> u64 {
        peak(|| {
            let values: Vec<_> = self.parsed.documents.iter().map(|it| it.root.to_json()).collect();
            drop(values);
        })
    }
}
