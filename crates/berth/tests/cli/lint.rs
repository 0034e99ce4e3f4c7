//! `berth lint`.

use std::collections::BTreeSet;

use serde_json::json;

use crate::run::{Folder, line, with_stdin};

const BROKEN_YAML: &str = "\
apiVersion: berth.dev/v1alpha1
kind: Region
metadata:
  name: \"unclosed
---
apiVersion: berth.dev/v1alpha1
kind: Region
kind: Region
metadata:
  name: second
";

#[test]
fn findings_are_shown_with_their_source() {
    let folder = Folder::new();
    folder.write("site/a.yaml", BROKEN_YAML);
    insta::assert_snapshot!(folder.line("lint -f site"));
}

#[test]
fn json_has_exactly_the_fields_of_the_contract() {
    let outcome = with_stdin(
        "lint -f - -o json",
        "apiVersion: v1\nkind: Namespace\nkind: A\nmetadata: {name: one}\n",
    );
    let json = outcome.json();
    let finding = &json[0];
    let fields: BTreeSet<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        BTreeSet::from(["severity", "code", "message", "file", "line", "column", "help"])
    );
    assert_eq!(finding["severity"], json!("error"));
    assert_eq!(finding["code"], json!("duplicate-key"));
    assert_eq!(
        (&finding["file"], &finding["line"], &finding["column"]),
        (&json!("<stdin>"), &json!(3), &json!(1))
    );
    assert_eq!(outcome.exit, 1);
}

#[test]
fn every_code_is_listed_and_explained() {
    let outcome = line("lint --list -o json");
    assert_eq!(outcome.exit, 0);
    let codes: Vec<String> = outcome
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|lint| lint["code"].as_str().unwrap().to_owned())
        .collect();
    assert!(codes.is_sorted(), "{codes:?}");
    let unique: BTreeSet<_> = codes.iter().collect();
    assert_eq!(unique.len(), codes.len(), "two lints share a code: {codes:?}");
    assert_eq!(codes.len(), berth::lints().len());
    for code in codes {
        let outcome = line(&format!("lint --explain {code}"));
        assert_eq!((outcome.exit, outcome.stderr.as_str()), (0, ""), "{outcome}");
        assert!(outcome.stdout.contains(&format!("[{code}]: ")), "{outcome}");
        assert!(outcome.stdout.lines().count() >= 3, "{outcome}");
    }
}

#[test]
fn an_unknown_code_is_exit_2_with_close_matches() {
    insta::assert_snapshot!(line("lint --explain duplicate-kex"));
    assert_eq!(line("lint --explain zzzzzz").exit, 2);
}

/// What `oc get mcp,mc -o yaml` gives, as far as it matters here.
fn openshift_dump(annotations: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: List
items:
- apiVersion: machineconfiguration.openshift.io/v1
  kind: MachineConfigPool
  metadata: {{name: worker}}
  spec:
    nodeSelector: {{matchLabels: {{node-role.kubernetes.io/worker: \"\"}}}}
    machineConfigSelector: {{matchLabels: {{machineconfiguration.openshift.io/role: worker}}}}
- apiVersion: machineconfiguration.openshift.io/v1
  kind: MachineConfig
  metadata:
    name: 01-worker-kubelet
    labels: {{machineconfiguration.openshift.io/role: worker}}
    annotations: {{{annotations}}}
  spec:
    config:
      ignition: {{version: 3.4.0}}
      systemd:
        units:
        - name: kubelet.service
          enabled: true
          contents: |
            [Service]
            ExecStart=/usr/bin/kubelet --node-labels=node-role.kubernetes.io/worker
"
    )
}

#[test]
fn a_dump_of_openshift_is_judged_by_the_rules_of_openshift() {
    let dump = openshift_dump("machineconfiguration.openshift.io/generated-by-controller-version: 4a1b2c");
    let by_itself = with_stdin("lint -f -", &dump);
    assert_eq!(by_itself.exit, 0, "{by_itself}");
    let note = "note: judged by the rules of OpenShift: the Machine Config Operator generated machine config `01-worker-kubelet`";
    assert!(by_itself.stderr.contains(note), "{by_itself}");
    let asked = with_stdin("lint -f - --flavour openshift", &dump);
    assert_eq!((asked.exit, &asked.stdout), (0, &by_itself.stdout), "{asked}");
    assert!(!asked.stderr.contains("judged by"), "{asked}");

    // Said otherwise, or with nothing that shows it, upstream's rules hold.
    for outcome in [
        with_stdin("lint -f - --flavour upstream", &dump),
        with_stdin("lint -f -", openshift_dump("")),
    ] {
        assert_eq!(outcome.exit, 1, "{outcome}");
        assert!(outcome.stdout.contains("kubelet-stopped"), "{outcome}");
    }
}
