//! Measurements of a running world: times of its stages, counters, and the quality of the result (penetration,
//! energies).

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::run::WorldRun;
use drystone::World;
use drystone::low_level::state::{Metrics, metrics};
use drystone::low_level::step::Stage;
use drystone::low_level::types::Counters;

/// Maximum number of measurements that are kept, for plots and exports.
const MOST: usize = 3600;
/// Steps between two measurements of the quality.
const QUALITY_EVERY: u64 = 30;
/// Steps between two measurements in small worlds: their curves show every swing of a spring.
const QUALITY_EVERY_SMALL: u64 = 3;
/// Maximum number of bodies of a small world.
const SMALL: usize = 500;
/// Maximum number of bodies of a world that is measured in each frame.
const TINY: usize = 100;
/// Number of bodies above which the quality is measured only on request: it takes a second of a core.
const LARGE: usize = 50_000;

/// Measurement of a step.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub step: u64,
    /// Times of the stages in [`Stage::ALL`], ms.
    pub stages: [f32; Stage::ALL.len()],
    pub counters: Option<Counters>,
}

impl Sample {
    /// Time of all stages, ms.
    pub fn total(&self) -> f32 {
        self.stages.iter().sum()
    }

    /// Measures the step that a world on the CPU has just done, by the totals of its stages before it; `None` if all
    /// bodies slept.
    #[allow(clippy::cast_possible_truncation, reason = "ms for a plot")]
    pub fn since(before: &[f64; Stage::ALL.len()], run: &WorldRun) -> Option<Self> {
        let now = run.stage_totals();
        let stages = std::array::from_fn(|index| (now[index] - before[index]).max(0.0) as f32);
        Self::new(run.steps(), stages, run.counters().map(|(_, all)| all))
    }

    /// Makes the measurement of a step; `None` if no stage took any time.
    pub fn new(step: u64, stages: [f32; Stage::ALL.len()], counters: Option<Counters>) -> Option<Self> {
        stages.iter().any(|&ms| ms > 0.0).then_some(Self { step, stages, counters })
    }
}

/// Quality of the state after a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepQuality {
    pub step: u64,
    pub metrics: Metrics,
}

/// Measurements of one world.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub samples: VecDeque<Sample>,
    pub qualities: VecDeque<StepQuality>,
    /// Measurement that another thread makes.
    pending: Option<Receiver<StepQuality>>,
    /// Step of the last measurement, plus one; 0 for none.
    last_asked: u64,
}

impl Figures {
    /// Adds the measurement of a step.
    pub fn note(&mut self, sample: Sample) {
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Removes all measurements, as another world is shown.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns true if the quality is due to be measured again.
    pub fn is_due(&self, steps: u64, bodies: usize) -> bool {
        let every = if bodies <= TINY {
            1
        } else if bodies <= SMALL {
            QUALITY_EVERY_SMALL
        } else {
            QUALITY_EVERY
        };
        (steps + 1).abs_diff(self.last_asked) >= every
    }

    /// Returns true for worlds in which penetration and energies are measured without a request.
    pub fn measures_itself(bodies: usize) -> bool {
        bodies <= LARGE
    }

    /// Measures penetration and energies of the present state in another thread, one measurement at a time.
    pub fn measure(&mut self, run: &mut WorldRun) {
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
            // The receiver is gone if the window is closed.
            let _ = sender.send(StepQuality { step, metrics: metrics(&compiled, &snapshot) });
        };
        if std::thread::Builder::new().name("quality".to_owned()).spawn(work).is_ok() {
            self.pending = Some(receiver);
        }
    }

    /// Adds the quality that the other thread has measured.
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
