// Which bodies joints keep apart, in pair and continuous: their lists lie behind the partners of all shapes (Ties).

const PARTNER_WORDS: u32 = 8u;

fn are_joined(a: u32, b: u32) -> bool {
    let of_a = params.tie_heads + 2u * a;
    let of_b = params.tie_heads + 2u * b;
    var link = partners[of_a];
    var other = b;
    if partners[of_a + 1u] > partners[of_b + 1u] {
        link = partners[of_b];
        other = a;
    }
    while link != NONE {
        let at = params.tie_links + 2u * link;
        if partners[at] == other {
            return true;
        }
        link = partners[at + 1u];
    }
    return false;
}
