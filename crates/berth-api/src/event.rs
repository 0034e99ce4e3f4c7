//! What happens, as server-sent events.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{
    action::{Lifecycle, Progress},
    node::NodeResult,
};

/// A stream of events. There are no values of it; it is there for the description.
#[derive(Clone, Copy, Debug)]
pub struct Events;

impl JsonSchema for Events {
    fn schema_name() -> Cow<'static, str> {
        "Events".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Server-sent events. The data of each is one of x-events by its name.",
            "x-events": {
                "action": generator.subschema_for::<ActionEvent>(),
                "node": generator.subschema_for::<NodeEvent>(),
                "end": generator.subschema_for::<EndEvent>(),
            },
        })
    }
}

/// How an action stands now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionEvent {
    /// The action.
    pub id: String,
    /// What it does.
    pub name: String,
    /// The same as a task.
    pub task_id: String,
    /// How it stands, in Airflow's words.
    pub dag_status: String,
    /// How it stands, in Shipyard's words.
    pub action_lifecycle: Lifecycle,
    /// How far it is.
    pub progress: Progress,
}

/// What came of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeEvent {
    /// The action.
    pub action: String,
    /// The same as a task.
    pub task: String,
    /// The node.
    pub node: NodeResult,
}

/// The action has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndEvent {
    /// The action.
    pub id: String,
    /// How it ended.
    pub action_lifecycle: Lifecycle,
}
