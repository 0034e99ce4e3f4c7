use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{ForecastPool, MaxUnavailable, NewNode, NodeKind, NodeState, PoolRollout, Reboots, annotation, forecast};

const OLD: &str = "rendered-infra-1";
const NEW: &str = "rendered-infra-2";

fn minutes(minutes: u64) -> Duration {
    Duration::from_mins(minutes)
}

fn node(name: &str, current: &str, desired: &str, state: &str) -> NodeState {
    let pairs = [
        (annotation::CURRENT_CONFIG, current),
        (annotation::DESIRED_CONFIG, desired),
        (annotation::STATE, state),
    ];
    NodeState {
        name: name.to_owned(),
        annotations: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..NodeState::default()
    }
}

fn pool(limit: u32, nodes: Vec<NodeState>) -> ForecastPool {
    ForecastPool {
        rollout: PoolRollout {
            pool: "infra".to_owned(),
            target: Some(NEW.to_owned()),
            max_unavailable: MaxUnavailable::Count(limit),
            nodes,
            ..PoolRollout::default()
        },
        ..ForecastPool::default()
    }
}

fn five(limit: u32) -> ForecastInput {
    let nodes = ["a", "b", "c", "d", "e"].map(|name| node(name, OLD, OLD, "Done"));
    ForecastInput {
        pools: vec![pool(limit, nodes.into())],
        reboot: minutes(20),
        drain: minutes(5),
        window: None,
    }
}

fn script(text: &str) -> Script {
    Script::parse(text).unwrap()
}

/// Outages in minutes: node, start, end, and how it ends.
fn outages(rehearsal: &Rehearsal) -> Vec<(String, u64, Option<u64>, Ending)> {
    let of = |time: Duration| time.as_secs() / 60;
    let all = rehearsal.pools.iter().flat_map(|pool| &pool.outages);
    all.map(|outage| (outage.node.clone(), of(outage.start), outage.end.map(of), outage.ending))
        .collect()
}

fn out(node: &str, start: u64, end: u64) -> (String, u64, Option<u64>, Ending) {
    (node.to_owned(), start, Some(end), Ending::Back)
}

#[test]
fn waves_come_from_slots() {
    let rehearsal = rehearse(&five(2), &Script::default());
    assert_eq!(
        outages(&rehearsal),
        [
            out("a", 0, 25),
            out("b", 0, 25),
            out("c", 25, 50),
            out("d", 25, 50),
            out("e", 50, 75)
        ]
    );
    assert_eq!(rehearsal.pools[0].most_out, 2);
    let said: Vec<String> = rehearsal
        .journal
        .iter()
        .filter(|moment| moment.who == "e")
        .map(|moment| format!("{} {}", moment.at.as_secs() / 60, moment.what))
        .collect();
    assert_eq!(
        said,
        [
            "50 drains for rendered-infra-2",
            "55 reboots",
            "75 is back with rendered-infra-2"
        ]
    );
}

#[test]
fn a_lost_node_keeps_its_slot() {
    let mut input = five(2);
    input.window = Some(minutes(80));
    let rehearsal = rehearse(&input, &script("fail a lost"));
    assert_eq!(
        outages(&rehearsal),
        [
            ("a".to_owned(), 0, None, Ending::Lost),
            out("b", 0, 25),
            out("c", 25, 50),
            out("d", 50, 75),
            out("e", 75, 100),
        ]
    );
    assert_eq!(rehearsal.fits_window, Some(false));
    let at = rehearsal.at_window.as_ref().unwrap();
    assert_eq!(
        (at.last_start, &at.out[..]),
        (minutes(55), &["a".to_owned(), "e".to_owned()][..])
    );
    assert!(at.not_begun.is_empty());
    let consequences = compare(&rehearse(&input, &Script::default()), &rehearsal);
    assert_eq!(consequences.never, ["a"]);
    assert_eq!(consequences.finish_without, minutes(75));
    assert_eq!(consequences.fits_window_without, Some(true));
    let later: Vec<(&str, u64)> = consequences
        .later
        .iter()
        .map(|delayed| (delayed.node.as_str(), delayed.by.as_secs() / 60))
        .collect();
    assert_eq!(later, [("d", 25), ("e", 25)]);
}

#[test]
fn the_only_slot_lost_stops_all() {
    let mut input = five(1);
    input.window = Some(minutes(240));
    let rehearsal = rehearse(&input, &script("fail b stuck-drain"));
    assert_eq!(
        outages(&rehearsal),
        [out("a", 0, 25), ("b".to_owned(), 25, None, Ending::Draining)]
    );
    let left: Vec<&str> = rehearsal.pools[0].left.iter().map(|left| left.node.as_str()).collect();
    assert_eq!(left, ["c", "d", "e", "b"]);
    assert_eq!(rehearsal.at_window.unwrap().not_begun, ["c", "d", "e"]);
}

#[test]
fn a_repaired_node_gives_its_slot_back() {
    let rehearsal = rehearse(&five(1), &script("fail b lost\n2h power-on b # repaired"));
    assert_eq!(
        outages(&rehearsal),
        [
            out("a", 0, 25),
            out("b", 25, 140),
            out("c", 140, 165),
            out("d", 165, 190),
            out("e", 190, 215)
        ]
    );
}

#[test]
fn a_node_that_refuses_holds_nobody_up() {
    let rehearsal = rehearse(&five(2), &script("fail a refuses"));
    assert_eq!(rehearsal.pools[0].left.len(), 1);
    assert_eq!(rehearsal.pools[0].left[0].node, "a");
    let back: Vec<String> = outages(&rehearsal)
        .into_iter()
        .filter(|(.., ending)| *ending == Ending::Back)
        .map(|(node, ..)| node)
        .collect();
    assert_eq!(back, ["b", "c", "d", "e"]);
}

#[test]
fn power_pause_and_slow_boots() {
    let text = "fail c slow-boot 1h\n10m pause infra\n40m resume infra\n45m power-off b\n1h power-on b\n";
    let rehearsal = rehearse(&five(1), &script(text));
    assert_eq!(
        outages(&rehearsal),
        [
            out("a", 0, 25),
            // Told at 40, drained until 45, without power until 60, then it boots and drains what is left.
            out("b", 40, 105),
            out("c", 105, 170),
            out("d", 170, 195),
            out("e", 195, 220),
        ]
    );
    // A node that is idle when its power goes takes a slot too.
    let rehearsal = rehearse(&five(1), &script("5m power-off e\n1h power-on e\n"));
    assert_eq!(
        outages(&rehearsal),
        [
            out("a", 0, 25),
            out("e", 5, 80),
            out("b", 80, 105),
            out("c", 105, 130),
            out("d", 130, 155),
            out("e", 155, 180)
        ]
    );
    assert_eq!(rehearsal.pools[0].outages[1].kind, OutageKind::Power);
}

#[test]
fn scripts_say_what_is_wrong_with_them() {
    for (text, line, problem) in [
        (
            "fail a lost\nfail b dead",
            2,
            "\"dead\" is not a mishap: use lost, stuck-drain, refuses or slow-boot with a time",
        ),
        (
            "\n\n1h explode a",
            3,
            "\"explode a\" is not understood: use fail, power-off, power-on, pause or resume",
        ),
        (
            "power-off a",
            1,
            "\"power-off a\" is not understood: use fail, or a time and fail, power-off, power-on, pause or resume",
        ),
    ] {
        assert_eq!(
            Script::parse(text).unwrap_err(),
            ScriptError {
                line,
                problem: problem.to_owned()
            }
        );
    }
    assert!(
        Script::parse("soon pause infra")
            .unwrap_err()
            .problem
            .starts_with("\"soon\": ")
    );
    let mut script = Script::default();
    script.fail("n1").unwrap();
    script.fail("n2=slow-boot:40m").unwrap();
    assert!(script.fail("=lost").is_err());
    assert!(script.fail("n1=gone").is_err());
    assert_eq!(script.named().0, ["n2", "n1"]);
}

/// The marks of a chart with what a pointer over them shows, without those of the legend.
fn marks(input: &ForecastInput, script: &Script) -> Vec<(String, String)> {
    let chart = rehearsal_svg(input, &rehearse(input, script), "");
    let document = roxmltree::Document::parse(&chart).unwrap();
    let rects = document.descendants().filter(|element| element.has_tag_name("rect"));
    rects
        .filter_map(|bar| {
            let tip = bar.children().find(|child| child.has_tag_name("title"))?;
            Some((bar.attribute("class")?.to_owned(), tip.text()?.to_owned()))
        })
        .collect()
}

fn shown(marks: &[(String, String)]) -> Vec<(&str, &str)> {
    marks
        .iter()
        .map(|(class, tip)| (class.as_str(), tip.as_str()))
        .collect()
}

#[test]
fn the_chart_shows_who_does_not_come_back_and_who_waits_for_it() {
    let mut input = five(2);
    input.window = Some(minutes(80));
    assert_eq!(
        shown(&marks(&input, &script("fail a lost"))),
        [
            ("lost", "a: 0m for good, did not come back"),
            ("moving", "b: 0m to 25m, 1 reboot"),
            ("moving", "c: 25m to 50m, 1 reboot"),
            ("moving", "d: 50m to 1h15m, 1 reboot"),
            ("over", "e: 1h15m to 1h40m, 1 reboot"),
        ]
    );
    let blocked = marks(&five(1), &script("fail b lost"));
    assert_eq!(
        shown(&blocked),
        [
            ("moving", "a: 0m to 25m, 1 reboot"),
            ("lost", "b: 25m for good, did not come back"),
            ("waits", "c: no slot is free; 1 of 1 taken by b"),
            ("waits", "d: no slot is free; 1 of 1 taken by b"),
            ("waits", "e: no slot is free; 1 of 1 taken by b"),
        ]
    );
}

#[test]
fn every_trouble_has_a_mark_of_its_own() {
    let mut input = five(5);
    let mut away = node("f", NEW, NEW, "Done");
    away.conditions.ready = Some(false);
    input.pools[0].rollout.nodes.push(away);
    let events = "fail a stuck-drain\nfail b refuses\nfail c slow-boot 40m\n10m power-off d\n1h power-on d\n20m pause infra\n30m resume infra\n";
    assert_eq!(
        shown(&marks(&input, &script(events))),
        [
            ("drain", "a: 0m for good, its drain is stuck"),
            ("refused", "b: 0m to 5m, refused the config"),
            ("slow", "c: 0m to 45m, 1 reboot"),
            ("power", "d: 0m to 1h20m, 1 reboot"),
            ("moving", "e: 5m to 30m, 1 reboot"),
            ("unavailable", "f: NotReady, takes a slot"),
            ("paused", "infra is paused: 20m to 30m"),
        ]
    );
    let chart = rehearsal_svg(
        &input,
        &rehearse(&input, &script(events)),
        "site-1 2026-03-01 berth rehearse",
    );
    let document = roxmltree::Document::parse(&chart).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|element| element.text()).collect();
    for said in [
        "drain stuck",
        "config refused",
        "slow boot",
        "paused",
        "site-1 2026-03-01 berth rehearse",
    ] {
        assert!(texts.contains(&said), "{said}: {texts:?}");
    }
    assert!(!texts.contains(&"does not come back"), "the legend has what occurs");
}

#[test]
fn who_was_told_still_asks_for_its_drain() {
    let told = ["a", "b", "c"].map(|name| node(name, OLD, NEW, "Done"));
    let input = ForecastInput {
        pools: vec![pool(1, told.into())],
        ..five(1)
    };
    let rehearsal = rehearse(&input, &Script::default());
    assert_eq!(
        outages(&rehearsal),
        [out("a", 0, 25), out("b", 25, 50), out("c", 50, 75)]
    );
}

#[test]
fn an_arbiter_waits_for_the_masters() {
    let mut master = pool(1, ["m1", "m2"].map(|name| node(name, OLD, OLD, "Done")).into());
    master.rollout.pool = "master".to_owned();
    let mut arbiter = pool(1, vec![node("x1", OLD, OLD, "Done")]);
    arbiter.rollout.pool = "arbiter".to_owned();
    let input = ForecastInput {
        pools: vec![arbiter, master],
        ..five(1)
    };
    let rehearsal = rehearse(&input, &Script::default());
    assert_eq!(
        outages(&rehearsal),
        [out("x1", 50, 75), out("m1", 0, 25), out("m2", 25, 50)]
    );
}

// === the forecast and the rehearsal agree ===

#[derive(Clone, Copy, Debug)]
enum Start {
    Old,
    There,
    Cordoned,
    NotReady,
    Drifted,
    UnderWay,
    UnderWayElsewhere,
    Silent,
}

fn start() -> impl Strategy<Value = Start> {
    prop_oneof![
        8 => Just(Start::Old),
        3 => Just(Start::There),
        1 => Just(Start::Cordoned),
        1 => Just(Start::NotReady),
        1 => Just(Start::Drifted),
        1 => Just(Start::UnderWay),
        1 => Just(Start::UnderWayElsewhere),
        1 => Just(Start::Silent),
    ]
}

fn state(name: &str, start: Start) -> NodeState {
    let mut state = match start {
        Start::Old | Start::Cordoned | Start::NotReady => node(name, OLD, OLD, "Done"),
        Start::There => node(name, NEW, NEW, "Done"),
        Start::Drifted => node(name, OLD, OLD, "Degraded"),
        Start::UnderWay => node(name, OLD, NEW, "Working"),
        Start::UnderWayElsewhere => node(name, OLD, "rendered-infra-x", "Working"),
        Start::Silent => NodeState {
            name: name.to_owned(),
            ..NodeState::default()
        },
    };
    // A node under way has been drained. One that was told and has not been drained asks first, and may have to wait for
    // others that are out, which only a rehearsal sees: `who_was_told_still_asks_for_its_drain`.
    state.unschedulable = matches!(start, Start::Cordoned | Start::UnderWay | Start::UnderWayElsewhere);
    if matches!(start, Start::NotReady) {
        state.conditions.ready = Some(false);
    }
    state
}

prop_compose! {
    fn some_pool(pool: &'static str)(
        starts in prop::collection::vec(start(), 0..30),
        zones in prop::collection::vec(0u8..4, 30),
        reboots in prop::collection::vec(prop::option::weighted(0.3, 0u32..4), 30),
        joining in prop::collection::vec(prop::option::of((0u32..3, 0u32..3)), 0..6),
        limit in 1u32..6,
        percent in prop::option::of(5u32..60),
        paused in prop::bool::weighted(0.1),
        deferred in prop::option::weighted(0.2, 0usize..30),
    ) -> ForecastPool {
        let name = |node: usize| format!("{pool}-n{node:02}");
        let nodes: Vec<NodeState> = starts.iter().enumerate().map(|(node, start)| {
            let mut state = state(&name(node), *start);
            if zones[node] > 0 {
                state.labels.insert("topology.kubernetes.io/zone".to_owned(), format!("z{}", zones[node]));
            }
            state
        }).collect();
        let reboots: BTreeMap<String, Reboots> = reboots.iter().enumerate()
            .filter_map(|(node, count)| count.map(|count| (name(node), Reboots { with: count, without: count })))
            .collect();
        let joining = joining.iter().enumerate().map(|(node, reboots)| NewNode {
            name: format!("{pool}-new{node}"),
            reboots: reboots.map(|(with, more)| Reboots { with, without: with + more }),
            ..NewNode::default()
        }).collect();
        let max_unavailable = match percent {
            Some(percent) => MaxUnavailable::from_json(Some(&serde_json::json!(format!("{percent}%")))).unwrap(),
            None => MaxUnavailable::Count(limit),
        };
        ForecastPool {
            rollout: PoolRollout {
                pool: pool.to_owned(),
                target: Some(NEW.to_owned()),
                paused,
                max_unavailable,
                nodes,
                deferred: deferred.map(name),
                ..PoolRollout::default()
            },
            joining,
            reboots,
        }
    }
}

/// When each node is out, by name.
type Times = BTreeMap<String, Vec<(Duration, Duration)>>;

/// A controller and machines as simple as can be: it does what the planner of all pools says, again and again, and whoever starts is
/// away for its time.
fn controlled(input: &ForecastInput) -> Times {
    let mut pools: Vec<PoolRollout> = input.pools.iter().map(|pool| pool.rollout.clone()).collect();
    let (mut time, mut times, mut away) = (Duration::ZERO, Times::new(), Vec::new());
    loop {
        let plans = crate::plan_pools(&pools);
        let mut starts = false;
        for (index, plan) in plans.iter().enumerate() {
            for name in &plan.candidates {
                starts = true;
                let reboots = input.pools[index].reboots.get(name).map_or(1, |reboots| reboots.with);
                let end = match reboots {
                    0 => time,
                    _ => time + input.drain + input.reboot * reboots,
                };
                times.entry(name.clone()).or_default().push((time, end));
                let node = pools[index].nodes.iter_mut().find(|node| node.name == *name).unwrap();
                node.annotations
                    .insert(annotation::DESIRED_CONFIG.to_owned(), NEW.to_owned());
                node.annotations
                    .insert(annotation::STATE.to_owned(), "Working".to_owned());
                node.unschedulable = true;
                away.push((end, index, name.clone()));
            }
        }
        if !starts {
            let Some(next) = away.iter().map(|(end, ..)| *end).min() else {
                return times;
            };
            time = next;
        }
        for (_, index, name) in away.extract_if(.., |(end, ..)| *end <= time) {
            let node = pools[index].nodes.iter_mut().find(|node| node.name == name).unwrap();
            *node = NodeState {
                labels: node.labels.clone(),
                ..self::node(&name, NEW, NEW, "Done")
            };
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Both say what controllers would do with every pool, the control plane and its arbiter too.
    #[test]
    fn the_forecast_and_the_rehearsal_do_what_controllers_do(
        pools in [some_pool("arbiter"), some_pool("infra"), some_pool("master")], reboot in 0u64..60, drain in 0u64..20,
    ) {
        let mut input = ForecastInput {
            pools: pools.into(),
            reboot: minutes(reboot),
            drain: minutes(drain),
            window: None,
        };
        for pool in &mut input.pools {
            pool.joining.clear();
            // Daemons that are at work when it begins are not so simple.
            pool.rollout.nodes.retain(|node| node.daemon() != Some(crate::DaemonState::Working));
        }
        let done = controlled(&input);
        let mut foretold = Times::new();
        for node in forecast(&input).pools.iter().flat_map(|pool| &pool.nodes) {
            foretold.entry(node.node.clone()).or_default().push((node.start, node.end));
        }
        prop_assert_eq!(&foretold, &done, "the forecast");
        let mut played = Times::new();
        for outage in rehearse(&input, &Script::default()).pools.iter().flat_map(|pool| &pool.outages) {
            played.entry(outage.node.clone()).or_default().push((outage.start, outage.end.unwrap()));
        }
        prop_assert_eq!(&played, &done, "the rehearsal");
    }

    /// Both say the same about every node where nothing goes wrong.
    #[test]
    fn the_forecast_and_the_rehearsal_agree(
        pools in [some_pool("arbiter"), some_pool("infra"), some_pool("master")],
        reboot in 0u64..60, drain in 0u64..20, window in prop::option::of(0u64..600),
    ) {
        let input = ForecastInput {
            pools: pools.into(),
            reboot: minutes(reboot),
            drain: minutes(drain),
            window: window.map(minutes),
        };
        let foretold = forecast(&input);
        let played = rehearse(&input, &Script::default());
        prop_assert_eq!(foretold.finish, played.finish);
        prop_assert_eq!(foretold.fits_window, played.fits_window);
        for (foretold, played) in foretold.pools.iter().zip(&played.pools) {
            let mut told: Vec<_> = foretold.nodes.iter()
                .map(|node| (node.node.clone(), node.kind == NodeKind::New, node.start, Some(node.end)))
                .collect();
            let mut seen: Vec<_> = played.outages.iter()
                .map(|outage| (outage.node.clone(), outage.kind == OutageKind::New, outage.start, outage.end))
                .collect();
            told.sort();
            seen.sort();
            prop_assert_eq!(told, seen);
            prop_assert_eq!(foretold.reboots_with, played.reboots);
            prop_assert_eq!(foretold.max_unavailable, played.max_unavailable);
            prop_assert_eq!(&foretold.left, &played.left);
        }
    }

    /// Never more nodes are out than allowed, whatever goes wrong. Only an outage that nobody planned can add to it.
    #[test]
    fn the_limit_holds_whatever_goes_wrong(
        count in 1usize..25, limit in 1u32..5, fates in prop::collection::vec(0u8..9, 25),
    ) {
        let nodes: Vec<NodeState> = (0..count).map(|index| node(&format!("n{index:02}"), OLD, OLD, "Done")).collect();
        let mut input = five(limit);
        input.pools = vec![pool(limit, nodes)];
        let mut script = Script::default();
        for (index, fate) in fates.iter().enumerate().take(count) {
            let mishap = match fate { 0 => "lost", 1 => "stuck-drain", 2 => "refuses", 3 => "slow-boot:2h", _ => continue };
            script.fail(&format!("n{index:02}={mishap}")).unwrap();
        }
        let rehearsal = rehearse(&input, &script);
        let pool = &rehearsal.pools[0];
        prop_assert!(pool.most_out <= limit as usize, "{} of {limit}", pool.most_out);
        // Everybody is accounted for: back, refused, or left with a reason.
        for index in 0..count {
            let name = format!("n{index:02}");
            let back = pool.outages.iter().any(|outage| outage.node == name && outage.ending == Ending::Back);
            let left = pool.left.iter().any(|left| left.node == name);
            prop_assert!(back != left, "{name}");
        }
        prop_assert_eq!(rehearse(&input, &script), rehearsal, "the same again");
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = Script::parse(&text);
        let _ = Script::default().fail(&text);
    }
}
