//! Case by case, on each kind of store.

use berth_store::{
    ActionPage, ActionState, Begin, Command, Conflict, Counts, Database, Error, Finished, LabelMemory, NewAction,
    NewNote, Origin, SubtaskPage, SubtaskState,
};
use serde_json::json;

use super::{Stored, action, id, result};

/// Runs each case on each kind of store.
macro_rules! on_all_stores {
    ($($case:ident,)*) => {
        on_all_stores!(@kind memory Memory $($case,)*);
        on_all_stores!(@kind sqlite Sqlite $($case,)*);
        on_all_stores!(@kind postgres Postgres $($case,)*);
    };
    (@kind $name:ident $kind:ident $($case:ident,)*) => {
        mod $name {
            use crate::fixture::Kind;
            $(
                #[tokio::test]
                async fn $case() {
                    if let Some(stored) = super::Stored::start(Kind::$kind).await {
                        super::$case(stored.store.as_ref()).await;
                        assert_eq!(stored.store.check().await.unwrap().problems, []);
                    }
                }
            )*
        }
    };
}

on_all_stores! {
    an_action_runs_to_its_end,
    actions_of_a_group_exclude_one_another,
    a_result_with_an_old_fence_is_not_taken,
    leases_are_held_given_back_and_end,
    a_stopped_action_ends_with_what_was_begun,
    a_paused_action_hands_out_nothing,
    a_held_action_waits_for_somebody_to_agree,
    a_retry_is_for_what_failed,
    actions_are_listed_newest_first_by_pages,
    notes_audit_and_validations_belong_to_their_action,
    old_actions_are_removed_with_everything,
    labels_that_actions_gave_are_remembered_longer_than_the_actions,
    what_cannot_be_stored_is_refused,
}

async fn started(store: &dyn Database, new: &NewAction) {
    store.create_action(new).await.unwrap();
    store.begin_action(&new.id, &Begin::Run, new.now).await.unwrap();
}

fn counts(queued: u64, running: u64, succeeded: u64, failed: u64, stopped: u64) -> Counts {
    Counts {
        queued,
        running,
        succeeded,
        failed,
        stopped,
    }
}

async fn an_action_runs_to_its_end(store: &dyn Database) {
    let created = store.create_action(&action(1, &["a", "b", "c"])).await.unwrap();
    assert_eq!(
        (created.state, created.counts),
        (ActionState::Pending, counts(3, 0, 0, 0, 0))
    );
    assert_eq!(
        store.claim("me", 9, 2, 50).await.unwrap(),
        [],
        "nothing is handed out before it begins"
    );
    let begun = store.begin_action(&id(1), &Begin::Run, 2).await.unwrap();
    assert_eq!((begun.state, begun.started_at), (ActionState::Running, Some(2)));

    let claims = store.claim("me", 2, 3, 50).await.unwrap();
    let nodes: Vec<&str> = claims.iter().map(|claim| claim.node.as_str()).collect();
    assert_eq!(nodes, ["a", "b"]);
    assert_eq!(claims[0].work, json!({"node": "a"}));
    assert_eq!(claims[0].options, json!({"strategy": "mirror"}));
    let rest = store.claim("you", 9, 3, 50).await.unwrap();
    assert_eq!((rest.len(), rest[0].node.as_str()), (1, "c"));
    assert_eq!(store.action(&id(1)).await.unwrap().counts, counts(0, 3, 0, 0, 0));

    let finishing = store
        .finish(&[result(&claims[0], true), result(&claims[1], false)], 4)
        .await
        .unwrap();
    assert_eq!(finishing.taken, [true, true]);
    assert_eq!(
        (finishing.actions[0].state, finishing.actions[0].counts),
        (ActionState::Running, counts(0, 1, 1, 1, 0))
    );
    let finishing = store.finish(&[result(&rest[0], true)], 5).await.unwrap();
    let ended = &finishing.actions[0];
    assert_eq!(
        (ended.state, ended.counts, ended.finished_at),
        (ActionState::Failed, counts(0, 0, 2, 1, 0), Some(5))
    );

    let subtasks = store.subtasks(&id(1), SubtaskPage::ALL).await.unwrap();
    let states: Vec<SubtaskState> = subtasks.iter().map(|subtask| subtask.state).collect();
    assert_eq!(
        states,
        [SubtaskState::Succeeded, SubtaskState::Failed, SubtaskState::Succeeded]
    );
    assert_eq!(subtasks[2].outcome, Some(json!({"node": "c", "fence": 1})));
    let page = SubtaskPage {
        after: Some(0),
        limit: 1,
    };
    assert_eq!(store.subtasks(&id(1), page).await.unwrap(), subtasks[1..2]);

    let empty = store.create_action(&action(2, &[])).await.unwrap();
    assert_eq!((empty.state, empty.finished_at), (ActionState::Success, Some(2)));
    assert_eq!(store.task("task 1").await.unwrap().id, id(1));
    assert!(matches!(store.task("other").await, Err(Error::TaskNotFound { .. })));
    assert!(matches!(store.action(&id(9)).await, Err(Error::ActionNotFound { .. })));
}

async fn actions_of_a_group_exclude_one_another(store: &dyn Database) {
    store.create_action(&action(1, &["a"])).await.unwrap();
    let error = store.create_action(&action(2, &["b"])).await.unwrap_err();
    let Error::Conflict(Conflict::ActionRunning { id: other, state, .. }) = &error else {
        panic!("{error:?}");
    };
    assert_eq!((other, *state), (&id(1), ActionState::Pending));
    assert!(
        matches!(store.action(&id(2)).await, Err(Error::ActionNotFound { .. })),
        "nothing is kept of it"
    );
    let beside = NewAction {
        exclusive: None,
        origin: Origin::Task,
        ..action(3, &["b"])
    };
    store.create_action(&beside).await.unwrap();
    store.control_action(&id(1), Command::Stop, "me", 4).await.unwrap();
    store.create_action(&action(5, &["a"])).await.unwrap();
    let error = store.control_action(&id(1), Command::Retry, "me", 6).await.unwrap_err();
    assert!(
        matches!(error, Error::Conflict(Conflict::ActionRunning { .. })),
        "{error:?}"
    );
}

async fn a_result_with_an_old_fence_is_not_taken(store: &dyn Database) {
    started(store, &action(1, &["a"])).await;
    let old = store.claim("slow", 1, 2, 10).await.unwrap();
    assert_eq!(
        store.claim("quick", 1, 9, 90).await.unwrap(),
        [],
        "the lease still holds"
    );
    let new = store.claim("quick", 1, 10, 90).await.unwrap();
    assert_eq!(new[0].fence, 2);
    assert_eq!(
        store.finish(&[result(&old[0], false)], 11).await.unwrap().taken,
        [false]
    );
    assert_eq!(
        store
            .finish(&[result(&new[0], true), result(&new[0], false)], 12)
            .await
            .unwrap()
            .taken,
        [true, false]
    );
    let action = store.action(&id(1)).await.unwrap();
    assert_eq!(
        (action.state, action.counts),
        (ActionState::Success, counts(0, 0, 1, 0, 0))
    );
    assert_eq!(
        store.finish(&[result(&old[0], false)], 13).await.unwrap().taken,
        [false]
    );
}

async fn leases_are_held_given_back_and_end(store: &dyn Database) {
    started(store, &action(1, &["a", "b"])).await;
    store.claim("me", 1, 0, 10).await.unwrap();
    store.claim("you", 1, 0, 10).await.unwrap();
    assert_eq!(store.renew("me", 50).await.unwrap(), 1);
    let ended = store.claim("third", 9, 10, 20).await.unwrap();
    assert_eq!(
        ended.iter().map(|claim| claim.node.as_str()).collect::<Vec<_>>(),
        ["b"],
        "one lease was held"
    );
    assert_eq!(store.give_back("me", 11).await.unwrap(), 1);
    let back = store.claim("me", 9, 11, 20).await.unwrap();
    assert_eq!((back[0].node.as_str(), back[0].fence), ("a", 2));
    assert_eq!(store.action(&id(1)).await.unwrap().counts, counts(0, 2, 0, 0, 0));
}

async fn a_stopped_action_ends_with_what_was_begun(store: &dyn Database) {
    started(store, &action(1, &["a", "b", "c"])).await;
    let claims = store.claim("me", 1, 2, 10).await.unwrap();
    let stopping = store
        .control_action(&id(1), Command::Stop, "somebody", 3)
        .await
        .unwrap();
    assert_eq!(
        (stopping.state, stopping.counts),
        (ActionState::Stopping, counts(0, 1, 0, 0, 2))
    );
    assert_eq!(store.claim("me", 9, 4, 90).await.unwrap(), []);
    let orphan = store.claim("you", 9, 10, 90).await.unwrap();
    assert_eq!(orphan[0].node, "a", "what was begun comes to its end, whoever began it");
    assert_eq!(
        store.finish(&[result(&claims[0], true)], 11).await.unwrap().taken,
        [false]
    );
    let ended = store
        .finish(&[result(&orphan[0], true)], 12)
        .await
        .unwrap()
        .actions
        .remove(0);
    assert_eq!(
        (ended.state, ended.counts),
        (ActionState::Failed, counts(0, 0, 1, 0, 2))
    );
    assert_eq!(ended.stopped_by.as_deref(), Some("somebody"));
    let error = store.control_action(&id(1), Command::Stop, "me", 13).await.unwrap_err();
    assert_eq!(error.to_string(), "dag_run state must be running, but is failed");
}

async fn a_paused_action_hands_out_nothing(store: &dyn Database) {
    started(store, &action(1, &["a", "b"])).await;
    let claims = store.claim("me", 1, 2, 10).await.unwrap();
    assert_eq!(
        store
            .control_action(&id(1), Command::Pause, "me", 3)
            .await
            .unwrap()
            .state,
        ActionState::Paused
    );
    assert_eq!(store.claim("you", 9, 99, 100).await.unwrap(), []);
    let error = store.control_action(&id(1), Command::Pause, "me", 4).await.unwrap_err();
    assert_eq!(error.to_string(), "dag_run state must be running, but is paused");
    store.finish(&[result(&claims[0], true)], 5).await.unwrap();
    assert_eq!(
        store
            .control_action(&id(1), Command::Unpause, "me", 6)
            .await
            .unwrap()
            .state,
        ActionState::Running
    );
    assert_eq!(store.claim("you", 9, 7, 10).await.unwrap()[0].node, "b");

    store.control_action(&id(1), Command::Stop, "me", 8).await.unwrap();
    let other = NewAction {
        exclusive: None,
        ..action(2, &["a"])
    };
    store.create_action(&other).await.unwrap();
    store.control_action(&id(2), Command::Pause, "me", 9).await.unwrap();
    let unpaused = store.control_action(&id(2), Command::Unpause, "me", 9).await.unwrap();
    assert_eq!(unpaused.state, ActionState::Pending, "it was not looked at before");
}

async fn a_held_action_waits_for_somebody_to_agree(store: &dyn Database) {
    store.create_action(&action(1, &["a"])).await.unwrap();
    let hold = Begin::Hold {
        reason: "too many".to_owned(),
    };
    assert_eq!(
        store.begin_action(&id(1), &hold, 2).await.unwrap().state,
        ActionState::Paused
    );
    assert_eq!(
        store.begin_action(&id(1), &hold, 3).await.unwrap().state,
        ActionState::Paused
    );
    let notes = store.notes(&format!("action/{}", id(1))).await.unwrap();
    assert_eq!(notes.len(), 1, "what is begun is begun once");
    assert_eq!((notes[0].note.text.as_str(), notes[0].created_at), ("too many", 2));
    assert_eq!(store.claim("me", 9, 4, 90).await.unwrap(), []);
    assert_eq!(
        store
            .control_action(&id(1), Command::Unpause, "me", 5)
            .await
            .unwrap()
            .state,
        ActionState::Running
    );
    assert_eq!(store.claim("me", 9, 6, 90).await.unwrap().len(), 1);
}

async fn a_retry_is_for_what_failed(store: &dyn Database) {
    started(store, &action(1, &["a", "b", "c", "d"])).await;
    let claims = store.claim("me", 2, 2, 90).await.unwrap();
    store
        .finish(&[result(&claims[0], true), result(&claims[1], false)], 3)
        .await
        .unwrap();
    store.control_action(&id(1), Command::Stop, "me", 4).await.unwrap();
    let again = store.control_action(&id(1), Command::Retry, "me", 5).await.unwrap();
    assert_eq!(
        (again.state, again.attempt, again.counts),
        (ActionState::Pending, 2, counts(3, 0, 1, 0, 0))
    );
    assert_eq!((again.finished_at, again.stopped_by), (None, None));
    store.begin_action(&id(1), &Begin::Run, 6).await.unwrap();
    let claims = store.claim("me", 9, 7, 90).await.unwrap();
    let nodes: Vec<(&str, u64)> = claims.iter().map(|claim| (claim.node.as_str(), claim.fence)).collect();
    assert_eq!(nodes, [("b", 2), ("c", 1), ("d", 1)]);
    let results: Vec<_> = claims.iter().map(|claim| result(claim, true)).collect();
    let ended = store.finish(&results, 8).await.unwrap().actions.remove(0);
    assert_eq!((ended.state, ended.started_at), (ActionState::Success, Some(1)));
    let error = store.control_action(&id(1), Command::Retry, "me", 9).await.unwrap_err();
    assert_eq!(error.to_string(), "dag_run state must be failed, but is success");
}

async fn actions_are_listed_newest_first_by_pages(store: &dyn Database) {
    for now in 1..=7 {
        let origin = if now % 3 == 0 { Origin::Task } else { Origin::Action };
        let new = NewAction {
            origin,
            exclusive: None,
            ..action(now, &["a"])
        };
        store.create_action(&new).await.unwrap();
    }
    let page = |origin, before, limit| ActionPage { origin, before, limit };
    let ids = async |page: ActionPage| -> Vec<_> {
        store
            .actions(&page)
            .await
            .unwrap()
            .into_iter()
            .map(|action| action.id)
            .collect()
    };
    assert_eq!(ids(page(None, None, 3)).await, [id(7), id(6), id(5)]);
    assert_eq!(ids(page(None, Some(id(5)), 3)).await, [id(4), id(3), id(2)]);
    assert_eq!(
        ids(page(Some(Origin::Action), None, 9)).await,
        [id(7), id(5), id(4), id(2), id(1)]
    );
    assert_eq!(ids(page(Some(Origin::Task), Some(id(6)), 9)).await, [id(3)]);
    let open: Vec<_> = store
        .open_actions()
        .await
        .unwrap()
        .into_iter()
        .map(|action| action.id)
        .collect();
    assert_eq!(open, (1..=7).map(id).collect::<Vec<_>>());
}

async fn notes_audit_and_validations_belong_to_their_action(store: &dyn Database) {
    store.create_action(&action(1, &["a"])).await.unwrap();
    store
        .control_action(&id(1), Command::Pause, "operator", 2)
        .await
        .unwrap();
    store
        .control_action(&id(1), Command::Stop, "operator", 3)
        .await
        .unwrap();
    let audit = store.audit(&id(1)).await.unwrap();
    let told: Vec<(u64, &str, &str, i64)> = audit
        .iter()
        .map(|entry| (entry.id, entry.command.as_str(), entry.user.as_str(), entry.created_at))
        .collect();
    assert_eq!(
        told,
        [
            (1, "invoke", "site engineer", 1),
            (2, "pause", "operator", 2),
            (3, "stop", "operator", 3)
        ]
    );
    let note = |text: &str| NewNote {
        about: format!("step/{}/relabel_nodes", id(1)),
        subject: "a".to_owned(),
        kind: "node".to_owned(),
        text: text.to_owned(),
        verbosity: 3,
        link: Some("/x".to_owned()),
    };
    store.add_notes(&[note("first"), note("second")], 4).await.unwrap();
    let notes = store.notes(&note("").about).await.unwrap();
    assert_eq!(
        notes.iter().map(|note| note.note.text.as_str()).collect::<Vec<_>>(),
        ["first", "second"]
    );
    assert_eq!(store.note(notes[1].id).await.unwrap(), Some(notes[1].clone()));
    assert_eq!(store.note(99).await.unwrap(), None);
    assert_eq!(store.notes("action/other").await.unwrap(), []);
    let other = NewNote {
        about: "action/other".to_owned(),
        verbosity: 5,
        ..note("third")
    };
    store.add_notes(&[other], 5).await.unwrap();
    let things = ["action/other".to_owned(), note("").about, "action/none".to_owned()];
    let texts = async |things: &[String], verbosity: u8| -> Vec<String> {
        let found = store.notes_about(things, verbosity).await.unwrap();
        found.into_iter().map(|note| note.note.text).collect()
    };
    assert_eq!(texts(&things, 5).await, ["first", "second", "third"]);
    assert_eq!(texts(&things, 4).await, ["first", "second"]);
    assert_eq!(texts(&things[..1], 5).await, ["third"]);
    assert_eq!(texts(&[], 5).await, Vec::<String>::new());
    let many: Vec<String> = (0..1000).map(|n| format!("action/{n}")).collect();
    assert_eq!(texts(&many, 5).await, Vec::<String>::new());
    let number = store
        .add_action_validation(&id(1), "PoolUnknown", &json!({"line": 3}))
        .await
        .unwrap();
    let found = store.action_validations(&id(1)).await.unwrap();
    assert_eq!(
        (found[0].id, found[0].name.as_str(), &found[0].details),
        (number, "PoolUnknown", &json!({"line": 3}))
    );
    let error = store.add_action_validation(&id(2), "x", &json!({})).await.unwrap_err();
    assert!(matches!(error, Error::ActionNotFound { .. }), "{error:?}");
}

async fn old_actions_are_removed_with_everything(store: &dyn Database) {
    for now in [1, 5] {
        started(store, &action(now, &["a"])).await;
        let claims = store.claim("me", 1, now, 90).await.unwrap();
        store.finish(&[result(&claims[0], true)], now + 1).await.unwrap();
    }
    store.create_action(&action(9, &["a"])).await.unwrap();
    store.add_action_validation(&id(1), "x", &json!({})).await.unwrap();
    assert_eq!(store.purge_actions(2).await.unwrap(), 0);
    assert_eq!(store.purge_actions(3).await.unwrap(), 1);
    assert!(matches!(store.action(&id(1)).await, Err(Error::ActionNotFound { .. })));
    assert_eq!(store.audit(&id(1)).await.unwrap(), []);
    assert_eq!(store.action_validations(&id(1)).await.unwrap(), []);
    assert_eq!(store.purge_actions(i64::MAX).await.unwrap(), 1, "what is open stays");
    assert_eq!(store.open_actions().await.unwrap().len(), 1);
}

async fn what_cannot_be_stored_is_refused(store: &dyn Database) {
    let mut wrong = action(1, &["a"]);
    wrong.user = "nul\0".to_owned();
    assert!(matches!(store.create_action(&wrong).await, Err(Error::Name { .. })));
    let wrong = action(1, &["a", ""]);
    assert!(matches!(store.create_action(&wrong).await, Err(Error::Name { .. })));
    let long = "n".repeat(253);
    store.create_action(&action(1, &[&long])).await.unwrap();
    assert_eq!(store.subtasks(&id(1), SubtaskPage::ALL).await.unwrap()[0].node, long);
}

async fn labels_that_actions_gave_are_remembered_longer_than_the_actions(store: &dyn Database) {
    let memory = |settled: &[&str], given: &[(&str, &str)]| LabelMemory {
        settled: settled.iter().map(|key| (*key).to_owned()).collect(),
        given: given
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
    };
    let given = async || {
        let given = store.given_labels(Some("a")).await.unwrap();
        assert_eq!(given.get("a"), store.given_labels(None).await.unwrap().get("a"));
        json!(given.get("a"))
    };
    started(store, &action(1, &["a", "b"])).await;
    let claims = store.claim("one", 2, 1, 10).await.unwrap();
    let filed = |fence: u64, labels: LabelMemory| Finished {
        fence,
        labels,
        ..result(&claims[0], true)
    };
    // What is not taken is not remembered.
    let outdated = filed(claims[0].fence + 1, memory(&["x"], &[("x", "1")]));
    assert_eq!(store.finish(&[outdated], 2).await.unwrap().taken, [false]);
    assert_eq!(given().await, json!(null));
    let results = [
        filed(claims[0].fence, memory(&["x", "y"], &[("x", "1"), ("y", "1")])),
        Finished {
            labels: LabelMemory::default(),
            ..result(&claims[1], true)
        },
    ];
    store.finish(&results, 2).await.unwrap();
    assert_eq!(given().await, json!({"x": ["1"], "y": ["1"]}));
    assert_eq!(store.given_labels(None).await.unwrap().len(), 1);
    store.purge_actions(i64::MAX).await.unwrap();
    assert!(store.action(&id(1)).await.is_err());
    // One that may have arrived adds to what there is; one that has settles it.
    store.remember_labels("a", &memory(&[], &[("x", "2")])).await.unwrap();
    assert_eq!(given().await, json!({"x": ["1", "2"], "y": ["1"]}));
    store
        .remember_labels("a", &memory(&["x", "y"], &[("x", "3")]))
        .await
        .unwrap();
    assert_eq!(given().await, json!({"x": ["3"]}));
    store.remember_labels("a", &memory(&["x"], &[])).await.unwrap();
    assert_eq!(given().await, json!(null));
}
