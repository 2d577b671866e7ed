//! Rows of a contact constraint, in the order of the colours: what the solver's sweeps read and write.

use bytemuck::{Pod, Zeroable};

/// Part of a constraint that only some materials need: sliding friction, belts, resistance to rolling. In the order of
/// the constraints; empty in worlds without such materials ([`SURFACES`](super::SURFACES)).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Surface {
    /// Mixed coefficient of friction while sliding.
    pub kinetic_friction: f32,
    /// Sum of both surface speeds, m/s: friction drives the tangential speed of B against A towards it.
    pub tangent_speed: f32,
    /// Mixed rolling resistance times the larger radius, m.
    pub rolling_resistance: f32,
    /// Impulse against rolling accumulated in the substep, N·m·s.
    pub rolling_impulse: f32,
}

/// A contact constraint as the sweeps on the device read it, in colour order. It holds only what sweeps read, as they
/// are bound by memory: effective masses are computed in the sweep, and the second arm on B is `r_a[1] + (r_b −
/// r_a[0])`, as both points have the same vector from A to B between their arms. The table `slots` maps contacts to
/// constraints. On the device constraints are stored in tiles ([`ConstraintTile`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Constraint {
    /// Index of body A.
    pub body_a: u32,
    /// Index of body B.
    pub body_b: u32,
    /// Unit vector from A to B.
    pub normal: [f32; 2],
    /// Inverse mass of A, 1/kg.
    pub inv_mass_a: f32,
    /// Inverse inertia of A, 1/(kg·m²).
    pub inv_inertia_a: f32,
    /// Inverse mass of B, 1/kg.
    pub inv_mass_b: f32,
    /// Inverse inertia of B, 1/(kg·m²).
    pub inv_inertia_b: f32,
    /// Copy of [`Contact::flags`](super::Contact::flags). The fields of a missing point are zero.
    pub flags: u32,
    /// Mixed coefficient of friction at rest.
    pub friction: f32,
    /// Separation of points 0 and 1, the deeper one first, when the step began, less the preload of the contact
    /// ([`Manifold::preloads`](super::Manifold::preloads)), m. Later it is
    /// `separation + (Δp_b + (Δq_b − 1) r_b − Δp_a − (Δq_a − 1) r_a)·n`.
    pub separations: [f32; 2],
    /// Lever arms on A of points 0 and 1, m.
    pub r_a: [[f32; 2]; 2],
    /// Lever arm on B of point 0, m.
    pub r_b: [f32; 2],
    /// Separation of points 0 and 1 as last measured by a sweep, m ([`MEASURED`](super::MEASURED)).
    pub measured: [f32; 2],
    /// Normal and tangent impulse of point 0, then of point 1, N·s.
    pub impulses: [f32; 4],
}

/// Constraints of a [`ConstraintTile`].
pub const TILE_LANES: u32 = 32;

/// Constraints of successive slots as the device stores them: each field side by side, so that neighbouring threads
/// read and write neighbouring words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct ConstraintTile {
    /// [`Constraint::body_a`], [`Constraint::body_b`], [`Constraint::flags`], and the bits of [`Constraint::friction`].
    pub links: [[u32; 4]; TILE_LANES as usize],
    /// [`Constraint::normal`], [`Constraint::separations`].
    pub frames: [[f32; 4]; TILE_LANES as usize],
    /// Inverse mass and inverse inertia of A, then of B.
    pub inv_masses: [[f32; 4]; TILE_LANES as usize],
    /// Both [`Constraint::r_a`].
    pub r_a: [[f32; 4]; TILE_LANES as usize],
    /// [`Constraint::r_b`].
    pub r_b: [[f32; 2]; TILE_LANES as usize],
    /// [`Constraint::measured`].
    pub measured: [[f32; 2]; TILE_LANES as usize],
    /// [`Constraint::impulses`].
    pub impulses: [[f32; 4]; TILE_LANES as usize],
}

impl ConstraintTile {
    /// Returns the constraints of the tile, in the order of their slots.
    pub fn constraints(&self) -> impl Iterator<Item = Constraint> + '_ {
        (0..TILE_LANES as usize).map(|lane| {
            let [body_a, body_b, flags, friction] = self.links[lane];
            let [normal_x, normal_y, separation_0, separation_1] = self.frames[lane];
            let [inv_mass_a, inv_inertia_a, inv_mass_b, inv_inertia_b] = self.inv_masses[lane];
            let [x_0, y_0, x_1, y_1] = self.r_a[lane];
            Constraint {
                body_a,
                body_b,
                normal: [normal_x, normal_y],
                inv_mass_a,
                inv_inertia_a,
                inv_mass_b,
                inv_inertia_b,
                flags,
                friction: f32::from_bits(friction),
                separations: [separation_0, separation_1],
                r_a: [[x_0, y_0], [x_1, y_1]],
                r_b: self.r_b[lane],
                measured: self.measured[lane],
                impulses: self.impulses[lane],
            }
        })
    }
}

/// Part of a [`Constraint`] in worlds with restitution ([`BOUNCES`](super::BOUNCES)).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Rebound {
    /// Mixed coefficient of restitution.
    pub restitution: f32,
    /// Sum of the radii of two discs centred on their bodies, m; 0 for other pairs.
    pub radii: f32,
    /// Acceleration of B relative to A by gravity and forces, m/s².
    pub acceleration: [f32; 2],
    /// Vector from the centre of disc A to that of disc B when the step began, m; 0 for other pairs.
    pub between: [f32; 2],
    /// Radius of disc A, m; 0 for other pairs.
    pub radius_a: f32,
    /// Unused, zero.
    pub pad: u32,
    /// Normal and tangent impulse of the step's impacts at point 0, then at point 1, N·s.
    pub impulses: [f32; 4],
}
