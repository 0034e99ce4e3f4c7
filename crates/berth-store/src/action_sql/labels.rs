//! Which labels of each node actions gave it.

use std::collections::BTreeMap;

use sqlx::{QueryBuilder, Row as _};

use super::super::{BATCH, Connection, Db};
use crate::{
    action::{GivenLabels, LabelMemory},
    error::Error,
    rows::{column, json},
};

/// The labels of one node or of all.
pub(super) async fn given(
    connection: &mut Connection,
    node: Option<&str>,
) -> Result<BTreeMap<String, GivenLabels>, Error> {
    let query = match node {
        Some(node) => sqlx::query("SELECT node, labels FROM node_labels WHERE node = $1").bind(node.replace('\0', "")),
        None => sqlx::query("SELECT node, labels FROM node_labels"),
    };
    let rows = query.fetch_all(connection).await;
    let rows = rows.map_err(Error::database("reading the labels that actions gave"))?;
    rows.iter()
        .map(|row| {
            let labels = json(row.try_get(1).map_err(column)?)?;
            let labels = serde_json::from_value(labels);
            let labels = labels.map_err(|error| Error::damaged(format!("the labels of a node: {error}")))?;
            Ok((row.try_get(0).map_err(column)?, labels))
        })
        .filter(|row: &Result<(String, GivenLabels), Error>| {
            row.as_ref().map_or(true, |(_, labels)| !labels.is_empty())
        })
        .collect()
}

/// Remembers what was done to nodes, in this order.
pub(super) async fn remember(connection: &mut Connection, done: &[(&str, &LabelMemory)]) -> Result<(), Error> {
    let doing = "remembering labels";
    for done in done.chunks(BATCH) {
        let mut query = QueryBuilder::<Db>::new("SELECT node, labels FROM node_labels WHERE node IN (");
        let mut nodes = query.separated(", ");
        for (node, _) in done {
            nodes.push_bind((*node).to_owned());
        }
        query.push(")");
        let rows = query.build().persistent(false).fetch_all(&mut *connection).await;
        let mut labels: BTreeMap<String, GivenLabels> = BTreeMap::new();
        for row in rows.map_err(Error::database(doing))? {
            // One that cannot be read says nothing, so that no label goes on its word.
            let known = json(row.try_get(1).map_err(column)?)?;
            let known = serde_json::from_value(known).unwrap_or_default();
            labels.insert(row.try_get(0).map_err(column)?, known);
        }
        for (node, memory) in done {
            memory.add_to(labels.entry((*node).to_owned()).or_default());
        }
        write(connection, &labels).await.map_err(Error::database(doing))?;
    }
    Ok(())
}

async fn write(connection: &mut Connection, labels: &BTreeMap<String, GivenLabels>) -> Result<(), sqlx::Error> {
    let labels: Vec<(&String, &GivenLabels)> = labels.iter().collect();
    for labels in labels.chunks(BATCH) {
        let mut query = QueryBuilder::<Db>::new("INSERT INTO node_labels (node, labels) ");
        query.push_values(labels, |mut row, (node, labels)| {
            row.push_bind((*node).clone())
                .push_bind(serde_json::to_string(labels).unwrap_or_default());
        });
        query.push(" ON CONFLICT (node) DO UPDATE SET labels = excluded.labels");
        query.build().persistent(false).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Fills the table from the outcomes of actions that were carried out before there was one.
pub(in super::super) async fn gather(connection: &mut Connection) -> Result<(), sqlx::Error> {
    let mut labels: BTreeMap<String, GivenLabels> = BTreeMap::new();
    let actions = sqlx::query("SELECT id FROM actions ORDER BY id").fetch_all(&mut *connection);
    for action in actions.await? {
        let id: &str = action.try_get(0)?;
        let ended = sqlx::query(
            "SELECT node, outcome FROM subtasks WHERE action = $1 AND outcome IS NOT NULL ORDER BY ordinal",
        );
        for row in ended.bind(id).fetch_all(&mut *connection).await? {
            let (node, outcome): (String, &str) = (row.try_get(0)?, row.try_get(1)?);
            let outcome = serde_json::from_str(outcome).unwrap_or_default();
            LabelMemory::of_outcome(&outcome).add_to(labels.entry(node).or_default());
        }
    }
    write(connection, &labels).await
}
