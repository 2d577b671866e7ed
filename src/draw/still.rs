//! A picture of a world in the middle of a step is one of the world before it: what it is drawn from is put by while the
//! step runs.

use std::collections::HashMap;

use super::{Coloring, DrawInputs, Layers, Tables};

/// Copies, on the device, of the buffers that a picture is drawn from and that a step changes.
#[derive(Debug, Default)]
pub(crate) struct Still {
    buffers: HashMap<&'static str, wgpu::Buffer>,
    /// Of which there is a copy from the last time.
    fresh: Vec<&'static str>,
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
        self.fresh.clear();
        self.copy(device, encoder, "poses", inputs.poses);
        let Some(tables) = inputs.tables.as_ref().filter(|_| layers.needs_tables()) else { return };
        for (name, buffer) in [
            ("counters", tables.counters),
            ("states", tables.states),
            ("aabbs", tables.aabbs),
            ("joints", tables.joints),
            ("joint_states", tables.joint_states),
        ] {
            self.copy(device, encoder, name, buffer);
        }
        if layers.grid {
            self.copy(device, encoder, "cell_ends", tables.cell_ends);
            self.copy(device, encoder, "cell_shapes", tables.cell_shapes);
        }
        // The longest of all, by far.
        if layers.shows_contacts() || matches!(layers.coloring, Coloring::GraphColor | Coloring::Island) {
            for (name, buffer) in [
                ("contacts", tables.contacts),
                ("manifolds", tables.manifolds),
                ("sleeping", tables.sleeping),
                ("islands", tables.islands),
            ] {
                self.copy(device, encoder, name, buffer);
            }
        }
    }

    fn copy(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        name: &'static str,
        from: &wgpu::Buffer,
    ) {
        let size = from.size();
        if self.buffers.get(name).is_none_or(|buffer| buffer.size() != size) {
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(name),
                size,
                usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.buffers.insert(name, buffer);
        }
        encoder.copy_buffer_to_buffer(from, 0, &self.buffers[name], 0, size);
        self.fresh.push(name);
    }

    /// The same inputs as they were; those that were not put by, as they are.
    pub fn before<'a>(&'a self, inputs: DrawInputs<'a>) -> DrawInputs<'a> {
        let of = |name: &'static str, now: &'a wgpu::Buffer| {
            if self.fresh.contains(&name) { self.buffers.get(name).unwrap_or(now) } else { now }
        };
        let tables = inputs.tables.map(|now| Tables {
            counters: of("counters", now.counters),
            states: of("states", now.states),
            aabbs: of("aabbs", now.aabbs),
            cell_ends: of("cell_ends", now.cell_ends),
            cell_shapes: of("cell_shapes", now.cell_shapes),
            contacts: of("contacts", now.contacts),
            manifolds: of("manifolds", now.manifolds),
            sleeping: of("sleeping", now.sleeping),
            islands: of("islands", now.islands),
            joints: of("joints", now.joints),
            joint_states: of("joint_states", now.joint_states),
            ..now
        });
        DrawInputs { poses: of("poses", inputs.poses), tables, ..inputs }
    }
}
