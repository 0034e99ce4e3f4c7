//! Filters, order and limit of lists of documents.

use crate::fixture::{LAYERS, Served, document, full, on_both};

on_both!(every_filter, sorting_and_limits);

async fn site(api: &Served) {
    let labelled = |name: &str, layer: &str, labels: &str, data: &str| {
        full(name, layer, "cleartext", &format!("  labels: {labels}\n"), data)
    };
    let first = [
        LAYERS.to_owned(),
        labelled("a", "global", "{rack: one, hot: 'yes'}", "{n: 3}"),
        labelled("b", "site", "{rack: one}", "{n: 1}"),
        document("c", "site", "{n: 2}"),
    ]
    .concat();
    api.put("first", &first).await.expect(200);
    let other = document("d", "site", "{n: 2}").replace("example/Kind/v1", "example/Kin/v1");
    let hollow = full("e", "site", "cleartext", "    abstract: true\n", "{n: 9}");
    api.put("second", &format!("{other}{hollow}")).await.expect(200);
}

async fn every_filter(api: Served) {
    site(&api).await;
    for (query, expected) in [
        ("", "layers a b c d e"),
        ("schema=example", "a b c d e"),
        ("schema=example/Kind", "a b c e"),
        ("schema=example/Kind/v1", "a b c e"),
        ("schema=example/Kin", "d"),
        ("schema=exam", ""),
        ("schema=example/Kind/v", ""),
        ("metadata.name=b", "b"),
        ("metadata.name=none", ""),
        ("metadata.layeringDefinition.layer=global", "a"),
        (
            "metadata.layeringDefinition.layer=global&metadata.layeringDefinition.layer=site",
            "a b c d e",
        ),
        ("metadata.layeringDefinition.abstract=True", "e"),
        ("metadata.layeringDefinition.abstract=FALSE&schema=example", "a b c d"),
        ("metadata.label=rack=one", "a b"),
        ("metadata.label=rack=one&metadata.label=hot=yes", "a"),
        ("status.bucket=second", "d e"),
        ("status.bucket=second&status.bucket=first&schema=example", "a b c d e"),
        ("status.bucket=third", ""),
        ("unknown=1&metadata.name=b", "b"),
    ] {
        let reply = api.get(&format!("revisions/2/documents?{query}")).await.expect(200);
        assert_eq!(reply.names().join(" "), expected, "{query}");
        if expected.is_empty() {
            assert_eq!(reply.body, "", "{query}");
        }
    }
    for (query, expected) in [
        ("schema=example", "a b c d"),
        ("metadata.name=c", "c"),
        ("metadata.label=rack=one", "a b"),
        ("status.bucket=second", "d"),
        ("metadata.layeringDefinition.layer=global", "a"),
        ("metadata.layeringDefinition.abstract=true&metadata.name=c", "c"),
    ] {
        let path = format!("revisions/2/rendered-documents?{query}&sort=metadata.name");
        assert_eq!(api.get(&path).await.expect(200).names().join(" "), expected, "{query}");
    }
}

async fn sorting_and_limits(api: Served) {
    site(&api).await;
    for (query, expected) in [
        ("sort=metadata.name&order=desc", "e d c b a"),
        ("sort=data.n", "b c d a e"),
        ("sort=data.n&sort=metadata.name&order=desc", "e a d c b"),
        ("sort=status.bucket&sort=data.n", "b c a d e"),
        ("order=desc", "e d c b a"),
        ("order=sideways", "a b c d e"),
        ("limit=2", "a b"),
        ("limit=0", ""),
        ("sort=metadata.name&order=desc&limit=1", "e"),
    ] {
        let reply = api
            .get(&format!("revisions/2/documents?schema=example&{query}"))
            .await
            .expect(200);
        assert_eq!(reply.names().join(" "), expected, "{query}");
    }
    for query in [
        "limit=x",
        "limit=1.5",
        "metadata.label=rack",
        "metadata.layeringDefinition.abstract=maybe",
    ] {
        api.get(&format!("revisions/2/documents?{query}")).await.expect(400);
    }
}
