//! Properties of bodies: fixed rotation, compound shapes, collision filters, kinematic motion.

use drystone::{Body, Filter, Scene, Shape};

use crate::common::{Backend, near};

on_every_backend!(fixed_rotation, filters, compound_bodies, kinematic_bodies_push);

fn ground() -> Body {
    Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0))
}

/// A box that lands on its corner tips over, unless its rotation is fixed.
fn fixed_rotation(backend: Backend) {
    let mut scene = Scene::new("fixed rotation").gravity(0.0, -10.0);
    scene.add(ground());
    let tilted = |x| Body::dynamic(x, 1.5).angle(0.3).shape(Shape::half_box(0.5, 0.5));
    scene.add(Body { fixed_rotation: true, ..tilted(0.0) });
    scene.add(tilted(10.0));
    let bodies = backend.start(&scene).advance(180).bodies();
    near("angle of the one that cannot turn", bodies[1].angle, f64::from(0.3_f32), 1e-6);
    near("its spin", bodies[1].angular_velocity, 0.0, 0.0);
    // It stands on its corner, half a diagonal seen at 0.3 rad above the ground.
    near("its height", bodies[1].position[1], 0.5 * (0.3_f64.cos() + 0.3_f64.sin()), 1e-3);
    near("angle of the one that can", bodies[2].angle, 0.0, 1e-3);
}

/// Category and mask of both must agree, unless a common group decides.
fn filters(backend: Backend) {
    let filter = |category, mask, group| Filter { category, mask, group };
    let cases = [
        // Falls through: one of the two masks disagrees, or a common negative group.
        (filter(1, u32::MAX, 0), filter(2, !1, 0), false),
        (filter(1, !2, 0), filter(2, u32::MAX, 0), false),
        (filter(1, u32::MAX, -3), filter(1, u32::MAX, -3), false),
        // Lands: both agree; a common positive group overrides the masks; different groups are ignored.
        (filter(1, 2, 0), filter(2, 1, 0), true),
        (filter(1, 0, 4), filter(2, 0, 4), true),
        (filter(1, u32::MAX, -3), filter(1, u32::MAX, -4), true),
    ];
    let mut scene = Scene::new("filters").gravity(0.0, -10.0);
    for (index, (shelf, ball, _)) in cases.into_iter().enumerate() {
        let x = 10.0 * index as f32;
        scene.add(Body::fixed(x, 0.0).shape(Shape::half_box(1.0, 0.5).filter(shelf)));
        scene.add(Body::dynamic(x, 2.0).shape(Shape::circle(0.5).filter(ball)));
    }
    let bodies = backend.start(&scene).advance(120).bodies();
    for (index, (.., lands)) in cases.into_iter().enumerate() {
        let y = bodies[2 * index + 1].position[1];
        if lands {
            near(&format!("height of ball {index} on its shelf"), y, 1.0, 1e-3);
        } else {
            // Two seconds of free fall, (1 + h) longer by the method; no contact may have slowed it.
            near(&format!("height of ball {index} that falls through"), y, 2.0 - 20.0 * (1.0 + 1.0 / 480.0), 1e-3);
        }
    }
}

/// A dumbbell lies on both of its balls and a table stands on both of its legs; an overhanging one tips over.
fn compound_bodies(backend: Backend) {
    let mut scene = Scene::new("compounds").gravity(0.0, -10.0);
    scene.add(ground());
    scene.add(
        Body::dynamic(0.0, 1.0)
            .shape(Shape::circle(0.5).offset(-1.0, 0.0))
            .shape(Shape::circle(0.5).offset(1.0, 0.0))
            .shape(Shape::half_box(1.0, 0.1)),
    );
    let legs = |x: f32, left: f32, right: f32| {
        Body::dynamic(x, 1.0)
            .shape(Shape::half_box(2.0, 0.1).offset(0.0, 0.0))
            .shape(Shape::half_box(0.1, 0.45).offset(left, -0.55))
            .shape(Shape::half_box(0.1, 0.45).offset(right, -0.55))
    };
    scene.add(legs(10.0, -1.5, 1.5));
    scene.add(legs(20.0, 0.5, 1.5));
    // A box on the sound table's end, still above the legs' span.
    scene.add(Body::dynamic(11.0, 1.35).shape(Shape::half_box(0.25, 0.25)));
    let bodies = backend.start(&scene).advance(300).bodies();
    // Penetrations are below a millimetre by the compliance of the contacts.
    near("dumbbell's height", bodies[1].position[1], 0.5, 2e-3);
    near("dumbbell's angle", bodies[1].angle, 0.0, 2e-3);
    near("table's height", bodies[2].position[1], 1.0, 2e-3);
    near("table's angle", bodies[2].angle, 0.0, 2e-3);
    near("height of the box on it", bodies[4].position[1], 1.35, 4e-3);
    // Centre of mass left of both legs: it tips until its end is on the ground.
    assert!(bodies[3].angle > 0.2, "the overhanging table tips to the left: {}", bodies[3].angle);
}

/// A kinematic paddle sweeps boxes along and a lift raises others; the boxes do not slow them.
fn kinematic_bodies_push(backend: Backend) {
    let mut scene = Scene::new("paddle").gravity(0.0, -10.0);
    scene.add(ground());
    scene.add(Body::kinematic(-3.0, 1.0).velocity(1.0, 0.0).shape(Shape::half_box(0.2, 0.9)));
    for i in 0..4 {
        scene.add(Body::dynamic(i as f32, 0.5).shape(Shape::half_box(0.5, 0.5).density(50.0)));
    }
    scene.add(Body::kinematic(20.0, -0.5).velocity(0.0, 0.5).shape(Shape::half_box(2.0, 0.5)));
    scene.add(Body::dynamic(20.0, 0.5).shape(Shape::half_box(0.5, 0.5).density(50.0)));
    let mut sim = backend.start(&scene);
    let bodies = sim.advance(300).bodies();
    near("x of the paddle", bodies[1].position[0], 2.0, 1e-4);
    // The row touches the paddle: four boxes pressed against it by their friction with the ground, a few mm soft.
    near("first box", bodies[2].position[0], 2.7, 0.02);
    near("last box", bodies[5].position[0], 5.7, 0.02);
    // The lift's top is at 0 + 2.5 m. The box rises with it.
    near("y of the lift", bodies[6].position[1], 2.0, 1e-4);
    near("box on the lift", bodies[7].position[1], 3.0, 2e-3);
    near("its speed", bodies[7].velocity[1], 0.5, 1e-3);
}
