//! One template: what it becomes, and its text filled in.

use super::read::Values;

/// The values of the registry for which a template is filled in.
const REGISTRY: &str = "registry";

/// A template, read.
#[derive(Debug)]
pub(super) struct Template<'a> {
    place: Place,
    conditions: Vec<&'a str>,
    text: &'a str,
}

/// What a template becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    File { path: String, mode: u32 },
    Unit { name: String, enabled: bool },
    DropIn { unit: String, name: String },
}

/// A template with its values.
#[derive(Debug)]
pub(super) struct Filled {
    pub(super) place: Place,
    pub(super) text: String,
}

impl<'a> Template<'a> {
    /// Reads the lines at the top: `## …` for people, `#! …` for this.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let (mut place, mut mode, mut enabled) = (None, None, false);
        let mut conditions = Vec::new();
        let mut rest = text;
        loop {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let Some(directive) = line.strip_prefix("#!") else {
                if !line.starts_with("##") {
                    break;
                }
                rest = after;
                continue;
            };
            rest = after;
            let words: Vec<&str> = directive.split_whitespace().collect();
            let said = match words.as_slice() {
                ["file", path] if path.starts_with('/') && !path.contains("..") => Some(Place::File {
                    path: (*path).to_owned(),
                    mode: 0o644,
                }),
                ["unit", name] if is_unit(name) => Some(Place::Unit {
                    name: (*name).to_owned(),
                    enabled: false,
                }),
                ["drop-in", unit, name] if is_unit(unit) && has_ending(name, ".conf") && !name.contains('/') => {
                    Some(Place::DropIn {
                        unit: (*unit).to_owned(),
                        name: (*name).to_owned(),
                    })
                }
                ["mode", digits] => match u32::from_str_radix(digits, 8) {
                    Ok(bits @ 0..=0o777) => {
                        mode = Some(bits);
                        None
                    }
                    _ => return Err(format!("`{digits}` is not a mode from 0000 to 0777")),
                },
                ["enabled"] => {
                    enabled = true;
                    None
                }
                ["if", name] => {
                    conditions.push(*name);
                    None
                }
                _ => return Err(format!("`{}` says nothing that a template can become", line.trim())),
            };
            if said.is_some() && place.is_some() {
                return Err(format!("`{}`: a template becomes one thing", line.trim()));
            }
            place = place.or(said);
        }
        let mut place =
            place.ok_or("no line `#! file PATH`, `#! unit NAME` or `#! drop-in UNIT NAME.conf` is at its top")?;
        match &mut place {
            Place::File { mode: bits, .. } => *bits = mode.unwrap_or(*bits),
            Place::Unit { enabled: is, .. } => *is = enabled,
            Place::DropIn { .. } => {}
        }
        Ok(Self {
            place,
            conditions,
            text: rest,
        })
    }

    /// Whether there is one for each registry.
    pub(super) fn is_for_registries(&self) -> bool {
        matches!(&self.place, Place::File { path, .. } if path.contains("{{registry}}"))
    }

    /// The text with its values; nothing where one of its conditions does not hold.
    pub(super) fn fill(&self, values: &Values) -> Result<Option<Filled>, String> {
        for condition in &self.conditions {
            let value = values.get(*condition);
            if value.ok_or_else(|| unknown(condition))?.is_empty() {
                return Ok(None);
            }
        }
        let mut text = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            fill_line(line, values, &mut text)?;
        }
        let mut place = self.place.clone();
        if let Place::File { path, .. } = &mut place
            && let Some([registry]) = values.get(REGISTRY).map(Vec::as_slice)
        {
            *path = path.replace("{{registry}}", registry);
        }
        Ok(Some(Filled { place, text }))
    }
}

fn is_unit(name: &str) -> bool {
    let kinds = [".service", ".socket", ".timer", ".path", ".mount", ".target", ".slice"];
    kinds.iter().any(|kind| has_ending(name, kind)) && !name.contains('/')
}

/// systemd tells letter cases apart.
fn has_ending(name: &str, ending: &str) -> bool {
    name.strip_suffix(ending).is_some_and(|name| !name.is_empty())
}

fn unknown(name: &str) -> String {
    format!("there is no value `{name}`")
}

/// Writes the line once for each item of the list in it, and not at all where a value is not there.
fn fill_line(line: &str, values: &Values, text: &mut String) -> Result<(), String> {
    let mut pieces = Vec::new();
    let mut rest = line;
    let mut times = 1;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .ok_or_else(|| format!("`{}`: `{{{{` has no end", line.trim()))?;
        let value = values.get(name.trim()).ok_or_else(|| unknown(name.trim()))?;
        if value.is_empty() {
            return Ok(());
        }
        times = times.max(value.len());
        pieces.push((before, value));
        rest = after;
    }
    for time in 0..times {
        for (before, value) in &pieces {
            text.push_str(before);
            let item = value.get(time).or_else(|| value.last());
            // The line has its own end.
            text.push_str(item.map_or("", |item| item.strip_suffix('\n').unwrap_or(item)));
        }
        text.push_str(rest);
    }
    Ok(())
}
