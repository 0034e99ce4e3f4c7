//! `berth doctor`: what is wrong with an installation, and what to do about it.

mod admission;
mod approvers;
mod daemons;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
        certificates::v1::CertificateSigningRequest,
        coordination::v1::Lease,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, PostParams},
};
use serde::Serialize;

use crate::{
    admission::FailurePolicy,
    install::{CONTROLLER, InstallMode, InstallOptions, PoolDefinitions, pool_definitions, rights},
    summary,
};
use berth_decide::KUBELET_SIGNER;
use berth_resources::{CrdSet, crds};

pub use self::daemons::{NO_DAEMON, few_names};

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Note,
    /// Something does not work as well as it could.
    Warning,
    /// Something does not work.
    Error,
}

impl Health {
    /// The word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at.
    pub check: String,
    /// How it went.
    pub health: Health,
    /// What was found.
    pub message: String,
    /// What to do; empty when nothing is to be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// What to expect of a cluster.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The namespace of the workloads.
    pub namespace: String,
    /// Which controllers should run.
    pub mode: InstallMode,
    /// The controllers decide about certificate requests.
    pub approve: bool,
    /// The time.
    pub now: Timestamp,
}

/// A request that nobody decided for so long waits for somebody.
const LONG_WAIT: i64 = 120;

/// Looks at everything. An error says that the cluster could not be reached at all.
pub async fn doctor(client: &Client, expected: &Expected) -> kube::Result<Vec<Check>> {
    let mut checks = Checks::default();
    let version = client.apiserver_version().await?;
    let number = |text: &str| text.trim_end_matches('+').parse::<u32>().unwrap_or_default();
    let minor = number(&version.minor);
    if number(&version.major) == 1 && minor < 30 {
        checks.add(
            "version",
            Health::Warning,
            format!("the API server is {}", version.git_version),
            "Berth is tested with 1.36; before 1.30 there are no admission policies: install with --admission webhook",
        );
    } else {
        checks.ok("version", format!("the API server is {}", version.git_version));
    }
    let installed = definitions(client, &mut checks).await?;
    if version.platform == "embedded" && has_no_lease(client, expected).await? {
        checks.add(
            "leader",
            Health::Note,
            "this is the cluster of `berth up`: its controllers run in the same program, without account and Lease",
            "",
        );
    } else {
        access(client, expected, &mut checks).await?;
        workload(client, expected, &mut checks).await?;
        lease(client, expected, &mut checks).await?;
        daemons::workload(client, expected, &mut checks).await?;
    }
    if installed {
        admission::admission(client, expected, &mut checks).await?;
        berths(client, expected.now, &mut checks).await?;
    }
    certificates(client, expected, &mut checks).await?;
    if expected.approve {
        approvers::approvers(client, &mut checks).await?;
    }
    Ok(checks.0)
}

#[derive(Debug, Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add(&mut self, check: &str, health: Health, message: impl Into<String>, advice: impl Into<String>) {
        self.0.push(Check {
            check: check.to_owned(),
            health,
            message: message.into(),
            advice: advice.into(),
        });
    }

    fn ok(&mut self, check: &str, message: impl Into<String>) {
        self.add(check, Health::Ok, message, "");
    }
}

/// Whether Berth's own definitions are there.
async fn definitions(client: &Client, checks: &mut Checks) -> kube::Result<bool> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut installed = true;
    for wanted in crds(CrdSet::Berth) {
        let name = wanted.name_any();
        let Some(found) = api.get_opt(&name).await? else {
            installed = false;
            checks.add(
                "definitions",
                Health::Error,
                format!("{name} is missing"),
                "run `berth install`",
            );
            continue;
        };
        let established = found
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten());
        let established = established
            .into_iter()
            .any(|condition| condition.type_ == "Established" && condition.status == "True");
        let schema = |crd: &CustomResourceDefinition| {
            let version = crd.spec.versions.first()?;
            serde_json::to_value(&version.schema).ok()
        };
        if !established {
            installed = false;
            checks.add(
                "definitions",
                Health::Error,
                format!("{name} is not served"),
                format!("`kubectl describe crd {name}` says why"),
            );
        } else if schema(&found) != schema(&wanted) {
            checks.add(
                "definitions",
                Health::Warning,
                format!("{name} is of another version of Berth"),
                "run `berth install` of the version that runs",
            );
        } else {
            checks.ok("definitions", format!("{name} is as it should be"));
        }
    }
    match pool_definitions(client).await? {
        PoolDefinitions::None => checks.add(
            "definitions",
            Health::Error,
            "there are no definitions of pools and machine configs",
            "run `berth install`, which brings them where OpenShift does not",
        ),
        PoolDefinitions::Berth => checks.ok("definitions", "pools and machine configs are Berth's"),
        PoolDefinitions::Foreign => checks.ok("definitions", "pools and machine configs are the platform's own"),
    }
    Ok(installed)
}

/// Whether the controllers may do what they have to.
async fn access(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let options = InstallOptions {
        mode: expected.mode,
        namespace: expected.namespace.clone(),
        image: String::new(),
        replicas: 0,
        approve: expected.approve,
        admission: admission::way(&admission::arguments(client, expected).await?),
        certificate: None,
        client_authority: None,
        policies: true,
        failure: FailurePolicy::Ignore,
        flavour: None,
        pool_definitions: false,
        database_secret: None,
        daemon: false,
        drift: "report",
    };
    let user = format!("system:serviceaccount:{}:{CONTROLLER}", expected.namespace);
    let mut lacking = Vec::new();
    let mut asked = 0;
    for right in rights(&options) {
        let (resource, subresource) = right.resource.split_once('/').unwrap_or((right.resource, ""));
        for verb in right.verbs {
            let attributes = ResourceAttributes {
                group: Some(right.group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource: Some(subresource.to_owned()).filter(|name| !name.is_empty()),
                verb: Some((*verb).to_owned()),
                namespace: right.namespace.clone(),
                name: right.names.first().map(|name| (*name).to_owned()),
                ..ResourceAttributes::default()
            };
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    user: Some(user.clone()),
                    groups: Some(vec![
                        "system:serviceaccounts".to_owned(),
                        "system:authenticated".to_owned(),
                    ]),
                    resource_attributes: Some(attributes),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let answer = match api.create(&PostParams::default(), &review).await {
                Ok(answer) => answer,
                Err(kube::Error::Api(status)) if status.is_forbidden() => {
                    checks.add(
                        "access",
                        Health::Note,
                        "you may not ask what the controllers may do",
                        "run `berth doctor` as an administrator",
                    );
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            asked += 1;
            if !answer.status.is_some_and(|status| status.allowed) {
                lacking.push(format!("{verb} {}", right.resource));
            }
        }
    }
    if lacking.is_empty() {
        checks.ok("access", format!("{user} has all {asked} rights that it needs"));
    } else {
        checks.add(
            "access",
            Health::Error,
            format!("{user} may not {}", lacking.join(", ")),
            "run `berth install`, or grant the rights to the account that runs the controllers",
        );
    }
    Ok(())
}

async fn workload(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), &expected.namespace);
    let Some(deployment) = api.get_opt(CONTROLLER).await? else {
        checks.add(
            "workload",
            Health::Note,
            format!(
                "there is no Deployment {CONTROLLER} in namespace {}",
                expected.namespace
            ),
            "run `berth install`, unless the controllers run elsewhere",
        );
        return Ok(());
    };
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let available = deployment
        .status
        .and_then(|status| status.available_replicas)
        .unwrap_or(0);
    let message = format!("{available} of {wanted} controllers are available");
    if available == 0 {
        let advice = format!("`kubectl -n {} describe pods` says why", expected.namespace);
        checks.add("workload", Health::Error, message, advice);
    } else if available < wanted {
        let advice = "one is enough to work; with more, the next takes over when the leader dies";
        checks.add("workload", Health::Warning, message, advice);
    } else {
        checks.ok("workload", message);
    }
    Ok(())
}

async fn has_no_lease(client: &Client, expected: &Expected) -> kube::Result<bool> {
    let api: Api<Lease> = Api::namespaced(client.clone(), &expected.namespace);
    Ok(api.get_opt(CONTROLLER).await?.is_none())
}

async fn lease(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    let api: Api<Lease> = Api::namespaced(client.clone(), &expected.namespace);
    let spec = api.get_opt(CONTROLLER).await?.and_then(|lease| lease.spec);
    let holder = spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.clone())
        .filter(|holder| !holder.is_empty());
    let (Some(spec), Some(holder)) = (spec, holder) else {
        checks.add(
            "leader",
            Health::Error,
            "no controller leads",
            "start one with `berth install` or `berth controller`; one with --no-leader-election takes no Lease",
        );
        return Ok(());
    };
    let silent = spec
        .renew_time
        .map(|renewed| expected.now.duration_since(renewed.0))
        .and_then(|silent| Duration::try_from(silent).ok())
        .unwrap_or_default();
    let patience = Duration::from_secs(u64::try_from(spec.lease_duration_seconds.unwrap_or(15)).unwrap_or(15));
    if silent > patience.saturating_mul(2) {
        checks.add(
            "leader",
            Health::Error,
            format!(
                "{holder} led last, and has been silent for {} seconds",
                silent.as_secs()
            ),
            "look at its log; another replica would have taken over by now",
        );
    } else {
        checks.ok("leader", format!("{holder} leads"));
    }
    Ok(())
}

/// Requests of kubelets that nobody has decided: machines that cannot join.
async fn certificates(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    let api: Api<CertificateSigningRequest> = Api::all(client.clone());
    let selector = format!("spec.signerName={KUBELET_SIGNER}");
    let requests = api.list(&ListParams::default().fields(&selector)).await?;
    let waiting: Vec<String> = requests
        .iter()
        .filter(|request| {
            let decided = request.status.as_ref().and_then(|status| status.conditions.as_ref());
            let age = request
                .metadata
                .creation_timestamp
                .as_ref()
                .map_or(0, |created| expected.now.as_second() - created.0.as_second());
            decided.is_none_or(Vec::is_empty) && age > LONG_WAIT
        })
        .map(kube::ResourceExt::name_any)
        .collect();
    if waiting.is_empty() {
        checks.ok("certificates", "no kubelet waits for its certificate");
    } else {
        checks.add(
            "certificates",
            Health::Warning,
            format!("kubelets wait for their certificates: {}", waiting.join(", ")),
            "reserve the names and run the controllers with --approve, or approve with `kubectl certificate approve`",
        );
    }
    Ok(())
}

async fn berths(client: &Client, now: Timestamp, checks: &mut Checks) -> kube::Result<()> {
    let summary = summary(client, now).await?;
    daemons::silent(&summary.pools, checks);
    let bad: Vec<&str> = summary
        .berths
        .iter()
        .filter(|berth| berth.has_drifted())
        .map(|berth| berth.name.as_str())
        .collect();
    if bad.is_empty() {
        checks.ok(
            "berths",
            format!("{} Berths, none of which needs attention", summary.berths.len()),
        );
    } else {
        checks.add(
            "berths",
            Health::Warning,
            format!("{} of {} Berths are not as declared", bad.len(), summary.berths.len()),
            "`berth status` shows which and why",
        );
    }
    daemons::stuck(&summary, checks);
    Ok(())
}
