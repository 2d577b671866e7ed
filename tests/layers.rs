//! Layers: that each shows what it is for where it ought to be, from the GPU's buffers as from uploaded ones, and that
//! culling leaves out what is not in the picture and nothing else.
//!
//! Needs a Vulkan adapter; a software one (Mesa's lavapipe) will do. Every picture is also written as a PNG to
//! `target/tmp`, to be looked at.

mod support;

use drystone::draw::{Camera, Coloring, DrawInputs, Image, Layers, Offscreen, Renderer, Style, Upload, raster};
use drystone::{Body, CpuWorld, Joint, JointKind, Scene, Shape, Spring};
use glam::Vec2;
use support::{build, context, cpu, gpu};

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
        world.step();
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
        ..Layers::default()
    }
}

/// Each kind of joint, side by side.
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

/// The colour of one pixel, 0 – 255.
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

/// Without grid and scale bar, and every body of one colour: what is there is there because of a layer.
fn bare() -> Style {
    Style { grid_strength: 0.0, scale_bar: false, scatter: 0.0, lightness: 0.0, ..Style::light() }
}

/// Pixels that differ by more than rounding.
fn changed(a: &Image, b: &Image) -> Vec<Vec2> {
    assert_eq!((a.width, a.height), (b.width, b.height));
    let pairs = a.rgba.chunks(4).zip(b.rgba.chunks(4)).enumerate();
    let differs = pairs.filter(|(_, (a, b))| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 2));
    let width = a.width as usize;
    differs.map(|(index, _)| Vec2::new((index % width) as f32 + 0.5, (index / width) as f32 + 0.5)).collect()
}

/// Largest and mean difference of a channel.
fn difference(a: &Image, b: &Image) -> (u8, f64) {
    assert_eq!((a.width, a.height, a.rgba.len()), (b.width, b.height, b.rgba.len()));
    let apart = || a.rgba.iter().zip(&b.rgba).map(|(x, y)| x.abs_diff(*y));
    (apart().max().unwrap_or(0), apart().map(f64::from).sum::<f64>() / a.rgba.len() as f64)
}

/// A box of one metre that rests on the ground, at the origin.
fn box_on_ground() -> Scene {
    let mut scene = Scene::new("box on ground");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    scene
}

fn close_up() -> Camera {
    // Half a pixel aside: edges of boxes at whole metres are in the middle of pixels.
    Camera::new(Vec2::new(0.005, 0.505), 3.0, [360, 300])
}

/// The same world drawn with and without layers, and what they changed.
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

    /// Pixels changed within `radius` pixels of a point.
    fn near(&self, point: Vec2, radius: f32) -> usize {
        let pixel = self.camera.to_pixel(point);
        self.changed.iter().filter(|changed| changed.distance(pixel) <= radius).count()
    }
}

#[test]
fn contact_points_and_normals_are_where_bodies_touch() {
    let world = stepped(&box_on_ground(), 30);
    let points = Shown::new("points", &world, close_up(), &Layers { contacts: true, ..Layers::default() });
    for x in [-0.5, 0.5] {
        assert!(apart(at(&points.with, &points.camera, Vec2::new(x, 0.0)), bytes(bare().contact)) < 8, "at {x}");
    }
    let both = points.near(Vec2::new(-0.5, 0.0), 8.0) + points.near(Vec2::new(0.5, 0.0), 8.0);
    assert_eq!(both, points.changed.len(), "nothing but the two points");

    // They stand on the ground and point up, onto the box.
    let normals = Shown::new("normals", &world, close_up(), &Layers { normals: true, ..Layers::default() });
    let above = |y: f32| apart(at(&normals.with, &normals.camera, Vec2::new(-0.5, y)), bytes(bare().normal)) < 60;
    assert!(above(0.08) && !above(-0.08) && !above(0.6));

    // Before anything touches there is nothing.
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
    // Each corner carries half a box: √½ of half its width, a little pressed.
    let is_arrow = |x: f32, y: f32| apart(at(&shown.with, &shown.camera, Vec2::new(x, y)), bytes(bare().impulse)) < 60;
    for x in [-0.5, 0.5] {
        assert!(is_arrow(x, 0.2) && !is_arrow(x, 0.55) && !is_arrow(x, -0.1), "at {x}");
    }
    let twice = Layers { impulses: true, impulse_scale: 2.0, ..Layers::default() };
    let shown_twice = Shown::new("impulses-twice", &world, close_up(), &twice);
    assert!(apart(at(&shown_twice.with, &shown_twice.camera, Vec2::new(0.5, 0.55)), bytes(bare().impulse)) < 60);

    let friction = Shown::new("friction-flat", &world, close_up(), &Layers { friction: true, ..Layers::default() });
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
    let moved =
        Shown::new("aabbs-start", &cpu(&box_on_ground()), close_up(), &Layers { aabbs: true, ..Layers::default() });
    assert_eq!(moved.changed, [], "none before the first step");
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
        drystone::stages::bin::cell_of(level, at)
    };
    let width = 1.0 / params.levels[world.compiled().shapes[0].level as usize].inv_cell[0];
    let middle = |(column, row): (i32, i32)| Vec2::new((column as f32 + 0.5) * width, (row as f32 + 0.5) * width);
    // As the step began.
    let taken: Vec<_> = world.compiled().poses.iter().map(|pose| cell(pose.position.into())).collect();
    let background = bytes(bare().background);
    let mut free = 0;
    for column in -8..16 {
        for row in -8..8 {
            let center = middle((column, row));
            // Seen, and under no body.
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

/// Each kind has a sign of its own, its anchors are marked, and what is switched off or gone is pale or not there.
#[test]
fn joints_are_told_apart() {
    let mut scene = all_joints();
    scene.gravity = Vec2::ZERO;
    let layers = Layers { joints: true, ..Layers::default() };
    let camera = Camera::new(Vec2::new(7.0, 1.0), 5.0, [1440, 400]);
    let shown = Shown::new("joints", &cpu(&scene), camera, &layers);
    for (index, kind) in ["distance", "spring", "revolute", "prismatic", "wheel", "weld", "motor"].iter().enumerate() {
        let x = 2.0 * index as f32;
        let anchors = match index {
            2 | 5 => vec![Vec2::new(x, 1.0)],
            // One that drives to a place shows the place, where B is.
            6 => vec![Vec2::new(x, 0.0)],
            _ => vec![Vec2::new(x, 0.0), Vec2::new(x, 2.0)],
        };
        for anchor in anchors {
            assert!(shown.near(anchor, 8.0) > 12, "{kind}: no sign at {anchor}");
        }
        assert_eq!(shown.near(Vec2::new(x + 0.9, 1.0), 6.0), 0, "{kind}: nothing beside it");
    }
    assert!(shown.near(Vec2::new(14.5, 2.5), 8.0) > 12, "the place that a mouse joint pulls to");
    // What each column of the picture shows, moved to the first, is unlike the others.
    let shape_of = |index: usize| -> Vec<(i32, i32)> {
        let left = camera.to_pixel(Vec2::new(2.0 * index as f32, 0.0)).x;
        let own = shown.changed.iter().filter(|pixel| (pixel.x - left).abs() < 70.0);
        #[allow(clippy::cast_possible_truncation, reason = "pixels")]
        own.map(|pixel| ((pixel.x - left).round() as i32, pixel.y as i32)).collect()
    };
    for a in 0..8 {
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
    assert!(strength(&disabled) > 5 && 2 * strength(&disabled) < strength(&shown), "one that is off is pale");
    let mut world = cpu(&scene);
    let joint = world.joint_id(1).expect("the second");
    world.remove_joints(&[joint]).expect("removes");
    let removed = Shown::new("joints-removed", &world, camera, &layers);
    assert_eq!(removed.near(Vec2::new(2.0, 1.0), 20.0), 0, "one that is gone is not there");
}

/// Colours of bodies, at their middles; black for those outside of the picture.
fn colors(world: &CpuWorld, reference: Option<&CpuWorld>, layers: &Layers, name: &str) -> Vec<[u8; 3]> {
    let upload = upload(world);
    let other = reference.map(self::upload);
    let mut inputs = upload.inputs();
    if let Some(other) = &other {
        inputs = inputs.against(other.inputs().poses);
    }
    let camera = Camera::fit_scene(world.poses(), &world.compiled().shapes, [800, 500]);
    let style = Style { marks: 0.0, ..bare() };
    let image = draw(&inputs, &camera, &style, layers);
    keep(&image, name);
    let size = Vec2::new(800.0, 500.0);
    let seen = |point: Vec2| camera.to_pixel(point).min_element() >= 0.0 && camera.to_pixel(point).cmplt(size).all();
    let color = |point: Vec2| if seen(point) { at(&image, &camera, point) } else { [0; 3] };
    world.poses().iter().map(|pose| color(pose.position.into())).collect()
}

/// As the shader does.
fn scale_color(style: &Style, share: f32) -> [u8; 3] {
    let along = share.clamp(0.0, 1.0) * 7.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 7")]
    let stop = (along as usize).min(6);
    let part = along - stop as f32;
    let (a, b) = (style.scale[stop], style.scale[stop + 1]);
    bytes([0, 1, 2].map(|i| a[i] * (1.0 - part) + b[i] * part))
}

#[test]
fn speed_and_distance_are_on_their_scales() {
    let mut scene = Scene::new("three speeds");
    scene.gravity = Vec2::ZERO;
    for (index, speed) in [0.0, 0.1, 1.0, 30.0, 5000.0].into_iter().enumerate() {
        scene.add(Body::dynamic(2.0 * index as f32, 0.0).velocity(0.0, speed).shape(Shape::circle(0.5)));
    }
    let world = cpu(&scene);
    let layers = Layers { coloring: Coloring::Speed, legend: false, ..Layers::default() };
    let seen = colors(&world, None, &layers, "speed");
    let share = |speed: f32| (speed / 0.01).log10() / 4.0;
    for (index, speed) in [(1, 0.1), (2, 1.0), (3, 30.0), (4, 100.0)] {
        let expected = scale_color(&bare(), share(speed));
        assert!(apart(seen[index], expected) < 3, "{speed} m/s: {:?}, expected {expected:?}", seen[index]);
    }
    assert!(apart(seen[0], scale_color(&bare(), 0.0)) > 20, "what does not move has no place on the scale");

    let mut moved = scene.clone();
    for (body, by) in moved.bodies.iter_mut().zip([0.0, 1e-3, 1e-1, 0.3, 0.0]) {
        body.position.x += by;
    }
    let layers = Layers { coloring: Coloring::Difference, legend: false, ..layers };
    let seen = colors(&world, Some(&cpu(&moved)), &layers, "distance");
    for (index, exponent) in [(1, 5.0), (2, 7.0), (3, 7.477)] {
        let expected = scale_color(&bare(), exponent / 8.0);
        assert!(apart(seen[index], expected) < 4, "body {index}: {:?}, expected {expected:?}", seen[index]);
    }
    assert_eq!(seen[0], seen[4], "what is at the same place");
    assert!(apart(seen[0], seen[1]) > 20);
    let range = Layers { distance_range: [1e-4, 1e-2], ..layers };
    let seen = colors(&world, Some(&cpu(&moved)), &range, "distance-range");
    assert!(apart(seen[1], scale_color(&bare(), 0.5)) < 4, "another range");
}

#[test]
fn islands_hang_together() {
    let mut scene = Scene::new("islands");
    scene.add(Body::fixed(3.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
    for x in [0.0, 3.0] {
        for y in [0.5, 1.5, 2.5] {
            scene.add(Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5)));
        }
    }
    for x in [5.0, 7.0] {
        scene.add(Body::dynamic(x, 0.5).shape(Shape::half_box(0.5, 0.5)));
    }
    let tied = scene.add(Body::dynamic(-3.0, 2.5).shape(Shape::half_box(0.5, 0.5)));
    let free = scene.add(Body::dynamic(-3.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    scene.join(Joint::new(JointKind::rod(), tied, free));
    let layers = Layers { coloring: Coloring::Island, ..Layers::default() };
    let check = |world: &CpuWorld, name: &str| {
        let seen = colors(world, None, &layers, name);
        assert!(seen[1] == seen[2] && seen[2] == seen[3], "{name}: one stack {seen:?}");
        assert!(seen[4] == seen[5] && seen[5] == seen[6], "{name}: the other {seen:?}");
        assert!(apart(seen[1], seen[4]) > 20, "{name}: the two are apart: {seen:?}");
        assert_eq!(seen[7], seen[8], "{name}: both are alone");
        assert_eq!(seen[tied], seen[free], "{name}: a joint ties");
        assert!(apart(seen[tied], seen[7]) > 20 && apart(seen[1], seen[7]) > 20, "{name}: {seen:?}");
    };
    check(&stepped(&scene, 5), "islands");
    scene.settings.sleep = true;
    let asleep = stepped(&scene, 200);
    assert_eq!(asleep.counters().awake, 0, "else this tests the same again");
    check(&asleep, "islands-asleep");
}

#[test]
fn sleepers_are_told_from_those_awake() {
    let mut scene = box_on_ground();
    scene.settings.sleep = true;
    scene.add(Body::dynamic(1.5, 0.5).sleepless().shape(Shape::half_box(0.5, 0.5)));
    let world = stepped(&scene, 120);
    assert_eq!(world.counters().awake, 1);
    let layers = Layers { coloring: Coloring::Sleep, legend: false, ..Layers::default() };
    let seen = colors(&world, None, &layers, "sleep");
    assert!(apart(seen[1], scale_color(&bare(), 0.0)) < 3, "asleep: {seen:?}");
    assert!(apart(seen[2], seen[1]) > 40, "awake: {seen:?}");

    let plain = colors(&world, None, &Layers::default(), "sleep-plain");
    let dimmed = colors(&world, None, &Layers { sleep: true, ..Layers::default() }, "sleep-dimmed");
    assert!(apart(plain[2], dimmed[2]) < 3, "who is awake stays as it was: {plain:?} {dimmed:?}");
    assert!(apart(plain[1], dimmed[1]) > 40, "who sleeps is dimmed");
    assert_eq!(plain[0], dimmed[0], "the ground does not sleep");

    // Contacts of sleepers lie in another table, and are drawn from it.
    let camera = close_up();
    let shown = Shown::new("sleeping-contacts", &world, camera, &Layers { contacts: true, ..Layers::default() });
    assert!(shown.near(Vec2::new(-0.5, 0.0), 6.0) > 8);
    let strength = |x: f32| apart(at(&shown.with, &camera, Vec2::new(x, 0.0)), bytes(bare().contact));
    assert!(strength(-0.5) > 30, "paler than those of bodies awake");
}

#[test]
fn graph_colors_are_those_of_contacts() {
    let world = stepped(&build("large_pyramid:base=6"), 10);
    let layers = Layers { coloring: Coloring::GraphColor, legend: false, ..Layers::default() };
    let seen = colors(&world, None, &layers, "graph");
    let mut last = vec![None; world.poses().len()];
    for contact in world.snapshot().contacts.iter().filter(|contact| support::is_touching(contact)) {
        for body in support::dynamic_bodies(contact) {
            last[body as usize] = last[body as usize].max(Some(contact.color));
        }
    }
    let (mut same, mut unlike) = (0, 0);
    for a in 1..last.len() {
        for b in 1..a {
            if last[a] == last[b] {
                assert_eq!(seen[a], seen[b], "bodies {a} and {b} have {:?}", last[a]);
                same += 1;
            } else {
                assert!(apart(seen[a], seen[b]) > 8, "{:?} and {:?}: {:?} {:?}", last[a], last[b], seen[a], seen[b]);
                unlike += 1;
            }
        }
    }
    assert!(same > 5 && unlike > 5, "{same} pairs of one colour, {unlike} of two");

    let camera = Camera::fit_scene(world.poses(), &world.compiled().shapes, [800, 500]);
    let lines =
        Shown::new("constraints", &world, camera, &Layers { constraints: true, legend: false, ..Layers::default() });
    let snapshot = world.snapshot();
    for contact in snapshot.contacts.iter().filter(|contact| support::is_touching(contact)) {
        let place = |body: u32| Vec2::from(snapshot.poses[body as usize].position);
        if support::dynamic_bodies(contact).count() == 2 {
            let middle = 0.5 * (place(contact.body_a) + place(contact.body_b));
            assert!(lines.near(middle, 2.0) > 0, "no line over {middle}");
        }
    }
}

#[test]
fn wires_outlines_and_the_chosen_body() {
    let world = stepped(&box_on_ground(), 1);
    let camera = close_up();
    let picture = |layers: &Layers| {
        let image = draw(&upload(&world).inputs(), &camera, &bare(), layers);
        keep(&image, "wires");
        image
    };
    let plain = picture(&Layers::default());
    let wires = picture(&Layers { shapes: false, ..Layers::default() });
    let flat = picture(&Layers { outlines: false, ..Layers::default() });
    let chosen = picture(&Layers { highlight: Some(1), ..Layers::default() });
    let (inside, edge) = (Vec2::new(-0.2, 0.7), Vec2::new(-0.5, 0.7));
    assert_eq!(at(&wires, &camera, inside), bytes(bare().background));
    assert!(apart(at(&wires, &camera, edge), bytes(bare().background)) > 40);
    assert_eq!(at(&plain, &camera, inside), at(&flat, &camera, inside));
    assert!(apart(at(&plain, &camera, edge), at(&flat, &camera, Vec2::new(-0.49, 0.7))) > 40);
    assert!(apart(at(&chosen, &camera, edge), bytes(bare().accent)) < 4);
    assert!(changed(&chosen, &plain).iter().all(|pixel| camera.to_world(*pixel).y > -0.05), "no other body");
    let nothing = picture(&Layers { shapes: false, outlines: false, ..Layers::default() });
    assert!(nothing.rgba.chunks(4).all(|pixel| pixel == &nothing.rgba[..4]), "nothing but the background");
}

/// One frame that shows one thing after the other is like a new frame for each.
#[test]
fn a_frame_can_be_used_again() {
    let small = stepped(&box_on_ground(), 10);
    let large = stepped(&support::pile(3, 80), 60);
    let mut kept = offscreen();
    for (index, (world, layers, size)) in [
        (&small, all_layers(), [640, 360]),
        (&large, Layers { coloring: Coloring::Speed, ..all_layers() }, [640, 360]),
        (&small, Layers { coloring: Coloring::Island, ..Layers::default() }, [320, 200]),
        (&large, Layers::default(), [640, 360]),
        (&large, Layers { coloring: Coloring::GraphColor, ..Layers::default() }, [640, 360]),
        (&small, Layers { coloring: Coloring::Speed, ..Layers::default() }, [640, 360]),
    ]
    .into_iter()
    .enumerate()
    {
        let upload = upload(world);
        let camera = Camera::fit_scene(world.poses(), &world.compiled().shapes, size);
        let again = kept.layered_picture(&upload.inputs(), &camera, &Style::dark(), &layers).expect("draws");
        keep(&again, &format!("again-{index}"));
        assert!(again == draw(&upload.inputs(), &camera, &Style::dark(), &layers), "picture {index}");
    }
}

/// The legend says the largest value, which only the device knows.
#[test]
fn legend_tells_the_largest_value() {
    let drawn = |speed: f32| {
        let mut scene = Scene::new("one");
        scene.gravity = Vec2::ZERO;
        scene.add(Body::dynamic(0.0, 0.0).velocity(speed, 0.0).shape(Shape::circle(0.5)));
        let image = draw(
            &upload(&cpu(&scene)).inputs(),
            &Camera::new(Vec2::ZERO, 4.0, [640, 360]),
            &bare(),
            &Layers { coloring: Coloring::Speed, speed_range: [1e-3, 1e-2], ..Layers::default() },
        );
        keep(&image, "legend");
        image
    };
    // All of them are past the scale, so nothing but the number differs.
    let (a, b, again) = (drawn(12.3), drawn(12.8), drawn(12.3));
    assert!(a == again);
    let differs = changed(&a, &b);
    assert!(!differs.is_empty() && differs.len() < 36, "one digit: {} pixels", differs.len());
    let in_corner = |pixel: &&Vec2| pixel.x > 440.0 && pixel.y > 300.0;
    assert_eq!(differs.iter().filter(in_corner).count(), differs.len());
    assert!(changed(&a, &drawn(0.0123)).len() > 5, "12.3 m/s is not 12.3 mm/s");
}

#[test]
fn what_is_missing_is_an_error() {
    let world = cpu(&box_on_ground());
    let mut upload = Upload::new(context().device(), context().queue());
    upload.refresh(&world, false).expect("uploads");
    let mut offscreen = offscreen();
    let mut try_it = |inputs: &DrawInputs<'_>, layers: &Layers| {
        offscreen.layered_picture(inputs, &close_up(), &bare(), layers).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(try_it(&upload.inputs(), &Layers::default()), Ok(()));
    for layers in
        [Layers { contacts: true, ..Layers::default() }, Layers { coloring: Coloring::Speed, ..Layers::default() }]
    {
        let error = try_it(&upload.inputs(), &layers).expect_err("no tables");
        assert_eq!(error, "the states buffer is missing, and a layer needs it");
    }
    upload.refresh(&world, true).expect("uploads");
    let layers = Layers { coloring: Coloring::Difference, ..Layers::default() };
    let error = try_it(&upload.inputs(), &layers).expect_err("no other world");
    assert_eq!(error, "the reference buffer is missing, and a layer needs it");
    let poses = upload.inputs().poses.clone();
    assert_eq!(try_it(&upload.inputs().against(&poses), &layers), Ok(()));
    let mut broken = upload.inputs();
    let tables = broken.tables.as_mut().expect("there now");
    tables.params = &poses;
    assert!(try_it(&broken, &all_layers()).expect_err("no uniform").contains("params buffer"));
}

/// Nothing to draw, nothing stepped, no body: no layer minds.
#[test]
fn empty_worlds_are_drawn() {
    let world = cpu(&Scene::new("nothing"));
    let mut layers = all_layers();
    let mut device_world = gpu(&Scene::new("nothing"));
    device_world.step().expect("a step");
    for coloring in Coloring::ALL {
        layers.coloring = coloring;
        let uploaded = upload(&world);
        for inputs in [uploaded.inputs(), device_world.draw_inputs()] {
            let image = draw(&inputs.against(inputs.poses), &close_up(), &bare(), &Layers { legend: false, ..layers });
            assert!(image.rgba.chunks(4).all(|pixel| pixel == &image.rgba[..4]), "{coloring:?}");
        }
    }
}

/// From the GPU's own buffers as from uploaded ones of the CPU.
#[test]
fn both_backends_look_the_same() {
    let mut scene = support::pile(5, 60);
    scene.settings.sleep = true;
    for index in 0..3 {
        let [a, b] = [2 * index + 5, 2 * index + 6];
        scene.join(Joint::new(JointKind::spring(10.0, 0.1), a, b));
    }
    let mut offscreen = offscreen();
    let (mut on_gpu, mut on_cpu) = (gpu(&scene), cpu(&scene));
    for step in 1..=12 {
        on_gpu.step().expect("a step");
        on_cpu.step();
        if step % 4 != 0 {
            continue;
        }
        let camera = Camera::fit_scene(on_cpu.poses(), &on_cpu.compiled().shapes, [800, 500]);
        let uploaded = upload(&on_cpu);
        for coloring in Coloring::ALL {
            let layers = Layers { coloring, ..all_layers() };
            let (a, b) = (on_gpu.draw_inputs(), uploaded.inputs());
            let one = offscreen.layered_picture(&a.against(a.poses), &camera, &Style::light(), &layers).expect("draws");
            let other =
                offscreen.layered_picture(&b.against(b.poses), &camera, &Style::light(), &layers).expect("draws");
            keep(&one, &format!("gpu-{coloring:?}"));
            keep(&other, &format!("cpu-{coloring:?}"));
            let (worst, mean) = difference(&one, &other);
            println!("step {step}, {coloring:?}: worst {worst}, mean {mean:.4}");
            assert!(mean < 0.05, "step {step}, {coloring:?}: worst {worst}, mean {mean}");
        }
    }
    // Negative control: one step later is another picture.
    let camera = Camera::fit_scene(on_cpu.poses(), &on_cpu.compiled().shapes, [800, 500]);
    let before =
        offscreen.layered_picture(&on_gpu.draw_inputs(), &camera, &Style::light(), &all_layers()).expect("draws");
    on_cpu.step();
    let after =
        offscreen.layered_picture(&upload(&on_cpu).inputs(), &camera, &Style::light(), &all_layers()).expect("draws");
    assert!(difference(&before, &after).1 > 0.5, "{:?}", difference(&before, &after));
}

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
            // Its shape lies aside.
            _ => body.shape(Shape::half_box(0.1, size).offset(1.0, 0.5)),
        });
    }
    if count > 100 {
        scene.add(Body::fixed(0.0, -50.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    }
    scene
}

/// What the device found to be in a picture.
fn culled(world: &drystone::scene::Compiled, camera: &Camera) -> Vec<u32> {
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

/// Nothing that is seen is left out, what is far outside is, and the order is that of the scene, fixed bodies first.
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
            // How far outside of the picture the circle around a shape ends, px.
            let outside = |index: usize| {
                let shape = &world.shapes[index];
                let pose = &world.poses[shape.body as usize];
                let place =
                    Vec2::from(pose.position) + drystone::math::rotate(pose.rotation.into(), shape.offset.into());
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
            let fixed = |index: u32| world.shapes[index as usize].kind & drystone::types::FIXED_SHAPE != 0;
            assert!(found.is_sorted_by_key(|&index| (!fixed(index), index)), "the order of the scene");
            if count == 5000 {
                assert!(view == 0 || found.len() < world.shapes.len() / 2, "{} of {}", found.len(), world.shapes.len());
                assert!(view > 0 || found.len() == world.shapes.len());
            }
        }
    }
}

/// The rasteriser looks at every shape: with culling the picture is the same, near and far, at sizes below a pixel and
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
        assert!(worst <= 12 && mean < 0.6, "{name}: worst {worst}, mean {mean}");
        // Negative control: a third of a pixel aside is another picture.
        let aside = Camera { center: camera.center + 0.3 * camera.metres_per_pixel, ..camera };
        let aside = offscreen.picture(&upload.inputs(), &aside, &style).expect("draws");
        assert!(difference(&aside, &plain).1 > 2.0 * mean + 0.1, "{name}: {:?}", difference(&aside, &plain));
    }
}

/// While zooming, what is smaller than a pixel changes little by little.
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
