//! The rendered config of every pool.

use berth_labels::Flavour;
use berth_pools::{RenderOptions, Rendered, SelectError};
use berth_site::{Pool, PoolRenderError, Site, close_matches, name_notes, render_pool};

use crate::{failure::Failure, output::Printer};

/// A pool with its rendered config, or why it has none.
#[derive(Debug)]
pub(crate) struct PoolConfig<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) rendered: Result<Rendered, PoolRenderError>,
}

impl PoolConfig<'_> {
    /// The pool's name.
    pub(crate) fn name(&self) -> &str {
        &self.pool.name.value
    }

    /// The rendered config, if there is one.
    pub(crate) fn rendered(&self) -> Option<&Rendered> {
        self.rendered.as_ref().ok()
    }

    /// Why there is none, unless the documents hold no machine configs for the pool, which is not a mistake of theirs.
    pub(crate) fn failure(&self) -> Option<&PoolRenderError> {
        self.rendered.as_ref().err().filter(|error| !has_no_configs(error))
    }
}

fn has_no_configs(error: &PoolRenderError) -> bool {
    match error {
        PoolRenderError::NoSelector(_) => true,
        PoolRenderError::Select { error, .. } => matches!(error, SelectError::NoneFound { .. }),
        PoolRenderError::Unreadable { .. } | PoolRenderError::Render { .. } => false,
    }
}

/// What rendering takes from the command line.
pub(crate) fn options(os_image_url: Option<&str>) -> RenderOptions {
    RenderOptions {
        os_image_url: os_image_url.unwrap_or_default().to_owned(),
        ..RenderOptions::default()
    }
}

/// Renders the pools of a site, by name; only the named one, if one is named.
pub(crate) fn render_pools<'a>(
    site: &'a Site,
    only: Option<&str>,
    options: &RenderOptions,
) -> Result<Vec<PoolConfig<'a>>, Failure> {
    if let Some(name) = only {
        known_pool([site], name)?;
    }
    let mut pools: Vec<&Pool> = site
        .pools
        .iter()
        .filter(|pool| only.is_none_or(|name| *pool.name.value == *name))
        .collect();
    pools.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    // A name that is there twice has been reported; which of them counts cannot be known.
    pools.dedup_by(|a, b| a.name.value == b.name.value);
    let configs = pools.into_iter().map(|pool| PoolConfig {
        pool,
        rendered: render_pool(site, pool, options),
    });
    Ok(configs.collect())
}

/// Makes sure that one of the sites has the pool.
pub(crate) fn known_pool<'a>(sites: impl IntoIterator<Item = &'a Site>, name: &str) -> Result<(), Failure> {
    let mut names: Vec<&str> = sites
        .into_iter()
        .flat_map(|site| &site.pools)
        .map(|pool| &*pool.name.value)
        .collect();
    if names.contains(&name) {
        return Ok(());
    }
    names.sort_unstable();
    names.dedup();
    Err(Failure::Unknown {
        what: "pool",
        name: name.to_owned(),
        problem: "is not in the documents".to_owned(),
        close: close_matches(name, names).into_iter().map(str::to_owned).collect(),
    })
}

/// Says what does not stop the rendered configs but should be known.
pub(crate) fn show_warnings(printer: &mut Printer<'_>, configs: &[PoolConfig<'_>]) -> Result<(), Failure> {
    let mut shown = Vec::new();
    for warning in configs
        .iter()
        .filter_map(PoolConfig::rendered)
        .flat_map(|it| &it.warnings)
    {
        // A machine config of several pools is odd once.
        if !shown.contains(&warning) {
            printer.warning(&warning.to_string())?;
            shown.push(warning);
        }
    }
    Ok(())
}

/// Says of which rendered configs the Machine Config Operator may have other names, and why.
pub(crate) fn show_name_notes(
    printer: &mut Printer<'_>,
    site: &Site,
    flavour: Flavour,
    configs: &[PoolConfig<'_>],
) -> Result<(), Failure> {
    for note in name_notes_of(site, flavour, configs) {
        printer.note(&note)?;
    }
    Ok(())
}

/// What is to be said about the names of these configs.
pub(crate) fn name_notes_of<'a>(
    site: &Site,
    flavour: Flavour,
    configs: impl IntoIterator<Item = &'a PoolConfig<'a>>,
) -> Vec<String> {
    let rendered = configs
        .into_iter()
        .filter_map(|config| Some((config.pool, config.rendered()?)));
    name_notes(site, flavour, rendered)
}
