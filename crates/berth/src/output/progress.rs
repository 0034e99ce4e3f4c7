//! A bar for what takes long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how far something has come, on standard error and only if that is a terminal. Gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for so many bytes.
    pub(crate) fn of_bytes(total: u64, doing: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{wide_bar}] {bytes} of {total_bytes}, {eta} left") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(doing.to_owned());
        bar.tick();
        Self(bar)
    }

    /// A bar for so many nodes.
    pub(crate) fn of_nodes(total: u64, doing: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{wide_bar}] {pos} of {len} nodes, {elapsed}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(doing.to_owned());
        bar.tick();
        Self(bar)
    }

    /// What is being done now.
    pub(crate) fn doing(&self, doing: &str) {
        self.0.set_message(doing.to_owned());
    }

    /// Takes the bar away while something else is written.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }

    /// So much is done.
    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
