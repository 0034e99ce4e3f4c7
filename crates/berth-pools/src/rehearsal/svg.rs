//! The rehearsal as a chart over time.

use std::{fmt::Write as _, time::Duration};

use super::{Ending, Outage, OutageKind, PoolRehearsal, Rehearsal};
use crate::{
    chart::{Bar, Marker, Picture, PoolPicture, counted, draw, rows},
    forecast::format_duration,
};

/// Draws the rehearsal: a row for each node, with a bar for each time that it is out of service. A bar that runs to the
/// edge is a node that does not come back.
pub fn rehearsal_svg(rehearsal: &Rehearsal) -> String {
    // Nodes that do not come back are out for a while longer than everything else.
    let shown = rehearsal.finish.max(rehearsal.window.unwrap_or_default());
    let gone = outages(rehearsal).filter(|outage| outage.end.is_none());
    let latest = gone.map(|outage| outage.start.saturating_add(outage.start / 10)).max();
    let span = shown.max(latest.unwrap_or_default()).max(Duration::from_mins(1));
    let pools: Vec<PoolPicture> = rehearsal
        .pools
        .iter()
        .map(|pool| picture(rehearsal, pool, span))
        .collect();
    draw(&Picture {
        title: "Rollout rehearsal",
        summary: summary(rehearsal, &pools),
        legend: vec![
            ("moving", "moves to its pool's config"),
            ("new", "joins"),
            ("power", "without power"),
            ("over", "ends after the window"),
            ("lost", "does not come back"),
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
    })
}

fn outages(rehearsal: &Rehearsal) -> impl Iterator<Item = &Outage> {
    rehearsal.pools.iter().flat_map(|pool| &pool.outages)
}

fn summary(rehearsal: &Rehearsal, pools: &[PoolPicture]) -> String {
    let nodes = pools.iter().map(|pool| pool.rows.len()).sum::<usize>();
    let reboots = outages(rehearsal).fold(0_u32, |sum, outage| sum.saturating_add(outage.reboots));
    let left = rehearsal.pools.iter().map(|pool| pool.left.len()).sum::<usize>();
    let mut text = format!(
        "{} in {}, done after {}, {}",
        counted(nodes, "node"),
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
    text.push_str(match rehearsal.fits_window {
        Some(true) => ". Fits the window.",
        Some(false) => ". Does not fit the window.",
        None => ".",
    });
    text
}

fn picture(rehearsal: &Rehearsal, pool: &PoolRehearsal, span: Duration) -> PoolPicture {
    let bars = pool
        .outages
        .iter()
        .map(|outage| (outage.node.clone(), bar(rehearsal, outage, span)));
    let rows = rows(bars);
    let mut facts = vec![counted(rows.len(), "node")];
    if pool.most_out > 0 {
        facts.push(format!(
            "{} of at most {} out at once",
            pool.most_out, pool.max_unavailable
        ));
    }
    if !rows.is_empty() {
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
        note,
    }
}

fn bar(rehearsal: &Rehearsal, outage: &Outage, span: Duration) -> Bar {
    let end = outage.end.unwrap_or(span);
    let class = match (outage.end, outage.kind) {
        (None, _) => "lost",
        (Some(end), _) if rehearsal.window.is_some_and(|window| end > window) => "over",
        (_, OutageKind::Moving) => "moving",
        (_, OutageKind::New) => "new",
        (_, OutageKind::Power) => "power",
    };
    let until = match outage.end {
        Some(end) => format!("to {}", format_duration(end)),
        None => "for good".to_owned(),
    };
    let what = match outage.ending {
        Ending::Back => counted(outage.reboots as usize, "reboot"),
        Ending::Refused => "could not take the config".to_owned(),
        Ending::Draining => "its Pods do not go".to_owned(),
        Ending::Lost => "did not come back".to_owned(),
        Ending::Off => "no power".to_owned(),
    };
    Bar {
        start: outage.start,
        end,
        class,
        tip: format!("{}: {} {until}, {what}", outage.node, format_duration(outage.start)),
    }
}
