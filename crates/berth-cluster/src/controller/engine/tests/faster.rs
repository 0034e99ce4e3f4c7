//! Somebody else writes to a Node at the same time, as OpenShift's operator does whenever a Node is moved.

use std::sync::Mutex;

use super::*;
use berth_resources::Berth;

const MOVED: &str = "n001-infra";

/// An API server with the Berth of [`MOVED`] and its Node, at every write of which somebody else is faster.
#[derive(Default)]
struct Busy {
    berth: Value,
    node: Value,
    /// Nobody else writes any more.
    calm: bool,
    /// Others write what Berth does not look at, such as heartbeats: only the version of the Node changes.
    heartbeats: bool,
    requests: Vec<String>,
}

fn merge(into: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}

async fn answer(busy: Arc<Mutex<Busy>>, request: Request<Body>) -> Result<Response<Body>, tower::BoxError> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let sent = request.into_body().collect_bytes().await?;
    let mut busy = busy.lock().unwrap();
    let is_status = path.ends_with("/status");
    busy.requests
        .push(format!("{method} {}", if is_status { "status" } else { "Node" }));
    let (status, answer) = if method == http::Method::GET {
        (200, busy.node.clone())
    } else if is_status || busy.calm {
        let mut sent: Value = serde_json::from_slice(&sent)?;
        sent["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        let Busy { berth, node, .. } = &mut *busy;
        let object = if is_status { berth } else { node };
        merge(object, &sent);
        (200, object.clone())
    } else {
        if busy.heartbeats {
            let version: u64 = busy.node["metadata"]["resourceVersion"].as_str().unwrap().parse()?;
            busy.node["metadata"]["resourceVersion"] = json!((version + 1).to_string());
        }
        let conflict =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409});
        (409, conflict)
    };
    Ok(Response::builder()
        .status(status)
        .body(Body::from(answer.to_string().into_bytes()))?)
}

/// A settled cluster whose pool `infra` has a label that no other pool has, and its API server.
fn engine() -> (Engine, Arc<Mutex<Busy>>) {
    let busy = Arc::new(Mutex::new(Busy::default()));
    let server = Arc::clone(&busy);
    let service = tower::service_fn(move |request| answer(Arc::clone(&server), request));
    let mut engine = settled_with(Client::new(service, "default"));
    engine.change_pool("infra", "example.com/tier=infra,example.com/only=1");
    engine.settle();
    let berth = engine.state.berths.get(MOVED).unwrap().berth();
    let mut berth = serde_json::to_value(berth).unwrap();
    berth["metadata"]["finalizers"] = json!([berth_decide::names::FINALIZER]);
    let stored: Berth = serde_json::from_value(berth.clone()).unwrap();
    engine
        .state
        .apply(ClusterChange::Berths(Seen::One(KeptBerth::from(&stored))));
    engine.settle();
    busy.lock().unwrap().berth = berth;
    (engine, busy)
}

/// A person moves the Node to the pool `worker`, and the operator writes to it right after.
fn relabel(engine: &mut Engine, busy: &Mutex<Busy>) {
    let mut node = engine.node(MOVED);
    node.labels.remove("node-role.kubernetes.io/infra");
    node.labels
        .insert("node-role.kubernetes.io/worker".to_owned(), String::new());
    node.resource_version = "2".to_owned();
    busy.lock().unwrap().node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": MOVED, "uid": node.uid, "resourceVersion": "3", "labels": node.labels,
            "annotations": node.annotations,
        },
        "status": {
            "nodeInfo": {
                "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "", "architecture": "",
                "containerRuntimeVersion": "", "kubeletVersion": "v1.36.4", "kubeProxyVersion": "", "operatingSystem": "",
            },
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    engine.state.apply(ClusterChange::Nodes(Seen::One(node.into())));
}

/// Carries out the one job there is as a writer does.
async fn attempt(engine: &mut Engine) {
    engine.decide();
    assert_eq!(engine.jobs.len(), 1);
    let job = engine.jobs.pop_front().unwrap();
    let outcome = engine.writer.clone().run(job.work).await;
    assert!(outcome.1.is_err(), "somebody else was faster");
    engine.done((job.key, outcome));
}

/// The patch of the next attempt.
fn next(engine: &mut Engine) -> Value {
    let now = tokio::time::Instant::now() + SECOND_LOOKS.longest;
    let woken = std::mem::take(&mut engine.wakes)
        .into_iter()
        .filter(|(at, _)| *at < now);
    engine.state.dirty.extend(woken.map(|(_, name)| name));
    engine.decide();
    let job = engine.jobs.pop_front().expect("it is tried again");
    let mut patches = job.work.iter().filter_map(|work| match work {
        Work::Apply {
            node: Some(NodeWrite::Patch(patch)),
            ..
        } => Some(patch.to_value()),
        _ => None,
    });
    patches.next_back().expect("a patch")
}

#[tokio::test]
async fn a_berth_says_the_pool_before_anything_is_written_to_a_moved_node() {
    let (mut engine, busy) = engine();
    relabel(&mut engine, &busy);
    attempt(&mut engine).await;
    let busy = busy.lock().unwrap();
    assert_eq!(busy.requests, ["PATCH status", "PATCH Node", "GET Node"]);
    assert_eq!(busy.berth["status"]["pool"], "worker");
    let conditions = busy.berth["status"]["conditions"].as_array().unwrap();
    let assigned = conditions.iter().find(|one| one["type"] == "PoolAssigned").unwrap();
    assert_eq!(assigned["message"], "pool worker, which the labels of the Node say");
}

/// What people wait for is as many requests away as there are objects to write.
#[tokio::test]
async fn a_move_takes_one_request_for_the_berth_and_one_for_the_node() {
    let (mut engine, busy) = engine();
    relabel(&mut engine, &busy);
    busy.lock().unwrap().calm = true;
    engine.decide();
    let job = engine.jobs.pop_front().unwrap();
    let outcome = engine.writer.clone().run(job.work).await;
    assert!(outcome.1.is_ok() && outcome.0.later.is_none(), "{outcome:?}");
    assert!(!outcome.0.told.is_empty(), "it is told when nothing else waits");
    engine.done((job.key, outcome));
    engine.decide();
    assert!(engine.jobs.is_empty() && engine.later.is_empty(), "{:?}", engine.jobs);
    let busy = busy.lock().unwrap();
    assert_eq!(busy.requests, ["PATCH status", "PATCH Node"]);
    let conditions = busy.berth["status"]["conditions"].as_array().unwrap();
    assert!(
        conditions
            .iter()
            .all(|one| one["type"] == "IdentityMatched" || one["status"] == "True")
    );
}

#[tokio::test]
async fn a_node_that_somebody_else_wrote_is_read_so_that_no_late_watch_decides() {
    let (mut engine, busy) = engine();
    relabel(&mut engine, &busy);
    attempt(&mut engine).await;
    let patch = next(&mut engine);
    assert_eq!(patch["metadata"]["resourceVersion"], "3", "{patch}");
    assert_eq!(patch["metadata"]["labels"]["example.com/tier"], "worker", "{patch}");
}

#[tokio::test]
async fn a_person_is_heard_however_often_somebody_else_is_faster() {
    let (mut engine, busy) = engine();
    engine.brake.on = true;
    relabel(&mut engine, &busy);
    attempt(&mut engine).await;
    let patch = next(&mut engine);
    let labels = patch["metadata"]["labels"].as_object().unwrap();
    assert_eq!(labels.get("example.com/only"), Some(&Value::Null), "{patch}");
}

#[tokio::test]
async fn a_node_that_was_only_read_has_lost_nothing() {
    let (mut engine, busy) = engine();
    relabel(&mut engine, &busy);
    // Nobody asked for this, as far as the engine can tell.
    engine.decide();
    let job = engine.jobs.pop_front().unwrap();
    engine.brake = BrakeState::default();
    engine.brake.note(
        &plan::Planned {
            node: MOVED.to_owned(),
            conflicts: 0,
            wake_after: None,
            removals: 1,
            asked: false,
            held_removals: 0,
            work: Vec::new(),
        },
        Instant::now(),
    );
    let outcome = engine.writer.clone().run(job.work).await;
    assert!(outcome.0.seen.is_some(), "{outcome:?}");
    engine.done((job.key, outcome));
    assert_eq!(engine.brake.ledger.lately(Instant::now()), 0);
}

/// How long the next attempt is away after others were faster so often.
async fn wait_after(times: usize, heartbeats: bool) -> (Engine, Arc<Mutex<Busy>>, Duration) {
    let (mut engine, busy) = engine();
    relabel(&mut engine, &busy);
    busy.lock().unwrap().heartbeats = heartbeats;
    for _ in 0..times {
        let woken = std::mem::take(&mut engine.wakes);
        engine.state.dirty.extend(woken.into_iter().map(|(_, name)| name));
        attempt(&mut engine).await;
    }
    let (at, _) = engine.wakes.first().expect("it is tried again");
    let wait = at.saturating_duration_since(Instant::now());
    (engine, busy, wait)
}

/// A second after the last write of others the Node is right, however long they wrote: nothing tells of their last one, because it
/// changes nothing that Berth looks at.
#[tokio::test]
async fn a_node_that_others_write_often_is_right_soon_after_they_stop() {
    for times in [1, 5, 12, 40] {
        let (mut engine, busy, wait) = wait_after(times, true).await;
        assert!(wait <= Duration::from_millis(200), "{wait:?} after {times} times");
        busy.lock().unwrap().calm = true;
        let woken = std::mem::take(&mut engine.wakes);
        engine.state.dirty.extend(woken.into_iter().map(|(_, name)| name));
        engine.decide();
        let job = engine.jobs.pop_front().expect("it is tried again");
        let outcome = engine.writer.clone().run(job.work).await;
        assert!(outcome.1.is_ok(), "{outcome:?}");
        engine.done((job.key, outcome));
        assert_eq!(
            busy.lock().unwrap().node["metadata"]["labels"]["example.com/tier"],
            "worker"
        );
    }
}

/// An API server, or an admission webhook, that says so although nobody has written is asked less and less often.
#[tokio::test]
async fn a_conflict_without_another_writer_is_no_hurry() {
    let (_, _, first) = wait_after(1, false).await;
    let (_, _, wait) = wait_after(12, false).await;
    assert!(
        first < Duration::from_secs(1) && wait > Duration::from_secs(5),
        "{first:?} {wait:?}"
    );
}
