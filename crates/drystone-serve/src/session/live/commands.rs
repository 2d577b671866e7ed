//! Executes the commands of clients on a world in memory.

use glam::Vec2;
use serde_json::json;
use serde_json::value::RawValue;

use super::replay::ReplayedChange;
use super::{Live, Names, PointerJoint, RequestOutcome};
use crate::op::{
    BodySelector, CommandRecord, JointRef, MAX_POINTERS, PartList, Plain, Refs, find_joint, joint_from_text, read_body,
    read_joint, read_parts, read_properties, read_shapes,
};
use crate::problem::Problem;
use drystone::low_level::types::WORLD_A;
use drystone::{BodyId, Explosion, Joint, JointCommand, JointId, JointKind, Wind, WorldError};

/// Commands for the next step beyond which explosions and winds are refused: a number for any world, and one a shape.
const MAX_PENDING: usize = 20_000;
const PENDING_PER_SHAPE: usize = 8;

impl Live {
    pub(super) fn one(&mut self, command: &CommandRecord, names: &mut Names) -> RequestOutcome {
        match command.plain() {
            Some(Plain::Body(body, command)) => {
                let id = names.find(&mut self.world, &body).map_err(|problem| problem.at("body"))?;
                self.world.command(id, command)?;
                return Ok(json!({}));
            }
            Some(Plain::Joint(joint, command)) => {
                let id = find_joint(&self.world, &joint).map_err(|problem| problem.at("joint"))?;
                self.world.command_joint(id, command)?;
                return Ok(json!({}));
            }
            None => {}
        }
        match command {
            CommandRecord::WakeAll {} => {
                self.world.wake_all();
                Ok(json!({}))
            }
            CommandRecord::Gravity { gravity } => {
                self.world.set_gravity(gravity.unwrap_or(self.first_gravity).into())?;
                let now = self.world.compiled().params.gravity;
                self.memory.gravity = (now.map(f32::to_bits) != self.first_gravity.map(f32::to_bits)).then_some(now);
                Ok(json!({}))
            }
            &CommandRecord::Explode { position, radius, falloff, impulse_per_length, mask } => {
                self.check_pushes()?;
                let position = position.into();
                let pushed = self.world.explode(&Explosion { position, radius, falloff, impulse_per_length, mask })?;
                Ok(json!({ "pushed": pushed }))
            }
            &CommandRecord::Wind { velocity, density, drag, lift, mask, wake } => {
                self.check_pushes()?;
                let velocity = velocity.into();
                let pushed = self.world.apply_wind(&Wind { velocity, density, drag, lift, mask, wake })?;
                Ok(json!({ "pushed": pushed }))
            }
            CommandRecord::Spawn { bodies, joints } => self.spawn(bodies, joints, names),
            CommandRecord::Remove { bodies } => {
                let mut ids = Vec::new();
                bodies.try_each(|place, body| {
                    let id = names.find(&mut self.world, &body);
                    ids.push(id.map_err(|problem| problem.at(format!("bodies[{place}]")))?);
                    Ok(())
                })?;
                self.world.remove_bodies(&ids)?;
                self.note(ReplayedChange::Remove { bodies: ids.iter().map(ToString::to_string).collect() });
                Ok(json!({}))
            }
            CommandRecord::Replace { body, with } => {
                let id = names.find(&mut self.world, body).map_err(|problem| problem.at("body"))?;
                let built = read_body(with, &self.world.compiled().materials)?;
                self.world.replace_body(id, &built).map_err(|error| part_problem(error, "bodies[0]", "with"))?;
                names.learn(built.id.as_deref(), id);
                self.note(ReplayedChange::Replace { body: id.to_string(), with: with.clone() });
                Ok(json!({}))
            }
            CommandRecord::SetShapes { body, shapes } => {
                let id = names.find(&mut self.world, body).map_err(|problem| problem.at("body"))?;
                let built = read_shapes(shapes, &self.world.compiled().materials)?;
                self.world.set_shapes(id, &built)?;
                self.note(ReplayedChange::SetShapes { body: id.to_string(), shapes: shapes.clone() });
                Ok(json!({}))
            }
            CommandRecord::Set { bodies, properties } => self.set(bodies, properties, names),
            CommandRecord::ReplaceJoint { joint, with } => self.replace_joint(joint, with),
            CommandRecord::Join { a, b, joint } => self.join(a.as_ref(), b, joint, names),
            CommandRecord::Unjoin { joints } => {
                let mut ids = Vec::new();
                joints.try_each(|place, joint| {
                    let id = find_joint(&self.world, &joint);
                    ids.push(id.map_err(|problem| problem.at(format!("joints[{place}]")))?);
                    Ok(())
                })?;
                self.unjoin(&ids)?;
                Ok(json!({}))
            }
            CommandRecord::Mouse { pointer, body, point, target, max_force, hertz, damping_ratio } => {
                let spring = (*max_force, *hertz, *damping_ratio);
                self.pull(pointer, body.as_ref(), *point, *target, spring, names)
            }
            CommandRecord::Release { pointer } => self.release(pointer),
            // All other commands are plain.
            _ => Err(Problem::internal("unknown command")),
        }
    }

    /// # Errors
    /// Explosions and winds since the last step have filled the list of commands. It is part of the world, so that a
    /// replay of the log refuses the same.
    fn check_pushes(&self) -> Result<(), Problem> {
        let (pending, shapes) = (self.world.pending_commands(), self.world.compiled().shapes.len());
        if pending > MAX_PENDING + PENDING_PER_SHAPE * shapes {
            let detail = format!("{pending} commands wait for the next step: step the world before it is pushed again");
            return Err(Problem::limit(detail));
        }
        Ok(())
    }

    fn set(&mut self, bodies: &Refs<BodySelector>, properties: &RawValue, names: &mut Names) -> RequestOutcome {
        let built = read_properties(properties)?;
        let mut all = Vec::new();
        let mut ids = Vec::new();
        bodies.try_each(|place, body| {
            let id = names.find(&mut self.world, &body);
            let id = id.map_err(|problem| problem.at(format!("bodies[{place}]")))?;
            all.extend(built.iter().map(|&property| (id, property)));
            ids.push(id.to_string());
            Ok(())
        })?;
        self.world.set_all(&all).map_err(|error| property_problem(error, built.len()))?;
        self.note(ReplayedChange::Set { bodies: ids, properties: properties.to_owned() });
        Ok(json!({}))
    }

    fn replace_joint(&mut self, joint: &JointRef, with: &RawValue) -> RequestOutcome {
        let id = find_joint(&self.world, joint).map_err(|problem| problem.at("joint"))?;
        let is_to_world = self.world.compiled().joints.joints[id.index as usize].flags & WORLD_A != 0;
        let built = read_joint(with, is_to_world).map_err(|problem| renamed(problem, "joint", "with"))?;
        self.world.replace_joint(id, &built).map_err(|error| part_problem(error, "joints[0]", "with"))?;
        self.note(ReplayedChange::ReplaceJoint { joint: id.to_string(), with: with.to_owned(), is_to_world });
        Ok(json!({}))
    }

    fn join(
        &mut self,
        a: Option<&BodySelector>,
        b: &BodySelector,
        joint: &RawValue,
        names: &mut Names,
    ) -> RequestOutcome {
        let a = a.map(|a| names.find(&mut self.world, a)).transpose();
        let a = a.map_err(|problem| problem.at("a"))?;
        let id = names.find(&mut self.world, b).map_err(|problem| problem.at("b"))?;
        let built = read_joint(joint, a.is_none())?;
        let made = self.world.add_joints_between(&[(a, id, built)]).map_err(joint_problem)?;
        self.note(ReplayedChange::Join { a: a.map(|a| a.to_string()), b: id.to_string(), joint: joint.to_owned() });
        Ok(json!({ "joint": made.first().map(ToString::to_string) }))
    }

    /// Moves a pointer, or grabs a body with it. `spring` is the largest force, N, the frequency, Hz, and the damping
    /// ratio.
    fn pull(
        &mut self,
        pointer: &str,
        body: Option<&BodySelector>,
        point: [f32; 2],
        target: [f32; 2],
        spring: (f32, f32, f32),
        names: &mut Names,
    ) -> RequestOutcome {
        let (max_force, hertz, damping_ratio) = spring;
        let held = self.memory.pointers.get(pointer).and_then(|held| joint_from_text(&held.joint).ok());
        if let Some(joint) = held.filter(|joint| self.world.joint_id(joint.index as usize) == Some(*joint)) {
            self.world.command_joint(joint, JointCommand::Target(target.into()))?;
            return Ok(json!({ "joint": joint.to_string() }));
        }
        self.memory.pointers.remove(pointer);
        let Some(body) = body else {
            let detail = "the pointer holds nothing, and there is no body to grab";
            return Err(Problem::invalid(detail).at("body"));
        };
        if self.memory.pointers.len() >= MAX_POINTERS {
            return Err(Problem::limit(format!("at most {MAX_POINTERS} pointers hold bodies of a world")));
        }
        let id = names.find(&mut self.world, body).map_err(|problem| problem.at("body"))?;
        let grab = ReplayedChange::Grab { body: id.to_string(), point, target, max_force, hertz, damping_ratio };
        let joint = grabbing(point, target, max_force, hertz, damping_ratio);
        let made = self.world.add_joints_between(&[(None, id, joint)]).map_err(joint_problem)?;
        let joint = made.first().map(ToString::to_string).unwrap_or_default();
        self.note(grab);
        self.memory.pointers.insert(pointer.to_owned(), PointerJoint { joint: joint.clone() });
        Ok(json!({ "joint": joint }))
    }

    fn release(&mut self, pointer: &str) -> RequestOutcome {
        let Some(held) = self.memory.pointers.remove(pointer) else { return Ok(json!({ "released": false })) };
        let joint = joint_from_text(&held.joint).map_err(Problem::internal)?;
        // The joint may have been removed with its body.
        let there = self.world.joint_id(joint.index as usize) == Some(joint);
        if there {
            self.unjoin(&[joint])?;
        }
        Ok(json!({ "released": there }))
    }

    fn unjoin(&mut self, joints: &[JointId]) -> Result<(), Problem> {
        self.world.remove_joints(joints)?;
        self.note(ReplayedChange::Unjoin { joints: joints.iter().map(ToString::to_string).collect() });
        Ok(())
    }

    fn spawn(&mut self, bodies: &PartList, joints: &PartList, names: &mut Names) -> RequestOutcome {
        let (built, ties) = read_parts(bodies, joints, &self.world.compiled().materials)?;
        let ids = self.world.add_bodies(&built)?;
        let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let ties: Vec<_> = ties.into_iter().filter_map(|joint| between(&ids, joint)).collect();
        if let Err(error) = self.world.add_joints_between(&ties) {
            // All or nothing.
            self.world.remove_bodies(&ids)?;
            self.note(ReplayedChange::Spawn {
                bodies: bodies.clone(),
                joints: PartList::default(),
                ids: texts.clone(),
            });
            self.note(ReplayedChange::Remove { bodies: texts });
            return Err(error.into());
        }
        for (body, id) in built.iter().zip(&ids) {
            names.learn(body.id.as_deref(), *id);
        }
        self.note(ReplayedChange::Spawn { bodies: bodies.clone(), joints: joints.clone(), ids: texts.clone() });
        Ok(json!({ "bodies": texts }))
    }
}

/// Replaces the library's path of a body or joint with that of the command.
fn part_problem(error: WorldError, from: &str, to: &str) -> Problem {
    renamed(Problem::from(error), from, to)
}

/// Replaces the beginning of a problem's path.
fn renamed(problem: Problem, from: &str, to: &str) -> Problem {
    let path = problem.path.as_deref().and_then(|path| path.strip_prefix(from));
    let path = path.map(|rest| format!("{to}{rest}"));
    Problem { path, ..problem }
}

/// Replaces the library's path of a property, `properties[9].mass`, with that of the command, and names the body, each
/// of which gets `count` properties.
fn property_problem(error: WorldError, count: usize) -> Problem {
    let problem = Problem::from(error);
    let Some(path) = problem.path.clone() else { return problem };
    let of_many = path.strip_prefix("properties[").and_then(|rest| rest.split_once("]."));
    let (body, key) = match of_many {
        Some((index, key)) => (index.parse().unwrap_or(0) / count.max(1), key.to_owned()),
        None => (0, path),
    };
    let detail = format!("{} (bodies[{body}])", problem.detail);
    Problem { detail, path: Some(format!("properties.{key}")), ..problem }
}

fn joint_problem(error: WorldError) -> Problem {
    part_problem(error, "joints[0]", "joint")
}

pub(super) fn grabbing(point: [f32; 2], target: [f32; 2], max_force: f32, hertz: f32, damping_ratio: f32) -> Joint {
    let kind = JointKind::Mouse { target: target.into(), max_force };
    Joint::to_world(kind, 0).anchors(Vec2::ZERO, point).soft(hertz, damping_ratio)
}

/// Returns a joint between new bodies, by their ids.
pub(super) fn between(ids: &[BodyId], joint: Joint) -> Option<(Option<BodyId>, BodyId, Joint)> {
    let a = match joint.a {
        None => None,
        Some(a) => Some(*ids.get(a)?),
    };
    Some((a, *ids.get(joint.b)?, joint))
}
