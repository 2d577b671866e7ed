//! Tests of [`far_apart`], the early exit of continuous collision: the full test stops no pair that it skips.

use super::*;
use crate::stages::continuous::{Party, gap, place, stop_time};

/// Numbers between -1 and 1.
struct Random(u32);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(self.0 >> 16).unwrap()) / 32_768.0 - 1.0
    }

    fn pair(&mut self, size: f32) -> Vec2 {
        Vec2::new(size * self.next(), size * self.next())
    }

    fn motion(&mut self, place: f32, speed: f32, turn: f32) -> SweepMotion {
        let turning = |angle: f32| crate::math::rotation(angle);
        SweepMotion {
            start: self.pair(place),
            rotation: turning(3.2 * self.next()),
            moved: self.pair(speed),
            turned: turning(turn * self.next()),
        }
    }
}

fn boxed(half: Vec2, offset: Vec2, rotation: f32) -> ShapeData {
    let rotation = crate::math::rotation(rotation).into();
    ShapeData {
        kind: BOX,
        half: half.into(),
        bound: half.length(),
        offset: offset.into(),
        rotation,
        ..ShapeData::default()
    }
}

/// Counts the pairs that are far apart if the body's size counts `told` times, and those among them that would have
/// stopped.
fn skipped(told: f32) -> (u32, u32) {
    let params = Params { speculative_distance: 0.02, linear_slop: 0.005, ..Params::default() };
    let (mut random, mut far, mut wrong) = (Random(7), 0, 0);
    for _ in 0..20_000 {
        let half = Vec2::splat(0.3) + random.pair(0.25);
        let a = boxed(half, random.pair(0.4), 3.0 * random.next());
        let long = Vec2::new(5.0 + 4.0 * random.next(), 0.3);
        let vertices = [[-long.x, 0.0], [long.x, 0.0]];
        let which = random.next();
        let b = if which < -0.6 {
            ShapeData {
                kind: HALF_PLANE,
                rotation: crate::math::rotation(3.0 * random.next()).into(),
                ..ShapeData::default()
            }
        } else if which < 0.0 {
            let radius = 0.1 + 0.1 * random.next();
            let bar = boxed(long, random.pair(3.0), 3.0 * random.next());
            ShapeData { kind: POLYGON | 2 << VERTEX_COUNT_SHIFT, radius, bound: long.x + radius, ..bar }
        } else {
            boxed(long, random.pair(3.0), 3.0 * random.next())
        };
        let (motion_a, motion_b) = (random.motion(6.0, 1.5, 0.8), random.motion(1.0, 0.3, 0.2));
        let (extent, min_extent) = (Vec2::from(a.offset).length() + a.bound, half.min_element());
        let size = Size::new(&params, &CcdBody { extent, min_extent, ..CcdBody::default() });
        let seen = ShapeData { bound: told * a.bound, ..a };
        if far_apart(&params, &vertices, &size, &seen, &motion_a, &b, &motion_b) {
            far += 1;
            let (first, second) = (Party::new(&a, &vertices, motion_a), Party::new(&b, &vertices, motion_b));
            let stops = |limit: f32| stop_time(&size, &first, &second, false, false, limit) != limit;
            wrong += u32::from(stops(1.0) || stops(0.3));
        }
    }
    (far, wrong)
}

#[test]
fn what_is_far_apart_stops_nothing() {
    let (far, wrong) = skipped(1.0);
    assert!(far > 5_000, "only {far} are far apart");
    assert_eq!(wrong, 0, "of {far}");
    // Negative control: with bodies counted smaller than they are, some would have stopped.
    let (_, wrong) = skipped(-2.0);
    assert!(wrong > 0, "nothing would be noticed");
}

/// Drops thin cards on a corner, turning. Counts those that stop, those of them that lie further off than their
/// stopping distance after they were moved there, and those that stop again before they have moved.
fn stopped_cards() -> (u32, u32, u32) {
    let params = Params { speculative_distance: 0.02, linear_slop: 0.005, ..Params::default() };
    let card = boxed(Vec2::new(0.001, 0.2), Vec2::ZERO, 0.0);
    let floor = boxed(Vec2::new(40.0, 2.0), Vec2::ZERO, 0.0);
    let ccd_body = CcdBody { extent: card.bound, min_extent: 0.001, ..CcdBody::default() };
    let size = Size::new(&params, &ccd_body);
    let mut random = Random(11);
    let (mut stopped, mut off, mut again) = (0, 0, 0);
    for _ in 0..2_000 {
        let angle = 0.8 * random.next();
        let at = Vec2::new(random.next(), 0.2 * angle.abs().cos() + 0.03 + 0.02 * random.next());
        let rotation = crate::math::rotation(angle);
        let moved = Vec2::new(0.03 * random.next(), -0.04 + 0.02 * random.next());
        let turned = crate::math::rotation(0.2 * random.next());
        let still =
            SweepMotion { start: Vec2::new(0.0, -2.0) - at, rotation: Vec2::X, moved: Vec2::ZERO, turned: Vec2::X };
        let motion = SweepMotion { start: Vec2::ZERO, rotation, moved, turned };
        let parties = |motion, still| (Party::new(&card, &[], motion), Party::new(&floor, &[], still));
        let (a, b) = parties(motion, still);
        let time = stop_time(&size, &a, &b, false, false, 1.0);
        if time <= 0.0 || time >= 1.0 || gap(&a, &b, &place(&a, &b, time)).0 > size.target + size.tolerance {
            continue;
        }
        stopped += 1;
        // As the next step finds it: moved there, and rounded.
        let there = at + moved * time;
        let still = SweepMotion { start: Vec2::new(0.0, -2.0) - there, ..still };
        let (a, b) = parties(SweepMotion { rotation: mul_rotation(motion.turn(time), rotation), ..motion }, still);
        off += u32::from(gap(&a, &b, &place(&a, &b, 0.0)).0 > size.target + size.tolerance);
        let next = stop_time(&size, &a, &b, false, false, 1.0);
        again += u32::from(next < 1e-3);
    }
    (stopped, off, again)
}

/// A stopped body goes on in the next step, by contacts: it is not stopped a second time before it moves.
#[test]
fn what_has_been_stopped_is_not_stopped_again_before_it_moved() {
    let (stopped, off, again) = stopped_cards();
    println!("{stopped} stop, {off} of them are further off by rounding");
    assert!(stopped > 500, "only {stopped} cards stop");
    assert!(off > 5, "of {stopped} cards only {off} are further off: there is nothing to get wrong");
    assert_eq!(again, 0, "of {stopped} cards");
}
