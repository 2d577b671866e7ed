//! A world of the CPU, for the same shaders.

use std::collections::HashMap;

use bytemuck::Pod;

use super::{DrawError, DrawInputs, Scale, Tables};
use crate::CpuWorld;
use crate::types::{
    Aabb, BodyState, Contact, Counters, Joint, JointState, Manifold, Params, Pose, Shape, SleepingContact,
};

/// Bytes of the smallest buffer: a binding must hold one element at least. None is larger than [`SleepingContact`],
/// but for the uniform, which is never empty.
const SMALLEST: u64 = 256;

/// Buffers on a device that follow a [`CpuWorld`].
#[derive(Debug)]
pub struct Upload {
    device: wgpu::Device,
    queue: wgpu::Queue,
    buffers: HashMap<&'static str, wgpu::Buffer>,
    shape_count: u32,
    body_count: u32,
    joint_count: u32,
    scale: Option<Scale>,
}

impl Upload {
    /// Nothing is drawn of it before the first [`Self::refresh`].
    #[must_use]
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let (device, queue) = (device.clone(), queue.clone());
        let mut upload =
            Self { device, queue, buffers: HashMap::new(), shape_count: 0, body_count: 0, joint_count: 0, scale: None };
        for name in ["poses", "shapes", "vertices"] {
            upload.create(name, SMALLEST, wgpu::BufferUsages::STORAGE);
        }
        upload
    }

    /// Brings the buffers to a world as it is now. `tables` says whether those are wanted that only layers need
    /// ([`Layers::needs_tables`](super::Layers::needs_tables)); they are about five times as much as the rest.
    ///
    /// # Errors
    /// [`DrawError::TooLarge`].
    pub fn refresh(&mut self, world: &CpuWorld, tables: bool) -> Result<(), DrawError> {
        let compiled = world.compiled();
        let params = &compiled.params;
        self.put::<Pose>("poses", world.poses())?;
        self.put::<Shape>("shapes", &compiled.shapes)?;
        self.put::<[f32; 2]>("vertices", &compiled.vertices)?;
        self.shape_count = params.shape_count;
        self.body_count = params.body_count;
        self.joint_count = params.joint_count;
        self.scale = None;
        if tables {
            let all = world.draw_tables();
            self.put_as::<Params>("params", &[*params], wgpu::BufferUsages::UNIFORM)?;
            self.put::<Counters>("counters", &[*world.counters()])?;
            self.put::<BodyState>("states", &all.states)?;
            self.put::<Aabb>("aabbs", all.aabbs)?;
            self.put::<u32>("cell_ends", all.cell_ends)?;
            self.put::<u32>("cell_shapes", all.cell_shapes)?;
            self.put::<Contact>("contacts", all.contacts)?;
            self.put::<Manifold>("manifolds", all.manifolds)?;
            self.put::<SleepingContact>("sleeping", all.sleeping)?;
            self.put::<u32>("islands", all.islands)?;
            self.put::<Joint>("joints", &compiled.joints.joints)?;
            self.put::<JointState>("joint_states", &all.joint_states)?;
            self.scale = Some(Scale::of(compiled));
        }
        Ok(())
    }

    /// What [`Self::refresh`] uploaded last.
    #[must_use]
    pub fn inputs(&self) -> DrawInputs<'_> {
        let of = |name: &str| &self.buffers[name];
        DrawInputs {
            poses: of("poses"),
            shapes: of("shapes"),
            vertices: of("vertices"),
            shape_count: self.shape_count,
            body_count: self.body_count,
            tables: self.scale.map(|scale| Tables {
                params: of("params"),
                counters: of("counters"),
                states: of("states"),
                aabbs: of("aabbs"),
                cell_ends: of("cell_ends"),
                cell_shapes: of("cell_shapes"),
                contacts: of("contacts"),
                manifolds: of("manifolds"),
                sleeping: of("sleeping"),
                islands: of("islands"),
                joints: of("joints"),
                joint_states: of("joint_states"),
                joint_count: self.joint_count,
                scale,
            }),
            reference: None,
        }
    }

    fn put<T: Pod>(&mut self, name: &'static str, elements: &[T]) -> Result<(), DrawError> {
        self.put_as(name, elements, wgpu::BufferUsages::STORAGE)
    }

    fn put_as<T: Pod>(
        &mut self,
        name: &'static str,
        elements: &[T],
        usage: wgpu::BufferUsages,
    ) -> Result<(), DrawError> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let need = bytes.len() as u64;
        let limits = self.device.limits();
        let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if need > limit {
            return Err(DrawError::TooLarge { what: name, bytes: need, limit });
        }
        if self.buffers.get(name).is_none_or(|buffer| buffer.size() < need) {
            // Half as much again: contacts come and go.
            let size = (need + need / 2).clamp(SMALLEST, limit.max(SMALLEST)).next_multiple_of(16);
            self.create(name, if usage == wgpu::BufferUsages::UNIFORM { need } else { size }, usage);
        }
        if !bytes.is_empty() {
            self.queue.write_buffer(&self.buffers[name], 0, bytes);
        }
        Ok(())
    }

    fn create(&mut self, name: &'static str, size: u64, usage: wgpu::BufferUsages) {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(name),
            size,
            usage: usage | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.buffers.insert(name, buffer);
    }
}
