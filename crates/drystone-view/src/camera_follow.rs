//! The camera: it shows the view that a scene gives, or else follows the bodies smoothly until the user moves it. F or
//! the button "fit" lets it follow again.
//!
//! Tools, cards and a panel may lie over the picture; views are fitted into the part that they leave free.

use glam::Vec2;

use super::app::App;
use super::drawing::split;
use drystone::World;
use drystone::low_level::gpu::{Arrival, note_read_back};
use drystone::low_level::types::Pose;
use drystone_draw::{Bounds, Camera, DrawInputs, Framing};

/// Frames between two checks of the places of all bodies …
const LOOK_EVERY: u32 = 4;
/// … in worlds of at most this many shapes; …
const FEW_SHAPES: usize = 5_000;
/// … and in larger ones.
const LOOK_SELDOM: u32 = 15;
/// Number of shapes above which a world is not followed: reading its poses takes longer than a frame.
const MAX_FOLLOWED_SHAPES: usize = 100_000;
/// Time in which the camera covers half of its way, s.
const HALF_WAY: f64 = 0.07;
/// Factor by which the wanted view must be smaller before the camera comes closer.
const CLOSER: f32 = 2.5;
/// Share of the picture that may be missing at its edges before the camera moves.
const SLACK: f32 = 0.01;
/// Number of checks for which a moving edge is extrapolated outwards: the poses come from the device late, and the
/// camera takes its time.
const AHEAD: f32 = 4.0;

/// Frames for which the camera stands still after a body was released: the pointer is still there.
const REST: u32 = 30;

/// Poses of all bodies, at once or later.
#[derive(Debug)]
pub(crate) enum Poses {
    Here(Vec<Pose>),
    /// On their way from the device.
    Coming(Arrival),
}

/// State of the first view of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Done,
    /// The camera is still to be placed.
    Wanted,
}

/// Widths at the sides of the picture that tools, cards or the panel cover, px.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Covered {
    pub left: f32,
    pub right: f32,
}

/// Part of the picture that nothing covers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Free {
    /// Distance of its middle from that of the picture, to the right, px.
    shift: f32,
    /// px.
    size: [u32; 2],
}

impl Covered {
    /// Returns the free part of a picture. Where it would be less than a third of the width, first the right side and
    /// then both sides are counted as free.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "pixels of a screen"
    )]
    fn rest(self, [width, height]: [u32; 2]) -> Free {
        let Self { left, right } = self;
        let free = width as f32 - left - right;
        if free < width as f32 / 3.0 {
            return if right > 0.0 {
                Self { right: 0.0, ..self }.rest([width, height])
            } else {
                Free { shift: 0.0, size: [width, height] }
            };
        }
        Free { shift: 0.5 * (left - right), size: [(free.floor() as u32).max(1), height] }
    }
}

/// State of the camera: whether it follows, what it has seen of the bodies, and its next move.
#[derive(Debug, Default)]
pub(crate) struct CameraFollow {
    /// Framing of the world when the camera began to follow it.
    first: Option<Framing>,
    /// Free part of the picture for which the framing was made.
    part: Free,
    /// True until the user moves the camera or takes a tool.
    pub follows: bool,
    /// Extent that stays in the picture, however its size changes: the view in which a tool was taken, until the user
    /// moves the camera.
    kept: Option<Bounds>,
    /// Centre, m, and scale, m/px, at the end of the last frame: a camera that differs was moved by the user.
    left: Option<(Vec2, f32)>,
    /// Centre of the free part to move to, m, and scale, m/px.
    goal: Option<(Vec2, f32)>,
    /// True if the next check places the camera at once, without a smooth move.
    jumps: bool,
    coming: Option<Arrival>,
    /// Extent to be shown at the last check.
    wanted: Option<Bounds>,
    /// Steps done, centre and scale at the last check.
    looked: Option<(u64, Vec2, f32)>,
    /// Frames since the last check.
    frames: u32,
    /// Frames for which the camera still stands still.
    rests: u32,
    /// True if there are dynamic bodies, and none is in the picture.
    pub blank: bool,
}

impl CameraFollow {
    /// Drops a request that a lost device cannot answer.
    pub fn forget(&mut self) {
        self.coming = None;
    }

    /// Lets the camera stay where it is, as if the user had moved it there.
    pub fn stay(&mut self) {
        (self.follows, self.goal, self.kept) = (false, None, None);
    }

    /// Returns true while the camera is on its way.
    pub fn moves(&self) -> bool {
        self.goal.is_some()
    }
}

impl App {
    /// Sets the part of the window that shows the world, px, and moves the camera: to the first view, or after the
    /// bodies.
    pub fn place(&mut self, origin: Vec2, size: [u32; 2]) {
        let size = [size[0].max(1), size[1].max(1)];
        // A view that the user has moved keeps its middle and its scale; any other is fitted below.
        self.camera.size = size;
        let part = self.free();
        if self.fit == Fit::Wanted
            && let Some(run) = self.run.here()
        {
            let compiled = run.world().compiled();
            let framing = Framing::new(compiled, &compiled.poses, part.size);
            // The bodies of a saved world may be far from where its scene began.
            let jumps = run.steps() > 0 && !framing.is_given();
            let left = Some(self.show(&framing.camera()));
            self.camera_follow =
                CameraFollow { first: Some(framing), part, follows: true, left, jumps, ..CameraFollow::default() };
            self.fit = Fit::Done;
        }
        self.camera.origin = origin;
        if self.fit == Fit::Done {
            self.follow(part);
        }
    }

    /// Keeps the view as it is: it no longer follows bodies, and shows the same extent in a window of any size. A view
    /// that the user has moved stays as it is.
    pub(super) fn keep_view(&mut self) {
        if self.camera_follow.follows {
            self.camera_follow.stay();
            self.camera_follow.kept = Some(self.free_part().seen());
        }
    }

    /// Camera of the first world: the whole picture, or its left half.
    fn first_part(&self) -> Camera {
        split(&self.camera, self.worlds())[0]
    }

    /// Free part of the first world's picture.
    fn free(&self) -> Free {
        self.fold.covered.rest(self.first_part().size)
    }

    /// Camera of the free part of the first world's picture.
    fn free_part(&self) -> Camera {
        let (part, free) = (self.first_part(), self.free());
        let center = part.center + Vec2::new(free.shift * part.metres_per_pixel, 0.0);
        Camera { center, size: free.size, ..part }
    }

    /// Moves the camera so that the free part of the picture shows the view of `wanted`; returns the new centre and
    /// scale.
    fn show(&mut self, wanted: &Camera) -> (Vec2, f32) {
        let scale = wanted.metres_per_pixel;
        let center = wanted.center - Vec2::new(self.free().shift * scale, 0.0);
        self.camera = Camera { center, metres_per_pixel: scale, ..self.camera };
        (center, scale)
    }

    /// Moves the camera, once a frame, and checks now and then where the bodies are.
    fn follow(&mut self, part: Free) {
        let now = (self.camera.center, self.camera.metres_per_pixel);
        if self.camera_follow.left.is_some_and(|left| left != now) {
            self.camera_follow.stay();
        }
        self.camera_follow.rests = if self.pointer.holds() { REST } else { self.camera_follow.rests.saturating_sub(1) };
        if self.camera_follow.part != part {
            self.fit_anew(part);
        }
        self.look_around();
        self.move_camera();
        self.camera_follow.left = Some((self.camera.center, self.camera.metres_per_pixel));
    }

    /// Fits the view to another free part of the picture, unless the user has moved the camera.
    fn fit_anew(&mut self, part: Free) {
        if let Some(kept) = self.camera_follow.kept {
            self.camera_follow.part = part;
            self.show(&Camera::fit(kept, part.size, 0.0));
            return;
        }
        // If the world is away, the next frame tries again.
        let Some(run) = self.run.here() else { return };
        self.camera_follow.part = part;
        if !self.camera_follow.follows {
            return;
        }
        let compiled = run.world().compiled();
        // The view of the scene, unless the user has fitted it to bodies that are outside.
        let is_free = self.camera_follow.first.as_ref().is_some_and(|first| !first.is_given());
        let of = if is_free { Framing::of_bodies } else { Framing::new };
        let framing = of(compiled, &compiled.poses, part.size);
        let camera = framing.camera();
        let begun = framing.is_given() || run.steps() == 0;
        self.camera_follow.first = Some(framing);
        if begun {
            self.show(&camera);
        } else {
            (self.camera_follow.jumps, self.camera_follow.looked) = (true, None);
        }
    }

    /// Requests the poses of all bodies when a check is due, and evaluates those that have arrived.
    fn look_around(&mut self) {
        if let Some(arrival) = &self.camera_follow.coming {
            match arrival.take() {
                Ok(Some(bytes)) => {
                    self.camera_follow.coming = None;
                    self.see(&drystone::low_level::gpu::cast::<Pose>(&bytes));
                }
                Ok(None) => {}
                // The next step reports the loss of the device.
                Err(_) => self.camera_follow.coming = None,
            }
            return;
        }
        self.camera_follow.frames += 1;
        let now = (self.run.steps(), self.camera.center, self.camera.metres_per_pixel);
        let shapes = self.facts().shapes;
        let often = if shapes > FEW_SHAPES { LOOK_SELDOM } else { LOOK_EVERY };
        let due = self.camera_follow.frames >= often || self.camera_follow.jumps;
        let is_too_large = shapes > MAX_FOLLOWED_SHAPES && !self.camera_follow.jumps;
        if !due || self.camera_follow.looked == Some(now) || !self.is_settled() || is_too_large {
            return;
        }
        (self.camera_follow.frames, self.camera_follow.looked) = (0, Some(now));
        match self.poses() {
            Some(Poses::Here(poses)) => self.see(&poses),
            Some(Poses::Coming(arrival)) => self.camera_follow.coming = Some(arrival),
            None => {}
        }
    }

    /// Notes whether any body is in the picture, and sets the next goal of a camera that follows.
    fn see(&mut self, poses: &[Pose]) {
        let now = self.free_part();
        let whole = self.first_part();
        let Some(run) = self.run.here() else { return };
        let compiled = run.world().compiled();
        let blank = Framing::sees_any(&whole, &compiled.shapes, poses) == Some(false);
        // A grabbed body follows the pointer: a camera that followed the body would move under the pointer.
        let follows = self.camera_follow.follows && self.camera_follow.rests == 0;
        let framing = self.camera_follow.first.as_ref().filter(|framing| follows && !framing.is_given());
        let wanted = framing.map(|framing| framing.camera_later(compiled, poses));
        self.camera_follow.blank = blank;
        let Some(wanted) = wanted else { return };
        // Smoothly, unless nothing would be seen on the way.
        if std::mem::take(&mut self.camera_follow.jumps) || blank {
            (self.camera_follow.goal, self.camera_follow.blank) = (None, false);
            self.show(&wanted);
            return;
        }
        let (center, metres_per_pixel) = self.camera_follow.goal.unwrap_or((now.center, now.metres_per_pixel));
        let there = Camera { center, metres_per_pixel, ..now };
        let seen = wanted.seen();
        let before = self.camera_follow.wanted.replace(seen).unwrap_or(seen);
        let lacks = !there.seen().grow(SLACK * there.height()).contains(seen);
        if lacks || there.height() > CLOSER * wanted.height() {
            let most = 0.5 * seen.size();
            let ahead = Bounds {
                min: seen.min + (AHEAD * (seen.min - before.min)).clamp(-most, Vec2::ZERO),
                max: seen.max + (AHEAD * (seen.max - before.max)).clamp(Vec2::ZERO, most),
            };
            let Camera { center, metres_per_pixel, .. } = Camera::fit(ahead, now.size, 0.0);
            self.camera_follow.goal = Some((center, metres_per_pixel));
        }
    }

    /// Moves the camera part of the way to its goal.
    #[allow(clippy::cast_possible_truncation, reason = "a share")]
    fn move_camera(&mut self) {
        let Some((center, metres_per_pixel)) = self.camera_follow.goal.filter(|_| self.camera_follow.rests == 0) else {
            return;
        };
        let seconds = if self.patient { 1.0 / 60.0 } else { (1e-3 * self.frame_ms).min(0.1) };
        let share = (1.0 - 0.5_f64.powf(seconds / HALF_WAY)) as f32;
        let mut camera = self.free_part();
        let before = (camera.center, camera.metres_per_pixel);
        camera.center += (center - camera.center) * share;
        camera.metres_per_pixel *= (metres_per_pixel / camera.metres_per_pixel).powf(share);
        let near = (camera.metres_per_pixel / metres_per_pixel - 1.0).abs() < 1e-3
            && camera.center.distance(center) < 0.5 * metres_per_pixel;
        // Far from the origin a part of the way may be less than the resolution of coordinates.
        if near || before == (camera.center, camera.metres_per_pixel) {
            (camera.center, camera.metres_per_pixel) = (center, metres_per_pixel);
            self.camera_follow.goal = None;
        }
        self.show(&camera);
    }

    /// Takes over the pixels per point of the screen; on a finer screen everything keeps its size.
    pub fn on_screen(&mut self, pixels_per_point: f32) {
        if pixels_per_point != self.pixels_per_point && pixels_per_point > 0.0 {
            self.zoom_along(self.pixels_per_point / pixels_per_point);
            self.pixels_per_point = pixels_per_point;
        }
    }

    /// Zooms without counting as a move of the user: the camera keeps following.
    pub fn zoom_along(&mut self, factor: f32) {
        self.camera.metres_per_pixel *= factor;
        for (_, metres_per_pixel) in [&mut self.camera_follow.left, &mut self.camera_follow.goal].into_iter().flatten()
        {
            *metres_per_pixel *= factor;
        }
    }

    /// Place in the world under a pixel, m, in the first world or its copy.
    pub fn world_at(&self, pixel: Vec2) -> Vec2 {
        let cameras = split(&self.camera, self.worlds());
        let over = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first());
        over.map_or(Vec2::ZERO, |camera| camera.to_world(pixel))
    }

    /// Fits the view to all bodies, beside a card if there is one; on the GPU as soon as the poses have arrived.
    pub fn frame_all(&mut self) {
        self.fold.beside_card = true;
        match self.poses() {
            Some(Poses::Here(poses)) => self.look_at(&poses),
            Some(Poses::Coming(arrival)) => self.pointer.poses = Some(arrival),
            None => {}
        }
    }

    /// Requests the poses of all bodies; `None` while the world is away.
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
        let arrival = Arrival::send(device, &mut encoder, DrawInputs::of(of).poses, bytes, None);
        note_read_back(&self.context, 1, bytes);
        self.context.queue().submit([encoder.finish()]);
        Some(Poses::Coming(arrival))
    }

    /// Fits the view to bodies at these poses, and follows them from there. The view that the scene gives is used if it
    /// shows them all.
    pub fn look_at(&mut self, poses: &[Pose]) {
        let part = self.free();
        let Some(run) = self.run.here() else { return };
        let compiled = run.world().compiled();
        let scene = Framing::new(compiled, poses, part.size);
        let free = Framing::of_bodies(compiled, poses, part.size);
        let framing = if scene.camera().seen().contains(free.bodies()) { scene } else { free };
        let left = Some(self.show(&framing.camera()));
        self.camera_follow =
            CameraFollow { first: Some(framing), part, follows: true, left, ..CameraFollow::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_over_the_picture_is_made_room_for() {
        let rest = |left, right| Covered { left, right }.rest([600, 300]);
        assert_eq!(rest(0.0, 0.0), Free { shift: 0.0, size: [600, 300] });
        assert_eq!(rest(100.0, 0.0), Free { shift: 50.0, size: [500, 300] });
        assert_eq!(rest(50.0, 250.0), Free { shift: -100.0, size: [300, 300] });
        assert_eq!(rest(50.0, 500.0), Free { shift: 25.0, size: [550, 300] }, "a panel that leaves nothing is not");
        assert_eq!(rest(500.0, 0.0), Free { shift: 0.0, size: [600, 300] });
    }
}
