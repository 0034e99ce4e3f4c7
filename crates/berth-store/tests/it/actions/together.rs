//! Several servers on one store at a time.

use std::{collections::BTreeMap, sync::Arc};

use berth_store::{
    ActionPage, ActionState, Begin, Conflict, Database, Error, NewAction, Origin, PostgresStore, SqliteStore,
    SubtaskPage, SubtaskState,
};
use serde_json::json;
use sqlx::Connection as _;

use super::{Stored, action, id, result};
use crate::{
    fixture::{Kind, keys},
    postgres_server,
};

const NODES: usize = 120;

async fn of_two_at_once_one_wins(kind: Kind) {
    let Some(stored) = Stored::start(kind).await else {
        return;
    };
    let servers = [Arc::clone(&stored.store), stored.other_server().await];
    for round in 0..10 {
        let mut tasks = tokio::task::JoinSet::new();
        for (place, server) in (1_i64..).zip(servers.iter().cycle().take(6).cloned()) {
            let now = round * 10 + place;
            tasks.spawn(async move { (now, server.create_action(&action(now, &["a"])).await) });
        }
        let (won, lost): (Vec<_>, Vec<_>) = tasks
            .join_all()
            .await
            .into_iter()
            .partition(|(_, answer)| answer.is_ok());
        assert_eq!((won.len(), lost.len()), (1, 5));
        let winner = id(won[0].0);
        for (_, answer) in lost {
            let Err(Error::Conflict(Conflict::ActionRunning { id, .. })) = answer else {
                panic!("{answer:?}");
            };
            assert_eq!(id, winner);
        }
        stored
            .store
            .control_action(&winner, berth_store::Command::Stop, "me", 1)
            .await
            .unwrap();
    }
}

/// Servers take nodes, lose half of them again because their leases end at once, and still each node has one outcome.
async fn every_node_has_one_outcome(kind: Kind) {
    let Some(stored) = Stored::start(kind).await else {
        return;
    };
    let names: Vec<String> = (0..NODES).map(|node| format!("n{node}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    stored.store.create_action(&action(1, &names)).await.unwrap();
    stored.store.begin_action(&id(1), &Begin::Run, 1).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for (owner, server) in ["one", "two", "three"].into_iter().zip([
        Arc::clone(&stored.store),
        stored.other_server().await,
        stored.other_server().await,
    ]) {
        tasks.spawn(async move { take_part(server.as_ref(), owner).await });
    }
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for node in tasks.join_all().await.into_iter().flatten() {
        *taken.entry(node).or_default() += 1;
    }
    assert_eq!(taken.len(), NODES);
    assert!(taken.values().all(|count| *count == 1), "{taken:?}");
    let action = stored.store.action(&id(1)).await.unwrap();
    assert_eq!(
        (action.state, action.counts.succeeded),
        (ActionState::Success, NODES as u64)
    );
    for subtask in stored.store.subtasks(&id(1), SubtaskPage::ALL).await.unwrap() {
        assert_eq!(subtask.state, SubtaskState::Succeeded);
        assert_eq!(
            subtask.outcome,
            Some(json!({"node": subtask.node, "fence": subtask.fence}))
        );
    }
}

async fn take_part(store: &dyn Database, owner: &str) -> Vec<String> {
    let mut done = Vec::new();
    for round in 0.. {
        // In every other round the lease has ended before it began.
        let claims = store.claim(owner, 7, 10, 10 + round % 2).await.unwrap();
        let results: Vec<_> = claims.iter().map(|claim| result(claim, true)).collect();
        if round % 4 != 0 {
            tokio::task::yield_now().await;
            let finishing = store.finish(&results, 11).await.unwrap();
            let taken = claims.iter().zip(&finishing.taken).filter(|(_, taken)| **taken);
            done.extend(taken.map(|(claim, _)| claim.node.clone()));
        }
        if store.action(&id(1)).await.unwrap().state.is_final() {
            break;
        }
    }
    done
}

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
                #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
                async fn $case() {
                    super::$case(Kind::$kind).await;
                }
            )*
        }
    };
}

on_all_stores! {
    of_two_at_once_one_wins,
    every_node_has_one_outcome,
}

/// With 100,000 actions a page is read as fast as with ten: by the plan, the index leads to its first row and no other row
/// is looked at; and the page is right.
#[tokio::test]
async fn a_page_of_many_actions_is_found_by_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("berth.db");
    let store = SqliteStore::open(&path, keys(1)).await.unwrap();
    let store: &dyn Database = &store;
    let first = NewAction {
        exclusive: None,
        ..action(1, &[])
    };
    store.create_action(&first).await.unwrap();
    let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", path.display()))
        .await
        .unwrap();
    sqlx::query(
        "WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 100000) \
         INSERT INTO actions SELECT printf('01%024d', n), 'task ' || n, origin, name, parameters, user_name, context_marker, \
            revision, allow_intermediate, options, exclusive, state, begun, attempt, queued, running, succeeded, failed, \
            stopped, created_at, started_at, updated_at, finished_at, stopped_by FROM n, (SELECT * FROM actions LIMIT 1)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let page = ActionPage {
        origin: Some(Origin::Action),
        before: Some(format!("01{:024}", 50_001).parse().unwrap()),
        limit: 3,
    };
    let ids: Vec<String> = store
        .actions(&page)
        .await
        .unwrap()
        .into_iter()
        .map(|action| action.id.to_string())
        .collect();
    assert_eq!(ids, [50_000, 49_999, 49_998].map(|n| format!("01{n:024}")));
    assert_eq!(store.open_actions().await.unwrap().len(), 0);
    for (query, index) in [
        (
            "SELECT * FROM actions WHERE origin = 'action' AND id < '02' ORDER BY id DESC LIMIT 3",
            "actions_origin",
        ),
        (
            "SELECT * FROM actions WHERE finished_at IS NULL ORDER BY id",
            "actions_open",
        ),
        (
            "SELECT * FROM actions WHERE id < '02' ORDER BY id DESC LIMIT 3",
            "sqlite_autoindex_actions_1",
        ),
    ] {
        let steps: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}")))
                .fetch_all(&pool)
                .await
                .unwrap();
        let steps: Vec<&str> = steps.iter().map(|step| step.3.as_str()).collect();
        assert!(
            steps[0].contains(&format!("INDEX {index}")) && steps.len() == 1,
            "{query}: {steps:?}"
        );
    }
}

/// A row as `EXPLAIN` writes it, without its costs.
async fn explain(connection: &mut sqlx::PgConnection, query: &str) -> Vec<String> {
    let rows: Vec<(String,)> = sqlx::query_as(sqlx::AssertSqlSafe(format!("EXPLAIN (COSTS OFF) {query}")))
        .persistent(false)
        .fetch_all(connection)
        .await
        .unwrap();
    rows.into_iter().map(|(row,)| row.trim().to_owned()).collect()
}

/// The same on `PostgreSQL`, where the plan depends on what the table holds: few actions among many tasks. It must hold for the
/// values of the first page as well as for a plan that is made once for all values.
#[tokio::test]
async fn a_page_of_many_actions_is_found_by_an_index_in_postgres() {
    let Some(url) = postgres_server::database().await else {
        return;
    };
    let store = PostgresStore::connect(&url, keys(1)).await.unwrap();
    let store: &dyn Database = &store;
    let first = NewAction {
        exclusive: None,
        ..action(1, &[])
    };
    store.create_action(&first).await.unwrap();
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    for statement in [
        "INSERT INTO actions SELECT '01' || lpad(n::text, 24, '0'), 'task ' || n, \
            CASE WHEN n % 50 = 0 THEN 'action' ELSE 'task' END, name, parameters, user_name, context_marker, revision, \
            allow_intermediate, options, exclusive, state, begun, attempt, queued, running, succeeded, failed, stopped, \
            created_at, started_at, updated_at, finished_at, stopped_by \
            FROM (SELECT * FROM actions) one, generate_series(2, 100000) n",
        "ANALYZE actions",
    ] {
        sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    }
    let page = ActionPage {
        origin: Some(Origin::Action),
        before: Some(format!("01{:024}", 50_001).parse().unwrap()),
        limit: 3,
    };
    // More often than a statement is planned anew for its values.
    for _ in 0..8 {
        let found = store.actions(&page).await.unwrap();
        let ids: Vec<&str> = found.iter().map(|action| action.id.as_str()).collect();
        assert_eq!(ids, [50_000, 49_950, 49_900].map(|n| format!("01{n:024}")));
    }
    assert_eq!(store.open_actions().await.unwrap().len(), 0);
    for (name, query, values, index) in [
        (
            "page",
            "(text, bigint) AS SELECT * FROM actions WHERE origin = 'action' AND id < $1 ORDER BY id DESC LIMIT $2",
            "('~', 100)",
            "actions_origin",
        ),
        (
            "everything",
            "(text, bigint) AS SELECT * FROM actions WHERE id < $1 ORDER BY id DESC LIMIT $2",
            "('~', 100)",
            "actions_pkey",
        ),
        (
            "open",
            " AS SELECT * FROM actions WHERE finished_at IS NULL ORDER BY id",
            "",
            "actions_open",
        ),
    ] {
        let prepare = sqlx::AssertSqlSafe(format!("PREPARE {name}{query}"));
        sqlx::raw_sql(prepare).execute(&mut connection).await.unwrap();
        for mode in ["force_custom_plan", "force_generic_plan"] {
            let set = sqlx::AssertSqlSafe(format!("SET plan_cache_mode = {mode}"));
            sqlx::raw_sql(set).execute(&mut connection).await.unwrap();
            let plan = explain(&mut connection, &format!("EXECUTE {name}{values}")).await;
            assert!(
                plan.iter()
                    .any(|step| step.contains(&format!("using {index} on actions"))),
                "{mode}: {plan:#?}"
            );
            assert!(
                !plan
                    .iter()
                    .any(|step| step.contains("Seq Scan") || step.contains("Sort")),
                "{mode}: {plan:#?}"
            );
        }
    }
}
