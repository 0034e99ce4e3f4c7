//! The workspace keeps the rules that `docs/ARCHITECTURE.md` states.

use xtask::{
    Violation, Workspace, dependency_violations, feature_violations, page_violations, source_violations,
    word_violations,
};

fn assert_none(violations: &[Violation]) {
    let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert!(list.is_empty(), "\n{}", list.join("\n"));
}

#[test]
fn crates_use_only_what_they_may_use() {
    let workspace = Workspace::find().unwrap();
    assert_none(&dependency_violations(&workspace).unwrap());
}

#[test]
fn the_test_command_and_the_tests_share_what_is_compiled() {
    let workspace = Workspace::find().unwrap();
    assert_none(&feature_violations(&workspace).unwrap());
}

#[test]
fn sources_are_readable_finished_and_on_the_map() {
    let workspace = Workspace::find().unwrap();
    assert_none(&source_violations(&workspace).unwrap());
}

#[test]
fn pages_point_to_files_that_exist() {
    let workspace = Workspace::find().unwrap();
    assert_none(&page_violations(&workspace).unwrap());
}

#[test]
fn nothing_that_people_read_reads_as_translated() {
    let workspace = Workspace::find().unwrap();
    assert_none(&word_violations(&workspace).unwrap());
}
