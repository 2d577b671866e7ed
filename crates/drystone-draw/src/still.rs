//! A picture of a world in the middle of a step is one of the world before it: what it is drawn from is put by while the
//! step runs. So it is with a world that another thread is at work on.

use std::collections::HashMap;

use super::held::Held;
use super::{Coloring, DrawInputs, Layers};

/// Copies, on the device, of the buffers that a picture is drawn from and that a step changes; of the others, themselves.
#[derive(Debug, Default)]
pub struct Still {
    copies: HashMap<&'static str, wgpu::Buffer>,
    held: Option<Held>,
}

impl Still {
    /// Copies what pictures with these layers are drawn from, as it will be when `encoder` has run.
    pub fn take(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        inputs: &DrawInputs<'_>,
        layers: &Layers,
    ) {
        let mut held = Held {
            shape_count: inputs.shape_count,
            body_count: inputs.body_count,
            ramp_bodies: inputs.ramp_bodies,
            ..Held::default()
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
            // The longest of all, by far.
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

    /// The inputs as they were; what was not put by, as it is.
    pub fn inputs(&self) -> Option<DrawInputs<'_>> {
        self.held.as_ref().map(Held::inputs)
    }

    /// Lets go of what is the world's own: it is drawn from that again.
    pub fn release(&mut self) {
        self.held = None;
    }
}
