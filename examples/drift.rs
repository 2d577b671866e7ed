//! Why a constraint on velocities needs a bias (tutorials: "Baumgarte stabilisation").
//!
//! `J v = 0` says that an error in the position does not grow. It does not say that it gets smaller: every step leaves
//! a little more of it behind. A bias asks for a velocity that takes a share of the error back, `J v = −β/h · C`.

use drystone::Mode;
use drystone::{Body, Joint, JointKind, Scene, Shape, World};

fn run(bias: bool) -> Result<(), Box<dyn std::error::Error>> {
    // A bar on a hinge at the origin, held out to the side and let go.
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
