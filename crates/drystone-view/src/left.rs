//! Worlds that were left when another scene was opened: undo (Z) brings them back as they were, with everything built
//! in them, and redo (Y) returns to the later one.

use super::app::App;
use super::camera_follow::Fit;
use super::pointer::Pointer;
use super::source::SceneSource;
use super::watch::WatchAgain;
use super::worker::WorkerHandle;
use drystone::Context;
use drystone_draw::Camera;

/// Maximum number of kept worlds: each takes the memory of a world.
const MAX_WORLDS: usize = 3;
/// Number of bodies above which a world is not kept.
const MAX_BODIES: usize = 200_000;
/// Maximum size of the states that a kept world can go back to, bytes.
const MAX_STATES: u64 = 48 << 20;

/// World that was left, with its camera.
#[derive(Debug)]
struct Left {
    worker: WorkerHandle,
    source: SceneSource,
    overridden: bool,
    camera: Camera,
    follows: bool,
}

/// Worlds that undo and redo can show again.
#[derive(Debug, Default)]
pub(crate) struct LeftWorlds {
    /// Worlds for undo, the newest last.
    before: Vec<Left>,
    /// Worlds for redo, the last one left by undo at the end.
    after: Vec<Left>,
}

impl Left {
    /// Returns true if the user changed something in it.
    fn is_touched(&self) -> bool {
        self.worker.facts().log.iter().any(super::run::LogEntry::is_deed)
    }
}

impl LeftWorlds {
    /// Drops the worlds for redo after another change.
    pub fn forget_after(&mut self) {
        self.after.clear();
    }

    /// Continues on a new device after the old one was lost. A world that does not fit it is dropped.
    pub fn revive(&mut self, context: &Context) {
        for list in [&mut self.before, &mut self.after] {
            list.retain_mut(|left| {
                let _ = left.worker.take_back(None);
                left.worker.revive(context).is_ok()
            });
        }
    }
}

impl App {
    /// Keeps a world that is left for another scene; with `only_touched` only if the user changed something in it.
    /// Returns true if undo brings changes of the user back with it.
    pub(super) fn leave_world(&mut self, mut worker: WorkerHandle, only_touched: bool) -> bool {
        self.left.after.clear();
        if let Some(run) = worker.here_mut() {
            run.forget_undone();
            run.thin(MAX_STATES);
        }
        let source = self.source.clone();
        let left = Left {
            worker,
            source,
            overridden: self.overridden,
            camera: self.camera,
            follows: self.camera_follow.follows,
        };
        let touched = left.is_touched();
        if left.worker.facts().bodies > MAX_BODIES || (only_touched && !touched) {
            return false;
        }
        let before = &mut self.left.before;
        before.push(left);
        if before.len() > MAX_WORLDS {
            // An unchanged one is dropped first, but never the newest.
            let at = before[..MAX_WORLDS].iter().position(|left| !left.is_touched()).unwrap_or(0);
            before.remove(at);
        }
        touched
    }

    /// Shows the world before this one again; returns false if there is none.
    pub(super) fn bring_back_world(&mut self) -> bool {
        let Some(left) = self.left.before.pop() else { return false };
        let now = self.show_world(left);
        self.left.after.push(now);
        self.say(format!("back in {}, as it was left · Y leaves it again", self.source.title()));
        true
    }

    /// Shows the world that the last undo left; returns false if there is none.
    pub(super) fn leave_again(&mut self) -> bool {
        let Some(left) = self.left.after.pop() else { return false };
        let now = self.show_world(left);
        self.left.before.push(now);
        self.say(format!("{} again · Z goes back once more", self.source.title()));
        true
    }

    /// Shows a kept world, and returns the one that was shown.
    fn show_world(&mut self, mut left: Left) -> Left {
        self.opening = None;
        self.drop_twin();
        if let Some(background_job) = self.background_job.take() {
            background_job.cancel();
        }
        // It may have been left in the middle of a step.
        let _ = left.worker.take_back(None);
        while left.worker.is_mid_step() {
            let complete = left.worker.here_mut().is_none_or(|run| run.step_part(1.0).unwrap_or(true));
            if complete {
                break;
            }
        }
        left.worker.learn();
        let now = Left {
            worker: std::mem::replace(&mut self.run, left.worker),
            source: std::mem::replace(&mut self.source, left.source),
            overridden: std::mem::replace(&mut self.overridden, left.overridden),
            camera: self.camera,
            follows: self.camera_follow.follows,
        };
        self.opened += 1;
        self.playing = false;
        self.owed = 0;
        self.undoing = false;
        self.fault = None;
        self.frame_pacing = self.frame_pacing.of_another_world();
        self.pointer = Pointer::default();
        self.joints = super::joint::PointedJoints::default();
        self.build.of_another_world();
        self.figures.clear();
        self.watch_again(&WatchAgain::Nothing);
        self.queue.retain(|action| action.needs() != super::action::Needs::World);
        if left.follows {
            self.fit = Fit::Wanted;
        } else {
            let (origin, size) = (self.camera.origin, self.camera.size);
            self.camera = Camera { origin, size, ..left.camera };
            self.fit = Fit::Done;
            self.camera_follow.stay();
        }
        now
    }
}
