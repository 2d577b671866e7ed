//! Uploads the tables of a world on the CPU to a device, for the same shaders.

use bytemuck::Pod;

use super::held::HeldInputs;
use super::{DrawError, DrawInputs, Scale};
use drystone::low_level::CpuWorld;
use drystone::low_level::types::{
    Aabb, BodyData, BodyState, Contact, Counters, JointData, JointRow, JointState, Manifold, Params, Pose, ShapeData,
    SleepingContact,
};

/// Minimum buffer size, bytes: a binding must hold at least one element. [`SleepingContact`] is the largest element;
/// the uniform is larger but never empty.
const SMALLEST: u64 = 256;

/// Buffers on a device that mirror a [`CpuWorld`].
#[derive(Debug)]
pub struct Upload {
    device: wgpu::Device,
    queue: wgpu::Queue,
    held: HeldInputs,
}

impl Upload {
    /// Creates empty buffers. Nothing is drawn before the first [`Self::refresh`].
    #[must_use]
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let (device, queue) = (device.clone(), queue.clone());
        let mut upload = Self { device, queue, held: HeldInputs::default() };
        for name in ["poses", "shapes", "vertices"] {
            upload.create(name, SMALLEST, wgpu::BufferUsages::STORAGE);
        }
        upload
    }

    /// Uploads the present state of a world. `tables` adds the tables that only layers need
    /// ([`Layers::needs_tables`](super::Layers::needs_tables)); they are about five times as large as the others.
    ///
    /// # Errors
    /// [`DrawError::TooLarge`].
    pub fn refresh(&mut self, world: &CpuWorld, tables: bool) -> Result<(), DrawError> {
        let compiled = world.compiled();
        let params = &compiled.params;
        self.put::<Pose>("poses", world.poses())?;
        self.put::<ShapeData>("shapes", &compiled.shapes)?;
        self.put::<[f32; 2]>("vertices", &compiled.vertices)?;
        self.held.shape_count = params.shape_count;
        self.held.body_count = params.body_count;
        self.held.joint_count = params.joint_count;
        self.held.ramp_bodies = compiled.scene_slots;
        self.held.scale = None;
        self.held.own_colors = !tables && compiled.bodies.iter().any(|body| body.color != 0);
        if tables || self.held.own_colors {
            self.put::<BodyData>("bodies", &compiled.bodies)?;
        }
        if tables {
            let all = world.world_tables();
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
            self.put::<JointData>("joints", &compiled.joints.joints)?;
            self.put::<JointState>("joint_states", &all.joint_states)?;
            self.put::<JointRow>("joint_rows", &compiled.joints.rows)?;
            self.put::<[f32; 2]>("joint_impulses", &all.joint_impulses)?;
            self.held.scale = Some(Scale::of(compiled));
        }
        Ok(())
    }

    /// Returns the inputs that [`Self::refresh`] uploaded last.
    #[must_use]
    pub fn inputs(&self) -> DrawInputs<'_> {
        self.held.inputs()
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
        if self.held.buffers.get(name).is_none_or(|buffer| buffer.size() < need) {
            // 50 % larger than needed: the number of contacts varies.
            let size = (need + need / 2).clamp(SMALLEST, limit.max(SMALLEST)).next_multiple_of(16);
            self.create(name, if usage == wgpu::BufferUsages::UNIFORM { need } else { size }, usage);
        }
        if !bytes.is_empty() {
            self.queue.write_buffer(&self.held.buffers[name], 0, bytes);
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
        self.held.buffers.insert(name, buffer);
    }
}
