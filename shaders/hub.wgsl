// Shares of hubs: src/stages/color/split.rs. For the sweeps and shares.wgsl, with the tables of sweep.wgsl. The words
// behind the colour starts list the hubs (body, first share, number of shares), then the shares (row, body).

//#import types
//#import math

// Mean motion of shares, times their number.
struct ShareSum {
    velocity: vec2<f32>,
    position: vec2<f32>,
    rotation: vec2<f32>,
    impulse_velocity: vec2<f32>,
    angular_velocity: f32,
    impulse_angular_velocity: f32,
}

fn zero_sum() -> ShareSum {
    return ShareSum(vec2<f32>(0.0), vec2<f32>(0.0), vec2<f32>(0.0), vec2<f32>(0.0), 0.0, 0.0);
}

fn added(a: ShareSum, b: ShareSum) -> ShareSum {
    return ShareSum(
        a.velocity + b.velocity,
        a.position + b.position,
        a.rotation + b.rotation,
        a.impulse_velocity + b.impulse_velocity,
        a.angular_velocity + b.angular_velocity,
        a.impulse_angular_velocity + b.impulse_angular_velocity,
    );
}

// Word of the first share's row.
fn share_words() -> u32 {
    return HUB_WORDS + 3u * max_splits(params.shape_count);
}

// Gives a share the state of its body.
fn hand_out(share: u32) {
    let word = share_words() + 2u * share;
    let row = color_starts[word];
    let body = color_starts[word + 1u];
    states[row] = states[body];
    accumulators[row] = accumulators[body];
}

// Sums up the motions of the shares `begin .. end` of a body.
fn sum_shares(body: u32, begin: u32, end: u32) -> ShareSum {
    var sum = zero_sum();
    // Read once: after a store the compiler must assume that it may have changed.
    let state = states[body];
    let impulses = accumulators[body];
    let words = share_words();
    for (var share = begin; share < end; share += 1u) {
        let row = color_starts[words + 2u * share];
        sum = added(sum, ShareSum(
            states[row].velocity - state.velocity,
            states[row].delta_position - state.delta_position,
            states[row].delta_rotation - state.delta_rotation,
            accumulators[row].velocity - impulses.velocity,
            states[row].angular_velocity - state.angular_velocity,
            accumulators[row].angular_velocity - impulses.angular_velocity,
        ));
    }
    return sum;
}

// Moves a body by the mean of its shares.
fn move_hub(body: u32, sum: ShareSum, count: f32) {
    states[body].velocity += sum.velocity / count;
    states[body].angular_velocity += sum.angular_velocity / count;
    states[body].delta_position += sum.position / count;
    if any(sum.rotation != vec2<f32>(0.0)) {
        let rotation = states[body].delta_rotation + sum.rotation / count;
        states[body].delta_rotation = rotation / length(rotation);
    }
    accumulators[body].velocity += sum.impulse_velocity / count;
    accumulators[body].angular_velocity += sum.impulse_angular_velocity / count;
    // It has contacts (constants.rs, UNTOUCHED).
    accumulators[body].asked_mass = max(accumulators[body].asked_mass, 0.0);
}

// Run by one lane: `shares_hand_out` for all shares.
fn hand_out_all() {
    for (var share = 0u; share < color_starts[SHARE_COUNT]; share += 1u) {
        hand_out(share);
    }
}

// Run by one lane: `shares_merge` for all hubs.
fn merge_all() {
    for (var hub = 0u; hub < color_starts[HUB_COUNT]; hub += 1u) {
        let body = color_starts[HUB_WORDS + 3u * hub];
        let first = color_starts[HUB_WORDS + 3u * hub + 1u];
        let end = first + color_starts[HUB_WORDS + 3u * hub + 2u];
        var sum = zero_sum();
        for (var begin = first; begin < end; begin += SHARE_CHUNK) {
            sum = added(sum, sum_shares(body, begin, min(begin + SHARE_CHUNK, end)));
        }
        move_hub(body, sum, f32(end - first));
    }
}
