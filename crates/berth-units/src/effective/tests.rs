use super::*;

mod systemd;

fn tree(files: &[(&str, &str)]) -> UnitTree {
    let mut tree = UnitTree::new();
    for (path, text) in files {
        let content = match *text {
            "/dev/null" => Content::Masked,
            text => Content::from(text),
        };
        assert!(tree.add(*path, content), "{path}");
    }
    tree
}

fn values(unit: &EffectiveUnit, key: &str) -> Vec<String> {
    unit.list("Service", key)
        .iter()
        .map(|setting| setting.value().to_owned())
        .collect()
}

#[test]
fn drop_ins_count_in_name_order_across_directories_and_mask_by_name() {
    let tree = tree(&[
        (
            "/usr/lib/systemd/system/kubelet.service",
            "[Service]\nExecStart=/bin/a\nEnvironment=F=1\n",
        ),
        (
            "/etc/systemd/system/kubelet.service.d/20-b.conf",
            "[Service]\nEnvironment=B=1",
        ),
        (
            "/usr/lib/systemd/system/kubelet.service.d/10-a.conf",
            "[Service]\nEnvironment=A=1",
        ),
        (
            "/run/systemd/system/kubelet.service.d/30-c.conf",
            "[Service]\nEnvironment=C=run",
        ),
        (
            "/etc/systemd/system/kubelet.service.d/30-c.conf",
            "[Service]\nEnvironment=C=etc",
        ),
        (
            "/usr/lib/systemd/system/kubelet.service.d/40-masked.conf",
            "[Service]\nEnvironment=M=1",
        ),
        ("/etc/systemd/system/kubelet.service.d/40-masked.conf", "/dev/null"),
        (
            "/usr/lib/systemd/system/kubelet.service.d/45-empty.conf",
            "[Service]\nEnvironment=E=1",
        ),
        ("/etc/systemd/system/kubelet.service.d/45-empty.conf", ""),
        (
            "/etc/systemd/system/service.d/10-a.conf",
            "[Service]\nEnvironment=T=hidden",
        ),
        (
            "/etc/systemd/system/service.d/15-type.conf",
            "[Service]\nEnvironment=T=1",
        ),
        (
            "/etc/systemd/system/kubelet.service.d/50-note.txt",
            "[Service]\nEnvironment=N=1",
        ),
        (
            "/etc/systemd/system/crio.service.d/10-x.conf",
            "[Service]\nEnvironment=X=1",
        ),
    ]);
    let unit = EffectiveUnit::load(&tree, "kubelet.service");
    assert_eq!(values(&unit, "Environment"), ["F=1", "A=1", "T=1", "B=1", "C=etc"]);
    let unit = EffectiveUnit::load_without(&tree, "kubelet.service", &["20-b.conf"]);
    assert_eq!(values(&unit, "Environment"), ["F=1", "A=1", "T=1", "C=etc"]);
}

#[test]
fn the_first_directory_gives_the_fragment() {
    let mut files = vec![
        (
            "/usr/lib/systemd/system/kubelet.service",
            "[Service]\nExecStart=/bin/usr\n",
        ),
        ("/run/systemd/system/kubelet.service", "[Service]\nExecStart=/bin/run\n"),
        ("/etc/systemd/system/kubelet.service", "[Service]\nExecStart=/bin/etc\n"),
    ];
    let unit = EffectiveUnit::load(&tree(&files), "kubelet.service");
    assert_eq!(values(&unit, "ExecStart"), ["/bin/etc"]);
    files[2].1 = "/dev/null";
    let unit = EffectiveUnit::load(&tree(&files), "kubelet.service");
    assert_eq!(unit.refusal(), Some(UnitRefusal::Masked));
    let unit = EffectiveUnit::load(&tree(&files), "other.service");
    assert_eq!(unit.refusal(), Some(UnitRefusal::NotFound));
}

#[test]
fn directories_of_a_unit() {
    assert_eq!(
        drop_in_directories("kubelet.service"),
        ["kubelet.service.d", "service.d"]
    );
    assert_eq!(
        drop_in_directories("a-b-c.service"),
        ["a-b-c.service.d", "a-b-.service.d", "a-.service.d", "service.d"]
    );
    assert_eq!(
        drop_in_directories("a-b@i.service"),
        [
            "a-b@i.service.d",
            "a-b@.service.d",
            "a-@.service.d",
            "a-@i.service.d",
            "service.d"
        ]
    );
    assert!(!UnitTree::new().add("/opt/kubelet.service", ""));
    assert!(!UnitTree::new().add("/etc/systemd/system/a/b/c.conf", ""));
}

fn one(text: &str, drop_ins: &[(&str, &str)]) -> EffectiveUnit {
    let drop_ins: Vec<_> = drop_ins.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    EffectiveUnit::assemble("kubelet.service", ("kubelet.service", text.as_bytes()), &drop_ins)
}

#[test]
fn lists_reset_and_single_values_do_not_add() {
    let unit = one(
        "[Unit]\nAfter=a\nAfter=\nAfter=b\n[Service]\nType=notify\nRestart=no\nExecStart=/bin/a\nExecStart=\nExecStart=/bin/b\n",
        &[("10.conf", "[Service]\nRestart=always\nType=\nType=bogus\n")],
    );
    assert_eq!(values(&unit, "ExecStart"), ["/bin/b"]);
    assert_eq!(values(&unit, "Restart"), ["always"]);
    assert_eq!(unit.service_type(), "notify");
    assert_eq!(unit.list("Unit", "After").len(), 2);
    assert_eq!(unit.refusal(), None);
}

#[test]
fn several_commands_are_for_oneshot_only() {
    let unit = one(
        "[Service]\nType=notify\nExecStart=/bin/a\n",
        &[("x/10.conf", "[Service]\nExecStart=/bin/b\n")],
    );
    assert_eq!(
        unit.refusal().unwrap().to_string(),
        "the unit has more than one ExecStart= (kubelet.service:3, x/10.conf:2), which systemd allows for \
         Type=oneshot only and refuses for Type=notify"
    );
    let unit = one("[Service]\nExecStart=/bin/a ; /bin/b\n", &[]);
    assert!(unit.refusal().is_some());
    let unit = one("[Service]\nType=oneshot\nExecStart=/bin/a ; /bin/b\n", &[]);
    assert_eq!(unit.refusal(), None);
    let unit = one("[Service]\nExecStart=/bin/a\nExecStart=\n", &[]);
    assert_eq!(unit.refusal(), Some(UnitRefusal::NoExecStart));
}

#[test]
fn a_bad_line_ends_the_fragment_or_only_its_drop_in() {
    let unit = one("[Service]\nExecStart=/bin/a \"x\nRestart=always\n", &[]);
    assert_eq!(
        unit.refusal().unwrap().to_string(),
        "kubelet.service:2: ExecStart=: a quote has no end"
    );
    let unit = one(
        "[Service]\nExecStart=/bin/a\n",
        &[
            (
                "10.conf",
                "[Service]\nRestart=always\nExecStart=/bin/b \"x\nRestart=no\n",
            ),
            ("20.conf", "[Service]\nNice=1\n"),
        ],
    );
    assert_eq!(unit.refusal(), None);
    assert_eq!(values(&unit, "Restart"), ["always"]);
    assert_eq!(values(&unit, "Nice"), ["1"]);
    assert_eq!(unit.diagnostics().len(), 1);
}

#[test]
fn files_beat_environment_lines_and_later_files_earlier_ones() {
    let unit = one(
        "[Service]\nExecStart=/bin/a\nEnvironment=A=unit B=unit 'C=two words' bad 1D=x\nEnvironmentFile=/one\nEnvironmentFile=-/two\nEnvironmentFile=-/none\nUnsetEnvironment=E\n",
        &[("99.conf", "[Service]\nEnvironment=A=dropin\n")],
    );
    let environment = unit.environment(|path| match path {
        "/one" => EnvFileContent::Text(b"A=one\nE=1\nF=%n".to_vec()),
        "/two" => EnvFileContent::Text(b"\nA=two\n".to_vec()),
        _ => EnvFileContent::Missing,
    });
    let found: Vec<_> = environment
        .variables()
        .iter()
        .map(|(name, variable)| format!("{name}={} {}", variable.value, variable.place))
        .collect();
    assert_eq!(
        found,
        [
            "A=two /two:2:1",
            "B=unit kubelet.service:3:20",
            "C=two words kubelet.service:3:27",
            "F=%n /one:3:1"
        ]
    );
    assert_eq!(environment.lookup("E"), crate::Lookup::Unset);

    let environment = unit.environment(|_| EnvFileContent::Unread);
    assert_eq!(environment.unread(), ["/one", "/two", "/none"]);
    assert_eq!(environment.lookup("A"), crate::Lookup::Unknown);
    let environment = unit.environment(|_| EnvFileContent::Missing);
    assert_eq!(environment.missing(), ["/one"]);
}
