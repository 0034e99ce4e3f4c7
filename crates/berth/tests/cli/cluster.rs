//! `berth install`, `controller`, `status`, `doctor`, `token create --bootstrap` and `uninstall` on a real API server that has
//! OpenShift's own definitions, and `kubectl berth` with the real kubectl.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use berth_testing::{ControlPlane, Identity, Options, Programs};
use serde_json::{Value, json};

use self::webhook::Hooks;
use crate::run::{Folder, Outcome, command, finish};

mod full;
mod ignition;
mod webhook;

/// Long, because the machine may be busy; nothing is concluded from how long something took.
const PATIENCE: usize = 900;

/// Tries until there is something.
fn patiently<T>(what: impl Fn() -> String, mut attempt: impl FnMut(usize) -> Option<T>) -> T {
    for number in 0..PATIENCE {
        if let Some(found) = attempt(number) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("{}", what())
}

struct Cluster {
    plane: ControlPlane,
    admin: PathBuf,
    folder: Folder,
}

impl Cluster {
    fn kubectl(&self, words: &str) -> Outcome {
        finish(self.plane.kubectl().unwrap().args(words.split_whitespace()), b"")
    }

    fn get(&self, what: &str) -> Option<Value> {
        let found = self.kubectl(&format!("get {what} -o json"));
        (found.exit == 0).then(|| found.json())
    }

    fn apply(&self, objects: &Value) {
        let mut apply = self.plane.kubectl().unwrap();
        let applied = finish(apply.args(["apply", "-f", "-"]), objects.to_string().as_bytes());
        assert_eq!(applied.exit, 0, "{applied}");
    }

    fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        patiently(
            || format!("{what} is not as it should be: {:#?}\n{}", self.get(what), self.log()),
            |_| self.get(what).filter(&fits),
        )
    }

    fn wait_for_log(&self, words: &str) -> String {
        patiently(
            || format!("`{words}` is never said: {}", self.log()),
            |_| self.log().lines().find(|line| line.contains(words)).map(str::to_owned),
        )
    }

    /// Creates an object as the administrator, or with another kubeconfig.
    fn create(&self, object: &Value, kubeconfig: Option<&Path>) -> Outcome {
        let mut create = self.plane.kubectl().unwrap();
        if let Some(kubeconfig) = kubeconfig {
            create.env("KUBECONFIG", kubeconfig);
        }
        let arguments = ["create", "--validate=false", "-f", "-"];
        finish(create.args(arguments), object.to_string().as_bytes())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("controller.log")).unwrap_or_default()
    }

    fn lacks_no_right(&self) {
        let log = self.log();
        assert!(!log.to_lowercase().contains("forbidden"), "a right is missing: {log}");
    }

    /// Runs `berth` as the administrator.
    fn berth(&self, words: &str) -> Outcome {
        let mut berth = command();
        berth.current_dir(self.folder.path()).args(words.split_whitespace());
        finish(berth.arg("--kubeconfig").arg(&self.admin), b"")
    }

    /// A kubeconfig of the controllers' service account, and nothing else.
    fn service_account(&self) -> PathBuf {
        let token = self.kubectl("create token berth-controller --namespace berth-system --duration 1h");
        assert_eq!(token.exit, 0, "{token}");
        let mut kubeconfig = self.plane.kubeconfig(&Identity::admin()).unwrap();
        kubeconfig["users"] = json!([{"name": "test", "user": {"token": token.stdout.trim()}}]);
        self.folder.write("service-account.conf", kubeconfig.to_string());
        self.folder.path().join("service-account.conf")
    }

    fn controller(&self, kubeconfig: &Path, words: &str) -> Running {
        let words = format!("controller --lease-duration 4s --identity the-one {words} --kubeconfig");
        self.start(&words, kubeconfig)
    }

    /// Starts `berth` with a kubeconfig at the end of its arguments.
    fn start(&self, words: &str, kubeconfig: &Path) -> Running {
        let log = std::fs::File::create(self.folder.path().join("controller.log")).unwrap();
        let child = command()
            .current_dir(self.folder.path())
            .args(words.split_whitespace())
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Running(child)
    }

    fn site(&self, tier: &str) {
        let node = |name: &str| {
            format!(
                "---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {name}}}\nspec:\n  pool: infra\n  \
                 preregister: Now\n  labels: {{example.com/tier: {tier}}}\n"
            )
        };
        let mut text = serde_json::to_string(&pool("infra")).unwrap();
        text.push('\n');
        for name in ["w1", "w2"] {
            text.push_str(&node(name));
        }
        // Whole or not at all, as an editor writes it.
        self.folder.write("next.yaml", text);
        std::fs::create_dir_all(self.folder.path().join("site")).unwrap();
        std::fs::rename(
            self.folder.path().join("next.yaml"),
            self.folder.path().join("site/site.yaml"),
        )
        .unwrap();
    }
}

struct Running(Child);

impl Running {
    /// Ends it as the kubelet would, and gives the exit code.
    fn stop(mut self) -> Option<i32> {
        let killed = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(killed.success());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pool(name: &str) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": {"matchExpressions": [{
                "key": "machineconfiguration.openshift.io/role", "operator": "In", "values": ["worker", name],
            }]},
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
        },
    })
}

fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"][key].as_str()
}

fn checks(outcome: &Outcome, check: &str) -> Vec<(String, String)> {
    let found = outcome.json();
    let checks = found["checks"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks
        .filter(|one| one["check"] == check)
        .map(|one| (text(&one["health"]), text(&one["message"])))
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story from installation to removal")]
fn an_installation_works_with_exactly_its_rights_and_goes_without_a_trace() {
    let Some(programs) = Programs::for_test() else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let plane = runtime
        .block_on(ControlPlane::start(&programs, Options::default()))
        .unwrap();
    plane.install_openshift_crds().unwrap();
    let cluster = Cluster {
        admin: plane.write_kubeconfig(&Identity::admin()).unwrap(),
        plane,
        folder: Folder::new(),
    };
    for name in ["worker", "infra", "storage"] {
        cluster.apply(&pool(name));
    }

    // Before: the doctor says what to do.
    let sick = cluster.berth("doctor -o json");
    assert_eq!(sick.exit, 1, "{sick}");
    assert_eq!(checks(&sick, "leader")[0].0, "error");
    assert!(sick.stdout.contains("run `berth install`"), "{sick}");
    what_is_not_installed_is_said(&cluster);

    // Installing twice is as good as once, and OpenShift's own definitions stay as they are.
    let openshift = cluster
        .get("crd machineconfigpools.machineconfiguration.openshift.io")
        .unwrap();
    let installed = cluster.berth("install --approve --image example.com/berth:1");
    assert_eq!(installed.exit, 0, "{installed}");
    assert!(!installed.stdout.contains("machineconfiguration"), "{installed}");
    assert_eq!(
        cluster
            .berth("install --approve --image example.com/berth:1 -o name")
            .exit,
        0
    );
    let after = cluster
        .get("crd machineconfigpools.machineconfiguration.openshift.io")
        .unwrap();
    assert_eq!(openshift["metadata"]["generation"], after["metadata"]["generation"]);

    webhook::nobody_answers_yet(&cluster);

    // The controllers with exactly these rights, and the machines of a folder.
    let hooks = Hooks::take(&cluster);
    let mistakes = webhook::Mistakes::before_anybody_looks(&cluster);
    cluster.site("one");
    let account = cluster.service_account();
    let running = cluster.controller(
        &account,
        &format!("--site site --approve --admission policy {}", webhook::ANSWERING),
    );
    hooks.register(&cluster);
    mistakes.are_held_by_nothing(&cluster);
    works(&cluster);
    answers(&cluster);
    webhook::objects_are_judged(&cluster);
    webhook::kubelets_are_judged_by_policies(&cluster);
    ignition::machines_are_served_and_announced(&cluster, &account);
    assert_eq!(running.stop(), Some(0), "{}", cluster.log());
    cluster.lacks_no_right();
    webhook::kubelets_are_judged_without_policies(&cluster);
    runtime.block_on(cluster.plane.allow_bootstrap(false)).unwrap();
    full::pools_are_rolled_out_and_requests_are_approved(&cluster);
    full::a_daemon_writes_its_own_node_and_no_other(&cluster);

    // Gone, and the Nodes are as they were. No finalizer holds anything up.
    let nodes = cluster.get("nodes").unwrap();
    let said = cluster.berth("uninstall");
    assert_eq!(said.exit, 0, "{said}");
    assert!(said.stdout.contains("leaves every Node"), "{said}");
    assert!(
        said.stdout
            .contains("leaves the definitions of pools and machine configs, which are not Berth's"),
        "{said}"
    );
    assert!(said.stdout.contains("leaves 4 bootstrap tokens"), "{said}");
    patiently(
        || "the definition of Berths does not go".to_owned(),
        |_| cluster.get("crd berths.berth.dev").is_none().then_some(()),
    );
    let names = |list: &Value| -> Vec<(Value, Value)> {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|node| (node["metadata"]["name"].clone(), node["metadata"]["labels"].clone()))
            .collect()
    };
    let after = cluster.get("nodes").unwrap();
    assert_eq!(names(&nodes), names(&after));
    let own_notes = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        let annotations = items.filter_map(|node| node["metadata"]["annotations"].as_object());
        let keys = annotations.flat_map(|annotations| annotations.keys().cloned());
        keys.filter(|key| key.starts_with("berth.dev/")).collect()
    };
    assert_ne!(own_notes(&nodes), [""; 0], "there were notes");
    assert_eq!(own_notes(&after), [""; 0]);
    let configs = cluster.get("mc").unwrap();
    assert!(!configs.to_string().contains("berth.dev/in-use"), "{configs}");
    for gone in [
        "clusterrole berth-controller",
        "validatingadmissionpolicy berth-pool-claims",
        "deployment berth-controller --namespace berth-system",
        "daemonset berth-daemon --namespace berth-system",
        "clusterrole berth-daemon",
        "validatingadmissionpolicy berth-daemon-own-node",
    ] {
        assert_eq!(cluster.get(gone), None, "{gone}");
    }
    // Nothing ends a namespace here, so it stays on its way out.
    let early = cluster.berth("install --image example.com/berth:1");
    assert_eq!(early.exit, 1, "{early}");
    assert!(early.stderr.contains("wait until it is gone"), "{early}");
    assert!(!early.stderr.contains("administrator"), "{early}");
}

/// The server was reached, and the status says what it does not have.
fn what_is_not_installed_is_said(cluster: &Cluster) {
    let bare = cluster.berth("status");
    assert_eq!(bare.exit, 1, "{bare}");
    assert!(bare.stderr.contains("Berth is not installed in this cluster"), "{bare}");
    assert!(bare.stderr.contains("run `berth install`"), "{bare}");
    assert!(
        !bare.stderr.contains("ApiError") && !bare.stderr.contains("reach"),
        "{bare}"
    );
    let nothing = cluster.berth("uninstall --dry-run");
    assert_eq!(nothing.exit, 0, "{nothing}");
}

/// The whole life on OpenShift's own types.
fn works(cluster: &Cluster) {
    let in_infra = |node: &Value| label(node, "node-role.kubernetes.io/infra") == Some("");
    cluster.wait_for("node w1", |node| {
        in_infra(node) && label(node, "example.com/tier") == Some("one")
    });
    cluster.wait_for("berth w2", |berth| {
        label(berth, "berth.dev/reserved-by") == Some("documents")
    });
    // The folder changes, and is rolled back.
    cluster.site("two");
    cluster.wait_for("node w1", |node| label(node, "example.com/tier") == Some("two"));
    cluster.folder.write(
        "site/broken.yaml",
        "apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {name: W_9}\n",
    );
    cluster.wait_for_log("the last good state holds");
    std::fs::remove_file(cluster.folder.path().join("site/broken.yaml")).unwrap();
    cluster.site("one");
    cluster.wait_for("node w2", |node| label(node, "example.com/tier") == Some("one"));
    // An administrator moves a Node, and deletes it.
    cluster.wait_for("berth w1", |berth| berth["status"]["nodeUID"].is_string());
    let moved = cluster.kubectl("label node w1 node-role.kubernetes.io/infra- node-role.kubernetes.io/storage=");
    assert_eq!(moved.exit, 0, "{moved}");
    cluster.wait_for("berth w1", |berth| berth["status"]["pool"] == "storage");
    let events = cluster.wait_for("events --all-namespaces", |events| {
        events.to_string().contains("Followed")
    });
    assert!(events.to_string().contains("Preregistered"));
    // The policies are there, and the roster knows who is where.
    cluster.wait_for("validatingadmissionpolicy berth-pool-claims", |_| true);
    cluster.wait_for("roster places", |roster| {
        roster["spec"]["places"] == json!({"w1": "storage", "w2": "infra"})
    });
    let lease = cluster.wait_for("lease berth-controller --namespace berth-system", |_| true);
    assert_eq!(lease["spec"]["holderIdentity"], "the-one");
}

/// What people ask.
fn answers(cluster: &Cluster) {
    let status = cluster.berth("status -o json");
    let pools = status.json()["pools"].clone();
    let storage = pools
        .as_array()
        .unwrap()
        .iter()
        .find(|pool| pool["name"] == "storage")
        .cloned();
    assert_eq!(storage.map(|pool| pool["berths"].clone()), Some(json!(1)), "{status}");

    // kubectl finds the program by its name.
    let plugins = cluster.folder.path().join("plugins");
    std::fs::create_dir_all(&plugins).unwrap();
    symlink(env!("CARGO_BIN_EXE_berth"), plugins.join("kubectl-berth")).unwrap();
    let plugin = |words: &str| {
        let mut kubectl = cluster.plane.kubectl().unwrap();
        finish(kubectl.env("PATH", &plugins).args(words.split_whitespace()), b"")
    };
    let by_kubectl = plugin("berth status -o json");
    assert_eq!(by_kubectl.stdout, status.stdout, "{by_kubectl}");
    let help = plugin("berth status --help");
    assert!(help.stdout.contains("Usage: kubectl berth status"), "{help}");

    let doctor = cluster.berth("doctor --approve -o json");
    assert_eq!(
        doctor.exit, 1,
        "no pod runs here, so the workload is not well: {doctor}"
    );
    for check in [
        "version",
        "definitions",
        "access",
        "leader",
        "admission",
        "certificates",
        "approvers",
    ] {
        let found = checks(&doctor, check);
        assert!(
            !found.is_empty() && found.iter().all(|(health, _)| health == "ok"),
            "{check}: {found:?}"
        );
    }
    assert_eq!(checks(&doctor, "workload")[0].0, "error");

    let unknown = cluster.berth("token create --bootstrap w7 --expires 1h -o json");
    assert!(unknown.stderr.contains("no Berth has the name w7"), "{unknown}");
    cluster.apply(&json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "Berth", "metadata": {"name": "w6"}, "spec": {"release": true},
    }));
    let released = cluster.berth("token create --bootstrap w6 --expires 1h -o json");
    assert!(released.stderr.contains("the Berth of w6 is released"), "{released}");
    let token = unknown.json();
    let secret = cluster
        .get(&format!(
            "secret bootstrap-token-{} --namespace kube-system",
            token["id"].as_str().unwrap()
        ))
        .unwrap();
    assert_eq!(secret["type"], "bootstrap.kubernetes.io/token");
    let binding = cluster
        .get(&format!("tokenbinding {}", token["id"].as_str().unwrap()))
        .unwrap();
    assert_eq!(binding["spec"], json!({"nodeName": "w7", "expires": token["expires"]}));
}

#[test]
fn an_installation_can_be_printed_without_a_cluster() {
    let printed = crate::run::line("install --dry-run --image example.com/berth:1 --admission webhook --mode full");
    assert_eq!(printed.exit, 0, "{printed}");
    for there in [
        "kind: Deployment",
        "kind: ValidatingWebhookConfiguration",
        "machineconfigpools.machineconfiguration",
    ] {
        assert!(printed.stdout.contains(there), "{there}: {printed}");
    }
    assert!(printed.stdout.contains("failurePolicy: Ignore"));
    let names = crate::run::line("install --image example.com/berth:1 --dry-run -o name");
    assert!(
        names
            .stdout
            .lines()
            .any(|name| name == "Deployment/berth-system/berth-controller"),
        "{names}"
    );
    let different: std::collections::BTreeSet<&str> = names.stdout.lines().collect();
    assert_eq!(different.len(), names.stdout.lines().count(), "{names}");
    assert!(different.contains("Role/kube-node-lease/berth-controller"), "{names}");
    assert!(different.contains("ClusterRole/berth-controller"), "{names}");
    let list = crate::run::line("install --image example.com/berth:1 --dry-run -o json").json();
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"].as_array().unwrap().len(), names.stdout.lines().count());
    let unreachable = crate::run::line("doctor --kubeconfig /nonexistent");
    assert_eq!(unreachable.exit, 3, "{unreachable}");
}

/// The commands of a console block of the ten-minute guide, by a word that is in its text.
fn guide(word: &str) -> Vec<String> {
    let guide = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/ten-minutes.md"));
    let guide = guide.unwrap();
    let (_, real) = guide.split_once("## A real cluster").expect("the section");
    let block = real
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .find(|block| block.contains(word));
    let commands = block
        .expect("the block")
        .lines()
        .filter_map(|line| line.strip_prefix("$ "));
    commands
        .map(|line| line.replace("IMAGE", "example.com/berth:1"))
        .collect()
}

/// What the ten-minute guide says about a real cluster, typed as it stands there. Only the machines are missing.
#[test]
fn the_ten_minute_guide_reaches_a_real_cluster() {
    let Some(programs) = Programs::for_test() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let plane = runtime
        .block_on(ControlPlane::start(&programs, Options::default()))
        .unwrap();
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("site")).unwrap();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/ten-minutes.md"));
    for block in text.unwrap().split("```yaml\n# ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        folder.write(name, rest.split("```").next().unwrap());
    }
    let tools = folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    symlink(env!("CARGO_BIN_EXE_berth"), tools.join("berth")).unwrap();
    symlink(programs.path("kubectl"), tools.join("kubectl")).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path))).unwrap();
    let admin = plane.write_kubeconfig(&Identity::admin()).unwrap();
    let shell = |line: &str| {
        let mut shell = Command::new("sh");
        shell
            .current_dir(folder.path())
            .args(["-c", line])
            .env("PATH", &path)
            .env("KUBECONFIG", &admin)
            .env("HOME", folder.path());
        shell
    };
    let typed = |line: &str| finish(&mut shell(line), b"");
    for line in guide("berth install") {
        let said = typed(&line);
        // No image runs here, and the doctor and the status say so.
        let sick = line.starts_with("berth doctor") || line.starts_with("berth status");
        assert_eq!(said.exit, i32::from(sick), "{line}: {said}");
        if line.starts_with("berth plan") {
            assert!(said.stdout.contains("3 awaited"), "{said}");
        }
        if line.starts_with("berth status") {
            assert!(said.stdout.contains("no controller has looked at it yet"), "{said}");
        }
    }
    let [controller] = &*guide("berth controller") else {
        panic!("one command")
    };
    let log = std::fs::File::create(folder.path().join("controller.log")).unwrap();
    let child = shell(&format!("exec {controller}"))
        .stdin(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    let running = Running(child);
    patiently(
        || format!("the places are never known: {}", typed("berth status")),
        |_| {
            typed("berth status")
                .stdout
                .matches("AwaitingMachine")
                .nth(2)
                .map(|_| ())
        },
    );
    for line in guide("token create") {
        let said = typed(&line);
        assert_eq!(said.exit, 0, "{line}: {said}");
    }
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn an_installation_needs_an_image_that_somebody_made() {
    let refused = crate::run::line("install --dry-run");
    assert_eq!(refused.exit, 2, "{refused}");
    assert!(refused.stderr.contains("--image <IMAGE>"), "{refused}");
}
