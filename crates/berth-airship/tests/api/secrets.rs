//! What comes from an encrypted document is secret in every answer to those who may not see it.

use std::{collections::BTreeSet, sync::Arc};

use berth_airship::Auth;
use berth_tokens::Role;
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::{
    access::{Tokens, ask},
    fixture::{LAYERS, Reply, Served, full},
};

const SECRET: &str = "k3Hq-unique-secret";

/// A site whose documents take a secret from each other. The numbers say which, from where, and to where.
fn site(takers: &[(usize, usize, usize, bool, bool)]) -> Vec<String> {
    let shapes = [
        format!("{{a: {{b: {SECRET}}}, text: 'u:{SECRET}@h', list: [{SECRET}]}}"),
        format!("{{a: {{b: {{{SECRET}: 1}}}}, text: {SECRET}, list: [1, {{x: {SECRET}}}]}}"),
    ];
    let paths = [".", ".a", ".a.b", ".text", ".list", ".list[0]"];
    let mut documents = vec![full(
        "d0",
        "global",
        "encrypted",
        "  labels: {is: d0}\n",
        &shapes[takers.len() % 2],
    )];
    for (number, (from, path, to, pattern, child)) in takers.iter().enumerate() {
        let from = from % (number + 1);
        let pattern = if *pattern { ", pattern: PASS" } else { "" };
        let mut more = format!(
            "  labels: {{is: d{}}}\n  substitutions:\n  - src: {{schema: example/Kind/v1, name: d{from}, path: '{}'}}\n    \
             dest: {{path: '{}'{pattern}}}\n",
            number + 1,
            paths[*path],
            paths[*to]
        );
        let mut layer = "global";
        if *child {
            layer = "site";
            more = format!("    parentSelector: {{is: d{from}}}\n    actions: [{{method: merge, path: .}}]\n{more}");
        }
        let data = "{a: {b: PASS}, text: 'see PASS', list: [PASS, 2], plain: 1}";
        documents.push(full(&format!("d{}", number + 1), layer, "cleartext", &more, data));
    }
    documents
}

/// The GET routes of the description, each with everything that its parameters can be here.
fn routes(revisions: u64) -> Vec<String> {
    let description = berth_airship::Api::description();
    let mut routes = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        let Some(about) = item.get("get") else { continue };
        let mut filled = vec![path.clone()];
        for part in path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        {
            let values: Vec<String> = match part {
                "revision_id" | "comparison_revision_id" => (0..=revisions).map(|number| number.to_string()).collect(),
                "bucket_name" | "collection_id" => vec!["mop".to_owned(), "more".to_owned()],
                "validation_name" => vec!["deckhand-schema-validation".to_owned()],
                "entry_id" => vec!["0".to_owned()],
                "tag" => vec!["good".to_owned()],
                _ => vec!["d1".to_owned()],
            };
            filled = filled
                .iter()
                .flat_map(|path| values.iter().map(|value| path.replace(&format!("{{{part}}}"), value)))
                .collect();
        }
        let parameters = about
            .get("parameters")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let takes = |name: &str| parameters.iter().any(|it| it["name"] == name);
        let mut queries = vec![String::new()];
        if takes("cleartext-secrets") {
            queries.push("cleartext-secrets=true".to_owned());
        }
        if takes("sort") {
            queries.extend(["sort=data.text", "sort=data.a.b&order=desc"].map(str::to_owned));
        }
        if takes("version") {
            queries.extend(["version=committed", "version=buffer"].map(str::to_owned));
        }
        // Streams do not end.
        if !path.contains("events") {
            routes.extend(
                filled
                    .iter()
                    .flat_map(|path| queries.iter().map(move |query| format!("{path}?{query}"))),
            );
        }
    }
    routes.into_iter().collect()
}

fn told(reply: &Reply, what: &str) {
    assert!(!reply.body.contains(SECRET), "{what}: {}", reply.body);
}

#[tokio::test]
async fn no_route_tells_a_secret_to_those_who_may_not_see_it() {
    let mut runner = TestRunner::deterministic();
    let takers = prop::collection::vec((0..8_usize, 0..6_usize, 0..6_usize, any::<bool>(), any::<bool>()), 1..7);
    let (mut rendered, mut revealed) = (0, 0);
    for _ in 0..24 {
        let mut documents = vec![LAYERS.to_owned()];
        let takers = takers.new_tree(&mut runner).unwrap().current();
        let tokens = Tokens::new();
        let api = Served::with_auth(Auth::Tokens(Arc::clone(&tokens.store))).await;
        let [viewer, operator, admin] = [Role::Viewer, Role::Operator, Role::Admin].map(|role| tokens.role(role));
        // A schema that nothing meets, in a revision of its own: what it finds must tell nothing either.
        let schema = "---\nschema: deckhand/DataSchema/v1\nmetadata: {schema: metadata/Control/v1, name: \
                      example/Kind/v1}\ndata: {type: integer, not: {}, additionalProperties: {type: boolean}}\n";
        let mut revisions = 0;
        for document in site(&takers) {
            documents.push(document);
            let put = ask(
                &api,
                Some(&operator),
                "PUT",
                "/api/v1.0/buckets/mop/documents",
                Some(&documents.concat()),
            )
            .await;
            told(&put, "the answer to a write");
            revisions += 1;
            let path = format!("/api/v1.0/revisions/{revisions}/rendered-documents");
            // What cannot be rendered is taken away again.
            if ask(&api, Some(&admin), "GET", &path, None).await.status != 200 {
                documents.pop();
            }
        }
        let load = "/api/v1.0/configdocs/more?buffermode=append";
        told(&ask(&api, Some(&operator), "POST", load, Some(schema)).await, "loading");
        told(
            &ask(
                &api,
                Some(&operator),
                "POST",
                "/api/v1.0/commitconfigdocs?dryrun=true",
                Some(""),
            )
            .await,
            "a trial",
        );
        told(
            &ask(
                &api,
                Some(&operator),
                "POST",
                "/api/v1.0/commitconfigdocs?force=true",
                Some(""),
            )
            .await,
            "a commit",
        );
        let tag = format!("/api/v1.0/revisions/{revisions}/tags/good");
        ask(&api, Some(&operator), "POST", &tag, Some("")).await.expect(201);
        for route in routes(revisions + 1) {
            for token in [&viewer, &operator] {
                let reply = ask(&api, Some(token), "GET", &route, None).await;
                told(&reply, &route);
                rendered += usize::from(reply.status == 200 && route.contains("rendered"));
            }
            if route.ends_with("cleartext-secrets=true") {
                let reply = ask(&api, Some(&admin), "GET", &route, None).await;
                revealed += usize::from(reply.body.contains(SECRET));
            }
        }
    }
    assert!(rendered > 100 && revealed > 100, "{rendered} {revealed}");
}

#[tokio::test]
async fn a_document_says_which_of_its_parts_are_secret() {
    let api = Served::sqlite().await;
    let taker = full(
        "taker",
        "site",
        "cleartext",
        "  substitutions:\n  - src: {schema: example/Kind/v1, name: s, path: .}\n    dest: {path: .a.password}\n",
        "{a: {user: root}, plain: 1}",
    );
    let secret = crate::fixture::secret("s", SECRET);
    api.put("mop", &format!("{LAYERS}{secret}{taker}")).await.expect(200);
    let shown = |query: &str| format!("revisions/1/rendered-documents?metadata.name=taker{query}");
    let hidden = api.get(&shown("")).await.expect(200).yaml();
    let open = api.get(&shown("&cleartext-secrets=true")).await.expect(200).yaml();
    for document in [&hidden, &open] {
        assert_eq!(document["status"]["secretPaths"], json!([".data.a.password"]));
        assert_eq!(document["data"]["a"]["user"], "root");
        assert_eq!(document["data"]["plain"], 1);
    }
    assert_eq!(open["data"]["a"]["password"], SECRET);
    assert_eq!(hidden["data"]["a"]["password"].as_str().map(str::len), Some(64));
    // A changed secret is seen to be another one, and no more.
    let changed = crate::fixture::secret("s", "another");
    api.put("mop", &format!("{LAYERS}{changed}{taker}")).await.expect(200);
    let after = api
        .get("revisions/2/rendered-documents?metadata.name=taker")
        .await
        .expect(200)
        .yaml();
    assert_ne!(after["data"]["a"]["password"], hidden["data"]["a"]["password"]);
    let difference = api.get("revisions/1/deepdiff/2").await.expect(200);
    told(&difference, "the difference");
    assert!(difference.body.contains("root['a']['password']"), "{}", difference.body);
    assert!(!difference.body.contains("another"), "{}", difference.body);
}

#[tokio::test]
async fn what_is_secret_becomes_no_label() {
    let api = Served::sqlite().await;
    let node = "---\nschema: drydock/BaremetalNode/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: node1\n  \
                storagePolicy: cleartext\n  layeringDefinition: {layer: site}\n  substitutions:\n  - src: {schema: \
                example/Kind/v1, name: s, path: .}\n    dest: {path: .metadata.owner_data.zone}\ndata:\n  metadata:\n    \
                owner_data: {rack: r1}\n";
    let secret = crate::fixture::secret("s", SECRET);
    api.post("configdocs/one", &format!("{LAYERS}{secret}{node}"))
        .await
        .expect(201);
    // Drydock takes the document, so the commit warns; the label is given to nobody.
    let warned = api.post("commitconfigdocs", "").await.expect(200);
    told(&warned, "a commit");
    assert!(
        warned.body.contains("the value is secret")
            && warned.body.contains("take it from a document that is not encrypted"),
        "{}",
        warned.body
    );
}
