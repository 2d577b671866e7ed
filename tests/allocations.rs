//! A step allocates and frees no memory once all tables have reached their size, on one thread and on several.
//!
//! Tables grow with the number of contacts and keep their capacity. Two laws hold for a world that has run for a while:
//!
//! - **In further steps** nothing is allocated and nothing is freed. A table that outgrows its capacity is reallocated,
//!   which counts as neither.
//! - **In the same steps again**, from a snapshot to the same bits, no table grows: no call of the allocator at all.
//!   The steps are repeated twice before the measurement, since some tables are swapped from step to step.
//!
//! **Several threads** are rayon's. A step is one job submitted from outside through a queue that allocates a block per
//! 63 jobs and frees it afterwards. The allowed number of calls is measured: that of as many empty jobs on as many
//! threads; none on one thread.
//!
//! All in one test: the counter counts the calls of all threads.

mod support;

use std::alloc::System;
use std::ops::AddAssign;
use std::sync::Barrier;

use drystone::low_level::CpuWorld;
use drystone::low_level::threads::Threads;
use drystone::{Command, Mode, Scene, Settings};
use glam::Vec2;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::build;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Number of steps measured: the number of jobs in a block of rayon's queue.
const STEPS: u64 = 63;

/// Number of calls of the allocator, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    made: usize,
    moved: usize,
    given_back: usize,
}

impl AddAssign for Calls {
    fn add_assign(&mut self, other: Self) {
        self.made += other.made;
        self.moved += other.moved;
        self.given_back += other.given_back;
    }
}

fn calls(work: impl FnOnce()) -> Calls {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    Calls { made: change.allocations, moved: change.reallocations, given_back: change.deallocations }
}

/// Commands to a world before a step; not counted, as they are not part of the step.
type Ask = fn(&mut CpuWorld, u64);

/// Returns the calls during the next steps.
fn watch(world: &mut CpuWorld, steps: u64, ask: Ask) -> Calls {
    let mut all = Calls::default();
    for step in 0..steps {
        ask(world, step);
        all += calls(|| world.step().unwrap());
        world.take_events();
    }
    all
}

/// Returns the calls in further steps after a warm-up, and those in the same steps again.
fn of(mut world: CpuWorld, warm_up: u64, ask: Ask) -> [Calls; 2] {
    watch(&mut world, warm_up, ask);
    let start = world.snapshot();
    let onward = watch(&mut world, STEPS, ask);
    let end = world.snapshot();
    let mut again = Calls::default();
    for _ in 0..3 {
        world.restore(&start).expect("its own");
        again = watch(&mut world, STEPS, ask);
        assert!(world.snapshot() == end, "{} reached another state", world.compiled().name);
    }
    [onward, again]
}

/// Thread pools whose threads have all started. Kept until the end: threads free their memory at some time after they
/// end.
struct Pools([Threads; 3]);

impl Pools {
    fn new() -> Self {
        Self([1, 2, 4].map(|count| {
            let threads = Threads::new(count).expect("threads");
            let all = Barrier::new(count);
            threads.for_tasks(count, |_, _| {
                all.wait();
            });
            threads
        }))
    }

    /// Checks both laws on one thread and on several.
    fn assert_none(&self, world: impl Fn() -> CpuWorld, warm_up: u64, ask: Ask, what: &str) {
        for threads in &self.0 {
            let allowed = empty_steps(threads);
            let world = world().with_threads_of(threads).with_sharing_from(0);
            let what = format!("{} {what} on {} threads", world.compiled().name, threads.count());
            let [onward, again] = of(world, warm_up, ask);
            let within = |calls: Calls| calls.made <= allowed.made && calls.given_back <= allowed.given_back;
            assert!(within(onward), "{what}, in further steps: {onward:?}, of {allowed:?}");
            assert!(within(again) && again.moved == 0, "{what}, in the same steps again: {again:?}, of {allowed:?}");
        }
    }
}

/// Returns rayon's own calls for as many empty jobs.
fn empty_steps(threads: &Threads) -> Calls {
    let calls = calls(|| (0..STEPS).for_each(|_| threads.enter(|| {})));
    assert!(threads.count() > 1 || calls == Calls::default(), "{calls:?}");
    calls
}

fn nothing(_: &mut CpuWorld, _: u64) {}

fn with(scene: Scene, change: impl FnOnce(&mut Settings)) -> CpuWorld {
    let mut scene = scene;
    change(&mut scene.settings);
    CpuWorld::new(&scene).expect("a valid scene")
}

/// Wakes the pile now and then; half a second later it sleeps again.
fn wake_pile(world: &mut CpuWorld, step: u64) {
    let last = world.compiled().bodies.len() - 1;
    if step % STEPS == 10 {
        world.command(last, Command::Wake).expect("a box");
    }
}

/// Issues more commands than a sort can handle on its stack.
fn push_all(world: &mut CpuWorld, _: u64) {
    for body in (1..world.compiled().bodies.len()).rev().chain([1, 2, 3]) {
        world.command(body, Command::Impulse { impulse: Vec2::new(0.1, 0.0), point: None }).expect("a box");
    }
}

#[test]
fn steps_ask_for_no_memory() {
    let pools = Pools::new();
    let plain = |spec: &str| with(build(spec), |_| {});
    // Bodies that stand, turn, hang, fly and roll, other shapes, paths, and worlds that the solver splits into island
    // batches.
    pools.assert_none(|| plain("large_pyramid:base=30"), 200, nothing, "at rest");
    let grids = ["tumbler:grid=12", "joint_grid:size=12", "smash:columns=12,rows=8", "compounds:columns=8,rows=10"];
    let stirred = ["spinner:bodies=300", "junkyard:columns=20,rows=10", "washer:grid=12"];
    let small = ["static_and_kinetic", "bouncing_ball", "ragdoll", "rush", "conveyor"];
    for spec in grids.into_iter().chain(stirred).chain(small) {
        // Until all bodies have touched something, and fast ones were stopped by continuous collision detection.
        pools.assert_none(|| plain(spec), 720, nothing, "as it is");
    }
    let grouped = || plain("many_pyramids:base=4,rows=3,columns=4").with_island_batches_of(60);
    pools.assert_none(grouped, 60, nothing, "in groups");
    let mut world = grouped();
    world.step().unwrap();
    assert!(world.island_batch_count() > 1, "there are no groups");

    // Tables that are swapped from step to step are allocated in pairs: the second step allocates only short lists.
    for spec in ["large_pyramid:base=30", "joint_grid:size=12"] {
        let mut world = plain(spec);
        let [first, second] = [(); 2].map(|()| {
            let region = Region::new(ALLOCATOR);
            world.step().unwrap();
            let change = region.change();
            change.bytes_allocated + change.bytes_reallocated.unsigned_abs()
        });
        assert!(first > 30_000 && second < 1_000, "{spec}: {first} and {second} bytes");
    }

    for mode in [Mode::Baumgarte, Mode::Projection] {
        pools.assert_none(
            || with(build("large_pyramid:base=8"), |settings| settings.mode = mode),
            60,
            nothing,
            "in another mode",
        );
    }
    pools.assert_none(
        || with(build("tumbler:grid=12"), |settings| settings.events = true),
        120,
        nothing,
        "with events",
    );
    pools.assert_none(|| plain("large_pyramid:base=15"), 60, push_all, "with many commands");

    let sleepy = || with(build("large_pyramid:base=6"), |settings| (settings.sleep, settings.events) = (true, true));
    pools.assert_none(sleepy, 300, wake_pile, "that sleeps and wakes");
    let mut world = sleepy();
    let mut awake = Vec::new();
    for step in 0..300 {
        wake_pile(&mut world, step);
        world.step().unwrap();
        awake.push(world.counters().awake);
    }
    assert!(awake[250..].contains(&0) && awake[250..].contains(&21), "no body slept or woke: {:?}", &awake[250..]);

    // Negative controls: a new world allocates its tables, one that is not warmed up outgrows them, temporary memory is
    // detected, and added bodies need memory.
    for threads in &pools.0 {
        let mut world = plain("large_pyramid:base=8").with_threads_of(threads).with_sharing_from(0);
        let begin = watch(&mut world, 1, nothing);
        assert!(begin.made > 10 + empty_steps(threads).made, "{begin:?}");
        // A list allocated in each step is above the limit.
        let listed = calls(|| {
            for _ in 0..STEPS {
                world.step().unwrap();
                drop(std::hint::black_box(vec![1_u8]));
            }
        });
        assert!(listed.made > empty_steps(threads).made, "{listed:?}");
    }
    let [onward, _] = of(plain("junkyard:columns=20,rows=10"), 60, nothing);
    assert!(onward.made > 0 && onward.moved > 0, "nothing was allocated or reallocated: {onward:?}");
    let brief = calls(|| drop(std::hint::black_box(vec![1_u8])));
    assert_eq!(brief, Calls { made: 1, moved: 0, given_back: 1 });
    let rain = watch(&mut plain("rain:rows=1,columns=4,stay=1"), 40, nothing);
    assert!(rain.made > 0, "{rain:?}");
}
