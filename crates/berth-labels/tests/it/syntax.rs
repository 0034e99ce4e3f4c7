//! What Kubernetes accepts as a key and as a value, and what it says otherwise.

use berth_labels::{Label, LabelKey, LabelProblem, LabelSet, LabelValue};

use crate::support::{key, set, value};

#[test]
fn good_keys() {
    let longest_name = "n".repeat(63);
    let longest_prefix = format!("{}/x", "p".repeat(253));
    let longest = format!("{}/{longest_name}", "p".repeat(253));
    let rows = [
        "pool",
        "x",
        "7",
        "2024",
        "9lives",
        "two-words",
        "snake_case",
        "dotted.name",
        "double--dash..dot__under",
        "CamelCase",
        "rack/row",
        "k8s.ovn.org/egress-assignable",
        "node-role.kubernetes.io/worker",
        "topology.kubernetes.io/zone",
        "a-b.c-d.e/F_g.H",
        "10.0.0.1/8",
        "1/2",
        "example.com/UPPER",
        &longest_name,
        &longest_prefix,
        &longest,
    ];
    for text in rows {
        let key = LabelKey::try_from(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(key.as_str(), text);
        assert_eq!(key.to_string(), text);
    }
}

#[test]
fn bad_keys_give_every_problem() {
    use LabelProblem::{NameEmpty, NameSyntax, NameTooLong, PrefixEmpty, PrefixSyntax, PrefixTooLong, Slashes};
    let rows: [(&str, &[LabelProblem]); 25] = [
        ("", &[NameEmpty, NameSyntax]),
        ("/", &[PrefixEmpty, NameEmpty, NameSyntax]),
        ("/name", &[PrefixEmpty]),
        ("example.com/", &[NameEmpty, NameSyntax]),
        ("a/b/c", &[Slashes]),
        ("//", &[Slashes]),
        ("-lead", &[NameSyntax]),
        ("trail-", &[NameSyntax]),
        (".lead", &[NameSyntax]),
        ("trail_", &[NameSyntax]),
        ("with space", &[NameSyntax]),
        (" padded", &[NameSyntax]),
        ("line\n", &[NameSyntax]),
        ("per%cent", &[NameSyntax]),
        ("a=b", &[NameSyntax]),
        ("z\u{fc}rich", &[NameSyntax]),
        ("Example.com/name", &[PrefixSyntax]),
        ("under_score.com/name", &[PrefixSyntax]),
        ("example..com/name", &[PrefixSyntax]),
        (".example.com/name", &[PrefixSyntax]),
        ("example.com./name", &[PrefixSyntax]),
        ("-a.com/name", &[PrefixSyntax]),
        ("Example.com/-", &[PrefixSyntax, NameSyntax]),
        (&"n".repeat(64), &[NameTooLong]),
        (&format!("{}/name", "p".repeat(254)), &[PrefixTooLong]),
    ];
    for (text, problems) in rows {
        let error = LabelKey::try_from(text).expect_err(text);
        assert_eq!(error.problems(), problems, "{text:?}");
        assert_eq!(error.text(), text);
    }
}

#[test]
fn lengths_are_bytes() {
    // 32 two-byte characters are 64 bytes: too long as well as illegal.
    let text = "\u{e9}".repeat(32);
    let problems = [LabelProblem::NameTooLong, LabelProblem::NameSyntax];
    assert_eq!(LabelKey::try_from(text.as_str()).unwrap_err().problems(), problems);
    let problems = [LabelProblem::ValueTooLong, LabelProblem::ValueSyntax];
    assert_eq!(LabelValue::try_from(text.as_str()).unwrap_err().problems(), problems);
    let prefix = format!("{}/x", "A".repeat(254));
    let problems = [LabelProblem::PrefixTooLong, LabelProblem::PrefixSyntax];
    assert_eq!(LabelKey::try_from(prefix).unwrap_err().problems(), problems);
}

#[test]
fn good_values() {
    let longest = "v".repeat(63);
    for text in [
        "",
        "x",
        "true",
        "10.5",
        "rack-7",
        "a_b.c-d",
        "Mixed.CASE",
        "0",
        &longest,
    ] {
        let value = LabelValue::try_from(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value.as_str(), text);
    }
    assert_eq!(LabelValue::default(), value(""));
}

#[test]
fn bad_values_give_every_problem() {
    use LabelProblem::{ValueSyntax, ValueTooLong};
    let rows: [(&str, &[LabelProblem]); 12] = [
        (" ", &[ValueSyntax]),
        ("\"\"", &[ValueSyntax]),
        ("-a", &[ValueSyntax]),
        ("a-", &[ValueSyntax]),
        (".a", &[ValueSyntax]),
        ("a.", &[ValueSyntax]),
        ("_", &[ValueSyntax]),
        ("a/b", &[ValueSyntax]),
        ("a,b", &[ValueSyntax]),
        ("\u{444}", &[ValueSyntax]),
        (&"v".repeat(64), &[ValueTooLong]),
        (&format!("{}-", "v".repeat(63)), &[ValueTooLong, ValueSyntax]),
    ];
    for (text, problems) in rows {
        assert_eq!(
            LabelValue::try_from(text).expect_err(text).problems(),
            problems,
            "{text:?}"
        );
    }
}

#[test]
fn error_texts_are_those_of_kubernetes() {
    let texts = |text: &str| LabelKey::try_from(text).unwrap_err().to_string();
    let name_syntax = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
         with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    assert_eq!(texts(""), format!("name part must be non-empty; {name_syntax}"));
    assert_eq!(texts(&"n".repeat(64)), "name part must be no more than 63 bytes");
    assert_eq!(texts("/x"), "prefix part must be non-empty");
    assert_eq!(
        texts(&format!("{}/x", "p".repeat(254))),
        "prefix part must be no more than 253 bytes"
    );
    assert_eq!(
        texts("A/x"),
        "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    );
    assert_eq!(
        texts("a/b/c"),
        "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
         'example.com/MyName')"
    );
    let error = LabelValue::try_from(format!("{}-", "v".repeat(63))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "must be no more than 63 bytes; a valid label must be an empty string or consist of alphanumeric characters, \
         '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
         '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    );
}

#[test]
fn parts_of_a_key() {
    assert_eq!((key("pool").prefix(), key("pool").name()), (None, "pool"));
    let role = key("node-role.kubernetes.io/worker");
    assert_eq!(
        (role.prefix(), role.name()),
        (Some("node-role.kubernetes.io"), "worker")
    );
}

#[test]
fn domains_end_at_a_dot() {
    let rows = [
        ("kubernetes.io/os", "kubernetes.io", true),
        ("node.kubernetes.io/x", "kubernetes.io", true),
        ("a.b.kubernetes.io/x", "kubernetes.io", true),
        ("mykubernetes.io/x", "kubernetes.io", false),
        ("my-kubernetes.io/x", "kubernetes.io", false),
        ("kubernetes.io.example.com/x", "kubernetes.io", false),
        ("io/x", "kubernetes.io", false),
        ("kubernetes.io", "kubernetes.io", false),
        ("k8s.ovn.org/x", "k8s.io", false),
    ];
    for (text, domain, inside) in rows {
        assert_eq!(key(text).in_domain(domain), inside, "{text} in {domain}");
    }
}

#[test]
fn a_label_is_split_at_the_first_equals_sign() {
    let rows = [
        ("a=b", "a", "b"),
        ("a=", "a", ""),
        ("a", "a", ""),
        ("node-role.kubernetes.io/worker", "node-role.kubernetes.io/worker", ""),
    ];
    for (text, key, value) in rows {
        let label: Label = text.parse().unwrap();
        assert_eq!((label.key.as_str(), label.value.as_str()), (key, value));
        assert_eq!(label.to_string(), format!("{key}={value}"));
    }
    for text in ["", "=b", "a=b=c", "a==", "a=\"\"", " a=b"] {
        assert!(text.parse::<Label>().is_err(), "{text:?}");
    }
}

#[test]
fn a_set_keeps_one_value_per_key_in_key_order() {
    let mut labels = set("b=2,a=1,c");
    assert_eq!(labels.to_string(), "a=1,b=2,c=");
    assert_eq!(labels.insert(key("b"), value("3")), Some(value("2")));
    assert_eq!(labels.get("b"), Some(&value("3")));
    assert_eq!(
        labels.get("c"),
        Some(&value("")),
        "the empty value is not an absent one"
    );
    assert_eq!(labels.get("d"), None);
    assert_eq!(labels.remove("a"), Some(value("1")));
    assert!(!labels.contains_key("a"));
    assert_eq!(labels.len(), 2);
    labels.extend(set("a=9"));
    assert_eq!(labels.keys().map(LabelKey::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(LabelSet::new().to_string(), "");
    assert!(LabelSet::new().is_empty());
}
