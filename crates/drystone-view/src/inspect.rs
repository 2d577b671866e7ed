//! Queries for the body at a point, answered some frames later without waiting. On the GPU four small kernels
//! (`shaders/inspect.wgsl`) go over all shapes and contacts, so that no grid has to be built; on the CPU the world is
//! queried.

use std::num::NonZeroU64;

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

use drystone::low_level::CpuWorld;
use drystone::low_level::gpu::shader::{Composer, SHARED, ShaderSource};
use drystone::low_level::gpu::{Arrival, note_read_back};
use drystone::low_level::math::inv_rotate;
use drystone::low_level::scene::{Compiled, MAX_POSITION};
use drystone::low_level::types::{
    ASLEEP, BOX, CIRCLE, DYNAMIC, GEOMETRY_MASK, HALF_PLANE, NONE, POINT_COUNT_MASK, POLYGON, Pose, ShapeData,
    VERTEX_COUNT_SHIFT,
};
use drystone::{Context, Query, WorldError};
use drystone_draw::DrawInputs;

const SOURCES: &[ShaderSource] = drystone::shader_sources!("view/": "inspect");
/// Threads of a workgroup, and maximum number of workgroups; the kernels cover more items in strides.
const LANES: u32 = 64;
const MAX_WORKGROUPS: u32 = 4096;

/// Body to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InspectionTarget {
    /// The body that a press at a point takes: the nearest dynamic one within reach, else the topmost other one under
    /// the point.
    Near(Vec2, f32),
    /// The body that a point means: the topmost one under it, dynamic ones first; else the nearest within reach.
    Under(Vec2, f32),
    /// A body, by its slot.
    Body(u32),
}

/// State of a body at the time of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inspection {
    /// Slot of the body.
    pub body: usize,
    /// Index of the shape at the point; `None` for a query by slot.
    pub shape: Option<usize>,
    /// Pose of the centre of mass.
    pub pose: Pose,
    /// Velocity of the centre of mass, m/s.
    pub velocity: Vec2,
    /// Angular velocity, rad/s.
    pub spin: f32,
    /// True if it sleeps. Contacts of sleeping bodies are archived and not counted.
    pub asleep: bool,
    /// Number of touching contacts.
    pub touching: u32,
    /// Number of their points.
    pub points: u32,
    /// Graph colours of its contacts, as bits.
    pub colors: u32,
}

/// Query as the shader reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct InspectionUniform {
    point: [f32; 2],
    body: u32,
    shape_count: u32,
    reach: f32,
    exact: u32,
    pad: [u32; 2],
}

/// Answer as the shader writes it, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct InspectedRow {
    picked: u32,
    touching: u32,
    points: u32,
    colors: u32,
    body: u32,
    status: u32,
    spin: f32,
    shape: u32,
    position: [f32; 2],
    rotation: [f32; 2],
    velocity: [f32; 2],
    best: u32,
    pad: u32,
}

/// Answer to a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InspectionResult {
    OnItsWay,
    Nobody,
    Body(Inspection),
}

/// Query that may not be answered yet.
#[derive(Debug)]
pub(crate) enum Pending {
    /// Answered at once.
    Done(Option<Inspection>),
    /// Submitted to the device.
    Sent(Arrival),
}

impl Pending {
    /// Returns the answer, if it has arrived.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn poll(&mut self) -> Result<InspectionResult, WorldError> {
        match self {
            Self::Done(found) => Ok(found.map_or(InspectionResult::Nobody, InspectionResult::Body)),
            Self::Sent(arrival) => {
                let Some(bytes) = arrival.take()? else { return Ok(InspectionResult::OnItsWay) };
                let found: InspectedRow =
                    bytemuck::pod_read_unaligned(bytes.get(..size_of::<InspectedRow>()).unwrap_or(&[0; 64]));
                if found.body == NONE {
                    return Ok(InspectionResult::Nobody);
                }
                Ok(InspectionResult::Body(Inspection {
                    body: found.body as usize,
                    shape: (found.shape != NONE).then_some(found.shape as usize),
                    pose: Pose { position: found.position, rotation: found.rotation, ..Pose::default() },
                    velocity: found.velocity.into(),
                    spin: found.spin,
                    asleep: found.status & ASLEEP != 0,
                    touching: found.touching,
                    points: found.points,
                    colors: found.colors,
                }))
            }
        }
    }
}

/// Kernels that answer queries on the device.
#[derive(Debug)]
pub(crate) struct Inspector {
    layout: wgpu::BindGroupLayout,
    kernels: [wgpu::ComputePipeline; 4],
}

impl Inspector {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If the shader does not compose.
    pub fn new(device: &wgpu::Device) -> Result<Self, WorldError> {
        let composed = Composer::new(&[SHARED, SOURCES])
            .compose("view/inspect")
            .map_err(|error| WorldError::Kernel(error.to_string()))?;
        let buffer = |binding, ty, bytes: usize| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: false,
                min_binding_size: NonZeroU64::new(bytes as u64),
            },
            count: None,
        };
        let read = wgpu::BufferBindingType::Storage { read_only: true };
        let mut entries = vec![buffer(0, wgpu::BufferBindingType::Uniform, size_of::<InspectionUniform>())];
        entries.extend((1..7).map(|binding| buffer(binding, read, 0)));
        entries.push(buffer(7, wgpu::BufferBindingType::Storage { read_only: false }, size_of::<InspectedRow>()));
        let layout = device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("inspect"), entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("inspect"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("inspect"),
            source: wgpu::ShaderSource::Wgsl(composed.text().into()),
        });
        let kernels = ["rank", "pick", "describe", "count"].map(|name| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        });
        Ok(Self { layout, kernels })
    }

    /// Submits a query about a world on the device, after all work submitted so far.
    pub fn ask(&self, context: &Context, inputs: &DrawInputs<'_>, wanted: InspectionTarget) -> Pending {
        let Some(tables) = &inputs.tables else { return Pending::Done(None) };
        let (device, queue) = (context.device(), context.queue());
        let (point, reach, exact, body) = match wanted {
            InspectionTarget::Near(point, reach) => (point.into(), reach, 0, NONE),
            InspectionTarget::Under(point, reach) => (point.into(), reach, 1, NONE),
            InspectionTarget::Body(body) => ([0.0; 2], 0.0, 0, body),
        };
        let asked = InspectionUniform { point, body, shape_count: inputs.shape_count, reach, exact, pad: [0; 2] };
        let request = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("inspect request"),
            size: size_of::<InspectionUniform>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&request, 0, bytemuck::bytes_of(&asked));
        let found = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("inspect found"),
            size: size_of::<InspectedRow>() as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let buffers = [
            &request,
            inputs.poses,
            inputs.shapes,
            inputs.vertices,
            tables.states,
            tables.contacts,
            tables.counters,
            &found,
        ];
        let entries: Vec<_> = (0_u32..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("inspect"),
            layout: &self.layout,
            entries: &entries,
        });
        let groups = |threads: u64| {
            u32::try_from(threads.div_ceil(u64::from(LANES))).unwrap_or(u32::MAX).clamp(1, MAX_WORKGROUPS)
        };
        let contacts = tables.contacts.size() / size_of::<drystone::low_level::types::Contact>() as u64;
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("inspect") });
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            let shapes = u64::from(inputs.shape_count);
            for (kernel, threads) in self.kernels.iter().zip([shapes, shapes, 1, contacts]) {
                pass.set_pipeline(kernel);
                pass.dispatch_workgroups(groups(threads), 1, 1);
            }
        }
        let arrival = Arrival::send(device, &mut encoder, &found, size_of::<InspectedRow>() as u64, None);
        note_read_back(context, 1, size_of::<InspectedRow>() as u64);
        queue.submit([encoder.finish()]);
        Pending::Sent(arrival)
    }
}

/// Finds the body and the shape that a point means, as `rank` and `pick` of the shader do.
fn pick(
    world: &mut CpuWorld,
    point: Vec2,
    reach: f32,
    exact: bool,
) -> Result<Option<(usize, Option<usize>)>, WorldError> {
    let far = Vec2::splat(MAX_POSITION);
    let around = Query::aabb((point - reach).clamp(-far, far), (point + reach).clamp(-far, far));
    let answers = world.query(&[around])?;
    let compiled = world.compiled();
    let mut best: Option<((u32, f32, usize), usize)> = None;
    for found in answers.found(0) {
        let Some(pose) = world.poses().get(found.body) else { continue };
        let distance = distance(compiled, pose, found.shape, point);
        let moves = compiled.bodies.get(found.body).is_some_and(|body| body.kind == DYNAMIC);
        let under = distance <= 0.0;
        let class = match (exact, moves, under) {
            _ if distance.is_nan() || distance > reach => continue,
            (true, true, true) => 4,
            (true, false, true) => 3,
            (true, true, false) | (false, true, _) => 2,
            (true, false, false) | (false, false, true) => 1,
            (false, false, false) => continue,
        };
        let rank = (class, -distance.max(0.0), found.shape);
        if best.is_none_or(|(other, _)| rank.partial_cmp(&other).is_some_and(std::cmp::Ordering::is_gt)) {
            best = Some((rank, found.body));
        }
    }
    Ok(best.map(|((_, _, shape), body)| (body, Some(shape))))
}

/// Distance of a point from a shape, m; 0 or less inside.
fn distance(compiled: &Compiled, pose: &Pose, shape: usize, point: Vec2) -> f32 {
    let Some(shape) = compiled.shapes.get(shape) else { return f32::INFINITY };
    distance_to(shape, &compiled.vertices, pose, point)
}

/// Distance of a point from a shape whose polygon is among `all_vertices`, m; 0 or less inside.
pub(crate) fn distance_to(shape: &ShapeData, all_vertices: &[[f32; 2]], pose: &Pose, point: Vec2) -> f32 {
    let own = inv_rotate(pose.rotation.into(), point - Vec2::from(pose.position)) - Vec2::from(shape.offset);
    let p = inv_rotate(shape.rotation.into(), own);
    match shape.kind & GEOMETRY_MASK {
        CIRCLE => p.length() - shape.radius,
        BOX => (p.abs() - Vec2::from(shape.half)).max(Vec2::ZERO).length() - shape.radius,
        POLYGON => {
            let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
            let first = shape.first_vertex as usize;
            let Some(vertices) = all_vertices.get(first..first + count) else { return f32::INFINITY };
            polygon_distance(vertices, p) - shape.radius
        }
        HALF_PLANE => p.y,
        _ => f32::INFINITY,
    }
}

/// Distance from the edge of a polygon, or from a segment; negative inside.
fn polygon_distance(vertices: &[[f32; 2]], p: Vec2) -> f32 {
    let (mut squared, mut inside) = (f32::INFINITY, vertices.len() > 2);
    for (start, end) in vertices.iter().zip(vertices.iter().cycle().skip(1)) {
        let start = Vec2::from(*start);
        let (edge, away) = (Vec2::from(*end) - start, p - start);
        let gap = away - edge * (away.dot(edge) / edge.length_squared().max(1e-20)).clamp(0.0, 1.0);
        squared = squared.min(gap.length_squared());
        inside &= edge.perp_dot(away) >= 0.0;
    }
    if inside { -squared.sqrt() } else { squared.sqrt() }
}

/// Queries a world on the CPU.
///
/// # Errors
/// If the point is too far out.
pub(crate) fn ask_cpu(world: &mut CpuWorld, wanted: InspectionTarget) -> Result<Pending, WorldError> {
    let body = match wanted {
        InspectionTarget::Body(body) => Some((body as usize, None)),
        InspectionTarget::Near(point, reach) => pick(world, point, reach, false)?,
        InspectionTarget::Under(point, reach) => pick(world, point, reach, true)?,
    };
    let Some((body, shape)) = body else { return Ok(Pending::Done(None)) };
    let (Some(&pose), Some(state)) = (world.poses().get(body), world.body_state(body)) else {
        return Ok(Pending::Done(None));
    };
    let (mut touching, mut points, mut colors) = (0, 0, 0);
    for contact in world.contacts().0 {
        let own = contact.body_a as usize == body || contact.body_b as usize == body;
        if own && contact.flags & POINT_COUNT_MASK > 0 {
            touching += 1;
            points += contact.flags & POINT_COUNT_MASK;
            colors |= if contact.color < 32 { 1 << contact.color } else { 0 };
        }
    }
    Ok(Pending::Done(Some(Inspection {
        body,
        shape,
        pose,
        velocity: state.velocity.into(),
        spin: state.angular_velocity,
        asleep: state.status & ASLEEP != 0,
        touching,
        points,
        colors,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::AdapterChoice;
    use drystone::low_level::GpuWorld;
    use drystone::{Body, Scene, Shape};

    /// Planks of a few centimetres, a floor, a wall and a rounded polygon, all apart.
    fn scene() -> Scene {
        let mut scene = Scene::new("thin");
        scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane(Vec2::Y, 0.0)));
        scene.add(Body::fixed(-4.0, 2.0).shape(Shape::half_box(0.1, 2.0)));
        scene.add(Body::dynamic(0.0, 1.0).shape(Shape::half_box(1.0, 0.01)));
        scene.add(Body::dynamic(0.0, 1.5).angle(0.3).shape(Shape::circle(0.05)));
        let corners = vec![Vec2::new(-0.2, -0.2), Vec2::new(0.2, -0.2), Vec2::new(0.0, 0.3)];
        scene.add(
            Body::dynamic(3.0, 0.7)
                .angle(1.0)
                .shape(Shape::new(drystone::Geometry::Polygon { points: corners, radius: 0.05 })),
        );
        scene.add(Body::kinematic(5.0, 1.0).shape(Shape::half_box(0.3, 0.3)));
        scene
    }

    #[test]
    fn the_nearest_dynamic_body_within_reach_is_meant() {
        let mut cpu = CpuWorld::new(&scene()).unwrap();
        let mut near =
            |x: f32, y: f32, reach: f32| pick(&mut cpu, Vec2::new(x, y), reach, false).unwrap().map(|(body, _)| body);
        assert_eq!(near(0.5, 1.0, 0.2), Some(2), "on the plank");
        assert_eq!(near(0.5, 1.15, 0.2), Some(2), "beside it");
        assert_eq!(near(0.5, 1.25, 0.2), None, "too far from it");
        assert_eq!(near(0.0, 1.3, 0.4), Some(3), "the ball is nearer than the plank");
        assert_eq!(near(-4.0, 2.0, 0.2), Some(1), "the wall, with nothing dynamic near");
        assert_eq!(near(0.5, -0.05, 1.2), Some(2), "the plank goes before the floor that is under the point");
        assert_eq!(near(5.0, 1.0, 0.2), Some(5));
        let mut under =
            |x: f32, y: f32, reach: f32| pick(&mut cpu, Vec2::new(x, y), reach, true).unwrap().map(|(body, _)| body);
        assert_eq!(under(0.5, -0.05, 1.2), Some(0), "the floor, as it is under the point");
        assert_eq!(under(0.5, 1.15, 0.2), Some(2));
        assert_eq!(under(-4.25, 2.0, 0.2), Some(1), "a wall beside the point, with nothing else near");
    }

    #[test]
    fn the_device_finds_the_same_bodies() {
        let context = Context::new(AdapterChoice::Any).expect("an adapter; a software one will do");
        let mut cpu = CpuWorld::new(&scene()).unwrap();
        let gpu = GpuWorld::new(&context, &scene()).unwrap();
        let inspector = Inspector::new(context.device()).unwrap();
        let mut found = std::collections::BTreeSet::new();
        for index in 0..200_u8 {
            let point = Vec2::new(f32::from(index % 20) * 0.5 - 4.3, f32::from(index / 20) * 0.25 - 0.2);
            for (reach, exact) in [(0.0, false), (0.3, false), (0.3, true)] {
                let wanted =
                    if exact { InspectionTarget::Under(point, reach) } else { InspectionTarget::Near(point, reach) };
                let mut pending = inspector.ask(&context, &DrawInputs::of(&gpu), wanted);
                context.wait().unwrap();
                let answer = loop {
                    match pending.poll().unwrap() {
                        InspectionResult::OnItsWay => context.wait().unwrap(),
                        InspectionResult::Nobody => break None,
                        InspectionResult::Body(found) => break Some((found.body, found.shape)),
                    }
                };
                assert_eq!(answer, pick(&mut cpu, point, reach, exact).unwrap(), "{point} within {reach}, {exact}");
                found.insert(answer);
            }
        }
        assert_eq!(found.len(), 7, "every body was meant by some point, and none by others: {found:?}");
    }
}
