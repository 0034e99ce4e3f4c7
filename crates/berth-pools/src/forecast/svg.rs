//! The forecast as a chart over time.

use std::time::Duration;

use super::{Forecast, NodeForecast, NodeKind, PoolForecast, format_duration};
use crate::chart::{Bar, Marker, Picture, PoolPicture, counted, draw, rows};

/// Draws the forecast.
///
/// Each node that moves or joins has a row, grouped by pool, with a bar for the time it is out of service. Bars that
/// end after the maintenance window have another colour.
pub fn svg(forecast: &Forecast) -> String {
    let pools: Vec<PoolPicture> = forecast.pools.iter().map(|pool| pool_picture(forecast, pool)).collect();
    let span = span(forecast);
    let window = forecast.window.map(|window| Marker {
        at: window,
        class: "window",
        label: format!("window ends {}", format_duration(window)),
    });
    let without = forecast.finish_without_berth;
    // Where it differs and is in the picture.
    let without = (without > forecast.finish && without <= span).then(|| Marker {
        at: without,
        class: "without",
        label: format!("without first-boot labels {}", format_duration(without)),
    });
    draw(&Picture {
        title: "Rollout forecast",
        summary: summary(forecast, &pools),
        legend: vec![
            ("moving", "moves to its pool's config"),
            ("new", "joins"),
            ("over", "ends after the window"),
        ],
        span,
        markers: window.into_iter().chain(without).collect(),
        pools,
    })
}

fn summary(forecast: &Forecast, pools: &[PoolPicture]) -> String {
    let nodes = pools.iter().map(|pool| pool.rows.len()).sum::<usize>();
    let reboots = |count: fn(&PoolForecast) -> u32| forecast.pools.iter().map(count).fold(0, u32::saturating_add);
    let fits = match forecast.fits_window {
        Some(true) => ". Fits the window",
        Some(false) => ". Does not fit the window",
        None => "",
    };
    format!(
        "{} in {}, done after {}, {} (without first-boot labels: {} and {}){fits}.",
        counted(nodes, "node"),
        counted(forecast.pools.len(), "pool"),
        format_duration(forecast.finish),
        counted(reboots(|pool| pool.reboots_with) as usize, "reboot"),
        format_duration(forecast.finish_without_berth),
        counted(reboots(|pool| pool.reboots_without) as usize, "reboot"),
    )
}

fn pool_picture(forecast: &Forecast, pool: &PoolForecast) -> PoolPicture {
    let bars = pool.nodes.iter().map(|node| (node.node.clone(), bar(forecast, node)));
    let rows = rows(bars);
    let mut facts = vec![counted(rows.len(), "node")];
    if !pool.waves.is_empty() {
        facts.push(format!("{} at a time", pool.max_unavailable));
        facts.push(counted(pool.waves.len(), "wave"));
    }
    if !rows.is_empty() {
        facts.push(format!("done after {}", format_duration(pool.finish)));
    }
    if pool.paused {
        facts.push("paused".to_owned());
    }
    let note = pool.left.first().map(|first| match pool.left.len() {
        1 => format!("{} will not complete: {}", first.node, first.reason),
        count => format!(
            "{count} nodes will not complete, first {}: {}",
            first.node, first.reason
        ),
    });
    PoolPicture {
        name: pool.pool.clone(),
        facts,
        rows,
        note,
    }
}

fn bar(forecast: &Forecast, node: &NodeForecast) -> Bar {
    let class = match node.kind {
        _ if forecast.window.is_some_and(|window| node.end > window) => "over",
        NodeKind::Moving => "moving",
        NodeKind::New => "new",
    };
    let wave = node.wave.map(|wave| format!("wave {wave}, ")).unwrap_or_default();
    Bar {
        start: node.start,
        end: node.end,
        class,
        tip: format!(
            "{}: {wave}{} to {}, {}",
            node.node,
            format_duration(node.start),
            format_duration(node.end),
            counted(node.reboots_with as usize, "reboot"),
        ),
    }
}

/// How much time the chart shows. The end without first-boot labels is left out when it would squeeze everything else.
fn span(forecast: &Forecast) -> Duration {
    let shown = forecast.finish.max(forecast.window.unwrap_or_default());
    let without = forecast.finish_without_berth;
    if without <= shown.saturating_mul(2) {
        shown.max(without)
    } else {
        shown
    }
}
