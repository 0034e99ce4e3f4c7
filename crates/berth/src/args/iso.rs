//! `berth iso`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Format, Output};

/// Embed an Ignition config in a CoreOS live image
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth iso embed live.iso --ignition node.ign -o node.iso
  berth iso show node.iso
  berth iso remove node.iso"
)]
pub(crate) struct IsoArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: IsoCommand,
}

/// What can be done with the config in an image.
#[derive(Debug, Subcommand)]
pub(crate) enum IsoCommand {
    Embed(IsoEmbedArgs),
    Show(IsoShowArgs),
    Remove(IsoRemoveArgs),
    Restore(IsoRestoreArgs),
}

/// Where a changed image goes.
#[derive(Debug, Args)]
pub(crate) struct IsoTarget {
    /// Write a new image instead of changing this one; it must not exist yet
    #[arg(short = 'o', long = "output", value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,

    /// Keep no copy of what was in the image before
    ///
    /// Without it, a change in place first writes `ISO.berth-backup`, from which `berth iso restore` brings back what was
    /// there, also after a crash in the middle of the write.
    #[arg(long, conflicts_with = "out")]
    pub(crate) no_backup: bool,

    /// Format of the closing message
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Put an Ignition config into a live image
///
/// A machine that boots the image runs the config, as with `coreos-installer iso ignition embed`. The config is checked
/// first. Other settings that were embedded, such as network connections, stay.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth iso embed live.iso --ignition node.ign -o node.iso
  berth iso embed live.iso --ignition node.ign
  berth iso embed live.iso --url https://api.example/config/worker -o worker.iso
  berth pointer --url https://berth.example.com:22623/node/n1 |
    berth iso embed live.iso --ignition - -o n1.iso

In place, the config is written into the image itself. What was in the embed
area before goes to live.iso.berth-backup: a few hundred kilobytes, not a copy
of the image.")]
pub(crate) struct IsoEmbedArgs {
    /// The live image
    #[arg(value_name = "ISO")]
    pub(crate) image: PathBuf,

    /// File with the config; `-` is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "url")]
    pub(crate) ignition: Option<PathBuf>,

    /// Address to fetch the config from, such as that of a Machine Config Server
    ///
    /// It is asked for with the header that Ignition itself sends. The config is embedded as it is: whatever it holds that is
    /// secret is in the image then.
    #[arg(long, value_name = "URL", conflicts_with = "ignition")]
    pub(crate) url: Option<String>,

    /// Certificates in PEM that the server's must lead to, beside those of the system
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) url_ca: Option<PathBuf>,

    /// Take whatever certificate the server shows: whoever is in between can replace the config
    #[arg(long, requires = "url", conflicts_with = "url_ca")]
    pub(crate) insecure_url: bool,

    /// Replace a config that is there already, or contents that cannot be read
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) target: IsoTarget,
}

/// Print the config that is in a live image
///
/// It is printed byte by byte as it was embedded. As JSON or YAML, the place and the use of the embed area are told too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth iso show node.iso
  berth iso show node.iso -o json")]
pub(crate) struct IsoShowArgs {
    /// The live image
    #[arg(value_name = "ISO")]
    pub(crate) image: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Take the config out of a live image
///
/// If nothing else was embedded, the image is then byte by byte what it was before.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth iso remove node.iso
  berth iso remove node.iso -o live.iso")]
pub(crate) struct IsoRemoveArgs {
    /// The live image
    #[arg(value_name = "ISO")]
    pub(crate) image: PathBuf,

    /// Empty the area even if what it holds cannot be read
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) target: IsoTarget,
}

/// Undo the last change in place
///
/// Puts back what `ISO.berth-backup` holds: what was in the embed area before the last change. Needed after a crash in the
/// middle of a write, when the area cannot be read any more.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth iso restore live.iso")]
pub(crate) struct IsoRestoreArgs {
    /// The live image, with its backup beside it
    #[arg(value_name = "ISO")]
    pub(crate) image: PathBuf,

    #[command(flatten)]
    pub(crate) output: Output,
}
