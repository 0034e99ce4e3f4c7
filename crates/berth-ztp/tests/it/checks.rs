//! What is found in manifests that people have.

use berth_site::Release;
use berth_ztp::CheckOptions;

use crate::site::{findings, texts};

/// The story of the first remote workers at day 0, as its authors wrote it, on their release and on one of today.
#[test]
fn the_first_remote_workers() {
    let seed = texts("crates/berth-ztp/tests/seed");
    for minor in [9, 18] {
        let options = CheckOptions {
            release: Some(Release { major: 4, minor }),
            declared: None,
        };
        insta::assert_snapshot!(format!("seed_4_{minor}"), findings(&seed, &options).join("\n"));
    }
}

/// No text makes a check panic, and no finding is without a place.
#[test]
fn broken_manifests_are_read_as_far_as_they_go() {
    for (name, text) in texts("crates/berth-ztp/tests/seed") {
        for cut in (0..text.len()).step_by(97).filter(|cut| text.is_char_boundary(*cut)) {
            let mut sources = berth_documents::Sources::new();
            let id = sources.add(name.as_str(), &text[..cut]);
            let parsed = berth_documents::parse(&sources, id);
            let found = berth_ztp::check(&mut sources, &parsed.documents, &CheckOptions::default());
            assert!(found.iter().all(|finding| finding.span.is_some()), "{found:?}");
        }
    }
}
