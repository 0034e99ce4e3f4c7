//! Event streams are counted apart.

use berth_listen::Limits;

use crate::support::{GET, Running, ask, assert_refused, begin};

pub(crate) const STREAM: &str = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn streams_take_no_place_of_a_connection_and_have_a_limit_of_their_own() {
    let server = Running::plain(Limits {
        connections: 4,
        connections_per_address: 2,
        streams: 6,
        streams_per_address: 3,
        ..Limits::default()
    })
    .await;
    let mut open = Vec::new();
    for address in [2, 2, 2, 3, 3, 3] {
        let mut stream = server.from(address).await;
        let answer = begin(&mut stream, STREAM).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        open.push(stream);
    }
    server
        .until("six", |usage| (usage.connections(), usage.streams()) == (0, 6))
        .await;
    for address in [1, 2, 3] {
        let answer = ask(server.from(address).await, GET).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_refused(
        &ask(server.from(2).await, STREAM).await,
        "503",
        "TooManyStreamsFromAddress",
    );
    assert_refused(&ask(server.from(4).await, STREAM).await, "503", "TooManyStreams");
    drop(open);
    server
        .until("none", |usage| (usage.connections(), usage.streams()) == (0, 0))
        .await;
    server.stop().await;
}
