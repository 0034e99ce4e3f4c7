//! Designs at another Deckhand: fetched where it is configured, and taken if they say what is applied.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use berth_airship::{Auth, FetchDesign, KeystoneAccess, OtherDeckhand, RolePolicy};
use berth_workflow::WorkflowOptions;
use serde_json::{Value, json};

use crate::relabelling::{JSON, On, Relabelling, SITE};

const OTHER: &str = "deckhand+http://deckhand.ucp.example:9000/api/v1.0/revisions";

/// What was asked of the other Deckhand.
#[derive(Default)]
struct Asked {
    count: AtomicUsize,
    tokens: Mutex<Vec<Option<String>>>,
}

/// A Deckhand with a revision as it is here, some that differ, one that is not a design, and none else.
fn other(asked: &Arc<Asked>) -> OtherDeckhand {
    let asked = Arc::clone(asked);
    let fetch: FetchDesign = Arc::new(move |revision, token| {
        asked.count.fetch_add(1, Ordering::SeqCst);
        asked.tokens.lock().unwrap().push(token);
        // Deckhand adds a status to each document, and the order is its own.
        let same = SITE.replace("storagePolicy: cleartext,", "storagePolicy: cleartext, labels: {},");
        let same = same.replace("\n---\n", "\nstatus: {bucket: design, revision: 5}\n---\n");
        let text = match revision {
            5 => Ok(same),
            6 => Ok(same.replace("ceph-osd: enabled", "ceph-osd: disabled")),
            7 => Ok(same.replace("name: node2", "name: node3")),
            8 => Ok("- a\n- b\n".to_owned()),
            _ => Err("it answers with 404 Not Found".into()),
        };
        Box::pin(async move { text })
    });
    OtherDeckhand::new("http", "deckhand.ucp.example:9000", fetch)
}

async fn ready(auth: Auth, asked: &Arc<Asked>) -> Relabelling {
    let server = Relabelling::beside(On::Sqlite, auth, WorkflowOptions::default(), vec![other(asked)]).await;
    server.expect("SQLite is always there")
}

async fn post(server: &Relabelling, path: &str, body: &Value) -> (u16, Value) {
    let path = format!("/api/v1.0/{path}");
    let reply = server
        .api
        .send("POST", &path, &[("Content-Type", JSON)], Some(&body.to_string()))
        .await;
    (reply.status, reply.json())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_design_elsewhere_is_taken_if_it_says_what_is_applied() {
    let asked = Arc::new(Asked::default());
    let server = ready(Auth::None, &asked).await;
    server.commit(SITE).await;
    server.site_action().await;
    server.work();
    for (revision, status, words) in [
        (5, 200, ""),
        (6, 400, "drydock/BaremetalNode/v1 node1 has other data there"),
        (
            7,
            400,
            "drydock/BaremetalNode/v1 node2 is only here; drydock/BaremetalNode/v1 node3 is only there",
        ),
        (8, 400, "cannot be used"),
        (
            9,
            503,
            "revision 9 of deckhand.ucp.example:9000 cannot be fetched: it answers with 404 Not Found",
        ),
    ] {
        let design_ref = format!("{OTHER}/{revision}/rendered-documents");
        let (got, answer) = post(&server, "nodefilter", &json!({"design_ref": design_ref})).await;
        assert_eq!(got, status, "{revision}: {answer}");
        assert!(answer.to_string().contains(words), "{revision}: {answer}");
        if status != 200 {
            let task = json!({"action": "relabel_nodes", "design_ref": design_ref});
            assert_eq!(post(&server, "tasks", &task).await.0, status, "{revision}");
            let action =
                json!({"name": "relabel_nodes", "parameters": {"target_nodes": ["node1"], "design_ref": design_ref}});
            let (got, answer) = post(&server, "actions", &action).await;
            assert_eq!(got, status, "{revision}: {answer}");
        }
    }
    assert_eq!(asked.count.load(Ordering::SeqCst), 13);
    let task = json!({"action": "relabel_nodes", "design_ref": format!("{OTHER}/5/rendered-documents")});
    let (status, task) = post(&server, "tasks", &task).await;
    assert_eq!(status, 201, "{task}");
    assert_eq!(task["design_ref"], format!("{OTHER}/5/rendered-documents"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_elsewhere_is_validated_itself() {
    let asked = Arc::new(Asked::default());
    let server = ready(Auth::None, &asked).await;
    server.commit(SITE).await;
    let validate = async |revision: u64| {
        let href = format!("{OTHER}/{revision}/rendered-documents");
        post(
            &server,
            "validatedesign",
            &json!({"rel": "design", "href": href, "type": "application/x-yaml"}),
        )
        .await
    };
    // Another site than the one that is committed here can be sound too.
    assert_eq!(validate(5).await.0, 200);
    assert_eq!(validate(7).await.0, 200);
    let (status, answer) = validate(8).await;
    assert_eq!(status, 400, "{answer}");
    assert_eq!(validate(9).await.0, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_fetched_from_where_it_is_not_configured() {
    let asked = Arc::new(Asked::default());
    let server = ready(Auth::None, &asked).await;
    server.commit(SITE).await;
    for design_ref in [
        "deckhand+https://deckhand.ucp.example:9000/api/v1.0/revisions/5/rendered-documents",
        "http://deckhand.ucp.example/api/v1.0/revisions/5/rendered-documents",
        "http://deckhand.ucp.example:9000@other.example/api/v1.0/revisions/5/rendered-documents",
        "http://deckhand.ucp.example:9000/api/v1.0/revisions/5/tags",
        "http://deckhand.ucp.example:9000/api/v1.0/revisions/5/../6/rendered-documents",
    ] {
        let (status, answer) = post(&server, "nodefilter", &json!({"design_ref": design_ref})).await;
        assert_eq!(status, 400, "{design_ref}: {answer}");
    }
    assert_eq!(asked.count.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_tokens_of_a_keystone_go_there() {
    let known = json!({"token": {"user": {"name": "vera"}, "roles": [{"name": "admin"}]}});
    let ask = Arc::new(move |_| -> futures::future::BoxFuture<'static, _> {
        let known = known.clone();
        Box::pin(async move { Ok(Some(known)) })
    });
    let keystone = Auth::Keystone(Arc::new(KeystoneAccess::new(ask, RolePolicy::default())));
    for (auth, sent) in [(keystone, Some("secret".to_owned())), (Auth::None, None)] {
        let asked = Arc::new(Asked::default());
        let server = ready(auth, &asked).await;
        let href = format!("{OTHER}/5/rendered-documents");
        let headers = [("Content-Type", JSON), ("X-Auth-Token", "secret")];
        let body = json!({"href": href}).to_string();
        let reply = server
            .api
            .send("POST", "/api/v1.0/validatedesign", &headers, Some(&body))
            .await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(*asked.tokens.lock().unwrap(), [sent]);
    }
}

/// Each design may be large and take long, so that few are here at a time, few wait, and everybody else is served meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn many_designs_elsewhere_take_few_places() {
    const REQUESTS: usize = 40;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let (count, highest, door) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&gate));
    let fetch: FetchDesign = Arc::new(move |_, _| {
        let (count, highest, door) = (Arc::clone(&count), Arc::clone(&highest), Arc::clone(&door));
        Box::pin(async move {
            highest.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let passed = door.acquire().await.map(tokio::sync::SemaphorePermit::forget);
            count.fetch_sub(1, Ordering::SeqCst);
            passed?;
            Ok(SITE.to_owned())
        })
    });
    let slow = OtherDeckhand::new("http", "deckhand.ucp.example:9000", fetch);
    let server = Relabelling::beside(On::Sqlite, Auth::None, WorkflowOptions::default(), vec![slow]).await;
    let server = Arc::new(server.expect("SQLite is always there"));
    server.commit(SITE).await;
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..REQUESTS {
        let server = Arc::clone(&server);
        asking.spawn(async move {
            let body = json!({"design_ref": format!("{OTHER}/5/rendered-documents")});
            post(&server, "nodefilter", &body).await
        });
    }
    // Those for whom there is no place are told so while the others wait.
    let mut refused = 0;
    while refused < REQUESTS - 16 {
        let (status, answer) = asking.join_next().await.unwrap().unwrap();
        assert_eq!(status, 503, "{answer}");
        assert!(answer.to_string().contains("try again later"), "{answer}");
        refused += 1;
    }
    let revisions = server.api.send("GET", "/api/v1.0/revisions", &[], None).await;
    assert_eq!(revisions.status, 200, "others are served meanwhile");
    gate.add_permits(REQUESTS);
    while let Some(answered) = asking.join_next().await {
        let (status, answer) = answered.unwrap();
        assert_eq!(status, 200, "{answer}");
    }
    assert!((1..=2).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}
