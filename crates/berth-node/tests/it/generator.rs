//! The generator on machines of different kinds.

use std::{
    fs,
    os::unix::{
        ffi::OsStringExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    process::Command,
};

use crate::{
    machine::{Machine, PROGRAM, UNIT},
    systemd,
};

const KUBELET: &str = "[Service]\nExecStart=/usr/bin/kubelet --v=2\n";

#[test]
fn systemd_can_call_it_by_its_name() {
    let machine = Machine::with(KUBELET, "a=b\n");
    let generator = machine.path("/etc/systemd/system-generators/berth-generator");
    fs::create_dir_all(generator.parent().unwrap()).unwrap();
    symlink(PROGRAM, &generator).unwrap();
    let out = machine.generator_directory();
    let status = Command::new(&generator)
        .args(["--root", machine.path("").to_str().unwrap()])
        .args([out.to_str().unwrap(), "/early", "/late"])
        .status()
        .unwrap();
    assert!(status.success());
    assert!(out.join("kubelet.service.d/50-berth.conf").exists());
    assert!(
        Command::new(&generator).status().unwrap().success(),
        "not even wrong usage fails"
    );
}

#[test]
fn a_machine_without_labels_or_without_kubelet_is_left_alone() {
    let machine = Machine::new();
    let quiet = machine.generate();
    assert_eq!((quiet.files.len(), quiet.log.as_str()), (0, ""));
    machine.write(UNIT, KUBELET);
    let quiet = machine.generate();
    assert_eq!((quiet.files.len(), quiet.log.as_str()), (0, ""));

    let machine = Machine::new();
    machine.write("/etc/berth/labels", "a=b\n");
    let told = machine.generate();
    assert_eq!(told.files, []);
    assert_eq!(
        told.log,
        "berth-generator: no labels are added: systemd does not start the unit: there is no such unit\n"
    );
}

/// A way in which a drop-in cannot be read, and how to put it at a path.
type Unreadable = (&'static str, fn(&Machine, &str));

fn unreadable_drop_ins() -> Vec<Unreadable> {
    vec![
        ("a directory", |machine, path| {
            fs::create_dir_all(machine.path(path)).unwrap();
        }),
        ("not UTF-8", |machine, path| {
            machine.write(path, b"[Service]\nEnvironment=A=\xff\n");
        }),
        ("too large", |machine, path| {
            machine.write(path, vec![b'#'; (1 << 20) + 1]);
        }),
        ("a loop of links", |machine, path| {
            machine.link(path, path.rsplit('/').next().unwrap());
        }),
        ("a pipe", |machine, path| {
            machine.write(path, "");
            fs::remove_file(machine.path(path)).unwrap();
            assert!(
                Command::new("mkfifo")
                    .arg(machine.path(path))
                    .status()
                    .unwrap()
                    .success()
            );
        }),
        ("a name that is not UTF-8", |machine, path| {
            let mut name = machine.path(path).into_os_string().into_vec();
            name.truncate(name.len() - ".conf".len());
            name.extend(b"\xff.conf");
            let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(name));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "[Service]\nEnvironment=A=b\n").unwrap();
        }),
        ("no permission", |machine, path| {
            machine.write(path, "[Service]\nEnvironment=A=b\n");
            fs::set_permissions(machine.path(path), fs::Permissions::from_mode(0o000)).unwrap();
            if fs::File::open(machine.path(path)).is_ok() {
                // The super-user reads it all the same; then the next best thing.
                fs::remove_file(machine.path(path)).unwrap();
                fs::create_dir(machine.path(path)).unwrap();
            }
        }),
    ]
}

#[test]
fn a_drop_in_that_cannot_be_read_means_that_nothing_is_written() {
    for directory in [
        "/etc/systemd/system/kubelet.service.d",
        "/usr/lib/systemd/system/kubelet.service.d",
        "/etc/systemd/system/service.d",
    ] {
        for (kind, make) in unreadable_drop_ins() {
            let machine = Machine::with(KUBELET, "a=b\n");
            assert_eq!(machine.generate().files.len(), 1, "it is written without that");
            fs::remove_dir_all(machine.generator_directory()).unwrap();
            let path = format!("{directory}/20-site.conf");
            make(&machine, &path);
            let generated = machine.generate();
            assert_eq!(generated.files, [], "{kind} in {directory}");
            assert!(
                generated.log.contains(&format!("{directory}/20-site"))
                    && generated.log.ends_with("the unit starts as it is\n"),
                "{kind}: {}",
                generated.log
            );
            assert!(!machine.run(&["check"]).status.success(), "{kind}");
        }
    }
}

#[test]
fn a_unit_file_that_cannot_be_read_is_not_replaced_by_one_that_it_hides() {
    let machine = Machine::with(KUBELET, "a=b\n");
    fs::create_dir_all(machine.path("/etc/systemd/system/kubelet.service")).unwrap();
    let generated = machine.generate();
    assert_eq!(generated.files, []);
    assert!(
        generated
            .log
            .contains("/etc/systemd/system/kubelet.service: cannot be read"),
        "{}",
        generated.log
    );
}

#[test]
fn a_masked_kubelet_stays_masked() {
    for target in ["/dev/null", "../../../dev/null"] {
        let machine = Machine::with(KUBELET, "a=b\n");
        machine.link("/etc/systemd/system/kubelet.service", target);
        let generated = machine.generate();
        assert_eq!((generated.files.len(), generated.log.as_str()), (0, ""), "{target}");
    }
    let machine = Machine::with(KUBELET, "a=b\n");
    machine.write("/etc/systemd/system/kubelet.service", "");
    assert_eq!(machine.generate().files, []);
}

#[test]
fn a_refused_label_is_left_out_and_the_others_count() {
    let labels = "a=b\nnode-role.kubernetes.io/worker=\nnode-role.kubernetes.io/infra=\nbad\n";
    let machine = Machine::with(KUBELET, labels);
    let generated = machine.generate();
    assert_eq!(generated.command(), "/usr/bin/kubelet --v=2 --node-labels=a=b");
    for part in [
        "/etc/berth/labels:4:1: error: `bad` has no `=`",
        "node-role.kubernetes.io/infra= is left out: ",
        "node-role.kubernetes.io/worker= is left out: ",
    ] {
        assert!(generated.log.contains(part), "{}", generated.log);
    }
    let openshift = "/usr/bin/kubelet --v=2 --node-labels=a=b,node-role.kubernetes.io/worker=";
    machine.write("/etc/berth/flavour", "openshift\n");
    assert_eq!(machine.generate().command(), openshift);
    fs::remove_file(machine.path("/etc/berth/flavour")).unwrap();
    machine.write("/usr/lib/os-release", "NAME=\"x\"\nID=\"rhcos\"\n");
    machine.link("/etc/os-release", "../usr/lib/os-release");
    assert_eq!(machine.generate().command(), openshift);
    machine.write("/usr/lib/os-release", "ID=rhel\nOPENSHIFT_VERSION=4.19\n");
    assert_eq!(machine.generate().command(), openshift);
    machine.write("/etc/berth/flavour", "upstream");
    assert_eq!(machine.generate().command(), "/usr/bin/kubelet --v=2 --node-labels=a=b");
    machine.write("/etc/berth/flavour", "vanilla");
    let told = machine.generate();
    assert_eq!(told.command(), openshift);
    assert!(
        told.log.contains("/etc/berth/flavour: unknown flavour \"vanilla\""),
        "{}",
        told.log
    );
}

#[test]
fn the_variable_of_older_scripts_is_read_and_the_labels_file_wins() {
    let machine = Machine::with(KUBELET, "zone=new\n");
    machine.write(
        "/etc/systemd/system/kubelet.service.d/30-extra-labels.conf",
        "[Service]\nEnvironment=\"FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS=zone=old,rack=r1\"\n",
    );
    machine.write(
        "/etc/systemd/system/kubelet.service.d/20-extra-labels-infra.conf",
        "[Service]\nEnvironmentFile=-/run/kubelet.env\nExecStart=\nExecStart=bash -c \"${ORIG_EXECSTART}\"\n",
    );
    let generated = machine.generate();
    assert_eq!(
        generated.command(),
        "/usr/bin/kubelet --v=2 --node-labels=rack=r1,zone=new"
    );
    assert!(generated.log.contains("through a shell"), "{}", generated.log);
}

/// A unit that is a link to another, whose drop-ins stand under either name.
#[test]
fn other_names_of_the_unit_count() {
    let machine = Machine::new();
    machine.write("/etc/berth/labels", "a=b\n");
    machine.write(
        "/usr/lib/systemd/system/k8s-node.service",
        "[Service]\nExecStart=/usr/bin/kubelet\n",
    );
    machine.link(
        "/etc/systemd/system/kubelet.service",
        "../../../usr/lib/systemd/system/k8s-node.service",
    );
    machine.link(
        "/etc/systemd/system/third.service",
        "../../../usr/lib/systemd/system/k8s-node.service",
    );
    let plain = machine.generate();
    assert_eq!(plain.command(), "/usr/bin/kubelet --node-labels=a=b");
    if let Some(loaded) = systemd::load(&machine) {
        assert_eq!(loaded.argv, [["/usr/bin/kubelet", "--node-labels=a=b"]]);
    }
    let with = |flag: &str| format!("[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --{flag}\n");
    for (number, directory) in ["k8s-node.service.d", "kubelet.service.d", "third.service.d"]
        .iter()
        .enumerate()
    {
        machine.write(
            &format!("/etc/systemd/system/{directory}/1{number}.conf"),
            with(directory),
        );
        let generated = machine.generate();
        assert_eq!(
            generated.command(),
            format!("/usr/bin/kubelet --{directory} --node-labels=a=b")
        );
        if let Some(loaded) = systemd::load(&machine) {
            let expected = [
                "/usr/bin/kubelet".to_owned(),
                format!("--{directory}"),
                "--node-labels=a=b".to_owned(),
            ];
            assert_eq!(loaded.argv, [expected]);
        }
    }
    let machine = Machine::with(KUBELET, "a=b\n");
    machine.link("/etc/systemd/system/kubelet.service", "kubelet.service");
    machine.generate();
}

#[test]
fn the_unit_of_a_merged_usr_and_of_etc_count_as_for_systemd() {
    let machine = Machine::new();
    machine.write("/etc/berth/labels", "a=b\n");
    machine.write("/usr/lib/systemd/system/kubelet.service", KUBELET);
    machine.link("/lib", "usr/lib");
    machine.link(
        "/etc/systemd/system/kubelet.service",
        "/lib/systemd/system/kubelet.service",
    );
    assert_eq!(machine.generate().command(), "/usr/bin/kubelet --v=2 --node-labels=a=b");
    machine.write("/opt/kubelet.service", "[Service]\nExecStart=/opt/kubelet\n");
    fs::remove_file(machine.path("/etc/systemd/system/kubelet.service")).unwrap();
    machine.link("/etc/systemd/system/kubelet.service", "/opt/kubelet.service");
    assert_eq!(machine.generate().command(), "/opt/kubelet --node-labels=a=b");
}

#[test]
fn a_static_drop_in_that_hides_the_generated_one_is_named() {
    let machine = Machine::with(KUBELET, "a=b\n");
    machine.write("/etc/systemd/system/kubelet.service.d/50-berth.conf", "[Service]\n");
    let generated = machine.generate();
    assert!(
        generated
            .log
            .contains("/etc/systemd/system/kubelet.service.d/50-berth.conf hides the generated drop-in"),
        "{}",
        generated.log
    );
}

#[test]
fn check_shows_the_command_and_what_is_left_out() {
    let machine = Machine::with(
        "[Service]\nEnvironmentFile=-/etc/k\nExecStart=/usr/bin/kubelet --node-labels=x=${X} $MORE\n",
        "a=b\n",
    );
    machine.write("/etc/k", "X=y\nMORE=--v=2 --node-labels=m=n\n");
    let output = machine.run(&["check"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        "unit       kubelet.service
           /usr/lib/systemd/system/kubelet.service
flavour    upstream (nothing says that it is another)
drop-in    50-berth.conf
command    /usr/bin/kubelet
           --node-labels=x=y
           --v=2
           --node-labels=m=n
           --node-labels=a=b
labels     x=y
           m=n
           a=b
"
    );
    machine.write("/etc/berth/labels", "node-role.kubernetes.io/infra=\n");
    let output = machine.run(&["check"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("drop-in    none is needed\n"), "{text}");
    assert!(
        text.contains("left out   node-role.kubernetes.io/infra=: The kubelet refuses"),
        "{text}"
    );
}
