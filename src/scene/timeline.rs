//! The timeline of a scene: commands with a time, and ramps. They act at the start of a step that depends on their time
//! alone, so that they are the same on every backend, in batches, and after a snapshot was restored.

use std::sync::Arc;

use glam::Vec2;

use super::{Compiled, JointKind, Scene, SceneError, check_count, check_gravity};
use crate::command::{Command, CommandError, JointCommand};
use crate::constants::{MAX_RAMP_STEPS, MAX_TIMED_COMMANDS};
use crate::population::joint_id;

/// A command of a scene's timeline: what it does, and when.
///
/// ```
/// use drystone::low_level::scene::{TimedAction, TimedCommand};
/// use drystone::{Body, Scene, Shape, World};
///
/// // The ball hovers for half a second, then gravity grows to −10 m/s² within a second.
/// let mut scene = Scene::new("ramp").gravity(0.0, 0.0);
/// let ball = scene.add(Body::dynamic(0.0, 50.0).shape(Shape::circle(0.5)));
/// let down = TimedAction::Gravity([0.0, -10.0].into());
/// scene.timeline.push(TimedCommand { over: 1.0, ..TimedCommand::at(0.5, down) });
/// let mut world = World::new(&scene)?;
/// for _ in 0..90 {
///     world.step()?;
/// }
/// assert!((world.body(ball)?.velocity().y + 5.0).abs() < 1e-3);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TimedCommand {
    /// Condition for which it waits in place of a time.
    pub when: Option<StartCondition>,
    /// Time at which it acts, s, at least 0: before the step whose begin is nearest to it. With a condition: earliest
    /// time.
    pub at: f64,
    /// Duration of a ramp, s, at least 0. In each step of the ramp the value is that at the middle of the step, on a
    /// straight line from the value before: that of the latest command for the same thing, or of the scene. A later
    /// command for the same thing ends the ramp. 0: the value is set at once.
    pub over: f64,
    /// Action of the command.
    pub action: TimedAction,
}

/// Condition on the state between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StartCondition {
    /// All dynamic bodies are slower than this, m/s.
    SpeedBelow(f32),
    /// Least number of bodies, of all types.
    Bodies(u32),
}

/// Action of a timed command. Bodies and joints are given by their index in the scene. A command to one that is gone
/// does nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum TimedAction {
    /// Sets gravity, m/s².
    Gravity(Vec2),
    /// Gives a command to a body: an impulse, a force, a torque or a velocity.
    Body(usize, Command),
    /// Gives a command to a joint.
    Joint(usize, JointCommand),
    /// Removes bodies, with their joints, and joints.
    Remove {
        /// Bodies.
        bodies: Vec<usize>,
        /// Joints.
        joints: Vec<usize>,
    },
}

impl TimedCommand {
    /// Returns a command that acts at a time, s.
    #[must_use]
    pub fn at(time: f64, action: TimedAction) -> Self {
        Self { when: None, at: time, over: 0.0, action }
    }

    /// Returns a command that acts once a condition holds.
    #[must_use]
    pub fn when(condition: StartCondition, action: TimedAction) -> Self {
        Self { when: Some(condition), ..Self::at(0.0, action) }
    }
}

impl TimedAction {
    /// Returns the key of the action in a scene file.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Gravity(_) => "gravity",
            Self::Body(_, command) => match command {
                Command::Impulse { .. } => "impulse",
                Command::AngularImpulse(_) => "angular_impulse",
                Command::Force { .. } => "force",
                Command::Torque(_) => "torque",
                Command::Velocity(_) => "velocity",
                Command::AngularVelocity(_) => "angular_velocity",
                Command::Teleport { .. } | Command::Target { .. } | Command::Wake => "body",
            },
            Self::Joint(_, command) => match command {
                JointCommand::Motor { .. } => "motor",
                JointCommand::Limits(_) => "limits",
                JointCommand::Target(_) => "target",
                JointCommand::Length(_) => "length",
                JointCommand::SpringTarget(_) => "spring_target",
                JointCommand::Enable(_) => "enabled",
                JointCommand::Offset { .. } | JointCommand::Velocity { .. } => "joint",
            },
            Self::Remove { .. } => "remove",
        }
    }

    /// Returns true if both set the same thing.
    fn is_of_same_thing(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gravity(_), Self::Gravity(_)) => true,
            (Self::Body(a, _), Self::Body(b, _)) | (Self::Joint(a, _), Self::Joint(b, _)) => {
                a == b && self.key() == other.key()
            }
            _ => false,
        }
    }

    /// Returns true if the action sets a value that a ramp can change.
    fn is_gradual(&self) -> bool {
        match self {
            Self::Gravity(_) => true,
            Self::Body(_, command) => matches!(
                command,
                Command::Force { .. } | Command::Torque(_) | Command::Velocity(_) | Command::AngularVelocity(_)
            ),
            Self::Joint(_, command) => !matches!(command, JointCommand::Enable(_)),
            Self::Remove { .. } => false,
        }
    }

    /// Returns the action at a share of the way from another of the same thing to this one.
    fn blended(&self, from: &Self, share: f64) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let number = |from: f32, to: f32| (f64::from(from) + (f64::from(to) - f64::from(from)) * share) as f32;
        let pair = |from: Vec2, to: Vec2| Vec2::new(number(from.x, to.x), number(from.y, to.y));
        match (from, self) {
            (Self::Gravity(from), Self::Gravity(to)) => Self::Gravity(pair(*from, *to)),
            (Self::Body(_, from), Self::Body(body, to)) => {
                let command = match (*from, *to) {
                    (Command::Force { force: from, .. }, Command::Force { force: to, point }) => {
                        Command::Force { force: pair(from, to), point }
                    }
                    (Command::Torque(from), Command::Torque(to)) => Command::Torque(number(from, to)),
                    (Command::Velocity(from), Command::Velocity(to)) => Command::Velocity(pair(from, to)),
                    (Command::AngularVelocity(from), Command::AngularVelocity(to)) => {
                        Command::AngularVelocity(number(from, to))
                    }
                    (_, to) => to,
                };
                Self::Body(*body, command)
            }
            (Self::Joint(_, from), Self::Joint(joint, to)) => {
                let command = match (*from, *to) {
                    (JointCommand::Motor { speed, max }, JointCommand::Motor { speed: to, max: most }) => {
                        JointCommand::Motor { speed: number(speed, to), max: number(max, most) }
                    }
                    (JointCommand::Limits(from), JointCommand::Limits(to)) => {
                        JointCommand::Limits([number(from[0], to[0]), number(from[1], to[1])])
                    }
                    (JointCommand::Target(from), JointCommand::Target(to)) => JointCommand::Target(pair(from, to)),
                    (JointCommand::Length(from), JointCommand::Length(to)) => JointCommand::Length(number(from, to)),
                    (JointCommand::SpringTarget(from), JointCommand::SpringTarget(to)) => {
                        JointCommand::SpringTarget(number(from, to))
                    }
                    (_, to) => to,
                };
                Self::Joint(*joint, command)
            }
            _ => self.clone(),
        }
    }

    /// Returns the value that the scene itself gives to the thing that the action sets, if it gives one.
    fn first_value(&self, scene: &Scene) -> Option<Self> {
        match self {
            Self::Gravity(_) => Some(Self::Gravity(scene.gravity)),
            Self::Body(index, command) => {
                let body = scene.bodies.get(*index)?;
                let first = match command {
                    Command::Force { point, .. } => Command::Force { force: body.force, point: *point },
                    Command::Torque(_) => Command::Torque(body.torque),
                    Command::Velocity(_) => Command::Velocity(body.velocity),
                    Command::AngularVelocity(_) => Command::AngularVelocity(body.angular_velocity),
                    _ => return None,
                };
                Some(Self::Body(*index, first))
            }
            Self::Joint(index, command) => {
                let kind = &scene.joints.get(*index)?.kind;
                let (limits, motor, spring) = match *kind {
                    JointKind::Distance { limits, motor, .. } => (limits, motor, None),
                    JointKind::Revolute { limits, motor, spring, .. }
                    | JointKind::Prismatic { limits, motor, spring, .. }
                    | JointKind::Wheel { limits, motor, spring, .. } => (limits, motor, spring),
                    _ => (None, None, None),
                };
                let first = match (command, kind) {
                    (JointCommand::Motor { .. }, _) => {
                        motor.map(|motor| JointCommand::Motor { speed: motor.speed, max: motor.max })
                    }
                    (JointCommand::Limits(_), _) => limits.map(JointCommand::Limits),
                    (JointCommand::SpringTarget(_), _) => {
                        spring.map(|spring| JointCommand::SpringTarget(spring.target))
                    }
                    (
                        JointCommand::Length(_),
                        JointKind::Distance { length, .. } | JointKind::Pulley { length, .. },
                    ) => length.map(JointCommand::Length),
                    (JointCommand::Length(_), JointKind::Spring { rest_length, .. }) => {
                        rest_length.map(JointCommand::Length)
                    }
                    (JointCommand::Target(_), JointKind::Mouse { target, .. }) => Some(JointCommand::Target(*target)),
                    _ => None,
                };
                first.map(|first| Self::Joint(*index, first))
            }
            Self::Remove { .. } => None,
        }
    }
}

/// A command of the timeline with its time in steps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimelineEntry {
    /// Condition for which it waits.
    pub when: Option<StartCondition>,
    /// Number of the step before which it acts; with a condition, of the first before which it can.
    pub start: u64,
    /// Steps of the ramp; 0 without one.
    pub steps: u64,
    pub action: TimedAction,
    /// Value of the scene itself, from which a ramp begins if no command came before.
    first: Option<TimedAction>,
}

/// Number of a step that never comes.
pub(crate) const NEVER: u64 = u64::MAX;

/// The timeline of a world. `starts` in its methods are the steps before which its commands begin to act: [`NEVER`] for
/// those that still wait for their condition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline(Arc<[TimelineEntry]>);

impl Timeline {
    pub fn new(scene: &Scene) -> Self {
        let dt = f64::from(scene.settings.dt);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked; negative times become 0")]
        let steps = |time: f64| (time / dt).round() as u64;
        let entry = |command: &TimedCommand| TimelineEntry {
            when: command.when,
            start: steps(command.at),
            steps: steps(command.over),
            action: command.action.clone(),
            first: command.action.first_value(scene),
        };
        Self(scene.timeline.iter().map(entry).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn entries(&self) -> &[TimelineEntry] {
        &self.0
    }

    /// Returns a description by which worlds with other timelines differ.
    pub fn description(&self) -> String {
        format!("{:?}", self.0)
    }

    /// Returns the steps before which the commands begin to act at the start of a world.
    pub fn first_starts(&self) -> Vec<u64> {
        self.0.iter().map(|entry| if entry.when.is_some() { NEVER } else { entry.start }).collect()
    }

    /// Returns the first step from `from` on before which a command acts; [`NEVER`] if there is none.
    pub fn next(&self, starts: &[u64], from: u64) -> u64 {
        let next = |(entry, &start): (&TimelineEntry, &u64)| {
            (start != NEVER && from <= start.saturating_add(entry.steps)).then_some(start.max(from))
        };
        self.0.iter().zip(starts).filter_map(next).min().unwrap_or(NEVER)
    }

    /// Returns the actions before a step, in their order.
    pub fn actions(&self, starts: &[u64], step: u64) -> Vec<TimedAction> {
        let is_due = |index: usize| {
            let start = starts[index];
            start <= step
                && step <= start.saturating_add(self.0[index].steps)
                && start != NEVER
                && (start == step || !self.is_ended(starts, index, step))
        };
        let due = (0..self.0.len()).filter(|&index| is_due(index));
        #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
        due.map(|index| self.value(starts, index, step as f64 + 0.5)).collect()
    }

    /// Returns true if a later command for the same thing acts from a step up to this one on.
    fn is_ended(&self, starts: &[u64], index: usize, step: u64) -> bool {
        let is_later = |other: usize| {
            starts[other] <= step
                && (starts[other], other) > (starts[index], index)
                && self.0[other].action.is_of_same_thing(&self.0[index].action)
        };
        (0..self.0.len()).any(is_later)
    }

    /// Returns what a command sets at a time in steps.
    fn value(&self, starts: &[u64], index: usize, time: f64) -> TimedAction {
        let entry = &self.0[index];
        #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
        let share = (time - starts[index] as f64) / entry.steps as f64;
        if entry.steps == 0 || share >= 1.0 {
            return entry.action.clone();
        }
        match self.value_before(starts, index) {
            Some(from) => entry.action.blended(&from, share),
            None => entry.action.clone(),
        }
    }

    /// Returns the value from which a ramp begins.
    fn value_before(&self, starts: &[u64], index: usize) -> Option<TimedAction> {
        let own = &self.0[index];
        let is_before = |&other: &usize| {
            starts[other] != NEVER
                && (starts[other], other) < (starts[index], index)
                && self.0[other].action.is_of_same_thing(&own.action)
        };
        let before = (0..self.0.len()).filter(is_before).max_by_key(|&other| (starts[other], other));
        #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
        let time = starts[index] as f64;
        before.map_or_else(|| own.first.clone(), |other| Some(self.value(starts, other, time)))
    }

    /// Returns the commands that are left after a number of steps, for a scene that starts there, with bodies and
    /// joints by their indices there. A ramp that has begun is two commands: its present value, and the rest of it.
    pub fn left(
        &self,
        starts: &[u64],
        steps: u64,
        dt: f32,
        body: impl Fn(usize) -> Option<usize>,
        joint: impl Fn(usize) -> Option<usize>,
    ) -> Vec<TimedCommand> {
        let mut left = Vec::new();
        #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
        let seconds = |steps: u64| steps as f64 * f64::from(dt);
        let moved = |action: TimedAction| {
            Some(match action {
                TimedAction::Gravity(gravity) => TimedAction::Gravity(gravity),
                TimedAction::Body(index, command) => TimedAction::Body(body(index)?, command),
                TimedAction::Joint(index, command) => TimedAction::Joint(joint(index)?, command),
                TimedAction::Remove { bodies, joints } => {
                    let bodies: Vec<usize> = bodies.into_iter().filter_map(&body).collect();
                    let joints: Vec<usize> = joints.into_iter().filter_map(&joint).collect();
                    if bodies.is_empty() && joints.is_empty() {
                        return None;
                    }
                    TimedAction::Remove { bodies, joints }
                }
            })
        };
        for (index, entry) in self.0.iter().enumerate() {
            let start = starts[index];
            let mut push = |when, at: u64, over: u64, action: TimedAction| {
                if let Some(action) = moved(action) {
                    left.push(TimedCommand { when, at: seconds(at), over: seconds(over), action });
                }
            };
            if start == NEVER {
                push(entry.when, entry.start.saturating_sub(steps), entry.steps, entry.action.clone());
            } else if start >= steps {
                push(None, start - steps, entry.steps, entry.action.clone());
            } else if start.saturating_add(entry.steps) >= steps && !self.is_ended(starts, index, steps) {
                #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
                push(None, 0, 0, self.value(starts, index, steps as f64));
                push(None, 0, start + entry.steps - steps, entry.action.clone());
            }
        }
        left
    }
}

/// Checks the timeline of a scene, of which everything else was checked.
pub(super) fn check_timeline(scene: &Scene) -> Result<(), SceneError> {
    if scene.timeline.is_empty() {
        return Ok(());
    }
    check_count("timeline", "commands", scene.timeline.len(), MAX_TIMED_COMMANDS)?;
    let bare = Scene { timeline: Vec::new(), emitters: Vec::new(), ..scene.clone() };
    let compiled = Compiled::new(&bare)?;
    for (index, command) in scene.timeline.iter().enumerate() {
        check_times(command, index)?;
        check_action(&command.action, &compiled).map_err(|error| {
            let path = if error.path.is_empty() { String::new() } else { format!(".{}", error.path) };
            SceneError { path: format!("timeline[{index}]{path}"), ..error }
        })?;
    }
    check_ramps(scene)
}

fn check_times(command: &TimedCommand, index: usize) -> Result<(), SceneError> {
    const MAX_TIME: f64 = 1e9;
    for (key, time) in [("at", command.at), ("over", command.over)] {
        // This form refuses a NaN.
        if !(0.0..=MAX_TIME).contains(&time) {
            let at = format!("timeline[{index}].{key}");
            return Err(SceneError::new(at, format!("is {time}"), format!("a time from 0 to {MAX_TIME:e} s")));
        }
    }
    if let Some(StartCondition::SpeedBelow(speed)) = command.when
        && !(speed > 0.0 && speed <= super::MAX_VALUE)
    {
        let at = format!("timeline[{index}].when.speed_below");
        return Err(SceneError::new(at, format!("is {speed}"), "a speed above 0 m/s"));
    }
    if command.over > 0.0 && !command.action.is_gradual() {
        let at = format!("timeline[{index}].over");
        let problem = format!("makes a ramp of `{}`", command.action.key());
        return Err(SceneError::new(
            at,
            problem,
            "a ramp of gravity, a force, a torque, a velocity or a joint's value",
        ));
    }
    Ok(())
}

/// Checks one action against the world at its start. Paths are relative to the command.
fn check_action(action: &TimedAction, compiled: &Compiled) -> Result<(), SceneError> {
    let missing = |what: &str, key: &str, index: usize, count: usize| {
        let expected = format!("the index or the id of one of {count} {what}");
        SceneError::new(key, format!("refers to number {index}"), expected)
    };
    let joint = |index: usize, key: &str| {
        joint_id(compiled, index).ok_or_else(|| missing("joints", key, index, compiled.joints.count()))
    };
    let key = action.key();
    match action {
        TimedAction::Gravity(gravity) => check_gravity(*gravity),
        TimedAction::Body(_, Command::Teleport { .. } | Command::Target { .. } | Command::Wake)
        | TimedAction::Joint(_, JointCommand::Offset { .. } | JointCommand::Velocity { .. }) => {
            Err(SceneError::new(key, "gives a command that timelines have not", "a force, a velocity or a motor"))
        }
        TimedAction::Body(index, command) => {
            if *index >= compiled.bodies.len() {
                return Err(missing("bodies", "body", *index, compiled.bodies.len()));
            }
            command.push(compiled, *index, &mut Vec::new()).map(drop).map_err(|error| refused(error, key))
        }
        TimedAction::Joint(index, command) => {
            let id = joint(*index, "joint")?;
            command.flatten(compiled, id).map(drop).map_err(|error| refused(error, key))
        }
        TimedAction::Remove { bodies, joints } => {
            if bodies.is_empty() && joints.is_empty() {
                return Err(SceneError::new(key, "is empty", "bodies or joints"));
            }
            for (place, &index) in bodies.iter().enumerate() {
                if index >= compiled.bodies.len() {
                    return Err(missing("bodies", &format!("remove.bodies[{place}]"), index, compiled.bodies.len()));
                }
            }
            for (place, &index) in joints.iter().enumerate() {
                joint(index, &format!("remove.joints[{place}]"))?;
            }
            for (list, indices) in [("bodies", bodies), ("joints", joints)] {
                let mut seen = std::collections::HashSet::new();
                if let Some(place) = indices.iter().position(|index| !seen.insert(index)) {
                    let at = format!("remove.{list}[{place}]");
                    return Err(SceneError::new(at, "is given twice", "each once"));
                }
            }
            Ok(())
        }
    }
}

/// Returns the error of a refused command as that of a value in a scene.
fn refused(error: CommandError, key: &str) -> SceneError {
    match error {
        CommandError::Value { value, limit, .. } => {
            SceneError::new(key, format!("is {value}"), format!("a number {limit}"))
        }
        CommandError::Kind { found, expected, .. } => {
            SceneError::new(key, format!("is for a body that is {found}"), format!("one that is {expected}"))
        }
        CommandError::JointKind { found, expected, .. } => {
            SceneError::new(key, format!("is for a joint of type {found}"), expected)
        }
        CommandError::Joint(error) => SceneError { path: key.to_owned(), ..error },
        other => SceneError::new(key, format!("is refused: {other}"), "a command that fits"),
    }
}

/// Checks that ramps are not too long, and that each has a value to begin from.
fn check_ramps(scene: &Scene) -> Result<(), SceneError> {
    let timeline = Timeline::new(scene);
    let mut sum = 0_u64;
    for (index, entry) in timeline.entries().iter().enumerate() {
        sum = sum.saturating_add(entry.steps);
        if sum > MAX_RAMP_STEPS {
            let problem = format!("brings the steps of all ramps to {sum}");
            return Err(SceneError::new(
                format!("timeline[{index}].over"),
                problem,
                format!("at most {MAX_RAMP_STEPS} in a scene"),
            ));
        }
        let is_set_before = |other: usize| {
            let before = &timeline.entries()[other];
            before.when.is_none()
                && (before.start, other) < (entry.start, index)
                && before.action.is_of_same_thing(&entry.action)
        };
        let has_first = entry.first.is_some() || (0..timeline.entries().len()).any(is_set_before);
        if entry.steps > 0 && !has_first {
            let at = format!("timeline[{index}].over");
            let problem = format!("makes a ramp of a `{}` that has no value before", entry.action.key());
            return Err(SceneError::new(at, problem, "an earlier command, or one at the same time, that sets it"));
        }
    }
    Ok(())
}
