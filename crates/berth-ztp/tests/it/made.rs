//! What is made from the example site.

use std::{collections::BTreeSet, fmt::Write as _};

use berth_documents::emit::to_yaml;
use berth_site::Release;
use berth_ztp::{BootLabels, CheckOptions, Form, Manifest, Manifests, Stage, ZtpOptions};
use serde_json::{Value, json};

use crate::site::{findings, telco, telco_with};

fn options(form: Form, minor: u16, unsupported: bool) -> ZtpOptions {
    ZtpOptions {
        form,
        release: Some(Release { major: 4, minor }),
        unsupported,
        ..ZtpOptions::default()
    }
}

fn as_is(text: &str) -> String {
    text.to_owned()
}

fn user_managed(text: &str) -> String {
    text.replace("loadBalancer: ClusterManaged", "loadBalancer: UserManaged")
}

fn file<'a>(made: &'a Manifests, name: &str) -> &'a Manifest {
    let found = made.manifests.iter().find(|manifest| manifest.file == name);
    found.unwrap_or_else(|| panic!("{name} is not among {:?}", files(made)))
}

fn files(made: &Manifests) -> Vec<&str> {
    made.manifests.iter().map(|manifest| manifest.file.as_str()).collect()
}

/// Every form that the example can take, with a name.
pub(crate) fn all() -> Vec<(String, Manifests)> {
    let mut all = Vec::new();
    for form in [Form::Raw, Form::ClusterInstance] {
        for minor in [12, 18, 19] {
            for unsupported in [false, true] {
                let name = format!("{form:?} 4.{minor} unsupported={unsupported}");
                all.push((name, telco(&options(form, minor, unsupported), as_is)));
            }
        }
        all.push((
            format!("{form:?} user-managed"),
            telco(&options(form, 18, false), user_managed),
        ));
        let none = |text: &str| text.replace("platform: BareMetal", "platform: None");
        all.push((format!("{form:?} none"), telco(&options(form, 18, false), none)));
    }
    all
}

#[test]
fn raw() {
    let made = telco(&options(Form::Raw, 18, false), as_is);
    assert!(made.diagnostics.is_empty(), "{:?}", made.diagnostics);
    insta::assert_snapshot!("raw_files", files(&made).join("\n"));
    insta::assert_snapshot!("raw_notes", made.notes.join("\n"));
    for name in [
        "10-extra-manifests-pools.yaml",
        "11-extra-manifests-machine-configs.yaml",
        "30-clusterdeployment.yaml",
        "31-agentclusterinstall.yaml",
        "32-infraenv.yaml",
        "40-managedcluster.yaml",
        "41-klusterletaddonconfig.yaml",
        "50-baremetalhost-atlngamac01.yaml",
        "day2/20-nmstateconfig-smyrgaear01.yaml",
        "day2/50-baremetalhost-smyrgaear01.yaml",
    ] {
        insta::assert_snapshot!(format!("raw_{}", name.replace('/', "_")), file(&made, name).yaml());
    }
}

#[test]
fn cluster_instance() {
    let made = telco(&options(Form::ClusterInstance, 18, false), as_is);
    insta::assert_snapshot!("instance_files", files(&made).join("\n"));
    insta::assert_snapshot!("instance_day2", file(&made, "day2/50-clusterinstance.yaml").yaml());
    let nodes = |name: &str| file(&made, name).object["spec"]["nodes"].as_array().unwrap().len();
    assert_eq!(
        (nodes("50-clusterinstance.yaml"), nodes("day2/50-clusterinstance.yaml")),
        (9, 12)
    );
}

/// What the default templates cannot say is said by the object itself, and the template is told to keep out.
#[test]
fn a_load_balancer_of_the_users_is_not_lost_in_a_cluster_instance() {
    let made = telco(&options(Form::ClusterInstance, 18, false), user_managed);
    let install = &file(&made, "31-agentclusterinstall.yaml").object["spec"];
    assert_eq!(install["loadBalancer"]["type"], "UserManaged");
    assert_eq!(install["provisionRequirements"]["workerAgents"], 9);
    let networks = install["networking"]["machineNetwork"].as_array().unwrap();
    assert_eq!(networks.len(), 2, "{networks:?}");
    let suppressed = &file(&made, "50-clusterinstance.yaml").object["spec"]["suppressedManifests"];
    assert_eq!(suppressed[0], "AgentClusterInstall");
    assert!(made.manifests.iter().all(|manifest| manifest.stage != Stage::DayTwo));
}

#[test]
fn what_a_release_cannot_do_is_said() {
    let made = telco(&options(Form::Raw, 15, false), user_managed);
    assert!(made.manifests.is_empty());
    assert_eq!(made.diagnostics[0].code(), "ztp-load-balancer");
    assert!(made.diagnostics[0].message.contains("4.16"), "{:?}", made.diagnostics);

    let none = |text: &str| text.replace("platform: BareMetal", "platform: None");
    let made = telco(&options(Form::Raw, 18, false), none);
    let install = &file(&made, "31-agentclusterinstall.yaml").object["spec"];
    assert_eq!(install["networking"]["userManagedNetworking"], true);
    assert!(install.get("apiVIPs").is_none());
    assert!(
        made.notes.iter().any(|note| note.contains("API VIPs cannot be set")),
        "{:?}",
        made.notes
    );
}

#[test]
fn keepalived_goes_by_the_pool_before_4_13_and_by_itself_after() {
    let mut seen = Vec::new();
    for minor in [12, 13] {
        let made = telco(&options(Form::Raw, minor, true), as_is);
        let configs = &file(&made, "11-extra-manifests-machine-configs.yaml").object["data"];
        let config = configs.get("machineconfig-99-worker-rwn-no-keepalived.yaml").cloned();
        let routers = files(&made).contains(&"12-extra-manifests-ingress.yaml");
        let host = file(&made, "50-baremetalhost-smyrgaear01.yaml").object.to_string();
        seen.push((config.is_some(), routers, host.contains("remote-worker")));
        if let Some(Value::String(text)) = config {
            insta::assert_snapshot!("no_keepalived", text);
        }
    }
    assert_eq!(seen, [(true, true, true), (false, false, true)]);
}

/// The example's pool gives the label itself; without that, the detection's label is carried in the file that would hide it.
#[test]
fn the_label_of_the_detection_is_carried_in_the_override() {
    for minor in [12, 13, 18] {
        let made = crate::site::telco_without_label(&options(Form::Raw, minor, true));
        let annotations = &file(&made, "50-baremetalhost-smyrgaear01.yaml").object["metadata"]["annotations"];
        let ignition = annotations["bmac.agent-install.openshift.io/ignition-config-overrides"].as_str();
        // Kubelets before 4.13 do not read the variable: that is said, and no file is written in vain.
        let said = made.notes.iter().any(|note| {
            note.starts_with(
                "kubelets of role worker read CUSTOM_KUBELET_LABELS from 4.13 on and not in 4.12: no override is made",
            )
        });
        assert_eq!(
            (ignition.is_none(), said),
            (minor == 12, minor == 12),
            "{:?}",
            made.notes
        );
        if let Some(ignition) = ignition {
            assert!(ignition.contains("CUSTOM_KUBELET_LABELS"), "4.{minor}: {ignition}");
            assert!(
                ignition.contains("node.openshift.io%2Fremote-worker%3D"),
                "4.{minor}: {ignition}"
            );
        }
        let local = &file(&made, "50-baremetalhost-atlngamaw01.yaml").object;
        assert!(!local.to_string().contains("remote-worker"));
    }
}

#[test]
fn unsupported_says_why() {
    let made = telco(&options(Form::Raw, 18, true), as_is);
    let install = file(&made, "31-agentclusterinstall.yaml");
    insta::assert_snapshot!("unsupported", install.yaml());
    assert!(made.manifests.iter().all(|manifest| manifest.stage != Stage::DayTwo));
    let supported = telco(&options(Form::Raw, 18, false), as_is);
    for manifest in &supported.manifests {
        assert!(!manifest.yaml().contains("ignored-"), "{}", manifest.file);
    }
}

/// The order of the documents does not matter, and neither does how often it is asked.
#[test]
fn the_same_site_gives_the_same_files() {
    let options = options(Form::Raw, 18, false);
    let text = |made: Manifests| made.manifests.iter().map(Manifest::yaml).collect::<String>();
    assert_eq!(text(telco(&options, as_is)), text(telco(&options, as_is)));
    for (name, made) in all() {
        let files = files(&made);
        let unique: BTreeSet<&str> = files.iter().copied().collect();
        assert_eq!(unique.len(), files.len(), "{name}");
    }
}

#[test]
fn our_own_checks_find_nothing_wrong_with_what_is_made() {
    for (name, made) in all() {
        assert!(!made.manifests.is_empty(), "{name}: {:?}", made.diagnostics);
        // Day 2 comes in place of, or after, the first set, and is another picture of the hub.
        let texts: Vec<(String, String)> = made
            .manifests
            .iter()
            .filter(|manifest| manifest.stage != Stage::DayTwo)
            .map(|manifest| (manifest.file.clone(), to_yaml(&manifest.object)))
            .collect();
        let mut found = findings(&texts, &CheckOptions::default());
        found.retain(|line| !line.starts_with("note "));
        if name.contains("unsupported=true") {
            found.retain(|line| !line.contains("ztp-validations-off"));
        }
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

/// A controller of the documents goes along; on the control plane it has to tolerate its taint, elsewhere it has not.
#[test]
fn routers_need_a_toleration_on_the_control_plane_only() {
    for (key, value, wanted) in [
        ("telco.example/ingress", "true", 0),
        ("node-role.kubernetes.io/master", "", 1),
    ] {
        let controller = json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "IngressController",
            "metadata": {"name": "default", "namespace": "openshift-ingress-operator"},
            "spec": {"replicas": 2, "nodePlacement": {"nodeSelector": {"matchLabels": {key: value}}}},
        });
        let made = telco_with(&options(Form::Raw, 18, false), as_is, &[controller]);
        let install = made.manifests.iter().filter(|manifest| manifest.stage != Stage::DayTwo);
        let texts: Vec<_> = install
            .map(|manifest| (manifest.file.clone(), manifest.yaml()))
            .collect();
        let found = findings(&texts, &CheckOptions::default());
        let tainted = found
            .iter()
            .filter(|line| line.contains("ztp-router-placement"))
            .count();
        assert_eq!((tainted, found.len()), (wanted, wanted), "{key}: {found:#?}");
    }
}

/// Without VIPs of the cluster's own the kubelet's unit reads the variable from 4.19 on.
#[test]
fn boot_labels_are_for_releases_whose_kubelets_read_them() {
    let without_platform = |text: &str| {
        text.replace("platform: BareMetal", "platform: None")
            .replace("  apiVIPs: [10.19.3.2]\n  ingressVIPs: [10.19.3.3]\n", "")
    };
    let bare_metal = as_is as fn(&str) -> String;
    let hosts = |made: &Manifests, name: &str| {
        let of_name = made.manifests.iter().filter(|it| it.file.contains(name));
        of_name
            .filter(|it| it.yaml().contains("ignition-config-overrides"))
            .count()
    };
    for (minor, change, when, masters, workers) in [
        (
            18,
            without_platform as fn(&str) -> String,
            BootLabels::Auto,
            false,
            false,
        ),
        (19, without_platform, BootLabels::Auto, true, true),
        (12, bare_metal, BootLabels::Auto, false, false),
        (18, bare_metal, BootLabels::Auto, false, true),
        (19, bare_metal, BootLabels::Auto, true, true),
        (12, bare_metal, BootLabels::Always, true, true),
        (19, bare_metal, BootLabels::Never, false, false),
    ] {
        let options = ZtpOptions {
            boot_labels: when,
            ..options(Form::Raw, minor, false)
        };
        let made = telco(&options, change);
        let found = (
            hosts(&made, "baremetalhost-atlngamac") > 0,
            hosts(&made, "baremetalhost-smyrgaear") > 0,
        );
        assert_eq!(found, (masters, workers), "4.{minor} {when:?}: {:?}", made.notes);
        let said = |words: &str| made.notes.iter().any(|note| note.contains(words));
        // What is assumed is called so, with the way out.
        let sure = when != BootLabels::Auto;
        assert!(sure || said("--boot-labels"), "4.{minor}: {:?}", made.notes);
        assert_eq!(!sure && said("assumed"), !sure, "4.{minor}: {:?}", made.notes);
    }
}

/// One machine of the control plane, in the documents of a site with VIPs.
const SINGLE: &str = r#"apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: georgia}
spec: {baseDomain: telco.example, release: "4.18", apiVIPs: [10.19.3.2], ingressVIPs: [10.19.3.3]}
---
apiVersion: berth.dev/v1alpha1
kind: Network
metadata: {name: machine}
spec: {cidr: 10.19.3.0/24}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: m0}
data:
  addressing:
  - {network: machine, address: 10.19.3.11}
  metadata: {boot_mac: "52:54:00:00:00:01"}
  bmc: {address: "redfish-virtualmedia://10.19.4.1/redfish/v1/Systems/1", credentialsName: m0-bmc}
---
apiVersion: berth.dev/v1alpha1
kind: LabelRule
metadata: {name: masters}
spec:
  match: {namePatterns: ["m.*"]}
  pool: master
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: master}
spec:
  machineConfigSelector:
    matchExpressions:
    - {key: machineconfiguration.openshift.io/role, operator: In, values: [master]}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/master: ""}}
"#;

/// Assisted Service rejects VIPs and platform `BareMetal` for a single node.
#[test]
fn a_single_node_has_neither_vips_nor_a_platform() {
    for form in [Form::Raw, Form::ClusterInstance] {
        let (sources, documents) = crate::site::documents(&[("site.yaml".to_owned(), SINGLE.to_owned())]);
        let (site, found) = berth_site::load(&sources, &documents);
        assert!(!berth_site::has_errors(&found), "{found:?}");
        let resolver = berth_site::Resolver::new(&site, berth_labels::Flavour::Openshift);
        let made = berth_ztp::manifests(&berth_ztp::ZtpInput {
            resolver: &resolver,
            ingress_controllers: &[],
            options: &ZtpOptions {
                form,
                ..ZtpOptions::default()
            },
        });
        assert!(!made.manifests.is_empty(), "{:?}", made.diagnostics);
        let name = match form {
            Form::Raw => "31-agentclusterinstall.yaml",
            Form::ClusterInstance => "50-clusterinstance.yaml",
        };
        let spec = &file(&made, name).object["spec"];
        for key in ["apiVIPs", "ingressVIPs", "platformType"] {
            assert!(spec.get(key).is_none(), "{form:?}: {spec}");
        }
        let texts: Vec<(String, String)> = made
            .manifests
            .iter()
            .map(|manifest| (manifest.file.clone(), manifest.yaml()))
            .collect();
        assert_eq!(
            findings(&texts, &CheckOptions::default()),
            Vec::<String>::new(),
            "{form:?}"
        );
    }
}

/// Hubs that do not ignore validations of one cluster have them disabled for all.
#[test]
fn validations_are_disabled_for_the_hub_where_it_is_too_old() {
    for (minor, for_hub) in [(16, true), (17, false)] {
        let options = ZtpOptions {
            hub_release: Some(Release { major: 2, minor }),
            ..options(Form::Raw, 18, true)
        };
        let made = telco(&options, as_is);
        let settings = files(&made).contains(&"hub/01-configmap-assisted-service-config.yaml");
        let service = file(&made, "hub/02-agentserviceconfig.yaml").object.to_string();
        let install = file(&made, "31-agentclusterinstall.yaml").object.to_string();
        assert_eq!(
            (
                settings,
                service.contains("assisted-service-configmap"),
                install.contains("ignored-host-validations")
            ),
            (for_hub, for_hub, !for_hub),
            "2.{minor}"
        );
        let texts: Vec<(String, String)> = made
            .manifests
            .iter()
            .map(|manifest| (manifest.file.clone(), manifest.yaml()))
            .collect();
        let errors: Vec<String> = findings(&texts, &CheckOptions::default())
            .into_iter()
            .filter(|line| line.starts_with("error "))
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "2.{minor}");
    }
}

/// The service compares VIP n with machine network n, so the networks are in the order of the VIPs and not of the documents.
#[test]
fn machine_networks_are_in_the_order_of_the_vips() {
    let mut text = SINGLE
        .replace("[10.19.3.2]", "[\"fd00:3::2\", 10.19.3.2]")
        .replace("[10.19.3.3]", "[\"fd00:3::3\", 10.19.3.3]");
    text.push_str("---\napiVersion: berth.dev/v1alpha1\nkind: Network\nmetadata: {name: machine6}\nspec: {cidr: \"fd00:3::/64\"}\n");
    for number in 1..3 {
        let _ = write!(
            text,
            "---\nschema: drydock/BaremetalNode/v1\nmetadata: {{schema: metadata/Document/v1, name: m{number}}}\ndata:\n  addressing: \
             [{{network: machine, address: 10.19.3.2{number}}}]\n  metadata: {{boot_mac: \"52:54:00:00:01:0{number}\"}}\n  bmc: {{address: \
             \"redfish-virtualmedia://10.19.4.2{number}/redfish/v1/Systems/1\", credentialsName: m{number}-bmc}}\n"
        );
    }
    let (sources, documents) = crate::site::documents(&[("site.yaml".to_owned(), text)]);
    let (site, found) = berth_site::load(&sources, &documents);
    assert!(!berth_site::has_errors(&found), "{found:?}");
    let resolver = berth_site::Resolver::new(&site, berth_labels::Flavour::Openshift);
    let made = berth_ztp::manifests(&berth_ztp::ZtpInput {
        resolver: &resolver,
        ingress_controllers: &[],
        options: &ZtpOptions::default(),
    });
    assert!(!made.manifests.is_empty(), "{:?}", made.diagnostics);
    let install = &file(&made, "31-agentclusterinstall.yaml").object["spec"];
    assert_eq!(
        install["networking"]["machineNetwork"],
        json!([{"cidr": "fd00:3::/64"}, {"cidr": "10.19.3.0/24"}])
    );
    assert_eq!(install["apiVIPs"], json!(["fd00:3::2", "10.19.3.2"]));
}
