//! What happened, in numbers.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Count {
    Commits,
    Actions,
    ActionsRefused,
    OutcomesGood,
    OutcomesBad,
    Versions,
    Patches,
    HandWrites,
    Deletions,
    LeaderKills,
    ServerKills,
    Restarts,
    Blindfolds,
    Storms,
    TooMany,
    Conflict,
    Unavailable,
    LostAnswers,
    LostRequests,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Commits => "commits of other labels, in the database and in the folder",
            Self::Actions => "actions accepted",
            Self::ActionsRefused => "actions refused, because another one was at it",
            Self::OutcomesGood => "outcomes of nodes: done",
            Self::OutcomesBad => {
                "outcomes of nodes: failed, because the Node was deleted or a person had set the label"
            }
            Self::Versions => "versions of Nodes that were checked",
            Self::Patches => "patches of Nodes by Berth that the API server took",
            Self::HandWrites => "labels set, changed or removed by hand",
            Self::Deletions => "Nodes deleted",
            Self::LeaderKills => "leading controllers killed",
            Self::ServerKills => "servers killed",
            Self::Restarts => "API servers killed and restarted",
            Self::Blindfolds => "of these with watches cut off until the history was compacted",
            Self::Storms => "storms",
            Self::TooMany => "requests answered with 429",
            Self::Conflict => "writes answered with 409",
            Self::Unavailable => "requests answered with 503",
            Self::LostAnswers => "writes carried out whose answer was lost",
            Self::LostRequests => "requests lost on the way",
        })
    }
}

/// All counts.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<BTreeMap<Count, u64>>);

impl Figures {
    pub(crate) fn add(&self, count: Count, number: usize) {
        let number = u64::try_from(number).unwrap();
        *self.lock().entry(count).or_default() += number;
    }

    pub(crate) fn of(&self, count: Count) -> u64 {
        self.lock().get(&count).copied().unwrap_or_default()
    }

    /// Each count that is not nought, in the order of the kinds.
    pub(crate) fn all(&self) -> Vec<(Count, u64)> {
        self.lock().iter().map(|(count, number)| (*count, *number)).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Count, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
