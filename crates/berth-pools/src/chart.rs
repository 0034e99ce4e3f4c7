//! Nodes over time, drawn.
//!
//! One file without anything from outside: it opens in a browser, in a ticket and in a slide, in light and in dark.

mod fold;
mod style;

use std::{fmt::Write, time::Duration};

use self::style::{PATTERNS, STYLE};
pub(crate) use self::{
    fold::folded,
    style::{Legend, Mark},
};
use crate::{
    forecast::format_duration,
    rollout::{NodeState, Waiting, out_of_service},
};

/// Width of the drawing in pixels; it scales with the page.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
/// Space above the first pool: title, summary, one line of the legend, marker labels and the axis.
const HEADER: f64 = 146.0;
const AXIS: f64 = 134.0;
const LEGEND_LINE: f64 = 17.0;
const FOOTER: f64 = 66.0;
const POOL_HEADER: f64 = 30.0;
const POOL_GAP: f64 = 14.0;
const ROW: f64 = 20.0;
const NAME_FONT: f64 = 12.0;
/// Average width of a letter, as a share of the font size. Fonts differ, so this is on the safe side.
const LETTER: f64 = 0.6;
/// Longer names are shortened.
const NAME_LETTERS: usize = 28;
const TICKS: u64 = 12;

/// What is drawn.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    pub(crate) title: &'static str,
    /// One sentence below the title.
    pub(crate) summary: String,
    /// What the marks mean; those that do not occur are left out.
    pub(crate) legend: Legend,
    /// How much time is shown.
    pub(crate) span: Duration,
    /// Moments with a line through all pools: when, how it looks, and what it says. Two at most.
    pub(crate) markers: Vec<Marker>,
    pub(crate) pools: Vec<PoolPicture>,
    /// Where the picture comes from, at the bottom: site, date and command.
    pub(crate) source: String,
}

/// A line through all pools.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    pub(crate) at: Duration,
    pub(crate) class: &'static str,
    pub(crate) label: String,
}

/// One pool: a row for each node.
#[derive(Debug)]
pub(crate) struct PoolPicture {
    pub(crate) name: String,
    pub(crate) facts: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// When the pool's rollout is paused.
    pub(crate) pauses: Vec<(Duration, Duration)>,
    /// What does not go well, below the rows.
    pub(crate) note: Option<String>,
}

/// One node, with all times it is away, or many that are folded into one row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The last of them, where it stands for several.
    pub(crate) last: Option<String>,
    /// How many nodes it stands for.
    pub(crate) nodes: usize,
    pub(crate) bars: Vec<Bar>,
}

impl Row {
    /// The row of one node.
    pub(crate) fn of(name: &str, bars: Vec<Bar>) -> Self {
        Self {
            name: name.to_owned(),
            last: None,
            nodes: 1,
            bars,
        }
    }

    fn label(&self) -> String {
        match &self.last {
            Some(last) => format!("{} … {} ({})", shortened(&self.name), shortened(last), self.nodes),
            None => shortened(&self.name),
        }
    }
}

/// One time that a node is away.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub(crate) start: Duration,
    pub(crate) end: Duration,
    pub(crate) mark: Mark,
    /// What a pointer over it shows.
    pub(crate) tip: String,
}

/// Bars by the name of their node, each node once, in the order in which they first go away.
pub(crate) fn rows(bars: impl IntoIterator<Item = (String, Bar)>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (name, bar) in bars {
        let place = *places.entry(name.clone()).or_insert_with(|| {
            rows.push(Row::of(&name, Vec::new()));
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(place) {
            row.bars.push(bar);
        }
    }
    rows
}

/// Rows of nodes that do not move but matter: those that are out of service from the start and take a slot, and those that are
/// left behind.
pub(crate) fn standing(rows: &[Row], all: &[NodeState], left: &[Waiting], span: Duration) -> Vec<Row> {
    let moves: std::collections::HashSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let bar = |name: &str, mark: Mark, why: &str| {
        let bar = Bar {
            start: Duration::ZERO,
            end: span,
            mark,
            tip: format!("{name}: {why}"),
        };
        Row::of(name, vec![bar])
    };
    let mut standing: Vec<Row> = all
        .iter()
        .filter(|node| !node.ready() && !moves.contains(node.name.as_str()))
        .map(|node| {
            bar(
                &node.name,
                Mark::Unavailable,
                &format!("{}, takes a slot", out_of_service(node)),
            )
        })
        .collect();
    let named: std::collections::HashSet<String> = standing.iter().map(|row| row.name.clone()).collect();
    let waits = left
        .iter()
        .filter(|waiting| !moves.contains(waiting.node.as_str()) && !named.contains(&waiting.node));
    standing.extend(waits.map(|waiting| bar(&waiting.node, Mark::Waits, &waiting.reason)));
    standing
}

/// How many nodes a pool's rows stand for.
pub(crate) fn nodes(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.nodes).sum()
}

/// Draws it. Each node has a row, grouped by pool, with a bar for each time that it is out of service.
pub(crate) fn draw(picture: &Picture) -> String {
    Chart::new(picture).draw()
}

struct Chart<'a> {
    picture: &'a Picture,
    plot_left: f64,
    /// How far further lines of the legend push everything down.
    shift: f64,
    span: Duration,
    out: String,
}

impl<'a> Chart<'a> {
    fn new(picture: &'a Picture) -> Self {
        let rows = picture.pools.iter().flat_map(|pool| &pool.rows);
        let letters = rows.map(|row| row.label().chars().count()).max();
        let plot_left = MARGIN + (number(letters.unwrap_or(0)) * NAME_FONT * LETTER + 14.0).max(70.0);
        let mut chart = Self {
            picture,
            plot_left,
            shift: 0.0,
            span: picture.span.max(Duration::from_mins(1)),
            out: String::new(),
        };
        let last = chart.legend().last().map(|(_, _, y, _)| *y);
        chart.shift = last.unwrap_or_default();
        chart
    }

    fn draw(mut self) -> String {
        let height = self.height();
        self.line(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title\">"
        ));
        self.line(&format!("<title id=\"title\">{}</title>", escaped(self.picture.title)));
        self.line(&format!("<style>{STYLE}</style>"));
        self.line(PATTERNS);
        self.line(&format!("<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>"));
        self.head();
        self.grid(height - FOOTER);
        self.pools();
        self.markers(height - FOOTER);
        self.source(height);
        self.line("</svg>");
        self.out
    }

    fn height(&self) -> f64 {
        let pools: f64 = self.picture.pools.iter().map(Self::pool_height).sum();
        (HEADER + self.shift + pools.max(40.0) + FOOTER).ceil()
    }

    fn pool_height(pool: &PoolPicture) -> f64 {
        let note = if pool.note.is_none() { 0.0 } else { 18.0 };
        POOL_HEADER + number(pool.rows.len()) * ROW + note + POOL_GAP
    }

    fn head(&mut self) {
        let picture = self.picture;
        self.text(MARGIN, 38.0, 20.0, "start", "", picture.title);
        self.text(MARGIN, 60.0, 13.0, "start", "dim", &picture.summary);
        for (mark, x, y, label) in self.legend() {
            self.mark(mark, (x, y + 75.0), (22.0, 10.0), "");
            self.text(x + 28.0, y + 84.0, 12.0, "start", "", label);
        }
    }

    /// Each mark of the legend that occurs, with its place.
    fn legend(&self) -> Vec<(Mark, f64, f64, &'static str)> {
        let (mut x, mut y) = (MARGIN, 0.0);
        let mut places = Vec::new();
        for (mark, label) in &self.picture.legend {
            if !self.occurs(*mark) {
                continue;
            }
            let width = 28.0 + number(label.chars().count()) * 12.0 * LETTER;
            if x + width > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + LEGEND_LINE);
            }
            places.push((*mark, x, y, *label));
            x += width + 20.0;
        }
        places
    }

    fn source(&mut self, height: f64) {
        let source = &self.picture.source;
        let size = 11.0;
        // A long command is cut rather than drawn over the edge.
        let room = (WIDTH - 2.0 * MARGIN) / (size * LETTER);
        let text = if number(source.chars().count()) <= room {
            source.clone()
        } else {
            let letters = source
                .chars()
                .enumerate()
                .take_while(|(at, _)| number(*at) < room - 1.0);
            letters.map(|(_, letter)| letter).chain(['…']).collect()
        };
        self.text(MARGIN, height - 16.0, size, "start", "dim", &text);
    }

    fn grid(&mut self, bottom: f64) {
        let step = tick_step(self.span);
        let axis = AXIS + self.shift;
        let markers: Vec<Duration> = self.picture.markers.iter().map(|marker| marker.at).collect();
        let mut next = Some(Duration::ZERO);
        while let Some(time) = next.filter(|time| *time <= self.span) {
            let x = self.x(time);
            self.line(&format!(
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{axis:.1}\" y2=\"{bottom:.1}\"/>"
            ));
            let label = if time.is_zero() {
                "0".to_owned()
            } else {
                format_duration(time)
            };
            // A marker has its own label up there, and its line would cross this one.
            if markers.iter().all(|marker| (self.x(*marker) - x).abs() > 28.0) {
                self.text(x, axis - 6.0, 11.0, "middle", "dim", &label);
            }
            self.text(x, bottom + 16.0, 11.0, "middle", "dim", &label);
            next = time.checked_add(step);
        }
        let right = WIDTH - MARGIN;
        for y in [axis, bottom] {
            self.line(&format!(
                "<line class=\"rule\" x1=\"{:.1}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                self.plot_left
            ));
        }
    }

    fn pools(&mut self) {
        let picture = self.picture;
        let mut y = HEADER + self.shift;
        for pool in &picture.pools {
            let bottom = y + Self::pool_height(pool);
            self.pool(pool, y);
            y = bottom;
        }
        if picture.pools.iter().all(|pool| pool.rows.is_empty()) {
            let x = self.plot_left + 12.0;
            self.text(x, HEADER + self.shift + 26.0, 13.0, "start", "dim", "No node moves.");
        }
    }

    fn pool(&mut self, pool: &PoolPicture, top: f64) {
        self.pool_title(pool, top);
        let mut y = top + POOL_HEADER;
        for (index, row) in pool.rows.iter().enumerate() {
            if index % 2 == 1 {
                self.line(&format!(
                    "<rect class=\"band\" x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{ROW:.1}\" fill-opacity=\"0.6\"/>",
                    WIDTH - 2.0 * MARGIN,
                ));
            }
            let baseline = y + ROW / 2.0 + NAME_FONT * 0.35;
            self.text(self.plot_left - 8.0, baseline, NAME_FONT, "end", "", &row.label());
            for bar in &row.bars {
                self.bar(bar, y);
            }
            y += ROW;
        }
        let first = top + POOL_HEADER;
        for (start, end) in &pool.pauses {
            let (left, right) = (self.x(*start), self.x(*end));
            let tip = format!(
                "{} is paused: {} to {}",
                pool.name,
                format_duration(*start),
                format_duration(*end)
            );
            let size = ((right - left).max(2.0), (y - first).max(6.0));
            self.mark(Mark::Paused, (left, first), size, &tip);
        }
        if let Some(note) = &pool.note {
            self.text(self.plot_left + 4.0, y + 13.0, 11.0, "start", "window-text", note);
        }
    }

    fn pool_title(&mut self, pool: &PoolPicture, top: f64) {
        let baseline = top + 20.0;
        // Grid lines do not run through the text.
        self.line(&format!(
            "<rect class=\"page\" x=\"{MARGIN}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            top + 4.0,
            WIDTH - 2.0 * MARGIN,
            POOL_HEADER - 6.0
        ));
        let name = escaped(&shortened(&pool.name));
        let facts = escaped(&pool.facts.join(", "));
        self.line(&format!(
            "<text x=\"{MARGIN}\" y=\"{baseline:.1}\" font-size=\"14\"><tspan font-weight=\"600\">{name}</tspan>\
             <tspan class=\"dim\" font-size=\"12\" dx=\"10\">{facts}</tspan></text>"
        ));
    }

    fn occurs(&self, mark: Mark) -> bool {
        let mut pools = self.picture.pools.iter();
        match mark {
            Mark::Paused => pools.any(|pool| !pool.pauses.is_empty()),
            _ => pools
                .flat_map(|pool| &pool.rows)
                .flat_map(|row| &row.bars)
                .any(|bar| bar.mark == mark),
        }
    }

    fn bar(&mut self, bar: &Bar, y: f64) {
        let (left, right) = (self.x(bar.start), self.x(bar.end));
        // A node that is never away is a thin mark, so that its row is not empty.
        let size = ((right - left).max(2.0), ROW - 6.0);
        self.mark(bar.mark, (left, y + 3.0), size, &bar.tip);
    }

    /// One mark: a colour, and a pattern on it where the colour alone could be taken for another one.
    fn mark(&mut self, mark: Mark, (x, y): (f64, f64), (width, height): (f64, f64), tip: &str) {
        let place = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\"");
        let tip = if tip.is_empty() {
            String::new()
        } else {
            format!("<title>{}</title>", escaped(tip))
        };
        let class = mark.class();
        self.line(&format!("<rect class=\"{class}\" {place}>{tip}</rect>"));
        if let Some(pattern) = mark.pattern() {
            self.line(&format!(
                "<rect fill=\"url(#{pattern})\" pointer-events=\"none\" {place}/>"
            ));
        }
    }

    fn markers(&mut self, bottom: f64) {
        // Each label has its own line above the axis, so that they cannot cover each other.
        for (marker, y) in self.picture.markers.iter().zip([112.0 + self.shift, 98.0 + self.shift]) {
            self.marker(marker.at, marker.class, &marker.label, y, bottom);
        }
    }

    fn marker(&mut self, time: Duration, class: &str, label: &str, y: f64, bottom: f64) {
        let x = self.x(time);
        let top = y - 8.0;
        self.line(&format!(
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\"/>"
        ));
        let middle = f64::midpoint(self.plot_left, WIDTH);
        let (dx, anchor) = if x > middle { (-6.0, "end") } else { (6.0, "start") };
        self.text(x + dx, y, 11.0, anchor, &format!("{class}-text"), label);
    }

    fn x(&self, time: Duration) -> f64 {
        let share = time.as_secs_f64() / self.span.as_secs_f64().max(1.0);
        self.plot_left + share * (WIDTH - MARGIN - 16.0 - self.plot_left)
    }

    fn text(&mut self, x: f64, y: f64, size: f64, anchor: &str, class: &str, text: &str) {
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        let text = escaped(text);
        self.line(&format!(
            "<text{class} x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn line(&mut self, line: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{line}");
    }
}

/// The distance of grid lines: a round number of minutes, hours or days with at most a dozen lines.
fn tick_step(span: Duration) -> Duration {
    let minutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1440];
    let span = span.as_secs() / 60;
    let step = minutes.into_iter().find(|step| span / step <= TICKS);
    let step = step.unwrap_or_else(|| span.div_ceil(TICKS).div_ceil(1440).max(1).saturating_mul(1440));
    Duration::from_secs(step.saturating_mul(60))
}

/// A count as a coordinate. Counts of nodes are far below 2^52, where the conversion would lose digits.
#[expect(clippy::cast_precision_loss, reason = "a drawing with 2^52 rows is not drawn")]
fn number(count: usize) -> f64 {
    count as f64
}

pub(crate) fn counted(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}

/// The end of a name tells nodes apart better than its middle, so both ends stay.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME_LETTERS {
        return name.to_owned();
    }
    let head = letters.iter().take(NAME_LETTERS / 2 - 1);
    let tail = letters.iter().skip(letters.len() - NAME_LETTERS / 2);
    head.chain(['…'].iter()).chain(tail).collect()
}

/// Text as XML takes it. Characters that XML cannot hold at all become a replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
