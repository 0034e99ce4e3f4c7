//! Connections: certificates, limits, and the end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use berth_ignition_server::Access;
use berth_listen::{Limits, ListenError, ListenOptions, Server};
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    version::{TLS12, TLS13},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::support::{Identity, Running, local, service};

const ONCE: &[u8] = b"GET /config/worker HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const KEEP: &[u8] = b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

async fn tls(
    address: SocketAddr,
    trusted: &str,
    version: &'static SupportedProtocolVersion,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let trusted = CertificateDer::from_pem_slice(trusted.as_bytes()).map_err(std::io::Error::other)?;
    roots.add(trusted).map_err(std::io::Error::other)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .map_err(std::io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// Sends a request and reads until the server closes.
async fn once(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> String {
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends a request that has no body in its answer, and reads that.
async fn keep(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> String {
    stream.write_all(KEEP).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_listeners_serve_and_a_new_certificate_needs_no_restart() {
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::new(folder.path());
    let old = identity.renew();
    let server = Running::start(identity.listen(), service(Access::Anonymous)).await;
    let address = server.tls.unwrap();

    let plain = once(TcpStream::connect(server.plain.unwrap()).await.unwrap(), ONCE).await;
    assert!(plain.starts_with("HTTP/1.1 200 OK\r\n"), "{plain}");
    for version in [&TLS12, &TLS13] {
        let secure = once(tls(address, &old, version).await.unwrap(), ONCE).await;
        let body = |answer: &str| answer.split_once("\r\n\r\n").unwrap().1.to_owned();
        assert_eq!(body(&secure), body(&plain));
    }

    let mut open = tls(address, &old, &TLS13).await.unwrap();
    keep(&mut open).await;
    let new = identity.renew();
    let patient = async {
        while tls(address, &new, &TLS13).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), patient).await.unwrap();
    assert!(
        tls(address, &old, &TLS13).await.is_err(),
        "the old one is not served any more"
    );
    assert!(
        keep(&mut open).await.starts_with("HTTP/1.1 200"),
        "open connections stay"
    );

    // Neither garbage in the files nor a client without TLS harms the server.
    std::fs::write(&identity.certificate, "garbage").unwrap();
    once(TcpStream::connect(address).await.unwrap(), ONCE).await;
    assert!(tls(address, &new, &TLS12).await.is_ok());
    server.stop().await;
}

#[tokio::test]
async fn what_cannot_be_listened_on_is_said_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::new(folder.path());
    let nowhere = Server::bind(ListenOptions::default(), service(Access::Anonymous)).await;
    assert!(matches!(nowhere.unwrap_err(), ListenError::Nowhere));

    let server = Running::start(identity.listen(), service(Access::Anonymous)).await;
    let taken = server.plain.unwrap();
    let options = ListenOptions {
        plain: Some(taken),
        ..ListenOptions::default()
    };
    let error = Server::bind(options, service(Access::Anonymous)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {taken}; another program listens there")
    );
    server.stop().await;

    std::fs::remove_file(&identity.key).unwrap();
    let error = Server::bind(identity.listen(), service(Access::Anonymous))
        .await
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        source.starts_with("cannot read ") && source.ends_with("tls.key"),
        "{source}"
    );
}

#[tokio::test]
async fn idle_clients_do_not_keep_the_server_from_ending() {
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity::new(folder.path());
    let server = Running::start(identity.listen(), service(Access::Anonymous)).await;
    let (plain, secure) = (server.plain.unwrap(), server.tls.unwrap());
    let silent = TcpStream::connect(secure).await.unwrap();
    let mut idle = TcpStream::connect(plain).await.unwrap();
    assert!(keep(&mut idle).await.starts_with("HTTP/1.1 200"));
    tokio::time::timeout(Duration::from_secs(5), server.stop())
        .await
        .unwrap();
    assert_eq!(idle.read(&mut [0; 8]).await.unwrap(), 0, "closed");
    assert!(TcpStream::connect(plain).await.is_err(), "nobody listens");
    drop(silent);
}

fn limited(limits: Limits) -> ListenOptions {
    ListenOptions {
        plain: Some(local()),
        limits,
        ..ListenOptions::default()
    }
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_request_is_cut_off() {
    let limits = Limits {
        read_timeout: Duration::from_millis(20),
        ..Limits::default()
    };
    let server = Running::start(limited(limits), service(Access::Anonymous)).await;
    let mut slow = TcpStream::connect(server.plain.unwrap()).await.unwrap();
    slow.write_all(b"GET /config/worker HTTP/1.1\r\nHos").await.unwrap();
    let mut rest = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), slow.read_to_end(&mut rest)).await;
    assert!(read.is_ok(), "still open");
    server.stop().await;
}

#[tokio::test]
async fn a_request_with_huge_headers_is_refused() {
    let server = Running::start(limited(Limits::default()), service(Access::Anonymous)).await;
    let mut stream = TcpStream::connect(server.plain.unwrap()).await.unwrap();
    let request = format!(
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(64 << 10)
    );
    // The server may close before it has read all of it.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431");
    server.stop().await;
}

/// Configs hold secrets: whoever serves them to anybody serves them to machines, and not to pages.
#[tokio::test]
async fn without_tokens_pages_of_other_sites_get_no_config() {
    let server = Running::start(limited(Limits::default()), service(Access::Anonymous)).await;
    let address = server.plain.unwrap();
    for (headers, status) in [
        ("Host: 10.0.2.2:8080", "200"),
        ("Accept: */*", "200"),
        ("Host: evil.example", "421"),
        ("Host: localhost\r\nOrigin: http://evil.example", "403"),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site", "403"),
    ] {
        let request = format!("GET /config/worker HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n");
        let answer = once(TcpStream::connect(address).await.unwrap(), request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}: {answer}");
        assert_eq!(answer.contains("data:,ahoy"), status == "200", "{headers}: {answer}");
    }
    server.stop().await;
}
