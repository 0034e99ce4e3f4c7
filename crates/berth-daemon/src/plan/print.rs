//! A plan as people read it.

use std::fmt;

use super::{Step, UpdatePlan};
use crate::item::{Item, Setting};

impl fmt::Display for UpdatePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let actions: Vec<String> = self.actions.iter().map(ToString::to_string).collect();
        writeln!(f, "{} -> {}: {}", self.from, self.to.name, actions.join(", "))?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>4}. {step}; undo: {}", number + 1, step.undo())?;
        }
        if self.steps.is_empty() {
            writeln!(f, "      nothing on the host differs")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep { item, original: None } => write!(f, "note that there is no {item}"),
            Self::Keep {
                item,
                original: Some(original),
            } => write!(f, "keep {item} ({original})"),
            Self::Set {
                item: Item::Unit(unit),
                setting: Setting::Enabled(enabled),
                before,
            } => f.write_str(&match (enabled, before) {
                (true, Some(Setting::Enabled(true))) => format!("enable {unit} again, by its new file"),
                (true, _) => format!("enable {unit}"),
                (false, _) => format!("disable {unit}"),
            }),
            Self::Set { item, setting, .. } => write!(f, "write {item} ({setting})"),
            Self::Restore {
                item: Item::Unit(unit),
                original,
                ..
            } => {
                let verb = if *original == Some(Setting::Enabled(true)) {
                    "enable"
                } else {
                    "disable"
                };
                write!(f, "{verb} {unit}, as it was before any config")
            }
            Self::Restore {
                item,
                original: Some(original),
                ..
            } => write!(f, "bring back {item} ({original})"),
            Self::Restore {
                item, original: None, ..
            } => write!(f, "remove {item}"),
            Self::System { wanted, .. } => write!(f, "stage the next boot: {wanted}"),
            Self::DaemonReload => f.write_str("systemd reads its units again"),
        }
    }
}

impl Step {
    /// How it is undone, in words.
    pub fn undo(&self) -> String {
        match self {
            Self::Keep { .. } => "forget it".to_owned(),
            Self::Set {
                item: Item::Unit(_),
                before,
                ..
            }
            | Self::Restore {
                item: Item::Unit(_),
                before,
                ..
            } => match before {
                Some(Setting::Enabled(true)) => "enable it".to_owned(),
                _ => "disable it".to_owned(),
            },
            Self::Set { before: None, .. } | Self::Restore { before: None, .. } => "remove it".to_owned(),
            Self::Set {
                before: Some(before), ..
            }
            | Self::Restore {
                before: Some(before), ..
            } => format!("write what was there ({before})"),
            Self::System { before, .. } => format!("stage {before}"),
            Self::DaemonReload => "the same".to_owned(),
        }
    }
}
