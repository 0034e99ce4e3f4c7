//! What the API does not show: trials, what is rendered again, and locks.

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_documents::deckhand::{DeckhandDocument, Listing, Query};
    use berth_repository::{
        BufferMode, CommitOptions, Configdocs, ConfigdocsError, DocumentRules as _, LOCK_NAME, LoadOptions, NoRules,
        Repository, SiteRules, read_documents, read_site,
    };
    use berth_store::{DocumentChange, MemoryStore, Write};

    const LAYERS: &str = "---\nschema: deckhand/LayeringPolicy/v1\nmetadata: {schema: metadata/Control/v1, name: \
                          layers}\ndata: {layerOrder: [site]}\n";

    fn repository() -> Arc<Repository> {
        Arc::new(Repository::new(Arc::new(MemoryStore::with_sealing())))
    }

    fn documents(numbers: &[u32]) -> Vec<Arc<DeckhandDocument>> {
        let mut text = LAYERS.to_owned();
        for (index, number) in numbers.iter().enumerate() {
            text.push_str("---\nschema: example/Kind/v1\nmetadata:\n  schema: metadata/Document/v1\n");
            text.push_str("  storagePolicy: cleartext\n  layeringDefinition: {layer: site}\n");
            text.push_str("  name: d");
            text.push_str(&index.to_string());
            if index > 0 {
                text.push_str(
                    "\n  substitutions: [{src: {schema: example/Kind/v1, name: d0, path: .n}, dest: {path: .from}}]",
                );
            }
            text.push_str("\ndata: {n: ");
            text.push_str(&number.to_string());
            text.push_str("}\n");
        }
        read_documents(&text).unwrap()
    }

    fn everything() -> Query {
        Query::parse::<&str, &str>(Listing::RenderedDocuments, []).unwrap()
    }

    #[tokio::test]
    async fn a_trial_says_what_would_happen_and_leaves_everything() {
        let repository = repository();
        repository
            .put_bucket("a", &documents(&[1, 2]), Write::at(1))
            .await
            .unwrap();
        let trial = repository
            .put_bucket("a", &documents(&[1, 3, 4]), Write::at(2).dry_run())
            .await
            .unwrap();
        let mut changes: Vec<(String, DocumentChange)> = trial
            .changes
            .iter()
            .map(|(identity, change)| (identity.name.clone(), *change))
            .collect();
        changes.sort();
        assert_eq!(
            changes,
            [
                ("d0".to_owned(), DocumentChange::Unmodified),
                ("d1".to_owned(), DocumentChange::Modified),
                ("d2".to_owned(), DocumentChange::Created),
                ("layers".to_owned(), DocumentChange::Unmodified),
            ]
        );
        assert_eq!(repository.store().latest().await.unwrap(), 1);
    }

    #[tokio::test]
    async fn only_what_depends_on_a_change_is_rendered_again() {
        let repository = repository();
        let query = everything();
        for (numbers, recomputed) in [([1, 1, 1], 4), ([1, 1, 2], 1), ([2, 1, 2], 3)] {
            repository
                .put_bucket("a", &documents(&numbers), Write::at(1))
                .await
                .unwrap();
            let newest = repository.store().latest().await.unwrap();
            let rendered = repository.rendered_documents(newest, &query).await.unwrap();
            let last = rendered.iter().find(|filed| filed.document.name() == "d2").unwrap();
            assert_eq!(last.data["from"], numbers[0]);
            assert_eq!(repository.recomputed(newest).await.unwrap(), recomputed, "{numbers:?}");
        }
        // Asked for again, an older revision still gives what it gave.
        let first = repository.rendered_documents(1, &query).await.unwrap();
        assert!(
            first
                .iter()
                .any(|filed| filed.document.name() == "d2" && filed.data["n"] == 1)
        );
    }

    #[tokio::test]
    async fn staging_waits_for_nobody_who_holds_the_lock() {
        let repository = repository();
        let configdocs = Configdocs::new(Arc::clone(&repository), Arc::new(NoRules));
        let store = repository.store();
        store.acquire_lock(LOCK_NAME, "other", 0, 60_000_000).await.unwrap();
        let options = LoadOptions::default();
        let refused = configdocs
            .load("a", &documents(&[1]), options, 1, "me")
            .await
            .unwrap_err();
        assert!(matches!(refused, ConfigdocsError::Locked), "{refused}");
        assert_eq!(refused.status(), 409);
        assert_eq!(
            refused.to_string(),
            "Another process is currently blocking this request with a lock for configdocs_update. Lock expires in not \
             more than 60 seconds"
        );
        let refused = configdocs.commit(CommitOptions::default(), 1, "me").await.unwrap_err();
        assert!(matches!(refused, ConfigdocsError::Locked), "{refused}");
        // A lock that nobody gave back ends by itself, and ours is given back.
        configdocs
            .load("a", &documents(&[1]), options, 60_000_001, "me")
            .await
            .unwrap();
        let replace = LoadOptions {
            mode: BufferMode::Replace,
            ..options
        };
        configdocs
            .load("a", &documents(&[2]), replace, 60_000_002, "you")
            .await
            .unwrap();
    }

    const SECRET: &str = "hunter2secret";

    /// A document that takes the secret.
    fn taking(schema: &str, path: &str, data: &str) -> String {
        format!(
            "---\nschema: {schema}\nmetadata:\n  schema: metadata/Document/v1\n  name: n1\n  storagePolicy: cleartext\n  \
             layeringDefinition: {{layer: site}}\n  substitutions:\n  - src: {{schema: deckhand/Passphrase/v1, name: s, path: .}}\n    \
             dest: {{path: '{path}'}}\ndata: {data}\n"
        )
    }

    /// Whatever field takes it: what is made of a site is for everybody, so the site does not have it. Only machine configs do,
    /// whose contents are for machines, and no message repeats it.
    #[tokio::test]
    async fn a_site_is_read_without_its_secrets() {
        let node = "drydock/BaremetalNode/v1";
        let rule = "---\nschema: berth/LabelRule/v1\nmetadata: {schema: metadata/Control/v1, name: rule}\ndata: {match: {namePatterns: \
                    ['(?<rest>.*)']}, labels: {example.com/leak: '${rest}', example.com/rack: '${node.rack}'}}\n";
        let secret = format!(
            "---\nschema: deckhand/Passphrase/v1\nmetadata: {{schema: metadata/Document/v1, name: s, storagePolicy: encrypted, \
             layeringDefinition: {{layer: site}}}}\ndata: {SECRET}\n"
        );
        let config = "{config: {ignition: {version: 3.4.0}, systemd: {units: [{name: kubelet.service}]}}}";
        for (schema, path, data, for_machines) in [
            (node, ".metadata.rack", "{metadata: {}}", false),
            (node, ".metadata.tags[0]", "{metadata: {tags: [x]}}", false),
            (node, ".metadata.owner_data.zone", "{metadata: {owner_data: {}}}", false),
            (node, ".host_profile", "{}", false),
            (node, ".oob.credential", "{oob: {type: ipmi}}", false),
            (node, ".addressing[0].address", "{addressing: [{network: pxe}]}", false),
            ("berth/Berth/v1", ".nodeName", "{}", false),
            ("berth/Berth/v1", ".labels.zone", "{labels: {}}", false),
            ("drydock/Rack/v1", ".tor_switches.a.sdn_api_uri", "{}", false),
            (
                "berth/MachineConfig/v1",
                ".config.systemd.units[0].contents",
                config,
                true,
            ),
        ] {
            let repository = repository();
            let text = format!("{LAYERS}{secret}{rule}{}", taking(schema, path, data));
            let documents = read_documents(&text).unwrap();
            repository.put_bucket("a", &documents, Write::at(1)).await.unwrap();
            let rendered = repository.site_documents(1, &everything()).await.unwrap();
            let read = read_site(&rendered);
            let mut texts = read
                .set
                .documents
                .iter()
                .map(|document| document.root.to_json().to_string());
            assert_eq!(texts.any(|text| text.contains(SECRET)), for_machines, "{schema} {path}");
            for message in (SiteRules { flavour: None }).check(&rendered) {
                let told = format!("{message:?}");
                assert!(!told.contains(SECRET), "{schema} {path}: {told}");
            }
        }
    }
}
