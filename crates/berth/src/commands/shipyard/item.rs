//! What Shipyard's command line calls an item: `action/ID`, `step/ID/STEP`.

use crate::{args::ShipyardItem, failure::Failure};

/// Something that can be described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Action(String),
    Step {
        action: String,
        step: String,
        attempt: Option<String>,
    },
    Validation {
        action: String,
        validation: String,
    },
    Workflow(String),
    Note(String),
}

impl Item {
    /// Reads what was typed.
    pub(super) fn read(typed: &ShipyardItem) -> Result<Self, Failure> {
        let mut parts: Vec<&str> = typed.words.iter().flat_map(|word| word.split('/')).collect();
        if let (Some(action), ["step" | "validation", _]) = (&typed.action, parts.as_slice()) {
            parts.insert(1, action.strip_prefix("action/").unwrap_or(action));
        }
        let text = str::to_owned;
        match parts.as_slice() {
            ["action", id] => Ok(Self::Action(checked(id)?)),
            ["step", id, step] => Ok(Self::Step {
                action: checked(id)?,
                step: text(step),
                attempt: None,
            }),
            ["step", id, step, attempt] => Ok(Self::Step {
                action: checked(id)?,
                step: text(step),
                attempt: Some(text(attempt)),
            }),
            ["validation", id, validation] => Ok(Self::Validation {
                action: checked(id)?,
                validation: text(validation),
            }),
            ["workflow", id] => Ok(Self::Workflow(text(id))),
            ["notedetails", id] => Ok(Self::Note(text(id))),
            _ => Err(Failure::Argument {
                message: format!("`{}` is not an item", typed.words.join(" ")),
                hint: Some(
                    "write action/ID, step/ID/STEP, validation/ID/VALIDATION, workflow/ID or notedetails/ID".to_owned(),
                ),
            }),
        }
    }

    /// The action that is named, where nothing else will do.
    pub(super) fn action(typed: &ShipyardItem) -> Result<String, Failure> {
        match Self::read(typed)? {
            Self::Action(id) => Ok(id),
            _ => Err(Failure::Argument {
                message: format!("`{}` is not an action", typed.words.join(" ")),
                hint: Some("write action/ID".to_owned()),
            }),
        }
    }

    /// Where the server has it, below the prefix.
    pub(super) fn path(&self) -> Vec<&str> {
        match self {
            Self::Action(id) => vec!["actions", id],
            Self::Step { action, step, .. } => vec!["actions", action, "steps", step],
            Self::Validation { action, validation } => vec!["actions", action, "validations", validation],
            Self::Workflow(id) => vec!["workflows", id],
            Self::Note(id) => vec!["notedetails", id],
        }
    }
}

/// Ids have one length; anything else is a slip that the server could not say as well.
fn checked(id: &str) -> Result<String, Failure> {
    if id.len() == 26 && id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Ok(id.to_owned());
    }
    Err(Failure::Argument {
        message: "Invalid ID. ID can only be 26 characters.".to_owned(),
        hint: Some(format!("`{id}` is not the id of an action")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01BTTMFVDKZFRJM80FGD7J1AKN";

    fn read(words: &[&str], action: Option<&str>) -> Result<Vec<String>, Failure> {
        let typed = ShipyardItem {
            words: words.iter().map(|&word| word.to_owned()).collect(),
            action: action.map(str::to_owned),
        };
        Item::read(&typed).map(|item| item.path().into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn items_are_taken_in_every_form() {
        let action = format!("action/{ID}");
        let step = format!("step/{ID}/relabel_nodes");
        assert_eq!(read(&[&action], None).unwrap(), ["actions", ID]);
        assert_eq!(read(&["action", ID], None).unwrap(), ["actions", ID]);
        let path = ["actions", ID, "steps", "relabel_nodes"];
        assert_eq!(read(&[&step], None).unwrap(), path);
        assert_eq!(read(&["step", "relabel_nodes"], Some(ID)).unwrap(), path);
        assert_eq!(read(&["step", "relabel_nodes"], Some(&action)).unwrap(), path);
        assert_eq!(read(&["notedetails/7"], None).unwrap(), ["notedetails", "7"]);
        assert_eq!(
            read(&[&format!("validation/{ID}/v1")], None).unwrap(),
            ["actions", ID, "validations", "v1"]
        );
    }

    #[test]
    fn what_is_no_item_is_refused() {
        for words in [
            &["action"][..],
            &["action/1"],
            &["step/relabel_nodes"],
            &["nothing/7"],
            &["", ""],
        ] {
            assert!(read(words, None).is_err(), "{words:?}");
        }
    }
}
