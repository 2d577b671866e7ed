//! Character movers: shapes that go where the user says, slide along what is in their way, and climb slopes and steps.
//! They are no bodies: nothing pushes them, and they push nothing.

use glam::Vec2;

use crate::constants::MAX_LENGTH;
use crate::population::BodyId;
use crate::query::{Answers, Query, QueryError, RayHit};
use crate::scene::check::UNIT_TOLERANCE;
use crate::scene::{Filter, Geometry};
use crate::world_error::WorldError;

/// Most times that a mover is pushed out of what it overlaps.
const MAX_PUSHES: u32 = 4;
/// Most surfaces along which a mover slides.
const MAX_SLIDES: usize = 5;
/// Motion below which a mover has arrived, m.
const MIN_MOTION: f32 = 1e-5;
/// Difference of cosines up to which ground is not too steep.
const SLOPE_SLACK: f32 = 1e-4;
/// Least cosine between motion and surface by which the way back to the skin is prolonged.
const MIN_SLOPE: f32 = 0.1;

/// A character that moves as the user says ([`World::move_characters`](crate::World::move_characters)).
///
/// ```
/// use drystone::{Body, Geometry, Mover, Scene, Shape, World};
///
/// let mut scene = Scene::new("stairs");
/// scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
/// scene.add(Body::fixed(2.0, 0.1).shape(Shape::half_box(1.0, 0.1)));
/// let mut world = World::new(&scene)?;
/// let capsule = Geometry::Capsule { a: [0.0, 0.3].into(), b: [0.0, 1.2].into(), radius: 0.3 };
/// let mover = Mover::new(capsule, [0.0, 0.0]);
/// let moved = world.move_characters(&[mover.clone().motion([2.0, 0.0])])?.remove(0);
/// // It has climbed the step of 0.2 m, and stands on it.
/// assert!(moved.position.x > 1.9 && (moved.position.y - 0.2).abs() < 0.02);
/// assert!(moved.ground.is_some());
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mover {
    /// Shape, about its own origin; any but a half plane. Capsules pass corners best. It does not turn.
    pub shape: Geometry,
    /// Position of its origin, m.
    pub position: Vec2,
    /// Motion that is wished for, m: the velocity times the length of the frame.
    pub motion: Vec2,
    /// Direction away from the ground, of length 1. Default (0, 1).
    pub up: Vec2,
    /// Steepest ground on which it stands and climbs, rad. Default π/4. Steeper ground is a wall.
    pub max_slope: f32,
    /// Highest step that it climbs, m. Default 0.25; 0: none.
    pub step_height: f32,
    /// Distance down to which it keeps to the ground, m, so that it walks down slopes and steps. Default 0.25; 0: none.
    /// A mover whose motion goes up, as in a jump, does not.
    pub snap: f32,
    /// Distance that it keeps from all surfaces, m, above 0. Default 0.01. Less: it gets caught by rounding.
    pub skin: f32,
    /// Filter of the shapes that it meets. It meets no sensors, and platforms that are one-way from all sides: leave
    /// their category out while it rises or is inside one.
    pub filter: Filter,
    /// Body whose shapes it does not meet, such as one that follows it.
    pub ignore: Option<BodyId>,
}

/// Result of moving a [`Mover`].
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Position of its origin, m.
    pub position: Vec2,
    /// Ground on which it stands. The body may be a platform that carries it: add its velocity at the point
    /// ([`BodyView::velocity_at`](crate::BodyView::velocity_at)) to the next motion.
    pub ground: Option<RayHit>,
    /// Surfaces that it met on its way, in their order.
    pub hits: Vec<RayHit>,
}

impl Mover {
    /// Returns a mover at a position, m, without motion.
    #[must_use]
    pub fn new(shape: Geometry, position: impl Into<Vec2>) -> Self {
        Self {
            shape,
            position: position.into(),
            motion: Vec2::ZERO,
            up: Vec2::Y,
            max_slope: std::f32::consts::FRAC_PI_4,
            step_height: 0.25,
            snap: 0.25,
            skin: 0.01,
            filter: Filter::default(),
            ignore: None,
        }
    }

    /// Returns the mover with this motion, m.
    #[must_use]
    pub fn motion(mut self, motion: impl Into<Vec2>) -> Self {
        self.motion = motion.into();
        self
    }
}

/// Progress of a mover: the question of its next cast.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MoverPhase {
    /// Overlap at the start, after a number of pushes.
    Push(u32),
    /// Way along the motion that is left.
    Slide,
    /// Way up, to climb a step by this motion.
    StepUp {
        forward: Vec2,
    },
    /// Way forward above the foot of the step, by its height, m.
    StepOver {
        forward: Vec2,
        rise: f32,
    },
    /// Way down onto the step.
    StepDown {
        rise: f32,
    },
    /// Ground below.
    Snap,
    Done,
}

/// A mover on its way.
struct Walk<'a> {
    mover: &'a Mover,
    phase: MoverPhase,
    at: Vec2,
    /// Motion that is left.
    rest: Vec2,
    /// Motion of the cast that was sent.
    sent: Vec2,
    /// Normals of the surfaces along which it has slid.
    planes: Vec<Vec2>,
    /// Position and motion at the foot of a step.
    foot: (Vec2, Vec2),
    moved: Moved,
}

impl<'a> Walk<'a> {
    fn new(mover: &'a Mover) -> Self {
        let moved = Moved { position: mover.position, ground: None, hits: Vec::new() };
        let (at, rest) = (mover.position, mover.motion);
        let foot = (at, Vec2::ZERO);
        Self { mover, phase: MoverPhase::Push(0), at, rest, sent: Vec2::ZERO, planes: Vec::new(), foot, moved }
    }

    fn jumps(&self) -> bool {
        self.mover.motion.dot(self.mover.up) > 0.0
    }

    fn is_ground(&self, normal: Vec2) -> bool {
        normal.dot(self.mover.up) >= self.mover.max_slope.cos() - SLOPE_SLACK
    }

    /// Returns the next cast, or `None` if the mover has arrived.
    fn next_cast(&mut self) -> Option<Query> {
        let Mover { up, skin, step_height, snap, .. } = *self.mover;
        if self.phase == MoverPhase::Slide && self.rest.length() < MIN_MOTION {
            self.phase = MoverPhase::Snap;
        }
        if self.phase == MoverPhase::Snap && (snap <= 0.0 || self.jumps()) {
            self.phase = MoverPhase::Done;
        }
        let way = match self.phase {
            MoverPhase::Done => return None,
            MoverPhase::Push(_) => Vec2::ZERO,
            MoverPhase::Slide => self.rest,
            MoverPhase::StepUp { .. } => up * step_height,
            MoverPhase::StepOver { forward, .. } => forward,
            MoverPhase::StepDown { rise } => -up * rise,
            MoverPhase::Snap => -up * snap,
        };
        self.sent = way + way.normalize_or_zero() * skin;
        let Mover { shape, filter, ignore, .. } = self.mover.clone();
        Some(Query { filter, ignore, solid: true, ..Query::cast(shape, self.at, 0.0, self.sent) })
    }

    /// Moves along the cast up to the skin of what it hit. Returns the motion done.
    fn advance(&mut self, hit: Option<&RayHit>) -> Vec2 {
        let (length, skin) = (self.sent.length(), self.mover.skin);
        let direction = self.sent.normalize_or_zero();
        let way =
            hit.map_or(length - skin, |hit| hit.fraction * length - skin / (-direction.dot(hit.normal)).max(MIN_SLOPE));
        let done = direction * way.max(0.0);
        self.at += done;
        done
    }

    /// Takes the answer to the cast.
    fn take(&mut self, hit: Option<RayHit>) {
        let (up, skin) = (self.mover.up, self.mover.skin);
        self.phase = match self.phase {
            MoverPhase::Push(count) => match hit {
                // Also from what it only touches, which would hold it.
                Some(hit) if count < MAX_PUSHES => {
                    self.at += hit.normal * (hit.depth + skin);
                    MoverPhase::Push(count + 1)
                }
                _ => MoverPhase::Slide,
            },
            MoverPhase::Slide => self.slide(hit),
            MoverPhase::StepUp { forward } => {
                let rise = self.advance(hit.as_ref()).dot(up);
                if rise > skin { MoverPhase::StepOver { forward, rise } } else { self.step_back() }
            }
            MoverPhase::StepOver { forward, rise } => {
                let done = self.advance(hit.as_ref());
                self.rest = forward - done;
                if done.length() > MIN_MOTION { MoverPhase::StepDown { rise } } else { self.step_back() }
            }
            MoverPhase::StepDown { .. } => {
                self.advance(hit.as_ref());
                if hit.is_some_and(|hit| self.is_ground(hit.normal)) {
                    // Other surfaces hold it up here.
                    self.planes.clear();
                    MoverPhase::Slide
                } else {
                    self.step_back()
                }
            }
            MoverPhase::Snap => {
                let ground = hit.filter(|hit| self.is_ground(hit.normal));
                if let Some(ground) = &ground {
                    self.advance(Some(ground));
                }
                self.moved.ground = ground;
                MoverPhase::Done
            }
            MoverPhase::Done => MoverPhase::Done,
        };
        self.moved.position = self.at;
    }

    /// Slides along the surface that was met, or begins to climb it as a step.
    fn slide(&mut self, hit: Option<RayHit>) -> MoverPhase {
        let Mover { up, step_height, .. } = *self.mover;
        let rest = self.rest - self.advance(hit.as_ref());
        let Some(hit) = hit else { return MoverPhase::Snap };
        self.moved.hits.push(hit);
        let is_full = self.moved.hits.len() >= MAX_SLIDES;
        let is_wall = !self.is_ground(hit.normal) && hit.normal.dot(up) > -SLOPE_SLACK;
        let forward = rest - up * rest.dot(up);
        self.rest = self.along(rest, hit.normal, is_wall);
        self.foot = (self.at, self.rest);
        if is_full {
            MoverPhase::Snap
        } else if is_wall && step_height > 0.0 && !self.jumps() && forward.length() > MIN_MOTION {
            MoverPhase::StepUp { forward }
        } else {
            MoverPhase::Slide
        }
    }

    /// Returns a motion without its part into a surface; none, if it goes into another one. A wall is not climbed.
    fn along(&mut self, rest: Vec2, normal: Vec2, is_wall: bool) -> Vec2 {
        let up = self.mover.up;
        let mut rest = rest - normal * rest.dot(normal).min(0.0);
        if is_wall && !self.jumps() {
            rest -= up * rest.dot(up).max(0.0);
        }
        self.planes.push(normal);
        if self.planes.iter().any(|plane| rest.dot(*plane) < -MIN_MOTION) { Vec2::ZERO } else { rest }
    }

    /// Returns to the foot of what is no step, to slide along it.
    fn step_back(&mut self) -> MoverPhase {
        (self.at, self.rest) = self.foot;
        MoverPhase::Slide
    }
}

/// Moves characters, all of them in the same batches of casts, which `query` answers.
///
/// # Errors
/// Those of `query`; a mover with a value out of range.
pub(crate) fn move_characters(
    movers: &[Mover],
    mut query: impl FnMut(&[(usize, Query)]) -> Result<Answers, WorldError>,
) -> Result<Vec<Moved>, WorldError> {
    for (index, mover) in movers.iter().enumerate() {
        mover.check(index)?;
    }
    let mut walks: Vec<Walk> = movers.iter().map(Walk::new).collect();
    loop {
        let casts: Vec<(usize, Query)> =
            walks.iter_mut().enumerate().filter_map(|(index, walk)| Some((index, walk.next_cast()?))).collect();
        if casts.is_empty() {
            return Ok(walks.into_iter().map(|walk| walk.moved).collect());
        }
        let answers = query(&casts)?;
        for (place, (index, _)) in casts.iter().enumerate() {
            walks[*index].take(answers.hit(place));
        }
    }
}

impl Mover {
    /// Checks the values that no cast checks.
    ///
    /// # Errors
    /// A value is out of range.
    fn check(&self, index: usize) -> Result<(), QueryError> {
        let is_up = (self.up.length() - 1.0).abs() <= UNIT_TOLERANCE;
        let most = std::f32::consts::FRAC_PI_2;
        for (is_valid, problem, expected) in [
            (is_up, format!("up is {}", self.up), "a direction of length 1".to_owned()),
            (
                (0.0..=most).contains(&self.max_slope),
                format!("max_slope is {}", self.max_slope),
                "an angle from 0 to π/2".to_owned(),
            ),
            (
                (0.0..=MAX_LENGTH).contains(&self.step_height),
                format!("step_height is {}", self.step_height),
                "a height from 0 to 100 km".to_owned(),
            ),
            (
                (0.0..=MAX_LENGTH).contains(&self.snap),
                format!("snap is {}", self.snap),
                "a distance from 0 to 100 km".to_owned(),
            ),
            (
                self.skin > 0.0 && self.skin <= MAX_LENGTH,
                format!("skin is {}", self.skin),
                "a distance above 0".to_owned(),
            ),
        ] {
            if !is_valid {
                return Err(QueryError { index, problem, expected });
            }
        }
        Ok(())
    }
}
