//! Colours of bodies, and the legend that explains them.

use drystone::low_level::CpuWorld;
use drystone::{Body, Joint, JointKind, Scene, Shape};
use drystone_draw::{Camera, Coloring, Layers, Style};
use glam::Vec2;

use super::support::{self, build, cpu};
use super::{Shown, apart, at, bare, box_on_ground, bytes, changed, close_up, draw, keep, stepped, upload};

/// Returns the colours of bodies at their centres; black for bodies outside of the picture.
fn colors(world: &CpuWorld, reference: Option<&CpuWorld>, layers: &Layers, name: &str) -> Vec<[u8; 3]> {
    let upload = upload(world);
    let other = reference.map(super::upload);
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

/// Returns the colour of the scale, computed as in the shader.
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
    assert!(apart(seen[0], scale_color(&bare(), 0.0)) > 20, "a body at rest has no colour of the scale");

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
    assert_eq!(seen[0], seen[4], "bodies at the same position");
    assert!(apart(seen[0], seen[1]) > 20);
    let range = Layers { distance_range: [1e-4, 1e-2], ..layers };
    let seen = colors(&world, Some(&cpu(&moved)), &range, "distance-range");
    assert!(apart(seen[1], scale_color(&bare(), 0.5)) < 4, "another range");
}

#[test]
fn islands_have_one_color_each() {
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
        assert!(seen[1] == seen[2] && seen[2] == seen[3], "{name}: one stack has one colour {seen:?}");
        assert!(seen[4] == seen[5] && seen[5] == seen[6], "{name}: the other stack has one colour {seen:?}");
        assert!(apart(seen[1], seen[4]) > 20, "{name}: the stacks have different colours: {seen:?}");
        assert_eq!(seen[7], seen[8], "{name}: single bodies have the same colour");
        assert_eq!(seen[tied], seen[free], "{name}: a joint connects");
        assert!(apart(seen[tied], seen[7]) > 20 && apart(seen[1], seen[7]) > 20, "{name}: {seen:?}");
    };
    check(&stepped(&scene, 5), "islands");
    scene.settings.sleep = true;
    let asleep = stepped(&scene, 200);
    assert_eq!(asleep.counters().awake, 0, "all bodies must sleep for this test");
    check(&asleep, "islands-asleep");
}

#[test]
fn sleeping_bodies_are_distinct_from_awake_ones() {
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
    assert!(apart(plain[2], dimmed[2]) < 3, "awake bodies keep their colour: {plain:?} {dimmed:?}");
    assert!(apart(plain[1], dimmed[1]) > 40, "sleeping bodies are dimmed");
    assert_eq!(plain[0], dimmed[0], "the ground does not sleep");

    // Contacts of sleeping bodies are in another table, and are drawn from it.
    let camera = close_up();
    let shown = Shown::new("sleeping-contacts", &world, camera, &Layers { contacts: true, ..Layers::default() });
    assert!(shown.near(Vec2::new(-0.5, 0.0), 6.0) > 8);
    let strength = |x: f32| apart(at(&shown.with, &camera, Vec2::new(x, 0.0)), bytes(bare().contact));
    assert!(strength(-0.5) > 30, "paler than those of awake bodies");
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
fn wires_outlines_and_the_highlighted_body() {
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

/// The legend shows the largest value, which only the device knows.
#[test]
fn legend_shows_the_largest_value() {
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
    // All values are above the scale, so only the number differs.
    let (a, b, again) = (drawn(12.3), drawn(12.8), drawn(12.3));
    assert!(a == again);
    let differs = changed(&a, &b);
    let side = |of: fn(&Vec2) -> f32| {
        let (low, high) = differs.iter().map(of).fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(v), high.max(v)));
        high - low
    };
    assert!(!differs.is_empty() && side(|p| p.x) < 8.0 && side(|p| p.y) < 10.0, "one digit: {differs:?}");
    let in_corner = |pixel: &&Vec2| pixel.x > 440.0 && pixel.y > 300.0;
    assert_eq!(differs.iter().filter(in_corner).count(), differs.len());
    assert!(changed(&a, &drawn(0.0123)).len() > 5, "12.3 m/s is not 12.3 mm/s");
}

/// The largest value is written without blanks inside: between the letters of `22.1 µm/s` there are gaps of a few
/// pixels only, but for the one before the unit and the one after `max`.
#[test]
fn the_value_has_no_blanks() {
    let mut scene = Scene::new("one");
    scene.gravity = Vec2::ZERO;
    scene.add(Body::dynamic(0.0, 0.0).velocity(22.1e-6, 0.0).shape(Shape::circle(0.5)));
    let image = draw(
        &upload(&cpu(&scene)).inputs(),
        &Camera::new(Vec2::ZERO, 4.0, [1280, 720]),
        &bare(),
        &Layers { coloring: Coloring::Speed, ..Layers::default() },
    );
    keep(&image, "legend-value");
    let background = bytes(bare().background);
    let pixel = |x: u32, y: u32| {
        let at = ((y * image.width + x) * 4) as usize;
        [image.rgba[at], image.rgba[at + 1], image.rgba[at + 2]]
    };
    // Rows of the title: above the ramp, which is the widest row of colours.
    let is_ink = |x: u32, y: u32| apart(pixel(x, y), background) > 60;
    let row_width = |y: u32| (image.width / 2..image.width).filter(|&x| is_ink(x, y)).count();
    let ramp = (image.height / 2..image.height).find(|&y| row_width(y) > 300).expect("a ramp");
    let columns: Vec<u32> =
        (image.width / 2..image.width).filter(|&x| (ramp - 18..ramp - 2).any(|y| is_ink(x, y))).collect();
    let gaps: Vec<u32> = columns.windows(2).map(|pair| pair[1] - pair[0] - 1).filter(|&gap| gap > 0).collect();
    let wide: Vec<&u32> = gaps.iter().filter(|&&gap| gap > 3).collect();
    // After `speed`, after `max`, and before the unit.
    assert_eq!(wide.len(), 3, "{gaps:?}");
    assert!(gaps.len() > 12, "the letters are apart: {gaps:?}");
}
