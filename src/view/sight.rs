//! Where the camera looks.

use glam::Vec2;

use super::app::App;
use super::drawing::split;
use crate::draw::Camera;
use crate::gpu::Arrival;
use crate::types::Pose;
use crate::world::World;

/// Where bodies are.
#[derive(Debug)]
pub(crate) enum Poses {
    Here(Vec<Pose>),
    /// From the device.
    Coming(Arrival),
}

/// Whether the camera has yet to be put where it sees the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Done,
    Wanted,
}

impl App {
    /// The part of the window that shows the world, px.
    pub fn place(&mut self, origin: Vec2, size: [u32; 2]) {
        let size = [size[0].max(1), size[1].max(1)];
        if self.fit == Fit::Done && self.camera.size != size {
            // What was in the middle stays there, as large as it was.
            self.camera.size = size;
        }
        if self.fit == Fit::Wanted
            && let Some(run) = self.run.here()
        {
            let compiled = run.world().compiled();
            let (poses, shapes) = compiled.with_what_comes(&compiled.poses);
            let part = split(&Camera { size, ..Camera::default() }, self.worlds())[0].size;
            self.camera = Camera { size, ..Camera::fit_scene(&poses, &shapes, part) };
            self.fit = Fit::Done;
        }
        self.camera.origin = origin;
    }

    /// On a screen with so many pixels a point. On one of finer pixels all is as large as it was.
    pub fn on_screen(&mut self, pixels_per_point: f32) {
        if pixels_per_point != self.pixels_per_point && pixels_per_point > 0.0 {
            self.camera.metres_per_pixel *= self.pixels_per_point / pixels_per_point;
            self.pixels_per_point = pixels_per_point;
        }
    }

    /// A place in the world under a pixel, whichever of two worlds it is in.
    pub fn world_at(&self, pixel: Vec2) -> Vec2 {
        let cameras = split(&self.camera, self.worlds());
        let over = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first());
        over.map_or(Vec2::ZERO, |camera| camera.to_world(pixel))
    }

    /// Frames the world as it is: on the GPU as soon as its poses have arrived.
    pub fn frame_all(&mut self) {
        match self.poses() {
            Some(Poses::Here(poses)) => self.look_at(&poses),
            Some(Poses::Coming(arrival)) => self.pointer.poses = Some(arrival),
            None => {}
        }
    }

    /// Where the bodies are: at once, or on their way from the device.
    pub fn poses(&self) -> Option<Poses> {
        let world = self.run.here()?.world();
        let World::Gpu(of) = world else {
            return Some(Poses::Here(if let World::Cpu(world) = world { world.poses().to_vec() } else { Vec::new() }));
        };
        let bytes = of.compiled().poses.len() as u64 * size_of::<Pose>() as u64;
        if bytes == 0 {
            return Some(Poses::Here(Vec::new()));
        }
        let device = self.context.device();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("poses") });
        let arrival = Arrival::send(device, &mut encoder, of.draw_inputs().poses, bytes, None);
        self.context.note_sent(1, bytes);
        self.context.queue().submit([encoder.finish()]);
        Some(Poses::Coming(arrival))
    }

    /// Puts the camera where it sees bodies at these poses.
    pub fn look_at(&mut self, poses: &[Pose]) {
        let Some(run) = self.run.here() else { return };
        let shapes = &run.world().compiled().shapes;
        let part = split(&self.camera, self.worlds())[0].size;
        let Camera { center, metres_per_pixel, .. } = Camera::fit_scene(poses, shapes, part);
        self.camera = Camera { center, metres_per_pixel, ..self.camera };
    }
}
