//! Every command on the shipped examples: what the README shows is what people get.

use std::{ffi::OsString, fmt::Write as _};

use berth::{Exit, Io};
use berth_clock::Clock;
use jiff::Timestamp;

use crate::run::at_root;

#[test]
fn telco_site() {
    let site = "-f examples/telco-site";
    let nodes = "--nodes examples/telco-cluster/nodes.yaml";
    for (name, words) in [
        ("lint", format!("lint {site}")),
        ("resolve", format!("resolve {site}")),
        ("resolve_wide", format!("resolve {site} -o wide")),
        ("resolve_json", format!("resolve {site} -o json")),
        ("resolve_openshift", format!("resolve {site} --flavour openshift")),
        ("explain", format!("explain {site} --node atlngamaw04")),
        ("pools", format!("pools {site} -o wide")),
        ("pools_live", format!("pools {site} {nodes} -o json")),
        ("plan", format!("plan {site} {nodes}")),
        ("plan_wide", format!("plan {site} {nodes} -o wide")),
        ("plan_json", format!("plan {site} {nodes} -o json")),
        ("plan_promenade", format!("plan {site} {nodes} --promenade")),
        (
            "selector",
            "selector --invert -f examples/telco-site/pools/worker-rwn.yaml".to_owned(),
        ),
    ] {
        insta::assert_snapshot!(format!("telco_{name}"), at_root(&words), &words);
    }
}

/// The files of `examples/mistakes`, by name without the ending.
fn mistakes() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mistakes");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".json"))?;
            Some((stem.to_owned(), format!("examples/mistakes/{name}")))
        })
        .collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    files
}

#[test]
fn every_mistake_is_found_where_its_file_says() {
    for (code, file) in mistakes() {
        let outcome = at_root(&format!("lint -f {file}"));
        insta::assert_snapshot!(format!("mistake_{code}"), outcome);
        assert!(outcome.stdout.contains(&format!("[{code}]: ")), "{outcome}");
        assert!(outcome.stdout.contains(&format!("--> {file}:")), "{outcome}");
    }
}

/// In this process: a panic fails the test by itself, and many runs cost little.
/// What the other commands still answer beside a mistake, and with which verdict; the findings themselves are above.
#[test]
fn every_command_answers_as_far_as_a_mistake_lets_it() {
    let nodes = "--nodes examples/telco-cluster/nodes.yaml";
    for command in ["resolve", "explain", "pools", "plan", "selector"] {
        let mut answers = String::new();
        for (code, file) in mistakes() {
            let words = match command {
                "explain" => {
                    let names = at_root(&format!("resolve -f {file} -o name")).stdout;
                    let Some(node) = names.lines().next().and_then(|name| name.strip_prefix("node/")) else {
                        continue;
                    };
                    format!("explain -f {file} --node {node}")
                }
                "plan" => format!("plan -f {file} {nodes} -o name"),
                "selector" => format!("selector --invert -f {file} -o json"),
                _ => format!("{command} -f {file} -o wide"),
            };
            let outcome = at_root(&words);
            writeln!(
                answers,
                "== {code}: exit {}\n{}",
                outcome.exit,
                outcome.stdout.trim_end()
            )
            .unwrap();
        }
        insta::assert_snapshot!(format!("mistakes_{command}"), answers);
    }
}

#[test]
fn no_command_falls_over_a_mistake() {
    for (_, file) in mistakes() {
        let file = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
        for words in [
            vec!["lint", "-f", &file, "-o", "name"],
            vec!["resolve", "-f", &file, "-o", "json"],
            vec!["pools", "-f", &file],
            vec!["plan", "-f", &file, "--nodes", &file, "-o", "yaml"],
            vec!["selector", "--invert", "-f", &file],
            vec!["render", "-f", &file],
            vec!["diff", &file, &file],
            vec!["rollout", "plan", "-f", &file, "--nodes", &file],
            vec!["forecast", "-f", &file, "--nodes", &file, "-o", "json"],
        ] {
            let args = ["berth"].iter().chain(&words).map(|word| OsString::from(*word));
            let mut errors = Vec::new();
            let io = Io {
                stdin: Box::new(std::io::empty()),
                stdout: Box::new(std::io::sink()),
                stderr: Box::new(&mut errors),
                clock: Clock::stopped(Timestamp::UNIX_EPOCH),
            };
            let exit = berth::run(args, io);
            assert!(exit <= Exit::Usage, "{words:?} {exit:?}");
            // Whoever says no gives a reason.
            assert!(exit == Exit::Done || !errors.is_empty(), "{words:?} {exit:?}");
        }
    }
}
