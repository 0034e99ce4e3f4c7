//! The certificate requests of kubelets, found by name, by node and by token.

use std::collections::{BTreeSet, HashMap};

use crate::controller::watches::Seen;
use berth_decide::{CertificateRequest, RequestState, Requester};

/// What is kept of certificate requests. They are read when they are seen, and never again.
#[derive(Debug, Default)]
pub(in crate::controller) struct Requests {
    by_name: HashMap<String, CertificateRequest>,
    by_node: HashMap<String, BTreeSet<String>>,
    by_token: HashMap<String, BTreeSet<String>>,
    /// Those to decide about. One that is left alone is not looked at again before something about its node or its token
    /// changes.
    due: BTreeSet<String>,
}

impl Requests {
    pub(in crate::controller) fn get(&self, name: &str) -> Option<&CertificateRequest> {
        self.by_name.get(name)
    }

    /// The requests for a node.
    pub(in crate::controller) fn of(&self, node: &str) -> impl Iterator<Item = &CertificateRequest> {
        let names = self.by_node.get(node).into_iter().flatten();
        names.filter_map(|name| self.by_name.get(name))
    }

    /// Those to decide about.
    pub(in crate::controller) fn due(&self) -> impl Iterator<Item = &CertificateRequest> {
        self.due.iter().filter_map(|name| self.by_name.get(name))
    }

    /// It is decided, left alone, or tried again later.
    pub(in crate::controller) fn put_aside(&mut self, name: &str) {
        self.due.remove(name);
    }

    /// Looks at a request again, if nobody has decided about it. Says whether there is one.
    pub(in crate::controller) fn look_again(&mut self, name: &str) -> bool {
        let open = self
            .by_name
            .get(name)
            .is_some_and(|request| request.state == RequestState::Open);
        if open {
            self.due.insert(name.to_owned());
        }
        open
    }

    /// Looks again at what is asked for a node.
    pub(in crate::controller) fn node_changed(&mut self, node: &str) {
        for name in self.by_node.get(node).cloned().unwrap_or_default() {
            self.look_again(&name);
        }
    }

    /// Looks again at what is asked with a token.
    pub(super) fn token_changed(&mut self, token: &str) {
        for name in self.by_token.get(token).cloned().unwrap_or_default() {
            self.look_again(&name);
        }
    }

    /// Takes what a watch saw and gives the nodes that it is about.
    pub(super) fn seen(&mut self, seen: Seen<CertificateRequest>) -> Vec<String> {
        match seen {
            Seen::All(all) => {
                *self = Self::default();
                all.into_iter().filter_map(|request| self.insert(request)).collect()
            }
            Seen::One(request) => self.insert(request).into_iter().collect(),
            Seen::Gone(request) => {
                self.remove(&request.name);
                Vec::new()
            }
        }
    }

    fn insert(&mut self, request: CertificateRequest) -> Option<String> {
        self.remove(&request.name);
        // Nothing is ever done about these.
        if request.requester == Requester::Other {
            return None;
        }
        let name = request.name.clone();
        let node = request.node().map(str::to_owned);
        if let Some(node) = &node {
            self.by_node.entry(node.clone()).or_default().insert(name.clone());
        }
        if let Some(token) = request.token() {
            self.by_token.entry(token.to_owned()).or_default().insert(name.clone());
        }
        self.by_name.insert(name.clone(), request);
        self.look_again(&name);
        node
    }

    fn remove(&mut self, name: &str) {
        self.due.remove(name);
        let Some(request) = self.by_name.remove(name) else {
            return;
        };
        let forget = |index: &mut HashMap<String, BTreeSet<String>>, key: Option<&str>| {
            let Some(key) = key else { return };
            if let Some(names) = index.get_mut(key) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(key);
                }
            }
        };
        forget(&mut self.by_node, request.node());
        forget(&mut self.by_token, request.token());
    }
}
