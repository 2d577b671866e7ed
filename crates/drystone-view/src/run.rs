//! A running world with its history: it can be stepped back, scrubbed, undone, moved to the other backend and given
//! other settings.
//!
//! The history is a log of changes ([`Edit`]s, each at its step) and a kept state every few steps. Going back restores
//! the last state before the wanted step and steps on from there, which gives the same bits. On the GPU such states
//! stay on the device ([`DeviceCopy`]): keeping one reads nothing back.

mod carry;
mod deeds;
mod joints;
mod log;
mod rebuild;

use std::sync::Arc;

use glam::Vec2;

use super::cancel::Cancel;
use super::edit::{BuiltParts, Edit, Meaning, RecordedEdit};
pub(crate) use deeds::Undoing;
use deeds::Undone;
use drystone::BodyId;
use drystone::Context;
use drystone::Scene;
use drystone::Snapshot;
use drystone::low_level::Journal;
use drystone::low_level::cpu::{Books, CpuWorld};
use drystone::low_level::gpu::{DeviceCopy, GpuWorld, StageTimes};
use drystone::low_level::scene::Compiled;
use drystone::low_level::step::Stage;
use drystone::low_level::types::Counters;
use drystone::{World, WorldError};
use drystone_scenes::saved::SavedWorld;
pub(crate) use log::LogEntry;
pub(crate) use rebuild::Rebuilt;

/// Initial number of steps between two kept states; doubled when they would take more than [`BUDGET`].
const INITIAL_SPACING: u64 = 8;
/// Maximum size of the kept states, on the device or in memory, bytes.
const BUDGET: u64 = 384 << 20;

/// Backend of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Cpu,
    Gpu,
}

impl On {
    /// The other backend.
    pub fn other(self) -> Self {
        match self {
            Self::Cpu => Self::Gpu,
            Self::Gpu => Self::Cpu,
        }
    }
}

/// Kept state, in memory or on the device.
#[derive(Debug)]
enum StoredState {
    Host(Box<Snapshot>),
    Device(Box<DeviceCopy>),
}

/// Kept state of a step.
#[derive(Debug)]
struct Checkpoint {
    step: u64,
    /// Number of entries of the log that the state includes.
    done: usize,
    bytes: u64,
    state: StoredState,
}

/// World with the log of its changes and its kept states.
#[derive(Debug)]
pub(crate) struct WorldRun {
    scene: Arc<Scene>,
    world: World,
    threads: usize,
    log: Arc<Vec<LogEntry>>,
    /// Number of the next change.
    numbered: u64,
    /// Index of the next entry of the log to apply: before the end of the log while the past is replayed.
    next: usize,
    /// Undone changes, the last one at the end.
    undone: Vec<Undone>,
    /// True if the log's changes at the target step are made on arrival.
    redoes: bool,
    past: Vec<Checkpoint>,
    /// Steps between two kept states.
    spacing: u64,
    /// First step to which it can go back.
    first: u64,
    /// Last step that was reached.
    furthest: u64,
    /// Step after which a change has discarded steps that had been reached, until a message says so.
    discarded: Option<u64>,
    /// Step to which it is on its way.
    target: Option<u64>,
    /// Graphed bodies, whose states are given after each step.
    pub watched: Vec<BodyId>,
}

impl WorldRun {
    /// Starts a scene; returns `None` if it was cancelled.
    ///
    /// # Errors
    /// If the scene is not valid or does not fit.
    pub fn start(
        scene: Arc<Scene>,
        on: On,
        context: &Context,
        threads: usize,
        cancel: &Cancel,
    ) -> Result<Option<Self>, WorldError> {
        let compiled = Compiled::new(&scene)?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let world = match on {
            On::Cpu => CpuWorld::from_compiled(compiled).with_threads(threads)?.into(),
            On::Gpu => GpuWorld::from_compiled(context, compiled, None)?.into(),
        };
        Ok(Some(Self {
            scene,
            world,
            threads,
            log: Arc::default(),
            numbered: 1,
            next: 0,
            undone: Vec::new(),
            redoes: false,
            past: Vec::new(),
            spacing: INITIAL_SPACING,
            first: 0,
            furthest: 0,
            discarded: None,
            target: None,
            watched: Vec::new(),
        }))
    }

    /// Resumes a saved world, to the same bits; returns `None` if it was cancelled.
    ///
    /// # Errors
    /// If the parts of the saved world contradict one another, or it does not fit the device.
    pub fn resume(
        saved: &SavedWorld,
        on: On,
        context: &Context,
        threads: usize,
        cancel: &Cancel,
    ) -> Result<Option<Self>, WorldError> {
        let Some(mut run) = Self::start(Arc::new(saved.scene.clone()), on, context, threads, cancel)? else {
            return Ok(None);
        };
        saved.resume(&mut run.world)?;
        let changes = saved.journal.entries().iter();
        run.log = Arc::new(changes.map(|(step, change)| LogEntry::saved(*step, change.clone())).collect());
        run.next = run.log.len();
        run.first = run.steps();
        run.furthest = run.first;
        let snapshot = run.world.snapshot()?;
        run.keep_as(snapshot);
        Ok(if cancel.is_cancelled() { None } else { Some(run) })
    }

    /// Saves the present world with everything that is needed to resume it.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn save(&mut self) -> Result<SavedWorld, WorldError> {
        let mut journal = Journal::default();
        for entry in &self.log[..self.next] {
            for change in entry.deed.edit.alterations() {
                journal.push(entry.step, change);
            }
        }
        SavedWorld::new(&self.scene, journal, &mut self.world)
    }

    pub fn world(&self) -> &World {
        &self.world
    }

    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    pub fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    pub fn on(&self) -> On {
        if matches!(self.world, World::Cpu(_)) { On::Cpu } else { On::Gpu }
    }

    pub fn steps(&self) -> u64 {
        self.world.steps()
    }

    /// First step to which the world can go back.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Last step that was reached: up to it the past can be replayed.
    pub fn furthest(&self) -> u64 {
        self.furthest
    }

    /// Step to which the world is on its way.
    pub fn target(&self) -> Option<u64> {
        self.target
    }

    /// Bytes of all kept states, and steps between two of them.
    pub fn kept(&self) -> (u64, u64) {
        (self.past.iter().map(|kept| kept.bytes).sum(), self.spacing)
    }

    /// Present gravity, m/s². After the world went back, changes at its present step are still to be made: the next
    /// step begins with them.
    pub fn gravity(&self) -> Vec2 {
        let steps = self.steps();
        let waiting = self.log[self.next..].iter().take_while(|entry| entry.step <= steps);
        let set = waiting.filter_map(|entry| entry.deed.edit.gravity()).last();
        set.unwrap_or_else(|| self.world.compiled().params.gravity.into())
    }

    /// Counters of the last step, or of the newest step whose counters have arrived from the device, with its number.
    pub fn counters(&self) -> Option<(u64, Counters)> {
        match &self.world {
            World::Cpu(world) => Some((world.steps(), *world.counters())),
            World::Gpu(world) => world.known_counters().copied(),
        }
    }

    /// Makes a change at the present step. Later steps that were reached, and undone changes, are dropped.
    ///
    /// # Errors
    /// The reason, in words. Nothing has changed then.
    pub fn edit(&mut self, deed: impl Into<RecordedEdit>) -> Result<BuiltParts, String> {
        let (step, deed) = (self.steps(), deed.into());
        let Some(edit) = deed.edit.clone().effective(&mut self.world) else { return Ok(BuiltParts::default()) };
        let pulls = self.pulls_that_would_end();
        let made = if matches!(edit, Edit::Group(..)) {
            self.attempt(|world| edit.apply(world))?
        } else {
            edit.apply(&mut self.world)?
        };
        self.note(step, RecordedEdit { edit, ..deed }, made.clone());
        for pull in pulls {
            if let Some(end) = pull.effective(&mut self.world) {
                let ended = end.apply(&mut self.world)?;
                self.append(step, RecordedEdit::from(&end), ended);
            }
        }
        Ok(made)
    }

    /// Ends of pulls of the pointer among the changes that are still to be replayed. A change made now discards them,
    /// so that bodies would be held for ever.
    fn pulls_that_would_end(&self) -> Vec<Edit> {
        let coming = self.log[self.next..].iter().map(|entry| &entry.deed.edit);
        coming.filter(|edit| matches!(edit, Edit::Part(_))).cloned().collect()
    }

    /// Adds a change that was made to the log.
    fn note(&mut self, step: u64, deed: RecordedEdit, made: BuiltParts) {
        match &deed.meaning {
            Meaning::TakeBack(numbers) => {
                let is_one = |entry: &&LogEntry| numbers.contains(&entry.number);
                self.undone.push(Undone::Now(self.log.iter().filter(is_one).cloned().collect()));
            }
            _ if deed.again => drop(self.undone.pop()),
            _ => self.undone.clear(),
        }
        self.append(step, deed, made);
    }

    /// Appends a change to the log, in place of those that are still to be replayed.
    fn append(&mut self, step: u64, deed: RecordedEdit, made: BuiltParts) {
        let log = Arc::make_mut(&mut self.log);
        log.truncate(self.next);
        log.push(LogEntry { number: self.numbered, step, deed, made });
        self.numbered += 1;
        self.next = self.log.len();
        self.past.retain(|kept| kept.step <= step);
        self.end_at(step);
    }

    /// Makes a step the furthest one: those after it, which had been reached, are discarded.
    fn end_at(&mut self, step: u64) {
        if self.furthest > step {
            self.discarded = Some(step);
        }
        self.furthest = step;
        self.target = None;
    }

    /// Takes the step after which a change has discarded steps.
    pub fn take_discarded(&mut self) -> Option<u64> {
        self.discarded.take()
    }

    /// Log of changes, with those that are still to be replayed on the way to the furthest step.
    pub fn log(&self) -> &Arc<Vec<LogEntry>> {
        &self.log
    }

    /// Number of the last change in effect that may have added, removed or replaced bodies: when it changes, cached
    /// descriptions are out of date.
    pub fn changes(&self) -> u64 {
        self.log[..self.next].iter().rev().find(|entry| entry.changes_bodies()).map_or(0, |entry| entry.number)
    }

    /// Step at which the scene, or the saved world, began.
    fn first_step(&self) -> u64 {
        let is_saved = |entry: &LogEntry| matches!(entry.deed.edit, Edit::Saved(_));
        if self.log.first().is_some_and(is_saved) { self.first } else { 0 }
    }

    /// Applies the log's changes up to the present step.
    fn catch_up(&mut self) {
        let now = self.steps();
        while self.log.get(self.next).is_some_and(|entry| entry.step <= now) {
            self.do_next();
        }
    }

    /// Applies the next change of the log.
    fn do_next(&mut self) {
        if let Some(entry) = self.log.get(self.next) {
            // A change that succeeded once succeeds again; if the device is lost, the next step reports it.
            let _ = entry.deed.edit.apply(&mut self.world);
            self.next += 1;
        }
    }

    /// Applies the building changes at the present step that come before any other change there, so that a seek to the
    /// step shows them.
    fn build_up(&mut self) {
        let now = self.steps();
        while self.log.get(self.next).is_some_and(|entry| entry.step <= now && entry.is_built()) {
            self.do_next();
        }
    }

    /// Does one step, after the log's changes at that step if it is a replay.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
    pub fn step(&mut self) -> Result<(), WorldError> {
        self.step_measured(false)
    }

    /// Does one step as [`Self::step`]. On the CPU it measures the stages ([`Self::stage_totals`]); on a device only if
    /// `measured`, and their times arrive later ([`Self::take_times`]).
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_measured(&mut self, measured: bool) -> Result<(), WorldError> {
        self.catch_up();
        match &mut self.world {
            World::Gpu(world) if measured => world.step_measured()?,
            World::Gpu(world) => world.step()?,
            World::Cpu(world) => world.step_profiled()?,
        }
        self.stepped()
    }

    /// Submits a share of a step to the device, from where the last part ended; returns true if the step is complete.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_part(&mut self, share: f64) -> Result<bool, WorldError> {
        let begins = !matches!(&self.world, World::Gpu(world) if world.is_mid_step());
        if begins {
            self.catch_up();
        }
        let complete = match &mut self.world {
            World::Gpu(world) => world.step_part(share)?,
            World::Cpu(world) => {
                world.step_profiled()?;
                true
            }
        };
        if complete {
            self.stepped()?;
        }
        Ok(complete)
    }

    /// Total times of stages on the CPU so far, ms.
    pub fn stage_totals(&self) -> [f64; Stage::ALL.len()] {
        let mut totals = [0.0; Stage::ALL.len()];
        if let World::Cpu(world) = &self.world {
            for (total, (_, ms)) in totals.iter_mut().zip(world.stage_ms()) {
                *total = *ms;
            }
        }
        totals
    }

    /// Takes the stage times of measured steps on the device that have arrived.
    pub fn take_times(&mut self) -> Vec<StageTimes> {
        match &mut self.world {
            World::Cpu(_) => Vec::new(),
            World::Gpu(world) => world.take_times(),
        }
    }

    /// Updates the bounds of the history after a step, ends a seek at its target, and keeps a state when one is due.
    fn stepped(&mut self) -> Result<(), WorldError> {
        let now = self.steps();
        self.furthest = self.furthest.max(now);
        if self.target.is_some_and(|target| now >= target) {
            self.target = None;
            if std::mem::take(&mut self.redoes) || now == self.furthest {
                // The step that was reached last, with the changes made there.
                self.catch_up();
            } else {
                self.build_up();
            }
        }
        if now.is_multiple_of(self.spacing) && self.can_keep() && self.past.last().is_none_or(|kept| kept.step < now) {
            self.keep()?;
        }
        Ok(())
    }

    /// Returns true if the device has memory for a few states. The largest worlds keep none: they go back to their
    /// start.
    fn can_keep(&self) -> bool {
        match &self.world {
            World::Cpu(_) => true,
            World::Gpu(world) => world.device_bytes() / 4 < BUDGET,
        }
    }

    /// Keeps a snapshot as a state to go back to.
    fn keep_as(&mut self, snapshot: Snapshot) {
        self.past.push(Checkpoint {
            step: snapshot.step,
            done: self.next,
            bytes: bytes_of(&snapshot),
            state: StoredState::Host(Box::new(snapshot)),
        });
    }

    /// Keeps the present state, and removes others to stay within the budget.
    fn keep(&mut self) -> Result<(), WorldError> {
        match &mut self.world {
            World::Cpu(world) => {
                let snapshot = world.snapshot();
                self.keep_as(snapshot);
            }
            World::Gpu(world) => {
                let copy = world.device_copy()?;
                self.past.push(Checkpoint {
                    step: copy.step(),
                    done: self.next,
                    bytes: copy.bytes(),
                    state: StoredState::Device(Box::new(copy)),
                });
            }
        }
        // A single state larger than the budget is kept: without it every way back begins at the start.
        while self.past.len() > 1 && self.kept().0 > BUDGET {
            self.spacing *= 2;
            let spacing = self.spacing;
            let last = self.past.last().map(|kept| kept.step);
            let first = (self.first > 0).then_some(self.first);
            // A world that came from a file or a backend cannot go back to its first step in any other way.
            let stays = |step| step % spacing == 0 || Some(step) == last || Some(step) == first;
            let before = self.past.len();
            self.past.retain(|kept| stays(kept.step));
            if self.past.len() == before && spacing > self.furthest {
                break;
            }
        }
        Ok(())
    }

    /// Sends the world to a step between the first and the furthest. Calls of [`Self::step`] do the way from the kept
    /// state.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn seek(&mut self, step: u64) -> Result<(), WorldError> {
        let step = step.clamp(self.first, self.furthest);
        if step < self.steps() {
            self.go_back(step)?;
        }
        self.target = (step > self.steps()).then_some(step);
        self.redoes = false;
        if self.target.is_none() {
            self.build_up();
        }
        Ok(())
    }

    /// Removes states until the rest takes at most this many bytes; going back then takes more steps.
    pub fn thin(&mut self, bytes: u64) {
        while self.past.len() > 1 && self.kept().0 > bytes {
            let (mut index, last) = (0, self.past.len() - 1);
            self.past.retain(|_| {
                index += 1;
                index == 1 || index == last + 1 || index % 2 == 1
            });
            self.spacing *= 2;
            if last < 2 {
                break;
            }
        }
    }

    /// Restores the last kept state at or before a step, or the start.
    fn go_back(&mut self, step: u64) -> Result<(), WorldError> {
        let Some(kept) = self.past.iter().rev().find(|kept| kept.step <= step) else {
            self.world = self.open(CpuWorld::new(&self.scene)?.into_books())?;
            self.next = 0;
            return Ok(());
        };
        match &kept.state {
            StoredState::Host(snapshot) => self.world.restore(snapshot)?,
            StoredState::Device(copy) => self.world.restore(&copy.read()?)?,
        }
        self.next = kept.done;
        Ok(())
    }

    /// Gravity after a number of entries of the log, m/s².
    fn gravity_after(&self, done: usize) -> Vec2 {
        let mut told = self.log[..done].iter().rev();
        told.find_map(|entry| entry.deed.edit.gravity()).unwrap_or(self.scene.gravity)
    }

    /// Tables of bodies and joints as of a step, after a number of entries of the log.
    fn books(&self, scene: &Scene, steps: u64, done: usize) -> Result<Books, WorldError> {
        let mut world = World::from(CpuWorld::new(scene)?);
        // Without loops over steps: their number may come from a file.
        let skip = |world: &mut World, to: u64| {
            if let World::Cpu(world) = world {
                world.skip_to(to);
            }
        };
        for entry in self.log[..done].iter().take_while(|entry| entry.step <= steps) {
            skip(&mut world, entry.step);
            // A change that succeeded once succeeds again.
            let _ = entry.deed.edit.apply(&mut world);
        }
        skip(&mut world, steps);
        match world {
            World::Cpu(world) => Ok(world.into_books()),
            World::Gpu(_) => Err(WorldError::Kernel("books are kept on the CPU".to_owned())),
        }
    }

    /// Makes a world on the present backend from tables of bodies and joints.
    fn open(&self, books: Books) -> Result<World, WorldError> {
        Ok(match &self.world {
            World::Cpu(_) => CpuWorld::from_books(books).with_threads(self.threads)?.into(),
            World::Gpu(world) => GpuWorld::from_books(world.context(), books)?.into(),
        })
    }
}

/// Size of a snapshot in memory, without its small parts, bytes.
fn bytes_of(snapshot: &Snapshot) -> u64 {
    let tables = [
        size_of_val(&snapshot.poses[..]),
        size_of_val(&snapshot.states[..]),
        size_of_val(&snapshot.pair_starts[..]),
        size_of_val(&snapshot.contacts[..]),
        size_of_val(&snapshot.manifolds[..]),
        size_of_val(&snapshot.sleeping[..]),
        size_of_val(&snapshot.forces[..]),
        size_of_val(&snapshot.joint_states[..]),
        size_of_val(&snapshot.joint_impulses[..]),
        size_of_val(&snapshot.joint_goals[..]),
        size_of_val(&snapshot.row_goals[..]),
    ];
    tables.into_iter().sum::<usize>() as u64
}

/// Returns true if the device can time the stages of a step.
pub fn has_timestamps(context: &Context) -> bool {
    context.device().features().contains(wgpu::Features::TIMESTAMP_QUERY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::AdapterChoice;
    use drystone::low_level::state;
    use drystone::{Body, Command, Joint, JointKind, Shape};

    fn start(scene: &Arc<Scene>, on: On, context: &Context) -> WorldRun {
        WorldRun::start(scene.clone(), on, context, 1, &Cancel::default()).unwrap().expect("it was not cancelled")
    }

    fn to(run: &mut WorldRun, step: u64) -> u64 {
        while run.steps() < step || run.target().is_some() {
            run.step().unwrap();
        }
        state::hash(&run.world_mut().snapshot().unwrap())
    }

    fn push(run: &mut WorldRun, x: f32) {
        let id = run.world_mut().body_id(0).unwrap();
        let force = Command::Force { force: Vec2::new(x, 0.0), point: None };
        run.edit(&Edit::Command([(id, force)].into())).unwrap();
    }

    /// Going back to a step restores the force that acted there: also one given after the kept state, and not a later
    /// one.
    #[test]
    fn forces_of_commands_are_kept_by_the_past() {
        let mut scene = Scene::new("pulled").gravity(0.0, 0.0);
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
        scene.add(Body::dynamic(5.0, 0.0).shape(Shape::circle(0.5)));
        let scene = Arc::new(scene);
        let context = Context::new(AdapterChoice::Any).expect("an adapter; a software one will do");
        for on in [On::Cpu, On::Gpu] {
            let mut run = start(&scene, on, &context);
            to(&mut run, 10);
            push(&mut run, 3.0);
            // At a step of which a state is kept as well.
            let at_16 = to(&mut run, 16);
            push(&mut run, -5.0);
            let at_20 = to(&mut run, 20);
            let at_30 = to(&mut run, 30);
            push(&mut run, 50.0);
            let at_50 = to(&mut run, 50);
            for (step, expected) in [(20, at_20), (16, at_16), (30, at_30), (50, at_50), (20, at_20)] {
                run.seek(step).unwrap();
                assert_eq!(to(&mut run, step), expected, "{on:?}, step {step}");
            }
            // With another force, or with none, it would be seen.
            for (first, second) in [(0.0, 0.0), (3.0, 3.0), (3.0, 50.0)] {
                let mut other = start(&scene, on, &context);
                to(&mut other, 10);
                push(&mut other, first);
                to(&mut other, 16);
                push(&mut other, second);
                assert_ne!(to(&mut other, 20), at_20);
            }
        }
    }

    /// A pull of the pointer whose end is discarded by a change in the past ends with that change; one that is still
    /// held goes on.
    #[test]
    fn pulls_end_when_their_end_is_discarded() {
        let mut scene = Scene::new("pulled").gravity(0.0, 0.0);
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
        let scene = Arc::new(scene);
        let context = Context::new(AdapterChoice::Any).expect("an adapter; a software one will do");
        for on in [On::Cpu, On::Gpu] {
            let mut run = start(&scene, on, &context);
            let joints = |run: &WorldRun| run.world().compiled().joints.count();
            to(&mut run, 5);
            let body = run.world_mut().body_id(0).unwrap();
            let joint = Joint::to_world(JointKind::mouse([3.0, 0.0], 100.0), 0_usize).soft(4.0, 1.0);
            let made = run.edit(&Edit::Join(body, Box::new(joint.clone()))).unwrap();
            to(&mut run, 15);
            assert_eq!(joints(&run), 1);
            run.edit(&Edit::Part(made.joints[0])).unwrap();
            to(&mut run, 30);
            assert_eq!(joints(&run), 0);
            // In the middle of the pull it is there, also when the past is only looked at.
            run.seek(10).unwrap();
            to(&mut run, 10);
            assert_eq!(joints(&run), 1, "{on:?}");
            run.edit(&Edit::Gravity(Vec2::new(0.0, -1.0))).unwrap();
            assert_eq!(joints(&run), 0, "{on:?}");
            to(&mut run, 40);
            assert_eq!(joints(&run), 0, "{on:?}");
            // Going back and forth gives the same world.
            let at_40 = to(&mut run, 40);
            run.seek(8).unwrap();
            assert_eq!((joints(&run), to(&mut run, 40)), (1, at_40), "{on:?}");
            // The control: a pull that goes on when a change is made stays.
            let made = run.edit(&Edit::Join(body, Box::new(joint))).unwrap();
            assert_eq!(made.joints.len(), 1);
            to(&mut run, 45);
            run.edit(&Edit::Gravity(Vec2::ZERO)).unwrap();
            assert_eq!(joints(&run), 1, "{on:?}");
        }
    }

    /// A cancelled job leaves the world and its history as they were.
    #[test]
    fn what_is_cancelled_changes_nothing() {
        let scene = Arc::new(drystone_scenes::catalogue::build("vertical_stack:count=5").unwrap());
        let context = Context::new(AdapterChoice::Any).expect("an adapter; a software one will do");
        let (cancelled, wanted) = (Cancel::default(), Cancel::default());
        cancelled.cancel();
        assert!(WorldRun::start(scene.clone(), On::Cpu, &context, 1, &cancelled).unwrap().is_none());
        for on in [On::Cpu, On::Gpu] {
            let mut run = start(&scene, on, &context);
            let at_20 = to(&mut run, 20);
            let settings = scene.settings;
            assert!(!run.carry_over(on.other(), &context, settings, &cancelled).unwrap());
            assert!(run.twin(on.other(), &context, &cancelled).unwrap().is_none());
            assert_eq!((run.on(), run.first(), to(&mut run, 20)), (on, 0, at_20));
            run.seek(5).unwrap();
            assert!(run.steps() <= 5, "the way back is there");
            to(&mut run, 20);
            assert!(run.twin(on.other(), &context, &wanted).unwrap().is_some());
            assert!(run.carry_over(on.other(), &context, settings, &wanted).unwrap());
            assert_eq!((run.on(), run.first(), to(&mut run, 20)), (on.other(), 20, at_20));
        }
    }

    /// A step submitted in parts gives the same bits as a whole step.
    #[test]
    fn parts_of_a_step_make_the_step() {
        let scene = Arc::new(drystone_scenes::catalogue::build("vertical_stack:count=5").unwrap());
        let context = Context::new(AdapterChoice::Any).expect("an adapter; a software one will do");
        let mut whole = start(&scene, On::Gpu, &context);
        let mut parts = start(&scene, On::Gpu, &context);
        let mut pieces = 0;
        for step in 1..=12_u32 {
            whole.step().unwrap();
            while !parts.step_part(1.0 / f64::from(step)).unwrap() {
                pieces += 1;
            }
            let [a, b] = [&mut whole, &mut parts].map(|run| run.world_mut().snapshot().unwrap());
            assert_eq!((a.poses, a.states, a.manifolds), (b.poses, b.states, b.manifolds), "step {step}");
        }
        assert!(pieces > 30, "only {pieces} times there was a part left");
        assert_eq!(whole.steps(), parts.steps());
        // The times of its stages have arrived without a wait.
        if has_timestamps(&context) {
            let times = parts.take_times();
            assert!(
                times.len() > 6 && times.iter().all(|times| times.stages().iter().any(|&ms| ms > 0.0)),
                "{times:?}"
            );
            assert!(whole.take_times().is_empty());
        }
    }
}
