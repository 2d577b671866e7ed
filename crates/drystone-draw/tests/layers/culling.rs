//! Culling, and shapes smaller than a pixel.

use drystone::low_level::CpuWorld;
use drystone::{Body, Scene, Shape};
use drystone_draw::{Camera, Layers, Renderer, Style, Upload, raster};
use glam::Vec2;

use super::support::{self, context};
use super::{bare, difference, keep, offscreen, upload};

fn many(count: u32) -> Scene {
    let mut random = support::Random(7);
    let mut scene = Scene::new("many");
    let side = (count as f32).sqrt();
    for index in 0..count {
        let place = [random.between(0.0, side), random.between(0.0, side)];
        let body = if index % 10 == 3 { Body::fixed(place[0], place[1]) } else { Body::dynamic(place[0], place[1]) };
        let body = body.angle(random.between(0.0, 6.0));
        let size = random.between(0.1, 0.4);
        scene.add(match index % 4 {
            0 => body.shape(Shape::circle(size)),
            1 => body.shape(Shape::half_box(size, 0.5 * size)),
            2 => body.shape(Shape::capsule([-size, 0.0], [size, 0.0], 0.3 * size)),
            // Its shape has an offset.
            _ => body.shape(Shape::half_box(0.1, size).offset(1.0, 0.5)),
        });
    }
    if count > 100 {
        scene.add(Body::fixed(0.0, -50.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    }
    scene
}

/// Returns the indices of shapes that the device found visible.
fn culled(world: &drystone::low_level::scene::Compiled, camera: &Camera) -> Vec<u32> {
    let (device, queue) = (context().device(), context().queue());
    let mut upload = Upload::new(device, queue);
    upload.refresh(&CpuWorld::from_compiled(world.clone()), false).expect("uploads");
    let renderer = Renderer::new(device, wgpu::TextureFormat::Rgba8Unorm, 1);
    let frame = renderer.frame(device, queue, &upload.inputs(), camera, &bare(), &Layers::default()).expect("a frame");
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    renderer.prepare(&mut encoder, &frame);
    let copies = frame.culled().map(|from| {
        let to = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: from.size(),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(from, 0, &to, 0, from.size());
        to
    });
    queue.submit([encoder.finish()]);
    let [arguments, visible] = copies.map(|copy| {
        copy.slice(..).map_async(wgpu::MapMode::Read, |result| result.expect("maps"));
        device.poll(wgpu::PollType::wait_indefinitely()).expect("finishes");
        let bytes = copy.get_mapped_range(..).expect("mapped").to_vec();
        bytemuck::pod_collect_to_vec::<u8, u32>(&bytes)
    });
    assert_eq!(arguments[1..4], [1, 0, 0]);
    assert_eq!(arguments[0] % 6, 0);
    visible[..arguments[0] as usize / 6].to_vec()
}

/// Culling keeps all visible shapes, drops distant ones, and keeps the order of the scene, fixed bodies first.
#[test]
fn culling_keeps_what_is_seen_in_order() {
    for (count, views) in [(1, 1), (9, 2), (5000, 4)] {
        let world = support::compile(&many(count));
        let side = (count as f32).sqrt();
        for view in 0..views {
            let height = side * [2.0, 0.5, 0.1, 0.02][view];
            let camera = Camera::new(Vec2::splat(0.4 * side), height.max(0.1), [640, 360]);
            let found = culled(&world, &camera);
            let half = 0.5 * Vec2::new(640.0, 360.0) * camera.metres_per_pixel;
            // Distance of the shape's bounding circle outside of the picture, px.
            let outside = |index: usize| {
                let shape = &world.shapes[index];
                let pose = &world.poses[shape.body as usize];
                let place = Vec2::from(pose.position)
                    + drystone::low_level::math::rotate(pose.rotation.into(), shape.offset.into());
                ((place - camera.center).abs() - half - shape.bound).max_element() / camera.metres_per_pixel
            };
            let is_plane = |index: usize| world.shapes[index].bound == 0.0;
            let kept: std::collections::BTreeSet<u32> = found.iter().copied().collect();
            assert_eq!(kept.len(), found.len(), "each once");
            for index in 0..world.shapes.len() {
                let kept = kept.contains(&u32::try_from(index).expect("few"));
                assert!(kept || (outside(index) > 0.0 && !is_plane(index)), "shape {index} is seen and left out");
                assert!(!kept || outside(index) < 20.0 || is_plane(index), "shape {index} is far away and drawn");
            }
            let fixed = |index: u32| world.shapes[index as usize].kind & drystone::low_level::types::FIXED_SHAPE != 0;
            assert!(found.is_sorted_by_key(|&index| (!fixed(index), index)), "the order of the scene");
            if count == 5000 {
                assert!(view == 0 || found.len() < world.shapes.len() / 2, "{} of {}", found.len(), world.shapes.len());
                assert!(view > 0 || found.len() == world.shapes.len());
            }
        }
    }
}

/// The rasteriser visits every shape: with culling the picture is the same, near and far, at sizes below a pixel and
/// above.
#[test]
fn a_hundred_thousand_bodies_look_as_without_culling() {
    let world = support::compile(&many(100_000));
    let cpu_world = CpuWorld::from_compiled(world.clone());
    let upload = upload(&cpu_world);
    let mut offscreen = offscreen();
    for (name, height) in [("all", 340.0), ("part", 40.0), ("near", 4.0), ("far", 3000.0)] {
        let camera = Camera::new(Vec2::new(158.0, 158.0), height, [960, 540]);
        let style = Style::light();
        let seen = offscreen.picture(&upload.inputs(), &camera, &style).expect("draws");
        let plain = raster::picture(&world.poses, &world.shapes, &world.vertices, &camera, &style).expect("rasterises");
        keep(&seen, &format!("100000-{name}"));
        let (worst, mean) = difference(&seen, &plain);
        println!("{name}: worst {worst}, mean {mean:.4}");
        // Where thirty specks share a pixel, each of them is rounded to 8 bits: 11 from far, 3 at most nearer by.
        assert!(worst <= 12 && mean < 0.6, "{name}: worst {worst}, mean {mean}");
        // Negative control: a shift by a third of a pixel gives a different picture.
        let aside = Camera { center: camera.center + 0.3 * camera.metres_per_pixel, ..camera };
        let aside = offscreen.picture(&upload.inputs(), &aside, &style).expect("draws");
        assert!(difference(&aside, &plain).1 > 2.0 * mean + 0.1, "{name}: {:?}", difference(&aside, &plain));
    }
}

/// While zooming, specks change gradually.
#[test]
fn specks_do_not_flicker_while_zooming() {
    let world = support::compile(&many(4000));
    let cpu_world = CpuWorld::from_compiled(world);
    let upload = upload(&cpu_world);
    let mut offscreen = offscreen();
    let mut picture = |metres_per_pixel: f32| {
        let camera = Camera { center: Vec2::splat(31.6), metres_per_pixel, size: [200, 200], origin: Vec2::ZERO };
        let style = Style { grid_strength: 0.0, scale_bar: false, ..Style::light() };
        offscreen.picture(&upload.inputs(), &camera, &style).expect("draws")
    };
    let mut zoom = 0.5;
    for _ in 0..8 {
        zoom *= 1.25;
        // A ten-thousandth moves the edge of the picture by a hundredth of a pixel.
        let (worst, mean) = difference(&picture(zoom), &picture(zoom * 1.0001));
        assert!(worst <= 8 && mean < 0.2, "at {zoom} m a pixel: worst {worst}, mean {mean}");
    }
    assert!(difference(&picture(0.5), &picture(0.55)).1 > 1.0, "the comparison sees a zoom of a tenth");
}
