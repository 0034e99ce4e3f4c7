use proptest::prelude::*;
use serde_json::Value as Json;

use super::read;
use crate::{decode::decode, node::Node};

/// A text that has most of what YAML has.
const RICH: &str = "\u{feff}%YAML 1.1\n---\napiVersion: v1 # é\nkind: List\nitems:\n- &a !!str {x: [1, 'two', \"th\\u00e9ree\"], y: ~}\n- <<: *a\n  ? complex key\n  : |+\n    block\n     text\n\n  folded: >-\n    a\n    b\n- \"multi\n  line\"\n...\n---\nschema: a/B/v1\nmetadata: {name: n, labels: {k: yes}}\ndata:\n\ttab: 0644\n--- [a, {b: c}]\n";

fn nodes_fit(text: &str, node: &Node) -> bool {
    let (start, end) = (node.span.start as usize, node.span.end as usize);
    let children_fit = match (node.as_seq(), node.as_map()) {
        (Some(nodes), _) => nodes.iter().all(|node| nodes_fit(text, node)),
        (_, Some(map)) => map.iter().all(|(key, node)| {
            text.get(key.span.start as usize..key.span.end as usize).is_some() && nodes_fit(text, node)
        }),
        _ => true,
    };
    start <= end && text.get(start..end).is_some() && children_fit
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let read = read(text);
    for document in &read.parsed.documents {
        prop_assert!(nodes_fit(text, &document.root));
        let _ = (
            document.name(),
            document.kind(),
            document.body(),
            document.span(),
            document.root.to_json(),
        );
    }
    for finding in &read.parsed.diagnostics {
        let span = finding.span.unwrap();
        prop_assert!(
            text.get(span.start as usize..span.end as usize).is_some(),
            "{:?}",
            finding
        );
        prop_assert!(read.sources.location(span).line() >= Some(1));
    }
    Ok(())
}

pub(crate) fn json_values() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        "\\PC{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_text_of_yaml_characters_is_read_without_panic(text in "[-a1:{}\\[\\],&*!|>'\"%@#?~.<= \t\n\r\u{feff}é]{0,60}") {
        check(&text)?;
    }

    #[test]
    fn any_text_of_yaml_tokens_is_read_without_panic(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "a", "b: ", "- ", "\n", "  ", "\n  ", "\n- ", "{", "}", "[", "]", ", ", "&x ", "*x", "!!str ", "!t ", "|\n", ">-\n", "'", "\"",
                "? ", ": ", "---\n", "...\n", "%YAML 1.1\n", "# c\n", "<<: ", "\t", "~", "0644", "\r\n", "\\", "é",
            ]),
            0..40,
        )
    ) {
        check(&tokens.concat())?;
    }

    #[test]
    fn mutated_yaml_is_read_without_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), any::<char>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut characters: Vec<char> = RICH.chars().collect();
        for (place, insert, character) in edits {
            let at = place.index(characters.len());
            if insert {
                characters.insert(at, character);
            } else {
                characters.remove(at);
            }
        }
        check(&characters.iter().collect::<String>())?;
        characters.truncate(cut.index(characters.len()));
        check(&characters.iter().collect::<String>())?;
    }

    #[test]
    fn json_comes_back_as_it_was(value in json_values()) {
        prop_assume!(value.is_object() || value.is_array());
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let read = read(&text);
            prop_assert_eq!(read.findings(), [""; 0]);
            prop_assert_eq!(read.values(), std::slice::from_ref(&value));
        }
    }

    #[test]
    fn any_bytes_are_decoded_without_panic(bytes in any::<Vec<u8>>(), text in any::<String>()) {
        let _ = decode(&bytes);
        prop_assert_eq!(decode(text.as_bytes()), Ok(text.clone()));
        for (mark, unit) in [([0xFF, 0xFE], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xFE, 0xFF], u16::to_be_bytes)] {
            let utf16: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect();
            prop_assert_eq!(decode(&utf16), Ok(text.clone()));
        }
    }
}

#[test]
fn the_rich_text_is_mostly_right() {
    let read = read(RICH);
    assert!(read.parsed.documents.len() >= 2, "{:?}", read.parsed);
}
