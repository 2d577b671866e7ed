//! Laws that the scenes of Box2D's samples follow.

use drystone::low_level::CpuWorld;
use drystone::{EventKind, Scene};
use drystone_scenes::catalogue;
use glam::Vec2;

fn after(spec: &str, seconds: f32, change: impl FnOnce(&mut Scene)) -> CpuWorld {
    let mut scene = catalogue::build(spec).expect("a catalogue scene");
    change(&mut scene);
    let mut world = CpuWorld::new(&scene).expect("a valid scene");
    let mut step = 0.0;
    while step * scene.settings.dt < seconds {
        world.step().expect("a step");
        step += 1.0;
    }
    world
}

fn position(world: &CpuWorld, body: usize) -> Vec2 {
    world.body(body).expect("a body").position()
}

/// A ball with the resistance c rolls `v² (1 + I/m r²) / (2 c g)` far; without any it rolls on.
#[test]
fn balls_roll_as_far_as_their_resistance_says() {
    let world = after("rolling_resistance", 15.0, |_| ());
    for ball in 4..=20_u8 {
        let resistance = 0.02 * f32::from(ball - 1);
        let way = 25.0 * 1.5 / (2.0 * resistance * 10.0);
        // It falls by 25 cm onto its shelf first.
        let rolled = position(&world, ball.into()).x + 39.5;
        assert!((rolled - way).abs() < 0.03 * way + 1.3, "{ball}: {rolled} m, and not {way}");
        assert!(world.body(usize::from(ball)).expect("a body").velocity().length() < 1e-3, "{ball}");
    }
    assert!(position(&world, 1).x > 30.0, "without resistance: {}", position(&world, 1));
}

/// Kinetic energy of a body that bounces between four walls stays: speed of a circle, both speeds of a box that turns.
#[test]
fn a_bounce_house_keeps_the_energy() {
    for shape in 0..=2 {
        // The capsule would come to the limit of spins, 47 rad/s.
        let world = after(&format!("bounce_house:shape={shape}"), 20.0, |scene| scene.settings.max_spin = Some(500.0));
        let body = world.body(1).expect("a body");
        let energy = 0.5 * body.mass() * body.velocity().length_squared()
            + 0.5 * body.inertia() * body.angular_velocity().powi(2);
        let share = energy / (0.5 * body.mass() * 500.0);
        assert!((share - 1.0).abs() < 0.01, "shape {shape}: {share} of the energy");
    }
    let without = after("bounce_house", 20.0, |scene| scene.bodies[1].shapes[0].material.restitution = 0.9);
    assert!(without.body(1).expect("a body").velocity().length() < 20.0, "the check would find a loss");
}

/// In its first flight after the impact a body comes back to e² of the height it fell.
#[test]
fn a_body_comes_back_to_the_square_of_its_restitution() {
    let scene = catalogue::build("restitution").expect("a catalogue scene");
    let mut world = CpuWorld::new(&scene).expect("a valid scene");
    let mut highest = [0.0_f32; 40];
    for step in 1..=520 {
        world.step().expect("a step");
        for (index, highest) in highest.iter_mut().enumerate() {
            // The first impact is after √(2 · 39.5 / 10) = 2.81 s, and the next 2 e times that later.
            let e = index as f32 / 39.0;
            if step > 172 && (step as f32) < 168.6 * (1.0 + 2.0 * e) - 2.0 {
                *highest = highest.max(position(&world, index + 1).y - 0.5);
            }
        }
    }
    for (index, highest) in highest.iter().enumerate().skip(10) {
        let want = 39.5 * (index as f32 / 39.0).powi(2);
        // A step moves it by half a metre at the ground.
        assert!((highest - want).abs() < 0.02 * want + 0.1, "{index}: {highest} m, and not {want}");
    }
}

/// The body crosses the valley as if its pieces were one: it does not hop, and the chain is as good as boxes.
#[test]
fn joints_of_the_ground_are_not_felt() {
    let highest_hop = |spec: &str| {
        let scene = catalogue::build(spec).expect("a catalogue scene");
        let mut world = CpuWorld::new(&scene).expect("a valid scene");
        let (mut hop, mut crossed) = (0.0_f32, false);
        for _ in 0..600 {
            world.step().expect("a step");
            let at = position(&world, 1);
            // In the middle of the valley, away from its ends.
            if at.x.abs() < 9.0 {
                hop = hop.max(at.y);
                crossed |= at.x > 8.0;
            }
        }
        assert!(crossed, "{spec} did not cross the valley");
        hop
    };
    for (spec, radius) in [
        ("ghost_bumps:friction=0.05", 0.5),
        ("ghost_bumps:friction=0.05,chain=0", 0.5),
        ("ghost_bumps:shape=1,friction=0.05", 0.25),
        ("ghost_bumps:shape=1,friction=0.05,chain=0", 0.25),
    ] {
        let hop = highest_hop(spec) - 0.25 - radius;
        assert!(hop < 0.02, "{spec} hops by {hop} m");
    }
}

/// Balls pass the platforms from below, and stay on them; the boxes ride along on the one that moves.
#[test]
fn platforms_are_passed_from_below_and_hold_from_above() {
    let world = after("platformer", 10.0, |_| ());
    for (ball, height) in [(2, 3.0), (4, 5.0), (6, 7.0)] {
        let at = position(&world, ball);
        assert!((at.y - height - 0.5).abs() < 0.01, "ball {ball} is at {at}");
    }
    let platform = position(&world, 7);
    for (body, x) in [(8, -1.0), (9, 1.0)] {
        let from = position(&world, body) - platform;
        assert!((from - Vec2::new(x, 0.5)).abs().max_element() < 0.1, "box {body} is at {from} of its platform");
    }
    // Slower ones do not get there.
    let low = after("platformer:speed=5", 10.0, |_| ());
    assert!(position(&low, 4).y < 1.0);
}

/// The weeble stands up, also from upside down.
#[test]
fn a_weeble_rights_itself() {
    let world = after("weeble:angle=2.98", 60.0, |scene| {
        // Its rolling takes minutes to end without.
        scene.bodies[1].angular_damping = 1.0;
    });
    let body = world.body(1).expect("a body");
    assert!(body.angle().abs() < 0.02 && (body.position().y - 2.0).abs() < 0.02, "{} rad", body.angle());
}

/// Each ring that reaches the spout is seen by its sensor.
#[test]
fn the_funnel_reports_visitors() {
    let scene = catalogue::build("sensor_funnel:rings=6").expect("a catalogue scene");
    let mut world = CpuWorld::new(&scene).expect("a valid scene");
    let mut visitors = std::collections::BTreeSet::new();
    for _ in 0..1_200 {
        world.step().expect("a step");
        let events = world.take_events();
        let begun = events.iter().filter(|event| event.kind == EventKind::SensorBegin);
        visitors.extend(begun.map(|event| event.bodies[1]));
    }
    assert!(visitors.len() > 20, "{} capsules of 42", visitors.len());
    assert!(visitors.iter().all(|&body| body > 3), "the bars are no visitors: {visitors:?}");
}
