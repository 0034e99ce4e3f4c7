//! What writes to the tables of actions do, each within the transaction of its caller.

use sqlx::{QueryBuilder, Row as _};

use super::{
    super::{BATCH, Connection, Db},
    require,
    rows::id as read_id,
};
use crate::{
    action::{ActionId, ActionState, Begin, Command, NewAction, NewNote},
    error::{Conflict, Error},
    rows::column,
};

/// Refuses an action while another one of its group is open.
pub(super) async fn refuse_beside(
    connection: &mut Connection,
    name: &str,
    exclusive: Option<&str>,
    except: Option<&ActionId>,
) -> Result<(), Error> {
    let Some(group) = exclusive else { return Ok(()) };
    let found =
        sqlx::query("SELECT id, name, state FROM actions WHERE exclusive = $1 AND finished_at IS NULL AND id <> $2")
            .bind(group)
            .bind(except.map_or("", ActionId::as_str))
            .fetch_optional(connection)
            .await
            .map_err(Error::database("looking for conflicting actions"))?;
    let Some(row) = found else { return Ok(()) };
    Err(Conflict::ActionRunning {
        name: name.to_owned(),
        other: row.try_get(1).map_err(column)?,
        id: read_id(row.try_get(0).map_err(column)?)?,
        state: ActionState::from_column(row.try_get(2).map_err(column)?)?,
    }
    .into())
}

pub(super) async fn insert(connection: &mut Connection, new: &NewAction) -> Result<(), sqlx::Error> {
    let total = i64::try_from(new.nodes.len()).unwrap_or(i64::MAX);
    let done = new.nodes.is_empty();
    let state = if done {
        ActionState::Success
    } else {
        ActionState::Pending
    };
    sqlx::query(
        "INSERT INTO actions (id, task_id, origin, name, parameters, user_name, context_marker, revision, \
            allow_intermediate, options, exclusive, state, begun, attempt, queued, running, succeeded, failed, stopped, \
            created_at, started_at, updated_at, finished_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0, 1, $13, 0, 0, 0, 0, $14, $15, $14, $15)",
    )
    .bind(new.id.as_str())
    .bind(&new.task_id)
    .bind(new.origin.as_str())
    .bind(&new.name)
    .bind(new.parameters.to_string())
    .bind(&new.user)
    .bind(&new.context_marker)
    .bind(new.revision.and_then(|revision| i64::try_from(revision).ok()))
    .bind(new.allow_intermediate_commits.map(i64::from))
    .bind(new.options.to_string())
    .bind(new.exclusive.as_deref())
    .bind(state.as_str())
    .bind(total)
    .bind(new.now)
    .bind(done.then_some(new.now))
    .execute(&mut *connection)
    .await?;
    let mut ordinal = 0_i64;
    for batch in new.nodes.chunks(BATCH) {
        let mut query = QueryBuilder::<Db>::new("INSERT INTO subtasks (action, ordinal, node, work, state, fence) ");
        query.push_values(batch, |mut row, (node, work)| {
            row.push_bind(new.id.as_str())
                .push_bind(ordinal)
                .push_bind(node)
                .push_bind(work.to_string())
                .push("'queued'")
                .push("0");
            ordinal += 1;
        });
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

pub(super) async fn audit(
    connection: &mut Connection,
    id: &ActionId,
    command: &str,
    user: &str,
    now: i64,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO action_audit (id, action, command, user_name, created_at) \
         VALUES ((SELECT coalesce(max(id), 0) + 1 FROM action_audit), $1, $2, $3, $4)",
    )
    .bind(id.as_str())
    .bind(command)
    .bind(user.replace('\0', ""))
    .bind(now)
    .execute(connection)
    .await
    .map_err(Error::database("auditing"))?;
    Ok(())
}

pub(super) async fn note(connection: &mut Connection, note: &NewNote, now: i64) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO notes (id, about, subject, kind, note, verbosity, link, created_at) \
         VALUES ((SELECT coalesce(max(id), 0) + 1 FROM notes), $1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(&note.about)
    .bind(&note.subject)
    .bind(&note.kind)
    .bind(&note.text)
    .bind(i64::from(note.verbosity))
    .bind(note.link.as_deref())
    .bind(now)
    .execute(connection)
    .await
    .map_err(Error::database("writing a note"))?;
    Ok(())
}

pub(super) async fn begin(connection: &mut Connection, id: &ActionId, begin: &Begin, now: i64) -> Result<(), Error> {
    let state = match begin {
        Begin::Run => ActionState::Running,
        Begin::Hold { .. } => ActionState::Paused,
    };
    let changed = sqlx::query(
        "UPDATE actions SET state = $2, begun = 1, started_at = coalesce(started_at, $3), updated_at = $3 \
         WHERE id = $1 AND state = 'scheduled'",
    )
    .bind(id.as_str())
    .bind(state.as_str())
    .bind(now)
    .execute(&mut *connection)
    .await
    .map_err(Error::database("beginning an action"))?;
    if let (Begin::Hold { reason }, 1..) = (begin, changed.rows_affected()) {
        let action = require(connection, id).await?;
        note(connection, &NewNote::held(&action, reason), now).await?;
    }
    Ok(())
}

pub(super) async fn control(
    connection: &mut Connection,
    id: &ActionId,
    command: Command,
    user: &str,
    now: i64,
) -> Result<(), Error> {
    let doing = "controlling an action";
    let action = require(connection, id).await?;
    if !command.fits(action.state) {
        return Err(Conflict::ActionState {
            command,
            found: action.state,
        }
        .into());
    }
    match command {
        Command::Pause => set_state(connection, id, ActionState::Paused, now).await?,
        Command::Unpause => {
            // One that was paused before it was looked at is looked at first.
            sqlx::query(
                "UPDATE actions SET state = CASE begun WHEN 1 THEN 'running' ELSE 'scheduled' END, updated_at = $2 \
                 WHERE id = $1",
            )
            .bind(id.as_str())
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
        }
        Command::Stop => {
            sqlx::query(
                "UPDATE subtasks SET state = 'stopped', finished_at = $2 WHERE action = $1 AND state = 'queued'",
            )
            .bind(id.as_str())
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
            sqlx::query(
                "UPDATE actions SET stopped = stopped + queued, queued = 0, stopped_by = $3, updated_at = $2, \
                    state = CASE running WHEN 0 THEN 'failed' ELSE 'shutdown' END, \
                    finished_at = CASE running WHEN 0 THEN $2 ELSE NULL END WHERE id = $1",
            )
            .bind(id.as_str())
            .bind(now)
            .bind(user.replace('\0', ""))
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
        }
        Command::Retry => {
            refuse_beside(connection, &action.name, action.exclusive.as_deref(), Some(id)).await?;
            sqlx::query(
                "UPDATE subtasks SET state = 'queued', started_at = NULL, finished_at = NULL, outcome = NULL \
                 WHERE action = $1 AND state IN ('failure', 'stopped')",
            )
            .bind(id.as_str())
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
            sqlx::query(
                "UPDATE actions SET queued = failed + stopped, failed = 0, stopped = 0, attempt = attempt + 1, begun = 0, \
                    state = 'scheduled', finished_at = NULL, stopped_by = NULL, updated_at = $2 WHERE id = $1",
            )
            .bind(id.as_str())
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(Error::database(doing))?;
        }
    }
    audit(connection, id, command.as_str(), user, now).await
}

async fn set_state(connection: &mut Connection, id: &ActionId, state: ActionState, now: i64) -> Result<(), Error> {
    sqlx::query("UPDATE actions SET state = $2, updated_at = $3 WHERE id = $1")
        .bind(id.as_str())
        .bind(state.as_str())
        .bind(now)
        .execute(connection)
        .await
        .map_err(Error::database("controlling an action"))?;
    Ok(())
}

pub(super) async fn purge(connection: &mut Connection, ended_before: i64) -> Result<u64, sqlx::Error> {
    for statement in [
        "DELETE FROM notes WHERE about IN (SELECT 'action/' || id FROM actions WHERE finished_at < $1)",
        "DELETE FROM notes WHERE about IN \
            (SELECT 'step/' || id || '/relabel_nodes' FROM actions WHERE finished_at < $1)",
        "DELETE FROM action_validations WHERE action IN (SELECT id FROM actions WHERE finished_at < $1)",
        "DELETE FROM action_audit WHERE action IN (SELECT id FROM actions WHERE finished_at < $1)",
        "DELETE FROM subtasks WHERE action IN (SELECT id FROM actions WHERE finished_at < $1)",
    ] {
        sqlx::query(statement)
            .bind(ended_before)
            .execute(&mut *connection)
            .await?;
    }
    let removed = sqlx::query("DELETE FROM actions WHERE finished_at < $1")
        .bind(ended_before)
        .execute(connection)
        .await?;
    Ok(removed.rows_affected())
}
