//! Documents: YAML and JSON with spans, the two envelopes, diagnostics.
