//! The constants of a step, from the settings of a scene, and the switches for what its shapes need.

use super::Compiled;
use crate::constants::{
    DEFAULT_HERTZ_SHARE, DEFAULT_IMPACT_SUBSTEPS, DEFAULT_PRESSING_THRESHOLD, DEFAULT_PUSH_SPEED, DEFAULT_SLOP,
    MAX_CORRECTION, MAX_DISC_TURN, MAX_HERTZ_SHARE, MAX_QUIET, MAX_SPEED, MAX_TURN, MIN_IMPACT_SUBSTEPS, PRELOAD_RATE,
    RECYCLE_DISTANCE, SCALED_OVERLAP, SLEEP_SPEED, SLEEP_TIME, SPECULATIVE_DISTANCE, STICK_SPEED, UNLOAD_SHARE,
};
use crate::scene::material::ContactSprings;
use crate::scene::{Field, Mixing, Mode, Scene, Settings, Units};
use crate::stages::bound::level_bits;
use crate::types::{self, MAX_MATERIAL_PAIRS, MAX_SPRINGS, PairTable, Params, u32_from};

pub(super) fn params(scene: &Scene, units: &Units) -> Params {
    let settings = &scene.settings;
    let slop = settings.slop.unwrap_or(DEFAULT_SLOP * units.length);
    let speculative_distance = SPECULATIVE_DISTANCE * units.length;
    let recycle_distance = RECYCLE_DISTANCE * units.length;
    #[allow(clippy::cast_precision_loss, reason = "at most 64")]
    let h = settings.dt / settings.substep_count() as f32;
    let [contact_softness, fixed_softness] = softness(settings, h, slop);
    // A stiffness of the user's choice is a spring, which sags under its load.
    let is_soft = settings.mode == Mode::Soft && settings.correct_position;
    let preloads = is_soft && settings.contact_hertz.is_none();
    let (springs, pair_springs) = springs(scene, h);
    let has_springs = is_soft && pair_springs != [[0; 4]; 5];
    let scales_masses = preloads && settings.mass_scaling && settings.warm_start && !has_springs;
    let switches = switches(scene, has_springs);
    let mut fields = [types::FieldData::default(); types::MAX_FIELDS];
    for (laid, field) in fields.iter_mut().zip(&scene.fields) {
        let Field { position, force, acceleration, core } = *field;
        *laid =
            types::FieldData { position: position.into(), force, acceleration, core, ..types::FieldData::default() };
    }
    let [pair_friction, pair_kinetic_friction, pair_restitution] = pair_tables(scene);
    Params {
        gravity: scene.gravity.into(),
        fields,
        field_count: u32_from(scene.fields.len()),
        dt: settings.dt,
        h,
        contact_capacity: u32::MAX,
        contact_softness,
        fixed_softness,
        push_speed: match settings.mode {
            Mode::Soft => settings.push_speed.unwrap_or(DEFAULT_PUSH_SPEED * units.speed()),
            _ => f32::MAX,
        },
        speculative_distance,
        restitution_threshold: settings.restitution_threshold.unwrap_or(0.0),
        pressing_threshold: settings.restitution_threshold.unwrap_or(DEFAULT_PRESSING_THRESHOLD * units.speed()),
        impact_time: h * settings.restitution_threshold.map_or(DEFAULT_IMPACT_SUBSTEPS, |_| MIN_IMPACT_SUBSTEPS),
        friction_mix: settings.friction_mix as u32,
        restitution_mix: settings.restitution_mix as u32,
        recycle_distance,
        recycle_distance_apart: speculative_distance.min(recycle_distance),
        aabb_margin: speculative_distance,
        max_speed: settings.max_speed.unwrap_or(MAX_SPEED * units.limit_speed()),
        max_spin: settings.max_spin.unwrap_or(MAX_TURN / settings.dt),
        projection_rate: settings.baumgarte,
        max_correction: MAX_CORRECTION * units.length,
        linear_slop: slop,
        switches,
        sleep_speed: SLEEP_SPEED * units.speed(),
        sleep_steps: sleep_steps(SLEEP_TIME * units.time, settings.dt),
        stick_speed: STICK_SPEED * units.speed(),
        preload_rate: if preloads { PRELOAD_RATE * settings.dt / units.time } else { 0.0 },
        max_disc_spin: settings.max_spin.unwrap_or(MAX_DISC_TURN / h),
        pair_friction,
        pair_kinetic_friction,
        pair_restitution,
        springs,
        pair_springs,
        unload_overlap: if settings.initial_loads { 0.0 } else { UNLOAD_SHARE * slop },
        mass_per_impulse: if scales_masses && slop > 0.0 { mass_per_impulse(h, slop) } else { 0.0 },
        ..Params::default()
    }
}

/// Returns the switches of the settings and of the materials.
fn switches(scene: &Scene, has_springs: bool) -> u32 {
    let settings = &scene.settings;
    let all = [
        (settings.accumulate, types::ACCUMULATE),
        (settings.recycle, types::RECYCLE),
        (settings.warm_start, types::WARM_START),
        (settings.sleep, types::SLEEP),
        (!scene.material_pairs.is_empty(), types::MATERIAL_PAIRS),
        (has_springs, types::MATERIAL_SPRINGS),
    ];
    all.into_iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
}

/// Returns friction at rest, friction while sliding and restitution of all pairs of materials; zeros if the scene has
/// no table.
fn pair_tables(scene: &Scene) -> [PairTable; 3] {
    let mixed = if scene.material_pairs.is_empty() { 0.0 } else { -1.0 };
    let mut tables = [[[mixed; 4]; MAX_MATERIAL_PAIRS / 4]; 3];
    for pair in &scene.material_pairs {
        let [a, b] = pair.materials.each_ref().map(|name| scene.material_place(name).map_or(0, |place| place + 1));
        let Some(index) = Params::pair_index(a.min(b), a.max(b)) else { continue };
        let kinetic = pair.kinetic_friction.or(pair.friction);
        for (table, value) in tables.iter_mut().zip([pair.friction, kinetic, pair.restitution]) {
            if let (Some(place), Some(value)) = (table.as_flattened_mut().get_mut(index), value) {
                *place = value;
            }
        }
    }
    tables
}

/// Springs of contacts between moving bodies, and with fixed ones: bias rate, mass scale, impulse scale and slop.
type SpringPair = [[f32; 4]; 2];

/// Returns the springs that materials give to contacts, by kind, and the kinds of all pairs of materials. The first
/// kind is that of the settings.
fn springs(scene: &Scene, h: f32) -> ([SpringPair; MAX_SPRINGS], [[u32; 4]; 5]) {
    let ContactSprings { springs: given, kinds } = scene.contact_springs();
    let (mut springs, mut places) = ([[[0.0; 4]; 2]; MAX_SPRINGS], [[0; 4]; 5]);
    for (spring, &(hertz, damping_ratio)) in springs.iter_mut().skip(1).zip(&given) {
        *spring = contact_springs(hertz.min(MAX_HERTZ_SHARE / h), damping_ratio, h);
    }
    for ([a, b], kind) in kinds {
        let (word, shift) = Params::spring_place(a, b);
        if let Some(word) = places.as_flattened_mut().get_mut(word) {
            *word |= u32_from(kind) << shift;
        }
    }
    (springs, places)
}

/// Returns bias rate, mass scale, impulse scale and slop of springs of contacts between moving bodies, and with fixed
/// ones.
fn contact_springs(hertz: f32, damping_ratio: f32, h: f32) -> SpringPair {
    [hertz, 2.0 * hertz].map(|hertz| {
        let [bias_rate, mass_scale, impulse_scale] = soft(hertz, damping_ratio, h);
        [bias_rate, mass_scale, impulse_scale, 0.0]
    })
}

/// Returns the mass that a spring between moving bodies needs for an impulse a substep, kg/(N·s), so that it gives way
/// by no more than a share of the slop.
fn mass_per_impulse(h: f32, slop: f32) -> f32 {
    let omega = std::f32::consts::TAU * DEFAULT_HERTZ_SHARE / h;
    let overlap = SCALED_OVERLAP * slop;
    1.0 / (h * omega * omega * overlap)
}

/// Returns bias rate, mass scale, impulse scale and slop of contacts between moving bodies, and with fixed ones.
fn softness(settings: &Settings, h: f32, slop: f32) -> [[f32; 4]; 2] {
    match settings.mode {
        Mode::Soft if settings.correct_position => {
            let hertz = settings.contact_hertz.map_or(DEFAULT_HERTZ_SHARE / h, |hertz| hertz.min(MAX_HERTZ_SHARE / h));
            contact_springs(hertz, settings.contact_damping_ratio, h)
        }
        Mode::Baumgarte if settings.correct_position => [[settings.baumgarte / h, 1.0, 0.0, slop]; 2],
        _ => [[0.0, 1.0, 0.0, 0.0]; 2],
    }
}

/// Returns bias rate, mass scale and impulse scale of a spring-damper solved implicitly (Box2D's `b2MakeSoft`).
pub(in crate::scene) fn soft(hertz: f32, damping_ratio: f32, h: f32) -> [f32; 3] {
    if hertz <= 0.0 {
        return [0.0, 1.0, 0.0];
    }
    let omega = 2.0 * std::f32::consts::PI * hertz;
    let a1 = 2.0 * damping_ratio + h * omega;
    let a2 = h * omega * a1;
    let a3 = 1.0 / (1.0 + a2);
    [omega / a1, a2 * a3, a3]
}

/// Returns the number of steps in the time for which a body must be quiet, s.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 65,535")]
fn sleep_steps(time: f32, dt: f32) -> u32 {
    // Half a second must be 30 steps of a sixtieth, however the division is rounded.
    (time / dt - 1e-3).ceil().clamp(1.0, MAX_QUIET as f32) as u32
}

impl Compiled {
    /// Updates the counts of rows, and the switches for the materials of the shapes.
    pub(crate) fn refresh_switches(&mut self) {
        let shapes = &self.shapes;
        let bouncing = shapes.iter().filter(|s| s.restitution > 0.0);
        let bounces = match self.settings.restitution_mix {
            Mixing::Max | Mixing::Mean => bouncing.count() > 0,
            Mixing::Min | Mixing::Geometric | Mixing::Product => bouncing.count() > 1,
        };
        // Without a table all of its values are 0.
        let Params { pair_friction, pair_kinetic_friction, pair_restitution, .. } = &self.params;
        let bounces = bounces || pair_restitution.as_flattened().iter().any(|&restitution| restitution > 0.0);
        let mut pairs = pair_friction.as_flattened().iter().zip(pair_kinetic_friction.as_flattened());
        let slips = pairs.any(|(friction, kinetic)| kinetic < friction);
        let slips = slips || shapes.iter().any(|shape| shape.kinetic_friction < shape.friction);
        // A rule may give any contact each of these.
        let ruled = self.contact_rule.is_some();
        for (on, bit) in [
            (ruled, types::RULED),
            (ruled || bounces, types::BOUNCES),
            (ruled || slips, types::KINETIC_FRICTION),
            (ruled || shapes.iter().any(|s| s.tangent_speed != 0.0), types::CONVEYORS),
            (ruled || shapes.iter().any(|s| s.rolling_resistance > 0.0), types::ROLLING),
            (shapes.iter().any(|s| s.kind & types::KINEMATIC_SHAPE != 0), types::MOVING_WALLS),
            (shapes.iter().any(|s| s.kind & types::BULLET_SHAPE != 0), types::BULLETS),
        ] {
            // A switch stays on, as impulses of the previous step may still need it.
            if on {
                self.params.switches |= bit;
            }
        }
        self.hulls |= shapes.iter().any(|shape| match shape.kind & types::GEOMETRY_MASK {
            types::CIRCLE | types::NO_SHAPE => false,
            types::BOX => shape.radius > 0.0,
            _ => true,
        });
        self.bounces = self.params.switches & types::BOUNCES != 0;
        let is_fixed = |shape: &&types::ShapeData| {
            let geometry = shape.kind & types::GEOMETRY_MASK;
            shape.kind & types::FIXED_SHAPE != 0 && geometry != types::HALF_PLANE && geometry != types::NO_SHAPE
        };
        let levels = shapes.iter().filter(is_fixed).map(|shape| level_bits(&self.params, shape));
        self.params.fixed_levels = levels.fold(0, |all, bits| all | bits);
        self.params.body_count = u32_from(self.bodies.len());
        self.params.shape_count = u32_from(self.shapes.len());
        self.params.joint_count = u32_from(self.joints.joints.len());
    }
}
