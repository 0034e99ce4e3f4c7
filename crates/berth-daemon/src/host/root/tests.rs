use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;

/// A host below a folder, whose programs are scripts that write down what they were asked.
fn host() -> (tempfile::TempDir, RootHost) {
    let folder = tempfile::tempdir().unwrap();
    let host = RootHost::new(folder.path(), Vec::new());
    (folder, host)
}

fn mine(folder: &Path, contents: &str, mode: u32) -> FileEntry {
    let owner = owner(&fs::metadata(folder).unwrap());
    FileEntry {
        contents: contents.as_bytes().to_vec(),
        mode,
        owner,
    }
}

#[test]
fn a_file_is_staged_beside_its_place_and_placed_whole() {
    let (folder, mut host) = host();
    let file = mine(folder.path(), "new", 0o640);
    host.stage("/etc/deep/er/a.conf", &file).unwrap();
    assert_eq!(host.entry("/etc/deep/er/a.conf").unwrap(), None);
    assert_eq!(host.list("/etc/deep/er").unwrap(), [".a.conf.berth-new"]);
    host.sync_staged().unwrap();
    host.place("/etc/deep/er/a.conf").unwrap();
    host.sync().unwrap();
    assert_eq!(
        host.entry("/etc/deep/er/a.conf").unwrap(),
        Some(Entry::File(file.clone()))
    );
    assert_eq!(host.list("/etc/deep/er").unwrap(), ["a.conf"]);
    let mode = fs::metadata(folder.path().join("etc/deep/er/a.conf"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);

    // What is left of an attempt does no harm, and goes.
    host.stage("/etc/deep/er/a.conf", &mine(folder.path(), "other", 0o600))
        .unwrap();
    host.discard("/etc/deep/er/a.conf").unwrap();
    host.discard("/etc/deep/er/a.conf").unwrap();
    host.discard("/no/such/folder").unwrap();
    assert_eq!(host.list("/etc/deep/er").unwrap(), ["a.conf"]);
    host.remove("/etc/deep/er/a.conf").unwrap();
    host.remove("/etc/deep/er/a.conf").unwrap();
    host.remove("/no/such/folder").unwrap();
    assert_eq!(host.entry("/etc/deep/er/a.conf").unwrap(), None);
}

#[test]
fn links_do_not_lead_out_of_the_host() {
    let (folder, mut host) = host();
    let outside = tempfile::tempdir().unwrap();
    host.directory("/run", 0o755, mine(folder.path(), "", 0).owner).unwrap();
    fs::create_dir(folder.path().join("var")).unwrap();
    symlink("/run", folder.path().join("var/run")).unwrap();
    symlink(outside.path(), folder.path().join("escape")).unwrap();
    symlink("../../../../../../run", folder.path().join("up")).unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    let file = mine(folder.path(), "x", 0o644);
    for path in ["/var/run/a", "/up/b", "/escape/c"] {
        host.stage(path, &file).unwrap();
        host.place(path).unwrap();
        assert_eq!(host.entry(path).unwrap(), Some(Entry::File(file.clone())));
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let mut names = host.list("/run").unwrap();
    names.sort();
    assert_eq!(names, ["a", "b"]);
    assert!(host.entry("/loop/a").is_err());
    // The last part is not followed: a link is replaced, not written through.
    host.link("/etc/a", "/etc/b").unwrap();
    host.stage("/etc/a", &file).unwrap();
    host.place("/etc/a").unwrap();
    assert_eq!(host.entry("/etc/a").unwrap(), Some(Entry::File(file)));
    assert_eq!(host.entry("/etc/b").unwrap(), None);
}

#[test]
fn directories_with_something_in_them_stay() {
    let (folder, mut host) = host();
    let owner = mine(folder.path(), "", 0).owner;
    host.directory("/srv/d", 0o750, owner).unwrap();
    assert_eq!(
        host.entry("/srv/d").unwrap(),
        Some(Entry::Directory { mode: 0o750, owner })
    );
    host.link("/srv/d/l", "nowhere").unwrap();
    host.remove("/srv/d").unwrap();
    assert!(host.entry("/srv/d").unwrap().is_some());
    host.remove("/srv/d/l").unwrap();
    host.remove("/srv/d").unwrap();
    host.sync().unwrap();
    assert_eq!(host.entry("/srv/d").unwrap(), None);
}

#[test]
fn a_name_as_long_as_can_be_is_staged_under_another() {
    let (folder, mut host) = host();
    let path = format!("/{}", "n".repeat(NAME_LIMIT));
    let file = mine(folder.path(), "x", 0o644);
    host.stage(&path, &file).unwrap();
    host.sync_staged().unwrap();
    host.place(&path).unwrap();
    assert_eq!(host.entry(&path).unwrap(), Some(Entry::File(file)));
}

#[test]
fn programs_are_run_with_the_prefix_and_their_words_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("on-host");
    fs::write(
        &script,
        "#!/bin/sh\necho \"$@\" >> \"$(dirname \"$0\")/log\"\ncase \"$*\" in\n\
         *is-enabled*a.service) echo enabled;;\n*is-enabled*b.service) echo disabled; exit 1;;\n\
         *is-enabled*) echo static;;\n*list-units*) echo 'a.service loaded active running A'; echo 'x.service loaded';;\n\
         *list-unit-files*) echo 'a.service enabled enabled';;\n*restart*) echo 'no such unit' >&2; exit 5;;\n\
         chpasswd*) cat >> \"$(dirname \"$0\")/log\";;\nesac\n",
    )
    .unwrap();
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let mut host = RootHost::new(folder.path(), vec!["/bin/sh".into(), script.clone().into()]);
    assert_eq!(host.enablement("a.service"), Ok(Enablement::Enabled));
    assert_eq!(host.enablement("b.service"), Ok(Enablement::Disabled));
    assert_eq!(host.enablement("c.service"), Ok(Enablement::Fixed));
    assert_eq!(host.serving(), Ok(["a.service".to_owned()].into()));
    assert_eq!(
        host.restart("a.service").unwrap_err().to_string(),
        "`systemctl restart a.service` failed: no such unit"
    );
    host.enable("a.service", true).unwrap();
    host.enable("a.service", false).unwrap();
    host.reboot(Reboot::Kexec).unwrap();
    fs::create_dir(folder.path().join("etc")).unwrap();
    fs::write(folder.path().join("etc/shadow"), "root:*:1::::::\ncore:$6$x:2::::::\n").unwrap();
    assert_eq!(host.password("core").unwrap().as_deref(), Some("$6$x"));
    host.set_password("core", "$6$y").unwrap();
    host.sync().unwrap();
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let last: Vec<&str> = log.lines().skip(5).collect();
    assert_eq!(
        last,
        [
            "systemctl restart a.service",
            "systemctl reenable a.service",
            "systemctl disable a.service",
            "systemctl reboot",
            "chpasswd -e",
            "core:$6$y",
        ]
    );
}

#[test]
fn what_a_host_boots_next_is_read_from_what_it_has() {
    let (folder, host) = host();
    assert_eq!(host.capabilities().unwrap().driver, crate::host::SystemDriver::None);
    assert_eq!(host.system(&BTreeSet::new()).unwrap(), System::default());
    for path in ["usr/sbin", "boot/grub"] {
        fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    fs::write(folder.path().join("usr/sbin/update-grub"), "").unwrap();
    fs::write(
        folder.path().join("boot/grub/grub.cfg"),
        "\tlinux /vmlinuz root=/dev/vda nosmt quiet\n",
    )
    .unwrap();
    assert_eq!(
        host.capabilities().unwrap().driver,
        crate::host::SystemDriver::GrubFolder
    );
    let known = ["nosmt", "hugepages=8"].map(str::to_owned).into();
    assert_eq!(host.system(&known).unwrap().arguments, ["nosmt"]);
}

#[test]
fn what_a_host_has_booted_is_what_its_kernel_was_started_with() {
    let (folder, host) = host();
    let known = ["nosmt", "dyndbg=\"file a +p\""].map(str::to_owned).into();
    assert_eq!(host.booted(&known).unwrap(), None, "it does not tell");
    fs::create_dir(folder.path().join("proc")).unwrap();
    let line = "BOOT_IMAGE=/vmlinuz root=/dev/vda nosmt dyndbg=\"file a +p\" quiet\n";
    fs::write(folder.path().join("proc/cmdline"), line).unwrap();
    let booted = host.booted(&known).unwrap().unwrap();
    assert_eq!(booted.arguments, ["nosmt", "dyndbg=\"file a +p\""]);
    // What nobody can change is booted again.
    assert_eq!(host.system(&known).unwrap().arguments, booted.arguments);
}

#[test]
fn the_image_that_was_booted_is_not_the_one_that_is_staged() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["run", "usr/bin", "proc"] {
        fs::create_dir_all(folder.path().join(path)).unwrap();
    }
    for path in ["run/ostree-booted", "usr/bin/rpm-ostree", "proc/cmdline"] {
        fs::write(folder.path().join(path), "").unwrap();
    }
    let script = folder.path().join("on-host");
    let status = json!({"deployments": [
        {"booted": false, "container-image-reference": "ostree-unverified-registry:registry.example/os:2"},
        {"booted": true, "container-image-reference": "ostree-unverified-registry:registry.example/os:1"},
    ]});
    fs::write(
        &script,
        format!("case \"$*\" in *status*) echo '{status}';; *) echo nosmt;; esac\n"),
    )
    .unwrap();
    let host = RootHost::new(folder.path(), vec!["/bin/sh".into(), script.into()]);
    let image = |system: System| system.image.unwrap();
    assert_eq!(image(host.system(&BTreeSet::new()).unwrap()), "registry.example/os:2");
    let booted = host.booted(&BTreeSet::new()).unwrap().unwrap();
    assert_eq!(image(booted), "registry.example/os:1");
}

#[test]
fn many_files_are_synced_at_once_and_one_that_cannot_be_is_named() {
    let (folder, mut host) = host();
    let stage = |host: &mut RootHost| {
        for number in 0..100 {
            host.stage(&format!("/etc/{number}"), &mine(folder.path(), "x", 0o644))
                .unwrap();
        }
    };
    stage(&mut host);
    host.sync_staged().unwrap();
    stage(&mut host);
    fs::remove_file(folder.path().join("etc/.57.berth-new")).unwrap();
    let error = host.sync_staged().unwrap_err().to_string();
    assert!(
        error.starts_with("sync ") && error.contains("/etc/.57.berth-new"),
        "{error}"
    );
}
