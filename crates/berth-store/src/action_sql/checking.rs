//! Whether what is kept of actions fits together.

use sqlx::Row as _;

use super::super::Connection;
use crate::{check::Checker, error::Error, rows::column};

/// Each gives the identifiers of actions with which something is wrong, and this is what.
const CHECKS: [(&str, &str); 3] = [
    (
        "SELECT a.id FROM actions AS a LEFT JOIN (SELECT action, \
                sum(CASE state WHEN 'queued' THEN 1 ELSE 0 END) AS queued, \
                sum(CASE state WHEN 'running' THEN 1 ELSE 0 END) AS running, \
                sum(CASE state WHEN 'success' THEN 1 ELSE 0 END) AS succeeded, \
                sum(CASE state WHEN 'failure' THEN 1 ELSE 0 END) AS failed, \
                sum(CASE state WHEN 'stopped' THEN 1 ELSE 0 END) AS stopped \
            FROM subtasks GROUP BY action) AS s ON s.action = a.id \
         WHERE a.queued <> coalesce(s.queued, 0) OR a.running <> coalesce(s.running, 0) \
            OR a.succeeded <> coalesce(s.succeeded, 0) OR a.failed <> coalesce(s.failed, 0) \
            OR a.stopped <> coalesce(s.stopped, 0) ORDER BY a.id",
        "its counts are not those of its nodes",
    ),
    (
        "SELECT id FROM actions WHERE (finished_at IS NULL) = (state IN ('success', 'failed')) \
            OR (finished_at IS NOT NULL AND queued + running > 0) ORDER BY id",
        "it has ended and has not",
    ),
    (
        "SELECT DISTINCT action AS id FROM subtasks WHERE (state IN ('success', 'failure')) <> (outcome IS NOT NULL) \
            OR (state = 'running') <> (lease_until IS NOT NULL) ORDER BY id",
        "a node has ended without an outcome, or is worked on by nobody",
    ),
];

pub(in super::super) async fn check(connection: &mut Connection, checker: &mut Checker) -> Result<(), Error> {
    for (query, message) in CHECKS {
        for row in sqlx::query(query)
            .fetch_all(&mut *connection)
            .await
            .map_err(Error::database("checking actions"))?
        {
            let id: &str = row.try_get(0).map_err(column)?;
            checker.problem(format!("action {id}"), message);
        }
    }
    Ok(())
}
