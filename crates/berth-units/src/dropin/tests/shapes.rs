//! The shapes of unit files on which the known first-boot scripts break.

use super::*;

pub(super) struct Shape {
    name: &'static str,
    pub(super) unit: &'static str,
    pub(super) drop_ins: &'static [(&'static str, &'static str)],
    /// The argument list that systemd runs without Berth.
    argv: &'static [&'static str],
    /// The same with Berth's drop-in; `None` where it is refused.
    with_label: Option<&'static [&'static str]>,
    labels: &'static str,
}

const FLAG: &str = "--node-labels=pool=rwn";

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "one line",
        unit: "ExecStart=/usr/bin/kubelet --node-labels=a=b --v=2",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b", "--v=2"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", "--v=2", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "continuation lines",
        unit: "ExecStart=/usr/bin/kubelet \\\n    --config=/etc/k \\\n    --node-labels=a=b \\\n    --v=2\nRestart=always",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--config=/etc/k", "--node-labels=a=b", "--v=2"],
        with_label: Some(&[
            "/usr/bin/kubelet",
            "--config=/etc/k",
            "--node-labels=a=b",
            "--v=2",
            FLAG,
        ]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "comment line inside a continuation",
        unit: "ExecStart=/usr/bin/kubelet \\\n# why\n    --node-labels=a=b \\\n  ; why not\n    --v=2",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b", "--v=2"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", "--v=2", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        // systemd does not continue such a line: the backslash is an argument, the next line an unknown key.
        name: "blank behind the backslash",
        unit: "ExecStart=/usr/bin/kubelet \\ \n    --node-labels=a=b",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "\\"],
        with_label: Some(&["/usr/bin/kubelet", "\\", FLAG]),
        labels: "pool=rwn",
    },
    Shape {
        name: "last flag continues into an empty line",
        unit: "ExecStart=/usr/bin/kubelet \\\n    --node-labels=a=b \\\n\nRestart=always",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "two ExecStart",
        unit: "ExecStart=/usr/bin/kubelet --node-labels=a=b\nExecStart=/usr/bin/true",
        drop_ins: &[],
        argv: &[],
        with_label: None,
        labels: "",
    },
    Shape {
        name: "reset and new ExecStart in one file",
        unit: "ExecStart=/usr/bin/kubelet --node-labels=old=1\nExecStart=\nExecStart=/usr/bin/kubelet --node-labels=a=b",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "ExecStart set by another drop-in",
        unit: "ExecStart=/usr/bin/kubelet --node-labels=old=1",
        drop_ins: &[(
            "/etc/systemd/system/kubelet.service.d/10-other.conf",
            "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --node-labels=a=b\n",
        )],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "no flag",
        unit: "ExecStart=/usr/bin/kubelet --v=2",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--v=2"],
        with_label: Some(&["/usr/bin/kubelet", "--v=2", FLAG]),
        labels: "pool=rwn",
    },
    Shape {
        name: "space form",
        unit: "ExecStart=/usr/bin/kubelet --node-labels a=b --v=2",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels", "a=b", "--v=2"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels", "a=b", "--v=2", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "flag twice on one line",
        unit: "ExecStart=/usr/bin/kubelet --node-labels=a=b --node-labels=c=d",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b", "--node-labels=c=d"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", "--node-labels=c=d", FLAG]),
        labels: "a=b,c=d,pool=rwn",
    },
    Shape {
        name: "flag twice on two lines",
        unit: "ExecStart=/usr/bin/kubelet --node-labels=a=b \\\n  --node-labels=c=d,a=e",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b", "--node-labels=c=d,a=e"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", "--node-labels=c=d,a=e", FLAG]),
        labels: "a=e,c=d,pool=rwn",
    },
    Shape {
        name: "blanks around =",
        unit: "ExecStart = /usr/bin/kubelet --node-labels=a=b",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "prefixes",
        unit: "ExecStart=-+:/usr/bin/kubelet --node-labels=a=b",
        drop_ins: &[],
        argv: &["/usr/bin/kubelet", "--node-labels=a=b"],
        with_label: Some(&["/usr/bin/kubelet", "--node-labels=a=b", FLAG]),
        labels: "a=b,pool=rwn",
    },
    Shape {
        name: "quotes, $$, %% and specifiers",
        unit: "ExecStart=/usr/bin/kubelet \"--x=a b\" '--y=$$X' --z=%%i --unit=%n --node-labels=a=b",
        drop_ins: &[],
        argv: &[
            "/usr/bin/kubelet",
            "--x=a b",
            "--y=$$X",
            "--z=%%i",
            "--unit=%n",
            "--node-labels=a=b",
        ],
        with_label: Some(&[
            "/usr/bin/kubelet",
            "--x=a b",
            "--y=$$X",
            "--z=%%i",
            "--unit=%n",
            "--node-labels=a=b",
            FLAG,
        ]),
        labels: "a=b,pool=rwn",
    },
];

#[test]
fn every_shape_comes_out_right_or_is_refused_with_a_reason() {
    assert_eq!(SHAPES.len(), 15);
    for shape in SHAPES {
        let name = shape.name;
        let unit = unit(&format!("[Service]\nType=notify\n{}\n", shape.unit), shape.drop_ins);
        let made = compute(&unit, "pool=rwn", Flavour::Upstream);
        let Some(with_label) = shape.with_label else {
            let refusal = unit.refusal().unwrap().to_string();
            assert!(refusal.contains("more than one ExecStart="), "{name}: {refusal}");
            assert!(matches!(made, Err(DropInError::Unit(_))), "{name}");
            continue;
        };
        let made = made.unwrap();
        assert_eq!(argv(&unit), [shape.argv], "{name}");
        assert_eq!(argv_with(&unit, &made), [with_label], "{name}");
        let kubelet = KubeletCommand::from_argv(&argv_with(&unit, &made)[0]).unwrap();
        let labels: Vec<_> = kubelet
            .node_labels()
            .iter()
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
        assert_eq!(labels.join(","), shape.labels, "{name}");
    }
}

/// What follows a command stays what it is: nothing is swallowed by the command line.
#[test]
fn the_directives_around_the_command_stay() {
    for shape in SHAPES.iter().filter(|shape| shape.unit.contains("Restart=")) {
        let unit = unit(&format!("[Service]\n{}\n", shape.unit), &[]);
        assert_eq!(
            unit.value("Service", "Restart").unwrap().value(),
            "always",
            "{}",
            shape.name
        );
    }
}

/// `two ExecStart` is legal for `Type=oneshot`: both are repeated, the kubelet's gets the flag.
#[test]
fn two_commands_of_a_oneshot_service() {
    let unit = unit(
        "[Service]\nType=oneshot\nExecStart=/usr/bin/kubelet --node-labels=a=b\nExecStart=/usr/bin/true\n",
        &[],
    );
    let made = compute(&unit, "pool=rwn", Flavour::Upstream).unwrap();
    assert_eq!(
        argv_with(&unit, &made),
        [
            vec!["/usr/bin/kubelet", "--node-labels=a=b", FLAG],
            vec!["/usr/bin/true"]
        ]
    );
}

/// The prefixes are still there after the drop-in.
#[test]
fn prefixes_stay() {
    let unit = unit("[Service]\nExecStart=-+:/usr/bin/kubelet\n", &[]);
    let made = compute(&unit, "pool=rwn", Flavour::Upstream).unwrap();
    let text = made.text.unwrap();
    assert!(
        text.ends_with("\nExecStart=-+:/usr/bin/kubelet --node-labels=pool=rwn\n"),
        "{text}"
    );
}
