//! What the Node's annotations have to say: the contract of the Machine Config Operator, and Berth's own words beside it.
//!
//! They follow from the state on disk. Whatever becomes of them, they are written again.

use std::collections::BTreeMap;

use berth_pools::{DaemonState, annotation};

use crate::host_config::NodeConfig;

/// A request to write everything anew and to try again what was given up: any text that was not there before.
pub const FORCE: &str = "berth.dev/force";

/// The last request of [`FORCE`] that was met.
pub const FORCED: &str = "berth.dev/forced";

/// What on the host is not as its config says, where that does not degrade the node.
pub const DRIFT: &str = annotation::DRIFT;

/// All annotations that a daemon writes. Beside them it writes [`annotation::DESIRED_CONFIG`] where nobody has said it yet; nothing
/// else of a Node is a daemon's.
pub const WRITTEN: [&str; 9] = [
    annotation::CURRENT_CONFIG,
    annotation::CURRENT_IMAGE,
    annotation::STATE,
    annotation::REASON,
    annotation::POST_CONFIG_ACTION,
    annotation::DESIRED_DRAIN,
    DRIFT,
    FORCED,
    annotation::GIVEN_UP,
];

/// The longest reason, as the original has it.
const REASON_LIMIT: usize = 2000;

/// What the annotations of a Node have to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The config on disk.
    pub current: String,
    /// Its image, for pools with built ones.
    pub image: Option<String>,
    /// The config that is wanted as far as the host knows; it is written only where nobody says another.
    pub desired: String,
    /// What the daemon does.
    pub state: DaemonState,
    /// Why it is degraded; empty when it is not.
    pub reason: String,
    /// The drain or uncordon that is asked for; `None`: whatever was asked last.
    pub drain: Option<String>,
    /// Whether the host is about to be started again.
    pub rebooting: bool,
    /// What is not as the config says.
    pub drift: Option<String>,
    /// The last request to write everything anew that was met.
    pub forced: Option<String>,
    /// The config that was tried and given up.
    pub given_up: Option<String>,
}

impl Announcement {
    /// What is said of a host that runs this.
    pub fn new(current: &NodeConfig, state: DaemonState) -> Self {
        Self {
            current: current.name.clone(),
            image: current.image.clone(),
            desired: current.name.clone(),
            state,
            reason: String::new(),
            drain: None,
            rebooting: false,
            drift: None,
            forced: None,
            given_up: None,
        }
    }

    /// The annotations that have to change; `None` removes.
    pub fn patch(&self, annotations: &BTreeMap<String, String>) -> BTreeMap<String, Option<String>> {
        let is = |key: &str| annotations.get(key).map(String::as_str);
        let mut patch = BTreeMap::new();
        // The contract treats an empty value as none.
        let mut say = |key: &str, text: Option<&str>| {
            if is(key).unwrap_or_default() != text.unwrap_or_default() {
                patch.insert(key.to_owned(), text.map(str::to_owned));
            }
        };
        let reason: String = self.reason.chars().take(REASON_LIMIT).collect();
        say(annotation::CURRENT_CONFIG, Some(&self.current));
        say(annotation::CURRENT_IMAGE, self.image.as_deref());
        say(annotation::STATE, Some(self.state.word()));
        say(annotation::REASON, Some(&reason));
        say(
            annotation::POST_CONFIG_ACTION,
            Some(if self.rebooting { "Rebooting" } else { "" }),
        );
        if is(annotation::DESIRED_CONFIG).unwrap_or_default().is_empty() {
            say(annotation::DESIRED_CONFIG, Some(&self.desired));
        }
        if let Some(drain) = &self.drain {
            say(annotation::DESIRED_DRAIN, Some(drain));
        }
        let drift: Option<String> = self
            .drift
            .as_ref()
            .map(|drift| drift.chars().take(REASON_LIMIT).collect());
        say(DRIFT, drift.as_deref());
        say(FORCED, self.forced.as_deref());
        say(annotation::GIVEN_UP, self.given_up.as_deref());
        patch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The admission policy of the daemons is made of this list.
    #[test]
    fn a_daemon_writes_what_its_policy_allows_and_all_of_it() {
        let text = |text: &str| Some(text.to_owned());
        let all = Announcement {
            current: "rendered-1".to_owned(),
            image: text("image"),
            desired: "rendered-1".to_owned(),
            state: DaemonState::Degraded,
            reason: "why".to_owned(),
            drain: text("drain-1"),
            rebooting: true,
            drift: text("file"),
            forced: text("1"),
            given_up: text("rendered-2"),
        };
        let keys =
            |annotations: &BTreeMap<String, String>| -> Vec<String> { all.patch(annotations).into_keys().collect() };
        let mut allowed: Vec<&str> = WRITTEN.to_vec();
        allowed.sort_unstable();
        let desired = annotation::DESIRED_CONFIG.to_owned();
        assert_eq!(keys(&[(desired.clone(), "rendered-3".to_owned())].into()), allowed);
        allowed.push(&desired);
        allowed.sort_unstable();
        assert_eq!(keys(&BTreeMap::new()), allowed);
    }
}
