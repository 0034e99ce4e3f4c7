use serde_json::json;

use super::*;
use crate::fixture::{builder, catalog, plain_ignition, rendered};

#[test]
fn errors_name_what_is_wrong() {
    let mut twice = builder();
    twice.pool("worker", rendered("worker", &plain_ignition()));
    assert_eq!(twice.build().unwrap_err(), CatalogError::PoolTwice("worker".to_owned()));

    let mut twice = builder();
    twice.node_without_config("n1", "");
    assert_eq!(twice.build().unwrap_err(), CatalogError::NodeTwice("n1".to_owned()));

    let mut lost = builder();
    lost.node(
        "n9",
        NodeConfig {
            pool: "nowhere".to_owned(),
            ..NodeConfig::default()
        },
    );
    assert_eq!(
        lost.build().unwrap_err().to_string(),
        "node n9 is in pool nowhere, which does not exist"
    );

    let mut bad = builder();
    bad.pool("bad", rendered("bad", &json!({"ignition": {"version": "9.9.9"}})));
    let error = bad.build().unwrap_err().to_string();
    assert!(
        error.starts_with("pool bad: MachineConfig rendered-bad-0123: $.ignition.version: "),
        "{error}"
    );
}

#[test]
fn answers_are_built_once_and_shared() {
    let catalog = catalog();
    for find in [|c| Catalog::find_pool(c, "worker"), |c| Catalog::find_node(c, "n1")] as [fn(&Catalog) -> Found<'_>; 2]
    {
        let Found::Config(question) = find(&catalog) else {
            panic!("no config");
        };
        assert!(question.ready(SpecVersion::V3_4).is_none());
        let first = question.answer(SpecVersion::V3_4).unwrap();
        let second = question.ready(SpecVersion::V3_4).unwrap().unwrap();
        let third = question.answer(SpecVersion::V3_4).unwrap();
        assert!(Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first, &third));
        assert!(question.ready(SpecVersion::V3_3).is_none());
    }
}

#[test]
fn no_secret_is_shown_by_debug() {
    let text = format!("{:?}", builder());
    assert!(text.contains("kubeconfig: true"), "{text}");
    assert!(!text.contains("kind: Config"), "{text}");
}
