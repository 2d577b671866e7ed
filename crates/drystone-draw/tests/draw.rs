//! Pictures of the GPU match those of the rasteriser, show the right content, and fail with errors.
//!
//! Needs a Vulkan adapter; a software one (Mesa's lavapipe) will do. Every picture is also written as a PNG to
//! `target/tmp` for inspection.

use drystone::low_level::scene::Compiled;
use drystone::low_level::types::Pose;
use drystone::{Body, Scene, Shape};
use drystone_draw::{Bounds, Camera, DrawError, DrawInputs, Image, Layers, Offscreen, Renderer, Style, raster};
use glam::Vec2;

/// Maximum difference of a channel: the GPU rounds to 8 bits after every shape, the rasteriser once, and circles and
/// quads use different square roots. A wrong edge of half a pixel differs by 60.
const WORST_CHANNEL: u8 = 4;
/// Maximum mean difference over all channels: off by one in a fifth of them, from rounding where many shapes overlap.
const MEAN_CHANNEL: f64 = 0.2;

fn device() -> (wgpu::Device, wgpu::Queue) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .expect("a Vulkan adapter; on Debian: apt install mesa-vulkan-drivers");
    pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).expect("a device")
}

/// Deterministic pseudo-random numbers.
struct Noise(u32);

impl Noise {
    fn next(&mut self, low: f32, high: f32) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        low + (high - low) * (self.0 >> 8) as f32 / 16_777_216.0
    }
}

/// Returns a small scene with every kind of body and shape.
fn handmade() -> Compiled {
    let mut scene = Scene::new("handmade");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(50.0, 1.0).offset(0.0, -1.0)));
    scene.add(Body::fixed(-6.5, 1.5).angle(-0.5).shape(Shape::half_box(2.0, 0.15)));
    scene.add(Body::kinematic(6.0, 2.5).angle(0.4).shape(Shape::half_box(2.0, 0.25)));
    for i in 0..6 {
        let x = -4.0 + 1.4 * i as f32;
        scene.add(Body::dynamic(x, 0.5 + 0.3 * i as f32).angle(0.25 * i as f32).shape(Shape::half_box(0.5, 0.5)));
        scene.add(Body::dynamic(x, 4.0).angle(0.7 * i as f32).shape(Shape::circle(0.1 + 0.1 * i as f32)));
    }
    scene.add(
        Body::dynamic(0.0, 6.0)
            .angle(0.6)
            .shape(Shape::half_box(1.0, 0.2))
            .shape(Shape::circle(0.45).offset(1.2, 0.0))
            .shape(Shape::half_box(0.2, 0.6).offset(-1.1, 0.3).rotation(0.3)),
    );
    // Overlapping shapes, and one smaller than a pixel.
    scene.add(Body::dynamic(0.3, 6.2).shape(Shape::half_box(0.3, 0.3)));
    scene.add(Body::dynamic(-3.0, 6.0).shape(Shape::circle(0.004)));
    scene.add(Body::dynamic(-3.0, 6.5).angle(0.3).shape(Shape::half_box(0.8, 0.002)));
    Compiled::new(&scene).expect("valid")
}

/// Returns a scene with every kind of shape: sharp, rounded, slender, tiny and turned, on a half plane.
fn all_shapes() -> Compiled {
    let mut scene = Scene::new("all shapes");
    scene.add(Body::fixed(0.0, 0.0).angle(-0.05).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::segment([-5.0, 3.0], [-1.0, 2.4])));
    scene.add(Body::kinematic(4.0, 3.0).angle(0.3).shape(Shape::capsule([-1.0, 0.0], [1.0, 0.0], 0.1)));
    let regular = |count: u8, radius: f32| {
        (0..count).map(move |i| Vec2::from_angle(std::f32::consts::TAU * f32::from(i) / f32::from(count)) * radius)
    };
    let rounded =
        |count: u8| Shape::new(drystone::Geometry::Polygon { points: regular(count, 0.35).collect(), radius: 0.15 });
    let shapes = [
        Shape::capsule([-0.5, -0.1], [0.5, 0.2], 0.25),
        Shape::capsule([0.0, 0.3], [0.0, 1.0], 0.05),
        Shape::rounded_box(0.4, 0.2, 0.15),
        Shape::polygon(regular(3, 0.6)),
        Shape::polygon(regular(5, 0.5)),
        Shape::polygon(regular(8, 0.5)),
        rounded(3),
        rounded(6),
        Shape::polygon([[-0.8, 0.0], [0.8, -0.05], [0.8, 0.05]]),
        Shape::particle(0.3),
        Shape::polygon(regular(6, 0.004)),
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        let at = Vec2::new(index as f32 * 1.1 - 5.5, 1.0 + 0.5 * (index % 3) as f32);
        scene.add(Body::dynamic(at.x, at.y).angle(0.4 * index as f32).shape(shape));
    }
    Compiled::new(&scene).expect("valid")
}

/// Returns Box2D's pyramid: `base` rows of 1 m boxes on a ground 200 m wide.
fn large_pyramid(base: u16) -> Compiled {
    let mut scene = Scene::new("large_pyramid");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(100.0, 1.0)));
    for i in 0..base {
        for j in i..base {
            let x = f32::from(i + 1) * 0.5 + f32::from(j - i) - 0.5 * f32::from(base);
            scene.add(Body::dynamic(x, f32::from(2 * i + 1) * 0.5).shape(Shape::half_box(0.5, 0.5)));
        }
    }
    Compiled::new(&scene).expect("valid")
}

fn mess() -> Compiled {
    let mut noise = Noise(7);
    let mut scene = Scene::new("mess");
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(40.0, 0.5)));
    scene.add(Body::fixed(-17.5, 8.0).shape(Shape::half_box(0.5, 8.0)));
    scene.add(Body::fixed(17.5, 8.0).shape(Shape::half_box(0.5, 8.0)));
    scene.add(Body::kinematic(0.0, 9.0).angle(0.3).shape(Shape::half_box(5.0, 0.3)));
    for i in 0..420_u16 {
        let body = Body::dynamic(noise.next(-16.0, 16.0), 0.5 + f32::from(i) * 0.036 + noise.next(0.0, 1.0))
            .angle(noise.next(0.0, std::f32::consts::TAU));
        scene.add(match i % 5 {
            0 | 1 => body.shape(Shape::circle(noise.next(0.2, 0.65))),
            2 => body.shape(Shape::half_box(0.8, 0.2)).shape(Shape::half_box(0.2, 0.8)),
            _ => body.shape(Shape::half_box(noise.next(0.2, 0.8), noise.next(0.2, 0.6))),
        });
    }
    Compiled::new(&scene).expect("valid")
}

fn single_box() -> Compiled {
    let mut scene = Scene::new("single box");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    scene.add(Body::dynamic(0.0, 2.5).angle(0.3).shape(Shape::half_box(0.5, 0.5)));
    Compiled::new(&scene).expect("valid")
}

fn column() -> Compiled {
    let mut scene = Scene::new("column");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(100.0, 1.0)));
    for i in 0..1000_u16 {
        scene.add(Body::dynamic(0.0, 0.5 + f32::from(i)).shape(Shape::half_box(0.5, 0.5)));
    }
    Compiled::new(&scene).expect("valid")
}

fn fit(world: &Compiled, size: [u32; 2]) -> Camera {
    Camera::fit_scene(&world.poses, &world.shapes, size)
}

fn raster(world: &Compiled, camera: &Camera, style: &Style) -> Image {
    raster::picture(&world.poses, &world.shapes, &world.vertices, camera, style).expect("rasterises")
}

fn keep(image: &Image, name: &str) {
    let path = format!("{}/draw-{name}.png", env!("CARGO_TARGET_TMPDIR"));
    image.write_png(&path).expect("writes");
}

/// Returns the maximum and mean difference of a channel.
fn difference(a: &Image, b: &Image) -> (u8, f64) {
    assert_eq!((a.width, a.height, a.rgba.len()), (b.width, b.height, b.rgba.len()));
    let apart = || a.rgba.iter().zip(&b.rgba).map(|(x, y)| x.abs_diff(*y));
    (apart().max().unwrap_or(0), apart().map(f64::from).sum::<f64>() / a.rgba.len() as f64)
}

fn look_alike(a: &Image, b: &Image) -> bool {
    let (worst, mean) = difference(a, b);
    worst <= WORST_CHANNEL && mean <= MEAN_CHANNEL
}

/// Makes a world.
type Make = fn() -> Compiled;

#[test]
fn gpu_draws_what_the_rasteriser_draws() {
    let (device, queue) = device();
    let mut offscreen = Offscreen::new(&device, &queue).expect("pipelines");
    // 701 × 4 bytes is not a multiple of 256: rows are padded in the readback.
    let scenes: [(&str, Make, [u32; 2]); 7] = [
        ("handmade", handmade, [701, 397]),
        ("all_shapes", all_shapes, [1200, 500]),
        ("large_pyramid", || large_pyramid(100), [1600, 900]),
        ("mess", mess, [1600, 900]),
        ("single_box", single_box, [1600, 900]),
        ("column", column, [1600, 900]),
        ("small", mess, [97, 61]),
    ];
    for (name, make, size) in scenes {
        let world = make();
        for (style_name, style) in [("light", Style::light()), ("dark", Style::dark())] {
            let camera = fit(&world, size);
            let cpu = raster(&world, &camera, &style);
            let gpu =
                offscreen.picture_of(&world.poses, &world.shapes, &world.vertices, &camera, &style).expect("draws");
            keep(&cpu, &format!("{name}-{style_name}-raster"));
            keep(&gpu, &format!("{name}-{style_name}-gpu"));
            let (worst, mean) = difference(&cpu, &gpu);
            println!("{name} {style_name}: worst {worst}, mean {mean:.5}");
            assert!(look_alike(&cpu, &gpu), "{name} {style_name}: worst channel differs by {worst}, mean {mean}");
        }
    }
}

/// Negative control: the comparison above detects small changes.
#[test]
fn comparison_detects_a_moved_body_and_a_wrong_style() {
    let (device, queue) = device();
    let world = handmade();
    let camera = fit(&world, [701, 397]);
    let style = Style::light();
    let cpu = raster(&world, &camera, &style);
    let mut offscreen = Offscreen::new(&device, &queue).expect("pipelines");
    let mut draw = |poses: &[Pose], style: &Style| {
        offscreen.picture_of(poses, &world.shapes, &world.vertices, &camera, style).expect("draws")
    };
    assert!(look_alike(&cpu, &draw(&world.poses, &style)));

    let mut moved = world.poses.clone();
    moved[5].position[0] += 0.25 * camera.metres_per_pixel;
    assert!(!look_alike(&cpu, &draw(&moved, &style)), "a body moved by a quarter of a pixel");
    let mut turned = world.poses.clone();
    turned[14].rotation = [turned[14].rotation[1], -turned[14].rotation[0]];
    assert!(!look_alike(&cpu, &draw(&turned, &style)), "a circle turned by 90°");
    let thinner = Style { outline: 1.2, ..style };
    assert!(!look_alike(&cpu, &draw(&world.poses, &thinner)), "an outline thinner by a fifth");
}

/// Draws into targets like those of a window: part of a larger texture, four samples, sRGB.
#[test]
fn renderer_draws_into_a_part_of_any_target() {
    let (device, queue) = device();
    let world = handmade();
    let style = Style::light();
    let camera = fit(&world, [301, 203]);
    let alone = raster(&world, &camera, &style);
    let buffer = |bytes: &[u8]| {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.len() as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&buffer, 0, bytes);
        buffer
    };
    let poses = buffer(bytemuck::cast_slice(&world.poses));
    let shapes = buffer(bytemuck::cast_slice(&world.shapes));
    let inputs = DrawInputs {
        poses: &poses,
        shapes: &shapes,
        vertices: &shapes,
        shape_count: world.params.shape_count,
        body_count: world.params.body_count,
        ramp_bodies: world.params.body_count,
        tables: None,
        bodies: None,
        reference: None,
    };
    let extent = wgpu::Extent3d { width: 512, height: 256, depth_or_array_layers: 1 };
    let at = [37, 21];
    let part = Camera { origin: Vec2::new(37.0, 21.0), ..camera };
    for (format, samples) in [
        (wgpu::TextureFormat::Rgba8Unorm, 1),
        (wgpu::TextureFormat::Rgba8Unorm, 4),
        (wgpu::TextureFormat::Rgba8UnormSrgb, 4),
    ] {
        let texture = |sample_count| {
            device.create_texture(&wgpu::TextureDescriptor {
                label: None,
                size: extent,
                mip_level_count: 1,
                sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
                view_formats: &[],
            })
        };
        let resolved = texture(1);
        let resolved_view = resolved.create_view(&wgpu::TextureViewDescriptor::default());
        let many_view = (samples > 1).then(|| {
            // Textures of this kind cannot be copied from.
            device
                .create_texture(&wgpu::TextureDescriptor {
                    label: None,
                    size: extent,
                    mip_level_count: 1,
                    sample_count: samples,
                    dimension: wgpu::TextureDimension::D2,
                    format,
                    usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
                    view_formats: &[],
                })
                .create_view(&wgpu::TextureViewDescriptor::default())
        });
        let renderer = Renderer::new(&device, format, samples);
        let frame = renderer.frame(&device, &queue, &inputs, &part, &style, &Layers::default()).expect("a frame");
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        renderer.prepare(&mut encoder, &frame);
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: many_view.as_ref().unwrap_or(&resolved_view),
                    depth_slice: None,
                    resolve_target: many_view.as_ref().map(|_| &resolved_view),
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color::GREEN),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                ..Default::default()
            });
            renderer.draw(&mut pass, &frame);
        }
        let readback = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 512 * 256 * 4,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        encoder.copy_texture_to_buffer(
            resolved.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &readback,
                layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(512 * 4), rows_per_image: None },
            },
            extent,
        );
        queue.submit([encoder.finish()]);
        readback.slice(..).map_async(wgpu::MapMode::Read, |result| result.expect("maps"));
        device.poll(wgpu::PollType::wait_indefinitely()).expect("finishes");
        let whole = Image { width: 512, height: 256, rgba: readback.get_mapped_range(..).expect("mapped").to_vec() };

        assert_eq!(whole.pixel(36, 21), Some([0, 255, 0, 255]), "pixels outside of the picture are unchanged");
        let mut rgba = Vec::new();
        for y in 0..203 {
            for x in 0..301 {
                rgba.extend(whole.pixel(x + at[0], y + at[1]).expect("inside"));
            }
        }
        let cut = Image { width: 301, height: 203, rgba };
        if format.is_srgb() {
            // There, smooth edges are blended in linear light; flat colours must match.
            let close = cut.rgba.iter().zip(&alone.rgba).filter(|(a, b)| a.abs_diff(**b) <= 2).count();
            let share = close as f64 / cut.rgba.len() as f64;
            assert!(share > 0.9, "{format:?} × {samples}: only {share} of the channels agree");
        } else {
            assert!(look_alike(&cut, &alone), "{format:?} × {samples}: {:?}", difference(&cut, &alone));
        }
    }
}

#[test]
fn kinds_of_bodies_have_their_colours() {
    let world = handmade();
    let style = Style { grid_strength: 0.0, scale_bar: false, ..Style::light() };
    let camera = fit(&world, [701, 397]);
    let image = raster(&world, &camera, &style);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside the picture")]
    let at = |x: f32, y: f32| {
        let pixel = camera.to_pixel(Vec2::new(x, y));
        image.pixel(pixel.x as u32, pixel.y as u32).map(|[r, g, b, _]| [r, g, b])
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
    let bytes = |color: [f32; 3]| Some(color.map(|c| (c * 255.0).round() as u8));
    assert_eq!(at(-5.0, -0.4), bytes(style.fixed));
    assert_eq!(at(5.0, 2.5 - 0.42), bytes(style.kinematic));
    assert_eq!(at(-6.0, 6.0), bytes(style.background));
    // Bodies of different index have different colours; shapes of one body have the same.
    let boxes = [at(-4.0, 0.3), at(-2.6, 0.6), at(-1.2, 0.9)];
    assert!(boxes[0] != boxes[1] && boxes[1] != boxes[2] && boxes[0] != boxes[2], "{boxes:?}");
}

/// The mark shows how a body turns: particles and bodies with fixed rotation have none.
#[test]
fn bodies_that_never_turn_have_no_mark() {
    let style = Style { grid_strength: 0.0, scale_bar: false, ..Style::light() };
    let drawn = |body: Body| {
        let mut scene = Scene::new("one");
        scene.add(body);
        let world = Compiled::new(&scene).expect("valid");
        let image = raster(&world, &Camera::new(Vec2::ZERO, 2.5, [100, 100]), &style);
        keep(&image, "marks");
        let pixel = |x: u32| image.pixel(x, 50).map(|[r, g, b, _]| [r, g, b]);
        // Where the radius of a circle is drawn, and on the opposite side.
        (pixel(65), pixel(35))
    };
    let circle = || Body::dynamic(0.0, 0.0).shape(Shape::circle(1.0));
    let mut still = circle();
    still.fixed_rotation = true;
    for (what, body, marked) in [
        ("circle", circle(), true),
        ("particle", Body::dynamic(0.0, 0.0).shape(Shape::particle(1.0)), false),
        ("fixed rotation", still, false),
    ] {
        let (on, beside) = drawn(body);
        assert!(on.is_some() && beside.is_some(), "{what}: {on:?}");
        assert_eq!(on != beside, marked, "{what}: {on:?} {beside:?}");
    }
}

/// A lone speck is visible, and specks that tile an area cover it.
#[test]
fn shapes_below_a_pixel_are_dots() {
    let style = Style { grid_strength: 0.0, scale_bar: false, scatter: 0.0, lightness: 0.0, ..Style::light() };
    let camera = Camera::new(Vec2::ZERO, 100.0, [100, 100]);
    let darkest = |world: &Compiled| {
        let image = raster(world, &camera, &style);
        let background = image.pixel(0, 0).expect("inside");
        image.rgba.chunks(4).flat_map(|p| (0..3).map(|i| p[i].abs_diff(background[i]))).max().unwrap_or(0)
    };
    let speck = |radius: f32| {
        let mut scene = Scene::new("speck");
        scene.add(Body::dynamic(0.5, 0.5).shape(Shape::circle(radius)));
        Compiled::new(&scene).expect("valid")
    };
    let (small, smaller) = (darkest(&speck(0.2)), darkest(&speck(0.05)));
    assert!(small > smaller && smaller > 5, "{small} then {smaller}");

    // Boxes of a quarter pixel, side by side: the middle of the patch must be almost opaque.
    let mut scene = Scene::new("tiles");
    for i in 0..40_u16 {
        for j in 0..40_u16 {
            let at = Vec2::new(f32::from(i), f32::from(j)) * 0.25 - 5.0;
            scene.add(Body::dynamic(at.x, at.y).shape(Shape::half_box(0.125, 0.125)));
        }
    }
    let tiles = Compiled::new(&scene).expect("valid");
    let flat = Style { ramp: [[0.0; 3]; 8], ..style };
    let image = raster(&tiles, &camera, &flat);
    let middle = image.pixel(50, 50).expect("inside");
    assert!(middle[0] < 12, "the background shines through: {middle:?}");
}

#[test]
fn broken_poses_and_shapes_are_left_out() {
    let (device, queue) = device();
    let mut offscreen = Offscreen::new(&device, &queue).expect("pipelines");
    let style = Style::light();
    let mut world = handmade();
    let camera = fit(&world, [301, 203]);
    // Without bodies 4 to 7 …
    let mut without = world.clone();
    without.shapes.retain(|s| !(4..8).contains(&s.body));
    let expected = raster(&without, &camera, &style);
    // … and with invalid ones.
    world.poses[4].position[0] = f32::NAN;
    world.poses[5].rotation[1] = f32::INFINITY;
    world.poses[6].position[1] = f32::NEG_INFINITY;
    for shape in world.shapes.iter_mut().filter(|s| s.body == 7) {
        shape.body = 1_000_000;
    }
    assert!(look_alike(&expected, &raster(&world, &camera, &style)));
    let gpu = offscreen.picture_of(&world.poses, &world.shapes, &world.vertices, &camera, &style).expect("draws");
    assert!(look_alike(&expected, &gpu), "{:?}", difference(&expected, &gpu));
    assert_eq!(fit(&world, [301, 203]).size, [301, 203], "fitting survives them too");
    assert!(fit(&world, [301, 203]).center.is_finite());
}

/// The frame has space for bodies that emitters will add, before any of them exists.
#[test]
fn the_frame_fits_bodies_that_emitters_will_add() {
    let mut scene = Scene::new("late");
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(5.0, 0.5)));
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    let near = Compiled::new(&scene).expect("valid");
    scene.emit(drystone::Emitter::new([Body::dynamic(0.0, 40.0).shape(Shape::circle(0.5))]).start(99));
    let world = Compiled::new(&scene).expect("valid");
    let size = [320, 180];
    let sees = |camera: &Camera, y: f32| (0.0..180.0).contains(&camera.to_pixel(Vec2::new(0.0, y)).y);
    let fitted = |world: &Compiled| {
        let (poses, shapes) = world.with_what_comes(&world.poses);
        Camera::fit_scene(&poses, &shapes, size)
    };
    assert!(sees(&fitted(&world), 40.5) && sees(&fitted(&world), 0.5));
    assert!(!sees(&fitted(&near), 40.5), "without the emitter they are outside");
    assert_eq!(fitted(&near), fit(&near, size));
}

#[test]
fn nothing_to_draw_is_a_background() {
    let (device, queue) = device();
    let mut offscreen = Offscreen::new(&device, &queue).expect("pipelines");
    let camera = Camera::fit_scene(&[], &[], [300, 200]);
    let style = Style::dark();
    let cpu = raster::picture(&[], &[], &[], &camera, &style).expect("rasterises");
    let gpu = offscreen.picture_of(&[], &[], &[], &camera, &style).expect("draws");
    assert!(look_alike(&cpu, &gpu));
    let world = handmade();
    let bodiless = offscreen.picture_of(&[], &world.shapes, &world.vertices, &camera, &style).expect("draws");
    assert!(look_alike(&cpu, &bodiless), "shapes without bodies");
}

#[test]
fn invalid_sizes_cameras_and_buffers_are_errors() {
    let (device, queue) = device();
    let mut offscreen = Offscreen::new(&device, &queue).expect("pipelines");
    let world = handmade();
    let style = Style::light();
    let good = fit(&world, [64, 64]);
    for size in [[0, 10], [10, 0], [0, 0], [10, 1_000_000], [u32::MAX, u32::MAX]] {
        let camera = Camera { size, ..good };
        let gpu = offscreen.picture_of(&world.poses, &world.shapes, &world.vertices, &camera, &style);
        assert!(matches!(gpu, Err(DrawError::Size { .. })), "{size:?}: {gpu:?}");
        let cpu = raster::picture(&world.poses, &world.shapes, &world.vertices, &camera, &style);
        assert!(matches!(cpu, Err(DrawError::Size { .. })), "{size:?}: {cpu:?}");
        assert!(fit(&world, size).center.is_finite(), "fitting any size is harmless");
    }
    // Each side is allowed, the total may not be (8192² · 4 is 256 MiB, the default limit).
    let limit = device.limits().max_texture_dimension_2d;
    assert!(u64::from(limit) * u64::from(limit) * 4 <= device.limits().max_buffer_size, "else expect TooLarge here");
    let camera = Camera { metres_per_pixel: f32::NAN, ..good };
    let blind = offscreen.picture_of(&world.poses, &world.shapes, &world.vertices, &camera, &style);
    assert!(matches!(blind, Err(DrawError::Camera { .. })), "{blind:?}");

    let buffer = |size, usage| {
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let storage = buffer(64, wgpu::BufferUsages::STORAGE);
    let vertex = buffer(64, wgpu::BufferUsages::VERTEX);
    for (poses, shapes, shape_count) in [(&storage, &vertex, 1), (&vertex, &storage, 1), (&storage, &storage, 2)] {
        let (tables, reference) = (None, None);
        let inputs = DrawInputs {
            poses,
            shapes,
            vertices: &storage,
            shape_count,
            body_count: 1,
            ramp_bodies: 1,
            tables,
            bodies: None,
            reference,
        };
        let result = offscreen.picture(&inputs, &good, &style);
        assert!(matches!(result, Err(DrawError::Inputs { .. })), "{result:?}");
    }
    offscreen
        .picture_of(&world.poses, &world.shapes, &world.vertices, &good, &style)
        .expect("still works after every error");

    device.destroy();
    let lost = offscreen.picture_of(&world.poses, &world.shapes, &world.vertices, &good, &style);
    assert!(matches!(lost, Err(DrawError::Device(_))), "{lost:?}");
    let lost = Offscreen::new(&device, &queue).and_then(|mut o| o.picture_of(&[], &[], &[], &good, &style));
    assert!(matches!(lost, Err(DrawError::Device(_))), "{lost:?}");
}

#[test]
fn png_holds_the_pixels() {
    let world = handmade();
    let image = raster(&world, &fit(&world, [123, 45]), &Style::dark());
    let bytes = image.to_png().expect("encodes");
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().expect("a PNG");
    let mut rgb = vec![0; reader.output_buffer_size().expect("small")];
    let info = reader.next_frame(&mut rgb).expect("a frame");
    assert_eq!((info.width, info.height), (123, 45));
    let expected: Vec<u8> = image.rgba.chunks(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
    assert_eq!(rgb, expected);
    let broken = Image { width: 10, height: 10, rgba: vec![0; 4] };
    assert!(matches!(broken.to_png(), Err(DrawError::Png(_))));
    assert!(matches!(image.write_png("/nowhere/at/all.png"), Err(DrawError::File { .. })));
}

/// Returns the visible rectangle of a camera, m.
fn seen(camera: &Camera) -> Bounds {
    let [width, height] = camera.size.map(|n| n as f32);
    let (a, b) = (camera.to_world(Vec2::new(0.0, height)), camera.to_world(Vec2::new(width, 0.0)));
    Bounds { min: a, max: b }
}

fn contains(outer: Bounds, inner: Bounds) -> bool {
    outer.union(inner) == outer
}

#[test]
fn fit_frames_the_pile_and_not_its_ground() {
    let seen = seen(&fit(&large_pyramid(100), [1600, 900]));
    assert!(contains(seen, Bounds { min: Vec2::new(-50.0, -2.0), max: Vec2::new(50.0, 100.0) }), "{seen:?}");
    assert!(seen.size().y < 120.0, "the pyramid fills the height: {seen:?}");
    // In portrait format the width decides.
    let seen = self::seen(&fit(&large_pyramid(100), [900, 1600]));
    assert!(contains(seen, Bounds { min: Vec2::new(-50.0, -2.0), max: Vec2::new(50.0, 100.0) }), "{seen:?}");
    assert!(seen.size().x < 130.0, "{seen:?}");
}

#[test]
fn fit_frames_a_tall_column_whole() {
    let seen = seen(&fit(&column(), [1600, 900]));
    assert!(contains(seen, Bounds { min: Vec2::new(-0.5, 0.0), max: Vec2::new(0.5, 1000.0) }), "{seen:?}");
    assert!(seen.size().y < 1200.0, "{seen:?}");
}

#[test]
fn fit_gives_a_lone_box_room_and_shows_what_it_falls_on() {
    let seen = seen(&fit(&single_box(), [1600, 900]));
    assert!(contains(seen, Bounds { min: Vec2::new(-1.0, -0.1), max: Vec2::new(1.0, 3.2) }), "{seen:?}");
    assert!((4.0..8.0).contains(&seen.size().y), "{seen:?}");
}

#[test]
fn fit_ignores_few_that_flew_far_but_not_in_small_scenes() {
    let mut world = large_pyramid(100);
    let before = fit(&world, [1600, 900]);
    for (i, pose) in world.poses.iter_mut().rev().take(20).enumerate() {
        pose.position = [3000.0 + i as f32, 9000.0];
    }
    let after = fit(&world, [1600, 900]);
    assert!(after.height() < 1.1 * before.height(), "{} m, was {} m", after.height(), before.height());

    let mut scene = Scene::new("two");
    scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    scene.add(Body::dynamic(500.0, 0.0).shape(Shape::circle(0.5)));
    let seen = seen(&fit(&Compiled::new(&scene).expect("valid"), [1600, 900]));
    assert!(contains(seen, Bounds { min: Vec2::new(-0.5, -0.5), max: Vec2::new(500.5, 0.5) }), "{seen:?}");
}

/// A ramp beside the pile is shown whole, a distant wall not at all.
#[test]
fn fit_shows_small_fixed_shapes_nearby_whole() {
    let mut world = handmade();
    let ramp = Bounds::of(&world.shapes[1], &world.poses).expect("finite");
    let view = seen(&fit(&world, [701, 397]));
    assert!(contains(view, ramp), "{view:?}");
    world.poses[1].position[0] = -200.0;
    let without = seen(&fit(&world, [701, 397]));
    assert!(without.size().x < view.size().x, "{without:?}");
}

#[test]
fn fit_shows_walls_around_and_static_scenes_whole() {
    let view = seen(&fit(&mess(), [1600, 900]));
    assert!(contains(view, Bounds { min: Vec2::new(-18.0, -0.5), max: Vec2::new(18.0, 16.0) }), "{view:?}");
    assert!(view.size().x < 50.0, "{view:?}");

    let mut scene = Scene::new("wall");
    scene.add(Body::fixed(30.0, 0.0).shape(Shape::half_box(10.0, 1.0)));
    let view = seen(&fit(&Compiled::new(&scene).expect("valid"), [1600, 900]));
    assert!(contains(view, Bounds { min: Vec2::new(20.0, -1.0), max: Vec2::new(40.0, 1.0) }), "{view:?}");
    assert!(view.size().x < 25.0, "{view:?}");
}

/// 5,000 shapes in "well under a second" on two shared cores; the bound is loose, since other tests run concurrently.
#[test]
fn rasteriser_is_fast() {
    let world = large_pyramid(100);
    let camera = fit(&world, [1600, 900]);
    let best = (0..3)
        .map(|_| {
            let start = std::time::Instant::now();
            raster(&world, &camera, &Style::light());
            start.elapsed()
        })
        .min()
        .expect("three");
    println!("5,051 shapes at 1600 × 900: {best:?}");
    assert!(best.as_millis() < 500, "{best:?}");
}

/// Contrast of two colours, by the Web Content Accessibility Guidelines 2.2.
fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let luminance = |color: [u8; 3]| {
        let linear = |byte: u8| {
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
    };
    let [a, b] = [luminance(a), luminance(b)];
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The scale bar looks the same over anything, as over nothing, on light and on dark; its text stands out from its
/// plate.
#[test]
fn nothing_strikes_the_scale_bar_through() {
    let mut scene = Scene::new("edges");
    for row in 0..40_u8 {
        let y = 0.1 * f32::from(row);
        scene.add(Body::fixed(0.0, y - 2.0).shape(Shape::half_box(50.0, 0.03)));
    }
    let [edges, nothing] = [scene, Scene::new("nothing")].map(|scene| Compiled::new(&scene).unwrap());
    for size in [[400, 300], [1280, 720], [2560, 1440]] {
        for style in [Style::light(), Style::dark()] {
            let style = Style { grid_strength: 0.0, ..style };
            let camera = Camera::new(Vec2::ZERO, 4.0, size);
            let [with, without] = [&edges, &nothing].map(|world| raster(world, &camera, &style));
            let bare = raster(&edges, &camera, &Style { scale_bar: false, ..style });
            let rgb = |image: &Image, x: u32, y: u32| image.pixel(x, y).map(|[r, g, b, _]| [r, g, b]).expect("inside");
            let all = || (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (x, y)));
            let plate: Vec<(u32, u32)> = all().filter(|&(x, y)| rgb(&with, x, y) != rgb(&bare, x, y)).collect();
            let (low, high) = plate.iter().fold(((u32::MAX, u32::MAX), (0, 0)), |(low, high), &(x, y)| {
                ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)))
            });
            let inside = || all().filter(|&(x, y)| (low.0..=high.0).contains(&x) && (low.1..=high.1).contains(&y));
            assert!(inside().count() > 1000, "{size:?}: there is a plate");
            assert!(inside().all(|(x, y)| rgb(&with, x, y) == rgb(&without, x, y)), "{size:?}: an edge shines through");
            // The control: without the bar there are edges.
            assert!(inside().any(|(x, y)| rgb(&bare, x, y) != rgb(&without, x, y)));
            let background = rgb(&with, low.0, low.1);
            // The text is right of the line. Of each letter the middle of a stroke counts.
            let text = inside().filter(|&(x, _)| x > low.0 + (high.0 - low.0) * 3 / 4);
            let best = text.map(|(x, y)| contrast(rgb(&with, x, y), background)).fold(0.0, f64::max);
            assert!(best >= 4.5, "{size:?}: contrast {best:.2}");
        }
    }
}
