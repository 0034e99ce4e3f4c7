//! Random sequences of operations on actions, on a database and on the model at once.

use berth_store::{
    ActionPage, Begin, Claim, Command, Database, Error, Finished, LabelMemory, MemoryStore, NewAction, NewNote, Origin,
    SubtaskPage,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use super::{Stored, action, id, result};
use crate::fixture::Kind;

#[derive(Clone, Debug)]
enum Operation {
    Create {
        nodes: usize,
        exclusive: bool,
        task: bool,
    },
    Begin {
        which: i64,
        hold: bool,
    },
    Control(i64, Command),
    Claim {
        owner: &'static str,
        limit: u32,
        lease: i64,
    },
    Renew(&'static str, i64),
    GiveBack(&'static str),
    /// Files the results of some claims that were made, old ones among them.
    Finish(Vec<(usize, bool)>),
    Note(i64),
    Purge(i64),
    /// Labels of a node outside of an action.
    Remember(&'static str, bool),
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let which = || 1..12_i64;
    let owner = || prop::sample::select(vec!["one", "two"]);
    let command = prop::sample::select(Command::ALL.to_vec());
    let results = prop::collection::vec((0..20_usize, any::<bool>()), 1..6);
    prop_oneof![
        4 => (0..5_usize, any::<bool>(), any::<bool>())
            .prop_map(|(nodes, exclusive, task)| Operation::Create { nodes, exclusive, task }),
        6 => (which(), prop::bool::weighted(0.2)).prop_map(|(which, hold)| Operation::Begin { which, hold }),
        4 => (which(), command).prop_map(|(which, command)| Operation::Control(which, command)),
        8 => (owner(), 0..5_u32, 0..6_i64).prop_map(|(owner, limit, lease)| Operation::Claim { owner, limit, lease }),
        1 => (owner(), 0..6_i64).prop_map(|(owner, lease)| Operation::Renew(owner, lease)),
        1 => owner().prop_map(Operation::GiveBack),
        8 => results.prop_map(Operation::Finish),
        1 => which().prop_map(Operation::Note),
        1 => which().prop_map(Operation::Purge),
        1 => (prop::sample::select(vec!["a", "b", "other"]), any::<bool>())
            .prop_map(|(node, settles)| Operation::Remember(node, settles)),
    ]
}

/// One side of the comparison: a store, and the claims that were made on it.
struct Side<'a> {
    store: &'a dyn Database,
    claims: Vec<Claim>,
    created: i64,
}

fn told<T: std::fmt::Debug>(answer: &Result<T, Error>) -> String {
    format!("{answer:?}")
}

impl Side<'_> {
    /// The answer as a text: equal texts are equal answers.
    async fn apply(&mut self, operation: &Operation, now: i64) -> String {
        let store = self.store;
        match operation {
            Operation::Create { nodes, exclusive, task } => {
                self.created += 1;
                let names = ["a", "b", "c", "d", "e"];
                let new = NewAction {
                    exclusive: exclusive.then(|| "site".to_owned()),
                    origin: if *task { Origin::Task } else { Origin::Action },
                    now,
                    ..action(self.created, &names[..*nodes])
                };
                told(&store.create_action(&new).await)
            }
            Operation::Begin { which, hold } => {
                let begin = if *hold {
                    Begin::Hold {
                        reason: "why".to_owned(),
                    }
                } else {
                    Begin::Run
                };
                told(&store.begin_action(&id(*which), &begin, now).await)
            }
            Operation::Control(which, command) => told(&store.control_action(&id(*which), *command, "me", now).await),
            Operation::Claim { owner, limit, lease } => {
                let claims = store.claim(owner, *limit, now, now + lease).await;
                self.claims.extend(claims.iter().flatten().cloned());
                told(&claims)
            }
            Operation::Renew(owner, lease) => told(&store.renew(owner, now + lease).await),
            Operation::GiveBack(owner) => told(&store.give_back(owner, now).await),
            Operation::Finish(results) => {
                let known = results.iter().filter_map(|(index, success)| {
                    // Counted from the end: new claims are more interesting than old ones.
                    let claim = self.claims.iter().rev().nth(*index)?;
                    Some(result(claim, *success))
                });
                let results: Vec<Finished> = known.collect();
                told(&store.finish(&results, now).await)
            }
            Operation::Note(which) => {
                let note = NewNote {
                    about: format!("action/{}", id(*which)),
                    subject: "s".to_owned(),
                    kind: "k".to_owned(),
                    text: format!("{now}"),
                    verbosity: 1,
                    link: None,
                };
                told(&store.add_notes(&[note], now).await)
            }
            Operation::Purge(before) => told(&store.purge_actions(*before).await),
            Operation::Remember(node, settles) => {
                let key = "fence".to_owned();
                let done = LabelMemory {
                    settled: settles.then(|| key.clone()).into_iter().collect(),
                    given: [(key, now.to_string())].into(),
                };
                told(&store.remember_labels(node, &done).await)
            }
        }
    }

    async fn state(&self) -> Vec<String> {
        let mut state = vec![
            told(&self.store.open_actions().await),
            told(&self.store.given_labels(None).await),
            told(&self.store.given_labels(Some("a")).await),
        ];
        for origin in [None, Some(Origin::Action), Some(Origin::Task)] {
            let page = ActionPage {
                origin,
                before: None,
                limit: 100,
            };
            state.push(told(&self.store.actions(&page).await));
        }
        for which in 1..=self.created {
            let id = id(which);
            state.push(told(&self.store.subtasks(&id, SubtaskPage::ALL).await));
            state.push(told(&self.store.audit(&id).await.map(|entries| {
                entries
                    .into_iter()
                    .map(|entry| (entry.command, entry.created_at))
                    .collect::<Vec<_>>()
            })));
            state.push(told(&self.store.notes(&format!("action/{id}")).await.map(|notes| {
                notes
                    .into_iter()
                    .map(|note| (note.note.text, note.created_at))
                    .collect::<Vec<_>>()
            })));
        }
        state
    }
}

/// Each case has a store of its own.
fn compare(kind: Kind, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let operations = prop::collection::vec(any_operation(), 1..60);
    let compared = runner.run(&operations, |operations| {
        runtime.block_on(async {
            let Some(stored) = Stored::start(kind).await else {
                return;
            };
            let model = MemoryStore::new();
            let side = |store| Side {
                store,
                claims: Vec::new(),
                created: 0,
            };
            let (mut found, mut expected) = (side(stored.store.as_ref()), side(&model));
            for (operation, now) in operations.iter().zip(1_i64..) {
                assert_eq!(
                    found.apply(operation, now).await,
                    expected.apply(operation, now).await,
                    "{operation:?}"
                );
            }
            assert_eq!(found.state().await, expected.state().await);
            assert_eq!(stored.store.check().await.unwrap().problems, []);
        });
        Ok(())
    });
    compared.unwrap();
}

#[test]
fn sqlite_does_as_the_model() {
    compare(Kind::Sqlite, 48);
}

#[test]
fn postgres_does_as_the_model() {
    compare(Kind::Postgres, 12);
}

/// What a claim carries is what a result needs.
#[tokio::test]
async fn a_claim_and_its_result_belong_together() {
    let model = MemoryStore::new();
    let store: &dyn Database = &model;
    store.create_action(&action(1, &["a"])).await.unwrap();
    store.begin_action(&id(1), &Begin::Run, 1).await.unwrap();
    let claims = store.claim("one", 1, 1, 9).await.unwrap();
    assert_eq!(result(&claims[0], true).outcome, json!({"node": "a", "fence": 1}));
}
