//! What it takes to answer a review, counted in allocated bytes.

use berth_cluster::admission::{Endpoint, Review, World, review};

/// Bytes for one byte of a review, at most.
const PER_BYTE: u64 = 6;
/// What an answer takes in any case.
const BASE: u64 = 16 << 20;
/// Bytes of a review.
const LENGTH: usize = 3 << 20;

fn about(kind: &str, group: &str, object: &str) -> String {
    format!(
        r#"{{"request": {{"uid": "1", "operation": "CREATE", "kind": {{"group": "{group}", "kind": "{kind}"}},
        "userInfo": {{"groups": ["system:nodes"]}}, "object": {object}, "oldObject": {object}}}}}"#
    )
}

#[test]
fn reviews_take_a_small_multiple_of_their_text() {
    let repeat = |part: &str| part.repeat(LENGTH / 2 / part.len());
    let numbered = |entry: &dyn Fn(usize) -> String| {
        let entries: Vec<String> = (0..LENGTH / 32).map(entry).collect();
        entries.join(",")
    };
    let entries = numbered(&|index| format!(r#""k{index}":"""#));
    let notes = numbered(&|index| format!(r#""berth.dev/k{index}":"""#));
    for (what, object) in [
        (
            "a list",
            format!(r#"{{"metadata": {{"name": "a"}}, "spec": [{}0]}}"#, repeat("0,")),
        ),
        (
            "lists",
            format!(r#"{{"metadata": {{"name": "a"}}, "spec": [{}0]}}"#, repeat("[],")),
        ),
        (
            "maps",
            format!(
                r#"{{"metadata": {{"name": "a"}}, "spec": [{}0]}}"#,
                repeat(r#"{"":0},"#)
            ),
        ),
        (
            "labels",
            format!(r#"{{"metadata": {{"name": "a", "labels": {{{entries}}}}}}}"#),
        ),
        (
            "annotations",
            format!(r#"{{"metadata": {{"name": "a", "annotations": {{{entries}}}}}}}"#),
        ),
        (
            "notes",
            format!(r#"{{"metadata": {{"name": "a", "annotations": {{{notes}}}}}}}"#),
        ),
        (
            "a text",
            format!(r#"{{"metadata": {{"name": "a"}}, "spec": "{}"}}"#, repeat("a")),
        ),
    ] {
        for (kind, group) in [
            ("Node", ""),
            ("Pod", ""),
            ("Berth", "berth.dev"),
            ("MachineConfig", "machineconfiguration.openshift.io"),
        ] {
            let body = about(kind, group, &object);
            let taken = allocation_counter::measure(|| {
                let asked = Review::read(body.as_bytes()).unwrap();
                let _ = review(&asked, Endpoint::Validate, &World::default());
            });
            let limit = BASE + PER_BYTE * u64::try_from(body.len()).unwrap();
            assert!(
                taken.bytes_max <= limit,
                "{what} in a {kind} of {} bytes took {}",
                body.len(),
                taken.bytes_max
            );
        }
    }
}
