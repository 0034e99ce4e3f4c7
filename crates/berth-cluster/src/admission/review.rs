//! The webhook's answers: pure functions from a review and what is known to the reply.

use std::{collections::BTreeMap, sync::Arc};

use berth_documents::Severity;
use berth_labels::{Flavour, Route, routes};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{
    cel::pointer,
    policy::{ANNOTATION_REFUSAL, BASE_POOL, label_text, labels_of_pools},
    request::{NodeRequest, Review, Subject},
};
use berth_decide::{
    Answer, Definitions, Finding, NodeView, Question, holder, is_changed, may_register, names, validate,
    validate_among, validate_rule,
};
use berth_resources::Berth;
use berth_site::Pool;

/// What a review asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// To change the object.
    Mutate,
    /// To let it in or not.
    Validate,
}

/// What is known when an object is looked at.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What the answer depends on: for a rule all rules, for anything else pools, and for a Node also rules, for a machine
    /// config, a kubelet config or a pool also machine configs and kubelet configs.
    pub definitions: Vec<Arc<Value>>,
    /// All Berths of the Node in question.
    pub berths: Vec<Arc<Berth>>,
    /// Whose kubelet and API server rules hold.
    pub flavour: Flavour,
}

/// A kubelet that claims a pool which is not its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The node.
    pub node: String,
    /// The pool whose labels it has.
    pub pool: String,
    /// The single label, where it has not all that the pool demands.
    pub label: Option<String>,
    /// Its place, if it has one.
    pub place: Option<String>,
}

impl Claim {
    /// The refusal, as a sentence.
    pub fn message(&self) -> String {
        let Self {
            node,
            pool,
            label,
            place,
        } = self;
        let place = place
            .as_ref()
            .map_or_else(String::new, |place| format!(" (its place is in pool {place})"));
        match label {
            None => format!(
                "node {node} claims the labels of pool {pool}, which is not reserved for it{place}; correct its \
                 --node-labels, or reserve the place with a Berth"
            ),
            Some(label) => format!(
                "node {node} claims the label {label} of pool {pool}, which is not reserved for it{place}; correct its \
                 --node-labels, or declare the label in its Berth"
            ),
        }
    }
}

/// The answer to a review.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The `AdmissionReview` to send back.
    pub response: Value,
    /// A wrong claim, to be told as an event.
    pub claim: Option<Claim>,
}

/// Answers a review. What is about something else is let in unchanged; what should be judged and cannot be read is not.
pub fn review(review: &Review, endpoint: Endpoint, world: &World) -> Outcome {
    let mut reply = Reply::new(&review.uid);
    let judged = |object: &Value, before: &Option<Value>| {
        endpoint == Endpoint::Validate && before.as_ref().is_none_or(|before| is_changed(before, object))
    };
    let mut claim = None;
    match &review.subject {
        Subject::Node(request) => claim = node(request, endpoint, world, &mut reply),
        Subject::Own(object, before) if judged(object, before) => {
            let others = world.definitions.iter().map(|object| &**object);
            reply.judge(&if is_rule(object) {
                validate_rule(others, object, before.as_ref())
            } else {
                validate(object)
            });
        }
        Subject::Config(object, before) if judged(object, before) => {
            let others = world.definitions.iter().map(|object| &**object);
            reply.judge(&validate_among(others, object, before.as_ref(), world.flavour));
        }
        Subject::Unreadable(why) if endpoint == Endpoint::Validate => {
            reply.refuse(422, "Invalid", &format!("the object cannot be read: {why}"));
        }
        Subject::Own(..) | Subject::Config(..) | Subject::Unreadable(_) | Subject::Other => {}
    }
    Outcome {
        response: reply.finish(),
        claim,
    }
}

/// Whether an object is a rule.
pub(super) fn is_rule(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("LabelRule")
}

/// Lets in what a review is about, as it is.
pub(super) fn let_through(review: &Review) -> Outcome {
    Outcome {
        response: Reply::new(&review.uid).finish(),
        claim: None,
    }
}

fn node(request: &NodeRequest, endpoint: Endpoint, world: &World, reply: &mut Reply) -> Option<Claim> {
    let NodeRequest { name, creates, .. } = request;
    let before = &request.labels_before;
    // What the kubelet brings along is its claim, and no ground for the answer.
    let stranger = NodeView {
        name: name.clone(),
        ..NodeView::default()
    };
    let berth = holder(world.berths.iter().map(|berth| &**berth));
    // A rule that waits for the controllers says nothing yet about machines that nobody reserved.
    let waits = |object: &&Value| {
        berth.is_none()
            && object.pointer("/spec/admission") == Some(&json!("never"))
            && object.pointer("/spec/pool").is_none()
    };
    let objects = world.definitions.iter().map(|object| &**object);
    let mut definitions = Definitions::new(objects.filter(|object| !waits(object)), world.flavour);
    let known = berth
        .and_then(|berth| berth.status.as_ref())
        .and_then(|status| status.pool.clone());
    let question = Question {
        node: name,
        berth,
        pin: known.as_deref().map(Some),
        live: berth.is_none().then_some(&stranger),
    };
    let answer = definitions.resolve(&[question]).into_iter().next().unwrap_or_default();
    let resolved = answer.pool.as_deref();
    // A stranger whose labels come from rules may have them, and has no place by that.
    let found = resolved.filter(|_| berth.is_none() && answer.found);
    let place = known.or_else(|| resolved.filter(|_| found.is_none()).map(str::to_owned));
    // A rule that cannot say one of its labels for a stranger still gives the others, as in the policies. Of a Berth with a
    // mistake nothing is applied, here as elsewhere.
    let sound = berth.is_none() || answer.error().is_none();
    let given = if *creates && sound {
        given(&answer, berth, world.flavour)
    } else {
        BTreeMap::new()
    };
    let mut claimed = request.labels.clone().unwrap_or_default();
    if berth.is_none() {
        // What rules say takes the place of what a stranger claims.
        claimed.extend(
            given
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned())),
        );
    }
    let declared = |key: &str, value: &str| {
        let by_berth = berth.and_then(|berth| berth.spec.labels.get(key));
        by_berth.is_some_and(|own| own == value) || answer.labels.get(key).is_some_and(|own| *own == *value)
    };
    // A reservation without a pool says nothing about pools.
    let placed = berth.is_some() && place.is_some();
    let free = berth.filter(|_| *creates);
    let free = free
        .map(|berth| may_register(definitions.site(), berth))
        .unwrap_or_default();
    let is_free = |key: &str, value: &str| free.contains(&(key, value));
    let claim = claim(
        &definitions,
        name,
        &claimed,
        before,
        place.clone(),
        found,
        placed,
        is_free,
    )
    .or_else(|| {
        let may = |key: &str, value: &str| declared(key, value) || is_free(key, value);
        let taken = placed.then(|| taken(&definitions, &claimed, before, place.as_deref(), may));
        let taken = taken.flatten()?;
        Some(Claim {
            node: name.clone(),
            pool: taken.1,
            label: Some(taken.0),
            place,
        })
    });
    match (endpoint, &claim) {
        (Endpoint::Validate, Some(claim)) => reply.refuse(403, "Forbidden", &claim.message()),
        // Whether it adds, changes or removes what Berth notes on its Node.
        (Endpoint::Validate, None) if request.notes != request.notes_before => {
            reply.refuse(403, "Forbidden", &format!("node {name}{ANNOTATION_REFUSAL}"));
        }
        (Endpoint::Mutate, None) if *creates && sound => {
            let mut changes = Vec::new();
            if request.labels.is_none() {
                changes.push(json!({"op": "add", "path": "/metadata/labels", "value": {}}));
            }
            for (key, value) in given {
                let path = format!("/metadata/labels/{}", pointer(key));
                changes.push(json!({"op": "add", "path": path, "value": value}));
            }
            reply.patch = Some(Value::Array(changes));
        }
        _ => {}
    }
    claim
}

/// The labels that come with the kubelet's own create.
fn given<'a>(answer: &'a Answer, berth: Option<&Berth>, flavour: Flavour) -> BTreeMap<&'a str, &'a str> {
    let removed = berth
        .and_then(|berth| berth.status.as_ref())
        .map(|status| &status.removed_labels);
    let labels = answer.labels.iter().filter(|(key, _)| {
        let unwanted = removed.is_some_and(|removed| removed.contains_key(key.as_str()));
        // What follows from a role that comes later comes later, too.
        let follows = berth.is_none() && answer.of_found_pool.contains(*key);
        routes(flavour, key).contains(&Route::Admission)
            && !follows
            && !names::KUBELET_LABELS.contains(&key.as_str())
            && !unwanted
    });
    labels.map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// The first label of another pool, and that pool, which a machine with a place takes though nobody declared it for it.
fn taken(
    definitions: &Definitions,
    labels: &BTreeMap<String, String>,
    before: &BTreeMap<String, String>,
    place: Option<&str>,
    declared: impl Fn(&str, &str) -> bool,
) -> Option<(String, String)> {
    let pools = labels_of_pools(definitions.site());
    let mut taken: Vec<(String, String)> = labels
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value) && !declared(key, value))
        .filter_map(|(key, value)| {
            let label = label_text(key, value);
            let owners = pools.get(&label)?;
            let elsewhere = !owners.iter().any(|owner| Some(owner.as_str()) == place);
            let owner = owners.first().filter(|_| elsewhere)?.clone();
            Some((label, owner))
        })
        .collect();
    taken.sort();
    taken.into_iter().next()
}

#[expect(clippy::too_many_arguments, reason = "everything that a claim depends on")]
fn claim(
    definitions: &Definitions,
    node: &str,
    labels: &BTreeMap<String, String>,
    before: &BTreeMap<String, String>,
    place: Option<String>,
    found: Option<&str>,
    placed: bool,
    is_free: impl Fn(&str, &str) -> bool,
) -> Option<Claim> {
    let claimed = definitions.site().pools.iter().find(|pool| {
        let name = pool.name.value.as_ref();
        let selector = pool
            .node_selector
            .as_ref()
            .and_then(|selector| selector.value.compile().ok());
        let Some(selector) = selector else { return false };
        let by = |labels: &BTreeMap<String, String>| selector.matches_with(|key| labels.get(key).map(String::as_str));
        name != BASE_POOL
            && (placed || pool.reserved_only)
            && place.as_deref() != Some(name)
            && found != Some(name)
            && !selector.requirements().is_empty()
            && !selector.matches_with(|_| None)
            && by(labels)
            && !by(before)
            && !may_be_registered(pool, &is_free)
    })?;
    Some(Claim {
        node: node.to_owned(),
        pool: claimed.name.value.to_string(),
        label: None,
        place,
    })
}

/// Whether a machine may register with all the labels that a pool demands.
fn may_be_registered(pool: &Pool, is_free: impl Fn(&str, &str) -> bool) -> bool {
    let mut demanded = pool
        .implicit
        .iter()
        .flat_map(|implicit| implicit.labels.iter())
        .peekable();
    demanded.peek().is_some() && demanded.all(|(key, value)| is_free(key.as_str(), value.as_str()))
}

/// A reply in the making.
struct Reply {
    uid: String,
    refusal: Option<Value>,
    patch: Option<Value>,
    warnings: Vec<String>,
}

impl Reply {
    fn new(uid: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            refusal: None,
            patch: None,
            warnings: Vec::new(),
        }
    }

    fn refuse(&mut self, code: u16, reason: &str, message: &str) {
        self.refusal = Some(json!({"code": code, "reason": reason, "message": message}));
    }

    /// Errors keep the object out, warnings are shown to whoever sent it.
    fn judge(&mut self, findings: &[Finding]) {
        let said = |finding: &Finding| match finding.place().as_str() {
            "" => format!("{}: {}", finding.code, finding.message),
            place => format!("{}: {place}: {}", finding.code, finding.message),
        };
        let errors: Vec<String> = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(said)
            .collect();
        self.warnings = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Warning)
            .map(said)
            .collect();
        if !errors.is_empty() {
            self.refuse(422, "Invalid", &errors.join("; "));
        }
    }

    fn finish(self) -> Value {
        let mut response = json!({"uid": self.uid, "allowed": self.refusal.is_none()});
        if let Some(refusal) = self.refusal {
            response["status"] = refusal;
        } else if let Some(patch) = self.patch {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(ByteString(patch.to_string().into_bytes()));
        }
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }
}
