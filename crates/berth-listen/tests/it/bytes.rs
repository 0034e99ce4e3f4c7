//! Whatever bytes come, every connection ends and nothing panics. The fuzz target `http` searches further.

use std::{net::SocketAddr, time::Duration};

use berth_listen::{Limits, serve_stream};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::Demo;

/// Pieces of requests, so that most of a sequence is nearly right.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![
        Just("GET / HTTP/1.1\r\nHost: localhost\r\n"),
        Just("POST / HTTP/1.1\r\nHost: localhost\r\n"),
        Just("GET /stream HTTP/1.0\r\n"),
        Just("Content-Length: 5\r\n"),
        Just("Content-Length: 99999999999999999999\r\n"),
        Just("Transfer-Encoding: chunked\r\n"),
        Just("Expect: 100-continue\r\n"),
        Just("Connection: upgrade\r\n"),
        Just("\r\n"),
        Just("hello"),
        Just("5\r\nhello\r\n"),
        Just("ffffffffffffffff\r\n"),
        Just("0\r\n\r\n"),
    ];
    prop_oneof![
        4 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #[test]
    fn every_connection_ends_and_nothing_panics(pieces in proptest::collection::vec((piece(), any::<bool>()), 0..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (client, server) = tokio::io::duplex(4 << 10);
            let limits = Limits {
                body_bytes: 100,
                ..Limits::default()
            };
            let served = tokio::spawn(serve_stream(server, SocketAddr::from(([127, 0, 0, 1], 1)), Demo, limits));
            let (mut answers, mut requests) = tokio::io::split(client);
            let reading = tokio::spawn(async move {
                let mut read = Vec::new();
                let _ = answers.read_to_end(&mut read).await;
                assert!(read.is_empty() || read.starts_with(b"HTTP/1."), "{}", read.escape_ascii());
            });
            for (piece, waits) in pieces {
                if requests.write_all(&piece).await.is_err() {
                    break;
                }
                if waits {
                    tokio::time::sleep(Duration::from_secs(7)).await;
                }
            }
            let _ = requests.shutdown().await;
            // Who has sent everything may still want to read a stream. Then it goes away.
            tokio::time::sleep(Duration::from_mins(2)).await;
            drop(requests);
            reading.abort();
            let ended = tokio::time::timeout(Duration::from_hours(1), served).await;
            ended.expect("the connection ends").expect("nothing panics");
            assert!(!reading.await.is_err_and(|error| error.is_panic()));
        });
    }
}
