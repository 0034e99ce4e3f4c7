//! What GRUB boots, from its generated file, and the file that gives it more arguments.

/// The first entry of `grub.cfg`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GrubEntry {
    pub(super) kernel: String,
    pub(super) initrd: Option<String>,
    pub(super) arguments: Vec<String>,
}

/// Reads the first entry: the lines `linux` and `initrd`, which generators write one to a line.
pub(super) fn first_entry(config: &str) -> Option<GrubEntry> {
    let mut entry: Option<GrubEntry> = None;
    for line in config.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), &mut entry) {
            (Some("linux" | "linux16" | "linuxefi"), None) => {
                entry = Some(GrubEntry {
                    kernel: words.next()?.to_owned(),
                    initrd: None,
                    arguments: words.map(str::to_owned).collect(),
                });
            }
            (Some("initrd" | "initrd16" | "initrdefi"), Some(entry)) => {
                entry.initrd = words.next().map(str::to_owned);
                break;
            }
            (Some("linux" | "linux16" | "linuxefi" | "menuentry"), Some(_)) => break,
            _ => {}
        }
    }
    entry
}

/// The file that adds arguments; `None` if one of them would mean something else to the shell that reads the file.
pub(super) fn fragment(arguments: &[String]) -> Option<String> {
    let plain = |argument: &String| {
        !argument.is_empty()
            && argument
                .chars()
                .all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\'' | '$' | '`' | '\\'))
    };
    arguments.iter().all(plain).then(|| {
        format!(
            "# Kernel arguments of the node's machine config. Written by Berth: local changes are lost.\n\
             GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"\n",
            arguments.join(" ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "\
set default=\"0\"
menuentry 'Debian GNU/Linux' --class debian {
\tload_video
\tlinux\t/boot/vmlinuz-6.1.0 root=UUID=1 ro  quiet nosmt
\tinitrd\t/boot/initrd.img-6.1.0
}
menuentry 'recovery' {
\tlinux /boot/vmlinuz-6.1.0 root=UUID=1 ro single
}
";

    #[test]
    fn the_first_entry_is_what_is_booted() {
        let entry = first_entry(DEBIAN).unwrap();
        assert_eq!(entry.kernel, "/boot/vmlinuz-6.1.0");
        assert_eq!(entry.initrd.as_deref(), Some("/boot/initrd.img-6.1.0"));
        assert_eq!(entry.arguments, ["root=UUID=1", "ro", "quiet", "nosmt"]);
        assert_eq!(first_entry("set default=0\n"), None);
        assert_eq!(first_entry("linux\n"), None);
    }

    #[test]
    fn an_argument_that_the_shell_would_read_is_refused() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let text = fragment(&words(&["nosmt", "hugepages=8"])).unwrap();
        assert!(text.ends_with("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX nosmt hugepages=8\"\n"));
        for bad in ["$(reboot)", "a\"b", "a`b", "", "a b", "a\nb", "a\\b"] {
            assert_eq!(fragment(&words(&[bad])), None, "{bad}");
        }
    }
}
