//! Marks of layers: contacts, joints, AABBs, grid cells, forces and velocities.

use drystone::{Body, Joint, JointKind, Scene, Shape, Spring};
use drystone_draw::{Camera, Layers, Scale, Style, raster};
use glam::Vec2;

use super::support::cpu;
use super::{Shown, apart, at, bare, box_on_ground, bytes, close_up, difference, draw, keep, stepped, upload};

/// Returns a scene with each kind of joint, side by side.
fn all_joints() -> Scene {
    let mut scene = Scene::new("all joints");
    let spring = Spring { hertz: 2.0, damping_ratio: 0.5, target: 0.0 };
    let kinds = [
        JointKind::rod(),
        JointKind::spring(40.0, 1.0),
        JointKind::hinge(),
        JointKind::slider([0.0, 1.0]),
        JointKind::wheel([0.0, 1.0], spring),
        JointKind::weld(),
        JointKind::Motor {
            linear_offset: Vec2::new(0.0, -2.0),
            angular_offset: 0.0,
            max_force: 100.0,
            max_torque: 100.0,
        },
        JointKind::Mouse { target: Vec2::new(14.5, 2.5), max_force: 100.0 },
        JointKind::velocity([1.0, 0.0], 0.0, 100.0, 100.0),
        JointKind::Gear { ratio: -2.0 },
        JointKind::Pulley { ground_a: Vec2::new(20.0, 3.2), ground_b: Vec2::new(20.5, 1.5), ratio: 1.0, length: None },
    ];
    for (index, kind) in kinds.into_iter().enumerate() {
        let x = 2.0 * index as f32;
        let top = scene.add(Body::fixed(x, 2.0).shape(Shape::half_box(0.3, 0.3)));
        let low = scene.add(Body::dynamic(x, 0.0).shape(Shape::half_box(0.5, 0.5)));
        let joint = match kind {
            JointKind::Mouse { .. } => Joint::to_world(kind, low),
            JointKind::Revolute { .. } | JointKind::Weld { .. } => {
                Joint::new(kind, top, low).anchors([0.0, -1.0], [0.0, 1.0])
            }
            kind => Joint::new(kind, top, low),
        };
        scene.join(joint);
    }
    scene
}

#[test]
fn contact_points_and_normals_are_where_bodies_touch() {
    let world = stepped(&box_on_ground(), 30);
    let points = Shown::new("points", &world, close_up(), &Layers { contacts: true, ..Layers::default() });
    for x in [-0.5, 0.5] {
        assert!(apart(at(&points.with, &points.camera, Vec2::new(x, 0.0)), bytes(bare().contact)) < 8, "at {x}");
    }
    let both = points.near(Vec2::new(-0.5, 0.0), 8.0) + points.near(Vec2::new(0.5, 0.0), 8.0);
    assert_eq!(both, points.changed.len(), "only the two points changed");

    // Normals start on the ground and point up, onto the box.
    let normals = Shown::new("normals", &world, close_up(), &Layers { normals: true, ..Layers::default() });
    let above = |y: f32| apart(at(&normals.with, &normals.camera, Vec2::new(-0.5, y)), bytes(bare().normal)) < 60;
    assert!(above(0.08) && !above(-0.08) && !above(0.6));

    // Bodies that do not touch have no contact marks.
    let mut scene = Scene::new("apart");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
    scene.add(Body::dynamic(0.0, 1.5).shape(Shape::half_box(0.5, 0.5)));
    let layers = Layers {
        contacts: true,
        normals: true,
        impulses: true,
        friction: true,
        constraints: true,
        legend: false,
        ..Layers::default()
    };
    assert_eq!(Shown::new("apart", &stepped(&scene, 2), close_up(), &layers).changed, []);
}

#[test]
fn impulses_carry_the_box_and_friction_holds_it_on_a_slope() {
    let world = stepped(&box_on_ground(), 60);
    let shown = Shown::new("impulses", &world, close_up(), &Layers { impulses: true, ..Layers::default() });
    // Each corner carries half a box: √½ of half its width, slightly compressed.
    let is_arrow = |x: f32, y: f32| apart(at(&shown.with, &shown.camera, Vec2::new(x, y)), bytes(bare().impulse)) < 60;
    for x in [-0.5, 0.5] {
        assert!(is_arrow(x, 0.2) && !is_arrow(x, 0.55) && !is_arrow(x, -0.1), "at {x}");
    }
    let twice = Layers { impulses: true, arrow_scale: 2.0, ..Layers::default() };
    let shown_twice = Shown::new("impulses-twice", &world, close_up(), &twice);
    assert!(apart(at(&shown_twice.with, &shown_twice.camera, Vec2::new(0.5, 0.55)), bytes(bare().impulse)) < 60);

    let flat = Layers { friction: true, legend: false, ..Layers::default() };
    let friction = Shown::new("friction-flat", &world, close_up(), &flat);
    assert!(friction.changed.len() < 60, "{} pixels of friction under a box at rest", friction.changed.len());
    let mut slope = Scene::new("slope");
    slope.add(Body::fixed(0.0, 0.0).angle(0.4).shape(Shape::half_box(10.0, 1.0).offset(0.0, -1.0)));
    let up = Vec2::from_angle(0.4 + std::f32::consts::FRAC_PI_2) * 0.5;
    slope.add(Body::dynamic(up.x, up.y).angle(0.4).shape(Shape::half_box(0.5, 0.5)));
    let friction =
        Shown::new("friction", &stepped(&slope, 30), close_up(), &Layers { friction: true, ..Layers::default() });
    // Uphill from the lower corner.
    let corner = up + Vec2::from_angle(0.4) * -0.5 - up;
    let uphill = corner + Vec2::from_angle(0.4) * 0.15;
    assert!(apart(at(&friction.with, &friction.camera, uphill), bytes(bare().friction)) < 60, "{uphill}");
}

#[test]
fn boxes_are_around_shapes_and_their_margin() {
    let world = stepped(&box_on_ground(), 5);
    let shown = Shown::new("aabbs", &world, close_up(), &Layers { aabbs: true, ..Layers::default() });
    let reach = 0.5 + world.compiled().params.aabb_margin;
    for point in [Vec2::new(reach, 0.5), Vec2::new(-reach, 0.5), Vec2::new(0.0, 0.5 + reach)] {
        assert!(shown.near(point, 1.5) > 0, "{point}");
    }
    assert_eq!(shown.near(Vec2::new(0.0, 0.6), 30.0), 0, "nothing inside");
    let start =
        Shown::new("aabbs-start", &cpu(&box_on_ground()), close_up(), &Layers { aabbs: true, ..Layers::default() });
    assert!(start.near(Vec2::new(reach, 0.5), 1.5) > 0, "before the first step as well");
}

/// The box of a body that moves half a metre per step is at its present position, not where the step began; also for a
/// rotated polygon.
#[test]
fn boxes_are_where_bodies_are_now() {
    let mut scene = Scene::new("fast").gravity(0.0, 0.0);
    scene.add(Body::dynamic(0.0, 1.0).velocity(0.0, -30.0).shape(Shape::half_box(0.25, 0.25)));
    let corners = [Vec2::new(-0.3, -0.1), Vec2::new(0.3, -0.1), Vec2::new(0.0, 0.2)];
    let polygon = drystone::Geometry::Polygon { points: corners.to_vec(), radius: 0.0 };
    scene.add(Body::dynamic(1.2, 0.5).angle(std::f32::consts::FRAC_PI_2).shape(Shape::new(polygon)));
    let world = stepped(&scene, 1);
    let moved = 1.0 - world.poses()[0].position[1];
    assert!(moved > 0.4, "{moved} m");
    let camera = Camera::new(Vec2::new(0.605, 0.505), 3.0, [480, 360]);
    let shown = Shown::new("aabbs-fast", &world, camera, &Layers { aabbs: true, ..Layers::default() });
    let margin = world.compiled().params.aabb_margin;
    let reach = 0.25 + margin;
    let at = 1.0 - moved;
    for edge in [Vec2::new(reach, at), Vec2::new(-reach, at), Vec2::new(0.0, at - reach), Vec2::new(0.0, at + reach)] {
        assert!(shown.near(edge, 1.5) > 0, "{edge}");
    }
    assert_eq!(shown.near(Vec2::new(0.0, 1.0 + reach), 3.0), 0, "no box at the old position");
    let (first, vertices) = (Vec2::from(world.poses()[1].position), &world.compiled().vertices);
    // Rotated by a right angle: the x axis is the old y axis, negated.
    let shape = &world.compiled().shapes[1];
    let ys = vertices
        .iter()
        .map(|v| drystone::low_level::math::rotate(shape.rotation.into(), (*v).into()).y + shape.offset[1]);
    let (low, high) = ys.fold((f32::MAX, f32::MIN), |(low, high), y| (low.min(y), high.max(y)));
    for edge in [Vec2::new(first.x - high - margin, first.y), Vec2::new(first.x - low + margin, first.y)] {
        assert!(shown.near(edge, 1.5) > 0, "{edge} of the polygon");
    }
}

#[test]
fn cells_are_where_shapes_lie() {
    let mut scene = Scene::new("two circles");
    scene.gravity = Vec2::ZERO;
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::circle(0.2)));
    scene.add(Body::dynamic(0.1, 0.6).shape(Shape::circle(0.2)));
    scene.add(Body::dynamic(2.0, 0.5).shape(Shape::circle(0.2)));
    let world = stepped(&scene, 1);
    let camera = Camera::new(Vec2::new(1.0, 0.5), 4.0, [480, 300]);
    let shown = Shown::new("cells", &world, camera, &Layers { grid: true, ..Layers::default() });
    let params = &world.compiled().params;
    let cell = |at: Vec2| {
        let level = &params.levels[world.compiled().shapes[0].level as usize];
        drystone::low_level::stages::bin::cell_of(level, at)
    };
    let width = 1.0 / params.levels[world.compiled().shapes[0].level as usize].inv_cell[0];
    let middle = |(column, row): (i32, i32)| Vec2::new((column as f32 + 0.5) * width, (row as f32 + 0.5) * width);
    // The grid holds positions at the beginning of the step.
    let taken: Vec<_> = world.compiled().poses.iter().map(|pose| cell(pose.position.into())).collect();
    let background = bytes(bare().background);
    let mut free = 0;
    for column in -8..16 {
        for row in -8..8 {
            let center = middle((column, row));
            // Visible, and not covered by a body.
            let pixel = camera.to_pixel(center);
            let seen = pixel.min_element() >= 1.0 && pixel.x < 479.0 && pixel.y < 299.0;
            let bodies = world.poses().iter().any(|pose| Vec2::from(pose.position).distance(center) < 0.25);
            if seen && !bodies {
                let painted = apart(at(&shown.with, &camera, center), background) > 4;
                assert_eq!(painted, taken.contains(&(column, row)), "cell {column} {row}");
                free += usize::from(!painted);
            }
        }
    }
    assert!(free > 10, "only {free} cells are free");
    assert!(!shown.changed.is_empty());
}

/// Each kind has a distinct sign with marked anchors; disabled joints are pale, removed ones are not drawn.
#[test]
fn each_kind_of_joint_has_its_sign() {
    let mut scene = all_joints();
    scene.gravity = Vec2::ZERO;
    let layers = Layers { joints: true, ..Layers::default() };
    let camera = Camera::new(Vec2::new(7.0, 1.0), 5.0, [1440, 400]);
    let shown = Shown::new("joints", &cpu(&scene), camera, &layers);
    for (index, kind) in ["distance", "spring", "revolute", "prismatic", "wheel", "weld", "motor"].iter().enumerate() {
        let x = 2.0 * index as f32;
        let anchors = match index {
            2 | 5 => vec![Vec2::new(x, 1.0)],
            // A joint with a target shows the target at B.
            6 => vec![Vec2::new(x, 0.0)],
            _ => vec![Vec2::new(x, 0.0), Vec2::new(x, 2.0)],
        };
        for anchor in anchors {
            assert!(shown.near(anchor, 8.0) > 12, "{kind}: no sign at {anchor}");
        }
        assert_eq!(shown.near(Vec2::new(x + 0.9, 1.0), 6.0), 0, "{kind}: nothing beside it");
    }
    assert!(shown.near(Vec2::new(14.5, 2.5), 8.0) > 12, "the target of a mouse joint");
    assert!(shown.near(Vec2::new(16.0, 0.0), 8.0) > 12, "a velocity joint has a sign at B");
    assert_eq!(shown.near(Vec2::new(16.0, 1.2), 8.0), 0, "and no line, as it holds no distance");
    // The columns of the picture, shifted onto the first, all differ.
    let shape_of = |index: usize| -> Vec<(i32, i32)> {
        let left = camera.to_pixel(Vec2::new(2.0 * index as f32, 0.0)).x;
        let own = shown.changed.iter().filter(|pixel| (pixel.x - left).abs() < 70.0);
        #[allow(clippy::cast_possible_truncation, reason = "pixels")]
        own.map(|pixel| ((pixel.x - left).round() as i32, pixel.y as i32)).collect()
    };
    for a in 0..9 {
        for b in 0..a {
            let (one, other) = (shape_of(a), shape_of(b));
            let common = one.iter().filter(|pixel| other.contains(pixel)).count();
            let unlike = one.len() + other.len() - 2 * common;
            assert!(unlike > 40, "kinds {b} and {a} differ in {unlike} pixels");
        }
    }

    scene.joints[0].enabled = false;
    let disabled = Shown::new("joints-disabled", &cpu(&scene), camera, &layers);
    let strength = |shown: &Shown| apart(at(&shown.with, &camera, Vec2::new(0.0, 1.2)), bytes(bare().background));
    assert!(strength(&disabled) > 5 && 2 * strength(&disabled) < strength(&shown), "a disabled joint is pale");
    let mut world = cpu(&scene);
    let joint = world.joint_id(1).expect("the second");
    world.remove_joints(&[joint]).expect("removes");
    let removed = Shown::new("joints-removed", &world, camera, &layers);
    assert_eq!(removed.near(Vec2::new(2.0, 1.0), 20.0), 0, "a removed joint is not drawn");
}

/// The rasteriser draws joints as the shaders do, including disabled, broken and removed ones.
#[test]
fn the_rasteriser_draws_the_same_joints() {
    let mut scene = all_joints();
    scene.joints[3].enabled = false;
    scene.joints[0].break_force = Some(1e-3);
    let mut world = stepped(&scene, 40);
    let gone = world.joint_id(2).expect("the third");
    world.remove_joints(&[gone]).expect("removes");
    for (name, camera, style) in [
        ("near", Camera::new(Vec2::new(7.0, 0.5), 5.0, [1440, 400]), Style::light()),
        ("far", Camera::new(Vec2::new(7.0, 0.5), 60.0, [721, 401]), Style::dark()),
        ("close", Camera::new(Vec2::new(2.3, 1.0), 1.5, [400, 300]), Style::light()),
    ] {
        let upload = upload(&world);
        let gpu = draw(&upload.inputs(), &camera, &style, &Layers { joints: true, ..Layers::default() });
        let raster = |joints| raster::picture_of_world(world.compiled(), &world.snapshot(), joints, &camera, &style);
        let (cpu, without) = (raster(true).expect("rasterises"), raster(false).expect("rasterises"));
        keep(&cpu, &format!("joints-raster-{name}"));
        keep(&gpu, &format!("joints-gpu-{name}"));
        let (worst, mean) = difference(&cpu, &gpu);
        // Single pixels at the seams of a zigzag differ, where rounding of a length decides.
        assert!(worst <= 32 && mean <= 0.02, "{name}: worst {worst}, mean {mean}");
        let (worst, _) = difference(&without, &gpu);
        assert!(worst > 60, "{name}: joints are visible");
    }
}

/// Returns the number of times a spring's line crosses the axis of the spring.
fn crossings(length: f32) -> usize {
    let mut scene = Scene::new("spring").gravity(0.0, 0.0);
    let top = scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(0.5, 0.05)));
    let low = scene.add(Body::dynamic(0.0, -length).shape(Shape::half_box(0.5, 0.5)));
    scene.join(Joint::new(JointKind::Spring { rest_length: Some(3.0), stiffness: 1.0, damping: 0.0 }, top, low));
    let camera = Camera::new(Vec2::new(0.0, -4.0), 9.0, [400, 900]);
    let layers = Layers { joints: true, shapes: false, outlines: false, ..Layers::default() };
    let shown = Shown::new(&format!("spring-{length}"), &cpu(&scene), camera, &layers);
    // Runs of inked pixels down the middle, between the bodies.
    let x = camera.to_pixel(Vec2::ZERO).x;
    let inked = |y: f32| shown.changed.iter().any(|pixel| pixel.y == y && (pixel.x - x).abs() < 1.0);
    let (from, to) = (camera.to_pixel(Vec2::new(0.0, -0.2)).y, camera.to_pixel(Vec2::new(0.0, 0.2 - length)).y);
    let mut rows: Vec<bool> = Vec::new();
    let mut y = from.floor() + 0.5;
    while y < to {
        rows.push(inked(y));
        y += 1.0;
    }
    rows.windows(2).filter(|pair| pair[1] && !pair[0]).count()
}

#[test]
fn a_stretched_spring_keeps_its_turns() {
    let slack = crossings(3.0);
    assert!(slack > 6, "{slack} crossings");
    // With turns of constant length there would be 1.7 and 2.5 times as many.
    for length in [5.0, 7.5] {
        assert!(crossings(length).abs_diff(slack) <= 1, "{length} m: {} crossings, not {slack}", crossings(length));
    }
}

/// A body keeps its colour while others are added and removed, with tables of either backend and in the rasteriser.
#[test]
fn bodies_keep_their_colours_as_others_are_added() {
    let mut scene = Scene::new("row").gravity(0.0, 0.0);
    for x in 0..6_u8 {
        scene.add(Body::dynamic(f32::from(x), 0.0).shape(Shape::half_box(0.4, 0.4)));
    }
    let camera = Camera::new(Vec2::new(4.5, 0.0), 6.0, [640, 360]);
    let mut world = cpu(&scene);
    let colors = |world: &drystone::low_level::CpuWorld| -> Vec<[u8; 3]> {
        let snapshot = world.snapshot();
        let cpu = raster::picture_of_world(world.compiled(), &snapshot, true, &camera, &Style::light()).expect("draws");
        let gpu =
            draw(&upload(world).inputs(), &camera, &Style::light(), &Layers { joints: true, ..Layers::default() });
        (0..snapshot.poses.len())
            .map(|body| {
                // Beside the mark at the centre.
                let place = Vec2::from(snapshot.poses[body].position) + Vec2::new(-0.2, 0.2);
                let [one, other] = [&cpu, &gpu].map(|image| at(image, &camera, place));
                assert!(apart(one, other) <= 4, "body {body}: {one:?} and {other:?}");
                one
            })
            .collect()
    };
    let before = colors(&world);
    let more: Vec<Body> =
        (6..10_u8).map(|x| Body::dynamic(f32::from(x), 0.0).shape(Shape::half_box(0.4, 0.4))).collect();
    let ids = world.add_bodies(&more).expect("adds");
    let after = colors(&world);
    assert_eq!(after[..6], before[..], "bodies from before");
    let unlike = |a: &[u8; 3], b: &[u8; 3]| apart(*a, *b) > 8;
    assert!(after[6..].windows(2).any(|pair| unlike(&pair[0], &pair[1])), "added bodies differ: {after:?}");
    world.remove_bodies(&ids[..2]).expect("removes");
    let later = colors(&world);
    assert_eq!([&later[..6], &later[8..]], [&after[..6], &after[8..]], "remaining bodies");
}

/// Returns the length of the run of arrow-coloured pixels along a line, from a point in a direction, m.
fn reach(shown: &Shown, color: [f32; 3], from: Vec2, way: Vec2) -> f32 {
    reach_within(shown, color, 90, from, way)
}

fn reach_within(shown: &Shown, color: [f32; 3], unlike: u8, from: Vec2, way: Vec2) -> f32 {
    let step = 0.2 / shown.camera.to_pixel(Vec2::X).distance(shown.camera.to_pixel(Vec2::ZERO));
    let is_arrow = |at: Vec2| apart(super::at(&shown.with, &shown.camera, at), bytes(color)) < unlike;
    let mut far = 0.0;
    while is_arrow(from + way * (far + step)) {
        far += step;
    }
    far
}

/// Forces and velocities are true to scale: an eighth of a body's width for half of its weight at each corner, and half
/// a width for half of √(g·width).
#[test]
fn forces_and_velocities_are_true_to_scale() {
    let world = stepped(&box_on_ground(), 60);
    let camera = close_up();
    let of = |name: &str, arrow_scale: f32| {
        let layers = Layers { forces: true, legend: false, arrow_scale, ..Layers::default() };
        Shown::new(name, &world, camera, &layers)
    };
    let width = Scale::of(world.compiled()).length;
    for (name, factor) in [("forces", 4.0), ("forces-half", 2.0)] {
        let shown = of(name, factor);
        for x in [-0.5, 0.5] {
            let found = reach(&shown, bare().force, Vec2::new(x, 0.02), Vec2::Y) + 0.02;
            assert!((found - 0.125 * factor * width).abs() < 0.06, "{found} m at {x}, factor {factor}");
        }
    }
    assert_eq!(of("forces-none", 0.0).changed, []);

    let mut scene = Scene::new("flying").gravity(0.0, 0.0);
    scene.add(Body::dynamic(0.0, 0.5).velocity(0.5 * (10.0 * width).sqrt(), 0.0).shape(Shape::half_box(0.5, 0.5)));
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
    let layers = Layers { velocities: true, legend: false, ..Layers::default() };
    let shown = Shown::new("velocities", &cpu(&scene), camera, &layers);
    let found = reach(&shown, bare().velocity, Vec2::new(0.02, 0.5), Vec2::X) + 0.02;
    assert!((found - 0.5 * width).abs() < 0.06, "{found} m");
    assert!(shown.changed.iter().all(|pixel| (pixel.y - camera.to_pixel(Vec2::new(0.0, 0.5)).y).abs() < 8.0));
}

/// Two dynamic bodies have an arrow each; a body on the ground has a single one.
#[test]
fn two_bodies_that_push_each_other_have_an_arrow_each() {
    let mut scene = box_on_ground();
    scene.add(Body::dynamic(0.0, 1.5).shape(Shape::half_box(0.5, 0.5)));
    let world = stepped(&scene, 60);
    let camera = Camera::new(Vec2::new(0.005, 1.005), 4.0, [360, 400]);
    for (name, layers, color) in [
        ("pair-forces", Layers { forces: true, legend: false, ..Layers::default() }, bare().force),
        (
            "pair-impulses",
            Layers { impulses: true, legend: false, arrow_scale: 0.5, ..Layers::default() },
            bare().impulse,
        ),
    ] {
        let shown = Shown::new(name, &world, camera, &layers);
        let [up, down] = [1.0, -1.0].map(|way| reach(&shown, color, Vec2::new(0.5, 1.0), Vec2::new(0.0, way)));
        assert!(up > 0.1 && (up - down).abs() < 0.05, "{name}: {up} m up, {down} m down");
        assert!(reach(&shown, color, Vec2::new(0.5, -0.05), Vec2::NEG_Y) < 0.05, "{name}: none into the ground");
    }
}

/// A picture with arrows has a legend of their lengths, unless the legend is off.
#[test]
fn arrows_have_a_key() {
    let world = stepped(&box_on_ground(), 60);
    let upload = upload(&world);
    let camera = Camera::new(Vec2::new(0.0, 1.0), 6.0, [640, 360]);
    let forces = Layers { forces: true, velocities: true, impulses: true, friction: true, ..Layers::default() };
    let with = draw(&upload.inputs(), &camera, &Style::dark(), &forces);
    let without = draw(&upload.inputs(), &camera, &Style::dark(), &Layers { legend: false, ..forces });
    keep(&with, "keys");
    let keys = super::changed(&with, &without);
    assert!(keys.len() > 1000, "{} pixels", keys.len());
    assert!(keys.iter().all(|pixel| pixel.x > 440.0 && pixel.y > 255.0), "in the lower right corner");
    let color = bytes(Style::dark().velocity);
    let arrow = keys.iter().filter(|pixel| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside the picture")]
        let [r, g, b, _] = with.pixel(pixel.x as u32, pixel.y as u32).expect("inside the picture");
        apart([r, g, b], color) < 8
    });
    assert!(arrow.count() > 15, "the arrow of the key has the colour of the layer");
}

/// At rest on the ground, the weight's arrow (a quarter of a width for each weight of a typical body) is as long as the
/// two normal forces together and points the other way. Without gravity there is none.
#[test]
fn a_body_at_rest_shows_its_weight_and_its_support() {
    let world = stepped(&box_on_ground(), 90);
    let width = Scale::of(world.compiled()).length;
    let layers = Layers { forces: true, legend: false, arrow_scale: 1.6, ..Layers::default() };
    let shown = Shown::new("weight", &world, close_up(), &layers);
    let expected = 0.25 * 1.6 * width;
    let weight = reach_within(&shown, bare().weight, 40, Vec2::new(0.0, 0.48), Vec2::NEG_Y) + 0.02;
    assert!((weight - expected).abs() < 0.04, "{weight} m, not {expected}");
    assert!(reach_within(&shown, bare().weight, 40, Vec2::new(0.0, 0.55), Vec2::Y) < 0.02, "none upwards");
    let carried: f32 =
        [-0.5, 0.5].map(|x| reach(&shown, bare().force, Vec2::new(x, 0.02), Vec2::Y) + 0.02).into_iter().sum();
    assert!((carried - weight).abs() < 0.08, "{carried} m up, {weight} m down");

    let mut floating = box_on_ground();
    floating.gravity = Vec2::ZERO;
    assert_eq!(Shown::new("weightless", &stepped(&floating, 90), close_up(), &layers).changed, []);
    // Twice the gravity scale gives twice the weight.
    let mut heavy = box_on_ground();
    heavy.bodies[1].gravity_scale = 2.0;
    let shown = Shown::new("weight-twice", &stepped(&heavy, 90), close_up(), &Layers { arrow_scale: 0.8, ..layers });
    let twice = reach_within(&shown, bare().weight, 40, Vec2::new(0.0, 0.48), Vec2::NEG_Y) + 0.02;
    assert!((twice - expected).abs() < 0.04, "{twice} m, not {expected}");
}

/// A body that hangs still shows the tension of its support, equal to its weight and opposite: of a rod at the body, of
/// a hinge at the pin. A disabled joint shows none.
#[test]
fn a_pendulum_at_rest_shows_the_tension_of_its_rod() {
    let hanging = |kind: JointKind, anchor: Vec2| {
        let mut scene = Scene::new("hanging");
        let top = scene.add(Body::fixed(0.0, 2.0).shape(Shape::half_box(0.1, 0.1)));
        let bob = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.4, 0.4)));
        let on_top = anchor - Vec2::new(0.0, 2.0);
        let is_rod = matches!(kind, JointKind::Distance { .. });
        scene.join(Joint::new(kind, top, bob).anchors(if is_rod { Vec2::ZERO } else { on_top }, anchor));
        scene
    };
    let layers = Layers { forces: true, legend: false, arrow_scale: 3.0, ..Layers::default() };
    let camera = Camera::new(Vec2::new(0.005, 0.605), 3.6, [360, 432]);
    for (name, kind, anchor) in [
        ("rod", JointKind::rod(), Vec2::ZERO),
        ("hinge", JointKind::hinge(), Vec2::new(0.0, 0.7)),
        ("weld", JointKind::weld(), Vec2::new(0.0, 0.7)),
    ] {
        let scene = hanging(kind, anchor);
        let mut world = stepped(&scene, 120);
        let shown = Shown::new(&format!("tension-{name}"), &world, camera, &layers);
        let expected = 0.25 * 3.0 * Scale::of(world.compiled()).length;
        let up = reach_within(&shown, bare().joint_force, 40, anchor + Vec2::new(0.0, 0.03), Vec2::Y) + 0.03;
        let down = reach_within(&shown, bare().weight, 40, Vec2::new(0.0, -0.03), Vec2::NEG_Y) + 0.03;
        assert!((up - expected).abs() < 0.05, "{name}: {up} m up, not {expected}");
        assert!((up - down).abs() < 0.05, "{name}: {up} m up, {down} m down");
        // The same as the reactions reported by the library.
        let [x, y] = world.joint_reactions()[0].force;
        let weight = 9.81 * world.compiled().mass[1].mass;
        assert!((y - weight).abs() < 0.02 * weight && x.abs() < 0.02 * weight, "{name}: {x} {y} N, not {weight}");
        let joint = world.joint_id(0).expect("a joint");
        world.remove_joints(&[joint]).expect("removes");
        let falls = Shown::new(&format!("tension-{name}-gone"), &world, camera, &layers);
        assert_eq!(reach_within(&falls, bare().joint_force, 40, anchor + Vec2::new(0.0, 0.03), Vec2::Y), 0.0, "{name}");
    }
}
