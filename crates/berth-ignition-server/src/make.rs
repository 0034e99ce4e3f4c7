//! From what is decided about pools and machines to a catalog.

use std::collections::BTreeMap;

use berth_decide::{Place, PoolServing, Serving};
use berth_ignition::{Config, Encoding, file_as, file_contents, parse, types::File};
use berth_labels::{Flavour, LabelSet};
use berth_pools::{ControllerConfig, MachineConfig};
use berth_units::{EffectiveUnit, KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE, LabelChange, merge_kubelet_env};

use crate::{
    assemble::KUBELET_CA,
    catalog::{Catalog, CatalogError, CommonFiles, NodeConfig},
};

const KUBELET: &str = "kubelet.service";

/// The settings of OpenShift's kubelet.
const KUBELET_CONFIG: &str = "/etc/kubernetes/kubelet.conf";

/// A catalog, and what is odd about it.
#[derive(Debug)]
pub struct Made {
    /// What is served.
    pub catalog: Catalog,
    /// Sentences for the log.
    pub notices: Vec<String>,
}

impl Catalog {
    /// Makes the catalog of what is decided.
    ///
    /// # Errors
    /// When a config is not one that Ignition would use.
    pub fn make(serving: Serving, revision: impl Into<String>, mut common: CommonFiles) -> Result<Made, CatalogError> {
        let Serving {
            flavour,
            pools,
            nodes,
            controller_config,
            mut notices,
        } = serving;
        if let Some(ControllerConfig {
            kubelet_ca, cloud_ca, ..
        }) = controller_config
        {
            common.kubelet_ca.get_or_insert(kubelet_ca);
            common.cloud_ca_bundle.get_or_insert(cloud_ca);
        }
        let has_ca = common.kubelet_ca.as_ref().is_some_and(|ca| !ca.is_empty());
        let without = pools.iter().filter(|(_, pool)| !has_ca && needs_kubelet_ca(pool));
        notices.extend(without.map(|(name, _)| {
            format!(
                "kubelets of pool {name} read {KUBELET_CA} and do not start without it; it is in no machine config: give it with \
                 --kubelet-ca"
            )
        }));
        let mut builder = Self::builder(revision);
        builder.common(common);
        // Read once for each pool: there are many machines in it.
        let hooks: BTreeMap<String, Result<Option<Hook>, String>> = pools
            .iter()
            .map(|(name, pool)| (name.clone(), Hook::of(pool.config.as_ref().ok())))
            .collect();
        let boot = |pool: &str, labels: LabelSet| -> Result<NodeConfig, String> {
            let Some(hook) = hooks.get(pool) else {
                return Err(format!("its pool {pool} does not exist"));
            };
            let hook = hook.as_ref().map_err(Clone::clone)?;
            let file = hook.as_ref().map(|hook| hook.file(&labels, flavour)).transpose()?;
            Ok(NodeConfig {
                pool: pool.to_owned(),
                labels,
                files: file.flatten().into_iter().collect(),
            })
        };
        for (name, place) in nodes {
            match place.and_then(|Place { pool, labels }| boot(&pool, labels)) {
                Ok(config) => builder.node(name, config),
                Err(reason) => {
                    notices.push(format!("node {name} gets no config: {reason}"));
                    builder.node_without_config(name, reason)
                }
            };
        }
        for (name, PoolServing { config, labels }) in pools {
            if !labels.is_empty() {
                match boot(&name, labels) {
                    Ok(config) => {
                        builder.boot(config);
                    }
                    Err(reason) => notices.push(format!("machines of pool {name} get no boot labels: {reason}")),
                }
            }
            match config {
                Ok(config) => builder.pool(name, config),
                Err(reason) => builder.pool_without_config(name, reason),
            };
        }
        let catalog = builder.build()?;
        Ok(Made { catalog, notices })
    }
}

/// Whether kubelets of a pool read the certificates that its config does not bring.
fn needs_kubelet_ca(pool: &PoolServing) -> bool {
    let rendered = pool.config.as_ref().ok();
    let Some(config) = rendered
        .and_then(|rendered| rendered.spec.config.as_ref())
        .and_then(|json| parse(json).config)
    else {
        return false;
    };
    let names_it = |text: &[u8]| text.windows(KUBELET_CA.len()).any(|part| part == KUBELET_CA.as_bytes());
    let in_files = config
        .find_file(KUBELET_CONFIG)
        .is_some_and(|file| file_contents(file).is_ok_and(|contents| names_it(&contents)));
    let in_units = || {
        let mut texts = config.unit_texts().filter(|text| text.unit == KUBELET);
        texts.any(|text| names_it(text.text.as_bytes()))
    };
    config.find_file(KUBELET_CA).is_none() && (in_files || in_units())
}

/// OpenShift's hook for labels in the kubelet unit of a pool. Where there is none, `berth-node` on the machine reads the labels
/// file.
struct Hook {
    unit: EffectiveUnit,
    /// The pool's own file of variables.
    existing: Vec<u8>,
}

impl Hook {
    fn of(rendered: Option<&MachineConfig>) -> Result<Option<Self>, String> {
        let config = rendered
            .and_then(|rendered| rendered.spec.config.as_ref())
            .and_then(|json| parse(json).config)
            .unwrap_or_default();
        let Some(unit) = kubelet_with_hook(&config) else {
            return Ok(None);
        };
        let existing = match config.find_file(KUBELET_ENV_PATH) {
            None => Vec::new(),
            Some(file) => file_contents(file)
                .map_err(|error| format!("{KUBELET_ENV_PATH} of the pool cannot be read: {error}"))?,
        };
        Ok(Some(Self { unit, existing }))
    }

    /// The file that hands the labels to the kubelet; nothing where the pool's own does.
    fn file(&self, labels: &LabelSet, flavour: Flavour) -> Result<Option<File>, String> {
        let change = LabelChange {
            labels,
            previous: &LabelSet::default(),
            flavour,
        };
        let merged = merge_kubelet_env(&self.existing, Some(&self.unit), change).map_err(|error| error.to_string())?;
        Ok(merged
            .changed
            .then(|| file_as(KUBELET_ENV_PATH, 0o644, merged.text, Encoding::Percent)))
    }
}

fn kubelet_with_hook(config: &Config) -> Option<EffectiveUnit> {
    let texts = || config.unit_texts().filter(|text| text.unit == KUBELET);
    let has_hook = texts().any(|text| text.text.contains(KUBELET_ENV_VARIABLE));
    let fragment = texts().find(|text| text.dropin.is_none()).filter(|_| has_hook)?;
    let drop_ins: Vec<(&str, &[u8])> = texts()
        .filter_map(|text| Some((text.dropin?, text.text.as_bytes())))
        .collect();
    Some(EffectiveUnit::assemble(
        KUBELET,
        (KUBELET, fragment.text.as_bytes()),
        &drop_ins,
    ))
}
