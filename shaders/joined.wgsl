// Pairs of bodies that joints exclude from collision, for pair and continuous (twin: `PairExclusions` of
// src/scene/joint_table.rs). They are stored in `partners`, behind the table of partners of pair.wgsl.

//#import types

const PARTNER_WORDS: u32 = 10u;
// Word of the motion by which a shape looks ahead for fixed shapes, two words; those before are the partners.
const AHEAD_WORD: u32 = 8u;
// The first word of a shape's partners is their count and, if bodies may sleep, a flag for asleep and one for "an awake
// shape met it". All threads that mark a shape in one dispatch store the same value.
const PARTNER_COUNT: u32 = 0x3fffffffu;
const SHAPE_MARKED: u32 = 0x40000000u;
const SHAPE_ASLEEP: u32 = 0x80000000u;

fn are_joined(a: u32, b: u32) -> bool {
    let of_a = params.exclusion_heads + 2u * a;
    let of_b = params.exclusion_heads + 2u * b;
    var link = partners[of_a];
    var other = b;
    if partners[of_a + 1u] > partners[of_b + 1u] {
        link = partners[of_b];
        other = a;
    }
    while link != NONE {
        let at = params.exclusion_links + 2u * link;
        if partners[at] == other {
            return true;
        }
        link = partners[at + 1u];
    }
    return false;
}
