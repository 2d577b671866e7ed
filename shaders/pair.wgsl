// pair: src/stages/pair.rs. Finds the pairs of shapes whose AABBs overlap, and creates their contacts: pair_count;
// pair_count_asleep if bodies may sleep; scan; pair_emit.

//#import types
//#import math
//#import grid
//#import cells
//#import joined
//#import partners

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> aabbs: array<Aabb>;
@group(0) @binding(3) var<storage, read> cell_ends: array<u32>;
@group(0) @binding(4) var<storage, read> cell_shapes: array<u32>;
@group(0) @binding(5) var<storage, read_write> pair_starts: array<u32>;
@group(0) @binding(6) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;
// Results of pair_count, so that pair_emit need not search again: PARTNER_WORDS words per shape, the count, the first
// partners and the motion of the shape. Shapes with more partners are searched twice. Behind it are the pairs that
// joints exclude.
@group(0) @binding(8) var<storage, read_write> partners: array<atomic<u32>>;
@group(0) @binding(9) var<storage, read> joints: array<JointData>;
@group(0) @binding(10) var<storage, read> joint_states: array<JointState>;

// One thread per joint: its bodies may touch if it broke or is disabled. Runs in worlds where that can change.
@compute @workgroup_size(LANES)
fn pair_exclude(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let place = flat_index(workgroup, workgroups, LANES, lane);
    if place >= params.joint_count || (joints[place].flags & JOINT_APART) == 0u {
        return;
    }
    let parted = (joints[place].flags & JOINT_DISABLED) != 0u || (joint_states[place].status & BROKEN) != 0u;
    let at = params.exclusion_links + 4u * place;
    atomicStore(&partners[at], select(joints[place].body_b, NONE, parted));
    atomicStore(&partners[at + 2u], select(joints[place].body_a, NONE, parted));
}

// Writes one contact.
fn emit_contact(contact: u32, index: u32, other: u32) {
    var flags = 0u;
    if (shapes[index].kind & FIXED_SHAPE) != 0u {
        flags |= FIXED_A;
    }
    if (shapes[other].kind & FIXED_SHAPE) != 0u {
        flags |= FIXED_B;
    }
    if (shapes[index].kind & SENSOR_SHAPE) != 0u {
        flags |= SENSOR;
    } else if (shapes[other].kind & SENSOR_SHAPE) != 0u {
        flags |= SENSOR | SENSOR_B;
    }
    contacts[contact] = Contact(index, other, shapes[index].body, shapes[other].body, flags, NONE, 0u, 0.0);
}

fn partners_word(index: u32) -> u32 {
    return atomicLoad(&partners[index]);
}

fn is_asleep(shape: u32) -> bool {
    return (params.switches & SLEEP) != 0u && (partners_word(shape * PARTNER_WORDS) & SHAPE_ASLEEP) != 0u;
}

// Properties of a shape that decide which shapes it may meet.
struct Rules {
    body: u32,
    kind: u32,
    group: i32,
    mask: u32,
    category: u32,
}

fn rules_of(shape: u32) -> Rules {
    return Rules(
        shapes[shape].body, shapes[shape].kind, shapes[shape].group, shapes[shape].mask, shapes[shape].category,
    );
}

fn may_meet(a: Rules, b: Rules) -> bool {
    if a.body == b.body {
        return false;
    }
    if (a.kind & b.kind & FIXED_SHAPE) != 0u && ((a.kind | b.kind) & SENSOR_SHAPE) == 0u {
        return false;
    }
    if (a.kind & b.kind & JOINED_SHAPE) != 0u && are_joined(a.body, b.body) {
        return false;
    }
    if a.group == b.group && a.group != 0 {
        return a.group > 0;
    }
    return (a.mask & b.category) != 0u && (b.mask & a.category) != 0u;
}

fn mark(aabb: Aabb, other: u32) {
    if overlaps(aabb, aabbs[other]) {
        atomicOr(&partners[other * PARTNER_WORDS], SHAPE_MARKED);
    }
}

fn reaches(aabb: Aabb, plane: Aabb) -> bool {
    let lowest = select(aabb.max, aabb.min, plane.max > vec2<f32>(0.0));
    return plane.min.x == f32(HALF_PLANE_ROW) && plane.max.x * lowest.x + plane.max.y * lowest.y <= plane.min.y;
}

// Returns the box in which a shape looks for fixed shapes.
fn box_ahead(index: u32, aabb: Aabb) -> Aabb {
    let at = index * PARTNER_WORDS + AHEAD_WORD;
    let size = aabb.max - aabb.min;
    let moved = max(min(bitcast<vec2<f32>>(vec2<u32>(partners_word(at), partners_word(at + 1u))), size), -size);
    return Aabb(aabb.min + min(moved, vec2<f32>(0.0)), aabb.max + max(moved, vec2<f32>(0.0)));
}

// Returns the number of shapes that pair with `index`. With `emit`, writes their contacts from `start` on; without,
// stores the first as partners. All candidates go through one loop, so that its body is compiled once.
fn pairs_of(index: u32, emit: bool, start: u32) -> u32 {
    let aabb = aabbs[index];
    if aabb.min.x > aabb.max.x {
        return 0u;
    }
    let own = shapes[index].level;
    let last_own = own + params.levels[own].bands;
    let asleep = is_asleep(index);
    var is_marked = false;
    var awake_levels = NONE;
    if asleep {
        is_marked = (partners_word(index * PARTNER_WORDS) & SHAPE_MARKED) != 0u;
        awake_levels = atomicLoad(&counters.awake_levels);
    }
    let rules = rules_of(index);
    let ahead = box_ahead(index, aabb);
    var count = 0u;
    var crowded = false;
    // Before the levels come the half planes, as one more row of cells.
    for (var next_level = own; next_level <= params.level_count; next_level += 1u) {
        let is_grid = next_level > own;
        let level = select(own, next_level - 1u, is_grid);
        let own_level = is_grid && level <= last_own;
        let needed = select(AWAKE_HALF_PLANE, 1u << level, is_grid);
        if asleep && ((awake_levels & needed) == 0u || (own_level && !is_marked)) {
            continue;
        }
        // Candidates: the half planes, or the shapes of a level.
        var run = Run(0u, plane_count(), false);
        var at_once = !is_grid;
        if is_grid && !own_level {
            // Often the ground is alone on its level: then it is tested without a search of cells.
            run = run_of_level(level);
            at_once = run.end - run.slot < 2u;
        }
        // Fixed shapes are met ahead.
        let looks_ahead = is_grid && ((params.fixed_levels >> level) & 1u) != 0u;
        var near = aabb;
        if looks_ahead || !is_grid {
            near = ahead;
        }
        var range = CellRange(vec2<i32>(0), vec2<i32>(0));
        if !at_once {
            range = cells_around(level, near.min, near.max);
        }
        for (var row = range.low.y; row <= range.high.y; row += 1) {
            if !at_once {
                run = run_of_row(level, range, row);
                crowded = crowded || is_crowd(run);
                run = without_crowd(run);
            }
            loop {
                if run.slot >= run.end {
                    if !run.wraps {
                        break;
                    }
                    run = rest_of_row(level, range, row);
                    crowded = crowded || is_crowd(run);
                    run = without_crowd(run);
                    continue;
                }
                var other = 0u;
                if is_grid {
                    other = cell_shapes[run.slot];
                } else {
                    other = plane_at(run.slot);
                }
                run.slot += 1u;
                // On one level the producer is the shape that is not fixed, as it looks ahead, or else the one with the
                // lower index.
                var is_producer = !own_level || index < other;
                if own_level && looks_ahead {
                    let is_fixed = (shapes[other].kind & FIXED_SHAPE) != 0u;
                    if is_fixed != ((rules.kind & FIXED_SHAPE) != 0u) {
                        is_producer = is_fixed;
                    }
                }
                if !is_producer {
                    // If the producer is asleep it must be marked.
                    if (params.switches & SLEEP) != 0u && other != index && !asleep && !emit && is_asleep(other) {
                        mark(aabb, other);
                    }
                    continue;
                }
                let partner = aabbs[other];
                if !select(reaches(near, partner), overlaps(near, partner), is_grid) {
                    continue;
                }
                let others = rules_of(other);
                if !may_meet(rules, others) {
                    continue;
                }
                if looks_ahead && (others.kind & FIXED_SHAPE) == 0u && !overlaps(aabb, partner) {
                    continue;
                }
                if asleep && is_asleep(other) {
                    continue;
                }
                if emit {
                    if start + count < params.contact_capacity {
                        contacts[start + count].shape_b = other;
                    }
                } else if count + 1u < AHEAD_WORD {
                    atomicStore(&partners[index * PARTNER_WORDS + count + 1u], other);
                }
                count += 1u;
            }
        }
    }
    if crowded {
        atomicOr(&counters.overflow_bits, OVERFLOW_CROWD);
    }
    return count;
}

// One thread per shape, and one more for the total.
@compute @workgroup_size(LANES)
fn pair_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index > params.shape_count {
        return;
    }
    var count = 0u;
    if index < params.shape_count {
        if (params.switches & SLEEP) != 0u && atomicLoad(&counters.again) == 0u {
            // No body woke: restores the counts, so that the scan gives the same starts again.
            count = partners_word(index * PARTNER_WORDS) & PARTNER_COUNT;
        } else if !is_asleep(index) {
            count = pairs_of(index, false, 0u);
            atomicStore(&partners[index * PARTNER_WORDS], count);
        }
    }
    pair_starts[index] = count;
}

// One thread per shape.
@compute @workgroup_size(LANES)
fn pair_count_asleep(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count || atomicLoad(&counters.again) == 0u || !is_asleep(index) {
        return;
    }
    let head = partners_word(index * PARTNER_WORDS);
    let own = shapes[index].level;
    // Levels above those of its own size.
    let others = atomicLoad(&counters.awake_levels) >> (own + params.levels[own].bands);
    if (head & SHAPE_MARKED) == 0u && others <= 1u {
        return;
    }
    let count = pairs_of(index, false, 0u);
    atomicStore(&partners[index * PARTNER_WORDS], head | count);
    pair_starts[index] = count;
}

// One thread per shape, and one more for the total. Pairs that do not fit are only counted, and pair_starts is cut to
// those that are stored.
@compute @workgroup_size(LANES)
fn pair_emit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index > params.shape_count {
        return;
    }
    let start = pair_starts[index];
    if index < params.shape_count {
        let count = partners_word(index * PARTNER_WORDS) & PARTNER_COUNT;
        if (params.switches & SLEEP) != 0u && atomicLoad(&counters.again) == 0u {
            // The contacts are there already.
        } else {
            let few = count < AHEAD_WORD;
            if !few {
                _ = pairs_of(index, true, start);
            }
            for (var partner = 0u; partner < count && start + partner < params.contact_capacity; partner += 1u) {
                var other = 0u;
                if few {
                    other = partners_word(index * PARTNER_WORDS + 1u + partner);
                } else {
                    other = contacts[start + partner].shape_b;
                }
                emit_contact(start + partner, index, other);
            }
        }
    } else {
        counters.pairs_found = start;
        counters.contacts = min(start, params.contact_capacity);
        // Leaves space for archived contacts, which may come back; there are none if sleeping is off.
        if start + atomicLoad(&counters.sleeping_contacts) > params.contact_capacity {
            atomicOr(&counters.overflow_bits, OVERFLOW_CONTACTS);
        }
    }
    pair_starts[index] = min(start, params.contact_capacity);
}
