//! In Drydock's own documents Drydock's rules hold; in the same documents in the Kubernetes envelope, Kubernetes'.

use berth_documents::{Diagnostic, DocumentSet, Severity};
use berth_labels::Flavour;
use berth_site::{Resolver, Site, check, has_errors, load};

/// A document in the Airship envelope.
fn drydock(kind: &str, name: &str, data: &str) -> String {
    format!("---\nschema: drydock/{kind}/v1\nmetadata: {{schema: metadata/Document/v1, name: {name}}}\ndata: {data}\n")
}

/// The same in the Kubernetes envelope.
fn kubernetes(kind: &str, name: &str, data: &str) -> String {
    format!("---\napiVersion: berth.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {data}\n")
}

fn read(text: &str) -> (Site, Vec<Diagnostic>) {
    let mut set = DocumentSet::default();
    set.add_text("site.yaml", text);
    let mut findings = std::mem::take(&mut set.diagnostics);
    let (site, more) = load(&set.sources, &set.documents);
    findings.extend(more);
    let resolver = Resolver::new(&site, Flavour::Upstream);
    findings.extend(check(&set.sources, &resolver, &resolver.resolve_all()));
    (site, findings)
}

fn found(findings: &[Diagnostic]) -> Vec<String> {
    let mut found: Vec<String> = findings
        .iter()
        .map(|it| format!("{} {}", it.severity(), it.code()))
        .collect();
    found.sort();
    found
}

/// A node in a network that is described.
const NODE: (&str, &str, &str) = (
    "BaremetalNode",
    "n1",
    "{addressing: [{network: oam, address: 10.0.0.5}]}",
);
const OAM: (&str, &str, &str) = ("Network", "oam", "{cidr: 10.0.0.0/24}");

type Row<'a> = (&'a [(&'a str, &'a str, &'a str)], &'a [&'a str], &'a [&'a str]);

/// Documents, what is found in them as Drydock's own, and what in the Kubernetes envelope.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_drydock_takes_is_no_error_in_its_documents() {
    let rows: &[Row<'_>] = &[
        (&[OAM, NODE], &[], &[]),
        // Names that only documents refer to.
        (
            &[
                OAM,
                ("HardwareProfile", "DELL_HP_Generic", "{}"),
                ("HostProfile", "cp_r720-primary", "{hardware_profile: DELL_HP_Generic}"),
                (
                    "BaremetalNode",
                    "n1",
                    "{host_profile: cp_r720-primary, addressing: [{network: oam, address: 10.0.0.5}]}",
                ),
            ],
            &[],
            &["error invalid-name", "error invalid-name", "error unknown-profile"],
        ),
        // A node whose name the kubelet would write in small letters.
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "CAB23-R720",
                    "{addressing: [{network: oam, address: 10.0.0.5}]}",
                ),
            ],
            &["error invalid-name"],
            &["error invalid-name"],
        ),
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "cab23_r720",
                    "{addressing: [{network: oam, address: 10.0.0.5}]}",
                ),
            ],
            &["error invalid-name"],
            &["error invalid-name"],
        ),
        // Racks that no document describes.
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "n1",
                    "{addressing: [{network: oam, address: 10.0.0.5}], metadata: {rack: cab23}}",
                ),
            ],
            &["note unknown-rack"],
            &["error unknown-rack"],
        ),
        (
            &[
                OAM,
                ("Rack", "cab23", "{}"),
                (
                    "BaremetalNode",
                    "n1",
                    "{addressing: [{network: oam, address: 10.0.0.5}], metadata: {rack: cab22}}",
                ),
            ],
            &["warning unknown-rack"],
            &["error unknown-rack"],
        ),
        // Networks: Drydock looks up those of static addresses.
        (
            &[OAM, ("Rack", "r", "{local_networks: [pxe-rack]}"), NODE],
            &["note unknown-network"],
            &["error unknown-network"],
        ),
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "n1",
                    "{addressing: [{network: oam, address: 10.0.0.5}, {network: pxe, address: dhcp}]}",
                ),
            ],
            &["note unknown-network"],
            &["error unknown-network"],
        ),
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "n1",
                    "{addressing: [{network: oam, address: 10.0.0.5}, {network: pxe, address: 10.9.9.9}]}",
                ),
            ],
            &["error unknown-network"],
            &["error unknown-network"],
        ),
        (
            &[OAM, ("Network", "wide", "{cidr: 10.0.0.0/16}"), NODE],
            &["warning overlapping-networks"],
            &["error overlapping-networks"],
        ),
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "n1",
                    "{addressing: [{network: oam, address: 10.9.9.9}]}",
                ),
            ],
            &["error unusable-address"],
            &["error unusable-address"],
        ),
        (
            &[
                OAM,
                (
                    "BaremetalNode",
                    "n1",
                    "{addressing: [{network: oam, address: 10.0.0.255}]}",
                ),
            ],
            &["warning unusable-address"],
            &["error unusable-address"],
        ),
        // A password that Drydock needs.
        (
            &[
                OAM,
                NODE,
                (
                    "HostProfile",
                    "p",
                    "{oob: {type: ipmi, network: oam, account: a, credential: calvin}}",
                ),
            ],
            &["warning bmc-password"],
            &["error bmc-password"],
        ),
        // Fields of Drydock that Berth does not read.
        (
            &[
                OAM,
                NODE,
                (
                    "Rack",
                    "r",
                    "{labels: {row: a}, tor_switches: {}, location: {clli: X, grid: Y}}",
                ),
            ],
            &[],
            &[],
        ),
    ];
    for (documents, as_drydock, as_kubernetes) in rows {
        let text = |form: fn(&str, &str, &str) -> String| -> String {
            documents
                .iter()
                .map(|(kind, name, data)| form(kind, name, data))
                .collect()
        };
        assert_eq!(found(&read(&text(drydock)).1), *as_drydock, "{}", text(drydock));
        assert_eq!(
            found(&read(&text(kubernetes)).1),
            *as_kubernetes,
            "{}",
            text(kubernetes)
        );
    }
}

/// What only Kubernetes asks for stops no commit, and stops the nodes that use it.
#[test]
fn an_illegal_label_concerns_the_nodes_that_use_it() {
    let text = [
        drydock("HostProfile", "good", "{metadata: {owner_data: {a: b}}}"),
        drydock(
            "HostProfile",
            "bad",
            "{metadata: {owner_data: {power feed: a, city: 'Atlanta, GA'}}}",
        ),
        drydock(
            "BaremetalNode",
            "n1",
            "{host_profile: good, addressing: [{network: oam, address: dhcp}]}",
        ),
        drydock(
            "BaremetalNode",
            "n2",
            "{host_profile: bad, addressing: [{network: oam, address: dhcp}]}",
        ),
        drydock(
            "BaremetalNode",
            "N3",
            "{host_profile: good, addressing: [{network: oam, address: dhcp}]}",
        ),
    ]
    .concat();
    let (site, findings) = read(&text);
    assert_eq!(
        found(&findings),
        [
            "error invalid-label-key",
            "error invalid-label-value",
            "error invalid-name"
        ]
    );
    let committed: Vec<Diagnostic> = findings.into_iter().map(|finding| site.at_commit(finding)).collect();
    assert_eq!(
        found(&committed),
        [
            "warning invalid-label-key",
            "warning invalid-label-value",
            "warning invalid-name"
        ]
    );
    let resolver = Resolver::new(&site, Flavour::Upstream);
    for (node, usable) in [("n1", true), ("n2", false), ("N3", false)] {
        let resolution = resolver.resolve(resolver.subject(node).unwrap());
        assert_eq!(
            !has_errors(&resolution.diagnostics),
            usable,
            "{node}: {:?}",
            resolution.diagnostics
        );
        assert!(
            resolution
                .diagnostics
                .iter()
                .all(|it| it.severity() != Severity::Warning)
        );
    }
}

/// A rack has a name before it has a document: rules and labels know it.
#[test]
fn a_rack_without_a_document_is_still_a_rack() {
    let text = [
        drydock("BaremetalNode", "n1", "{addressing: [{network: oam, address: dhcp}], metadata: {rack: cab23}}"),
        "---\napiVersion: berth.dev/v1alpha1\nkind: LabelRule\nmetadata: {name: row}\nspec: {match: {racks: [cab23]}, labels: {row: north}}\n"
            .to_owned(),
    ]
    .concat();
    let (site, findings) = read(&text);
    assert!(!has_errors(&findings), "{findings:?}");
    let resolver = Resolver::new(&site, Flavour::Upstream);
    let resolution = resolver.resolve(resolver.subject("n1").unwrap());
    let label = |key: &str| {
        let label = resolution.label(key).unwrap_or_else(|| panic!("{key} is missing"));
        label.value.as_str().to_owned()
    };
    assert_eq!(
        (label("row"), label("berth.dev/rack")),
        ("north".to_owned(), "cab23".to_owned())
    );
}

/// A password comes from another document by substitution, and from a parent by layering: neither is written down.
#[test]
fn a_substituted_password_is_in_order() {
    let site = "\
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layers}
data: {layerOrder: [global, site]}
---
schema: deckhand/Passphrase/v1
metadata: {schema: metadata/Document/v1, name: ipmi, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data: lighthouse
---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: base
  storagePolicy: cleartext
  labels: {kind: base}
  layeringDefinition: {layer: global}
  substitutions:
  - src: {schema: deckhand/Passphrase/v1, name: ipmi, path: .}
    dest: {path: .oob.credential}
data: {oob: {type: ipmi, account: admin}}
---
schema: drydock/HostProfile/v1
metadata:
  schema: metadata/Document/v1
  name: cp_primary
  storagePolicy: cleartext
  layeringDefinition: {layer: site, parentSelector: {kind: base}, actions: [{method: merge, path: .}]}
data: {platform: {image: focal}}
";
    assert_eq!(found(&read(site).1), Vec::<String>::new());
    let written = site.replace("{oob: {type: ipmi, account: admin}}", "{oob: {credential: calvin}}").replace(
        "  substitutions:\n  - src: {schema: deckhand/Passphrase/v1, name: ipmi, path: .}\n    dest: {path: .oob.credential}\n",
        "",
    );
    assert_eq!(found(&read(&written).1), ["warning bmc-password"]);
}
