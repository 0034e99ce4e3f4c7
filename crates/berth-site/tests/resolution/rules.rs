//! Rules: whom they match and what they compute.

use super::{node, profile, rack, read, role_pool, rule};

#[test]
fn patterns_match_whole_names() {
    for (pattern, name, matches) in [
        ("worker-0", "worker-0", true),
        ("worker-0", "worker-01", false),
        ("worker-0", "my-worker-0", false),
        ("a|b", "a", true),
        ("a|b", "b", true),
        ("a|b", "ax", false),
        ("a|b", "xb", false),
        ("^a$", "a", true),
        ("a", "a.example.com", false),
    ] {
        let site = read(
            &(rule(
                "r",
                &format!("{{match: {{namePatterns: ['{pattern}']}}, labels: {{hit: ''}}}}"),
            ) + &node(name, "{}")),
        );
        assert_eq!(site.labels(name) == ["hit="], matches, "{pattern} {name}");
    }
}

#[test]
fn the_first_dns_label_can_be_matched_instead() {
    let spec =
        "{match: {nameScope: hostname, namePatterns: ['(?<h>w[0-9]+)']}, labels: {host: '${h}', full: '${node.name}'}}";
    let site = read(&(rule("r", spec) + &node("w12.site.example.com", "{}")));
    assert_eq!(
        site.labels("w12.site.example.com"),
        ["full=w12.site.example.com", "host=w12"]
    );
}

#[test]
fn criteria_are_joined_with_and_items_with_or() {
    let spec = "{match: {namePatterns: ['n1', 'n2'], racks: [r1, r2], profiles: [base]}, labels: {hit: ''}}";
    let common = rule("r", spec)
        + &rack("r1", "{}")
        + &rack("r2", "{}")
        + &rack("r3", "{}")
        + &profile("base", "{}")
        + &profile("derived", "{host_profile: base}")
        + &profile("other", "{}");
    for (name, data, hit) in [
        ("n1", "{host_profile: base, metadata: {rack: r1}}", true),
        ("n2", "{host_profile: derived, metadata: {rack: r2}}", true),
        ("n3", "{host_profile: base, metadata: {rack: r1}}", false),
        ("n1", "{host_profile: base, metadata: {rack: r3}}", false),
        ("n1", "{host_profile: other, metadata: {rack: r1}}", false),
        ("n1", "{host_profile: base}", false),
    ] {
        let site = read(&(common.clone() + &node(name, data)));
        assert_eq!(!site.labels(name).is_empty(), hit, "{name} {data}");
    }
}

#[test]
fn rules_that_match_the_pool_hold_once_it_is_known() {
    let text = role_pool("infra")
        + &rule("pool", "{match: {namePatterns: ['n.']}, pool: infra}")
        + &rule(
            "labels",
            "{match: {pools: [infra], namePatterns: ['(?<all>n.)']}, labels: {mine: '${all}'}}",
        );
    let site = read(&(text + &node("n1", "{}")));
    assert_eq!(site.labels("n1"), ["mine=n1", "node-role.kubernetes.io/infra="]);
    let cyclic = read(&(role_pool("infra") + &rule("r", "{match: {pools: [infra]}, pool: infra}")));
    assert_eq!(cyclic.codes(), ["rule-pool-cycle 10"]);
}

#[test]
fn captures_tables_and_filters() {
    let spec = "
  match: {namePatterns: ['(?<city>[a-z]{3})-(?<number>[0-9]+)']}
  tables:
    cities: {atl: atlanta, nyc: new-york, '*': elsewhere}
    strict: {atl: A}
  labels:
    city: ${city | cities}
    code: ${city | upper}-${number}
    strict: ${city | strict | lower}";
    let site = read(&(rule("r", spec) + &node("atl-7", "{}")));
    assert_eq!(site.labels("atl-7"), ["city=atlanta", "code=ATL-7", "strict=a"]);
    let unknown = read(
        &(rule("r", spec)
            + &node("nyc-1", "{}")
            + &node("sfo-1", "{}")
            + &node("sfo-2", "{}")
            + &node("sfo-3", "{}")
            + &node("sfo-4", "{}")),
    );
    assert_eq!(
        unknown.labels("sfo-1"),
        ["city=elsewhere", "code=SFO-1"],
        "the label without an answer is left out"
    );
    assert_eq!(
        unknown.message("unknown-code"),
        "table `strict` of rule `r` has no entry for `nyc` (node `nyc-1`)\n\
         table `strict` of rule `r` has no entry for `sfo` (nodes `sfo-1`, `sfo-2`, `sfo-3` and 1 more)",
        "one finding per code"
    );
}

#[test]
fn clli_codes_in_all_three_forms() {
    let spec = "{match: {namePatterns: ['.*']}, clli: hostname, labels: {p: '${clli.place}', s: '${clli.state}', b: '${clli.site}', f: '${clli.form}'}}";
    for (name, expected) in [
        ("atlngama27w", ["b=ma", "f=building", "p=atln", "s=ga"]),
        ("nycmny54.example.com", ["b=54", "f=building", "p=nycm", "s=ny"]),
        ("smyrgau0062", ["b=u0062", "f=non-building", "p=smyr", "s=ga"]),
        ("dllstx1a234", ["b=1a234", "f=customer", "p=dlls", "s=tx"]),
    ] {
        assert_eq!(
            read(&(rule("r", spec) + &node(name, "{}"))).labels(name),
            expected,
            "{name}"
        );
    }
    let site = read(&(rule("r", spec) + &node("worker-1", "{}")));
    assert_eq!(site.codes(), ["invalid-clli 5"]);
    let entity = "{match: {namePatterns: ['.*']}, clli: name, labels: {e: '${clli.entity}'}}";
    let site = read(&(rule("r", entity) + &node("atlngama", "{}")));
    assert!(
        site.message("missing-fact")
            .contains("has no entity: `atlngama` is a building code")
    );
    let captured =
        "{match: {namePatterns: ['(?<c>.{11})-(?<slot>[0-9])']}, clli: c, labels: {e: '${clli.entity}-${slot}'}}";
    assert_eq!(
        read(&(rule("r", captured) + &node("atlngama27w-3", "{}"))).labels("atlngama27w-3"),
        ["e=27w-3"]
    );
}

#[test]
fn computed_values_are_checked_for_every_node() {
    let spec = "{match: {namePatterns: ['(?<a>.*)']}, labels: {v: '${a}-'}}";
    let site = read(&(rule("r", spec) + &node("n1", "{}")));
    assert!(
        site.message("invalid-label-value")
            .starts_with("rule `r` gives node `n1` the value `n1-` for label `v`")
    );
}

#[test]
fn equal_priority_goes_by_name_and_is_warned_about() {
    let text = rule("b", "{match: {namePatterns: ['.*']}, labels: {k: from-b}}")
        + &rule("a", "{match: {namePatterns: ['.*']}, labels: {k: from-a}}")
        + &node("w1", "{}");
    let site = read(&text);
    assert_eq!(site.labels("w1"), ["k=from-b"], "the later name is stronger");
    assert_eq!(
        site.message("rule-tie"),
        "rules `b` and `a` have the same priority and different values for `k` on node `w1`; `b` wins by name"
    );
    let settled = read(&(text + &node("m", "{metadata: {owner_data: {k: mine}}}")));
    assert_eq!(
        settled.message("rule-tie").lines().count(),
        1,
        "where a stronger source decides there is no tie"
    );
}

#[test]
fn mistakes_in_rules_are_found_without_any_node() {
    for (spec, code) in [
        ("{match: {}, labels: {a: b}}", "empty-match"),
        ("{match: {namePatterns: ['(']}, labels: {a: b}}", "invalid-pattern"),
        ("{match: {namePatterns: ['a)(b']}, labels: {a: b}}", "invalid-pattern"),
        (
            "{match: {namePatterns: ['(?<x>a)', 'b']}, labels: {a: '${x}'}}",
            "unknown-capture",
        ),
        (
            "{match: {namePatterns: ['a']}, labels: {a: '${clli.place}'}}",
            "unknown-capture",
        ),
        (
            "{match: {namePatterns: ['(?<x>a)']}, labels: {a: '${x|t}'}}",
            "unknown-table",
        ),
        ("{match: {namePatterns: ['a']}, labels: {a: '${x'}}", "invalid-template"),
        ("{match: {namePatterns: ['a']}, labels: {a: true}}", "unquoted-value"),
        (
            "{match: {namePatterns: ['a']}, labels: {a: 'no good'}}",
            "invalid-label-value",
        ),
        (
            "{match: {namePatterns: ['a']}, labels: {'a b': c}}",
            "invalid-label-key",
        ),
        ("{match: {namePatterns: ['a']}, pool: nowhere}", "unknown-pool"),
        (
            "{match: {namePatterns: ['a'], nameScope: host}, labels: {a: b}}",
            "invalid-value",
        ),
        ("{match: {namePatterns: ['a']}}", "empty-rule"),
        (
            "{match: {namePatterns: ['a']}, labels: {a: b}, prioirty: 3}",
            "unknown-field",
        ),
        (
            "{match: {namePatterns: ['a']}, labels: {a: b}, priority: high}",
            "wrong-type",
        ),
    ] {
        let line = if code == "empty-rule" { 4 } else { 5 };
        assert_eq!(read(&rule("r", spec)).codes(), [format!("{code} {line}")], "{spec}");
    }
}

#[test]
fn a_rule_that_cannot_be_read_whole_matches_nothing() {
    let spec = "{match: {racks: [r1], namePatterns: ['gpu-[']}, labels: {hit: ''}}";
    let site = read(&(rack("r1", "{}") + &rule("r", spec) + &node("w1", "{metadata: {rack: r1}}")));
    assert_eq!(
        site.labels("w1"),
        Vec::<String>::new(),
        "without the pattern it would match the whole rack"
    );
    assert_eq!(site.codes(), ["invalid-pattern 9"]);
}

#[test]
fn the_same_finding_on_many_nodes_is_one() {
    let text = rule(
        "r",
        "{match: {namePatterns: ['.*']}, labels: {kubernetes.io/arch: arm64}}",
    ) + &node("w1", "{}")
        + &node("w2", "{}")
        + &node("w3", "{}");
    assert_eq!(
        read(&text).message("kubelet-label"),
        "the kubelet of node `w1` sets `kubernetes.io/arch` itself (and 2 more nodes)"
    );
    let idle = read(&(rule("r", "{match: {namePatterns: ['w']}, labels: {a: b}}") + &node("w1", "{}")));
    assert_eq!(idle.codes(), ["idle-rule 4"]);
}
