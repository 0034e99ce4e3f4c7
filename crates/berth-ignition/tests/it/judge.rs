//! Our verdict on configs next to that of `ignition-validate`.
//!
//! Debian's program is Ignition 2.14.0, which knows the specs 3.0.0 to 3.3.0 (and
//! 3.4.0-experimental, which is not 3.4.0). Without the program the tests say so and
//! pass, unless `BERTH_REQUIRE_TOOLS` is set.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use berth_ignition::{Finding, SpecVersion, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

const PROGRAM: &str = "ignition-validate";

/// Set where every program that tests compare with is installed.
const REQUIRE_TOOLS: &str = "BERTH_REQUIRE_TOOLS";

/// The versions that the program and we both know.
const VERSIONS: [&str; 4] = ["3.0.0", "3.1.0", "3.2.0", "3.3.0"];

#[expect(clippy::print_stderr, reason = "a skipped test says why")]
fn judge_is_here() -> bool {
    match Command::new(PROGRAM).arg("-version").output() {
        Ok(_) => true,
        Err(error) => {
            let required = std::env::var_os(REQUIRE_TOOLS).is_some();
            assert!(!required, "{PROGRAM} does not run, and {REQUIRE_TOOLS} is set: {error}");
            eprintln!("skipped: {PROGRAM} does not run: {error}");
            false
        }
    }
}

/// Whether Ignition refuses the config, and what it says.
fn judge(config: &Value) -> (bool, String) {
    match run(config) {
        Err(error) => (true, format!("{PROGRAM} did not run: {error}")),
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            (!output.status.success(), said)
        }
    }
}

fn run(config: &Value) -> std::io::Result<Output> {
    let mut child = Command::new(PROGRAM)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(config.to_string().as_bytes())?;
    }
    child.wait_with_output()
}

/// Asks both about a config in every version they share.
fn compare(config: &Value) {
    for version in VERSIONS {
        let mut config = config.clone();
        config["ignition"]["version"] = version.into();
        let parsed = parse(&config);
        let ours = parsed.findings.iter().any(Finding::is_error);
        let (theirs, said) = judge(&config);
        assert_eq!(ours, theirs, "{config}\nours: {:#?}\ntheirs: {said}", parsed.findings);
    }
}

fn compare_all(configs: impl IntoIterator<Item = Value>) {
    if judge_is_here() {
        configs.into_iter().for_each(|config| compare(&config));
    }
}

fn storage(storage: Value) -> Value {
    let mut config = json!({"ignition": {}});
    config["storage"] = storage;
    config
}

fn files(files: Value) -> Value {
    let mut config = json!({"ignition": {}});
    config["storage"]["files"] = files;
    config
}

fn units(units: Value) -> Value {
    let mut config = json!({"ignition": {}});
    config["systemd"]["units"] = units;
    config
}

#[test]
fn files_and_modes() {
    compare_all([
        files(json!([])),
        files(json!([{"path": "/a"}])),
        files(json!([{"path": "a"}])),
        files(json!([{"path": ""}])),
        files(json!([{"path": "/"}])),
        files(json!([{"path": "/a/"}])),
        files(json!([{"path": "/a//b"}])),
        files(json!([{"path": "/a/../b"}])),
        files(json!([{"path": "/a/./b"}])),
        files(json!([{"path": "/a/..b/...c"}])),
        files(json!([{"path": "/a", "mode": 0}])),
        files(json!([{"path": "/a", "mode": 511}])),
        files(json!([{"path": "/a", "mode": 4095}])),
        files(json!([{"path": "/a", "mode": 4096}])),
        files(json!([{"path": "/a", "mode": -1}])),
        files(json!([{"path": "/a", "mode": "0644"}])),
        files(json!([{"path": "/a", "mode": 420.5}])),
        files(json!([{"path": "/a", "mode": null}])),
        files(json!([{"path": "/a", "overwrite": true}])),
        files(json!([{"path": "/a", "overwrite": true, "contents": {"source": ""}}])),
        files(json!([{"path": "/a", "overwrite": true, "contents": {"source": "data:,"}}])),
        files(json!([{"path": "/a", "overwrite": false, "append": [{"source": "data:,"}]}])),
        files(json!([{"path": "/a", "append": [{"source": "data:,a"}, {"source": "data:,a"}]}])),
        files(json!([{"path": "/a", "user": {"id": 1}}])),
        files(json!([{"path": "/a", "user": {"id": 1, "name": "x"}}])),
        files(json!([{"path": "/a", "group": {"id": 0, "name": "x"}}])),
        files(json!([{"path": "/a", "group": {"id": 0, "name": ""}}])),
        files(json!([{"path": "/a"}, {"path": "/a"}])),
        files(json!([{"path": "/a"}, {"path": "/a/b"}])),
        files(json!({"path": "/a"})),
        files(json!(["/a"])),
        json!({"ignition": {}, "unknown": {"key": 1}, "storage": {"unknown": 2}}),
    ]);
}

#[test]
fn directories_and_links() {
    compare_all([
        storage(json!({"directories": [{"path": "/a", "mode": 4095}]})),
        storage(json!({"directories": [{"path": "/a", "mode": 4096}]})),
        storage(json!({"files": [{"path": "/a"}], "directories": [{"path": "/a"}]})),
        storage(json!({"files": [{"path": "/a"}], "links": [{"path": "/a", "target": "/b"}]})),
        storage(json!({"files": [{"path": "/l/a"}], "links": [{"path": "/l", "target": "/b"}]})),
        storage(json!({"files": [{"path": "/la"}], "links": [{"path": "/l", "target": "/b"}]})),
        storage(json!({"files": [{"path": "/a/l/b/c"}], "links": [{"path": "/a/l", "target": "/b"}]})),
        storage(json!({"directories": [{"path": "/l/a"}], "links": [{"path": "/l", "target": "/b"}]})),
        storage(json!({"links": [{"path": "/l", "target": "/b"}, {"path": "/l/m", "target": "/b"}]})),
        storage(json!({"links": [{"path": "/l", "target": "../x"}]})),
        storage(json!({"links": [{"path": "/l", "target": ""}]})),
        storage(json!({"links": [{"path": "l", "target": "/b"}]})),
        storage(json!({"links": [{"path": "/l", "target": "/d", "hard": true}], "directories": [{"path": "/d"}]})),
        storage(
            json!({"links": [{"path": "/l", "target": "/x/../d/", "hard": true}], "directories": [{"path": "/d"}]}),
        ),
        storage(json!({"links": [{"path": "/l", "target": "../d", "hard": true}], "directories": [{"path": "/d"}]})),
        storage(json!({"links": [{"path": "/l", "target": "/d", "hard": false}], "directories": [{"path": "/d"}]})),
    ]);
}

#[test]
fn sources() {
    let sources = [
        "",
        "data:,",
        "data:text,x",
        "data:;charset,x",
        "data:;charset=utf-8,x",
        "data:,a b",
        "data:,é",
        "data:,%2",
        "data:,%zz",
        "data:;base64,aGk",
        "data:;base64,aG-=",
        "data:;base64,aGk=\n",
        "data:foo/bar;x=\"a,b\",x",
        "data:text/plain;x=\"a,b\",x",
        "data:text/plain;x=\"a\"b\",x",
        "data:text/plain;x=\"a\\\"b\",x",
        "DATA:,x",
        "data:text/plain;base64;x=y,aGk=",
        "data:base64,aGk=",
        "data:;base64;,aGk=",
        "data:a/b/c,x",
        "data:text/b/c,x",
        "data:,a#b",
        "data:,a?b",
        "data:,a|b",
        "data:",
        "data:;base64,aGk%3D",
        "data:;base64,aGl=",
        "data:;,x",
        "data:/,x",
        "data:text/,x",
        "data:;a=,x",
        "data:;a=b c,x",
        "data:,\"",
        "data:;base64,aGk=aGk=",
        "data:;base64,aGk==",
        "data:;base64,====",
        "data:x-foo/bar,z",
        "data:xfoo/bar,z",
        "data:textual/x,z",
        "data:;a=%41,x",
        "data:%41/b,x",
        "http://",
        "http://x y",
        "http://x/%zz",
        "http://x:abc/",
        "http://[::1]/",
        "http://[::1",
        "http://[fe80::1%25en0]/",
        "http:foo",
        "HTTP://x",
        "foo",
        "foo:bar",
        "s3://b/k?versionId=",
        "s3://b/k?versionId=1",
        "gs://b/k",
        "tftp://x",
        "ftp://x",
        "oem:///x",
        ":x",
        "1http://x",
        "http://x/\u{1}",
        "http://ü/",
        "http://x/a b",
        "http://a%20b/",
        "http://u:p@x/",
        "http://u p@x/",
        "http://x?%zz",
        "http://x#%zz",
        "//x/y",
        "/x",
        "http://x:80:90/",
        "http://x<y/",
        "arn:aws:s3:::b/k",
    ];
    compare_all(sources.iter().flat_map(|source| {
        [
            files(json!([{"path": "/a", "contents": {"source": source}}])),
            json!({"ignition": {"config": {"merge": [{"source": source}]}}}),
            json!({"ignition": {"config": {"replace": {"source": source}}}}),
            json!({"ignition": {"security": {"tls": {"certificateAuthorities": [{"source": source}]}}}}),
        ]
    }));
}

#[test]
fn hashes_compression_and_headers() {
    let (long, short) = ("a".repeat(128), "a".repeat(64));
    let contents = |contents: Value| files(json!([{"path": "/a", "contents": contents}]));
    let hash = |hash: String| contents(json!({"source": "data:,", "verification": {"hash": hash}}));
    let header = |header: Value| contents(json!({"source": "http://x", "httpHeaders": header}));
    compare_all([
        hash(format!("sha512-{long}")),
        hash(format!("sha512-{short}")),
        hash(format!("sha256-{short}")),
        hash(format!("sha512-{}", "z".repeat(128))),
        hash(format!("md5-{short}")),
        hash("sha512".to_owned()),
        hash(String::new()),
        contents(json!({"verification": {"hash": format!("sha512-{long}")}})),
        contents(json!({"source": "data:,", "compression": "gzip"})),
        contents(json!({"source": "data:,notgzip", "compression": "gzip"})),
        contents(json!({"source": "data:,", "compression": ""})),
        contents(json!({"source": "data:,", "compression": "xz"})),
        header(json!([])),
        header(json!([{"name": "a", "value": "b"}])),
        header(json!([{"name": "a", "value": "b"}, {"name": "a", "value": "c"}])),
        header(json!([{"name": "a", "value": ""}])),
        header(json!([{"name": "a"}])),
        header(json!([{"name": "", "value": "b"}])),
        contents(json!({"source": "data:,", "httpHeaders": [{"name": "a", "value": "b"}]})),
        contents(json!({"httpHeaders": [{"name": "a", "value": "b"}]})),
    ]);
}

#[test]
fn units_and_dropins() {
    let contents = [
        "",
        "junk",
        "[A",
        "[A]x",
        "[A]\nx",
        "[A]\nx\n",
        "[A]\nx=1",
        "[A]\nx=1\\\ny",
        "[A]\n=1",
        "[A]\n# c\\\nfoo\nx=1",
        "[A]\r\nx=1\r\n",
        "[A]\r\nx=1\\\r\nfoo\r\n",
        "[A]\rx=1",
        "[A]\nx=1\\ \nfoo\n",
        "[A]\n\u{a0}x=1\n",
        "[A]\n#c \\ \nfoo",
        "[A]\n[B\n",
        "\u{feff}[A]\nx",
    ];
    let texts = contents.iter().flat_map(|text| {
        [
            units(json!([{"name": "a.service", "contents": text}])),
            units(json!([{"name": "a.service", "dropins": [{"name": "a.conf", "contents": text}]}])),
        ]
    });
    compare_all(texts.chain([
        units(json!([{"name": "a"}])),
        units(json!([{"name": ""}])),
        units(json!([{"name": "a.service"}])),
        units(json!([{"name": ".service"}])),
        units(json!([{"name": "a.network"}])),
        units(json!([{"name": "a.service/b"}])),
        units(json!([{"name": "a@b.timer", "mask": true, "enabled": false}])),
        units(json!([{"name": "a.service", "enabled": true, "contents": "[Unit]\nA=b\n"}])),
        units(json!([{"name": "a.service"}, {"name": "a.service"}])),
        units(json!([{"name": "a.service", "dropins": [{"name": "a"}]}])),
        units(json!([{"name": "a.service", "dropins": [{"name": "a.conf"}, {"name": "a.conf"}]}])),
        units(json!([{"name": "a.service", "dropins": [{"name": "a.conf"}, {"name": "b.conf"}]}])),
    ]));
}

#[test]
fn long_lines() {
    let mut configs = Vec::new();
    for before in [0, 1, 500, 1000, 1020, 1500, 3000] {
        for length in [2000, 2040, 2045, 2048, 2049, 3000, 4095, 4096, 5000, 9000] {
            for end in ["", "\n", "\nz=1\n"] {
                let text = format!("[A]\n{}x={}{end}", "a=b\n".repeat(before), "y".repeat(length));
                configs.push(units(json!([{"name": "a.service", "contents": text}])));
            }
        }
    }
    if judge_is_here() {
        for mut config in configs {
            config["ignition"]["version"] = "3.3.0".into();
            let (theirs, said) = judge(&config);
            let ours = parse(&config).findings.iter().any(Finding::is_error);
            assert_eq!(ours, theirs, "{said}");
        }
    }
}

#[test]
fn disks_and_partitions() {
    let parts = |parts: Value| storage(json!({"disks": [{"device": "/dev/a", "partitions": parts}]}));
    compare_all([
        storage(json!({"disks": [{"device": ""}]})),
        storage(json!({"disks": [{"device": "dev"}]})),
        storage(json!({"disks": [{"device": "/dev/a"}, {"device": "/dev/a"}]})),
        parts(json!([{"number": 1}])),
        parts(json!([{"number": 1}, {"number": 1}])),
        parts(json!([{"label": "a"}, {"label": "a"}])),
        parts(json!([{"number": 1, "label": "a"}, {"number": 2, "label": "a"}])),
        parts(json!([{"label": "a"}, {"label": "b"}])),
        parts(json!([{}])),
        parts(json!([{"number": 0}])),
        parts(json!([{"label": "a:b"}])),
        parts(json!([{"label": "a".repeat(36)}])),
        parts(json!([{"label": "a".repeat(37)}])),
        parts(json!([{"number": 1, "guid": "01234567-89AB-CDEF-EDCB-A98765432101"}])),
        parts(json!([{"number": 1, "guid": "01234567"}])),
        parts(json!([{"number": 1, "typeGuid": ""}])),
        parts(json!([{"number": 1, "shouldExist": false}])),
        parts(json!([{"number": 1, "shouldExist": false, "label": "a"}])),
        parts(json!([{"number": 1, "shouldExist": false}, {"label": "a"}])),
        parts(json!([{"number": 1, "startMiB": 1, "sizeMiB": 10}, {"number": 2, "startMiB": 11, "sizeMiB": 10}])),
        parts(json!([{"number": 1, "startMiB": 1, "sizeMiB": 10}, {"number": 2, "startMiB": 10, "sizeMiB": 10}])),
        parts(json!([{"number": 1, "startMiB": 5, "sizeMiB": 1}, {"number": 2, "startMiB": 1, "sizeMiB": 100}])),
        parts(json!([{"number": 1, "startMiB": 5, "sizeMiB": 0}, {"number": 2, "startMiB": 1, "sizeMiB": 100}])),
        parts(json!([{"number": 1, "startMiB": 0, "sizeMiB": 10}, {"number": 2, "startMiB": 0, "sizeMiB": 10}])),
        parts(json!([{"number": 1, "startMiB": 5, "sizeMiB": 0}, {"number": 2, "startMiB": 6, "sizeMiB": 0}])),
    ]);
}

#[test]
fn arrays_and_filesystems() {
    let raid = |raid: Value| storage(json!({"raid": [raid]}));
    let fs = |fs: Value| storage(json!({"filesystems": [fs]}));
    compare_all([
        raid(json!({"name": "a", "level": "raid1", "devices": ["/dev/a", "/dev/b"]})),
        raid(json!({"name": "a", "level": "raid1", "devices": ["/dev/a", "/dev/a"]})),
        raid(json!({"name": "a", "level": "raid1", "devices": []})),
        raid(json!({"name": "a", "level": "raid1", "devices": ["dev"]})),
        raid(json!({"name": "a", "level": "raid7", "devices": ["/dev/a"]})),
        raid(json!({"name": "a", "level": "", "devices": ["/dev/a"]})),
        raid(json!({"name": "a", "level": "stripe", "spares": 1, "devices": ["/dev/a"]})),
        raid(json!({"name": "a", "level": "10", "spares": 1, "devices": ["/dev/a"], "options": ["x", "x"]})),
        fs(json!({"device": "/dev/a"})),
        fs(json!({"device": "dev"})),
        fs(json!({"device": "/dev/a", "format": "ext4", "path": "/x"})),
        fs(json!({"device": "/dev/a", "format": "ext4", "path": "x"})),
        fs(json!({"device": "/dev/a", "format": "ext3"})),
        fs(json!({"device": "/dev/a", "format": "none"})),
        fs(json!({"device": "/dev/a", "path": "/x"})),
        fs(json!({"device": "/dev/a", "label": "x"})),
        fs(json!({"device": "/dev/a", "options": ["x", "x"]})),
        fs(json!({"device": "/dev/a", "wipeFilesystem": true})),
        fs(json!({"device": "/dev/a", "format": "ext4", "label": "a".repeat(17)})),
        fs(json!({"device": "/dev/a", "format": "xfs", "label": "a".repeat(12)})),
        fs(json!({"device": "/dev/a", "format": "vfat", "label": "a".repeat(12)})),
        fs(json!({"device": "/dev/a", "format": "swap", "label": "a".repeat(16)})),
        fs(json!({"device": "/dev/a", "format": "btrfs", "label": "a".repeat(257)})),
        fs(json!({"device": "/dev/a", "format": "ext4", "mountOptions": ["x", "x"]})),
        storage(json!({"filesystems": [{"device": "/dev/a"}, {"device": "/dev/a"}]})),
    ]);
}

#[test]
fn encrypted_volumes() {
    let luks = |luks: Value| storage(json!({"luks": [luks]}));
    let clevis = |clevis: Value| luks(json!({"name": "a", "device": "/dev/a", "clevis": clevis}));
    compare_all([
        luks(json!({"name": "a", "device": "/dev/a"})),
        luks(json!({"name": "a/b", "device": "/dev/a"})),
        luks(json!({"name": "a"})),
        luks(json!({"name": "a", "device": "dev"})),
        luks(json!({"name": "a", "device": "/dev/a", "label": "a".repeat(48)})),
        luks(json!({"name": "a", "device": "/dev/a", "keyFile": {"source": "ftp://x"}})),
        luks(json!({"name": "a", "device": "/dev/a", "options": ["x", "x"]})),
        clevis(json!({"tpm2": true})),
        clevis(json!({"tang": [{"url": "http://x", "thumbprint": "y"}]})),
        clevis(json!({"tang": [{"url": "http://x", "thumbprint": "y"}, {"url": "http://x", "thumbprint": "y"}]})),
        clevis(json!({"tang": [{"url": "ftp://x", "thumbprint": "y"}]})),
        clevis(json!({"tang": [{"url": "http://x"}]})),
        clevis(json!({"custom": {"pin": "tpm2", "config": "{}"}})),
        clevis(json!({"custom": {"pin": "tpm2", "config": "{}"}, "tpm2": true})),
        clevis(json!({"custom": {"pin": "x", "config": "{}"}})),
        clevis(json!({"custom": {"pin": "tpm2", "config": ""}})),
    ]);
}

#[test]
fn users_kernel_arguments_and_proxies() {
    let user = |user: Value| json!({"ignition": {}, "passwd": {"users": [user]}});
    let kargs = |kargs: Value| json!({"ignition": {}, "kernelArguments": kargs});
    let proxy = |proxy: Value| json!({"ignition": {"proxy": proxy}});
    compare_all([
        user(json!({"name": "core", "sshAuthorizedKeys": ["a", "b"]})),
        user(json!({"name": "core", "sshAuthorizedKeys": ["a", "a"]})),
        user(json!({"name": "core", "groups": ["a", "a"]})),
        json!({"ignition": {}, "passwd": {"users": [{"name": "a"}, {"name": "a"}]}}),
        json!({"ignition": {}, "passwd": {"groups": [{"name": "a"}, {"name": "a"}]}}),
        kargs(json!({"shouldExist": ["a"], "shouldNotExist": ["b"]})),
        kargs(json!({"shouldExist": ["a"], "shouldNotExist": ["a"]})),
        kargs(json!({"shouldExist": ["a", "a"]})),
        proxy(json!({"httpProxy": "http://x", "httpsProxy": "https://x"})),
        proxy(json!({"httpProxy": "https://x", "httpsProxy": "http://x"})),
        proxy(json!({"httpProxy": "ftp://x"})),
        proxy(json!({"httpProxy": ""})),
        proxy(json!({"noProxy": ["a", "a"]})),
        json!({"ignition": {"timeouts": {"httpTotal": 5}}}),
        json!({"ignition": {"config": {"merge": [{}]}}}),
        json!({"ignition": {"config": {"merge": [{"source": "http://x"}, {"source": "http://x"}]}}}),
        json!({"ignition": {"config": {"replace": {}}}}),
        json!({"ignition": {}, "storage": null}),
        json!({"ignition": {}, "storage": []}),
    ]);
}

/// What is written in a version is accepted by Ignition in that version.
#[test]
fn translated_configs_are_valid_to_ignition() {
    if !judge_is_here() {
        return;
    }
    let config = parse(&json!({
        "ignition": {"version": "3.5.0", "timeouts": {"httpTotal": 10}},
        "passwd": {"users": [{"name": "core", "shouldExist": true, "sshAuthorizedKeys": ["k"]}]},
        "storage": {
            "files": [
                {"path": "/a", "mode": 420, "overwrite": true, "contents": {"source": "data:,x"}},
                {"path": "/b", "append": [{"source": "data:,x"}, {"source": "data:,y"}]},
            ],
            "links": [{"path": "/l", "target": "/a"}],
            "directories": [{"path": "/d", "mode": 493}],
        },
        "systemd": {"units": [{"name": "a.service", "enabled": true,
            "contents": "[Unit]\nA=b\n[Install]\nWantedBy=c\n",
            "dropins": [{"name": "x.conf", "contents": "[Unit]\nA=b\n"}]}]},
    }))
    .usable()
    .unwrap();
    for version in VERSIONS {
        let version: SpecVersion = version.parse().unwrap();
        let json = config.to_version(version).unwrap();
        let (fatal, said) = judge(&json);
        assert!(!fatal && said.is_empty(), "{json}\n{said}");
    }
}

fn fragments(fragments: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(fragments), 0..10).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_units(text in fragments(&[
        "[", "]", "=", "\\", "#", ";", "\r", "\n", " ", "a", "\u{a0}", "x=1\n", "[A]\n", "\\\n", "\\\r\n",
    ])) {
        compare_all([units(json!([{"name": "a.service", "contents": text}]))]);
    }

    #[test]
    fn random_data_urls(text in fragments(&[
        "text/plain", ";", "base64", ",", "aGk=", "%41", "%4", "\"", "\\", "=", "a", "/", "x-b", "?",
        "#", " ", "é", "charset=utf-8", "[",
    ])) {
        let source = format!("data:{text}");
        compare_all([files(json!([{"path": "/a", "contents": {"source": source}}]))]);
    }

    #[test]
    fn random_urls(
        scheme in prop::sample::select(&["http", "s3", "https://", "gs", "", "tftp://", "http://"]),
        text in fragments(&[
            "://", "/", "x", "[", "]", ":", "@", "%41", "%zz", "%25", "?", "#", "80", "é", "\\", " ",
            "<", "::1", "..", "versionId=",
        ]),
    ) {
        let source = format!("{scheme}{text}");
        compare_all([files(json!([{"path": "/a", "contents": {"source": source}}]))]);
    }

    #[test]
    fn random_paths(path in fragments(&["/", "a", "..", ".", "b"])) {
        compare_all([files(json!([{"path": path}]))]);
    }
}
