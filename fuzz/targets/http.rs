//! Bytes on a connection: nothing panics, every connection ends, and a service without authentication sees only requests for this
//! machine.
//!
//! Input: what a client sends, in parts; separated by a line of `====`, where the client waits.
#![no_main]

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use berth_fuzz::byte_parts;
use berth_listen::{Callers, EventStream, Limits, RequestBody, Service, serve_stream};
use bytes::Bytes;
use http::{Request, Response, header::HOST};
use http_body_util::{BodyExt as _, Full};
use libfuzzer_sys::fuzz_target;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    runtime::Runtime,
};

const BODY_BYTES: usize = 1000;

/// Reads bodies, or not, and answers with their length.
#[derive(Clone)]
struct Router;

impl Service for Router {
    type Body = Full<Bytes>;

    fn callers(&self) -> Callers {
        Callers::Local
    }

    async fn answer(&self, _: SocketAddr, request: Request<RequestBody>) -> Response<Full<Bytes>> {
        let host = request.headers()[HOST].to_str().unwrap().to_ascii_lowercase();
        let name = match host.strip_prefix('[') {
            Some(address) => address.split(']').next(),
            None => host.split(':').next(),
        };
        let name = name.unwrap_or_default();
        let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
        assert!(name == "localhost" || name.parse().is_ok_and(is_loopback), "{host}");
        let mut response = Response::new(Full::default());
        match request.uri().path() {
            "/stream" => {
                response.extensions_mut().insert(EventStream);
            }
            "/unread" => {}
            _ => {
                let length = request
                    .into_body()
                    .collect()
                    .await
                    .map_or(0, |body| body.to_bytes().len());
                assert!(length <= BODY_BYTES);
                *response.body_mut() = Full::from(length.to_string());
            }
        }
        response
    }
}

async fn converse(data: &[u8]) {
    let (client, server) = tokio::io::duplex(4 << 10);
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    let limits = Limits {
        body_bytes: BODY_BYTES,
        streams: 1,
        ..Limits::default()
    };
    let served = tokio::spawn(serve_stream(server, peer, Router, limits));
    let (mut answers, mut requests) = tokio::io::split(client);
    let reading = tokio::spawn(async move {
        let mut read = Vec::new();
        let _ = answers.read_to_end(&mut read).await;
        read
    });
    for part in byte_parts(data, 8) {
        if requests.write_all(part).await.is_err() {
            break;
        }
        // The clock is not real: it goes on whenever everybody waits.
        tokio::time::sleep(Duration::from_secs(7)).await;
    }
    let _ = requests.shutdown().await;
    let ended = tokio::time::timeout(Duration::from_secs(3600), served).await;
    ended.expect("the connection ends").expect("nothing panics");
    let read = reading.await.expect("nothing panics");
    assert!(
        read.is_empty() || read.starts_with(b"HTTP/1."),
        "{}",
        read.escape_ascii()
    );
}

thread_local! {
    /// One for all inputs; nothing is left in it when a conversation has ended.
    static RUNTIME: Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
}

fuzz_target!(|data: &[u8]| {
    RUNTIME.with(|runtime| runtime.block_on(converse(data)));
});
