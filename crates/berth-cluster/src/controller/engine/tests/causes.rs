//! What the brake counts, by what causes it: new pools, pools with other selectors, and people who touch many at once.

use proptest::{collection::vec, prelude::*};

use super::{
    brake::{LABELS, NODES, berth_document, documented},
    *,
};
use berth_resources::{Berth, PoolPolicy};

/// A label that Nodes have from elsewhere. No pool selects by it at first.
const FOREIGN: &str = "node-role.kubernetes.io/other";
const STORAGE: &str = "node-role.kubernetes.io/storage";
const WORKER: &str = "node-role.kubernetes.io/worker";

/// A pool with a role of its own that selects by another key.
fn pool_by(name: &str, key: &str) -> Definition {
    let mut pool = pool(name, "");
    pool.object["spec"]["nodeSelector"] = json!({"matchLabels": {key: ""}});
    pool
}

/// The documented cluster, as if people had written the Berths.
fn written_by_hand() -> Engine {
    let mut engine = documented();
    engine.documents = None;
    let berths: Vec<Berth> = engine.state.berths.values().map(KeptBerth::berth).collect();
    for mut berth in berths {
        berth.metadata.labels = None;
        engine
            .state
            .apply(ClusterChange::Berths(Seen::One(KeptBerth::from(&berth))));
    }
    engine.settle();
    engine
}

fn name(index: usize) -> String {
    format!("w{index:02}")
}

impl Engine {
    fn edit(&mut self, index: usize, edit: impl FnOnce(&mut Berth)) {
        let mut berth = self.state.berths.get(&name(index)).unwrap().berth();
        edit(&mut berth);
        berth.metadata.generation = Some(berth.metadata.generation.unwrap_or_default() + 1);
        self.state
            .apply(ClusterChange::Berths(Seen::One(KeptBerth::from(&berth))));
    }

    fn relabel(&mut self, index: usize, relabel: impl FnOnce(&mut BTreeMap<String, String>)) {
        let mut node = self.node(&name(index));
        relabel(&mut node.labels);
        self.state.apply(ClusterChange::Nodes(Seen::One(node.into())));
    }

    fn add_pool(&mut self, pool: Definition) {
        self.state.apply(ClusterChange::Pools(Seen::One(pool)));
        self.define();
    }

    fn having(&self, key: &str) -> usize {
        let nodes = self.nodes();
        nodes.filter(|node| node.labels.contains_key(key)).count()
    }
}

/// Drops all labels of the Berth.
fn drop_labels(berth: &mut Berth) {
    berth.spec.labels.clear();
}

#[tokio::test]
async fn a_new_pool_that_selects_what_nodes_have_already_is_nobodys_move() {
    let mut engine = documented();
    let before = engine.labels();
    engine.add_pool(pool_by("gpu", FOREIGN));
    engine.settle();
    assert!(engine.brake.on);
    assert_eq!(engine.labels(), before, "nothing goes");
    assert_eq!(
        engine
            .state
            .berths
            .get("w00")
            .unwrap()
            .status
            .as_ref()
            .unwrap()
            .pool
            .as_deref(),
        Some("worker")
    );
    // What a person allows is done: the Berths follow.
    engine.options.allow_mass_removal = true;
    engine.brake.on = false;
    engine.state.all_dirty();
    engine.settle();
    assert_eq!(engine.having(WORKER), 0);
    assert_eq!(engine.having(FOREIGN), NODES);
}

#[tokio::test]
async fn a_pool_with_another_selector_is_nobodys_move_either() {
    let mut engine = documented();
    let before = engine.labels();
    engine.add_pool(pool_by("storage", FOREIGN));
    engine.settle();
    assert!(engine.brake.on);
    assert_eq!(engine.labels(), before);
}

#[tokio::test]
async fn a_new_pool_that_selects_few_nodes_is_followed() {
    let mut engine = documented();
    for index in 0..2 {
        engine.relabel(index, |labels| {
            drop(labels.insert("example.org/gpu".to_owned(), String::new()));
        });
    }
    engine.settle();
    engine.add_pool(pool_by("gpu", "example.org/gpu"));
    engine.settle();
    assert!(!engine.brake.on);
    assert_eq!(
        (engine.having(WORKER), engine.having("example.org/gpu")),
        (NODES - 2, 2)
    );
}

#[tokio::test]
async fn a_new_pool_takes_no_label_away_that_berth_never_wrote() {
    let mut engine = written_by_hand();
    for index in 0..NODES {
        engine.edit(index, |berth| berth.spec.pool_policy = PoolPolicy::Enforce);
    }
    engine.settle();
    engine.options.allow_mass_removal = true;
    engine.add_pool(pool_by("gpu", FOREIGN));
    engine.settle();
    assert_eq!(engine.having(FOREIGN), NODES);
    assert_eq!(engine.having(WORKER), NODES);
    // What somebody puts there from now on is taken away.
    engine.relabel(0, |labels| drop(labels.remove(FOREIGN)));
    engine.settle();
    engine.relabel(0, |labels| drop(labels.insert(FOREIGN.to_owned(), String::new())));
    engine.settle();
    assert_eq!(engine.having(FOREIGN), NODES - 1);
}

#[tokio::test]
async fn enforcing_counts_and_is_held() {
    let mut engine = written_by_hand();
    for index in 0..NODES {
        engine.edit(index, |berth| berth.spec.pool_policy = PoolPolicy::Enforce);
    }
    engine.settle();
    for index in 0..NODES {
        engine.relabel(index, |labels| {
            labels.remove(WORKER);
            labels.insert(STORAGE.to_owned(), String::new());
        });
    }
    engine.settle();
    assert!(engine.brake.on);
    assert_eq!(
        (engine.having(STORAGE), engine.having(WORKER)),
        (NODES, 0),
        "all stay as they are"
    );
    engine.options.allow_mass_removal = true;
    engine.brake.on = false;
    engine.state.all_dirty();
    engine.settle();
    assert_eq!((engine.having(STORAGE), engine.having(WORKER)), (0, NODES));
}

#[tokio::test]
async fn one_edited_berth_is_exempt_and_many_at_once_are_one_change() {
    let mut engine = written_by_hand();
    let before = engine.labels();
    engine.edit(0, drop_labels);
    engine.settle();
    assert_eq!(engine.labels(), before - LABELS);
    for index in 1..NODES {
        engine.edit(index, drop_labels);
    }
    engine.settle();
    assert!(engine.brake.on);
    assert_eq!(engine.labels(), before - LABELS, "none of them goes");
    // Whoever takes it back releases the brake.
    for index in 1..NODES {
        let Value::Object(document) = berth_document(index, "worker", LABELS) else {
            unreachable!()
        };
        let labels: BTreeMap<String, String> = serde_json::from_value(document["spec"]["labels"].clone()).unwrap();
        engine.edit(index, |berth| berth.spec.labels = labels);
    }
    engine.settle();
    assert!(!engine.brake.on);
    engine.observe();
    assert_eq!(engine.metrics.held_removals.get(), 0);
}

#[tokio::test]
async fn a_person_is_heard_while_the_brake_is_on() {
    let mut engine = written_by_hand();
    engine.add_pool(pool("worker", ""));
    engine.settle();
    assert!(engine.brake.on);
    engine.relabel(3, |labels| {
        labels.remove(WORKER);
        labels.insert(STORAGE.to_owned(), String::new());
    });
    engine.settle();
    let node = &engine.node("w03");
    assert!(!node.labels.contains_key("example.com/pool"), "{node:?}");
    engine.relabel(4, |labels| {
        labels.remove(WORKER);
        labels.insert(STORAGE.to_owned(), String::new());
    });
    engine.settle();
    let node = &engine.node("w04");
    assert!(
        node.labels.contains_key("example.com/pool"),
        "it is the second: {node:?}"
    );
}

/// Each attempt meets another version of the Node, as while somebody else writes to all of them.
#[tokio::test]
async fn attempts_that_fail_take_nothing_away() {
    let mut engine = documented();
    let before = engine.labels();
    let fate = |index: usize| if index < 2 { LABELS - 1 } else { LABELS };
    engine.commit((0..NODES).map(|index| berth_document(index, "worker", fate(index))));
    engine.carry_out();
    for _ in 0..40 {
        engine.decide();
        assert!(!engine.brake.on);
        let jobs = std::mem::take(&mut engine.jobs);
        assert_eq!(jobs.len(), 2);
        for job in jobs {
            engine.done((job.key, (Written::default(), Err(WriteError::Timeout))));
        }
        engine
            .state
            .dirty
            .extend(std::mem::take(&mut engine.wakes).into_iter().map(|(_, name)| name));
    }
    engine.settle();
    assert_eq!(engine.labels(), before - 2);
}

/// Somebody does something.
#[derive(Clone, Debug)]
enum Step {
    /// Drops the labels of some Berths, by hand.
    Edit(Vec<usize>),
    /// Moves some Nodes to another pool, by hand.
    Relabel(Vec<usize>),
    /// Enforces the pool of some Berths, by hand.
    Enforce(Vec<usize>),
    /// Labels some Nodes for no reason that Berth knows.
    Foreign(Vec<usize>),
    /// A new pool.
    Pool(&'static str),
    /// Another replica takes over.
    Successor,
    /// Everything is done that is to be done.
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let nodes = || vec(0..NODES, 1..NODES);
    prop_oneof![
        1 => nodes().prop_map(Step::Edit),
        1 => nodes().prop_map(Step::Relabel),
        1 => nodes().prop_map(Step::Enforce),
        1 => nodes().prop_map(Step::Foreign),
        1 => prop::sample::select(vec![FOREIGN, "example.org/gpu", "example.com/l0"]).prop_map(Step::Pool),
        1 => Just(Step::Successor),
        3 => Just(Step::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Within the time that counts as one change, no more than a tenth of the labels goes, whatever is done and in which
    /// steps: beside that, one Node's for the one person who touched it.
    #[test]
    fn whatever_is_done_a_tenth_goes_and_no_more(steps in vec(step(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut engine = written_by_hand();
            let owned = engine.owned();
            let mut gone = 0;
            // A replica that takes over knows nothing of what its predecessor took away.
            let mut successors = 1;
            for step in steps.into_iter().chain([Step::Settle]) {
                match step {
                    Step::Edit(nodes) => nodes.into_iter().for_each(|node| engine.edit(node, drop_labels)),
                    Step::Relabel(nodes) => for node in nodes {
                        engine.relabel(node, |labels| {
                            labels.remove(WORKER);
                            labels.insert(STORAGE.to_owned(), String::new());
                        });
                    },
                    Step::Enforce(nodes) => for node in nodes {
                        engine.edit(node, |berth| berth.spec.pool_policy = PoolPolicy::Enforce);
                    },
                    Step::Foreign(nodes) => for node in nodes {
                        engine.relabel(node, |labels| drop(labels.insert("example.org/gpu".to_owned(), String::new())));
                    },
                    Step::Pool(key) => engine.add_pool(pool_by("gpu", key)),
                    Step::Successor => {
                        engine.successor();
                        successors += 1;
                    }
                    Step::Settle => {
                        for (_, labels) in engine.settle() {
                            gone += labels.as_object().into_iter().flatten().filter(|(_, value)| value.is_null()).count();
                        }
                    }
                }
            }
            let one = LABELS + 3;
            assert!(gone <= successors * (owned / 10 + one), "{gone} of {owned}, {successors} replicas");
        });
    }
}
