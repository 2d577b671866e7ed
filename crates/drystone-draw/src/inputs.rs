//! The GPU buffers that pictures are drawn from.

use super::{Coloring, DrawError, Layers};
use drystone::low_level::GpuWorld;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{
    Aabb, BodyData, BodyState, Contact, Counters, DYNAMIC, JointData, JointRow, JointState, Manifold, Params, Pose,
    ShapeData, SleepingContact,
};

/// Maximum number of bodies sampled for the typical scale.
const SAMPLE: usize = 1024;

/// Buffers of the solver that a picture is drawn from, with [`wgpu::BufferUsages::STORAGE`].
///
/// [`DrawInputs::of`] and [`Upload::inputs`](super::Upload::inputs) fill all fields. Create them for every frame: a
/// world swaps and reallocates its buffers as it steps and grows.
#[derive(Clone, Copy, Debug)]
pub struct DrawInputs<'a> {
    /// `array<Pose>`, centre-of-mass frames.
    pub poses: &'a wgpu::Buffer,
    /// `array<ShapeData>`.
    pub shapes: &'a wgpu::Buffer,
    /// `array<vec2<f32>>`, the vertices of polygons.
    pub vertices: &'a wgpu::Buffer,
    /// Number of shapes to draw.
    pub shape_count: u32,
    /// Number of bodies in the world.
    pub body_count: u32,
    /// Number of bodies that the colour ramp spans: those of the scene
    /// ([`Compiled::scene_slots`](drystone::low_level::scene::Compiled::scene_slots)). Bodies added later get other
    /// colours.
    pub ramp_bodies: u32,
    /// Solver tables for layers other than shapes.
    pub tables: Option<DrawTables<'a>>,
    /// `array<BodyData>` without the other tables, if bodies have colours by numbers of their own; `None`: those of the
    /// tables, or colours by index.
    pub bodies: Option<&'a wgpu::Buffer>,
    /// `array<Pose>` of the same bodies in another world on the same device, for
    /// [`Coloring::Difference`](super::Coloring::Difference). Bodies past its end count as being at the same position.
    pub reference: Option<&'a wgpu::Buffer>,
}

impl<'a> DrawInputs<'a> {
    /// Creates inputs from a world on the GPU, as the steps recorded so far leave it. Create them for every frame: a
    /// world swaps and reallocates its buffers as it steps and grows.
    ///
    /// # Panics
    /// Never: a world has all tables that are drawn from.
    #[must_use]
    pub fn of(world: &'a GpuWorld) -> Self {
        let compiled = world.compiled();
        let Params { shape_count, body_count, joint_count, .. } = compiled.params;
        let table = |name| world.table(name).expect("a world has all tables");
        let counts = [shape_count, body_count, joint_count, compiled.scene_slots];
        Self::from_buffers(table, counts, Some(Scale::of(compiled)))
    }

    /// Creates inputs from buffers found by the names of these fields and, if there is a scale, of the fields of
    /// [`DrawTables`]. The counts are shapes, bodies, joints, and [`Self::ramp_bodies`].
    pub(crate) fn from_buffers(
        buffer: impl Fn(&'static str) -> &'a wgpu::Buffer,
        [shape_count, body_count, joint_count, ramp_bodies]: [u32; 4],
        scale: Option<Scale>,
    ) -> Self {
        Self {
            poses: buffer("poses"),
            shapes: buffer("shapes"),
            vertices: buffer("vertices"),
            shape_count,
            body_count,
            ramp_bodies,
            tables: scale.map(|scale| DrawTables {
                params: buffer("params"),
                counters: buffer("counters"),
                states: buffer("states"),
                aabbs: buffer("aabbs"),
                cell_ends: buffer("cell_ends"),
                cell_shapes: buffer("cell_shapes"),
                contacts: buffer("contacts"),
                manifolds: buffer("manifolds"),
                sleeping: buffer("sleeping"),
                islands: buffer("islands"),
                joints: buffer("joints"),
                joint_states: buffer("joint_states"),
                joint_rows: buffer("joint_rows"),
                joint_impulses: buffer("joint_impulses"),
                bodies: buffer("bodies"),
                joint_count,
                scale,
            }),
            bodies: None,
            reference: None,
        }
    }

    /// Adds another world to compare with: `reference` holds its poses, on the same device, such as `other.poses()`.
    #[must_use]
    pub fn against(self, reference: &'a wgpu::Buffer) -> Self {
        Self { reference: Some(reference), ..self }
    }
}

impl DrawInputs<'_> {
    /// Checks that the buffers have the required usage and length.
    pub(super) fn check(&self, layers: &Layers, limits: &wgpu::Limits) -> Result<(), DrawError> {
        if self.shape_count > 0 {
            let shape_bytes = u64::from(self.shape_count) * size_of::<ShapeData>() as u64;
            check_buffer("poses", self.poses, size_of::<Pose>(), limits)?;
            check_buffer("vertices", self.vertices, size_of::<[f32; 2]>(), limits)?;
            check_buffer("shapes", self.shapes, size_of::<ShapeData>(), limits)?;
            if self.shapes.size() < shape_bytes {
                return Err(DrawError::Inputs { buffer: "shapes", problem: "is shorter than its count" });
            }
        }
        if let Some(bodies) = self.bodies {
            check_buffer("bodies", bodies, size_of::<BodyData>(), limits)?;
        }
        if layers.coloring == Coloring::Difference {
            let Some(reference) = self.reference else {
                return Err(DrawError::Inputs { buffer: "reference", problem: "is missing, and a layer needs it" });
            };
            check_buffer("reference", reference, size_of::<Pose>(), limits)?;
        }
        match &self.tables {
            Some(tables) if layers.needs_tables() => tables.check(limits),
            None if layers.needs_tables() => {
                Err(DrawError::Inputs { buffer: "states", problem: "is missing, and a layer needs it" })
            }
            _ => Ok(()),
        }
    }
}

/// Tables of the solver between two steps, with [`wgpu::BufferUsages::STORAGE`].
#[derive(Clone, Copy, Debug)]
pub struct DrawTables<'a> {
    /// `Params`, with [`wgpu::BufferUsages::UNIFORM`].
    pub params: &'a wgpu::Buffer,
    /// `Counters`.
    pub counters: &'a wgpu::Buffer,
    /// `array<BodyState>`.
    pub states: &'a wgpu::Buffer,
    /// `array<Aabb>`, one per shape.
    pub aabbs: &'a wgpu::Buffer,
    /// `array<u32>`, one per cell of the grid plus one.
    pub cell_ends: &'a wgpu::Buffer,
    /// `array<u32>`, one per shape.
    pub cell_shapes: &'a wgpu::Buffer,
    /// `array<Contact>` of the last step.
    pub contacts: &'a wgpu::Buffer,
    /// `array<Manifold>`, one per contact.
    pub manifolds: &'a wgpu::Buffer,
    /// `array<SleepingContact>`: the contacts of sleeping bodies.
    pub sleeping: &'a wgpu::Buffer,
    /// `array<u32>`: roots of sleeping islands, one per body; shorter if sleeping is disabled.
    pub islands: &'a wgpu::Buffer,
    /// `array<JointData>`.
    pub joints: &'a wgpu::Buffer,
    /// `array<JointState>`, one per joint.
    pub joint_states: &'a wgpu::Buffer,
    /// `array<JointRow>`, up to [`ROW_COUNT_MASK`](drystone::low_level::types::ROW_COUNT_MASK) per joint.
    pub joint_rows: &'a wgpu::Buffer,
    /// `array<vec2<f32>>`, impulses of the last substep, one per row.
    pub joint_impulses: &'a wgpu::Buffer,
    /// `array<BodyData>`.
    pub bodies: &'a wgpu::Buffer,
    /// Number of joint slots.
    pub joint_count: u32,
    /// Typical sizes in the world.
    pub scale: Scale,
}

impl DrawTables<'_> {
    fn check(&self, limits: &wgpu::Limits) -> Result<(), DrawError> {
        for (name, buffer, least) in [
            ("counters", self.counters, size_of::<Counters>()),
            ("states", self.states, size_of::<BodyState>()),
            ("aabbs", self.aabbs, size_of::<Aabb>()),
            ("cell_ends", self.cell_ends, 4),
            ("cell_shapes", self.cell_shapes, 4),
            ("contacts", self.contacts, size_of::<Contact>()),
            ("manifolds", self.manifolds, size_of::<Manifold>()),
            ("sleeping", self.sleeping, size_of::<SleepingContact>()),
            ("islands", self.islands, 4),
            ("joints", self.joints, size_of::<JointData>()),
            ("joint_states", self.joint_states, size_of::<JointState>()),
            ("joint_rows", self.joint_rows, size_of::<JointRow>()),
            ("joint_impulses", self.joint_impulses, size_of::<[f32; 2]>()),
            ("bodies", self.bodies, size_of::<BodyData>()),
        ] {
            check_buffer(name, buffer, least, limits)?;
        }
        if !self.params.usage().contains(wgpu::BufferUsages::UNIFORM) {
            return Err(DrawError::Inputs { buffer: "params", problem: "is not a uniform buffer" });
        }
        if self.params.size() < size_of::<Params>() as u64 {
            return Err(DrawError::Inputs { buffer: "params", problem: "is too short" });
        }
        Ok(())
    }
}

fn check_buffer(
    name: &'static str,
    buffer: &wgpu::Buffer,
    least: usize,
    limits: &wgpu::Limits,
) -> Result<(), DrawError> {
    if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(DrawError::Inputs { buffer: name, problem: "is not a storage buffer" });
    }
    if buffer.size() < least as u64 {
        return Err(DrawError::Inputs { buffer: name, problem: "is too short for one element" });
    }
    let limit = limits.max_storage_buffer_binding_size;
    if buffer.size() > limit {
        return Err(DrawError::TooLarge { what: name, bytes: buffer.size(), limit });
    }
    Ok(())
}

/// Typical sizes in a world; arrows and signs are drawn in proportion to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Width of a body, m.
    pub length: f32,
    /// Impulse that balances a body's weight for one substep, N·s.
    pub impulse: f32,
    /// Weight of a body, N.
    pub weight: f32,
    /// Speed of a body that has fallen by half its width, m/s.
    pub speed: f32,
}

impl Scale {
    /// Returns the medians over a sample of a world's dynamic bodies; one metre and one kilogram if there are none.
    #[must_use]
    pub fn of(compiled: &Compiled) -> Self {
        let (mut widths, mut masses) = (Vec::new(), Vec::new());
        for body in compiled.bodies.iter().step_by(compiled.bodies.len().div_ceil(SAMPLE).max(1)) {
            if body.kind == DYNAMIC && body.inv_mass > 0.0 {
                // For a plank, the geometric mean of length and thickness.
                widths.push(2.0 * (body.min_extent.min(body.extent) * body.extent).sqrt());
                masses.push(1.0 / body.inv_mass);
            }
        }
        let [x, y] = compiled.params.gravity;
        let gravity = x.hypot(y);
        // Arrows need a scale without gravity too.
        let gravity = if gravity > 0.0 { gravity } else { 10.0 };
        let usable = |value: f32| value.is_finite() && value > 0.0;
        let length = median(widths).filter(|&width| usable(width)).unwrap_or(1.0);
        let weight = median(masses).unwrap_or(1.0) * gravity;
        let impulse = weight * compiled.params.h;
        let [impulse, weight, speed] =
            [impulse, weight, (gravity * length).sqrt()].map(|value| if usable(value) { value } else { 1.0 });
        Self { length, impulse, weight, speed }
    }
}

fn median(mut values: Vec<f32>) -> Option<f32> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}
