// Which bodies joints keep apart, in pair and continuous: it lies behind the partners of all shapes (Joints::joined).

const PARTNER_WORDS: u32 = 8u;

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
