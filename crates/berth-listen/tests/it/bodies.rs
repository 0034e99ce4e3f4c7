//! Bodies that are large, slow or never end.

use std::{net::SocketAddr, time::Duration};

use berth_listen::{Limits, serve_stream};
use proptest::prelude::*;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    time::Instant,
};

use crate::support::{Demo, Running, ask, assert_refused};

const ANNOUNCED: usize = 8 << 20;

pub(crate) fn post(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")
}

#[tokio::test]
async fn half_sent_bodies_cost_what_has_arrived_and_never_more_than_their_share() {
    const SENT: usize = 1000;
    const SHARE: usize = 512 << 10;
    let server = Running::plain(Limits {
        body_bytes: 2 * SHARE,
        body_bytes_per_address: SHARE,
        ..Limits::default()
    })
    .await;
    let mut half_sent = Vec::new();
    for _ in 0..60 {
        let mut stream = server.from(2).await;
        stream.write_all(post(ANNOUNCED).as_bytes()).await.unwrap();
        stream.write_all(&[b'x'; SENT]).await.unwrap();
        half_sent.push(stream);
    }
    server
        .until("what was sent", |usage| usage.body_bytes() == 60 * SENT)
        .await;
    // They go on, and together would have half a gigabyte.
    let mut refused = 0;
    for stream in &mut half_sent {
        let part = vec![b'x'; 64 << 10];
        let (mut answers, mut requests) = stream.split();
        let mut answer = [0; 12];
        for _ in 0..ANNOUNCED / part.len() {
            tokio::select! {
                biased;
                read = answers.read(&mut answer) => {
                    assert_eq!(read.map(|length| &answer[..length]).ok(), Some(&b"HTTP/1.1 503"[..]));
                    refused += 1;
                    break;
                }
                _ = requests.write_all(&part) => {}
            }
            assert!(server.usage.body_bytes() <= SHARE);
        }
    }
    assert!(refused > 0, "somebody was refused");
    // Others have their share meanwhile.
    let body = "y".repeat(100 << 10);
    let answer = ask(server.from(1).await, &format!("{}{body}", post(body.len()))).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("102400 bytes"),
        "{answer}"
    );
    drop(half_sent);
    server.until("nothing", |usage| usage.body_bytes() == 0).await;
    server.stop().await;
}

#[tokio::test]
async fn a_body_without_room_is_refused_with_a_reason() {
    let server = Running::plain(Limits {
        body_bytes: 2000,
        ..Limits::default()
    })
    .await;
    for (length, is_taken) in [(1000, true), (1001, false), (1000, true)] {
        let answer = ask(server.from(1).await, &format!("{}{}", post(length), "x".repeat(length))).await;
        if is_taken {
            assert!(answer.ends_with("1000 bytes"), "{answer}");
        } else {
            assert_refused(&answer, "503", "TooManyBytesInFlight");
        }
    }
    server.stop().await;
}

fn in_memory(limits: Limits) -> DuplexStream {
    let (client, server) = tokio::io::duplex(64 << 10);
    let peer = SocketAddr::from(([192, 0, 2, 1], 5));
    tokio::spawn(serve_stream(server, peer, Demo, limits));
    client
}

fn slow() -> Limits {
    Limits {
        body_timeout: Duration::from_secs(10),
        body_rate: 100,
        ..Limits::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_is_given_up() {
    for first in ["", "x"] {
        let begun = Instant::now();
        let answer = ask(in_memory(slow()), &format!("{}{first}", post(50))).await;
        assert_refused(&answer, "408", "SlowRequestBody");
        assert_eq!(begun.elapsed(), Duration::from_secs(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_may_take_long_but_not_trickle() {
    for (bytes_a_second, is_taken) in [(101, true), (20, false)] {
        let mut client = in_memory(slow());
        client.write_all(post(6_060).as_bytes()).await.unwrap();
        let mut sent = 0;
        while sent < 6_060 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let part = "x".repeat(bytes_a_second.min(6_060 - sent));
            sent += part.len();
            if client.write_all(part.as_bytes()).await.is_err() {
                break;
            }
        }
        let answer = ask(client, "").await;
        if is_taken {
            assert!(answer.ends_with("6060 bytes"), "{answer}");
        } else {
            assert_refused(&answer, "408", "SlowRequestBody");
        }
    }
}

/// The head of a request whose body comes in chunks.
const CHUNKED: &str =
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Parts are gathered, and none is lost or changes its place.
    #[test]
    fn a_body_arrives_whole_however_it_is_cut(
        lengths in proptest::collection::vec(prop_oneof![1..40_usize, 1..40_000_usize], 0..40),
        is_chunked: bool,
        at_once: bool,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(async {
            let parts: Vec<String> = (b'a'..=b'z').cycle().zip(&lengths)
                .map(|(letter, length)| char::from(letter).to_string().repeat(*length))
                .collect();
            let body = parts.concat();
            let (mut reader, mut writer) = tokio::io::split(in_memory(Limits::default()));
            let write = async {
                let head = if is_chunked { CHUNKED.to_owned() } else { post(body.len()).replace("POST /", "POST /echo") };
                writer.write_all(head.as_bytes()).await.unwrap();
                for part in &parts {
                    let part = if is_chunked { format!("{:x}\r\n{part}\r\n", part.len()) } else { part.clone() };
                    writer.write_all(part.as_bytes()).await.unwrap();
                    if !at_once {
                        tokio::task::yield_now().await;
                    }
                }
                if is_chunked {
                    writer.write_all(b"0\r\nTrailer: x\r\n\r\n").await.unwrap();
                }
            };
            let mut answer = Vec::new();
            let (read, ()) = tokio::join!(reader.read_to_end(&mut answer), write);
            read.unwrap();
            (String::from_utf8(answer).unwrap(), body)
        });
        let (answer, body) = answer;
        let (_, echoed) = answer.split_once("\r\n\r\n").unwrap();
        prop_assert!(echoed == body, "{} bytes of {}", echoed.len(), body.len());
    }
}
