//! Pairs of bodies that touch in each world of a batch, kept by events.

use drystone::low_level::types::POINT_COUNT_MASK;
use drystone::{EventKind, Snapshot, WorldBatch};

use crate::call::CallError;

/// Pair of bodies, the lower slot first, and the number of pairs of their shapes that touch.
#[derive(Clone, Copy, Debug)]
struct TouchingPair {
    bodies: [u32; 2],
    shapes: u32,
}

/// Pairs of bodies that touch, by world.
#[derive(Debug, Default)]
pub struct Touches {
    worlds: Vec<Vec<TouchingPair>>,
}

impl Touches {
    fn of(&mut self, world: usize) -> &mut Vec<TouchingPair> {
        if self.worlds.len() <= world {
            self.worlds.resize_with(world + 1, Vec::new);
        }
        &mut self.worlds[world]
    }

    fn begin(&mut self, world: usize, [a, b]: [u32; 2]) {
        let bodies = [a.min(b), a.max(b)];
        let touches = self.of(world);
        match touches.iter_mut().find(|touch| touch.bodies == bodies) {
            Some(touch) => touch.shapes += 1,
            None => touches.push(TouchingPair { bodies, shapes: 1 }),
        }
    }

    fn end(&mut self, world: usize, [a, b]: [u32; 2]) {
        let bodies = [a.min(b), a.max(b)];
        let touches = self.of(world);
        if let Some(place) = touches.iter().position(|touch| touch.bodies == bodies) {
            touches[place].shapes -= 1;
            if touches[place].shapes == 0 {
                touches.swap_remove(place);
            }
        }
    }

    /// Takes the events of all worlds.
    ///
    /// # Errors
    /// A scene has no events; the device is lost.
    pub fn follow(&mut self, worlds: &mut WorldBatch) -> Result<(), CallError> {
        worlds.wait()?;
        for world in 0..worlds.count() {
            if worlds.compiled(world).is_some_and(|compiled| !compiled.settings.events) {
                let problem = format!("cannot be known: the setting `events` of world {world} is off");
                return Err(CallError::argument("touching", problem, "scenes with settings={\"events\": True}"));
            }
            for event in worlds.take_events(world)? {
                match event.kind {
                    EventKind::Begin => self.begin(world, event.bodies),
                    EventKind::End => self.end(world, event.bodies),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Restarts with the contacts of a state that a world was given; without one, with none.
    ///
    /// # Errors
    /// The device is lost.
    pub fn restart(
        &mut self,
        worlds: &mut WorldBatch,
        world: usize,
        state: Option<&Snapshot>,
    ) -> Result<(), CallError> {
        worlds.take_events(world)?;
        self.of(world).clear();
        for contact in state.iter().flat_map(|state| &state.contacts) {
            if contact.flags & POINT_COUNT_MASK != 0 {
                self.begin(world, [contact.body_a, contact.body_b]);
            }
        }
        Ok(())
    }

    /// Returns true for each body that touches another, (worlds, `stride`).
    pub fn flags(&self, worlds: usize, stride: usize) -> Vec<bool> {
        let mut flags = vec![false; worlds * stride];
        for (touches, row) in self.worlds.iter().zip(flags.chunks_exact_mut(stride.max(1))) {
            for body in touches.iter().flat_map(|touch| touch.bodies) {
                if let Some(flag) = row.get_mut(body as usize) {
                    *flag = true;
                }
            }
        }
        flags
    }

    /// Returns world and bodies of each pair that touches, three numbers each, world by world.
    #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "bodies and worlds are below 2^31")]
    pub fn pairs(&self) -> Vec<i32> {
        let mut pairs = Vec::new();
        for (world, touches) in self.worlds.iter().enumerate() {
            for touch in touches {
                pairs.extend([world as i32, touch.bodies[0] as i32, touch.bodies[1] as i32]);
            }
        }
        pairs
    }
}
