//! One man page for each command.

use anyhow::{Context as _, Result};

use super::{Files, walk};

pub(super) const FOLDER: &str = "docs/man";

pub(super) fn add(command: &clap::Command, files: &mut Files) -> Result<()> {
    // `berth help lint` shows what `berth-lint.1` holds, so the help command needs no page.
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
    for page in walk(&command) {
        let man = clap_mangen::Man::new(page.clone()).source(source.trim_end());
        let name = man.get_filename();
        let mut text = Vec::new();
        man.render(&mut text).with_context(|| format!("cannot render {name}"))?;
        let text = String::from_utf8(text).with_context(|| format!("{name} is not valid UTF-8"))?;
        files.insert(format!("{FOLDER}/{name}").into(), with_sections(&text));
    }
    Ok(())
}

/// Turns the text after the help, which the renderer puts into one section named EXTRA and fills like prose, into
/// sections under its own headings (`Examples:`), with lines kept as they are.
fn with_sections(page: &str) -> String {
    let mut lines = Vec::new();
    let mut in_extra = false;
    let mut section_is_empty = false;
    for line in page.lines() {
        if line == ".SH EXTRA" {
            in_extra = true;
            section_is_empty = true;
            lines.extend([".SH NOTES".to_owned(), ".nf".to_owned()]);
        } else if in_extra && line.starts_with(".SH ") {
            in_extra = false;
            lines.extend([".fi".to_owned(), line.to_owned()]);
        } else if let Some(heading) = line.strip_suffix(':').filter(|_| in_extra && is_heading(line)) {
            // Without text since the last heading, this one takes its place.
            if section_is_empty {
                lines.truncate(lines.len().saturating_sub(2));
            } else {
                lines.push(".fi".to_owned());
            }
            section_is_empty = true;
            lines.extend([format!(".SH \"{}\"", heading.to_uppercase()), ".nf".to_owned()]);
        } else {
            section_is_empty &= line.is_empty();
            lines.push(line.to_owned());
        }
    }
    if in_extra {
        lines.push(".fi".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A short line at the margin that ends in a colon.
fn is_heading(line: &str) -> bool {
    line.chars().next().is_some_and(char::is_uppercase) && line.split(' ').count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_after_the_help_become_sections() {
        let page = ".SH OPTIONS\n-o\n.SH EXTRA\nExamples:\n  a b\n\nExit codes:\n  0  done\n.SH VERSION\nv1\n";
        assert_eq!(
            with_sections(page),
            ".SH OPTIONS\n-o\n.SH \"EXAMPLES\"\n.nf\n  a b\n\n.fi\n.SH \"EXIT CODES\"\n.nf\n  0  done\n.fi\n.SH VERSION\nv1\n"
        );
    }

    #[test]
    fn text_without_a_heading_stays_a_section_of_its_own() {
        assert_eq!(
            with_sections(".SH EXTRA\nSome text.\n"),
            ".SH NOTES\n.nf\nSome text.\n.fi\n"
        );
    }
}
