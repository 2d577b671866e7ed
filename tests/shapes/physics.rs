//! Shapes at rest on each other, on every backend.

use drystone::low_level::GpuWorld;
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::types::RECYCLED;
use drystone::{AdapterChoice, Body, Context, Scene, Shape, World};
use glam::Vec2;

use crate::common::{Backend, between, far, near};
use crate::shapes::kit::{Random, regular, rounded};

on_every_backend!(
    rests_on_everything,
    capsules_lie_stacked,
    hexagons_pile,
    drum_of_half_planes_holds,
    half_planes_anywhere
);

/// Returns shapes, each with the distance from its centre to its lowest point in its initial orientation.
fn sleepers() -> Vec<(&'static str, Shape, f32)> {
    vec![
        ("circle", Shape::circle(0.4), 0.4),
        ("particle", Shape::particle(0.2), 0.2),
        ("box", Shape::half_box(0.5, 0.3), 0.3),
        ("rounded box", Shape::rounded_box(0.4, 0.2, 0.1), 0.3),
        ("capsule", Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.2), 0.2),
        ("square", Shape::polygon([[-0.4, -0.4], [0.4, -0.4], [0.4, 0.4], [-0.4, 0.4]]), 0.4),
        ("hexagon", Shape::polygon(regular(6, 0.5)), 0.5 * 0.75_f32.sqrt()),
        ("rounded hexagon", rounded(regular(6, 0.4), 0.1), 0.4 * 0.75_f32.sqrt() + 0.1),
    ]
}

fn rests_on_everything(backend: Backend) {
    let grounds: [(&str, Body); 4] = [
        ("box", Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0))),
        ("segment", Body::fixed(0.0, 0.0).shape(Shape::segment([-50.0, 0.0], [50.0, 0.0]))),
        ("half plane", Body::fixed(3.0, -2.0).shape(Shape::half_plane([0.0, 1.0], 2.0))),
        ("capsule", Body::fixed(0.0, -0.5).shape(Shape::capsule([-50.0, 0.0], [50.0, 0.0], 0.5))),
    ];
    for (ground, body) in grounds {
        let mut scene = Scene::new("rest").gravity(0.0, -10.0);
        scene.add(body);
        for (index, (_, shape, height)) in sleepers().into_iter().enumerate() {
            scene.add(Body::dynamic(2.0 * index as f32 - 7.0, height + 0.05).shape(shape));
        }
        let mut sim = backend.start(&scene);
        let bodies = sim.advance(240).bodies();
        for (index, (name, _, height)) in sleepers().into_iter().enumerate() {
            let body = &bodies[index + 1];
            let what = format!("{name} on {ground}");
            // Compliance of a static contact at 10 m/s² is 70 µm for a circle and at most 5/4 of it, 2 for two points.
            near(&format!("{what}: height"), body.position[1], f64::from(height), 3e-4);
            near(&format!("{what}: x"), body.position[0], 2.0 * index as f64 - 7.0, 2e-3);
            near(&format!("{what}: angle"), body.angle, 0.0, 2e-3);
            let speed = f64::from(Vec2::from(body.velocity).length());
            between(&format!("{what}: speed"), speed, 0.0, 1e-3);
        }
        let carried = sim.metrics().ground_impulse_ratio.expect("gravity");
        near(&format!("weight carried by {ground}"), carried, 0.0, 0.01);
    }
}

/// Ten capsules on top of each other sink by the compliance of two points each, as the boxes of `physics::rest` do:
/// half the load over `m_eff·ω²`, with 1/m_eff = 1/m + r²/I on the ground and twice that on each other.
fn capsules_lie_stacked(backend: Backend) {
    const COUNT: u8 = 10;
    let (half, radius) = (0.6_f64, 0.2_f64);
    let mut scene = Scene::new("capsules").gravity(0.0, -10.0);
    scene.settings.contact_hertz = Some(30.0);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for index in 0..COUNT {
        let shape = Shape::capsule([-0.6, 0.0], [0.6, 0.0], 0.2);
        scene.add(Body::dynamic(0.0, 0.2 + 0.4 * f32::from(index)).shape(shape));
    }
    let mut sim = backend.start(&scene);
    let bodies = sim.advance(600).bodies();

    // A rectangle and two half discs, whose centres are 4r/3π from the ends.
    let (core, caps) = (4.0 * half * radius, std::f64::consts::PI * radius * radius);
    let inertia = core * (half * half + radius * radius) / 3.0
        + caps * (0.5 * radius * radius + half * half + 8.0 * half * radius / (3.0 * std::f64::consts::PI));
    let spread = 1.0 + (core + caps) * half * half / inertia;
    let on_ground = (2.0 * std::f64::consts::PI * 60.0).powi(2);
    let mut sink = 0.5 * 10.0 * f64::from(COUNT) * spread / on_ground;
    for (index, body) in bodies[1..].iter().enumerate() {
        near(&format!("height of {index}"), body.position[1], 0.2 + 0.4 * index as f64 - sink, 0.01 * sink + 1e-5);
        near(&format!("x of {index}"), body.position[0], 0.0, 0.02);
        near(&format!("angle of {index}"), body.angle, 0.0, 0.01);
        let above = f64::from(COUNT) - 1.0 - index as f64;
        sink += 0.5 * 10.0 * above * 2.0 * spread / (0.25 * on_ground);
    }
    between("speed", sim.metrics().max_speed, 0.0, 0.01);
}

/// Hexagons thrown into a bin of half planes come to rest inside, without overlapping each other.
fn hexagons_pile(backend: Backend) {
    let mut random = Random(11);
    let mut scene = Scene::new("hexagons").gravity(0.0, -10.0);
    scene.add(
        Body::fixed(0.0, 0.0)
            .shape(Shape::half_plane([0.0, 1.0], 0.0))
            .shape(Shape::half_plane([1.0, 0.0], -3.0))
            .shape(Shape::half_plane([-1.0, 0.0], -3.0)),
    );
    for index in 0..60_u8 {
        let at = [f32::from(index % 6) - 2.5, 0.6 + 1.0 * f32::from(index / 6)];
        let shape = if index % 3 == 0 { rounded(regular(6, 0.35), 0.05) } else { Shape::polygon(regular(6, 0.4)) };
        scene.add(Body::dynamic(at[0], at[1]).angle(random.between(-3.0, 3.0) as f32).shape(shape));
    }
    let mut sim = backend.start(&scene);
    let metrics = sim.advance(900).metrics();
    between("speed at the end", metrics.max_speed, 0.0, 0.1);
    // A point that bears a third of the pile, on an effective mass of 0.4 of a body (springs of 30 Hz). Over 16 other
    // piles the deepest overlaps are 7 to 11 mm.
    let third = 20.0 * 10.0 / (0.4 * (2.0 * std::f64::consts::PI * 30.0).powi(2));
    between("deepest overlap", metrics.max_penetration, 0.001, third);
    near("weight carried", metrics.ground_impulse_ratio.expect("gravity"), 0.0, 0.02);
    for (index, body) in sim.bodies()[1..].iter().enumerate() {
        between(&format!("height of {index}"), body.position[1], 0.34, 12.0);
        between(&format!("x of {index}"), body.position[0], -2.66, 2.66);
    }
}

/// Four half planes facing inwards turn as one box, full of particles and polygons, for 60 s. No body escapes.
fn drum_of_half_planes_holds(backend: Backend) {
    let mut random = Random(23);
    let mut scene = Scene::new("drum").gravity(0.0, -10.0);
    let mut drum = Body::kinematic(0.0, 0.0).angular_velocity(0.5);
    for normal in [[0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]] {
        drum = drum.shape(Shape::half_plane(normal, -4.0));
    }
    scene.add(drum);
    for index in 0..240_u8 {
        let at = [0.4 * f32::from(index % 15) - 2.8, 0.36 * f32::from(index / 15) - 2.8];
        let shape = match index % 6 {
            0 => Shape::polygon(regular(5, 0.15)),
            _ => Shape::particle(0.12),
        };
        let body = Body::dynamic(at[0], at[1]).velocity(random.between(-1.0, 1.0) as f32, 0.0);
        scene.add(body.shape(shape));
    }
    let mut sim = backend.start(&scene);
    for _ in 0..30 {
        let bodies = sim.advance(120).bodies();
        let turn = Vec2::from_angle(-bodies[0].angle);
        for (index, body) in bodies[1..].iter().enumerate() {
            let inside = turn.rotate(Vec2::from(body.position)).abs().max_element();
            between(&format!("body {index} in the frame of the drum"), inside, 0.0, 3.95);
        }
    }
}

/// Returns a half plane that turns slowly about a point 50 m away: its surface rises by 3 mm per step towards a box at
/// rest.
fn swinging() -> Scene {
    let mut scene = Scene::new("swinging").gravity(0.0, 0.0);
    scene.add(Body::kinematic(0.0, 0.0).angular_velocity(0.004).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::dynamic(50.0, 0.11).shape(Shape::half_box(0.08, 0.08)).fixed_rotation());
    scene
}

/// Returns the height of the box's lower side over that surface after a second, m.
fn height(world: &mut World) -> f32 {
    for _ in 0..60 {
        world.step().expect("a step");
    }
    let snapshot = world.snapshot().expect("a snapshot");
    let [c, s] = snapshot.poses[0].rotation;
    Vec2::new(-s, c).dot(snapshot.poses[1].position.into()) - 0.08
}

/// Returns two boxes that float over a half plane and turn slightly, one 3 km from the plane's centre.
fn floating() -> Scene {
    let mut scene = Scene::new("floating").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for x in [0.0, 3072.0] {
        scene.add(Body::dynamic(x, 0.51).angular_velocity(0.01).shape(Shape::half_box(0.5, 0.5)));
    }
    scene
}

/// Returns the number of 30 steps in which each of the two kept its manifold.
fn kept(world: &mut World) -> [u32; 2] {
    let mut kept = [0; 2];
    for _ in 0..30 {
        world.step().expect("a step");
        let contacts = world.snapshot().expect("a snapshot").contacts;
        assert_eq!(contacts.len(), 2);
        for (kept, contact) in kept.iter_mut().zip(&contacts) {
            *kept += u32::from(contact.flags & RECYCLED != 0);
        }
    }
    kept
}

/// A manifold with a half plane is kept according to the body's motion relative to the surface, for any position of the
/// plane's centre.
fn half_planes_anywhere(backend: Backend) {
    near("height over the surface", height(backend.start(&swinging()).world()), 0.0, 0.006);
    let [here, there] = kept(backend.start(&floating()).world());
    assert!(here == there && here > 25, "kept {here} times at the centre, {there} times far from it");
}

/// Negative control: measured by the motion of the plane's centre in the body's frame, both results are wrong.
#[test]
fn half_planes_measured_by_their_centre_are_detected() {
    let context = Context::new(AdapterChoice::Any).expect("an adapter");
    let patches = [
        Patch {
            shader: "collide",
            from: "inv_rotate(select(q_a, q_b, on_plane), between) - cached_position",
            to: "inv_rotate(q_a, between) - cached_position",
        },
        Patch {
            shader: "collide",
            from: "cached_position = inv_rotate(select(q_a, q_b, on_plane), between)",
            to: "cached_position = inv_rotate(q_a, between)",
        },
    ];
    let start = |scene: &Scene| -> World { GpuWorld::patched(&context, scene, &patches).expect("patched").into() };
    far("height over the surface", height(&mut start(&swinging())), 0.0, 0.006);
    let [here, there] = kept(&mut start(&floating()));
    assert!(here > 25 && there < 15, "kept {here} times at the centre, {there} times far from it");
}
