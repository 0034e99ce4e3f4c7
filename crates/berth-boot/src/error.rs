//! Why an artefact cannot be made.

use berth_ignition::{DecodeError, SpecVersion, TranslateError};
use berth_units::{DropInError, HookError};

use crate::way::Way;

/// Why an artefact cannot be made. Nothing is half made then.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The generator is an executable, and there is none.
    #[error("the way `{}` needs the static executable for nodes", Way::Generator)]
    NoExecutable,
    /// The bytes given as the executable are something else.
    #[error("the executable for nodes is not an ELF file for 64 bits")]
    NotExecutable,
    /// The node may not have the loader.
    #[error("the executable for nodes needs a dynamic loader, which a node may not have: it must be linked statically")]
    NeedsLoader,
    /// A drop-in repeats the unit's command, which is not known.
    #[error("the way `{}` needs the kubelet's unit", Way::DropIn)]
    NoUnit,
    /// The unit is one that cannot take labels.
    #[error("the drop-in cannot be made")]
    DropIn(#[source] DropInError),
    /// The environment file cannot take labels.
    #[error("{path}: labels cannot be merged")]
    Hook {
        /// The environment file.
        path: &'static str,
        /// Why not.
        #[source]
        source: HookError,
    },
    /// Labels in that file would be lost without a word.
    #[error("{path}: the kubelet's unit does not use ${variable} from this file, so labels there would be lost")]
    HookNotUsed {
        /// The environment file.
        path: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// A file of the config that labels are merged into cannot be read.
    #[error("{path}: the file of the config cannot be read")]
    Contents {
        /// The file.
        path: String,
        /// What is wrong with it.
        #[source]
        source: DecodeError,
    },
    /// The config says something that the version has no words for.
    #[error("the config cannot be written in Ignition spec {version}")]
    Version {
        /// The version asked for.
        version: SpecVersion,
        /// What stands in the way.
        #[source]
        source: TranslateError,
    },
    /// Ignition would refuse the config.
    #[error("{path}: {message}")]
    Refused {
        /// The field.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// OpenShift stores what is rendered in one object, which has a limit.
    #[error(
        "the machine configs have {total} bytes together, more than the {limit} that OpenShift stores: {}",
        list_sizes(.sizes)
    )]
    TooLarge {
        /// All bytes of JSON.
        total: usize,
        /// The limit.
        limit: usize,
        /// Name and bytes of each.
        sizes: Vec<(String, usize)>,
    },
}

fn list_sizes(sizes: &[(String, usize)]) -> String {
    let texts: Vec<_> = sizes.iter().map(|(name, size)| format!("{name} {size}")).collect();
    texts.join(", ")
}
