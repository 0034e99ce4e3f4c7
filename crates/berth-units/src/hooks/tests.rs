use proptest::prelude::*;

use super::*;

fn set(text: &str) -> LabelSet {
    NodeLabels::parse([text]).valid()
}

fn kubelet_env(existing: &str, unit: Option<&EffectiveUnit>, labels: &str, previous: &str) -> MergedFile {
    let change = LabelChange {
        labels: &set(labels),
        previous: &set(previous),
        flavour: Flavour::Openshift,
    };
    merge_kubelet_env(existing.as_bytes(), unit, change).unwrap()
}

fn extra_args(existing: &str, labels: &str, previous: &str) -> String {
    let change = LabelChange {
        labels: &set(labels),
        previous: &set(previous),
        flavour: Flavour::Upstream,
    };
    let merged = merge_default_kubelet(existing.as_bytes(), change).unwrap();
    assert_eq!(merged.changed, merged.text != existing.as_bytes());
    String::from_utf8(merged.text).unwrap()
}

#[test]
fn kubelet_env_keeps_what_others_wrote() {
    let table = [
        ("", "a=b", "", "CUSTOM_KUBELET_LABELS=a=b\n"),
        (
            "# x\nOTHER='y z'",
            "a=b",
            "",
            "# x\nOTHER='y z'\nCUSTOM_KUBELET_LABELS=a=b\n",
        ),
        (
            "CUSTOM_KUBELET_LABELS=\"f=1,g\" \nOTHER=1\n",
            "a=b",
            "",
            "CUSTOM_KUBELET_LABELS=f=1,g=,a=b\nOTHER=1\n",
        ),
        (
            "CUSTOM_KUBELET_LABELS=a=old,f=1\n",
            "a=b",
            "",
            "CUSTOM_KUBELET_LABELS=a=b,f=1\n",
        ),
        (
            "CUSTOM_KUBELET_LABELS=f,a=b\n",
            "a=b",
            "",
            "CUSTOM_KUBELET_LABELS=f,a=b\n",
        ),
        (
            "CUSTOM_KUBELET_LABELS=a=b,f=1\n",
            "",
            "a=b",
            "CUSTOM_KUBELET_LABELS=f=1\n",
        ),
        (
            "CUSTOM_KUBELET_LABELS=a=changed\n",
            "",
            "a=b",
            "CUSTOM_KUBELET_LABELS=a=changed\n",
        ),
        ("X=1\nCUSTOM_KUBELET_LABELS=a=b\nY=2\n", "", "a=b", "X=1\nY=2\n"),
        (
            "CUSTOM_KUBELET_LABELS=dead\r\nX=1\r\nCUSTOM_KUBELET_LABELS=c=d\r\n",
            "a=b",
            "",
            "CUSTOM_KUBELET_LABELS=dead\r\nX=1\r\nCUSTOM_KUBELET_LABELS=c=d,a=b\r\n",
        ),
        ("X=1\n", "", "", "X=1\n"),
    ];
    for (existing, labels, previous, expected) in table {
        let merged = kubelet_env(existing, None, labels, previous);
        assert_eq!(String::from_utf8(merged.text).unwrap(), expected, "{existing:?}");
    }
}

/// Found by fuzzing: the labels changed their order with every merge.
#[test]
fn a_label_of_the_unit_that_an_earlier_run_gave_stays_where_it_is() {
    let text = "[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=first=,second=,third=\nExecStart=/usr/bin/kubelet\n";
    let unit = EffectiveUnit::assemble("kubelet.service", ("kubelet.service", text.as_bytes()), &[]);
    let once = kubelet_env("", Some(&unit), "a=b", "second=");
    let merged = String::from_utf8(once.text).unwrap();
    assert_eq!(merged, "CUSTOM_KUBELET_LABELS=a=b,first=,second=,third=\n");
    assert!(!kubelet_env(&merged, Some(&unit), "a=b", "second=").changed);
}

#[test]
fn kubelet_env_carries_the_units_own_labels_along() {
    let unit = EffectiveUnit::assemble(
        "kubelet.service",
        (
            "kubelet.service",
            b"[Service]\nEnvironmentFile=-/etc/kubernetes/kubelet-env\nExecStart=/usr/bin/kubelet --node-labels=${CUSTOM_KUBELET_LABELS}\n",
        ),
        &[(
            "20-nodenet.conf",
            b"[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker\n",
        )],
    );
    let merged = kubelet_env("", Some(&unit), "a=b", "");
    assert_eq!(
        merged.text,
        b"CUSTOM_KUBELET_LABELS=a=b,node.openshift.io/remote-worker=\n"
    );
    assert_eq!(merged.carried, ["node.openshift.io/remote-worker="]);
    let again = kubelet_env(&String::from_utf8(merged.text).unwrap(), Some(&unit), "a=b", "a=b");
    assert!(!again.changed);
    // A value that Berth sets for the same key wins; nothing is written where nothing would be hidden.
    let own = kubelet_env("", Some(&unit), "node.openshift.io/remote-worker=site-b", "");
    assert_eq!(
        own.text,
        b"CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker=site-b\n"
    );
    assert!(!kubelet_env("X=1\n", Some(&unit), "", "").changed);
}

#[test]
fn an_open_quote_refuses_the_edit() {
    let change = LabelChange {
        labels: &set("a=b"),
        previous: &LabelSet::new(),
        flavour: Flavour::Openshift,
    };
    let error = merge_kubelet_env(b"X='open\n", None, change).unwrap_err();
    assert_eq!(
        error.to_string(),
        "CUSTOM_KUBELET_LABELS cannot be set without changing other lines of the file"
    );
}

#[test]
fn extra_args_keep_other_flags() {
    let table = [
        ("", "a=b", "", "KUBELET_EXTRA_ARGS=--node-labels=a=b\n"),
        (
            "KUBELET_EXTRA_ARGS=\n",
            "a=b",
            "",
            "KUBELET_EXTRA_ARGS=--node-labels=a=b\n",
        ),
        (
            "KUBELET_EXTRA_ARGS=--v=2\nX=1\n",
            "a=b",
            "",
            "KUBELET_EXTRA_ARGS=\"--v=2 --node-labels=a=b\"\nX=1\n",
        ),
        (
            "KUBELET_EXTRA_ARGS=\"--node_labels=f=1 --v=2\"\n",
            "a=b",
            "",
            "KUBELET_EXTRA_ARGS=\"--node-labels=f=1,a=b --v=2\"\n",
        ),
        (
            "KUBELET_EXTRA_ARGS='--node-labels f=1 --x=\"a b\"'\n",
            "a=b",
            "",
            "KUBELET_EXTRA_ARGS=\"--node-labels=f=1,a=b --x=\\\"a b\\\"\"\n",
        ),
        (
            "KUBELET_EXTRA_ARGS=\"--v=2 -- x\"\n",
            "a=b",
            "",
            "KUBELET_EXTRA_ARGS=\"--v=2 --node-labels=a=b -- x\"\n",
        ),
        (
            "KUBELET_EXTRA_ARGS=--node-labels=f,a=b\n",
            "a=b",
            "",
            "KUBELET_EXTRA_ARGS=--node-labels=f,a=b\n",
        ),
        (
            "KUBELET_EXTRA_ARGS=\"--v=2 --node-labels=a=b\"\n",
            "",
            "a=b",
            "KUBELET_EXTRA_ARGS=--v=2\n",
        ),
        (
            "KUBELET_EXTRA_ARGS=\"--node-labels=a=b,c=d --node-labels=e=f\"\n",
            "g=h",
            "a=b",
            "KUBELET_EXTRA_ARGS=\"--node-labels=c=d --node-labels=e=f,g=h\"\n",
        ),
    ];
    for (existing, labels, previous, expected) in table {
        assert_eq!(extra_args(existing, labels, previous), expected, "{existing:?}");
        assert_eq!(extra_args(expected, labels, previous), expected, "again: {existing:?}");
    }
}

#[test]
fn extra_args_that_cannot_take_a_flag_are_refused() {
    let change = LabelChange {
        labels: &set("a=b"),
        previous: &LabelSet::new(),
        flavour: Flavour::Upstream,
    };
    for existing in [
        &b"KUBELET_EXTRA_ARGS=--node-labels\n"[..],
        b"KUBELET_EXTRA_ARGS=\"--x='open\"\n",
    ] {
        assert!(merge_default_kubelet(existing, change).is_err());
    }
}

#[test]
fn argument_lists_get_the_flag_once() {
    let table: &[(&[&str], &[&str])] = &[
        (&["kubelet"], &["kubelet", "--node-labels=a=b,c="]),
        (
            &["kubelet", "--v=2", "--", "x"],
            &["kubelet", "--v=2", "--node-labels=a=b,c=", "--", "x"],
        ),
        (
            &["nice", "/k/kubelet", "--node-labels=a=b"],
            &["nice", "/k/kubelet", "--node-labels=a=b", "--node-labels=c="],
        ),
        (
            &["kubelet", "--node-labels", "c,a=b"],
            &["kubelet", "--node-labels", "c,a=b"],
        ),
    ];
    for (argv, expected) in table {
        let merged = merge_argv(argv, &set("a=b,c=,kubernetes.io/role=x"), Flavour::Upstream).unwrap();
        assert_eq!(merged.argv, *expected);
        assert_eq!(merged.left_out.len(), 1);
    }
    assert!(merge_argv(&["crio"], &set("a=b"), Flavour::Upstream).is_err());
    assert!(merge_argv::<&str>(&[], &set("a=b"), Flavour::Upstream).is_err());
    assert!(merge_argv(&["kubelet", "--config"], &set("a=b"), Flavour::Upstream).is_err());
}

/// Found by fuzzing: the flag went behind the `--`, where it is not a flag, and again with every run.
#[test]
fn a_script_in_which_flags_have_ended_gets_none() {
    let argv = ["sh", "-c", "exec kubelet --v=2 --"];
    let refused = merge_argv(&argv, &set("a=b"), Flavour::Upstream);
    assert!(matches!(refused, Err(HookError::NotKubelet(_))), "{refused:?}");
}

fn env_like() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# note".to_owned()),
        Just("OTHER=\"x y\"".to_owned()),
        Just("CUSTOM_KUBELET_LABELS=f=1,g".to_owned()),
        Just("CUSTOM_KUBELET_LABELS='a=old'".to_owned()),
        Just("KUBELET_EXTRA_ARGS=--v=2".to_owned()),
        Just("KUBELET_EXTRA_ARGS=\"--node-labels x=y --z='a b'\"".to_owned()),
        Just("KUBELET_EXTRA_ARGS=\"--node-labels=a=old -- w\"".to_owned()),
        "[A-Z]{1,3}=[a-z\\\\'\" ]{0,6}",
        Just(String::new()),
    ];
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn merging_twice_is_merging_once(existing in env_like()) {
        let labels = set("a=b,pool=infra");
        let previous = set("pool=old");
        let change = LabelChange { labels: &labels, previous: &previous, flavour: Flavour::Upstream };
        if let Ok(once) = merge_kubelet_env(existing.as_bytes(), None, change) {
            let twice = merge_kubelet_env(&once.text, None, change).unwrap();
            prop_assert!(!twice.changed);
            let value = &EnvFile::parse(&once.text).get(KUBELET_ENV_VARIABLE).unwrap().value.clone();
            let read = NodeLabels::parse([value]).valid();
            prop_assert!(labels.iter().all(|(key, value)| read.get(key.as_str()) == Some(value)));
        }
        if let Ok(once) = merge_default_kubelet(existing.as_bytes(), change) {
            let twice = merge_default_kubelet(&once.text, change).unwrap();
            prop_assert!(!twice.changed);
        }
    }
}
