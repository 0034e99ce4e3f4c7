//! The rehearsal as a chart over time.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use super::{Ending, Outage, OutageKind, PoolRehearsal, Rehearsal};
use crate::{
    chart::{Bar, Mark, Marker, Picture, PoolPicture, counted, draw, folded, nodes, rows, standing},
    forecast::{ForecastInput, ForecastPool, format_duration},
};

/// Draws the rehearsal: a row for each node, with a bar for each time that it is out of service. A bar that runs to the
/// edge is a node that does not come back. Nodes that are out of service before have a row too, and nodes that do not move. Many
/// nodes share rows, so that a large fleet is one screen. `source` is shown at the bottom: the site, the date and the command.
pub fn rehearsal_svg(input: &ForecastInput, rehearsal: &Rehearsal, source: &str) -> String {
    // Nodes that do not come back are out for a while longer than everything else.
    let shown = rehearsal.finish.max(rehearsal.window.unwrap_or_default());
    let gone = outages(rehearsal).filter(|outage| outage.end.is_none());
    let latest = gone.map(|outage| outage.start.saturating_add(outage.start / 10)).max();
    let span = shown.max(latest.unwrap_or_default()).max(Duration::from_mins(1));
    let mut pools: Vec<PoolPicture> = rehearsal
        .pools
        .iter()
        .zip(&input.pools)
        .map(|(pool, of)| picture(input, rehearsal, pool, of, span))
        .collect();
    folded(&mut pools);
    draw(&Picture {
        title: "Rollout rehearsal",
        summary: summary(rehearsal),
        legend: vec![
            (Mark::Moving, "moves to its pool's config"),
            (Mark::New, "joins"),
            (Mark::Over, "ends after the window"),
            (Mark::Slow, "slow boot"),
            (Mark::Refused, "config refused"),
            (Mark::Drain, "drain stuck"),
            (Mark::Power, "no power"),
            (Mark::Lost, "does not come back"),
            (Mark::Unavailable, "out of service before"),
            (Mark::Waits, "does not move"),
            (Mark::Paused, "paused"),
        ],
        span,
        markers: rehearsal
            .window
            .map(|window| Marker {
                at: window,
                class: "window",
                label: format!("window ends {}", format_duration(window)),
            })
            .into_iter()
            .collect(),
        pools,
        source: source.to_owned(),
    })
}

fn outages(rehearsal: &Rehearsal) -> impl Iterator<Item = &Outage> {
    rehearsal.pools.iter().flat_map(|pool| &pool.outages)
}

fn summary(rehearsal: &Rehearsal) -> String {
    let nodes: BTreeSet<&str> = outages(rehearsal).map(|outage| outage.node.as_str()).collect();
    let reboots = outages(rehearsal).fold(0_u32, |sum, outage| sum.saturating_add(outage.reboots));
    let left = rehearsal.pools.iter().map(|pool| pool.left.len()).sum::<usize>();
    let mut text = format!(
        "{} in {}, done after {}, {}",
        counted(nodes.len(), "node"),
        counted(rehearsal.pools.len(), "pool"),
        format_duration(rehearsal.finish),
        counted(reboots as usize, "reboot"),
    );
    match left {
        0 => {}
        1 => text.push_str("; 1 node does not complete"),
        // Writing to a String cannot fail.
        count => drop(write!(text, "; {count} nodes do not complete")),
    }
    if let Some(verdict) = rehearsal.verdict() {
        let _ = write!(text, "; {verdict}");
    }
    text
}

fn picture(
    input: &ForecastInput,
    rehearsal: &Rehearsal,
    pool: &PoolRehearsal,
    of: &ForecastPool,
    span: Duration,
) -> PoolPicture {
    let bars = pool
        .outages
        .iter()
        .map(|outage| (outage.node.clone(), bar(input, rehearsal, outage, span)));
    let mut rows = rows(bars);
    let moving = nodes(&rows);
    rows.extend(standing(&rows, &of.rollout.nodes, &pool.left, span));
    let mut facts = vec![counted(moving, "node")];
    if pool.most_out > 0 {
        facts.push(format!(
            "{} of at most {} out at once",
            pool.most_out, pool.max_unavailable
        ));
    }
    if moving > 0 {
        facts.push(format!("done after {}", format_duration(pool.finish)));
    }
    if pool.paused {
        facts.push("paused".to_owned());
    }
    let note = pool.left.first().map(|first| match pool.left.len() {
        1 => format!("{} does not complete: {}", first.node, first.reason),
        count => format!("{count} nodes do not complete, first {}: {}", first.node, first.reason),
    });
    PoolPicture {
        name: pool.pool.clone(),
        facts,
        rows,
        pauses: pool
            .pauses
            .iter()
            .map(|pause| (pause.start, pause.end.unwrap_or(span)))
            .collect(),
        note,
    }
}

fn bar(input: &ForecastInput, rehearsal: &Rehearsal, outage: &Outage, span: Duration) -> Bar {
    let end = outage.end.unwrap_or(span);
    let mark = match (outage.ending, outage.kind) {
        (Ending::Refused, _) => Mark::Refused,
        (Ending::Draining, _) => Mark::Drain,
        (Ending::Lost, _) => Mark::Lost,
        (Ending::Off, _) | (_, OutageKind::Power) => Mark::Power,
        (Ending::Back, _) if outage.lost_power => Mark::Power,
        (Ending::Back, _) if slow(input, outage) => Mark::Slow,
        (Ending::Back, _) if rehearsal.window.is_some_and(|window| end > window) => Mark::Over,
        (Ending::Back, OutageKind::Moving) => Mark::Moving,
        (Ending::Back, OutageKind::New) => Mark::New,
    };
    let until = match outage.end {
        Some(end) => format!("to {}", format_duration(end)),
        None => "for good".to_owned(),
    };
    let what = match outage.ending {
        Ending::Back => counted(outage.reboots as usize, "reboot"),
        Ending::Refused => "refused the config".to_owned(),
        Ending::Draining => "its drain is stuck".to_owned(),
        Ending::Lost => "did not come back".to_owned(),
        Ending::Off => "no power".to_owned(),
    };
    Bar {
        start: outage.start,
        end,
        mark,
        tip: format!("{}: {} {until}, {what}", outage.node, format_duration(outage.start)),
    }
}

/// Whether its reboots took longer than planned.
fn slow(input: &ForecastInput, outage: &Outage) -> bool {
    let planned = input.reboot.saturating_mul(outage.reboots);
    let took = outage
        .end
        .zip(outage.reboot)
        .map(|(end, start)| end.saturating_sub(start));
    took.is_some_and(|took| took > planned)
}
