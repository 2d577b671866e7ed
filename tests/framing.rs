//! Pictures show their scenes: over the whole run of every scene of the catalogue bodies stay in the picture.

use drystone::draw::{Bounds, Camera, Framing};
use drystone::scene::{Compiled, catalogue, file};
use drystone::types::{FIXED_SHAPE, Pose};
use drystone::{Body, CpuWorld, Joint, JointKind, Scene, Shape};
use glam::Vec2;

const SIZE: [u32; 2] = [960, 540];
/// Moments that are looked at in a run.
const LOOKS: u64 = 60;
/// Share of all bodies at all moments that must be in the picture. What is not has fallen off the ground, or was flung out
/// of a vessel.
const IN_VIEW: f64 = 0.97;
/// Every scene, the big ones cut down.
const SCENES: [&str; 41] = [
    "large_pyramid:base=12",
    "many_pyramids:rows=2,columns=2,base=6",
    "joint_grid:size=12",
    "smash:columns=20,rows=12",
    "tumbler:grid=8",
    "tumbler:grid=8,motor=1",
    "washer:grid=8",
    "spinner:bodies=100",
    "compounds:columns=6,rows=8",
    "junkyard:columns=12,rows=6",
    "rain:rows=1,columns=3,group=2,delay=100",
    "vertical_stack",
    "card_house",
    "arch",
    "domino",
    "high_mass_ratio_1",
    "high_mass_ratio_2",
    "high_mass_ratio_3",
    "friction_ramp",
    "overlap_recovery",
    "circle_stack",
    "confined:grid=10",
    "rush:count=60",
    "bridge:planks=40",
    "ball_and_chain",
    "ragdoll",
    "far_pyramid:base=5",
    "far_stack",
    "small_si",
    "thruster",
    "particles_in_a_turning_box",
    "circle_masses",
    "rod_chain",
    "rope_winch_piston",
    "naphy_bridge",
    "springs",
    "motors",
    "static_and_kinetic",
    "conveyor",
    "bouncing_ball",
    "slope",
];

/// A world at the moments that are looked at.
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

/// Share of all moving shapes at all moments that are whole in the picture, and at how many moments none is to be seen.
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

/// As a movie frames it.
fn whole(run: &Run) -> Camera {
    let mut framing = Framing::new(&run.first, &run.moments[0].1, SIZE);
    for (compiled, poses) in &run.moments {
        framing.add(compiled, poses);
    }
    framing.camera()
}

#[test]
fn every_scene_stays_in_its_movie() {
    let mut wrong = Vec::new();
    for spec in SCENES {
        let run = of_catalogue(spec);
        let camera = whole(&run);
        let (share, blank) = shown(&run, &camera);
        let before = Camera::fit_scene(&run.moments[0].1, &run.first.shapes, SIZE);
        let (old_share, old_blank) = shown(&run, &before);
        let core = run.moments.iter().flat_map(|(c, p)| moving(c, p)).reduce(Bounds::union).unwrap();
        println!("{spec}: {share:.4} {blank} blank, {:?} h {:.2} (start {old_share:.4}, {old_blank} h {:.2}) core {core:?}", camera.center, camera.height(), before.height());
        if share < IN_VIEW || blank > 0 {
            wrong.push((spec, share, blank));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
