// color: src/stages/color.rs. Colours the contacts, so that no two of a colour share a dynamic body: color_inherit;
// color_claim and color_commit several times or not at all; color_finish; color_count, scan, color_place.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(2) var<storage, read_write> color_masks: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> color_claims: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> uncolored: array<u32>;
@group(0) @binding(5) var<storage, read_write> color_histogram: array<u32>;
@group(0) @binding(6) var<storage, read_write> slots: array<u32>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;
@group(0) @binding(8) var<storage, read_write> color_starts: array<u32>;
@group(0) @binding(9) var<storage, read> states: array<BodyState>;
@group(1) @binding(0) var<uniform> sweep: Sweep;

const DYNAMIC_MASK: u32 = 0x007fffffu;
const FIXED_MASK: u32 = 0xff000000u;
// Between claim and commit `contact.color` holds a proposal, with this mark to tell it from a colour.
const PROPOSAL: u32 = 0x100u;

fn take(contact: u32, flags: u32, color: u32) {
    if (flags & FIXED_A) == 0u {
        atomicOr(&color_masks[contacts[contact].body_a], 1u << color);
    }
    if (flags & FIXED_B) == 0u {
        atomicOr(&color_masks[contacts[contact].body_b], 1u << color);
    }
}

fn propose(contact: u32) -> u32 {
    let flags = contacts[contact].flags;
    var taken = 0u;
    if (flags & FIXED_A) == 0u {
        taken |= atomicLoad(&color_masks[contacts[contact].body_a]);
    }
    if (flags & FIXED_B) == 0u {
        taken |= atomicLoad(&color_masks[contacts[contact].body_b]);
    }
    let dynamic = ~taken & DYNAMIC_MASK;
    let last = ~taken & FIXED_MASK;
    if (flags & (FIXED_A | FIXED_B)) == 0u {
        if dynamic == 0u {
            return OVERFLOW_COLOR;
        }
        return countTrailingZeros(dynamic);
    }
    if last != 0u {
        return 31u - countLeadingZeros(last);
    }
    if dynamic != 0u {
        return 31u - countLeadingZeros(dynamic);
    }
    return OVERFLOW_COLOR;
}

fn claim_key(round: u32, contact: u32) -> u32 {
    const BITS = 0x07ffffffu;
    var x = contact & BITS;
    x = (x * 0x02c1b3c7u) & BITS;
    x ^= x >> 13u;
    x = (x * 0x0297a2d5u) & BITS;
    x ^= x >> 12u;
    x = (x * 0x04567c5bu) & BITS;
    x ^= x >> 14u;
    return (round << 27u) | x;
}

fn claim(contact: u32, round: u32) {
    if contacts[contact].color != NONE {
        return;
    }
    atomicMax(&counters.rounds, round);
    let color = propose(contact);
    if color == OVERFLOW_COLOR {
        contacts[contact].color = OVERFLOW_COLOR;
        return;
    }
    contacts[contact].color = color | PROPOSAL;
    let key = claim_key(round, contact);
    let flags = contacts[contact].flags;
    if (flags & FIXED_A) == 0u {
        atomicMax(&color_claims[contacts[contact].body_a * CLAIM_SLOTS + color % CLAIM_SLOTS], key);
    }
    if (flags & FIXED_B) == 0u {
        atomicMax(&color_claims[contacts[contact].body_b * CLAIM_SLOTS + color % CLAIM_SLOTS], key);
    }
}

// Returns true if the contact is still without a colour.
fn commit(contact: u32, round: u32) -> bool {
    let proposal = contacts[contact].color;
    if (proposal & PROPOSAL) == 0u {
        return false;
    }
    let color = proposal & ~PROPOSAL;
    let key = claim_key(round, contact);
    let flags = contacts[contact].flags;
    var won = true;
    if (flags & FIXED_A) == 0u {
        won = won && atomicLoad(&color_claims[contacts[contact].body_a * CLAIM_SLOTS + color % CLAIM_SLOTS]) == key;
    }
    if (flags & FIXED_B) == 0u {
        won = won && atomicLoad(&color_claims[contacts[contact].body_b * CLAIM_SLOTS + color % CLAIM_SLOTS]) == key;
    }
    if won {
        contacts[contact].color = color;
        take(contact, flags, color);
        return false;
    }
    contacts[contact].color = NONE;
    return true;
}

// One thread per contact.
@compute @workgroup_size(LANES)
fn color_inherit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= counters.contacts {
        return;
    }
    let flags = contacts[index].flags;
    if (flags & POINT_COUNT_MASK) == 0u {
        return;
    }
    atomicAdd(&counters.touching, 1u);
    let color = contacts[index].color;
    var half_asleep = false;
    if (params.switches & SLEEP) != 0u {
        half_asleep = ((flags & FIXED_A) == 0u && (states[contacts[index].body_a].status & ASLEEP) != 0u)
            || ((flags & FIXED_B) == 0u && (states[contacts[index].body_b].status & ASLEEP) != 0u);
    }
    if (params.switches & FORCE_OVERFLOW) != 0u || half_asleep {
        contacts[index].color = OVERFLOW_COLOR;
    } else if color < COLOR_COUNT && color != OVERFLOW_COLOR {
        take(index, flags, color);
    } else {
        contacts[index].color = NONE;
        // The order of this list differs from run to run and does not matter.
        uncolored[atomicAdd(&counters.uncolored, 1u)] = index;
    }
}

// One thread per uncoloured contact.
@compute @workgroup_size(LANES)
fn color_claim(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index < atomicLoad(&counters.uncolored) {
        claim(uncolored[index], sweep.round);
    }
}

// One thread per uncoloured contact.
@compute @workgroup_size(LANES)
fn color_commit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index < atomicLoad(&counters.uncolored) {
        _ = commit(uncolored[index], sweep.round);
    }
}

const FINISH_LANES: u32 = 256u;
var<workgroup> list_length: u32;
var<workgroup> remaining: atomic<u32>;
var<workgroup> still_uncolored: u32;

// One workgroup: all remaining rounds, from `sweep.round` on.
@compute @workgroup_size(256)
fn color_finish(@builtin(local_invocation_index) lane: u32) {
    if lane == 0u {
        list_length = atomicLoad(&counters.uncolored);
    }
    let length = workgroupUniformLoad(&list_length);
    if length > 0u {
        for (var round = sweep.round; round <= MAX_COLOR_ROUNDS; round += 1u) {
            if lane == 0u {
                atomicStore(&remaining, 0u);
            }
            for (var index = lane; index < length; index += FINISH_LANES) {
                claim(uncolored[index], round);
            }
            storageBarrier();
            workgroupBarrier();
            for (var index = lane; index < length; index += FINISH_LANES) {
                if commit(uncolored[index], round) {
                    atomicAdd(&remaining, 1u);
                }
            }
            storageBarrier();
            workgroupBarrier();
            if lane == 0u {
                still_uncolored = atomicLoad(&remaining);
            }
            if workgroupUniformLoad(&still_uncolored) == 0u {
                break;
            }
        }
        for (var index = lane; index < length; index += FINISH_LANES) {
            if contacts[uncolored[index]].color == NONE {
                contacts[uncolored[index]].color = OVERFLOW_COLOR;
            }
        }
    }
}

var<workgroup> block_colors: array<u32, 256>;
var<workgroup> block_ranks: array<u32, 256>;
// Number of contacts of each colour in a segment of the block, then in all segments before it.
var<workgroup> segment_counts: array<u32, 1024>;
const SEGMENT: u32 = COLOR_BLOCK / COLOR_COUNT;
var<workgroup> block_counts: array<atomic<u32>, 32>;

fn color_of(index: u32) -> u32 {
    if index < counters.contacts && (contacts[index].flags & POINT_COUNT_MASK) != 0u {
        return contacts[index].color;
    }
    return NONE;
}

// One workgroup per block of contacts, also for empty blocks: the scan covers all.
@compute @workgroup_size(COLOR_BLOCK)
fn color_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    if lane < COLOR_COUNT {
        atomicStore(&block_counts[lane], 0u);
    }
    workgroupBarrier();
    let color = color_of(block * COLOR_BLOCK + lane);
    if color != NONE {
        atomicAdd(&block_counts[color], 1u);
    }
    workgroupBarrier();
    if lane < COLOR_COUNT && block < params.color_blocks {
        color_histogram[lane * params.color_blocks + block] = atomicLoad(&block_counts[lane]);
    }
}

// One workgroup per block.
@compute @workgroup_size(COLOR_BLOCK)
fn color_place(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = workgroup.y * workgroups.x + workgroup.x;
    let index = block * COLOR_BLOCK + lane;
    // The rank of each contact among those of its colour, in a reproducible order: one lane per segment of eight ranks
    // within it, then one lane per colour sums up the segments.
    let color = color_of(index);
    block_colors[lane] = color;
    for (var count = lane; count < COLOR_COUNT * COLOR_COUNT; count += COLOR_BLOCK) {
        segment_counts[count] = 0u;
    }
    workgroupBarrier();
    if lane < COLOR_COUNT {
        for (var other = lane * SEGMENT; other < (lane + 1u) * SEGMENT; other += 1u) {
            let color = block_colors[other];
            if color != NONE {
                let rank = segment_counts[lane * COLOR_COUNT + color];
                block_ranks[other] = rank;
                segment_counts[lane * COLOR_COUNT + color] = rank + 1u;
            }
        }
    }
    workgroupBarrier();
    if lane < COLOR_COUNT {
        var before = 0u;
        // Equal to the number of colours. Not a constant, or compilers would unroll the loop that often.
        let segments = min(COLOR_COUNT, params.color_blocks * COLOR_COUNT);
        for (var segment = 0u; segment < segments; segment += 1u) {
            let count = segment_counts[segment * COLOR_COUNT + lane];
            segment_counts[segment * COLOR_COUNT + lane] = before;
            before += count;
        }
    }
    workgroupBarrier();
    if color != NONE && block < params.color_blocks {
        let rank = segment_counts[lane / SEGMENT * COLOR_COUNT + color] + block_ranks[lane];
        slots[color_histogram[color * params.color_blocks + block] + rank] = index;
    }
    if block == 0u && lane < COLOR_COUNT {
        let start = color_histogram[lane * params.color_blocks];
        counters.color_starts[lane] = start;
        color_starts[lane] = start;
    }
    if block == 0u && lane == COLOR_COUNT {
        let end = atomicLoad(&counters.touching);
        counters.color_starts[COLOR_COUNT] = end;
        color_starts[COLOR_COUNT] = end;
        // For prepare, which has no binding left for another buffer.
        slots[params.contact_capacity] = end;
    }
}
