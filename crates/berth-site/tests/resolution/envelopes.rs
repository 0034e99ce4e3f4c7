//! Networks, the cluster and what is placed in it say the same in both envelopes.

use berth_documents::Sources;
use berth_labels::Flavour;
use berth_site::{Placement, Resolver};
use serde_json::{Value, json};

use crate::{Read, read};

const SITE: &str = "
apiVersion: berth.dev/v1alpha1
kind: Network
metadata: {name: machine}
spec: {cidr: 10.19.3.0/24, vlan: 3}
---
apiVersion: berth.dev/v1alpha1
kind: Network
metadata: {name: remote}
spec: {cidr: 10.19.142.0/24}
---
apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: georgia}
spec:
  baseDomain: telco.example
  release: '4.18'
  apiVIPs: [10.19.3.2]
  ingressVIPs: [10.19.3.3]
  machineNetworks: [machine]
  remoteSites: [{name: smyrna, networks: [remote]}]
---
apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: default}
spec:
  nodePlacement:
    nodeSelector:
      matchExpressions: [{key: a, operator: Exists}]
---
apiVersion: k8s.ovn.org/v1
kind: EgressIP
metadata: {name: shop}
spec:
  egressIPs: [10.19.142.50, 10.19.3.2, nonsense]
  namespaceSelector: {matchLabels: {type: shop}}
---
apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec: {defaultNetwork: {ovnKubernetesConfig: {egressIPConfig: {reachabilityTotalTimeoutSeconds: 5}}}}
---
apiVersion: berth.dev/v1alpha1
kind: BaremetalNode
metadata: {name: w0}
spec:
  addressing: [{network: machine, address: 10.19.3.21}]
  metadata: {boot_mac: '52:54:00:00:00:01'}
---
apiVersion: berth.dev/v1alpha1
kind: BaremetalNode
metadata: {name: w1}
spec:
  addressing: [{network: remote, address: 10.19.142.21}]
  bmc: {address: 'redfish://10.0.0.1/x', credentialsName: w1-bmc}
  metadata: {owner_data: {k8s.ovn.org/egress-assignable: ''}}
";

/// The same documents as Airship writes them.
fn in_airship(text: &str) -> String {
    let mut sources = Sources::new();
    let id = sources.add("site.yaml", text);
    let parsed = berth_documents::parse(&sources, id);
    let documents: Vec<Value> = parsed
        .documents
        .iter()
        .map(|document| {
            let json = document.root.to_json();
            let kind = json["kind"].as_str().expect("a kind");
            let namespace = match (kind, json["apiVersion"].as_str()) {
                ("Network", Some("operator.openshift.io/v1")) => "operator",
                ("Network" | "BaremetalNode", _) => "drydock",
                _ => "berth",
            };
            json!({
                "schema": format!("{namespace}/{kind}/v1"),
                "metadata": {"schema": "metadata/Document/v1", "name": json["metadata"]["name"]},
                "data": json["spec"],
            })
        })
        .collect();
    berth_documents::emit::to_yaml_documents(&documents)
}

/// Everything that placement says, without places in the text.
fn answers(read: &Read) -> String {
    let resolver = Resolver::new(&read.site, Flavour::Openshift);
    let resolutions = resolver.resolve_all();
    let placement = Placement::new(&resolver, &resolutions);
    let ingress: Vec<_> = placement.ingress().into_iter().map(|(answer, _)| answer).collect();
    let networks: Vec<String> = read
        .site
        .networks
        .iter()
        .map(|network| {
            format!(
                "{} {:?}",
                network.name.value,
                network.cidr.as_ref().map(|cidr| cidr.value)
            )
        })
        .collect();
    format!(
        "{networks:?}\n{:#?}\n{:#?}\n{ingress:#?}",
        placement.nodes,
        placement.egress().plan
    )
}

#[test]
fn both_envelopes_give_the_same_places() {
    let kubernetes = read(SITE);
    let airship = read(&in_airship(SITE));
    let codes = |read: &Read| -> Vec<String> {
        let mut codes: Vec<String> = read
            .codes()
            .iter()
            .map(|line| line.split(' ').next().expect("a code").to_owned())
            .collect();
        codes.sort();
        codes
    };
    assert_eq!(codes(&kubernetes), codes(&airship));
    // The mistakes in it are found in both, with their lines.
    for code in ["egress-address", "egress-conflict", "ingress-selector"] {
        assert!(
            codes(&airship).iter().any(|found| found == code),
            "{:?}",
            codes(&airship)
        );
    }
    assert_eq!(answers(&kubernetes), answers(&airship));
    assert_eq!(kubernetes.site.networks.len(), 2);
    assert!(answers(&airship).contains("10.19.142.21"));
    assert_eq!(airship.site.egress_timeout, Some(5));
}

/// An action asks for Shipyard's document where Airship deploys the site, so nobody is told that it is not used.
#[test]
fn the_deployment_configuration_is_not_said_to_be_of_no_use() {
    let document = |schema: &str| {
        format!(
            "schema: {schema}\nmetadata: {{schema: metadata/Document/v1, name: deployment-configuration, storagePolicy: \
             cleartext, layeringDefinition: {{abstract: false, layer: global}}}}\ndata: {{armada: {{manifest: full-site}}}}\n"
        )
    };
    for (schema, codes) in [
        ("shipyard/DeploymentConfiguration/v1", &[][..]),
        ("shipyard/DeploymentStrategy/v1", &["unknown-kind"]),
        ("armada/DeploymentConfiguration/v1", &["unknown-kind"]),
    ] {
        let Read { findings, .. } = read(&document(schema));
        let found: Vec<&str> = findings.iter().map(berth_documents::Diagnostic::code).collect();
        assert_eq!(found, codes, "{schema}: {findings:?}");
    }
}
