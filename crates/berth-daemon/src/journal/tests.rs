use proptest::prelude::*;

use super::*;
use crate::{host::Capabilities, item::Owner, sim::SimHost};

fn state() -> State {
    State {
        current: NodeConfig {
            name: "rendered-worker-1".to_owned(),
            ..NodeConfig::default()
        },
        update: Some(Update {
            to: NodeConfig {
                name: "rendered-worker-2".to_owned(),
                image: Some("registry.example/os".to_owned()),
                ..NodeConfig::default()
            },
            back: Some("why".to_owned()),
            unnoticed: true,
            stage: Stage::Booting {
                boot_id: "boot".to_owned(),
            },
            actions: [Action::Restart("crio.service".to_owned()), Action::Reboot].into(),
            scope: Scope::Changed,
            serving: ["kubelet.service".to_owned()].into(),
            boot_id: "boot".to_owned(),
            force: Some("now".to_owned()),
        }),
        given_up: Some(GivenUp {
            config: "rendered-worker-0".to_owned(),
            image: None,
            reason: "broken".to_owned(),
        }),
        drained: true,
        forced: Some("then".to_owned()),
        native_arguments: ["quiet".to_owned()].into(),
    }
}

#[test]
fn a_state_reads_back_and_only_root_can_read_it() {
    let mut host = SimHost::new(Capabilities::default());
    assert_eq!(State::read(&host), Ok(None));
    state().write(&mut host).unwrap();
    assert_eq!(State::read(&host), Ok(Some(state())));
    let Some(Entry::File(file)) = host.entry(STATE).unwrap() else {
        panic!("no file");
    };
    assert_eq!((file.mode, file.owner), (0o600, Owner::ROOT));
    for stage in [
        Stage::Writing,
        Stage::Acting,
        Stage::Proving {
            since: "2026-11-18T10:00:00Z".parse().unwrap(),
        },
    ] {
        let mut state = state();
        if let Some(update) = &mut state.update {
            update.stage = stage;
        }
        assert_eq!(State::parse(&state.print().unwrap()), Ok(state));
    }
}

#[test]
fn a_state_of_a_later_program_is_not_guessed_at() {
    let text = br#"{"version": 2, "current": {"name": "a", "spec": {}}}"#;
    assert_eq!(State::parse(text), Err(JournalError::Later(2)));
    let text = br#"{"version": 1, "current": {"name": "a", "spec": {}}}"#;
    assert_eq!(State::parse(text).unwrap().current.name, "a");
    for text in [&b""[..], b"{}", b"null", b"{\"version\": 1}", b"{\"version\": -1}"] {
        assert!(matches!(State::parse(text), Err(JournalError::Damaged(_))), "{text:?}");
    }
}

#[test]
fn places_of_long_paths_are_names_of_files() {
    let long = Item::Path(format!("/{}", "a/".repeat(2000)));
    let place = place_of(&long);
    assert_eq!(place.len(), ORIGINALS.len() + 33);
    assert_ne!(place, place_of(&Item::Path("/a".to_owned())));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<Vec<u8>>()) {
        let _ = State::parse(&text);
    }
}
