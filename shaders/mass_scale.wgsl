// Masses of bodies that are squeezed between others. Twin: src/mass_scale.rs.

//#import types
//#import math
//#import constants

const MASS_OCTAVE: i32 = 128;
const MASS_GROWTH: i32 = 8;
const MASS_SLACK: i32 = 256;
const MASS_LARGEST: i32 = 2047;

// Returns the share that the true mass of a body is of its scaled mass.
fn mass_share(status: u32) -> f32 {
    return bitcast<f32>(0x3f800000u - (((status & MASS_MASK) >> MASS_SHIFT) << 16u));
}

// Returns the spring of a contact between two bodies that move, with the damping ratio for their masses.
fn damped(spring: vec4<f32>, h: f32, status_a: u32, status_b: u32) -> vec4<f32> {
    let share = max(max(mass_share(status_a), mass_share(status_b)), DAMPED_SHARE);
    if share == 1.0 {
        return spring;
    }
    let together = share + (1.0 - h * spring.x) * (1.0 - share);
    let scale = spring.y * together;
    let leak = spring.z * share;
    return vec4<f32>(spring.x * (share / together), scale / (scale + leak), leak / (scale + leak), spring.w);
}

// Returns the status of an awake dynamic body with the mass of its next step, from the mass that its contacts asked
// for less what accelerates it, as a factor of its scaled mass. A body that is hit has no load.
fn next_status(status: u32, load: f32, is_calm: bool) -> u32 {
    let old = i32((status & MASS_MASK) >> MASS_SHIFT);
    var wanted = -MASS_SLACK;
    if is_calm && load > 0.0 {
        wanted = old + ((bitcast<i32>(load) - 0x3f800000 + 0xffff) >> 16u);
    }
    let high = max(wanted + MASS_SLACK, 0);
    var code = old;
    if old < wanted {
        code = min(wanted, old + clamp(old / 4, 1, MASS_GROWTH));
    } else if old > high {
        code = max(high, old - MASS_OCTAVE);
    }
    return (status & ~MASS_MASK) | (u32(min(code, MASS_LARGEST)) << MASS_SHIFT);
}

// Returns how far the spring of a point gives way with scaled inverse masses and inertias, as a share of how far it
// does with the true ones.
fn softening_at(scaled: vec4<f32>, unscaled: vec4<f32>, r_a: vec2<f32>, r_b: vec2<f32>, normal: vec2<f32>) -> f32 {
    let most = inverse_mass_at(unscaled, r_a, r_b, normal);
    if most > 0.0 {
        return inverse_mass_at(scaled, r_a, r_b, normal) / most;
    }
    return 1.0;
}

// Returns about the same for all points of a contact, given its scaled inverse masses, without their arms.
fn softening(inv_mass_a: f32, inv_mass_b: f32, status_a: u32, status_b: u32) -> f32 {
    if ((status_a | status_b) & MASS_MASK) == 0u {
        return 1.0;
    }
    let true_sum = inv_mass_a / mass_share(status_a) + inv_mass_b / mass_share(status_b);
    if true_sum > 0.0 {
        return (inv_mass_a + inv_mass_b) / true_sum;
    }
    return 1.0;
}
