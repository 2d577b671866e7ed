//! Adding and removing bodies and joints in one world of a batch: ids, bits, events and errors equal those of that
//! world alone, and the other worlds are unaffected.

use crate::support::{BACKENDS, Random, alone, build, shower_on, together};
use drystone::low_level::snapshot::Lineage;
use drystone::low_level::state;
use drystone::{
    Body, BodyId, Command, Joint, JointId, JointKind, Scene, Shape, Snapshot, World, WorldBatch, WorldError,
};
use glam::Vec2;

/// Returns a floor and a box, in strict mode: a single world has another capacity than one in a batch, and neither may
/// drop contacts.
fn floor() -> Scene {
    let mut scene = Scene::new("floor").gravity(0.0, -10.0);
    scene.settings.strict = true;
    scene.settings.events = true;
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(50.0, 0.5)));
    scene.add(Body::dynamic(0.0, 0.5).id("first").shape(Shape::half_box(0.5, 0.5)));
    scene
}

fn sleepy(mut scene: Scene) -> Scene {
    scene.settings.sleep = true;
    scene
}

/// Returns a body of each bounded geometry, also with new materials.
fn body(kind: usize, x: f32, y: f32) -> Body {
    let shape = match kind {
        0 => Shape::half_box(0.5, 0.4),
        1 => Shape::circle(0.4).restitution(0.5),
        2 => Shape::capsule([-0.3, 0.0], [0.3, 0.0], 0.2),
        3 => Shape::polygon([[-0.4, -0.3], [0.4, -0.3], [0.0, 0.5]]),
        4 => Shape::half_box(0.3, 0.2).kinetic_friction(0.2),
        _ => Shape::circle(0.2).rolling_resistance(0.1),
    };
    Body::dynamic(x, y).shape(shape)
}

/// A world of a batch and the same world alone, with the same changes made to both.
struct Pair<'a> {
    many: &'a mut WorldBatch,
    world: usize,
    single: &'a mut World,
}

impl Pair<'_> {
    fn add(&mut self, bodies: &[Body]) -> Vec<BodyId> {
        let ids = self.many.add_bodies(self.world, bodies).unwrap();
        assert_eq!(self.single.add_bodies(bodies).unwrap(), ids);
        ids
    }

    fn remove(&mut self, ids: &[BodyId]) {
        self.many.remove_bodies(self.world, ids).unwrap();
        self.single.remove_bodies(ids).unwrap();
    }

    fn tie(&mut self, joints: &[(Option<BodyId>, BodyId, Joint)]) -> Vec<JointId> {
        let ids = self.many.add_joints_between(self.world, joints).unwrap();
        assert_eq!(self.single.add_joints_between(joints).unwrap(), ids);
        ids
    }

    fn untie(&mut self, ids: &[JointId]) {
        self.many.remove_joints(self.world, ids).unwrap();
        self.single.remove_joints(ids).unwrap();
    }

    /// Adds or removes a random body or joint.
    fn churn(&mut self, random: &mut Random) {
        let bodies = self.many.compiled(self.world).unwrap().bodies.len();
        let some = |pair: &mut Self, random: &mut Random| {
            let slot = 1 + random.below(bodies as u64 - 1);
            let id = pair.many.body_id(pair.world, slot);
            assert_eq!(id, pair.single.body_id(slot));
            id
        };
        match random.below(8) {
            0..4 => {
                let count = 1 + random.below(3);
                let bodies: Vec<Body> = (0..count)
                    .map(|_| body(random.below(6), random.between(-4.0, 4.0), random.between(1.0, 4.0)))
                    .collect();
                self.add(&bodies);
            }
            4 | 5 => {
                if let Some(id) = some(self, random) {
                    self.remove(&[id]);
                }
            }
            6 => {
                let (a, b) = (some(self, random), some(self, random));
                if let (Some(a), Some(b)) = (a, b)
                    && a != b
                {
                    self.tie(&[(Some(a), b, Joint::new(JointKind::rod(), 0, 1)), (None, b, hinge())]);
                }
            }
            _ => {
                let joints = self.many.compiled(self.world).unwrap().joints.joints.len();
                let id = (0..joints).find_map(|index| self.many.joint_id(self.world, index));
                assert_eq!(id, (0..joints).find_map(|index| self.single.joint_id(index)));
                if let Some(id) = id {
                    self.untie(&[id]);
                }
            }
        }
    }

    fn assert_same(&mut self, what: &str) {
        let (found, expected) = (self.many.snapshot(self.world).unwrap(), self.single.snapshot().unwrap());
        assert_eq!(state::hash(&found), state::hash(&expected), "{what}: world {}", self.world);
        assert!(found == expected, "{what}: world {} carries another thing", self.world);
        let events = self.many.take_events(self.world).unwrap();
        assert_eq!(events, self.single.take_events().unwrap(), "{what}: events of world {}", self.world);
    }
}

fn step_alone(singles: &mut [World], which: &[usize]) {
    for &world in which {
        singles[world].step().unwrap();
    }
}

fn hinge() -> Joint {
    let kind = JointKind::Revolute { reference_angle: None, limits: None, motor: None, spring: None };
    Joint::to_world(kind, 0).anchors([0.0, 3.0], [0.0, 0.5])
}

#[test]
fn bodies_and_joints_change_as_in_a_world_alone() {
    for backend in BACKENDS {
        for scene in [floor(), sleepy(floor())] {
            let mut scenes = vec![scene; 3];
            scenes.push(Scene { settings: scenes[0].settings, ..build("large_pyramid:base=4") });
            let mut worlds = together(backend, &scenes);
            let mut singles: Vec<World> = scenes.iter().map(|scene| alone(backend, scene)).collect();
            let mut random = Random(7);
            for round in 0..90 {
                for (world, single) in singles.iter_mut().enumerate() {
                    let mut pair = Pair { many: &mut worlds, world, single };
                    // The last world is not changed.
                    if world < 3 && random.below(4) == 0 {
                        pair.churn(&mut random);
                    }
                    if round % 30 == 29 {
                        pair.assert_same(backend);
                    }
                }
                let which: Vec<usize> = (0..4).filter(|_| random.below(4) > 0).collect();
                step_alone(&mut singles, &which);
                worlds.step_some(&which).unwrap();
            }
            for (world, single) in singles.iter_mut().enumerate() {
                Pair { many: &mut worlds, world, single }.assert_same(backend);
            }
            let joints = (0..3).map(|world| worlds.compiled(world).unwrap().joints.joints.len()).sum::<usize>();
            assert!(joints > 5 && worlds.compiled(0).unwrap().bodies.len() > 15, "hardly anybody came");
        }
    }
}

/// Adds far more bodies than the capacity, while others move and some worlds skip the step.
#[test]
fn one_world_outgrows_its_tables() {
    for backend in BACKENDS {
        let mut scenes = vec![floor(), floor()];
        scenes.push(Scene { settings: floor().settings, ..build("ragdoll") });
        let mut worlds = together(backend, &scenes);
        let mut singles: Vec<World> = scenes.iter().map(|scene| alone(backend, scene)).collect();
        let step = |worlds: &mut WorldBatch, singles: &mut [World], which: &[usize]| {
            worlds.step_some(which).unwrap();
            step_alone(singles, which);
        };
        (0..11).for_each(|_| step(&mut worlds, &mut singles, &[0, 1, 2]));
        step(&mut worlds, &mut singles, &[2, 1]);
        let before = worlds.device_bytes();
        let crowd: Vec<Body> =
            (0..240_u8).map(|n| body(usize::from(n % 6), f32::from(n % 40) - 20.0, 2.0 + f32::from(n / 40))).collect();
        let mut pair = Pair { many: &mut worlds, world: 1, single: &mut singles[1] };
        let ids = pair.add(&crowd);
        let chain: Vec<_> =
            ids.windows(2).map(|two| (Some(two[0]), two[1], Joint::new(JointKind::rod(), 0, 1))).collect();
        pair.tie(&chain[..100]);
        for which in [&[1, 2][..], &[0], &[0, 1, 2]].into_iter().cycle().take(30) {
            step(&mut worlds, &mut singles, which);
        }
        for (world, single) in singles.iter_mut().enumerate() {
            Pair { many: &mut worlds, world, single }.assert_same(backend);
        }
        assert!(worlds.device_bytes() > before || before.is_none(), "there was room for all of them");
        // Negative control: without them world 1 differs.
        assert_ne!(worlds.hashes().unwrap()[0], worlds.hashes().unwrap()[1]);
        worlds.remove_bodies(1, &ids).unwrap();
        worlds.step().unwrap();
        let left = worlds.snapshot(1).unwrap();
        assert_eq!(state::body_states(worlds.compiled(1).unwrap(), &left).len(), 2);
    }
}

/// A reset or a restore removes added bodies and brings removed ones back, also with emitters.
#[test]
fn a_reset_or_restore_undoes_changes() {
    for backend in BACKENDS {
        for scene in [floor(), shower()] {
            let scenes = vec![scene.clone(); 3];
            let mut worlds = together(backend, &scenes);
            for which in [&[0, 1, 2][..], &[1], &[1, 2], &[1], &[1]] {
                worlds.step_some(which).unwrap();
            }
            let early = worlds.snapshot(1).unwrap();
            let first = worlds.body_id(1, 1).unwrap();
            let ids = worlds.add_bodies(1, &[body(0, 0.2, 3.0), body(5, 3.0, 1.0)]).unwrap();
            worlds
                .add_joints(1, &[Joint::new(JointKind::rod(), ids[0].index as usize, ids[1].index as usize)])
                .unwrap();
            worlds.remove_bodies(1, &[first]).unwrap();
            (0..9).for_each(|_| worlds.step().unwrap());
            assert!(worlds.body_id(1, 1) != Some(first));
            let late = worlds.snapshot(1).unwrap();
            (0..4).for_each(|_| worlds.step_some(&[1]).unwrap());

            let compare = |worlds: &mut WorldBatch, steps: usize, what: &str| {
                let mut single = alone(backend, &scene);
                (0..steps).for_each(|_| single.step().unwrap());
                assert!(worlds.snapshot(1).unwrap() == single.snapshot().unwrap(), "{backend}: {what}");
            };
            worlds.restore(&[(1, &late)]).unwrap();
            assert!(worlds.snapshot(1).unwrap() == late);
            worlds.restore(&[(1, &early)]).unwrap();
            (0..6).for_each(|_| worlds.step_some(&[1]).unwrap());
            compare(&mut worlds, 11, "from before they came");
            assert_eq!(worlds.body_id(1, 1), Some(first));
            worlds.add_bodies(1, &[body(1, 0.2, 3.0)]).unwrap();
            worlds.step().unwrap();
            worlds.reset(&[1]).unwrap();
            compare(&mut worlds, 0, "at its start");
            (0..25).for_each(|_| worlds.step_some(&[1]).unwrap());
            compare(&mut worlds, 25, "begun again");
            // Forward again to the added bodies; a world without any of them rejects a snapshot that lacks their
            // descriptions.
            worlds.restore(&[(1, &late)]).unwrap();
            assert!(worlds.snapshot(1).unwrap() == late);
            worlds.reset(&[1]).unwrap();
            let untold = Snapshot { lineage: Lineage::default(), ..late };
            assert!(worlds.restore(&[(1, &untold)]).is_err());
            compare(&mut worlds, 0, "after a refusal");
        }
    }
}

/// Returns a scene of emitters: pairs on a rod, every six steps, three pairs at a time, and a bouncing box after ten
/// steps, for twenty steps.
fn shower() -> Scene {
    let mut scene = floor();
    shower_on(&mut scene);
    scene
}

#[test]
fn emitters_run_in_some_worlds_and_not_in_others() {
    for backend in BACKENDS {
        let scenes = [shower(), floor(), shower()];
        let mut worlds = together(backend, &scenes);
        let mut singles: Vec<World> = scenes.iter().map(|scene| alone(backend, scene)).collect();
        let mut random = Random(3);
        for _ in 0..70 {
            let which: Vec<usize> = (0..3).filter(|_| random.below(3) > 0).collect();
            if which.contains(&2) && random.below(9) == 0 {
                let mut pair = Pair { many: &mut worlds, world: 2, single: &mut singles[2] };
                pair.add(&[body(random.below(6), 2.0, 3.0)]);
            }
            step_alone(&mut singles, &which);
            worlds.step_some(&which).unwrap();
        }
        for (world, single) in singles.iter_mut().enumerate() {
            Pair { many: &mut worlds, world, single }.assert_same(backend);
        }
        assert!(worlds.steps(0) != worlds.steps(2), "they would have emitted the same");
    }
}

#[test]
fn rejected_calls_change_nothing() {
    for backend in BACKENDS {
        let scenes = vec![floor(); 2];
        let (mut worlds, mut control) = (together(backend, &scenes), together(backend, &scenes));
        worlds.step().unwrap();
        control.step().unwrap();
        let first = worlds.body_id(0, 1).unwrap();
        let nobody = BodyId { index: 7, generation: 0 };
        let joint = Joint::new(JointKind::rod(), 0, 9);
        let bad = Body::dynamic(f32::NAN, 0.0);
        let refused = [
            worlds.add_bodies(1, &[body(0, 0.0, 1.0), bad]).unwrap_err().to_string(),
            worlds.remove_bodies(1, &[first, nobody]).unwrap_err().to_string(),
            worlds.remove_bodies(1, &[first, first]).unwrap_err().to_string(),
            worlds.add_joints_between(1, &[(Some(first), nobody, joint.clone())]).unwrap_err().to_string(),
            worlds.remove_joints(1, &[JointId { index: 0, generation: 0 }]).unwrap_err().to_string(),
        ];
        assert!(refused[0].contains("bodies[1]"), "{}", refused[0]);
        assert_eq!(refused[1..3], ["there is no body 7.0", "body 1.0 is given twice"]);
        assert_eq!(refused[3..], ["there is no body 7.0", "there is no joint 0.0"]);
        assert!(worlds.add_joints(1, &[joint]).is_err());
        for error in [worlds.add_bodies(2, &[]).unwrap_err(), worlds.remove_bodies(2, &[first]).unwrap_err()] {
            assert!(matches!(&error, WorldError::Many(why) if why == "there is no world 2 of 2"), "{error}");
        }
        assert_eq!(worlds.body_id(2, 0), None);
        for _ in 0..20 {
            worlds.step().unwrap();
            control.step().unwrap();
        }
        assert_eq!(worlds.hashes().unwrap(), control.hashes().unwrap(), "{backend}");
        // A command to a removed body does not reach its successor.
        worlds.command(0, 1, Command::Velocity(Vec2::new(0.0, 50.0))).unwrap();
        worlds.remove_bodies(0, &[first]).unwrap();
        worlds.step().unwrap();
        assert!(worlds.command(0, 1, Command::Wake).is_err());
        let newcomer = worlds.add_bodies(0, &[body(0, 0.0, 0.4)]).unwrap();
        assert_eq!((newcomer[0].index, newcomer[0].generation), (1, 1));
        worlds.step().unwrap();
        assert!(worlds.bodies().unwrap().states(0)[1].velocity[1].abs() < 1.0);
    }
}

/// Gravity of one world is set in flight and asleep; a snapshot includes it, and a reset world has that of its scene.
#[test]
fn each_world_has_its_own_gravity() {
    for backend in BACKENDS {
        let scenes = vec![sleepy(floor()); 2];
        let mut worlds = together(backend, &scenes);
        let mut singles: Vec<World> = scenes.iter().map(|scene| alone(backend, scene)).collect();
        let start = worlds.snapshot(1).unwrap();
        for gravity in [Vec2::new(3.0, -10.0), Vec2::new(-2.0, 4.0)] {
            (0..40).for_each(|_| worlds.step().unwrap());
            (0..40).for_each(|_| step_alone(&mut singles, &[0, 1]));
            worlds.set_gravity(1, gravity).unwrap();
            singles[1].set_gravity(gravity).unwrap();
        }
        let kept = worlds.snapshot(1).unwrap();
        (0..9).for_each(|_| worlds.step().unwrap());
        (0..9).for_each(|_| step_alone(&mut singles, &[0, 1]));
        for (world, single) in singles.iter_mut().enumerate() {
            Pair { many: &mut worlds, world, single }.assert_same(backend);
        }
        let hashes = worlds.hashes().unwrap();
        // Negative control.
        assert_ne!(hashes[0], hashes[1], "{backend}");
        assert!(worlds.set_gravity(1, Vec2::new(f32::NAN, 0.0)).is_err() && worlds.set_gravity(2, Vec2::ZERO).is_err());
        worlds.reset(&[1]).unwrap();
        assert!(worlds.snapshot(1).unwrap() == start);
        (0..9).for_each(|_| worlds.step_some(&[1]).unwrap());
        let mut fresh = alone(backend, &scenes[1]);
        (0..9).for_each(|_| fresh.step().unwrap());
        assert_eq!(worlds.hashes().unwrap()[1], state::hash(&fresh.snapshot().unwrap()), "{backend}");
        worlds.restore(&[(1, &kept)]).unwrap();
        (0..9).for_each(|_| worlds.step_some(&[1]).unwrap());
        assert_eq!(worlds.hashes().unwrap()[1], hashes[1], "{backend}");
    }
}
