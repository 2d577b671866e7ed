//! What is under the pointer, without waiting: a few words come back some frames later. On the GPU three small kernels
//! (`shaders/view/inspect.wgsl`) look at every shape and every contact, so that no grid has to be laid; on the CPU the same
//! is asked of the world.

use std::num::NonZeroU64;

use bytemuck::{Pod, Zeroable};
use glam::Vec2;

use crate::CpuWorld;
use crate::draw::DrawInputs;
use crate::gpu::{Arrival, Context};
use crate::query::Query;
use crate::types::{ASLEEP, DYNAMIC, NONE, POINT_COUNT_MASK, Pose};
use crate::world::WorldError;

const SOURCE: &str = concat!(include_str!("../../shaders/types.wgsl"), include_str!("../../shaders/view/inspect.wgsl"));
/// Threads of a workgroup, and workgroups at most; the kernels go on in strides.
const LANES: u32 = 64;
const MOST_GROUPS: u32 = 4096;

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// The topmost body at a point, those that move first, m.
    At(Vec2),
    /// A body, by its slot.
    Body(u32),
}

/// A body as it was when it was asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Inspection {
    /// Slot.
    pub body: usize,
    /// Of the centre of mass.
    pub pose: Pose,
    /// m/s.
    pub velocity: Vec2,
    /// rad/s.
    pub spin: f32,
    /// Whether it sleeps. Contacts of bodies asleep are put by and not counted.
    pub asleep: bool,
    /// Contacts that touch.
    pub touching: u32,
    /// Their points.
    pub points: u32,
    /// Graph colours of its contacts, as bits.
    pub colors: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Request {
    point: [f32; 2],
    body: u32,
    shape_count: u32,
}

/// Field for field `Found` of the shader.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Found {
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
    pad: [f32; 2],
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    OnItsWay,
    Nobody,
    Body(Inspection),
}

/// A question on its way.
#[derive(Debug)]
pub(crate) enum Pending {
    /// Answered at once.
    Done(Option<Inspection>),
    /// On the device.
    Sent(Arrival),
}

impl Pending {
    /// The answer, if it is there.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn poll(&mut self) -> Result<Answer, WorldError> {
        match self {
            Self::Done(found) => Ok(found.map_or(Answer::Nobody, Answer::Body)),
            Self::Sent(arrival) => {
                let Some(bytes) = arrival.take()? else { return Ok(Answer::OnItsWay) };
                let found: Found = bytemuck::pod_read_unaligned(bytes.get(..size_of::<Found>()).unwrap_or(&[0; 64]));
                if found.body == NONE {
                    return Ok(Answer::Nobody);
                }
                Ok(Answer::Body(Inspection {
                    body: found.body as usize,
                    pose: Pose { position: found.position, rotation: found.rotation },
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

/// The kernels.
#[derive(Debug)]
pub(crate) struct Inspector {
    layout: wgpu::BindGroupLayout,
    kernels: [wgpu::ComputePipeline; 3],
}

impl Inspector {
    pub fn new(device: &wgpu::Device) -> Self {
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
        let mut entries = vec![buffer(0, wgpu::BufferBindingType::Uniform, size_of::<Request>())];
        entries.extend((1..7).map(|binding| buffer(binding, read, 0)));
        entries.push(buffer(7, wgpu::BufferBindingType::Storage { read_only: false }, size_of::<Found>()));
        let layout = device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("inspect"), entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("inspect"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("inspect"),
            source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
        });
        let kernels = ["pick", "describe", "count"].map(|name| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        });
        Self { layout, kernels }
    }

    /// Asks about a world on the device, after all that was submitted so far.
    pub fn ask(&self, context: &Context, inputs: &DrawInputs<'_>, wanted: Wanted) -> Pending {
        let Some(tables) = &inputs.tables else { return Pending::Done(None) };
        let (device, queue) = (context.device(), context.queue());
        let (point, body) = match wanted {
            Wanted::At(point) => (point.into(), NONE),
            Wanted::Body(body) => ([0.0; 2], body),
        };
        let asked = Request { point, body, shape_count: inputs.shape_count };
        let request = context.buffer_with("inspect request", bytemuck::bytes_of(&asked), wgpu::BufferUsages::UNIFORM);
        let found = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("inspect found"),
            size: size_of::<Found>() as u64,
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
        let groups =
            |threads: u64| u32::try_from(threads.div_ceil(u64::from(LANES))).unwrap_or(u32::MAX).clamp(1, MOST_GROUPS);
        let contacts = tables.contacts.size() / size_of::<crate::types::Contact>() as u64;
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("inspect") });
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &group, &[]);
            for (kernel, threads) in self.kernels.iter().zip([u64::from(inputs.shape_count), 1, contacts]) {
                pass.set_pipeline(kernel);
                pass.dispatch_workgroups(groups(threads), 1, 1);
            }
        }
        let arrival = Arrival::send(device, &mut encoder, &found, size_of::<Found>() as u64, None);
        context.note_sent(1, size_of::<Found>() as u64);
        queue.submit([encoder.finish()]);
        Pending::Sent(arrival)
    }
}

/// Asks about a world on the CPU.
///
/// # Errors
/// If the point is too far out.
pub(crate) fn ask_cpu(world: &mut CpuWorld, wanted: Wanted) -> Result<Pending, WorldError> {
    let body = match wanted {
        Wanted::Body(body) => Some(body as usize),
        Wanted::At(point) => {
            let answers = world.query(&[Query::point(point)])?;
            let found = answers.found(0);
            let moves = |body: usize| world.compiled().bodies.get(body).is_some_and(|body| body.kind == DYNAMIC);
            found.iter().rev().find(|found| moves(found.body)).or(found.last()).map(|found| found.body)
        }
    };
    let Some(body) = body else { return Ok(Pending::Done(None)) };
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
        pose,
        velocity: state.velocity.into(),
        spin: state.angular_velocity,
        asleep: state.status & ASLEEP != 0,
        touching,
        points,
        colors,
    })))
}
