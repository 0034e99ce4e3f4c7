//! The three standard streams, passed in so that a test can hold them.

use std::{
    fmt,
    io::{self, BufWriter, Read, Write},
};

use anstream::AutoStream;

/// The streams of one run.
pub struct Io<'a> {
    /// Where `-` reads.
    pub stdin: Box<dyn Read + 'a>,
    /// Where data goes. Text may be styled; the stream strips what cannot be shown.
    pub stdout: Box<dyn Write + 'a>,
    /// Where everything else goes.
    pub stderr: Box<dyn Write + 'a>,
}

impl Io<'static> {
    /// The streams of this process. Styles are kept on a terminal only, and not where `NO_COLOR` is set.
    pub fn process() -> Self {
        Self {
            stdin: Box::new(io::stdin()),
            stdout: Box::new(BufWriter::new(AutoStream::auto(io::stdout()))),
            stderr: Box::new(BufWriter::new(AutoStream::auto(io::stderr()))),
        }
    }
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").finish_non_exhaustive()
    }
}
