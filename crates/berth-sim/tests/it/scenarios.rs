//! Scenarios and what happens in them.

use std::path::Path;

use berth_sim::play;

#[tokio::test]
async fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let transcript = play(&text, 1).await.unwrap();
        let again = play(&text, 1).await.unwrap();
        assert_eq!(transcript, again, "{name} is not the same every time");
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => "../scenarios"}, {
            insta::assert_snapshot!(name, format!("{text}---\n{transcript}"));
        });
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_line() {
    for (text, problem) in [
        ("\n5x power-on w1", "line 2: \"5x\" is not a time such as 90s, 5m or 2h"),
        ("0s power-on w1", "line 1: there is no machine w1"),
        ("machine w1 a=b\nmachine w1", "line 2: there is a machine w1 already"),
        (
            "9s show\n3s show",
            "line 2: 3s is past already; lines are in the order of time",
        ),
    ] {
        assert_eq!(play(text, 1).await.unwrap_err().to_string(), problem);
    }
    let unknown = play("0s dance", 1).await.unwrap_err().to_string();
    assert!(
        unknown.starts_with("line 1: \"dance\" is not understood: use machine"),
        "{unknown}"
    );
}
