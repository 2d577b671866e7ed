// color: src/stages/color.rs. Colours the contacts, so that no two of a colour share a dynamic body: color_inherit;
// color_claim and color_commit several times or not at all; color_finish; color_count, scan, color_place; color_split.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(2) var<storage, read_write> color_masks: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> color_claims: array<atomic<u32>>;
// Two lists, of which each round reads one and writes the other. Their order differs from run to run and does not
// matter.
@group(0) @binding(4) var<storage, read_write> uncolored: array<array<u32, 2>>;
@group(0) @binding(5) var<storage, read_write> color_histogram: array<u32>;
@group(0) @binding(6) var<storage, read_write> slots: array<u32>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;
@group(0) @binding(8) var<storage, read_write> color_starts: array<u32>;
@group(0) @binding(9) var<storage, read> states: array<BodyState>;
@group(0) @binding(10) var<storage, read_write> contact_slots: array<u32>;
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

// Returns the number of contacts without a colour when a round begins.
fn uncolored_count(round: u32) -> u32 {
    if round == 1u {
        return atomicLoad(&counters.uncolored);
    }
    return atomicLoad(&counters.left[round % 2u]);
}

// Run by one thread while a round of `count` contacts begins: empties the list of the next.
fn begin_round(round: u32, count: u32) {
    if count > 0u {
        atomicMax(&counters.rounds, round);
    }
    atomicStore(&counters.left[(round + 1u) % 2u], 0u);
}

// Contact `index` of the list of a round proposes a colour, and claims it at its bodies.
fn claim(index: u32, round: u32) {
    let contact = uncolored[index][round % 2u];
    let color = propose(contact);
    if color == OVERFLOW_COLOR {
        contacts[contact].color = OVERFLOW_COLOR;
        take(contact, contacts[contact].flags, OVERFLOW_COLOR);
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

// Contact `index` of the list of a round gets its colour if its claims hold. Otherwise it is in the list of the next.
fn commit(index: u32, round: u32) {
    let contact = uncolored[index][round % 2u];
    let proposal = contacts[contact].color;
    if (proposal & PROPOSAL) == 0u {
        return;
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
        return;
    }
    contacts[contact].color = NONE;
    uncolored[atomicAdd(&counters.left[(round + 1u) % 2u], 1u)][(round + 1u) % 2u] = contact;
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
    if (params.switches & FORCE_OVERFLOW) != 0u || half_asleep || (flags & (HUB_A | HUB_B)) != 0u {
        contacts[index].color = OVERFLOW_COLOR;
    } else if color < COLOR_COUNT && color != OVERFLOW_COLOR {
        take(index, flags, color);
    } else {
        contacts[index].color = NONE;
        // The first round is odd.
        uncolored[atomicAdd(&counters.uncolored, 1u)][1] = index;
    }
}

@compute @workgroup_size(LANES)
fn color_claim(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let stride = workgroups.x * workgroups.y * LANES;
    let count = uncolored_count(sweep.round);
    let first = flat_index(workgroup, workgroups, LANES, lane);
    if first == 0u {
        begin_round(sweep.round, count);
    }
    for (var index = first; index < count; index += stride) {
        claim(index, sweep.round);
    }
}

@compute @workgroup_size(LANES)
fn color_commit(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let stride = workgroups.x * workgroups.y * LANES;
    let count = uncolored_count(sweep.round);
    for (var index = flat_index(workgroup, workgroups, LANES, lane); index < count; index += stride) {
        commit(index, sweep.round);
    }
}

const FINISH_LANES: u32 = 256u;
var<workgroup> list_length: u32;

// One workgroup: all remaining rounds, from `sweep.round` on.
@compute @workgroup_size(256)
fn color_finish(@builtin(local_invocation_index) lane: u32) {
    var round = sweep.round;
    var length = 0u;
    loop {
        if lane == 0u {
            list_length = uncolored_count(round);
        }
        length = workgroupUniformLoad(&list_length);
        if length == 0u || round > MAX_COLOR_ROUNDS {
            break;
        }
        if lane == 0u {
            begin_round(round, length);
        }
        for (var index = lane; index < length; index += FINISH_LANES) {
            claim(index, round);
        }
        storageBarrier();
        workgroupBarrier();
        for (var index = lane; index < length; index += FINISH_LANES) {
            commit(index, round);
        }
        storageBarrier();
        workgroupBarrier();
        round += 1u;
    }
    for (var index = lane; index < length; index += FINISH_LANES) {
        contacts[uncolored[index][round % 2u]].color = OVERFLOW_COLOR;
    }
    workgroupBarrier();
    if lane == 0u {
        atomicStore(&counters.left[0], 0u);
        atomicStore(&counters.left[1], 0u);
    }
}

var<workgroup> block_colors: array<u32, 256>;
var<workgroup> block_ranks: array<u32, 256>;
// Number of contacts of each colour in a segment of the block, then in all segments before it.
var<workgroup> segment_counts: array<u32, 1024>;
const SEGMENT: u32 = COLOR_BLOCK / COLOR_COUNT;
var<workgroup> block_counts: array<atomic<u32>, 32>;

// Returns true if all colours of contacts between dynamic bodies are taken at a body, and one of its contacts is in the
// overflow.
fn is_hub(body: u32) -> bool {
    const ALL = DYNAMIC_MASK | (1u << OVERFLOW_COLOR);
    return (atomicLoad(&color_masks[body]) & ALL) == ALL;
}

// Returns true if all of the overflow can be split, as that of the previous step, which the counters still have.
fn can_split() -> bool {
    let size = counters.color_starts[OVERFLOW_COLOR + 1u] - counters.color_starts[OVERFLOW_COLOR];
    return splits_overflow() && size <= max_splits(params.shape_count);
}

// Returns true if the overflow is split, and not solved in order.
fn splits_overflow() -> bool {
    return (params.switches & FORCE_OVERFLOW) == 0u && max_splits(params.shape_count) > 0u;
}

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
    let index = block * COLOR_BLOCK + lane;
    var color = color_of(index);
    // The colours of the contacts of new hubs are taken back.
    if color < DYNAMIC_COLORS && can_split() && (contacts[index].flags & (FIXED_A | FIXED_B)) == 0u {
        if is_hub(contacts[index].body_a) || is_hub(contacts[index].body_b) {
            color = OVERFLOW_COLOR;
            contacts[index].color = OVERFLOW_COLOR;
        }
    }
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
        let slot = color_histogram[color * params.color_blocks + block] + rank;
        slots[slot] = index;
        contact_slots[index] = slot;
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
        // Until `color_split` has run.
        color_starts[SPLIT_COUNT] = 0u;
        color_starts[HUB_COUNT] = 0u;
        color_starts[SHARE_COUNT] = 0u;
        slots[params.contact_capacity + 1u] = 0u;
        slots[params.contact_capacity + 2u] = 0u;
        // For prepare, which has no binding left for another buffer.
        slots[params.contact_capacity] = end;
    }
}

const SPLIT_LANES: u32 = 256u;
var<workgroup> split_count: u32;
var<workgroup> overflow_count: u32;
var<workgroup> hub_count: atomic<u32>;
var<workgroup> share_count: atomic<u32>;
var<workgroup> listed_hubs: u32;
// Body of a hub, its first share, and the first and last of its contacts that are split.
var<workgroup> current_hub: vec4<u32>;
// Lanes with a share of the current hub, as bits.
var<workgroup> found_shares: array<atomic<u32>, 8>;

// Claims of a body, which colouring no longer needs: number of its contacts that are split, the first and the last.
fn contact_count(body: u32) -> u32 {
    return body * CLAIM_SLOTS;
}

fn first_contact(body: u32) -> u32 {
    return body * CLAIM_SLOTS + 1u;
}

fn last_contact(body: u32) -> u32 {
    return body * CLAIM_SLOTS + 2u;
}

// One workgroup: lists the contacts of the overflow that are split, and their hubs (src/stages/color/split.rs).
@compute @workgroup_size(SPLIT_LANES)
fn color_split(@builtin(local_invocation_index) lane: u32) {
    let first = color_starts[OVERFLOW_COLOR];
    if lane == 0u {
        let most = select(0u, max_splits(params.shape_count), splits_overflow());
        overflow_count = color_starts[OVERFLOW_COLOR + 1u] - first;
        split_count = min(overflow_count, most);
        atomicStore(&hub_count, 0u);
        atomicStore(&share_count, 0u);
    }
    let count = workgroupUniformLoad(&split_count);
    // Where not all of the overflow can be split, no body counts as a hub: colours are then better.
    let all = overflow_count;
    for (var rest = count + lane; rest < all; rest += SPLIT_LANES) {
        contacts[slots[first + rest]].flags &= ~(HUB_A | HUB_B);
    }
    if count == 0u {
        return;
    }
    for (var split = lane; split < count; split += SPLIT_LANES) {
        let contact = slots[first + split];
        for (var end = 0u; end < 2u; end += 1u) {
            let body = select(contacts[contact].body_b, contacts[contact].body_a, end == 0u);
            atomicStore(&color_claims[contact_count(body)], 0u);
            atomicStore(&color_claims[first_contact(body)], NONE);
            atomicStore(&color_claims[last_contact(body)], 0u);
        }
    }
    storageBarrier();
    for (var split = lane; split < count; split += SPLIT_LANES) {
        let contact = slots[first + split];
        for (var end = 0u; end < 2u; end += 1u) {
            let body = select(contacts[contact].body_b, contacts[contact].body_a, end == 0u);
            if (contacts[contact].flags & select(FIXED_B, FIXED_A, end == 0u)) == 0u {
                atomicAdd(&color_claims[contact_count(body)], 1u);
                atomicMin(&color_claims[first_contact(body)], split);
                atomicMax(&color_claims[last_contact(body)], split);
            }
        }
    }
    storageBarrier();
    let share_words = HUB_WORDS + 3u * max_splits(params.shape_count);
    for (var split = lane; split < count; split += SPLIT_LANES) {
        let contact = slots[first + split];
        for (var end = 0u; end < 2u; end += 1u) {
            let body = select(contacts[contact].body_b, contacts[contact].body_a, end == 0u);
            let shares = max(atomicLoad(&color_claims[contact_count(body)]), 1u);
            // A body with no more contacts than there are colours is a hub no longer.
            let flag = select(HUB_B, HUB_A, end == 0u);
            contacts[contact].flags = (contacts[contact].flags & ~flag) | select(0u, flag, shares > DYNAMIC_COLORS && count == all);
            slots[params.contact_capacity + 3u + 2u * split + end] = shares;
            // The order of the hubs differs from run to run and does not matter.
            if shares > 1u && atomicLoad(&color_claims[first_contact(body)]) == split {
                let hub = atomicAdd(&hub_count, 1u);
                color_starts[HUB_WORDS + 3u * hub] = body;
                color_starts[HUB_WORDS + 3u * hub + 1u] = atomicAdd(&share_count, shares);
                color_starts[HUB_WORDS + 3u * hub + 2u] = shares;
            }
        }
    }
    storageBarrier();
    workgroupBarrier();
    if lane == 0u {
        listed_hubs = atomicLoad(&hub_count);
        color_starts[SPLIT_COUNT] = count;
        color_starts[HUB_COUNT] = listed_hubs;
        color_starts[SHARE_COUNT] = atomicLoad(&share_count);
        // For prepare, which has no binding left for another buffer.
        slots[params.contact_capacity + 1u] = first;
        slots[params.contact_capacity + 2u] = count;
    }
    let hubs = workgroupUniformLoad(&listed_hubs);
    // The shares of a hub in the order of their contacts.
    for (var hub = 0u; hub < hubs; hub += 1u) {
        if lane == 0u {
            let body = color_starts[HUB_WORDS + 3u * hub];
            let first_split = atomicLoad(&color_claims[first_contact(body)]);
            let last_split = atomicLoad(&color_claims[last_contact(body)]);
            current_hub = vec4<u32>(body, color_starts[HUB_WORDS + 3u * hub + 1u], first_split, last_split);
        }
        let current = workgroupUniformLoad(&current_hub);
        var share = current.y;
        for (var begin = current.z; begin <= current.w; begin += SPLIT_LANES) {
            if lane < SPLIT_LANES / 32u {
                atomicStore(&found_shares[lane], 0u);
            }
            workgroupBarrier();
            let split = begin + lane;
            var end = NONE;
            if split <= current.w {
                let contact = slots[first + split];
                if contacts[contact].body_a == current.x {
                    end = 0u;
                } else if contacts[contact].body_b == current.x {
                    end = 1u;
                }
            }
            if end != NONE {
                atomicOr(&found_shares[lane / 32u], 1u << (lane % 32u));
            }
            workgroupBarrier();
            var before = 0u;
            var in_chunk = 0u;
            for (var word = 0u; word < SPLIT_LANES / 32u; word += 1u) {
                let lanes = atomicLoad(&found_shares[word]);
                in_chunk += countOneBits(lanes);
                if word < lane / 32u {
                    before += countOneBits(lanes);
                } else if word == lane / 32u {
                    before += countOneBits(lanes & ((1u << (lane % 32u)) - 1u));
                }
            }
            if end != NONE {
                color_starts[share_words + 2u * (share + before)] = params.body_count + 2u * split + end;
                color_starts[share_words + 2u * (share + before) + 1u] = current.x;
            }
            workgroupBarrier();
            share += in_chunk;
        }
    }
}
