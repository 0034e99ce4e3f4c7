use proptest::prelude::*;

use super::*;
use crate::effective::EnvFileContent;

mod platforms;
mod shapes;
mod systemd;

fn set(text: &str) -> LabelSet {
    NodeLabels::parse([text]).valid()
}

fn unit(text: &str, drop_ins: &[(&str, &str)]) -> EffectiveUnit {
    let drop_ins: Vec<_> = drop_ins.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    EffectiveUnit::assemble("kubelet.service", ("kubelet.service", text.as_bytes()), &drop_ins)
}

fn compute(unit: &EffectiveUnit, labels: &str, flavour: Flavour) -> Result<DropIn, DropInError> {
    let environment = unit.environment(|_| EnvFileContent::Missing);
    drop_in(
        unit,
        DropInRequest {
            labels: &set(labels),
            flavour,
            environment: &environment,
        },
    )
}

/// The argument lists of `ExecStart=` once the drop-in is in place.
fn argv_with(unit: &EffectiveUnit, drop_in: &DropIn) -> Vec<Vec<String>> {
    let Some(text) = &drop_in.text else {
        return argv(unit);
    };
    argv(&with_file(unit, drop_in.file_name, text))
}

fn with_file(unit: &EffectiveUnit, name: &str, text: &str) -> EffectiveUnit {
    let texts: Vec<_> = unit
        .sources()
        .iter()
        .map(|source| (source.path.clone(), source.file.print()))
        .collect();
    let mut drop_ins: Vec<_> = texts
        .iter()
        .skip(1)
        .map(|(path, text)| (path.as_str(), text.as_slice()))
        .collect();
    drop_ins.push((name, text.as_bytes()));
    let (path, fragment) = &texts[0];
    EffectiveUnit::assemble(unit.name(), (path, fragment), &drop_ins)
}

fn argv(unit: &EffectiveUnit) -> Vec<Vec<String>> {
    assert_eq!(unit.refusal(), None);
    unit.list("Service", "ExecStart")
        .iter()
        .flat_map(|setting| setting.commands())
        .map(|command| command.argv().to_vec())
        .collect()
}

#[test]
fn the_drop_in_repeats_the_command_and_adds_one_flag() {
    let unit = unit(
        "[Service]\nType=notify\nExecStart=-/usr/bin/kubelet --x='a b' \\\n  --y=%%i ${Z}\n",
        &[],
    );
    let made = compute(&unit, "pool=infra,example.com/rack=r1,empty=", Flavour::Upstream).unwrap();
    insta::assert_snapshot!(made.text.as_deref().unwrap(), @r"
    # Written by Berth for kubelet.service; it is computed anew, local changes are lost.
    # Repeats ExecStart= of kubelet.service:3 as it is written there and adds --node-labels.
    [Service]
    ExecStart=
    ExecStart=-/usr/bin/kubelet --x='a b'    --y=%%i ${Z} --node-labels=empty=,example.com/rack=r1,pool=infra
    ");
    assert_eq!(made.file_name, "50-berth.conf");
}

#[test]
fn labels_that_would_stop_the_kubelet_are_left_out() {
    let unit = unit("[Service]\nExecStart=/usr/bin/kubelet\n", &[]);
    let labels = "a=b,node-role.kubernetes.io/worker=,node-role.kubernetes.io/infra=";
    let keys = |made: &DropIn| {
        made.left_out
            .iter()
            .map(|left| left.label.to_string())
            .collect::<Vec<_>>()
    };
    let made = compute(&unit, labels, Flavour::Upstream).unwrap();
    assert_eq!(made.added.to_string(), "a=b");
    assert_eq!(
        keys(&made),
        ["node-role.kubernetes.io/infra=", "node-role.kubernetes.io/worker="]
    );
    let made = compute(&unit, labels, Flavour::Openshift).unwrap();
    assert_eq!(made.added.to_string(), "a=b,node-role.kubernetes.io/worker=");
    assert_eq!(keys(&made), ["node-role.kubernetes.io/infra="]);
    let comment = "\n# Left out, the kubelet would not start with it: node-role.kubernetes.io/infra=\n[Service]\n";
    assert!(made.text.unwrap().contains(comment));
    let made = compute(&unit, "node-role.kubernetes.io/infra=", Flavour::Openshift).unwrap();
    assert_eq!(made.text, None);
}

#[test]
fn the_flag_goes_where_the_kubelet_reads_it() {
    let table = [
        (
            "/usr/bin/kubelet --v=2 -- rest",
            "/usr/bin/kubelet --v=2 --node-labels=a=b -- rest",
        ),
        (
            "/usr/local/bin/kubenswrapper /usr/bin/kubelet --v=2",
            "/usr/local/bin/kubenswrapper /usr/bin/kubelet --v=2 --node-labels=a=b",
        ),
        (
            "/bin/sh -c 'exec /usr/bin/kubelet --v=2'",
            "/bin/sh -c 'exec /usr/bin/kubelet --v=2 --node-labels=a=b'",
        ),
        ("/usr/bin/kubelet $ARGS", "/usr/bin/kubelet --node-labels=a=b $ARGS"),
        ("/usr/bin/kubelet $OTHER", "/usr/bin/kubelet $OTHER --node-labels=a=b"),
        (
            "@/usr/bin/kubelet k '' --v=2",
            "@/usr/bin/kubelet k '' --v=2 --node-labels=a=b",
        ),
    ];
    for (command, expected) in table {
        let unit = unit(
            &format!("[Service]\nEnvironment=\"ARGS=--v=2 -- x\"\nExecStart={command}\n"),
            &[],
        );
        let made = compute(&unit, "a=b", Flavour::Upstream).unwrap();
        let text = made.text.clone().unwrap();
        assert_eq!(
            text.lines().last().unwrap(),
            format!("ExecStart={expected}"),
            "{command}"
        );
        argv_with(&unit, &made);
    }
    let unit = unit(
        "[Service]\nType=oneshot\nExecStart=/bin/a ; /usr/bin/kubelet x ; /bin/b\nExecStart=/bin/c\n",
        &[],
    );
    let made = compute(&unit, "a=b", Flavour::Upstream).unwrap();
    let lines: Vec<_> = made.text.as_deref().unwrap().lines().skip(3).collect();
    assert_eq!(
        lines,
        [
            "ExecStart=",
            "ExecStart=/bin/a ; /usr/bin/kubelet x --node-labels=a=b ; /bin/b",
            "ExecStart=/bin/c"
        ]
    );
}

#[test]
fn refusals_name_the_line() {
    let table = [
        (
            "ExecStart=/usr/bin/crio",
            "kubelet.service:2:1: the command cannot take labels",
        ),
        (
            "ExecStart=/bin/sh -c 'kubelet; true'",
            "kubelet.service:2:1: the command cannot take labels",
        ),
        (
            "ExecStart=/usr/bin/kubelet --node-labels",
            "kubelet.service:2:1: --node-labels stands last and has no value, it would take the new flag as one",
        ),
        (
            "Type=oneshot\nExecStart=/usr/bin/kubelet\nExecStart=/usr/bin/kubelet",
            "kubelet.service:3:1 and kubelet.service:4:1 both run a kubelet",
        ),
        ("ExecStart=/usr/bin/kubelet 'a", "systemd does not start the unit"),
        ("Restart=no", "systemd does not start the unit"),
    ];
    for (lines, message) in table {
        let unit = unit(&format!("[Service]\n{lines}\n"), &[]);
        let error = compute(&unit, "a=b", Flavour::Upstream).unwrap_err();
        assert_eq!(error.to_string(), message, "{lines}");
    }
}

#[test]
fn a_later_override_gets_a_later_drop_in() {
    let fragment = "[Service]\nType=notify\nExecStart=/usr/bin/kubelet\n";
    let late = unit(
        fragment,
        &[("60-x.conf", "[Service]\nExecStart=\nExecStart=/opt/kubelet --x\n")],
    );
    let made = compute(&late, "a=b", Flavour::Upstream).unwrap();
    assert_eq!(made.file_name, LATE_DROP_IN_NAME);
    assert_eq!(argv_with(&late, &made), [["/opt/kubelet", "--x", "--node-labels=a=b"]]);
    let later = unit(
        fragment,
        &[("zzz.conf", "[Service]\nExecStart=\nExecStart=/opt/kubelet --x\n")],
    );
    let error = compute(&later, "a=b", Flavour::Upstream).unwrap_err();
    assert!(matches!(error, DropInError::LaterDropIn { .. }), "{error}");
    let harmless = unit(fragment, &[("zzz.conf", "[Service]\nRestart=no\n")]);
    assert_eq!(
        compute(&harmless, "a=b", Flavour::Upstream).unwrap().file_name,
        DROP_IN_NAME
    );
}

#[test]
fn the_seed_drop_ins_are_read_and_seen_through() {
    let unit = unit(
        "[Service]\nType=notify\nExecStart=/usr/bin/kubelet --node-labels=x=y $$A\n",
        &[
            (
                "d/20-extra-labels-infra.conf",
                "[Service]\nExecStartPre=/usr/local/bin/extractExecStart kubelet.service /run/env ORIG_EXECSTART\n\
                 EnvironmentFile=-/run/env\nExecStart=\nExecStart=bash -c \"${ORIG_EXECSTART}\"\n",
            ),
            (
                "d/30-extra-labels.conf",
                "[Service]\nEnvironment=\"FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=node.kubernetes.io/worker-rwn=\\\"\\\",zone=a\"\n",
            ),
        ],
    );
    let environment = unit.environment(|_| EnvFileContent::Missing);
    let labels = seed_labels(&environment);
    assert_eq!(labels.to_string(), "node.kubernetes.io/worker-rwn=,zone=a");
    let made = drop_in(
        &unit,
        DropInRequest {
            labels: &labels,
            flavour: Flavour::Upstream,
            environment: &environment,
        },
    )
    .unwrap();
    assert_eq!(
        argv_with(&unit, &made),
        [[
            "/usr/bin/kubelet",
            "--node-labels=x=y",
            "$$A",
            "--node-labels=node.kubernetes.io/worker-rwn=,zone=a"
        ]]
    );
    assert_eq!(
        made.notes,
        [
            "d/20-extra-labels-infra.conf:5:1: ExecStart= runs ${ORIG_EXECSTART} through a shell; the command that it \
          replaced is used instead"
        ]
    );
}

#[test]
fn the_seed_labels_are_read_where_no_file_was() {
    let unit = unit(
        "[Service]\nEnvironmentFile=-/run/env\nEnvironment=FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=a=b\nExecStart=/bin/a\n",
        &[],
    );
    let environment = unit.environment(|_| EnvFileContent::Unread);
    assert_eq!(seed_labels(&environment).to_string(), "a=b");
}

#[test]
fn a_path_cannot_break_out_of_the_comment() {
    let unit = EffectiveUnit::assemble(
        "kubelet.service",
        ("/x\nExecStart=/bin/evil", b"[Service]\nExecStart=/usr/bin/kubelet\n"),
        &[],
    );
    let made = compute(&unit, "a=b", Flavour::Upstream).unwrap();
    assert_eq!(made.text.unwrap().lines().count(), 5);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "--[a-z]{1,4}=[a-z$]{0,4}(%%)?",
        Just("--node-labels=x=y,pool=old".to_owned()),
        Just("--node-labels x=z".to_owned()),
        Just("--node_labels=${LABELS}".to_owned()),
        Just("$ARGS".to_owned()),
        Just("'a b'".to_owned()),
        Just("\"q\\\"\\x41\"".to_owned()),
        Just("\\;".to_owned()),
        Just("%%n".to_owned()),
        Just("$$X".to_owned()),
        Just("--".to_owned()),
        Just("\\q".to_owned()),
        Just("\\\n  # note\n  --cont=1".to_owned()),
        Just("\\ ".to_owned()),
    ]
}

fn unit_text() -> impl Strategy<Value = String> {
    (
        prop_oneof![Just(""), Just("-"), Just("@"), Just(":"), Just("+-")],
        prop_oneof![Just(""), Just("/usr/local/bin/kubenswrapper ")],
        prop::collection::vec(word(), 0..6),
    )
        .prop_map(|(prefix, wrapper, words)| {
            let argv0 = if prefix == "@" { "zero " } else { "" };
            let (wrapper, argv0) = if prefix == "@" { ("", argv0) } else { (wrapper, argv0) };
            format!(
                "[Service]\nType=notify\nEnvironment=\"ARGS=--v=2 --node-labels=e=f\" LABELS=m=n\nExecStart={prefix}{wrapper}/usr/bin/kubelet {argv0}{}\nRestart=always\n",
                words.join(" ")
            )
        })
}

proptest! {
    #[test]
    fn the_command_is_the_same_with_one_more_flag(text in unit_text()) {
        let unit = unit(&text, &[]);
        match compute(&unit, "pool=infra,rack=r1", Flavour::Upstream) {
            Err(DropInError::FlagWithoutValue { .. }) => {}
            Err(error) => prop_assert!(false, "{error}: {text}"),
            Ok(made) => {
                let mut after = argv_with(&unit, &made).remove(0);
                let before = argv(&unit).remove(0);
                let at = after
                    .iter()
                    .position(|word| word == "--node-labels=pool=infra,rack=r1")
                    .unwrap();
                after.remove(at);
                prop_assert_eq!(&after, &before);
                let applied = with_file(&unit, made.file_name, made.text.as_deref().unwrap());
                let environment = applied.environment(|_| EnvFileContent::Missing);
                let setting = applied.list("Service", "ExecStart")[0];
                let kubelet = KubeletCommand::find(&setting.commands()[0], &environment).unwrap();
                let labels = kubelet.node_labels();
                let value = |key: &str| labels.iter().find(|label| label.key == key).map(|label| label.value.clone());
                prop_assert_eq!(value("rack"), Some("r1".to_owned()));
                prop_assert_eq!(applied.service_type(), "notify");
            }
        }
    }

    #[test]
    fn the_generators_own_output_changes_nothing(text in unit_text()) {
        let unit = unit(&text, &[]);
        let Ok(made) = compute(&unit, "pool=infra,rack=r1", Flavour::Upstream) else { return Ok(()) };
        let Some(drop_in_text) = made.text.clone() else { return Ok(()) };
        let again = with_file(&unit, made.file_name, &drop_in_text);
        prop_assert_eq!(compute(&again, "pool=infra,rack=r1", Flavour::Upstream).unwrap(), made);
    }
}
