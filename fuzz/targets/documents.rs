//! Documents: any bytes are read, every place is inside the text, and a value that is printed reads back.
#![no_main]

use berth_documents::{Sources, decode, emit, parse};
use berth_fuzz::{assert_findings_fit, assert_nodes_fit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = decode(data) else {
        return;
    };
    let mut sources = Sources::new();
    let id = sources.add("input", text);
    let parsed = parse(&sources, id);
    assert_findings_fit(&sources, &parsed.diagnostics);
    let mut values = Vec::new();
    for document in &parsed.documents {
        assert_nodes_fit(&sources, &document.root);
        let _ = (
            document.name(),
            document.kind(),
            document.version(),
            document.body(),
            document.span(),
        );
        values.push(document.root.to_json());
    }
    // A document with nothing in it is none.
    values.retain(|value| !value.is_null());
    let printed = emit::to_yaml_documents(&values);
    let id = sources.add("printed", printed.as_str());
    let again = parse(&sources, id);
    let read: Vec<_> = again.documents.iter().map(|document| document.root.to_json()).collect();
    assert_eq!(read, values, "{printed}");
});
