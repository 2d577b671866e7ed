// Pairs of bodies that joints exclude from collision, for pair and continuous (twin: `PairExclusions` of
// src/scene/joint_table.rs). They are stored in `partners`, behind the table of partners of pair.wgsl. The importer
// defines `partners_word`, as to one kernel the words are atomic.

//#import types

fn are_joined(a: u32, b: u32) -> bool {
    let of_a = params.exclusion_heads + 2u * a;
    let of_b = params.exclusion_heads + 2u * b;
    var link = partners_word(of_a);
    var other = b;
    if partners_word(of_a + 1u) > partners_word(of_b + 1u) {
        link = partners_word(of_b);
        other = a;
    }
    while link != NONE {
        let at = params.exclusion_links + 2u * link;
        if partners_word(at) == other {
            return true;
        }
        link = partners_word(at + 1u);
    }
    return false;
}
