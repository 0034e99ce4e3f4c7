//! `berth ignition-server`, run as a process and asked over plain HTTP.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use berth_ignition::{file_contents, parse};
use serde_json::{Value, json};

use crate::{
    judge::ignition_takes,
    run::{Folder, at_root, command, finish},
    served::{PATIENCE, Served},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A running server.
pub(crate) struct Server {
    served: Served,
    address: String,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let served = Served::start(command.args(["--plain-listen", "127.0.0.1:0"]));
        let address = served.address("listening without TLS");
        Self { served, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Status and body.
    pub(crate) fn get(&self, path: &str, headers: &str) -> (u16, String) {
        get(&self.address, path, headers)
    }

    pub(crate) fn config(&self, path: &str) -> Value {
        self.config_with(path, "")
    }

    pub(crate) fn config_with(&self, path: &str, headers: &str) -> Value {
        let accept = format!("Accept: application/vnd.coreos.ignition+json;version=3.3.0\r\n{headers}");
        let (status, body) = self.get(path, &accept);
        assert_eq!(status, 200, "{path} {body}");
        serde_json::from_str(&body).unwrap()
    }
}

/// Status and body of what a server answers over plain HTTP.
pub(crate) fn get(address: &str, path: &str, headers: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// The text of a file; nothing where there is no such file, or none with text.
pub(crate) fn file(config: &Value, path: &str) -> Option<String> {
    let config = parse(config).config?;
    String::from_utf8(file_contents(config.find_file(path)?).ok()?).ok()
}

fn site() -> Folder {
    let folder = Folder::new();
    let text = std::fs::read("tests/fixtures/diff/old/site.yaml").unwrap();
    folder.write("site/site.yaml", text);
    folder
}

/// A machine that boots with a name which the cluster does not have is degraded, so it is said before the first one asks.
#[test]
fn the_log_says_that_the_operator_may_have_other_names() {
    let mut berth = command();
    berth.current_dir(ROOT).args([
        "ignition-server",
        "-f",
        "examples/telco-site",
        "--allow-anonymous",
        "--plain-listen",
        "127.0.0.1:0",
    ]);
    let served = Served::start(&mut berth);
    let words =
        "the Machine Config Operator may name the rendered config of infra, master, worker, worker-rwn differently";
    served.wait_for(words);
    served.wait_for("listening without TLS");
    assert!(!served.logged().iter().any(|line| line.to_string().contains(words)));
}

#[test]
fn the_telco_site_is_served_and_ignition_takes_it() {
    let mut berth = command();
    berth
        .current_dir(ROOT)
        .args(["serve", "--site", "examples/telco-site", "--allow-anonymous"]);
    let server = Server::start(&mut berth);
    for path in [
        "/config/worker",
        "/config/worker-rwn",
        "/node/smyrgaear02",
        "/node/atlngamac01",
    ] {
        ignition_takes(path, &server.config(path));
    }
    // The machine's own labels, and only those that its kubelet may set.
    let node = server.config("/node/smyrgaear02");
    let labels = file(&node, "/etc/berth/labels").unwrap();
    assert!(labels.contains("node.kubernetes.io/worker-rwn="), "{labels}");
    // The kubelet unit of the site has OpenShift's hook, so that the labels are handed over there too.
    let env = file(&node, "/etc/kubernetes/kubelet-env").unwrap();
    assert!(env.starts_with("CUSTOM_KUBELET_LABELS="), "{env}");
    assert!(env.contains("node.kubernetes.io/worker-rwn="), "{env}");
    // A machine that asks for its pool boots with the labels that `berth ignition --pool` gives it.
    let printed = at_root("ignition -f examples/telco-site --pool worker-rwn").json();
    let env = |config: &Value| file(config, "/etc/kubernetes/kubelet-env").unwrap();
    let of_pool = env(&server.config("/config/worker-rwn"));
    assert_eq!(of_pool, env(&printed));
    assert!(of_pool.contains("node.kubernetes.io/worker-rwn="), "{of_pool}");
    assert!(!of_pool.contains("telco.example/clli"), "{of_pool}");

    let entry = server.served.wait_for("smyrgaear02");
    assert!(entry.to_string().contains("worker-rwn"), "{entry}");
    for (path, status) in [
        ("/healthz", 200),
        ("/config/wrker", 404),
        ("/node/nobody", 404),
        ("/", 404),
    ] {
        assert_eq!(server.get(path, "").0, status, "{path}");
    }
    assert_eq!(server.served.signal("-INT"), Some(0));
}

#[test]
fn a_change_is_served_and_a_mistake_is_not() {
    let folder = site();
    let mut berth = command();
    let path = folder.path().join("site");
    berth.args(["ignition-server", "--allow-anonymous", "-f"]).arg(&path);
    let server = Server::start(&mut berth);
    let motd = || file(&server.config("/config/worker"), "/etc/motd");
    assert_eq!(motd().as_deref(), Some("one\ntwo\nthree\n"));

    let old = std::fs::read_to_string(path.join("site.yaml")).unwrap();
    folder.write("site/site.yaml", old.replace("two", "TWO"));
    server.served.wait_for("the site changed");
    assert_eq!(motd().as_deref(), Some("one\nTWO\nthree\n"));

    folder.write("site/more.yaml", "kind: [");
    let finding = server.served.wait_for("more.yaml");
    assert_eq!(finding["level"], json!("ERROR"), "{finding}");
    server.served.wait_for("the last good state is still served");
    assert_eq!(motd().as_deref(), Some("one\nTWO\nthree\n"));

    std::fs::remove_file(path.join("more.yaml")).unwrap();
    server.served.wait_for("the site changed");
    std::fs::remove_file(path.join("site.yaml")).unwrap();
    server.served.wait_for("the last good state is still served");
    assert_eq!(motd().as_deref(), Some("one\nTWO\nthree\n"));
    assert_eq!(server.served.signal("-INT"), Some(0));
}

#[test]
fn tokens_are_asked_for_and_never_logged() {
    let folder = site();
    let create = |words: &str| {
        folder
            .line(&format!("token create {words} --token-file tokens.json"))
            .stdout
    };
    let (token, other) = (create("--pool worker"), create("--node dal-w1"));
    let mut berth = command();
    berth.current_dir(folder.path());
    berth.args(["ignition-server", "-f", "site", "--tokens", "tokens.json"]);
    let server = Server::start(&mut berth);
    let status = |path: &str, token: &str| {
        let header = match token.trim_end() {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        server.get(path, &header).0
    };
    assert_eq!(status("/config/worker", ""), 401);
    assert_eq!(status("/config/worker", &token), 200);
    assert_eq!(status("/config/worker", &other), 403);
    assert_eq!(status("/node/dal-w1", &other), 200);
    // The server notices what a command changes.
    let id = token.split('.').nth(1).unwrap();
    assert_eq!(
        folder.line(&format!("token revoke {id} --token-file tokens.json")).exit,
        0
    );
    assert_eq!(status("/config/worker", &token), 401);
    let secrets: Vec<String> = [&token, &other]
        .map(|token| token.trim_end().rsplit_once('.').unwrap().1.to_owned())
        .into();
    let log: Vec<Value> = server.served.logged();
    assert!(!log.is_empty());
    assert!(
        !log.iter()
            .any(|line| secrets.iter().any(|secret| line.to_string().contains(secret)))
    );
}

#[test]
fn what_keeps_it_from_starting_is_said() {
    let folder = site();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    folder.write("broken/a.yaml", "kind: [").write("key", "no key");
    for (words, exit, word) in [
        (
            format!("-f site --plain-listen {taken} --allow-anonymous"),
            2,
            "another program listens there",
        ),
        ("-f site --plain-listen 127.0.0.1:0".to_owned(), 2, "--tokens"),
        ("-f site --allow-anonymous".to_owned(), 2, "--ignition-listen"),
        (
            "-f site --plain-listen 127.0.0.1:0 --tokens none.json".to_owned(),
            2,
            "berth token create",
        ),
        (
            "-f broken --plain-listen 127.0.0.1:0 --allow-anonymous".to_owned(),
            1,
            "--> broken/a.yaml:1:",
        ),
        (
            "-f nowhere --plain-listen 127.0.0.1:0 --allow-anonymous".to_owned(),
            2,
            "nowhere",
        ),
        (
            "-f - --plain-listen 127.0.0.1:0 --allow-anonymous".to_owned(),
            2,
            "standard input",
        ),
        (
            "-f site --ignition-listen 127.0.0.1:0 --allow-anonymous".to_owned(),
            2,
            "--tls-cert",
        ),
        (
            "-f site --ignition-listen 127.0.0.1:0 --tls-cert key --tls-key none --allow-anonymous".to_owned(),
            2,
            "cannot serve TLS",
        ),
        (
            "-f site --plain-listen 127.0.0.1:0 --allow-anonymous --announce-to key".to_owned(),
            2,
            "--announce-to needs --tokens",
        ),
    ] {
        let mut berth = command();
        berth
            .current_dir(folder.path())
            .arg("ignition-server")
            .args(words.split_whitespace());
        let outcome = finish(&mut berth, b"");
        assert_eq!(
            (outcome.exit, outcome.stdout.as_str()),
            (exit, ""),
            "{words}\n{outcome}"
        );
        assert!(outcome.stderr.contains(word), "{words}\n{outcome}");
    }
}
