//! `berth install` and `berth uninstall`.

use std::{fs, path::Path};

use berth_clock::Clock;
use berth_cluster::{
    admission::FailurePolicy,
    install::{
        Admission, InstallMode, InstallOptions, PolicyKinds, PoolDefinitions, RENEW_BEFORE, Removal, RemovalOptions,
        ServingCertificate, WEBHOOK_SERVICE, apply, display_name, kept_certificate, manifests, policy_kinds,
        pool_definitions, remove,
    },
};
use berth_labels::Flavour;
use jiff::Timestamp;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    args::{FailureName, InstallAdmission, InstallArgs, InstallModeName, UninstallArgs},
    cluster::{connect, refused, unanswered},
    database::wait,
    exit::Exit,
    failure::{Chain, Failure},
    output::{Printer, Report},
};

/// Runs `berth install`.
pub(crate) fn install(args: &InstallArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let now = clock.now();
    if args.dry_run {
        let certificate = serving_certificate(&args.namespace, now)?;
        let policies = PolicyKinds {
            validating: true,
            mutating: true,
        };
        let objects = manifests(&options(args, policies, PoolDefinitions::None, certificate)?);
        printer.report(args.output.format, &Manifests(objects))?;
        return Ok(Exit::Done);
    }
    let installed = wait(async {
        let client = connect(&args.cluster).await?;
        let definitions = pool_definitions(&client).await.map_err(unanswered)?;
        let policies = policy_kinds(&client).await.map_err(unanswered)?;
        let kept = kept_certificate(&client, &args.namespace).await.map_err(unanswered)?;
        let good = |kept: &ServingCertificate| kept.seconds_left(now).is_some_and(|left| left > RENEW_BEFORE);
        let certificate = match kept.filter(good) {
            Some(kept) => kept,
            None => serving_certificate(&args.namespace, now)?,
        };
        if !policies.validating {
            printer.warning("the API server has no ValidatingAdmissionPolicies: the webhook alone keeps kubelets from Berth's annotations")?;
        }
        let mut names = Vec::new();
        for object in manifests(&options(args, policies, definitions, certificate)?) {
            let name = display_name(&object);
            apply(&client, &object, false)
                .await
                .map_err(|error| refused(&name, error))?;
            names.push(name);
        }
        Ok(names)
    })?;
    printer.report(args.output.format, &Installed { applied: installed })?;
    Ok(Exit::Done)
}

/// Runs `berth uninstall`.
pub(crate) fn uninstall(args: &UninstallArgs, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let options = RemovalOptions {
        namespace: args.namespace.clone(),
        keep_definitions: args.keep_definitions,
        pools_too: args.pools,
        dry_run: args.dry_run,
    };
    let removal = wait(async {
        let client = connect(&args.cluster).await?;
        remove(&client, &options)
            .await
            .map_err(|error| refused("the removal", error))
    })?;
    printer.report(
        args.output.format,
        &Removed {
            removal,
            dry_run: args.dry_run,
        },
    )?;
    Ok(Exit::Done)
}

fn options(
    args: &InstallArgs,
    policies: PolicyKinds,
    definitions: PoolDefinitions,
    certificate: ServingCertificate,
) -> Result<InstallOptions, Failure> {
    let foreign = definitions == PoolDefinitions::Foreign;
    if !policies.validating && args.mode == InstallModeName::Full {
        return Err(Failure::Unusable(
            "full mode needs ValidatingAdmissionPolicies (Kubernetes 1.30 or newer): nothing else keeps a node daemon to its own Node"
                .to_owned(),
        ));
    }
    Ok(InstallOptions {
        mode: mode(args.mode),
        namespace: args.namespace.clone(),
        image: args.image.clone(),
        replicas: args.replicas,
        approve: args.approve,
        admission: match args.admission {
            InstallAdmission::Auto if !policies.mutating => Admission::Webhook,
            InstallAdmission::Auto | InstallAdmission::Policy => Admission::Policy,
            InstallAdmission::Webhook => Admission::Webhook,
            InstallAdmission::Off => Admission::Off,
        },
        policies: policies.validating,
        certificate: Some(Box::new(certificate)),
        client_authority: args.admission_client_ca.as_deref().map(client_authority).transpose()?,
        failure: failure(args.admission_failure),
        // OpenShift's own machine configs set labels that an upstream kubelet refuses.
        flavour: args
            .flavour
            .map(Flavour::from)
            .or_else(|| foreign.then_some(Flavour::Openshift)),
        pool_definitions: !foreign,
        database_secret: args.database_secret.clone(),
        daemon: !args.no_daemon,
        drift: args.drift.as_str(),
    })
}

/// Roots that the webhook could not read would keep it from starting, so they are looked at here.
fn client_authority(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|source| Failure::ReadFile {
        path: path.to_owned(),
        source,
    })?;
    if text.contains("-----BEGIN CERTIFICATE-----") {
        return Ok(text);
    }
    Err(Failure::Unusable(format!(
        "{}: no certificate in PEM; give the authority that signs the API server's client certificate",
        path.display()
    )))
}

/// The mode of an installation.
pub(super) fn mode(name: InstallModeName) -> InstallMode {
    match name {
        InstallModeName::Labels => InstallMode::Labels,
        InstallModeName::Full => InstallMode::Full,
    }
}

/// The failure policy.
pub(super) fn failure(name: FailureName) -> FailurePolicy {
    match name {
        FailureName::Ignore => FailurePolicy::Ignore,
        FailureName::Fail => FailurePolicy::Fail,
    }
}

/// A certificate for the webhook's Service, and the authority that the API server is told to trust. The authority's key
/// is forgotten: it signs nothing else, and an installation makes a new pair when the old one comes to its end.
fn serving_certificate(namespace: &str, now: Timestamp) -> Result<ServingCertificate, Failure> {
    let unusable = |error: rcgen::Error| Failure::Unusable(format!("no certificate can be made: {}", Chain(&error)));
    let authority_key = KeyPair::generate().map_err(unusable)?;
    let mut authority = CertificateParams::new(Vec::new()).map_err(unusable)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority
        .distinguished_name
        .push(DnType::CommonName, "berth-webhook-ca");
    period(&mut authority, now);
    let authority_certificate = authority.self_signed(&authority_key).map_err(unusable)?;
    let issuer = Issuer::from_params(&authority, &authority_key);
    let key = KeyPair::generate().map_err(unusable)?;
    let host = format!("{WEBHOOK_SERVICE}.{namespace}.svc");
    let names = vec![host.clone(), format!("{host}.cluster.local")];
    let mut parameters = CertificateParams::new(names).map_err(unusable)?;
    parameters.distinguished_name.push(DnType::CommonName, host);
    period(&mut parameters, now);
    let certificate = parameters.signed_by(&key, &issuer).map_err(unusable)?;
    Ok(ServingCertificate {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        authority: authority_certificate.pem(),
    })
}

/// From yesterday, for clocks that are behind, for two years. `berth doctor` says when it ends.
fn period(parameters: &mut CertificateParams, now: Timestamp) {
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |date: jiff::civil::Date| {
        let number = |value: i8| u8::try_from(value).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), number(date.month()), number(date.day()))
    };
    parameters.not_before = day(today.yesterday().unwrap_or(today));
    let end = today.saturating_add(jiff::Span::new().years(2));
    parameters.not_after = day(end);
}

/// What would be applied: YAML documents for people, a list of kubectl's kind for programs.
struct Manifests(Vec<Value>);

impl Serialize for Manifests {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"apiVersion": "v1", "kind": "List", "items": self.0}).serialize(serializer)
    }
}

impl Report for Manifests {
    fn text(&self, _wide: bool) -> String {
        let documents = self.0.iter().map(berth_documents::emit::to_yaml);
        documents.collect::<Vec<_>>().join("---\n")
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(display_name).collect()
    }
}

#[derive(Debug, Serialize)]
struct Installed {
    applied: Vec<String>,
}

impl Report for Installed {
    fn text(&self, _wide: bool) -> String {
        let mut text = String::new();
        for name in &self.applied {
            text.extend(["applied ", name, "\n"]);
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.applied.clone()
    }
}

#[derive(Debug, Serialize)]
struct Removed {
    #[serde(flatten)]
    removal: Removal,
    #[serde(rename = "dryRun")]
    dry_run: bool,
}

impl Report for Removed {
    fn text(&self, _wide: bool) -> String {
        let done = if self.dry_run { "would remove " } else { "removed " };
        let mut text = String::new();
        for name in &self.removal.removed {
            text.extend([done, name, "\n"]);
        }
        for left in &self.removal.left {
            text.extend(["leaves ", left, "\n"]);
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.removal.removed.clone()
    }
}
