//! Documents in revisions: `berth apply` and what follows from it, on a database and on a server.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
};

use crate::postgres_server;
use crate::run::{Folder, Outcome, at_root, command, finish};

const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/layered-site");

/// A folder with the layered site in `site`, and one in `changed` with another power feed.
fn sites() -> Folder {
    let folder = Folder::new();
    for file in [
        "layering-policy.yaml",
        "global/machine-config-worker.yaml",
        "global/pool-worker.yaml",
        "global/racks.yaml",
        "region/facts.yaml",
        "site/nodes.yaml",
        "site/site.yaml",
    ] {
        let text = std::fs::read_to_string(format!("{SITE}/{file}")).unwrap();
        folder.write(&format!("site/{file}"), &text);
        folder.write(
            &format!("changed/{file}"),
            text.replace("power-feed: b", "power-feed: c"),
        );
    }
    folder
}

/// The outcome without the times, which differ from run to run.
fn timeless(outcome: &Outcome) -> String {
    let text = outcome.to_string();
    let is_time = |word: &str| word.len() == 20 && word.ends_with('Z') && word.contains('T');
    let word = |word: &str| {
        if is_time(word) {
            "[TIME]              ".to_owned()
        } else {
            word.to_owned()
        }
    };
    let lines = text.split('\n');
    lines
        .map(|line| {
            line.split(' ')
                .map(word)
                .collect::<Vec<_>>()
                .join(" ")
                .trim_end()
                .to_owned()
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// What a site engineer does in a day, mistakes included.
const DAY: &[&str] = &[
    "apply -f site --dry-run",
    "apply -f site",
    "apply -f site",
    "apply -f site -o json",
    "diff latest changed",
    "apply -f changed",
    "apply -f changed -o name",
    "diff 1 2 -o json",
    "show 2 --rendered -o name",
    "show 1 --bucket nowhere",
    "show 9",
    "show reviewed",
    "rollback 1 --dry-run",
    "rollback 1",
    "rollback 1",
    "tag 3 reviewed --data {by:ada}",
    "tag 3 reviewed",
    "show reviewed --bucket site -o name",
    "tag 3 other --delete",
    "apply -f site --bucket other",
    "revisions",
    "revisions --tag reviewed -o name",
    "configdocs versions",
    "configdocs status",
    "configdocs commit --dry-run",
    "configdocs commit",
    "configdocs commit",
    "configdocs load site -f changed",
    "configdocs load site -f site",
    "configdocs load site -f site --append",
    "configdocs show site -o name",
    "configdocs show site --version commited",
    "configdocs status",
    "configdocs status --versions committed",
    "configdocs versions -o json",
    "rollback 0",
    "show latest",
];

fn day(folder: &Folder, place: &str) -> String {
    let mut story = String::new();
    for words in DAY {
        let outcome = folder.line(&format!("{words} {place}"));
        writeln!(story, "$ berth {words}\n{}\n", timeless(&outcome)).unwrap();
    }
    story
}

#[test]
fn a_day_on_a_database() {
    insta::assert_snapshot!("day", day(&sites(), "--database sqlite:berth.db"));
}

/// A running server; ended with the test whatever happens.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(folder: &Folder) -> (Server, String) {
    let mut child = command()
        .current_dir(folder.path())
        .args("serve --listen 127.0.0.1:0 --database sqlite:served.db --log-format json".split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let server = Server(child);
    let mut lines = stderr.lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("the API is listening")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    // Whoever logs into a closed pipe ends, so the rest is read away.
    std::thread::spawn(move || lines.for_each(drop));
    let address = value["address"]
        .as_str()
        .or_else(|| value["fields"]["address"].as_str())
        .unwrap();
    (server, format!("http://{address}"))
}

#[test]
fn a_server_answers_as_a_database_does() {
    let folder = sites();
    let (_server, url) = serve(&folder);
    let remote = day(&folder, &format!("--server {url}"));
    let local = day(&sites(), "--database sqlite:berth.db");
    for (remote, local) in remote.split("\n$ ").zip(local.split("\n$ ")) {
        assert_eq!(remote, local);
    }
}

#[test]
fn postgresql_answers_as_sqlite_does() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    if let Some(url) = runtime.block_on(postgres_server::database()) {
        let shared = day(&sites(), &format!("--database {url}"));
        let file = day(&sites(), "--database sqlite:berth.db");
        for (shared, file) in shared.split("\n$ ").zip(file.split("\n$ ")) {
            assert_eq!(shared, file);
        }
    }
}

/// The documents of a folder need no layers to be committed, and what is committed is what was linted.
#[test]
fn the_telco_site_is_committed() {
    let folder = Folder::new();
    let site = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/telco-site");
    let loaded = folder.line(&format!("configdocs load telco -f {site}"));
    assert_eq!(loaded.exit, 0, "{loaded}");
    let committed = folder.line("configdocs commit");
    assert_eq!(committed.exit, 0, "{committed}");
    let diff = folder.line(&format!("diff committed {site} -o json"));
    assert_eq!(diff.exit, 0, "{diff}");
    let json = diff.json();
    assert_eq!(json["nodes"], serde_json::json!([]), "{diff}");
}

#[test]
fn secrets_are_sealed_and_hidden() {
    let folder = Folder::new();
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    folder.write("key", key).write("short", "00ff").write(
        "secret/passphrase.yaml",
        "\
schema: deckhand/Passphrase/v1
metadata:
  schema: metadata/Document/v1
  name: bmc
  storagePolicy: encrypted
  layeringDefinition: {layer: site}
data: hunter2
",
    );
    let refused = folder.line("apply -f secret");
    assert_eq!(refused.exit, 1, "{refused}");
    assert!(refused.stderr.contains("has storagePolicy encrypted"), "{refused}");
    let wrong = folder.line("apply -f secret --sealing-key-file short");
    assert_eq!(wrong.exit, 2, "{wrong}");
    let stored = folder.line("apply -f secret --sealing-key-file key");
    assert_eq!(stored.exit, 0, "{stored}");
    let again = folder.line("apply -f secret --sealing-key-file key");
    assert!(again.stdout.starts_with("nothing to change"), "{again}");
    let hidden = folder.line("show 1 --sealing-key-file key");
    assert!(hidden.exit == 0 && !hidden.stdout.contains("hunter2"), "{hidden}");
    let shown = folder.line("show 1 --cleartext --sealing-key-file key");
    assert!(shown.stdout.contains("hunter2"), "{shown}");
    let from_environment = finish(
        command()
            .current_dir(folder.path())
            .env("BERTH_SEALING_KEY", key)
            .args(["show", "1", "--cleartext"]),
        b"",
    );
    assert_eq!(from_environment.stdout, shown.stdout);
    let without = folder.line("show 1 --cleartext");
    assert!(without.exit != 0 && without.stdout.is_empty(), "{without}");
    let bytes = std::fs::read(folder.path().join("berth.db")).unwrap();
    assert!(!bytes.windows(7).any(|window| window == b"hunter2"));
    let check = folder.line("store check");
    assert!(
        check.stdout.contains("1 sealed document could not be looked into"),
        "{check}"
    );
}

/// Servers, actions and controllers read a site without its secrets, and so does a command.
#[test]
fn a_difference_of_revisions_tells_no_secret() {
    let folder = Folder::new();
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    folder.write("key", key).write(
        "site/site.yaml",
        "\
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [site]}
---
schema: deckhand/Passphrase/v1
metadata:
  schema: metadata/Document/v1
  name: bmc
  storagePolicy: encrypted
  layeringDefinition: {layer: site}
data: hunter2
---
schema: drydock/BaremetalNode/v1
metadata:
  schema: metadata/Document/v1
  name: w1
  storagePolicy: cleartext
  layeringDefinition: {layer: site}
  substitutions:
  - src: {schema: deckhand/Passphrase/v1, name: bmc, path: .}
    dest: {path: .metadata.owner_data.tier}
data: {metadata: {owner_data: {tier: none}}}
",
    );
    let stored = folder.line("apply -f site --sealing-key-file key");
    assert_eq!(stored.exit, 0, "{stored}");
    let compared = folder.line("diff 0 1 --sealing-key-file key");
    assert_ne!(compared.exit, 0, "{compared}");
    assert!(compared.stderr.contains("the value is secret"), "{compared}");
    assert!(
        !compared.stdout.contains("hunter2") && !compared.stderr.contains("hunter2"),
        "{compared}"
    );
}

#[test]
fn the_database_is_looked_after() {
    let folder = sites();
    assert_eq!(folder.line("apply -f site").exit, 0);
    insta::assert_snapshot!("check", folder.line("store check"));
    insta::assert_snapshot!("backup", folder.line("store backup copy.db"));
    assert_eq!(folder.line("store backup copy.db").exit, 2);
    let copy = folder.line("revisions --database sqlite:copy.db");
    assert_eq!(copy.stdout, folder.line("revisions").stdout);
    assert_eq!(folder.line("store compact").exit, 0);
    let json = folder.line("store check -o json").json();
    assert_eq!(
        (&json["revisions"], &json["problems"]),
        (&1.into(), &serde_json::json!([]))
    );
}

#[test]
fn mistakes_about_the_place() {
    let folder = sites();
    folder.write("not.db", "hello").write("empty/read.me", "");
    for (words, exit) in [
        ("revisions", 2),
        ("show 1 --database sqlite:nowhere.db", 2),
        ("revisions --database mysql://ada:secret@host/x", 2),
        ("revisions --database sqlite:not.db", 2),
        ("revisions --server 127.0.0.1", 2),
        ("revisions --server ftp://host", 2),
        ("revisions --server http://127.0.0.1:1", 3),
        ("apply -f site --server http://127.0.0.1:1", 3),
        ("revisions --database postgres://ada:secret@127.0.0.1:1/x", 2),
        ("revisions --database postgres://ada@127.0.0.1:1/x", 3),
        ("apply -f empty", 2),
        ("apply -f nowhere", 2),
        ("diff 1 site", 2),
        ("tag 1 x --data [1]", 2),
        ("store backup", 2),
    ] {
        let outcome = folder.line(words);
        assert_eq!(
            (outcome.exit, outcome.stdout.as_str()),
            (exit, ""),
            "{words}\n{outcome}"
        );
        assert!(
            outcome.stderr.contains("error: ") && !outcome.stderr.contains("secret"),
            "{outcome}"
        );
    }
    // Nothing of this left a database behind.
    assert!(!folder.path().join("berth.db").exists() && !folder.path().join("nowhere.db").exists());
    folder.write(
        "short/rack.yaml",
        "schema: drydock/Rack/v1\nmetadata: {name: r1}\ndata: {}\n",
    );
    insta::assert_snapshot!("wrong_form", folder.line("apply -f short"));
    folder.write(
        "other/map.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    insta::assert_snapshot!("other_kind", folder.line("apply -f other"));
}

#[test]
fn a_layered_folder_is_a_site_for_every_command() {
    let site = "-f examples/layered-site";
    for (name, words) in [
        ("layered_lint", format!("lint {site}")),
        ("layered_resolve", format!("resolve {site} -o json")),
        ("layered_explain", format!("explain {site} --node smyrgaear01")),
        ("layered_pools", format!("pools {site}")),
    ] {
        insta::assert_snapshot!(name, at_root(&words), &words);
    }
}
