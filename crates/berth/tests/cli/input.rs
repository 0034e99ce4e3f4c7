//! Reading of `-f`.

use crate::run::{Folder, with_stdin};

/// A document that is complete.
const HARMLESS: &str = "apiVersion: berth.dev/v1alpha1\nkind: Region\nmetadata:\n  name: one\n";

/// A document whose only trouble is in line 3.
const BROKEN: &str = "apiVersion: berth.dev/v1alpha1\nkind: Region\nkind: Region\nmetadata:\n  name: one\n";

#[test]
fn a_missing_path_is_exit_2_and_every_one_is_named() {
    let folder = Folder::new();
    let outcome = folder.line("lint -f nowhere -f also-nowhere.yaml");
    insta::assert_snapshot!(outcome);
}

#[test]
fn a_file_that_is_not_text_is_exit_2_and_a_finding_for_lint() {
    let folder = Folder::new();
    folder.write("bad.yaml", b"kind: \xff\xfe\n").write("good.yaml", BROKEN);
    insta::assert_snapshot!("not_text", folder.line("resolve -f ."));
    insta::assert_snapshot!("not_text_lint", folder.line("lint -f ."));
}

#[test]
fn a_folder_without_documents_says_so() {
    let folder = Folder::new();
    folder
        .write("empty/README.md", "# nothing here")
        .write("empty/.hidden.yaml", HARMLESS);
    insta::assert_snapshot!(folder.line("lint -f empty"));
}

#[test]
fn an_unreadable_folder_is_named() {
    let folder = Folder::new();
    folder.write("file.yaml", HARMLESS);
    let outcome = folder.line("lint -f file.yaml/below.yaml");
    assert_eq!(outcome.exit, 2);
    assert!(outcome.stderr.contains("`file.yaml/below.yaml`"), "{outcome}");
}

#[test]
fn folders_are_read_recursively_in_byte_order_and_hidden_names_skipped() {
    let folder = Folder::new();
    for name in [
        "b/z.yaml",
        "b/a.yml",
        "a.json.yaml",
        "B.yaml",
        "a/x.yaml",
        "c.txt",
        ".git/x.yaml",
        "a-b.yaml",
    ] {
        folder.write(&format!("site/{name}"), BROKEN);
    }
    folder.write("site/j.json", "{\"kind\": 1, \"kind\": 2}");
    let outcome = folder.line("lint -f site -o name");
    let mut files: Vec<&str> = outcome
        .stdout
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    files.dedup();
    assert_eq!(
        files,
        [
            "site/B.yaml",
            "site/a-b.yaml",
            "site/a.json.yaml",
            "site/a/x.yaml",
            "site/b/a.yml",
            "site/b/z.yaml",
            "site/j.json"
        ],
        "{outcome}"
    );
}

#[test]
fn a_file_that_is_reached_twice_is_read_once() {
    let folder = Folder::new();
    folder.write("site/a.yaml", BROKEN);
    let once = folder.line("lint -f site -o json");
    let twice = folder.line("lint -f site -f site/a.yaml -f ./site -o json");
    assert_eq!(once.stdout, twice.stdout);
}

#[cfg(unix)]
#[test]
fn symlink_loops_end_and_dangling_links_are_named() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    folder.write("site/a/x.yaml", BROKEN);
    symlink("..", folder.path().join("site/a/up")).unwrap();
    symlink("a", folder.path().join("site/again")).unwrap();
    let outcome = folder.line("lint -f site -o name");
    assert!(outcome.stdout.starts_with("site/a/x.yaml:3:"), "{outcome}");
    assert!(!outcome.stdout.contains("again"), "{outcome}");

    symlink("nothing.yaml", folder.path().join("site/gone.yaml")).unwrap();
    let outcome = folder.line("lint -f site");
    assert_eq!(outcome.exit, 2);
    assert!(outcome.stderr.contains("`site/gone.yaml`"), "{outcome}");
}

#[test]
fn standard_input_is_named_in_findings() {
    let outcome = with_stdin("lint -f - -f - -o name", BROKEN);
    assert_eq!(
        (outcome.exit, outcome.stdout.as_str()),
        (1, "<stdin>:3:1: duplicate-key\n"),
        "{outcome}"
    );
}

#[test]
fn an_explicit_file_needs_no_extension() {
    let folder = Folder::new();
    folder.write("pools", BROKEN);
    assert_eq!(
        folder.line("lint -f pools -o name").stdout,
        "pools:3:1: duplicate-key\n"
    );
}
