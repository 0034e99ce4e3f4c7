//! Node filters: what they select, in which order, and what is wrong with a malformed one.

use std::collections::BTreeSet;

use berth_labels::Flavour;
use berth_site::{FilterItem, FilterJoin, LabelJoin, NodeFilter, Resolver};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Read, berth, node, profile, rack, read};

/// Written in no order of the alphabet, so that document order shows.
fn site() -> Read {
    read(
        &[
            rack("r1", "{row: a, cool: water}"),
            rack("r2", "{row: b, cool: water}"),
            profile(
                "base",
                "{hardware_profile: hw, metadata: {tags: [physical, old], owner_data: {region: yellow}}}",
            ),
            profile("edge", "{host_profile: base, metadata: {tags: ['!old', far]}}"),
            node(
                "d",
                "{host_profile: edge, metadata: {rack: r2, owner_data: {kind: physical}}}",
            ),
            node(
                "a",
                "{host_profile: base, metadata: {rack: r1, tags: [masters], owner_data: {kind: physical}}}",
            ),
            node(
                "c",
                "{metadata: {rack: nowhere, tags: [masters, far], owner_data: {region: blue}}}",
            ),
            node("b", "{host_profile: base, metadata: {rack: r1, tags: ['!physical']}}"),
            berth("z", "{labels: {region: blue}}"),
        ]
        .concat(),
    )
}

fn select(site: &Read, filter: &Value, labels: LabelJoin) -> Vec<String> {
    let filter = NodeFilter::from_json(filter, "node_filter").expect("a good filter");
    let resolver = Resolver::new(&site.site, Flavour::Upstream);
    let selected = filter.select(&resolver, labels);
    selected.iter().map(ToString::to_string).collect()
}

fn one(kind: &str, mut item: Value) -> Value {
    item["filter_type"] = json!(kind);
    json!({"filter_set_type": "union", "filter_set": [item]})
}

#[test]
fn criteria() {
    let site = site();
    for (kind, item, expected) in [
        ("union", json!({"node_names": ["b", "a", "b"]}), "a b"),
        ("union", json!({"node_names": ["nobody"]}), ""),
        ("union", json!({"node_names": ["z"]}), "z"),
        ("union", json!({"node_tags": ["masters", "far"]}), "d a c"),
        ("union", json!({"node_tags": ["physical"]}), "d a"),
        ("union", json!({"node_tags": ["old"]}), "a b"),
        ("union", json!({"node_tags": ["!physical"]}), ""),
        ("union", json!({"rack_names": ["r1"]}), "a b"),
        ("union", json!({"rack_names": ["nowhere", "r2"]}), "d c"),
        ("union", json!({"node_labels": {"region": "yellow"}}), "d a b"),
        (
            "union",
            json!({"node_labels": {"region": "yellow", "kind": "physical"}}),
            "d a",
        ),
        (
            "union",
            json!({"node_labels": [{"region": "yellow"}, {"kind": "physical"}]}),
            "d a",
        ),
        ("union", json!({"node_labels": {"region": "blue"}}), "c z"),
        (
            "union",
            json!({"node_labels": [{"region": "blue"}, {"region": "yellow"}]}),
            "",
        ),
        ("union", json!({"rack_labels": {"cool": "water"}}), "d a b"),
        ("union", json!({"rack_labels": {"cool": "water", "row": "b"}}), "d"),
        ("union", json!({"rack_labels": {"row": "z"}}), ""),
        // Joined inside of the item.
        ("union", json!({"node_names": ["c"], "rack_names": ["r2"]}), "d c"),
        (
            "intersection",
            json!({"node_tags": ["masters"], "rack_names": ["r1"]}),
            "a",
        ),
        (
            "intersection",
            json!({"rack_labels": {"row": "a"}, "node_labels": {"kind": "physical"}}),
            "a",
        ),
        (
            "intersection",
            json!({"node_names": ["a"], "node_tags": [], "node_labels": {}, "rack_names": null}),
            "a",
        ),
        // An item that asks for nothing selects nothing.
        ("union", json!({}), ""),
        ("intersection", json!({"node_names": []}), ""),
    ] {
        let filter = one(kind, item);
        assert_eq!(select(&site, &filter, LabelJoin::All).join(" "), expected, "{filter}");
    }
}

#[test]
fn items_are_joined_by_the_set_type() {
    let site = site();
    // The example of Drydock's documentation: yellow and physical ones, and c.
    let items = json!([
        {"filter_type": "intersection", "node_labels": {"region": "yellow", "kind": "physical"}},
        {"filter_type": "union", "node_names": ["c"]},
    ]);
    let filter = |kind: &str| json!({"filter_set_type": kind, "filter_set": items});
    assert_eq!(select(&site, &filter("union"), LabelJoin::All), ["d", "a", "c"]);
    assert!(select(&site, &filter("intersection"), LabelJoin::All).is_empty());
    assert_eq!(
        select(&site, &filter("union"), LabelJoin::Any),
        ["d", "a", "c", "b"],
        "as Drydock's code does it"
    );
    for kind in ["union", "intersection"] {
        let empty = json!({"filter_set_type": kind, "filter_set": []});
        assert!(select(&site, &empty, LabelJoin::All).is_empty());
    }
}

#[test]
fn a_malformed_filter_is_told_with_its_place() {
    let item = |item: Value| json!({"filter_set_type": "union", "filter_set": [item]});
    for (filter, expected) in [
        (
            json!(["a"]),
            "node_filter: must be a dictionary with keys 'filter_set_type' and 'filter_set', not a list",
        ),
        (
            json!({}),
            "node_filter.filter_set_type: is required; it is 'union' or 'intersection'; \
             node_filter.filter_set: is required",
        ),
        (
            json!({"filter_set_type": "both", "filter_set": {}}),
            "node_filter.filter_set_type: must be 'union' or 'intersection', not 'both'; \
             node_filter.filter_set: must be a list of filters, not a dictionary",
        ),
        (
            json!({"filter_set_type": "union", "filter_set": [], "filter_sets": 1}),
            "node_filter.filter_sets: is not known; did you mean 'filter_set'?",
        ),
        (
            item(json!(5)),
            "node_filter.filter_set[0]: must be a dictionary, not a number",
        ),
        (
            item(json!({"node_names": ["a"]})),
            "node_filter.filter_set[0].filter_type: is required; it is 'union' or 'intersection'",
        ),
        (
            item(json!({"filter_type": "union", "node_names": "a,b"})),
            "node_filter.filter_set[0].node_names: must be a list of strings, not a string",
        ),
        (
            item(json!({"filter_type": "union", "node_tags": ["a", 7, null]})),
            "node_filter.filter_set[0].node_tags[1]: must be a string, not 7; \
             node_filter.filter_set[0].node_tags[2]: must be a string, not null",
        ),
        (
            item(json!({"filter_type": "union", "node_labels": {"a": true}})),
            "node_filter.filter_set[0].node_labels.a: must be a string, not true; write it in quotes",
        ),
        (
            item(json!({"filter_type": "union", "rack_labels": ["a=b"]})),
            "node_filter.filter_set[0].rack_labels[0]: must be a dictionary of labels, not 'a=b'",
        ),
        (
            item(json!({"filter_type": "union", "node_label": {}})),
            "node_filter.filter_set[0].node_label: is not known; did you mean 'node_labels'?",
        ),
    ] {
        let error = NodeFilter::from_json(&filter, "node_filter").unwrap_err();
        assert_eq!(error.to_string(), expected, "{filter}");
    }
}

#[test]
fn facts_follow_the_profiles() {
    let site = site();
    let resolver = Resolver::new(&site.site, Flavour::Upstream);
    let facts = resolver.facts(resolver.subject("d").unwrap());
    assert_eq!((facts.rack, facts.profile), (Some("r2"), Some("edge")));
    assert_eq!(facts.hardware_profile, Some("hw"));
    assert_eq!(facts.tags, ["far", "physical"]);
    let names: Vec<String> = resolver.declared().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["d", "a", "c", "b", "z"]);
}

#[test]
fn facts_are_labels_where_they_can_be() {
    let site = read(
        &[
            profile("compute", "{hardware_profile: hw}"),
            node(
                "e",
                "{host_profile: compute, metadata: {rack: r1, tags: [big, 'not legal'], owner_data: {berth.dev/profile: mine}}}",
            ),
        ]
        .concat(),
    );
    // The declared profile is stronger.
    assert_eq!(
        site.all_labels("e"),
        [
            "berth.dev/hardware-profile=hw",
            "berth.dev/profile=mine",
            "berth.dev/rack=r1",
            "berth.dev/tag-big="
        ]
    );
    let resolution = site.resolve("e");
    let [skipped] = resolution.skipped.as_slice() else {
        panic!("{:?}", resolution.skipped);
    };
    assert_eq!(skipped.key, "berth.dev/tag-not legal");
    assert!(!skipped.reason.is_empty());
    let profile = resolution.label("berth.dev/profile").unwrap();
    assert_eq!(profile.beats.len(), 1, "{profile:?}");

    let mut off = site;
    off.site.dynamic_labels = Some(false);
    assert_eq!(off.all_labels("e"), ["berth.dev/profile=mine"]);
    assert!(off.resolve("e").skipped.is_empty());
}

fn words(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::sample::select(of.to_vec()).prop_map(str::to_owned), 0..3)
}

fn pairs(of: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = Vec<(String, String)>> {
    let pair = prop::sample::select(of.to_vec()).prop_map(|(key, value)| (key.to_owned(), value.to_owned()));
    prop::collection::vec(pair, 0..3).prop_map(|mut pairs| {
        // As an object keeps them.
        pairs.sort();
        pairs
    })
}

fn joins() -> impl Strategy<Value = FilterJoin> {
    prop::sample::select(vec![FilterJoin::Union, FilterJoin::Intersection])
}

fn items() -> impl Strategy<Value = FilterItem> {
    (
        joins(),
        words(&["a", "b", "z", "x"]),
        words(&["masters", "far", "old"]),
        pairs(&[("region", "yellow"), ("region", "blue"), ("kind", "physical")]),
        words(&["r1", "r2", "x"]),
        pairs(&[("row", "a"), ("cool", "water")]),
    )
        .prop_map(
            |(filter_type, node_names, node_tags, node_labels, rack_names, rack_labels)| FilterItem {
                filter_type,
                node_names,
                node_tags,
                node_labels,
                rack_names,
                rack_labels,
            },
        )
}

fn filters() -> impl Strategy<Value = NodeFilter> {
    (joins(), prop::collection::vec(items(), 0..4)).prop_map(|(set_type, items)| NodeFilter { set_type, items })
}

/// A value of any form, with the keys of filters in it now and then.
fn anything() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "filter_set_type",
        "filter_set",
        "filter_type",
        "node_names",
        "node_labels",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec!["union", "intersection", "", "é"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(keys.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A filter is the join of what its items select alone, in document order and without repetition.
    #[test]
    fn a_filter_is_the_join_of_its_items(filter in filters()) {
        let site = site();
        let resolver = Resolver::new(&site.site, Flavour::Upstream);
        let order: Vec<String> = resolver.declared().iter().map(ToString::to_string).collect();
        for labels in [LabelJoin::All, LabelJoin::Any] {
            let run = |filter: &NodeFilter| -> Vec<String> {
                filter.select(&resolver, labels).iter().map(ToString::to_string).collect()
            };
            let selected = run(&filter);
            let alone: Vec<BTreeSet<String>> = filter
                .items
                .iter()
                .map(|item| {
                    let set_type = FilterJoin::Union;
                    run(&NodeFilter { set_type, items: vec![item.clone()] }).into_iter().collect()
                })
                .collect();
            let expected: Vec<String> = order
                .iter()
                .filter(|name| match filter.set_type {
                    FilterJoin::Union => alone.iter().any(|set| set.contains(*name)),
                    FilterJoin::Intersection => !alone.is_empty() && alone.iter().all(|set| set.contains(*name)),
                })
                .cloned()
                .collect();
            prop_assert_eq!(&selected, &expected);
        }
    }

    /// All labels are no easier to have than one of them.
    #[test]
    fn and_selects_no_more_than_or(filter in filters()) {
        let site = site();
        let resolver = Resolver::new(&site.site, Flavour::Upstream);
        let any: BTreeSet<_> = filter.select(&resolver, LabelJoin::Any).into_iter().collect();
        prop_assert!(filter.select(&resolver, LabelJoin::All).iter().all(|name| any.contains(name)));
    }

    #[test]
    fn a_filter_reads_back_as_it_was_written(filter in filters()) {
        prop_assert_eq!(NodeFilter::from_json(&filter.to_json(), "f"), Ok(filter));
    }

    #[test]
    fn any_value_is_a_filter_or_has_a_mistake(value in anything()) {
        if let Err(error) = NodeFilter::from_json(&value, "f") {
            prop_assert!(!error.0.is_empty());
            prop_assert!(error.0.iter().all(|mistake| mistake.path.starts_with('f')));
        }
    }
}
