//! What travels, and who can see it: TLS of `berth serve`, and passwords of databases.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::PathBuf,
};

use crate::{
    run::{Folder, Outcome, command, finish},
    served::Served,
};

const SECRET: &str = "cormorant";

/// A certificate for this machine, and its key.
fn certificate(folder: &Folder) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    folder.write("tls.crt", made.cert.pem().as_bytes());
    folder.write("tls.key", made.signing_key.serialize_pem().as_bytes());
    (folder.path().join("tls.crt"), folder.path().join("tls.key"))
}

#[test]
fn the_api_is_served_with_tls_and_clients_check_its_certificate() {
    let folder = Folder::new();
    let (certificate, key) = certificate(&folder);
    let database = format!("sqlite:{}", folder.path().join("berth.db").display());
    let mut serve = command();
    serve.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--no-cluster",
        "--database",
        &database,
    ]);
    serve.arg("--tls-cert").arg(&certificate).arg("--tls-key").arg(&key);
    let served = Served::start(&mut serve);
    let line = served.wait_for("the API is listening");
    assert_eq!(line["tls"], true, "{line}");
    let url = format!("https://{}", line["address"].as_str().unwrap());

    let ask = |server: &str, trusts: bool| {
        let mut berth = command();
        berth.args(["revisions", "--server", server]);
        if trusts {
            berth.arg("--server-ca").arg(&certificate);
        }
        finish(&mut berth, b"")
    };
    let outcome = ask(&url, true);
    assert_eq!(outcome.exit, 0, "{outcome}");
    let outcome = ask(&url, false);
    assert_eq!(outcome.exit, 3, "{outcome}");
    let outcome = ask(&url.replace("https", "http"), true);
    assert_eq!(outcome.exit, 3, "{outcome}");
    assert_eq!(served.signal("-TERM"), Some(0));
}

#[test]
fn off_loopback_the_api_needs_a_certificate_or_a_word() {
    let folder = Folder::new();
    let (certificate, key) = certificate(&folder);
    let (certificate, key) = (certificate.to_str().unwrap(), key.to_str().unwrap());
    let database = format!("sqlite:{}", folder.path().join("berth.db").display());
    let tokens = folder.path().join("tokens.json");
    let common = [
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--no-cluster",
        "--database",
        &database,
        "--auth",
        "tokens",
        tokens.to_str().unwrap(),
    ];
    let outcome = finish(command().args(common), b"");
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(outcome.stderr.contains("there is no certificate for TLS"), "{outcome}");
    assert!(outcome.stderr.contains("--plain-http"), "{outcome}");
    let half = finish(command().args(common).args(["--tls-cert", certificate]), b"");
    assert_eq!(half.exit, 2, "{half}");

    for (more, is_secure) in [
        (vec!["--plain-http"], false),
        (vec!["--tls-cert", certificate, "--tls-key", key], true),
        (vec!["--tls-cert", certificate, "--tls-key", key, "--plain-http"], false),
    ] {
        let served = Served::start(command().args(common).args(&more));
        assert_eq!(served.wait_for("the API is listening")["tls"], is_secure, "{more:?}");
    }
}

const NOWHERE: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
";

#[test]
fn the_webhook_answers_only_clients_with_a_certificate_where_roots_are_given() {
    let folder = Folder::new();
    certificate(&folder);
    folder.write("kubeconfig", NOWHERE);
    // A certificate that is its own root is enough to be known by.
    let key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["api-server".to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    folder.write("clients.crt", own.pem());
    let mut serve = command();
    serve.current_dir(folder.path()).args([
        "serve",
        "--admission-listen",
        "127.0.0.1:0",
        "--admission-cert",
        "tls.crt",
        "--admission-key",
        "tls.key",
        "--admission-client-ca",
        "clients.crt",
        "--cluster-kubeconfig",
        "kubeconfig",
    ]);
    let served = Served::start(&mut serve);
    let url = format!("https://{}/healthz", served.address("admission reviews are answered"));
    let root = std::fs::read(folder.path().join("tls.crt")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ask = |identity: Option<String>| {
        let root = reqwest::Certificate::from_pem(&root).unwrap();
        let mut client = reqwest::Client::builder().tls_certs_only([root]);
        if let Some(identity) = identity {
            client = client.identity(reqwest::Identity::from_pem(identity.as_bytes()).unwrap());
        }
        runtime.block_on(client.build().unwrap().get(&url).send())
    };
    assert!(ask(None).is_err());
    let known = ask(Some(format!("{}{}", key.serialize_pem(), own.pem()))).unwrap();
    assert_eq!(known.status().as_u16(), 200);
    assert_eq!(served.signal("-TERM"), Some(0));
}

/// Nobody listens there, so an address that is taken ends in a refusal of the network.
fn address() -> String {
    format!("postgres://berth:{SECRET}@127.0.0.1:1/berth")
}

#[track_caller]
fn assert_refused(outcome: &Outcome, about: &str) {
    assert_eq!(outcome.exit, 2, "{about}: {outcome}");
    assert!(
        outcome.stderr.contains("can be seen by every user of this machine"),
        "{about}: {outcome}"
    );
    assert!(outcome.stderr.contains("--database-file"), "{about}: {outcome}");
    assert!(!outcome.to_string().contains(SECRET), "{about}: {outcome}");
}

#[track_caller]
fn assert_taken(outcome: &Outcome, about: &str) {
    assert_eq!(outcome.exit, 3, "{about}: {outcome}");
    assert!(outcome.stderr.contains("Connection refused"), "{about}: {outcome}");
    assert!(!outcome.to_string().contains(SECRET), "{about}: {outcome}");
}

/// Every command that has an argument which the environment can give too, by name.
fn commands(variable: &str) -> Vec<Vec<String>> {
    fn below(command: &clap::Command, variable: &str, path: &[String], found: &mut Vec<Vec<String>>) {
        if command
            .get_arguments()
            .any(|argument| argument.get_env().is_some_and(|name| name == variable))
        {
            found.push(path.to_vec());
        }
        for command in command.get_subcommands() {
            let path = [path, &[command.get_name().to_owned()]].concat();
            below(command, variable, &path, found);
        }
    }
    let mut found = Vec::new();
    below(&berth::command(), variable, &[], &mut found);
    found
}

/// What else a command needs is found missing first, or not at all.
fn needed(words: &[String]) -> &'static [&'static str] {
    match words.join(" ").as_str() {
        "serve" => &["--listen", "127.0.0.1:0"],
        "store backup" => &["copy.db"],
        "show" | "rollback" => &["1"],
        "tag" => &["1", "x"],
        "configdocs load" => &["site", "-f", "x"],
        "configdocs show" => &["site"],
        "apply" | "diff" => &["-f", "x"],
        "shipyard" => &["get", "actions"],
        _ => &[],
    }
}

#[test]
fn a_password_in_an_argument_is_refused_by_every_command_and_never_repeated() {
    let commands = commands("BERTH_DATABASE");
    assert!(commands.len() >= 10, "{commands:?}");
    for words in commands {
        let more = needed(&words);
        for address in [
            address(),
            format!("postgres://127.0.0.1:1/berth?password={SECRET}"),
            format!("host=127.0.0.1 port=1 password={SECRET}"),
        ] {
            let mut berth = command();
            berth.args(&words).args(more).args(["--database", &address]);
            let outcome = finish(&mut berth, b"");
            if outcome.stderr.contains("can be seen by every user") {
                assert_refused(&outcome, &words.join(" "));
            } else {
                // Then it has not even looked at the address.
                assert!(
                    outcome.exit == 2 && outcome.stderr.contains("Usage:"),
                    "{words:?}: {outcome}"
                );
                assert!(!outcome.to_string().contains(SECRET), "{words:?}: {outcome}");
            }
        }
    }
    for words in ["revisions", "store check", "controller", "serve --listen 127.0.0.1:0"] {
        let mut berth = command();
        berth.args(words.split_whitespace()).args(["--database", &address()]);
        assert_refused(&finish(&mut berth, b""), words);
    }
}

#[test]
fn a_database_that_is_typed_is_not_passed_over_for_a_server() {
    let folder = Folder::new();
    folder.write("address", "sqlite:mine.db\n");
    for arguments in [
        ["revisions", "--database", "sqlite:mine.db"],
        ["revisions", "--database-file", "address"],
    ] {
        let mut by_environment = command();
        by_environment.current_dir(folder.path()).args(arguments);
        let outcome = finish(by_environment.env("BERTH_SERVER", "http://127.0.0.1:1"), b"");
        assert_eq!(outcome.exit, 2, "{outcome}");
        assert!(outcome.stderr.contains("BERTH_SERVER a server"), "{outcome}");
        let mut both = command();
        both.current_dir(folder.path()).args(arguments);
        let outcome = finish(both.args(["--server", "http://127.0.0.1:1"]), b"");
        assert_eq!(outcome.exit, 2, "{outcome}");
        assert!(outcome.stderr.contains("`--server` a server"), "{outcome}");
    }
}

#[test]
fn a_password_in_the_environment_or_a_file_is_taken() {
    let folder = Folder::new();
    folder.write("address", format!("{}\n", address()).as_bytes());
    let file = folder.path().join("address");
    let outcome = finish(command().env("BERTH_DATABASE", address()).arg("revisions"), b"");
    assert_taken(&outcome, "environment");
    let outcome = finish(command().arg("revisions").arg("--database-file").arg(&file), b"");
    assert_taken(&outcome, "file");
    let mut both = command();
    both.env("BERTH_DATABASE", "sqlite:nowhere.db");
    let outcome = finish(both.arg("revisions").arg("--database-file").arg(&file), b"");
    assert_taken(&outcome, "the file wins over the environment");
    let outcome = finish(
        command().args(["revisions", "--database", "postgres://berth@127.0.0.1:1/berth"]),
        b"",
    );
    assert_taken(&outcome, "an address without a password");

    folder.write("empty", b"\n");
    let empty = folder.path().join("empty");
    let outcome = finish(command().arg("revisions").arg("--database-file").arg(&empty), b"");
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(
        outcome.stderr.contains("does not hold the address of a database"),
        "{outcome}"
    );
    let mut two = command();
    two.args(["revisions", "--database", "sqlite:x.db", "--database-file"]);
    let outcome = finish(two.arg(&file), b"");
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(outcome.stderr.contains("name two databases"), "{outcome}");
}

/// A database server that answers the question for TLS with this, and gives everything that it was sent.
fn database_server(answer: &'static [u8]) -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = [0; 8];
        stream.read_exact(&mut question).unwrap();
        stream.write_all(answer).unwrap();
        let mut rest = Vec::new();
        // A client that is not satisfied may hang up in any way.
        let _ = stream.read_to_end(&mut rest);
        rest
    });
    (port, serving)
}

#[test]
fn a_database_that_does_no_tls_is_not_told_who_asks() {
    for (answer, is_silent) in [(&b"N"[..], true), (&b"Sthis is not TLS"[..], false)] {
        let (port, serving) = database_server(answer);
        let address = format!("postgres://{SECRET}@127.0.0.1:{port}/berth?sslmode=verify-full");
        let outcome = finish(command().args(["revisions", "--database", &address]), b"");
        assert_eq!(outcome.exit, 3, "{outcome}");
        assert!(
            outcome
                .stderr
                .contains("cannot connect to the database on 127.0.0.1 with TLS"),
            "{outcome}"
        );
        assert!(outcome.stderr.contains("sslrootcert=FILE"), "{outcome}");
        let sent = serving.join().unwrap();
        assert!(!is_silent || sent.is_empty(), "{}", sent.escape_ascii());
        assert!(!sent.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }
}

#[test]
fn what_is_installed_has_the_address_in_the_environment_alone() {
    let outcome = finish(
        command().args([
            "install",
            "--image",
            "example.com/berth:1",
            "--database-secret",
            "berth-database",
            "--dry-run",
            "-o",
            "json",
        ]),
        b"",
    );
    assert_eq!(outcome.exit, 0, "{outcome}");
    let list = outcome.json();
    let objects = list["items"].as_array().unwrap();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["name"], "BERTH_DATABASE");
    assert_eq!(
        container["env"][0]["valueFrom"]["secretKeyRef"]["name"],
        "berth-database"
    );
    assert!(
        !container["args"].to_string().contains("DATABASE"),
        "{}",
        container["args"]
    );
}

#[test]
fn a_key_or_token_in_an_argument_is_refused_by_every_command_and_never_repeated() {
    for (long, variable, least) in [
        ("--sealing-key", "BERTH_SEALING_KEY", 10),
        ("--token", "BERTH_TOKEN", 5),
        ("--os-auth-token", "OS_AUTH_TOKEN", 1),
    ] {
        let mut refused = 0;
        for words in commands(variable) {
            let mut berth = command();
            berth
                .args(&words)
                .args([long, SECRET])
                .args(needed(&words))
                .args(if variable == "BERTH_SEALING_KEY" {
                    &[][..]
                } else {
                    &["--server", "http://127.0.0.1:1"]
                });
            let outcome = finish(&mut berth, b"");
            assert_eq!(outcome.exit, 2, "{words:?} {long}: {outcome}");
            assert!(!outcome.to_string().contains(SECRET), "{words:?} {long}: {outcome}");
            if outcome.stderr.contains("can be seen by every user of this machine") {
                assert!(outcome.stderr.contains(variable), "{words:?} {long}: {outcome}");
                assert!(outcome.stderr.contains("-file FILE"), "{words:?} {long}: {outcome}");
                refused += 1;
            } else {
                assert!(outcome.stderr.contains("Usage:"), "{words:?} {long}: {outcome}");
            }
        }
        assert!(refused >= least, "{long}: {refused}");
    }
    // Behind the words of Shipyard too.
    let mut berth = command();
    berth.args(["shipyard", "get", "actions", "--os-auth-token", SECRET]);
    let outcome = finish(&mut berth, b"");
    assert!(outcome.stderr.contains("OS_AUTH_TOKEN"), "{outcome}");
    // The environment is nobody else's to see.
    let mut berth = command();
    berth.args(["shipyard", "get", "actions", "--server", "http://127.0.0.1:1"]);
    let outcome = finish(berth.env("OS_AUTH_TOKEN", SECRET), b"");
    assert_eq!(outcome.exit, 3, "{outcome}");
}

/// A password that stands in any address of a web server, of whatever option.
#[test]
fn a_password_in_the_address_of_a_server_is_refused_and_never_repeated() {
    let listen = "serve --listen 127.0.0.1:0 --database sqlite:berth.db";
    let ca = "iso embed";
    for words in [
        format!("{listen} --auth keystone https://user:{SECRET}@keystone.example/v3"),
        format!("{listen} --auth keystone https://user:{SECRET}/@keystone.example/v3"),
        format!("{listen} --deckhand http://user:{SECRET}@deckhand.example:9000/api/v1.0"),
        format!("{listen} --deckhand http://{SECRET}@deckhand.example:9000/api/v1.0"),
        format!("{listen} --deckhand http://deckhand.example:9000/api/v1.0?token={SECRET}"),
        format!("{listen} --auth keystone https://keystone.example/v3?token={SECRET}"),
        format!("{listen} --auth keystone ftp://user:{SECRET}@keystone.example/v3"),
        format!("{listen} --auth keystone //user:{SECRET}@keystone.example/v3"),
        format!("revisions --server https://user:{SECRET}@berth.example"),
        format!("shipyard get actions --server http://user:{SECRET}@berth.example"),
        format!("{ca} --url https://user:{SECRET}@mcs.example/config/worker image.iso"),
    ] {
        let folder = Folder::new();
        let mut berth = command();
        berth.current_dir(folder.path()).args(words.split_whitespace());
        let outcome = finish(&mut berth, b"");
        assert_eq!(outcome.exit, 2, "{words}: {outcome}");
        assert!(!outcome.to_string().contains(SECRET), "{words}: {outcome}");
        assert!(
            !outcome.stderr.contains("Usage:"),
            "it is refused because of the address: {outcome}"
        );
    }
    // From the environment too: what is there ends in messages.
    for server in [
        "https://user:SECRET@berth.example",
        "user:SECRET@berth.example",
        "https://user:SECRET@berth.example:x",
    ] {
        let mut berth = command();
        berth
            .arg("revisions")
            .env("BERTH_SERVER", server.replace("SECRET", SECRET));
        let outcome = finish(&mut berth, b"");
        assert_eq!(outcome.exit, 2, "{outcome}");
        assert!(!outcome.to_string().contains(SECRET), "{outcome}");
    }
}
