//! Stiffness, damping and push speed of contacts, against the closed form of the soft step: overlap at rest, and how
//! fast overlaps are pushed out.

use std::f64::consts::TAU;

use drystone::{Body, Scene, Settings, Shape};

use crate::common::{Backend, Sim, between, far, near};

on_every_backend!(
    overlap_at_rest,
    overlaps_decay,
    push_out_is_bounded,
    heavy_loads_overlap_by_the_slop,
    lost_loads_leave_calm_bodies,
);

const GRAVITY: f32 = 10.0;

/// Overlap at rest of a load on a spring of this frequency with that effective mass: `F / (m ω²)`.
fn sag(load: f32, mass: f64, hertz: f64) -> f64 {
    f64::from(load) / (mass * (TAU * hertz).powi(2))
}

/// A ball of 1 kg on the ground and one on top of it: the ground's spring has twice the frequency and carries both, the
/// spring between the balls acts on half a ball's mass.
fn overlap_at_rest(backend: Backend) {
    // Frequency, substeps, and what acts of it: at most a quarter of the substep rate; by default an eighth.
    let cases = [
        (None, 4, 30.0),
        (None, 2, 15.0),
        (Some(15.0), 4, 15.0),
        (Some(60.0), 4, 60.0),
        (Some(1e6), 4, 60.0),
        (Some(1e6), 2, 30.0),
        (Some(90.0), 8, 90.0),
    ];
    for (hertz, substeps, acts) in cases {
        let what = format!("{hertz:?} Hz, {substeps} substeps");
        let mut scene = Scene::new("sag").gravity(0.0, -GRAVITY);
        scene.settings =
            Settings { contact_hertz: hertz, substeps: Some(substeps), initial_loads: false, ..Settings::default() };
        scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(5.0, 1.0)));
        for y in [0.5, 1.5] {
            scene.add(Body { mass: Some(1.0), ..Body::dynamic(0.0, y) }.shape(Shape::circle(0.5)));
        }
        let bodies = backend.start(&scene).advance(300).bodies();
        let [low, high] = [1, 2].map(|body| f64::from(bodies[body].position[1]));
        let (ground, between) = (sag(2.0 * GRAVITY, 1.0, 2.0 * acts), sag(GRAVITY, 0.5, acts));
        near(&format!("{what}: overlap with the ground"), 0.5 - low, ground, 0.01 * ground + 2e-7);
        near(&format!("{what}: overlap of the balls"), 1.0 - (high - low), between, 0.01 * between + 2e-7);
        // The same figures at twice the frequency would be noticed.
        far(
            "the overlap of a spring that is twice as fast",
            1.0 - (high - low),
            sag(GRAVITY, 0.5, 2.0 * acts),
            0.1 * between,
        );
    }
}

/// Ground, a box of 1 m and 1 kg, and a box of `mass` on top.
fn loaded(mass: f32) -> Scene {
    let mut scene = Scene::new("loaded").gravity(0.0, -GRAVITY);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(5.0, 1.0)));
    for (y, mass) in [(0.5, 1.0), (1.5, mass)] {
        scene.add(Body { mass: Some(mass), ..Body::dynamic(0.0, y) }.shape(Shape::half_box(0.5, 0.5)));
    }
    scene
}

/// Overlaps below and above the light box.
fn overlaps(sim: &mut Sim) -> [f64; 2] {
    let bodies = sim.bodies();
    let [low, high] = [1, 2].map(|body| f64::from(bodies[body].position[1]));
    [0.5 - low, 1.0 - (high - low)]
}

/// A load that was there from the start does not sink. Without loads at the start, the preload has taken back at rest
/// what the spring gave way beyond the slop of 5 mm, for loads of 30 to 200 times the weight of a box. A stiffness of
/// the user's choice is a spring and has none: it gives way in proportion to the load, here by 10 mm and more.
fn heavy_loads_overlap_by_the_slop(backend: Backend) {
    for mass in [30.0, 100.0, 200.0] {
        let what = format!("{mass} kg on 1 kg");
        let mut scene = loaded(mass);
        let [below, above] = overlaps(backend.start(&scene).advance(1200));
        near(&format!("{what}: overlap below, with loads"), below, 0.0, 1e-4);
        near(&format!("{what}: overlap above, with loads"), above, 0.0, 1e-4);
        scene.settings.initial_loads = false;
        let [below, above] = overlaps(backend.start(&scene).advance(1200));
        // A sixtieth of the slop is what is left after ten seconds.
        between(&format!("{what}: overlap below"), below, 0.0, 0.0051);
        between(&format!("{what}: overlap above"), above, 0.0024, 0.0051);
    }
    let mut scene = loaded(30.0);
    scene.settings.contact_hertz = Some(30.0);
    let [_, soft] = overlaps(backend.start(&scene).advance(1200));
    between("overlap of a chosen spring of 30 Hz", soft, 0.007, 0.02);
}

/// A box whose load is taken away rises by no more than the slop, whether the load was there from the start or sank
/// first, and then lies as one that never had a load.
fn lost_loads_leave_calm_bodies(backend: Backend) {
    let mut alone = loaded(1.0);
    alone.bodies.truncate(2);
    alone.settings.initial_loads = false;
    let alone = f64::from(backend.start(&alone).advance(300).body(1).position[1]);
    for (initial_loads, most) in [(true, 0.505), (false, 0.502)] {
        let mut scene = loaded(100.0);
        scene.settings.initial_loads = initial_loads;
        let mut sim = backend.start(&scene);
        sim.advance(900);
        let heavy = sim.world().body_id(2).expect("the heavy box");
        sim.world().remove_bodies(&[heavy]).expect("it can be removed");
        let mut highest = f32::MIN;
        for _ in 0..60 {
            highest = highest.max(sim.advance(1).body(1).position[1]);
        }
        between("the box rises to", highest, 0.4999, most);
        near("its height at rest", f64::from(sim.advance(300).body(1).position[1]), alone, 2e-6);
    }
}

/// Without loads, an overlap shrinks by the same factor every substep: `1 − h r s`, with the rate `r = ω / (2ζ + hω)`
/// and the mass scale `s = hωa / (1 + hωa)` of `a = 2ζ + hω`.
fn overlaps_decay(backend: Backend) {
    let h = 1.0 / 240.0;
    let factor = |hertz: f32, ratio: f32| {
        let (hertz, ratio) = (f64::from(hertz), f64::from(ratio));
        let a = 2.0 * ratio + h * TAU * hertz;
        let product = h * TAU * hertz * a;
        1.0 - h * (TAU * hertz / a) * (product / (1.0 + product))
    };
    for (hertz, ratio) in [(30.0, 10.0), (30.0, 5.0), (60.0, 10.0), (60.0, 2.0)] {
        let mut scene = Scene::new("decay").gravity(0.0, 0.0);
        scene.settings = Settings { contact_hertz: Some(hertz), contact_damping_ratio: ratio, ..Settings::default() };
        for x in [0.0, 0.99] {
            scene.add(Body::dynamic(x, 0.0).shape(Shape::circle(0.5)));
        }
        let bodies = backend.start(&scene).advance(5).bodies();
        let overlap = 1.0 - f64::from(bodies[1].position[0] - bodies[0].position[0]);
        let wanted = 0.01 * factor(hertz, ratio).powi(20);
        near(&format!("overlap after 20 substeps at {hertz} Hz, damping {ratio}"), overlap, wanted, 2e-3 * 0.01);
        far("that of twice the damping", overlap, 0.01 * factor(hertz, 2.0 * ratio).powi(20), 1e-4);
    }
}

/// Deep overlaps are pushed out at the push speed, and not at all at 0.
fn push_out_is_bounded(backend: Backend) {
    for speed in [0.0, 1.0, 2.5] {
        let mut scene = Scene::new("push").gravity(0.0, 0.0);
        scene.settings = Settings { push_speed: Some(speed), ..Settings::default() };
        for x in [0.0, 0.5] {
            scene.add(Body::dynamic(x, 0.0).shape(Shape::circle(0.5)));
        }
        let bodies = backend.start(&scene).advance(3).bodies();
        let distance = bodies[1].position[0] - bodies[0].position[0];
        near(&format!("distance at {speed} m/s"), distance, 0.5 + f64::from(speed) * 0.05, 1e-4);
    }
}
