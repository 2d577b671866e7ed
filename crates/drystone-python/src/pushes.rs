//! Explosions and winds as Python gives them.

use drystone::{Explosion, Wind};

/// Impulse per length, radius and falloff of an explosion, and the categories that it pushes.
pub type Blast = (f32, f32, f32, u32);
/// Density, drag and lift of a wind, the categories that feel it, and whether it wakes bodies.
pub type Air = (f32, f32, f32, u32, bool);

/// Returns the explosion at a position, m.
pub fn explosion(position: [f32; 2], (impulse_per_length, radius, falloff, mask): Blast) -> Explosion {
    Explosion { position: position.into(), radius, falloff, impulse_per_length, mask }
}

/// Returns the wind with a velocity, m/s.
pub fn wind(velocity: [f32; 2], (density, drag, lift, mask, wake): Air) -> Wind {
    Wind { velocity: velocity.into(), density, drag, lift, mask, wake }
}
