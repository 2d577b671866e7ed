//! Building tools: bodies drawn with the pointer, joints made by two clicks, the properties of both, and the commands
//! that clear a scene or begin an empty one.

use std::sync::Arc;

use glam::Vec2;

use super::action::Action;
use super::app::App;
use super::edit::{Edit, Meaning, RecordedEdit, Stand};
use super::inspect::{InspectionResult, InspectionTarget};
use super::joint::{JointSelection, effective_mass, spring_constants};
use super::opening::Why;
use super::overlap::Overlap;
use super::select::Selection;
use super::source::SceneSource;
use drystone::BodyId;
use drystone::Query;
use drystone::WorldError;
use drystone::geometry::{convex_parts, crosses_itself};
use drystone::low_level::math::{inv_rotate, rotate};
use drystone::low_level::scene::{Compiled, MAX_POSITION};
use drystone::low_level::types::{DYNAMIC, Pose};
use drystone::{Body, BodyType, Geometry, Joint, JointKind, Scene, Shape};

/// Minimum length of a drag, points; a shorter one is a click.
pub(crate) const CLICK: f32 = 4.0;
/// Distance from the first corner of a polygon within which a click closes it, points.
const CLOSE: f32 = 10.0;
/// Maximum number of corners of a polygon; of more than 8, or with corners that turn inwards, it is split into convex
/// shapes of one body.
pub(crate) const MAX_CORNERS: usize = 16;

/// Tool: use of the pointer in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Selects bodies, pulls them along, moves the view.
    #[default]
    Move,
    Box,
    Circle,
    Polygon,
    Hinge,
    Spring,
    Rod,
    Weld,
}

impl Tool {
    /// All tools, in the order in which they are shown.
    pub const ALL: [Self; 8] =
        [Self::Move, Self::Box, Self::Circle, Self::Polygon, Self::Hinge, Self::Spring, Self::Rod, Self::Weld];

    pub fn name(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Box => "box",
            Self::Circle => "circle",
            Self::Polygon => "polygon",
            Self::Hinge => "hinge",
            Self::Spring => "spring",
            Self::Rod => "rod",
            Self::Weld => "weld",
        }
    }

    /// Instructions for the tool.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Move => "click a body to select it, drag it to pull it along",
            Self::Box => "drag from one corner to the other",
            Self::Circle => "drag from the centre to the rim",
            Self::Polygon => "click 3 to 16 corners, then the first one again",
            Self::Hinge => {
                "click where two bodies overlap, as a wheel and a car: they are pinned together there. Or click a fixed point \
                 (air or ground) and the body that swings about it, in either order; two clicks on one body nail it"
            }
            Self::Spring => "click a body, then the other one, or a point in the air to which it is tied",
            Self::Rod => "click a body, then the other one, or a point in the air; the rod keeps this length",
            Self::Weld => {
                "click where two bodies overlap; or click a body, then the one to which it is fixed, or the air, to fix it \
                 where it is"
            }
        }
    }

    /// Instructions for the second click of a joint.
    pub fn next_hint(self, first_is_fixed: bool) -> &'static str {
        match (self, first_is_fixed) {
            (Self::Hinge, true) => "now click the body that swings about this point",
            (Self::Hinge, false) => {
                "now click a fixed point (air or ground), the other body, or this body again to nail it"
            }
            (_, true) => "now click the body",
            (_, false) => "now click the other body, or a point in the air",
        }
    }

    /// Returns true for tools that make joints.
    pub fn is_joint(self) -> bool {
        matches!(self, Self::Hinge | Self::Spring | Self::Rod | Self::Weld)
    }
}

/// An outline drawn in the world, m.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DrawnOutline {
    /// Rectangle, by two opposite corners.
    Box(Vec2, Vec2),
    /// Circle, by its centre and a point of its rim.
    Circle(Vec2, Vec2),
    /// Polygon, by its corners, clockwise or counter-clockwise.
    Polygon(Vec<Vec2>),
}

/// Properties of new bodies and springs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stock {
    pub kind: BodyType,
    /// kg/m².
    pub density: f32,
    pub friction: f32,
    pub restitution: f32,
    /// Frequency at which two bodies swing on a new spring, Hz.
    pub hertz: f32,
    /// Damping ratio of a new spring; 1 is critical.
    pub damping: f32,
}

impl Default for Stock {
    fn default() -> Self {
        Self { kind: BodyType::Dynamic, density: 1.0, friction: 0.6, restitution: 0.0, hertz: 2.0, damping: 0.1 }
    }
}

impl Stock {
    /// Makes a body with an outline.
    ///
    /// # Errors
    /// The reason why the outline is no body, in words.
    pub fn body(&self, outline: &DrawnOutline) -> Result<Body, String> {
        let (position, geometries) = match outline {
            DrawnOutline::Box(a, b) => {
                ((*a + *b) / 2.0, vec![Geometry::Box { half: (*b - *a).abs() / 2.0, radius: 0.0 }])
            }
            DrawnOutline::Circle(center, rim) => (*center, vec![Geometry::Circle { radius: center.distance(*rim) }]),
            DrawnOutline::Polygon(corners) => {
                let (center, parts) = polygon(corners)?;
                let part = |points| Geometry::Polygon { points, radius: 0.0 };
                (center, parts.into_iter().map(part).collect())
            }
        };
        if !position.is_finite() || position.abs().max_element() > MAX_POSITION {
            return Err(format!("it is too far out: bodies are within {} km of the origin", MAX_POSITION / 1e3));
        }
        let shape =
            |geometry| Shape::new(geometry).density(self.density).friction(self.friction).restitution(self.restitution);
        let shapes = geometries.into_iter().map(shape).collect();
        let body = Body { position, kind: self.kind, shapes, ..Body::default() };
        body.check(0).map_err(|error| plain(&error))?;
        Ok(body)
    }
}

/// Text of an error about the only body or joint of a list, without its index.
pub(crate) fn plain(error: &dyn std::fmt::Display) -> String {
    error.to_string().replace("bodies[0].", "").replace("joints[0].", "").replace("joints[0]", "it")
}

/// Mean of the corners of a polygon, and its convex parts relative to that, counter-clockwise, m.
fn polygon(corners: &[Vec2]) -> Result<(Vec2, Vec<Vec<Vec2>>), String> {
    if !(3..=MAX_CORNERS).contains(&corners.len()) {
        return Err(format!("a polygon has 3 to {MAX_CORNERS} corners, not {}", corners.len()));
    }
    #[allow(clippy::cast_precision_loss, reason = "at most 16")]
    let center = corners.iter().sum::<Vec2>() / corners.len() as f32;
    let around: Vec<Vec2> = corners.iter().map(|corner| *corner - center).collect();
    Ok((center, convex_parts(&around).map_err(|_| CROSSING)?))
}

const CROSSING: &str = "the outline crosses or touches itself: click a place from which no line is crossed, or Esc";

/// End of a joint that is being made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JointEnd {
    /// Body that the joint holds; `None`: the world.
    pub body: Option<BodyId>,
    /// Anchor in the frame of the body, or in the world, m.
    anchor: Vec2,
    /// Place of the click in the world, m.
    pub at: Vec2,
}

/// Drawing in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Draft {
    #[default]
    None,
    /// A box or a circle, from this place, m, to the pointer.
    Drag(Vec2),
    /// Corners of a polygon so far, m.
    Corners(Vec<Vec2>),
    /// First end of a joint.
    Joint(Tool, JointEnd),
}

/// Active tool with the properties of what it makes, drawing in progress, and selected body.
#[derive(Debug, Default)]
pub(crate) struct Build {
    pub tool: Tool,
    pub stock: Stock,
    pub draft: Draft,
    pub selection: Option<Selection>,
    /// Selected joint; then no body is selected.
    pub joint: Option<JointSelection>,
    pub overlap: Overlap,
    /// Last joint that one click made between overlapping bodies.
    pinned: Option<Pin>,
}

/// Joint that one click made between overlapping bodies.
#[derive(Clone, Copy, Debug)]
struct Pin {
    tool: Tool,
    /// Place of the click, m.
    at: Vec2,
    /// Number of joints after it.
    joints: usize,
}

impl Build {
    /// Drops the drawing and the selection, which are of the world before.
    pub fn of_another_world(&mut self) {
        self.draft = Draft::None;
        (self.selection, self.joint, self.pinned) = (None, None, None);
        self.overlap = Overlap::default();
    }

    /// Drops the drawing in progress, else the tool, else the selection; returns false if there was none of them.
    pub fn step_back(&mut self) -> bool {
        if self.draft != Draft::None {
            self.draft = Draft::None;
        } else if self.tool != Tool::Move {
            self.tool = Tool::Move;
        } else {
            return self.joint.take().is_some() | self.selection.take().is_some();
        }
        true
    }
}

impl App {
    /// Activates a tool. The camera stops following bodies, so that a drawing in progress does not move away.
    pub(super) fn take_tool(&mut self, tool: Tool) {
        self.build.draft = Draft::None;
        self.build.tool = tool;
        if tool != Tool::Move {
            // The card shows the tool until it has made a body.
            (self.build.selection, self.build.joint) = (None, None);
            self.keep_view();
        }
    }

    /// Converts a length on the screen, points, to one in the world, m.
    fn points(&self, points: f32) -> f32 {
        points * self.points_to_pixels * self.camera.metres_per_pixel
    }

    /// Handles a press over the world with a building tool.
    pub(super) fn begin_drawing(&mut self, pixel: Vec2) {
        let at = self.world_at(pixel);
        match self.build.tool {
            Tool::Move => {}
            Tool::Box | Tool::Circle => self.build.draft = Draft::Drag(at),
            Tool::Polygon => self.add_corner(at),
            tool => self.queue.push(Action::Pick(tool, at)),
        }
    }

    /// Handles a release with a building tool: ends a drag.
    pub(super) fn end_drawing(&mut self) {
        let Draft::Drag(from) = self.build.draft else { return };
        self.build.draft = Draft::None;
        let Some(to) = self.pointer.pixel.map(|pixel| self.world_at(pixel)) else {
            return self.say("the pointer is not over the world: nothing was drawn");
        };
        if from.distance(to) < self.points(CLICK) {
            return self.say(format!("too small: {}", self.build.tool.hint()));
        }
        let outline =
            if self.build.tool == Tool::Box { DrawnOutline::Box(from, to) } else { DrawnOutline::Circle(from, to) };
        self.queue.push(Action::Draw(outline));
    }

    /// Adds a corner to the polygon that is being drawn, or closes it.
    fn add_corner(&mut self, at: Vec2) {
        let mut corners = match std::mem::take(&mut self.build.draft) {
            Draft::Corners(corners) => corners,
            _ => Vec::new(),
        };
        let near = |corner: Option<&Vec2>, points: f32| corner.is_some_and(|c| c.distance(at) < self.points(points));
        // A click on the first corner, or two clicks at one place.
        let closes = (corners.len() >= 3 && near(corners.first(), CLOSE)) || near(corners.last(), CLICK);
        let mut refused = None;
        if !closes && corners.len() == MAX_CORNERS {
            refused = Some(format!("at most {MAX_CORNERS} corners: Enter, or a click on the first one, closes it"));
        } else if !closes {
            corners.push(at);
            if crosses_itself(&corners, false) {
                corners.pop();
                refused = Some(CROSSING.to_owned());
            }
        }
        self.build.draft = Draft::Corners(corners);
        if let Some(why) = refused {
            self.say(why);
        } else if closes {
            self.finish();
        }
    }

    /// Closes the polygon that is being drawn.
    pub(super) fn finish(&mut self) {
        let Draft::Corners(corners) = &self.build.draft else { return };
        if corners.len() < 3 {
            return self.say(format!("a polygon has 3 to {MAX_CORNERS} corners: click more of them"));
        }
        if crosses_itself(corners, true) {
            return self.say(CROSSING);
        }
        let corners = corners.clone();
        self.build.draft = Draft::None;
        self.queue.push(Action::Draw(DrawnOutline::Polygon(corners)));
    }

    /// Adds a body with an outline, selects it, and says which bodies it overlaps.
    pub(super) fn draw_body(&mut self, outline: &DrawnOutline) {
        let built = |body: Body| RecordedEdit::new(Edit::Add([body].into()), Meaning::Build);
        let overlapped = self.overlaps(outline);
        let made = self.build.stock.body(outline).and_then(|body| self.edit(built(body)));
        match made {
            Ok(made) => {
                if let Some(&id) = made.bodies.first() {
                    self.select_body(id);
                    let overlaps = overlapped.map_or_else(String::new, |bodies| {
                        format!(", overlaps {bodies}: they are pushed apart, unless welded or hinged")
                    });
                    self.say(format!("body {} drawn{overlaps} · Z takes it back", id.index));
                }
            }
            Err(error) => self.say(format!("nothing was drawn: {}", plain(&error))),
        }
    }

    /// Handles a click with a joint tool: it sets the first end, or makes the joint to the second.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn pick(&mut self, tool: Tool, at: Vec2) -> Result<(), WorldError> {
        if !at.is_finite() || at.abs().max_element() > MAX_POSITION {
            self.say(format!("too far out: joints are within {} km of the origin", MAX_POSITION / 1e3));
            return Ok(());
        }
        let first = match self.build.draft {
            Draft::Joint(of, end) if of == tool => Some(end),
            _ => None,
        };
        let (hits, are_inside) = self.bodies_at(at)?;
        if first.is_none() && are_inside && self.pin_overlapping(tool, at, &hits)? {
            return Ok(());
        }
        let other = hits.iter().copied().find(|&body| first.is_none_or(|first| first.body != Some(body)));
        let Some(first) = first else {
            let end = self.end(other, at)?;
            self.build.draft = Draft::Joint(tool, end);
            self.say(tool.next_hint(self.is_fixed(end.body)));
            return Ok(());
        };
        let is_nail = tool == Tool::Hinge && other.is_none() && !hits.is_empty();
        if other.is_none() && !hits.is_empty() && !is_nail {
            self.say("both clicks are on the same body: click another one, or a point in the air");
            return Ok(());
        }
        if other.is_none() && first.body.is_none() {
            self.say("both clicks are in the air: a joint needs a body");
            return Ok(());
        }
        self.build.draft = Draft::None;
        let first_at = self.place_of(first)?;
        let Some(first_at) = first_at else {
            self.say("the first body is gone: no joint was made");
            return Ok(());
        };
        // A hinge is at the fixed one of the two points, in either order of clicks; without one it is at the first
        // click, as a weld is.
        let pins_second = tool == Tool::Hinge && !is_nail && self.is_fixed(other) && !self.is_fixed(first.body);
        let first = if pins_second { self.end(first.body, at)? } else { first };
        let second_at = if matches!(tool, Tool::Hinge | Tool::Weld) && !pins_second { first_at } else { at };
        let second = self.end(other, second_at)?;
        self.tie(tool, first, second, first_at.distance(second_at));
        Ok(())
    }

    /// Joins the two uppermost of the bodies under a first click by a hinge or a weld; returns false if there are no
    /// two, or none of them is dynamic. A second click at the same place adds nothing.
    fn pin_overlapping(&mut self, tool: Tool, at: Vec2, under: &[BodyId]) -> Result<bool, WorldError> {
        let [upper, lower, ..] = *under else { return Ok(false) };
        if !matches!(tool, Tool::Hinge | Tool::Weld) || self.is_fixed(Some(upper)) {
            return Ok(false);
        }
        let near = self.points(2.0 * CLICK);
        let joints = self.facts().joints;
        let is_known = |pin: &Pin| pin.tool == tool && pin.joints == joints && pin.at.distance(at) <= near;
        if self.build.pinned.take().is_some_and(|pin| is_known(&pin)) {
            self.say(format!("there is a {} here already: one click is enough where bodies overlap", tool.name()));
            return Ok(true);
        }
        let (first, second) = (self.end(Some(upper), at)?, self.end(Some(lower), at)?);
        self.tie(tool, first, second, 0.0);
        self.build.pinned = Some(Pin { tool, at, joints: self.facts().joints });
        Ok(true)
    }

    /// Returns true for the world, and for a body that is not dynamic.
    pub(super) fn is_fixed(&self, body: Option<BodyId>) -> bool {
        let compiled = self.run.here().map(|run| run.world().compiled());
        let kind =
            |id: BodyId| compiled.and_then(|compiled| compiled.bodies.get(id.index as usize)).map(|body| body.kind);
        body.is_none_or(|id| kind(id) != Some(DYNAMIC))
    }

    /// Makes the joint of a tool between two ends.
    fn tie(&mut self, tool: Tool, first: JointEnd, second: JointEnd, length: f32) {
        let Some(compiled) = self.run.here().map(|run| run.world().compiled()) else { return };
        let kind = match tool {
            Tool::Spring => self.build.stock.spring(compiled, [first, second], length),
            Tool::Rod => JointKind::Distance { length: Some(length), limits: None, motor: None },
            Tool::Weld => JointKind::weld(),
            _ => JointKind::hinge(),
        };
        // A joint without body A holds B to the world.
        let (a, b) = if second.body.is_some() { (first, second) } else { (second, first) };
        let Some(body) = b.body else { return };
        let collide = matches!(tool, Tool::Spring | Tool::Rod);
        let joint = Joint { collide, ..Joint::to_world(kind, 0).anchors(a.anchor, b.anchor) };
        let names = |end: JointEnd| {
            end.body.map(|id| compiled.ids[id.index as usize].clone().unwrap_or_else(|| format!("body {}", id.index)))
        };
        let said = match [first, second].map(names) {
            [Some(first), Some(second)] => format!("{} between {first} and {second}", tool.name()),
            [Some(one), None] | [None, Some(one)] if tool == Tool::Hinge => format!("{one} turns about this point"),
            [one, other] => format!("{} between {} and a fixed point", tool.name(), one.or(other).unwrap_or_default()),
        };
        let ends: Vec<BodyId> = a.body.into_iter().chain([body]).collect();
        let stands = self.run.here_mut().map_or(Ok(Vec::new()), |run| run.stands(&ends));
        let tie = |stands: Vec<Stand>| {
            RecordedEdit::new(Edit::Tie([(a.body, body, joint)].into()), Meaning::Tie(stands.into()))
        };
        match stands.and_then(|stands| self.edit(tie(stands))) {
            Ok(_) => self.say(format!("{said} · Z takes it back")),
            Err(error) => self.say(format!("no {}: {}", tool.name(), plain(&error))),
        }
    }

    /// Makes an end of a joint at a place in the world, m.
    fn end(&mut self, body: Option<BodyId>, at: Vec2) -> Result<JointEnd, WorldError> {
        let Some(id) = body else { return Ok(JointEnd { body: None, anchor: at, at }) };
        let Some((pose, center)) = self.frame_of(id)? else { return Ok(JointEnd { body: None, anchor: at, at }) };
        let own = inv_rotate(pose.rotation.into(), at - Vec2::from(pose.position));
        Ok(JointEnd { body: Some(id), anchor: own + center, at })
    }

    /// Present place of an end of a joint, m; `None` if its body is gone.
    fn place_of(&mut self, end: JointEnd) -> Result<Option<Vec2>, WorldError> {
        let Some(id) = end.body else { return Ok(Some(end.anchor)) };
        let frame = self.frame_of(id)?;
        let place = |(pose, center): (Pose, Vec2)| {
            Vec2::from(pose.position) + rotate(pose.rotation.into(), end.anchor - center)
        };
        Ok(frame.map(place))
    }

    /// Pose of the centre of mass of a body, and that centre in the body's frame, m. Waits for the device.
    fn frame_of(&mut self, id: BodyId) -> Result<Option<(Pose, Vec2)>, WorldError> {
        let slot = id.index as usize;
        let Some(run) = self.run.here_mut() else { return Ok(None) };
        if !run.world().contains(id) {
            return Ok(None);
        }
        let center = run.world().compiled().mass[slot].center;
        let mut pending = self.ask(InspectionTarget::Body(id.index))?;
        loop {
            match pending.poll()? {
                InspectionResult::OnItsWay => self.context.wait()?,
                InspectionResult::Nobody => return Ok(None),
                InspectionResult::Body(found) => return Ok(Some((found.pose, center))),
            }
        }
    }

    /// Bodies at a place: first the one that a click there means, then the others under it; and true if the place is
    /// inside the first one, too. Waits for the device.
    fn bodies_at(&mut self, at: Vec2) -> Result<(Vec<BodyId>, bool), WorldError> {
        let mut pending = self.ask(InspectionTarget::Under(at, self.reach(false)))?;
        let meant = loop {
            match pending.poll()? {
                InspectionResult::OnItsWay => self.context.wait()?,
                InspectionResult::Nobody => break None,
                InspectionResult::Body(found) => break Some(found.body),
            }
        };
        let Some(run) = self.run.here_mut() else { return Ok((Vec::new(), false)) };
        let world = run.world_mut();
        let mut found: Vec<_> = world.query(&[Query::point(at)])?.found(0).to_vec();
        let compiled = world.compiled();
        let moves = |body: usize| compiled.bodies.get(body).is_some_and(|body| body.kind == DYNAMIC);
        found.sort_by_key(|found| (!moves(found.body), std::cmp::Reverse(found.shape)));
        let is_inside = meant.is_some_and(|meant| found.iter().any(|found| found.body == meant));
        let mut slots: Vec<usize> = meant.into_iter().chain(found.into_iter().map(|found| found.body)).collect();
        let mut seen = std::collections::HashSet::new();
        slots.retain(|&slot| seen.insert(slot));
        Ok((slots.into_iter().filter_map(|slot| world.body_id(slot)).collect(), is_inside))
    }

    /// Removes all dynamic bodies.
    pub(super) fn clear(&mut self) {
        let Some(run) = self.run.here_mut() else { return };
        let bodies = &run.world().compiled().bodies;
        let slots: Vec<usize> = (0..bodies.len()).filter(|&slot| bodies[slot].kind == DYNAMIC).collect();
        let ids: Vec<BodyId> = slots.into_iter().filter_map(|slot| run.world_mut().body_id(slot)).collect();
        if ids.is_empty() {
            return self.say("there is no dynamic body to remove");
        }
        let count = super::panel::count(ids.len() as u64, "body");
        match self.remove_bodies(ids) {
            Ok(()) => self.say(format!("removed {count} · Z brings them back")),
            Err(error) => self.say(format!("nothing was removed: {error}")),
        }
    }

    /// Opens an empty scene, paused: a ground, and room to build on it.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn new_scene(&mut self) -> Result<(), WorldError> {
        self.open(SceneSource::Given(Arc::new(empty_scene())), Why::New, None)
    }
}

impl Stock {
    /// Makes a spring of a rest length, m, with the stiffness and damping for the wanted frequency and damping ratio of
    /// the bodies at its ends.
    fn spring(&self, compiled: &Compiled, ends: [JointEnd; 2], length: f32) -> JointKind {
        let inverse = |end: JointEnd| {
            let mass = end.body.and_then(|id| compiled.mass.get(id.index as usize)).map_or(0.0, |mass| mass.mass);
            if mass > 0.0 { 1.0 / mass } else { 0.0 }
        };
        let [stiffness, damping] = self.constants(effective_mass(ends.map(inverse)));
        JointKind::Spring { rest_length: Some(length), stiffness, damping }
    }

    /// Stiffness, N/m, and damping, N·s/m, of a new spring on an effective mass, kg.
    pub fn constants(&self, mass: f32) -> [f32; 2] {
        spring_constants(mass, self.hertz, self.damping)
    }
}

/// Scene with a ground, a half plane with its surface at the height 0, and a view of the room above it.
fn empty_scene() -> Scene {
    let mut scene = Scene::new("new scene").view([-8.0, -1.5], [8.0, 7.5]);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane(Vec2::Y, 0.0)).id("ground"));
    scene
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts::TAU;

    fn corners(list: &[[f32; 2]]) -> Vec<Vec2> {
        list.iter().map(|&corner| corner.into()).collect()
    }

    #[test]
    fn outlines_become_bodies_where_they_were_drawn() {
        let stock = Stock { density: 2.0, friction: 0.3, restitution: 0.5, ..Stock::default() };
        let body = stock.body(&DrawnOutline::Box(Vec2::new(3.0, 4.0), Vec2::new(1.0, 5.0))).unwrap();
        assert_eq!(body.position, Vec2::new(2.0, 4.5));
        assert_eq!(body.shapes[0].geometry, Geometry::Box { half: Vec2::new(1.0, 0.5), radius: 0.0 });
        let Shape { density, material, .. } = body.shapes[0];
        assert_eq!((density, material.friction, material.restitution), (2.0, 0.3, 0.5));
        let body = stock.body(&DrawnOutline::Circle(Vec2::ONE, Vec2::new(1.0, 3.0))).unwrap();
        assert_eq!((body.position, &body.shapes[0].geometry), (Vec2::ONE, &Geometry::Circle { radius: 2.0 }));
        // Corners in either direction make the same body. The arrow has a corner that turns inwards: its mass
        // is that of the outline, 1 m², not of the hull, 2 m².
        let square = corners(&[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]);
        let mut clockwise = square.clone();
        clockwise.reverse();
        let arrow = stock.body(&DrawnOutline::Polygon(corners(&[[0.0, 0.0], [2.0, 0.0], [0.5, 0.5], [0.0, 2.0]])));
        let mut scene = Scene::new("arrow");
        scene.add(arrow.unwrap());
        let mass = Compiled::new(&scene).unwrap().mass[0].mass;
        assert!((mass - 2.0).abs() < 1e-5, "2 kg/m² on 1 m²: {mass} kg");
        for outline in [square, clockwise] {
            let body = stock.body(&DrawnOutline::Polygon(outline)).unwrap();
            let mut scene = Scene::new("one");
            assert_eq!(body.position, Vec2::ONE);
            scene.add(body);
            let mass = Compiled::new(&scene).unwrap().mass[0].mass;
            assert!((mass - 8.0).abs() < 1e-5, "2 kg/m² on 4 m²: {mass} kg");
        }
    }

    #[test]
    fn outlines_that_are_no_bodies_are_refused_in_words() {
        let stock = Stock::default();
        let star: Vec<Vec2> = (0..5_u8).map(|k| Vec2::from_angle(f32::from(k) * 2.0 * TAU / 5.0)).collect();
        let far = Vec2::new(2e7, 0.0);
        for (outline, expected) in [
            (DrawnOutline::Polygon(star), "crosses"),
            (DrawnOutline::Polygon(corners(&[[0.0, 0.0], [1.0, 0.0]])), "3 to 16 corners"),
            (DrawnOutline::Polygon(vec![Vec2::ZERO; 17]), "3 to 16 corners"),
            (DrawnOutline::Box(Vec2::ZERO, Vec2::new(1.0, 0.0)), "expected"),
            (DrawnOutline::Circle(Vec2::ONE, Vec2::ONE), "expected"),
            (DrawnOutline::Box(far, far + 1.0), "too far out"),
            (DrawnOutline::Circle(Vec2::NAN, Vec2::ONE), "too far out"),
        ] {
            let error = stock.body(&outline).unwrap_err();
            assert!(error.contains(expected) && !error.contains("bodies["), "{outline:?}: {error}");
        }
        let error = Stock { density: -1.0, ..stock }.body(&DrawnOutline::Box(Vec2::ZERO, Vec2::ONE)).unwrap_err();
        assert!(error.contains("density") && !error.contains("bodies["), "{error}");
    }

    #[test]
    fn an_empty_scene_is_valid() {
        empty_scene().check().unwrap();
    }

    /// Two bodies on a spring of the window swing at the wanted frequency.
    #[test]
    fn springs_swing_as_asked_for() {
        let mut scene = Scene::new("spring").gravity(0.0, 0.0);
        scene.settings.substeps = Some(16);
        let stock = Stock { hertz: 1.0, damping: 0.0, ..Stock::default() };
        for x in [0.0, 4.0] {
            scene.add(stock.body(&DrawnOutline::Circle(Vec2::new(x, 0.0), Vec2::new(x + 0.5, 0.0))).unwrap());
        }
        let compiled = Compiled::new(&scene).unwrap();
        let end = |index| JointEnd { body: Some(BodyId { index, generation: 0 }), anchor: Vec2::ZERO, at: Vec2::ZERO };
        let kind = stock.spring(&compiled, [end(0), end(1)], 3.0);
        scene.join(Joint::new(kind, 0, 1));
        let mut world = drystone::low_level::CpuWorld::new(&scene).unwrap();
        // Half a swing of 1 s from 4 m about 3 m: 2 m apart, and a whole one later back again.
        for (steps, expected) in [(30, 2.0), (30, 4.0)] {
            for _ in 0..steps {
                world.step().unwrap();
            }
            let apart = world.poses()[1].position[0] - world.poses()[0].position[0];
            assert!((apart - expected).abs() < 0.06, "{apart} m, expected {expected} m");
        }
    }
}
