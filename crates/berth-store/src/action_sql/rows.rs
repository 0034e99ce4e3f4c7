//! Rows of the tables of actions.

use sqlx::Row as _;

use super::super::DatabaseRow;
use crate::{
    action::{Action, ActionId, ActionState, Counts, NewNote, Note, Origin, Subtask, SubtaskState},
    error::Error,
    rows::{column, json, number},
};

pub(super) fn id(text: &str) -> Result<ActionId, Error> {
    text.parse().map_err(|error| Error::damaged(format!("{error}")))
}

pub(super) fn small(column: i64) -> Result<u32, Error> {
    u32::try_from(column).map_err(|_| Error::damaged(format!("{column} is not a count")))
}

pub(super) fn action_row(row: &DatabaseRow) -> Result<Action, Error> {
    let count = |index: usize| number(row.try_get(index).map_err(column)?);
    let revision: Option<i64> = row.try_get(7).map_err(column)?;
    let allow: Option<i64> = row.try_get(8).map_err(column)?;
    Ok(Action {
        id: id(row.try_get(0).map_err(column)?)?,
        task_id: row.try_get(1).map_err(column)?,
        origin: Origin::from_column(row.try_get(2).map_err(column)?)?,
        name: row.try_get(3).map_err(column)?,
        parameters: json(row.try_get(4).map_err(column)?)?,
        user: row.try_get(5).map_err(column)?,
        context_marker: row.try_get(6).map_err(column)?,
        revision: revision.map(number).transpose()?,
        allow_intermediate_commits: allow.map(|allow| allow != 0),
        options: json(row.try_get(9).map_err(column)?)?,
        exclusive: row.try_get(10).map_err(column)?,
        state: ActionState::from_column(row.try_get(11).map_err(column)?)?,
        attempt: small(row.try_get(12).map_err(column)?)?,
        counts: Counts {
            queued: count(13)?,
            running: count(14)?,
            succeeded: count(15)?,
            failed: count(16)?,
            stopped: count(17)?,
        },
        created_at: row.try_get(18).map_err(column)?,
        started_at: row.try_get(19).map_err(column)?,
        updated_at: row.try_get(20).map_err(column)?,
        finished_at: row.try_get(21).map_err(column)?,
        stopped_by: row.try_get(22).map_err(column)?,
    })
}

pub(super) fn subtask_row(row: &DatabaseRow) -> Result<Subtask, Error> {
    let outcome: Option<&str> = row.try_get(8).map_err(column)?;
    Ok(Subtask {
        action: id(row.try_get(0).map_err(column)?)?,
        ordinal: small(row.try_get(1).map_err(column)?)?,
        node: row.try_get(2).map_err(column)?,
        work: json(row.try_get(3).map_err(column)?)?,
        state: SubtaskState::from_column(row.try_get(4).map_err(column)?)?,
        fence: number(row.try_get(5).map_err(column)?)?,
        started_at: row.try_get(6).map_err(column)?,
        finished_at: row.try_get(7).map_err(column)?,
        outcome: outcome.map(json).transpose()?,
    })
}

pub(super) fn note_row(row: &DatabaseRow) -> Result<Note, Error> {
    let verbosity: i64 = row.try_get(5).map_err(column)?;
    Ok(Note {
        id: number(row.try_get(0).map_err(column)?)?,
        note: NewNote {
            about: row.try_get(1).map_err(column)?,
            subject: row.try_get(2).map_err(column)?,
            kind: row.try_get(3).map_err(column)?,
            text: row.try_get(4).map_err(column)?,
            verbosity: u8::try_from(verbosity)
                .map_err(|_| Error::damaged(format!("{verbosity} is not a verbosity")))?,
            link: row.try_get(6).map_err(column)?,
        },
        created_at: row.try_get(7).map_err(column)?,
    })
}
