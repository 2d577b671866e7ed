//! Automatic camera placement: over the whole run of every catalogue scene, bodies stay in the picture.

use drystone::low_level::CpuWorld;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{FIXED_SHAPE, Pose};
use drystone::{Body, Scene, Shape};
use drystone_draw::{Bounds, Camera, Framing};
use drystone_scenes::{catalogue, file};
use glam::Vec2;

const SIZE: [u32; 2] = [960, 540];
/// Number of moments examined in a run.
const LOOKS: u64 = 60;
/// Minimum share of all bodies at all moments that must be in the picture. The others have fallen off the ground, or
/// were flung out of a vessel.
const IN_VIEW: f64 = 0.97;
/// A world at the examined moments.
struct Run {
    first: Compiled,
    /// Tables and poses: emitters change both.
    moments: Vec<(Compiled, Vec<Pose>)>,
}

fn run(scene: &Scene, steps: u64) -> Run {
    let mut world = CpuWorld::new(scene).expect("valid");
    let first = world.compiled().clone();
    let every = steps.div_ceil(LOOKS).max(1);
    let mut moments = vec![(first.clone(), world.poses().to_vec())];
    for step in 1..=steps {
        world.step().expect("steps");
        if step.is_multiple_of(every) {
            moments.push((world.compiled().clone(), world.poses().to_vec()));
        }
    }
    Run { first, moments }
}

fn of_catalogue(spec: &str) -> Run {
    let name = spec.split(':').next().unwrap_or(spec);
    let steps = catalogue::find(name).expect("a scene").steps;
    run(&catalogue::build(spec).expect("a scene"), steps.into())
}

fn moving(compiled: &Compiled, poses: &[Pose]) -> Vec<Bounds> {
    let moving = compiled.shapes.iter().filter(|shape| shape.kind & FIXED_SHAPE == 0);
    moving.filter_map(|shape| Bounds::of(shape, poses)).collect()
}

/// Returns the share of all moving shapes at all moments that are completely in the picture, and the number of moments
/// at which none is visible.
fn shown(run: &Run, camera: &Camera) -> (f64, usize) {
    let seen = camera.seen();
    let (mut inside, mut all, mut blank) = (0, 0, 0);
    for (compiled, poses) in &run.moments {
        let shapes = moving(compiled, poses);
        inside += shapes.iter().filter(|&&shape| seen.contains(shape)).count();
        all += shapes.len();
        blank += usize::from(Framing::sees_any(camera, &compiled.shapes, poses) == Some(false));
    }
    (inside as f64 / f64::from(u32::try_from(all.max(1)).expect("few")), blank)
}

/// Returns the camera of a movie of the run.
fn whole(run: &Run) -> Camera {
    let mut framing = Framing::new(&run.first, &run.moments[0].1, SIZE);
    for (compiled, poses) in &run.moments {
        framing.add(compiled, poses);
    }
    framing.camera()
}

/// Describes the fault of a picture of a run; `None` if it has none.
fn fault(run: &Run, camera: &Camera) -> Option<String> {
    let (share, blank) = shown(run, camera);
    (share < IN_VIEW || blank > 0)
        .then(|| format!("{share:.3} of the bodies are in the picture, {blank} moments are blank"))
}

/// Generates a test for each scene of the catalogue; large scenes are reduced.
macro_rules! scenes {
    ($($name:ident: $spec:literal;)*) => {
        $(#[test] fn $name() {
            let run = of_catalogue($spec);
            let fault = fault(&run, &whole(&run));
            assert!(fault.is_none(), "{}: {}", $spec, fault.unwrap_or_default());
        })*

        #[test]
        fn every_scene_is_framed() {
            let tested = [$($spec),*].map(|spec: &str| spec.split(':').next().unwrap_or(spec).to_owned());
            for entry in catalogue::entries() {
                assert!(tested.iter().any(|name| name == entry.name), "{} is not framed here", entry.name);
            }
        }
    };
}

scenes! {
    large_pyramid: "large_pyramid:base=12";
    many_pyramids: "many_pyramids:rows=2,columns=2,base=6";
    joint_grid: "joint_grid:size=12";
    smash: "smash:columns=20,rows=12";
    tumbler: "tumbler:grid=8";
    tumbler_on_a_motor: "tumbler:grid=8,motor=1";
    washer: "washer:grid=8";
    spinner: "spinner:bodies=100";
    compounds: "compounds:columns=6,rows=8";
    junkyard: "junkyard:columns=12,rows=6";
    mixed_sizes: "mixed_sizes:bodies=120";
    loaded_plate: "loaded_plate:boxes=30";
    rain: "rain:rows=1,columns=3,group=2,delay=100,stay=1";
    vertical_stack: "vertical_stack";
    card_house: "card_house";
    arch: "arch";
    domino: "domino";
    high_mass_ratio_1: "high_mass_ratio_1";
    high_mass_ratio_2: "high_mass_ratio_2";
    high_mass_ratio_3: "high_mass_ratio_3";
    friction_ramp: "friction_ramp";
    overlap_recovery: "overlap_recovery";
    circle_stack: "circle_stack";
    confined: "confined:grid=10";
    rush: "rush:count=60";
    bridge: "bridge:planks=40";
    ball_and_chain: "ball_and_chain";
    ragdoll: "ragdoll";
    far_pyramid: "far_pyramid:base=5";
    far_stack: "far_stack";
    small_si: "small_si";
    thruster: "thruster";
    particles_in_a_turning_box: "particles_in_a_turning_box";
    circle_masses: "circle_masses";
    pendulum: "pendulum";
    double_pendulum: "pendulum:bobs=2,angle=2";
    rod_chain: "rod_chain";
    rope_winch_piston: "rope_winch_piston";
    naphy_bridge: "naphy_bridge";
    springs: "springs";
    motors: "motors";
    gears: "gears";
    pulleys: "pulleys";
    weeble: "weeble";
    bounce_house: "bounce_house";
    ghost_bumps: "ghost_bumps";
    pinball: "pinball";
    sensor_funnel: "sensor_funnel:rings=9";
    convex_hull: "convex_hull";
    rolling_resistance: "rolling_resistance";
    restitution: "restitution";
    platformer: "platformer";
    static_and_kinetic: "static_and_kinetic";
    conveyor: "conveyor";
    bouncing_ball: "bouncing_ball";
    slope: "slope";
}

/// Negative control: the check fails for the old rule, which framed bodies at their initial positions only.
#[test]
fn initial_positions_are_not_enough() {
    for spec in
        ["ragdoll", "ball_and_chain", "particles_in_a_turning_box", "rod_chain", "circle_masses", "friction_ramp"]
    {
        let run = of_catalogue(spec);
        let start = Camera::fit_scene(&run.first.poses, &run.first.shapes, SIZE);
        assert!(fault(&run, &start).is_some(), "{spec}");
    }
}

/// A picture of a body that falls far shows the ground onto which it falls, before it gets there.
#[test]
fn the_ground_below_is_in_the_picture() {
    let mut scene = Scene::new("high up");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    for bone in 0..6_u8 {
        scene.add(Body::dynamic(0.0, 4.0 + 0.2 * f32::from(bone)).shape(Shape::half_box(0.05, 0.1)));
    }
    let bottom = |scene: &Scene| {
        let world = Compiled::new(scene).expect("valid");
        Framing::new(&world, &world.poses, SIZE).camera().seen().min.y
    };
    assert!(bottom(&scene) < 0.0, "{}", bottom(&scene));
    let weightless = scene.gravity(0.0, 0.0);
    assert!(bottom(&weightless) > 1.0, "nothing falls: {}", bottom(&weightless));
}

/// The picture has space for all positions of a kinematic body that turns or moves on a path; one at rest takes only
/// its own space.
#[test]
fn kinematic_bodies_have_space_for_their_motion() {
    let bar = Body::kinematic(0.0, 0.0).shape(Shape::half_box(4.0, 0.5));
    let seen = |bar: Body| {
        let mut scene = Scene::new("bar");
        scene.add(bar);
        for x in [-2.0, 0.0, 2.0] {
            scene.add(Body::dynamic(x, 2.0).shape(Shape::half_box(0.5, 0.5)));
        }
        let world = Compiled::new(&scene).expect("valid");
        Framing::new(&world, &world.poses, SIZE).camera().seen()
    };
    let place = |x: f32, y: f32| Bounds { min: Vec2::new(x, y), max: Vec2::new(x, y) };
    assert!(seen(bar.clone().angular_velocity(1.0)).contains(place(0.0, -4.0)));
    assert!(!seen(bar.clone()).contains(place(0.0, -4.0)));
    let path = drystone::Path { amplitude: Vec2::new(0.0, 5.0), rate: 1.0, ..drystone::Path::default() };
    let swinging = seen(bar.path(path));
    assert!(swinging.contains(place(0.0, -5.4)) && swinging.contains(place(0.0, 5.4)), "{swinging:?}");
}

/// A few bodies that fall off the ground do not make the others small; if all bodies leave, the camera follows.
#[test]
fn bodies_that_left_the_scene_are_ignored() {
    let mut scene = Scene::new("edge");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(5.0, 1.0)));
    for x in 0..5_u8 {
        scene.add(Body::dynamic(f32::from(x) - 2.0, 0.5).shape(Shape::half_box(0.4, 0.5)));
    }
    let world = Compiled::new(&scene).expect("valid");
    let height = |fallen: usize| {
        let mut framing = Framing::new(&world, &world.poses, SIZE);
        let mut poses = world.poses.clone();
        poses.iter_mut().skip(1).take(fallen).for_each(|pose| pose.position = [20.0, -900.0]);
        framing.add(&world, &poses);
        framing.camera().height()
    };
    assert_eq!(height(1), height(0));
    assert!(height(5) > 900.0, "{}", height(5));
}

/// Pictures show a scene's own view, independent of its bodies.
#[test]
fn the_view_of_a_scene_is_shown() {
    let mut scene = Scene::new("viewed").view([10.0, 20.0], [26.0, 29.0]);
    scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    let world = Compiled::new(&scene).expect("valid");
    let mut framing = Framing::new(&world, &world.poses, SIZE);
    framing.add(&world, &world.poses);
    let seen = framing.camera().seen();
    assert!((seen.min - Vec2::new(10.0, 20.0)).length() < 1e-3 && (seen.max - Vec2::new(26.0, 29.0)).length() < 1e-3);
    assert_eq!(Framing::sees_any(&framing.camera(), &world.shapes, &world.poses), Some(false));
    assert_eq!(framing.camera_later(&world, &world.poses), framing.camera());
    assert!(
        Framing::of_bodies(&world, &world.poses, SIZE)
            .camera()
            .seen()
            .contains(Bounds { min: Vec2::splat(-0.5), max: Vec2::splat(0.5) })
    );
}

/// The view is read and written, but is not part of the world: snapshots and hashes equal those of the scene without
/// it.
#[test]
fn a_view_is_kept_in_the_file_and_not_in_the_world() {
    for entry in catalogue::entries().iter().filter(|entry| entry.body_count(&[]).is_ok_and(|count| count < 1_000)) {
        let scene = entry.build(&[]).expect("a scene");
        let plain = Scene { view: None, ..scene.clone() };
        let [with, without] = [&scene, &plain].map(|scene| Compiled::new(scene).expect("valid").fingerprint());
        assert_eq!(with, without, "{}", entry.name);
        for (text, name) in [(file::write_json(&scene), "a.json"), (file::write_ron(&scene), "a.ron")] {
            assert_eq!(file::parse(&text, name).expect("read back").view, scene.view, "{}", entry.name);
            assert_eq!(text.contains("view"), scene.view.is_some(), "{}", entry.name);
        }
    }
}

/// The largest and the smallest scenes that parameters allow have valid views.
#[test]
fn views_stay_within_coordinates() {
    for spec in [
        "rod_chain:links=999,length=100",
        "springs:gravity=100,stiffness=1",
        "ball_and_chain:links=10000",
        "tumbler:grid=1",
    ] {
        let scene = catalogue::build(spec).expect("a scene");
        assert!(scene.view.is_some());
        scene.check().expect(spec);
    }
}
