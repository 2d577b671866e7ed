//! Properties of bodies and joints that are set while a world runs: their effect, errors, snapshots and journals, and
//! agreement of all backends.

use std::f32::consts::PI;

use crate::support::changes::{advance, assert_device_follows, assert_repeats, floor};
use crate::support::{hash_of, on_all};
use drystone::low_level::{Alteration, Journal};
use drystone::{
    Body, BodyId, BodyType, Command, Filter, Joint, JointKind, Property, Query, Scene, Settings, Shape, ShapeProperty,
    Spring, World,
};

fn crate_at(x: f32, y: f32) -> Body {
    Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5))
}

#[test]
fn gravity_scale_and_damping_act_from_the_next_step_on() {
    let mut scene = Scene::new("space").gravity(0.0, -10.0);
    let falling = scene.add(crate_at(0.0, 0.0));
    let rising = scene.add(crate_at(5.0, 0.0));
    let slowed = scene.add(crate_at(10.0, 0.0).gravity_scale(0.0).velocity(6.0, 0.0).angular_velocity(3.0));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 30);
        world.set(rising, Property::GravityScale(-1.0)).unwrap();
        let changes = [Property::LinearDamping(2.0), Property::AngularDamping(1.0)];
        world.set_all(&changes.map(|property| (slowed.into(), property))).unwrap();
        advance(&mut world, 30);
        let speed = |body: usize| world.body(body).unwrap().velocity();
        assert!((speed(falling).y + 10.0).abs() < 1e-3, "{name}: {}", speed(falling));
        assert!(speed(rising).y.abs() < 1e-3, "{name}: {}", speed(rising));
        // Damped in each of the 4 substeps of 1/240 s.
        let left = |rate: f32| (1.0 / (1.0 + rate / 240.0)).powi(120);
        assert!((speed(slowed).x - 6.0 * left(2.0)).abs() < 1e-3, "{name}: {}", speed(slowed));
        let turning = world.body(slowed).unwrap().angular_velocity();
        assert!((turning - 3.0 * left(1.0)).abs() < 1e-3, "{name}: {turning}");
    }
}

#[test]
fn mass_and_inertia_are_those_that_were_set() {
    let mut scene = Scene::new("space").gravity(0.0, 0.0);
    let heavy = scene.add(crate_at(0.0, 0.0));
    let slow = scene.add(crate_at(5.0, 0.0));
    let fixed = scene.add(crate_at(10.0, 0.0).angular_velocity(2.0));
    for (name, mut world) in on_all(&scene) {
        let before = world.body(heavy).unwrap().inertia();
        world.set(heavy, Property::Mass(4.0)).unwrap();
        world.set(slow, Property::Inertia(2.0)).unwrap();
        world.set(fixed, Property::FixedRotation(true)).unwrap();
        world.command(heavy, Command::impulse([8.0, 0.0])).unwrap();
        for body in [heavy, slow, fixed] {
            world.command(body, Command::AngularImpulse(1.0)).unwrap();
        }
        advance(&mut world, 1);
        let body = world.body(heavy).unwrap();
        assert!((body.mass() - 4.0).abs() < 1e-6 && (body.inertia() - 4.0 * before).abs() < 1e-6, "{name}");
        assert!((body.velocity().x - 2.0).abs() < 1e-5, "{name}: {}", body.velocity());
        assert!((body.angular_velocity() - 0.25 / before).abs() < 1e-5, "{name}");
        assert!((world.body(slow).unwrap().angular_velocity() - 0.5).abs() < 1e-6, "{name}");
        assert_eq!(world.body(fixed).unwrap().angular_velocity().to_bits(), 0.0_f32.to_bits(), "{name}");
        world.set(fixed, Property::FixedRotation(false)).unwrap();
        world.command(fixed, Command::AngularImpulse(1.0)).unwrap();
        advance(&mut world, 1);
        assert!((world.body(fixed).unwrap().angular_velocity() - 1.0 / before).abs() < 1e-5, "{name}");
    }
}

#[test]
fn the_users_number_stays_with_its_body_and_wakes_nothing() {
    let mut scene = floor();
    scene.settings.sleep = true;
    let ball = scene.add(crate_at(0.0, 0.5).user_data(u64::MAX));
    let other = scene.add(crate_at(3.0, 0.5));
    for (name, mut world) in on_all(&scene) {
        let number = |world: &World, id: BodyId| world.body(id).unwrap().user_data();
        let [ball, other] = [ball, other].map(|index| world.body_id(index).unwrap());
        advance(&mut world, 60);
        let before = world.snapshot().unwrap();
        world.set(other, Property::UserData(7)).unwrap();
        advance(&mut world, 1);
        assert!(!world.body(other).unwrap().is_awake(), "{name}");
        assert_eq!([number(&world, ball), number(&world, other)], [u64::MAX, 7], "{name}");
        // It outlives its body's shapes, and not its body.
        world.set_shapes(other, &[Shape::circle(0.5)]).unwrap();
        assert_eq!(number(&world, other), 7, "{name}");
        world.remove_bodies(&[ball]).unwrap();
        advance(&mut world, 1);
        let [new] = world.add_bodies(&[crate_at(0.0, 2.0)]).unwrap()[..] else { panic!("one") };
        advance(&mut world, 1);
        assert_eq!((new.index, number(&world, new)), (ball.index, 0), "{name}");
        world.restore(&before).unwrap();
        assert_eq!([number(&world, ball), number(&world, other)], [u64::MAX, 0], "{name}");
    }
}

#[test]
fn friction_restitution_and_belts_follow() {
    let mut scene = floor();
    scene.settings.restitution_mix = drystone::Mixing::Max;
    let sliding = scene.add(crate_at(0.0, 0.5).velocity(5.0, 0.0));
    let carried = scene.add(crate_at(-10.0, 0.5));
    let bouncing = scene.add(Body::dynamic(20.0, 0.5).shape(Shape::circle(0.5)));
    for (name, mut world) in on_all(&scene) {
        world.set(sliding, Property::Shapes(ShapeProperty::Friction(0.0))).unwrap();
        advance(&mut world, 60);
        let free = world.body(sliding).unwrap();
        assert!((free.position().x - 5.0).abs() < 0.01, "{name}: {}", free.position());
        // √(0.6 · 0.15) = 0.3: it stops after 5 / (0.3 · 10) s, 4.17 m further.
        world.set(sliding, Property::Shape(0, ShapeProperty::Friction(0.15))).unwrap();
        world.set(0, Property::Shape(0, ShapeProperty::TangentSpeed(2.0))).unwrap();
        world.set(0, Property::Shape(0, ShapeProperty::TangentSpeed(0.0))).unwrap();
        advance(&mut world, 120);
        let stopped = world.body(sliding).unwrap();
        let slid = stopped.position().x - free.position().x;
        assert!((slid - 4.17).abs() < 0.05 && stopped.velocity().length() < 1e-3, "{name}: {slid}");
        world.set(0, Property::Shape(0, ShapeProperty::TangentSpeed(2.0))).unwrap();
        world.set(bouncing, Property::Shapes(ShapeProperty::Restitution(1.0))).unwrap();
        world.command(bouncing, Command::velocity([0.0, 4.0])).unwrap();
        advance(&mut world, 60);
        assert!((world.body(carried).unwrap().velocity().x - 2.0).abs() < 0.01, "{name}");
        // Up and down again in 0.8 s, then up with the speed of the impact.
        let up = world.body(bouncing).unwrap().velocity().y;
        assert!((up - 2.0).abs() < 0.2, "{name}: {up} m/s");
    }
}

#[test]
fn a_filter_that_changes_ends_and_begins_contacts() {
    let mut scene = floor();
    let first = scene.add(crate_at(0.0, 0.5));
    let second = scene.add(crate_at(0.0, 1.5));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 30);
        let ghost = Filter { category: 2, mask: 2, group: 0 };
        let wall = Filter { category: 3, mask: 3, group: 0 };
        world.set(first, Property::Shapes(ShapeProperty::Filter(ghost))).unwrap();
        world.set(0, Property::Shapes(ShapeProperty::Filter(wall))).unwrap();
        advance(&mut world, 90);
        // The lower one still lies on the floor, the upper one has sunk to the same place.
        for body in [first, second] {
            let at = world.body(body).unwrap().position();
            assert!((at.y - 0.5).abs() < 0.01, "{name}: {at}");
        }
    }
}

/// A body that was fixed carries on as a dynamic one, between what it carried and what it lies on; its contacts had the
/// colours of fixed ones, several of one colour.
#[test]
fn a_static_body_becomes_dynamic_and_back() {
    let mut scene = floor();
    let beam = scene.add(Body::fixed(0.0, 2.0).shape(Shape::half_box(4.0, 0.25)));
    let loads: Vec<usize> = (-3_i16..=3).map(|x| scene.add(crate_at(f32::from(x) * 1.1, 2.75))).collect();
    for x in [-3.0, 3.0] {
        scene.add(Body::fixed(x, 0.5).shape(Shape::half_box(0.25, 0.5)));
    }
    for sleep in [false, true] {
        scene.settings.sleep = sleep;
        for (name, mut world) in on_all(&scene) {
            let name = format!("{name}, sleep {sleep}");
            advance(&mut world, 90);
            world.set(beam, Property::Kind(BodyType::Dynamic)).unwrap();
            advance(&mut world, 1);
            let body = world.body(beam).unwrap();
            assert!((body.mass() - 4.0).abs() < 1e-3 && body.velocity().y < -0.05, "{name}: {}", body.velocity());
            advance(&mut world, 120);
            // It fell by 0.75 m onto the posts, with its load.
            let at = world.body(beam).unwrap().position();
            assert!((at.y - 1.25).abs() < 0.02 && at.x.abs() < 0.05, "{name}: {at}");
            for &load in &loads {
                let y = world.body(load).unwrap().position().y;
                assert!((y - 2.0).abs() < 0.03, "{name}: load at {y}");
            }
            // Fixed again, it stays when its posts go.
            world.set(beam, Property::Kind(BodyType::Static)).unwrap();
            let posts: Vec<BodyId> = world.bodies().skip(2 + loads.len()).collect();
            world.remove_bodies(&posts).unwrap();
            advance(&mut world, 30);
            let after = world.body(beam).unwrap();
            assert_eq!((after.position(), after.velocity()), (at_rest(&after, at), glam::Vec2::ZERO), "{name}");
        }
    }
}

/// Returns the position of a body if it is within a millimetre of another, else that other one.
fn at_rest(body: &drystone::BodyView, at: glam::Vec2) -> glam::Vec2 {
    if body.position().distance(at) < 1e-3 { body.position() } else { at }
}

/// Replacing the description of a body changes its type under contacts that last.
#[test]
fn a_replaced_body_with_another_type_moves() {
    let mut scene = floor();
    let lower = scene.add(Body::fixed(0.0, 3.0).shape(Shape::half_box(0.5, 0.5)));
    let upper = scene.add(crate_at(0.0, 4.0));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 30);
        world.replace_body(lower.into(), &crate_at(0.0, 3.0)).unwrap();
        advance(&mut world, 150);
        let (low, high) = (world.body(lower).unwrap().position(), world.body(upper).unwrap().position());
        assert!((low.y - 0.5).abs() < 0.01 && (high.y - 1.5).abs() < 0.02, "{name}: {low}, {high}");
    }
}

#[test]
fn a_platform_starts_and_stops() {
    let mut scene = floor();
    let platform = scene.add(Body::fixed(0.0, 0.25).shape(Shape::half_box(3.0, 0.25)));
    let rider = scene.add(crate_at(0.0, 1.0));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 20);
        world.set(platform, Property::Kind(BodyType::Kinematic)).unwrap();
        world.command(platform, Command::velocity([1.0, 0.0])).unwrap();
        advance(&mut world, 60);
        let at = world.body(platform).unwrap().position().x;
        assert!((at - 1.0).abs() < 1e-3, "{name}: {at}");
        assert!((world.body(rider).unwrap().velocity().x - 1.0).abs() < 0.01, "{name}");
        world.set(platform, Property::Kind(BodyType::Static)).unwrap();
        advance(&mut world, 60);
        let stopped = world.body(platform).unwrap();
        assert!((stopped.position().x - at).abs() < 1e-6, "{name}: {}", stopped.position());
        assert!(world.body(rider).unwrap().velocity().length() < 1e-3, "{name}");
    }
}

#[test]
fn joints_follow_the_type_of_their_bodies() {
    let mut scene = Scene::new("chain").gravity(0.0, -10.0);
    let top = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.2)));
    let bottom = scene.add(Body::dynamic(0.0, -1.0).shape(Shape::circle(0.2)));
    let hinge = JointKind::hinge();
    scene.join(Joint::to_world(hinge.clone(), top).anchors([0.0, 0.5], [0.0, 0.5]));
    scene.join(Joint::new(hinge, top, bottom).anchors([0.0, -0.5], [0.0, 0.5]));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 10);
        let refused =
            world.set_all(&[(top.into(), Property::Mass(3.0)), (top.into(), Property::Kind(BodyType::Static))]);
        let error = refused.unwrap_err().to_string();
        assert_eq!(error, "type: leaves joint 0 without a dynamic body; expected the joint removed before", "{name}");
        assert!((world.body(top).unwrap().mass() - 0.1257).abs() < 1e-3, "{name}: half of the change was made");
        let first = world.joint_id(0).unwrap();
        world.remove_joints(&[first]).unwrap();
        world.set(top, Property::Kind(BodyType::Static)).unwrap();
        world.command(bottom, Command::velocity([2.0, 0.0])).unwrap();
        advance(&mut world, 60);
        let arm = world.body(bottom).unwrap().position() - world.body(top).unwrap().position();
        let hung = (arm + glam::Vec2::Y * 0.5).length();
        assert!((hung - 0.5).abs() < 0.01, "{name}: the arm is {hung} m long");
        // Both move again: they fall together.
        world.set(top, Property::Kind(BodyType::Dynamic)).unwrap();
        let before = world.body(top).unwrap().position().y;
        advance(&mut world, 60);
        let fell = before - world.body(top).unwrap().position().y;
        assert!(fell > 3.0, "{name}: {fell} m");
    }
}

/// Sleeping bodies wake by what changes them, and by what they lie on; others sleep on.
#[test]
fn a_change_wakes_what_it_is_about() {
    let mut scene = Scene::new("two floors").gravity(0.0, -10.0);
    scene.settings.sleep = true;
    let floors = [-20.0, 20.0].map(|x| scene.add(Body::fixed(x, -0.5).shape(Shape::half_box(10.0, 0.5))));
    let boxes = [-20.0, 20.0].map(|x| scene.add(crate_at(x, 0.5)));
    let awake = |world: &World| boxes.map(|body| world.body(body).unwrap().is_awake());
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 90);
        assert_eq!(awake(&world), [false, false], "{name}");
        world.set(floors[0], Property::Shapes(ShapeProperty::TangentSpeed(1.0))).unwrap();
        advance(&mut world, 1);
        assert_eq!(awake(&world), [true, false], "{name}");
        advance(&mut world, 60);
        assert!(world.body(boxes[0]).unwrap().velocity().x > 0.9, "{name}");
        world.set(floors[0], Property::Shapes(ShapeProperty::TangentSpeed(0.0))).unwrap();
        advance(&mut world, 120);
        assert_eq!(awake(&world), [false, false], "{name}");
        world.command(floors[1], Command::Wake).unwrap();
        advance(&mut world, 1);
        assert_eq!(awake(&world), [false, true], "{name}");
        world.set(boxes[0], Property::GravityScale(-1.0)).unwrap();
        advance(&mut world, 1);
        assert_eq!(awake(&world), [true, true], "{name}");
    }
}

/// A list of changes over time, of every property, on every body of a heap.
fn drive(world: &mut World, steps: std::ops::Range<usize>, journal: &mut Journal) {
    for step in steps {
        if step % 3 == 0 {
            let mut random = drystone::low_level::hash::Fnv::START.bytes(&step.to_le_bytes()).0;
            let mut next = |below: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % below
            };
            let id = world.body_id(1 + usize::try_from(next(20)).unwrap()).unwrap();
            #[allow(clippy::cast_precision_loss, reason = "below 100")]
            let share = next(100) as f32 / 100.0;
            let kinds = [BodyType::Static, BodyType::Kinematic, BodyType::Dynamic, BodyType::Dynamic];
            let property = match next(15) {
                0 | 1 => Property::Kind(kinds[usize::try_from(next(4)).unwrap()]),
                2 => Property::Mass(0.5 + share),
                3 => Property::Inertia(0.1 + share),
                4 => Property::FixedRotation(share < 0.5),
                5 => Property::Bullet(share < 0.5),
                6 => Property::GravityScale(share),
                7 => Property::LinearDamping(share),
                8 => Property::AngularDamping(share),
                9 => Property::Shapes(ShapeProperty::Friction(share)),
                10 => Property::Shapes(ShapeProperty::Restitution(share)),
                11 => Property::Shape(0, ShapeProperty::TangentSpeed(share)),
                12 => Property::Shapes(ShapeProperty::RollingResistance(0.1 * share)),
                13 => Property::UserData(next(100)),
                _ => Property::CanSleep(share < 0.9),
            };
            world.set(id, property).unwrap();
            journal.push(world.steps(), Alteration::SetProperties(vec![(id, property)]));
        }
        world.step().unwrap();
    }
}

fn heap(sleep: bool) -> Scene {
    let mut scene = floor();
    scene.settings.sleep = sleep;
    for row in 0..5_u8 {
        for column in 0..4_u8 {
            let (x, y) = (f32::from(column) * 1.05 + 0.5 * f32::from(row % 2), 0.5 + f32::from(row));
            scene.add(if (row + column) % 3 == 0 {
                Body::dynamic(x, y).shape(Shape::circle(0.5))
            } else {
                crate_at(x, y)
            });
        }
    }
    scene
}

#[test]
fn changes_of_every_kind_repeat_and_continue() {
    for sleep in [false, true] {
        assert_repeats(&heap(sleep), 90, 200, drive);
    }
}

#[test]
fn the_device_follows_the_cpu() {
    assert_device_follows(&heap(false), 1e-4, 0.02, drive);
}

#[test]
fn values_out_of_range_are_refused_and_change_nothing() {
    let mut scene = floor();
    let ball = scene.add(Body::dynamic(0.0, 3.0).shape(Shape::circle(0.5).friction(0.5).kinetic_friction(0.3)));
    let plane = scene.add(Body::fixed(0.0, -3.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    let cart = scene.add(Body::kinematic(9.0, 0.0).shape(Shape::circle(0.5).offset(1.0, 0.0)));
    let shape = |property| Property::Shape(0, property);
    for (name, mut world) in on_all(&scene) {
        let before = hash_of(&mut world);
        for (body, property, expected) in [
            (ball, Property::Mass(0.0), "mass: is 0; expected a mass above 0 kg"),
            (ball, Property::Mass(f32::NAN), "mass: is not a number (NaN)"),
            (ball, Property::Mass(1e38), "mass: gives a mass of "),
            (ball, Property::Inertia(-1.0), "inertia: is -1; expected a moment of inertia above 0"),
            (ball, Property::LinearDamping(-0.1), "linear_damping: is -0.1; expected a damping rate from 0"),
            (ball, Property::GravityScale(f32::INFINITY), "gravity_scale: is infinite"),
            (
                ball,
                shape(ShapeProperty::Restitution(1.5)),
                "shapes[0].restitution: is 1.5; expected a restitution from",
            ),
            (ball, shape(ShapeProperty::KineticFriction(0.6)), "shapes[0].kinetic_friction: is 0.6; expected a coef"),
            (ball, shape(ShapeProperty::Friction(0.2)), "shapes[0].friction: is 0.2; expected at least the friction"),
            (
                ball,
                Property::Shape(1, ShapeProperty::Friction(0.2)),
                "shapes[1].friction: is of shape 1, and the body has 1; expected a number from 0 to 0",
            ),
            (plane, Property::Kind(BodyType::Dynamic), "type: is dynamic, and the body has a half plane or a chain"),
            (cart, Property::Kind(BodyType::Dynamic), "type: is dynamic, and the body was made kinematic with its cen"),
        ] {
            let error = world.set(body, property).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{name}: {error}");
        }
        let id = BodyId { index: 9, generation: 0 };
        assert_eq!(world.set(id, Property::CanSleep(true)).unwrap_err().to_string(), "there is no body 9.0");
        let both = [(ball.into(), Property::Mass(2.0)), (ball.into(), Property::Mass(-2.0))];
        let error = world.set_all(&both).unwrap_err().to_string();
        assert!(error.starts_with("properties[1].mass: is -2"), "{name}: {error}");
        assert!((world.body(ball).unwrap().mass() - PI / 4.0).abs() < 1e-5, "{name}");
        assert_eq!(hash_of(&mut world), before, "{name}");
    }
}

/// A hinge gets a motor, then limits, then a spring, and loses them; its angle goes on from that of its start.
#[test]
fn a_joint_gets_a_motor_limits_and_a_spring() {
    let mut scene = Scene::new("arm").gravity(0.0, 0.0);
    scene.settings = Settings { sleep: true, ..Settings::default() };
    let arm = scene.add(Body::dynamic(1.0, 0.0).shape(Shape::half_box(1.0, 0.1)));
    let plain = Joint::to_world(JointKind::hinge(), arm).anchors([0.0, 0.0], [-1.0, 0.0]);
    scene.join(plain.clone());
    let with = |change: fn(JointKind) -> JointKind| Joint { kind: change(JointKind::hinge()), ..plain.clone() };
    for (name, mut world) in on_all(&scene) {
        let hinge = world.joint_id(0).unwrap();
        advance(&mut world, 60);
        assert!(!world.body(arm).unwrap().is_awake(), "{name}");
        world.replace_joint(hinge, &with(|kind| kind.motor(2.0, 1000.0))).unwrap();
        advance(&mut world, 30);
        let turned = world.body(arm).unwrap();
        assert!((turned.angular_velocity() - 2.0).abs() < 0.01, "{name}: {}", turned.angular_velocity());
        assert!((turned.angle() - 1.0).abs() < 0.05, "{name}: {}", turned.angle());
        // From the angle of the start, not from the present one.
        world.replace_joint(hinge, &with(|kind| kind.motor(2.0, 20.0).limits(-0.5, 1.5))).unwrap();
        advance(&mut world, 60);
        assert!((world.body(arm).unwrap().angle() - 1.5).abs() < 0.02, "{name}: {}", world.body(arm).unwrap().angle());
        world
            .replace_joint(hinge, &with(|kind| kind.sprung(Spring { hertz: 2.0, damping_ratio: 1.0, target: 0.0 })))
            .unwrap();
        advance(&mut world, 120);
        assert!(world.body(arm).unwrap().angle().abs() < 0.02, "{name}: {}", world.body(arm).unwrap().angle());
        assert_eq!(world.joint_id(0), Some(hinge), "{name}");
        let (middle, bytes) = (world.snapshot().unwrap(), world.save().unwrap());
        assert!(!bytes.is_empty());
        world.replace_joint(hinge, &plain).unwrap();
        world.command(arm, Command::AngularImpulse(1.0)).unwrap();
        advance(&mut world, 30);
        let free = world.body(arm).unwrap().angular_velocity();
        assert!(free > 0.05, "{name}: {free}");
        world.restore(&middle).unwrap();
        world.command(arm, Command::AngularImpulse(1.0)).unwrap();
        advance(&mut world, 120);
        assert!(world.body(arm).unwrap().angle().abs() < 0.02, "{name}: the spring is back");
        let wrong = Joint { kind: JointKind::hinge().motor(f32::NAN, 1.0), ..plain.clone() };
        let error = world.replace_joint(hinge, &wrong).unwrap_err().to_string();
        assert!(error.starts_with("joints[0].motor.speed: is not a number"), "{name}: {error}");
        world.remove_joints(&[hinge]).unwrap();
        let error = world.replace_joint(hinge, &plain).unwrap_err().to_string();
        assert_eq!(error, "there is no joint 0.0", "{name}");
    }
}

/// A static body without categories meets nothing and stays where it is, until it gets its type and filter back.
#[test]
fn a_body_without_categories_is_out_of_the_world() {
    let mut scene = floor();
    let shelf = scene.add(crate_at(0.0, 3.0));
    let load = scene.add(crate_at(0.0, 6.0));
    let nothing = Filter { category: 0, mask: 0, group: 0 };
    for (name, mut world) in on_all(&scene) {
        let set = |world: &mut World, kind: BodyType, filter: Filter| {
            let both = [Property::Kind(kind), Property::Shapes(ShapeProperty::Filter(filter))];
            world.set_all(&both.map(|property| (shelf.into(), property))).unwrap();
        };
        set(&mut world, BodyType::Static, nothing);
        advance(&mut world, 120);
        let [high, low] = [shelf, load].map(|body| world.body(body).unwrap().position());
        assert!(high == glam::Vec2::new(0.0, 3.0) && (low.y - 0.5).abs() < 0.01, "{name}: {high}, {low}");
        let ray = Query::ray([-5.0, 3.0], [5.0, 3.0]).filter(Filter::everything());
        assert_eq!(world.query(std::slice::from_ref(&ray)).unwrap().hit(0), None, "{name}");
        set(&mut world, BodyType::Dynamic, Filter::default());
        assert_eq!(world.query(&[ray]).unwrap().hit(0).map(|hit| hit.body), Some(shelf), "{name}");
        advance(&mut world, 120);
        let fell = world.body(shelf).unwrap().position();
        assert!((fell.y - 1.5).abs() < 0.02, "{name}: {fell}");
    }
}

/// A description may give other measures to the outlines of a body, and other outlines.
#[test]
fn a_replaced_body_has_other_measures() {
    let wedge_of = |y: f32, low: f32, high: f32| {
        Body::dynamic(5.0, y).shape(Shape::polygon([[-0.5, low], [0.5, low], [0.0, high]]))
    };
    let mut scene = floor();
    let ball = scene.add(Body::dynamic(0.0, 0.5).shape(Shape::circle(0.5)));
    let wedge = scene.add(wedge_of(0.5, -0.5, 0.5));
    let grown = scene.add(crate_at(10.0, 0.5));
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 30);
        world.replace_body(ball.into(), &Body::dynamic(0.0, 1.5).shape(Shape::circle(1.0))).unwrap();
        world.replace_body(wedge.into(), &wedge_of(1.5, -1.0, 2.0)).unwrap();
        // Where it lies, so that its pair has not moved.
        let at = world.body(grown).unwrap().position();
        world.replace_body(grown.into(), &Body::dynamic(at.x, at.y).shape(Shape::half_box(0.5, 0.53))).unwrap();
        advance(&mut world, 120);
        let high = world.body(grown).unwrap().position().y;
        assert!((high - 0.53).abs() < 0.01, "{name}: {high}");
        let [round, sharp] = [ball, wedge].map(|body| world.body(body).unwrap());
        assert!((round.position().y - 1.0).abs() < 0.01, "{name}: {}", round.position());
        assert!((sharp.position().y - 1.0).abs() < 0.01, "{name}: {}", sharp.position());
        assert!((round.mass() - PI).abs() < 1e-3 && (sharp.mass() - 1.5).abs() < 1e-3, "{name}");
        // Other outlines, too.
        world.replace_body(ball.into(), &crate_at(0.0, 2.0)).unwrap();
        advance(&mut world, 90);
        let square = world.body(ball).unwrap();
        assert!((square.position().y - 0.5).abs() < 0.01 && (square.mass() - 1.0).abs() < 1e-3, "{name}: {square:?}");
    }
}

/// A joint gets another anchor, and then lets its bodies touch.
#[test]
fn a_joint_gets_other_anchors_and_collisions() {
    let mut scene = Scene::new("pair").gravity(0.0, 0.0);
    let post = scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    let held = scene.add(crate_at(0.5, 0.0));
    let weld = |x: f32| Joint::new(JointKind::weld(), post, held).anchors([x, 0.0], [0.0, 0.0]).soft(10.0, 1.0);
    scene.join(weld(0.5));
    for (name, mut world) in on_all(&scene) {
        let joint = world.joint_id(0).unwrap();
        let after = |world: &mut World, steps: usize| {
            advance(world, steps);
            world.body(held).unwrap().position()
        };
        let first = after(&mut world, 30);
        assert!(first.distance([0.5, 0.0].into()) < 1e-3, "{name}: {first}");
        world.replace_joint(joint, &weld(0.25)).unwrap();
        let second = after(&mut world, 120);
        assert!(second.distance([0.25, 0.0].into()) < 1e-3, "{name}: {second}");
        world.replace_joint(joint, &weld(0.25).collide()).unwrap();
        let apart = after(&mut world, 240);
        assert!(apart.length() > 0.9, "{name}: {apart}");
    }
}
