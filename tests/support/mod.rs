//! Shared helpers of the contract tests: a device, scenes with changing contacts, and recorded runs.
//!
//! A missing adapter fails these tests: an untested contract does not hold.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod changes;

use std::sync::OnceLock;

use drystone::low_level::reference::Reference;
use drystone::low_level::scene::Compiled;
use drystone::low_level::tables::Tables;
use drystone::low_level::types::{
    BodyState, Contact, FIXED_A, FIXED_B, Manifold, NONE, OVERFLOW_COLOR, POINT_COUNT_MASK, Pose,
};
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{
    AdapterChoice, Body, Command, Context, Emitter, Joint, JointKind, Motor, Scene, Shape, Snapshot, Spring, World,
    WorldBatch,
};
use drystone_scenes::catalogue;
use glam::Vec2;

/// Returns a new device.
pub fn new_context() -> Context {
    Context::new(AdapterChoice::Any).expect("these tests need an adapter; Debian's mesa-vulkan-drivers has one")
}

/// Returns the device that the tests of a file share.
pub fn context() -> &'static Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(new_context)
}

pub fn build(spec: &str) -> Scene {
    catalogue::build(spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

pub fn compile(scene: &Scene) -> Compiled {
    Compiled::new(scene).unwrap_or_else(|error| panic!("{}: {error}", scene.name))
}

pub fn cpu(scene: &Scene) -> CpuWorld {
    CpuWorld::new(scene).unwrap_or_else(|error| panic!("{}: {error}", scene.name))
}

pub fn gpu(scene: &Scene) -> GpuWorld {
    GpuWorld::new(context(), scene).unwrap_or_else(|error| panic!("{}: {error}", scene.name))
}

/// Returns a scene's world on each backend, with its name; the one on three threads shares every stage.
pub fn on_all(scene: &Scene) -> Vec<(&'static str, World)> {
    vec![
        ("cpu", cpu(scene).into()),
        ("3 threads", cpu(scene).with_threads(3).unwrap().with_sharing_from(0).into()),
        ("gpu", gpu(scene).into()),
    ]
}

/// Returns the hash of a world's state.
pub fn hash_of(world: &mut World) -> u64 {
    state::hash(&world.snapshot().unwrap())
}

/// Backends, for single worlds and for batches.
pub const BACKENDS: [&str; 2] = ["cpu", "gpu"];

pub fn alone(backend: &str, scene: &Scene) -> World {
    if backend == "cpu" { cpu(scene).into() } else { gpu(scene).into() }
}

/// Returns a batch of worlds; on the CPU with three threads.
pub fn together(backend: &str, scenes: &[Scene]) -> WorldBatch {
    let worlds = if backend == "cpu" { WorldBatch::on_cpu(scenes, 3) } else { WorldBatch::on_gpu(context(), scenes) };
    worlds.expect("valid scenes that fit the device")
}

/// Returns a world on the shared device with a capacity of `capacity` contacts.
pub fn gpu_with(scene: &Scene, capacity: u32) -> GpuWorld {
    GpuWorld::from_compiled(context(), compile(scene), Some(capacity)).expect("the capacity fits the device")
}

/// Returns boxes and circles of three sizes, thrown into a bin from above: contacts change all the time.
pub fn pile(seed: u64, count: u32) -> Scene {
    let mut random = Random(seed);
    let mut scene = Scene::new(format!("pile {seed}"));
    let half_width = 0.4 * f32::from(u16::try_from(count).expect("a small pile")).sqrt() + 1.0;
    scene.add(
        Body::fixed(0.0, 0.0)
            .shape(Shape::half_box(half_width + 1.0, 0.5).offset(0.0, -0.5))
            .shape(Shape::half_box(0.5, 50.0).offset(-half_width - 0.5, 50.0))
            .shape(Shape::half_box(0.5, 50.0).offset(half_width + 0.5, 50.0)),
    );
    let mut y = 0.6;
    while scene.bodies.len() <= count as usize {
        let mut x = -half_width + 0.6;
        while x < half_width - 0.6 && scene.bodies.len() <= count as usize {
            let size = [0.2, 0.3, 0.45][random.below(3)];
            let shape = if random.below(2) == 0 {
                Shape::circle(size)
            } else {
                Shape::half_box(size, size * random.between(0.4, 0.9))
            };
            let material = shape.friction(random.between(0.0, 1.0)).restitution(random.between(0.0, 0.5));
            let at = [x + random.between(-0.1, 0.1), y + random.between(-0.1, 0.1)];
            let body = Body::dynamic(at[0], at[1])
                .angle(random.between(-3.0, 3.0))
                .velocity(random.between(-3.0, 3.0), random.between(-8.0, 0.0));
            scene.add(body.angular_velocity(random.between(-5.0, 5.0)).shape(material));
            x += 1.2;
        }
        y += 1.2;
    }
    scene
}

/// Returns dense, chaotic scenes in which contacts change all the time.
pub fn chaotic() -> Vec<Scene> {
    vec![build("smash:columns=16,rows=12,speed=100"), build("tumbler:grid=14"), pile(1, 180)]
}

/// Xorshift generator: scenes need a deterministic one, not a good one.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let x = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^ (x >> 29)
    }

    pub fn below(&mut self, end: u64) -> usize {
        usize::try_from(self.next() % end).expect("a small number")
    }

    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        let share = f32::from(u16::try_from(self.next() >> 48).expect("16 bits")) / 65_536.0;
        low + (high - low) * share
    }
}

/// Returns a hash of everything in a snapshot: [`state::hash`] leaves contacts and counters out.
pub fn full_hash(snapshot: &Snapshot) -> u64 {
    let parts: [&[u8]; 6] = [
        bytemuck::cast_slice::<Pose, u8>(&snapshot.poses),
        bytemuck::cast_slice::<BodyState, u8>(&snapshot.states),
        bytemuck::cast_slice::<u32, u8>(&snapshot.pair_starts),
        bytemuck::cast_slice::<Contact, u8>(&snapshot.contacts),
        bytemuck::cast_slice::<Manifold, u8>(&snapshot.manifolds),
        bytemuck::bytes_of(&snapshot.counters),
    ];
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in parts.concat() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The hashes of a run: of the state after every step, and of the whole last snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub states: Vec<u64>,
    pub last: u64,
}

impl Trace {
    /// Fails at the first step that differs, and names it.
    pub fn assert_is(&self, other: &Self, what: &str) {
        assert_eq!(self.states.len(), other.states.len(), "{what}: lengths");
        let differs = self.states.iter().zip(&other.states).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{what}: first step that differs");
        assert_eq!(self.last, other.last, "{what}: contacts or counters of the last step");
    }
}

pub fn trace_cpu(world: &mut CpuWorld, steps: usize) -> Trace {
    let states = (0..steps)
        .map(|_| {
            world.step().unwrap();
            state::hash(&world.snapshot())
        })
        .collect();
    Trace { states, last: full_hash(&world.snapshot()) }
}

pub fn trace_gpu(world: &mut GpuWorld, steps: usize) -> Trace {
    let mut last = 0;
    let states = (0..steps)
        .map(|_| {
            world.step().expect("a step");
            let snapshot = world.snapshot().expect("a snapshot");
            last = full_hash(&snapshot);
            state::hash(&snapshot)
        })
        .collect();
    Trace { states, last }
}

pub fn is_finite(snapshot: &Snapshot) -> bool {
    let poses = snapshot.poses.iter().flat_map(|pose| pose.position.iter().chain(&pose.rotation));
    let states = snapshot.states.iter().flat_map(|state| state.velocity.iter().chain([&state.angular_velocity]));
    poses.chain(states).all(|value| value.is_finite())
}

pub fn is_touching(contact: &Contact) -> bool {
    contact.flags & POINT_COUNT_MASK != 0
}

/// Returns the dynamic bodies of a contact.
pub fn dynamic_bodies(contact: &Contact) -> impl Iterator<Item = u32> {
    let bodies = [(FIXED_A, contact.body_a), (FIXED_B, contact.body_b)];
    let flags = contact.flags;
    bodies.into_iter().filter(move |(fixed, _)| flags & fixed == 0).map(|(_, body)| body)
}

/// Fails unless the colors are valid and match the counters.
pub fn assert_colored(snapshot: &Snapshot, what: &str) {
    let mut taken = vec![0_u32; snapshot.poses.len()];
    let mut sizes = [0_u32; 32];
    for (index, contact) in snapshot.contacts.iter().enumerate() {
        if !is_touching(contact) {
            assert_eq!(contact.color, NONE, "{what}: contact {index} does not touch");
            continue;
        }
        assert!(contact.color < 32, "{what}: contact {index} has colour {}", contact.color);
        sizes[contact.color as usize] += 1;
        if contact.color == OVERFLOW_COLOR {
            continue;
        }
        for body in dynamic_bodies(contact) {
            let bit = 1 << contact.color;
            assert_eq!(taken[body as usize] & bit, 0, "{what}: body {body} has colour {} twice", contact.color);
            taken[body as usize] |= bit;
        }
    }
    let counters = &snapshot.counters;
    let counted: Vec<u32> = (0..32).map(|color| counters.color_size(color)).collect();
    assert_eq!(counted, sizes, "{what}: sizes of the colours");
    assert_eq!(counters.color_starts[0], 0, "{what}");
    assert_eq!(counters.touching, sizes.iter().sum::<u32>(), "{what}: touching contacts");
    assert_eq!(counters.contacts as usize, snapshot.contacts.len(), "{what}: contacts");
}

/// Returns the number of colors in use, without the overflow.
pub fn colors_used(snapshot: &Snapshot) -> usize {
    (0..32).filter(|&color| color != OVERFLOW_COLOR && snapshot.counters.color_size(color) > 0).count()
}

/// Returns circles in a row, which are all teleported to one point at some step: then there are far more pairs than any
/// capacity.
pub fn row() -> Scene {
    let mut scene = Scene::new("row");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(90.0, 1.0)));
    for index in 0..60 {
        scene.add(Body::dynamic(2.0 * index as f32 - 60.0, 0.4).shape(Shape::circle(0.4)));
    }
    scene
}

/// Returns the commands that move them there.
pub fn gather() -> impl Iterator<Item = (usize, Command)> {
    let place = |body: usize| Command::Teleport { position: Vec2::new(0.001 * body as f32, 5.0).into(), angle: 0.0 };
    (1..=60).map(move |body| (body, place(body)))
}

/// Adds emitters: pairs on a rod, every six steps, three pairs at a time, and a bouncing box after ten steps, for
/// twenty steps.
pub fn shower_on(scene: &mut Scene) {
    let mut pairs = Emitter::default().every(6).keep(3);
    let a = pairs.add(Body::dynamic(-1.0, 1.5).velocity(0.0, -9.0).shape(Shape::circle(0.2)));
    let b = pairs.add(Body::dynamic(-0.4, 1.7).shape(Shape::capsule([-0.1, 0.0], [0.1, 0.0], 0.1)));
    pairs.join(Joint::new(JointKind::rod(), a, b));
    scene.emit(pairs);
    let bouncy = Shape::half_box(0.3, 0.2).restitution(0.5).rolling_resistance(0.1);
    scene.emit(Emitter::new([Body::dynamic(3.0, 0.4).angle(0.3).shape(bouncy)]).start(10).lifetime(20));
}

/// Sets the reference to the state of an engine before its next step, with its pending commands.
pub fn take_over(reference: &mut Reference, world: &mut CpuWorld) {
    world.emit();
    reference.follow(world.compiled(), world.plan(), world.steps(), &world.snapshot().commands);
    reference.load(&world.tables());
}

/// Returns the first table that differs between two states after a step.
pub fn difference(expected: &Tables, found: &Tables) -> Option<String> {
    macro_rules! compare {
        ($($table:ident)*) => { $(
            let (ours, theirs) = (&expected.$table[..], &found.$table[..]);
            if bytemuck::cast_slice::<_, u8>(ours) != bytemuck::cast_slice::<_, u8>(theirs) {
                let row = ours.iter().zip(theirs).position(|(a, b)| bytemuck::bytes_of(a) != bytemuck::bytes_of(b));
                let row = row.unwrap_or(ours.len().min(theirs.len()));
                let name = stringify!($table);
                return Some(format!("{name}[{row}] is {:?}, not {:?}", theirs.get(row), ours.get(row)));
            }
        )* };
    }
    compare!(pair_starts contacts manifolds states poses islands sleeping_starts sleeping joint_states joint_impulses);
    let (ours, theirs) = (&expected.counters, &found.counters);
    (ours != theirs).then(|| format!("counters are {theirs:?}, not {ours:?}"))
}

/// Steps engines and the reference side by side, and compares them after every step. `act` may change the world before
/// a step.
pub fn assert_equal_to_reference(
    what: &str,
    worlds: &mut [CpuWorld],
    steps: u64,
    mut act: impl FnMut(u64, &mut CpuWorld),
) {
    let mut reference = Reference::from_compiled(worlds[0].compiled().clone());
    for step in 0..steps {
        for world in worlds.iter_mut() {
            act(step, world);
        }
        take_over(&mut reference, &mut worlds[0]);
        reference.step();
        for (index, world) in worlds.iter_mut().enumerate() {
            world.step().unwrap();
            let difference = difference(&reference.tables(), &world.tables());
            assert_eq!(difference, None, "{what}, step {step}, world {index} on {} threads", world.threads());
        }
    }
}

/// Returns joints of all kinds that connect two bodies, with springs, motors and limits where possible.
pub fn joint_kinds() -> [JointKind; 7] {
    let spring = Some(Spring { hertz: 3.0, damping_ratio: 0.2, target: 0.5 });
    let motor = Some(Motor { speed: 2.0, max: 20.0 });
    let limits = Some([-0.2, 0.3]);
    [
        JointKind::rod(),
        JointKind::rope(1.2),
        JointKind::spring(80.0, 0.5),
        JointKind::Revolute { reference_angle: None, limits, motor, spring },
        JointKind::Prismatic { axis: [0.6, 0.8].into(), reference_angle: None, limits, motor, spring },
        JointKind::Wheel { axis: [0.0, 1.0].into(), limits, motor, spring },
        JointKind::weld(),
    ]
}

/// Returns the place of the highest value of a function with one peak between two places, by the golden section.
pub fn highest(at: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..60 {
        let (left, right) = (low + 0.381_966 * (high - low), low + 0.618_034 * (high - low));
        if at(left) < at(right) {
            low = left;
        } else {
            high = right;
        }
    }
    0.5 * (low + high)
}
