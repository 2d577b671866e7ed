//! Owned handles of the buffers that pictures are drawn from.

use std::collections::HashMap;

use super::{DrawInputs, Scale};

/// Owned form of [`DrawInputs`].
#[derive(Debug, Default)]
pub(super) struct HeldInputs {
    /// Buffers by the names of [`DrawInputs::from_buffers`]: the first three always, the others if there is a scale.
    pub buffers: HashMap<&'static str, wgpu::Buffer>,
    pub shape_count: u32,
    pub body_count: u32,
    pub joint_count: u32,
    pub ramp_bodies: u32,
    pub scale: Option<Scale>,
}

impl HeldInputs {
    pub fn inputs(&self) -> DrawInputs<'_> {
        let counts = [self.shape_count, self.body_count, self.joint_count, self.ramp_bodies];
        DrawInputs::from_buffers(|name| &self.buffers[name], counts, self.scale)
    }
}
