//! Connections: in all, and from one address.

use std::time::Duration;

use berth_listen::Limits;
use tokio::io::AsyncWriteExt as _;

use crate::{
    bodies::post,
    streams::STREAM,
    support::{GET, KEEP, Running, ask, assert_refused, begin},
};

#[tokio::test]
async fn half_sent_requests_from_one_address_do_not_keep_others_out() {
    let server = Running::plain(Limits {
        // Nothing is given up by and by: whoever is served is served beside all of them.
        read_timeout: Duration::from_hours(1),
        ..Limits::default()
    })
    .await;
    let mut half_sent = Vec::new();
    for _ in 0..1_100 {
        let mut stream = server.from(2).await;
        // Those beyond the limit may be closed by now.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHo").await;
        half_sent.push(stream);
    }
    let most = Limits::default().connections_per_address;
    server.until("full", |usage| usage.connections() == most).await;
    for _ in 0..20 {
        let answer = ask(server.from(1).await, GET).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(half_sent);
    server.until("empty again", |usage| usage.connections() == 0).await;
    let answer = ask(server.from(2).await, GET).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn whoever_is_too_many_is_told_so_and_served_later() {
    let server = Running::plain(Limits {
        connections: 4,
        connections_per_address: 2,
        ..Limits::default()
    })
    .await;
    let mut open = Vec::new();
    for address in [2, 2, 3, 3] {
        let mut stream = server.from(address).await;
        assert!(begin(&mut stream, KEEP).await.starts_with("HTTP/1.1 200"));
        open.push(stream);
    }
    assert_refused(
        &ask(server.from(2).await, GET).await,
        "503",
        "TooManyConnectionsFromAddress",
    );
    assert_refused(&ask(server.from(4).await, GET).await, "503", "TooManyConnections");
    open.remove(0);
    server.until("one less", |usage| usage.connections() == 3).await;
    let answer = ask(server.from(4).await, GET).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;
}

/// As with `--max-connections 6` alone, or where the process may open few files.
#[tokio::test]
async fn one_address_has_no_more_than_half_however_few_there_are() {
    let server = Running::plain(Limits {
        connections: 6,
        streams: 4,
        body_bytes: 1 << 20,
        ..Limits::default()
    })
    .await;
    let mut open = Vec::new();
    for address in [2, 2, 2, 3, 3] {
        let mut stream = server.from(address).await;
        assert!(begin(&mut stream, KEEP).await.starts_with("HTTP/1.1 200"));
        open.push(stream);
    }
    assert_refused(
        &ask(server.from(2).await, GET).await,
        "503",
        "TooManyConnectionsFromAddress",
    );
    drop(open);
    server.until("none", |usage| usage.connections() == 0).await;
    let mut open = Vec::new();
    for address in [2, 2, 3] {
        let mut stream = server.from(address).await;
        assert!(begin(&mut stream, STREAM).await.starts_with("HTTP/1.1 200"));
        open.push(stream);
    }
    assert_refused(
        &ask(server.from(2).await, STREAM).await,
        "503",
        "TooManyStreamsFromAddress",
    );
    let body = "x".repeat((1 << 19) + 1);
    let answer = ask(server.from(2).await, &format!("{}{body}", post(body.len()))).await;
    assert_refused(&answer, "503", "TooManyBytesInFlight");
    drop(open);
    server.stop().await;
}
