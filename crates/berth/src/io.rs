//! The three standard streams and the clock, passed in so that a test can hold them.

use std::{
    fmt,
    io::{self, BufWriter, Read, Write},
};

use anstream::AutoStream;
use berth_clock::Clock;

/// What one run has from the world around it.
pub struct Io<'a> {
    /// Where `-` reads.
    pub stdin: Box<dyn Read + 'a>,
    /// Where data goes. Text may be styled; the stream strips what cannot be shown.
    pub stdout: Box<dyn Write + 'a>,
    /// Where everything else goes.
    pub stderr: Box<dyn Write + 'a>,
    /// Tells the time to all that runs.
    pub clock: Clock,
}

impl Io<'static> {
    /// The streams of this process, and the system's clock. Styles are kept on a terminal only, and not where `NO_COLOR` is set.
    pub fn process() -> Self {
        Self {
            stdin: Box::new(io::stdin()),
            stdout: Box::new(BufWriter::new(AutoStream::auto(io::stdout()))),
            stderr: Box::new(BufWriter::new(AutoStream::auto(io::stderr()))),
            clock: Clock::system(),
        }
    }
}

impl fmt::Debug for Io<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").finish_non_exhaustive()
    }
}

/// A stream whose reader may go away, as `head` does: from then on writing succeeds and does nothing.
pub(crate) struct UntilClosed<'a> {
    inner: &'a mut dyn Write,
    closed: bool,
}

impl<'a> UntilClosed<'a> {
    pub(crate) fn new(inner: &'a mut dyn Write) -> Self {
        Self { inner, closed: false }
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(instead)
            }
            other => other,
        }
    }
}

impl Write for UntilClosed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let result = self.inner.write(bytes);
        self.unless_closed(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.inner.flush();
        self.unless_closed(result, ())
    }
}
