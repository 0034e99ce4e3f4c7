//! `berth serve`, run as a process: how it starts, what it refuses, and that no kill loses a write.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
};

use berth_store::{SealingKeys, Store};
use berth_testing::kills;
use serde_json::json;

use crate::{
    postgres_server,
    run::{Folder, command, finish},
    served::{PATIENCE, Served},
};

/// How often the server is killed, unless a campaign asks for more.
const KILLS: usize = 20;
const WRITERS: usize = 3;

fn start(arguments: &[&str]) -> Served {
    Served::start(command().arg("serve").args(arguments))
}

/// Status and body; nothing when the server went away.
fn ask(address: &str, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-yaml\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    if length.is_some_and(|length| length.parse() != Ok(body.len())) {
        return None;
    }
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

fn document(kind: &str, name: &str, more: &str, data: &str) -> String {
    format!(
        "---\nschema: {kind}\nmetadata:\n  schema: metadata/Document/v1\n  name: {name}\n  storagePolicy: \
         cleartext\n  layeringDefinition: {{layer: site}}\n{more}data: {data}\n"
    )
}

/// A write that the server has confirmed.
struct Confirmed {
    revision: u64,
    bucket: String,
    number: usize,
}

/// Writes until the server is gone.
fn write_on(address: &str, writer: usize, numbers: std::ops::Range<usize>, confirmed: &Sender<Confirmed>) {
    for number in numbers {
        let bucket = format!("writer{writer}");
        let body = document("example/Kind/v1", &bucket, "", &format!("{{number: {number}}}"));
        let path = format!("/api/v1.0/buckets/{bucket}/documents");
        let Some((status, body)) = ask(address, "PUT", &path, &body) else {
            return;
        };
        assert_eq!(status, 200, "{body}");
        let revision = body.lines().find_map(|line| line.trim().strip_prefix("revision: "));
        let revision = revision.unwrap().parse().unwrap();
        let said = Confirmed {
            revision,
            bucket,
            number,
        };
        if confirmed.send(said).is_err() {
            return;
        }
    }
}

#[test]
fn no_kill_loses_a_confirmed_write_on_sqlite() {
    let folder = Folder::new();
    let database = format!("sqlite:{}", folder.path().join("berth.db").display());
    no_kill_loses_a_confirmed_write(&database);
    let check = folder.line("store check");
    assert_eq!(check.exit, 0, "{check}");
}

#[test]
fn no_kill_loses_a_confirmed_write_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if let Some(database) = runtime.block_on(postgres_server::database()) {
        no_kill_loses_a_confirmed_write(&database);
    }
}

fn no_kill_loses_a_confirmed_write(database: &str) {
    let kills = kills(KILLS);
    let mut kept: Vec<Confirmed> = Vec::new();
    for round in 0..kills {
        let mut serve = command();
        serve
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "info"])
            .env("BERTH_DATABASE", database);
        let served = Served::start(&mut serve);
        let address: Arc<str> = Arc::from(served.address("the API is listening"));
        let (sender, confirmed) = channel();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (address, sender) = (Arc::clone(&address), sender.clone());
                let first = round * 1_000;
                std::thread::spawn(move || write_on(&address, writer, first..first + 1_000, &sender))
            })
            .collect();
        drop(sender);
        // The others are in the middle of a write when one of them has been told of its success.
        for _ in 0..=round % 5 {
            kept.push(confirmed.recv_timeout(PATIENCE).unwrap());
        }
        drop(served);
        kept.extend(confirmed.iter());
        for writer in writers {
            writer.join().unwrap();
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = berth_store::open(database, SealingKeys::none()).await.unwrap();
        let report = store.check().await.unwrap();
        assert_eq!(report.problems, []);
        assert!(kept.len() >= kills, "{}", kept.len());
        assert!(report.revisions >= kept.len() as u64);
        check_all(store.as_ref(), &kept).await;
    });
}

async fn check_all(store: &dyn Store, kept: &[Confirmed]) {
    for write in kept {
        let documents = store.documents(write.revision).await.unwrap();
        let found = documents
            .iter()
            .find(|document| document.bucket == write.bucket)
            .unwrap();
        assert_eq!(found.revision, write.revision);
        assert_eq!(found.data().unwrap(), &json!({"number": write.number}));
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    let folder = Folder::new();
    let database = format!("sqlite:{}", folder.path().join("berth.db").display());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    folder.write(
        "text.db",
        b"this is not a database, and it is long enough to be looked at as one",
    );
    let text_file = folder.path().join("text.db").display().to_string();
    let text = format!("sqlite:{text_file}");
    for (arguments, code, words) in [
        (
            vec!["--listen", "0.0.0.0:0", "--auth", "none", "--database", &database],
            2,
            "`--auth none` is for loopback addresses, and 0.0.0.0:0 is none",
        ),
        (
            vec!["--listen", "192.0.2.1:80", "--database", &database],
            2,
            "192.0.2.1:80 can be reached from elsewhere",
        ),
        (
            vec!["--listen", &taken, "--database", &database],
            2,
            "another program listens there",
        ),
        (
            vec!["--listen", "127.0.0.1:0", "--database", "mysql://x"],
            2,
            "sqlite:PATH or postgres://",
        ),
        (
            vec!["--listen", "127.0.0.1:0", "--database", &text],
            2,
            "is not a database",
        ),
        (
            vec!["--listen", "127.0.0.1:0", "--database", "postgres://127.0.0.1:1/x"],
            3,
            "Connection refused",
        ),
        (vec!["--database", &database], 2, "--listen"),
        (
            vec!["--plain-listen", "127.0.0.1:0", "--database", &database],
            2,
            "--tokens",
        ),
        (
            vec![
                "--listen",
                "127.0.0.1:0",
                "--database",
                &database,
                "--sealing-key-file",
                &text_file,
            ],
            2,
            "hexadecimal",
        ),
    ] {
        let mut berth = command();
        let output = finish(berth.arg("serve").args(&arguments), b"");
        let text = &output.stderr;
        assert!(text.contains(words), "{arguments:?}: {text}");
        assert_eq!(output.exit, code, "{arguments:?}: {text}");
    }
}

const LAYERS: &str = "\
---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layers}
data: {layerOrder: [site]}
";

fn site(motd: &str) -> String {
    let role = "machineconfiguration.openshift.io/role: worker";
    let pool = format!(
        "{{machineConfigSelector: {{matchLabels: {{{role}}}}}, nodeSelector: {{matchLabels: \
         {{node-role.kubernetes.io/worker: ''}}}}}}"
    );
    let config = format!(
        "{{config: {{ignition: {{version: 3.4.0}}, storage: {{files: [{{path: /etc/motd, contents: {{source: \
         'data:,{motd}'}}}}]}}}}}}"
    );
    [
        LAYERS,
        &document("berth/MachineConfigPool/v1", "worker", "", &pool),
        &document(
            "berth/MachineConfig/v1",
            "worker-base",
            &format!("  labels: {{{role}}}\n"),
            &config,
        ),
    ]
    .concat()
}

#[test]
fn machines_get_the_committed_revision_and_the_next_one() {
    let folder = Folder::new();
    let database = format!("sqlite:{}", folder.path().join("berth.db").display());
    let served = start(&[
        "--listen",
        "127.0.0.1:0",
        "--plain-listen",
        "127.0.0.1:0",
        "--allow-anonymous",
        "--database",
        &database,
    ]);
    let api = served.address("the API is listening");
    let ignition = served.address("listening without TLS");
    let (status, body) = ask(&ignition, "GET", "/config/worker", "").unwrap();
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("no revision of the documents is committed yet"), "{body}");

    let load = |text: &str| {
        let (status, body) = ask(&api, "POST", "/api/v1.0/configdocs/site", text).unwrap();
        assert_eq!(status, 201, "{body}");
    };
    let commit = || ask(&api, "POST", "/api/v1.0/commitconfigdocs", "").unwrap();
    for motd in ["one", "two"] {
        load(&site(motd));
        let (status, body) = commit();
        assert_eq!(status, 200, "{body}");
        served.wait_for("the site changed");
        let (status, body) = ask(&ignition, "GET", "/config/worker", "").unwrap();
        assert_eq!(status, 200, "{body}");
        assert!(body.contains(&format!("data:,{motd}")), "{body}");
    }
    // What is not sound is not committed.
    let lost = document("drydock/BaremetalNode/v1", "n1", "", "{host_profile: nowhere}");
    load(&format!("{}{lost}", site("three")));
    let (status, body) = commit();
    assert_eq!(status, 400, "{body}");
    let (_, body) = ask(&ignition, "GET", "/config/worker", "").unwrap();
    assert!(body.contains("data:,two"), "{body}");
    assert_eq!(served.signal("-TERM"), Some(0));
}
