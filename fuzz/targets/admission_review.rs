//! Reviews of the admission webhook: whatever bytes come, what is read says which request it is, and of a Node no more than may be
//! judged is kept.
//!
//! Input: the body of a request.
#![no_main]

#[path = "../../crates/berth-cluster/src/admission/request.rs"]
#[expect(unreachable_pub, reason = "the file is a module of another crate")]
mod request;

/// What the reader takes from the policies.
mod policy {
    pub(crate) const ANNOTATIONS: &str = "berth.dev/";
    pub(crate) const MOST_ENTRIES: usize = 1000;
}

use libfuzzer_sys::fuzz_target;
use request::{Review, Subject};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Ok(review) = Review::read(data) else {
        return;
    };
    assert!(!review.uid.is_empty());
    // What is passed over need not be text.
    let Ok(sent) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    assert_eq!(sent["request"]["uid"], review.uid.as_str());
    assert_eq!(sent["request"]["dryRun"].as_bool().unwrap_or_default(), review.dry_run);
    assert!(review.creates().is_none() || review.creates() == review.node());
    match &review.subject {
        Subject::Node(node) => {
            let metadata = &sent["request"]["object"]["metadata"];
            assert_eq!(metadata["name"].as_str().unwrap_or_default(), node.name);
            assert!(
                node.labels
                    .as_ref()
                    .is_none_or(|labels| labels.len() <= policy::MOST_ENTRIES)
            );
            assert!(node.labels_before.len() <= policy::MOST_ENTRIES);
            for notes in [&node.notes, &node.notes_before] {
                assert!(notes.len() <= policy::MOST_ENTRIES);
                assert!(notes.keys().all(|key| key.starts_with(policy::ANNOTATIONS)));
            }
        }
        Subject::Own(object, before) | Subject::Config(object, before) => {
            assert_eq!(*object, sent["request"]["object"]);
            assert!(before.as_ref().is_none_or(Value::is_object));
        }
        Subject::Unreadable(why) => assert!(!why.is_empty()),
        Subject::Other => {}
    }
});
