//! Mistakes that everybody makes once: one line says what is wrong, where, and what to do.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::Stdio,
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::run::{Folder, at_root, command, finish};

/// An address of ours that refuses connections: the port was bound a moment ago and is free again.
fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn kubeconfig(address: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
clusters: [{{name: site, cluster: {{server: \"http://{address}\"}}}}]
contexts: [{{name: a, context: {{cluster: site, user: u}}}}]
users: [{{name: u, user: {{}}}}]
current-context: a
"
    )
}

#[test]
fn a_missing_kubeconfig() {
    let home = Folder::new();
    let mut status = command();
    status.args(["status"]).env("HOME", home.path());
    for variable in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST"] {
        status.env_remove(variable);
    }
    let outcome = finish(&mut status, b"");
    assert_eq!(
        outcome.stderr,
        "error: no kubeconfig: ~/.kube/config does not exist. Set KUBECONFIG or use --kubeconfig\n"
    );
    assert_eq!(outcome.exit, 3);
}

#[test]
fn an_api_server_or_a_server_that_refuses_connections() {
    let folder = Folder::new();
    let address = closed_address();
    folder.write("kubeconfig", kubeconfig(&address));
    for command in ["status", "doctor", "install --image registry.example/berth:1"] {
        let outcome = folder.line(&format!("{command} --kubeconfig kubeconfig"));
        let words = format!("error: cannot reach http://{address} (context a): connection refused\n");
        assert_eq!(outcome.stderr, words, "{command}");
        assert_eq!(outcome.exit, 3, "{command}");
    }
    let outcome = folder.line(&format!("actions --server http://{address}"));
    assert_eq!(
        outcome.stderr,
        format!("error: cannot reach http://{address}: connection refused\n")
    );
    assert_eq!(outcome.exit, 3);

    let outcome = folder.line("status --kubeconfig kubeconfig --context b");
    assert_eq!(outcome.stderr, "error: the kubeconfig has no context `b`; it has a\n");
}

/// Ten watches that try again and again fail for one reason, and one line says it.
#[test]
fn controllers_say_once_that_the_api_server_is_away() {
    let folder = Folder::new();
    let address = closed_address();
    folder.write("kubeconfig", kubeconfig(&address));
    let mut controller = command()
        .args(["controller", "--kubeconfig"])
        .arg(folder.path().join("kubeconfig"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let log = BufReader::new(controller.stderr.take().unwrap());
    thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let about = |line: &String| line.contains("cannot reach") || line.contains("failed") || line.contains("error");
    let mut said = Vec::new();
    // The first line comes when the first request fails; four more seconds have dozens of further requests.
    if let Ok(first) = lines.recv_timeout(Duration::from_mins(1)) {
        said.push(first);
    }
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(4)) {
        said.push(line);
        assert!(said.len() < 20, "{said:#?}");
    }
    controller.kill().unwrap();
    controller.wait().unwrap();
    let outage: Vec<&String> = said.iter().filter(|line| about(line)).collect();
    assert_eq!(outage.len(), 1, "{said:#?}");
    assert!(
        outage[0].ends_with(&format!(
            "cannot reach http://{address} (context a): connection refused"
        )),
        "{said:#?}"
    );
}

#[test]
fn a_name_that_is_nearly_right() {
    let telco = "-f examples/telco-site --nodes examples/telco-cluster/nodes.yaml";
    let outcome = at_root(&format!("rehearse {telco} --fail atlngamaw2"));
    assert!(
        outcome
            .stderr
            .starts_with("error: node `atlngamaw2` does not exist\nhint: did you mean `atlngamaw02`"),
        "{outcome}"
    );
    assert_eq!(outcome.exit, 2);
}

#[test]
fn what_is_neither_a_folder_nor_a_revision() {
    let folder = Folder::new();
    folder.write("site/pool.yaml", "");
    let outcome = folder.line("diff nosuch site");
    assert!(
        outcome
            .stderr
            .starts_with("error: `nosuch` is neither a folder nor a revision\nhint: "),
        "{outcome}"
    );
    assert_eq!(outcome.exit, 2);
}

#[test]
fn a_folder_without_its_flag() {
    let outcome = at_root("resolve examples/telco-site");
    assert!(
        outcome
            .stderr
            .ends_with("hint: name files and folders with -f: `-f examples/telco-site`\n"),
        "{outcome}"
    );
    let outcome = at_root("resolve nowhere");
    assert!(!outcome.stderr.contains("hint"), "{outcome}");
}
