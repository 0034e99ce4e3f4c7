//! Whether what comes in is judged: the webhook, its certificate, and the policies.

use berth_labels::Flavour;
use k8s_openapi::api::{apps::v1::Deployment, discovery::v1::EndpointSlice};
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;

use super::{Checks, Expected, Health};
use crate::{
    admission::{FailurePolicy, all_names, is_named, policies},
    install::{Admission, CONTROLLER, RENEW_BEFORE, WEBHOOK, judged, kept_certificate},
    missing::is_missing,
};
use berth_decide::Definitions;
use berth_resources::{LabelRule, MachineConfigPool};

pub(super) async fn admission(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    let arguments = arguments(client, expected).await?;
    let way = way(&arguments);
    if way == Admission::Off {
        checks.add(
            "admission",
            Health::Note,
            "Nodes and objects are not judged when they come in",
            "run `berth install` without --admission off",
        );
        return Ok(());
    }
    let by_webhook = resource("ValidatingWebhookConfiguration", "validatingwebhookconfigurations");
    let configurations: Api<DynamicObject> = Api::all_with(client.clone(), &by_webhook);
    let validating = configurations.get_opt(WEBHOOK).await?.map(|found| {
        let hooks = found.data.get("webhooks").and_then(Value::as_array);
        hooks.cloned().unwrap_or_default()
    });
    if let Some(validating) = &validating {
        let forgotten: Vec<&str> = judged()
            .into_iter()
            .filter(|(group, resource)| !validating.iter().any(|hook| covers(hook, group, resource)))
            .map(|(_, resource)| resource)
            .collect();
        let silent = silent_service(client, validating).await?;
        if forgotten.is_empty() {
            let judges = |hook: &&Value| judged().iter().any(|(group, resource)| covers(hook, group, resource));
            judged_by_webhook(silent.as_deref(), "objects", validating.iter().filter(judges), checks);
        } else {
            checks.add(
                "admission",
                Health::Warning,
                format!("nobody judges {} when they come in", forgotten.join(", ")),
                "run `berth install` of the version that runs",
            );
        }
        serving_certificate(client, expected, checks).await?;
    } else {
        checks.add(
            "admission",
            Health::Warning,
            "nobody judges machine configs, kubelet configs, pools, Berths and rules when they come in",
            "run `berth install`; `berth controller` and `berth serve` answer for it with --admission-listen",
        );
    }
    if let (Some(validating), Admission::Webhook) = (&validating, way) {
        let silent = silent_service(client, validating).await?;
        let judges = |hook: &&Value| covers(hook, "", "nodes");
        judged_by_webhook(
            silent.as_deref(),
            "Nodes of kubelets",
            validating.iter().filter(judges),
            checks,
        );
        return Ok(());
    }
    policies_are_current(client, flavour(&arguments), checks).await
}

/// What is judged by the webhook, or what happens while nobody answers for it.
fn judged_by_webhook<'a>(
    silent: Option<&str>,
    what: &str,
    mut hooks: impl Iterator<Item = &'a Value>,
    checks: &mut Checks,
) {
    let Some(service) = silent else {
        checks.ok(
            "admission",
            format!("{what} are judged by the webhook when they come in"),
        );
        return;
    };
    let fails = hooks.any(|hook| hook.get("failurePolicy").and_then(Value::as_str) == Some("Fail"));
    let meanwhile = if fails { "are kept out" } else { "come in unchecked" };
    checks.add(
        "admission",
        Health::Warning,
        format!("nobody answers the webhook, so {what} {meanwhile}: Service {service} has no ready endpoint"),
        "it answers when a controller is available; `kubectl describe pods` in its namespace says what keeps them",
    );
}

/// The Service behind the webhooks that nobody answers for. A webhook with an address of its own is not looked at.
async fn silent_service(client: &Client, hooks: &[Value]) -> kube::Result<Option<String>> {
    let service = hooks.iter().find_map(|hook| {
        let text = |pointer: &str| hook.pointer(pointer).and_then(Value::as_str);
        Some((
            text("/clientConfig/service/namespace")?,
            text("/clientConfig/service/name")?,
        ))
    });
    let Some((namespace, name)) = service else {
        return Ok(None);
    };
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let selector = format!("kubernetes.io/service-name={name}");
    let slices = match slices.list(&ListParams::default().labels(&selector)).await {
        Ok(slices) => slices,
        // Who may not look does not know.
        Err(kube::Error::Api(status)) if status.is_forbidden() || is_missing(&status) => return Ok(None),
        Err(error) => return Err(error),
    };
    let answers = slices
        .iter()
        .flat_map(|slice| &slice.endpoints)
        // An endpoint that does not say otherwise is ready.
        .any(|endpoint| endpoint.conditions.as_ref().and_then(|known| known.ready) != Some(false));
    Ok((!answers).then(|| format!("{namespace}/{name}")))
}

/// The policies are what the controllers would make of the rules and pools.
async fn policies_are_current(client: &Client, flavour: Flavour, checks: &mut Checks) -> kube::Result<()> {
    let mut objects = list(client, &ApiResource::erase::<MachineConfigPool>(&())).await?;
    objects.extend(list(client, &ApiResource::erase::<LabelRule>(&())).await?);
    let definitions = Definitions::new(&objects, flavour);
    let wanted = policies(definitions.site(), definitions.flavour(), FailurePolicy::Ignore);
    for left in wanted.left_out.iter().filter(|left| left.required) {
        checks.add(
            "admission",
            Health::Warning,
            format!("rule {} requires what no policy can do: {}", left.rule, left.why),
            "reserve its machines with Berths, or install with --admission webhook",
        );
    }
    if wanted.objects.is_empty() {
        checks.add(
            "admission",
            Health::Note,
            "there are no admission policies: no rule and no pool needs one",
            "they come with the first controller that runs when there are rules or pools",
        );
    }
    for (kind, plural, name) in all_names() {
        let Some(object) = wanted.objects.iter().find(|object| is_named(object, kind, name)) else {
            continue;
        };
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(kind, plural));
        let found = match api.get_opt(name).await {
            Ok(found) => found,
            Err(kube::Error::Api(status)) if is_missing(&status) => None,
            Err(error) => return Err(error),
        };
        let Some(found) = found else {
            checks.add(
                "admission",
                Health::Error,
                format!("{kind} {name} is missing"),
                "the first controller with --admission policy makes it; before Kubernetes 1.36 install with --admission webhook",
            );
            continue;
        };
        let same = ["/variables", "/mutations", "/validations", "/policyName"]
            .iter()
            .all(|part| {
                let declared = object.get("spec").and_then(|spec| spec.pointer(part));
                declared.is_none() || declared == found.data.get("spec").and_then(|spec| spec.pointer(part))
            });
        if same {
            checks.ok("admission", format!("{kind} {name} is as the rules and pools say"));
        } else {
            checks.add(
                "admission",
                Health::Warning,
                format!("{kind} {name} is not what the rules and pools say"),
                "the leading controller writes it anew within ten minutes; its log says what keeps it from that",
            );
        }
    }
    Ok(())
}

/// Whether a webhook is asked about a resource.
fn covers(hook: &Value, group: &str, resource: &str) -> bool {
    let has = |rule: &Value, field: &str, wanted: &str| {
        let values = rule.get(field).and_then(Value::as_array);
        values.is_some_and(|values| values.iter().any(|value| value == wanted || value == "*"))
    };
    let rules = hook.get("rules").and_then(Value::as_array);
    rules.is_some_and(|rules| {
        rules
            .iter()
            .any(|rule| has(rule, "apiGroups", group) && has(rule, "resources", resource))
    })
}

/// What the installed controllers were started with.
pub(super) async fn arguments(client: &Client, expected: &Expected) -> kube::Result<Vec<String>> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), &expected.namespace);
    let pod = api
        .get_opt(CONTROLLER)
        .await?
        .and_then(|deployment| deployment.spec)
        .and_then(|spec| spec.template.spec);
    let containers = pod.map(|pod| pod.containers).unwrap_or_default();
    Ok(containers
        .into_iter()
        .flat_map(|container| container.args.unwrap_or_default())
        .collect())
}

/// How the installed controllers judge Nodes.
pub(super) fn way(arguments: &[String]) -> Admission {
    match argument(arguments, "--admission") {
        Some("off") => Admission::Off,
        Some("webhook") => Admission::Webhook,
        _ => Admission::Policy,
    }
}

fn argument<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let place = arguments.iter().position(|argument| argument == name)?;
    arguments.get(place.checked_add(1)?).map(String::as_str)
}

fn flavour(arguments: &[String]) -> Flavour {
    let named = [Flavour::Upstream, Flavour::Openshift]
        .into_iter()
        .find(|flavour| argument(arguments, "--flavour") == Some(flavour.as_str()));
    named.unwrap_or_default()
}

async fn serving_certificate(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    let certificate = match kept_certificate(client, &expected.namespace).await {
        Ok(certificate) => certificate,
        Err(kube::Error::Api(status)) if status.is_forbidden() => return Ok(()),
        Err(error) => return Err(error),
    };
    match certificate.and_then(|certificate| certificate.seconds_left(expected.now)) {
        None => checks.add(
            "certificates",
            Health::Error,
            "the webhook has no certificate",
            "run `berth install`, which makes one",
        ),
        Some(left) if left <= 0 => checks.add(
            "certificates",
            Health::Error,
            "the certificate of the webhook has ended",
            "run `berth install`, which makes a new one",
        ),
        Some(left) if left < RENEW_BEFORE => checks.add(
            "certificates",
            Health::Warning,
            format!("the certificate of the webhook ends in {} days", left / 86400),
            "run `berth install`, which makes a new one",
        ),
        Some(left) => checks.ok(
            "certificates",
            format!("the certificate of the webhook is good for {} days", left / 86400),
        ),
    }
    Ok(())
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    ApiResource::from_gvk_with_plural(&gvk, plural)
}

async fn list(client: &Client, resource: &ApiResource) -> kube::Result<Vec<Value>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let listed = match api.list(&ListParams::default()).await {
        Ok(listed) => listed,
        Err(kube::Error::Api(status)) if is_missing(&status) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let objects = listed.items.into_iter().filter_map(|object| {
        let mut value = serde_json::to_value(object).ok()?;
        value["apiVersion"] = resource.api_version.clone().into();
        value["kind"] = resource.kind.clone().into();
        Some(value)
    });
    Ok(objects.collect())
}
