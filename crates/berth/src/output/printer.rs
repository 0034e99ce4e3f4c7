//! The two streams.

use std::io::Write;

use annotate_snippets::renderer::{DEFAULT_ERROR_STYLE, DEFAULT_HELP_STYLE, DEFAULT_NOTE_STYLE, DEFAULT_WARNING_STYLE};
use anstyle::Style;
use serde::Serialize;

use super::printable;
use crate::{args::Format, failure::Failure};

/// An answer that can be printed in every format.
pub(crate) trait Report: Serialize {
    /// The answer for people, with a newline at the end unless it is empty.
    fn text(&self, wide: bool) -> String;

    /// One name per line of `-o name`.
    fn names(&self) -> Vec<String>;
}

/// Writes styled text; the streams strip the styles where nobody could see them.
pub(crate) struct Printer<'io> {
    stdout: &'io mut dyn Write,
    stderr: &'io mut dyn Write,
}

impl<'io> Printer<'io> {
    /// A printer on the two streams.
    pub(crate) fn new(stdout: &'io mut dyn Write, stderr: &'io mut dyn Write) -> Self {
        Self { stdout, stderr }
    }

    /// Prints an answer in the format asked for.
    pub(crate) fn report(&mut self, format: Format, report: &impl Report) -> Result<(), Failure> {
        match format {
            Format::Table => self.data(&report.text(false)),
            Format::Wide => self.data(&report.text(true)),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *self.stdout, report).map_err(|error| {
                    if error.is_io() {
                        Failure::Write(error.into())
                    } else {
                        cannot_print("JSON", error)
                    }
                })?;
                self.data("\n")
            }
            Format::Yaml => {
                let value = serde_json::to_value(report).map_err(|error| cannot_print("YAML", error))?;
                self.data(&berth_documents::emit::to_yaml(&value))
            }
            Format::Name => {
                for name in report.names() {
                    writeln!(self.stdout, "{}", printable(&name))?;
                }
                Ok(())
            }
        }
    }

    /// Writes data as it is.
    pub(crate) fn data(&mut self, text: &str) -> Result<(), Failure> {
        Ok(self.stdout.write_all(text.as_bytes())?)
    }

    /// Writes text for people, beside the data.
    pub(crate) fn aside(&mut self, text: &str) -> Result<(), Failure> {
        // On a terminal both streams meet, and should be in the order of writing. A failure is not lost: what could
        // not be written stays in the buffer, and the flush at the end of the run fails again.
        let _ = self.stdout.flush();
        Ok(self.stderr.write_all(text.as_bytes())?)
    }

    /// `error: …`.
    pub(crate) fn error(&mut self, message: &str) -> Result<(), Failure> {
        self.tagged("error", DEFAULT_ERROR_STYLE, message)
    }

    /// `warning: …`.
    pub(crate) fn warning(&mut self, message: &str) -> Result<(), Failure> {
        self.tagged("warning", DEFAULT_WARNING_STYLE, message)
    }

    /// `note: …`.
    pub(crate) fn note(&mut self, message: &str) -> Result<(), Failure> {
        self.tagged("note", DEFAULT_NOTE_STYLE, message)
    }

    /// `hint: …`.
    pub(crate) fn hint(&mut self, message: &str) -> Result<(), Failure> {
        self.tagged("hint", DEFAULT_HELP_STYLE, message)
    }

    /// Hands everything over to the streams; a full disk shows up here at the latest.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.stdout.flush()?;
        Ok(self.stderr.flush()?)
    }

    fn tagged(&mut self, tag: &str, style: Style, message: &str) -> Result<(), Failure> {
        let message = printable(message);
        self.aside(&format!("{style}{tag}{style:#}: {message}\n"))
    }
}

fn cannot_print(format: &'static str, source: serde_json::Error) -> Failure {
    Failure::Format {
        format,
        source: Box::new(source),
    }
}
