//! Binary frames of body states, and their encoding for a WebSocket stream.
//!
//! # A frame
//!
//! Little-endian. A header of 64 bytes:
//!
//! | at | type | what |
//! |---:|---|---|
//! | 0 | 4 bytes | `DRYF` |
//! | 4 | u16 | version, 1 |
//! | 6 | u16 | flags: 1 = full frame: discard earlier bodies |
//! | 8 | u32 | sequence number of this stream's frames, from 0 |
//! | 12 | u32 | frames skipped so far because the client was slow |
//! | 16 | u64 | steps done |
//! | 24 | f64 | simulated seconds |
//! | 32 | u32 | number of full rows |
//! | 36 | u32 | number of delta rows |
//! | 40 | u32 | number of bodies that were removed or left the region |
//! | 44 | f32 | quantum of positions, m |
//! | 48 | f32 | quantum of angles, rad |
//! | 52 | 12 bytes | 0 |
//!
//! Then the full rows of 36 bytes: u32 slot, u32 generation, f32 x, y (of the body's origin, m), angle (rad, in (−π,
//! π]), f32 velocity x, y (of the centre of mass, m/s), angular velocity (rad/s), u32 flags (1 asleep, 2 static,
//! 4 kinematic). Then the delta rows of 12 bytes: u32 slot, i16 dx, dy, dangle (quanta), i16 flags as in full rows.
//! Then the slots of removed bodies, u32 each.
//!
//! A delta refers to the client's values: the client adds `d · quantum` in 64-bit floats and wraps the angle. Quanta
//! are powers of two, so that client and service hold the same numbers and errors do not accumulate: a position is
//! correct to half a quantum. New bodies, and bodies that moved further than a delta can express, come as full rows.
//! Delta rows carry no velocities. A body that is not mentioned has moved by less than half a quantum.
//!
//! ```
//! use drystone_serve::stream::StreamFrame;
//!
//! let bytes = StreamFrame::default().full(0, 0);
//! assert!(bytes.starts_with(b"DRYF") && bytes.len() == 64, "a frame without bodies is its header");
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hosted::Hosted;
use drystone::WorldError;
use drystone::low_level::state;
use drystone::low_level::types::{DYNAMIC, KINEMATIC};

/// Quantum of positions, m: 2⁻¹⁰, about 1 mm.
const POSITION_QUANTUM: f32 = 1.0 / 1024.0;
/// Quantum of angles, rad: 2⁻¹², about 0.014°.
const ANGLE_QUANTUM: f32 = 1.0 / 4096.0;
/// Flag of a frame: all bodies are in it.
const ALL: u16 = 1;
const ASLEEP: u32 = 1;
const STATIC_ROW: u32 = 2;
const KINEMATIC_ROW: u32 = 4;
const HEADER: usize = 64;
const FULL_ROW: usize = 36;
const DELTA_ROW: usize = 12;

/// Poses and velocities of all bodies after a step.
#[derive(Clone, Debug, Default)]
pub struct StreamFrame {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    rows: Vec<FrameRow>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FrameRow {
    slot: u32,
    generation: u32,
    position: [f32; 2],
    angle: f32,
    velocity: [f32; 2],
    angular_velocity: f32,
    flags: u32,
}

impl StreamFrame {
    /// Takes a frame of a world. On a GPU this waits for the device.
    ///
    /// # Errors
    /// The device is lost.
    pub(crate) fn take(world: &mut Hosted) -> Result<Self, WorldError> {
        let snapshot = world.snapshot()?;
        let compiled = world.compiled();
        let (step, time) = (world.steps(), world.steps() as f64 * f64::from(compiled.settings.dt));
        let kinds: Vec<u32> = compiled.bodies.iter().map(|body| body.kind).collect();
        let slots = state::body_slots(compiled, &snapshot);
        let mut rows = Vec::with_capacity(slots.len());
        for (slot, (body, kind)) in slots.into_iter().zip(kinds).enumerate() {
            let (Some(body), Some(id)) = (body, world.body_id(slot)) else { continue };
            let kind = match kind {
                DYNAMIC => 0,
                KINEMATIC => KINEMATIC_ROW,
                _ => STATIC_ROW,
            };
            rows.push(FrameRow {
                slot: id.index,
                generation: id.generation,
                position: body.position,
                angle: body.angle,
                velocity: body.velocity,
                angular_velocity: body.angular_velocity,
                flags: kind | if body.asleep { ASLEEP } else { 0 },
            });
        }
        Ok(Self { step, time, rows })
    }

    /// Returns the number of bodies.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no bodies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Encodes all bodies.
    #[must_use]
    pub fn full(&self, sequence: u32, dropped: u32) -> Vec<u8> {
        let rows: Vec<&FrameRow> = self.rows.iter().collect();
        encode(self, ALL, sequence, dropped, &rows, &[], &[])
    }
}

struct Delta {
    slot: u32,
    by: [i16; 3],
    flags: u32,
}

fn encode(
    frame: &StreamFrame,
    flags: u16,
    sequence: u32,
    dropped: u32,
    full: &[&FrameRow],
    deltas: &[Delta],
    gone: &[u32],
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + full.len() * FULL_ROW + deltas.len() * DELTA_ROW + gone.len() * 4);
    let count = |list: usize| u32::try_from(list).unwrap_or(u32::MAX);
    bytes.extend(*b"DRYF");
    bytes.extend(1_u16.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(dropped.to_le_bytes());
    bytes.extend(frame.step.to_le_bytes());
    bytes.extend(frame.time.to_le_bytes());
    for list in [full.len(), deltas.len(), gone.len()] {
        bytes.extend(count(list).to_le_bytes());
    }
    bytes.extend(POSITION_QUANTUM.to_le_bytes());
    bytes.extend(ANGLE_QUANTUM.to_le_bytes());
    bytes.resize(HEADER, 0);
    for row in full {
        bytes.extend(row.slot.to_le_bytes());
        bytes.extend(row.generation.to_le_bytes());
        let [x, y] = row.position;
        let [vx, vy] = row.velocity;
        for value in [x, y, row.angle, vx, vy, row.angular_velocity] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(row.flags.to_le_bytes());
    }
    for delta in deltas {
        bytes.extend(delta.slot.to_le_bytes());
        delta.by.iter().for_each(|by| bytes.extend(by.to_le_bytes()));
        #[allow(clippy::cast_possible_truncation, reason = "a few bits")]
        let flags = delta.flags as u16;
        bytes.extend(flags.to_le_bytes());
    }
    for slot in gone {
        bytes.extend(slot.to_le_bytes());
    }
    bytes
}

/// Settings of a client's stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Minimum time between two frames.
    pub interval: Duration,
    /// True for delta frames: only bodies that moved, in quanta.
    pub delta: bool,
    /// Region to which the stream is limited, by the bodies' origins: lower left and upper right corner, m.
    pub region: Option<[f32; 4]>,
}

/// Encoder of one client's stream, with the values that the client holds.
#[derive(Debug)]
pub struct ClientView {
    wish: Wish,
    sequence: u32,
    has: HashMap<u32, Has>,
    /// The next frame is a full one.
    afresh: bool,
}

#[derive(Clone, Copy, Debug)]
struct Has {
    generation: u32,
    position: [f64; 2],
    angle: f64,
    flags: u32,
}

impl ClientView {
    /// Creates the encoder of a new client.
    #[must_use]
    pub fn new(wish: Wish) -> Self {
        Self { wish, sequence: 0, has: HashMap::new(), afresh: true }
    }

    /// Changes the settings of the stream.
    pub fn change(&mut self, wish: Wish) {
        self.wish = wish;
        self.afresh = true;
    }

    /// Returns the settings of the stream.
    #[must_use]
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Encodes a frame for this client.
    pub fn encode(&mut self, frame: &StreamFrame, dropped: u32) -> Vec<u8> {
        let inside = |row: &&FrameRow| match self.wish.region {
            None => true,
            Some([x0, y0, x1, y1]) => {
                let [x, y] = row.position;
                x >= x0 && x <= x1 && y >= y0 && y <= y1
            }
        };
        let rows: Vec<&FrameRow> = frame.rows.iter().filter(inside).collect();
        let sequence = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        if self.afresh || !self.wish.delta {
            self.afresh = false;
            self.has.clear();
            if self.wish.delta {
                self.has.extend(rows.iter().map(|row| (row.slot, Has::of(row))));
            }
            return encode(frame, ALL, sequence, dropped, &rows, &[], &[]);
        }
        let (mut full, mut deltas) = (Vec::new(), Vec::new());
        let mut there = HashSet::with_capacity(rows.len());
        for row in rows {
            there.insert(row.slot);
            match self.has.get_mut(&row.slot).filter(|has| has.generation == row.generation) {
                Some(has) => match has.follow(row) {
                    Some([0, 0, 0]) if has.flags == row.flags => {}
                    Some(by) => {
                        has.flags = row.flags;
                        deltas.push(Delta { slot: row.slot, by, flags: row.flags });
                    }
                    None => {
                        *has = Has::of(row);
                        full.push(row);
                    }
                },
                None => {
                    self.has.insert(row.slot, Has::of(row));
                    full.push(row);
                }
            }
        }
        let mut gone: Vec<u32> = self.has.keys().filter(|slot| !there.contains(slot)).copied().collect();
        gone.sort_unstable();
        for slot in &gone {
            self.has.remove(slot);
        }
        encode(frame, 0, sequence, dropped, &full, &deltas, &gone)
    }
}

impl Has {
    fn of(row: &FrameRow) -> Self {
        Self {
            generation: row.generation,
            position: row.position.map(f64::from),
            angle: f64::from(row.angle),
            flags: row.flags,
        }
    }

    /// Moves to the row by whole quanta and returns them, if they fit.
    fn follow(&mut self, row: &FrameRow) -> Option<[i16; 3]> {
        let turn = std::f64::consts::TAU;
        let quanta = |by: f64, quantum: f32| {
            let count = (by / f64::from(quantum)).round();
            #[allow(clippy::cast_possible_truncation, reason = "in range")]
            let fits = (count.abs() <= f64::from(i16::MAX)).then_some(count as i16);
            fits
        };
        let dx = quanta(f64::from(row.position[0]) - self.position[0], POSITION_QUANTUM)?;
        let dy = quanta(f64::from(row.position[1]) - self.position[1], POSITION_QUANTUM)?;
        let mut by = f64::from(row.angle) - self.angle;
        // The shorter way round.
        by -= (by / turn).round() * turn;
        let spin = quanta(by, ANGLE_QUANTUM)?;
        self.position[0] += f64::from(dx) * f64::from(POSITION_QUANTUM);
        self.position[1] += f64::from(dy) * f64::from(POSITION_QUANTUM);
        self.angle += f64::from(spin) * f64::from(ANGLE_QUANTUM);
        Some([dx, dy, spin])
    }
}

/// Schedule of a stream's frames, which counts those that a slow client misses.
#[derive(Debug)]
pub struct FrameDrops {
    last: Option<Instant>,
    /// Number of frames skipped so far.
    pub dropped: u32,
}

impl FrameDrops {
    /// Creates the schedule of a new stream.
    #[must_use]
    pub fn new() -> Self {
        Self { last: None, dropped: 0 }
    }

    /// Records that a frame was sent, which took from `begun` until now.
    pub fn sent(&mut self, begun: Instant, interval: Duration) {
        let took = begun.elapsed();
        if !interval.is_zero() && took > interval {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of frames")]
            let missed = (took.as_secs_f64() / interval.as_secs_f64()) as u32;
            self.dropped = self.dropped.saturating_add(missed);
            metrics::counter!("drystone_frames_dropped_total").increment(u64::from(missed));
        }
        self.last = Some(begun);
    }

    /// Returns the earliest time of the next frame.
    #[must_use]
    pub fn next(&self, interval: Duration) -> Instant {
        self.last.map_or_else(Instant::now, |last| last + interval)
    }
}

impl Default for FrameDrops {
    fn default() -> Self {
        Self::new()
    }
}

/// Frame as published to the streams.
pub type LatestFrame = Option<Arc<StreamFrame>>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Client that decodes frames.
    #[derive(Default)]
    struct Client(HashMap<u32, ([f64; 2], f64)>);

    impl Client {
        fn take(&mut self, bytes: &[u8]) -> [usize; 3] {
            let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let f32_at = |at: usize| f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
            let i16_at = |at: usize| f64::from(i16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
            assert_eq!(&bytes[..4], b"DRYF");
            if bytes[6] & 1 != 0 {
                self.0.clear();
            }
            let counts = [32, 36, 40].map(|at| u32_at(at) as usize);
            let mut at = HEADER;
            for _ in 0..counts[0] {
                self.0.insert(u32_at(at), ([f32_at(at + 8), f32_at(at + 12)], f32_at(at + 16)));
                at += FULL_ROW;
            }
            for _ in 0..counts[1] {
                let (position, angle) = self.0.get_mut(&u32_at(at)).expect("a body that the client has");
                position[0] += i16_at(at + 4) * f32_at(44);
                position[1] += i16_at(at + 6) * f32_at(44);
                *angle += i16_at(at + 8) * f32_at(48);
                at += DELTA_ROW;
            }
            for _ in 0..counts[2] {
                assert!(self.0.remove(&u32_at(at)).is_some());
                at += 4;
            }
            assert_eq!(at, bytes.len());
            counts
        }
    }

    fn row(slot: u32, x: f32, y: f32, angle: f32) -> FrameRow {
        FrameRow { slot, position: [x, y], angle, ..FrameRow::default() }
    }

    fn wish(delta: bool, region: Option<[f32; 4]>) -> Wish {
        Wish { interval: Duration::ZERO, delta, region }
    }

    #[test]
    fn errors_do_not_add_up() {
        let (mut view, mut client) = (ClientView::new(wish(true, None)), Client::default());
        for step in 0..5000_u16 {
            let t = f32::from(step) * 0.0173;
            let (x, y, angle) = (t * 0.37, 3.0 * t.sin(), (1.1 * t).sin() * 3.1);
            let frame = StreamFrame { step: u64::from(step), time: 0.0, rows: vec![row(7, x, y, angle)] };
            client.take(&view.encode(&frame, 0));
            let (position, at) = client.0[&7];
            let half = 0.5 * f64::from(POSITION_QUANTUM) + 1e-12;
            assert!((position[0] - f64::from(x)).abs() <= half && (position[1] - f64::from(y)).abs() <= half);
            let turn = std::f64::consts::TAU;
            let off = at - f64::from(angle);
            assert!((off - (off / turn).round() * turn).abs() <= 0.5 * f64::from(ANGLE_QUANTUM) + 1e-9);
        }
    }

    #[test]
    fn only_what_moved_and_who_is_new_or_gone() {
        let (mut view, mut client) = (ClientView::new(wish(true, None)), Client::default());
        let frame = |rows: Vec<FrameRow>| StreamFrame { step: 0, time: 0.0, rows };
        let three = vec![row(0, 0.0, 0.0, 0.0), row(1, 1.0, 0.0, 0.0), row(2, 2.0, 0.0, 0.0)];
        assert_eq!(client.take(&view.encode(&frame(three.clone()), 0)), [3, 0, 0]);
        assert_eq!(client.take(&view.encode(&frame(three.clone()), 0)), [0, 0, 0]);
        let mut moved = three.clone();
        moved[1].position[0] = 1.5;
        // Too far for a delta.
        moved[2].position[0] = 500.0;
        assert_eq!(client.take(&view.encode(&frame(moved.clone()), 0)), [1, 1, 0]);
        assert_eq!((client.0[&1].0, client.0[&2].0), ([1.5, 0.0], [500.0, 0.0]));
        // Another body in the slot.
        moved[0].generation = 1;
        moved.pop();
        assert_eq!(client.take(&view.encode(&frame(moved), 0)), [1, 0, 1]);
        assert_eq!(client.0.len(), 2);
    }

    #[test]
    fn a_region_hides_what_leaves_it() {
        let (mut view, mut client) = (ClientView::new(wish(true, Some([0.0, 0.0, 2.0, 2.0]))), Client::default());
        let frame = |x: f32| StreamFrame { step: 0, time: 0.0, rows: vec![row(0, x, 1.0, 0.0), row(1, 9.0, 9.0, 0.0)] };
        assert_eq!(client.take(&view.encode(&frame(1.0), 0)), [1, 0, 0]);
        assert_eq!(client.take(&view.encode(&frame(2.5), 0)), [0, 0, 1]);
        assert_eq!(client.take(&view.encode(&frame(1.5), 0)), [1, 0, 0]);
        view.change(wish(false, None));
        assert_eq!(client.take(&view.encode(&frame(1.5), 0)), [2, 0, 0]);
    }
}
