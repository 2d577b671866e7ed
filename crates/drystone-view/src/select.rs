//! The selected body and changes of its properties. A velocity is set by a command; any other change replaces the
//! description of the body, which keeps its id and gets its joints again.

use std::sync::Arc;

use glam::Vec2;

use super::app::App;
use super::inspect::{Inspection, InspectionResult, InspectionTarget, Pending};
use drystone::Command;
use drystone::WorldError;
use drystone::low_level::scene::Compiled;
use drystone::{Body, BodyType, Scene};
use drystone::{BodyId, JointId};
use drystone_scenes::saved::Present;

/// Number of bodies above which none can be selected: reading the description of one takes seconds.
const MAX_EDITED: usize = 400_000;
/// Frames between two queries for the selected body.
const LOOK_EVERY: u64 = 6;

/// Body to select.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SelectionRequest {
    Nothing,
    /// The body at a place, m.
    At(Vec2),
    /// The target of a click at a place, m: the joint there, else the body that was found by the press, else the one at
    /// the place. A click on the selected joint means the body.
    Click(Vec2, Option<BodyId>),
    Body(BodyId),
    Joint(JointId),
}

/// A change of the selected body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BodyChange {
    /// Name in messages, graphs and files; `None`: its index.
    Name(Option<String>),
    Kind(BodyType),
    /// Density of all its shapes, kg/m².
    Density(f32),
    /// Mass, kg.
    Mass(f32),
    Friction(f32),
    Restitution(f32),
    /// Factor on gravity.
    GravityScale(f32),
    FixedRotation(bool),
    Bullet(bool),
    CanSleep(bool),
    /// Place of its origin, m.
    Position(Vec2),
    /// Angle, rad.
    Angle(f32),
    /// Velocity, m/s.
    Velocity(Vec2),
    /// Angular velocity, rad/s.
    Spin(f32),
    /// All properties of a description except place, velocity and force.
    Like(Arc<Body>),
}

impl BodyChange {
    /// Command that makes the change, if there is one.
    pub fn command(&self) -> Option<Command> {
        match *self {
            Self::Velocity(velocity) => Some(Command::Velocity(velocity)),
            Self::Spin(spin) => Some(Command::AngularVelocity(spin)),
            _ => None,
        }
    }

    /// Returns true for properties that can get their old value again at any later step.
    pub fn is_property(&self) -> bool {
        !matches!(self, Self::Position(_) | Self::Angle(_) | Self::Velocity(_) | Self::Spin(_))
    }

    /// Short text, as in "undone: density changed".
    pub fn words(&self) -> String {
        let what = match self {
            Self::Name(_) => "name",
            Self::Kind(_) => "type",
            Self::Density(_) => "density",
            Self::Mass(_) => "mass",
            Self::Friction(_) => "friction",
            Self::Restitution(_) => "restitution",
            Self::GravityScale(_) => "factor on gravity",
            Self::FixedRotation(_) => "\"no rotation\"",
            Self::Bullet(_) => "\"bullet\"",
            Self::CanSleep(_) => "\"may sleep\"",
            Self::Position(_) => "place",
            Self::Angle(_) => "angle",
            Self::Velocity(_) => "velocity",
            Self::Spin(_) => "spin",
            Self::Like(_) => "body",
        };
        format!("{what} changed")
    }

    /// Makes the change in the description of a body.
    pub fn apply(&self, body: &mut Body) {
        match *self {
            Self::Name(ref name) => body.id.clone_from(name),
            Self::Like(ref other) => {
                let old = std::mem::replace(body, (**other).clone());
                (body.position, body.angle) = (old.position, old.angle);
                (body.velocity, body.angular_velocity) = (old.velocity, old.angular_velocity);
                (body.force, body.force_point, body.torque) = (old.force, old.force_point, old.torque);
            }
            Self::Kind(kind) => {
                body.kind = kind;
                // Only kinematic bodies follow a path, and static ones have no velocity.
                body.path = body.path.filter(|_| kind == BodyType::Kinematic);
                if kind == BodyType::Static {
                    (body.velocity, body.angular_velocity) = (Vec2::ZERO, 0.0);
                }
            }
            Self::Density(density) => {
                (body.mass, body.inertia) = (None, None);
                body.shapes.iter_mut().for_each(|shape| shape.density = density);
            }
            Self::Mass(mass) => (body.mass, body.inertia) = (Some(mass), None),
            Self::Friction(friction) => {
                for shape in &mut body.shapes {
                    let material = &mut shape.material;
                    // The ratio of kinetic to static friction stays.
                    let share =
                        material.kinetic_friction.map(|kinetic| kinetic / material.friction.max(f32::MIN_POSITIVE));
                    material.kinetic_friction = share.map(|share| (share * friction).min(friction));
                    material.friction = friction;
                }
            }
            Self::Restitution(restitution) => {
                body.shapes.iter_mut().for_each(|shape| shape.material.restitution = restitution);
            }
            Self::GravityScale(scale) => body.gravity_scale = scale,
            Self::FixedRotation(on) => body.fixed_rotation = on,
            Self::Bullet(on) => body.bullet = on,
            Self::CanSleep(on) => body.can_sleep = on,
            Self::Position(position) => body.position = position,
            Self::Angle(angle) => body.angle = angle,
            Self::Velocity(velocity) => body.velocity = velocity,
            Self::Spin(spin) => body.angular_velocity = spin,
        }
    }
}

/// Selected body.
#[derive(Debug)]
pub(crate) struct Selection {
    pub id: BodyId,
    /// Description at a step, with the joints that hold it.
    pub now: Present,
    /// Step of the description.
    pub step: u64,
    /// Mass, kg.
    pub mass: f32,
    /// Density of the first shape that gives this mass, kg/m².
    pub density: f32,
    /// Number of the last change to the world's bodies when the description was read.
    changes: u64,
    /// Query for its present state.
    look: Option<Pending>,
    /// Frame of the last query.
    looked: u64,
    /// Answer to the last query.
    pub seen: Option<Inspection>,
}

impl Selection {
    /// Velocity, m/s, and spin, rad/s, at a step.
    pub fn motion(&self, step: u64) -> (Vec2, f32) {
        let told = (self.now.body.velocity, self.now.body.angular_velocity);
        let seen = self.seen.filter(|_| step != self.step);
        seen.map_or(told, |seen| (seen.velocity, seen.spin))
    }

    /// Place of its origin, m, and angle, rad, at a step; `center` is its centre of mass in its frame, m.
    pub fn place(&self, step: u64, center: Vec2) -> (Vec2, f32) {
        let told = (self.now.body.position, self.now.body.angle);
        let seen = self.seen.filter(|_| step != self.step && self.now.body.path.is_none());
        seen.map_or(told, |seen| {
            let turn = Vec2::from(seen.pose.rotation);
            (Vec2::from(seen.pose.position) - drystone::low_level::math::rotate(turn, center), turn.y.atan2(turn.x))
        })
    }
}

/// Density of the first shape of a body of this mass, kg/m²: the one in its description, unless that gives a mass as
/// well, which overrules the densities. Then all are taken in proportion.
fn density(body: &Body, mass: f32) -> f32 {
    let Some(first) = body.shapes.first() else { return 0.0 };
    if body.mass.is_none() {
        return first.density;
    }
    let mut scene = Scene::new("");
    scene.add(Body { kind: BodyType::Dynamic, mass: None, inertia: None, path: None, ..body.clone() });
    let by_density = Compiled::new(&scene).map_or(0.0, |compiled| compiled.mass[0].mass);
    if by_density > 0.0 { first.density * mass / by_density } else { first.density }
}

impl App {
    /// Selects a body, or none.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn select(&mut self, choice: SelectionRequest) -> Result<(), WorldError> {
        match choice {
            SelectionRequest::Nothing => (self.build.selection, self.build.joint) = (None, None),
            SelectionRequest::Body(id) => self.select_body(id),
            SelectionRequest::Joint(id) => self.select_joint(id),
            SelectionRequest::Click(at, body) => {
                let selected = self.build.joint.as_ref().map(|selection| selection.id);
                let joint = self.joint_at(at)?.filter(|id| Some(*id) != selected);
                let meant = body.map_or(SelectionRequest::At(at), SelectionRequest::Body);
                return self.select(joint.map_or(meant, SelectionRequest::Joint));
            }
            SelectionRequest::At(at) => {
                self.build.joint = None;
                let mut pending = self.ask(InspectionTarget::Near(at, self.reach(false)))?;
                let found = loop {
                    match pending.poll()? {
                        InspectionResult::OnItsWay => self.context.wait()?,
                        InspectionResult::Nobody => break None,
                        InspectionResult::Body(found) => break Some(found.body),
                    }
                };
                let id = found.and_then(|slot| self.run.here_mut()?.world_mut().body_id(slot));
                match id {
                    Some(id) => self.select_body(id),
                    None => self.build.selection = None,
                }
            }
        }
        Ok(())
    }

    /// Selects an existing body.
    pub(super) fn select_body(&mut self, id: BodyId) {
        (self.build.selection, self.build.joint) = (None, None);
        if self.facts().bodies > MAX_EDITED {
            return self.say(format!(
                "bodies can be selected only in worlds of at most {} bodies",
                super::panel::group(MAX_EDITED as u64)
            ));
        }
        self.take_in(id);
    }

    /// Reads the description of a body and makes it the selected one.
    fn take_in(&mut self, id: BodyId) {
        let Some(run) = self.run.here_mut() else { return };
        let (step, mass) = (run.steps(), run.world().compiled().mass.get(id.index as usize).map_or(0.0, |m| m.mass));
        match run.present(id) {
            Ok(Some(now)) => {
                let (changes, density) = (run.changes(), density(&now.body, mass));
                let selection = Selection { id, changes, now, step, mass, density, look: None, looked: 0, seen: None };
                self.build.selection = Some(selection);
            }
            Ok(None) => self.build.selection = None,
            Err(error) => self.say(format!("body {}: {error}", id.index)),
        }
    }

    /// Updates the selected body by queries: its place and motion, and whether it still exists. Once a frame, all
    /// worlds being settled.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn look_at_selection(&mut self) -> Result<(), WorldError> {
        let frames = self.frames;
        let Some(selection) = &mut self.build.selection else { return Ok(()) };
        let Some(run) = self.run.here_mut() else { return Ok(()) };
        if selection.changes != run.changes() {
            // An undo may have changed, removed or restored it.
            let id = run.resolve(selection.id);
            self.build.selection = None;
            self.take_in(id);
            return Ok(());
        }
        if let Some(pending) = &mut selection.look {
            let answer = pending.poll()?;
            if answer != InspectionResult::OnItsWay {
                selection.look = None;
            }
            if let InspectionResult::Body(found) = answer {
                selection.seen = Some(found);
            }
        } else if frames >= selection.looked + LOOK_EVERY && self.run.steps() != selection.step {
            selection.looked = frames;
            let wanted = InspectionTarget::Body(selection.id.index);
            let pending = self.ask(wanted)?;
            if let Some(selection) = &mut self.build.selection {
                selection.look = Some(pending);
            }
        }
        Ok(())
    }

    /// Changes the selected body.
    pub(super) fn change(&mut self, change: &BodyChange) {
        let Some(selection) = &self.build.selection else { return self.say("no body is selected: click one") };
        let id = selection.id;
        let made = match self.run.here_mut() {
            Some(run) => run.change(id, change),
            None => Err("the world is in the middle of a step".to_owned()),
        };
        if self.follow_result(made) {
            self.take_in(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::Shape;

    /// A mass that overrules the densities shows as the density that gives it.
    #[test]
    fn density_and_mass_agree() {
        let mut body = Body::dynamic(1.0, 2.0).shape(Shape::half_box(1.0, 1.0).density(3.0));
        assert_eq!(density(&body, 12.0), 3.0);
        BodyChange::Mass(2.0).apply(&mut body);
        assert_eq!(density(&body, 2.0), 0.5);
        BodyChange::Density(4.0).apply(&mut body);
        assert_eq!((density(&body, 16.0), body.mass), (4.0, None));
        assert_eq!(density(&Body::dynamic(0.0, 0.0), 1.0), 0.0, "without a shape");
    }

    #[test]
    fn changes_change_what_they_name() {
        let body = || {
            let mut body = Body::kinematic(1.0, 2.0).shape(Shape::circle(1.0).friction(0.8).kinetic_friction(0.4));
            (body.mass, body.inertia) = (Some(7.0), Some(3.0));
            body.velocity = Vec2::ONE;
            body
        };
        let changed = |change: BodyChange| {
            let mut new = body();
            change.apply(&mut new);
            assert_ne!(new, body(), "{change:?}");
            new
        };
        let new = changed(BodyChange::Density(5.0));
        assert_eq!((new.shapes[0].density, new.mass, new.inertia), (5.0, None, None), "the mass follows the density");
        let new = changed(BodyChange::Mass(9.0));
        assert_eq!((new.mass, new.inertia), (Some(9.0), None));
        let material = changed(BodyChange::Friction(0.2)).shapes[0].material;
        assert_eq!((material.friction, material.kinetic_friction), (0.2, Some(0.1)), "in the same proportion");
        assert_eq!(changed(BodyChange::Kind(BodyType::Static)).velocity, Vec2::ZERO);
        assert_eq!(changed(BodyChange::Kind(BodyType::Dynamic)).velocity, Vec2::ONE);
        assert_eq!(changed(BodyChange::Angle(1.0)).angle, 1.0);
        assert!(changed(BodyChange::FixedRotation(true)).fixed_rotation && changed(BodyChange::Bullet(true)).bullet);
        assert!(!changed(BodyChange::CanSleep(false)).can_sleep);
        for change in [BodyChange::Velocity(Vec2::X), BodyChange::Spin(1.0)] {
            assert!(change.command().is_some(), "{change:?}");
        }
        assert!(BodyChange::Density(1.0).command().is_none());
    }
}
