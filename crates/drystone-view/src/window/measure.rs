//! Measures how quickly a window responds: a thread moves the pointer again and again, and the time until the frame
//! that shows it is taken, beside the rates of frames and steps.

use std::time::{Duration, Instant};

use winit::event_loop::EventLoopProxy;

use super::{OpenWindow, Woken};

/// Time between two movements; not a multiple of a frame.
const EVERY: Duration = Duration::from_millis(97);
/// Time after the first frame of the scene that is not measured.
const WARM_UP: Duration = Duration::from_secs(2);

/// Measurement of frame times, and of delays from a movement to its frame, in progress.
#[derive(Debug)]
pub(super) struct FrameMeasurements {
    /// Length of the measurement, s.
    seconds: f64,
    /// Time and step at which it began.
    begin: Option<(Instant, u64)>,
    frames: Vec<Instant>,
    /// Delays from a movement to the frame that shows it.
    answers: Vec<Duration>,
    pokes: u32,
}

impl FrameMeasurements {
    pub fn new(seconds: f64) -> Self {
        Self { seconds, begin: None, frames: Vec::new(), answers: Vec::new(), pokes: 0 }
    }
}

/// Moves the pointer from another thread, so that movements come while the window is busy.
pub(super) fn poke(proxy: EventLoopProxy<Woken>, seconds: f64) {
    let end = Instant::now() + WARM_UP + Duration::from_secs_f64(seconds.clamp(1.0, 3600.0)) * 2;
    let poke = move || {
        while Instant::now() < end && proxy.send_event(Woken::Poke(Instant::now())).is_ok() {
            std::thread::sleep(EVERY);
        }
    };
    // Without the thread the measurement reports no movements.
    let _ = std::thread::Builder::new().name("poke".to_owned()).spawn(poke);
}

/// Value below which a share of the sorted values lies.
fn share(sorted: &[f64], share: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let at = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

impl OpenWindow {
    /// Moves the pointer a little, around the middle of the picture.
    pub(super) fn poke(&mut self, sent: Instant) {
        let Some(measured) = &mut self.measured else { return };
        measured.pokes += 1;
        self.poked.push(sent);
        #[allow(clippy::cast_precision_loss, reason = "pixels")]
        let [x, y] = self.app.camera.size.map(|side| side as f32 / 2.0);
        let origin = self.app.camera.origin;
        let way = drystone::low_level::math::rotation(0.1 * measured.pokes as f32 % 3.0);
        let scale = self.egui.egui_ctx().pixels_per_point();
        let to = egui::pos2(origin.x + x + way.x * 60.0, origin.y + y + way.y * 60.0) / scale;
        self.made.push(egui::Event::PointerMoved(to));
    }

    /// Notes that a frame is on the screen; prints the result and closes the window at the end.
    pub(super) fn seen(&mut self) {
        let Some(measured) = self.measured.as_mut().filter(|_| self.app.opened > 0) else { return };
        let now = Instant::now();
        let steps = self.app.run.steps();
        let opened = *measured.begin.get_or_insert((now + WARM_UP, u64::MAX));
        let poked = std::mem::take(&mut self.poked);
        if now < opened.0 {
            return;
        }
        let since = if opened.1 == u64::MAX { steps } else { opened.1 };
        measured.begin = Some((opened.0, since));
        measured.frames.push(now);
        measured.answers.extend(poked.into_iter().map(|sent| now - sent));
        let seconds = (now - opened.0).as_secs_f64();
        if seconds < measured.seconds {
            return;
        }
        let mut waits: Vec<f64> = measured.answers.iter().map(|wait| 1e3 * wait.as_secs_f64()).collect();
        waits.sort_by(f64::total_cmp);
        let mut frames: Vec<f64> =
            measured.frames.windows(2).map(|pair| 1e3 * (pair[1] - pair[0]).as_secs_f64()).collect();
        frames.sort_by(f64::total_cmp);
        #[allow(clippy::print_stdout, reason = "the result of `--measure`")]
        {
            println!(
                "{}: {:.1} frames/s (of {:.0} ms, 95 % within {:.0} ms), {:.1} steps/s; {} movements of the pointer seen \
                 after {:.0} ms, 95 % within {:.0} ms, all within {:.0} ms",
                self.app.source.spec(),
                measured.frames.len() as f64 / seconds,
                share(&frames, 0.5),
                share(&frames, 0.95),
                steps.saturating_sub(since) as f64 / seconds,
                waits.len(),
                share(&waits, 0.5),
                share(&waits, 0.95),
                share(&waits, 1.0),
            );
        }
        self.measured = None;
        self.app.quit = true;
    }
}
