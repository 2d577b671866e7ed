//! The worlds of a window on the screen: one, or two side by side.

use glam::Vec2;

use super::run::Run;
use crate::draw::{Camera, DrawError, DrawInputs, Frame, Layers, Renderer, Style, Upload};
use crate::gpu::Context;
use crate::world::World;

/// Pipelines, and what is prepared of the next picture.
#[derive(Debug)]
pub(crate) struct Drawing {
    renderer: Renderer,
    frames: Vec<Frame>,
    shown: usize,
    /// For worlds on the CPU.
    uploads: [Upload; 2],
}

impl Drawing {
    pub fn new(context: &Context, format: wgpu::TextureFormat) -> Self {
        let upload = || Upload::new(context.device(), context.queue());
        Self {
            renderer: Renderer::new(context.device(), format, 1),
            frames: Vec::new(),
            shown: 0,
            uploads: [upload(), upload()],
        }
    }

    /// What a world is drawn from. One on the GPU is drawn from its own buffers.
    fn inputs<'a>(upload: &'a Upload, run: &'a Run) -> DrawInputs<'a> {
        match run.world() {
            World::Gpu(world) => world.draw_inputs(),
            World::Cpu(_) => upload.inputs(),
        }
    }

    /// Uploads what worlds on the CPU have come to.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub fn refresh(&mut self, runs: &[&Run], tables: bool) -> Result<(), DrawError> {
        for (upload, run) in self.uploads.iter_mut().zip(runs) {
            if let World::Cpu(world) = run.world() {
                upload.refresh(world, tables)?;
            }
        }
        Ok(())
    }

    /// Prepares a picture of each world, side by side in the same part of the target.
    ///
    /// # Errors
    /// As [`Renderer::frame`].
    pub fn prepare(
        &mut self,
        context: &Context,
        encoder: &mut wgpu::CommandEncoder,
        runs: &[&Run],
        camera: &Camera,
        style: &Style,
        layers: &Layers,
    ) -> Result<(), DrawError> {
        self.refresh(runs, layers.needs_tables())?;
        self.shown = 0;
        let (device, queue) = (context.device(), context.queue());
        let cameras = split(camera, runs.len());
        for (index, (run, camera)) in runs.iter().zip(&cameras).enumerate() {
            let mut inputs = Self::inputs(&self.uploads[index], run);
            if runs.len() == 2 {
                inputs = inputs.against(Self::inputs(&self.uploads[1 - index], runs[1 - index]).poses);
            }
            match self.frames.get_mut(index) {
                Some(frame) => self.renderer.update(frame, device, queue, &inputs, camera, style, layers)?,
                None => self.frames.push(self.renderer.frame(device, queue, &inputs, camera, style, layers)?),
            }
            self.renderer.prepare(encoder, &self.frames[index]);
            self.shown = index + 1;
        }
        Ok(())
    }

    /// Draws what was prepared.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        for frame in &self.frames[..self.shown.min(self.frames.len())] {
            self.renderer.draw(pass, frame);
        }
    }
}

/// The cameras of so many worlds beside each other: each looks at the same place, as closely.
pub(crate) fn split(camera: &Camera, count: usize) -> Vec<Camera> {
    if count < 2 {
        return vec![*camera];
    }
    let [width, height] = camera.size;
    let left = (width / 2).max(1);
    let right = width.saturating_sub(left).max(1);
    #[allow(clippy::cast_precision_loss, reason = "pixels")]
    let shift = Vec2::new(left as f32, 0.0);
    vec![
        Camera { size: [left, height], ..*camera },
        Camera { size: [right, height], origin: camera.origin + shift, ..*camera },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_worlds_share_the_place_of_one() {
        let camera = Camera { origin: Vec2::new(10.0, 20.0), ..Camera::new(Vec2::ONE, 9.0, [801, 600]) };
        assert_eq!(split(&camera, 1), [camera]);
        let [left, right] = split(&camera, 2).try_into().unwrap();
        assert_eq!((left.size, right.size), ([400, 600], [401, 600]));
        assert_eq!(right.origin, Vec2::new(410.0, 20.0));
        assert_eq!(left.metres_per_pixel, right.metres_per_pixel);
        assert_eq!(left.center, right.center);
    }
}
