//! Nodes over time, drawn.
//!
//! One file without anything from outside: it opens in a browser, in a ticket and in a slide, in light and in dark.

use std::{fmt::Write, time::Duration};

use crate::forecast::format_duration;

/// Width of the drawing in pixels; it scales with the page.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
/// Space above the first pool: title, summary, legend, marker labels and the axis.
const HEADER: f64 = 146.0;
const AXIS: f64 = 134.0;
const FOOTER: f64 = 40.0;
const POOL_HEADER: f64 = 30.0;
const POOL_GAP: f64 = 14.0;
/// All rows together are about this high at most, so that a large fleet is still one picture.
const ROWS_HEIGHT: f64 = 4500.0;
const ROW_MAX: f64 = 20.0;
const ROW_MIN: f64 = 3.0;
/// Below this height a row has no room for its name, and only some rows are named.
const ROW_WITH_NAME: f64 = 8.0;
/// Average width of a letter, as a share of the font size. Fonts differ, so this is on the safe side.
const LETTER: f64 = 0.6;
/// Longer names are shortened.
const NAME_LETTERS: usize = 32;
const TICKS: u64 = 12;

const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2933}\
.page{fill:#ffffff}.dim{fill:#5f6c7b}.grid{stroke:#d5dbe1;stroke-width:1}.band{fill:#f3f5f7}.rule{stroke:#aab4bf;stroke-width:1}\
.moving{fill:#2f6fb0}.new{fill:#1d8a6d}.over{fill:#c8442f}.lost{fill:#7b1e12}.power{fill:#8a8f98}.window{stroke:#c8442f;stroke-width:2}.window-text{fill:#b03a27}\
.without{stroke:#7a5ea8;stroke-width:2;stroke-dasharray:6 4}.without-text{fill:#6b4f9b}\
@media(prefers-color-scheme:dark){text{fill:#e4e9ee}.page{fill:#171b20}.dim{fill:#a3afbb}.grid{stroke:#343c45}\
.band{fill:#1e242a}.rule{stroke:#5b6672}.moving{fill:#5b9bd8}.new{fill:#41b894}.over{fill:#ec7462}.lost{fill:#ff9d8a}.power{fill:#7c8794}.window{stroke:#ec7462}\
.window-text{fill:#f0907f}.without{stroke:#ab90d6}.without-text{fill:#bda6e2}}";

/// What is drawn.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    pub(crate) title: &'static str,
    /// One sentence below the title.
    pub(crate) summary: String,
    /// What the colours mean; those that do not occur are left out.
    pub(crate) legend: Vec<(&'static str, &'static str)>,
    /// How much time is shown.
    pub(crate) span: Duration,
    /// Moments with a line through all pools: when, how it looks, and what it says. Two at most.
    pub(crate) markers: Vec<Marker>,
    pub(crate) pools: Vec<PoolPicture>,
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
    /// What does not go well, below the rows.
    pub(crate) note: Option<String>,
}

/// One node, with all times it is away.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// One time that a node is away.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) start: Duration,
    pub(crate) end: Duration,
    pub(crate) class: &'static str,
    /// What a pointer over it shows.
    pub(crate) tip: String,
}

/// Bars by the name of their node, each node once, in the order in which they first go away.
pub(crate) fn rows(bars: impl IntoIterator<Item = (String, Bar)>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (name, bar) in bars {
        let place = *places.entry(name.clone()).or_insert_with(|| {
            rows.push(Row { name, bars: Vec::new() });
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(place) {
            row.bars.push(bar);
        }
    }
    rows
}

/// Draws it. Each node has a row, grouped by pool, with a bar for each time that it is out of service.
pub(crate) fn draw(picture: &Picture) -> String {
    Chart::new(picture).draw()
}

struct Chart<'a> {
    picture: &'a Picture,
    row_height: f64,
    plot_left: f64,
    span: Duration,
    out: String,
}

impl<'a> Chart<'a> {
    fn new(picture: &'a Picture) -> Self {
        let rows = || picture.pools.iter().flat_map(|pool| &pool.rows);
        let row_height = (ROWS_HEIGHT / number(rows().count().max(1))).clamp(ROW_MIN, ROW_MAX);
        let letters = rows().map(|row| shortened(&row.name).chars().count()).max();
        let font = name_font(row_height);
        let plot_left = MARGIN + (number(letters.unwrap_or(0)) * font * LETTER + 14.0).max(70.0);
        Self {
            picture,
            row_height,
            plot_left,
            span: picture.span.max(Duration::from_mins(1)),
            out: String::new(),
        }
    }

    fn draw(mut self) -> String {
        let height = self.height();
        self.line(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title\">"
        ));
        self.line(&format!("<title id=\"title\">{}</title>", escaped(self.picture.title)));
        self.line(&format!("<style>{STYLE}</style>"));
        self.line(&format!("<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>"));
        self.head();
        self.grid(height - FOOTER);
        self.pools();
        self.markers(height - FOOTER);
        self.line("</svg>");
        self.out
    }

    fn height(&self) -> f64 {
        let pools: f64 = self.picture.pools.iter().map(|pool| self.pool_height(pool)).sum();
        (HEADER + pools.max(40.0) + FOOTER).ceil()
    }

    fn pool_height(&self, pool: &PoolPicture) -> f64 {
        let note = if pool.note.is_none() { 0.0 } else { 18.0 };
        POOL_HEADER + number(pool.rows.len()) * self.row_height + note + POOL_GAP
    }

    fn head(&mut self) {
        let picture = self.picture;
        self.text(MARGIN, 38.0, 20.0, "start", "", picture.title);
        self.text(MARGIN, 60.0, 13.0, "start", "dim", &picture.summary);
        let mut x = MARGIN;
        for (class, label) in &picture.legend {
            if !self.occurs(class) {
                continue;
            }
            self.line(&format!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"75\" width=\"14\" height=\"10\" rx=\"2\"/>"
            ));
            self.text(x + 20.0, 84.0, 12.0, "start", "", label);
            x += 20.0 + number(label.chars().count()) * 12.0 * LETTER + 24.0;
        }
    }

    fn grid(&mut self, bottom: f64) {
        let step = tick_step(self.span);
        let markers: Vec<Duration> = self.picture.markers.iter().map(|marker| marker.at).collect();
        let mut next = Some(Duration::ZERO);
        while let Some(time) = next.filter(|time| *time <= self.span) {
            let x = self.x(time);
            self.line(&format!(
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{AXIS}\" y2=\"{bottom:.1}\"/>"
            ));
            let label = if time.is_zero() {
                "0".to_owned()
            } else {
                format_duration(time)
            };
            // A marker has its own label up there, and its line would cross this one.
            if markers.iter().all(|marker| (self.x(*marker) - x).abs() > 28.0) {
                self.text(x, AXIS - 6.0, 11.0, "middle", "dim", &label);
            }
            self.text(x, bottom + 16.0, 11.0, "middle", "dim", &label);
            next = time.checked_add(step);
        }
        let right = WIDTH - MARGIN;
        for y in [AXIS, bottom] {
            self.line(&format!(
                "<line class=\"rule\" x1=\"{:.1}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                self.plot_left
            ));
        }
    }

    fn pools(&mut self) {
        let picture = self.picture;
        let mut y = HEADER;
        for pool in &picture.pools {
            let bottom = y + self.pool_height(pool);
            self.pool(pool, y);
            y = bottom;
        }
        if picture.pools.iter().all(|pool| pool.rows.is_empty()) {
            let x = self.plot_left + 12.0;
            self.text(x, HEADER + 26.0, 13.0, "start", "dim", "No node moves.");
        }
    }

    fn pool(&mut self, pool: &PoolPicture, top: f64) {
        self.pool_title(pool, top);
        let mut y = top + POOL_HEADER;
        // Without room for every name, name as many rows as fit.
        let every = if self.row_height >= ROW_WITH_NAME { 1 } else { 4 };
        let font = name_font(self.row_height);
        for (index, row) in pool.rows.iter().enumerate() {
            if index % 2 == 1 && self.row_height >= ROW_WITH_NAME {
                self.line(&format!(
                    "<rect class=\"band\" x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill-opacity=\"0.6\"/>",
                    WIDTH - 2.0 * MARGIN,
                    self.row_height
                ));
            }
            if index % every == 0 {
                let baseline = y + self.row_height / 2.0 + font * 0.35;
                self.text(self.plot_left - 8.0, baseline, font, "end", "", &shortened(&row.name));
            }
            for bar in &row.bars {
                self.bar(bar, y);
            }
            y += self.row_height;
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

    fn occurs(&self, class: &str) -> bool {
        let rows = self.picture.pools.iter().flat_map(|pool| &pool.rows);
        rows.flat_map(|row| &row.bars).any(|bar| bar.class == class)
    }

    fn bar(&mut self, bar: &Bar, y: f64) {
        let (left, right) = (self.x(bar.start), self.x(bar.end));
        let inset = (self.row_height * 0.15).min(3.0);
        // A node that is never away is a thin mark, so that its row is not empty.
        self.line(&format!(
            "<rect class=\"{}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{:.1}\"><title>{}</title></rect>",
            bar.class,
            y + inset,
            (right - left).max(2.0),
            self.row_height - 2.0 * inset,
            (self.row_height / 8.0).min(2.0),
            escaped(&bar.tip)
        ));
    }

    fn markers(&mut self, bottom: f64) {
        // Each label has its own line above the axis, so that they cannot cover each other.
        for (marker, y) in self.picture.markers.iter().zip([112.0, 98.0]) {
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

fn name_font(row_height: f64) -> f64 {
    (row_height * 0.65).clamp(7.0, 12.0)
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
