// Layout of `partners`, a table of PARTNER_WORDS words per shape: the count, the first partners, the motion. bound and
// wake clear it, pair fills it.

const PARTNER_WORDS: u32 = 10u;
// Word of the motion by which a shape looks ahead for fixed shapes, two words; those before are the partners.
const AHEAD_WORD: u32 = 8u;
// The first word of a shape's partners is their count and, if bodies may sleep, a flag for asleep and one for "an awake
// shape met it".
const PARTNER_COUNT: u32 = 0x3fffffffu;
const SHAPE_MARKED: u32 = 0x40000000u;
const SHAPE_ASLEEP: u32 = 0x80000000u;
