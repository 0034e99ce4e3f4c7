//! `berth iso`.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::json;

use crate::{
    live_image::{LAYOUTS, Layout, image},
    run::{Folder, Outcome, command, finish},
};

const ROOM: usize = 256 << 10;

const CONFIG: &str = r#"{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "/etc/berth/labels"}]}}
"#;

/// A folder with an image and a config.
fn folder(layout: Layout, room: usize) -> Folder {
    let folder = Folder::new();
    folder
        .write("live.iso", image(layout, room).bytes)
        .write("node.ign", CONFIG)
        .write("other.ign", r#"{"ignition": {"version": "3.3.0"}}"#);
    folder
}

fn done(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.exit, 0, "{outcome}");
    outcome
}

fn refused(exit: i32, outcome: &Outcome, says: &str) {
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (exit, ""), "{outcome}");
    assert!(outcome.stderr.contains(says), "{says}\n{outcome}");
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).unwrap()
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_config_goes_into_a_new_image_and_the_old_one_stays() {
    for layout in LAYOUTS {
        let folder = folder(layout, ROOM);
        let before = bytes(&folder, "live.iso");
        done(folder.line("iso embed live.iso --ignition node.ign -o node.iso"));
        assert!(bytes(&folder, "live.iso") == before, "{layout:?}");
        assert_eq!(done(folder.line("iso show node.iso")).stdout, CONFIG, "{layout:?}");
        assert_eq!(names(&folder), ["live.iso", "node.ign", "node.iso", "other.ign"]);
        done(folder.line("iso remove node.iso -o again.iso"));
        assert!(bytes(&folder, "again.iso") == before, "{layout:?}");
    }
}

#[test]
fn in_place_from_the_first_config_to_the_untouched_image() {
    let folder = folder(Layout::InfoFile, ROOM);
    let before = bytes(&folder, "live.iso");
    insta::assert_snapshot!("iso_show_none", folder.line("iso show live.iso"));
    insta::assert_snapshot!("iso_embed", folder.line("iso embed live.iso --ignition node.ign"));
    insta::assert_snapshot!("iso_embed_again", folder.line("iso embed live.iso --ignition node.ign"));
    insta::assert_snapshot!(
        "iso_embed_other",
        folder.line("iso embed live.iso --ignition other.ign")
    );
    insta::assert_snapshot!("iso_show_json", folder.line("iso show live.iso -o json"));
    let forced = done(folder.line("iso embed live.iso --ignition other.ign --force --format json")).json();
    assert_eq!(
        (&forced["changed"], &forced["room"], &forced["backup"]),
        (&json!(true), &json!(ROOM), &json!("live.iso.berth-backup"))
    );
    // The backup is what was there before the last change.
    insta::assert_snapshot!("iso_restore", folder.line("iso restore live.iso"));
    assert_eq!(done(folder.line("iso show live.iso")).stdout, CONFIG);
    insta::assert_snapshot!("iso_remove", folder.line("iso remove live.iso"));
    insta::assert_snapshot!("iso_remove_again", folder.line("iso remove live.iso"));
    assert!(bytes(&folder, "live.iso") == before);
    let backup = fs::metadata(folder.path().join("live.iso.berth-backup")).unwrap();
    assert_eq!(backup.permissions().mode() & 0o777, 0o600, "configs hold secrets");
}

#[test]
fn without_a_backup_there_is_none() {
    let folder = folder(Layout::DefaultFile, ROOM);
    done(folder.line("iso embed live.iso --ignition node.ign --no-backup"));
    assert_eq!(names(&folder), ["live.iso", "node.ign", "other.ign"]);
    refused(
        2,
        &folder.line("iso restore live.iso"),
        "cannot read `live.iso.berth-backup`",
    );
}

#[test]
fn standard_input_is_a_config_too() {
    let folder = folder(Layout::InfoFile, ROOM);
    let words = "iso embed live.iso --ignition - -o n.iso";
    let run = |stdin: &str| {
        let mut command = command();
        finish(
            command.current_dir(folder.path()).args(words.split_whitespace()),
            stdin.as_bytes(),
        )
    };
    refused(
        2,
        &run("no json"),
        "`<stdin>` is not an Ignition config: it is not JSON",
    );
    done(run(CONFIG));
    assert_eq!(done(folder.line("iso show n.iso")).stdout, CONFIG);
}

#[test]
fn a_config_that_no_machine_takes_is_not_embedded() {
    let folder = folder(Layout::InfoFile, ROOM);
    folder
        .write(
            "bad.ign",
            r#"{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "etc"}]}}"#,
        )
        .write("old.ign", r#"{"ignition": {"version": "2.2.0"}}"#)
        .write("typo.ign", r#"{"ignition": {"version": "3.4.0"}, "storrage": {}}"#);
    let before = bytes(&folder, "live.iso");
    for (name, says) in [
        ("bad.ign", "error: bad.ign: $.storage.files.0.path"),
        (
            "old.ign",
            "error: old.ign: $.ignition.version: live images read spec version 3",
        ),
    ] {
        refused(1, &folder.line(&format!("iso embed live.iso --ignition {name}")), says);
        assert!(bytes(&folder, "live.iso") == before);
    }
    let outcome = done(folder.line("iso embed live.iso --ignition typo.ign"));
    assert!(outcome.stderr.starts_with("warning: typo.ign: "), "{outcome}");
}

#[test]
fn an_image_without_room_is_refused_with_both_sizes() {
    let folder = folder(Layout::InfoFile, 100);
    let outcome = folder.line("iso embed live.iso --ignition node.ign");
    refused(
        1,
        &outcome,
        "the config does not fit into `live.iso`: compressed it has ",
    );
    assert!(
        outcome.stderr.contains(" bytes, and the embed area has room for 100"),
        "{outcome}"
    );
    assert_eq!(names(&folder), ["live.iso", "node.ign", "other.ign"]);
}

#[test]
fn what_is_no_live_image_is_refused() {
    let folder = folder(Layout::NoArea, ROOM);
    let cut = image(Layout::InfoFile, ROOM).bytes;
    folder
        .write("cut.iso", &cut[..cut.len() - 5000])
        .write("text.iso", "not an image");
    for (name, exit, says) in [
        ("live.iso", 1, "cannot use `live.iso`: the image has no embed area"),
        ("cut.iso", 2, "cannot use `cut.iso`: the image is cut off"),
        ("text.iso", 2, "cannot use `text.iso`: it is not an ISO 9660 image"),
        ("none.iso", 2, "cannot read `none.iso`"),
        (".", 2, "`.` is a folder, not an image"),
    ] {
        refused(exit, &folder.line(&format!("iso show {name}")), says);
        let new = folder.line(&format!("iso embed {name} --ignition node.ign -o out.iso"));
        refused(exit, &new, says);
        if name != "." {
            refused(
                exit,
                &folder.line(&format!("iso embed {name} --ignition node.ign")),
                says,
            );
            refused(exit, &folder.line(&format!("iso remove {name}")), says);
        }
    }
    assert_eq!(
        names(&folder),
        ["cut.iso", "live.iso", "node.ign", "other.ign", "text.iso"]
    );
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let folder = folder(Layout::InfoFile, ROOM);
    let path = folder.path().join("live.iso");
    let embed = "iso embed live.iso --ignition node.ign";
    refused(
        2,
        &folder.line(&format!("{embed} -o node.ign")),
        "`node.ign` exists already",
    );
    refused(
        2,
        &folder.line(&format!("{embed} -o ./live.iso")),
        "`./live.iso` is the image itself",
    );
    refused(
        2,
        &folder.line(&format!("{embed} -o -")),
        "not written to standard output",
    );
    refused(
        2,
        &folder.line(&format!("{embed} -o no/out.iso")),
        "cannot write `no/out.iso`",
    );

    folder.write("live.iso.berth-backup", "letters");
    refused(
        2,
        &folder.line(embed),
        "`live.iso.berth-backup` is in the way: it is not a backup",
    );
    refused(
        2,
        &folder.line("iso restore live.iso"),
        "it is not a backup of an embed area",
    );
    assert_eq!(bytes(&folder, "live.iso.berth-backup"), b"letters");

    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    refused(2, &folder.line(embed), "`live.iso` is read-only");
    done(folder.line(&format!("{embed} -o new.iso")));
    let mode = fs::metadata(folder.path().join("new.iso"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn an_image_that_another_program_changes_is_left_alone() {
    let folder = folder(Layout::InfoFile, ROOM);
    let file = fs::File::open(folder.path().join("live.iso")).unwrap();
    file.lock().unwrap();
    let outcome = folder.line("iso embed live.iso --ignition node.ign");
    refused(2, &outcome, "`live.iso` is being changed by another program");
}

#[test]
fn a_write_that_was_cut_off_is_undone_by_the_backup() {
    let folder = folder(Layout::InfoFile, ROOM);
    done(folder.line("iso embed live.iso --ignition node.ign"));
    done(folder.line("iso embed live.iso --ignition other.ign --force"));
    // As after a crash: the first half is new, the rest is not.
    let offset = image(Layout::InfoFile, ROOM).offset;
    let mut half = bytes(&folder, "live.iso");
    half[offset + 40..offset + 4096].fill(0x5a);
    folder.write("live.iso", &half);
    for words in [
        "iso show live.iso",
        "iso remove live.iso",
        "iso embed live.iso --ignition node.ign",
    ] {
        let outcome = folder.line(words);
        refused(2, &outcome, "cannot use what is in `live.iso`");
        assert!(outcome.stderr.contains("`berth iso restore live.iso`"), "{outcome}");
    }
    // A state that cannot be read does not replace the backup.
    let kept = bytes(&folder, "live.iso.berth-backup");
    done(folder.line("iso remove live.iso --force"));
    assert!(bytes(&folder, "live.iso.berth-backup") == kept);
    done(folder.line("iso restore live.iso"));
    assert_eq!(done(folder.line("iso show live.iso")).stdout, CONFIG);

    // The backup of an image is not put into another one.
    folder.write("live.iso", image(Layout::InfoFile, ROOM / 2).bytes);
    refused(
        2,
        &folder.line("iso restore live.iso"),
        "the backup belongs to another image",
    );
}

/// What a terminal shows while a large image is copied. `script` runs a command on a terminal of its own.
#[test]
fn a_terminal_shows_a_progress_bar_and_a_pipe_does_not() {
    let folder = folder(Layout::InfoFile, ROOM);
    let mut large = bytes(&folder, "live.iso");
    large.resize(64 << 20, 0);
    folder.write("live.iso", large);
    let words = "iso embed live.iso --ignition node.ign -o";
    let piped = done(folder.line(&format!("{words} piped.iso")));
    assert_eq!(piped.stderr, "");
    let berth = env!("CARGO_BIN_EXE_berth");
    let mut script = Command::new("script");
    let line = format!("'{berth}' {words} shown.iso");
    script
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .args(["-qec", &line, "/dev/null"]);
    let shown = done(finish(&mut script, b""));
    assert!(
        shown.stdout.contains("copying [") && shown.stdout.contains("of 64.00 MiB"),
        "{shown}"
    );
    assert!(shown.stdout.contains("shown.iso: config of"), "{shown}");
    assert!(bytes(&folder, "shown.iso") == bytes(&folder, "piped.iso"));
}

/// Answers one request with a config, and gives what was asked.
fn serve_once(answer: String) -> (String, std::thread::JoinHandle<String>) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/config/worker", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let asked: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        stream.write_all(answer.as_bytes()).unwrap();
        asked.join("\n").to_lowercase()
    });
    (address, served)
}

#[test]
fn a_config_is_fetched_as_ignition_fetches_it() {
    let folder = folder(LAYOUTS[0], ROOM);
    let (url, served) = serve_once(format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{CONFIG}",
        CONFIG.len()
    ));
    done(folder.line(&format!("iso embed live.iso --url {url} -o worker.iso")));
    assert_eq!(done(folder.line("iso show worker.iso")).stdout, CONFIG);
    let asked = served.join().unwrap();
    assert!(
        asked.contains("accept: application/vnd.coreos.ignition+json;version=3.4.0"),
        "{asked}"
    );
    let (url, served) = serve_once("HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\n\r\nno such pool".to_owned());
    let missing = folder.line(&format!("iso embed live.iso --url {url} -o other.iso"));
    refused(1, &missing, "no such pool");
    served.join().unwrap();
    refused(2, &folder.line("iso embed live.iso -o other.iso"), "--ignition");
    assert!(!names(&folder).contains(&"other.iso".to_owned()));
}
