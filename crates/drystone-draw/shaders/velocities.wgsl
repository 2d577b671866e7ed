// Velocities of bodies: an arrow from each centre of mass, read directly from the solver's tables.

//#import types
//#import pose
//#import draw/view
//#import draw/marks

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> states: array<BodyState>;

@vertex
fn velocity_vertex(@builtin(vertex_index) vertex: u32) -> Mark {
    let index = vertex / 6u;
    if index >= min(view.body_count, min(arrayLength(&poses), arrayLength(&states))) {
        return no_mark();
    }
    let at = to_pixel(vector_from(view.center, poses[index]));
    let velocity = states[index].velocity;
    let far = held_back(vec2<f32>(velocity.x, -velocity.y) * view.velocity_arrow);
    // Arrows fade out where bodies are a few pixels wide.
    let shown = clamp((view.length - 1.5) / 6.0, 0.0, 1.0);
    let head = clamp(0.2 * view.length, 2.5 * view.unit, 6.0 * view.unit);
    let form = select(MARK_NONE, MARK_ARROW, dot(far, far) > 1.0);
    return make_mark(vertex, form, at, at + far, 0.9 * view.unit, head, vec4<f32>(view.velocity.rgb, shown));
}
