//! A config in its internal form, and ways to look into it.

use ignition_config::v3_5 as types;

use crate::SpecVersion;

/// An Ignition config, held in the newest spec version.
///
/// Old versions are translated when they are parsed, so that everything after
/// parsing deals with one set of types. The version that the author wrote in
/// is kept because some rules of validation depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    written_in: SpecVersion,
    body: types::Config,
}

impl Config {
    /// An empty config of the newest version.
    pub fn new() -> Self {
        Self::from_v3_5(types::Config::default())
    }

    /// Takes a config built from the newest types.
    ///
    /// Whatever version its text names, it is 3.5.0 from here on.
    pub fn from_v3_5(body: types::Config) -> Self {
        Self::written_as(SpecVersion::LATEST, body)
    }

    /// A config translated from the version its author wrote.
    pub(crate) fn written_as(written_in: SpecVersion, mut body: types::Config) -> Self {
        SpecVersion::LATEST.as_str().clone_into(&mut body.ignition.version);
        Self { written_in, body }
    }

    /// The version the author wrote.
    pub fn written_in(&self) -> SpecVersion {
        self.written_in
    }

    /// The config in the newest types.
    pub fn as_v3_5(&self) -> &types::Config {
        &self.body
    }

    /// The config in the newest types, for change.
    ///
    /// A value put here is judged by the rules of [`Self::written_in`].
    pub fn as_v3_5_mut(&mut self) -> &mut types::Config {
        &mut self.body
    }

    /// Gives up the wrapper.
    pub fn into_v3_5(self) -> types::Config {
        self.body
    }

    /// The files, in order.
    pub fn files(&self) -> &[types::File] {
        self.body
            .storage
            .as_ref()
            .and_then(|storage| storage.files.as_deref())
            .unwrap_or_default()
    }

    /// The file at exactly this path.
    pub fn find_file(&self, path: &str) -> Option<&types::File> {
        self.files().iter().find(|file| file.path == path)
    }

    /// Puts a file in the place of the one with the same path, else at the end.
    ///
    /// This is not a merge: nothing of the old file stays.
    pub fn set_file(&mut self, file: types::File) {
        let files = self.body.storage.get_or_insert_default().files.get_or_insert_default();
        match files.iter_mut().find(|old| old.path == file.path) {
            Some(old) => *old = file,
            None => files.push(file),
        }
    }

    /// The systemd units, in order.
    pub fn units(&self) -> &[types::Unit] {
        self.body
            .systemd
            .as_ref()
            .and_then(|systemd| systemd.units.as_deref())
            .unwrap_or_default()
    }

    /// The unit of this name.
    pub fn find_unit(&self, name: &str) -> Option<&types::Unit> {
        self.units().iter().find(|unit| unit.name == name)
    }

    /// Every piece of unit text: the contents of each unit, then its drop-ins.
    ///
    /// A unit or drop-in without text (masked, enabled only) gives nothing.
    pub fn unit_texts(&self) -> impl Iterator<Item = UnitText<'_>> {
        self.units().iter().enumerate().flat_map(|(index, unit)| {
            let contents = unit
                .contents
                .as_deref()
                .filter(|text| !text.is_empty())
                .map(|text| UnitText {
                    unit: &unit.name,
                    dropin: None,
                    text,
                    path: format!("$.systemd.units.{index}.contents"),
                });
            let dropins = unit.dropins.as_deref().unwrap_or_default();
            let dropins = dropins.iter().enumerate().filter_map(move |(nth, dropin)| {
                let text = dropin.contents.as_deref().filter(|text| !text.is_empty())?;
                Some(UnitText {
                    unit: &unit.name,
                    dropin: Some(&dropin.name),
                    text,
                    path: format!("$.systemd.units.{index}.dropins.{nth}.contents"),
                })
            });
            contents.into_iter().chain(dropins)
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&Self> for Config {
    fn from(config: &Self) -> Self {
        config.clone()
    }
}

/// The text of a unit or of one of its drop-ins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitText<'a> {
    /// The unit's name, `kubelet.service`.
    pub unit: &'a str,
    /// The drop-in's name, or `None` for the unit itself.
    pub dropin: Option<&'a str>,
    /// The text.
    pub text: &'a str,
    /// Where it is, in the notation of [`crate::Finding::path`].
    pub path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_texts_gives_contents_and_dropins_and_skips_what_has_no_text() {
        let body = serde_json::from_value(serde_json::json!({
            "ignition": {"version": "3.5.0"},
            "systemd": {"units": [
                {"name": "masked.service", "mask": true},
                {"name": "kubelet.service", "contents": "[Unit]\n", "dropins": [
                    {"name": "empty.conf", "contents": ""},
                    {"name": "10-a.conf", "contents": "[Service]\n"},
                ]},
            ]},
        }))
        .unwrap();
        let config = Config::from_v3_5(body);
        let texts: Vec<_> = config.unit_texts().collect();
        assert_eq!(
            texts,
            [
                UnitText {
                    unit: "kubelet.service",
                    dropin: None,
                    text: "[Unit]\n",
                    path: "$.systemd.units.1.contents".to_owned(),
                },
                UnitText {
                    unit: "kubelet.service",
                    dropin: Some("10-a.conf"),
                    text: "[Service]\n",
                    path: "$.systemd.units.1.dropins.1.contents".to_owned(),
                },
            ]
        );
        assert!(config.find_unit("kubelet.service").is_some());
    }

    #[test]
    fn set_file_replaces_in_place_or_appends() {
        let mut config = Config::new();
        for path in ["/a", "/b"] {
            config.set_file(types::File::new(path.to_owned()));
        }
        config.set_file(types::File {
            mode: Some(0o600),
            ..types::File::new("/a".to_owned())
        });
        let seen: Vec<_> = config
            .files()
            .iter()
            .map(|file| (file.path.as_str(), file.mode))
            .collect();
        assert_eq!(seen, [("/a", Some(0o600)), ("/b", None)]);
    }
}
