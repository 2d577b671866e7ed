//! Layers: each shows its content at the right position, from the GPU's buffers and from uploaded ones, and culling
//! drops only invisible shapes.
//!
//! Needs a Vulkan adapter; a software one (Mesa's lavapipe) will do. Every picture is also written as a PNG to
//! `target/tmp` for inspection.

#[path = "../../../../tests/support/mod.rs"]
mod support;

mod coloring;
mod culling;
mod frames;
mod signs;

use drystone::low_level::CpuWorld;
use drystone::{Body, Scene, Shape};
use drystone_draw::{Camera, DrawInputs, Image, Layers, Offscreen, Style, Upload};
use glam::Vec2;
use support::{context, cpu};

fn offscreen() -> Offscreen {
    Offscreen::new(context().device(), context().queue()).expect("pipelines")
}

fn upload(world: &CpuWorld) -> Upload {
    let mut upload = Upload::new(context().device(), context().queue());
    upload.refresh(world, true).expect("uploads");
    upload
}

fn keep(image: &Image, name: &str) {
    let path = format!("{}/layers-{name}.png", env!("CARGO_TARGET_TMPDIR"));
    image.write_png(&path).expect("writes");
}

fn draw(inputs: &DrawInputs<'_>, camera: &Camera, style: &Style, layers: &Layers) -> Image {
    offscreen().layered_picture(inputs, camera, style, layers).expect("draws")
}

fn stepped(scene: &Scene, steps: usize) -> CpuWorld {
    let mut world = cpu(scene);
    for _ in 0..steps {
        world.step().unwrap();
    }
    world
}

fn all_layers() -> Layers {
    Layers {
        sleep: true,
        aabbs: true,
        grid: true,
        constraints: true,
        joints: true,
        contacts: true,
        normals: true,
        impulses: true,
        friction: true,
        forces: true,
        velocities: true,
        ..Layers::default()
    }
}

/// Returns the colour of one pixel, 0 – 255.
fn at(image: &Image, camera: &Camera, point: Vec2) -> [u8; 3] {
    let pixel = camera.to_pixel(point).floor();
    assert!(pixel.min_element() >= 0.0, "{point} is outside the picture");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside the picture")]
    let [r, g, b, _] = image.pixel(pixel.x as u32, pixel.y as u32).expect("inside the picture");
    [r, g, b]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
fn bytes(color: [f32; 3]) -> [u8; 3] {
    color.map(|c| (c * 255.0).round() as u8)
}

fn apart(a: [u8; 3], b: [u8; 3]) -> u8 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).max().unwrap_or(0)
}

/// Returns a style without grid and scale bar and with one colour for all bodies, so that all other pixels come from a
/// layer.
fn bare() -> Style {
    Style { grid_strength: 0.0, scale_bar: false, scatter: 0.0, lightness: 0.0, ..Style::light() }
}

/// Returns the pixels that differ by more than rounding.
fn changed(a: &Image, b: &Image) -> Vec<Vec2> {
    assert_eq!((a.width, a.height), (b.width, b.height));
    let pairs = a.rgba.chunks(4).zip(b.rgba.chunks(4)).enumerate();
    let differs = pairs.filter(|(_, (a, b))| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 2));
    let width = a.width as usize;
    differs.map(|(index, _)| Vec2::new((index % width) as f32 + 0.5, (index / width) as f32 + 0.5)).collect()
}

/// Returns the maximum and mean difference of a channel.
fn difference(a: &Image, b: &Image) -> (u8, f64) {
    assert_eq!((a.width, a.height, a.rgba.len()), (b.width, b.height, b.rgba.len()));
    let apart = || a.rgba.iter().zip(&b.rgba).map(|(x, y)| x.abs_diff(*y));
    (apart().max().unwrap_or(0), apart().map(f64::from).sum::<f64>() / a.rgba.len() as f64)
}

/// Returns a scene with a box of one metre at rest on the ground, at the origin.
fn box_on_ground() -> Scene {
    let mut scene = Scene::new("box on ground");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    scene
}

fn close_up() -> Camera {
    // Shifted by half a pixel: edges of boxes at whole metres are in the middle of pixels.
    Camera::new(Vec2::new(0.005, 0.505), 3.0, [360, 300])
}

/// One world drawn with and without layers, and the pixels that differ.
struct Shown {
    camera: Camera,
    with: Image,
    changed: Vec<Vec2>,
}

impl Shown {
    fn new(name: &str, world: &CpuWorld, camera: Camera, layers: &Layers) -> Self {
        let upload = upload(world);
        let mut offscreen = offscreen();
        let mut picture =
            |layers: &Layers| offscreen.layered_picture(&upload.inputs(), &camera, &bare(), layers).expect("draws");
        let (with, without) = (picture(layers), picture(&Layers::default()));
        keep(&with, name);
        let changed = changed(&with, &without);
        Self { camera, with, changed }
    }

    /// Returns the number of changed pixels within `radius` pixels of a point.
    fn near(&self, point: Vec2, radius: f32) -> usize {
        let pixel = self.camera.to_pixel(point);
        self.changed.iter().filter(|changed| changed.distance(pixel) <= radius).count()
    }
}
