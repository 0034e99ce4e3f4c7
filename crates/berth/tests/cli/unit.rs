//! `berth unit kubelet`: the shapes of unit files on which the known first-boot scripts break, and what the real systemd
//! says of the drop-ins.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::run::{Folder, berth, with_stdin};

/// A unit, the argument list that runs with the drop-in, and the labels that the kubelet registers with then.
struct Shape {
    name: &'static str,
    unit: &'static str,
    dropin: Option<&'static str>,
    prefix: &'static str,
    /// Without the path in front and the new flag behind; `None` where the unit is refused.
    argv: Option<&'static [&'static str]>,
    labels: &'static [(&'static str, &'static str)],
}

const FLAG: &str = "--node-labels=pool=rwn";

const fn shape(
    name: &'static str,
    unit: &'static str,
    argv: &'static [&'static str],
    labels: &'static [(&'static str, &'static str)],
) -> Shape {
    Shape {
        name,
        unit,
        dropin: None,
        prefix: "",
        argv: Some(argv),
        labels,
    }
}

const A: &[(&str, &str)] = &[("a", "b"), ("pool", "rwn")];

const SHAPES: [Shape; 15] = [
    shape(
        "one line",
        "ExecStart=/usr/bin/kubelet --node-labels=a=b --v=2",
        &["--node-labels=a=b", "--v=2"],
        A,
    ),
    shape(
        "continuation lines",
        "ExecStart=/usr/bin/kubelet \\\n  --config=/etc/k \\\n  --node-labels=a=b \\\n  --v=2\nRestart=always",
        &["--config=/etc/k", "--node-labels=a=b", "--v=2"],
        A,
    ),
    shape(
        "comment inside a continuation",
        "ExecStart=/usr/bin/kubelet \\\n# why\n  --node-labels=a=b \\\n; why not\n  --v=2",
        &["--node-labels=a=b", "--v=2"],
        A,
    ),
    // systemd does not continue such a line: the backslash is an argument, the next line no setting.
    shape(
        "blank behind the backslash",
        "ExecStart=/usr/bin/kubelet \\ \n  --node-labels=a=b",
        &["\\"],
        &[("pool", "rwn")],
    ),
    shape(
        "the last flag continues into an empty line",
        "ExecStart=/usr/bin/kubelet \\\n  --node-labels=a=b \\\n\nRestart=always",
        &["--node-labels=a=b"],
        A,
    ),
    Shape {
        argv: None,
        ..shape(
            "two ExecStart",
            "ExecStart=/usr/bin/kubelet --node-labels=a=b\nExecStart=/usr/bin/true",
            &[],
            &[],
        )
    },
    shape(
        "reset in one file",
        "ExecStart=/usr/bin/kubelet --node-labels=old=1\nExecStart=\nExecStart=/usr/bin/kubelet --node-labels=a=b",
        &["--node-labels=a=b"],
        A,
    ),
    Shape {
        dropin: Some("[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --node-labels=a=b\n"),
        ..shape(
            "set by another drop-in",
            "ExecStart=/usr/bin/kubelet --node-labels=old=1",
            &["--node-labels=a=b"],
            A,
        )
    },
    shape(
        "no flag",
        "ExecStart=/usr/bin/kubelet --v=2",
        &["--v=2"],
        &[("pool", "rwn")],
    ),
    shape(
        "space form",
        "ExecStart=/usr/bin/kubelet --node-labels a=b --v=2",
        &["--node-labels", "a=b", "--v=2"],
        A,
    ),
    shape(
        "flag twice on one line",
        "ExecStart=/usr/bin/kubelet --node-labels=a=b --node-labels=c=d",
        &["--node-labels=a=b", "--node-labels=c=d"],
        &[("a", "b"), ("c", "d"), ("pool", "rwn")],
    ),
    shape(
        "flag twice on two lines",
        "ExecStart=/usr/bin/kubelet --node-labels=a=b \\\n  --node-labels=c=d,a=e",
        &["--node-labels=a=b", "--node-labels=c=d,a=e"],
        &[("a", "e"), ("c", "d"), ("pool", "rwn")],
    ),
    shape(
        "blanks around =",
        "ExecStart = /usr/bin/kubelet --node-labels=a=b",
        &["--node-labels=a=b"],
        A,
    ),
    Shape {
        prefix: "-+:",
        ..shape(
            "prefixes",
            "ExecStart=-+:/usr/bin/kubelet --node-labels=a=b",
            &["--node-labels=a=b"],
            A,
        )
    },
    shape(
        "quotes, $$, %% and specifiers",
        "ExecStart=/usr/bin/kubelet \"--x=a b\" '--y=$$X' --z=%%i --unit=%n --node-labels=a=b",
        &["--x=a b", "--y=$$X", "--z=%%i", "--unit=%n", "--node-labels=a=b"],
        A,
    ),
];

fn machine(shape: &Shape) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("kubelet.service", format!("[Service]\nType=notify\n{}\n", shape.unit));
    let mut words = "unit kubelet --unit kubelet.service --labels pool=rwn".to_owned();
    if let Some(dropin) = shape.dropin {
        folder.write("kubelet.service.d/10-other.conf", dropin);
        words.push_str(" --dropin kubelet.service.d/10-other.conf");
    }
    (folder, words)
}

#[test]
fn every_shape_comes_out_right_or_is_refused_with_its_place() {
    for shape in &SHAPES {
        let (folder, words) = machine(shape);
        let outcome = folder.line(&format!("{words} -o json"));
        let Some(argv) = shape.argv else {
            assert_eq!(
                (outcome.exit, outcome.stdout.as_str()),
                (1, ""),
                "{}: {outcome}",
                shape.name
            );
            let said = &outcome.stderr;
            assert!(
                said.starts_with("error: kubelet.service:4: "),
                "{}: {outcome}",
                shape.name
            );
            assert!(said.contains("kubelet.service:3, kubelet.service:4"), "{outcome}");
            assert!(said.contains("Type=notify"), "{outcome}");
            continue;
        };
        assert_eq!(outcome.exit, 0, "{}: {outcome}", shape.name);
        let json = outcome.json();
        let all: Vec<&str> = [&["/usr/bin/kubelet"], argv, &[FLAG]].concat();
        assert_eq!(
            json["exec"],
            json!([{"prefix": shape.prefix, "path": "/usr/bin/kubelet", "argv": all}]),
            "{}",
            shape.name
        );
        let labels: serde_json::Map<String, Value> = shape
            .labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        assert_eq!(json["node_labels"], Value::Object(labels), "{}", shape.name);
        let conf = folder.line(&words);
        assert_eq!(json["dropin"], json!(conf.stdout), "{}", shape.name);
    }
}

#[test]
fn the_drop_in_fed_back_changes_nothing() {
    for shape in SHAPES.iter().filter(|shape| shape.argv.is_some()) {
        let (folder, words) = machine(shape);
        let first = folder.line(&format!("{words} -o json")).json();
        let name = first["dropin_name"].as_str().unwrap();
        folder.write(&format!("kubelet.service.d/{name}"), first["dropin"].as_str().unwrap());
        let again = folder
            .line(&format!("{words} --dropin kubelet.service.d -o json"))
            .json();
        assert_eq!(again, first, "{}", shape.name);
    }
}

#[test]
fn without_labels_the_command_is_shown_as_it_is() {
    let unit = "[Service]\nEnvironmentFile=-/etc/x\nExecStart=@/usr/bin/kubelet kubelet --node-labels=a=b,${MORE} $KUBELET_EXTRA_ARGS\n";
    let outcome = with_stdin("unit kubelet --unit - -o json", unit);
    assert_eq!(outcome.exit, 0, "{outcome}");
    let json = outcome.json();
    assert_eq!(
        json["exec"],
        json!([{"prefix": "@", "path": "/usr/bin/kubelet",
            "argv": ["kubelet", "--node-labels=a=b,${MORE}", "$KUBELET_EXTRA_ARGS"]}])
    );
    assert_eq!(json["node_labels"], json!({"a": "b"}));
    assert_eq!(json["unresolved"], json!(["KUBELET_EXTRA_ARGS", "MORE"]));
    assert_eq!(json["dropin"], Value::Null);
    let outcome = with_stdin("unit kubelet --unit -", unit);
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (0, ""));
    assert!(
        outcome.stderr.contains("no labels were given with `--labels`"),
        "{outcome}"
    );
}

#[test]
fn what_is_refused_says_why_and_where() {
    let folder = Folder::new();
    folder
        .write("empty.service", "")
        .write("none.service", "[Service]\nType=notify\n")
        .write("other.service", "[Service]\nExecStart=/usr/bin/crio\n")
        .write(
            "script.service",
            "[Service]\nExecStart=/bin/bash -c \"exec kubelet $$ARGS\"\n",
        )
        .write(
            "broken.service",
            "[Service]\nType=notify\nExecStart=/usr/bin/kubelet \"--v=2\n",
        )
        .write("last.service", "[Service]\nExecStart=/usr/bin/kubelet --node-labels\n")
        .write("late.service", "[Service]\nExecStart=/usr/bin/kubelet\n")
        .write("zzz.conf", "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet\n");
    let run = |words: &str| folder.line(&format!("unit kubelet {words} --labels a=b"));
    let said = [
        "--unit empty.service",
        "--unit none.service",
        "--unit other.service",
        "--unit script.service",
        "--unit broken.service",
        "--unit last.service",
        "--unit late.service --dropin zzz.conf",
    ]
    .map(|words| {
        let outcome = run(words);
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (1, ""), "{words}: {outcome}");
        outcome.stderr
    });
    insta::assert_snapshot!("unit_refusals", said.concat());
    let unreadable = run("--unit nofile.service");
    assert_eq!(unreadable.exit, 2, "{unreadable}");
}

#[test]
fn a_label_that_would_stop_the_kubelet_is_left_out_and_told() {
    let unit = "[Service]\nExecStart=/usr/bin/kubelet\n";
    let words = "unit kubelet --unit - --labels rack=r1,node-role.kubernetes.io/infra= -o json";
    let outcome = with_stdin(words, unit);
    assert_eq!(outcome.exit, 1, "{outcome}");
    let json = outcome.json();
    assert_eq!(json["node_labels"], json!({"rack": "r1"}));
    assert_eq!(json["left_out"][0]["label"], json!("node-role.kubernetes.io/infra="));
    assert!(
        outcome
            .stderr
            .starts_with("error: node-role.kubernetes.io/infra= is left out"),
        "{outcome}"
    );
    // The same key is one that OpenShift's kubelet refuses too, but not this one.
    let words = "unit kubelet --unit - --labels node-role.kubernetes.io/worker= --flavour openshift";
    assert_eq!(with_stdin(words, unit).exit, 0);
    let outcome = with_stdin("unit kubelet --unit - --labels a..b/c=d", unit);
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{outcome}");
    assert!(outcome.stderr.contains("`a..b/c=d` is not a label"), "{outcome}");
}

/// The labels of older first-boot scripts are taken over, and their override of the command is seen through.
#[test]
fn the_drop_ins_of_older_scripts_are_input() {
    let folder = Folder::new();
    folder
        .write(
            "kubelet.service",
            "[Service]\nExecStart=/usr/bin/kubelet --node-labels=a=b\n",
        )
        .write(
            "kubelet.service.d/20-extra-labels-infra.conf",
            "[Service]\nEnvironmentFile=-/run/env\nExecStart=\nExecStart=/bin/bash -c \"${ORIG_EXECSTART}\"\n",
        )
        .write(
            "kubelet.service.d/30-extra-labels.conf",
            "[Service]\nEnvironment=\"FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=pool=old,zone=z\"\n",
        );
    let outcome =
        folder.line("unit kubelet --unit kubelet.service --dropin kubelet.service.d --labels pool=new -o json");
    assert_eq!(outcome.exit, 0, "{outcome}");
    let json = outcome.json();
    assert_eq!(json["node_labels"], json!({"a": "b", "pool": "new", "zone": "z"}));
    assert_eq!(json["exec"][0]["path"], json!("/usr/bin/kubelet"));

    // With such a label the kubelet would not start; `berth lint` says it of the same file.
    folder.write(
        "kubelet.service.d/30-extra-labels.conf",
        "[Service]\nEnvironment=\"FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=zone=z,bad value\"\n",
    );
    let outcome = folder.line("unit kubelet --unit kubelet.service --dropin kubelet.service.d -o json");
    assert_eq!(outcome.exit, 1, "{outcome}");
    assert!(outcome.stderr.contains("bad value= is not a label"), "{outcome}");
    let json = outcome.json();
    assert_eq!(json["left_out"][0]["label"], json!("bad value="), "{json}");
    assert_eq!(json["node_labels"], json!({"a": "b", "zone": "z"}));
}

#[test]
fn systemd_accepts_every_drop_in() {
    let analyze = Path::new("/usr/bin/systemd-analyze");
    if !analyze.exists() {
        let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(!required, "{} is missing", analyze.display());
        return;
    }
    for shape in SHAPES.iter().filter(|shape| shape.argv.is_some()) {
        let (folder, words) = machine(shape);
        let verify = || {
            let output = Command::new(analyze)
                .args(["verify", "--man=no", "--recursive-errors=no"])
                .arg(folder.path().join("kubelet.service"))
                .output()
                .unwrap();
            // There is no kubelet on the machine that tests.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let lines = said.lines().filter(|line| !line.contains("is not executable"));
            lines.map(str::to_owned).collect::<Vec<String>>()
        };
        let before = verify();
        let json = folder.line(&format!("{words} -o json")).json();
        let name = json["dropin_name"].as_str().unwrap();
        folder.write(&format!("kubelet.service.d/{name}"), json["dropin"].as_str().unwrap());
        // What is odd about the unit itself stays odd; the drop-in adds nothing to it.
        assert_eq!(verify(), before, "{}", shape.name);
        let broken = fs::read_to_string(folder.path().join("kubelet.service.d").join(name)).unwrap();
        folder.write(
            &format!("kubelet.service.d/{name}"),
            broken.replace("ExecStart=/", "ExecStart=x/"),
        );
        if shape.name == "one line" {
            assert_ne!(verify(), before, "a drop-in that is wrong is noticed");
        }
    }
}

#[test]
fn systemd_accepts_the_unit_of_the_node_daemon() {
    let folder = Folder::new();
    let outcome = berth([
        "daemon",
        "--node-name",
        "worker-1",
        "--kubeconfig",
        "/etc/berth/kube config",
        "--drift",
        "repair",
        "--health-deadline",
        "5m",
        "--probe",
        "test \"$(cat /a%b)\" = 'c'",
        "--kexec",
        "--print-unit",
    ]);
    assert_eq!(outcome.exit, 0, "{outcome}");
    let exec = outcome
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))
        .unwrap();
    let (program, arguments) = exec.split_once(" daemon ").unwrap();
    assert!(Path::new(program).is_absolute(), "{program}");
    assert_eq!(
        arguments,
        "--node-name worker-1 --kubeconfig \"/etc/berth/kube config\" --drift repair --health-deadline 5m \
         --probe \"test \\\"$$(cat /a%%b)\\\" = 'c'\" --kexec"
    );
    let analyze = Path::new("/usr/bin/systemd-analyze");
    if !analyze.exists() {
        let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(!required, "{} is missing", analyze.display());
        return;
    }
    let verify = |text: &str| {
        folder.write("berth-daemon.service", text);
        let output = Command::new(analyze)
            .args(["verify", "--man=no", "--recursive-errors=no"])
            .arg(folder.path().join("berth-daemon.service"))
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert_eq!(verify(&outcome.stdout), "");
    assert_ne!(verify(&outcome.stdout.replace("KillMode=mixed", "KillMode=maybe")), "");
}
