//! `berth forecast`: what a rollout will cost, and whether it fits the window.

use std::{fmt::Write as _, io::Read, time::Duration};

use berth_pools::{Forecast, NodeKind, forecast, format_duration, svg};
use serde::Serialize;

use crate::{
    args::ForecastArgs,
    exit::Exit,
    failure::Failure,
    files,
    origin::Origin,
    output::{Printer, Report, Table, counted},
    rollouts,
};

/// Runs the command.
pub(crate) fn run(
    args: &ForecastArgs,
    stdin: &mut dyn Read,
    origin: &Origin<'_>,
    printer: &mut Printer<'_>,
) -> Result<Exit, Failure> {
    let change = &args.change;
    rollouts::change(change, stdin, printer, |input, site, printer| {
        let forecast = forecast(input);
        if let Some(path) = &change.svg {
            files::write_whole(path, &svg(input, &forecast, &origin.of(site)))?;
        }
        printer.report(change.output.format, &ForecastReport(&forecast))?;
        Ok(forecast.fits_window)
    })
}

#[derive(Serialize)]
struct ForecastReport<'a>(&'a Forecast);

impl Report for ForecastReport<'_> {
    fn text(&self, wide: bool) -> String {
        let steps = if wide { self.nodes() } else { self.waves() };
        format!("{steps}\n{}{}\n{}", self.pools(), self.left(), self.verdict())
    }

    fn names(&self) -> Vec<String> {
        let nodes = self.0.pools.iter().flat_map(|pool| &pool.nodes);
        nodes.map(|node| format!("node/{}", node.node)).collect()
    }
}

impl ForecastReport<'_> {
    fn waves(&self) -> Table {
        let mut table = Table::new(["POOL", "WAVE", "START", "END", "NODES"]);
        for pool in &self.0.pools {
            // Machines that join wait for nobody and so are in no wave.
            let joining: Vec<_> = pool.nodes.iter().filter(|node| node.wave.is_none()).collect();
            if let Some(end) = joining.iter().map(|node| node.end).max() {
                let start = joining.iter().map(|node| node.start).min().unwrap_or_default();
                let names: Vec<&str> = joining.iter().map(|node| node.node.as_str()).collect();
                table.row([&*pool.pool, "joining", &at(start), &at(end), &names.join(",")]);
            }
            for wave in &pool.waves {
                let number = wave.number.to_string();
                table.row([
                    &*pool.pool,
                    &number,
                    &at(wave.start),
                    &at(wave.end),
                    &wave.nodes.join(","),
                ]);
            }
        }
        table
    }

    fn nodes(&self) -> Table {
        let mut table = Table::new([
            "POOL",
            "NODE",
            "KIND",
            "WAVE",
            "START",
            "END",
            "REBOOTS",
            "REBOOTS WITHOUT BERTH",
        ]);
        for pool in &self.0.pools {
            for node in &pool.nodes {
                let kind = match node.kind {
                    NodeKind::Moving => "moving",
                    NodeKind::New => "new",
                };
                table.row([
                    pool.pool.clone(),
                    node.node.clone(),
                    kind.to_owned(),
                    node.wave.map(|wave| wave.to_string()).unwrap_or_default(),
                    at(node.start),
                    at(node.end),
                    node.reboots_with.to_string(),
                    node.reboots_without.to_string(),
                ]);
            }
        }
        table
    }

    fn pools(&self) -> Table {
        let mut table = Table::new([
            "POOL",
            "PAUSED",
            "MAX UNAVAILABLE",
            "NODES",
            "REBOOTS",
            "REBOOTS WITHOUT BERTH",
            "FINISH",
            "FINISH WITHOUT BERTH",
        ]);
        for pool in &self.0.pools {
            table.row([
                pool.pool.clone(),
                pool.paused.to_string(),
                pool.max_unavailable.to_string(),
                pool.nodes.len().to_string(),
                pool.reboots_with.to_string(),
                pool.reboots_without.to_string(),
                at(pool.finish),
                at(pool.finish_without_berth),
            ]);
        }
        table
    }

    fn left(&self) -> String {
        let mut table = Table::new(["POOL", "LEFT BEHIND", "REASON"]);
        let mut any = false;
        for pool in &self.0.pools {
            for waiting in &pool.left {
                any = true;
                table.row([&pool.pool, &waiting.node, &waiting.reason]);
            }
        }
        if any { format!("\n{table}") } else { String::new() }
    }

    fn verdict(&self) -> String {
        let forecast = self.0;
        let sum = |count: fn(&berth_pools::PoolForecast) -> u32| forecast.pools.iter().map(count).sum::<u32>();
        let reboots = |count: u32| counted(usize::try_from(count).unwrap_or(usize::MAX), "reboot");
        let mut text = format!(
            "{}, done after {}; without labels at first boot {}, done after {}\n",
            reboots(sum(|pool| pool.reboots_with)),
            format_duration(forecast.finish),
            reboots(sum(|pool| pool.reboots_without)),
            format_duration(forecast.finish_without_berth),
        );
        if let Some(verdict) = forecast.verdict() {
            let _ = writeln!(text, "{verdict}");
        }
        text
    }
}

/// A moment, counted from the start of the rollout.
pub(super) fn at(moment: Duration) -> String {
    format!("+{}", format_duration(moment))
}
