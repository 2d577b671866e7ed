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
    /// True if bodies have colours by numbers of their own.
    pub own_colors: bool,
}

impl HeldInputs {
    pub fn inputs(&self) -> DrawInputs<'_> {
        let counts = [self.shape_count, self.body_count, self.joint_count, self.ramp_bodies];
        let bodies = self.buffers.get("bodies").filter(|_| self.own_colors && self.scale.is_none());
        DrawInputs { bodies, ..DrawInputs::from_buffers(|name| &self.buffers[name], counts, self.scale) }
    }
}
