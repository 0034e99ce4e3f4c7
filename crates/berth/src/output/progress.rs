//! A bar for what takes long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows how far a copy has come, on standard error and only if that is a terminal. Gone when it is dropped.
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

    /// So many bytes are done.
    pub(crate) fn at(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
