//! Remote workers at day 0, first part: what is created on the hub that installs the cluster, judged by `berth ztp check` before the
//! hub sees it. What the Assisted Service and its operators do with it is theirs.

use serde_json::{Value, json};

use super::{done, item};
use crate::run::Folder;

const AGENT_SERVICE_CONFIG: &str = r#"apiVersion: agent-install.openshift.io/v1beta1
kind: AgentServiceConfig
metadata:
  name: agent
spec:
  databaseStorage:
    storageClassName: fs-lso
    accessModes:
    - ReadWriteOnce
    resources:
      requests:
        storage: 10Gi
  filesystemStorage:
    storageClassName: fs-lso
    accessModes:
    - ReadWriteOnce
    resources:
      requests:
        storage: 20Gi
  osImages:
  - cpuArchitecture: x86_64
    openshiftVersion: "4.8"
    rootFSUrl: https://mirror.example/4.8/rhcos-live-rootfs.x86_64.img
    url: https://mirror.example/4.8/rhcos-live.x86_64.iso
    version: 48.84.202109241901-0
  - cpuArchitecture: x86_64
    openshiftVersion: "4.9"
    rootFSUrl: https://mirror.example/4.9/rhcos-live-rootfs.x86_64.img
    url: https://mirror.example/4.9/rhcos-live.x86_64.iso
    version: 49.84.202110081407-0
"#;

/// A host, in the namespace of its cluster.
const HOST: &str = r#"apiVersion: v1
kind: Secret
metadata:
  name: worker-2-ztp
  namespace: ztp
data:
  username: "dGVzdA=="
  password: "dGVzdA=="
type: Opaque
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: worker-2-ztp
  namespace: ztp
  labels:
    infraenvs.agent-install.openshift.io: "ztp"
  annotations:
    inspect.metal3.io: disabled
    bmac.agent-install.openshift.io/hostname: "openshift-worker-2"
    bmac.agent-install.openshift.io/role: "worker"
    ANNOTATION
spec:
  online: true
  bootMACAddress: de:ad:bb:f3:00:10
  automatedCleaningMode: disabled
  rootDeviceHints:
    deviceName: /dev/vda
  bmc:
    address: redfish-virtualmedia://192.0.2.1:8080/redfish/v1/Systems/8544312d
    credentialsName: worker-2-ztp
    disableCertificateVerification: true
"#;

/// The Node among the extra manifests, with the comment that its authors gave it.
const LABELS: &str = r#"kind: ConfigMap
apiVersion: v1
metadata:
  name: extra-manifests-ztp
  namespace: ztp
data:
  98_worker0_labels.yaml: |
    apiVersion: v1
    kind: Node
    metadata:
      labels:
      # We need to add the role label, otherwise the node won't get a role assigned automatically
        node-role.kubernetes.io/worker: ""
        node.openshift.io/os_id: "rhcos"
        openshift.io/ingress: "true"
      name: openshift-worker-0
    spec: {}
"#;

/// What the hub has before the patches.
fn hub() -> Folder {
    let folder = Folder::new();
    folder
        .write("hub/agentserviceconfig.yaml", AGENT_SERVICE_CONFIG)
        .write("hub/08_bmh.yaml", HOST.replace("    ANNOTATION\n", ""))
        .write(
            "hub/provisioning.json",
            json!({"apiVersion": "metal3.io/v1alpha1", "kind": "Provisioning",
                "metadata": {"name": "provisioning-configuration"}, "spec": {"provisioningNetwork": "Disabled"}})
            .to_string(),
        );
    folder
}

/// `oc patch --type merge -p PATCH`, on a file.
fn patch(folder: &Folder, file: &str, patch: &str) {
    fn merge(into: &mut Value, patch: Value) {
        let Value::Object(fields) = patch else {
            *into = patch;
            return;
        };
        for (key, value) in fields {
            merge(&mut into[key], value);
        }
    }
    let text = std::fs::read(folder.path().join(file)).unwrap();
    let mut object = serde_json::from_slice(&text).unwrap();
    merge(&mut object, serde_json::from_str(patch).unwrap());
    folder.write(file, object.to_string());
}

fn findings(folder: &Folder) -> Value {
    folder.line("ztp check hub --release 4.9 -o json").json()
}

fn codes(findings: &Value) -> Vec<&str> {
    let list = findings.as_array().unwrap();
    list.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// The service is taken as it is written; only a field that it does not read is named.
#[test]
fn the_service_is_taken() {
    let folder = Folder::new();
    folder.write("hub/agentserviceconfig.yaml", AGENT_SERVICE_CONFIG);
    let found = findings(&folder);
    assert_eq!(codes(&found), ["ztp-field", "ztp-field"], "{found:#}");
    for finding in found.as_array().unwrap() {
        assert_eq!(finding["severity"], json!("warning"));
        assert!(
            finding["message"]
                .as_str()
                .unwrap()
                .starts_with("`rootFSUrl` is ignored"),
            "{finding:#}"
        );
    }
    folder.write(
        "hub/agentserviceconfig.yaml",
        AGENT_SERVICE_CONFIG.replace("name: agent\n", "name: service\n"),
    );
    assert!(
        codes(&findings(&folder)).contains(&"ztp-hub"),
        "only one name is looked at"
    );
}

/// `oc patch provisioning provisioning-configuration --type merge -p …`: hosts of every namespace are looked at.
#[test]
fn hosts_outside_the_operators_namespace_need_the_patch() {
    let folder = hub();
    let found = findings(&folder);
    let finding = item(&found, "code", "ztp-hub");
    assert_eq!(
        finding["message"],
        json!("hosts of namespace `ztp` are not looked at: `watchAllNamespaces` is not true")
    );
    patch(
        &folder,
        "hub/provisioning.json",
        r#"{"spec":{"watchAllNamespaces": true}}"#,
    );
    assert_eq!(codes(&findings(&folder)), ["ztp-field", "ztp-field"]);

    // "You just need to create the objects inside the openshift-machine-api namespace" otherwise.
    let folder = hub();
    let host = HOST
        .replace("    ANNOTATION\n", "")
        .replace("namespace: ztp", "namespace: openshift-machine-api");
    folder.write("hub/08_bmh.yaml", host);
    assert_eq!(codes(&findings(&folder)), ["ztp-field", "ztp-field"]);
}

/// `oc create configmap … --from-literal=…` and the patch that lets the service read it: the installation can start, and everybody
/// is told what nobody supports.
#[test]
fn validations_that_are_switched_off_are_named() {
    let folder = hub();
    patch(
        &folder,
        "hub/provisioning.json",
        r#"{"spec":{"watchAllNamespaces": true}}"#,
    );
    let mut service: Value = json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig",
        "metadata": {"name": "agent"}, "spec": {
            "databaseStorage": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
            "filesystemStorage": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}}});
    std::fs::remove_file(folder.path().join("hub/agentserviceconfig.yaml")).unwrap();
    folder.write("hub/agentserviceconfig.json", service.take().to_string());
    patch(
        &folder,
        "hub/agentserviceconfig.json",
        r#"{"metadata":{"annotations":{"unsupported.agent-install.openshift.io/assisted-service-configmap":"assisted-service-config"}}}"#,
    );
    let config = |ids: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "assisted-service-config", "namespace": "open-cluster-management"},
            "data": {"DISABLED_HOST_VALIDATIONS": ids}})
        .to_string()
    };
    folder.write(
        "hub/assisted-service-config.json",
        config("belongs-to-majority-group,belongs-to-machine-cidr"),
    );
    let found = findings(&folder);
    assert_eq!(codes(&found), ["ztp-validations-off"], "{found:#}");
    assert_eq!(found[0]["severity"], json!("warning"));
    // One wrong letter, and the service does not start.
    folder.write(
        "hub/assisted-service-config.json",
        config("belongs-to-majority-group,belongs-to-machine-cdir"),
    );
    let found = findings(&folder);
    let stopped = item(&found, "severity", "error");
    assert_eq!(stopped["code"], json!("ztp-validations"));
    assert!(
        stopped["message"].as_str().unwrap().contains("belongs-to-machine-cdir"),
        "{stopped:#}"
    );
}

/// The override of the host: it has no effect, and it is refused as it is written.
#[test]
fn the_ignition_override_of_a_host_cannot_remove_the_static_pod() {
    let folder = hub();
    let annotation = "bmac.agent-install.openshift.io/ignition-config-overrides: '{\"storage\": {\"files\": [{\"path\": \
                      \"/etc/kubernetes/manifests/keepalived.yaml\", \"contents\": {\"source\": \"data:text/plain;base64,e30=\"}}]}}'";
    folder.write("hub/08_bmh.yaml", HOST.replace("ANNOTATION", annotation));
    let found = findings(&folder);
    assert!(codes(&found).contains(&"ztp-override"), "{found:#}");
    let path = item(&found, "code", "ztp-override-path");
    assert!(
        path["message"].as_str().unwrap().contains("this has no effect"),
        "{path:#}"
    );
    assert!(
        path["help"]
            .as_str()
            .unwrap()
            .contains("MachineConfig of the host's pool"),
        "{path:#}"
    );
}

/// "Assisted Installer deployments failed all the time" with a Node among the extra manifests.
#[test]
fn a_node_among_the_extra_manifests_is_refused() {
    let folder = hub();
    folder.write("hub/06_extra_manifests.yaml", LABELS);
    let found = findings(&folder);
    let finding = item(&found, "code", "ztp-manifest");
    assert_eq!(finding["severity"], json!("error"));
    assert_eq!(
        finding["message"],
        json!(
            "Node `openshift-worker-0` among the extra manifests makes an assisted installation fail: it never becomes Ready"
        )
    );
    assert_eq!(
        (&finding["file"], &finding["line"]),
        (&json!("hub/06_extra_manifests.yaml"), &json!(9))
    );
}

/// "This approach was tested and worked for UPI deployments": the same Node, printed from the site.
#[test]
fn the_same_node_is_printed_for_machines_that_people_provision() {
    let folder = Folder::new();
    folder.write(
        "site.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: worker}\nspec:\n  \
         nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: \"\"}}\n---\napiVersion: berth.dev/v1alpha1\nkind: Berth\n\
         metadata: {name: openshift-worker-0}\nspec:\n  pool: worker\n  labels: {node.openshift.io/os_id: rhcos, \
         openshift.io/ingress: \"true\"}\n",
    );
    let printed = done(
        &folder,
        "node-manifest -f site.yaml --node openshift-worker-0 --install user-provisioned -o json",
    );
    assert_eq!(
        printed.json(),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {
            "node-role.kubernetes.io/worker": "", "node.openshift.io/os_id": "rhcos", "openshift.io/ingress": "true"},
            "name": "openshift-worker-0"}, "spec": {}})
    );
    let refused = folder.line("node-manifest -f site.yaml --node openshift-worker-0 --install assisted");
    assert_eq!((refused.exit, refused.stdout.as_str()), (1, ""), "{refused}");
}
