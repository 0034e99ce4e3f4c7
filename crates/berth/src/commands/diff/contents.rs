//! The text of what differs: contents as a unified diff, attributes as old and new value.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use berth_ignition::{
    Config, file_contents, parse,
    types::{File, Unit},
};
use berth_pools::{Change, ChangedItem, MachineConfigSpec};
use similar::TextDiff;

use crate::output::printable;

/// Lines of the same text around each difference.
const CONTEXT: usize = 3;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// The configs of both sides, to look things up in.
pub(super) struct Contents {
    old: Config,
    new: Config,
}

impl Contents {
    /// Reads the Ignition configs. What cannot be read has been refused before this.
    pub(super) fn new(old: &MachineConfigSpec, new: &MachineConfigSpec) -> Self {
        let read = |spec: &MachineConfigSpec| spec.config.as_ref().and_then(|json| parse(json).config);
        Self {
            old: read(old).unwrap_or_default(),
            new: read(new).unwrap_or_default(),
        }
    }

    /// What is different, in as many lines as it takes; nothing where the name of the change says it all.
    pub(super) fn details(&self, change: &Change) -> String {
        match &change.item {
            ChangedItem::OsImage { old, new }
            | ChangedItem::ExtensionsImage { old, new }
            | ChangedItem::KernelType { old, new } => became("value", &shown(old), &shown(new)),
            ChangedItem::File { path } => self.file(path),
            ChangedItem::Unit { name } => self.unit(name),
            ChangedItem::DropIn { unit, name } => self.drop_in(unit, name),
            ChangedItem::Fips { .. }
            | ChangedItem::KernelArgument { .. }
            | ChangedItem::Order { .. }
            | ChangedItem::Extension { .. }
            | ChangedItem::Directory { .. }
            | ChangedItem::Link { .. }
            | ChangedItem::User { .. }
            | ChangedItem::Section { .. } => String::new(),
        }
    }

    fn file(&self, path: &str) -> String {
        let (old, new) = (self.old.find_file(path), self.new.find_file(path));
        let mut text = String::new();
        if let (Some(old), Some(new)) = (old, new) {
            text.push_str(&became("mode", &mode(old), &mode(new)));
            text.push_str(&became("owner", &owner(old), &owner(new)));
        }
        let bytes = |file: Option<&File>| match file {
            None => Ok(Vec::new()),
            Some(file) => file_contents(file),
        };
        match (bytes(old), bytes(new)) {
            (Ok(old), Ok(new)) => text.push_str(&contents(path, &old, &new)),
            // Contents that are fetched from elsewhere: all that can be compared is where from.
            _ => {
                let source = |file: Option<&File>| {
                    let contents = file.and_then(|file| file.contents.as_ref());
                    shown(
                        contents
                            .and_then(|contents| contents.source.as_deref())
                            .unwrap_or_default(),
                    )
                };
                text.push_str(&became("source", &source(old), &source(new)));
            }
        }
        text
    }

    fn unit(&self, name: &str) -> String {
        let (old, new) = (self.old.find_unit(name), self.new.find_unit(name));
        let mut text = String::new();
        if let (Some(old), Some(new)) = (old, new) {
            text.push_str(&became("enabled", &flag(old.enabled), &flag(new.enabled)));
            text.push_str(&became("mask", &flag(old.mask), &flag(new.mask)));
        }
        let body = |unit: Option<&Unit>| unit.and_then(|unit| unit.contents.clone()).unwrap_or_default();
        text.push_str(&unified(name, &body(old), &body(new)));
        text
    }

    fn drop_in(&self, unit: &str, name: &str) -> String {
        let body = |config: &Config| {
            let drop_ins = config.find_unit(unit)?.dropins.as_deref()?;
            drop_ins.iter().find(|drop_in| drop_in.name == name)?.contents.clone()
        };
        let (old, new) = (body(&self.old).unwrap_or_default(), body(&self.new).unwrap_or_default());
        unified(&format!("{unit}.d/{name}"), &old, &new)
    }
}

fn contents(name: &str, old: &[u8], new: &[u8]) -> String {
    match (str::from_utf8(old), str::from_utf8(new)) {
        (Ok(old), Ok(new)) if !old.contains('\0') && !new.contains('\0') => unified(name, old, new),
        _ if old == new => String::new(),
        _ => format!("binary contents differ: {} bytes -> {} bytes\n", old.len(), new.len()),
    }
}

fn unified(name: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::from_lines(old, new);
    let plain = diff
        .unified_diff()
        .context_radius(CONTEXT)
        .header(
            &format!("old/{}", name.trim_start_matches('/')),
            &format!("new/{}", name.trim_start_matches('/')),
        )
        .to_string();
    let mut text = String::new();
    for line in plain.lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            Some(b'@') => PLACE,
            _ => Style::new(),
        };
        // Tabs are part of many files and steer nothing.
        let line: Vec<_> = line.split('\t').map(printable).collect();
        let _ = writeln!(text, "{style}{}{style:#}", line.join("\t"));
    }
    text
}

fn became(what: &str, old: &str, new: &str) -> String {
    if old == new {
        String::new()
    } else {
        format!("{what}: {} -> {}\n", printable(old), printable(new))
    }
}

fn shown(text: &str) -> String {
    if text.is_empty() {
        "none".to_owned()
    } else {
        text.to_owned()
    }
}

fn mode(file: &File) -> String {
    file.mode.map_or_else(
        || "default".to_owned(),
        |mode| format!("{mode:#06o}").replacen("0o", "", 1),
    )
}

fn owner(file: &File) -> String {
    let user = file
        .user
        .as_ref()
        .and_then(|user| user.name.clone().or_else(|| user.id.map(|id| id.to_string())));
    let group = file
        .group
        .as_ref()
        .and_then(|group| group.name.clone().or_else(|| group.id.map(|id| id.to_string())));
    format!(
        "{}:{}",
        user.unwrap_or_else(|| "root".to_owned()),
        group.unwrap_or_else(|| "root".to_owned())
    )
}

fn flag(flag: Option<bool>) -> String {
    flag.map_or_else(|| "unset".to_owned(), |flag| flag.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn text_is_shown_line_by_line_and_cannot_steer_the_terminal() {
        let shown = plain(&contents("/etc/a", b"one\n\ttwo\n", b"one\n\t\x1b[31mtwo\n"));
        assert_eq!(
            shown,
            "--- old/etc/a\n+++ new/etc/a\n@@ -1,2 +1,2 @@\n one\n-\ttwo\n+\t\\u{1b}[31mtwo\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_only_counted() {
        assert_eq!(
            contents("/a", b"\xff", b"\xff\x00"),
            "binary contents differ: 1 bytes -> 2 bytes\n"
        );
        assert_eq!(contents("/a", b"a\0", b"a\0"), "");
    }
}
