//! Files of the old kind.

use berth_ztp::{Manifest, convert};

use crate::site::documents;

const FILE: &str = r#"apiVersion: ran.openshift.io/v1
kind: SiteConfig
metadata: {name: smyrna, namespace: smyrna}
spec:
  baseDomain: telco.example
  pullSecretRef: {name: pull-secret}
  clusterImageSetNameRef: openshift-4.14
  clusters:
  - clusterName: smyrna
    apiVIP: 10.19.3.2
    ingressVIP: 10.19.3.3
    networkType: OVNKubernetes
    clusterLabels: {group: du}
    extraManifestPath: extra/
    machineNetwork: [{cidr: 10.19.3.0/24}]
    serviceNetwork: [172.30.0.0/16]
    crAnnotations: {add: {ManagedCluster: {a: b}}}
    nodes:
    - hostName: m0
      bmcAddress: redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1
      bmcCredentialsName: {name: m0-bmc}
      bootMACAddress: "52:54:00:00:00:01"
    - hostName: w0
      role: worker
      cpuset: 0-1
      nodeLabels: {telco.example/site: smyrna}
      ignitionConfigOverride: '{"ignition":{"version":"3.2.0"}}'
      bmcAddress: redfish-virtualmedia://10.0.0.2/redfish/v1/Systems/1
      bmcCredentialsName: {name: w0-bmc}
      bootMACAddress: "52:54:00:00:00:02"
"#;

#[test]
fn a_site_config_becomes_a_cluster_instance() {
    let (_, documents) = documents(&[("siteconfig.yaml".to_owned(), FILE.to_owned())]);
    let converted = convert(&documents);
    assert!(converted.diagnostics.is_empty(), "{:?}", converted.diagnostics);
    let text: Vec<String> = converted.manifests.iter().map(Manifest::yaml).collect();
    insta::assert_snapshot!(
        "site_config",
        format!("{}\n\n{}", text.join("---\n"), converted.notes.join("\n"))
    );
}

#[test]
fn a_bad_override_is_found_where_it_is() {
    let bad = FILE.replace("3.2.0", "3.4.0");
    let (sources, documents) = documents(&[("siteconfig.yaml".to_owned(), bad)]);
    let converted = convert(&documents);
    assert_eq!(converted.diagnostics[0].code(), "ztp-override");
    assert_eq!(
        sources.location(converted.diagnostics[0].span.unwrap()).line(),
        Some(27)
    );
}

/// The generator of `SiteConfig`s makes texts of scalars, and the hub takes nothing else.
#[test]
fn labels_become_texts() {
    let file = FILE.replace(
        "nodeLabels: {telco.example/site: smyrna}",
        "nodeLabels: {telco.example/site: smyrna, telco.example/remote: true, telco.example/row: 7, role/du: }",
    );
    let file = file.replace("clusterLabels: {group: du}", "clusterLabels: {group: du, wave: 2}");
    let (_, documents) = documents(&[("siteconfig.yaml".to_owned(), file)]);
    let converted = convert(&documents);
    let spec = &converted.manifests.last().unwrap().object["spec"];
    assert_eq!(
        spec["nodes"][1]["nodeLabels"],
        serde_json::json!({
            "telco.example/site": "smyrna", "telco.example/remote": "true", "telco.example/row": "7", "role/du": "",
        })
    );
    assert_eq!(
        spec["extraLabels"]["ManagedCluster"],
        serde_json::json!({"group": "du", "wave": "2"})
    );
}
