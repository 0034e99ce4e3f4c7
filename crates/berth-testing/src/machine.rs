//! A Debian machine in QEMU: its disk, made once, and runs of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use crate::{
    error::TestingError,
    process::{self, Process},
    programs::{KUBERNETES_VERSION, Programs},
    scratch,
};

const SUITE: &str = "bookworm";

/// What the machine has beside the essential packages.
const PACKAGES: &[&str] = &[
    "containerd",
    "dbus",
    "ignition",
    "initramfs-tools",
    "iproute2",
    "iptables",
    "kmod",
    "linux-image-cloud-amd64",
    "procps",
    "runc",
    "systemd",
    "systemd-sysv",
    "udev",
    "zstd",
];

/// What the initial RAM disk loads.
const MODULES: &str = "virtio_blk\nvirtio_pci\nvirtio_net\nqemu_fw_cfg\n";

/// Under QEMU's user network the machine that runs it is the gateway.
const NETWORK: &str = "[Match]\nType=ether\n\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n";

/// The address at which a guest reaches the loopback interface of this machine.
pub const HOST_ADDRESS: &str = "10.0.2.2";

const HOOK: &str = include_str!("machine/hook.sh");
const LOCAL_BOTTOM: &str = include_str!("machine/local-bottom.sh");
const STAND_IN: &str = include_str!("machine/stand-in.sh");

/// Where the real kubelet is in the machine. At the usual place is the stand-in that records its arguments.
pub(crate) const KUBELET_PATH: &str = "/usr/local/bin/kubelet";

/// The disk of a machine that was never booted, with kernel and initial RAM disk.
#[derive(Debug, Clone)]
pub struct Image {
    folder: PathBuf,
}

impl Image {
    /// The name of the folder for the image as this version makes it. Another recipe has another name.
    pub fn folder_name() -> String {
        let mut hash = Sha256::new();
        for part in [
            SUITE,
            MODULES,
            NETWORK,
            HOOK,
            LOCAL_BOTTOM,
            STAND_IN,
            KUBERNETES_VERSION,
        ]
        .iter()
        .chain(PACKAGES)
        {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        let short = digest
            .iter()
            .take(6)
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        format!("machine-{short:012x}")
    }

    /// The image in a folder.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Makes the image in an empty folder. This needs root, debootstrap and a Debian mirror.
    pub fn build(programs: &Programs, folder: &Path) -> Result<Self, TestingError> {
        let root = folder.join("root");
        process::run(
            Command::new("debootstrap")
                .args(["--variant=minbase", &format!("--include={}", PACKAGES.join(",")), SUITE])
                .arg(&root),
        )?;
        set_up(&root, programs)?;
        for (name, prefix) in [("vmlinuz", "vmlinuz-"), ("initrd", "initrd.img-")] {
            let from = one_file(&root.join("boot"), prefix)?;
            copy(&from, &folder.join(name))?;
        }
        process::run(
            Command::new("mkfs.ext4")
                .args(["-q", "-F", "-O", "^has_journal", "-d"])
                .args([root.as_os_str(), folder.join("disk").as_os_str()])
                .arg("1800M"),
        )?;
        fs::remove_dir_all(&root).map_err(|source| TestingError::File { path: root, source })?;
        Ok(Self::open(folder))
    }
}

/// Everything that is not in a package.
fn set_up(root: &Path, programs: &Programs) -> Result<(), TestingError> {
    for (path, contents, executable) in [
        ("etc/initramfs-tools/hooks/e2e", HOOK, true),
        ("etc/initramfs-tools/scripts/local-bottom/e2e", LOCAL_BOTTOM, true),
        ("etc/initramfs-tools/modules", MODULES, false),
        ("etc/initramfs-tools/conf.d/e2e", "MODULES=list\n", false),
        ("etc/systemd/network/10-e2e.network", NETWORK, false),
        // As on an image that was never booted: systemd then enables what presets say.
        ("etc/machine-id", "uninitialized\n", false),
        ("etc/fstab", "", false),
        ("etc/selinux/config", "SELINUX=disabled\nSELINUXTYPE=none\n", false),
        ("usr/bin/kubelet", STAND_IN, true),
    ] {
        let path = root.join(path);
        // Not with the private mode of other files: the machine's services read these.
        let written = path
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(&path, contents));
        written.map_err(|source| TestingError::File {
            path: path.clone(),
            source,
        })?;
        if executable {
            process::run(Command::new("chmod").arg("755").arg(&path))?;
        }
    }
    copy(
        &programs.path("kubelet"),
        &root.join(KUBELET_PATH.trim_start_matches('/')),
    )?;
    let journal = root.join("var/log/journal");
    fs::create_dir_all(&journal).map_err(|source| TestingError::File { path: journal, source })?;
    // In a mount namespace of its own, so that nothing stays mounted whatever happens.
    process::run(
        Command::new("unshare")
            .args(["--mount", "sh", "-ec"])
            .arg(
                "mount --bind /proc \"$0/proc\"\n\
                 chroot \"$0\" systemctl enable systemd-networkd.service systemd-networkd-wait-online.service\n\
                 chroot \"$0\" update-initramfs -u\n\
                 rm -rf \"$0\"/var/cache/apt/archives/*.deb \"$0\"/var/lib/apt/lists/*",
            )
            .arg(root),
    )?;
    Ok(())
}

fn one_file(folder: &Path, prefix: &str) -> Result<PathBuf, TestingError> {
    let missing = |source| TestingError::File {
        path: folder.join(prefix),
        source,
    };
    let entries = fs::read_dir(folder).map_err(missing)?;
    entries
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .ok_or_else(|| missing(std::io::ErrorKind::NotFound.into()))
}

fn copy(from: &Path, to: &Path) -> Result<(), TestingError> {
    match fs::copy(from, to) {
        Ok(_) => Ok(()),
        Err(source) => Err(TestingError::File {
            path: to.to_owned(),
            source,
        }),
    }
}

/// A machine that runs. Its changes to the disk are kept nowhere.
#[derive(Debug)]
pub(crate) struct Machine {
    process: Process,
    folder: tempfile::TempDir,
}

impl Machine {
    /// Boots the image. `overlay` is a folder with files for its root, `ignition` the config that the firmware hands in.
    pub(crate) fn boot(image: &Image, overlay: &Path, ignition: &[u8]) -> Result<Self, TestingError> {
        let folder = scratch::scratch()?;
        let here = folder.path();
        scratch::write(here.join("config.ign"), ignition)?;
        process::run(
            Command::new("tar")
                .args(["--owner=0", "--group=0", "-cf"])
                .arg(here.join("overlay.tar"))
                .arg("-C")
                .arg(overlay)
                .arg("."),
        )?;
        process::run(
            Command::new("truncate")
                .args(["-s", "64M"])
                .arg(here.join("report.tar")),
        )?;
        let disk = |path: &Path, rest: &str| format!("file={},format=raw,if=virtio{rest}", path.display());
        let process = Process::start(Path::new("qemu-system-x86_64"), here, |command| {
            command
                .args([
                    "-machine",
                    "q35",
                    "-accel",
                    "tcg,thread=multi",
                    "-cpu",
                    "max",
                    "-smp",
                    "1",
                    "-m",
                    "1536",
                ])
                // A second boot would end it: there is one, or the test fails.
                .args([
                    "-no-reboot",
                    "-display",
                    "none",
                    "-nodefaults",
                    "-serial",
                    "file:console",
                ])
                .args([
                    "-netdev",
                    "user,id=net",
                    "-device",
                    "virtio-net-pci,netdev=net,romfile=",
                ])
                .args(["-device", "virtio-rng-pci"])
                .args(["-fw_cfg", "name=opt/com.coreos/config,file=config.ign"])
                .args([
                    "-append",
                    "root=/dev/vda rw console=ttyS0 quiet loglevel=4 mitigations=off audit=0 no_timer_check panic=-1 systemd.mask=getty.target",
                ])
                .arg("-kernel")
                .arg(image.folder.join("vmlinuz"))
                .arg("-initrd")
                .arg(image.folder.join("initrd"))
                .args(["-drive", &disk(&image.folder.join("disk"), ",snapshot=on")])
                .args(["-drive", &disk(&here.join("overlay.tar"), ",readonly=on")])
                .args(["-drive", &disk(&here.join("report.tar"), "")]);
        })?;
        Ok(Self { process, folder })
    }

    /// Waits until the machine turns itself off, and gives the folder with what it wrote.
    pub(crate) async fn report(mut self, limit: Duration) -> Result<tempfile::TempDir, TestingError> {
        let here = self.folder.path().to_owned();
        if let Err(error) = self.process.wait_for_end(limit).await {
            return Err(with_console(&error, &here));
        }
        let report = scratch::scratch()?;
        let unpacked = process::run(
            Command::new("tar")
                .arg("-xf")
                .arg(here.join("report.tar"))
                .arg("-C")
                .arg(report.path()),
        );
        unpacked.map_err(|error| with_console(&error, &here))?;
        Ok(report)
    }
}

/// The end of what the machine said explains more than that it was late.
fn with_console(error: &TestingError, folder: &Path) -> TestingError {
    let console = fs::read(folder.join("console")).unwrap_or_default();
    let console = String::from_utf8_lossy(&console);
    let lines: Vec<&str> = console.lines().collect();
    let end = lines
        .get(lines.len().saturating_sub(60)..)
        .unwrap_or_default()
        .join("\n");
    TestingError::Wrong(format!("{error}\nthe machine's console ends with:\n{end}"))
}
