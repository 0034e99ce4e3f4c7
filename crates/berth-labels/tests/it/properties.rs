//! Properties that hold for any input.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{
    ConflictPolicy, Flavour, InvertError, Label, LabelKey, LabelSelector, LabelSelectorRequirement, LabelSet,
    LabelValue, NodeLabels, OwnershipDiff, Route, Writer, choose_route, permission, promenade_diff, route_proof,
    routes,
};
use proptest::{collection, option, prelude::*, sample};

fn any_key() -> impl Strategy<Value = String> {
    let name = "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
    let prefix = "[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?){0,3}";
    (option::of(prefix), name).prop_map(|(prefix, name)| match prefix {
        Some(prefix) => format!("{prefix}/{name}"),
        None => name,
    })
}

fn any_value() -> impl Strategy<Value = String> {
    "([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?"
}

fn any_set() -> impl Strategy<Value = LabelSet> {
    collection::btree_map(any_key(), any_value(), 0..8).prop_map(|map| LabelSet::try_from_map(&map).unwrap())
}

/// Few keys and values, so that sources often speak about the same label.
fn small_key() -> impl Strategy<Value = String> {
    sample::select(vec!["a", "b", "c", "x.io/d"]).prop_map(str::to_owned)
}

fn small_value() -> impl Strategy<Value = String> {
    sample::select(vec!["", "1", "2", "3"]).prop_map(str::to_owned)
}

fn small_map() -> impl Strategy<Value = BTreeMap<String, String>> {
    collection::btree_map(small_key(), small_value(), 0..5)
}

fn small_set() -> impl Strategy<Value = LabelSet> {
    small_map().prop_map(|map| LabelSet::try_from_map(&map).unwrap())
}

fn any_policy() -> impl Strategy<Value = ConflictPolicy> {
    sample::select(vec![ConflictPolicy::Report, ConflictPolicy::TakeOver])
}

fn any_selector() -> impl Strategy<Value = LabelSelector> {
    let expression = (
        small_key(),
        sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist"]),
        collection::vec(small_value(), 1..4),
    )
        .prop_map(|(key, operator, values)| LabelSelectorRequirement {
            key,
            operator: operator.to_owned(),
            values: if operator.ends_with("In") { values } else { Vec::new() },
        });
    (
        collection::btree_map(small_key(), small_value(), 0..3),
        collection::vec(expression, 0..4),
    )
        .prop_map(|(match_labels, match_expressions)| LabelSelector {
            match_labels,
            match_expressions,
        })
}

/// Every set over the small keys and values, for checking "no label set can" by trying them all.
fn all_small_sets() -> Vec<LabelSet> {
    let mut sets = vec![LabelSet::new()];
    for key in ["a", "b", "c", "x.io/d"] {
        let with_key: Vec<LabelSet> = sets
            .iter()
            .flat_map(|set| {
                ["", "1", "2", "3"].map(|value| {
                    let mut set = set.clone();
                    set.extend([Label::parse_parts(key, value).unwrap()]);
                    set
                })
            })
            .collect();
        sets.extend(with_key);
    }
    sets
}

proptest! {
    #[test]
    fn keys_round_trip(text in any_key()) {
        let key: LabelKey = text.parse().unwrap();
        prop_assert_eq!(key.to_string(), text.clone());
        let again = match key.prefix() {
            Some(prefix) => format!("{prefix}/{}", key.name()),
            None => key.name().to_owned(),
        };
        prop_assert_eq!(again, text);
    }

    #[test]
    fn values_round_trip(text in any_value()) {
        prop_assert_eq!(text.parse::<LabelValue>().unwrap().to_string(), text);
    }

    #[test]
    fn labels_round_trip(key in any_key(), value in any_value()) {
        let label = Label::parse_parts(&key, &value).unwrap();
        prop_assert_eq!(label.to_string().parse::<Label>().unwrap(), label);
    }

    #[test]
    fn sets_round_trip_through_text_map_and_flag(set in any_set()) {
        let text = set.to_string();
        let read: LabelSet =
            text.split(',').filter(|item| !item.is_empty()).map(|item| item.parse::<Label>().unwrap()).collect();
        prop_assert_eq!(&read, &set);
        prop_assert_eq!(&LabelSet::try_from_map(&set.to_map()).unwrap(), &set);
        let flag = NodeLabels::parse([NodeLabels::format(&set)]);
        prop_assert_eq!(flag.entries().len(), set.len());
        prop_assert_eq!(&flag.valid(), &set);
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in any::<String>(), other in any::<String>()) {
        if let Err(error) = LabelKey::try_from(text.as_str()) {
            prop_assert!(!error.problems().is_empty() && !error.to_string().is_empty());
        }
        if let Err(error) = LabelValue::try_from(text.as_str()) {
            prop_assert!(!error.problems().is_empty() && !error.to_string().is_empty());
        }
        let _ = text.parse::<Label>();
        let labels = NodeLabels::parse([&text, &other]);
        prop_assert_eq!(labels.checked().len(), labels.entries().len());
        let selector = LabelSelector {
            match_labels: BTreeMap::from([(text.clone(), other.clone())]),
            match_expressions: vec![LabelSelectorRequirement { key: other, operator: text.clone(), values: vec![text] }],
        };
        let _ = selector.compile().map_err(|error| error.to_string());
        let _ = selector.to_map().map_err(|error| error.to_string());
    }

    #[test]
    fn the_flag_is_read_value_by_value_or_joined(values in collection::vec("[ab=, 1]{0,12}", 0..4)) {
        let joined = NodeLabels::parse([values.join(",")]);
        prop_assert_eq!(NodeLabels::parse(&values), joined);
    }

    #[test]
    fn the_flag_keeps_each_key_once_with_its_last_value(value in "[abc=, 12]{0,24}") {
        // The kubelet's map, as the rule is written down.
        let mut expected = BTreeMap::new();
        for item in value.split(',').filter(|item| !item.is_empty()) {
            let mut parts = item.splitn(2, '=');
            let key = parts.next().unwrap_or_default().trim();
            expected.insert(key.to_owned(), parts.next().unwrap_or_default().trim().to_owned());
        }
        let labels = NodeLabels::parse([value]);
        prop_assert_eq!(labels.entries().len(), expected.len());
        prop_assert_eq!(labels.entries().iter().cloned().collect::<BTreeMap<_, _>>(), expected);
    }

    #[test]
    fn inverted_selectors_match(wire in any_selector(), choices in small_map(), others in small_set()) {
        let selector = wire.compile().unwrap();
        let choices: BTreeMap<LabelKey, LabelValue> = LabelSet::try_from_map(&choices).unwrap().into_iter().collect();
        match selector.invert(&choices) {
            Ok(inversion) => {
                // The labels alone break no constraint, because none of them has a key that must be absent.
                prop_assert!(selector.matches(&inversion.labels), "{selector} <- {}", inversion.labels);
                let mut node = others;
                node.extend(inversion.labels.clone());
                prop_assert_eq!(selector.matches(&node), inversion.violated(&node).next().is_none());
            }
            Err(InvertError::Unsatisfiable { key, .. }) => {
                prop_assert!(!all_small_sets().iter().any(|set| selector.matches(set)), "{selector} at {key}");
            }
            Err(InvertError::Ambiguous { key, values }) => {
                prop_assert!(values.len() != 1);
                prop_assert!(!choices.contains_key(&key));
            }
            Err(InvertError::Choice { key, choice, values }) => {
                prop_assert_eq!(choices.get(&key), Some(&choice));
                prop_assert!(!values.contains(&choice));
            }
            Err(InvertError::Nothing) => prop_assert!(false, "a selector that exists selects something"),
        }
    }

    #[test]
    fn every_offered_value_resolves_the_ambiguity(wire in any_selector()) {
        let selector = wire.compile().unwrap();
        if let Err(InvertError::Ambiguous { key, values }) = selector.invert(&BTreeMap::new()) {
            for value in values {
                let choices = BTreeMap::from([(key.clone(), value.clone())]);
                let error = selector.invert(&choices).err();
                prop_assert!(error.as_ref().and_then(InvertError::key) != Some(&key), "{selector}: {error:?}");
            }
        }
    }

    #[test]
    fn a_selector_and_its_plain_map_match_the_same(wire in any_selector(), labels in small_set()) {
        // With one requirement per key nothing is overridden, and the map says the same as the selector.
        let keys = wire.match_labels.len() + wire.match_expressions.len();
        let distinct: BTreeSet<_> =
            wire.match_labels.keys().chain(wire.match_expressions.iter().map(|expression| &expression.key)).collect();
        if let (Ok(map), true) = (wire.to_map(), keys == distinct.len()) {
            let by_map = map.iter().all(|(key, value)| labels.get(key).is_some_and(|live| live.as_str() == value));
            prop_assert_eq!(wire.compile().unwrap().matches(&labels), by_map);
        }
    }

    #[test]
    fn ownership_groups_part_the_keys(
        declared in small_set(),
        owned in small_map(),
        live in small_map(),
        policy in any_policy(),
        tombstones in collection::btree_set(small_key(), 0..3),
    ) {
        let diff = OwnershipDiff::compute(&declared, &owned, &live, policy, &tombstones);
        let mut grouped: Vec<String> = diff
            .set
            .keys()
            .chain(diff.change.keys())
            .map(|key| key.as_str().to_owned())
            .chain(diff.remove.iter().cloned())
            .chain(diff.keep.iter().cloned())
            .chain(diff.withheld.iter().cloned())
            .chain(diff.conflicts.iter().map(|conflict| conflict.key.clone()))
            .collect();
        grouped.sort();
        let all: BTreeSet<String> =
            declared.keys().map(|key| key.as_str().to_owned()).chain(live.keys().cloned()).collect();
        prop_assert_eq!(grouped, all.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn applying_a_diff_gives_the_declared_labels_and_touches_nothing_else(
        declared in small_set(),
        owned in small_map(),
        live in small_map(),
        policy in any_policy(),
        tombstones in collection::btree_set(small_key(), 0..3),
    ) {
        let diff = OwnershipDiff::compute(&declared, &owned, &live, policy, &tombstones);
        let after = diff.apply_to(&live);
        let conflicted: BTreeSet<&str> = diff.conflicts.iter().map(|conflict| conflict.key.as_str()).collect();
        for (key, value) in &declared {
            let key = key.as_str();
            if !conflicted.contains(key) && !diff.withheld.contains(key) {
                prop_assert_eq!(after.get(key).map(String::as_str), Some(value.as_str()));
            }
        }
        if policy == ConflictPolicy::TakeOver {
            prop_assert!(diff.conflicts.iter().all(|conflict| conflict.declared.is_none()));
        }
        for (key, value) in &live {
            let ours = owned.get(key) == Some(value);
            if !declared.contains_key(key) {
                // Removed only if it was applied and nobody changed it.
                prop_assert_eq!(after.get(key), (!ours).then_some(value));
            } else if !ours && policy == ConflictPolicy::Report {
                prop_assert_eq!(after.get(key), Some(value));
            }
        }
        for key in after.keys() {
            prop_assert!(live.contains_key(key) || declared.contains_key(key));
        }
        for key in diff.patch().keys() {
            prop_assert!(declared.contains_key(key) || owned.contains_key(key), "{key} is not ours to write");
        }
    }

    #[test]
    fn a_diff_applied_once_leaves_nothing_to_write(
        declared in small_set(),
        owned in small_map(),
        live in small_map(),
        policy in any_policy(),
    ) {
        let none = BTreeSet::new();
        let after = OwnershipDiff::compute(&declared, &owned, &live, policy, &none).apply_to(&live);
        let again = OwnershipDiff::compute(&declared, &declared.to_map(), &after, policy, &none);
        prop_assert!(again.is_noop(), "{again:?}");
    }

    #[test]
    fn promenade_sets_what_is_requested(existing in small_map(), requested in small_map()) {
        let request = requested.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
        let mut after = existing.clone();
        for (key, value) in promenade_diff(&existing, &request) {
            match value {
                Some(value) => after.insert(key, value),
                None => after.remove(&key),
            };
        }
        // None of the small keys is protected, so the Node mirrors the request.
        prop_assert_eq!(after, requested);
    }

    #[test]
    fn rules_agree_with_each_other(text in any_key(), reserved in sample::select(vec!["", ".kubernetes.io", ".k8s.io"])) {
        let text = match text.split_once('/') {
            Some((prefix, name)) => format!("{prefix}{reserved}/{name}"),
            None => text,
        };
        let key: LabelKey = text.parse().unwrap();
        for flavour in Flavour::ALL {
            let allowed = |writer| permission(flavour, writer, &key).allowed;
            prop_assert_eq!(allowed(Writer::Flag), allowed(Writer::Create));
            prop_assert!(!allowed(Writer::Update) || allowed(Writer::Create));
            prop_assert!(!permission(Flavour::Upstream, Writer::Create, &key).allowed || allowed(Writer::Create));
            let routes = routes(flavour, &key);
            prop_assert_eq!(routes.first(), Some(&choose_route(flavour, &key)));
            prop_assert!(routes.contains(&Route::Live) && routes.contains(&Route::Preregister));
            for route in Route::ALL {
                prop_assert!(!route_proof(flavour, &key, route).is_empty());
            }
        }
    }
}
