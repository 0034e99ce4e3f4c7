//! Following an action on a server that ends streams and cannot always answer.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value, json};

use crate::run::{command, finish};

const ID: &str = "01JA0000000000000000000000";

fn action(lifecycle: &str) -> (&'static str, Value) {
    let action = json!({
        "id": ID, "name": "update_labels", "parameters": {}, "dag_id": "update_labels",
        "dag_execution_date": "2026-01-01T00:00:00", "user": "ada", "datetime": "2026-01-01 00:00:00+00:00",
        "context_marker": "", "dag_status": "RUNNING", "action_lifecycle": lifecycle, "committed_rev_id": 1,
        "allow_intermediate_commits": null, "strategy": "owned", "task_id": "t", "attempt": 1,
        "progress": {"nodes": 0, "succeeded": 0, "failed": 0, "pending": 0, "skipped": 0},
        "steps": [], "notes": [], "validations": [], "command_audit": [], "nodes": [],
    });
    ("200 OK", action)
}

fn refusal(status: &'static str, reason: &str) -> (&'static str, Value) {
    let refusal = json!({
        "kind": "status", "apiVersion": "v1.0", "metadata": {}, "status": "Failure", "message": "Kubernetes API Error",
        "reason": reason, "code": status, "retry": true,
    });
    (status, refusal)
}

/// Answers questions about the action one after the other, the last answer forever; streams end as soon as they have begun.
fn serve(answers: Vec<(&'static str, Value)>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let streams = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&streams);
    thread::spawn(move || {
        let mut asked = 0;
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            let line = request_line(&connection);
            let (status, kind, body) = if line.contains("/events") {
                counted.fetch_add(1, Ordering::SeqCst);
                ("200 OK", "text/event-stream", String::new())
            } else if line.starts_with("POST") {
                ("202 Accepted", "application/json", String::new())
            } else {
                let (status, body) = &answers[asked.min(answers.len() - 1)];
                asked += 1;
                (*status, "application/json", body.to_string())
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // A client that has gone asks no more.
            let _ = (&connection).write_all((head + &body).as_bytes());
        }
    });
    (address, streams)
}

fn request_line(connection: &TcpStream) -> String {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let line = lines.next().unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    line
}

#[test]
fn a_stream_that_ends_is_opened_again_until_the_action_is_over() {
    let (server, streams) = serve(vec![
        action("Processing"),
        refusal("503 Service Unavailable", "the token cannot be reviewed"),
        action("Processing"),
        action("Complete"),
    ]);
    let followed = finish(command().args(["retry", ID, "--wait", "--server", &server]), b"");
    assert_eq!(followed.exit, 0, "{followed}");
    assert!(
        followed.stderr.contains(
            "the server cannot answer now (Kubernetes API Error: the token cannot be reviewed); waiting for it"
        ),
        "{followed}"
    );
    assert!(followed.stdout.contains("Complete"), "{followed}");
    assert_eq!(streams.load(Ordering::SeqCst), 4, "one for each look at the action");
}

#[test]
fn who_is_not_let_in_any_more_is_told_so() {
    let (server, _) = serve(vec![
        action("Processing"),
        refusal("401 Unauthorized", "the token has expired"),
    ]);
    let followed = finish(command().args(["retry", ID, "--wait", "--server", &server]), b"");
    assert_eq!(followed.exit, 1, "{followed}");
    assert!(followed.stderr.contains("the token has expired"), "{followed}");
}
