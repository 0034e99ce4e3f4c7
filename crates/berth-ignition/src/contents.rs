//! Making files, and reading what is in them.

use ignition_config::v3_5 as types;

use crate::{DecodeError, Encoding, data_url};

/// The largest contents that are decompressed: far above any config file, far
/// below what would trouble a server that renders many of them.
pub const CONTENTS_LIMIT: u64 = 64 << 20;

/// A file with these bytes, replacing whatever is on the machine.
///
/// The contents are written in the shortest encoding.
pub fn file(path: impl Into<String>, mode: u32, contents: impl AsRef<[u8]>) -> types::File {
    file_as(path, mode, contents, Encoding::Smallest)
}

/// A file with these bytes in a chosen encoding.
pub fn file_as(path: impl Into<String>, mode: u32, contents: impl AsRef<[u8]>, encoding: Encoding) -> types::File {
    types::File {
        mode: Some(i64::from(mode)),
        overwrite: Some(true),
        contents: Some(resource(contents.as_ref(), encoding)),
        ..types::File::new(path.into())
    }
}

/// Bytes as a resource of a config.
pub fn resource(bytes: &[u8], encoding: Encoding) -> types::Resource {
    let encoded = data_url::encode(bytes, encoding);
    types::Resource {
        source: Some(encoded.source),
        compression: encoded.compression,
        ..types::Resource::default()
    }
}

/// The bytes of a resource. One without a source is empty.
pub fn resource_contents(resource: &types::Resource) -> Result<Vec<u8>, DecodeError> {
    match resource.source.as_deref() {
        None | Some("") => Ok(Vec::new()),
        Some(source) => data_url::decode(source, resource.compression.as_deref(), CONTENTS_LIMIT),
    }
}

/// The bytes that a file will have: its contents, then what is appended.
pub fn file_contents(file: &types::File) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::new();
    let appended = file.append.as_deref().unwrap_or_default();
    for part in file.contents.iter().chain(appended) {
        bytes.extend(resource_contents(part)?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_file_reads_back() {
        let file = file("/etc/a", 0o644, "hello\n");
        assert_eq!(file.mode, Some(420));
        assert_eq!(file.overwrite, Some(true));
        assert_eq!(file_contents(&file).unwrap(), b"hello\n");
    }

    #[test]
    fn appended_parts_follow_the_contents() {
        let mut file = file("/etc/a", 0o644, "a");
        file.append = Some(vec![
            resource(b"b", Encoding::GzipBase64),
            types::Resource::default(),
            resource(b"c", Encoding::Percent),
        ]);
        assert_eq!(file_contents(&file).unwrap(), b"abc");
    }

    #[test]
    fn remote_contents_are_an_error_not_nothing() {
        let mut file = file("/etc/a", 0o644, "a");
        file.contents = Some(types::Resource {
            source: Some("https://example.com/a".to_owned()),
            ..types::Resource::default()
        });
        assert!(matches!(file_contents(&file), Err(DecodeError::NotData)));
    }
}
