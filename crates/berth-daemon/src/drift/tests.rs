use super::*;
use crate::item::Owner;

fn entry(text: &str, mode: u32) -> Setting {
    Setting::Entry(Entry::File(FileEntry::new(text, mode)))
}

fn found(wanted: Setting, is: Option<Setting>) -> String {
    let item = match &wanted {
        Setting::Entry(_) => Item::Path("/etc/a".to_owned()),
        Setting::Enabled(_) => Item::Unit("a.service".to_owned()),
        Setting::Hash(_) => Item::Password("core".to_owned()),
    };
    let config = HostConfig {
        settings: [(item.clone(), wanted)].into(),
        ..HostConfig::default()
    };
    let observed = Observed {
        settings: is.map(|is| (item, is)).into_iter().collect(),
        ..Observed::default()
    };
    let drift = drift(&config, &observed);
    drift.first().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn what_is_wrong_is_said_in_the_originals_words() {
    let link = || {
        Setting::Entry(Entry::Link {
            target: "/b".to_owned(),
        })
    };
    for (wanted, is, expected) in [
        (entry("a", 0o644), Some(entry("a", 0o644)), ""),
        (entry("a", 0o644), None, "\"/etc/a\" is missing"),
        (
            entry("a", 0o644),
            Some(entry("a", 0o600)),
            "mode mismatch for file: \"/etc/a\"; expected: 0644; received: 0600",
        ),
        (
            entry("a", 0o644),
            Some(link()),
            "\"/etc/a\" expected 1 bytes, 0644, found link to /b",
        ),
        (
            Setting::Enabled(true),
            Some(Setting::Enabled(false)),
            "unit \"a.service\" expected enabled=true, but systemd reports \"disabled\"",
        ),
        (Setting::Enabled(false), None, ""),
        (
            Setting::Hash("x".to_owned()),
            Some(Setting::Hash("y".to_owned())),
            "password mismatch for user \"core\"",
        ),
    ] {
        assert_eq!(found(wanted, is), expected);
    }
    let owned = Setting::Entry(Entry::File(FileEntry {
        owner: Owner { user: 1, group: 2 },
        ..FileEntry::new("a", 0o644)
    }));
    assert_eq!(
        found(entry("a", 0o644), Some(owned)),
        "owner mismatch for file: \"/etc/a\"; expected: 0:0; received: 1:2"
    );
}

#[test]
fn a_diff_is_short_and_has_no_secrets_in_it() {
    let many = (0..20).fold(String::new(), |text, line| text + &format!("line {line}\n"));
    let shown = found(entry("one\ntwo\n", 0o644), Some(entry(&many, 0o644)));
    assert!(shown.contains("\n-one\n-two\n+line 0\n"), "{shown}");
    assert!(shown.ends_with("(16 more lines)"), "{shown}");
    for (text, mode) in [
        ("hunter2", 0o600),
        ("PASSWORD=hunter2", 0o644),
        ("-----BEGIN PRIVATE KEY-----\nhunter2", 0o644),
        ("\"token\": \"hunter2\"", 0o644),
        ("api_key: hunter2", 0o644),
        ("rocommunity hunter2", 0o644),
        ("Authorization: Basic aHVudGVyMg", 0o644),
        ("proxy=http://me:hunter2@proxy.example:3128", 0o644),
        ("proxy=http://me:hun/ter2@proxy.example:3128", 0o644),
        ("[a]\nx = AKIAIOSFODNN7EXAMPLEKEY\n", 0o644),
        ("x=9f86d081884c7d659a2feaa0c55ad015\n", 0o644),
        ("hunter2", 0o640),
    ] {
        for (wanted, is) in [(text, "other"), ("other", text)] {
            let shown = found(entry(wanted, mode), Some(entry(is, mode)));
            assert_eq!(shown, "content mismatch for file \"/etc/a\"");
        }
    }
    // What a file is called may say it too.
    for path in ["/etc/app/token", "/var/lib/kubelet/credentials.d/a", "/etc/wifi.psk"] {
        let is = entry("other", 0o644);
        assert_eq!(diff(path, Some(&is), &entry("hunter2", 0o644)), None, "{path}");
    }
    // Settings are still shown.
    for text in [
        "vm.swappiness = 10",
        "server ntp.example.com iburst",
        "https://registry.example.com/v2",
    ] {
        let is = entry("other", 0o644);
        let shown = diff("/etc/a.conf", Some(&is), &entry(text, 0o644));
        assert_eq!(shown.as_deref(), Some(format!("-{text}\n+other").as_str()));
    }
}

proptest::proptest! {
    /// Whatever else is in a file that only some may read, none of it is said.
    #[test]
    fn nothing_is_said_of_a_file_that_not_everybody_may_read(
        wanted in "[a-z0-9 =:\n]{0,60}", is in "[a-z0-9 =:\n]{0,60}", closed in proptest::bool::ANY,
    ) {
        let modes = if closed { (0o600, 0o644) } else { (0o644, 0o640) };
        let shown = found(entry(&format!("Z{wanted}"), modes.0), Some(entry(&format!("Y{is}"), modes.1)));
        proptest::prop_assert_eq!(shown, "content mismatch for file \"/etc/a\"");
    }
}
