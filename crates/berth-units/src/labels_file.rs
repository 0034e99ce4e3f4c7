//! The file on a node that holds its boot labels, `/etc/berth/labels`: one `key=value` per line, `#` comments.

use berth_labels::{Label, LabelSet};

use crate::diagnostic::UnitDiagnostic;

/// Where the labels of a node are kept on the node.
pub const LABELS_PATH: &str = "/etc/berth/labels";

/// The content of a labels file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelsFile {
    /// The labels that could be read.
    pub labels: LabelSet,
    /// What is wrong with other lines.
    pub diagnostics: Vec<UnitDiagnostic>,
}

impl LabelsFile {
    /// Reads a labels file. A bad line is reported and left out; the others count.
    pub fn parse(source: &[u8]) -> Self {
        let mut file = Self::default();
        let source = source.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(source);
        for (index, line) in source.split(|byte| *byte == b'\n').enumerate() {
            if let Err(message) = file.line(line) {
                file.diagnostics.push(UnitDiagnostic::error(index + 1, 1, message));
            }
        }
        file
    }

    fn line(&mut self, line: &[u8]) -> Result<(), String> {
        let line = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned())?;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!(
                "`{line}` has no `=`; a label with an empty value is written `{line}=`"
            ));
        };
        let label = Label::parse_parts(key.trim(), value.trim())
            .map_err(|error| format!("`{line}` is not a label: {error}"))?;
        if let Some(before) = self.labels.get(label.key.as_str()) {
            return Err(format!(
                "`{}` is set twice; the first value, `{}`, counts",
                label.key.as_str(),
                before.as_str()
            ));
        }
        self.labels.insert(label.key, label.value);
        Ok(())
    }

    /// Writes a labels file that reads back as exactly these labels.
    pub fn print(labels: &LabelSet) -> String {
        let mut text =
            String::from("# Node labels that the kubelet registers with. Written by Berth: local changes are lost.\n");
        for (key, value) in labels {
            text.push_str(key.as_str());
            text.push('=');
            text.push_str(value.as_str());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn good_lines_count_and_bad_ones_are_named() {
        let text = b"# note\r\na=b\r\n\n  example.com/c = d \ne=\nbad\nf=x y\na=z\n\xff=1\n=v\n";
        let file = LabelsFile::parse(text);
        assert_eq!(file.labels.to_string(), "a=b,e=,example.com/c=d");
        let lines: Vec<_> = file
            .diagnostics
            .iter()
            .map(|found| (found.line, found.message.split(&[':', ';'][..]).next().unwrap()))
            .collect();
        assert_eq!(
            lines,
            [
                (6, "`bad` has no `=`"),
                (7, "`f=x y` is not a label"),
                (8, "`a` is set twice"),
                (9, "the line is not UTF-8"),
                (10, "`=v` is not a label"),
            ]
        );
    }

    proptest! {
        #[test]
        fn printing_and_reading_gives_the_same_labels(
            map in prop::collection::btree_map("([a-z]{1,5}\\.[a-z]{1,3}/)?[a-zA-Z]{1,8}", "[a-zA-Z0-9]{0,8}", 0..6)
        ) {
            let labels = LabelSet::try_from_map(&map).unwrap();
            let file = LabelsFile::parse(LabelsFile::print(&labels).as_bytes());
            prop_assert_eq!(file.diagnostics, vec![]);
            prop_assert_eq!(file.labels, labels);
        }

        #[test]
        fn no_file_makes_it_panic(source in any::<Vec<u8>>()) {
            let _ = LabelsFile::parse(&source);
        }
    }
}
