use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::rollout::{MaxUnavailable, NodeState, annotation};

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

fn old(name: &str) -> NodeState {
    node(name, OLD, OLD, "Done")
}

fn new(name: &str) -> NewNode {
    NewNode {
        name: name.to_owned(),
        ..NewNode::default()
    }
}

fn pool(name: &str, limit: u32, nodes: Vec<NodeState>, joining: Vec<NewNode>) -> ForecastPool {
    ForecastPool {
        rollout: PoolRollout {
            pool: name.to_owned(),
            target: Some(NEW.to_owned()),
            max_unavailable: MaxUnavailable::Count(limit),
            nodes,
            ..PoolRollout::default()
        },
        joining,
        reboots: BTreeMap::new(),
    }
}

fn input(pools: Vec<ForecastPool>) -> ForecastInput {
    ForecastInput {
        pools,
        reboot: minutes(20),
        drain: minutes(5),
        window: None,
    }
}

/// Waves as start, end and names.
fn waves(pool: &PoolForecast) -> Vec<(u64, u64, String)> {
    let minutes = |time: Duration| time.as_secs() / 60;
    let waves = pool.waves.iter();
    waves
        .map(|wave| (minutes(wave.start), minutes(wave.end), wave.nodes.join(" ")))
        .collect()
}

fn wave(start: u64, end: u64, nodes: &str) -> (u64, u64, String) {
    (start, end, nodes.to_owned())
}

#[test]
fn equal_times_give_waves() {
    let nodes = ["e", "d", "c", "b", "a"].map(old).into();
    let forecast = forecast(&input(vec![pool("infra", 2, nodes, Vec::new())]));
    let [pool] = forecast.pools.as_slice() else {
        panic!("one pool")
    };
    assert_eq!(
        waves(pool),
        [wave(0, 25, "a b"), wave(25, 50, "c d"), wave(50, 75, "e")]
    );
    assert_eq!(forecast.finish, minutes(75));
    assert_eq!(forecast.finish_without_berth, minutes(75), "nobody joins");
    assert_eq!((pool.reboots_with, pool.reboots_without), (5, 5));
}

#[test]
fn a_slot_is_free_as_soon_as_its_node_is_done() {
    let mut infra = pool("infra", 2, ["a", "b", "c", "d"].map(old).into(), Vec::new());
    infra.reboots.insert("b".to_owned(), Reboots { with: 2, without: 2 });
    infra.reboots.insert("c".to_owned(), Reboots { with: 0, without: 0 });
    let forecast = forecast(&input(vec![infra]));
    let pool = &forecast.pools[0];
    assert_eq!(waves(pool), [wave(0, 45, "a b"), wave(25, 50, "c d")]);
    let c = pool.nodes.iter().find(|node| node.node == "c").unwrap();
    assert_eq!((c.start, c.end), (minutes(25), minutes(25)), "no reboot, no time");
}

#[test]
fn first_boot_labels_save_a_reboot_and_the_queue() {
    let joining = ["n1", "n2", "n3"].map(new).into();
    let forecast = forecast(&input(vec![pool(
        "infra",
        1,
        vec![node("a", NEW, NEW, "Done")],
        joining,
    )]));
    let pool = &forecast.pools[0];
    assert_eq!((pool.reboots_with, pool.reboots_without), (3, 6));
    assert_eq!(pool.finish, minutes(20), "all join side by side");
    assert_eq!(
        pool.finish_without_berth,
        minutes(20 + 3 * 25),
        "then one after the other into the pool"
    );
    assert!(pool.waves.is_empty(), "nobody needs a slot");
    assert!(
        pool.nodes
            .iter()
            .all(|node| (node.reboots_with, node.reboots_without) == (1, 2))
    );
}

#[test]
fn pools_roll_side_by_side() {
    let slow = pool("slow", 1, ["a", "b", "c"].map(old).into(), Vec::new());
    let fast = pool("fast", 3, ["d", "e", "f"].map(old).into(), Vec::new());
    let forecast = forecast(&input(vec![slow, fast]));
    assert_eq!(forecast.pools[0].finish, minutes(75));
    assert_eq!(forecast.pools[1].finish, minutes(25));
    assert_eq!(forecast.finish, minutes(75));
}

#[test]
fn an_arbiter_waits_for_the_masters() {
    let arbiter = pool("arbiter", 1, vec![old("x1")], Vec::new());
    let master = pool("master", 1, ["m1", "m2"].map(old).into(), Vec::new());
    let forecast = forecast(&input(vec![arbiter, master]));
    assert_eq!(waves(&forecast.pools[0]), [wave(50, 75, "x1")]);
    assert_eq!(waves(&forecast.pools[1]), [wave(0, 25, "m1"), wave(25, 50, "m2")]);
    assert_eq!(forecast.finish, minutes(75));
}

#[test]
fn the_window() {
    let mut input = input(vec![pool("infra", 1, ["a", "b", "c"].map(old).into(), Vec::new())]);
    for (window, fits, over) in [(75, true, None), (74, false, Some("c")), (30, false, Some("b"))] {
        input.window = Some(minutes(window));
        let forecast = forecast(&input);
        assert_eq!(forecast.fits_window, Some(fits), "{window}");
        assert_eq!(forecast.first_over.as_deref(), over, "{window}");
    }
    input.window = None;
    assert_eq!(forecast(&input).fits_window, None);
}

#[test]
fn what_cannot_move_is_said() {
    let mut cordoned = old("a");
    cordoned.unschedulable = true;
    let mut input = input(vec![pool("infra", 1, vec![cordoned, old("b")], Vec::new())]);
    input.window = Some(minutes(600));
    let stuck = forecast(&input);
    let left: Vec<&str> = stuck.pools[0].left.iter().map(|left| left.node.as_str()).collect();
    assert_eq!(left, ["a", "b"]);
    assert_eq!(stuck.fits_window, Some(false), "done never is not in time");

    input.pools[0].rollout.paused = true;
    let paused = forecast(&input);
    assert_eq!(paused.pools[0].left.len(), 2);
    assert_eq!(paused.fits_window, Some(true), "nobody asked for it");
}

#[test]
fn nodes_under_way_finish_first() {
    let nodes = vec![
        node("a", OLD, NEW, "Working"),
        node("b", OLD, "rendered-infra-x", "Working"),
        old("c"),
    ];
    let forecast = forecast(&input(vec![pool("infra", 2, nodes, Vec::new())]));
    assert_eq!(
        waves(&forecast.pools[0]),
        [wave(0, 25, "a b"), wave(25, 50, "b c")],
        "b has to move once more"
    );
    assert!(forecast.pools[0].left.is_empty());
}

#[test]
fn times_in_json_are_seconds() {
    let mut input = input(vec![pool("infra", 1, vec![old("a")], Vec::new())]);
    input.window = Some(minutes(240));
    let json = serde_json::to_value(forecast(&input)).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "pools": [{
                "pool": "infra", "paused": false, "max_unavailable": 1,
                "waves": [{"number": 1, "start_seconds": 0, "end_seconds": 1500, "nodes": ["a"]}],
                "nodes": [{
                    "node": "a", "kind": "moving", "wave": 1, "start_seconds": 0, "end_seconds": 1500,
                    "reboots_with": 1, "reboots_without": 1,
                }],
                "left": [], "reboots_with": 1, "reboots_without": 1,
                "finish_seconds": 1500, "finish_without_berth_seconds": 1500,
            }],
            "finish_seconds": 1500, "finish_without_berth_seconds": 1500,
            "window_seconds": 14400, "fits_window": true, "first_over": null,
        })
    );
}

#[test]
fn the_chart_is_xml_with_a_row_per_node() {
    let nodes = ["a<b>&\"c\"", "d'\u{1}\u{fffe}", "e"].map(old).into();
    let mut input = input(vec![pool("in<fra&", 1, nodes, vec![new("n1")])]);
    input.window = Some(minutes(60));
    let chart = svg(&input, &forecast(&input), "site <&> berth forecast");
    let document = roxmltree::Document::parse(&chart).unwrap();
    let bars: Vec<(&str, &str)> = document
        .descendants()
        .filter(|element| element.has_tag_name("rect") && element.children().any(|child| child.has_tag_name("title")))
        .filter_map(|bar| {
            Some((
                bar.attribute("class")?,
                bar.descendants().find_map(|child| child.text())?,
            ))
        })
        .collect();
    assert_eq!(
        bars,
        [
            ("new", "n1: 0m to 20m, 1 reboot"),
            ("moving", "a<b>&\"c\": wave 1, 0m to 25m, 1 reboot"),
            ("moving", "d'\u{fffd}\u{fffd}: wave 2, 25m to 50m, 1 reboot"),
            ("over", "e: wave 3, 50m to 1h15m, 1 reboot"),
        ]
    );
    let texts: String = document.descendants().filter_map(|element| element.text()).collect();
    assert!(texts.contains("window ends 1h") && texts.contains("in<fra&"));
    assert!(texts.contains("15m too long; first to be late is e") && texts.contains("site <&> berth forecast"));
    assert!(
        !chart.contains("http://") || chart.matches("http://").count() == 1,
        "only the name of the format"
    );
}

#[test]
fn a_chart_of_nothing_says_so() {
    let input = ForecastInput::default();
    let chart = svg(&input, &forecast(&input), "");
    roxmltree::Document::parse(&chart).unwrap();
    assert!(chart.contains("No node moves."));
}

#[test]
fn a_chart_stays_a_picture() {
    for count in [1, 60, 500, 3_000] {
        let nodes = (0..count).map(|index| old(&format!("node-{index:04}"))).collect();
        let limit = u32::try_from(count / 10).unwrap();
        let input = input(vec![pool("infra", limit, nodes, Vec::new())]);
        let chart = svg(&input, &forecast(&input), "");
        let document = roxmltree::Document::parse(&chart).unwrap();
        let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
        assert!(height <= 1_100.0, "{count} nodes: {height}");
        let tips = document.descendants().filter(|element| element.has_tag_name("title"));
        let told: String = tips.filter_map(|tip| tip.text()).collect();
        assert!(
            (0..count).all(|index| told.contains(&format!("node-{index:04}: wave"))),
            "nobody is lost in the folds"
        );
    }
}

#[test]
fn extreme_times_do_not_overflow() {
    let mut input = input(vec![pool("infra", 1, vec![old("a"), old("b")], vec![new("n")])]);
    input.reboot = Duration::MAX;
    input.window = Some(Duration::ZERO);
    roxmltree::Document::parse(&svg(&input, &forecast(&input), "")).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At no time more nodes are away than the limit allows, each node moves once, and all arrive.
    #[test]
    fn the_limit_holds_at_every_moment(limit in 1u32..6, reboots in prop::collection::vec(0u32..4, 1..30)) {
        let names: Vec<String> = (0..reboots.len()).map(|index| format!("n{index:02}")).collect();
        let mut infra = pool("infra", limit, names.iter().map(|name| old(name)).collect(), Vec::new());
        infra.reboots = names.iter().cloned().zip(reboots.iter().map(|&count| Reboots { with: count, without: count })).collect();
        let forecast = forecast(&input(vec![infra]));
        let nodes = &forecast.pools[0].nodes;
        let moved: BTreeSet<&str> = nodes.iter().map(|node| node.node.as_str()).collect();
        prop_assert_eq!((nodes.len(), moved.len()), (names.len(), names.len()));
        for moment in nodes.iter().map(|node| node.start) {
            let away = nodes.iter().filter(|node| node.start <= moment && moment < node.end).count();
            prop_assert!(away <= limit as usize);
        }
        prop_assert_eq!(forecast.pools[0].reboots_with, reboots.iter().sum::<u32>());
        prop_assert!(forecast.pools[0].left.is_empty());
    }
}
