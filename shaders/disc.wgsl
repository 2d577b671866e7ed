// Discs, for collide and prepare. The importer declares `shapes`. Twin: `is_centred_disc` of src/types/shape.rs.

//#import types

// Returns true for a disc about the centre of mass of its body.
fn is_centred_disc(shape: u32) -> bool {
    return (shapes[shape].kind & GEOMETRY_MASK) == CIRCLE && all(shapes[shape].offset == vec2<f32>(0.0));
}
