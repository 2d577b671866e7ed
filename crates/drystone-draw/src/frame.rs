//! A prepared picture: the pipelines to run, their buffers, and the number of threads or vertices of each.

use super::legend::{self, Plate};
use super::programs::{Base, BoundPipeline, DrawKernel, More, Pen};
use super::view::View;
use super::{Coloring, DrawError, DrawInputs, Layers};
use drystone::low_level::types::{Contact, SleepingContact};

/// Shapes per workgroup of the culling kernels (`shaders/cull.wgsl`).
const CULL_BLOCK: u32 = 1024;
/// Lanes per workgroup of the culling kernels.
const CULL_LANES: u32 = 256;
/// Vertices of a quad.
const QUAD: u32 = 6;
/// Marks per joint (`shaders/joints.wgsl`).
const JOINT_MARKS: u32 = 6;
/// Byte offsets of the indirect draw arguments: shapes, contacts, contacts of sleeping bodies.
const DRAW_SHAPES: u64 = 0;
const DRAW_CONTACTS: u64 = 16;
const DRAW_SLEEPING: u64 = 32;

/// A prepared picture. Has its own uniform, so that several pictures can be drawn in one submission.
#[derive(Debug)]
pub struct Frame {
    pub(super) view: View,
    pub(super) buffers: Buffers,
    kernels: Vec<(BoundPipeline<wgpu::ComputePipeline>, u32)>,
    pens: Vec<(BoundPipeline<wgpu::RenderPipeline>, DrawCount)>,
}

/// Number of vertices or instances that a pen draws.
#[derive(Clone, Copy, Debug)]
enum DrawCount {
    Vertices(u32),
    /// Byte offset of indirect arguments.
    OnDevice(u64),
}

/// Inputs of one frame.
pub(super) struct FrameInputs<'a> {
    pub device: &'a wgpu::Device,
    pub inputs: &'a DrawInputs<'a>,
    pub layers: &'a Layers,
    pub nothing: &'a wgpu::Buffer,
    pub plates: &'a [Plate],
}

impl Frame {
    pub(super) fn new(
        view: &View,
        buffers: Buffers,
        base: &Base,
        more: Option<&More>,
        given: &FrameInputs<'_>,
    ) -> Result<Self, DrawError> {
        let mut frame = Self { view: *view, buffers, kernels: Vec::new(), pens: Vec::new() };
        let FrameInputs { inputs, layers, plates, .. } = *given;
        let shows_shapes = inputs.shape_count > 0 && (layers.shapes || layers.outlines || layers.highlight.is_some());
        let tables = inputs.tables.as_ref().zip(more);

        frame.pen(&base.backdrop, DrawCount::Vertices(4), given)?;
        if let Some((_, more)) = tables.filter(|_| layers.grid) {
            frame.pen(&more.cells, DrawCount::Vertices(QUAD), given)?;
        }
        if shows_shapes {
            let lanes = frame.view.block_count * CULL_LANES;
            frame.kernel(&base.count, lanes, given)?;
            frame.kernel(&base.scan, 1, given)?;
            frame.kernel(&base.emit, lanes, given)?;
            if let Some((_, more)) = tables.filter(|_| frame.view.tinted != 0) {
                frame.tints(more, given)?;
            }
            frame.pen(&base.shapes, DrawCount::OnDevice(DRAW_SHAPES), given)?;
        }
        if let Some((tables, more)) = tables {
            if layers.aabbs {
                frame.pen(&more.boxes, DrawCount::Vertices(inputs.shape_count.saturating_mul(QUAD)), given)?;
            }
            if layers.joints && tables.joint_count > 0 {
                let vertices = tables.joint_count.saturating_mul(JOINT_MARKS * QUAD);
                frame.pen(&more.joints, DrawCount::Vertices(vertices), given)?;
            }
            if layers.shows_contacts() {
                frame.kernel(&more.cull_contacts, 1, given)?;
                frame.pen(&more.sleeping, DrawCount::OnDevice(DRAW_SLEEPING), given)?;
                frame.pen(&more.contacts, DrawCount::OnDevice(DRAW_CONTACTS), given)?;
            }
            if layers.forces {
                frame.pen(&more.weights, DrawCount::Vertices(inputs.body_count.saturating_mul(QUAD)), given)?;
                if tables.joint_count > 0 {
                    // One arrow at each anchor.
                    frame.pen(&more.pulls, DrawCount::Vertices(tables.joint_count.saturating_mul(2 * QUAD)), given)?;
                }
            }
            if layers.velocities {
                frame.pen(&more.velocities, DrawCount::Vertices(inputs.body_count.saturating_mul(QUAD)), given)?;
            }
        }
        if let Some(more) = more.filter(|_| !plates.is_empty()) {
            if legend::has_value(layers) {
                frame.kernel(&more.legend_value, 1, given)?;
            }
            let count = u32::try_from(plates.len()).unwrap_or(0);
            frame.pen(&more.legend, DrawCount::Vertices(count * QUAD), given)?;
        }
        if frame.view.has_bar() {
            frame.pen(&base.bar, DrawCount::Vertices(4), given)?;
        }
        Ok(frame)
    }

    /// Records the kernels that compute the colours of bodies.
    fn tints(&mut self, more: &More, given: &FrameInputs<'_>) -> Result<(), DrawError> {
        let Some(tables) = &given.inputs.tables else { return Ok(()) };
        let fit = |buffer: &wgpu::Buffer, each: usize| u32::try_from(buffer.size() / each as u64).unwrap_or(u32::MAX);
        let bodies = given.inputs.body_count;
        let contacts = fit(tables.contacts, size_of::<Contact>());
        let all = contacts.max(fit(tables.sleeping, size_of::<SleepingContact>()));
        let steps: &[(&str, u32)] = match given.layers.coloring {
            Coloring::Body => &[("tint_plain", bodies)],
            Coloring::Speed => &[("tint_speed", bodies)],
            Coloring::Difference => &[("tint_difference", bodies)],
            Coloring::Sleep => &[("tint_sleep", bodies)],
            Coloring::GraphColor => &[("tint_clear", bodies), ("tint_colors", all), ("tint_graph", bodies)],
            Coloring::Island => &[
                ("tint_alone", bodies),
                ("tint_unite", contacts),
                ("tint_unite_joints", tables.joint_count),
                ("tint_roots", bodies),
                ("tint_island", bodies),
            ],
        };
        for &(name, threads) in steps {
            self.kernel(more.tint(name)?, threads, given)?;
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &DrawKernel, threads: u32, given: &FrameInputs<'_>) -> Result<(), DrawError> {
        let bound = kernel.bind(given.device, |name| self.buffer(name, given))?;
        self.kernels.push((bound, threads));
        Ok(())
    }

    fn pen(&mut self, pen: &Pen, count: DrawCount, given: &FrameInputs<'_>) -> Result<(), DrawError> {
        let bound = pen.bind(given.device, |name| self.buffer(name, given))?;
        self.pens.push((bound, count));
        Ok(())
    }

    /// Returns a buffer by the name of its variable in WGSL.
    fn buffer<'a>(&'a self, name: &str, given: &'a FrameInputs<'_>) -> Option<&'a wgpu::Buffer> {
        let FrameInputs { inputs, nothing, .. } = *given;
        let of_inputs = |buffer| if inputs.shape_count == 0 { nothing } else { buffer };
        Some(match (name, &inputs.tables) {
            ("view", _) => &self.buffers.view,
            ("visible", _) => &self.buffers.visible,
            ("found", _) => &self.buffers.found,
            ("block_counts", _) => &self.buffers.block_counts,
            ("draws", _) => &self.buffers.draws,
            ("tints", _) => &self.buffers.tints,
            ("labels", _) => &self.buffers.labels,
            ("measures", _) => &self.buffers.measures,
            ("plates" | "value_plates", _) => &self.buffers.plates,
            ("glyphs", _) => &self.buffers.glyphs,
            ("poses", _) => of_inputs(inputs.poses),
            ("shapes", _) => of_inputs(inputs.shapes),
            ("vertices", _) => of_inputs(inputs.vertices),
            ("reference", _) => inputs.reference.unwrap_or(nothing),
            ("params", Some(tables)) => tables.params,
            ("counters", Some(tables)) => tables.counters,
            ("states", Some(tables)) => tables.states,
            ("aabbs", Some(tables)) => tables.aabbs,
            ("cell_ends", Some(tables)) => tables.cell_ends,
            ("cell_shapes", Some(tables)) => tables.cell_shapes,
            ("contacts", Some(tables)) => tables.contacts,
            ("manifolds", Some(tables)) => tables.manifolds,
            ("sleeping", Some(tables)) => tables.sleeping,
            ("islands", Some(tables)) => tables.islands,
            ("joints", Some(tables)) => tables.joints,
            ("joint_states", Some(tables)) => tables.joint_states,
            ("joint_rows", Some(tables)) => tables.joint_rows,
            ("joint_impulses", Some(tables)) => tables.joint_impulses,
            ("bodies", Some(tables)) => tables.bodies,
            ("bodies", None) => inputs.bodies.unwrap_or(nothing),
            _ => return None,
        })
    }

    pub(super) fn prepare(&self, encoder: &mut wgpu::CommandEncoder) {
        if self.kernels.is_empty() {
            return;
        }
        encoder.clear_buffer(&self.buffers.measures, 0, None);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("prepare picture"),
            timestamp_writes: None,
        });
        for (kernel, threads) in &self.kernels {
            kernel.dispatch(&mut pass, *threads);
        }
    }

    pub(super) fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        let View { origin: [x, y], size: [width, height], .. } = self.view;
        pass.set_viewport(x, y, width, height, 0.0, 1.0);
        for (pen, count) in &self.pens {
            pen.set(pass);
            match *count {
                DrawCount::Vertices(vertices) => pass.draw(0..vertices, 0..1),
                DrawCount::OnDevice(at) => pass.draw_indirect(&self.buffers.draws, at),
            }
        }
    }

    /// Returns the indirect draw arguments and the indices of visible shapes. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn culled(&self) -> [&wgpu::Buffer; 2] {
        [&self.buffers.draws, &self.buffers.visible]
    }
}

/// Returns the number of culling blocks of some shapes.
pub(super) fn cull_blocks(shapes: u32) -> u32 {
    shapes.div_ceil(CULL_BLOCK)
}

/// Number of elements for which the buffers of a frame have space.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameCapacity {
    shapes: u32,
    /// 0 if bodies have the colours of the palette.
    tints: u32,
    /// 0 if colours do not come from contacts.
    labels: u32,
    plates: u32,
    /// Bytes of text coverage.
    glyphs: u32,
}

impl FrameCapacity {
    pub fn of(inputs: &DrawInputs<'_>, layers: &Layers, plates: usize, glyphs: usize) -> Self {
        let bodies = |needed: bool| if needed { inputs.body_count } else { 0 };
        Self {
            shapes: inputs.shape_count,
            tints: bodies(layers.coloring != Coloring::Body || layers.sleep),
            labels: bodies(matches!(layers.coloring, Coloring::GraphColor | Coloring::Island)),
            plates: u32::try_from(plates).unwrap_or(u32::MAX),
            glyphs: u32::try_from(glyphs).unwrap_or(u32::MAX),
        }
    }

    /// Returns the number of culling blocks.
    pub fn blocks(self) -> u32 {
        cull_blocks(self.shapes)
    }

    pub fn holds(self, need: Self) -> bool {
        // The legend's kernel reads the number of plates from the buffer's length.
        self.shapes >= need.shapes
            && self.tints >= need.tints
            && self.labels >= need.labels
            && self.plates == need.plates
            && self.glyphs >= need.glyphs
    }

    /// Returns a capacity 50 % above the need, so that adding single bodies does not reallocate every time.
    pub fn grown(self, need: Self) -> Self {
        let grow = |has: u32, needs: u32| if needs > has { needs.saturating_add(needs / 2) } else { has };
        Self {
            shapes: grow(self.shapes, need.shapes),
            tints: grow(self.tints, need.tints),
            labels: grow(self.labels, need.labels),
            plates: need.plates,
            glyphs: grow(self.glyphs, need.glyphs),
        }
    }
}

/// Buffers owned by a frame. Clones share the same buffers.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    pub room: FrameCapacity,
    pub view: wgpu::Buffer,
    pub plates: wgpu::Buffer,
    pub glyphs: wgpu::Buffer,
    visible: wgpu::Buffer,
    found: wgpu::Buffer,
    block_counts: wgpu::Buffer,
    draws: wgpu::Buffer,
    tints: wgpu::Buffer,
    labels: wgpu::Buffer,
    measures: wgpu::Buffer,
}

impl Buffers {
    pub fn new(device: &wgpu::Device, room: FrameCapacity, limits: &wgpu::Limits) -> Result<Self, DrawError> {
        use wgpu::BufferUsages as Usages;
        let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let create = |what: &'static str, bytes: u64, usage| {
            let bytes = bytes.max(16);
            if bytes > limit {
                return Err(DrawError::TooLarge { what, bytes, limit });
            }
            Ok(device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(what),
                size: bytes,
                usage: usage | Usages::COPY_DST | Usages::COPY_SRC,
                mapped_at_creation: false,
            }))
        };
        let storage = |what, words: u64| create(what, 4 * words, Usages::STORAGE);
        let blocks = u64::from(room.blocks());
        Ok(Self {
            room,
            view: create("draw view", size_of::<View>() as u64, Usages::UNIFORM)?,
            plates: create("draw legend", u64::from(room.plates) * size_of::<Plate>() as u64, Usages::STORAGE)?,
            glyphs: storage("draw glyphs", u64::from(room.glyphs).div_ceil(4))?,
            visible: storage("draw visible", u64::from(room.shapes))?,
            found: storage("draw found", blocks * u64::from(CULL_LANES))?,
            block_counts: storage("draw block counts", 2 * blocks)?,
            draws: create("draw arguments", 48, Usages::STORAGE | Usages::INDIRECT)?,
            tints: storage("draw tints", u64::from(room.tints))?,
            labels: storage("draw labels", 2 * u64::from(room.labels))?,
            measures: storage("draw measures", 4)?,
        })
    }
}
