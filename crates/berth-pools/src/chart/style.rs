//! Colours and patterns of the charts.

/// Marks in the order of the legend, with what they say.
pub(crate) type Legend = Vec<(Mark, &'static str)>;

/// What a bar says. Each has a look of its own, also for those who do not see its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Moves to its pool's config.
    Moving,
    /// Joins.
    New,
    /// Is back after the maintenance window.
    Over,
    /// Boots more slowly than planned.
    Slow,
    /// Refused the config and serves with the old one.
    Refused,
    /// Its drain does not end.
    Drain,
    /// Has no power.
    Power,
    /// Does not come back.
    Lost,
    /// Was out of service before the change began, and takes a slot.
    Unavailable,
    /// Waits for a slot that it does not get.
    Waits,
    /// The pool is paused.
    Paused,
}

impl Mark {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Moving => "moving",
            Self::New => "new",
            Self::Over => "over",
            Self::Slow => "slow",
            Self::Refused => "refused",
            Self::Drain => "drain",
            Self::Power => "power",
            Self::Lost => "lost",
            Self::Unavailable => "unavailable",
            Self::Waits => "waits",
            Self::Paused => "paused",
        }
    }

    /// What is drawn on top of the colour.
    pub(super) fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Slow => Some("dots"),
            Self::Refused => Some("grating"),
            Self::Drain => Some("hatch"),
            Self::Lost => Some("crosses"),
            Self::Paused => Some("stripes"),
            Self::Moving | Self::New | Self::Over | Self::Power | Self::Unavailable | Self::Waits => None,
        }
    }
}

pub(super) const PATTERNS: &str = "\
<defs>\
<pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><circle class=\"on\" cx=\"3\" cy=\"3\" r=\"1.2\"/></pattern>\
<pattern id=\"grating\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><path class=\"line\" d=\"M2.5 0V5\"/></pattern>\
<pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\"><path class=\"line\" d=\"M-1 1L1 -1M0 7L7 0M6 8L8 6\"/></pattern>\
<pattern id=\"crosses\" width=\"9\" height=\"9\" patternUnits=\"userSpaceOnUse\"><path class=\"line\" d=\"M2 2L7 7M7 2L2 7\"/></pattern>\
<pattern id=\"stripes\" width=\"12\" height=\"12\" patternUnits=\"userSpaceOnUse\"><path class=\"pause\" d=\"M-3 3L3 -3M0 12L12 0M9 15L15 9\"/></pattern>\
</defs>";

pub(super) const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2933}\
.page{fill:#ffffff}.dim{fill:#5f6c7b}.grid{stroke:#d5dbe1;stroke-width:1}.band{fill:#f3f5f7}.rule{stroke:#aab4bf;stroke-width:1}\
.moving{fill:#2f6fb0}.new{fill:#1d8a6d}.over{fill:#c8442f}.slow{fill:#2f6fb0}.refused{fill:#8a6d1d}.drain{fill:#a3541a}.lost{fill:#7b1e12}\
.power{fill:#6d737c}.unavailable{fill:#c3c9d0}.waits{fill:none;stroke:#8a5c9e;stroke-width:1.5;stroke-dasharray:3 3}.paused{fill:#5f6c7b;fill-opacity:0.08}\
.on{fill:#ffffff}.line{stroke:#ffffff;stroke-width:1.4;fill:none}.pause{stroke:#5f6c7b;stroke-width:1;stroke-opacity:0.45;fill:none}\
.window{stroke:#c8442f;stroke-width:2}.window-text{fill:#b03a27}\
.without{stroke:#7a5ea8;stroke-width:2;stroke-dasharray:6 4}.without-text{fill:#6b4f9b}\
@media(prefers-color-scheme:dark){text{fill:#e4e9ee}.page{fill:#171b20}.dim{fill:#a3afbb}.grid{stroke:#343c45}\
.band{fill:#1e242a}.rule{stroke:#5b6672}.moving{fill:#5b9bd8}.new{fill:#41b894}.over{fill:#ec7462}.slow{fill:#5b9bd8}.refused{fill:#d8b04a}.drain{fill:#e08f4f}.lost{fill:#ff9d8a}.power{fill:#a0a9b4}.unavailable{fill:#4a545f}\
.waits{stroke:#c79bd9}.paused{fill:#a3afbb;fill-opacity:0.1}.on{fill:#171b20}.line{stroke:#171b20}.pause{stroke:#a3afbb}.window{stroke:#ec7462}\
.window-text{fill:#f0907f}.without{stroke:#ab90d6}.without-text{fill:#bda6e2}}";
