//! What a cluster does by itself after a change: the few controllers without which objects would not behave.
//!
//! They run within the write that caused them, so the same writes always give the same cluster.

use std::{collections::BTreeSet, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    Cluster,
    metadata::NOT_READY,
    policies::{MUTATING, MUTATING_BINDINGS, VALIDATING, VALIDATING_BINDINGS},
};
use crate::{
    access::Identity,
    object::{
        as_map, condition, entry_map, has_finalizers, is_terminating, items, meta_mut, name, revision, text, uid,
    },
    storage::{Expect, Place, WriteRecord},
};

/// Signs for kubelets that ask for their client certificate.
const KUBELET_SIGNERS: [&str; 2] = [
    "kubernetes.io/kube-apiserver-client-kubelet",
    "kubernetes.io/kubelet-serving",
];

impl Cluster {
    pub(super) fn react(&self, change: &WriteRecord) {
        match &*change.resource {
            "customresourcedefinitions.apiextensions.k8s.io" => {
                if change.after.is_none() {
                    self.remove_all(&change.place.name);
                }
                self.read_definitions();
            }
            VALIDATING | VALIDATING_BINDINGS | MUTATING | MUTATING_BINDINGS => self.read_policies(),
            "namespaces" if change.after.as_ref().is_some_and(|object| is_terminating(object)) => {
                self.empty_namespace(&change.place.name);
            }
            "certificatesigningrequests.certificates.k8s.io" => {
                if let Some(request) = &change.after {
                    self.sign(request);
                }
            }
            "nodes" => {
                if let Some(node) = &change.after {
                    self.untaint(node);
                }
            }
            "pods" | "poddisruptionbudgets.policy" => self.count_disruptions(&change.place.namespace),
            _ => {}
        }
        if change.after.is_none() {
            self.delete_dependents(uid(&change.shown));
            if !change.place.namespace.is_empty() {
                self.finish_namespace(&change.place.namespace);
            }
        }
    }

    /// A Node that is ready is not tainted as one that is not.
    fn untaint(&self, node: &Arc<Value>) {
        let tainted = items(node, &["spec", "taints"]).any(|taint| text(taint, &["key"]) == NOT_READY);
        if !tainted || condition(node, "Ready") != "True" {
            return;
        }
        let mut ready = (**node).clone();
        let spec = entry_map(as_map(&mut ready), "spec");
        if let Some(Value::Array(taints)) = spec.get_mut("taints") {
            taints.retain(|taint| text(taint, &["key"]) != NOT_READY);
            if taints.is_empty() {
                spec.remove("taints");
            }
        }
        let place = Place::new("", name(node));
        let _ = self.put("nodes", place, Expect::Revision(revision(node)), ready);
    }

    /// Removes the objects of a definition that is gone.
    fn remove_all(&self, resource: &str) {
        let snapshot = self.storage().list(resource, None);
        for (place, object) in snapshot.objects {
            let _ = self.remove(resource, place, revision(&object), (*object).clone());
        }
    }

    /// Deletes everything in a namespace, then the namespace.
    fn empty_namespace(&self, namespace: &str) {
        let resources: Vec<Arc<str>> = self.storage().resources().cloned().collect();
        for resource in resources {
            let snapshot = self.storage().list(&resource, Some(namespace));
            if namespace.is_empty() {
                return;
            }
            for (place, object) in snapshot.objects {
                self.end(&resource, place, &object);
            }
        }
        self.finish_namespace(namespace);
    }

    /// Deletes one object for the cluster itself: at once, or when its finalizers are done.
    fn end(&self, resource: &str, place: Place, object: &Arc<Value>) {
        // Whoever was faster has deleted it or changed it; a later change comes here again.
        if !has_finalizers(object) {
            let _ = self.remove(resource, place, revision(object), (**object).clone());
        } else if !is_terminating(object) {
            let mut last = (**object).clone();
            let metadata = meta_mut(&mut last);
            metadata.insert("deletionTimestamp".to_owned(), json!(self.now_text()));
            metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
            let _ = self.put(resource, place, Expect::Revision(revision(object)), last);
        }
    }

    /// A namespace that is to go goes when nothing is in it.
    fn finish_namespace(&self, namespace: &str) {
        let place = Place::new("", namespace);
        let object = {
            let storage = self.storage();
            let Some(object) = storage.get("namespaces", &place).cloned() else {
                return;
            };
            let inhabited = storage.resources().any(|resource| {
                &**resource != "namespaces" && storage.iter(resource, Some(namespace)).next().is_some()
            });
            if !is_terminating(&object) || inhabited {
                return;
            }
            object
        };
        let mut last = (*object).clone();
        entry_map(as_map(&mut last), "spec").remove("finalizers");
        let _ = self.remove("namespaces", place, revision(&object), last);
    }

    /// Deletes what belonged to an object that is gone, unless another owner is still there.
    fn delete_dependents(&self, owner: &str) {
        if owner.is_empty() {
            return;
        }
        let (dependents, alive) = {
            let storage = self.storage();
            let mut dependents = Vec::new();
            let mut owners = BTreeSet::new();
            for resource in storage.resources() {
                for (place, object) in storage.iter(resource, None) {
                    if items(object, &["metadata", "ownerReferences"]).any(|found| text(found, &["uid"]) == owner) {
                        let refs = items(object, &["metadata", "ownerReferences"]);
                        owners.extend(refs.map(|reference| text(reference, &["uid"]).to_owned()));
                        dependents.push((Arc::clone(resource), place.clone(), Arc::clone(object)));
                    }
                }
            }
            if dependents.is_empty() {
                return;
            }
            let alive: BTreeSet<String> = storage
                .resources()
                .flat_map(|resource| storage.iter(resource, None))
                .map(|(_, object)| uid(object).to_owned())
                .filter(|uid| owners.contains(uid))
                .collect();
            (dependents, alive)
        };
        for (resource, place, object) in dependents {
            let kept = items(&object, &["metadata", "ownerReferences"])
                .any(|reference| alive.contains(text(reference, &["uid"])));
            if !kept {
                self.end(&resource, place, &object);
            }
        }
    }

    /// Takes an owner out of its dependents, so that they stay.
    pub(super) fn orphan_dependents(&self, owner: &str) {
        let dependents: Vec<(Arc<str>, Place, Arc<Value>)> = {
            let storage = self.storage();
            let mut dependents = Vec::new();
            for resource in storage.resources() {
                for (place, object) in storage.iter(resource, None) {
                    if items(object, &["metadata", "ownerReferences"]).any(|found| text(found, &["uid"]) == owner) {
                        dependents.push((Arc::clone(resource), place.clone(), Arc::clone(object)));
                    }
                }
            }
            dependents
        };
        for (resource, place, object) in dependents {
            let mut free = (*object).clone();
            if let Some(Value::Array(owners)) = meta_mut(&mut free).get_mut("ownerReferences") {
                owners.retain(|found| text(found, &["uid"]) != owner);
            }
            let _ = self.put(&resource, place, Expect::Revision(revision(&object)), free);
        }
    }

    /// Makes the certificates known again that were issued in an earlier life: their owners still have them.
    pub(super) fn read_certificates(&self) {
        let issued: Vec<(String, String)> = {
            let storage = self.storage();
            let requests = storage.iter("certificatesigningrequests.certificates.k8s.io", None);
            requests
                .filter_map(|(_, request)| {
                    let token = token_of(text(request, &["status", "certificate"]))?;
                    Some((token, super::reviews::requested_node(request)?))
                })
                .collect()
        };
        for (token, node) in issued {
            self.add_token(token, Identity::kubelet(&node));
        }
    }

    /// Signs a request of a kubelet that has been approved.
    ///
    /// Clients reach this cluster without TLS, so what is issued is not a X.509 certificate: it carries a bearer token by
    /// which its owner is the kubelet from now on.
    fn sign(&self, request: &Arc<Value>) {
        let signer = text(request, &["spec", "signerName"]);
        let approved = items(request, &["status", "conditions"])
            .any(|condition| text(condition, &["type"]) == "Approved" && text(condition, &["status"]) != "False");
        let issued = !text(request, &["status", "certificate"]).is_empty();
        if !approved || issued || !KUBELET_SIGNERS.contains(&signer) {
            return;
        }
        let Some(node) = super::reviews::requested_node(request) else {
            return;
        };
        let token = format!("kubelet-{}", self.next_uid());
        self.add_token(token.clone(), Identity::kubelet(&node));
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            STANDARD.encode(&token)
        );
        let mut certified = (**request).clone();
        entry_map(as_map(&mut certified), "status").insert("certificate".to_owned(), json!(STANDARD.encode(pem)));
        let place = Place::new("", name(request));
        let _ = self.put(
            "certificatesigningrequests.certificates.k8s.io",
            place,
            Expect::Revision(revision(request)),
            certified,
        );
    }
}

/// The bearer token in a certificate as [`Cluster::sign`] makes it.
pub(crate) fn token_of(certificate: &str) -> Option<String> {
    let pem = String::from_utf8(STANDARD.decode(certificate).ok()?).ok()?;
    let line = pem
        .lines()
        .find(|line| !line.starts_with("-----") && !line.is_empty())?;
    String::from_utf8(STANDARD.decode(line).ok()?).ok()
}
