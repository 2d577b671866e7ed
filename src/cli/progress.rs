//! The progress bar.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

/// On standard error, if that is a terminal and somebody wants it; else invisible.
pub fn bar(steps: u64, wanted: bool) -> ProgressBar {
    if !wanted || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps);
    // The template is right; were it not, the bar would only look different.
    match ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} steps, {per_sec}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
