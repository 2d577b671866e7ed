//! A body with fixed rotation does not rotate, even if the scene gives it an angular velocity.

use drystone::low_level::CpuWorld;
use drystone::{Body, Scene, Shape};

#[test]
fn fixed_rotation_ignores_the_initial_spin() {
    let turned = |fixed_rotation: bool| {
        let mut scene = Scene::new("spin");
        let body = Body { fixed_rotation, ..Body::dynamic(0.0, 0.0).angular_velocity(3.0) };
        scene.add(body.shape(Shape::half_box(0.5, 0.5)));
        let mut world = CpuWorld::new(&scene).expect("a valid scene");
        world.step().unwrap();
        world.poses()[0].rotation[1]
    };
    assert!(turned(true) == 0.0, "turned by sin {}", turned(true));
    assert!(turned(false) > 0.01, "the same body turns when it may");
}
