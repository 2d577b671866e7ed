//! Position drift of velocity constraints, and the bias that corrects it (tutorials: "Baumgarte stabilisation").
//!
//! `J v = 0` prevents the position error from growing, but does not reduce it: every step adds a little. A bias asks
//! for a velocity that removes a fraction of the error, `J v = −β/h · C`.

use drystone::Mode;
use drystone::{Body, Joint, JointKind, Scene, Shape, World};

fn run(bias: bool) -> Result<(), Box<dyn std::error::Error>> {
    // A bar on a hinge at the origin, released from the side.
    let mut scene = Scene::new("pendulum");
    let bar = scene.add(Body::dynamic(1.0, 0.0).shape(Shape::half_box(1.0, 0.1)));
    scene.join(Joint::to_world(JointKind::hinge(), bar).anchors([0.0, 0.0], [-1.0, 0.0]));
    scene.settings.mode = Mode::Baumgarte;
    scene.settings.correct_position = bias;

    println!("{}", if bias { "with a bias" } else { "without" });
    let mut world = World::new(&scene)?;
    for step in 1..=600 {
        world.step()?;
        if step % 120 == 0 {
            let [x, y] = world.joint_reactions()?[0].between;
            println!("  {:2} s  the hinge is {:7.2} mm apart", step / 60, 1e3 * x.hypot(y));
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(true)?;
    run(false)
}
