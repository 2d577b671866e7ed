// The legend of colours and arrows: plates, texts and ramps laid out by src/legend.rs. The largest measured value is
// written by a kernel here, since only the device knows it.

//#import types
//#import draw/view
//#import draw/palette

struct Plate {
    // Left, top, width and height on the picture, px, y down.
    place: vec4<f32>,
    // One of PLATE_FILL …; its packed colour or position in a palette; index of a text's first byte in `glyphs`.
    kind: u32,
    color: u32,
    bits: u32,
    // Width of a letter of the value, px.
    advance: u32,
}

const PLATE_FILL: u32 = 0u;
// One byte of coverage per pixel.
const PLATE_LETTER: u32 = 1u;
const PLATE_SCALE: u32 = 2u;
const PLATE_SLEEP: u32 = 3u;
const PLATE_GRAPH: u32 = 4u;

// Plates that show the largest value: index of the first, and number of letters (four for the number, one for the
// prefix), and after these the unit and the word before the number. Below, indices of the available letters: digits,
// then the point, the prefixes n, µ, m and a blank.
const VALUE_FIRST: u32 = 1u;
const VALUE_LETTERS: u32 = 5u;
const VALUE_UNIT: u32 = 6u;
const VALUE_WORD: u32 = 7u;
const LETTER_POINT: u32 = 10u;
const LETTER_NANO: u32 = 11u;
const LETTER_BLANK: u32 = 14u;

@group(0) @binding(1) var<storage, read> plates: array<Plate>;
@group(0) @binding(2) var<storage, read_write> value_plates: array<Plate>;
@group(0) @binding(3) var<storage, read_write> measures: array<u32>;
@group(0) @binding(4) var<storage, read> glyphs: array<u32>;

struct PlateCorner {
    @builtin(position) clip: vec4<f32>,
    @location(0) @interpolate(flat) place: vec4<f32>,
    @location(1) @interpolate(flat) what: vec3<u32>,
}

// One thread. The last plates hold the available letters; they have no size and are not drawn themselves.
@compute @workgroup_size(1)
fn legend_value() {
    let letters = arrayLength(&value_plates) - LETTER_BLANK - 1u;
    var value = bitcast<f32>(measures[0]);
    // Each factor of a thousand is one prefix: m, µ, n.
    var prefix = 0u;
    while prefix < 3u && value > 0.0 && value < 0.9995 {
        value = value * 1000.0;
        prefix += 1u;
    }
    // Three significant digits, and the position of the decimal point.
    var point = 1u;
    var digits = u32(clamp(value, 0.0, 9e5) * 100.0 + 0.5);
    while digits > 999u && point < 3u {
        point += 1u;
        value = value * 0.1;
        digits = u32(clamp(value, 0.0, 9e5) * 100.0 + 0.5);
    }
    digits = min(digits, 999u);
    var chosen = array<u32, 5>(digits / 100u, (digits / 10u) % 10u, digits % 10u, LETTER_BLANK, LETTER_BLANK);
    if point < 3u {
        chosen[3] = chosen[2];
        if point == 1u {
            chosen[2] = chosen[1];
        }
        chosen[point] = LETTER_POINT;
    }
    if prefix > 0u {
        chosen[4] = LETTER_NANO + 3u - prefix;
    }
    // From the unit to the left, each letter by its own width, with a gap of half a digit before the prefix or the unit
    // and another after the word.
    let gap = f32(value_plates[letters].advance) * 0.5;
    var right = value_plates[VALUE_UNIT].place.x;
    for (var back = 1u; back <= VALUE_LETTERS; back += 1u) {
        let index = VALUE_LETTERS - back;
        let letter = value_plates[letters + chosen[index]];
        right -= f32(letter.advance);
        value_plates[VALUE_FIRST + index].bits = letter.bits;
        value_plates[VALUE_FIRST + index].place.x = right;
        right = select(right, floor(right - gap), back == 1u);
    }
    value_plates[VALUE_WORD].place.x = floor(right - gap - value_plates[VALUE_WORD].place.z);
}

@vertex
fn legend_vertex(@builtin(vertex_index) vertex: u32) -> PlateCorner {
    let plate = plates[vertex / 6u];
    let corner = corner_of(vertex);
    let unit = vec2<f32>(select(0.0, 1.0, (corner & 1u) != 0u), select(0.0, 1.0, (corner & 2u) != 0u));
    let what = vec3<u32>(plate.kind, plate.color, plate.bits);
    return PlateCorner(to_clip(plate.place.xy + unit * plate.place.zw), plate.place, what);
}

@fragment
fn legend_fragment(corner: PlateCorner) -> @location(0) vec4<f32> {
    let share = (corner.clip.xy - view.origin - corner.place.xy) / corner.place.zw;
    switch corner.what.x {
        case PLATE_LETTER: {
            let size = vec2<u32>(corner.place.zw);
            let cell = vec2<u32>(clamp(share, vec2<f32>(0.0), vec2<f32>(0.9999)) * corner.place.zw);
            let at = corner.what.z + cell.y * size.x + cell.x;
            let covered = (glyphs[min(at / 4u, arrayLength(&glyphs) - 1u)] >> (8u * (at % 4u))) & 0xffu;
            if covered == 0u {
                discard;
            }
            return to_target(view.ink.rgb, f32(covered) / 255.0);
        }
        case PLATE_SCALE: {
            return to_target(scale_color(share.x), 1.0);
        }
        case PLATE_SLEEP: {
            return to_target(sleep_color(share.x), 1.0);
        }
        case PLATE_GRAPH: {
            return to_target(graph_color(corner.what.y), 1.0);
        }
        default: {
            let color = unpack4x8unorm(corner.what.y);
            return to_target(color.rgb, color.a);
        }
    }
}
