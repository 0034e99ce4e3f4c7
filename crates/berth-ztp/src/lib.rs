//! Manifests with which a hub installs a cluster by Assisted Service.
//!
//! ```text
//! Site + resolutions ──► Target (what the release can do) ──► Hosts ──► raw set, or one ClusterInstance
//! SiteConfig         ──────────────────────────────────────────────────► ClusterInstance
//! manifests of people ──► check ──► findings with file and line
//! ```
//!
//! Everything is pure. What a release cannot do, or what reaches a machine later than people think, is a note or a finding
//! and never silence.

mod check;
mod cluster_instance;
mod extra;
mod host;
mod hub;
mod lints;
mod manifest;
mod names;
mod nmstate;
mod node_manifest;
mod raw;
mod rules;
mod site_config;
mod target;
mod ztp;

pub use check::{CheckOptions, Declared, check};
pub use lints::LINTS;
pub use manifest::{Manifest, Stage};
pub use node_manifest::{NodeManifestError, node_manifest};
pub use site_config::{Converted, convert, is_site_config};
pub use ztp::{BootLabels, Form, Manifests, ZtpInput, ZtpOptions, declared, manifests};
