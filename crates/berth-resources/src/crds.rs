//! The CRDs, made from the types.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, ValidationRule};
use kube_core::CustomResourceExt as _;
use serde_json::Value;

use super::{
    Berth, ContainerRuntimeConfig, ControllerConfig, KubeletConfig, LabelRule, MachineConfig, MachineConfigNode,
    MachineConfigPool, Roster, TokenBinding,
};

/// Which CRDs a cluster needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrdSet {
    /// Berth's own.
    Berth,
    /// Those of pools and machine configs, which OpenShift brings along and other clusters lack.
    MachineConfig,
}

/// The CRDs of a set.
pub fn crds(set: CrdSet) -> Vec<CustomResourceDefinition> {
    let mut crds = match set {
        CrdSet::Berth => vec![Berth::crd(), LabelRule::crd(), Roster::crd(), TokenBinding::crd()],
        CrdSet::MachineConfig => vec![
            MachineConfigPool::crd(),
            optional_spec(MachineConfig::crd()),
            KubeletConfig::crd(),
            ContainerRuntimeConfig::crd(),
            of_its_node(MachineConfigNode::crd()),
            ControllerConfig::crd(),
        ],
    };
    for crd in &mut crds {
        crd.metadata
            .labels
            .get_or_insert_default()
            .insert("app.kubernetes.io/part-of".to_owned(), "berth".to_owned());
    }
    crds
}

/// OpenShift accepts a machine config that has no `spec`.
fn optional_spec(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let schema = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(schema) = schema {
            schema.required = None;
        }
    }
    crd
}

/// The object about a node has the node's name.
fn of_its_node(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let schemas = crd
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut());
    for schema in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        schema.x_kubernetes_validations = Some(vec![ValidationRule {
            rule: "self.metadata.name == self.spec.node.name".to_owned(),
            message: Some("spec.node.name has to be the name of the object".to_owned()),
            ..ValidationRule::default()
        }]);
    }
    crd
}

/// A CRD as the file that is committed for it.
pub fn crd_yaml(crd: &CustomResourceDefinition) -> String {
    // A CRD consists of strings, numbers and maps with string keys, so it always has a JSON form.
    let value = serde_json::to_value(crd).unwrap_or(Value::Null);
    berth_documents::emit::to_yaml(&value)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn committed_crds_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
        for crd in [CrdSet::Berth, CrdSet::MachineConfig].into_iter().flat_map(crds) {
            let path = folder.join(format!("{}.yaml", crd.metadata.name.clone().unwrap()));
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                committed == crd_yaml(&crd),
                "{} is not current; run `cargo xtask generate`",
                path.display()
            );
        }
    }

    #[test]
    fn every_resource_is_cluster_scoped_and_has_the_names_people_type() {
        let names: Vec<(String, Option<Vec<String>>)> = [CrdSet::Berth, CrdSet::MachineConfig]
            .into_iter()
            .flat_map(crds)
            .inspect(|crd| {
                assert_eq!(crd.spec.scope, "Cluster");
                // `kubectl get berth NAME` would mean every kind of the category.
                let names = &crd.spec.names;
                let categories = names.categories.iter().flatten();
                assert!(
                    categories
                        .into_iter()
                        .all(|category| *category != names.plural && Some(category) != names.singular.as_ref())
                );
            })
            .map(|crd| (crd.spec.names.kind, crd.spec.names.short_names))
            .collect();
        let short = |name: &str| Some(vec![name.to_owned()]);
        assert_eq!(
            names,
            [
                ("Berth".to_owned(), short("bth")),
                ("LabelRule".to_owned(), short("lr")),
                ("Roster".to_owned(), None),
                ("TokenBinding".to_owned(), None),
                ("MachineConfigPool".to_owned(), short("mcp")),
                ("MachineConfig".to_owned(), short("mc")),
                ("KubeletConfig".to_owned(), None),
                ("ContainerRuntimeConfig".to_owned(), short("ctrcfg")),
                ("MachineConfigNode".to_owned(), None),
                ("ControllerConfig".to_owned(), None),
            ]
        );
    }
}
