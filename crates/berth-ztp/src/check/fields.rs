//! Fields that a kind does not have: the API server silently drops them.

use berth_documents::{Document, Key, Node};

use super::Findings;
use crate::lints;

/// What `spec` of a kind may have, and the fields of each entry of a list in it.
struct Known {
    kind: &'static str,
    spec: &'static [&'static str],
    /// The list, and the fields of its entries.
    entries: Option<(&'static str, &'static [&'static str])>,
}

const KNOWN: &[Known] = &[
    Known {
        kind: "InfraEnv",
        spec: &[
            "additionalNTPSources",
            "additionalTrustBundle",
            "agentApproval",
            // Found by its own rule, which says where it belongs.
            "agentLabelSelector",
            "agentLabels",
            "clusterRef",
            "cpuArchitecture",
            "ignitionConfigOverride",
            "imageType",
            "ipxeScriptType",
            "kernelArguments",
            "mirrorRegistryRef",
            "networkDiscoveryDelaySeconds",
            "nmStateConfigLabelSelector",
            "ntpSources",
            "osImageVersion",
            "proxy",
            "pullSecretRef",
            "sshAuthorizedKey",
        ],
        entries: None,
    },
    Known {
        kind: "NMStateConfig",
        spec: &["config", "interfaces"],
        entries: Some(("interfaces", &["macAddress", "name"])),
    },
    Known {
        kind: "Agent",
        spec: &[
            "approved",
            "clusterDeploymentName",
            "fencingCredentialsSecretRef",
            "hostname",
            "ignitionConfigOverrides",
            "ignitionEndpointHTTPHeaders",
            "ignitionEndpointTokenReference",
            "installation_disk_id",
            "installation_disk_path",
            "installerArgs",
            "machineConfigPool",
            "nodeLabels",
            "role",
        ],
        entries: None,
    },
    Known {
        kind: "AgentClusterInstall",
        spec: &[
            "apiVIP",
            "apiVIPs",
            "arbiter",
            "clusterDeploymentRef",
            "clusterMetadata",
            "compute",
            "controlPlane",
            "diskEncryption",
            "external",
            "fips",
            "holdInstallation",
            "ignitionEndpoint",
            "imageSetRef",
            "ingressVIP",
            "ingressVIPs",
            "loadBalancer",
            "manifestsConfigMapRef",
            "manifestsConfigMapRefs",
            "mastersSchedulable",
            "mirrorRegistryRef",
            "networking",
            "ntpSources",
            "platformType",
            "provisionRequirements",
            "proxy",
            "sshPublicKey",
        ],
        entries: None,
    },
    Known {
        kind: "AgentServiceConfig",
        spec: &[
            "OSImageAdditionalParamsRef",
            "OSImageCACertRef",
            "databaseStorage",
            "filesystemStorage",
            "iPXEHTTPRoute",
            "imageStorage",
            "mirrorRegistryRef",
            "mustGatherImages",
            "osImages",
            "unauthenticatedRegistries",
        ],
        entries: Some((
            "osImages",
            // `rootFSUrl` has a rule of its own.
            &["cpuArchitecture", "openshiftVersion", "rootFSUrl", "url", "version"],
        )),
    },
    Known {
        kind: "ClusterDeployment",
        spec: &[
            "baseDomain",
            "boundServiceAccountSigningKeySecretRef",
            "certificateBundles",
            "clusterInstallRef",
            "clusterMetadata",
            "clusterName",
            "clusterPoolRef",
            "controlPlaneConfig",
            "discardLocalSshKey",
            "hibernateAfter",
            "ingress",
            "installAttemptsLimit",
            "installed",
            "manageDNS",
            "platform",
            "powerState",
            "preserveOnDelete",
            "provisioning",
            "pullSecretRef",
        ],
        entries: None,
    },
    Known {
        kind: "BareMetalHost",
        spec: &[
            "architecture",
            "automatedCleaningMode",
            "bmc",
            "bootMACAddress",
            "bootMode",
            "consumerRef",
            "customDeploy",
            "description",
            "disablePowerOff",
            "externallyProvisioned",
            "failureDomain",
            "firmware",
            "hardwareProfile",
            "image",
            "inspectionMode",
            "metaData",
            "networkData",
            "networkInterfaces",
            "online",
            "preprovisioningNetworkDataName",
            "raid",
            "rootDeviceHints",
            "taints",
            "userData",
        ],
        entries: None,
    },
    Known {
        kind: "ClusterInstance",
        spec: &[
            "additionalNTPSources",
            "apiVIP",
            "apiVIPs",
            "baseDomain",
            "caBundleRef",
            "clusterImageSetNameRef",
            "clusterName",
            "clusterNetwork",
            "clusterType",
            "cpuArchitecture",
            "cpuPartitioningMode",
            "diskEncryption",
            "extraAnnotations",
            "extraLabels",
            "extraManifestsRefs",
            "holdInstallation",
            "ignitionConfigOverride",
            "ingressVIP",
            "ingressVIPs",
            "installConfigOverrides",
            "machineNetwork",
            "networkType",
            "nodes",
            "platformType",
            "proxy",
            "pruneManifests",
            "pullSecretRef",
            "reinstall",
            "serviceNetwork",
            "sshPublicKey",
            "suppressedManifests",
            "templateRefs",
        ],
        entries: Some((
            "nodes",
            &[
                "automatedCleaningMode",
                "bmcAddress",
                "bmcCredentialsName",
                "bootMACAddress",
                "bootMode",
                "cpuArchitecture",
                "extraAnnotations",
                "extraLabels",
                "hostName",
                "hostRef",
                "ignitionConfigOverride",
                "installerArgs",
                "ironicInspect",
                "nodeLabels",
                "nodeNetwork",
                "pruneManifests",
                "role",
                "rootDeviceHints",
                "suppressedManifests",
                "templateRefs",
            ],
        )),
    },
];

pub(super) fn check(document: &Document, findings: &mut Findings) {
    let Some(known) = KNOWN.iter().find(|known| known.kind == document.kind()) else {
        return;
    };
    let Some(spec) = document.body() else { return };
    unknown(known.kind, "", spec, known.spec, findings);
    if let Some((list, fields)) = known.entries {
        let place = format!("{list}[].");
        for entry in spec.get(list).and_then(Node::as_seq).unwrap_or_default() {
            unknown(known.kind, &place, entry, fields, findings);
        }
    }
}

fn unknown(kind: &str, place: &str, node: &Node, fields: &[&'static str], findings: &mut Findings) {
    for (key, _) in node.as_map().into_iter().flatten() {
        if !fields.contains(&key.as_str()) {
            unknown_field(kind, &format!("spec.{place}"), key, fields, findings);
        }
    }
}

/// A field that is not one of those that the kind has there.
pub(super) fn unknown_field(kind: &str, place: &str, key: &Key, fields: &[&'static str], findings: &mut Findings) {
    let close = berth_site::close_matches(key.as_str(), fields.iter().copied());
    let help = close
        .first()
        .map_or_else(|| "remove it".to_owned(), |close| format!("did you mean `{close}`?"));
    // A SiteConfig is read by a generator and never reaches an API server.
    let who = if kind == "SiteConfig" {
        "the generator"
    } else {
        "the API server"
    };
    findings.add_with_help(
        &lints::FIELD,
        key.span,
        format!(
            "`{place}{}` is not a field of kind {kind}: {who} drops it",
            key.as_str()
        ),
        &help,
    );
}
