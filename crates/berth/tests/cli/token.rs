//! `berth token` and `berth pointer`.

use berth_clock::Clock;
use berth_resources::TokenBinding;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity, kubeconfig};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;

use crate::{
    judge::ignition_takes,
    run::{Folder, Outcome, command, finish, line, with_stdin},
};

/// The outcome without what differs from run to run.
fn redacted(outcome: &Outcome) -> String {
    let mut text = String::new();
    for word in outcome
        .to_string()
        .split_inclusive(|c: char| c.is_whitespace() || "\",`;/".contains(c))
    {
        let (word, end) = word.split_at(
            word.trim_end_matches(|c: char| c.is_whitespace() || "\",`;/".contains(c))
                .len(),
        );
        let is_id = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_time = word.len() == 20 && word.ends_with('Z') && word.contains('T');
        text.push_str(match word {
            _ if word.starts_with("berth.") && word.len() > 60 => "[SECRET]",
            _ if is_id => "[ID]",
            _ if is_time => "[TIME]",
            other => other,
        });
        text.push_str(end);
    }
    text
}

fn create(folder: &Folder, words: &str) -> String {
    let outcome = folder.line(&format!("token create {words} --token-file tokens.json"));
    assert_eq!(outcome.exit, 0, "{outcome}");
    outcome.stdout.trim_end().to_owned()
}

fn id(secret: &str) -> &str {
    secret.split('.').nth(1).unwrap()
}

#[test]
fn a_token_from_its_making_to_its_end() {
    let folder = Folder::new();
    let outcome = folder.line("token create --pool worker --expires 24h --comment hut --token-file tokens.json");
    insta::assert_snapshot!("create", redacted(&outcome));
    let single = create(&folder, "--node n1 --single-use");
    create(&folder, "--any");
    let list = redacted(&folder.line("token list --token-file tokens.json -o wide"));
    // Tokens of the same second are in the order of their names, which are random.
    let (mut rows, other): (Vec<&str>, Vec<&str>) = list.lines().partition(|line| line.starts_with("[ID]"));
    rows.sort_unstable();
    insta::assert_snapshot!("list", [other, rows].concat().join("\n"));
    let revoke = folder.line(&format!("token revoke {} --token-file tokens.json", id(&single)));
    insta::assert_snapshot!("revoke", redacted(&revoke));
    let json = folder.line("token list --token-file tokens.json -o json").json();
    let revoked: Vec<_> = json
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["state"] == "revoked")
        .collect();
    assert_eq!(revoked.len(), 1);
    assert_eq!(revoked[0]["scope"], json!({"node": "n1"}));
}

#[test]
fn the_secret_is_on_standard_output_once_and_nowhere_else() {
    let folder = Folder::new();
    let outcome = folder.line("token create --any --token-file tokens.json");
    let secret = outcome.stdout.trim_end();
    assert!(secret.starts_with("berth.") && !secret.contains('\n'), "{outcome}");
    let key = secret.rsplit_once('.').unwrap().1;
    let file = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
    let list = folder.line("token list --token-file tokens.json -o json");
    let mistaken = folder.line(&format!("token revoke {secret} --token-file tokens.json"));
    assert_eq!(mistaken.exit, 2, "{mistaken}");
    for text in [
        &outcome.stderr,
        &file,
        &list.stdout,
        &list.stderr,
        &mistaken.stdout,
        &mistaken.stderr,
    ] {
        assert!(!text.contains(key), "{text}");
    }
}

#[test]
fn wrong_usage() {
    let folder = Folder::new();
    for words in [
        "token create --token-file t",
        "token create --any --pool a --token-file t",
        "token create --any",
        "token create --any --expires 0m --token-file t",
        "token create --any --expires tomorrow --token-file t",
        "token create --node a/b --token-file t",
        "token create --bootstrap W1",
        "token create --bootstrap w_1",
        "token revoke 0123456789abcdef --token-file t",
        "token create --any --token-file nowhere/t",
    ] {
        let outcome = folder.line(words);
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{words}\n{outcome}");
    }
    folder.write("t", "no json");
    let outcome = folder.line("token list --token-file t");
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(outcome.stderr.contains("t is not a token file"), "{outcome}");
}

#[test]
fn an_empty_list_says_why() {
    let outcome = Folder::new().line("token list --token-file tokens.json");
    assert_eq!(outcome.exit, 0);
    assert!(
        outcome.stderr.contains("there is no token file `tokens.json` yet"),
        "{outcome}"
    );
}

const URL: &str = "https://berth.example.com:22623/node/n1";

#[test]
fn a_pointer_carries_the_token_and_ignition_takes_it() {
    let folder = Folder::new();
    let secret = create(&folder, "--node n1");
    let outcome = line(&format!("pointer --url {URL} --token {secret} --spec 3.3.0"));
    insta::assert_snapshot!("pointer", redacted(&outcome));
    let piped = with_stdin(
        &format!("pointer --url {URL} --token-stdin --spec 3.3.0"),
        format!("{secret}\n"),
    );
    assert_eq!(piped.stdout, outcome.stdout);
    ignition_takes("pointer", &outcome.json());
}

#[test]
fn a_pointer_without_a_token_is_as_old_as_machines_may_be() {
    insta::assert_snapshot!("pointer_plain", line(&format!("pointer --url {URL}")));
    let version =
        |spec: &str| line(&format!("pointer --url {URL} --spec {spec}")).json()["ignition"]["version"].clone();
    for spec in ["2.2.0", "3.0.0", "3.5.0"] {
        assert_eq!(version(spec), json!(spec));
    }
}

#[test]
fn no_pointer_gives_a_secret_away() {
    let secret = create(&Folder::new(), "--any");
    for words in [
        format!("pointer --url http://berth.example.com/config/worker --token {secret}"),
        format!("pointer --url berth.example.com --token {secret}"),
        format!("pointer --url {URL} --token {secret}x"),
        format!("pointer --url {URL} --token {secret} --ca nowhere"),
        format!("pointer --url {URL} --token {secret} --spec 2.2.0"),
        format!("pointer --url {URL} --token {secret} --spec 9.9.9"),
        format!("pointer --url {URL} --token {secret} --token-stdin"),
    ] {
        let outcome = finish(command().args(words.split_whitespace()), b"");
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{words}\n{outcome}");
        assert!(!outcome.stderr.contains(&secret), "{outcome}");
    }
}

/// What the machine may do with it ends after a day: in the Secret that Kubernetes reads, and in the binding that Berth reads.
#[test]
fn a_bootstrap_token_expires_after_a_day_unless_somebody_says_otherwise() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 7));
    cluster.add_token("admin", Identity::administrator());
    let server = runtime
        .block_on(ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()))
        .unwrap();
    let folder = Folder::new();
    folder.write("kubeconfig", kubeconfig(&server.url(), "admin"));
    let berth = |words: &str| folder.line(&format!("{words} --kubeconfig kubeconfig"));
    let installed = berth("install --image example.com/berth:1 --admission off");
    assert_eq!(installed.exit, 0, "{installed}");
    let client = runtime.block_on(async {
        let read = Kubeconfig::read_from(folder.path().join("kubeconfig")).unwrap();
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        Client::try_from(config.unwrap()).unwrap()
    });
    for (more, lifetime) in [
        ("", SignedDuration::from_hours(24)),
        (" --expires 1h", SignedDuration::from_hours(1)),
        (" --expires 7d", SignedDuration::from_hours(7 * 24)),
    ] {
        let before = Clock::system().now();
        let created = berth(&format!("token create --bootstrap w1 -o json{more}"));
        let after = Clock::system().now();
        assert_eq!(created.exit, 0, "{created}");
        let created = created.json();
        let id = created["id"].as_str().unwrap();
        let (binding, secret) = runtime.block_on(async {
            let bindings: Api<TokenBinding> = Api::all(client.clone());
            let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
            let secret = secrets.get(&format!("bootstrap-token-{id}")).await;
            (bindings.get(id).await.unwrap(), secret.unwrap())
        });
        let expires = binding.spec.expires.unwrap();
        let second = SignedDuration::from_secs(1);
        assert!(
            expires > before + lifetime - second && expires <= after + lifetime,
            "{more}: {expires}, made between {before} and {after}"
        );
        assert_eq!(secret.data.unwrap()["expiration"].0, expires.to_string().as_bytes());
        assert_eq!(created["expires"], json!(expires.to_string()));
    }
}
