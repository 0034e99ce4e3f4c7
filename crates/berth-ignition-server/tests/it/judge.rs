//! What is served, as `ignition-validate` sees it.

use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr},
    process::{Command, Stdio},
};

use berth_ignition_server::{Access, Pointer, pointer};
use http::Request;
use http_body_util::BodyExt as _;

use crate::support::{is_here, service};

const PROGRAM: &str = "ignition-validate";

fn judge(name: &str, config: &[u8]) {
    let mut child = Command::new(PROGRAM)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(config).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {said}");
    // Not even a warning.
    assert_eq!(said.trim(), "", "{name}");
}

#[tokio::test]
async fn ignition_accepts_every_served_config_in_the_versions_it_knows() {
    if !is_here(PROGRAM, "-version") {
        return;
    }
    let service = service(Access::Anonymous);
    for version in ["3.0.0", "3.1.0", "3.2.0", "3.3.0"] {
        for path in ["/config/worker", "/node/n1"] {
            let request = Request::builder()
                .uri(path)
                .header(
                    "accept",
                    format!("application/vnd.coreos.ignition+json;version={version}, */*;q=0.1"),
                )
                .body(())
                .unwrap();
            let response = service.respond(IpAddr::V4(Ipv4Addr::LOCALHOST), &request).await;
            assert_eq!(response.status(), 200);
            let body = response.into_body().collect().await.unwrap().to_bytes();
            judge(&format!("{path} {version}"), &body);
        }
    }
    let small = pointer(&Pointer {
        url: "https://berth.example.com:22623/node/n1",
        headers: &[("X-Site".to_owned(), "a".to_owned())],
        ..Pointer::default()
    })
    .unwrap();
    judge("pointer", small.to_string().as_bytes());
}
