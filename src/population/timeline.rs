//! The timeline at run time: the commands that act before each step ([`TimedCommand`](crate::scene::TimedCommand)).
//! They depend on the number of the step alone, and on the steps at which their conditions first held, which a snapshot
//! holds. So a world that continues from a snapshot has the same bodies and gravity, as with emitters.

use super::{BodyId, JointId, Population, PopulationChange};
use crate::command::{Command, JointCommand};
use crate::scene::timeline::{NEVER, TimelineEntry};
use crate::scene::{Compiled, StartCondition, TimedAction, TimedCommand};
use crate::types::VACANT;

/// Effects of the timeline before a step that are not in the tables of the host yet.
#[derive(Debug, Default)]
pub(crate) struct TimelineEffects {
    /// Changes by removed joints and bodies.
    pub removed: Vec<PopulationChange>,
    /// True if gravity has changed.
    pub gravity: bool,
    /// Commands to bodies.
    pub bodies: Vec<(BodyId, Command)>,
    /// Commands to joints.
    pub joints: Vec<(JointId, JointCommand)>,
}

impl Population {
    /// Returns whether commands wait for a condition before a step: `Some(true)` if one of them is on speeds.
    pub(crate) fn awaits_speed(&self, compiled: &Compiled, step: u64) -> Option<bool> {
        let is_on_speed = |(_, when)| matches!(when, StartCondition::SpeedBelow(_));
        self.waiting(compiled, step).map(is_on_speed).reduce(|any, one| any | one)
    }

    /// Returns the indices and conditions of the commands that may begin before a step.
    fn waiting<'a>(
        &'a self,
        compiled: &'a Compiled,
        step: u64,
    ) -> impl Iterator<Item = (usize, StartCondition)> + use<'a> {
        let all = compiled.script.timeline.entries().iter().zip(&self.starts).enumerate();
        let waits = move |(index, (entry, &start)): (usize, (&TimelineEntry, &u64))| {
            entry.when.filter(|_| start == NEVER && entry.start <= step).map(|when| (index, when))
        };
        all.filter_map(waits)
    }

    /// Begins the commands whose conditions hold before a step, given the speed of the fastest dynamic body, m/s.
    pub(crate) fn begin_timed(&mut self, compiled: &Compiled, step: u64, max_speed: f64) {
        let bodies = compiled.bodies.iter().filter(|body| body.kind != VACANT).count();
        let holds = |when: StartCondition| match when {
            StartCondition::SpeedBelow(speed) => max_speed < f64::from(speed),
            StartCondition::Bodies(count) => bodies >= count as usize,
        };
        let begun: Vec<usize> =
            self.waiting(compiled, step).filter_map(|(index, when)| holds(when).then_some(index)).collect();
        if begun.is_empty() {
            return;
        }
        for index in begun {
            self.starts[index] = step;
        }
        self.next = self.next_emission(compiled);
    }

    /// Steps before which the commands of the timeline begin to act, for snapshots; empty without conditions.
    pub(crate) fn timed_starts(&self, compiled: &Compiled) -> Vec<u64> {
        let has_conditions = compiled.script.timeline.entries().iter().any(|entry| entry.when.is_some());
        if has_conditions { self.starts.clone() } else { Vec::new() }
    }

    /// Sets the steps before which the commands begin to act to those of a snapshot, in a population as it began.
    pub(crate) fn set_timed_starts(&mut self, compiled: &Compiled, starts: &[u64]) {
        if starts.len() == self.starts.len() {
            self.starts = starts.to_vec();
            self.next = self.next_emission(compiled);
        }
    }

    /// Returns the timed commands that are left after `steps`, for a scene that starts there; `body` and `joint` return
    /// the indices there of bodies and joints of the scene.
    #[must_use]
    pub fn timeline_left(
        &self,
        compiled: &Compiled,
        steps: u64,
        body: impl Fn(usize) -> Option<usize>,
        joint: impl Fn(usize) -> Option<usize>,
    ) -> Vec<TimedCommand> {
        compiled.script.timeline.left(&self.starts, steps, compiled.params.dt, body, joint)
    }

    /// Returns the first step before which a command of the timeline acts next.
    pub(super) fn next_timed(&self, compiled: &Compiled) -> u64 {
        compiled.script.timeline.next(&self.starts, self.acted)
    }

    /// Carries out what is due in the timeline before a step: removals and gravity here, the commands to bodies and
    /// joints by the caller. Called before [`Self::retire`]; a second call for the same step does nothing.
    pub(crate) fn act(&mut self, compiled: &mut Compiled, step: u64) -> TimelineEffects {
        let mut effects = TimelineEffects::default();
        if self.next_timed(compiled) > step {
            return effects;
        }
        self.acted = step + 1;
        // Marked, so that the history tells whether a snapshot was taken before or after.
        self.history = self.history.bytes(b"timeline").bytes(&step.to_le_bytes());
        let timeline = compiled.script.timeline.clone();
        let (mut bodies, mut joints) = (Vec::new(), Vec::new());
        for action in timeline.actions(&self.starts, step) {
            match action {
                TimedAction::Gravity(gravity) => effects.gravity |= compiled.change_gravity(gravity.into()),
                TimedAction::Body(index, command) => effects.bodies.push((index.into(), command)),
                TimedAction::Joint(index, command) => effects.joints.push((first_joint(index), command)),
                TimedAction::Remove { bodies: gone, joints: parted } => {
                    bodies.extend(gone.into_iter().map(BodyId::from));
                    joints.extend(parted.into_iter().map(first_joint));
                }
            }
        }
        bodies.sort_unstable();
        bodies.dedup();
        bodies.retain(|&id| self.id(compiled, id.index as usize) == Some(id));
        joints.sort_unstable();
        joints.dedup();
        joints.retain(|&id| super::joint_place(compiled, id).is_some());
        // Joints first: those of removed bodies go with them.
        if !joints.is_empty() {
            // None is missing or given twice, so that it does not fail.
            effects.removed.extend(self.remove_joints(compiled, &joints));
        }
        if !bodies.is_empty() {
            effects.removed.push(self.remove_checked(compiled, &bodies));
        }
        effects
    }
}

/// Returns the id of the joint with an index in the scene.
fn first_joint(index: usize) -> JointId {
    JointId { index: u32::try_from(index).unwrap_or(u32::MAX), generation: 0 }
}
