// A contact as a rule sees it: `RuleContact` of src/types/rule.rs.

struct RuleContact {
    normal: vec2<f32>,
    velocity: vec2<f32>,
    separation: f32,
    friction: f32,
    kinetic_friction: f32,
    restitution: f32,
    tangent_speed: f32,
    rolling_resistance: f32,
    touches: u32,
    is_new: u32,
    material_a: u32,
    material_b: u32,
    category_a: u32,
    category_b: u32,
    body_a: u32,
    body_b: u32,
    shape_a: u32,
    shape_b: u32,
}
