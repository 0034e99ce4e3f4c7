//! What a restart keeps.

use berth_labels::Flavour;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Disk, Fleet, Habits, Phase, SimulatedTime};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::program::{loopback, options};

/// One request in plain words, without a library that could hide something.
async fn ask(server: &ApiServer, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        server.address(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_on_disk_and_old_watches_are_told_to_begin_anew() {
    let folder = TempDir::new().unwrap();
    let open = async || {
        let cluster = Cluster::open(options(), folder.path()).await.unwrap();
        ApiServer::start(cluster, loopback()).await.unwrap()
    };
    let server = open().await;
    let made = ask(&server, "POST", "/api/v1/nodes", r#"{"metadata":{"name":"n1"}}"#).await;
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let gone = ask(&server, "POST", "/api/v1/nodes", r#"{"metadata":{"name":"n2"}}"#).await;
    assert!(gone.starts_with("HTTP/1.1 201"), "{gone}");
    ask(&server, "DELETE", "/api/v1/nodes/n2", "").await;
    let revision = server.cluster().revision();
    server.stop().await;

    let server = open().await;
    assert!(server.cluster().revision() > revision);
    assert!(
        ask(&server, "GET", "/api/v1/nodes/n1", "")
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(
        ask(&server, "GET", "/api/v1/nodes/n2", "")
            .await
            .starts_with("HTTP/1.1 404")
    );
    let path = format!("/api/v1/nodes?watch=true&resourceVersion={revision}&timeoutSeconds=5");
    let watch = ask(&server, "GET", &path, "").await;
    assert!(
        watch.contains(r#""type":"ERROR""#) && watch.contains(r#""code":410"#),
        "{watch}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_is_nobody() {
    let server = ApiServer::start(Cluster::new(options()), loopback()).await.unwrap();
    for (method, headers, status) in [
        ("GET", "host: localhost", 200),
        ("GET", "host: evil.example", 403),
        ("GET", "host: 127.0.0.1.evil.example", 403),
        ("GET", "host: localhost\r\nhost: evil.example", 403),
        ("GET", "host: localhost\r\norigin: http://evil.example", 403),
        ("GET", "host: localhost\r\nsec-fetch-site: cross-site", 403),
        ("DELETE", "host: evil.example", 403),
        ("DELETE", "host: localhost\r\norigin: null", 403),
        ("DELETE", "host: localhost\r\nsec-fetch-site: same-site", 403),
    ] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let request = format!("{method} /api/v1/nodes HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{method} {headers}: {answer}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_told() {
    let first = ApiServer::start(Cluster::new(options()), loopback()).await.unwrap();
    let error = ApiServer::start(Cluster::new(options()), first.address())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("another program listens there"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_good_after_a_restart() {
    let folder = TempDir::new().unwrap();
    for life in 0..2 {
        let time = SimulatedTime::starting_at(Timestamp::UNIX_EPOCH);
        let cluster = Cluster::open(ClusterOptions::new(time.clock(), 1), folder.path())
            .await
            .unwrap();
        let mut fleet = Fleet::new(cluster, time, Flavour::Upstream, 1);
        fleet.approve_all(true);
        fleet.add("w1", Disk::image(), Habits::default());
        fleet.power_on("w1").unwrap();
        fleet.run(200).await;
        assert_eq!(fleet.phase("w1"), Some(Phase::Running), "life {life}");
        let cluster = fleet.cluster().clone();
        drop(fleet);
        // What was written is on disk before the next life begins.
        let server = ApiServer::start(cluster, loopback()).await.unwrap();
        let made = ask(
            &server,
            "POST",
            "/api/v1/nodes",
            &format!(r#"{{"metadata":{{"name":"n{life}"}}}}"#),
        )
        .await;
        assert!(made.starts_with("HTTP/1.1 201"), "{made}");
        server.stop().await;
    }
}
