//! Requests, as they are read before anything is looked up.

use berth_site::NodeFilter;
use serde_json::{Map, Value};

use crate::{strategy::Strategy, submit::SubmitError};

/// The names under which relabelling can be asked for: that of the blueprint, and that of Shipyard.
pub const ACTION_NAMES: [&str; 2] = ["update_labels", "relabel_nodes"];

/// Who asks, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user: String,
    /// The caller's own mark, or the identifier of the request.
    pub context_marker: String,
    /// The time, in microseconds since 1970.
    pub now: i64,
    /// Random bytes, from which identifiers are made.
    pub random: [u8; 26],
}

/// An action `update_labels`.
#[derive(Clone, Debug, PartialEq)]
pub struct RelabelRequest {
    /// The name that was given.
    pub name: String,
    /// The parameters that were given; shown again with the action.
    pub parameters: Value,
    /// The nodes, each once, in the order in which they were named.
    pub target_nodes: Vec<String>,
    /// How labels follow; the server's own way when it is not said.
    pub strategy: Option<Strategy>,
    /// Whether more than a tenth of all owned labels may go.
    pub allow_mass_removal: bool,
    /// Whether to go on without Shipyard's own `DeploymentConfiguration`. Shipyard skips that one check by it; everything else
    /// holds as before.
    pub continue_on_fail: bool,
    /// What was said of intermediate commits; only shown, since it concerns site actions.
    pub allow_intermediate_commits: Option<bool>,
}

impl RelabelRequest {
    /// Reads an action by its name and parameters.
    ///
    /// # Errors
    /// [`SubmitError::UnsupportedAction`], [`SubmitError::InvalidTargets`], [`SubmitError::InvalidParameter`].
    pub fn read(name: &str, parameters: Option<&Map<String, Value>>) -> Result<Self, SubmitError> {
        if !ACTION_NAMES.contains(&name) {
            return Err(SubmitError::UnsupportedAction(name.to_owned()));
        }
        let parameter = |names: [&str; 2]| names.iter().find_map(|name| parameters?.get(*name));
        let target_nodes = targets(parameter(["target_nodes", "target-nodes"])).ok_or(SubmitError::InvalidTargets)?;
        let strategy = match parameter(["strategy", "label_strategy"]) {
            None => None,
            Some(Value::String(text)) => {
                Some(
                    text.parse::<Strategy>()
                        .map_err(|error| SubmitError::InvalidParameter {
                            name: "strategy",
                            problem: error.to_string(),
                        })?,
                )
            }
            Some(_) => {
                return Err(SubmitError::InvalidParameter {
                    name: "strategy",
                    problem: "should be mirror, owned or promenade".to_owned(),
                });
            }
        };
        Ok(Self {
            name: name.to_owned(),
            parameters: parameters.map_or(Value::Null, |it| Value::Object(it.clone())),
            target_nodes,
            strategy,
            allow_mass_removal: flag(
                "allow_mass_removal",
                parameter(["allow_mass_removal", "allow-mass-removal"]),
            )?,
            continue_on_fail: flag("continue-on-fail", parameter(["continue-on-fail", "continue_on_fail"]))?,
            allow_intermediate_commits: None,
        })
    }
}

/// A switch. Shipyard's command line can send texts only.
fn flag(name: &'static str, value: Option<&Value>) -> Result<bool, SubmitError> {
    match value {
        None | Some(Value::Bool(false)) => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(_) => Err(SubmitError::InvalidParameter {
            name,
            problem: "should be true or false".to_owned(),
        }),
    }
}

/// The names of nodes: a list of texts, or one text with commas between them. Spaces around names do not count.
fn targets(value: Option<&Value>) -> Option<Vec<String>> {
    let given: Vec<&str> = match value? {
        Value::String(text) => text.split(',').collect(),
        Value::Array(items) => items.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut names: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for name in given.into_iter().map(str::trim) {
        if name.is_empty() {
            return None;
        }
        if seen.insert(name) {
            names.push(name.to_owned());
        }
    }
    (!names.is_empty()).then_some(names)
}

/// A task `relabel_nodes`.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRequest {
    /// Where the documents are, as the caller says it. The committed revision is what counts.
    pub design_ref: String,
    /// Which nodes; all of them without one.
    pub filter: Option<NodeFilter>,
    /// The filter as it was given; shown again with the task.
    pub filter_json: Value,
    /// How labels follow; the server's own way when it is not said.
    pub strategy: Option<Strategy>,
    /// Whether more than a tenth of all owned labels may go.
    pub allow_mass_removal: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(parameters: &Value) -> Result<Vec<String>, SubmitError> {
        RelabelRequest::read("update_labels", parameters.as_object()).map(|request| request.target_nodes)
    }

    #[test]
    fn target_nodes_are_a_list_or_a_text_with_commas() {
        for (given, names) in [
            (json!(["a", "b"]), vec!["a", "b"]),
            (json!("a,b"), vec!["a", "b"]),
            (json!(" a , b "), vec!["a", "b"]),
            (json!(["b", "a", "b"]), vec!["b", "a"]),
            (json!("a"), vec!["a"]),
        ] {
            assert_eq!(read(&json!({ "target_nodes": given })).unwrap(), names);
        }
    }

    #[test]
    fn other_target_nodes_are_refused_in_shipyards_words() {
        for given in [
            json!([]),
            json!(""),
            json!("a,,b"),
            json!([1]),
            json!({}),
            json!(null),
            json!(["a", ""]),
        ] {
            let error = read(&json!({ "target_nodes": given })).unwrap_err();
            assert_eq!(
                (error.status(), &*error.title()),
                (400, "Invalid target_nodes parameter"),
                "{given}"
            );
        }
        assert_eq!(RelabelRequest::read("update_labels", None).unwrap_err().status(), 400);
    }

    #[test]
    fn only_relabelling_is_supported() {
        let error = RelabelRequest::read("deploy_site", None).unwrap_err();
        assert_eq!(
            (&*error.title(), &*error.description()),
            ("Unable to start action", "Unsupported Action: deploy_site")
        );
        assert!(RelabelRequest::read("relabel_nodes", json!({"target_nodes": "a"}).as_object()).is_ok());
    }

    #[test]
    fn switches_may_come_as_texts() {
        let parameters = json!({"target_nodes": "a", "allow-mass-removal": "True", "strategy": "owned"});
        let request = RelabelRequest::read("update_labels", parameters.as_object()).unwrap();
        assert_eq!(
            (request.allow_mass_removal, request.strategy),
            (true, Some(Strategy::Owned))
        );
        assert!(!request.continue_on_fail);
        let parameters = json!({"target_nodes": "a", "continue-on-fail": "true"});
        let request = RelabelRequest::read("update_labels", parameters.as_object()).unwrap();
        assert!(request.continue_on_fail);
        let wrong = json!({"target_nodes": "a", "continue-on-fail": "perhaps"});
        let error = RelabelRequest::read("update_labels", wrong.as_object()).unwrap_err();
        assert_eq!(error.title(), "Invalid continue-on-fail parameter");
        let wrong = json!({"target_nodes": "a", "strategy": "best"});
        let error = RelabelRequest::read("update_labels", wrong.as_object()).unwrap_err();
        assert!(error.description().contains("mirror, owned or promenade"), "{error}");
    }
}
