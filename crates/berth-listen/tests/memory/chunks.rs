//! The one test.

use std::{net::SocketAddr, time::Duration};

use allocation_counter::measure;
use berth_listen::{Callers, Limits, RequestBody, Service, serve_stream};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Says how long the body was.
#[derive(Clone)]
struct Length;

impl Service for Length {
    type Body = Full<Bytes>;

    fn callers(&self) -> Callers {
        Callers::Known
    }

    async fn answer(&self, _: SocketAddr, request: Request<RequestBody>) -> Response<Self::Body> {
        let body = request.into_body().collect().await.map(|body| body.to_bytes().len());
        Response::new(Full::from(format!("{body:?}")))
    }
}

/// So many bytes of chunks are written at once: the server reads them one by one all the same.
const BURST: usize = 4096;

/// Sends a body in chunks, and gives the most memory that was in use.
fn most_memory(chunk: &str, count: usize) -> u64 {
    let measured = measure(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let answer = runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(16 << 10);
            let peer = SocketAddr::from(([192, 0, 2, 1], 5));
            // A busy machine may take its time.
            let limits = Limits {
                body_timeout: Duration::from_mins(10),
                ..Limits::default()
            };
            let serving = tokio::spawn(serve_stream(server, peer, Length, limits));
            let head = "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
            client.write_all(head.as_bytes()).await.unwrap();
            let at_once = (BURST / chunk.len()).max(1);
            let burst = chunk.repeat(at_once);
            let mut left = count;
            while left > 0 {
                let some = left.min(at_once);
                client.write_all(&burst.as_bytes()[..some * chunk.len()]).await.unwrap();
                left -= some;
            }
            client.write_all(b"0\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            serving.await.unwrap();
            answer
        });
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.ends_with(&format!("Ok({count})")), "{answer}");
    });
    measured.bytes_max
}

#[test]
fn bodies_in_small_chunks_cost_a_small_multiple_of_what_has_arrived() {
    /// A connection, its buffers and the runtime.
    const FIXED: u64 = 256 << 10;
    const COUNT: usize = 300_000;
    let spent = most_memory("1\r\nx\r\n", COUNT);
    let most = FIXED + 4 * u64::try_from(COUNT).unwrap();
    assert!(spent <= most, "{COUNT} chunks of one byte cost {spent} bytes");
    // What stands around a byte is not kept with it.
    let padded = format!("{}1\r\nx\r\n", "0".repeat(4000));
    let spent = most_memory(&padded, 1000);
    assert!(spent <= FIXED, "1000 bytes in chunks of 4 kB cost {spent} bytes");
}
