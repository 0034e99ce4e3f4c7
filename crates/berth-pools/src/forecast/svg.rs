//! The forecast as a chart over time.

use std::time::Duration;

use super::{Forecast, ForecastInput, ForecastPool, NodeForecast, NodeKind, PoolForecast, format_duration};
use crate::chart::{Bar, Mark, Marker, Picture, PoolPicture, counted, draw, folded, nodes, rows, standing};

/// Draws the forecast.
///
/// Each node that moves or joins has a row, grouped by pool, with a bar for the time it is out of service; so have nodes that are
/// out of service before, and nodes that do not move. Many nodes share rows, so that a large fleet is one screen. `source` is
/// shown at the bottom: the site, the date and the command.
pub fn svg(input: &ForecastInput, forecast: &Forecast, source: &str) -> String {
    let span = span(forecast);
    let mut pools: Vec<PoolPicture> = forecast
        .pools
        .iter()
        .zip(&input.pools)
        .map(|(pool, of)| pool_picture(forecast, pool, of, span))
        .collect();
    folded(&mut pools);
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
        summary: summary(forecast),
        legend: vec![
            (Mark::Moving, "moves to its pool's config"),
            (Mark::New, "joins"),
            (Mark::Over, "ends after the window"),
            (Mark::Unavailable, "out of service before"),
            (Mark::Waits, "does not move"),
            (Mark::Paused, "paused"),
        ],
        span,
        markers: window.into_iter().chain(without).collect(),
        pools,
        source: source.to_owned(),
    })
}

fn summary(forecast: &Forecast) -> String {
    let nodes = forecast.pools.iter().map(|pool| pool.nodes.len()).sum::<usize>();
    let reboots = |count: fn(&PoolForecast) -> u32| forecast.pools.iter().map(count).fold(0, u32::saturating_add);
    let fits = forecast
        .verdict()
        .map(|verdict| format!("; {verdict}"))
        .unwrap_or_default();
    format!(
        "{} in {}, {}, done after {} (without first-boot labels: {}, {}){fits}",
        counted(nodes, "node"),
        counted(forecast.pools.len(), "pool"),
        counted(reboots(|pool| pool.reboots_with) as usize, "reboot"),
        format_duration(forecast.finish),
        counted(reboots(|pool| pool.reboots_without) as usize, "reboot"),
        format_duration(forecast.finish_without_berth),
    )
}

fn pool_picture(forecast: &Forecast, pool: &PoolForecast, of: &ForecastPool, span: Duration) -> PoolPicture {
    let bars = pool.nodes.iter().map(|node| (node.node.clone(), bar(forecast, node)));
    let mut rows = rows(bars);
    let moving = nodes(&rows);
    rows.extend(standing(&rows, &of.rollout.nodes, &pool.left, span));
    let mut facts = vec![counted(moving, "node")];
    if !pool.waves.is_empty() {
        facts.push(format!("{} at a time", pool.max_unavailable));
        facts.push(counted(pool.waves.len(), "wave"));
    }
    if moving > 0 {
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
        pauses: pool.paused.then_some((Duration::ZERO, span)).into_iter().collect(),
        note,
    }
}

fn bar(forecast: &Forecast, node: &NodeForecast) -> Bar {
    let mark = match node.kind {
        _ if forecast.window.is_some_and(|window| node.end > window) => Mark::Over,
        NodeKind::Moving => Mark::Moving,
        NodeKind::New => Mark::New,
    };
    let wave = node.wave.map(|wave| format!("wave {wave}, ")).unwrap_or_default();
    Bar {
        start: node.start,
        end: node.end,
        mark,
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
