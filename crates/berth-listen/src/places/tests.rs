use proptest::prelude::*;

use super::*;

const SMALL: usize = 3;

fn places() -> Arc<Places> {
    Places::new(Limits {
        connections: 6,
        connections_per_address: SMALL,
        streams: 4,
        streams_per_address: 2,
        body_bytes: 120,
        body_bytes_per_address: 60,
        ..Limits::default()
    })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Connect(u8),
    Stream(usize),
    Read(usize, usize),
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..4_u8).prop_map(Step::Connect),
        any::<usize>().prop_map(Step::Stream),
        (any::<usize>(), 0..50_usize).prop_map(|(at, bytes)| Step::Read(at, bytes)),
        any::<usize>().prop_map(Step::End),
    ]
}

proptest! {
    /// Whatever clients do, no limit is exceeded, one address never has everything, and in the end everything is given back.
    #[test]
    fn limits_hold_and_everything_is_given_back(steps in proptest::collection::vec(step(), 0..60)) {
        let places = places();
        let usage = Usage(Arc::clone(&places));
        let mut open: Vec<(u8, bool, Place, Arc<Meter>)> = Vec::new();
        let bytes_of = |open: &[(u8, bool, Place, Arc<Meter>)], from: Option<u8>| -> usize {
            let some = open.iter().filter(|it| from.is_none_or(|from| it.0 == from));
            some.map(|it| it.3.taken.load(Ordering::Relaxed)).sum()
        };
        for step in steps {
            match step {
                Step::Connect(address) => {
                    let ordinary = |from: Option<u8>| {
                        open.iter().filter(|it| !it.1 && from.is_none_or(|from| it.0 == from)).count()
                    };
                    let expected = if ordinary(Some(address)) >= SMALL {
                        Some(Refusal::ConnectionsOfAddress)
                    } else if ordinary(None) >= 6 {
                        Some(Refusal::Connections)
                    } else {
                        None
                    };
                    let place = places.take(IpAddr::from([10, 0, 0, address]));
                    prop_assert_eq!(place.as_ref().err().copied(), expected);
                    if let Ok(place) = place {
                        let meter = place.meter();
                        open.push((address, false, place, meter));
                    }
                }
                Step::Stream(at) if !open.is_empty() => {
                    let at = at % open.len();
                    let (address, was_stream) = (open[at].0, open[at].1);
                    let of_address = open.iter().filter(|it| it.1 && it.0 == address).count();
                    let expected = was_stream || (of_address < 2 && open.iter().filter(|it| it.1).count() < 4);
                    prop_assert_eq!(open[at].2.become_stream().is_ok(), expected);
                    open[at].1 |= expected;
                }
                Step::Read(at, bytes) if !open.is_empty() => {
                    let at = at % open.len();
                    let has_room = bytes_of(&open, Some(open[at].0)) + bytes <= 60 && bytes_of(&open, None) + bytes <= 120;
                    prop_assert_eq!(open[at].3.take(bytes), has_room);
                    prop_assert!(has_room || open[at].3.refusal() == Some(Refusal::BodyBytes));
                }
                Step::End(at) if !open.is_empty() => {
                    open.swap_remove(at % open.len());
                }
                _ => {}
            }
            prop_assert_eq!(usage.connections(), open.iter().filter(|it| !it.1).count());
            prop_assert_eq!(usage.streams(), open.iter().filter(|it| it.1).count());
            prop_assert_eq!(usage.body_bytes(), bytes_of(&open, None));
        }
        open.clear();
        prop_assert_eq!((usage.connections(), usage.streams(), usage.body_bytes()), (0, 0, 0));
        prop_assert!(places.lock().addresses.is_empty());
    }
}
