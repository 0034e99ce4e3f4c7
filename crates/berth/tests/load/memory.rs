//! How much memory processes have, and whether it grows.
//!
//! Each process is a series of its own from its start to its end, and a controller one for each time that it leads or waits. After a warm-up the mean of the last third of a series is
//! compared with that of the first third: single peaks, as when everything is listed anew, do not count, and a leak of any
//! size for each request does. What counts is memory of the process's own (`RssAnon`): pages of the executable that are read in
//! later are not growth.

use std::{collections::BTreeMap, fmt::Write as _};

use crate::fleet::Kind;

/// Caches, connection pools and the allocator's arenas fill up.
const WARM_UP: u64 = 180;

/// A program is loaded and reads what it needs.
const START: u64 = 10;

/// A series that is shorter after the warm-up says nothing: a leak would not have had the time.
const SHORTEST: u64 = 360;

/// In percent, of the first third. The arenas of a process with several threads differ by that much from minute to minute; what
/// leaks at every commit, action or watch would double the memory in an hour.
const LIMIT: u64 = 125;

/// What was measured at a time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    seconds: u64,
    resident: u64,
    own: u64,
}

/// The series of all processes.
#[derive(Debug, Default)]
pub(crate) struct Memory(BTreeMap<(Kind, String), Vec<Sample>>);

impl Memory {
    pub(crate) fn sample(&mut self, kind: Kind, identity: String, process: u32, seconds: u64) {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let kilobytes = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        // A process that is about to end has none.
        if let (Some(resident), Some(own)) = (kilobytes("VmRSS:"), kilobytes("RssAnon:")) {
            self.add(kind, identity, Sample { seconds, resident, own });
        }
    }

    fn add(&mut self, kind: Kind, identity: String, sample: Sample) {
        self.0.entry((kind, identity)).or_default().push(sample);
    }

    /// The process that grew too much.
    pub(crate) fn problem(&self) -> Option<String> {
        self.0.iter().find_map(|((_, identity), series)| {
            let growth = growth(series)?;
            (growth > LIMIT).then(|| format!("{identity} grew to {growth} % of what it had: {series:?}"))
        })
    }

    /// Whether any process ran long enough to be judged.
    pub(crate) fn is_judged(&self) -> bool {
        self.0.values().any(|series| growth(series).is_some())
    }

    /// For each kind of process its least and its most, and the longest series.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            "| process | processes | resident at least | at most | longest series | growth of own memory in it |"
                .to_owned(),
            "|---|---|---|---|---|---|".to_owned(),
        ];
        for (kind, name) in [
            (Kind::Controller, "`berth controller`"),
            (Kind::Server, "`berth serve`"),
        ] {
            let series = || {
                self.0
                    .iter()
                    .filter(|((of, _), _)| *of == kind)
                    .map(|(_, series)| series)
            };
            let resident = || {
                series()
                    .flat_map(|series| settled(series))
                    .map(|sample| sample.resident / 1024)
            };
            let mut line = format!("| {name} | {}", series().count());
            for extreme in [resident().min(), resident().max()] {
                let _ = write!(line, " | {} MiB", extreme.unwrap_or_default());
            }
            let longest = series()
                .max_by_key(|series| lasts(series))
                .map_or(&[][..], Vec::as_slice);
            let _ = write!(line, " | {} min", lasts(longest) / 60);
            let growth = growth(longest).map_or_else(
                || "too short to say".to_owned(),
                |percent| format!("to {percent} % (limit {LIMIT} %)"),
            );
            let _ = write!(line, " | {growth} |");
            lines.push(line);
        }
        lines
    }
}

fn lasts(series: &[Sample]) -> u64 {
    match series {
        [first, .., last] => last.seconds - first.seconds,
        _ => 0,
    }
}

/// What was measured after the warm-up; after its start where it did not get that far.
fn settled(series: &[Sample]) -> &[Sample] {
    let warm = after(series, WARM_UP);
    if warm.is_empty() { after(series, START) } else { warm }
}

fn after(series: &[Sample], age: u64) -> &[Sample] {
    let start = series.first().map_or(0, |first| first.seconds + age);
    let index = series.partition_point(|sample| sample.seconds < start);
    &series[index..]
}

/// The mean of the last third in percent of the mean of the first third, of what came after the warm-up.
fn growth(series: &[Sample]) -> Option<u64> {
    let series = after(series, WARM_UP);
    if lasts(series) < SHORTEST {
        return None;
    }
    let third = series.len() / 3;
    let mean = |part: &[Sample]| part.iter().map(|sample| sample.own).sum::<u64>() / u64::try_from(part.len()).unwrap();
    let (first, last) = (mean(&series[..third]), mean(&series[series.len() - third..]));
    Some(last * 100 / first.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(own: impl Fn(u64) -> u64, seconds: u64) -> Memory {
        let mut memory = Memory::default();
        for seconds in (0..seconds).step_by(2) {
            let own = own(seconds);
            let resident = own + 50_000;
            memory.add(Kind::Server, "s".to_owned(), Sample { seconds, resident, own });
        }
        memory
    }

    #[test]
    fn growth_after_the_warm_up_is_found_and_a_peak_is_not() {
        let leak = series(|seconds| 20_000 + 10 * seconds, 3600);
        assert!(leak.problem().unwrap().starts_with("s grew to"));
        let warm_up = series(|seconds| 20_000 + 10 * seconds.min(170), 3600);
        assert_eq!(warm_up.problem(), None);
        let peaks = series(|seconds| if seconds % 300 == 0 { 90_000 } else { 20_000 }, 3600);
        assert_eq!(peaks.problem(), None);
        let short = series(|seconds| 20_000 + 10 * seconds, 400);
        assert_eq!(short.problem(), None, "too short to say");
        assert!(
            warm_up.lines()[3].contains("59 min | to 100 %"),
            "{:?}",
            warm_up.lines()
        );
    }
}
