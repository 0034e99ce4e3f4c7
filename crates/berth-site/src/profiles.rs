//! Host-profile chains, followed once for the whole site.

use std::collections::HashMap;

use berth_documents::Diagnostic;

use crate::{
    lints,
    model::{Name, Site},
    suggest::nearest,
};

/// The profiles a host builds on, weakest (the root) first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// Indices into [`Site::profiles`].
    pub(crate) profiles: Vec<usize>,
    /// What cut the chain off, if something did.
    pub(crate) broken: Option<Diagnostic>,
}

/// All chains of a site, by the profile they end in.
#[derive(Debug)]
pub(crate) struct Chains<'a> {
    site: &'a Site,
    by_name: HashMap<&'a str, usize>,
    by_index: Vec<Chain>,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        let by_name = site
            .profiles
            .iter()
            .enumerate()
            .map(|(index, profile)| (profile.name.value.as_ref(), index))
            .collect();
        let mut chains = Self {
            site,
            by_name,
            by_index: Vec::new(),
        };
        chains.by_index = (0..site.profiles.len()).map(|index| chains.follow(index)).collect();
        chains
    }

    /// The chain that ends in a profile, or why there is none of that name.
    pub(crate) fn get(&self, name: &Name) -> Result<&Chain, Diagnostic> {
        self.by_name
            .get(name.value.as_ref())
            .and_then(|index| self.by_index.get(*index))
            .ok_or_else(|| self.unknown(name))
    }

    fn follow(&self, leaf: usize) -> Chain {
        let mut profiles = vec![leaf];
        let mut broken = None;
        while let Some(parent) = profiles
            .last()
            .and_then(|index| self.site.profiles.get(*index)?.data.profile.as_ref())
        {
            let Some(&index) = self.by_name.get(parent.value.as_ref()) else {
                broken = Some(self.unknown(parent));
                break;
            };
            if let Some(start) = profiles.iter().position(|seen| *seen == index) {
                broken = Some(self.cycle(&profiles, start));
                break;
            }
            profiles.push(index);
        }
        profiles.reverse();
        Chain { profiles, broken }
    }

    fn unknown(&self, name: &Name) -> Diagnostic {
        let diagnostic = Diagnostic::new(
            &lints::UNKNOWN_PROFILE,
            name.span,
            format!("there is no host profile `{}`", name.value),
        );
        match nearest(&name.value, self.by_name.keys().copied()) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic,
        }
    }

    /// The same finding whichever profile of the circle one starts from, so that it is reported once.
    fn cycle(&self, profiles: &[usize], start: usize) -> Diagnostic {
        let mut circle: Vec<usize> = profiles.get(start..).unwrap_or_default().to_vec();
        let smallest = circle
            .iter()
            .enumerate()
            .min_by_key(|(_, index)| self.name(**index))
            .map_or(0, |(at, _)| at);
        circle.rotate_left(smallest);
        let names: Vec<&str> = circle
            .iter()
            .chain(circle.first())
            .map(|index| self.name(*index))
            .collect();
        let reference = circle
            .first()
            .and_then(|index| self.site.profiles.get(*index))
            .and_then(|profile| profile.data.profile.as_ref());
        Diagnostic::new(
            &lints::PROFILE_CYCLE,
            reference.map(|reference| reference.span),
            format!("host profiles build on each other in a circle: {}", names.join(" -> ")),
        )
    }

    fn name(&self, index: usize) -> &str {
        self.site
            .profiles
            .get(index)
            .map_or("", |profile| profile.name.value.as_ref())
    }
}
