//! Draws the worlds of a window: one, or two side by side, on the CPU, on the device, or in the middle of a step.

use glam::Vec2;

use super::run::{On, WorldRun};
use super::source::SceneSource;
use super::worker::WorkerHandle;
use drystone::Context;
use drystone::World;
use drystone_draw::{Camera, Coloring, DrawError, DrawInputs, Frame, Layers, Renderer, Still, Style, Upload};

/// Renderer, prepared pictures, and the copies from which worlds are drawn that cannot be drawn directly.
#[derive(Debug)]
pub(crate) struct Drawing {
    renderer: Renderer,
    frames: Vec<Frame>,
    /// Number of worlds in the next picture.
    shown: usize,
    /// Uploaded states of worlds on the CPU.
    uploads: [Upload; 2],
    /// Copied state of a world on the device that is in the middle of a step or away.
    still: Still,
    /// Name of the last scene, with the number of its bodies that the colour ramp spans.
    ramp: (String, u32),
}

/// Number of bodies that the colour ramp spans in a scene of this name: those of the scene of the catalogue, also in a
/// file to which the window saved it with more bodies. Other bodies have colours by their index alone, so that those of
/// a built scene are the same after it was saved and opened.
pub(crate) fn ramp_of(name: &str) -> u32 {
    let Ok(SceneSource::Catalogue { entry, values }) = SceneSource::parse(name) else { return 0 };
    let given: Vec<(&str, f64)> =
        entry.parameters.iter().zip(&values).map(|(parameter, &value)| (parameter.name, value)).collect();
    entry.body_count(&given).map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX))
}

impl Drawing {
    pub fn new(context: &Context, format: wgpu::TextureFormat) -> Self {
        let upload = || Upload::new(context.device(), context.queue());
        Self {
            renderer: Renderer::new(context.device(), format, 1),
            frames: Vec::new(),
            shown: 0,
            uploads: [upload(), upload()],
            still: Still::default(),
            ramp: (String::new(), 0),
        }
    }

    /// Buffers from which a world is drawn. On the device these are the world's own, except in the middle of a step and
    /// while it is away, when they are the copy; on the CPU the last upload.
    fn inputs<'a>(upload: &'a Upload, still: &'a Still, worker: &'a WorkerHandle) -> DrawInputs<'a> {
        match (worker.here().map(WorldRun::world), worker.on()) {
            (Some(World::Gpu(world)), _) if !world.is_mid_step() => DrawInputs::of(world),
            (Some(World::Gpu(world)), _) => still.inputs().unwrap_or_else(|| DrawInputs::of(world)),
            (None, On::Gpu) => still.inputs().unwrap_or_else(|| upload.inputs()),
            (Some(World::Cpu(_)), _) | (None, On::Cpu) => upload.inputs(),
        }
    }

    /// Copies the state of a world on the device, from which it is drawn during a step in parts or while it is away.
    pub fn keep(&mut self, context: &Context, worker: &WorkerHandle, layers: &Layers) {
        if let Some(World::Gpu(world)) = worker.here().map(WorldRun::world) {
            let mut encoder =
                context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("still") });
            self.still.take(context.device(), &mut encoder, &DrawInputs::of(world), layers);
            context.queue().submit([encoder.finish()]);
        }
    }

    /// Drops that copy.
    pub fn release(&mut self) {
        self.still.release();
    }

    /// Uploads the state of the worlds on the CPU that are not away.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub fn refresh(&mut self, workers: &[&WorkerHandle], tables: bool) -> Result<(), DrawError> {
        for (upload, worker) in self.uploads.iter_mut().zip(workers) {
            if let Some(World::Cpu(world)) = worker.here().map(WorldRun::world) {
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
        workers: &[&WorkerHandle],
        camera: &Camera,
        style: &Style,
        layers: &Layers,
    ) -> Result<(), DrawError> {
        self.shown = 0;
        let (device, queue) = (context.device(), context.queue());
        let cameras = split(camera, workers.len());
        for (index, (worker, camera)) in workers.iter().zip(&cameras).enumerate() {
            let mut inputs = Self::inputs(&self.uploads[index], &self.still, worker);
            if workers.len() == 2 {
                let other = Self::inputs(&self.uploads[1 - index], &self.still, workers[1 - index]);
                inputs = inputs.against(other.poses);
            }
            if self.ramp.0 != worker.scene().name {
                self.ramp = (worker.scene().name.clone(), ramp_of(&worker.scene().name));
            }
            inputs.ramp_bodies = inputs.ramp_bodies.min(self.ramp.1);
            // A layer that needs tables of the solver is shown once the world is back.
            let there = if inputs.tables.is_some() || !layers.needs_tables() { *layers } else { bare(layers) };
            match self.frames.get_mut(index) {
                Some(frame) => self.renderer.update(frame, device, queue, &inputs, camera, style, &there)?,
                None => self.frames.push(self.renderer.frame(device, queue, &inputs, camera, style, &there)?),
            }
            self.renderer.prepare(encoder, &self.frames[index]);
            self.shown = index + 1;
        }
        Ok(())
    }

    /// Draws the prepared pictures.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>) {
        for frame in &self.frames[..self.shown.min(self.frames.len())] {
            self.renderer.draw(pass, frame);
        }
    }
}

/// Layers with those switched off that need tables of the solver.
fn bare(layers: &Layers) -> Layers {
    let Layers { shapes, outlines, highlight, line_scale, .. } = *layers;
    let mut bare = Layers { coloring: Coloring::Body, shapes, outlines, highlight, line_scale, ..*layers };
    for name in Layers::NAMES.into_iter().filter(|name| !["shapes", "outlines"].contains(name)) {
        if let Some(on) = bare.switch(name) {
            *on = false;
        }
    }
    bare
}

/// Cameras of `count` worlds side by side, which share the picture and have the same centre and scale.
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
    fn bare_layers_need_no_tables() {
        let mut all = Layers { coloring: Coloring::Island, ..Layers::default() };
        for name in Layers::NAMES {
            *all.switch(name).unwrap() = true;
        }
        assert!(all.needs_tables() && !bare(&all).needs_tables());
        assert!(bare(&all).shapes && bare(&all).outlines);
    }

    #[test]
    fn the_ramp_spans_the_bodies_of_the_catalogue() {
        let count = |spec: &str| u32::try_from(drystone_scenes::catalogue::build(spec).unwrap().bodies.len()).unwrap();
        for spec in ["vertical_stack:count=5", "arch"] {
            assert_eq!(ramp_of(spec), count(spec), "{spec}");
        }
        assert_eq!(["", "new scene", "yard", "no/such.json"].map(ramp_of), [0; 4]);
    }

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
