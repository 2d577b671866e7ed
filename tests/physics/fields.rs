//! Fields that attract bodies to a point, against the laws of central motion.

use drystone::{Body, Field, Scene, Shape};
use glam::Vec2;

use crate::common::{Backend, between, far, near};

on_every_backend!(
    a_circle_takes_its_time,
    a_fall_through_the_point_is_timed,
    a_force_is_mass_times_acceleration,
    energy_is_kept,
    inside_the_core_there_is_none,
    the_rush_comes_to_rest,
);

/// Returns a weightless scene with one field and one disc of the given mass.
fn scene(field: Field, mass: f32, at: Vec2, velocity: Vec2) -> Scene {
    let mut scene = Scene::new("field").gravity(0.0, 0.0);
    scene.fields.push(field);
    let mut body = Body::dynamic(at.x, at.y).velocity(velocity.x, velocity.y).shape(Shape::circle(0.1));
    body.mass = Some(mass);
    scene.add(body);
    scene
}

/// v² = a·r holds a circular orbit; a revolution takes 2π·√(r/a).
fn a_circle_takes_its_time(backend: Backend) {
    let center = Vec2::new(30.0, -10.0);
    let (radius, rate) = (2.0_f32, 0.5 * std::f32::consts::TAU);
    let acceleration = rate * rate * radius;
    let start = center + Vec2::new(radius, 0.0);
    let field = Field { position: center, acceleration, ..Field::default() };
    let around = scene(field, 3.0, start, Vec2::new(0.0, rate * radius));
    let mut sim = backend.start(&around);
    for quarter in 1..=4 {
        sim.advance(30);
        let at = Vec2::from(sim.body(0).position) - center;
        // Symplectic Euler: the radius varies by half of ω·h, 0.65 %, and the angle is off by less.
        between("the radius", at.length(), 1.98, 2.02);
        let wanted = [[0.0, radius], [-radius, 0.0], [0.0, -radius], [radius, 0.0]][quarter - 1];
        near("x", at.x, wanted[0].into(), 0.04);
        near("y", at.y, wanted[1].into(), 0.04);
    }
    let mut without = around;
    without.fields.clear();
    far("straight on", backend.start(&without).advance(120).body(0).position[1], center.y.into(), 5.0);
}

/// From rest at x, the point is reached after √(2x/a) with speed √(2·a·x); after four times that the body is back.
fn a_fall_through_the_point_is_timed(backend: Backend) {
    let field = Field { acceleration: 2.0, ..Field::default() };
    let mut sim = backend.start(&scene(field, 1.0, Vec2::new(1.0, 0.0), Vec2::ZERO));
    let body = sim.advance(60).body(0);
    // Semi-implicit: half a substep ahead, h/2·v = 4 mm.
    near("there", body.position[0], 0.0, 0.01);
    near("as fast as that", body.velocity[0], -2.0, 0.02);
    near("on the other side", sim.advance(60).body(0).position[0], -1.0, 0.02);
    near("back", sim.advance(120).body(0).position[0], 1.0, 0.04);
}

fn a_force_is_mass_times_acceleration(backend: Backend) {
    let run = |field: Field, mass: f32| {
        let mut sim = backend.start(&scene(field, mass, Vec2::new(3.0, 4.0), Vec2::new(1.0, 0.0)));
        Vec2::from(sim.advance(45).body(0).position)
    };
    let force = |newton: f32| Field { force: newton, ..Field::default() };
    let accelerated = run(Field { acceleration: 4.0, ..Field::default() }, 2.0);
    let forced = run(force(8.0), 2.0);
    near("8 N on 2 kg are 4 m/s²", forced.distance(accelerated), 0.0, 1e-4);
    far("on 4 kg they are not", run(force(8.0), 4.0).distance(accelerated), 0.0, 0.3);
    let pushed = run(force(-8.0), 2.0);
    assert!(pushed.length() > 5.5, "a negative field repels: {} m", pushed.length());
}

/// Potential energy is converted to kinetic energy, through the core and out on the other side.
fn energy_is_kept(backend: Backend) {
    let field = Field { position: Vec2::new(5.0, 0.0), force: 4.0, acceleration: 1.0, core: 0.5 };
    let thrown = scene(field, 2.0, Vec2::new(8.0, 0.2), Vec2::ZERO);
    let mut sim = backend.start(&thrown);
    let at = Vec2::new(3.0, 0.2).length();
    // (4 N + 2 kg · 1 m/s²) · (r − core).
    near("at the start", sim.metrics().potential_energy, 6.0 * f64::from(at - 0.5), 1e-4);
    let start = sim.metrics().potential_energy;
    let (mut lowest, mut fastest) = (start, 0.0_f64);
    for _ in 0..60 {
        sim.advance(2);
        let metrics = sim.metrics();
        // Semi-implicit: half a substep ahead, h/2·F·v, which is 0.05 J at the most.
        near("the sum", metrics.kinetic_energy + metrics.potential_energy, start, 0.1);
        lowest = lowest.min(metrics.potential_energy);
        fastest = fastest.max(metrics.kinetic_energy);
    }
    near("in the core", lowest, 0.0, 0.0);
    far("it moves", fastest, 0.0, 10.0);
}

fn inside_the_core_there_is_none(backend: Backend) {
    let field = |core: f32| Field { acceleration: 10.0, core, ..Field::default() };
    let run = |core: f32| {
        let mut sim = backend.start(&scene(field(core), 1.0, Vec2::new(0.5, 0.0), Vec2::ZERO));
        sim.advance(10).body(0).position[0]
    };
    near("inside", run(1.0), 0.5, 0.0);
    far("outside", run(0.25), 0.5, 0.1);
    // At the point itself there is no direction.
    let mut sim = backend.start(&scene(field(0.0), 1.0, Vec2::ZERO, Vec2::ZERO));
    near("at the point", sim.advance(10).body(0).position[0], 0.0, 0.0);
}

/// solver2d's scene: the circles end as a disc about the origin. Its area fraction is between that of the loosest
/// random packing that friction holds, 0.772 (Hinrichsen, Feder & Jøssang 1990), and that of the densest one.
fn the_rush_comes_to_rest(backend: Backend) {
    let scene = drystone_scenes::catalogue::build("rush:count=60").expect("a scene");
    let mut sim = backend.start(&scene);
    // Area fraction of a disc with the second moment of these circles of 0.5 m.
    let fraction = |bodies: &[drystone::low_level::state::ReportedBody]| {
        let moments = bodies.iter().map(|body| f64::from(Vec2::from(body.position).length_squared()) + 0.125);
        0.125 * (bodies.len() as f64).powi(2) / moments.sum::<f64>()
    };
    far("area fraction at the start", fraction(&sim.bodies()), 0.84, 0.3);
    sim.advance(600);
    between("area fraction", fraction(&sim.bodies()), 0.772, std::f64::consts::PI / 12.0_f64.sqrt());
    near("speed at rest", sim.metrics().max_speed, 0.0, 0.02);
}
