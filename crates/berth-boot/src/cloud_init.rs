//! User data for cloud-init.

use std::{fmt::Write as _, io::Write as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use berth_units::LeftOut;
use flate2::{Compression, GzBuilder};

use crate::{
    boot_files::{BootFile, BootInput, boot_files},
    error::BootError,
    way::Way,
};

/// Writes a `#cloud-config` that puts the boot files on the machine. Labels that need another route are listed in
/// comments.
pub fn cloud_init(input: &BootInput<'_>) -> Result<String, BootError> {
    let files = boot_files(input)?;
    let mut text = String::from("#cloud-config\n");
    comments(&mut text, &files.left_out, &files.notes);
    text.push_str("write_files:\n");
    for file in &files.files {
        write_file(&mut text, file);
    }
    if matches!(files.way, Way::Generator | Way::DropIn) {
        text.push_str("runcmd:\n# systemd read its units before the files were there.\n- [systemctl, daemon-reload]\n");
    }
    Ok(text)
}

/// Lists what a person should know, as comments.
pub(crate) fn comments(text: &mut String, left_out: &[LeftOut], notes: &[String]) {
    for note in notes {
        comment(text, &format!("Note: {note}"));
    }
    for left in left_out {
        comment(text, &format!("Left out: {} ({})", left.label, left.reason));
    }
}

fn comment(text: &mut String, line: &str) {
    // Nothing may end the comment early.
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# {line}");
}

fn write_file(text: &mut String, file: &BootFile) {
    // Paths and modes are ours and need no escapes. Writing to a String cannot fail.
    let _ = write!(
        text,
        "- path: {}\n  owner: root:root\n  permissions: '{:04o}'\n",
        file.path, file.mode
    );
    if let Some(plain) = plain_text(&file.contents) {
        text.push_str("  content: |\n");
        for line in plain.lines() {
            if line.is_empty() {
                text.push('\n');
            } else {
                let _ = writeln!(text, "    {line}");
            }
        }
        return;
    }
    let packed = gzip(&file.contents);
    let (encoding, bytes) = match &packed {
        Some(packed) if packed.len() < file.contents.len() => ("gz+b64", packed.as_slice()),
        _ => ("b64", file.contents.as_slice()),
    };
    let _ = writeln!(text, "  encoding: {encoding}\n  content: {}", STANDARD.encode(bytes));
}

/// Text that a literal block of YAML holds as it is.
fn plain_text(contents: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(contents).ok()?;
    let body = text.strip_suffix('\n')?;
    let fits = !body.is_empty()
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.chars().all(|c| c == '\n' || c == ' ' || c.is_ascii_graphic());
    fits.then_some(text)
}

fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    // No time stamp: equal bytes give equal text.
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}
