//! `--filter` on the command line, as the node filter that Drydock knows.

use std::collections::BTreeMap;

use berth_api::{FilterSet, FilterType, NodeFilter};

use crate::failure::Failure;

/// The node filter for what was typed: each is a criterion, and a node must meet all of them.
pub(crate) fn node_filter(typed: &[String]) -> Result<NodeFilter, Failure> {
    let sets = typed.iter().map(|text| criterion(text));
    Ok(NodeFilter {
        filter_set_type: FilterType::Intersection,
        filter_set: sets.collect::<Result<_, _>>()?,
    })
}

fn criterion(text: &str) -> Result<FilterSet, Failure> {
    let wrong = |problem: &str| Failure::Argument {
        message: format!("--filter `{text}`: {problem}"),
        hint: Some(
            "write one of name=A,B tag=A,B rack=A,B label=KEY=VALUE rack-label=KEY=VALUE; repeat it for more criteria"
                .to_owned(),
        ),
    };
    let (criterion, value) = text.split_once('=').ok_or_else(|| wrong("there is no `=` in it"))?;
    let names = || {
        let names: Vec<String> = value.split(',').map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) {
            return Err(wrong("a name is empty"));
        }
        Ok(names)
    };
    let label = || -> Result<_, Failure> {
        let (key, value) = value
            .split_once('=')
            .ok_or_else(|| wrong("a label is written KEY=VALUE"))?;
        Ok(BTreeMap::from([(key.to_owned(), value.to_owned())]))
    };
    let mut set = FilterSet::any();
    match criterion {
        "name" => set.node_names = Some(names()?),
        "tag" => set.node_tags = Some(names()?),
        "rack" => set.rack_names = Some(names()?),
        "label" => set.node_labels = Some(label()?),
        "rack-label" => set.rack_labels = Some(label()?),
        other => return Err(wrong(&format!("`{other}` is not a criterion"))),
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_criterion_has_its_place() {
        let typed = ["rack=r1, r2", "tag=a", "label=k=v=w", "rack-label=x=", "name=n1"].map(str::to_owned);
        assert_eq!(
            serde_json::to_value(node_filter(&typed).unwrap()).unwrap(),
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
