//! `berth machineconfig`, `ignition`, `cloud-init` and `kubeadm`.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use berth_ignition::{Config, SpecVersion, file_contents, parse};
use berth_testing::Ignition;
use serde_json::{Value, json};

use crate::{
    judge::ignition_takes,
    run::{Folder, at_root, command, finish},
};

const TELCO: &str = "-f examples/telco-site";
const POOLS: [&str; 4] = ["infra", "master", "worker", "worker-rwn"];
const NODES: [&str; 4] = ["atlngamac01", "atlngamaw01", "atlngamaw05", "smyrgaear01"];

/// A static executable, as far as its header says.
fn executable(more: usize) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    // Bytes that do not compress.
    let mut state = 1_u32;
    bytes.extend((0..more).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    }));
    bytes
}

fn required(program: &str) -> bool {
    let here = Path::new(program).exists();
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(here || !required, "{program} is missing");
    here
}

/// Lets the real engine write the config into an empty root and compares every file.
fn engine_writes(name: &str, json: &Value) {
    let config = parse(json).usable().unwrap();
    let mut written = config.clone();
    // Kernel arguments are set in a stage of their own, with the boot loader's help.
    written.as_v3_5_mut().kernel_arguments = None;
    let text = written.to_version(SpecVersion::V3_3).unwrap().to_string();
    let Some(root) = Ignition::for_test().and_then(|ignition| ignition.write(&text).unwrap()) else {
        return;
    };
    assert!(!config.files().is_empty(), "{name}");
    for file in config.files() {
        let path = root.path(&file.path);
        assert_eq!(
            fs::read(&path).unwrap(),
            file_contents(file).unwrap(),
            "{name} {}",
            file.path
        );
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(i64::from(mode), file.mode.unwrap_or(0o644), "{name} {}", file.path);
    }
    for piece in config.unit_texts() {
        let below = match piece.dropin {
            None => piece.unit.to_owned(),
            Some(dropin) => format!("{}.d/{dropin}", piece.unit),
        };
        let text = fs::read_to_string(root.path("etc/systemd/system").join(below)).unwrap();
        assert_eq!(text, piece.text, "{name}");
    }
}

fn contents(json: &Value, path: &str) -> String {
    let config: Config = parse(json).usable().unwrap();
    String::from_utf8(file_contents(config.find_file(path).unwrap()).unwrap()).unwrap()
}

/// A unit without a hook for labels is what the generator is for: its machine config is made, and with it among the
/// documents nothing is lost any more. A drop-in that counts after the generator's is refused.
#[test]
fn the_generator_mends_a_unit_that_has_no_hook() {
    let site = |more: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: edge}}\nspec:\n  \
             nodeSelector: {{matchLabels: {{example.com/edge: ''}}}}\n  machineConfigSelector: {{matchExpressions: [{{key: \
             machineconfiguration.openshift.io/role, operator: In, values: [worker, edge]}}]}}\n---\napiVersion: \
             machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {{name: 50-kubelet, labels: \
             {{machineconfiguration.openshift.io/role: edge}}}}\nspec:\n  config:\n    ignition: {{version: 3.4.0}}\n    \
             systemd:\n      units:\n      - name: kubelet.service\n        enabled: true\n        contents: |\n          \
             [Service]\n          ExecStart=/usr/bin/kubelet --config=/etc/kubelet.yaml\n{more}"
        )
    };
    let folder = Folder::new();
    folder
        .write("site/site.yaml", site(""))
        .write("berth-node", executable(0));
    let lint = folder.line("lint -f site");
    assert!(lint.exit == 1 && lint.stdout.contains("pool-labels-lost") || lint.stderr.contains("pool-labels-lost"));
    let made = folder.line("machineconfig -f site --pool edge --way generator --node-binary berth-node -o yaml");
    assert_eq!(made.exit, 0, "{made}");
    folder.write("site/berth.yaml", &made.stdout);
    let lint = folder.line("lint -f site");
    assert_eq!(lint.exit, 0, "{lint}");

    folder.write(
        "late/site.yaml",
        site(
            "        dropins:\n        - name: zzzz.conf\n          contents: |\n            [Service]\n            \
             ExecStart=\n            ExecStart=/usr/bin/kubelet --late\n",
        ),
    );
    let late = folder.line("machineconfig -f late --pool edge --way generator --node-binary berth-node");
    assert_eq!(late.exit, 1, "{late}");
    assert!(late.stderr.contains("zzzz.conf"), "{late}");
}

#[test]
fn the_telco_site_as_typed() {
    insta::assert_snapshot!(
        "boot_machineconfig",
        at_root(&format!("machineconfig {TELCO} --pool worker-rwn"))
    );
    insta::assert_snapshot!(
        "boot_machineconfig_table",
        at_root(&format!("machineconfig {TELCO} --pool infra -o table"))
    );
    insta::assert_snapshot!(
        "boot_machineconfig_name",
        at_root(&format!("machineconfig {TELCO} --pool infra -o name"))
    );
    insta::assert_snapshot!(
        "boot_ignition",
        at_root(&format!("ignition {TELCO} --node smyrgaear01"))
    );
    insta::assert_snapshot!(
        "boot_pointer",
        at_root(&format!(
            "ignition {TELCO} --pool worker --pointer https://berth.example.com:22623"
        ))
    );
    insta::assert_snapshot!(
        "boot_pointer_with_labels",
        at_root(&format!(
            "ignition {TELCO} --node atlngamaw01 --with-labels --pointer https://api-int.example.com:22623/config/worker"
        ))
    );
    insta::assert_snapshot!(
        "boot_cloud_init",
        at_root(&format!("cloud-init {TELCO} --node atlngamaw01"))
    );
    insta::assert_snapshot!("boot_kubeadm", at_root(&format!("kubeadm {TELCO} --node atlngamaw05")));
}

#[test]
fn ignition_takes_and_writes_every_config() {
    for subject in POOLS
        .iter()
        .map(|pool| format!("--pool {pool}"))
        .chain(NODES.iter().map(|node| format!("--node {node}")))
    {
        for spec in ["3.3.0", "3.4.0", "3.5.0"] {
            let outcome = at_root(&format!("ignition {TELCO} {subject} --spec {spec}"));
            assert_eq!(outcome.exit, 0, "{outcome}");
            let json = outcome.json();
            assert_eq!(json["ignition"]["version"], json!(spec));
            ignition_takes(&subject, &json);
            if spec == "3.5.0" {
                engine_writes(&subject, &json);
            }
        }
    }
    for spec in ["3.1", "3.2.0"] {
        let outcome = at_root(&format!("ignition {TELCO} --pool worker --spec {spec}"));
        ignition_takes(spec, &outcome.json());
        engine_writes(spec, &outcome.json());
        // The remote workers have kernel arguments, which older versions cannot say.
        let outcome = at_root(&format!("ignition {TELCO} --pool worker-rwn --spec {spec}"));
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (1, ""), "{outcome}");
        assert!(outcome.stderr.contains("(nosmt)"), "{outcome}");
    }
}

#[test]
fn ignition_takes_every_machine_config_of_every_way() {
    let folder = Folder::new();
    folder.write("berth-node", executable(4_000));
    folder.write(
        "kubelet.service",
        "[Service]\nEnvironmentFile=-/etc/default/kubelet\nExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS\n",
    );
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (binary, unit) = (path("berth-node"), path("kubelet.service"));
    for (way, more, paths) in [
        (
            "generator",
            format!("--node-binary {binary}"),
            vec![
                "/etc/systemd/system-generators/berth-generator",
                "/etc/berth/flavour",
                "/etc/berth/labels",
            ],
        ),
        (
            "kubelet-env",
            String::new(),
            vec!["/etc/berth/labels", "/etc/kubernetes/kubelet-env"],
        ),
        (
            "dropin",
            format!("--unit {unit}"),
            vec![
                "/etc/berth/labels",
                "/etc/systemd/system/kubelet.service.d/50-berth.conf",
            ],
        ),
        (
            "default-kubelet",
            format!("--unit {unit}"),
            vec!["/etc/berth/labels", "/etc/default/kubelet"],
        ),
    ] {
        let outcome = at_root(&format!(
            "machineconfig {TELCO} --pool worker-rwn --way {way} {more} -o json"
        ));
        assert_eq!(outcome.exit, 0, "{outcome}");
        let list = outcome.json();
        let items = list["items"].as_array().unwrap();
        let mut found = Vec::new();
        for item in items.iter().filter(|item| item["kind"] == json!("MachineConfig")) {
            assert_eq!(
                item["spec"]["config"]["systemd"],
                Value::Null,
                "files, never a drop-in of a unit"
            );
            let config = &item["spec"]["config"];
            ignition_takes(way, config);
            engine_writes(way, config);
            let files = config["storage"]["files"].as_array().unwrap();
            found.extend(files.iter().map(|file| file["path"].as_str().unwrap().to_owned()));
        }
        assert_eq!(found, paths, "{way}");
        // Every file has a policy of its own, and none needs a reboot.
        let policies = items[0]["spec"]["nodeDisruptionPolicy"]["files"].as_array().unwrap();
        for path in paths {
            let policy = policies.iter().find(|policy| policy["path"] == json!(path)).unwrap();
            let action = policy["actions"][0]["type"].as_str().unwrap();
            assert!(["None", "DaemonReload"].contains(&action), "{policy}");
        }
    }
}

/// The executable arrives on the machine as it is here.
#[test]
fn the_executable_is_carried_whole() {
    let folder = Folder::new();
    let bytes = executable(10_000);
    folder.write("berth-node", &bytes);
    let binary = folder.path().join("berth-node").display().to_string();
    let outcome = at_root(&format!(
        "ignition {TELCO} --node atlngamaw01 --way generator --node-binary {binary}"
    ));
    assert_eq!(outcome.exit, 0, "{outcome}");
    let config = parse(&outcome.json()).usable().unwrap();
    let file = config
        .find_file("/etc/systemd/system-generators/berth-generator")
        .unwrap();
    assert_eq!(file_contents(file).unwrap(), bytes);
    assert_eq!(file.mode, Some(0o755));
    assert_eq!(file.contents.as_ref().unwrap().compression.as_deref(), Some("gzip"));
    ignition_takes("generator", &outcome.json());
    engine_writes("generator", &outcome.json());
}

#[test]
fn the_executable_is_found_beside_the_program_or_asked_for() {
    let folder = Folder::new();
    let program = folder.path().join("berth");
    fs::copy(env!("CARGO_BIN_EXE_berth"), &program).unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let run = |way: &str| {
        let words = format!("machineconfig {TELCO} --pool worker --way {way} -o name");
        let mut command = Command::new(&program);
        finish(command.current_dir(root).args(words.split_whitespace()), b"")
    };
    let outcome = run("generator");
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(
        outcome.stderr.contains("no `berth-node` beside this program"),
        "{outcome}"
    );
    assert!(
        outcome
            .stderr
            .contains("`--node-binary FILE`; `cargo xtask node` builds one"),
        "{outcome}"
    );
    folder.write("berth-node", executable(100));
    let outcome = run("generator");
    assert_eq!(outcome.exit, 0, "{outcome}");
    assert!(
        outcome.stdout.contains("machineconfig/98-worker-berth-generator\n"),
        "{outcome}"
    );
    // One that needs a loader does not fit a node, and where the way is open it counts as none.
    fs::copy(env!("CARGO_BIN_EXE_berth"), folder.path().join("berth-node")).unwrap();
    let outcome = run("generator");
    assert_eq!(outcome.exit, 2, "{outcome}");
    assert!(outcome.stderr.contains("is not linked statically"), "{outcome}");
    assert_eq!(run("auto").exit, 0);
}

#[test]
fn what_is_too_large_is_refused_with_the_sizes() {
    let folder = Folder::new();
    folder.write("berth-node", executable(1_400_000));
    let binary = folder.path().join("berth-node").display().to_string();
    let outcome = at_root(&format!(
        "machineconfig {TELCO} --pool worker --way generator --node-binary {binary}"
    ));
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
    for part in ["1572864", "98-worker-berth-generator ", "99-worker-berth-labels "] {
        assert!(outcome.stderr.contains(part), "{part}: {}", outcome.stderr);
    }
}

#[test]
fn mistakes_are_told() {
    let run = |words: &str| {
        let outcome = at_root(words);
        assert_eq!(outcome.stdout, "", "{outcome}");
        format!("$ berth {words}\nexit: {}\n{}\n", outcome.exit, outcome.stderr)
    };
    let said = [
        format!("machineconfig {TELCO} --pool wrker"),
        format!("ignition {TELCO} --node smyrgaear1"),
        format!("ignition {TELCO} --pool worker --node smyrgaear01"),
        format!("ignition {TELCO}"),
        format!("ignition {TELCO} --pool worker --spec 2.2.0"),
        format!("ignition {TELCO} --pool worker --ca ca.crt"),
        format!("ignition {TELCO} --node smyrgaear01 --pointer https://h/config/infra"),
        format!("ignition {TELCO} --pool worker --pointer h:22623"),
        "ignition -f nowhere --pool worker".to_owned(),
        format!("machineconfig {TELCO} --pool worker --way dropin --unit nowhere.service"),
        format!("machineconfig {TELCO} --pool worker --way default-kubelet"),
        format!("cloud-init {TELCO} --node atlngamaw01 --way dropin"),
        format!("cloud-init {TELCO} --node atlngamaw01 --carry a=b=c"),
        format!("kubeadm {TELCO} --node nobody"),
    ]
    .map(|words| run(&words));
    insta::assert_snapshot!("boot_mistakes", said.concat());
}

#[test]
fn nothing_is_made_from_documents_with_mistakes() {
    for words in [
        "ignition -f examples/mistakes/unsatisfiable-selector.yaml --pool worker",
        "machineconfig -f examples/mistakes/kubelet-stopped.yaml --pool worker --flavour upstream",
    ] {
        let outcome = at_root(words);
        assert_eq!(outcome.stdout, "", "{words}: {outcome}");
        assert_ne!(outcome.exit, 0, "{words}: {outcome}");
    }
}

/// What is applied yesterday is not a reason to keep a label today, and what is made twice is the same.
#[test]
fn machine_configs_in_the_site_change_nothing_and_lint_clean() {
    let folder = Folder::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let site = format!("-f {root}/examples/telco-site");
    let mut all = format!("lint {site}");
    for pool in POOLS {
        let words = format!("machineconfig {site} --pool {pool}");
        let first = folder.line(&words);
        assert_eq!(first.exit, 0, "{first}");
        let old = first.stdout.replace("leased-line", "microwave");
        folder.write("old.yaml", old);
        let again = folder.line(&format!("{words} -f old.yaml"));
        assert_eq!(again.stdout, first.stdout, "{pool}");
        // The policy comes with every pool and is one object.
        let configs = folder.line(&format!("{words} --no-policy"));
        folder.write(&format!("{pool}.yaml"), &configs.stdout);
        all = format!("{all} -f {pool}.yaml");
    }
    // The machine config of `worker` reaches the pools that are built on it as well. There their own one wins.
    let lint = folder.line(&all);
    assert_eq!(lint.exit, 0, "{lint}");
    let lint = folder.line(&format!("lint {site} -f worker.yaml"));
    assert_eq!(lint.exit, 1, "{lint}");
    assert!(lint.stdout.contains("the pool worker-rwn would lose"), "{lint}");
}

/// With the policy that comes with them, the new files cost no reboot; an administrator's word counts more.
#[test]
fn the_policy_of_the_cluster_counts() {
    let old = Folder::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/telco-site");
    let copy = |to: &Folder| {
        let output = Command::new("cp")
            .arg("-r")
            .arg(root)
            .arg(to.path().join("site"))
            .output();
        assert!(output.unwrap().status.success());
    };
    copy(&old);
    let new = Folder::new();
    copy(&new);
    let made = new
        .line("machineconfig -f site --pool worker-rwn --way kubelet-env")
        .stdout;
    new.write("site/made.yaml", &made);
    let diff = || {
        let words = format!(
            "diff {} {} --pool worker-rwn -o json",
            old.path().join("site").display(),
            new.path().join("site").display()
        );
        let outcome = new.line(&words);
        assert_eq!(outcome.exit, 1, "{outcome}");
        outcome.json()["pools"][0]["actions"].clone()
    };
    assert_eq!(diff(), json!(["none"]));
    new.write(
        "site/made.yaml",
        made.replace(
            "- type: None\n      path: /etc/kubernetes",
            "- type: Reboot\n      path: /etc/kubernetes",
        ),
    );
    assert_eq!(diff(), json!(["reboot"]));
    new.write(
        "site/made.yaml",
        made.replace(
            "- type: None",
            "- type: Restart\n        restart: {serviceName: kubelet.service}",
        ),
    );
    assert_eq!(diff(), json!(["restart kubelet.service"]));
}

#[test]
fn a_policy_with_mistakes_is_reported() {
    let folder = Folder::new();
    folder.write(
        "policy.yaml",
        "apiVersion: operator.openshift.io/v1\nkind: MachineConfiguration\nmetadata: {name: cluster}\nspec:\n  \
         managementState: Managed\n  nodeDisruptionPolicy:\n    files:\n    - path: /etc/a\n      actions: [{type: Rebot}]\n    \
         - path: /etc/b\n      actions: [{type: Restart}]\n    - actions: [{type: None}, {type: Drain}]\n    units:\n    - name: a.service\n    \
         sshkeys: {}\n",
    );
    insta::assert_snapshot!("boot_policy_mistakes", folder.line("lint -f policy.yaml"));
}

#[test]
fn a_pool_that_would_not_take_the_machine_configs_is_refused() {
    let folder = Folder::new();
    folder.write(
        "pool.yaml",
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: edge}\nspec:\n  \
         machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}\n  \
         nodeSelector: {matchLabels: {telco.example/edge: \"\"}}\n",
    );
    let outcome = folder.line("machineconfig -f pool.yaml --pool edge");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (1, ""), "{outcome}");
    assert!(
        outcome.stderr.contains("machineconfiguration.openshift.io/role=edge"),
        "{outcome}"
    );
}

/// The labels file of a pool's machine configs and that of one machine differ: the operator would not like it.
#[test]
fn a_file_that_the_operator_owns_is_pointed_out() {
    let folder = Folder::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let site = format!("-f {root}/examples/telco-site");
    folder.write(
        "made.yaml",
        folder.line(&format!("machineconfig {site} --pool worker-rwn")).stdout,
    );
    let node = folder.line(&format!("ignition {site} -f made.yaml --node smyrgaear01"));
    assert_eq!(node.exit, 0, "{node}");
    assert!(
        node.stderr
            .contains("warning: /etc/berth/labels differs from the one in the pool"),
        "{node}"
    );
    let env = contents(&node.json(), "/etc/kubernetes/kubelet-env");
    assert!(env.contains("telco.example/clli=SMYRGAEAR01"), "{env}");
    let pool = folder.line(&format!("ignition {site} -f made.yaml --pool worker-rwn"));
    assert!(!pool.stderr.contains("warning"), "{pool}");
    let pointer = folder.line(&format!(
        "ignition {site} -f made.yaml --node smyrgaear01 --with-labels --pointer https://h/config/worker-rwn"
    ));
    assert_eq!((pointer.exit, pointer.stdout.as_str()), (1, ""), "{pointer}");
}

#[test]
fn pointers_carry_certificates_and_tokens() {
    let folder = Folder::new();
    let token = folder.line("token create --node smyrgaear01 --token-file tokens.json");
    assert_eq!(token.exit, 0, "{token}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let words =
        format!("ignition -f {root}/examples/telco-site --node smyrgaear01 --pointer https://h:22623 --token-stdin");
    let mut run = command();
    let outcome = finish(
        run.current_dir(folder.path()).args(words.split_whitespace()),
        token.stdout.as_bytes(),
    );
    assert_eq!(outcome.exit, 0, "{outcome}");
    let merge = &outcome.json()["ignition"]["config"]["merge"][0];
    assert_eq!(merge["source"], json!("https://h:22623/node/smyrgaear01"));
    let header = merge["httpHeaders"][0]["value"].as_str().unwrap();
    assert_eq!(header, format!("Bearer {}", token.stdout.trim()));
    ignition_takes("pointer", &outcome.json());
    let plain = format!("{words} --pointer http://h:22623").replacen("--pointer https://h:22623 ", "", 1);
    let outcome = finish(
        command().current_dir(folder.path()).args(plain.split_whitespace()),
        token.stdout.as_bytes(),
    );
    assert_eq!(outcome.exit, 2, "a token is not sent in the clear: {outcome}");
}

#[test]
fn cloud_init_accepts_the_user_data() {
    let folder = Folder::new();
    folder.write("berth-node", executable(4_000));
    let binary = folder.path().join("berth-node").display().to_string();
    for (node, more) in NODES
        .iter()
        .flat_map(|node| [String::new(), format!("--way generator --node-binary {binary}")].map(|more| (node, more)))
    {
        let outcome = at_root(&format!("cloud-init {TELCO} --node {node} {more}"));
        assert_eq!(outcome.exit, 0, "{outcome}");
        if !required("/usr/bin/cloud-init") {
            continue;
        }
        folder.write("user-data", &outcome.stdout);
        let output = Command::new("/usr/bin/cloud-init")
            .args(["schema", "--config-file"])
            .arg(folder.path().join("user-data"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && said.contains("Valid cloud-config"),
            "{outcome}{output:?}"
        );
    }
}

#[test]
fn kubeadm_configs_are_objects() {
    for node in NODES {
        for (more, kind) in [("", "JoinConfiguration"), ("--init", "InitConfiguration")] {
            let json = at_root(&format!("kubeadm {TELCO} --node {node} {more} -o json")).json();
            assert_eq!(json["apiVersion"], json!("kubeadm.k8s.io/v1beta4"));
            assert_eq!(json["kind"], json!(kind));
            assert_eq!(json["nodeRegistration"]["name"], json!(node));
            let labels = json["nodeRegistration"]["kubeletExtraArgs"][0]["value"]
                .as_str()
                .unwrap();
            assert!(!labels.contains("node-role.kubernetes.io"), "{labels}");
        }
    }
}
