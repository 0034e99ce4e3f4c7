//! The generator on a small program of its own, so that these tests do not change with the real one.

use clap::{Arg, ArgAction, Command, builder::PossibleValue};

use super::*;

fn sample() -> Command {
    Command::new("ferry")
        .version("1.2.3")
        .about("Carries things")
        .arg(
            Arg::new("color")
                .long("color")
                .global(true)
                .value_name("WHEN")
                .help("Colours, even on a pipe"),
        )
        .subcommand(
            Command::new("load")
                .about("Loads <THINGS> and `<keeps>` them")
                .after_help("Examples:\n  ferry load -f cargo.yaml")
                .arg(
                    Arg::new("file")
                        .short('f')
                        .long("file")
                        .value_name("PATH")
                        .action(ArgAction::Append)
                        .help("What to load"),
                )
                .arg(
                    Arg::new("order")
                        .long("order")
                        .value_name("ORDER")
                        .value_parser([
                            PossibleValue::new("heavy").help("heavy things first"),
                            PossibleValue::new("light"),
                        ])
                        .default_value("heavy"),
                )
                .arg(
                    Arg::new("dry-run")
                        .long("dry-run")
                        .action(ArgAction::SetTrue)
                        .help("Only say what would happen"),
                )
                .arg(Arg::new("name").value_name("NAME").required(true)),
        )
        .subcommand(
            Command::new("crew")
                .about("About the crew")
                .subcommand(Command::new("list").about("Lists the crew")),
        )
        .subcommand(Command::new("secret").hide(true))
}

fn sample_lints() -> Vec<LintPage> {
    vec![
        LintPage {
            code: "hole",
            severity: "error",
            summary: "finds a | hole",
            explanation: "A hole lets water in.\n\n  hull:\n    holes: 1  # wrong\n",
        },
        LintPage {
            code: "anchor",
            severity: "error",
            summary: "finds a | anchor",
            explanation: "",
        },
    ]
}

fn sample_files() -> Files {
    let mut files = Files::new();
    man::add(&sample(), &mut files).unwrap();
    cli_reference::add(&sample(), &mut files);
    lint_reference::add(&sample_lints(), &mut files);
    files
}

/// A folder for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_visible_command_gets_a_man_page() {
    let paths: Vec<String> = sample_files().keys().map(|path| path.display().to_string()).collect();
    assert_eq!(
        paths,
        [
            "docs/man/ferry-crew-list.1",
            "docs/man/ferry-crew.1",
            "docs/man/ferry-load.1",
            "docs/man/ferry.1",
            "docs/reference/cli.md",
            "docs/reference/lints.md",
        ]
    );
}

#[test]
fn man_pages_have_names_that_man_finds() {
    let files = sample_files();
    let page = &files[Path::new("docs/man/ferry-load.1")];
    assert!(page.contains(".TH ferry-load 1"), "{page}");
    assert!(page.contains("ferry load"), "{page}");
}

#[test]
fn the_cli_reference_tells_all_that_help_tells() {
    insta::assert_snapshot!(sample_files()[Path::new("docs/reference/cli.md")]);
}

#[test]
fn the_lint_reference_is_sorted_by_code() {
    insta::assert_snapshot!(sample_files()[Path::new("docs/reference/lints.md")]);
}

#[test]
fn differences_are_named_and_gone_after_writing() {
    let folder = Folder::new("differences");
    let files = Files::from([
        ("docs/man/a.1".into(), "a".to_owned()),
        ("docs/man/b.1".into(), "b".to_owned()),
        ("docs/reference/cli.md".into(), "c".to_owned()),
    ]);
    for (path, text) in [
        ("docs/man/a.1", "a"),
        ("docs/man/b.1", "old"),
        ("docs/man/gone.1", "x"),
        ("docs/reference/by-hand.md", "a page that people write"),
    ] {
        let target = folder.0.join(path);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, text).unwrap();
    }
    let differences: Vec<Difference> = compare(&folder.0, &files).unwrap().into_iter().collect();
    assert_eq!(
        differences,
        [
            Difference::Missing("docs/reference/cli.md".into()),
            Difference::Stale("docs/man/b.1".into()),
            Difference::LeftOver("docs/man/gone.1".into()),
        ]
    );
    apply(&folder.0, &files, compare(&folder.0, &files).unwrap()).unwrap();
    assert!(compare(&folder.0, &files).unwrap().is_empty());
    assert!(folder.0.join("docs/reference/by-hand.md").exists());
}
