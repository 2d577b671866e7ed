//! A copy of the buffers that a picture needs, taken before a step, so that the world can be drawn while the step runs
//! or while another thread works on it.

use std::collections::HashMap;

use super::held::HeldInputs;
use super::{Coloring, DrawInputs, Layers};

/// Buffers of a picture at one moment: device copies of those that a step changes, shared handles of the others.
#[derive(Debug, Default)]
pub struct Still {
    copies: HashMap<&'static str, wgpu::Buffer>,
    held: Option<HeldInputs>,
}

impl Still {
    /// Copies the buffers that pictures with these layers need, in their state after `encoder` has run.
    pub fn take(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        inputs: &DrawInputs<'_>,
        layers: &Layers,
    ) {
        let mut held = HeldInputs {
            shape_count: inputs.shape_count,
            body_count: inputs.body_count,
            ramp_bodies: inputs.ramp_bodies,
            ..HeldInputs::default()
        };
        let mut hold = |name: &'static str, from: &wgpu::Buffer, copied: bool| {
            let buffer = if copied { self.copy(device, encoder, name, from) } else { from.clone() };
            held.buffers.insert(name, buffer);
        };
        hold("poses", inputs.poses, true);
        hold("shapes", inputs.shapes, false);
        hold("vertices", inputs.vertices, false);
        if let Some(tables) = &inputs.tables {
            let needed = layers.needs_tables();
            // These tables are by far the largest, so they are copied only if needed.
            let contacts =
                layers.shows_contacts() || matches!(layers.coloring, Coloring::GraphColor | Coloring::Island);
            for (name, buffer, copied) in [
                ("params", tables.params, false),
                ("counters", tables.counters, needed),
                ("states", tables.states, needed),
                ("aabbs", tables.aabbs, needed),
                ("joints", tables.joints, needed),
                ("joint_states", tables.joint_states, needed),
                ("joint_impulses", tables.joint_impulses, layers.forces),
                ("joint_rows", tables.joint_rows, false),
                ("bodies", tables.bodies, false),
                ("cell_ends", tables.cell_ends, layers.grid),
                ("cell_shapes", tables.cell_shapes, layers.grid),
                ("contacts", tables.contacts, contacts),
                ("manifolds", tables.manifolds, contacts),
                ("sleeping", tables.sleeping, contacts),
                ("islands", tables.islands, contacts),
            ] {
                hold(name, buffer, copied);
            }
            held.joint_count = tables.joint_count;
            held.scale = Some(tables.scale);
        }
        self.held = Some(held);
    }

    fn copy(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        name: &'static str,
        from: &wgpu::Buffer,
    ) -> wgpu::Buffer {
        let size = from.size();
        let known = self.copies.get(name).filter(|buffer| buffer.size() == size).cloned();
        let buffer = known.unwrap_or_else(|| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(name),
                size,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        encoder.copy_buffer_to_buffer(from, 0, &buffer, 0, size);
        self.copies.insert(name, buffer.clone());
        buffer
    }

    /// Returns inputs made of the copies, with the world's own buffers where none was taken.
    pub fn inputs(&self) -> Option<DrawInputs<'_>> {
        self.held.as_ref().map(HeldInputs::inputs)
    }

    /// Drops the copies' inputs: pictures are drawn from the world itself again.
    pub fn release(&mut self) {
        self.held = None;
    }
}
