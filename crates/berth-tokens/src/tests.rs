use std::{os::unix::fs::PermissionsExt as _, sync::Arc};

use super::*;

const NOW: Timestamp = Timestamp::constant(1_000_000, 0);
const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
const WORKER: Target<'_> = Target::Pool("worker");

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn store(folder: &tempfile::TempDir) -> TokenStore {
    TokenStore::open(folder.path().join("tokens.json")).unwrap()
}

fn new(scope: TokenScope) -> NewToken {
    NewToken {
        scope,
        expires: None,
        single_use: false,
        comment: String::new(),
    }
}

fn node<'a>(name: &'a str, pool: &'a str) -> Target<'a> {
    Target::Node { name, pool: Some(pool) }
}

fn later(seconds: i64) -> Timestamp {
    NOW + jiff::SignedDuration::from_secs(seconds)
}

#[track_caller]
fn denial(store: &TokenStore, secret: &str, target: Target<'_>, now: Timestamp) -> Option<Denial> {
    match store.verify(secret, target, HERE, now).unwrap() {
        Verdict::Granted(_) => None,
        Verdict::Denied(denial) => Some(denial),
    }
}

#[test]
fn scopes() {
    let any = TokenScope::Any;
    let worker = TokenScope::Pool("worker".to_owned());
    let n1 = TokenScope::Node("n1".to_owned());
    let unknown = Target::Node { name: "n9", pool: None };
    for (scope, target, expected) in [
        (&any, WORKER, true),
        (&any, node("n1", "worker"), true),
        (&worker, WORKER, true),
        (&worker, Target::Pool("infra"), false),
        (&worker, node("n1", "worker"), true),
        (&worker, node("n1", "infra"), false),
        (&worker, unknown, true),
        (&n1, node("n1", "worker"), true),
        (&n1, node("n2", "worker"), false),
        (&n1, WORKER, false),
        (&n1, Target::Pool("n1"), false),
        (&n1, unknown, false),
    ] {
        assert_eq!(scope.covers(target), expected, "{scope} {target}");
    }
}

#[test]
fn a_token_opens_what_it_is_for_until_it_ends() {
    let folder = folder();
    let store = store(&folder);
    let made = store
        .create(
            NewToken {
                expires: Some(later(60)),
                ..new(TokenScope::Pool("worker".to_owned()))
            },
            NOW,
        )
        .unwrap();
    let secret = made.secret.reveal();
    assert_eq!(denial(&store, secret, WORKER, NOW), None);
    assert_eq!(denial(&store, secret, WORKER, later(59)), None);
    assert_eq!(denial(&store, secret, WORKER, later(60)), Some(Denial::Expired));
    assert!(matches!(
        denial(&store, secret, Target::Pool("infra"), NOW),
        Some(Denial::OtherTarget { .. })
    ));
}

#[test]
fn every_changed_character_makes_it_unknown() {
    let folder = folder();
    let store = store(&folder);
    let made = store.create(new(TokenScope::Any), NOW).unwrap();
    let good = made.secret.reveal();
    for at in 0..good.len() {
        let mut bad = good.as_bytes().to_vec();
        bad[at] = if bad[at] == b'b' { b'c' } else { b'b' };
        let bad = String::from_utf8(bad).unwrap();
        assert_eq!(denial(&store, &bad, WORKER, NOW), Some(Denial::Unknown), "{bad}");
    }
    assert_eq!(denial(&store, "", WORKER, NOW), Some(Denial::Unknown));
    let other = super::secret::Secret::generate().unwrap();
    assert_eq!(denial(&store, other.reveal(), WORKER, NOW), Some(Denial::Unknown));
}

#[test]
fn another_process_sees_what_is_made_and_revoked() {
    let folder = folder();
    let (server, command) = (store(&folder), store(&folder));
    let made = command.create(new(TokenScope::Any), NOW).unwrap();
    assert_eq!(denial(&server, made.secret.reveal(), WORKER, NOW), None);
    let revoked = command.revoke(&made.id, later(1)).unwrap();
    assert_eq!(revoked.revoked, Some(later(1)));
    assert_eq!(
        denial(&server, made.secret.reveal(), WORKER, NOW),
        Some(Denial::Revoked)
    );
    let again = command.revoke(&made.id, later(9)).unwrap();
    assert_eq!(again, revoked);
    let missing = command.revoke("nope", NOW).unwrap_err();
    assert_eq!(missing.to_string(), "there is no token nope");
}

#[test]
fn the_file_is_for_its_owner_and_holds_no_secret() {
    let folder = folder();
    let store = store(&folder);
    let made = store.create(new(TokenScope::Any), NOW).unwrap();
    for name in ["tokens.json", "tokens.json.lock"] {
        let permissions = folder.path().join(name).metadata().unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600, "{name}");
    }
    let text = std::fs::read_to_string(store.path()).unwrap();
    let key = made.secret.reveal().rsplit_once('.').unwrap().1;
    assert!(!text.contains(key));
    assert!(text.contains(&made.id));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_single_use_is_kept_on_disk_and_can_be_repeated_by_the_same_machine_only() {
    let folder = folder();
    let first = store(&folder);
    let made = first
        .create(
            NewToken {
                single_use: true,
                ..new(TokenScope::Pool("worker".to_owned()))
            },
            NOW,
        )
        .unwrap();
    let n1 = node("n1", "worker");
    let granted = first.consume(&made.id, n1, HERE, NOW).unwrap();
    assert!(matches!(granted, Verdict::Granted(_)));
    // A server that starts anew knows it too.
    let store = store(&folder);
    let secret = made.secret.reveal();
    let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
    for (target, from, now, allowed) in [
        (n1, HERE, NOW, true),
        (n1, mapped, NOW, true),
        (n1, HERE, later(GRACE - 1), true),
        (n1, HERE, later(GRACE), false),
        (n1, HERE, later(-1), false),
        (n1, THERE, NOW, false),
        (node("n2", "worker"), HERE, NOW, false),
        (WORKER, HERE, NOW, false),
    ] {
        let verdict = store.verify(secret, target, from, now).unwrap();
        assert_eq!(
            matches!(verdict, Verdict::Granted(_)),
            allowed,
            "{target} {from} {now:?}"
        );
        let verdict = store.consume(&made.id, target, from, now).unwrap();
        assert_eq!(
            matches!(verdict, Verdict::Granted(_)),
            allowed,
            "{target} {from} {now:?}"
        );
    }
    // A repetition does not begin the time anew.
    let used = store.list().unwrap().remove(0).used.unwrap();
    assert_eq!((used.at, used.from, used.target.as_str()), (NOW, HERE, "node n1"));
}

#[test]
fn of_many_at_once_one_gets_a_single_use() {
    let folder = folder();
    let made = store(&folder)
        .create(
            NewToken {
                single_use: true,
                ..new(TokenScope::Any)
            },
            NOW,
        )
        .unwrap();
    // Half of them through one store, half as if they were processes of their own.
    let shared = Arc::new(store(&folder));
    let threads: Vec<_> = (0..50_u8)
        .map(|n| {
            let store = if n % 2 == 0 {
                Arc::clone(&shared)
            } else {
                Arc::new(store(&folder))
            };
            let id = made.id.clone();
            std::thread::spawn(move || {
                let from = IpAddr::from([198, 51, 100, n]);
                matches!(store.consume(&id, WORKER, from, NOW).unwrap(), Verdict::Granted(_))
            })
        })
        .collect();
    let granted = threads
        .into_iter()
        .filter(|_| true)
        .map(|thread| thread.join().unwrap());
    assert_eq!(granted.filter(|granted| *granted).count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_opens_nothing() {
    let folder = folder();
    let store = store(&folder);
    let made = store.create(new(TokenScope::Any), NOW).unwrap();
    for text in ["", "{", "[]", r#"{"format": 2, "tokens": []}"#, r#"{"format": 1}"#] {
        std::fs::write(store.path(), text).unwrap();
        assert!(store.verify(made.secret.reveal(), WORKER, HERE, NOW).is_err(), "{text}");
        assert!(store.create(new(TokenScope::Any), NOW).is_err(), "{text}");
        assert_eq!(std::fs::read_to_string(store.path()).unwrap(), text);
    }
    std::fs::remove_file(store.path()).unwrap();
    let gone = store.verify(made.secret.reveal(), WORKER, HERE, NOW);
    assert!(matches!(gone, Err(TokenError::Gone { .. })), "{gone:?}");
}

#[test]
fn the_dead_are_listed_for_a_month_and_then_forgotten() {
    let folder = folder();
    let store = store(&folder);
    let dying = NewToken {
        expires: Some(later(10)),
        comment: "dying".to_owned(),
        ..new(TokenScope::Any)
    };
    store.create(dying, NOW).unwrap();
    store.create(new(TokenScope::Any), NOW).unwrap();
    let month = 30 * 86_400;
    for (now, expected) in [(later(10 + month), 3), (later(11 + month), 3)] {
        store.create(new(TokenScope::Any), now).unwrap();
        assert_eq!(store.list().unwrap().len(), expected);
    }
    let comments: Vec<_> = store.list().unwrap().into_iter().map(|info| info.comment).collect();
    assert!(!comments.contains(&"dying".to_owned()), "{comments:?}");
}

#[test]
fn states() {
    let info = TokenInfo {
        id: String::new(),
        scope: TokenScope::Any,
        created: NOW,
        expires: Some(later(10)),
        single_use: true,
        comment: String::new(),
        used: None,
        revoked: None,
    };
    assert_eq!(info.state(NOW), TokenState::Valid);
    assert_eq!(info.state(later(10)), TokenState::Expired);
    let used = TokenInfo {
        used: Some(TokenUse {
            at: NOW,
            from: HERE,
            target: String::new(),
        }),
        ..info
    };
    assert_eq!(used.state(NOW), TokenState::Used);
    let revoked = TokenInfo {
        revoked: Some(NOW),
        ..used
    };
    assert_eq!(revoked.state(later(10)), TokenState::Revoked);
}
