//! Objects that a hub needs once, for all its clusters.

use serde_json::{Value, json};

use crate::{
    host::Hosts,
    manifest::{Manifest, Stage},
    names::SERVICE_CONFIG,
    raw::IGNORED_VALIDATIONS,
    target::{RemoteWay, Target},
    ztp::{ZtpOptions, image_set},
};

/// The namespace of Assisted Service.
const SERVICE_NAMESPACE: &str = "multicluster-engine";

/// The `ConfigMap` with settings of Assisted Service.
const SERVICE_SETTINGS: &str = "assisted-service-config";

const WHY_SERVICE: &str = "For a hub without an AgentServiceConfig. On a hub that has one, merge what is missing: this one sets the \
    storage of the service, which cannot be changed later.";

const WHY_PROVISIONING: &str = "Without watchAllNamespaces the hub ignores BareMetalHosts outside openshift-machine-api. A hub that \
    has no Provisioning yet also needs `provisioningNetwork: Disabled`.";

const WHY_SETTINGS: &str = "Unsupported. This hub does not know the annotation ignored-host-validations, so the two validations that \
    remote workers fail are switched off for every cluster of the hub. Remove the ConfigMap and the annotation of the \
    AgentServiceConfig when the cluster is installed.";

/// Whether the validations are switched off for the whole service.
pub(crate) fn disables_for_service(target: &Target<'_>, hosts: &Hosts, options: &ZtpOptions) -> bool {
    let old = options
        .hub_release
        .is_some_and(|release| release < ZtpOptions::IGNORES_PER_CLUSTER);
    old && target.remote_way == RemoteWay::Unsupported && hosts.hosts.iter().any(|host| host.remote)
}

/// The objects.
pub(crate) fn hub(target: &Target<'_>, hosts: &mut Hosts, options: &ZtpOptions) -> Vec<Manifest> {
    let once = |file: &str, object: Value| Manifest::new(Stage::Hub, file, object);
    let disables = disables_for_service(target, hosts, options);
    let mut made = vec![
        once("00-provisioning.yaml", provisioning()).comment(WHY_PROVISIONING),
        once("02-agentserviceconfig.yaml", service(disables)).comment(WHY_SERVICE),
        image(target, hosts, options),
    ];
    if disables {
        let settings = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": SERVICE_SETTINGS, "namespace": SERVICE_NAMESPACE},
            "data": {"DISABLED_HOST_VALIDATIONS": IGNORED_VALIDATIONS},
        });
        made.push(once("01-configmap-assisted-service-config.yaml", settings).comment(WHY_SETTINGS));
    }
    made
}

fn provisioning() -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "Provisioning",
        "metadata": {"name": "provisioning-configuration"},
        "spec": {"watchAllNamespaces": true},
    })
}

fn service(disables: bool) -> Value {
    let storage = |size: &str| {
        json!({
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        })
    };
    let mut metadata = json!({"name": "agent"});
    if let (true, Value::Object(map)) = (disables, &mut metadata) {
        map.insert("annotations".to_owned(), json!({SERVICE_CONFIG: SERVICE_SETTINGS}));
    }
    json!({
        "apiVersion": "agent-install.openshift.io/v1beta1",
        "kind": "AgentServiceConfig",
        "metadata": metadata,
        "spec": {
            "databaseStorage": storage("10Gi"),
            "filesystemStorage": storage("100Gi"),
            "imageStorage": storage("50Gi"),
        },
    })
}

fn image(target: &Target<'_>, hosts: &mut Hosts, options: &ZtpOptions) -> Manifest {
    let name = image_set(options, target);
    let release_image = options.release_image.clone().unwrap_or_else(|| {
        let assumed = format!("quay.io/openshift-release-dev/ocp-release:{}.0-x86_64", target.release);
        hosts.note(format!(
            "ClusterImageSet `{name}` has {assumed}: the documents do not name a patch release. `--release-image` sets the image"
        ));
        assumed
    });
    let object = json!({
        "apiVersion": "hive.openshift.io/v1",
        "kind": "ClusterImageSet",
        "metadata": {"name": name},
        "spec": {"releaseImage": release_image},
    });
    Manifest::new(Stage::Hub, "03-clusterimageset.yaml", object)
}
