// The table of partners (pair.wgsl), and behind it which bodies joints keep apart (Joints::joined), in pair and continuous.

const PARTNER_WORDS: u32 = 8u;
// The first word of a shape's partners is their count and, where bodies sleep, whether it is asleep, and whether a shape
// that is awake met it. All who mark a shape in one dispatch store the same value.
const PARTNER_COUNT: u32 = 0x3fffffffu;
const SHAPE_MARKED: u32 = 0x40000000u;
const SHAPE_ASLEEP: u32 = 0x80000000u;

fn are_joined(a: u32, b: u32) -> bool {
    let base = params.shape_count * PARTNER_WORDS;
    var shorter = a;
    var longer = b;
    if partners[base + a + 1u] - partners[base + a] > partners[base + b + 1u] - partners[base + b] {
        shorter = b;
        longer = a;
    }
    let end = partners[base + shorter + 1u];
    for (var at = partners[base + shorter]; at < end; at += 1u) {
        if partners[base + at] == longer {
            return true;
        }
    }
    return false;
}
