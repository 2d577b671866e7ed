//! Light bodies on the joints of heavy ones that touch something: wheels, legs and bars. A contact sees the mass of the
//! light body alone, so nothing may be thrown.

use drystone::{Body, Joint, JointKind, Mode, Scene, Settings, Shape, Spring};
use glam::Vec2;

use crate::common::{Backend, Sim, between};
use crate::joints::heavy::{add_beside, equal_the_reference, have_a_twin, is_detected};
use crate::joints::world;

on_every_backend!(
    what_stands_on_light_wheels_rests,
    light_wheels_throw_nothing,
    light_legs_throw_nothing,
    light_bars_throw_nothing
);

/// Returns bodies and energy of a scene in joules, kinetic and potential, without springs, at the accuracy of masses
/// that are given.
fn energy(sim: &mut Sim, scene: &Scene) -> f64 {
    let masses = drystone::low_level::scene::Compiled::new(scene).expect("valid").mass;
    let of = |(body, mass): (&drystone::low_level::state::ReportedBody, &drystone::geometry::MassProperties)| {
        let [vx, vy] = body.velocity.map(f64::from);
        let (turn, spin) = (body.angle, f64::from(body.angular_velocity));
        let [x, y] = [f64::from(mass.center.x), f64::from(mass.center.y)];
        let height = f64::from(body.position[1]) + f64::from(turn.sin()) * x + f64::from(turn.cos()) * y;
        let moving = if mass.mass.is_finite() { f64::from(mass.mass) } else { 0.0 };
        let turning = if mass.inertia.is_finite() { f64::from(mass.inertia) } else { 0.0 };
        0.5 * moving * (vx * vx + vy * vy) + 0.5 * turning * spin * spin + moving * 10.0 * height
    };
    sim.bodies().iter().zip(&masses).map(of).sum()
}

/// Adds a chassis of this mass on two wheels of 1 kg, whose lowest points are at `height`, m.
fn add_cart(scene: &mut Scene, mass: f32, x: f32, height: f32) {
    let mut chassis = Body::dynamic(x, height + 1.0).shape(Shape::half_box(1.5, 0.3));
    chassis.mass = Some(mass);
    let chassis = scene.add(chassis);
    for side in [-1.0, 1.0] {
        let mut wheel = Body::dynamic(x + side, height + 0.4).shape(Shape::circle(0.4));
        wheel.mass = Some(1.0);
        let wheel = scene.add(wheel);
        scene.join(Joint::new(JointKind::hinge(), chassis, wheel).anchors([side, -0.6], [0.0, 0.0]));
    }
}

fn ground() -> Scene {
    let mut scene = world(10.0);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(300.0, 1.0)));
    scene
}

/// Returns the most energy above the start, J, and the fastest speed at the end, m/s, of a run.
fn run(backend: Backend, scene: &Scene, steps: usize) -> (f64, f64) {
    let mut sim = backend.start(scene);
    let start = energy(&mut sim, scene);
    let mut gained = f64::MIN;
    for _ in 0..if backend == Backend::Gpu { 60 } else { steps } {
        gained = gained.max(energy(sim.advance(1), scene) - start);
    }
    let speed = |[x, y]: [f32; 2]| f64::from(x).hypot(f64::from(y));
    (gained, sim.bodies().iter().map(|body| speed(body.velocity)).fold(0.0, f64::max))
}

/// Solved as trees while their wheels stand, such carts tremble at 0.65 m/s for ever.
fn what_stands_on_light_wheels_rests(backend: Backend) {
    for mass in [50.0, 100.0, 1000.0] {
        let mut scene = ground();
        add_cart(&mut scene, mass, 0.0, 0.0);
        let (gained, speed) = run(backend, &scene, 600);
        between(&format!("energy gained at {mass} : 1, J"), gained, -10.0 * f64::from(mass), 1e-3);
        let most = if backend == Backend::Gpu { 0.5 } else { 0.01 };
        between(&format!("speed at the end at {mass} : 1"), speed, 0.0, most);
    }
}

/// From a height of 1 m, at restitution 0. As trees they bounced to 4.3 m.
fn light_wheels_throw_nothing(backend: Backend) {
    for mass in [40.0, 107.0, 300.0] {
        let mut scene = ground();
        add_cart(&mut scene, mass, 0.0, 1.0);
        let (gained, speed) = run(backend, &scene, 300);
        between(&format!("energy gained at {mass} : 1, J"), gained, -30.0 * f64::from(mass), 1e-3);
        let most = if backend == Backend::Gpu { 5.0 } else { 0.05 };
        between(&format!("speed at the end at {mass} : 1"), speed, 0.0, most);
    }
}

/// Landers of 5 kg on two sprung legs with limits, at all angles, with 4 and with 8 substeps. The springs add up to
/// 8 J. With a stop at the time of impact a leg stays behind while the rest goes on, and its stretched joint throws it:
/// by 120 J at 8 substeps and legs of 13 : 1.
fn light_legs_throw_nothing(backend: Backend) {
    for (leg_mass, substeps) in [(0.07, 4), (0.35, 4), (0.35, 8)] {
        let mut scene = ground();
        scene.settings = Settings { substeps: Some(substeps), dt: 0.02, ..scene.settings };
        let count: u8 = if backend == Backend::Gpu { 2 } else { 13 };
        for index in 0..count {
            let angle = -1.2 + 2.4 * f32::from(index) / f32::from(count - 1);
            let (sin, cos) = angle.sin_cos();
            let at = |x: f32, y: f32| [12.0 * f32::from(index) + cos * x - sin * y, 4.0 + sin * x + cos * y];
            let add = |scene: &mut Scene, [x, y]: [f32; 2], turn: f32, shape: Shape, mass: f32| {
                let mut body = Body::dynamic(x, y).angle(angle + turn).velocity(-7.0, -7.0).shape(shape);
                (body.mass, body.inertia) = (Some(mass), Some(0.16 * mass));
                scene.add(body)
            };
            let mut hull = Shape::half_box(0.5, 0.4);
            hull.filter.group = -1;
            let lander = add(&mut scene, at(0.0, 0.0), 0.0, hull, 4.8);
            for side in [-1.0, 1.0] {
                let mut shape = Shape::half_box(0.067, 0.267);
                shape.filter.group = -1;
                let leg = add(&mut scene, at(0.87 * side, -0.21), -0.5 * side, shape, leg_mass);
                let spring = Spring { hertz: 6.0, damping_ratio: 1.0, target: 0.0 };
                let kind = JointKind::hinge().limits(-0.4, 0.4).sprung(spring).reference_angle(-0.5 * side);
                let arm = Vec2::from_angle(0.5 * side).rotate(Vec2::new(-0.2 * side, 0.31));
                scene.join(Joint::new(kind, lander, leg).anchors([0.67 * side, 0.1], arm));
            }
        }
        let (gained, _) = run(backend, &scene, 250);
        between(&format!("energy gained, {leg_mass} kg, {substeps} substeps"), gained, -1e5, 8.0 * f64::from(count));
    }
}

/// A bar of 0.24 kg with a ball at its end falls on a peg. As a tree one of 33 : 1 gained 555 J of the 173 that the
/// fall can give.
fn light_bars_throw_nothing(backend: Backend) {
    for ball in [8.0, 24.0, 48.0] {
        let mut scene = world(10.0);
        scene.add(Body::fixed(0.6, -1.0).shape(Shape::circle(0.1)));
        let mut bar = Body::dynamic(1.0, 0.0).shape(Shape::half_box(1.0, 0.05));
        bar.mass = Some(0.24);
        let bar = scene.add(bar);
        scene.join(Joint::to_world(JointKind::hinge(), bar).anchors([0.0, 0.0], [-1.0, 0.0]));
        let mut body = Body::dynamic(2.0, 0.0).shape(Shape::circle(0.2));
        body.mass = Some(ball);
        let body = scene.add(body);
        scene.join(Joint::new(JointKind::hinge(), bar, body).anchors([1.0, 0.0], [0.0, 0.0]));
        let (gained, _) = run(backend, &scene, 480);
        between(&format!("energy gained at {ball} kg, J"), gained, -1e5, 1e-2 * f64::from(ball) * 20.0);
    }
}

/// Returns carts of two kinds, of which some stand, some fall and some land.
fn carts(mode: Mode) -> Scene {
    let mut scene = ground();
    scene.settings = Settings { mode, ..scene.settings };
    for index in 0_u8..11 {
        let number = f32::from(index);
        let mut cart = world(10.0);
        add_cart(&mut cart, 60.0 + 10.0 * number, 0.0, 0.1 * f32::from(index % 5));
        if index % 4 == 3 {
            cart.joints[0].kind = JointKind::hinge().limits(-0.5, 0.5);
        }
        add_beside(&mut scene, &cart, 5.0 * number);
    }
    scene
}

/// Trees that touch something share blocks of the CPU engine with others that do not.
#[test]
fn trees_that_touch_equal_the_reference() {
    equal_the_reference(carts, 11);
}

#[test]
fn trees_that_touch_have_a_twin() {
    have_a_twin(carts);
}

/// Negative control: trees that are solved at once although they touch something are found.
#[test]
fn trees_that_ignore_touch_are_detected() {
    is_detected(&carts(Mode::Soft), "if tree_is_touched(tree) {", "if false {");
}
