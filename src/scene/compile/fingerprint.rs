//! Fingerprint of a world: a hash of all data that stays constant while it runs, by which a world recognises its
//! snapshots.

use glam::Vec2;

use super::{Compiled, PathBody};
use crate::constants::{DEFAULT_PUSH_SPEED, STICK_SPEED};
use crate::hash::Fnv;
use crate::scene::{Mixing, Mode, Settings, Units};
use crate::types::{self, Params, split_position};

/// Switch of the first release for [`Mixing::Max`] of restitution.
const OLD_RESTITUTION_MAX: u32 = 8;

impl Compiled {
    /// Returns a hash of all that stays while the world runs. Worlds with equal fingerprints can restore each other's
    /// snapshots.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.script.fingerprint.unwrap_or_else(|| self.hash_with(&self.params))
    }

    /// Returns the fingerprint with this gravity, m/s², that of the start, and without switches for tests: a change of
    /// gravity by hand does not make another scene.
    pub(crate) fn fingerprint_from(&self, gravity: [f32; 2]) -> u64 {
        let switches = self.params.switches & !types::FORCE_OVERFLOW;
        let params = Params { gravity, switches, ..self.params };
        self.script.fingerprint.unwrap_or_else(|| self.hash_with(&params))
    }

    /// Returns these tables with the constants that the engine of another world has set: capacities of its tables, and
    /// switches for tests.
    pub(crate) fn on_engine_of(&self, other: &Self) -> Self {
        let Params { contact_capacity, color_blocks, exclusion_heads, exclusion_links, switches, .. } = other.params;
        let switches = self.params.switches & !types::FORCE_OVERFLOW | switches & types::FORCE_OVERFLOW;
        let params =
            Params { contact_capacity, switches, color_blocks, exclusion_heads, exclusion_links, ..self.params };
        Self { params, ..self.clone() }
    }

    fn hash_with(&self, params: &Params) -> u64 {
        // Commands change forces and goals of joints, and growth changes capacities; neither makes another world.
        let mut params =
            Params { contact_capacity: 0, color_blocks: 0, exclusion_heads: 0, exclusion_links: 0, ..*params };
        if self.settings.restitution_mix == Mixing::Max {
            params.switches |= OLD_RESTITUTION_MAX;
        }
        // These follow from the settings.
        params.preload_rate = 0.0;
        params.unload_overlap = 0.0;
        params.restitution_threshold = params.pressing_threshold;
        if params.stick_speed.to_bits() == STICK_SPEED.to_bits() {
            // The field was padding when it was a constant.
            params.stick_speed = 0.0;
        }
        // The first release had no such rows.
        let [begin, end] =
            [std::mem::offset_of!(Params, pressing_threshold), std::mem::offset_of!(Params, late_planes)];
        let bytes = bytemuck::bytes_of(&params);
        let mut hash = Fnv::START.bytes(&bytes[..begin]).bytes(&bytes[end..]);
        if params.switches & types::MATERIAL_PAIRS != 0 {
            for table in [&params.pair_friction, &params.pair_kinetic_friction, &params.pair_restitution] {
                hash = hash.bytes(bytemuck::cast_slice(table));
            }
        }
        if params.switches & types::MATERIAL_SPRINGS != 0 {
            hash = hash.bytes(bytemuck::bytes_of(&params.springs)).bytes(bytemuck::bytes_of(&params.pair_springs));
        }
        for body in &self.bodies {
            let body = types::BodyData { force: [0.0; 2], force_point: [0.0; 2], torque: 0.0, color: 0, ..*body };
            hash = hash.bytes(bytemuck::bytes_of(&body));
        }
        hash = hash.bytes(bytemuck::cast_slice(&self.shapes)).bytes(bytemuck::cast_slice(&self.vertices));
        for joint in &self.joints.joints {
            let flags = joint.flags & !(types::JOINT_DISABLED | types::JOINT_FRESH);
            let joint = types::JointData { anchor_a: [0.0; 2], reference_angle: 0.0, flags, ..*joint };
            hash = hash.bytes(bytemuck::bytes_of(&joint));
        }
        for row in &self.joints.rows {
            let kind = row.kind & !types::ROW_MEASURE;
            // The largest impulse of a spring with a range is no command's to change.
            let max_impulse = if kind & types::ROW_RANGED != 0 { row.max_impulse } else { 0.0 };
            // In the row of a pulley it is a coordinate of a ground point.
            let goal_y = if kind & types::ROW_GEOMETRY == types::ROW_PULLEY { row.goal_y } else { 0.0 };
            let row = types::JointRow { kind, goal: 0.0, goal_y, max_impulse, ..*row };
            hash = hash.bytes(bytemuck::bytes_of(&row));
        }
        hash = hash.bytes(bytemuck::cast_slice(&self.joints.order())).bytes(self.paths_text().as_bytes());
        if let Some(rule) = &self.contact_rule {
            hash = hash.bytes(rule.wgsl().as_bytes());
        }
        hash.bytes(self.settings_text(&params).as_bytes()).0
    }

    /// Returns the paths as text. A position without a low part is written as before positions had one.
    fn paths_text(&self) -> String {
        let text = |PathBody { body, position, angle, path }: &PathBody| {
            let [position, low] = split_position(*position);
            let low = if low == Vec2::ZERO { String::new() } else { format!(" + {:?}", low.to_array()) };
            format!("PathBody {{ body: {body}, position: {position:?}{low}, angle: {angle:?}, path: {path:?} }}")
        };
        format!("[{}]", self.paths.iter().map(text).collect::<Vec<_>>().join(", "))
    }

    /// Returns the settings as text. Where those are at their defaults that snapshots of earlier releases do not know,
    /// the text is that of those releases, so that such snapshots can still be restored.
    fn settings_text(&self, params: &Params) -> String {
        // Exhaustive, so that no new setting is forgotten.
        let Settings {
            dt,
            substeps,
            iterations,
            length_unit: _,
            mode,
            relax,
            warm_start,
            initial_loads: _,
            mass_scaling: _,
            accumulate,
            baumgarte,
            contact_hertz,
            contact_damping_ratio,
            push_speed,
            slop: _,
            correct_position,
            recycle,
            continuous,
            restitution_threshold: _,
            restitution_mix,
            friction_mix,
            max_speed: _,
            max_spin: _,
            strict,
            events,
            sleep,
        } = self.settings;
        let first = FirstSettings {
            dt,
            substeps,
            iterations,
            mode,
            relax,
            warm_start,
            accumulate,
            baumgarte,
            contact_hertz,
            contact_damping_ratio,
            push_speed: push_speed.unwrap_or(DEFAULT_PUSH_SPEED * self.units.speed()),
            slop: params.linear_slop,
            correct_position,
            recycle,
            restitution_threshold: params.pressing_threshold,
            restitution_mix,
            strict,
            events,
            sleep,
        };
        let first = format!("{first:?}").replacen("FirstSettings", "Settings", 1);
        // Limits of speed and spin are in the constants of a step.
        let first = if self.settings.initial_loads { first } else { format!("{first} no_initial_loads") };
        let first = if self.settings.mass_scaling { first } else { format!("{first} no_mass_scaling") };
        let first = if continuous { first } else { format!("{first} no_continuous") };
        let first = if friction_mix == Mixing::Geometric { first } else { format!("{first} {friction_mix:?}") };
        if self.units == Units::default() { first } else { format!("{first} {:?}", self.units) }
    }
}

/// Settings of the first release that wrote snapshots of this version, for their text.
#[derive(Debug)]
#[expect(dead_code, reason = "read by its text")]
#[allow(clippy::struct_excessive_bools, reason = "as in the settings")]
struct FirstSettings {
    dt: f32,
    substeps: Option<u32>,
    iterations: Option<u32>,
    mode: Mode,
    relax: bool,
    warm_start: bool,
    accumulate: bool,
    baumgarte: f32,
    contact_hertz: Option<f32>,
    contact_damping_ratio: f32,
    push_speed: f32,
    slop: f32,
    correct_position: bool,
    recycle: bool,
    restitution_threshold: f32,
    restitution_mix: Mixing,
    strict: bool,
    events: bool,
    sleep: bool,
}
