//! The site of a committed revision, and what is wrong with it for some of its nodes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use berth_api::{DocumentName, Level, MessageKind, MovesFrom, Source, ValidationMessage};
use berth_documents::{Severity, deckhand::Query};
use berth_labels::Flavour;
use berth_repository::{Configdocs, Error, RevisionKey, SecretPlaces, read_site};
use berth_site::{LabelChanges, LiveTraffic, Placement, Resolution, Resolver, Site, load};

use berth_decide::{Costs, Declaration, NodeState, UnitLabels};

/// Shipyard's own document, which says how to run its workflows.
const DEPLOYMENT_CONFIGURATION: (&str, &str) = ("shipyard/DeploymentConfiguration/v1", "deployment-configuration");

/// Whose documents say that Airship deploys the site. Drydock's are not among them: they are a way to write down any site.
const AIRSHIP: [&str; 3] = ["armada", "promenade", "shipyard"];

/// The site of one revision. It does not change, so it can be kept.
#[derive(Debug)]
pub struct SiteSnapshot {
    /// The revision.
    pub revision: u64,
    /// What names it beside its number.
    pub(crate) key: RevisionKey,
    /// Everything that validation finds in it.
    pub messages: Vec<ValidationMessage>,
    /// Whether it has a `DeploymentConfiguration`.
    pub has_deployment_configuration: bool,
    /// Whether it has a document of Shipyard, Armada or Promenade.
    pub is_deployed_by_airship: bool,
    site: Site,
    secrets: SecretPlaces,
    flavour: Flavour,
}

impl SiteSnapshot {
    /// Reads and validates a revision. `flavour` says whose kubelet rules hold, unless the site says it itself.
    ///
    /// # Errors
    /// When the revision cannot be read or rendered.
    pub async fn load(configdocs: &Configdocs, revision: u64, flavour: Option<Flavour>) -> Result<Arc<Self>, Error> {
        let key = configdocs.repository().revision_key(revision).await?;
        let messages = configdocs.validate(revision).await?;
        let documents = configdocs
            .repository()
            .site_documents(revision, &Query::default())
            .await?;
        let has_deployment_configuration = documents
            .iter()
            .any(|filed| (filed.document.schema(), filed.document.name()) == DEPLOYMENT_CONFIGURATION);
        let is_deployed_by_airship = documents
            .iter()
            .filter_map(|filed| filed.document.schema().split('/').next())
            .any(|service| AIRSHIP.contains(&service));
        let read = tokio::task::spawn_blocking(move || {
            let read = read_site(&documents);
            (load(&read.set.sources, &read.set.documents).0, read.secrets)
        });
        let (site, secrets) = read.await.map_err(|_| Error::Interrupted)?;
        // Meanwhile everything may have been deleted and loaded anew.
        if configdocs.repository().revision_key(revision).await? != key {
            return Err(berth_store::Error::RevisionNotFound { revision }.into());
        }
        Ok(Arc::new(Self {
            revision,
            key,
            messages,
            has_deployment_configuration,
            is_deployed_by_airship,
            flavour: site.flavour_for(flavour),
            site,
            secrets,
        }))
    }

    /// Answers questions about the nodes.
    pub fn resolver(&self) -> Resolver<'_> {
        Resolver::new(&self.site, self.flavour)
    }

    /// The keys by which its pools know their nodes.
    pub(crate) fn identifying_keys(&self) -> BTreeSet<String> {
        self.site.membership().selector_keys()
    }

    /// Which egress addresses and routers would move by these changes, one sentence each, and how that is known.
    ///
    /// What the cluster shows counts: where its addresses and routers are, and the networks of its nodes. Where it shows nothing,
    /// labels are those of the live nodes, networks and addresses those of the documents.
    pub fn moves(
        &self,
        live: &HashMap<String, NodeState>,
        mut changes: BTreeMap<String, LabelChanges>,
        shown: Result<LiveTraffic, String>,
    ) -> (Vec<String>, MovesFrom) {
        let carries = |site: &Site| !(site.egress_ips.is_empty() && site.ingress_controllers.is_empty());
        let (shown, reason) = match shown {
            Ok(shown) if carries(&shown.site) || !shown.hosting.routers.is_empty() => (Some(shown), None),
            Ok(_) => (
                None,
                Some("the cluster has no EgressIP and no ingress controller".to_owned()),
            ),
            Err(error) => (None, Some(format!("what the cluster has cannot be read: {error}"))),
        };
        if shown.is_none() && !carries(&self.site) {
            return (
                Vec::new(),
                reason.map_or(MovesFrom::Cluster, |reason| MovesFrom::Simulation { reason }),
            );
        }
        let resolver = self.resolver();
        let mut placement = Placement::now(&resolver, &resolver.resolve_all());
        if let Some(shown) = &shown {
            placement.observe(shown);
        }
        for node in &mut placement.nodes {
            match live.get(&node.name) {
                Some(state) => node.labels.clone_from(&state.labels),
                None => node.not_ready = true,
            }
        }
        let costs = Costs::new(&self.site);
        placement.note_reboots(&mut changes, |before, after| costs.move_reboots(before, after));
        match shown {
            None => {
                let reason = reason.unwrap_or_default();
                let moves = placement.moves(&changes, None).sentences();
                (moves, MovesFrom::Simulation { reason })
            }
            Some(shown) => {
                let moves = placement.live_moves(&changes, &shown).sentences();
                let simulated = shown.site.egress_ips.is_empty() && !self.site.egress_ips.is_empty();
                let reason = "the cluster has no EgressIP: where its addresses would be is simulated".to_owned();
                let from = if simulated {
                    MovesFrom::Simulation { reason }
                } else {
                    MovesFrom::Cluster
                };
                (moves, from)
            }
        }
    }

    /// What is missing when Shipyard's own document is asked for, in Shipyard's words.
    pub fn missing_deployment_configuration(&self) -> Option<ValidationMessage> {
        let (schema, name) = DEPLOYMENT_CONFIGURATION;
        (!self.has_deployment_configuration).then(|| ValidationMessage {
            message: format!("Missing required document {schema}"),
            error: true,
            name: "DocumentNotFoundError".to_owned(),
            documents: vec![DocumentName {
                schema: schema.to_owned(),
                name: name.to_owned(),
                layer: None,
            }],
            level: Level::Error,
            diagnostic: format!(
                "The configuration documents must include a document with schema: {schema} and name: {name}"
            ),
            source: Source::Shipyard,
            kind: MessageKind::ValidationMessage,
        })
    }
}

/// The nodes of a request in a site.
#[derive(Debug)]
pub(crate) struct Targets {
    /// Each node with what it is to carry, in the order of the request.
    pub(crate) nodes: Vec<(String, Declaration)>,
    /// Names that the site does not declare.
    pub(crate) unknown: Vec<String>,
    /// Errors that touch the nodes.
    pub(crate) blocking: Vec<ValidationMessage>,
    /// Errors that do not.
    pub(crate) elsewhere: Vec<ValidationMessage>,
}

impl Targets {
    /// Looks names up. With `all_or_nothing` an error anywhere in the site touches every node.
    pub(crate) fn find(site: &SiteSnapshot, names: &[String], all_or_nothing: bool) -> Self {
        let resolver = site.resolver();
        let mut targets = Self {
            nodes: Vec::with_capacity(names.len()),
            unknown: Vec::new(),
            blocking: Vec::new(),
            elsewhere: Vec::new(),
        };
        let mut used = Used::default();
        let mut own = Vec::new();
        let mut units = UnitLabels::new(resolver.site(), resolver.flavour());
        for name in names {
            let Some(subject) = resolver.subject(name).filter(|subject| subject.is_declared()) else {
                targets.unknown.push(name.clone());
                continue;
            };
            let resolution = resolver.resolve(subject);
            used.add(&resolver, &resolution);
            own.extend(own_errors(site, &resolution));
            targets
                .nodes
                .push((name.clone(), Declaration::new(&resolver, &resolution, &mut units)));
        }
        for message in site.messages.iter().filter(|message| message.error) {
            if all_or_nothing || used.is_touched_by(&resolver, message) {
                targets.blocking.push(message.clone());
            } else {
                targets.elsewhere.push(message.clone());
            }
        }
        // The same words about many nodes are told once in the validation of a site, with a count behind them.
        for message in own {
            let known = targets
                .blocking
                .iter()
                .any(|other| other.message.starts_with(&message.message));
            if !known {
                targets.blocking.push(message);
            }
        }
        targets
    }
}

fn own_errors(site: &SiteSnapshot, resolution: &Resolution) -> impl Iterator<Item = ValidationMessage> {
    let errors = resolution
        .diagnostics
        .iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .map(|finding| site.secrets.veil(finding.clone()));
    errors.map(|finding| ValidationMessage {
        error: true,
        name: finding.code().to_owned(),
        message: finding.message,
        documents: vec![DocumentName {
            schema: "drydock/BaremetalNode/v1".to_owned(),
            name: resolution.node.as_ref().to_owned(),
            layer: None,
        }],
        level: Level::Error,
        diagnostic: finding.help.unwrap_or_default(),
        source: Source::Berth,
        kind: MessageKind::ValidationMessage,
    })
}

/// The documents that say something about the labels of some nodes, by kind and name.
#[derive(Debug, Default)]
struct Used(HashSet<(&'static str, String)>);

impl Used {
    fn add(&mut self, resolver: &Resolver<'_>, resolution: &Resolution) {
        let site = resolver.site();
        self.insert("BaremetalNode", &resolution.node);
        let berths = site
            .berths
            .iter()
            .filter(|berth| berth.node_name.value == resolution.node);
        for berth in berths {
            self.insert("Berth", &berth.name.value);
        }
        for rule in resolution
            .rules
            .iter()
            .filter_map(|rule| site.rules.get(usize::try_from(*rule).ok()?))
        {
            self.insert("LabelRule", &rule.name.value);
        }
        if let Some(pool) = resolution.pool_name() {
            self.insert("MachineConfigPool", pool);
        }
        let Some(facts) = resolver
            .subject(&resolution.node)
            .map(|subject| resolver.facts(subject))
        else {
            return;
        };
        for (kind, name) in [("Rack", facts.rack), ("HardwareProfile", facts.hardware_profile)] {
            if let Some(name) = name {
                self.insert(kind, name);
            }
        }
        // A chain that runs in a circle ends where it comes back to itself.
        let mut next = facts.profile;
        while let Some(name) = next.filter(|name| self.insert("HostProfile", name)) {
            let profile = site.profiles.iter().find(|profile| profile.name.value.as_ref() == name);
            next = profile
                .and_then(|profile| profile.data.profile.as_ref())
                .map(|name| name.value.as_ref());
        }
    }

    fn insert(&mut self, kind: &'static str, name: &str) -> bool {
        self.0.insert((kind, name.to_owned()))
    }

    fn has(&self, kind: &'static str, name: &str) -> bool {
        self.0.contains(&(kind, name.to_owned()))
    }

    /// A message about no document may be about any node.
    fn is_touched_by(&self, resolver: &Resolver<'_>, message: &ValidationMessage) -> bool {
        let mut documents = message.documents.iter();
        message.documents.is_empty()
            || documents.any(|document| self.is_about(resolver, &document.schema, &document.name))
    }

    fn is_about(&self, resolver: &Resolver<'_>, schema: &str, name: &str) -> bool {
        let site = resolver.site();
        match schema.split('/').nth(1).unwrap_or_default() {
            "BaremetalNode" => self.has("BaremetalNode", name),
            "Berth" => self.has("Berth", name),
            "HostProfile" => self.has("HostProfile", name),
            "Rack" => self.has("Rack", name),
            "HardwareProfile" => self.has("HardwareProfile", name),
            // One that could not be read might have been for any node.
            "LabelRule" => {
                self.has("LabelRule", name) || !site.rules.iter().any(|rule| rule.name.value.as_ref() == name)
            }
            "MachineConfigPool" => {
                self.has("MachineConfigPool", name) || !site.pools.iter().any(|pool| pool.name.value.as_ref() == name)
            }
            // It says whose rules hold.
            "Region" => true,
            // What else a site has says nothing about labels.
            _ => false,
        }
    }
}
