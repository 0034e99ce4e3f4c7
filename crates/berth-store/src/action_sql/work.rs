//! The work on nodes: handing them out, and filing what came of them. Many at a time, in few statements.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use sqlx::{AssertSqlSafe, QueryBuilder, Row as _};

use super::{
    super::{BATCH, Connection, DatabaseRow, Db, OPEN_SUBTASKS},
    labels::remember,
    rows::{action_row, id as read_id, small},
};
use crate::{
    action::{ActionId, Claim, Finished, Finishing},
    error::Error,
    rows::{column, json, number},
};

/// Nodes of one action that stand one after the other and are claimed together: one statement for all of them.
struct Run {
    first: i64,
    last: i64,
    /// How many of them nobody had.
    queued: i64,
}

pub(super) async fn claim(
    connection: &mut Connection,
    owner: &str,
    limit: u32,
    now: i64,
    until: i64,
) -> Result<Vec<Claim>, Error> {
    let doing = "claiming nodes";
    let mut claims = Vec::new();
    // Not joined with their nodes: among many actions the few open ones are found by their index.
    let open = sqlx::query(
        "SELECT id, state, options FROM actions WHERE finished_at IS NULL AND state IN ('running', 'shutdown') ORDER BY id",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(Error::database(doing))?;
    for action in &open {
        let room = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .saturating_sub(claims.len());
        if room == 0 {
            break;
        }
        let (id, state): (&str, &str) = (action.try_get(0).map_err(column)?, action.try_get(1).map_err(column)?);
        // A node that was begun in an action that stops comes to its end, whoever began it.
        let found = sqlx::query(AssertSqlSafe(format!(
            "SELECT ordinal, node, work, fence, state FROM {OPEN_SUBTASKS} \
             WHERE action = $1 AND state IN ('queued', 'running') \
                AND ((state = 'queued' AND $2 = 'running') OR (state = 'running' AND lease_until <= $3)) \
             ORDER BY ordinal LIMIT $4"
        )))
        .bind(id)
        .bind(state)
        .bind(now)
        .bind(i64::try_from(room).unwrap_or(i64::MAX))
        .fetch_all(&mut *connection)
        .await
        .map_err(Error::database(doing))?;
        let options: Value = json(action.try_get(2).map_err(column)?)?;
        let action = read_id(id)?;
        let mut runs: Vec<Run> = Vec::new();
        for row in &found {
            let (ordinal, fence): (i64, i64) = (row.try_get(0).map_err(column)?, row.try_get(3).map_err(column)?);
            let state: &str = row.try_get(4).map_err(column)?;
            let queued = i64::from(state == "queued");
            match runs.last_mut() {
                Some(run) if run.last.checked_add(1) == Some(ordinal) => {
                    run.last = ordinal;
                    run.queued += queued;
                }
                _ => runs.push(Run {
                    first: ordinal,
                    last: ordinal,
                    queued,
                }),
            }
            claims.push(Claim {
                action: action.clone(),
                ordinal: small(ordinal)?,
                node: row.try_get(1).map_err(column)?,
                work: json(row.try_get(2).map_err(column)?)?,
                fence: number(fence.saturating_add(1))?,
                options: options.clone(),
            });
        }
        for run in &runs {
            sqlx::query(
                "UPDATE subtasks SET state = 'running', fence = fence + 1, owner = $4, lease_until = $5, started_at = $6 \
                 WHERE action = $1 AND ordinal BETWEEN $2 AND $3",
            )
            .bind(id)
            .bind(run.first)
            .bind(run.last)
            .bind(owner)
            .bind(until)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
        }
        let queued: i64 = runs.iter().map(|run| run.queued).sum();
        if queued > 0 {
            sqlx::query(
                "UPDATE actions SET queued = queued - $2, running = running + $2, updated_at = $3 WHERE id = $1",
            )
            .bind(id)
            .bind(queued)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
        }
    }
    Ok(claims)
}

pub(super) async fn finish(connection: &mut Connection, results: &[Finished], now: i64) -> Result<Finishing, Error> {
    let doing = "filing results";
    let mut by_action: BTreeMap<&ActionId, Vec<(usize, &Finished)>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for (place, result) in results.iter().enumerate() {
        // Of two results of one claim the first one counts.
        if seen.insert((&result.action, result.ordinal, result.fence)) {
            by_action.entry(&result.action).or_default().push((place, result));
        }
    }
    let mut finishing = Finishing {
        taken: vec![false; results.len()],
        actions: Vec::new(),
    };
    let mut nodes: BTreeMap<usize, String> = BTreeMap::new();
    for (id, results) in by_action {
        let (mut succeeded, mut failed) = (0_i64, 0_i64);
        for batch in results.chunks(BATCH) {
            let mut kept = file(connection, id, batch, now).await.map_err(Error::database(doing))?;
            for (place, result) in batch {
                let Some(node) = kept.remove(&(i64::from(result.ordinal), fence(result))) else {
                    continue;
                };
                nodes.insert(*place, node);
                if let Some(taken) = finishing.taken.get_mut(*place) {
                    *taken = true;
                }
                *(if result.success { &mut succeeded } else { &mut failed }) += 1;
            }
        }
        if succeeded + failed == 0 {
            continue;
        }
        // With its last node an action ends. A paused one too, when the nodes that were begun were its last ones.
        let row = sqlx::query(update_actions!(
            "running = running - $2 - $3, succeeded = succeeded + $2, failed = failed + $3, updated_at = $4, \
             finished_at = CASE WHEN queued = 0 AND running = $2 + $3 THEN coalesce(finished_at, $4) ELSE finished_at END, \
             state = CASE WHEN queued > 0 OR running > $2 + $3 OR finished_at IS NOT NULL THEN state \
                WHEN failed + $3 + stopped = 0 THEN 'success' ELSE 'failed' END \
             WHERE id = $1"
        ))
        .bind(id.as_str())
        .bind(succeeded)
        .bind(failed)
        .bind(now)
        .fetch_one(&mut *connection)
        .await
        .map_err(Error::database(doing))?;
        finishing.actions.push(action_row(&row)?);
    }
    let done = nodes.iter().filter_map(|(place, node)| {
        let labels = &results.get(*place)?.labels;
        (!labels.is_empty()).then_some((node.as_str(), labels))
    });
    remember(connection, &done.collect::<Vec<_>>()).await?;
    Ok(finishing)
}

fn fence(result: &Finished) -> i64 {
    i64::try_from(result.fence).unwrap_or(i64::MAX)
}

/// Files results of one action in one statement, and gives the place, fence and node of those that were taken.
async fn file(
    connection: &mut Connection,
    action: &ActionId,
    results: &[(usize, &Finished)],
    now: i64,
) -> Result<HashMap<(i64, i64), String>, sqlx::Error> {
    let mut query = QueryBuilder::<Db>::new("WITH result (ordinal, fence, state, outcome) AS (");
    query.push_values(results, |mut row, (_, result)| {
        row.push_bind(i64::from(result.ordinal))
            .push_bind(fence(result))
            .push_bind(if result.success { "success" } else { "failure" })
            .push_bind(result.outcome.to_string());
    });
    query.push(") UPDATE subtasks SET state = result.state, outcome = result.outcome, finished_at = ");
    query.push_bind(now).push(
        ", owner = NULL, lease_until = NULL FROM result WHERE subtasks.ordinal = result.ordinal \
         AND subtasks.fence = result.fence AND subtasks.state = 'running' AND subtasks.action = ",
    );
    query
        .push_bind(action.as_str())
        .push(" RETURNING subtasks.ordinal, subtasks.fence, subtasks.node");
    // The text depends on how many results there are, so it is not worth keeping.
    let rows = query.build().persistent(false).fetch_all(connection).await?;
    let taken = |row: &DatabaseRow| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?));
    rows.iter().map(taken).collect()
}
