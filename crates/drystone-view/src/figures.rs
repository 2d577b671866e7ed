//! What is measured while a world runs: milliseconds of its stages, counters, and how good the result is.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::run::Run;
use drystone::World;
use drystone::low_level::state::{Metrics, metrics};
use drystone::low_level::step::Stage;
use drystone::low_level::types::Counters;

/// Measured steps that are kept, for plots and exports.
const MOST: usize = 3600;
/// Steps from one measurement of the quality to the next.
const QUALITY_EVERY: u64 = 30;
/// Steps from one measurement to the next of small worlds: their curves show every swing of a spring.
const QUALITY_EVERY_SMALL: u64 = 3;
/// Bodies of a small world, at most.
const SMALL: usize = 500;
/// Of the largest worlds the quality is measured only when asked for: it takes a second of a core.
const LARGE: usize = 50_000;

/// A step that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub step: u64,
    /// Of each stage of [`Stage::ALL`].
    pub stages: [f32; Stage::ALL.len()],
    pub counters: Option<Counters>,
}

impl Sample {
    /// ms.
    pub fn total(&self) -> f32 {
        self.stages.iter().sum()
    }

    /// Of the step that a world on the CPU has just done, by what its stages had taken before. Nothing of a step in
    /// which all slept.
    #[allow(clippy::cast_possible_truncation, reason = "ms for a plot")]
    pub fn since(before: &[f64; Stage::ALL.len()], run: &Run) -> Option<Self> {
        let now = run.stage_totals();
        let stages = std::array::from_fn(|index| (now[index] - before[index]).max(0.0) as f32);
        Self::new(run.steps(), stages, run.counters().map(|(_, all)| all))
    }

    /// Of a step, unless nothing was done in it.
    pub fn new(step: u64, stages: [f32; Stage::ALL.len()], counters: Option<Counters>) -> Option<Self> {
        stages.iter().any(|&ms| ms > 0.0).then_some(Self { step, stages, counters })
    }
}

/// How good a step came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quality {
    pub step: u64,
    pub metrics: Metrics,
}

/// All that was measured of one world.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub samples: VecDeque<Sample>,
    pub qualities: VecDeque<Quality>,
    pending: Option<Receiver<Quality>>,
    last_asked: u64,
}

impl Figures {
    /// Takes over what a step was measured to take.
    pub fn note(&mut self, sample: Sample) {
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Forgets what belongs to another world.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether the quality is to be measured again.
    pub fn is_due(&self, steps: u64, bodies: usize) -> bool {
        let every = if bodies <= SMALL { QUALITY_EVERY_SMALL } else { QUALITY_EVERY };
        (steps + 1).abs_diff(self.last_asked) >= every
    }

    /// Whether penetration and energy are measured by themselves.
    pub fn measures_itself(bodies: usize) -> bool {
        bodies <= LARGE
    }

    /// Measures penetration and energies of the world as it is, in a thread of its own: the window goes on. At most one
    /// at a time.
    pub fn measure(&mut self, run: &mut Run) {
        if self.pending.is_some() || self.last_asked == run.steps() + 1 {
            return;
        }
        self.last_asked = run.steps() + 1;
        let compiled = run.world().compiled().clone();
        let step = run.steps();
        let (sender, receiver) = channel();
        let copy = match run.world_mut() {
            World::Cpu(world) => Ok(world.snapshot()),
            World::Gpu(world) => match world.device_copy() {
                Ok(copy) => Err(copy),
                Err(_) => return,
            },
        };
        let work = move || {
            let snapshot = match copy {
                Ok(snapshot) => snapshot,
                Err(copy) => match copy.read() {
                    Ok(snapshot) => snapshot,
                    Err(_) => return,
                },
            };
            // Nobody listens any more if the window is closed.
            let _ = sender.send(Quality { step, metrics: metrics(&compiled, &snapshot) });
        };
        if std::thread::Builder::new().name("quality".to_owned()).spawn(work).is_ok() {
            self.pending = Some(receiver);
        }
    }

    /// Takes over what has been measured.
    pub fn poll(&mut self) {
        let Some(receiver) = &self.pending else { return };
        match receiver.try_recv() {
            Ok(quality) => {
                // The world may have gone back.
                while self.qualities.back().is_some_and(|last| last.step >= quality.step) {
                    self.qualities.pop_back();
                }
                if self.qualities.len() == MOST {
                    self.qualities.pop_front();
                }
                self.qualities.push_back(quality);
                self.pending = None;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.pending = None,
        }
    }
}
