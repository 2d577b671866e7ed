//! Broadphase: the pairs found by the grid are those that overlap, against brute force, with shapes of all sizes and
//! forms.

use crate::support::{Random, compile, context, cpu, gpu};
use drystone::glam::Vec2;
use drystone::low_level::GpuWorld;
use drystone::low_level::constants::FAR_MARGIN;
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::bin::{bin, level_of};
use drystone::low_level::stages::bound::bound_shape;
use drystone::low_level::stages::pair::may_meet;
use drystone::low_level::types::{Aabb, FIXED_SHAPE, Pose, SENSOR_SHAPE, ShapeData};
use drystone::{Body, Scene, Shape, Snapshot};

/// Returns small boxes and circles among many long shelves, posts, turning walls and flying planks.
fn mixture(seed: u64) -> Scene {
    let mut random = Random(seed);
    let mut scene = Scene::new(format!("mixture {seed}"));
    let at = |random: &mut Random| [random.between(-40.0, 40.0), random.between(-40.0, 40.0)];
    let mut shelves = Body::fixed(0.0, 0.0);
    for _ in 0..30 {
        let [x, y] = at(&mut random);
        shelves = shelves.shape(Shape::half_box(random.between(8.0, 12.0), 0.1).offset(x, y));
    }
    scene.add(shelves);
    for _ in 0..25 {
        let [x, y] = at(&mut random);
        scene.add(Body::fixed(x, y).shape(Shape::half_box(0.1, random.between(8.0, 12.0))));
        let [x, y] = at(&mut random);
        let wall = Shape::half_box(random.between(8.0, 12.0), 0.2);
        scene.add(Body::kinematic(x, y).angle(random.between(-3.0, 3.0)).angular_velocity(3.0).shape(wall));
        let [x, y] = at(&mut random);
        let plank = Shape::half_box(0.1, random.between(6.0, 12.0));
        let spin = random.between(-3.0, 3.0);
        let zone = Shape::half_box(random.between(0.3, 9.0), 2.0).sensor();
        scene.add(if y < 0.0 { Body::fixed(y, x) } else { Body::kinematic(y, x).velocity(4.0, 0.0) }.shape(zone));
        scene.add(Body::dynamic(x, y).angle(random.between(-0.1, 0.1)).angular_velocity(spin).shape(plank));
    }
    for index in 0..3_000 {
        let [x, y] = at(&mut random);
        let size = random.between(0.1, 0.3);
        let shape = if index % 2 == 0 { Shape::circle(size) } else { Shape::half_box(size, 0.5 * size) };
        scene.add(Body::dynamic(x, y).velocity(random.between(-9.0, 9.0), 0.0).angle(x).shape(shape));
    }
    // The only shape on its level.
    scene.add(Body::fixed(10.0, -38.0).angle(0.02).shape(Shape::half_box(300.0, 0.5)));
    // Far outside: on the torus they coincide with the others, in the world they do not.
    for index in 0..20_u8 {
        let far = 1_000.0 + 700.0 * f32::from(index);
        scene.add(Body::dynamic(far, -far).shape(Shape::half_box(0.3, 0.3)));
        scene.add(Body::dynamic(far, -far).shape(Shape::half_box(9.0, 0.1)));
    }
    scene
}

fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..2).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis])
}

/// Returns the box in which a dynamic shape looks for fixed ones: extended by its motion in the step, at most by its
/// size, unless it moves less than the margin or is swept: if it turns, or moves further than it is wide.
fn box_ahead(compiled: &Compiled, before: &Snapshot, shape: usize, aabb: &Aabb, margin: f32) -> Aabb {
    let index = compiled.shapes[shape].body as usize;
    let (body, state, dt) = (&compiled.bodies[index], &before.states[index], compiled.params.dt);
    let moved = state.velocity.map(|speed| speed * dt);
    let turn = (state.angular_velocity * body.extent * dt).abs();
    let far = moved[0].hypot(moved[1]) + turn;
    let goes_far = turn > 0.5 * body.min_extent || far > 2.0 * body.extent;
    let is_swept = far > 0.5 * body.min_extent && body.min_extent < body.extent && goes_far;
    let is_dynamic = compiled.shapes[shape].kind & FIXED_SHAPE == 0;
    let mut ahead = *aabb;
    if is_dynamic && !is_swept && moved.iter().any(|moved| moved.abs() > margin) {
        for (axis, moved) in moved.into_iter().enumerate() {
            let size = aabb.max[axis] - aabb.min[axis];
            let reach = moved.clamp(-size, size);
            ahead.min[axis] = aabb.min[axis].min(aabb.min[axis] + reach);
            ahead.max[axis] = aabb.max[axis].max(aabb.max[axis] + reach);
        }
    }
    ahead
}

/// Returns the AABB of a box or disc, grown by `margin`, m, and by what its coordinates may be rounded.
fn aabb_of(shape: &ShapeData, poses: &[Pose], margin: f32) -> Aabb {
    let pose = &poses[shape.body as usize];
    bound_shape(shape, &[], pose, margin + Vec2::from(pose.position).abs() * FAR_MARGIN)
}

/// Returns the pairs that must be found from this state, producer first, sorted. `skip` is an excluded body.
fn brute_force(compiled: &Compiled, before: &Snapshot, margin: f32, skip: usize) -> Vec<[u32; 2]> {
    let shapes = &compiled.shapes;
    let aabbs: Vec<Aabb> = shapes.iter().map(|shape| aabb_of(shape, &before.poses, margin)).collect();
    let ahead: Vec<Aabb> = aabbs
        .iter()
        .enumerate()
        .map(|(shape, aabb)| box_ahead(compiled, before, shape, aabb, compiled.params.aabb_margin))
        .collect();
    let mut pairs = Vec::new();
    for b in 0..shapes.len() {
        for a in 0..b {
            let (one, other) = (&shapes[a], &shapes[b]);
            let [one_is_fixed, other_is_fixed] = [one, other].map(|shape| shape.kind & FIXED_SHAPE != 0);
            let is_first = (one.level, one_is_fixed) <= (other.level, other_is_fixed);
            let [producer, partner] = if is_first { [a, b] } else { [b, a] };
            let near = if shapes[partner].kind & FIXED_SHAPE == 0 { &aabbs } else { &ahead };
            if overlap(&near[producer], &aabbs[partner])
                && one.body != other.body
                && one.body as usize != skip
                && other.body as usize != skip
                && (one.kind & other.kind & FIXED_SHAPE == 0 || (one.kind | other.kind) & SENSOR_SHAPE != 0)
                && may_meet(one, other)
            {
                pairs.push([u32::try_from(producer).unwrap(), u32::try_from(partner).unwrap()]);
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn pairs(snapshot: &Snapshot) -> Vec<[u32; 2]> {
    snapshot.contacts.iter().map(|contact| [contact.shape_a, contact.shape_b]).collect()
}

fn sorted(mut pairs: Vec<[u32; 2]>) -> Vec<[u32; 2]> {
    pairs.sort_unstable();
    pairs
}

#[test]
fn both_backends_find_what_brute_force_finds() {
    for seed in 1..=2 {
        let scene = mixture(seed);
        let (mut cpu, mut gpu) = (cpu(&scene), gpu(&scene));
        let margin = cpu.compiled().params.aabb_margin;
        for step in 0..40_u64 {
            let mut before = cpu.snapshot();
            let last = before.states.len() - 1;
            if step == 20 {
                before.states[last].velocity[0] = f32::NAN;
                cpu.restore(&before).expect("its own snapshot");
            }
            let skip = if step < 20 { usize::MAX } else { last };
            let look = step % 10 == 0;
            if look {
                gpu.restore(&before).expect("a snapshot of the same scene");
                gpu.step().expect("a step");
            }
            cpu.step().unwrap();
            if look {
                let after = cpu.snapshot();
                let expected = brute_force(cpu.compiled(), &before, margin, skip);
                assert!(expected.len() > 2_000, "seed {seed}, step {step}: only {} pairs", expected.len());
                assert_eq!(sorted(pairs(&after)), expected, "seed {seed}, step {step}");
                let device = gpu.snapshot().expect("a snapshot");
                assert_eq!(pairs(&device), pairs(&after), "seed {seed}, step {step}: in the same order");
                // Negative control: with a slightly smaller margin, the pairs differ.
                assert_ne!(sorted(pairs(&after)), brute_force(cpu.compiled(), &before, 0.9 * margin, skip));
            }
        }
    }
}

/// Negative control: cells that are too thin for their shapes lose pairs, and brute force detects it.
#[test]
fn shapes_in_cells_too_thin_for_them_are_missed() {
    let scene = mixture(3);
    let compiled = compile(&scene);
    let patch = Patch {
        shader: "bin",
        from: "level_of(shapes[index].level, aabb)",
        to: "shapes[index].level + min(1u, params.levels[shapes[index].level].bands)",
    };
    for (patches, same) in [(&[][..], true), (&[patch][..], false)] {
        let mut world = GpuWorld::patched(context(), &scene, patches).expect("a valid shader");
        let before = world.snapshot().expect("a snapshot");
        world.step().expect("a step");
        let found = sorted(pairs(&world.snapshot().expect("a snapshot")));
        let expected = brute_force(&compiled, &before, compiled.params.aabb_margin, usize::MAX);
        assert_eq!(found == expected, same, "{} pairs found, {} there", found.len(), expected.len());
    }
}

/// The scenes above do use all three forms of cells.
#[test]
fn long_shapes_lie_on_bands() {
    let compiled = compile(&mixture(1));
    let own = compiled.params.levels.iter().position(|level| level.bands == 2).expect("a level with two bands");
    let mut counts = [0; 3];
    for shape in compiled.shapes.iter().filter(|shape| shape.level as usize == own) {
        let aabb = aabb_of(shape, &compiled.poses, compiled.params.aabb_margin);
        counts[level_of(&compiled.params, shape.level, &aabb) as usize - own] += 1;
    }
    assert!(counts.iter().all(|&count| count > 10), "square, low, narrow: {counts:?}");
}

/// A thousand shelves, one above the other, and boxes on them: no cell holds more than a few shapes.
#[test]
fn a_thousand_shelves_do_not_share_a_cell() {
    let mut scene = Scene::new("library");
    let mut shelves = Body::fixed(0.0, 0.0);
    for shelf in 0..1_000_u16 {
        shelves = shelves.shape(Shape::half_box(60.0, 0.1).offset(0.0, 2.0 * f32::from(shelf)));
    }
    scene.add(shelves);
    for index in 0..20_000_u16 {
        let (row, column) = (f32::from(index / 20), f32::from(index % 20));
        scene.add(Body::dynamic(6.0 * column - 57.0, 2.0 * row + 0.6).shape(Shape::half_box(0.5, 0.5)));
    }
    let mut compiled = compile(&scene);
    let bodies = &compiled.poses;
    let margin = compiled.params.aabb_margin;
    let aabbs: Vec<Aabb> = compiled.shapes.iter().map(|shape| aabb_of(shape, bodies, margin)).collect();
    let fullest = |compiled: &Compiled| {
        let (mut ends, mut sorted) = (Vec::new(), Vec::new());
        bin(&compiled.params, &compiled.shapes, &aabbs, &mut ends, &mut sorted);
        ends.windows(2).map(|pair| pair[1] - pair[0]).max().expect("cells")
    };
    assert!(fullest(&compiled) <= 8, "{} shapes in one cell", fullest(&compiled));
    // Negative control: square cells hold dozens.
    for level in &mut compiled.params.levels {
        level.bands = 0;
    }
    assert!(fullest(&compiled) > 30, "{} shapes in one cell", fullest(&compiled));
}
