//! Loads at the start: the impulses with which bodies that rest on each other when a world begins press on their
//! contacts.
//!
//! A scene gives poses. Contacts that began without impulses would be springs that carry nothing: a heap would fall
//! until they hold it, and a pyramid of 200 rows sink by a metre. So before its first step a world finds the contacts
//! of its start and what they carry, in two passes over the bodies that are at rest and stand on something fixed:
//!
//! 1. **Down the heap**, from the highest body to the lowest. A body is held by the contacts below it as if these
//!    stood still, by impulses that all its points find together, so that those in the same place share alike. Their
//!    reactions are loads on the bodies below. One pass carries the weight of a stack, a wall or a pyramid to the
//!    ground, however high; sweeps need as many as the square of its rows.
//! 2. **Sweeps** of `relax` over all contacts, which find what the first pass cannot see: thrust in an arch, bodies
//!    that lean on each other, and what does not stand and falls.
//!
//! Each contact then has the impulses of one substep, with which the first step begins, and preloads
//! ([`store_impulses`](crate::stages::store_impulses)) by which its springs carry them where the bodies are; and each
//! body has the mass that its load asks for (`src/mass_scale.rs`). Bodies that move, have joints or hover
//! take no part: they begin without loads.
//!
//! The host does this for either engine, once a world: both begin with the same bits.

use glam::{DMat3, Vec2};

use crate::constants::{HELD_SHARE, NEAR_SHARE, STEEP};
use crate::mass_scale::{grown_status, mass_share};
use crate::math::{cross, cross_scalar, right_perp};
use crate::population::ends;
use crate::scene::Compiled;
use crate::stages::color::split::Splits;
use crate::stages::prepare::{ContactConstraint, prepare_contact, prepare_surface};
use crate::stages::{bin, bound, collide, color, integrate_velocities, pair, solve, warm_start};
use crate::tables::Tables;
use crate::types::{
    ASLEEP, Accumulator, BodyData, BodyMotion, BodyState, Contact, Counters, DYNAMIC, DYNAMIC_COLORS, FIXED_A, FIXED_B,
    IMPACT, INITIAL, JOINT_VACANT, Manifold, POINT_COUNT_MASK, Params, SURFACES, Surface, USE_FRICTION, VACANT,
    WARM_START,
};

/// Most iterations by which a body is held. Fewer: bodies on many points begin to settle.
const MAX_HOLD_ITERATIONS: u32 = 100;
/// Determinant below which points count as holding a body in fewer than three ways, as a share of the mean of the
/// diagonal to the power of three.
const FREE_SHARE: f64 = 1e-9;
/// Most sweeps over all contacts, and most contacts that they visit unless [`MIN_INITIAL_SWEEPS`] visit more: worlds
/// that do not stand would take long to begin.
const MAX_INITIAL_SWEEPS: usize = 4096;
const MAX_INITIAL_VISITS: usize = 2_000_000;
const MIN_INITIAL_SWEEPS: usize = 8;
/// Most passes that find the masses of bodies: each reaches the neighbours of the last one.
const MAX_GROWTHS: usize = 64;
/// Most shapes in the cell of a shape, on average. Those of a heap are fewer than ten.
const MAX_CELL_SHAPES: u64 = 64;

/// Contacts with which the first step begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InitialContacts {
    /// Shape `i` produced contacts `pair_starts[i] .. pair_starts[i + 1]`.
    pub pair_starts: Vec<u32>,
    /// Contacts.
    pub contacts: Vec<Contact>,
    /// Manifold of each contact, with impulses and preloads.
    pub manifolds: Vec<Manifold>,
    /// State of each body, with the mass that its load asks for.
    pub states: Vec<BodyState>,
}

/// Returns the contacts with which a world begins, or `None` if nothing in it carries a load.
#[must_use]
pub fn initial_contacts(compiled: &Compiled) -> Option<InitialContacts> {
    let params = &compiled.params;
    let is_wanted = compiled.settings.initial_loads && params.preload_rate > 0.0 && params.switches & WARM_START != 0;
    let up = -Vec2::from(params.gravity).normalize_or_zero();
    if !is_wanted || up == Vec2::ZERO || !(0..compiled.bodies.len()).any(|body| is_still(compiled, body)) {
        return None;
    }
    let mut tables = find_contacts(compiled)?;
    let mut heap = Heap::new(compiled, &tables, up)?;
    heap.carry_down(&tables);
    heap.sweep();
    let splits = first_splits(params, &tables);
    heap.write(&splits, &tables.contacts, &mut tables.manifolds);
    heap.scale_masses(&mut tables.states);
    for contact in &mut tables.contacts {
        contact.flags |= INITIAL;
    }
    let Tables { pair_starts, contacts, manifolds, states, .. } = tables;
    Some(InitialContacts { pair_starts, contacts, manifolds, states })
}

/// Returns true for a dynamic body without velocity, awake.
fn is_still(compiled: &Compiled, body: usize) -> bool {
    let is_awake = compiled.states[body].status & ASLEEP == 0;
    compiled.bodies[body].kind == DYNAMIC && is_awake && has_no_velocity(compiled, body)
}

fn has_no_velocity(compiled: &Compiled, body: usize) -> bool {
    let BodyState { velocity, angular_velocity, .. } = compiled.states[body];
    velocity == [0.0; 2] && angular_velocity == 0.0
}

/// Returns the contacts of the poses of the start, found by the stages of a step; `None` for a crowd of bodies in the
/// same place, which is no heap, and whose pairs would take long to find.
fn find_contacts(compiled: &Compiled) -> Option<Tables> {
    let Compiled { params, shapes, vertices, .. } = compiled;
    let mut tables = Tables {
        poses: compiled.poses.clone(),
        states: compiled.states.clone(),
        motions: vec![BodyMotion::default(); compiled.bodies.len()],
        aabbs: vec![bound::EMPTY; shapes.len()],
        ..Tables::default()
    };
    let Tables { poses, states, aabbs, cell_ends, cell_shapes, counters, .. } = &mut tables;
    counters.awake_levels = bound::bound(params, shapes, vertices, poses, states, aabbs);
    bin::bin(params, shapes, aabbs, cell_ends, cell_shapes);
    let begins = std::iter::once(&0).chain(&*cell_ends);
    let counts = begins.zip(&*cell_ends).map(|(begin, end)| u64::from(end - begin));
    if counts.map(|count| count * count).sum::<u64>() > MAX_CELL_SHAPES * shapes.len() as u64 {
        return None;
    }
    pair::pair(compiled, &mut tables);
    tables.manifolds.resize(tables.contacts.len(), Manifold::default());
    collide::collide(compiled, &mut tables);
    Some(tables)
}

/// Returns the shares of hubs in the first step, if no contact comes or goes until then.
fn first_splits(params: &Params, tables: &Tables) -> Splits {
    let mut degrees = vec![0_u32; tables.states.len()];
    for contact in tables.contacts.iter().filter(|contact| contact.flags & POINT_COUNT_MASK != 0) {
        color::moving(contact).for_each(|body| degrees[body] += 1);
    }
    let mut splits = Splits::default();
    if degrees.iter().all(|&degree| degree <= DYNAMIC_COLORS) {
        return splits;
    }
    let (mut contacts, mut slots, mut counters) = (tables.contacts.clone(), Vec::new(), Counters::default());
    color::color(params, &tables.states, &mut contacts, &mut slots, &mut counters);
    splits.split(params, &contacts, &counters);
    splits
}

/// Bodies at rest on each other, and their contacts.
struct Heap<'a> {
    compiled: &'a Compiled,
    up: Vec2,
    /// Index of the contact of each constraint.
    places: Vec<u32>,
    constraints: Vec<ContactConstraint>,
    surfaces: Vec<Surface>,
    /// Velocities that gravity, forces and impulses of one substep have made so far.
    states: Vec<BodyState>,
    /// Speed that counts as none, m/s.
    held: f32,
}

impl<'a> Heap<'a> {
    /// Returns the bodies at rest that stand on something fixed, without loads yet; `None` if there are none.
    fn new(compiled: &'a Compiled, tables: &Tables, up: Vec2) -> Option<Self> {
        let Compiled { params, bodies, shapes, .. } = compiled;
        let carries: Vec<u32> = carrying(compiled, tables);
        let mut heap = Self {
            compiled,
            up,
            places: carries,
            constraints: Vec::new(),
            surfaces: Vec::new(),
            states: compiled.states.clone(),
            held: HELD_SHARE * params.h * Vec2::from(params.gravity).length(),
        };
        if heap.places.is_empty() {
            return None;
        }
        for &place in &heap.places {
            let contact = &tables.contacts[place as usize];
            let ends = [contact.body_a, contact.body_b].map(|body| body as usize);
            let shapes = [&shapes[contact.shape_a as usize], &shapes[contact.shape_b as usize]];
            let (rows, states) = (ends.map(|body| &bodies[body]), ends.map(|body| compiled.states[body]));
            let mut constraint =
                prepare_contact(params, rows, shapes, states, contact, &tables.manifolds[place as usize]);
            constraint.find_masses();
            heap.constraints.push(constraint);
            if params.switches & SURFACES != 0 {
                heap.surfaces.push(prepare_surface(params, shapes, contact));
            }
        }
        let mut sums = vec![Accumulator::default(); bodies.len()];
        integrate_velocities::integrate_velocities(params, bodies, &compiled.poses, &mut heap.states, &mut sums);
        Some(heap)
    }

    /// Carries the weight of each body to those below, from the highest to the lowest.
    fn carry_down(&mut self, tables: &Tables) {
        let height = |body: u32| Vec2::from(tables.poses[body as usize].position).dot(self.up);
        // The upper body of each contact, and the contact.
        let mut held: Vec<(u32, u32)> = Vec::with_capacity(self.constraints.len());
        for (index, c) in self.constraints.iter().enumerate() {
            let rise = Vec2::from(c.normal).dot(self.up);
            let (upper, is_fixed) = if rise > 0.0 { (c.body_b, FIXED_B) } else { (c.body_a, FIXED_A) };
            if rise.abs() > STEEP && c.flags & is_fixed == 0 {
                #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                held.push((upper, index as u32));
            }
        }
        held.sort_unstable_by(|x, y| height(y.0).total_cmp(&height(x.0)).then(x.cmp(y)));
        let mut points = Vec::new();
        for supports in held.chunk_by(|x, y| x.0 == y.0) {
            points.clear();
            points.extend(supports.iter().flat_map(|&(body, index)| self.held_points(body, index)));
            self.hold(supports[0].0, &mut points);
            for point in &points {
                self.push_back(point);
            }
        }
    }

    /// Returns the points of a contact by which it holds a body.
    fn held_points(&self, body: u32, index: u32) -> impl Iterator<Item = HeldPoint> + use<> {
        let c = self.constraints[index as usize];
        let is_b = c.body_b == body;
        let sign = if is_b { 1.0 } else { -1.0 };
        let normal = sign * Vec2::from(c.normal);
        let tangent = sign * right_perp(Vec2::from(c.normal));
        let (other, [inv_mass, inv_inertia]) = if is_b {
            (c.body_a, [c.inv_mass_b, c.inv_inertia_b])
        } else {
            (c.body_b, [c.inv_mass_a, c.inv_inertia_a])
        };
        (0..(c.flags & POINT_COUNT_MASK) as usize).map(move |end| {
            let point = &c.points[end];
            let (arm, other_arm) = if is_b { (point.r_b, point.r_a) } else { (point.r_a, point.r_b) };
            let arm = Vec2::from(arm);
            let mass = |axis: Vec2| 1.0 / (inv_mass + inv_inertia * cross(arm, axis) * cross(arm, axis));
            HeldPoint {
                constraint: index as usize,
                end,
                other,
                axes: [normal, tangent],
                arm,
                other_arm: other_arm.into(),
                masses: [mass(normal), mass(tangent)],
                friction: c.friction,
                impulses: [0.0; 2],
            }
        })
    }

    /// Finds the impulses by which points hold a body as if what is below stood still.
    fn hold(&mut self, body: u32, points: &mut [HeldPoint]) {
        let row = &self.compiled.bodies[body as usize];
        let state = &mut self.states[body as usize];
        if balance(points, row, state) {
            (state.velocity, state.angular_velocity) = ([0.0; 2], 0.0);
            return;
        }
        let (mut velocity, mut spin) = (Vec2::from(state.velocity), state.angular_velocity);
        // All points act on the same velocities; each takes its share of what stops them.
        let share = 1.0 / points.len() as f32;
        for _ in 0..MAX_HOLD_ITERATIONS {
            let (mut push, mut turn, mut change) = (Vec2::ZERO, 0.0, 0.0_f32);
            for point in &mut *points {
                let at_point = velocity + cross_scalar(spin, point.arm);
                let mut impulse = Vec2::ZERO;
                for axis in 0..2 {
                    let wanted = point.impulses[axis] - share * point.masses[axis] * at_point.dot(point.axes[axis]);
                    let most = point.friction * point.impulses[0];
                    let new = if axis == 0 { wanted.max(0.0) } else { wanted.clamp(-most, most) };
                    impulse += (new - point.impulses[axis]) * point.axes[axis];
                    point.impulses[axis] = new;
                }
                push += impulse;
                turn += cross(point.arm, impulse);
                change = change.max(impulse.length());
            }
            velocity += row.inv_mass * push;
            spin += row.inv_inertia * turn;
            if row.inv_mass * change <= self.held {
                break;
            }
        }
        (state.velocity, state.angular_velocity) = (velocity.into(), spin);
    }

    /// Stores the impulses of a point, and lets them act on the body below.
    fn push_back(&mut self, point: &HeldPoint) {
        let c = &mut self.constraints[point.constraint];
        c.impulses[2 * point.end..][..2].copy_from_slice(&point.impulses);
        let row = &self.compiled.bodies[point.other as usize];
        if row.inv_mass > 0.0 {
            let impulse = point.impulses[0] * point.axes[0] + point.impulses[1] * point.axes[1];
            let state = &mut self.states[point.other as usize];
            state.velocity = (Vec2::from(state.velocity) - row.inv_mass * impulse).into();
            state.angular_velocity -= row.inv_inertia * cross(point.other_arm, impulse);
        }
    }

    /// Sweeps over all contacts, until nothing changes or it takes too long.
    fn sweep(&mut self) {
        let params = &self.compiled.params;
        let sweeps = (MAX_INITIAL_VISITS / self.constraints.len()).clamp(MIN_INITIAL_SWEEPS, MAX_INITIAL_SWEEPS);
        let mut sums = vec![Accumulator::default(); self.states.len()];
        let mut before = Vec::new();
        for _ in 0..sweeps {
            before.clone_from(&self.states);
            let Self { constraints, surfaces, states, .. } = self;
            solve::solve(params, USE_FRICTION, &Splits::default(), constraints, surfaces, states, &mut sums);
            let change =
                |(now, then): (&BodyState, &BodyState)| (Vec2::from(now.velocity) - Vec2::from(then.velocity)).length();
            if self.states.iter().zip(&before).map(change).fold(0.0, f32::max) <= self.held {
                break;
            }
        }
    }

    /// Gives bodies the masses that their loads ask for.
    fn scale_masses(&self, states: &mut Vec<BodyState>) {
        let Compiled { params, bodies, .. } = self.compiled;
        if params.mass_per_impulse == 0.0 {
            return;
        }
        let mut constraints = self.constraints.clone();
        for _ in 0..MAX_GROWTHS {
            let mut sums = vec![Accumulator::default(); bodies.len()];
            warm_start::warm_start(params, &Splits::default(), &constraints, &self.surfaces, states, &mut sums);
            let mut is_changed = false;
            for ((body, sum), state) in bodies.iter().zip(&sums).zip(&mut *states) {
                let (status, has_grown) = grown_status(params, body, sum, state);
                is_changed |= has_grown;
                state.status = status;
            }
            if !is_changed {
                break;
            }
            for (scaled, c) in constraints.iter_mut().zip(&self.constraints) {
                let [share_a, share_b] = [c.body_a, c.body_b].map(|body| mass_share(states[body as usize].status));
                scaled.inv_mass_a = c.inv_mass_a * share_a;
                scaled.inv_mass_b = c.inv_mass_b * share_b;
            }
        }
    }

    /// Writes impulses and preloads to the manifolds.
    fn write(&self, splits: &Splits, contacts: &[Contact], manifolds: &mut [Manifold]) {
        let params = &self.compiled.params;
        for (&place, c) in self.places.iter().zip(&self.constraints) {
            let [bias_rate, mass_scale, impulse_scale, slop] = solve::softness(params, c.flags);
            let mut c = *c;
            if let Some(split) = splits.split_of(place) {
                c.split(splits.shares(split, &contacts[place as usize]));
                c.find_masses();
            }
            let manifold = &mut manifolds[place as usize];
            let count = (c.flags & POINT_COUNT_MASK) as usize;
            for (end, at) in manifold.by_depth(c.flags).into_iter().enumerate().take(count) {
                let (point, from) = (&mut manifold.points[at], &c.points[end]);
                [point.normal_impulse, point.tangent_impulse] = [c.impulses[2 * end], c.impulses[2 * end + 1]];
                if point.normal_impulse > 0.0 {
                    // Overlap at which the spring alone would carry the load.
                    let overlap =
                        point.normal_impulse * impulse_scale / (from.normal_mass * mass_scale * bias_rate) + slop;
                    manifold.preloads[at] = (overlap + point.separation).max(0.0);
                }
            }
        }
    }
}

/// Contact point that holds the upper body of its contact.
struct HeldPoint {
    constraint: usize,
    /// 0 or 1: which point of the contact.
    end: usize,
    /// Body below.
    other: u32,
    /// Directions in which impulses act on the upper body: normal and tangent.
    axes: [Vec2; 2],
    /// Arms on the upper body and on the one below, m.
    arm: Vec2,
    other_arm: Vec2,
    /// Effective masses of the upper body along the two, kg.
    masses: [f32; 2],
    friction: f32,
    /// Normal and tangent impulse, N·s.
    impulses: [f32; 2],
}

/// Sets the impulses by which points bring a body to rest. Of all such impulses these have the least sum of squares,
/// over the effective masses; points that would have to pull are left out. Returns false, and sets none, if the points
/// leave the body free to move, or if one of them would have to hold by more than friction.
fn balance(points: &mut [HeldPoint], row: &BodyData, state: &BodyState) -> bool {
    let length = points.iter().map(|point| point.arm.length()).fold(0.0, f32::max);
    if row.inv_inertia == 0.0 || length == 0.0 {
        return false;
    }
    let spin = state.angular_velocity / (row.inv_inertia * length);
    let momentum = (Vec2::from(state.velocity) / row.inv_mass).extend(spin).as_dvec3();
    // Velocity of a point along an axis, for a velocity of the body and its spin times `length`.
    let lever = |point: &HeldPoint, axis: usize| {
        let axis = point.axes[axis];
        axis.extend(cross(point.arm, axis) / length)
    };
    let mut count = points.len();
    // Each impulse is `mass · lever · y`, of which one `y` for all points stops the body.
    while count > 0 {
        let mut matrix = DMat3::ZERO;
        for (point, axis) in points[..count].iter().flat_map(|point| [(point, 0), (point, 1)]) {
            let lever = lever(point, axis).as_dvec3();
            let scaled = f64::from(point.masses[axis]) * lever;
            matrix += DMat3::from_cols(scaled * lever.x, scaled * lever.y, scaled * lever.z);
        }
        let mean = (matrix.x_axis.x + matrix.y_axis.y + matrix.z_axis.z) / 3.0;
        if matrix.determinant() <= FREE_SHARE * mean * mean * mean {
            return false;
        }
        let y = (matrix.inverse() * -momentum).as_vec3();
        let impulse = |point: &HeldPoint, axis: usize| point.masses[axis] * lever(point, axis).dot(y);
        let normals = points[..count].iter().map(|point| impulse(point, 0));
        let (least, pull) = normals.enumerate().min_by(|x, y| x.1.total_cmp(&y.1)).unwrap_or((0, 0.0));
        if pull < 0.0 {
            count -= 1;
            points.swap(least, count);
            continue;
        }
        let is_held = |point: &HeldPoint| impulse(point, 1).abs() <= point.friction * impulse(point, 0);
        if !points[..count].iter().all(is_held) {
            return false;
        }
        for point in &mut points[..count] {
            point.impulses = [impulse(point, 0), impulse(point, 1)];
        }
        return true;
    }
    false
}

/// Returns the contacts that can carry a load: those of still bodies without joints that stand on something fixed.
fn carrying(compiled: &Compiled, tables: &Tables) -> Vec<u32> {
    let Compiled { params, bodies, .. } = compiled;
    let mut takes_part: Vec<bool> = (0..bodies.len()).map(|body| is_still(compiled, body)).collect();
    for body in compiled.joints.joints.iter().filter(|joint| joint.flags & JOINT_VACANT == 0).flat_map(ends) {
        takes_part[body as usize] = false;
    }
    let is_fixed = |body: usize| bodies[body].kind != DYNAMIC && bodies[body].kind != VACANT;
    let mut is_support: Vec<bool> =
        (0..bodies.len()).map(|body| is_fixed(body) && has_no_velocity(compiled, body)).collect();
    for path in &compiled.paths {
        is_support[path.body as usize] = false;
    }
    let carries = |place: &usize| {
        let (contact, manifold) = (&tables.contacts[*place], &tables.manifolds[*place]);
        let count = (contact.flags & POINT_COUNT_MASK) as usize;
        let is_near = manifold.points[..count].iter().any(|point| point.separation <= NEAR_SHARE * params.linear_slop);
        contact.flags & IMPACT == 0 && is_near
    };
    let near: Vec<usize> = (0..tables.contacts.len()).filter(carries).collect();
    let ends = |place: usize| [tables.contacts[place].body_a, tables.contacts[place].body_b].map(|body| body as usize);
    // Neighbours of each body, as a list of lists.
    let mut neighbours = vec![Vec::new(); bodies.len()];
    let mut stands = vec![false; bodies.len()];
    let mut reached = Vec::new();
    for &place in &near {
        let [a, b] = ends(place);
        for (body, other) in [(a, b), (b, a)] {
            if takes_part[body] && takes_part[other] {
                neighbours[body].push(other);
            } else if takes_part[body] && is_support[other] && !stands[body] {
                stands[body] = true;
                reached.push(body);
            }
        }
    }
    while let Some(body) = reached.pop() {
        for &other in &neighbours[body] {
            if !stands[other] {
                stands[other] = true;
                reached.push(other);
            }
        }
    }
    let is_carrying = |place: &usize| ends(*place).into_iter().all(|body| stands[body] || is_support[body]);
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    near.into_iter().filter(is_carrying).map(|place| place as u32).collect()
}
