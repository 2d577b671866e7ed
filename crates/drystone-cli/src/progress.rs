//! Progress bar.

use std::fmt;
use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::report::significant;

/// Creates a progress bar on standard error, hidden if unwanted or if that is not a terminal.
pub fn bar(steps: u64, wanted: bool) -> ProgressBar {
    if !wanted || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps);
    // The template is valid; an invalid one would only change the appearance.
    match ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} steps, {rate} per second, {eta} left") {
        Ok(style) => {
            let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // Writing to a string cannot fail.
                let _ = out.write_str(&significant(state.per_sec()));
            };
            bar.with_style(style.with_key("rate", rate))
        }
        Err(_) => bar,
    }
}
