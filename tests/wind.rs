//! Wind: drag and lift by the laws of fluid resistance, equal on every backend.

use drystone::low_level::state;
use drystone::{Body, Explosion, Filter, Scene, Shape, Wind, World, WorldBatch};
use glam::Vec2;

use crate::common::{Backend, near};
use crate::support::context;

const BACKENDS: [Backend; 3] = [Backend::Cpu1, Backend::Cpu3, Backend::Gpu];
const DT: f64 = 1.0 / 60.0;

fn scene(gravity: f32, bodies: Vec<Body>) -> Scene {
    let mut scene = Scene::new("wind").gravity(0.0, -gravity);
    for body in bodies {
        scene.add(body);
    }
    scene
}

fn with_mass(shape: Shape, mass: f32) -> Body {
    let mut body = Body::dynamic(0.0, 0.0).shape(shape);
    body.mass = Some(mass);
    body
}

/// Returns the velocity and the angular velocity of a body after steps in a wind.
fn blown(world: &mut World, wind: &Wind, steps: usize, body: usize) -> (Vec2, f32) {
    for _ in 0..steps {
        world.apply_wind(wind).unwrap();
        world.step().unwrap();
    }
    let body = world.body(body).unwrap();
    (body.velocity(), body.angular_velocity())
}

/// In one step each shape gains `½ ρ u² · width · C dt / m`: a disc, an upright box of 2 m, the same turned by 30°, a
/// capsule from the side and from its end, a rounded box.
#[test]
fn drag_is_pressure_times_width() {
    let wind = Wind { velocity: Vec2::new(10.0, 0.0), density: 1.2, drag: 0.8, lift: 0.0, ..Wind::default() };
    let capsule = || Shape::capsule([0.0, -1.0], [0.0, 1.0], 0.25);
    let (sin, cos) = 0.5_f64.sin_cos();
    for (what, body, width) in [
        ("disc", with_mass(Shape::circle(0.5), 100.0), 1.0),
        ("box", with_mass(Shape::half_box(0.5, 1.0), 100.0), 2.0),
        ("turned box", with_mass(Shape::half_box(0.5, 1.0), 100.0).angle(0.5), 2.0 * cos + 1.0 * sin),
        ("capsule", with_mass(capsule(), 100.0), 2.5),
        ("capsule, lengthwise", with_mass(capsule(), 100.0).angle(std::f32::consts::FRAC_PI_2), 0.5),
        ("rounded box", with_mass(Shape::rounded_box(0.5, 1.0, 0.1), 100.0), 2.2),
        ("sail", with_mass(Shape::segment([0.0, -1.0], [0.0, 1.0]), 100.0), 2.0),
    ] {
        let scene = scene(0.0, vec![Body { inertia: Some(1e6), ..body }]);
        for backend in BACKENDS {
            let (velocity, _) = blown(&mut backend.world(&scene), &wind, 1, 0);
            let want = 0.5 * 1.2 * 100.0 * width * 0.8 * DT / 100.0;
            near(&format!("{what} on {backend:?}"), velocity.x, want, 1e-5 * want + 1e-7);
            near("and nothing across", velocity.y, 0.0, 1e-6);
        }
    }
}

/// A disc falls at most as fast as its weight asks for: `v² = 2 m g / (ρ C 2 r)`.
#[test]
fn a_fall_ends_at_the_terminal_velocity() {
    let falling = scene(10.0, vec![with_mass(Shape::circle(0.5), 2.0)]);
    let mut world = Backend::Cpu1.world(&falling);
    let (velocity, _) = blown(&mut world, &Wind::default(), 900, 0);
    let want = (2.0 * 2.0 * 10.0_f64 / 1.225).sqrt();
    near("terminal velocity", -velocity.y, want, 0.01 * want);
}

/// A plate under 45° to a wind is pushed sideways by the lift of its front: `½ ρ u² · ℓ sin 45° · C sin 45°`.
#[test]
fn lift_is_across_the_wind() {
    let plate = with_mass(Shape::segment([-1.0, 0.0], [1.0, 0.0]), 100.0).angle(std::f32::consts::FRAC_PI_4);
    let scene = scene(0.0, vec![Body { inertia: Some(1e6), ..plate }]);
    let wind = Wind { velocity: Vec2::new(10.0, 0.0), drag: 0.0, lift: 0.5, ..Wind::default() };
    for backend in BACKENDS {
        let (velocity, _) = blown(&mut backend.world(&scene), &wind, 1, 0);
        let pressure = 0.5 * 1.225 * 100.0;
        let want = pressure * 2.0 * 0.5_f64.sqrt() * 0.5 * 0.5_f64.sqrt() * DT / 100.0;
        // The front faces left and up: the wind pushes it down.
        near("lift", -velocity.y, want, 1e-5 * want);
        near("no drag", velocity.x, 0.0, 1e-6);
    }
}

/// A storm carries a leaf at most at its own speed; a body that drifts with the wind feels none; a spinning plate in
/// still air is slowed down.
#[test]
fn the_air_moves_with_the_wind() {
    for backend in BACKENDS {
        let leaf = scene(0.0, vec![with_mass(Shape::half_box(1.0, 1.0), 1e-3)]);
        let storm = Wind { velocity: Vec2::new(50.0, 20.0), ..Wind::default() };
        let mut world = backend.world(&leaf);
        for _ in 0..20 {
            let (velocity, _) = blown(&mut world, &storm, 1, 0);
            assert!(velocity.length() <= 1.0001 * storm.velocity.length(), "{velocity}");
        }
        let drifting = scene(0.0, vec![with_mass(Shape::circle(0.5), 1.0).velocity(3.0, 1.0)]);
        let breeze = Wind { velocity: Vec2::new(3.0, 1.0), ..Wind::default() };
        let (velocity, _) = blown(&mut backend.world(&drifting), &breeze, 5, 0);
        assert_eq!(velocity, Vec2::new(3.0, 1.0), "to the bit");
        let spinning = scene(0.0, vec![with_mass(Shape::half_box(1.0, 0.05), 1.0).angular_velocity(10.0)]);
        let (_, spin) = blown(&mut backend.world(&spinning), &Wind::default(), 30, 0);
        assert!(spin > 0.0 && spin < 10.0, "{spin}");
    }
}

/// Fixed bodies, other categories, sensors and sleeping bodies feel none; a wind that wakes moves sleepers, too.
#[test]
fn what_feels_no_wind_stays() {
    let filter = Filter { category: 2, ..Filter::default() };
    let mut calm = scene(
        10.0,
        vec![
            Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)),
            Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5).friction(0.0)),
            Body::dynamic(9.0, 0.5).shape(Shape::half_box(0.5, 0.5).friction(0.0).filter(filter)),
        ],
    );
    calm.settings.sleep = true;
    let wind = Wind { velocity: Vec2::new(20.0, 0.0), ..Wind::default() };
    for backend in BACKENDS {
        let mut world = backend.world(&calm);
        for _ in 0..90 {
            world.step().unwrap();
        }
        assert_eq!(world.apply_wind(&wind).unwrap(), 0, "all sleep");
        let wakes = Wind { wake: true, mask: 1, ..wind };
        assert_eq!(world.apply_wind(&wakes).unwrap(), 1, "one box, whose middle the wind meets without torque");
        world.step().unwrap();
        assert!(world.body(1).unwrap().velocity().x > 0.01 && world.body(1).unwrap().is_awake());
        assert_eq!(world.body(2).unwrap().velocity(), Vec2::ZERO);
        let error = world.apply_wind(&Wind { drag: f32::NAN, ..wind }).unwrap_err().to_string();
        assert!(error.contains("the drag"), "{error}");
    }
}

/// Each world of a batch has a wind or an explosion of its own, to the bits of a world by itself; one without has none.
#[test]
fn worlds_of_a_batch_have_winds_and_explosions_of_their_own() {
    let plate = |x: f32| Body::dynamic(x, 0.0).angle(0.4).shape(Shape::half_box(0.5, 0.1));
    let scenes = [scene(0.0, vec![plate(0.0), plate(3.0)]), scene(1.0, vec![plate(1.0)]), scene(0.0, vec![plate(2.0)])];
    let winds = [3.0, -2.0].map(|x| Wind { velocity: Vec2::new(x, 1.0), ..Wind::default() });
    let burst = Explosion { position: Vec2::new(2.5, -1.0), falloff: 2.0, ..Explosion::default() };
    let batches = [WorldBatch::on_cpu(&scenes, 2).unwrap(), WorldBatch::on_gpu(context(), &scenes).unwrap()];
    for (mut batch, backend) in batches.into_iter().zip([Backend::Cpu1, Backend::Gpu]) {
        let mut alone = scenes.each_ref().map(|scene| backend.world(scene));
        for step in 0..20 {
            let given: Vec<(usize, Wind)> = winds.iter().copied().enumerate().collect();
            let mut count = 0;
            for &(world, ref wind) in &given {
                count += alone[world].apply_wind(wind).unwrap();
            }
            assert_eq!(batch.apply_wind(&given).unwrap(), count, "{backend:?}");
            if step == 10 {
                let count = alone[0].explode(&burst).unwrap();
                assert!(count > 0 && batch.explode(&[(0, burst)]).unwrap() == count, "{backend:?}");
            }
            for world in &mut alone {
                world.step().unwrap();
            }
            batch.step().unwrap();
        }
        let hashes = alone.each_mut().map(|world| state::hash(&world.snapshot().unwrap()));
        assert_eq!(batch.hashes().unwrap(), hashes, "{backend:?}");
        let velocity = |world: usize| Vec2::from(batch.snapshot(world).unwrap().states[0].velocity);
        let [first, second, third] = [0, 1, 2].map(velocity);
        assert!(first.x > 0.01 && second.x < -0.01 && third == Vec2::ZERO, "{backend:?}: {first} {second} {third}");
        // A value out of range: no world has the wind.
        let wrong = Wind { density: f32::NAN, ..Wind::default() };
        assert!(batch.apply_wind(&[(0, winds[0]), (1, wrong)]).is_err());
        assert!(batch.apply_wind(&[(0, winds[0]), (3, winds[0])]).is_err() && batch.explode(&[(3, burst)]).is_err());
        batch.step().unwrap();
        alone[0].step().unwrap();
        assert_eq!(batch.hashes().unwrap()[0], state::hash(&alone[0].snapshot().unwrap()), "{backend:?}");
    }
}
