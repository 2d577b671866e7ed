//! A visitor's pull is the window's: a joint that is solved in the sweeps.

use drystone::low_level::CpuWorld;
use drystone::low_level::types::DYNAMIC;
use drystone::{Joint, JointCommand, JointKind};
use glam::Vec2;

use crate::{OpenPage, apart, build};

/// Steps of a pull, and steps after its end.
const STEPS: [u32; 2] = [60, 20];
/// Largest force on a pulled body in units of its weight on earth, frequency and damping ratio of the joint, as in the
/// window.
const PULL: [f32; 3] = [60.0 * 9.81, 5.0, 1.0];

/// Place to which the body is pulled in a step, from its first place, m.
fn path(step: u32) -> Vec2 {
    let t = step as f32 / STEPS[0] as f32;
    Vec2::new(3.0 * t, 2.0 * (3.0 * t).sin())
}

/// A box that is pulled along a path, and let go, is where the library has it; in a world without joints and in one
/// with joints.
#[test]
fn a_pull_is_solved_as_natively() {
    // The box on top, and a plank in the middle.
    for (spec, body) in [("large_pyramid:base=6", 21), ("bridge:planks=8", 5)] {
        let scene = build(spec);
        let mut open = OpenPage::new(&scene);
        let mut world = CpuWorld::new(&scene).unwrap();
        let compiled = world.compiled();
        assert_eq!(compiled.bodies[body].kind, DYNAMIC, "{spec}");
        let (point, mass) = (Vec2::new(0.2, 0.1), compiled.mass[body].mass);
        let center = compiled.mass[body].center;
        let [cos, sin] = compiled.poses[body].rotation;
        let start = Vec2::from(compiled.poses[body].position) + Vec2::new(cos, sin).rotate(point);
        let free = {
            let mut free = CpuWorld::new(&scene).unwrap();
            (0..STEPS[0]).for_each(|_| free.step().unwrap());
            free.poses().to_vec()
        };

        let kind = JointKind::mouse(start, PULL[0] * mass);
        let joint = Joint::to_world(kind, body).anchors(Vec2::ZERO, point + center).soft(PULL[1], PULL[2]);
        let id = world.add_joints(&[joint]).unwrap()[0];
        for step in 1..=STEPS[0] {
            let goal = start + path(step);
            world.command_joint(id, JointCommand::Target(goal)).unwrap();
            world.step().unwrap();
            open.browser.eval(&format!(
                "(drystone.pull({body}, [{}, {}], [{}, {}]), drystone.step(1).then(() => true))",
                point.x, point.y, goal.x, goal.y
            ));
        }
        let away = apart(&open.poses(), world.poses());
        assert!(away < 2e-3, "{spec} pulled: {away} m");
        // Negative control: without the pull it is elsewhere.
        let own = |poses: &[drystone::low_level::types::Pose]| Vec2::from(poses[body].position);
        let moved = own(&free).distance(own(world.poses()));
        assert!(moved > 0.1, "{spec}: the pull moves the body by {moved} m");

        world.remove_joints(&[id]).unwrap();
        (0..STEPS[1]).for_each(|_| world.step().unwrap());
        open.browser.eval("drystone.release()");
        open.step(STEPS[1]);
        let away = apart(&open.poses(), world.poses());
        assert!(away < 2e-3, "{spec} let go: {away} m");
        let refused = open
            .browser
            .eval("(() => { try { drystone.pull(9999, [0, 0], [0, 0]); } catch (e) { return e.message; } })()");
        assert!(refused.as_str().unwrap().contains("there is no dynamic body 9999"), "{refused}");
        open.check();
    }
}
