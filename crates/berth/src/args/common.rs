//! Arguments that several commands share.

use std::path::PathBuf;

use berth_labels::Flavour;
use berth_site::Site;
use clap::{Args, ValueEnum};

/// `-f PATH`, at least once.
#[derive(Debug, Args)]
pub(crate) struct Files {
    /// File or folder with documents; `-` is standard input; repeatable
    ///
    /// Folders are read recursively: files ending in .yaml, .yml or .json, in byte order of their paths. Names that
    /// begin with a dot are skipped.
    #[arg(short = 'f', long = "filename", value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// `-o FORMAT`.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// The output formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// For people, with more columns
    Wide,
    /// For programs; the fields are stable
    Json,
    /// The same data as JSON
    Yaml,
    /// One name per line
    Name,
}

/// `--flavour`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FlavourArg {
    /// Whose kubelet and NodeRestriction rules hold; routes depend on it
    ///
    /// Without it, what the label `berth.dev/flavour` of a Region document says; without that, openshift where a document is from
    /// an OpenShift cluster, and upstream otherwise.
    #[arg(long, value_name = "FLAVOUR", value_enum)]
    flavour: Option<FlavourName>,
}

impl FlavourArg {
    /// The flavour for a site: what was typed, else what its documents say.
    pub(crate) fn of(self, site: &Site) -> Flavour {
        site.flavour_for(self.typed())
    }

    /// The flavour for a site, or this one where nobody says.
    pub(crate) fn of_or(self, site: &Site, otherwise: Flavour) -> Flavour {
        self.typed().or_else(|| site.declared_flavour()).unwrap_or(otherwise)
    }

    /// The flavour that was typed, if any.
    pub(crate) fn typed(self) -> Option<Flavour> {
        self.flavour.map(Flavour::from)
    }

    /// The flavour where there is no site.
    pub(crate) fn or_upstream(self) -> Flavour {
        self.flavour.map(Flavour::from).unwrap_or_default()
    }
}

/// The flavours by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FlavourName {
    /// Kubernetes as released upstream
    Upstream,
    /// OpenShift, whose kubelet may set some role labels itself
    Openshift,
}

impl From<FlavourName> for Flavour {
    fn from(name: FlavourName) -> Self {
        match name {
            FlavourName::Upstream => Self::Upstream,
            FlavourName::Openshift => Self::Openshift,
        }
    }
}

impl Format {
    /// Whether programs read it.
    pub(crate) const fn is_structured(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}
