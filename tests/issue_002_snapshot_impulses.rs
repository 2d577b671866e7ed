//! A snapshot with a NaN among its impulses is rejected, and the world is unchanged.

use drystone::low_level::{CpuWorld, state};
use drystone_scenes::catalogue;

#[test]
fn impulses_that_are_not_finite_are_rejected() {
    let scene = catalogue::build("vertical_stack").expect("a catalogue scene");
    let mut world = CpuWorld::new(&scene).expect("a valid scene");
    world.step().unwrap();
    let good = world.snapshot();
    for poison in [f32::NAN, f32::INFINITY] {
        let mut bad = good.clone();
        bad.manifolds[3].points[1].tangent_impulse = poison;
        let error = world.restore(&bad).expect_err("a poisoned snapshot");
        assert!(error.to_string().contains("impulses that are not finite: found 1"), "{error}");
        assert_eq!(state::hash(&world.snapshot()), state::hash(&good));
    }
    world.restore(&good).expect("the untouched snapshot");
}
