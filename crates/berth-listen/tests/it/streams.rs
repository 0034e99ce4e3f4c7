//! Event streams are counted apart.

use berth_listen::Limits;

use crate::support::{GET, Running, ask, assert_refused, begin};

const STREAM: &str = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn streams_take_no_place_of_a_connection_and_have_a_limit_of_their_own() {
    let server = Running::plain(Limits {
        connections: 2,
        connections_per_address: 2,
        streams: 4,
        streams_per_address: 3,
        ..Limits::default()
    })
    .await;
    let mut open = Vec::new();
    for address in [2, 2, 2, 3] {
        let mut stream = server.from(address).await;
        let answer = begin(&mut stream, STREAM).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        open.push(stream);
    }
    server
        .until("four", |usage| (usage.connections(), usage.streams()) == (0, 4))
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
