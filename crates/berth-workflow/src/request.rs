//! Requests, as they are read before anything is looked up.

use std::collections::BTreeMap;

use berth_site::{NodeFilter, close_matches};
use serde_json::{Map, Value};

use crate::submit::SubmitError;
use berth_decide::Strategy;

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
    /// Whether only to say what would change.
    pub dry_run: bool,
    /// Parameters that Berth does not know, and that are nothing like one which it knows. They change nothing; the action says
    /// so.
    pub unknown: Vec<String>,
    /// Where the caller believes the documents to be.
    pub design_ref: Option<String>,
    /// What was said of intermediate commits; only shown, since it concerns site actions.
    pub allow_intermediate_commits: Option<bool>,
}

impl RelabelRequest {
    /// Reads an action by its name and parameters. How the words of a parameter's name are joined does not count: `dry_run`,
    /// `dry-run` and `dryRun` are one.
    ///
    /// # Errors
    /// [`SubmitError::UnsupportedAction`], [`SubmitError::InvalidTargets`], [`SubmitError::InvalidParameter`].
    pub fn read(name: &str, parameters: Option<&Map<String, Value>>) -> Result<Self, SubmitError> {
        if !ACTION_NAMES.contains(&name) {
            return Err(SubmitError::UnsupportedAction(name.to_owned()));
        }
        let mut given = parameters.into_iter().flatten();
        let nodes = given.find(|(name, _)| is_same_parameter(name, "target_nodes"));
        // Shipyard looks at this one first.
        let target_nodes = targets(nodes.map(|(_, value)| value)).ok_or(SubmitError::InvalidTargets)?;
        let (known, unknown) = sort_out(parameters)?;
        let parameter = |name: &str| known.get(name).copied();
        let flag = |name: &'static str| flag(name, parameter(name));
        let strategy = parameter("strategy").or_else(|| parameter("label_strategy"));
        Ok(Self {
            name: name.to_owned(),
            parameters: parameters.map_or(Value::Null, |it| Value::Object(it.clone())),
            target_nodes,
            strategy: strategy.map(read_strategy).transpose()?,
            allow_mass_removal: flag("allow_mass_removal")?,
            continue_on_fail: flag("continue-on-fail")?,
            dry_run: flag("dry_run")?,
            design_ref: parameter("design_ref").map(read_reference).transpose()?,
            allow_intermediate_commits: match parameter("allow-intermediate-commits") {
                None => None,
                Some(_) => Some(flag("allow-intermediate-commits")?),
            },
            unknown,
        })
    }
}

/// The parameters of a relabelling.
const PARAMETERS: [&str; 8] = [
    "target_nodes",
    "strategy",
    "label_strategy",
    "allow_mass_removal",
    "continue-on-fail",
    "dry_run",
    "allow-intermediate-commits",
    "design_ref",
];

/// A name without what joins its words.
fn joined(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether two names of parameters differ in no more than what joins their words.
pub fn is_same_parameter(one: &str, other: &str) -> bool {
    joined(one) == joined(other)
}

/// The known name that an unknown one was most likely meant to be.
pub fn misspelt_parameter<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    // Of the switches this is the one whose loss does harm.
    let longer = known.iter().copied().find(|name| {
        let name = joined(name);
        name == "dryrun" && joined(given).contains(&name)
    });
    longer.or_else(|| close_matches(given, known).into_iter().next())
}

type Sorted<'a> = (BTreeMap<&'static str, &'a Value>, Vec<String>);

/// Parameters by their proper names, and the names of others. Clients of Shipyard may send what they like, but a switch with a
/// slip in its name is not passed over: what it should have prevented would happen.
fn sort_out(parameters: Option<&Map<String, Value>>) -> Result<Sorted<'_>, SubmitError> {
    let mut known = BTreeMap::new();
    let mut unknown = Vec::new();
    for (given, value) in parameters.into_iter().flatten() {
        let refused = |problem: String| SubmitError::InvalidParameter {
            name: given.clone(),
            problem,
        };
        match PARAMETERS.into_iter().find(|name| is_same_parameter(given, name)) {
            Some(name) => {
                if known.insert(name, value).is_some() {
                    return Err(refused(format!("is {name}, which is given twice")));
                }
            }
            None => match misspelt_parameter(given, PARAMETERS) {
                Some(name) => return Err(refused(format!("is not known; is {name} meant?"))),
                None => unknown.push(given.clone()),
            },
        }
    }
    Ok((known, unknown))
}

fn read_reference(value: &Value) -> Result<String, SubmitError> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| SubmitError::InvalidParameter {
            name: "design_ref".to_owned(),
            problem: format!("should be an address, not {value}"),
        })
}

fn read_strategy(value: &Value) -> Result<Strategy, SubmitError> {
    let text = value.as_str();
    let found = text.and_then(|text| text.parse().ok());
    found.ok_or_else(|| {
        let given = text.map_or_else(|| value.to_string(), |text| format!("'{text}'"));
        SubmitError::InvalidParameter {
            name: "strategy".to_owned(),
            problem: format!("should be mirror, owned or promenade, not {given}"),
        }
    })
}

/// A switch. Shipyard's command line can send texts only.
fn flag(name: &'static str, value: Option<&Value>) -> Result<bool, SubmitError> {
    match value {
        None | Some(Value::Bool(false)) => Ok(false),
        Some(Value::Bool(true)) => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(other) => Err(SubmitError::InvalidParameter {
            name: name.to_owned(),
            problem: match other {
                Value::String(text) => format!("should be true or false, not '{text}'"),
                other => format!("should be true or false, not {other}"),
            },
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
        assert_eq!(error.title(), "Unable to start action");
        let description = error.description();
        assert!(
            description.starts_with("Unsupported Action: deploy_site. Berth relabels nodes"),
            "{description}"
        );
        let unknown = RelabelRequest::read("dance", None).unwrap_err();
        assert_eq!(unknown.description(), "Unsupported Action: dance");
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
        assert_eq!(
            error.description(),
            "The strategy parameter should be mirror, owned or promenade, not 'best'"
        );
    }

    #[test]
    fn a_switch_with_a_slip_is_refused_and_other_parameters_are_only_told() {
        for (key, value, message) in [
            (
                "dry_run",
                json!("maybe"),
                "The dry_run parameter should be true or false, not 'maybe'",
            ),
            (
                "dryRun",
                json!(1),
                "The dry_run parameter should be true or false, not 1",
            ),
            (
                "dry-run",
                json!(null),
                "The dry_run parameter should be true or false, not null",
            ),
            (
                "dry_rum",
                json!(true),
                "The dry_rum parameter is not known; is dry_run meant?",
            ),
            ("dry", json!(true), "The dry parameter is not known; is dry_run meant?"),
            (
                "is_dry_run",
                json!(true),
                "The is_dry_run parameter is not known; is dry_run meant?",
            ),
            (
                "dryrunn",
                json!(true),
                "The dryrunn parameter is not known; is dry_run meant?",
            ),
            (
                "target-node",
                json!("b"),
                "The target-node parameter is not known; is target_nodes meant?",
            ),
            (
                "Target-Nodes",
                json!("b"),
                "The target_nodes parameter is target_nodes, which is given twice",
            ),
            (
                "stratgy",
                json!("owned"),
                "The stratgy parameter is not known; is strategy meant?",
            ),
            (
                "strategy",
                json!(["owned"]),
                "The strategy parameter should be mirror, owned or promenade, not [\"owned\"]",
            ),
            (
                "allow-mass-removal",
                json!("yes"),
                "The allow_mass_removal parameter should be true or false, not 'yes'",
            ),
        ] {
            let parameters = json!({"target_nodes": "a", key: value});
            let error = RelabelRequest::read("update_labels", parameters.as_object()).unwrap_err();
            assert_eq!(
                (error.status(), error.description()),
                (400, message.to_owned()),
                "{key}"
            );
        }
        for key in ["dry_run", "dry-run", "dryRun", "DRY_RUN"] {
            let parameters = json!({"target_nodes": "a", key: "true"});
            let request = RelabelRequest::read("update_labels", parameters.as_object()).unwrap();
            assert!(request.dry_run, "{key}");
        }
        let parameters = json!({"target_nodes": "a", "site_design_id": 3, "region": "x"});
        let request = RelabelRequest::read("update_labels", parameters.as_object()).unwrap();
        assert_eq!(request.unknown, ["region", "site_design_id"]);
        assert!(!request.dry_run);
    }
}
