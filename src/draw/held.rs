//! Buffers that pictures are drawn from, whoever made them.

use std::collections::HashMap;

use super::{DrawInputs, Scale, Tables};

/// As [`DrawInputs`], for as long as it is kept.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// By the names of [`DrawInputs`] and [`Tables`]: the first three always, the others where there is a scale.
    pub buffers: HashMap<&'static str, wgpu::Buffer>,
    pub shape_count: u32,
    pub body_count: u32,
    pub joint_count: u32,
    pub scale: Option<Scale>,
}

impl Held {
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
}
