//! Which source wins a key.

use super::{berth, node, pinned, pool, profile, rack, read, rule};

/// One node `w1` and every kind of source saying `k`; sources are added from the weakest on.
#[test]
fn every_source_beats_the_weaker_ones() {
    let annotated = "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata:\n  name: infra\n  \
                     annotations: {berth.dev/node-labels: k=explicit}\nspec: {nodeSelector: {matchLabels: {is-infra: ''}}}\n";
    let sources = [
        ("explicit", annotated.to_owned()),
        (
            "rule-low",
            rule(
                "zz-low",
                "{priority: 1, match: {namePatterns: [w1]}, labels: {k: rule-low}}",
            ),
        ),
        (
            "rule-high",
            rule(
                "aa-high",
                "{priority: 2, match: {namePatterns: [w1]}, labels: {k: rule-high}}",
            ),
        ),
        ("rack", rack("r1", "{k: rack}")),
        ("root", profile("root", "{metadata: {owner_data: {k: root}}}")),
        (
            "leaf",
            profile("leaf", "{host_profile: root, metadata: {owner_data: {k: leaf}}}"),
        ),
    ];
    let bare = |name: &str| match name {
        "infra" => pool("infra", "{matchLabels: {is-infra: ''}}"),
        "r1" => rack("r1", "{}"),
        "root" => profile("root", "{}"),
        _ => profile("leaf", "{host_profile: root}"),
    };
    for count in 1..=sources.len() {
        let mut text: String = sources[..count].iter().map(|(_, text)| text.as_str()).collect();
        for (name, from) in [("infra", 1), ("r1", 4), ("root", 5), ("leaf", 6)] {
            if count < from {
                text += &bare(name);
            }
        }
        text += &pinned("w1", "infra", "{host_profile: leaf, metadata: {rack: r1}}");
        let site = read(&text);
        assert_eq!(site.codes(), Vec::<String>::new(), "{text}");
        let resolution = site.resolve("w1");
        let label = resolution.label("k").unwrap();
        assert_eq!(label.value.as_str(), sources[count - 1].0);
        let beaten: Vec<&str> = label.beats.iter().map(|b| b.value.as_ref().unwrap().as_str()).collect();
        let weaker: Vec<&str> = sources[..count - 1].iter().rev().map(|(value, _)| *value).collect();
        assert_eq!(beaten, weaker, "strongest first");
    }
}

#[test]
fn the_node_document_beats_its_profiles_and_a_berth_has_its_rank() {
    let text = profile("p", "{metadata: {owner_data: {k: profile}}}")
        + &node("w1", "{host_profile: p, metadata: {owner_data: {k: node}}}");
    assert_eq!(read(&text).labels("w1"), ["k=node"]);
    assert_eq!(
        read(&(text.clone() + &berth("w1", "{labels: {k: node, extra: x}}"))).labels("w1"),
        ["extra=x", "k=node"]
    );
    let conflict = read(&(text + &berth("b", "{nodeName: w1, labels: {k: other}}")));
    assert_eq!(conflict.labels("w1"), Vec::<String>::new(), "neither wins");
    assert_eq!(conflict.codes().len(), 1);
    assert_eq!(
        conflict.message("equal-rank-conflict"),
        "for node `w1` node document `w1` says `k=node` and berth `b` says `k=other`"
    );
}

#[test]
fn a_removal_hides_everything_weaker() {
    let profiles = profile("root", "{metadata: {owner_data: {a: '1', b: '2', c: '3'}}}")
        + &profile(
            "leaf",
            "{host_profile: root, metadata: {owner_data: {'!a': '', d: '4'}}}",
        );
    for (data, expected) in [
        ("{host_profile: leaf}", &["b=2", "c=3", "d=4"][..]),
        (
            "{host_profile: leaf, metadata: {owner_data: {'!b': '', '!d': ''}}}",
            &["c=3"],
        ),
        (
            "{host_profile: leaf, metadata: {owner_data: {a: back}}}",
            &["a=back", "b=2", "c=3", "d=4"],
        ),
        // Without a profile a removal is still one, not a label called `!a`.
        ("{metadata: {owner_data: {'!a': '', e: '5'}}}", &["e=5"]),
    ] {
        let site = read(&(profiles.clone() + &node("w1", data)));
        assert_eq!(site.labels("w1"), expected, "{data}");
        assert_eq!(site.codes(), Vec::<String>::new());
    }
    let with_rule = read(
        &(rule("r", "{match: {namePatterns: ['.*']}, labels: {a: rule}}")
            + &node("w1", "{metadata: {owner_data: {'!a': ''}}}")),
    );
    assert_eq!(with_rule.labels("w1"), Vec::<String>::new());
    let removed = with_rule.resolve("w1").removed;
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0].key.as_str(), "a");
}

#[test]
fn implicit_labels_cannot_be_changed_or_removed() {
    let infra = pool("infra", "{matchLabels: {role: infra}}");
    for (data, line) in [
        ("{metadata: {owner_data: {role: worker}}}", 9),
        ("{metadata: {owner_data: {'!role': ''}}}", 9),
    ] {
        let site = read(&(infra.clone() + &pinned("w1", "infra", data)));
        assert_eq!(site.codes(), [format!("implicit-override {line}")], "{data}");
        assert_eq!(site.labels("w1"), ["role=infra"], "the pool's label stays");
    }
    let same = read(&(infra + &pinned("w1", "infra", "{metadata: {owner_data: {role: infra}}}")));
    assert_eq!(same.codes(), Vec::<String>::new(), "saying the same is not a mistake");
}

#[test]
fn a_rack_may_come_from_the_profile_chain() {
    let text = rack("r1", "{rack: one}")
        + &rack("r2", "{rack: two}")
        + &profile("root", "{metadata: {rack: r1}}")
        + &profile("leaf", "{host_profile: root}")
        + &node("a", "{host_profile: leaf}")
        + &node("b", "{host_profile: leaf, metadata: {rack: r2}}");
    let site = read(&text);
    assert_eq!(site.labels("a"), ["rack=one"]);
    assert_eq!(site.labels("b"), ["rack=two"]);
}

#[test]
fn both_envelopes_say_the_same() {
    let airship = node("w1", "{host_profile: p, metadata: {owner_data: {k: v}}}")
        + &profile("p", "{metadata: {owner_data: {'!x': '', v: z}}}")
        + "---\nschema: berth/LabelRule/v1\nmetadata: {name: r}\ndata: {match: {namePatterns: [w1]}, labels: {x: '1', w: '2'}}\n";
    let kubernetes = airship
        .replace(
            "schema: drydock/BaremetalNode/v1",
            "apiVersion: berth.dev/v1alpha1\nkind: BaremetalNode",
        )
        .replace(
            "schema: drydock/HostProfile/v1",
            "apiVersion: berth.dev/v1alpha1\nkind: HostProfile",
        )
        .replace(
            "schema: berth/LabelRule/v1",
            "apiVersion: berth.dev/v1alpha1\nkind: LabelRule",
        )
        .replace("\ndata:", "\nspec:");
    assert_eq!(read(&airship).codes(), Vec::<String>::new());
    assert_eq!(read(&airship).labels("w1"), ["k=v", "v=z", "w=2"]);
    assert_eq!(read(&kubernetes).labels("w1"), read(&airship).labels("w1"));
}

#[test]
fn broken_chains_are_reported_once_and_cut() {
    let site = read(
        &(profile("a", "{host_profile: b, metadata: {owner_data: {a: '1'}}}")
            + &profile("b", "{host_profile: c, metadata: {owner_data: {b: '1'}}}")
            + &profile("c", "{host_profile: b}")
            + &node("w1", "{host_profile: a}")
            + &node("m", "{host_profile: b}")
            + &node("lost", "{host_profile: aa}")),
    );
    assert_eq!(
        site.message("profile-cycle"),
        "host profiles build on each other in a circle: b -> c -> b"
    );
    assert_eq!(site.message("unknown-profile"), "there is no host profile `aa`");
    assert_eq!(site.labels("w1"), ["a=1", "b=1"]);
}

#[test]
fn a_body_under_the_wrong_name_is_not_lost_without_a_word() {
    for (text, code) in [
        (
            "schema: berth/Berth/v1\nmetadata: {name: w1}\nspec: {labels: {a: b}}\n",
            "unknown-field 3",
        ),
        (
            "apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {name: w1}\ndata: {labels: {a: b}}\n",
            "unknown-field 4",
        ),
        (
            "apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {name: w1}\nspecs: {}\n",
            "unknown-field 4",
        ),
        (
            "schema: drydock/BaremetalNode/v1\nmetadata: {name: w1, owner_data: {a: b}}\ndata: {}\n",
            "unknown-field 2",
        ),
        (
            "apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {name: w1, labels: {berth.dev/pool: x}}\nspec: {}\n",
            "unknown-field 3",
        ),
    ] {
        assert_eq!(read(text).codes(), [code], "{text}");
    }
}
