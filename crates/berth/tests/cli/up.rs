//! `berth up`: the whole product in one process.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::run::{Folder, command, finish};

/// A program of this system. A test without it says so and passes, unless `BERTH_REQUIRE_TOOLS` is set.
#[expect(clippy::print_stderr, reason = "a skipped check says why")]
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let envtest = std::env::var_os("BERTH_ENVTEST").map(|folder| Path::new(&folder).join(name));
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>())
        .map(|folder| folder.join(name));
    let found = envtest.into_iter().chain(on_path).find(|program| program.is_file());
    if found.is_none() {
        let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(!required, "BERTH_REQUIRE_TOOLS is set, and {name} is not installed");
        eprintln!("{name} is not installed: this is not tested");
    }
    found
}

/// From a folder without the source: the example is inside the program. The comparison counts what six machines that
/// belong to other pools than `worker` cost when they are labelled later.
#[test]
fn anywhere_with_and_without_berth() {
    let folder = Folder::new();
    let outcome = folder.line("up --once --without-berth --speed 300");
    assert_eq!(outcome.exit, 0, "{outcome}");
    let said = &outcome.stdout;
    assert!(
        said.contains("All 13 machines are in their places with all their labels, after 13 boots"),
        "{said}"
    );
    assert!(
        said.contains("(infra: 3, master: 3, worker: 4, worker-rwn: 3)"),
        "{said}"
    );
    assert!(said.contains("6 reboots saved"), "{said}");
    let row = |name: &str| -> Vec<String> {
        let line = said
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{said}"));
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let seconds = |text: &str| -> i64 {
        let (minutes, seconds) = text.split_once('m').unwrap_or(("0", text));
        minutes.parse::<i64>().unwrap() * 60 + seconds.trim_end_matches('s').parse::<i64>().unwrap()
    };
    let (with, without) = (row("with Berth"), row("without Berth"));
    assert_eq!((&*with[1], &*with[2]), ("13", "0"), "{said}");
    assert_eq!((&*without[1], &*without[2]), ("19", "6"), "{said}");
    // A second boot takes 90 seconds at least.
    assert!(seconds(&without[3]) >= 180, "{said}");
    assert_eq!(
        seconds(&without[4]),
        (seconds(&without[3]) - seconds(&with[3])).max(0),
        "{said}"
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

/// The real node daemons find what Ignition wrote, and have nothing to change.
#[test]
fn full_mode_costs_no_further_boot() {
    let folder = Folder::new();
    let outcome = folder.line("up --once --mode full --speed 300");
    assert_eq!(outcome.exit, 0, "{outcome}");
    assert!(
        outcome
            .stdout
            .contains("All 13 machines are in their places with all their labels, after 13 boots"),
        "{outcome}"
    );
}

/// How many reboots are saved is what `plan` says that a later move would cost.
#[test]
fn a_reboot_is_saved_where_a_later_move_would_cost_one() {
    let pool = |name: &str| {
        format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: {name}}}\nspec:\n  \
             machineConfigSelector: {{matchExpressions: [{{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, \
             {name}]}}]}}\n  nodeSelector: {{matchLabels: {{node-role.kubernetes.io/{name}: ''}}}}\n"
        )
    };
    let config = |role: &str, path: &str| {
        format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {{name: 50-{role}, labels: \
             {{machineconfiguration.openshift.io/role: {role}}}}}\nspec: {{config: {{ignition: {{version: 3.4.0}}, storage: {{files: \
             [{{path: {path}, contents: {{source: 'data:,x'}}}}]}}}}}}\n"
        )
    };
    let berth = |name: &str, pool: &str| {
        format!(
            "---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {name}}}\nspec: {{pool: {pool}}}\n"
        )
    };
    let site =
        pool("worker") + &pool("infra") + &config("worker", "/etc/a") + &berth("w1", "worker") + &berth("i1", "infra");
    let joined = "apiVersion: v1\nkind: Node\nmetadata: {name: i1, labels: {node-role.kubernetes.io/worker: ''}}\n";
    for (site, saved) in [(site.clone(), 0), (site + &config("infra", "/etc/b"), 1)] {
        let folder = Folder::new();
        folder.write("site.yaml", &site).write("nodes.yaml", joined);
        let up = folder.line("up -f site.yaml --once --speed 300");
        assert_eq!(up.exit, 0, "{up}");
        let words = if saved == 1 {
            "1 reboot saved"
        } else {
            "0 reboots saved"
        };
        assert!(up.stdout.contains(words), "{up}");
        let plan = folder.line("plan -f site.yaml --nodes nodes.yaml -o json").json();
        assert_eq!(plan["totals"]["reboots"], saved, "{plan}");
    }
}

#[test]
fn what_keeps_it_from_starting_is_said() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = Folder::new();
    folder.write("empty.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n");
    folder.write(
        "lost.yaml",
        "apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {name: n1}\nspec: {pool: nowhere}\n---\n\
         apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: edge}\n\
         spec: {nodeSelector: {matchLabels: {edge: \"\"}}, machineConfigSelector: {matchLabels: {role: edge}}}\n",
    );
    for (line, words) in [
        (
            format!("up --once --port {port}"),
            "another program listens there: stop it, or choose another port",
        ),
        (
            "up --once --data-dir /proc/berth".to_owned(),
            "cannot keep the cluster in `/proc/berth`",
        ),
        ("up --once -f empty.yaml".to_owned(), "the site describes no machines"),
        ("up --once -f lost.yaml".to_owned(), "no machine of the site has a pool"),
        ("up --scenario nowhere.txt".to_owned(), "nowhere.txt"),
    ] {
        let outcome = folder.line(&line);
        assert_eq!(outcome.exit, 2, "{line}: {outcome}");
        assert!(outcome.stderr.contains(words), "{line}: {}", outcome.stderr);
    }
    let outcome = finish(
        command()
            .current_dir(folder.path())
            .env("TMPDIR", "/proc")
            .args(["up", "--once"]),
        b"",
    );
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(outcome.stderr.contains("cannot write to `/proc`"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("TMPDIR"), "{}", outcome.stderr);
}

/// Every promise, played by the command that people type. The transcripts stand beside the scenarios.
#[test]
fn scenarios_with_berth() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scenarios");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".txt").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 11, "{names:?}");
    for name in names {
        let outcome = crate::run::at_root(&format!(
            "up -f examples/scenarios/pools.yaml --scenario examples/scenarios/{name}.txt"
        ));
        assert_eq!(outcome.exit, 0, "{outcome}");
        insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true, snapshot_path => folder}, {
            insta::assert_snapshot!(name, outcome.stdout);
        });
    }
}

/// The machines of the example are there without being named; without Berth the same words say what machines do alone.
#[test]
fn scenarios_of_all_kinds() {
    let folder = Folder::new();
    let play = |text: &str, more: &str| {
        folder.write("s.txt", text);
        folder.line(&format!("up --scenario s.txt {more}"))
    };
    let shown = play(
        "power-on all\nuntil atlngamai01 Occupied\nuntil atlngamai01 in-sync\nshow atlngamai01\n",
        "",
    );
    assert_eq!(shown.exit, 0, "{shown}");
    assert!(
        shown.stdout.contains("Berth atlngamai01: Occupied, pool infra"),
        "{shown}"
    );
    let alone = play(
        "machine w1 site=paris\napprove-all\n0s power-on w1\n3m show\n",
        "--without-berth",
    );
    assert_eq!(alone.exit, 0, "{alone}");
    assert!(
        alone.stdout.contains("w1     kubelet makes its Node with site=paris"),
        "{alone}"
    );
    for (text, exit, words) in [
        (
            "until atlngamai01 ready\n",
            1,
            "line 1: atlngamai01 never was \"ready\"",
        ),
        (
            "\nuntil atlngamai01 happy\n",
            2,
            "line 2: \"happy\" is not a condition: use Reserved",
        ),
        ("5s dance\n", 2, "line 1: \"dance\" is not understood: use machine"),
        ("9s show\n3s show\n", 2, "line 2: 3s is past already"),
        ("5x show\n", 2, "line 1: \"5x\" is not a time such as 90s"),
        ("machine atlngamai01\n", 2, "there is a machine atlngamai01 already"),
        ("berth w9 taint:a\n", 2, "\"taint:a\" is not a taint"),
        ("pass soon\n", 2, "\"soon\" is not a time"),
        ("delete-berth w9\n", 2, "line 1: "),
    ] {
        let outcome = play(text, "");
        assert_eq!(outcome.exit, exit, "{text}: {outcome}");
        assert!(outcome.stderr.contains(words), "{text}: {outcome}");
    }
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(child.id().to_string())
        .status();
    assert!(kill.unwrap().success());
}

/// Reads until a line begins so, and gives all lines.
fn read_until(lines: &mut impl Iterator<Item = std::io::Result<String>>, beginning: &str) -> Vec<String> {
    let mut read = Vec::new();
    for line in lines {
        let line = line.unwrap();
        let found = line.starts_with(beginning);
        read.push(line);
        if found {
            return read;
        }
    }
    panic!("it ended before `{beginning}`: {read:#?}");
}

/// Everything answers while it runs, and Ctrl-C ends it without a trace.
#[test]
fn it_serves_until_somebody_ends_it() {
    let folder = Folder::new();
    let mut child = command()
        .current_dir(folder.path())
        .args(["up", "--speed", "300"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = read_until(&mut lines, "The deleted Node");
    let next = |word: &str| {
        said.iter()
            .find(|line| line.contains(word))
            .unwrap_or_else(|| panic!("{said:#?}"))
    };
    let get_nodes: Vec<&str> = next("get nodes,berths").split_whitespace().collect();
    let kubeconfig = Path::new(get_nodes[2]);
    assert!(kubeconfig.is_file());
    if let Some(kubectl) = program("kubectl") {
        let output = Command::new(&kubectl)
            .args(&get_nodes[1..])
            .args(["-o", "name"])
            .output()
            .unwrap();
        let names = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            names.lines().filter(|line| line.starts_with("node/")).count(),
            13,
            "{names}"
        );
        assert_eq!(
            names
                .lines()
                .filter(|line| line.starts_with("berth.berth.dev/"))
                .count(),
            13,
            "{names}"
        );
        // The promise of the second command: the Node comes back with its labels, and is another object.
        let delete: Vec<&str> = next("delete node").split_whitespace().collect();
        let node = *delete.last().unwrap();
        let show = |what: &str| {
            let mut show = Command::new(&kubectl);
            show.args(["--kubeconfig", get_nodes[2], "get", "node", node, "-o", what]);
            String::from_utf8(show.output().unwrap().stdout).unwrap()
        };
        let labels = "jsonpath={.metadata.labels}";
        let (before, uid) = (show(labels), show("jsonpath={.metadata.uid}"));
        assert!(before.contains("node-role.kubernetes.io/infra"), "{before}");
        assert!(Command::new(&kubectl).args(&delete[1..]).status().unwrap().success());
        let mut after = show(labels);
        for _ in 0..100 {
            if after == before && show("jsonpath={.metadata.uid}") != uid {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            after = show(labels);
        }
        assert_eq!(after, before);
    }
    // The controllers are inside, so no account and no Lease is missed.
    let doctor = finish(
        command().args(["doctor", "-o", "json", "--kubeconfig"]).arg(kubeconfig),
        b"",
    );
    let checked = doctor.json()["checks"].as_array().unwrap().clone();
    let leader = checked.iter().find(|check| check["check"] == "leader").unwrap();
    assert_eq!(leader["health"], "note", "{doctor}");
    assert!(
        !checked
            .iter()
            .any(|check| check["check"] == "access" || check["check"] == "workload"),
        "{doctor}"
    );
    // The third: nothing would change, the labels are right already.
    let relabel: Vec<&str> = next(" relabel --server http://").split_whitespace().collect();
    let looked = finish(command().args(&relabel[1..]).args(["-o", "json"]), b"");
    assert_eq!(looked.exit, 0, "{looked}");
    let nodes = looked.json()["nodes"].as_array().unwrap().clone();
    assert_eq!(nodes.len(), 13);
    for node in nodes {
        let nothing = serde_json::json!({"set": {}, "changed": {}, "removed": {}});
        assert_eq!(node["diff"], nothing, "{node}");
    }

    signal(&child, "INT");
    // What it prints after that has to be read, or it could not end.
    lines.for_each(drop);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(!kubeconfig.exists(), "the temporary folder is gone");
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
}

#[test]
fn ended_while_machines_boot() {
    let folder = Folder::new();
    let mut child = command()
        .current_dir(folder.path())
        .args(["up", "--speed", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    read_until(&mut lines, "13 machines boot");
    signal(&child, "TERM");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(rest.last().unwrap(), "Ended before all machines were in their places.");
}

/// On a terminal there is a picture of the moment, drawn over and over.
fn on_terminal(script: &Path, folder: &Path, size: &str, line: &str) -> Command {
    let line = format!("stty {size}; {} {line}", env!("CARGO_BIN_EXE_berth"));
    let mut terminal = Command::new(script);
    terminal
        .current_dir(folder)
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .args(["-q", "-e", "-c", &line, "/dev/null"]);
    terminal
}

/// On a small terminal, too, people see the whole of what to type next, and may copy it.
#[test]
fn a_small_terminal_has_the_whole_summary() {
    let Some(script) = program("script") else { return };
    let folder = Folder::new();
    let mut terminal = on_terminal(&script, folder.path(), "cols 80 rows 24", "up --speed 300")
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut shown = String::new();
    let mut lines = BufReader::new(terminal.stdout.take().unwrap()).lines();
    // Pictures go on below it.
    while !shown
        .split_once("Ctrl-C ends everything.")
        .is_some_and(|(_, below)| below.contains("reboots saved"))
    {
        shown.push_str(&lines.next().expect("it goes on").unwrap());
        shown.push('\n');
    }
    signal(&terminal, "TERM");
    for line in lines {
        shown.push_str(&line.unwrap());
    }
    terminal.wait().unwrap();
    let summary = shown.split("All 13 machines").nth(1).unwrap();
    for words in [
        "get nodes,berths",
        "delete node atlngama",
        "--all --dry-run",
        "kubectl --kubeconfig /",
    ] {
        let line = summary.lines().find(|line| line.contains(words));
        assert!(line.is_some_and(|line| !line.contains('…')), "{words}: {summary}");
    }
}

#[test]
fn a_picture_on_a_terminal() {
    let Some(script) = program("script") else { return };
    let folder = Folder::new();
    let mut terminal = on_terminal(&script, folder.path(), "cols 100 rows 40", "up --once --speed 120");
    let outcome = finish(&mut terminal, b"");
    assert_eq!(outcome.exit, 0, "{outcome}");
    let shown = &outcome.stdout;
    assert!(
        shown.matches("\u{1b}[J").count() > 3,
        "it is drawn again and again: {shown}"
    );
    // The last picture has everything.
    let last = shown.rsplit("\u{1b}[J").nth(1).unwrap();
    for word in [
        "POOL",
        "IN PLACE",
        "MACHINE",
        "PHASE",
        "LABELS",
        "NOW",
        "6 reboots saved",
        "worker-rwn",
        "atlngamai01",
    ] {
        assert!(last.contains(word), "{word}: {last}");
    }
    assert_eq!(last.matches("Occupied").count(), 13, "{last}");
    assert!(shown.contains("All 13 machines are in their places"), "{shown}");
}

/// Airship's documents know no pools: their machines boot all the same, with the labels of their documents.
#[test]
fn a_site_in_airships_documents_boots_with_its_labels() {
    let sites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../berth-airship/tests/sites");
    for (site, machines) in [("harbor", 3), ("sloop", 1), ("virtual", 2), ("sample", 2)] {
        let folder = Folder::new();
        let outcome = folder.line(&format!("up --once --speed 300 -f {}", sites.join(site).display()));
        assert_eq!(outcome.exit, 0, "{outcome}");
        let word = if machines == 1 { "machine" } else { "machines" };
        let places = format!("All {machines} {word} are in their places with all their labels");
        assert!(outcome.stdout.contains(&places), "{site}: {outcome}");
        assert!(
            outcome.stdout.contains(&format!("(worker: {machines})")),
            "{site}: {outcome}"
        );
        assert!(
            outcome.stderr.contains("the site describes no pool"),
            "{site}: {outcome}"
        );
    }
}
