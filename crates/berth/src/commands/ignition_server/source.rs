//! A folder of documents as the source of a catalog.

use std::{fmt::Write as _, io, path::PathBuf};

use berth_documents::{Diagnostic, Severity, Sources};
use berth_ignition::{Config, Encoding, file_as, file_contents, parse, types::File};
use berth_labels::{Flavour, LabelSet, Route};
use berth_pools::{RenderOptions, Rendered};
use berth_server::{Catalog, CatalogBuilder, CommonFiles, NodeConfig};
use berth_site::{Resolution, Resolver};
use berth_units::{EffectiveUnit, KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE, LabelChange, merge_kubelet_env};
use sha2::{Digest, Sha256};

use super::in_one_line;
use crate::{
    args::{FlavourArg, IgnitionServerOptions},
    failure::Failure,
    files,
    findings::Finding,
    input::{self, Fingerprint},
    rendering::{self, PoolConfig},
    site::Loaded,
};

const KUBELET: &str = "kubelet.service";

/// What makes a catalog of documents.
#[derive(Clone)]
pub(super) struct Maker {
    flavour: FlavourArg,
    options: RenderOptions,
    kubeconfig: Option<Vec<u8>>,
}

/// The documents of a folder.
pub(super) struct SiteSource {
    paths: Vec<PathBuf>,
    maker: Maker,
    /// The files as they were before they were read last.
    seen: Option<Fingerprint>,
}

/// What came of reading.
pub(super) enum Reading {
    /// Something to serve, and what is odd about it.
    Catalog {
        catalog: Box<Catalog>,
        notices: Vec<String>,
    },
    /// Documents with mistakes in them.
    Broken(Broken),
}

/// Mistakes that keep a site from being served.
pub(super) struct Broken {
    pub(super) sources: Sources,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Broken {
    /// Writes every mistake to the log.
    pub(super) fn log(&self) {
        for diagnostic in self.diagnostics.iter().filter(|it| it.severity() == Severity::Error) {
            let finding = Finding::new(&self.sources, diagnostic);
            tracing::error!(place = finding.name(), "{}", diagnostic.message);
        }
    }
}

impl Broken {
    /// The first mistake, and how many more there are.
    pub(super) fn in_words(&self) -> String {
        let mut errors = self.diagnostics.iter().filter(|it| it.severity() == Severity::Error);
        let Some(first) = errors.next() else {
            return "the site has errors".to_owned();
        };
        let place = Finding::new(&self.sources, first).name();
        match errors.count() {
            0 => format!("{place}: {}", first.message),
            more => format!("{place}: {} (and {more} more)", first.message),
        }
    }
}

impl SiteSource {
    /// A source that has not been read yet.
    pub(super) fn new(args: &IgnitionServerOptions, maker: Maker) -> Result<Self, Failure> {
        if args.paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(Failure::Argument {
                message: "a server follows files; it cannot read its site from standard input".to_owned(),
                hint: None,
            });
        }
        Ok(Self {
            paths: args.paths.clone(),
            maker,
            seen: None,
        })
    }

    /// Whether any file is not as it was when it was read last.
    pub(super) fn has_changed(&self) -> bool {
        self.seen.as_ref() != Some(&Fingerprint::of(&self.paths))
    }

    /// Reads everything and builds the catalog.
    pub(super) fn read(&mut self) -> Result<Reading, Failure> {
        // Taken before the files are read: what changes in between is seen at the next look.
        self.seen = Some(Fingerprint::of(&self.paths));
        let texts = input::read_text(&self.paths, &mut io::empty()).map_err(Failure::Input)?;
        self.maker.make(revision("files", &texts), texts)
    }
}

impl Maker {
    /// A maker for a site that says everything itself.
    pub(super) fn with_defaults() -> Self {
        Self {
            flavour: FlavourArg::default(),
            options: rendering::options(None),
            kubeconfig: None,
        }
    }

    /// A maker for these options.
    pub(super) fn new(args: &IgnitionServerOptions) -> Result<Self, Failure> {
        Ok(Self {
            flavour: args.flavour,
            options: rendering::options(args.os_image_url.as_deref()),
            kubeconfig: args.kubeconfig.as_deref().map(files::read).transpose()?,
        })
    }

    /// The catalog of documents, each with its name, under the name of their revision.
    pub(super) fn make(&self, revision: String, texts: Vec<(String, String)>) -> Result<Reading, Failure> {
        let loaded = Loaded::from_texts(texts);
        let flavour = self.flavour.of(&loaded.site);
        let resolver = Resolver::new(&loaded.site, flavour);
        let mut diagnostics = loaded.findings_without_nodes(&resolver);
        if diagnostics.iter().any(|it| it.severity() == Severity::Error) {
            diagnostics.retain(|it| it.severity() == Severity::Error);
            crate::findings::sort(&loaded.sources, &mut diagnostics);
            drop(resolver);
            return Ok(Reading::Broken(Broken {
                diagnostics,
                sources: loaded.sources,
            }));
        }
        let configs = rendering::render_pools(&loaded.site, None, &self.options)?;
        let mut builder = Catalog::builder(revision);
        builder.common(CommonFiles {
            kubeconfig: self.kubeconfig.clone(),
            ..CommonFiles::default()
        });
        let mut notices = add_pools(&mut builder, &configs);
        for resolution in resolver.resolve_all() {
            notices.extend(add_node(&mut builder, &resolution, &configs, flavour));
        }
        let catalog = builder
            .build()
            .map_err(|error| Failure::Unusable(format!("the site cannot be served: {}", in_one_line(&error))))?;
        Ok(Reading::Catalog {
            catalog: Box::new(catalog),
            notices,
        })
    }
}

fn add_pools(builder: &mut CatalogBuilder, configs: &[PoolConfig<'_>]) -> Vec<String> {
    let mut notices = Vec::new();
    for config in configs {
        match &config.rendered {
            Ok(rendered) => {
                notices.extend(rendered.warnings.iter().map(ToString::to_string));
                builder.pool(config.name(), rendered.to_machine_config());
            }
            Err(error) => {
                let reason = in_one_line(error);
                notices.push(format!("{reason}; its machines are told to try again"));
                builder.pool_without_config(config.name(), reason);
            }
        }
    }
    notices
}

/// Adds a node with its boot labels. One whose place is in doubt gets no config, because a wrong one costs a reboot.
fn add_node(
    builder: &mut CatalogBuilder,
    resolution: &Resolution,
    configs: &[PoolConfig<'_>],
    flavour: Flavour,
) -> Option<String> {
    let mut errors = resolution
        .diagnostics
        .iter()
        .filter(|it| it.severity() == Severity::Error);
    let prepared = match (errors.next(), resolution.pool_name()) {
        (Some(error), _) => Err(error.message.clone()),
        (None, None) => Err(format!("node {} is in no pool", resolution.node)),
        (None, Some(pool)) => {
            let labels = boot_labels(resolution);
            let rendered = configs
                .iter()
                .find(|config| config.name() == pool)
                .and_then(PoolConfig::rendered);
            label_files(rendered, &labels, flavour).map(|files| NodeConfig {
                pool: pool.to_owned(),
                labels,
                files,
            })
        }
    };
    match prepared {
        Ok(config) => {
            builder.node(&*resolution.node, config);
            None
        }
        Err(reason) => {
            builder.node_without_config(&*resolution.node, reason.clone());
            Some(format!("node {} gets no config: {reason}", resolution.node))
        }
    }
}

fn boot_labels(resolution: &Resolution) -> LabelSet {
    let labels = resolution.labels.iter().filter(|label| label.route == Route::Boot);
    labels.map(|label| (label.key.clone(), label.value.clone())).collect()
}

/// The file that hands the labels to the kubelet, where the pool's kubelet unit has OpenShift's hook for it. Elsewhere
/// `berth-node` on the machine reads the labels file.
fn label_files(rendered: Option<&Rendered>, labels: &LabelSet, flavour: Flavour) -> Result<Vec<File>, String> {
    let config = rendered
        .and_then(|rendered| rendered.spec.config.as_ref())
        .and_then(|json| parse(json).config)
        .unwrap_or_default();
    let Some(unit) = kubelet_with_hook(&config) else {
        return Ok(Vec::new());
    };
    let existing = match config.find_file(KUBELET_ENV_PATH) {
        None => Vec::new(),
        Some(file) => file_contents(file)
            .map_err(|error| format!("{KUBELET_ENV_PATH} of the pool cannot be read: {}", in_one_line(&error)))?,
    };
    let change = LabelChange {
        labels,
        previous: &LabelSet::default(),
        flavour,
    };
    let merged = merge_kubelet_env(&existing, Some(&unit), change).map_err(|error| in_one_line(&error))?;
    Ok(if merged.changed {
        vec![file_as(KUBELET_ENV_PATH, 0o644, merged.text, Encoding::Percent)]
    } else {
        Vec::new()
    })
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

/// A name for the content of all files: equal content has an equal name, wherever the folder lies.
pub(super) fn revision(prefix: &str, texts: &[(String, String)]) -> String {
    let mut hash = Sha256::new();
    for (name, text) in texts {
        let name = name.rsplit('/').next().unwrap_or(name);
        for part in [name, text] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    let mut revision = format!("{prefix}-");
    for byte in hash.finalize().iter().take(6) {
        // Writing to a string cannot fail.
        let _ = write!(revision, "{byte:02x}");
    }
    revision
}
