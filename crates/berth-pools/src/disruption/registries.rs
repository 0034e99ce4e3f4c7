//! Whether pods can stay while the list of image registries changes.

/// Whether a change of `registries.conf` only adds registries.
///
/// Then images that run can still be pulled from where they came. The file is compared entry by entry as text: a
/// change of layout is taken for a change of content, which costs a drain and never a lost image.
pub(super) fn only_adds(old: &str, new: &str) -> bool {
    let (old, new) = (Entries::read(old), Entries::read(new));
    old.global == new.global && old.registries.iter().all(|entry| new.registries.contains(entry))
}

#[derive(Default)]
struct Entries<'a> {
    /// The lines before the first registry, and tables of other names.
    global: Vec<&'a str>,
    /// The lines of each `[[registry]]`, with its mirrors.
    registries: Vec<Vec<&'a str>>,
}

impl<'a> Entries<'a> {
    fn read(text: &'a str) -> Self {
        let mut entries = Self::default();
        let mut in_registry = false;
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if line.starts_with('[') {
                let table = line.trim_matches(['[', ']', ' ']);
                if table == "registry" {
                    entries.registries.push(Vec::new());
                }
                in_registry = table == "registry" || table.starts_with("registry.");
            }
            match entries.registries.last_mut() {
                Some(registry) if in_registry => registry.push(line),
                _ => entries.global.push(line),
            }
        }
        entries
    }
}
