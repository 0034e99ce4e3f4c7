//! What a terminal shows while machines boot: a picture of the moment, drawn over the last one.

use std::{collections::BTreeMap, fmt::Write as _};

use anstyle::{AnsiColor, Style};
use console::{Term, measure_text_width, truncate_str};

use super::world::Stage;
use crate::output::counted;

/// So many of the last happenings are shown.
const HAPPENINGS: usize = 6;
/// Lines around the machines: two headings, two blanks, happenings, one for machines that have no room, and the cursor's.
const FRAME: usize = HAPPENINGS + 6;
/// The picture below the summary has as many lines at least, although the summary's first ones may go out of sight.
const LEAST: usize = 5;

/// One machine at this moment.
#[derive(Clone, Debug)]
pub(super) struct MachineView {
    pub(super) name: String,
    pub(super) pool: String,
    /// Whether it would have to reboot if it were labelled after it joined.
    pub(super) reboots: bool,
    pub(super) stage: Stage,
    /// Labels of the site that its Node has, and how many it should have.
    pub(super) labels: (usize, usize),
    pub(super) boots: u32,
}

/// Everything at this moment.
#[derive(Clone, Debug)]
pub(super) struct Picture<'a> {
    pub(super) elapsed: i64,
    pub(super) speed: u16,
    pub(super) saved: usize,
    pub(super) machines: &'a [MachineView],
    pub(super) happenings: &'a [String],
}

const HEAD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BUSY: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

fn style(stage: Stage) -> Style {
    match stage {
        Stage::InPlace => GOOD,
        Stage::Stopped => BAD,
        Stage::Off => DIM,
        _ => BUSY,
    }
}

/// The lines of a picture, none wider than the terminal and not more than it has.
pub(super) fn lines(picture: &Picture<'_>, width: usize, height: usize) -> Vec<String> {
    let mut lines = vec![head(picture), String::new()];
    let mut pools: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for machine in picture.machines {
        let (all, there) = pools.entry(&machine.pool).or_default();
        *all += 1;
        *there += usize::from(machine.stage == Stage::InPlace);
    }
    let name = widest("POOL", pools.keys().copied());
    lines.push(format!("{HEAD}{:<name$}   IN PLACE{HEAD:#}", "POOL"));
    for (pool, (all, there)) in &pools {
        let style = if all == there { GOOD } else { BUSY };
        lines.push(format!(
            "{pool:<name$}   {style}{there:>4} of {all:<4}{style:#} {}",
            bar(*there, *all)
        ));
    }
    lines.push(String::new());

    let taken = lines.len() + FRAME;
    let room = height.saturating_sub(taken).max(3);
    lines.extend(machines(picture, room));
    lines.push(String::new());
    lines.push(format!("{HEAD}NOW{HEAD:#}"));
    lines.extend(happenings(picture, HAPPENINGS));
    fitted(lines, width, height)
}

/// What is worth seeing below the summary: machines that are not in their places, and what happens.
fn brief(picture: &Picture<'_>, width: usize, height: usize) -> Vec<String> {
    let mut lines = vec![String::new(), head(picture)];
    let away: Vec<MachineView> = picture
        .machines
        .iter()
        .filter(|machine| machine.stage != Stage::InPlace)
        .cloned()
        .collect();
    // A heading, a line for those without room, and two happenings at least.
    let room = height.saturating_sub(lines.len() + 5);
    if !away.is_empty() && room > 0 {
        lines.extend(machines(
            &Picture {
                machines: &away,
                ..*picture
            },
            room,
        ));
    }
    let left = height.saturating_sub(lines.len() + 1).min(HAPPENINGS);
    lines.extend(happenings(picture, left));
    fitted(lines, width, height)
}

/// The last things that happened.
fn happenings(picture: &Picture<'_>, count: usize) -> impl Iterator<Item = String> {
    let first = picture.happenings.len().saturating_sub(count);
    let last = picture.happenings.iter().skip(first);
    last.map(|line| format!("{DIM}{line}{DIM:#}"))
}

/// The lines of which none is wider than the terminal, and not more than it has.
fn fitted(mut lines: Vec<String>, width: usize, height: usize) -> Vec<String> {
    lines.truncate(height.saturating_sub(1).max(1));
    let lines = lines.into_iter();
    lines.map(|line| truncate_str(&line, width, "…").into_owned()).collect()
}

fn head(picture: &Picture<'_>) -> String {
    let boots: u32 = picture.machines.iter().map(|machine| machine.boots).sum();
    let mut line = format!(
        "{HEAD}berth up{HEAD:#}   {} simulated, {} times as fast   {}",
        minutes(picture.elapsed),
        picture.speed,
        counted(usize::try_from(boots).unwrap_or(usize::MAX), "boot"),
    );
    let _ = write!(line, "   {GOOD}{} saved{GOOD:#}", counted(picture.saved, "reboot"));
    line
}

/// As many machines as there is room for: those that are busy first.
fn machines(picture: &Picture<'_>, room: usize) -> Vec<String> {
    let mut shown: Vec<&MachineView> = picture.machines.iter().collect();
    shown.sort_by_key(|machine| (machine.stage, machine.name.as_str()));
    let rest = shown.split_off(room.min(shown.len()));
    let name = widest("MACHINE", shown.iter().map(|machine| machine.name.as_str()));
    let pool = widest("POOL", shown.iter().map(|machine| machine.pool.as_str()));
    let mut lines = vec![format!(
        "{HEAD}{:<name$}   {:<pool$}   {:<18}   LABELS   BOOTS{HEAD:#}",
        "MACHINE", "POOL", "PHASE"
    )];
    for machine in shown {
        let style = style(machine.stage);
        let (has, wants) = machine.labels;
        lines.push(format!(
            "{:<name$}   {:<pool$}   {style}{:<18}{style:#}   {:<6}   {}",
            machine.name,
            machine.pool,
            machine.stage.as_str(),
            format!("{has}/{wants}"),
            machine.boots
        ));
    }
    if !rest.is_empty() {
        let mut stages: BTreeMap<Stage, usize> = BTreeMap::new();
        for machine in &rest {
            *stages.entry(machine.stage).or_default() += 1;
        }
        let stages: Vec<String> = stages
            .iter()
            .map(|(stage, count)| format!("{count} {}", stage.as_str()))
            .collect();
        lines.push(format!("{DIM}and {} more: {}{DIM:#}", rest.len(), stages.join(", ")));
    }
    lines
}

fn widest<'a>(head: &str, names: impl Iterator<Item = &'a str>) -> usize {
    names.map(measure_text_width).max().unwrap_or(0).max(head.len())
}

fn bar(done: usize, all: usize) -> String {
    const LENGTH: usize = 24;
    let filled = done.saturating_mul(LENGTH).checked_div(all).unwrap_or(0).min(LENGTH);
    format!("{}{DIM}{}{DIM:#}", "█".repeat(filled), "░".repeat(LENGTH - filled))
}

/// Seconds as people say them.
pub(super) fn minutes(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds}s"),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

/// A terminal with a picture on it.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: Term,
    /// How many lines the last picture had.
    drawn: usize,
    /// The text that stands above the pictures, once there is one.
    above: Option<String>,
}

impl Screen {
    /// The terminal, if standard output is one that can move its cursor.
    pub(super) fn open() -> Option<Self> {
        let terminal = Term::buffered_stdout();
        let able =
            terminal.is_term() && terminal.features().is_attended() && console::Term::stdout().size_checked().is_some();
        able.then_some(Self {
            terminal,
            drawn: 0,
            above: None,
        })
    }

    /// Writes a text below the picture, which stays as it is. It is not cut: people copy from it. Later pictures are small and
    /// stand below it.
    pub(super) fn leave(&mut self, text: String) {
        let _ = self.terminal.write_str(&text).and_then(|()| self.terminal.flush());
        self.drawn = 0;
        self.above = Some(text);
    }

    /// Draws over the last picture. A terminal that does not take it is not a reason to stop.
    pub(super) fn draw(&mut self, picture: &Picture<'_>) {
        let (height, width) = self.terminal.size();
        let (height, width) = (usize::from(height), usize::from(width));
        let lines = match &self.above {
            Some(above) => {
                let rows: usize = above.lines().map(|line| rows(line, width)).sum();
                brief(picture, width, height.saturating_sub(rows).max(LEAST))
            }
            None => lines(picture, width, height),
        };
        let colours = console::colors_enabled();
        let mut text = String::new();
        if self.drawn > 0 {
            let _ = write!(text, "\u{1b}[{}A\r", self.drawn);
        }
        for line in &lines {
            let line = if colours {
                line.clone()
            } else {
                console::strip_ansi_codes(line).into_owned()
            };
            let _ = writeln!(text, "{line}\u{1b}[K");
        }
        // What is left of a longer picture.
        text.push_str("\u{1b}[J");
        self.drawn = lines.len();
        let _ = self.terminal.write_str(&text).and_then(|()| self.terminal.flush());
    }
}

/// How many rows of the terminal a line takes.
fn rows(line: &str, width: usize) -> usize {
    measure_text_width(line).div_ceil(width.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(index: usize, stage: Stage) -> MachineView {
        MachineView {
            name: format!("machine-{index:03}"),
            pool: if index.is_multiple_of(3) { "infra" } else { "worker" }.to_owned(),
            reboots: index.is_multiple_of(3),
            stage,
            labels: (index % 5, 4),
            boots: 1,
        }
    }

    fn plain(lines: &[String]) -> String {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| console::strip_ansi_codes(line).trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    #[test]
    fn a_picture() {
        let stages = [Stage::InPlace, Stage::Booting, Stage::Requesting, Stage::Running];
        let machines: Vec<MachineView> = (0..8).map(|index| machine(index, stages[index % 4])).collect();
        let happenings: Vec<String> = (0..9)
            .map(|index| format!("{index:>5}s  machine-{index:03} does it"))
            .collect();
        let picture = Picture {
            elapsed: 135,
            speed: 30,
            saved: 1,
            machines: &machines,
            happenings: &happenings,
        };
        let shown = plain(&lines(&picture, 80, 40));
        let words: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        let row = |first: &str| words.iter().find(|words| words.first() == Some(&first)).unwrap();
        assert_eq!(
            shown.lines().next().unwrap(),
            "berth up   2m15s simulated, 30 times as fast   8 boots   1 reboot saved"
        );
        assert_eq!(row("infra")[1..4], ["1", "of", "3"]);
        assert_eq!(row("worker")[1..4], ["1", "of", "5"]);
        assert_eq!(row("machine-002")[1..], ["worker", "wants", "certificate", "2/4", "1"]);
        assert_eq!(row("machine-004")[1..], ["worker", "Occupied", "4/4", "1"]);
        // Those where something happens are above those that are in their places.
        let at = |text: &str| shown.find(text).unwrap();
        assert!(at("machine-002   worker") < at("machine-003   infra") && at("machine-001 ") < at("machine-000 "));
        // The last things that happened, and no older ones.
        assert!(shown.contains("8s  machine-008 does it") && shown.contains("3s  machine-003 does it"));
        assert!(!shown.contains("machine-002 does it"));
    }

    #[test]
    fn below_the_summary_is_what_moves() {
        let machines = [
            machine(0, Stage::InPlace),
            machine(1, Stage::Booting),
            machine(2, Stage::InPlace),
        ];
        let happenings: Vec<String> = (0..9).map(|index| format!("{index} happens")).collect();
        let mut picture = Picture {
            elapsed: 5,
            speed: 30,
            saved: 0,
            machines: &machines,
            happenings: &happenings,
        };
        let shown = plain(&brief(&picture, 80, 10));
        assert!(
            shown.contains("machine-001") && !shown.contains("machine-000"),
            "{shown}"
        );
        assert!(shown.contains("8 happens"), "{shown}");
        picture.machines = &machines[..1];
        let shown = plain(&brief(&picture, 80, LEAST));
        assert!(!shown.contains("MACHINE") && shown.ends_with("8 happens"), "{shown}");
        assert_eq!((rows("", 80), rows(&"x".repeat(81), 80)), (1, 2));
    }

    #[test]
    fn no_picture_is_larger_than_its_terminal() {
        let machines: Vec<MachineView> = (0..500).map(|index| machine(index, Stage::Booting)).collect();
        let happenings = vec!["x".repeat(300); 20];
        for (width, height) in [(80, 24), (40, 12), (200, 60), (10, 3), (1, 1)] {
            let picture = Picture {
                elapsed: 9_999,
                speed: 3_600,
                saved: 77,
                machines: &machines,
                happenings: &happenings,
            };
            for lines in [lines(&picture, width, height), brief(&picture, width, height)] {
                assert!(lines.len() <= height.max(2), "{height}");
                assert!(lines.iter().all(|line| measure_text_width(line) <= width), "{width}");
            }
        }
    }
}
