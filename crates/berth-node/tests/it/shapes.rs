//! The shapes of unit files on which the known first-boot scripts break, through the executable.

use crate::{machine::Machine, systemd};

struct Shape {
    name: &'static str,
    /// The files are also what `cargo xtask e2e boot` starts under a systemd.
    unit: &'static str,
    drop_in: Option<&'static str>,
    /// The generated command, or what the log says instead.
    command: Result<&'static str, &'static str>,
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "one line",
        unit: include_str!("../shapes/01-one-line/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --node-labels=a=b --v=2 --node-labels=pool=rwn"),
    },
    Shape {
        name: "continuation lines",
        unit: include_str!("../shapes/02-continuation-lines/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet    --config=/etc/k    --node-labels=a=b --node-labels=pool=rwn"),
    },
    Shape {
        name: "comment line inside a continuation",
        unit: include_str!("../shapes/03-comment-line-inside-a-continuation/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet    --node-labels=a=b --node-labels=pool=rwn"),
    },
    Shape {
        name: "blank behind the backslash",
        unit: include_str!("../shapes/04-blank-behind-the-backslash/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet \\\\ --node-labels=pool=rwn"),
    },
    Shape {
        name: "last flag continues into an empty line",
        unit: include_str!("../shapes/05-last-flag-continues-into-an-empty-line/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --node-labels=a=b --node-labels=pool=rwn"),
    },
    Shape {
        name: "two ExecStart",
        unit: include_str!("../shapes/06-two-execstart/kubelet.service"),
        drop_in: None,
        command: Err("no labels are added: systemd does not start the unit: the unit has more than one ExecStart="),
    },
    Shape {
        name: "reset and new ExecStart in one file",
        unit: include_str!("../shapes/07-reset-and-new-execstart-in-one-file/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --new --node-labels=pool=rwn"),
    },
    Shape {
        name: "ExecStart set by another drop-in",
        unit: include_str!("../shapes/08-execstart-set-by-another-drop-in/kubelet.service"),
        drop_in: Some(include_str!(
            "../shapes/08-execstart-set-by-another-drop-in/10-other.conf"
        )),
        command: Ok("/usr/bin/kubelet --new --node-labels=pool=rwn"),
    },
    Shape {
        name: "no flag",
        unit: include_str!("../shapes/09-no-flag/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --v=2 --node-labels=pool=rwn"),
    },
    Shape {
        name: "space form",
        unit: include_str!("../shapes/10-space-form/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --node-labels a=b --node-labels=pool=rwn"),
    },
    Shape {
        name: "flag twice on one line",
        unit: include_str!("../shapes/11-flag-twice-on-one-line/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --node-labels=a=b --node-labels=c=d --node-labels=pool=rwn"),
    },
    Shape {
        name: "flag twice on two lines",
        unit: include_str!("../shapes/12-flag-twice-on-two-lines/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --node-labels=a=b   --node-labels=pool=old --node-labels=pool=rwn"),
    },
    Shape {
        name: "blanks around =",
        unit: include_str!("../shapes/13-blanks-around-equals/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet --node-labels=a=b --node-labels=pool=rwn"),
    },
    Shape {
        name: "prefixes",
        unit: include_str!("../shapes/14-prefixes/kubelet.service"),
        drop_in: None,
        command: Ok("-+:/usr/bin/kubelet --node-labels=a=b --node-labels=pool=rwn"),
    },
    Shape {
        name: "quotes, $$, %% and specifiers",
        unit: include_str!("../shapes/15-quotes-dollars-percents-and-specifiers/kubelet.service"),
        drop_in: None,
        command: Ok("/usr/bin/kubelet \"--x=a b\" '--y=$$X' --z=%%i --unit=%n --node-labels=pool=rwn"),
    },
];

fn machine(shape: &Shape) -> Machine {
    let machine = Machine::with(shape.unit, "pool=rwn\n");
    if let Some(drop_in) = shape.drop_in {
        machine.write("/etc/systemd/system/kubelet.service.d/10-other.conf", drop_in);
    }
    machine
}

#[test]
fn every_shape_comes_out_right_or_is_refused_with_a_reason() {
    assert_eq!(SHAPES.len(), 15);
    for shape in SHAPES {
        let generated = machine(shape).generate();
        match shape.command {
            Ok(command) => {
                assert_eq!(generated.command(), command, "{}", shape.name);
                assert_eq!(generated.log, "", "{}", shape.name);
            }
            Err(message) => {
                assert_eq!(generated.files, [], "{}", shape.name);
                assert!(generated.log.contains(message), "{}: {}", shape.name, generated.log);
            }
        }
    }
}

/// systemd runs what it would have run without the generator, and one more flag.
#[test]
fn systemd_runs_every_shape_with_one_more_flag() {
    for shape in SHAPES.iter().filter(|shape| shape.command.is_ok()) {
        let machine = machine(shape);
        let Some(before) = systemd::load(&machine) else { return };
        machine.generate();
        let after = systemd::load(&machine).unwrap();
        let mut expected = before.argv.clone();
        expected[0].push("--node-labels=pool=rwn".to_owned());
        assert_eq!(
            (before.state.as_str(), after.state.as_str()),
            ("loaded", "loaded"),
            "{}",
            shape.name
        );
        assert_eq!(after.argv, expected, "{}", shape.name);
        systemd::verify(&machine);
    }
}

#[test]
fn a_second_run_writes_the_same_bytes() {
    for shape in SHAPES {
        let machine = machine(shape);
        let first = machine.generate();
        assert_eq!(machine.generate(), first, "{}", shape.name);
    }
}

/// Also when the output stands where systemd reads it, or where somebody kept a copy of it.
#[test]
fn the_generators_output_fed_to_the_generator_changes_nothing() {
    for shape in SHAPES {
        let machine = machine(shape);
        let first = machine.generate();
        for (name, text) in &first.files {
            machine.write(&format!("/run/systemd/generator/kubelet.service.d/{name}"), text);
            machine.write(&format!("/usr/lib/systemd/system/kubelet.service.d/{name}"), text);
        }
        let second = machine.generate_to(&machine.path("/again"));
        assert_eq!(second, first, "{}", shape.name);
    }
}
