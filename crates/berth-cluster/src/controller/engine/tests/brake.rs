//! The brake on mass removal, however a change is carried out.

use berth_clock::Clock;
use berth_documents::DocumentSet;
use berth_site::load;
use proptest::{collection::vec, prelude::*, sample::Index};

use super::{super::brake::BrakeState, *};

/// Nodes of the cluster.
pub(super) const NODES: usize = 24;
/// Labels that the documents give each of them.
pub(super) const LABELS: usize = 3;

pub(super) fn berth_document(index: usize, pool: &str, labels: usize) -> Value {
    let labels: BTreeMap<String, String> = (0..labels)
        .map(|label| (format!("example.com/l{label}"), "1".to_owned()))
        .collect();
    json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": format!("w{index:02}")},
        "spec": {"pool": pool, "labels": labels},
    })
}

fn pools() -> [Definition; 2] {
    [pool("worker", "example.com/pool=worker"), pool("storage", "")]
}

/// What becomes of one node by the new documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    /// Loses this many of its labels.
    Loses(usize),
    /// Goes to another pool, and so loses the label of its pool.
    Moves,
}

impl Fate {
    /// How many labels go, beside those that get another value.
    fn removals(self) -> usize {
        match self {
            Self::Stays => 0,
            Self::Loses(labels) => labels,
            // The role and the label that only the worker pool gives.
            Self::Moves => 2,
        }
    }

    fn document(self, index: usize) -> Value {
        match self {
            Self::Stays => berth_document(index, "worker", LABELS),
            Self::Loses(labels) => berth_document(index, "worker", LABELS - labels),
            Self::Moves => berth_document(index, "storage", LABELS),
        }
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Stays),
        1 => (1..=LABELS).prop_map(Fate::Loses),
        1 => Just(Fate::Moves),
    ]
}

/// A cluster whose Berths come from documents, and where all is done.
pub(super) fn documented() -> Engine {
    let options = Options::new(Clock::stopped(Timestamp::UNIX_EPOCH));
    let mut engine = Engine::new(silent(), options, None, Metrics::new(), Health::default(), None);
    let nodes = (0..NODES).map(|index| node(format!("w{index:02}"), "other"));
    for change in [
        ClusterChange::Nodes(Seen::All(nodes.map(Into::into).collect())),
        ClusterChange::Berths(Seen::All(Vec::new())),
        ClusterChange::Rules(Seen::All(Vec::new())),
        ClusterChange::Pools(Seen::All(pools().into())),
        ClusterChange::Certificates(Seen::All(Vec::new())),
    ] {
        engine.state.apply(change);
    }
    engine.define();
    engine.commit((0..NODES).map(|index| Fate::Stays.document(index)));
    engine.settle();
    assert_eq!(engine.owned(), NODES * (LABELS + 2));
    engine
}

impl Engine {
    /// The documents are these from now on.
    pub(super) fn commit(&mut self, documents: impl Iterator<Item = Value>) {
        let documents: Vec<Value> = documents.chain(pools().map(|pool| pool.object)).collect();
        let set = DocumentSet::of_objects(&documents);
        self.documents_came(Arc::new(load(&set.sources, &set.documents).0));
        self.reserve();
    }

    pub(super) fn owned(&self) -> usize {
        let labels = self.nodes().map(|node| node.owned().unwrap_or_default().len());
        labels.sum()
    }

    /// Labels of the documents and of the worker pool that are on Nodes.
    pub(super) fn labels(&self) -> usize {
        let ours = |key: &&String| key.starts_with("example.com/") || key.ends_with("/worker");
        let nodes = self.nodes();
        nodes.map(|node| node.labels.keys().filter(ours).count()).sum()
    }

    /// Carries out one job after the other in the given order, and decides in between, until nothing is left to do.
    fn trickle(&mut self, order: &[Index]) {
        assert!(self.trickle_for(1000, order), "it does not come to rest");
    }

    /// The same for so many jobs. Whether nothing is left to do.
    fn trickle_for(&mut self, jobs: usize, order: &[Index]) -> bool {
        let mut order = order.iter().cycle();
        for _ in 0..jobs {
            self.decide();
            if self.jobs.is_empty() && self.round.is_empty() && self.state.dirty.is_empty() {
                return true;
            }
            if self.jobs.is_empty() {
                continue;
            }
            let next = order.next().map_or(0, |index| index.index(self.jobs.len()));
            let job = self.jobs.remove(next);
            let rest = std::mem::take(&mut self.jobs);
            self.jobs.extend(job);
            self.carry_out();
            self.jobs.extend(rest);
        }
        false
    }

    /// Another replica takes over, which knows only what is in the cluster.
    pub(super) fn successor(&mut self) {
        self.brake = BrakeState::default();
        self.witnessed.clear();
        self.held.clear();
        for job in std::mem::take(&mut self.jobs) {
            if let Key::Node(name) = job.key {
                self.is_free(&name);
            }
        }
        self.state.dirty.extend(self.round.give_up().collect::<Vec<_>>());
        self.state.all_dirty();
        self.brake.recount = true;
        self.reserve();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The Berths of a site are rewritten one after the other, in any order, and Nodes follow at any time in between: the
    /// change counts as a whole. All of it is done, or nothing is taken away.
    #[test]
    fn documents_count_as_a_whole_however_they_are_carried_out(
        fates in vec(fate(), NODES),
        order in vec(any::<Index>(), 1..40),
        ends_after in 0..60_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut engine = documented();
            let before = engine.labels();
            let removals: usize = fates.iter().map(|fate| fate.removals()).sum();
            let holds = berth_labels::Brake { removed: removals, owned: engine.owned() }.holds();
            engine.commit(fates.iter().enumerate().map(|(index, fate)| fate.document(index)));
            engine.trickle_for(ends_after, &order);
            if holds {
                assert_eq!(engine.labels(), before);
                engine.successor();
            }
            engine.trickle(&order);
            assert_eq!(engine.brake.on, holds, "{removals} removals");
            assert_eq!(engine.labels(), before - if holds { 0 } else { removals });
            // What a person allows is done.
            engine.options.allow_mass_removal = true;
            engine.brake.on = false;
            engine.state.all_dirty();
            engine.trickle(&order);
            assert_eq!(engine.labels(), before - removals);
        });
    }
}

#[tokio::test]
async fn several_changes_in_a_row_are_one_to_those_who_lose_their_labels() {
    let mut engine = documented();
    let before = engine.labels();
    // Each of them takes away fewer than a tenth.
    for losers in 1..=8 {
        let fate = |index: usize| {
            if index < losers * 2 {
                Fate::Loses(1)
            } else {
                Fate::Stays
            }
        };
        engine.commit((0..NODES).map(|index| fate(index).document(index)));
        engine.settle();
    }
    assert!(engine.brake.on);
    assert_eq!(before - engine.labels(), 12, "a tenth of all, and no more");
}

#[tokio::test]
async fn documents_that_are_put_right_release_the_brake() {
    let mut engine = documented();
    let before = engine.labels();
    engine.commit((0..NODES).map(|index| Fate::Loses(LABELS).document(index)));
    engine.settle();
    assert!(engine.brake.on);
    engine.commit((0..NODES).map(|index| Fate::Stays.document(index)));
    engine.settle();
    assert!(!engine.brake.on);
    assert_eq!(engine.labels(), before);
    engine.observe();
    assert_eq!(engine.metrics.held_removals.get(), 0);
}

/// A replica that takes over while Berths are being rewritten, and that has not read the documents yet.
#[tokio::test]
async fn nothing_goes_while_the_documents_are_not_known() {
    let mut engine = documented();
    let before = engine.labels();
    let fate = |index: usize| if index < 4 { Fate::Loses(1) } else { Fate::Stays };
    engine.commit((0..NODES).map(|index| fate(index).document(index)));
    engine.carry_out();
    let (_sender, receiver) = watch::channel(Arc::default());
    engine.options.documents = Some(receiver);
    engine.documents_came(Arc::default());
    engine.reserve();
    engine.settle();
    assert_eq!(engine.labels(), before, "an empty source proves nothing");
    assert!(!engine.brake.on);
    engine.commit((0..NODES).map(|index| fate(index).document(index)));
    engine.settle();
    assert_eq!(engine.labels(), before - 4, "four of many may go");
}
