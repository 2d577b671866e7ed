//! From a [`Scene`] to the flat arrays that both backends start from.

use glam::Vec2;

use super::{BodyType, Geometry, Mode, RestitutionMix, Scene, SceneError, Settings};
use crate::math::{self, rotation};
use crate::types::{self, BodyState, Level, Params, Pose};

/// Shapes closer than this are in contact, m; four slops, as in Box2D.
const SPECULATIVE_DISTANCE: f32 = 0.02;
/// Touching pairs keep their manifold up to this motion, m; ten slops, as in Box2D. Less, and aligned stacks fall.
const RECYCLE_DISTANCE: f32 = 0.05;
/// Contact stiffness, Hz; never above an eighth of the substep rate. Box2D.
const CONTACT_HERTZ: f32 = 30.0;
/// Contact damping; far above critical, so that nothing rings. Box2D.
const CONTACT_DAMPING_RATIO: f32 = 10.0;
/// Fastest push-out, m/s. Box2D.
const PUSH_SPEED: f32 = 3.0;
/// Bodies above this are slowed down, m/s. Box2D.
const MAX_SPEED: f32 = 400.0;
/// Bodies turn at most this much in a step, rad. Box2D.
const MAX_TURN: f32 = 0.25 * std::f32::consts::PI;
/// Largest position correction in one sweep, m. Box2D 2.4.
const MAX_CORRECTION: f32 = 0.2;

/// Mass, inertia and centre of one body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MassProperties {
    /// kg; 0 for static and kinematic bodies.
    pub mass: f32,
    /// kg·m² about the centre of mass; 0 likewise and for fixed rotation.
    pub inertia: f32,
    /// In the body's frame, m.
    pub center: Vec2,
}

/// The flat arrays a world starts from. Bodies and shapes are in scene order.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// As in the scene.
    pub name: String,
    /// As in the scene.
    pub settings: Settings,
    /// Constants of a step.
    pub params: Params,
    /// One a body.
    pub bodies: Vec<types::Body>,
    /// One a body, of its centre of mass.
    pub poses: Vec<Pose>,
    /// One a body.
    pub states: Vec<BodyState>,
    /// One a body.
    pub mass: Vec<MassProperties>,
    /// One a body.
    pub ids: Vec<Option<String>>,
    /// Shapes of all bodies.
    pub shapes: Vec<types::Shape>,
    /// Whether two shapes can bounce at all; if not, the restitution stage is left out.
    pub bounces: bool,
}

impl Compiled {
    /// Checks the scene and lays it out.
    ///
    /// # Errors
    /// The first value that is out of range ([`Scene::check`]).
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        scene.check()?;
        let mut bodies = Vec::with_capacity(scene.bodies.len());
        let mut poses = Vec::with_capacity(scene.bodies.len());
        let mut states = Vec::with_capacity(scene.bodies.len());
        let mut masses = Vec::with_capacity(scene.bodies.len());
        let mut shapes = Vec::with_capacity(scene.bodies.len());
        for (index, body) in scene.bodies.iter().enumerate() {
            let mass = mass_properties(body);
            let turn = rotation(body.angle);
            let fixed = body.kind != BodyType::Dynamic;
            let first_shape = shapes.len();
            for shape in &body.shapes {
                let mut flat = flatten_shape(shape, mass.center);
                flat.body = u32_from(index);
                if fixed {
                    flat.kind |= types::FIXED_SHAPE;
                }
                if body.kind == BodyType::Kinematic {
                    flat.kind |= types::KINEMATIC_SHAPE;
                }
                shapes.push(flat);
            }
            let mine = &shapes[first_shape..];
            let invert = |x: f32| if x > 0.0 { 1.0 / x } else { 0.0 };
            bodies.push(types::Body {
                inv_mass: invert(mass.mass),
                inv_inertia: invert(mass.inertia),
                linear_damping: body.linear_damping,
                angular_damping: body.angular_damping,
                force: body.force.into(),
                force_point: (body.force_point.unwrap_or(mass.center) - mass.center).into(),
                torque: body.torque,
                gravity_scale: body.gravity_scale,
                extent: mine.iter().map(|s| Vec2::from(s.offset).length() + s.bound).fold(0.0, f32::max),
                min_extent: mine.iter().map(thickness).fold(f32::INFINITY, f32::min).min(1e5),
                kind: match body.kind {
                    BodyType::Static => types::STATIC,
                    BodyType::Kinematic => types::KINEMATIC,
                    BodyType::Dynamic => types::DYNAMIC,
                },
                pad: [0; 3],
            });
            poses.push(Pose {
                position: (body.position + math::rotate(turn, mass.center)).into(),
                rotation: turn.into(),
            });
            let moves = body.kind != BodyType::Static;
            states.push(BodyState {
                velocity: if moves { body.velocity.into() } else { [0.0; 2] },
                angular_velocity: if moves && !body.fixed_rotation { body.angular_velocity } else { 0.0 },
                ..BodyState::default()
            });
            masses.push(mass);
        }
        let mut params = params(scene);
        params.body_count = u32_from(bodies.len());
        params.shape_count = u32_from(shapes.len());
        lay_grid(&mut params, &mut shapes, &poses);
        let bounces = match scene.settings.restitution_mix {
            RestitutionMix::Max => shapes.iter().any(|s| s.restitution > 0.0),
            RestitutionMix::Min => shapes.iter().filter(|s| s.restitution > 0.0).count() > 1,
        };
        if bounces {
            params.switches |= types::BOUNCES;
        }
        Ok(Self {
            name: scene.name.clone(),
            settings: scene.settings,
            params,
            bodies,
            poses,
            states,
            mass: masses,
            ids: scene.bodies.iter().map(|b| b.id.clone()).collect(),
            shapes,
            bounces,
        })
    }
}

fn u32_from(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn flatten_shape(shape: &super::Shape, center: Vec2) -> types::Shape {
    let (kind, half, radius, bound) = match shape.geometry {
        Geometry::Circle { radius } => (types::CIRCLE, Vec2::ZERO, radius, radius),
        Geometry::Box { half } => (types::BOX, half, 0.0, half.length()),
    };
    types::Shape {
        half: half.into(),
        radius,
        kind,
        offset: (shape.offset - center).into(),
        rotation: rotation(shape.rotation).into(),
        friction: shape.material.friction,
        restitution: shape.material.restitution,
        body: 0,
        level: 0,
        category: shape.filter.category,
        mask: shape.filter.mask,
        group: shape.filter.group,
        bound,
    }
}

/// Half of the thinnest part: what a fast body can jump over.
fn thickness(shape: &types::Shape) -> f32 {
    if shape.kind & types::GEOMETRY_MASK == types::CIRCLE { shape.radius } else { shape.half[0].min(shape.half[1]) }
}

/// Area integrals in f64: compound bodies far from their origin would lose digits in f32.
pub(super) fn mass_properties(body: &super::Body) -> MassProperties {
    if body.kind == BodyType::Kinematic {
        // Its velocity is that of its origin, about which it turns.
        return MassProperties::default();
    }
    let (mut mass, mut moment, mut about_origin) = (0.0_f64, glam::DVec2::ZERO, 0.0_f64);
    for shape in &body.shapes {
        let (area, own) = match shape.geometry {
            Geometry::Circle { radius } => {
                let r2 = f64::from(radius) * f64::from(radius);
                (std::f64::consts::PI * r2, 0.5 * r2)
            }
            Geometry::Box { half } => {
                let half = half.as_dvec2();
                (4.0 * half.x * half.y, half.length_squared() / 3.0)
            }
        };
        let m = f64::from(shape.density) * area;
        let offset = shape.offset.as_dvec2();
        mass += m;
        moment += m * offset;
        about_origin += m * (own + offset.length_squared());
    }
    let center = if mass > 0.0 { moment / mass } else { glam::DVec2::ZERO };
    if body.kind == BodyType::Static {
        // Any point will do for a body that never moves; the middle of it keeps lever arms short.
        return MassProperties { center: center.as_vec2(), ..MassProperties::default() };
    }
    let mut inertia = about_origin - mass * center.length_squared();
    if let Some(given) = body.mass {
        inertia *= f64::from(given) / mass;
        mass = f64::from(given);
    }
    if let Some(given) = body.inertia {
        inertia = f64::from(given);
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    MassProperties {
        mass: mass as f32,
        inertia: if body.fixed_rotation { 0.0 } else { inertia as f32 },
        center: center.as_vec2(),
    }
}

/// Bias rate, mass scale and impulse scale of a spring-damper solved implicitly (Box2D's `b2MakeSoft`).
fn soft(hertz: f32, damping_ratio: f32, h: f32) -> [f32; 3] {
    if hertz <= 0.0 {
        return [0.0, 1.0, 0.0];
    }
    let omega = 2.0 * std::f32::consts::PI * hertz;
    let a1 = 2.0 * damping_ratio + h * omega;
    let a2 = h * omega * a1;
    let a3 = 1.0 / (1.0 + a2);
    [omega / a1, a2 * a3, a3]
}

fn params(scene: &Scene) -> Params {
    let settings = &scene.settings;
    #[allow(clippy::cast_precision_loss, reason = "at most 64")]
    let h = settings.dt / settings.substep_count() as f32;
    let (contact_softness, fixed_softness) = match settings.mode {
        Mode::Soft if settings.correct_position => {
            let hertz = CONTACT_HERTZ.min(0.125 / h);
            let [b, m, i] = soft(hertz, CONTACT_DAMPING_RATIO, h);
            let [fb, fm, fi] = soft(2.0 * hertz, CONTACT_DAMPING_RATIO, h);
            ([b, m, i, 0.0], [fb, fm, fi, 0.0])
        }
        Mode::Baumgarte if settings.correct_position => {
            let row = [settings.baumgarte / h, 1.0, 0.0, settings.slop];
            (row, row)
        }
        _ => ([0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]),
    };
    let mut switches = 0;
    for (on, bit) in [
        (settings.accumulate, types::ACCUMULATE),
        (settings.recycle, types::RECYCLE),
        (settings.warm_start, types::WARM_START),
        (settings.restitution_mix == RestitutionMix::Max, types::RESTITUTION_MAX),
    ] {
        if on {
            switches |= bit;
        }
    }
    Params {
        gravity: scene.gravity.into(),
        dt: settings.dt,
        h,
        contact_capacity: u32::MAX,
        contact_softness,
        fixed_softness,
        push_speed: if settings.mode == Mode::Soft { PUSH_SPEED } else { f32::MAX },
        speculative_distance: SPECULATIVE_DISTANCE,
        restitution_threshold: settings.restitution_threshold,
        recycle_distance: RECYCLE_DISTANCE,
        recycle_distance_apart: SPECULATIVE_DISTANCE.min(RECYCLE_DISTANCE),
        aabb_margin: SPECULATIVE_DISTANCE,
        max_speed: MAX_SPEED,
        max_spin: MAX_TURN / settings.dt,
        projection_rate: settings.baumgarte,
        max_correction: MAX_CORRECTION,
        linear_slop: settings.slop,
        switches,
        ..Params::default()
    }
}

/// Chooses the cell widths, gives every shape its level, and sizes the tori.
///
/// The finest cell is twice the 95th-percentile bound, so that most shapes share one level and find their neighbours
/// in 3 × 3 cells; each coarser level is four times as wide, the last as wide as the largest shape needs.
fn lay_grid(params: &mut Params, shapes: &mut [types::Shape], poses: &[Pose]) {
    if shapes.is_empty() {
        return;
    }
    let margin = params.aabb_margin;
    let mut bounds: Vec<f32> = shapes.iter().map(|s| s.bound).collect();
    bounds.sort_unstable_by(f32::total_cmp);
    let largest = bounds[bounds.len() - 1];
    let typical = bounds[(bounds.len() - 1) * 95 / 100];
    // A thousandth more than needed, so that rounding never makes a shape reach over its neighbour cell.
    let reach = |bound: f32| 2.0 * (bound + margin) * 1.001;
    let finest = reach(typical);
    let mut cells = [finest; types::MAX_LEVELS];
    let mut counts = [0_u32; types::MAX_LEVELS];
    for level in 1..types::MAX_LEVELS {
        cells[level] = cells[level - 1] * 4.0;
    }
    cells[types::MAX_LEVELS - 1] = cells[types::MAX_LEVELS - 1].max(reach(largest));
    for shape in shapes.iter_mut() {
        let level = cells.iter().position(|&cell| reach(shape.bound) <= cell).unwrap_or(types::MAX_LEVELS - 1);
        shape.level = u32_from(level);
        counts[level] += 1;
    }
    params.level_count = u32_from(counts.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1));

    let mut first_cell = 0;
    for level in 0..params.level_count as usize {
        // The span of this level's shapes, so that the torus has about their aspect ratio and one cell a shape or two.
        let (mut min, mut max) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
        for shape in shapes.iter().filter(|s| s.level as usize == level) {
            let at = Vec2::from(poses[shape.body as usize].position);
            min = min.min(at);
            max = max.max(at);
        }
        let span = if counts[level] == 0 { Vec2::ZERO } else { (max - min) / cells[level] + 2.0 };
        let log2 = |cells_across: f32| {
            let mut log2 = 2_u32;
            #[allow(clippy::cast_precision_loss, reason = "a small power of two")]
            while log2 < 12 && ((1_u32 << log2) as f32) < cells_across {
                log2 += 1;
            }
            log2
        };
        let (mut width, mut height) = (log2(span.x), log2(span.y));
        // At most four cells a shape: sparse scenes wrap sooner instead of clearing empty cells.
        let most = u64::from(counts[level]).max(4) * 4;
        while (1_u64 << (width + height)) > most && width + height > 4 {
            if width >= height { width -= 1 } else { height -= 1 }
        }
        params.levels[level] = Level {
            inv_cell: 1.0 / cells[level],
            half_cell: 0.5 * cells[level],
            log2_width: width,
            log2_height: height,
            first_cell,
            shape_count: counts[level],
            pad: [0; 2],
        };
        first_cell += 1 << (width + height);
    }
    params.cell_count = first_cell;
}
