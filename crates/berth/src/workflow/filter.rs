//! `--filter` on the command line, as the node filter that Drydock knows.

use serde_json::{Value, json};

use crate::failure::Failure;

/// The node filter for what was typed: each is a criterion, and a node must meet all of them.
pub(crate) fn node_filter(typed: &[String]) -> Result<Value, Failure> {
    let items = typed
        .iter()
        .map(|text| criterion(text))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"filter_set_type": "intersection", "filter_set": items}))
}

fn criterion(text: &str) -> Result<Value, Failure> {
    let wrong = |problem: &str| Failure::Argument {
        message: format!("--filter `{text}`: {problem}"),
        hint: Some(
            "write one of name=A,B tag=A,B rack=A,B label=KEY=VALUE rack-label=KEY=VALUE; repeat it for more criteria"
                .to_owned(),
        ),
    };
    let (criterion, value) = text.split_once('=').ok_or_else(|| wrong("there is no `=` in it"))?;
    let names = || {
        let names: Vec<&str> = value.split(',').map(str::trim).collect();
        if names.iter().any(|name| name.is_empty()) {
            return Err(wrong("a name is empty"));
        }
        Ok(names)
    };
    let label = || -> Result<Value, Failure> {
        let (key, value) = value
            .split_once('=')
            .ok_or_else(|| wrong("a label is written KEY=VALUE"))?;
        Ok(json!({key: value}))
    };
    Ok(match criterion {
        "name" => json!({"filter_type": "union", "node_names": names()?}),
        "tag" => json!({"filter_type": "union", "node_tags": names()?}),
        "rack" => json!({"filter_type": "union", "rack_names": names()?}),
        "label" => json!({"filter_type": "union", "node_labels": label()?}),
        "rack-label" => json!({"filter_type": "union", "rack_labels": label()?}),
        other => return Err(wrong(&format!("`{other}` is not a criterion"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_criterion_has_its_place() {
        let typed = ["rack=r1, r2", "tag=a", "label=k=v=w", "rack-label=x=", "name=n1"].map(str::to_owned);
        assert_eq!(
            node_filter(&typed).unwrap(),
            json!({"filter_set_type": "intersection", "filter_set": [
                {"filter_type": "union", "rack_names": ["r1", "r2"]},
                {"filter_type": "union", "node_tags": ["a"]},
                {"filter_type": "union", "node_labels": {"k": "v=w"}},
                {"filter_type": "union", "rack_labels": {"x": ""}},
                {"filter_type": "union", "node_names": ["n1"]},
            ]})
        );
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for typed in ["", "rack", "rack=", "rack=a,,b", "label=k", "zone=1"] {
            assert!(node_filter(&[typed.to_owned()]).is_err(), "{typed}");
        }
    }
}
