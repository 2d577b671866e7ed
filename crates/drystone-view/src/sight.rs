//! Where the camera looks.
//!
//! A scene with a view is shown so. In any other the camera follows the bodies, softly, until the user moves it; F or the
//! button "fit" gives it back.

use glam::Vec2;

use super::app::App;
use super::drawing::split;
use drystone::World;
use drystone::low_level::gpu::Arrival;
use drystone::low_level::types::Pose;
use drystone_draw::{Bounds, Camera, DrawInputs, Framing};

/// Frames between two looks at where the bodies are …
const LOOK_EVERY: u32 = 4;
/// … in worlds of at most so many shapes; …
const FEW_SHAPES: usize = 5_000;
/// … and in larger ones.
const LOOK_SELDOM: u32 = 15;
/// Worlds of more shapes are not followed: a look at them takes longer than a frame.
const MOST_SHAPES: usize = 100_000;
/// In this time the camera comes half of the way, s.
const HALF_WAY: f64 = 0.07;
/// The camera comes closer only where it could come this many times closer.
const CLOSER: f32 = 2.5;
/// Share of the picture that may be missing at its edges before the camera moves.
const SLACK: f32 = 0.01;
/// Where an edge of the picture moves outwards, there is room for as many looks to come: an answer of the device and the
/// camera take their time.
const AHEAD: f32 = 4.0;

/// Frames for which the camera stands still after a body was let go of: the hand is still there.
const REST: u32 = 30;

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

/// Sides of the picture over which tools, cards or the panel lie, px.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Covered {
    pub left: f32,
    pub right: f32,
}

/// Rectangle of the picture over which nothing lies: what is fitted is fitted into it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Free {
    /// Its middle from the middle of the picture, px to the right.
    shift: f32,
    /// px.
    size: [u32; 2],
}

impl Covered {
    /// The rest of a picture. Where it is less than a third of the width, what lies over the picture is not made room for.
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

/// Bodies as the camera knows them, and its next move.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    /// The world as the camera began to follow it.
    first: Option<Framing>,
    /// Part of the picture that the framing is for.
    part: Free,
    /// The user has not taken the camera.
    pub follows: bool,
    /// The camera as this left it: a camera elsewhere was moved by the user.
    left: Option<(Vec2, f32)>,
    /// Place that the middle of the free part is to show, m, and m/px.
    goal: Option<(Vec2, f32)>,
    /// The next look puts the camera where it belongs at once.
    jumps: bool,
    coming: Option<Arrival>,
    /// Extent that was to be shown at the last look.
    wanted: Option<Bounds>,
    /// Steps done and the camera at the last look.
    looked: Option<(u64, Vec2, f32)>,
    frames: u32,
    /// Frames that the camera has yet to stand still.
    rests: u32,
    /// There are dynamic bodies, and none is in the picture.
    pub blank: bool,
}

impl Sight {
    /// Drops an answer that a lost device will not give.
    pub fn forget(&mut self) {
        self.coming = None;
    }

    /// Lets the camera stay where it is, as if the user had taken it.
    pub fn stay(&mut self) {
        (self.follows, self.goal) = (false, None);
    }

    /// True while the camera is on its way.
    pub fn moves(&self) -> bool {
        self.goal.is_some()
    }
}

impl App {
    /// The part of the window that shows the world, px.
    pub fn place(&mut self, origin: Vec2, size: [u32; 2]) {
        let size = [size[0].max(1), size[1].max(1)];
        // The middle stays in the middle, as large as it was; where the camera follows, the next look fits it.
        self.camera.size = size;
        let part = self.free();
        if self.fit == Fit::Wanted
            && let Some(run) = self.run.here()
        {
            let compiled = run.world().compiled();
            let framing = Framing::new(compiled, &compiled.poses, part.size);
            // A world that goes on from a file may be far from where its scene began.
            let jumps = run.steps() > 0 && !framing.is_given();
            let left = Some(self.show(&framing.camera()));
            self.sight = Sight { first: Some(framing), part, follows: true, left, jumps, ..Sight::default() };
            self.fit = Fit::Done;
        }
        self.camera.origin = origin;
        if self.fit == Fit::Done {
            self.follow(part);
        }
    }

    /// The camera of the first world: all of the window, or the left half of it.
    fn first_part(&self) -> Camera {
        split(&self.camera, self.worlds())[0]
    }

    /// The part of the first world's picture over which nothing lies.
    fn free(&self) -> Free {
        self.fold.covered.rest(self.first_part().size)
    }

    /// The camera of that part alone.
    fn free_part(&self) -> Camera {
        let (part, free) = (self.first_part(), self.free());
        let center = part.center + Vec2::new(free.shift * part.metres_per_pixel, 0.0);
        Camera { center, size: free.size, ..part }
    }

    /// Shows in the free part of the picture what a camera shows; returns the camera of the whole picture.
    fn show(&mut self, wanted: &Camera) -> (Vec2, f32) {
        let scale = wanted.metres_per_pixel;
        let center = wanted.center - Vec2::new(self.free().shift * scale, 0.0);
        self.camera = Camera { center, metres_per_pixel: scale, ..self.camera };
        (center, scale)
    }

    /// Once a frame: looks now and then where the bodies are, and moves the camera.
    fn follow(&mut self, part: Free) {
        let now = (self.camera.center, self.camera.metres_per_pixel);
        if self.sight.left.is_some_and(|left| left != now) {
            (self.sight.follows, self.sight.goal) = (false, None);
        }
        self.sight.rests = if self.pointer.holds() { REST } else { self.sight.rests.saturating_sub(1) };
        if self.sight.part != part {
            self.fit_anew(part);
        }
        self.look_around();
        self.move_camera();
        self.sight.left = Some((self.camera.center, self.camera.metres_per_pixel));
    }

    /// The window has another size, or something else lies over it: the whole picture is framed for it, unless the user has the camera.
    fn fit_anew(&mut self, part: Free) {
        // A world that is away is asked again when it is back.
        let Some(run) = self.run.here() else { return };
        self.sight.part = part;
        if !self.sight.follows {
            return;
        }
        let compiled = run.world().compiled();
        let framing = Framing::new(compiled, &compiled.poses, part.size);
        let camera = framing.camera();
        let begun = framing.is_given() || run.steps() == 0;
        self.sight.first = Some(framing);
        if begun {
            self.show(&camera);
        } else {
            (self.sight.jumps, self.sight.looked) = (true, None);
        }
    }

    fn look_around(&mut self) {
        if let Some(arrival) = &self.sight.coming {
            match arrival.take() {
                Ok(Some(bytes)) => {
                    self.sight.coming = None;
                    self.see(&drystone::low_level::gpu::cast::<Pose>(&bytes));
                }
                Ok(None) => {}
                // The caller that steps the world says so.
                Err(_) => self.sight.coming = None,
            }
            return;
        }
        self.sight.frames += 1;
        let now = (self.run.steps(), self.camera.center, self.camera.metres_per_pixel);
        let shapes = self.facts().shapes;
        let often = if shapes > FEW_SHAPES { LOOK_SELDOM } else { LOOK_EVERY };
        let due = self.sight.frames >= often || self.sight.jumps;
        let is_too_large = shapes > MOST_SHAPES && !self.sight.jumps;
        if !due || self.sight.looked == Some(now) || !self.is_settled() || is_too_large {
            return;
        }
        (self.sight.frames, self.sight.looked) = (0, Some(now));
        match self.poses() {
            Some(Poses::Here(poses)) => self.see(&poses),
            Some(Poses::Coming(arrival)) => self.sight.coming = Some(arrival),
            None => {}
        }
    }

    /// The bodies are at these poses.
    fn see(&mut self, poses: &[Pose]) {
        let now = self.free_part();
        let whole = self.first_part();
        let Some(run) = self.run.here() else { return };
        let compiled = run.world().compiled();
        let blank = Framing::sees_any(&whole, &compiled.shapes, poses) == Some(false);
        // A held body goes where the pointer is: the picture must not go after it.
        let follows = self.sight.follows && self.sight.rests == 0;
        let framing = self.sight.first.as_ref().filter(|framing| follows && !framing.is_given());
        let wanted = framing.map(|framing| framing.camera_later(compiled, poses));
        self.sight.blank = blank;
        let Some(wanted) = wanted else { return };
        // Softly, unless there is nothing to be seen meanwhile.
        if std::mem::take(&mut self.sight.jumps) || blank {
            (self.sight.goal, self.sight.blank) = (None, false);
            self.show(&wanted);
            return;
        }
        let (center, metres_per_pixel) = self.sight.goal.unwrap_or((now.center, now.metres_per_pixel));
        let there = Camera { center, metres_per_pixel, ..now };
        let seen = wanted.seen();
        let before = self.sight.wanted.replace(seen).unwrap_or(seen);
        let lacks = !there.seen().grow(SLACK * there.height()).contains(seen);
        if lacks || there.height() > CLOSER * wanted.height() {
            let most = 0.5 * seen.size();
            let ahead = Bounds {
                min: seen.min + (AHEAD * (seen.min - before.min)).clamp(-most, Vec2::ZERO),
                max: seen.max + (AHEAD * (seen.max - before.max)).clamp(Vec2::ZERO, most),
            };
            let Camera { center, metres_per_pixel, .. } = Camera::fit(ahead, now.size, 0.0);
            self.sight.goal = Some((center, metres_per_pixel));
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a share")]
    fn move_camera(&mut self) {
        let Some((center, metres_per_pixel)) = self.sight.goal.filter(|_| self.sight.rests == 0) else { return };
        let seconds = if self.patient { 1.0 / 60.0 } else { (1e-3 * self.frame_ms).min(0.1) };
        let share = (1.0 - 0.5_f64.powf(seconds / HALF_WAY)) as f32;
        let mut camera = self.free_part();
        let before = (camera.center, camera.metres_per_pixel);
        camera.center += (center - camera.center) * share;
        camera.metres_per_pixel *= (metres_per_pixel / camera.metres_per_pixel).powf(share);
        let near = (camera.metres_per_pixel / metres_per_pixel - 1.0).abs() < 1e-3
            && camera.center.distance(center) < 0.5 * metres_per_pixel;
        // Far from the origin a part of the way may be less than coordinates tell apart.
        if near || before == (camera.center, camera.metres_per_pixel) {
            (camera.center, camera.metres_per_pixel) = (center, metres_per_pixel);
            self.sight.goal = None;
        }
        self.show(&camera);
    }

    /// On a screen with so many pixels a point. On one of finer pixels all is as large as it was.
    pub fn on_screen(&mut self, pixels_per_point: f32) {
        if pixels_per_point != self.pixels_per_point && pixels_per_point > 0.0 {
            self.zoom_along(self.pixels_per_point / pixels_per_point);
            self.pixels_per_point = pixels_per_point;
        }
    }

    /// Zooms for another reason than the user's: the camera goes on to follow.
    pub fn zoom_along(&mut self, factor: f32) {
        self.camera.metres_per_pixel *= factor;
        for (_, metres_per_pixel) in [&mut self.sight.left, &mut self.sight.goal].into_iter().flatten() {
            *metres_per_pixel *= factor;
        }
    }

    /// A place in the world under a pixel, whichever of two worlds it is in.
    pub fn world_at(&self, pixel: Vec2) -> Vec2 {
        let cameras = split(&self.camera, self.worlds());
        let over = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first());
        over.map_or(Vec2::ZERO, |camera| camera.to_world(pixel))
    }

    /// Frames the world as it is, beside a card if there is one: on the GPU as soon as its poses have arrived.
    pub fn frame_all(&mut self) {
        self.fold.beside_card = true;
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
        let arrival = Arrival::send(device, &mut encoder, DrawInputs::of(of).poses, bytes, None);
        self.context.note_sent(1, bytes);
        self.context.queue().submit([encoder.finish()]);
        Some(Poses::Coming(arrival))
    }

    /// Puts the camera where it sees bodies at these poses: where the scene says, if they are all there. From there it
    /// follows them.
    pub fn look_at(&mut self, poses: &[Pose]) {
        let part = self.free();
        let Some(run) = self.run.here() else { return };
        let compiled = run.world().compiled();
        let scene = Framing::new(compiled, poses, part.size);
        let free = Framing::of_bodies(compiled, poses, part.size);
        let framing = if scene.camera().seen().contains(free.bodies()) { scene } else { free };
        let left = Some(self.show(&framing.camera()));
        self.sight = Sight { first: Some(framing), part, follows: true, left, ..Sight::default() };
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
