//! Actions in a database. Both back ends have this file as a module of theirs: the statements are the same, and what
//! differs is in the names that come from above.

/// All columns of an action, in the order in which they are read.
macro_rules! action_columns {
    () => {
        "id, task_id, origin, name, parameters, user_name, context_marker, revision, allow_intermediate, options, \
         exclusive, state, attempt, queued, running, succeeded, failed, stopped, created_at, started_at, updated_at, \
         finished_at, stopped_by"
    };
}

macro_rules! select_actions {
    ($rest:literal) => {
        concat!("SELECT ", action_columns!(), " FROM actions ", $rest)
    };
}

/// A change of actions that gives them as they are then.
macro_rules! update_actions {
    ($rest:literal) => {
        concat!("UPDATE actions SET ", $rest, " RETURNING ", action_columns!())
    };
}

mod checking;
mod labels;
mod rows;
mod work;
mod writes;

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde_json::Value;
use sqlx::Row as _;

use super::{Backend, Connection};
use crate::{
    action::{
        Action, ActionId, ActionPage, ActionValidation, AuditEntry, Begin, Claim, Command, Finished, Finishing,
        GivenLabels, LabelMemory, NewAction, NewNote, Note, Origin, Subtask, SubtaskPage,
    },
    action_store::ActionStore,
    error::Error,
    rows::{column, number},
};
pub(super) use checking::check;
pub(super) use labels::gather as gather_labels;
use rows::{action_row, note_row, subtask_row};

/// About how many things notes are asked for at a time. Long lists of values take a database more than their share of time.
const THINGS: usize = 100;

/// Greater than every identifier.
const NEWEST: &str = "~";

#[async_trait]
impl ActionStore for Backend {
    async fn create_action(&self, new: &NewAction) -> Result<Action, Error> {
        let doing = "creating an action";
        new.check()?;
        let mut transaction = self.write_actions(doing).await?;
        writes::refuse_beside(&mut transaction, &new.name, new.exclusive.as_deref(), None).await?;
        writes::insert(&mut transaction, new)
            .await
            .map_err(Error::database(doing))?;
        writes::audit(&mut transaction, &new.id, "invoke", &new.user, new.now).await?;
        let action = require(&mut transaction, &new.id).await?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(action)
    }

    async fn action(&self, id: &ActionId) -> Result<Action, Error> {
        let mut transaction = self.read("reading an action").await?;
        require(&mut transaction, id).await
    }

    async fn task(&self, task_id: &str) -> Result<Action, Error> {
        let mut transaction = self.read("reading a task").await?;
        let found = sqlx::query(select_actions!("WHERE task_id = $1"))
            .bind(task_id.replace('\0', ""))
            .fetch_optional(&mut *transaction)
            .await
            .map_err(Error::database("reading a task"))?;
        let row = found.ok_or_else(|| Error::TaskNotFound { id: task_id.to_owned() })?;
        action_row(&row)
    }

    async fn actions(&self, page: &ActionPage) -> Result<Vec<Action>, Error> {
        let doing = "listing actions";
        let mut transaction = self.read(doing).await?;
        let before = page.before.as_ref().map_or(NEWEST, ActionId::as_str);
        // The origin is in the text and not a value beside it: a plan for all values would look through the tasks for the few
        // actions between them.
        let query = sqlx::query(match page.origin {
            None => select_actions!("WHERE id < $1 ORDER BY id DESC LIMIT $2"),
            Some(Origin::Action) => {
                select_actions!("WHERE origin = 'action' AND id < $1 ORDER BY id DESC LIMIT $2")
            }
            Some(Origin::Task) => select_actions!("WHERE origin = 'task' AND id < $1 ORDER BY id DESC LIMIT $2"),
        });
        let found = query
            .bind(before)
            .bind(i64::from(page.limit))
            .fetch_all(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        found.iter().map(action_row).collect()
    }

    async fn open_actions(&self) -> Result<Vec<Action>, Error> {
        let doing = "listing open actions";
        let mut transaction = self.read(doing).await?;
        let found = sqlx::query(select_actions!("WHERE finished_at IS NULL ORDER BY id"))
            .fetch_all(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        found.iter().map(action_row).collect()
    }

    async fn subtasks(&self, id: &ActionId, page: SubtaskPage) -> Result<Vec<Subtask>, Error> {
        let doing = "listing the nodes of an action";
        let mut transaction = self.read(doing).await?;
        require(&mut transaction, id).await?;
        let found = sqlx::query(
            "SELECT action, ordinal, node, work, state, fence, started_at, finished_at, outcome FROM subtasks \
             WHERE action = $1 AND ordinal > $2 ORDER BY ordinal LIMIT $3",
        )
        .bind(id.as_str())
        .bind(page.after.map_or(-1, i64::from))
        .bind(i64::from(page.limit))
        .fetch_all(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
        found.iter().map(subtask_row).collect()
    }

    async fn control_action(&self, id: &ActionId, command: Command, user: &str, now: i64) -> Result<Action, Error> {
        let doing = "controlling an action";
        let mut transaction = self.write_actions(doing).await?;
        writes::control(&mut transaction, id, command, user, now).await?;
        let action = require(&mut transaction, id).await?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(action)
    }

    async fn begin_action(&self, id: &ActionId, begin: &Begin, now: i64) -> Result<Action, Error> {
        let doing = "beginning an action";
        let mut transaction = self.write_actions(doing).await?;
        writes::begin(&mut transaction, id, begin, now).await?;
        let action = require(&mut transaction, id).await?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(action)
    }

    async fn claim(&self, owner: &str, limit: u32, now: i64, until: i64) -> Result<Vec<Claim>, Error> {
        let doing = "claiming nodes";
        let mut transaction = self.write_actions(doing).await?;
        let claims = work::claim(&mut transaction, owner, limit, now, until).await?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(claims)
    }

    async fn renew(&self, owner: &str, until: i64) -> Result<u64, Error> {
        let doing = "renewing leases";
        let mut transaction = self.write_actions(doing).await?;
        let renewed = sqlx::query("UPDATE subtasks SET lease_until = $2 WHERE owner = $1 AND state = 'running'")
            .bind(owner)
            .bind(until)
            .execute(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(renewed.rows_affected())
    }

    async fn give_back(&self, owner: &str, now: i64) -> Result<u64, Error> {
        self.renew(owner, now).await
    }

    async fn finish(&self, results: &[Finished], now: i64) -> Result<Finishing, Error> {
        let doing = "filing results";
        let mut transaction = self.write_actions(doing).await?;
        let finishing = work::finish(&mut transaction, results, now).await?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(finishing)
    }

    async fn given_labels(&self, node: Option<&str>) -> Result<BTreeMap<String, GivenLabels>, Error> {
        let mut transaction = self.read("reading the labels that actions gave").await?;
        labels::given(&mut transaction, node).await
    }

    async fn remember_labels(&self, node: &str, done: &LabelMemory) -> Result<(), Error> {
        let doing = "remembering labels";
        crate::names::check("the name of a node", node)?;
        let mut transaction = self.write_actions(doing).await?;
        labels::remember(&mut transaction, &[(node, done)]).await?;
        transaction.commit().await.map_err(Error::database(doing))
    }

    async fn add_notes(&self, notes: &[NewNote], now: i64) -> Result<(), Error> {
        let doing = "writing notes";
        for note in notes {
            note.check()?;
        }
        let mut transaction = self.write_actions(doing).await?;
        for note in notes {
            writes::note(&mut transaction, note, now).await?;
        }
        transaction.commit().await.map_err(Error::database(doing))
    }

    async fn notes(&self, about: &str) -> Result<Vec<Note>, Error> {
        let doing = "reading notes";
        let mut transaction = self.read(doing).await?;
        let found = sqlx::query(
            "SELECT id, about, subject, kind, note, verbosity, link, created_at FROM notes WHERE about = $1 ORDER BY id",
        )
        .bind(about.replace('\0', ""))
        .fetch_all(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
        found.iter().map(note_row).collect()
    }

    async fn notes_about(&self, things: &[String], verbosity: u8) -> Result<Vec<Note>, Error> {
        let doing = "reading notes";
        let mut transaction = self.read(doing).await?;
        let mut notes = Vec::new();
        for things in things.chunks(THINGS) {
            let places: Vec<String> = (2..=THINGS.saturating_add(1))
                .map(|place| format!("${place}"))
                .collect();
            let text = format!(
                "SELECT id, about, subject, kind, note, verbosity, link, created_at FROM notes WHERE verbosity <= $1 AND \
                 about IN ({})",
                places.join(", ")
            );
            let mut query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(i64::from(verbosity));
            for place in 0..THINGS {
                // The statement is the same for fewer things: nothing is about what is not there.
                query = query.bind(things.get(place).map(|thing| thing.replace('\0', "")));
            }
            let rows = query
                .fetch_all(&mut *transaction)
                .await
                .map_err(Error::database(doing))?;
            for row in &rows {
                notes.push(note_row(row)?);
            }
        }
        notes.sort_by_key(|note| note.id);
        Ok(notes)
    }

    async fn note(&self, id: u64) -> Result<Option<Note>, Error> {
        let doing = "reading a note";
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        let mut transaction = self.read(doing).await?;
        let found =
            sqlx::query("SELECT id, about, subject, kind, note, verbosity, link, created_at FROM notes WHERE id = $1")
                .bind(id)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(Error::database(doing))?;
        found.as_ref().map(note_row).transpose()
    }

    async fn audit(&self, id: &ActionId) -> Result<Vec<AuditEntry>, Error> {
        let doing = "reading the audit of an action";
        let mut transaction = self.read(doing).await?;
        let found =
            sqlx::query("SELECT id, command, user_name, created_at FROM action_audit WHERE action = $1 ORDER BY id")
                .bind(id.as_str())
                .fetch_all(&mut *transaction)
                .await
                .map_err(Error::database(doing))?;
        let entry = |row: &super::DatabaseRow| {
            Ok(AuditEntry {
                id: number(row.try_get(0).map_err(column)?)?,
                action: id.clone(),
                command: row.try_get(1).map_err(column)?,
                user: row.try_get(2).map_err(column)?,
                created_at: row.try_get(3).map_err(column)?,
            })
        };
        found.iter().map(entry).collect()
    }

    async fn add_action_validation(&self, id: &ActionId, name: &str, details: &Value) -> Result<u64, Error> {
        let doing = "filing a validation";
        crate::names::check("the name of a validation", name)?;
        crate::body::check_depth("the details of a validation", details)?;
        let mut transaction = self.write_actions(doing).await?;
        require(&mut transaction, id).await?;
        let filed: i64 = sqlx::query_scalar(
            "INSERT INTO action_validations (id, action, name, details) \
             VALUES ((SELECT coalesce(max(id), 0) + 1 FROM action_validations), $1, $2, $3) RETURNING id",
        )
        .bind(id.as_str())
        .bind(name)
        .bind(details.to_string())
        .fetch_one(&mut *transaction)
        .await
        .map_err(Error::database(doing))?;
        transaction.commit().await.map_err(Error::database(doing))?;
        number(filed)
    }

    async fn action_validations(&self, id: &ActionId) -> Result<Vec<ActionValidation>, Error> {
        let doing = "reading validations";
        let mut transaction = self.read(doing).await?;
        let found = sqlx::query("SELECT id, name, details FROM action_validations WHERE action = $1 ORDER BY id")
            .bind(id.as_str())
            .fetch_all(&mut *transaction)
            .await
            .map_err(Error::database(doing))?;
        let validation = |row: &super::DatabaseRow| {
            Ok(ActionValidation {
                id: number(row.try_get(0).map_err(column)?)?,
                action: id.clone(),
                name: row.try_get(1).map_err(column)?,
                details: crate::rows::json(row.try_get(2).map_err(column)?)?,
            })
        };
        found.iter().map(validation).collect()
    }

    async fn purge_actions(&self, ended_before: i64) -> Result<u64, Error> {
        let doing = "removing old actions";
        let mut transaction = self.write_actions(doing).await?;
        let removed = writes::purge(&mut transaction, ended_before)
            .await
            .map_err(Error::database(doing))?;
        transaction.commit().await.map_err(Error::database(doing))?;
        Ok(removed)
    }
}

/// An action that must be there.
async fn require(connection: &mut Connection, id: &ActionId) -> Result<Action, Error> {
    let row = sqlx::query(select_actions!("WHERE id = $1"))
        .bind(id.as_str())
        .fetch_optional(connection)
        .await
        .map_err(Error::database("reading an action"))?
        .ok_or_else(|| Error::no_action(id))?;
    action_row(&row)
}
