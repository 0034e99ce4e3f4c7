//! Whose labels are Berth's: what a kubelet writes on its Node is not proof.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const KEYS: [&str; 4] = ["a", "b", "telco.example/site", "tier"];
const VALUES: [&str; 3] = ["1", "atl", "infra"];

/// Something that happens to the node.
#[derive(Clone, Debug)]
enum Step {
    /// The rule gives these labels from now on.
    Declare(Vec<(usize, usize)>),
    /// Somebody sets a label by hand.
    Label(usize, usize),
    /// Somebody removes a label by hand.
    Unlabel(usize),
    /// The kubelet writes the annotation.
    Note(Option<Vec<(usize, usize)>>),
    /// The kubelet says which pool it is in.
    NotePool(&'static str),
    /// Everything that is decided is done.
    Settle,
    /// What is decided is written to the Berth, and then the process ends.
    Interrupted,
}

fn pairs() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..KEYS.len(), 0..VALUES.len()), 0..4)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => pairs().prop_map(Step::Declare),
        3 => (0..KEYS.len(), 0..VALUES.len()).prop_map(|(key, value)| Step::Label(key, value)),
        1 => (0..KEYS.len()).prop_map(Step::Unlabel),
        3 => prop::option::of(pairs()).prop_map(Step::Note),
        1 => prop::sample::select(vec!["infra", "storage", "worker", "none"]).prop_map(Step::NotePool),
        3 => Just(Step::Settle),
        1 => Just(Step::Interrupted),
    ]
}

fn labels(pairs: &[(usize, usize)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| (KEYS[*key].to_owned(), VALUES[*value].to_owned()))
        .collect()
}

impl World {
    /// Decides until nothing is left to do. `written` is what Berth has ever written to the Node: nothing else is taken away
    /// or changed.
    fn settle_honestly(&mut self, written: &mut BTreeSet<(String, String)>) {
        for _ in 0..10 {
            self.look();
            let decision = self.decide();
            let changed = decision.node.is_some() || decision.status_patch(&self.berth).is_some();
            if !changed {
                return;
            }
            self.berth.status = Some(decision.status);
            let Some(NodeWrite::Patch(patch)) = decision.node else {
                continue;
            };
            let live = &self.node.as_ref().unwrap().labels;
            let patch = patch.to_value();
            for (key, value) in patch["metadata"]["labels"].as_object().into_iter().flatten() {
                if let Some(live) = live.get(key) {
                    assert!(
                        written.contains(&(key.clone(), live.clone())),
                        "{key}={live} was never Berth's"
                    );
                }
                if let Some(value) = value.as_str() {
                    written.insert((key.clone(), value.to_owned()));
                }
            }
            self.patch(&patch);
        }
        panic!("it does not settle: {:?}", self.decide());
    }

    /// A write that was under way arrives, if the Node is still the version that it names.
    fn arrives(&mut self, patch: &Value) {
        if patch["metadata"]["resourceVersion"] == json!(self.node.as_ref().unwrap().resource_version) {
            self.patch(patch);
        }
    }

    /// The write to the Berth that comes before the one to the Node, and nothing after it.
    fn interrupted(&mut self) {
        let decision = self.decide();
        if decision.node.is_some() {
            self.berth.status = Some(noted_ahead(self.berth.status.as_ref(), &decision.status));
        }
    }
}

fn note(node: &mut NodeView, noted: Option<&[(usize, usize)]>) {
    match noted {
        Some(noted) => {
            let text = berth_site::write_owned(&labels(noted));
            node.annotations.insert(names::OWNED_LABELS.to_owned(), text)
        }
        None => node.annotations.remove(names::OWNED_LABELS),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// However the kubelet writes what Berth notes on its Node, and whenever the process ends: only labels that Berth
    /// wrote are changed or removed. (Not both where the note is deleted: then Berth's own memory is all there is, and it has
    /// what was about to be written.)
    #[test]
    fn the_word_of_a_kubelet_takes_nothing_away(steps in prop::collection::vec(step(), 1..24), deletes in any::<bool>()) {
        let mut world = World::occupied();
        let mut written: BTreeSet<(String, String)> = world.status().labels.clone().into_iter().collect();
        for step in steps {
            match step {
                Step::Note(None) if !deletes => {}
                Step::Interrupted if deletes => {}
                Step::Declare(pairs) => world.objects[3] = rule("site", &json!(labels(&pairs))),
                Step::Label(key, value) => world.label(KEYS[key], VALUES[value]),
                Step::Unlabel(key) => drop(world.node.as_mut().unwrap().labels.remove(KEYS[key])),
                Step::Note(noted) => note(world.node.as_mut().unwrap(), noted.as_deref()),
                Step::NotePool(pool) => {
                    let node = world.node.as_mut().unwrap();
                    node.annotations.insert(names::POOL.to_owned(), pool.to_owned());
                }
                Step::Settle => world.settle_honestly(&mut written),
                Step::Interrupted => world.interrupted(),
            }
        }
        world.settle_honestly(&mut written);
    }

    /// Whatever write to the Node or the Berth is the last that happens before the process ends: the next one has
    /// everything follow the newest declaration, as if nothing had happened.
    #[test]
    fn an_interrupted_write_loses_no_label(
        declared in prop::collection::vec(pairs(), 1..8),
        ends in prop::collection::vec(0..6, 8),
    ) {
        let mut world = World::occupied();
        let mut under_way: Vec<Value> = Vec::new();
        let others: BTreeMap<String, String> = world.node.as_ref().unwrap().labels.clone()
            .into_iter().filter(|(key, _)| key != "telco.example/site" && key != "tier").collect();
        for (pairs, end) in declared.iter().zip(ends) {
            world.objects[3] = rule("site", &json!(labels(pairs)));
            match end {
                0 => {}
                1 => world.interrupted(),
                2 => {
                    // The write to the Node is under way when the process ends, and may arrive at any time.
                    if let Some(NodeWrite::Patch(patch)) = world.decide().node {
                        under_way.push(patch.to_value());
                    }
                    world.interrupted();
                }
                3 => under_way.drain(..).for_each(|patch| world.arrives(&patch)),
                4 => {
                    // The next leader has noted what it is about to write when an older write arrives before its own.
                    let decision = world.decide();
                    world.interrupted();
                    under_way.drain(..).for_each(|patch| world.arrives(&patch));
                    if let Some(NodeWrite::Patch(patch)) = decision.node {
                        world.arrives(&patch.to_value());
                    }
                }
                _ => {
                    // The Node is written, and the rest of the status is not.
                    let decision = world.decide();
                    world.interrupted();
                    if let Some(NodeWrite::Patch(patch)) = decision.node {
                        world.patch(&patch.to_value());
                    }
                }
            }
        }
        under_way.drain(..).for_each(|patch| world.arrives(&patch));
        world.settle();
        let mut expected = labels(declared.last().unwrap());
        // What the pool gives is weaker than a rule.
        expected.entry("tier".to_owned()).or_insert_with(|| "infra".to_owned());
        expected.extend(others);
        prop_assert_eq!(&world.node.as_ref().unwrap().labels, &expected);
        prop_assert_eq!(world.condition("LabelsInSync"), ("True", "InSync"));
    }
}

#[test]
fn a_node_that_its_kubelet_makes_is_corrected_whatever_is_noted_on_it() {
    let mut world = World::occupied();
    world.node = None;
    world.kubelet_registers(&[(STORAGE, ""), ("tier", "storage"), ("disks", "many")]);
    let node = world.node.as_mut().unwrap();
    for (key, text) in [
        (
            names::OWNED_LABELS,
            format!("{{\"{INFRA}\": \"\", \"tier\": \"infra\"}}"),
        ),
        (names::POOL, "infra".to_owned()),
    ] {
        node.annotations.insert(key.to_owned(), text);
    }
    world.settle();
    assert_eq!((world.has(INFRA), world.has(STORAGE)), (Some(""), None));
    assert_eq!(world.status().pool.as_deref(), Some("infra"), "nobody moved it");
    assert_eq!(world.status().followed, None);
}

#[test]
fn labels_of_a_node_that_was_made_right_before_the_end_are_berths() {
    let mut world = World::infra();
    world.requested = true;
    let decision = world.decide();
    let Some(NodeWrite::Create(node)) = decision.node else {
        panic!("{decision:?}")
    };
    // The status before the Node is there, and nothing after it.
    world.berth.status = Some(BerthStatus {
        labels: decision.status.labels,
        ..BerthStatus::default()
    });
    world.create(NodeView::from(*node));
    world.berth.status.as_mut().unwrap().node_uid = None;
    world.kubelet_reports();
    world.settle();
    world.objects.pop();
    world.settle();
    assert_eq!(world.has("telco.example/site"), None, "it was Berth's");
}

/// What is noted and not remembered may be the work of a leader that this one has not heard of yet.
#[test]
fn a_note_is_narrowed_only_in_the_version_that_was_read() {
    let mut world = World::occupied();
    let key = "telco.example/site";
    world.label(key, "bos");
    let node = world.node.as_mut().unwrap();
    let mut noted = node.owned().unwrap();
    noted.insert(key.to_owned(), "bos".to_owned());
    let text = berth_site::write_owned(&noted);
    node.annotations.insert(names::OWNED_LABELS.to_owned(), text);
    let version = node.resource_version.clone();
    let Some(NodeWrite::Patch(patch)) = world.decide().node else {
        panic!("the note is put right")
    };
    assert!(patch.labels.is_empty(), "{patch:?}");
    assert_eq!(patch.resource_version, Some(version));
}

/// A late watch shows the Node as it was before the last write that arrived, while the next one has only been noted.
#[test]
fn a_late_watch_forgets_no_label() {
    let mut world = World::occupied();
    let long_ago = world.node.clone();
    let declare = |world: &mut World, labels: Value| world.objects[3] = rule("site", &labels);
    for seen in [long_ago, None] {
        declare(&mut world, json!({"b": "1"}));
        world.settle();
        let now = world.node.clone();
        declare(&mut world, json!({"b": "2"}));
        world.interrupted();
        declare(&mut world, json!({"b": "2", "a": "1"}));
        world.node = seen;
        world.interrupted();
        world.node = now;
        world.settle();
        assert_eq!((world.has("b"), world.has("a")), (Some("2"), Some("1")));
        assert_eq!(world.condition("LabelsInSync"), ("True", "InSync"));
    }
}

fn relabel(world: &mut World, from: &str, to: &str) {
    world.unlabel(from);
    world.label(to, "");
    world.node.as_mut().unwrap().resource_version.push('p');
}

/// The Berth says the pool of a moved Node before anything is written to the Node.
#[test]
fn a_move_that_is_interrupted_is_finished() {
    let mut world = World::occupied();
    relabel(&mut world, INFRA, STORAGE);
    world.interrupted();
    assert_eq!(world.status().pool.as_deref(), Some("storage"));
    assert_eq!(world.condition("PoolAssigned"), ("True", "Followed"));
    assert_eq!(world.has("tier"), Some("infra"), "the Node is not written yet");
    // Whoever decides next has seen nothing of it.
    world.witnessed = None;
    assert_eq!(world.settle(), 1, "one write to the Node, and nothing is left to say");
    assert_eq!((world.has("tier"), world.has("disks")), (Some("storage"), Some("many")));
    assert_eq!((world.has(INFRA), world.has(STORAGE)), (None, Some("")));
    assert_eq!(world.condition("LabelsInSync"), ("True", "InSync"));
}

#[test]
fn whoever_moves_a_node_again_before_berth_writes_to_it_is_heard() {
    for to in [INFRA, WORKER] {
        let mut world = World::occupied();
        relabel(&mut world, INFRA, STORAGE);
        world.interrupted();
        relabel(&mut world, STORAGE, to);
        world.settle();
        assert_eq!((world.has(to), world.has(STORAGE)), (Some(""), None), "{to}");
        assert_eq!(world.condition("PoolAssigned").0, "True", "{to}");
    }
}
