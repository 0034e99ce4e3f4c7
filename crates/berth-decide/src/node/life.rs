//! Whether the Node of an occupied place that went comes back by itself: only that of a machine which is alive does.
//!
//! Whoever takes a machine away deletes its Node too, be it the Machine API, an autoscaler or a person. Were it created again, it
//! would stand there `NotReady` and hold up the rollout of its pool. So its place stays vacant until the machine shows itself.

use jiff::{SignedDuration, Timestamp};

use crate::names::reason;
use berth_resources::{BerthStatus, Departure};

/// What is known about a Node that went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absence {
    /// Whether it was Ready; `None` where nobody saw it go.
    pub was_ready: Option<bool>,
    /// Since when it was Ready.
    pub ready_since: Option<Timestamp>,
    /// What is heard of its kubelet.
    pub pulse: Pulse,
    /// What the objects that stand for its machine say.
    pub machine: MachineState,
}

/// What is heard of a kubelet: it renews a Lease as long as it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pulse {
    /// Leases cannot be seen.
    #[default]
    Unknown,
    /// It has no Lease.
    Missing,
    /// It renewed its Lease.
    Last {
        /// When.
        heard: Timestamp,
        /// How long that counts.
        lasts: SignedDuration,
    },
}

impl Pulse {
    fn is_fresh(self, now: Timestamp) -> bool {
        matches!(self, Self::Last { heard, lasts } if now.duration_since(heard) <= lasts)
    }

    fn is_since(self, time: Timestamp) -> bool {
        matches!(self, Self::Last { heard, .. } if heard > time)
    }
}

/// What the objects that stand for a machine say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MachineState {
    /// There are none, or they cannot be read.
    #[default]
    Unknown,
    /// They are there to stay.
    Present,
    /// One of them is being deleted or gone; the sentence that says so.
    Leaving(String),
}

/// So long a machine that was alive counts as alive although its new Node has not been filled yet: heartbeats come every ten
/// seconds and are good for forty.
const ALIVE: SignedDuration = SignedDuration::from_secs(40);

/// No machine is installed anew so soon after it was Ready. Kubernetes keeps seconds, so what a machine asks for when it joins
/// looks as if it came after the end of a Node that went within a second or two.
const JUST_JOINED: SignedDuration = SignedDuration::from_secs(2);

/// That the Node went, and whether its machine counts as alive. What was found once stays, until the machine shows itself.
pub(super) fn departure(before: &BerthStatus, absence: &Absence, now: Timestamp) -> Departure {
    let Some(known) = &before.departure else {
        let waits = why_not(absence, now);
        let went = next_second(now);
        let joined = absence
            .ready_since
            .and_then(|ready| ready.checked_add(JUST_JOINED).ok());
        return Departure {
            time: joined.map_or(went, |joined| joined.max(went)),
            reason: waits.as_ref().map(|(reason, _)| (*reason).to_owned()),
            message: waits.map(|(_, message)| message),
        };
    };
    let with = |waits: Option<(&str, String)>| Departure {
        time: known.time,
        reason: waits.as_ref().map(|(reason, _)| (*reason).to_owned()),
        message: waits.map(|(_, message)| message),
    };
    if let MachineState::Leaving(what) = &absence.machine {
        return with(Some((reason::MACHINE_DELETED, what.clone())));
    }
    match known.reason.as_deref() {
        // Its object was gone, and what the kubelet does until the machine is switched off shows nothing.
        Some(reason::MACHINE_DELETED) => known.clone(),
        Some(_) if absence.pulse.is_since(known.time) => with(None),
        Some(_) => known.clone(),
        // Its Node has been created again, or is about to be, and nobody has filled it.
        None => {
            let heard = absence.pulse == Pulse::Unknown || absence.pulse.is_fresh(now);
            let waits = !heard && now.duration_since(known.time) > ALIVE;
            with(waits.then(no_heartbeat))
        }
    }
}

/// Why the Node is not created again by itself; `None` where its machine counts as alive.
pub(super) fn waits(departure: &Departure) -> Option<(&'static str, String)> {
    let known = [
        reason::NODE_NOT_READY,
        reason::NO_HEARTBEAT,
        reason::MACHINE_DELETED,
        reason::NODE_GONE_UNSEEN,
    ];
    let noted = departure.reason.as_deref()?;
    let reason = known.into_iter().find(|reason| *reason == noted);
    let message = departure.message.clone().unwrap_or_default();
    Some((reason.unwrap_or(reason::NODE_GONE), message))
}

/// Why a machine does not count as alive.
fn why_not(absence: &Absence, now: Timestamp) -> Option<(&'static str, String)> {
    if let MachineState::Leaving(what) = &absence.machine {
        return Some((reason::MACHINE_DELETED, what.clone()));
    }
    match absence.was_ready {
        Some(false) => Some((
            reason::NODE_NOT_READY,
            "the Node was not Ready when it was deleted".to_owned(),
        )),
        // Without a look at Leases, Ready is what the node controller made of them.
        Some(true) if absence.pulse == Pulse::Unknown || absence.pulse.is_fresh(now) => None,
        Some(true) => Some(no_heartbeat()),
        None if absence.pulse.is_fresh(now) => None,
        None => Some((
            reason::NODE_GONE_UNSEEN,
            "the Node was deleted while no controller was running".to_owned(),
        )),
    }
}

fn no_heartbeat() -> (&'static str, String) {
    (
        reason::NO_HEARTBEAT,
        "the kubelet had stopped renewing its Lease when the Node was deleted".to_owned(),
    )
}

/// Kubernetes keeps seconds. A heartbeat of the second in which the Node went shows nothing.
fn next_second(time: Timestamp) -> Timestamp {
    let whole = super::conditions::whole_seconds(time);
    if whole == time {
        return whole;
    }
    whole.checked_add(SignedDuration::from_secs(1)).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn heard(second: i64) -> Pulse {
        Pulse::Last {
            heard: at(second),
            lasts: ALIVE,
        }
    }

    #[test]
    fn only_what_was_ready_and_is_heard_of_is_alive() {
        let leaving = || MachineState::Leaving("Machine a/w1 is being deleted".to_owned());
        for (was_ready, pulse, machine, expected) in [
            (Some(true), heard(990), MachineState::Unknown, None),
            (Some(true), heard(990), MachineState::Present, None),
            (Some(true), heard(990), leaving(), Some(reason::MACHINE_DELETED)),
            (
                Some(true),
                heard(959),
                MachineState::Present,
                Some(reason::NO_HEARTBEAT),
            ),
            (
                Some(true),
                Pulse::Missing,
                MachineState::Unknown,
                Some(reason::NO_HEARTBEAT),
            ),
            (Some(true), Pulse::Unknown, MachineState::Unknown, None),
            (
                Some(false),
                heard(999),
                MachineState::Present,
                Some(reason::NODE_NOT_READY),
            ),
            (
                Some(false),
                Pulse::Unknown,
                MachineState::Unknown,
                Some(reason::NODE_NOT_READY),
            ),
            (None, heard(990), MachineState::Unknown, None),
            (None, heard(900), MachineState::Unknown, Some(reason::NODE_GONE_UNSEEN)),
            (
                None,
                Pulse::Missing,
                MachineState::Unknown,
                Some(reason::NODE_GONE_UNSEEN),
            ),
            (
                None,
                Pulse::Unknown,
                MachineState::Present,
                Some(reason::NODE_GONE_UNSEEN),
            ),
        ] {
            let absence = Absence {
                was_ready,
                ready_since: None,
                pulse,
                machine,
            };
            let found = departure(&BerthStatus::default(), &absence, at(1000));
            assert_eq!(found.reason.as_deref(), expected, "{absence:?}");
            assert_eq!(found.message.is_some(), expected.is_some());
        }
    }

    #[test]
    fn what_was_found_stays_until_the_kubelet_is_heard_of() {
        let waits = |why: Option<&str>| BerthStatus {
            departure: Some(Departure {
                time: at(1000),
                reason: why.map(str::to_owned),
                message: why.map(str::to_owned),
            }),
            ..BerthStatus::default()
        };
        for (known, pulse, now, expected) in [
            (
                Some(reason::NODE_NOT_READY),
                heard(1000),
                1001,
                Some(reason::NODE_NOT_READY),
            ),
            (Some(reason::NODE_NOT_READY), heard(1001), 1001, None),
            (
                Some(reason::NODE_NOT_READY),
                Pulse::Unknown,
                9000,
                Some(reason::NODE_NOT_READY),
            ),
            (
                Some(reason::MACHINE_DELETED),
                heard(1001),
                1001,
                Some(reason::MACHINE_DELETED),
            ),
            // It was alive, and somebody deletes the new Node before the kubelet fills it.
            (None, heard(990), 1040, None),
            (None, heard(990), 1041, Some(reason::NO_HEARTBEAT)),
            (None, heard(1030), 1041, None),
            (None, Pulse::Unknown, 9000, None),
        ] {
            let absence = Absence {
                was_ready: Some(false),
                pulse,
                ..Absence::default()
            };
            let found = departure(&waits(known), &absence, at(now));
            assert_eq!(found.reason.as_deref(), expected, "{known:?} {pulse:?} {now}");
            assert_eq!(found.time, at(1000));
        }
    }
}
