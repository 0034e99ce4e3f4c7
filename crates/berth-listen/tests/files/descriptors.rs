//! The one test.

use std::{fs::File, net::SocketAddr, process::Command, time::Duration};

use berth_listen::{Callers, ListenOptions, RequestBody, Server, Service};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const INNER: &str = "BERTH_TEST_FEW_FILES";

#[derive(Clone)]
struct Hello;

impl Service for Hello {
    type Body = Full<Bytes>;

    fn callers(&self) -> Callers {
        Callers::Known
    }

    async fn answer(&self, _: SocketAddr, _: Request<RequestBody>) -> Response<Self::Body> {
        Response::new(Full::from("hello"))
    }
}

#[test]
fn without_files_clients_are_told_and_served_again_afterwards() {
    if std::env::var_os(INNER).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(without_files());
    }
    let own = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --nocapture"])
        .arg(own)
        .env(INNER, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

async fn without_files() {
    let options = ListenOptions {
        plain: Some("127.0.0.1:0".parse().unwrap()),
        ..ListenOptions::default()
    };
    let server = Server::bind(options, Hello).await.unwrap();
    let address = server.plain_address().unwrap();
    let running = tokio::spawn(server.run(std::future::pending()));
    assert!(ask(address).await.starts_with("HTTP/1.1 200"));

    let mut files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(files.len() < 64, "there is no limit");
    for _ in 0..3 {
        // One for the client's end, and so none for the server's.
        files.pop();
        let mut client = TcpStream::connect(address).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_mins(1), client.read_to_end(&mut answer)).await;
        read.expect("the client waits forever").unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer:?}");
        drop(client);
        files.push(File::open("/dev/null").unwrap());
    }
    drop(files);
    assert!(ask(address).await.starts_with("HTTP/1.1 200"));
    running.abort();
}

async fn ask(address: SocketAddr) -> String {
    let mut client = TcpStream::connect(address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    client.write_all(request).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    answer
}
