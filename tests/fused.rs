//! The fused kernel: a small world runs its sweeps in one workgroup (`shaders/fused.wgsl`). The result equals that of
//! the stages' kernels to the bit, for any world, even if the counts by which it was selected are wrong.

use crate::support::{build, context, full_hash, gpu, gpu_with, pile};
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::step::{PlannedStage, Stage};
use drystone::low_level::{GpuWorld, state};
use drystone::{Body, Joint, JointKind, Mode, Scene, Shape, Snapshot, WorldBatch};

/// Returns the number of sweeps in a plan, which the fused kernel runs in one dispatch.
fn sweeps(plan: &[PlannedStage]) -> u32 {
    let is_sweep = |op: &&PlannedStage| {
        matches!(
            op.stage,
            Stage::WarmStart
                | Stage::WarmStartJoints
                | Stage::IntegrateVelocities
                | Stage::SolveJoints
                | Stage::Solve
                | Stage::IntegratePositions
                | Stage::RelaxJoints
                | Stage::Relax
                | Stage::ProjectJoints
                | Stage::Project
                | Stage::Restitution
        )
    };
    u32::try_from(plan.iter().filter(is_sweep).count()).expect("a plan")
}

fn after(world: &mut GpuWorld) -> Snapshot {
    world.step().expect("a step");
    world.snapshot().expect("a snapshot")
}

/// Returns the first step after which two worlds differ.
fn first_difference(fused: &mut GpuWorld, staged: &mut GpuWorld, steps: u64) -> Option<u64> {
    (0..steps).find(|_| after(fused) != after(staged))
}

/// Workgroup sizes of the fused kernel; size 0, `STAGED`, disables it.
const LANES: [u32; 3] = [8, 64, 256];
const STAGED: u32 = 0;

/// Runs a scene stage by stage and with every workgroup size, and checks the number of dispatches: one per sweep, and
/// one for all sweeps.
fn same_bits(scene: &Scene, steps: u64) {
    for lanes in LANES {
        let (mut fused, mut staged) = (gpu(scene).with_lanes(lanes), gpu(scene).with_lanes(STAGED));
        let difference = first_difference(&mut fused, &mut staged, steps);
        assert_eq!(difference, None, "{} with {lanes} lanes", scene.name);
        let sweeps = sweeps(fused.plan());
        assert_eq!(fused.dispatches() + sweeps - 1, staged.dispatches(), "{}", scene.name);
    }
}

/// Returns a scene with all surface properties, bounces, circles and boxes.
fn surfaces() -> Scene {
    let mut scene = pile(3, 40);
    for (index, body) in (0_u8..).zip(&mut scene.bodies) {
        for shape in &mut body.shapes {
            shape.material.kinetic_friction = Some(0.5 * shape.material.friction);
            shape.material.tangent_speed = 0.3 * f32::from(index % 3);
            shape.material.rolling_resistance = 0.05;
        }
    }
    scene.settings.restitution_mix = drystone::Mixing::Max;
    scene
}

#[test]
fn contacts_of_every_mode() {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        let mut scene = pile(1, 60);
        scene.settings.mode = mode;
        same_bits(&scene, 40);
        scene.settings.warm_start = false;
        same_bits(&scene, 20);
    }
    let mut scene = build("large_pyramid:base=8");
    same_bits(&scene, 40);
    scene.settings.relax = false;
    scene.settings.accumulate = false;
    same_bits(&scene, 20);
    same_bits(&build("bouncing_ball"), 60);
}

#[test]
fn surfaces_and_bounces() {
    same_bits(&surfaces(), 60);
}

#[test]
fn joints_of_every_mode() {
    for spec in ["ragdoll", "naphy_bridge", "springs", "joint_grid:size=6"] {
        let mut scene = build(spec);
        same_bits(&scene, 30);
        scene.settings.mode = Mode::Projection;
        same_bits(&scene, 20);
        (scene.settings.mode, scene.settings.warm_start) = (Mode::Soft, false);
        same_bits(&scene, 20);
    }
}

#[test]
fn bodies_that_sleep_and_are_counted_strictly() {
    let mut scene = build("large_pyramid:base=5");
    (scene.settings.sleep, scene.settings.strict) = (true, true);
    let (mut fused, mut staged) =
        (gpu(&scene).without_rest().with_lanes(64), gpu(&scene).without_rest().with_lanes(STAGED));
    assert_eq!(first_difference(&mut fused, &mut staged, 90), None);
    assert_eq!(staged.snapshot().expect("a snapshot").counters.awake, 0, "all bodies must sleep");
}

/// The overflow is solved in order, by one lane.
#[test]
fn the_overflow_stays_in_order() {
    let scene = pile(2, 50);
    let (mut fused, mut staged) =
        (gpu(&scene).with_forced_overflow().with_lanes(256), gpu(&scene).with_forced_overflow().with_lanes(STAGED));
    assert_eq!(first_difference(&mut fused, &mut staged, 30), None);
    assert!(fused.dispatches() < staged.dispatches());
}

/// A world that was small when steps were recorded and is large when they run.
#[test]
fn worlds_that_outgrow_the_fused_kernel_are_solved() {
    let scene = build("large_pyramid:base=50");
    let staged = full_hash(&after_five(gpu_with(&scene, 16_384).with_lanes(STAGED)));
    for lanes in LANES {
        assert_eq!(full_hash(&after_five(gpu_with(&scene, 16_384).with_lanes(lanes))), staged, "{lanes} lanes");
    }
}

fn after_five(mut world: GpuWorld) -> Snapshot {
    (0..4).for_each(|_| world.step().expect("a step"));
    let snapshot = after(&mut world);
    assert!(snapshot.counters.color_starts[32] > 2500, "too few contacts for this test");
    snapshot
}

/// The size of the world selects the kernel, and timing the stages changes nothing.
#[test]
fn only_small_worlds_use_the_fused_kernel() {
    for (base, fewer) in [(3, true), (60, false)] {
        let scene = build(&format!("large_pyramid:base={base}"));
        let (mut world, mut staged) = (gpu(&scene), gpu(&scene).with_lanes(STAGED));
        for _ in 0..5 {
            world.step().expect("a step");
            context().wait().expect("a device");
            staged.step().expect("a step");
            context().wait().expect("a device");
        }
        assert_eq!(world.dispatches() < staged.dispatches(), fewer, "base {base}");
        let usual = world.dispatches();
        world.step_profiled().expect("a step");
        assert_eq!(world.dispatches(), usual);
        assert!(
            after(&mut world) == {
                staged.step().expect("a step");
                after(&mut staged)
            }
        );
    }
}

#[test]
fn worlds_side_by_side() {
    for scene in [build("large_pyramid:base=4"), build("ragdoll"), surfaces()] {
        let mut worlds = WorldBatch::on_gpu(context(), &vec![scene.clone(); 3]).expect("worlds");
        let mut staged = gpu(&scene).with_lanes(STAGED);
        for _ in 0..20 {
            worlds.step().expect("a step");
            staged.step().expect("a step");
        }
        worlds.wait().expect("a device");
        let expected = state::hash(&staged.snapshot().expect("a snapshot"));
        assert_eq!(worlds.hashes().expect("hashes"), [expected; 3], "{}", scene.name);
        assert!(worlds.dispatches().expect("a device") < staged.dispatches(), "{}", scene.name);
    }
}

/// Bodies, joints and materials added later change the plan.
#[test]
fn a_plan_that_changes() {
    let ends = [64, STAGED].map(|lanes| {
        let mut world = gpu(&build("large_pyramid:base=3")).with_lanes(lanes);
        (0..5).for_each(|_| world.step().expect("a step"));
        let ball = |y| Body::dynamic(0.0, y).shape(Shape::circle(0.3).restitution(0.8));
        let added = world.add_bodies(&[ball(8.0), ball(9.0)]).expect("room");
        let rod = Joint::new(JointKind::rod(), added[0].index as usize, added[1].index as usize);
        world.add_joints(&[rod]).expect("room");
        (0..60).for_each(|_| world.step().expect("a step"));
        (full_hash(&world.snapshot().expect("a snapshot")), world.dispatches())
    });
    assert_eq!(ends[0].0, ends[1].0);
    assert!(ends[0].1 < ends[1].1);
}

/// Negative control: a changed line in the fused kernel is detected at once, and one in a stage's function changes both
/// alike.
#[test]
fn a_changed_line_is_detected() {
    let scene = pile(1, 40);
    let patch = Patch {
        shader: "fused",
        from: "sweep_contact(slot, op_flags);",
        to: "solve_contact(slot, constraint_at(slot), op_flags & ~USE_BIAS);",
    };
    let mut broken = GpuWorld::patched(context(), &scene, &[patch]).expect("a patched shader").with_lanes(64);
    assert!(first_difference(&mut broken, &mut gpu(&scene).with_lanes(STAGED), 40).is_some());

    let patch = Patch {
        shader: "solve",
        from: "let wanted_0 = held_0 - tangent_mass_0 * slip_0;",
        to: "let wanted_0 = held_0;",
    };
    let patched = || GpuWorld::patched(context(), &scene, &[patch]).expect("a patched shader");
    assert_eq!(first_difference(&mut patched().with_lanes(64), &mut patched().with_lanes(STAGED), 40), None);
    assert!(first_difference(&mut patched().with_lanes(64), &mut gpu(&scene), 40).is_some());
}
