//! The progress bar.

use std::fmt;
use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::report::significant;

/// On standard error, if that is a terminal and somebody wants it; else invisible.
pub fn bar(steps: u64, wanted: bool) -> ProgressBar {
    if !wanted || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps);
    // The template is right; were it not, the bar would only look different.
    match ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} steps, {rate} a second, {eta} left") {
        Ok(style) => {
            let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // Writing to the bar's own string cannot fail.
                let _ = out.write_str(&significant(state.per_sec()));
            };
            bar.with_style(style.with_key("rate", rate))
        }
        Err(_) => bar,
    }
}
