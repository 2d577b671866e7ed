//! A step asks for no memory and gives none back, once its tables are as large as they have to be; on one thread and on
//! several.
//!
//! Tables grow as contacts do, and keep what they have. Two things are asked of a world that has run for a while:
//!
//! - **As it goes on** nothing is made anew, and nothing is given back. A table that outgrows its place is moved to a
//!   larger one, which is neither: a reallocation.
//! - **Through the same steps again**, from a snapshot on and to the same bits, no table has to grow: nothing at all. Twice
//!   before it is watched, as some tables change places with each other from step to step.
//!
//! **Several threads** are rayon's. A step is handed to them as one piece of work from outside, by a queue that asks for
//! memory once for 63 pieces, and gives it back when they are done. What so many steps may ask for is measured: as much as
//! as many empty pieces of work on as many threads, and nothing on one.
//!
//! All in one test: what counts calls counts those of every thread.

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

/// Steps that are watched: as many as rayon's queue makes room for at once.
const STEPS: u64 = 63;

/// Calls of the allocator.
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

/// What is asked of a world before a step; not counted, as it is not the step.
type Ask = fn(&mut CpuWorld, u64);

/// The calls in the next steps.
fn watch(world: &mut CpuWorld, steps: u64, ask: Ask) -> Calls {
    let mut all = Calls::default();
    for step in 0..steps {
        ask(world, step);
        all += calls(|| world.step().unwrap());
        world.take_events();
    }
    all
}

/// What a world asks for as it goes on after some steps, and through the same steps again.
fn of(mut world: CpuWorld, warm_up: u64, ask: Ask) -> [Calls; 2] {
    watch(&mut world, warm_up, ask);
    let start = world.snapshot();
    let onward = watch(&mut world, STEPS, ask);
    let end = world.snapshot();
    let mut again = Calls::default();
    for _ in 0..3 {
        world.restore(&start).expect("its own");
        again = watch(&mut world, STEPS, ask);
        assert!(world.snapshot() == end, "{} came to something else", world.compiled().name);
    }
    [onward, again]
}

/// Threads that have all started. They are kept until the end: those that end give back what they have, some time.
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

    /// On one thread, and on several.
    fn assert_none(&self, world: impl Fn() -> CpuWorld, warm_up: u64, ask: Ask, what: &str) {
        for threads in &self.0 {
            let allowed = empty_steps(threads);
            let world = world().with_threads_of(threads).with_sharing_from(0);
            let what = format!("{} {what} on {} threads", world.compiled().name, threads.count());
            let [onward, again] = of(world, warm_up, ask);
            let within = |calls: Calls| calls.made <= allowed.made && calls.given_back <= allowed.given_back;
            assert!(within(onward), "{what}, as it goes on: {onward:?}, of {allowed:?}");
            assert!(
                within(again) && again.moved == 0,
                "{what}, through the same steps again: {again:?}, of {allowed:?}"
            );
        }
    }
}

/// What rayon asks for by itself in so many steps.
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
fn rouse(world: &mut CpuWorld, step: u64) {
    let last = world.compiled().bodies.len() - 1;
    if step % STEPS == 10 {
        world.command(last, Command::Wake).expect("a box");
    }
}

/// More commands than a sort has room for on its stack.
fn push_all(world: &mut CpuWorld, _: u64) {
    for body in (1..world.compiled().bodies.len()).rev().chain([1, 2, 3]) {
        world.command(body, Command::Impulse { impulse: Vec2::new(0.1, 0.0), point: None }).expect("a box");
    }
}

#[test]
fn steps_ask_for_no_memory() {
    let pools = Pools::new();
    let plain = |spec: &str| with(build(spec), |_| {});
    // What stands, turns, hangs, flies, rolls, what has other shapes and paths, and what the solver finds groups in.
    pools.assert_none(|| plain("large_pyramid:base=30"), 200, nothing, "at rest");
    let grids = ["tumbler:grid=12", "joint_grid:size=12", "smash:columns=12,rows=8", "compounds:columns=8,rows=10"];
    let stirred = ["spinner:bodies=300", "junkyard:columns=20,rows=10", "washer:grid=12"];
    let small = ["static_and_kinetic", "bouncing_ball", "ragdoll", "rush", "conveyor"];
    for spec in grids.into_iter().chain(stirred).chain(small) {
        // Until everything has met something, and something fast was stopped.
        pools.assert_none(|| plain(spec), 250, nothing, "as it is");
    }
    let grouped = || plain("many_pyramids:base=4,rows=3,columns=4").with_groups_of(60);
    pools.assert_none(grouped, 60, nothing, "in groups");
    let mut world = grouped();
    world.step().unwrap();
    assert!(world.group_count() > 1, "there are no groups");

    // Tables that take turns from step to step are made in pairs: the second step asks for no more than some list of a few.
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
    pools.assert_none(sleepy, 300, rouse, "that sleeps and wakes");
    let mut world = sleepy();
    let mut awake = Vec::new();
    for step in 0..300 {
        rouse(&mut world, step);
        world.step().unwrap();
        awake.push(world.counters().awake);
    }
    assert!(awake[250..].contains(&0) && awake[250..].contains(&21), "nobody slept or woke: {:?}", &awake[250..]);

    // Negative controls: a world that has just begun makes its tables, one that is not warm outgrows them, what is made for
    // a moment is seen, and bodies do not come without memory.
    for threads in &pools.0 {
        let mut world = plain("large_pyramid:base=8").with_threads_of(threads).with_sharing_from(0);
        let begin = watch(&mut world, 1, nothing);
        assert!(begin.made > 10 + empty_steps(threads).made, "{begin:?}");
        // A list made in each step is more than is allowed.
        let listed = calls(|| {
            for _ in 0..STEPS {
                world.step().unwrap();
                drop(std::hint::black_box(vec![1_u8]));
            }
        });
        assert!(listed.made > empty_steps(threads).made, "{listed:?}");
    }
    let [onward, _] = of(plain("junkyard:columns=20,rows=10"), 60, nothing);
    assert!(onward.made > 0 && onward.moved > 0, "nothing was made or outgrew its place: {onward:?}");
    let brief = calls(|| drop(std::hint::black_box(vec![1_u8])));
    assert_eq!(brief, Calls { made: 1, moved: 0, given_back: 1 });
    let rain = watch(&mut plain("rain:rows=1,columns=4"), 40, nothing);
    assert!(rain.made > 0, "{rain:?}");
}
