//! From a site to the manifests of its installation.

use std::collections::{BTreeMap, BTreeSet};

use berth_documents::{Diagnostic, Severity};
use berth_site::{LoadBalancer, Release, Resolver};
use serde_json::{Value, json};

use crate::{
    check::Declared,
    cluster_instance::cluster_instance,
    extra::extra,
    host::{Hosts, Role, hosts, listed},
    hub::hub,
    lints,
    manifest::{Manifest, Stage},
    raw::{count, raw},
    target::{DETECTS_REMOTE, RemoteWay, Target},
};

/// Which objects are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Every object on its own.
    #[default]
    Raw,
    /// A `ClusterInstance`, from which the hub makes the objects.
    ClusterInstance,
}

/// When overrides carry the boot labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootLabels {
    /// Where the kubelet's unit reads them, by role, platform and release.
    #[default]
    Auto,
    /// On all machines.
    Always,
    /// On none: labels come when a node is Ready.
    Never,
}

/// What the documents do not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZtpOptions {
    /// Which objects are printed.
    pub form: Form,
    /// The release, where it is another than the Cluster's.
    pub release: Option<Release>,
    /// Remote machines at day 0 by validations that do not block, although it is not supported.
    pub unsupported: bool,
    /// When overrides carry the boot labels.
    pub boot_labels: BootLabels,
    /// The Secret with the pull secret.
    pub pull_secret: String,
    /// The `ClusterImageSet`; without it, one named after the release.
    pub image_set: Option<String>,
    /// The release image of the `ClusterImageSet`.
    pub release_image: Option<String>,
    /// The key with which people log in.
    pub ssh_public_key: Option<String>,
    /// The release of Advanced Cluster Management on the hub.
    pub hub_release: Option<Release>,
}

impl ZtpOptions {
    /// The first release of Advanced Cluster Management whose Assisted Service ignores validations of a single cluster.
    pub(crate) const IGNORES_PER_CLUSTER: Release = Release { major: 2, minor: 17 };
}

impl Default for ZtpOptions {
    fn default() -> Self {
        Self {
            form: Form::Raw,
            release: None,
            unsupported: false,
            boot_labels: BootLabels::Auto,
            pull_secret: "pull-secret".to_owned(),
            image_set: None,
            release_image: None,
            ssh_public_key: None,
            hub_release: None,
        }
    }
}

/// Where the manifests come from.
#[derive(Clone, Copy, Debug)]
pub struct ZtpInput<'a> {
    /// The site, ready to be resolved.
    pub resolver: &'a Resolver<'a>,
    /// Ingress controllers among the documents, whole.
    pub ingress_controllers: &'a [Value],
    /// What the documents do not say.
    pub options: &'a ZtpOptions,
}

/// The manifests, and what to know about them.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// In the order of application. Empty when a finding is an error.
    pub manifests: Vec<Manifest>,
    /// What a person should know: what a release cannot do, what comes later, what has to be on the hub.
    pub notes: Vec<String>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// The name of the `ClusterImageSet`.
pub(crate) fn image_set(options: &ZtpOptions, target: &Target<'_>) -> String {
    let named = || format!("openshift-{}", target.release);
    options.image_set.clone().unwrap_or_else(named)
}

/// Makes the manifests.
pub fn manifests(input: &ZtpInput<'_>) -> Manifests {
    let mut answer = Manifests::default();
    let Some(target) = Target::of(input.resolver.site(), input.options, &mut answer.diagnostics) else {
        return answer;
    };
    let mut hosts = hosts(&target, input.resolver, input.options, &mut answer.diagnostics);
    control_plane(&target, &hosts, &mut answer.diagnostics);
    remote(&target, &mut hosts);
    let extra = extra(&target, &mut hosts, input.ingress_controllers, &mut answer.diagnostics);
    let name = &*target.cluster.name.value;
    let mut manifests = vec![Manifest::new(
        Stage::Install,
        "00-namespace.yaml",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
    )];
    manifests.extend(extra.manifests);
    manifests.extend(hub(&target, &mut hosts, input.options));
    let (references, options) = (&extra.references, input.options);
    match options.form {
        Form::Raw => manifests.extend(raw(&target, &hosts, references, options)),
        Form::ClusterInstance => manifests.extend(cluster_instance(&target, &hosts, references, options)),
    }
    secrets(&target, &mut hosts, options);
    manifests.sort_by(|a, b| (a.stage, &a.file).cmp(&(b.stage, &b.file)));
    answer.notes = hosts.notes;
    if !answer.diagnostics.iter().any(|it| it.severity() == Severity::Error) {
        answer.manifests = manifests;
    }
    answer
}

/// What the site wants of each host, for [`check`](crate::check). Roles and overrides are known where manifests can be made.
pub fn declared(input: &ZtpInput<'_>) -> BTreeMap<String, Declared> {
    let mut all: BTreeMap<String, Declared> = input
        .resolver
        .resolve_all()
        .iter()
        .map(|resolution| {
            let labels = resolution.label_set().to_map();
            let declared = Declared {
                labels,
                ..Declared::default()
            };
            (resolution.node.to_string(), declared)
        })
        .collect();
    let mut findings = Vec::new();
    let target = Target::of(input.resolver.site(), input.options, &mut findings);
    let made = target.map(|target| hosts(&target, input.resolver, input.options, &mut findings));
    for host in made.into_iter().flat_map(|hosts| hosts.hosts) {
        if let Some(declared) = all.get_mut(&host.name) {
            declared.role = Some(host.role.as_str().to_owned());
            declared.ignition = host.ignition;
        }
    }
    all
}

fn control_plane(target: &Target<'_>, hosts: &Hosts, findings: &mut Vec<Diagnostic>) {
    let span = target.cluster.name.span;
    let masters = count(target, hosts, Role::Master);
    let arbiters = count(target, hosts, Role::Arbiter);
    if !matches!((masters, arbiters), (1 | 3..=5, 0) | (2, 1..)) && findings.is_empty() {
        findings.push(Diagnostic::new(
            &lints::COUNTS,
            span,
            format!(
                "the documents have {masters} machines for the control plane; Assisted Service takes 1, 3, 4 or 5, or 2 with an \
                 arbiter"
            ),
        ));
    }
    if target.moves_vips()
        && let Some(host) = hosts.of_role(Role::Master).find(|host| host.remote)
    {
        findings.push(
            Diagnostic::new(
                &lints::CONTROL_PLANE,
                host.span,
                format!(
                    "`{}` is of the control plane and outside the VIPs' network: with VIPs that the cluster moves, the control \
                     plane is in one network",
                    host.name
                ),
            )
            .with_help("use a user-managed load balancer (`loadBalancer: UserManaged`, from 4.16)"),
        );
    }
    if target.cluster.load_balancer == LoadBalancer::UserManaged
        && !target.user_managed_networking()
        && masters == 1
        && hosts.of_role(Role::Worker).next().is_none()
    {
        findings.push(Diagnostic::new(
            &lints::LOAD_BALANCER,
            span,
            "Assisted Service takes no user-managed load balancer for a single node",
        ));
    }
}

/// Says how remote machines join and what keeps the VIPs' pods off them.
fn remote(target: &Target<'_>, hosts: &mut Hosts) {
    let names: Vec<String> = hosts
        .hosts
        .iter()
        .filter(|host| host.remote)
        .map(|host| host.name.clone())
        .collect();
    if names.is_empty() {
        return;
    }
    let who = listed(&names);
    hosts.note(match target.remote_way {
        RemoteWay::Day2 => format!(
            "{who}: outside the VIPs' network, which Assisted Service refuses at day 0 while the cluster moves its VIPs; their \
             manifests are in day2/, to apply when the cluster is installed. At day 0 they can come with `loadBalancer: \
             UserManaged` (from 4.16), with `platform: None`, or, unsupported, with `--unsupported`"
        ),
        RemoteWay::Unsupported => format!(
            "{who}: outside the VIPs' network; the validations belongs-to-machine-cidr and belongs-to-majority-group do not \
             block, which is not supported"
        ),
        RemoteWay::Day0 => format!("{who}: outside the VIPs' network, at day 0 with the others"),
    });
    if target.user_managed_networking() && target.cluster.vips().next().is_some() {
        hosts.note("the Cluster's VIPs are left out: API VIPs cannot be set with User Managed Networking".to_owned());
    }
    if target.detects_remote() {
        hosts.note(format!(
            "from {DETECTS_REMOTE} on nodes find out that they are remote: keepalived sleeps there, so nothing is emitted \
             against it, and the overrides carry node.openshift.io/remote-worker, which the file of the labels would hide"
        ));
    } else if target.moves_vips() {
        hosts.note(format!(
            "{} does not know remote nodes: their pools take keepalived from them by a MachineConfig",
            target.release
        ));
    }
}

/// What the hub must have beside the manifests.
fn secrets(target: &Target<'_>, hosts: &mut Hosts, options: &ZtpOptions) {
    let name = &*target.cluster.name.value;
    let secrets: BTreeSet<String> = hosts.hosts.iter().map(|host| host.bmc_credentials.clone()).collect();
    let secrets: Vec<String> = secrets.into_iter().collect();
    hosts.note(format!(
        "the hub needs the Secret `{}` and those of the management controllers ({}) in namespace `{name}`; what it needs once for all \
         clusters is in hub/",
        options.pull_secret,
        listed(&secrets)
    ));
}
