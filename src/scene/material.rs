//! Materials of shapes, materials with a name, and the table of pairs of these.

use std::fmt;

use super::Scene;
use crate::constants::DEFAULT_FRICTION;

/// Surface of a shape: friction, restitution, surface speed and rolling resistance.
#[derive(Clone, Copy, PartialEq)]
pub struct Material {
    /// Coefficient of friction, at least 0; two are mixed by [`Settings::friction_mix`](crate::Settings::friction_mix).
    /// Default 0.6. Only at rest, if `kinetic_friction` is given.
    pub friction: f32,
    /// Coefficient of friction while sliding, from 0 to `friction`; mixed by the same rule. `None`: as at rest.
    pub kinetic_friction: Option<f32>,
    /// Share of the approach speed with which bodies part, 0 – 1. Default 0.
    pub restitution: f32,
    /// Speed of the surface along itself, m/s: positive is clockwise around the shape, so that a body on top is carried
    /// to the right. Those of two shapes add up. Default 0.
    pub tangent_speed: f32,
    /// Rolling resistance, at least 0: the torque against rolling is at most this times the normal force times the
    /// larger radius of the two shapes. The larger value of two shapes counts (Box2D). Default 0.
    pub rolling_resistance: f32,
    /// Index in [`Scene::materials`], by which the table of pairs finds the material. `None`: the material has no name,
    /// and is mixed with all others.
    pub index: Option<u8>,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            friction: DEFAULT_FRICTION,
            kinetic_friction: None,
            restitution: 0.0,
            tangent_speed: 0.0,
            rolling_resistance: 0.0,
            index: None,
        }
    }
}

/// Without an index the text is that of earlier releases: emitters are in fingerprints by their text.
impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { friction, kinetic_friction, restitution, tangent_speed, rolling_resistance, index } = self;
        let mut fields = f.debug_struct("Material");
        fields.field("friction", friction).field("kinetic_friction", kinetic_friction);
        fields.field("restitution", restitution).field("tangent_speed", tangent_speed);
        fields.field("rolling_resistance", rolling_resistance);
        if let Some(index) = index {
            fields.field("index", index);
        }
        fields.finish()
    }
}

/// A material with a name ([`Scene::add_material`]).
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMaterial {
    /// Name, unique among those of the scene.
    pub name: String,
    /// Values that shapes of this material have, unless they change them, and its own index.
    pub material: Material,
    /// Soft mode: stiffness of the contacts of its shapes, Hz, as
    /// [`Settings::contact_hertz`](crate::Settings::contact_hertz); the softer of two materials counts. `None`: that of
    /// the other material, or of the settings. A world with such a stiffness has no
    /// [mass scaling](crate::Settings::mass_scaling).
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of these contacts, above 0; `contact_hertz` must be given too. `None`:
    /// [`Settings::contact_damping_ratio`](crate::Settings::contact_damping_ratio).
    pub contact_damping_ratio: Option<f32>,
}

/// Friction, restitution and stiffness between shapes of two materials, in place of those by the mixing rules; also of
/// a material with itself. Values that are not given are mixed.
///
/// ```
/// use drystone::{Body, Material, MaterialPair, Scene, Shape, World};
///
/// let mut scene = Scene::new("rink");
/// let ice = scene.add_material("ice", Material { friction: 0.1, ..Material::default() });
/// let rubber = scene.add_material("rubber", Material { friction: 0.9, ..Material::default() });
/// scene.add_material_pair(MaterialPair::new("ice", "rubber").friction(0.2));
/// scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0).material(ice)));
/// let puck = scene.add(Body::dynamic(0.0, 0.1).velocity(4.0, 0.0).shape(Shape::half_box(0.3, 0.1).material(rubber)));
/// let mut world = World::new(&scene)?;
/// for _ in 0..180 {
///     world.step()?;
/// }
/// // Stopped after v² / (2 μ g).
/// let path = world.body(puck)?.position().x;
/// assert!((path - 16.0 / (2.0 * 0.2 * 9.81)).abs() < 0.1);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaterialPair {
    /// Names of the two materials, in any order.
    pub materials: [String; 2],
    /// Coefficient of friction, at least 0. `None`: mixed, and `kinetic_friction` too. Only at rest, if
    /// `kinetic_friction` is given.
    pub friction: Option<f32>,
    /// Coefficient of friction while sliding, from 0 to `friction`, which must be given too. `None`: as at rest.
    pub kinetic_friction: Option<f32>,
    /// Restitution, 0 – 1. `None`: mixed.
    pub restitution: Option<f32>,
    /// Soft mode: stiffness of their contacts, Hz. `None`: that of the softer material
    /// ([`NamedMaterial::contact_hertz`]).
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of their contacts, above 0; `contact_hertz` must be given too. `None`: that of the
    /// settings.
    pub contact_damping_ratio: Option<f32>,
}

impl MaterialPair {
    /// Returns a pair of materials by their names, without values.
    #[must_use]
    pub fn new(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { materials: [a.into(), b.into()], ..Self::default() }
    }

    /// Returns the pair with this coefficient of friction.
    #[must_use]
    pub fn friction(mut self, friction: f32) -> Self {
        self.friction = Some(friction);
        self
    }

    /// Returns the pair with this coefficient of friction while sliding.
    #[must_use]
    pub fn kinetic_friction(mut self, friction: f32) -> Self {
        self.kinetic_friction = Some(friction);
        self
    }

    /// Returns the pair with contacts of this stiffness, Hz, and damping ratio.
    #[must_use]
    pub fn contact_softness(mut self, hertz: f32, damping_ratio: f32) -> Self {
        (self.contact_hertz, self.contact_damping_ratio) = (Some(hertz), Some(damping_ratio));
        self
    }

    /// Returns the pair with this restitution, 0 – 1.
    #[must_use]
    pub fn restitution(mut self, restitution: f32) -> Self {
        self.restitution = Some(restitution);
        self
    }
}

/// Springs of contacts by material.
#[derive(Default)]
pub(super) struct ContactSprings {
    /// Stiffness, Hz, and damping ratio of each kind, from kind 1 on; kind 0 is that of the settings.
    pub springs: Vec<(f32, f32)>,
    /// Kind of the spring between two materials `a ≤ b`, numbered from 1, 0 for shapes without a named one. Pairs that
    /// are not in the list have kind 0.
    pub kinds: Vec<([usize; 2], usize)>,
}

impl Scene {
    /// Adds a material with a name and returns it, for [`Shape::material`](crate::Shape::material). A shape may change
    /// its values; pairs find it by its name.
    pub fn add_material(&mut self, name: impl Into<String>, material: Material) -> Material {
        let index = u8::try_from(self.materials.len()).unwrap_or(u8::MAX);
        let material = Material { index: Some(index), ..material };
        self.materials.push(NamedMaterial {
            name: name.into(),
            material,
            contact_hertz: None,
            contact_damping_ratio: None,
        });
        material
    }

    /// Adds friction and restitution of a pair of materials.
    pub fn add_material_pair(&mut self, pair: MaterialPair) {
        self.material_pairs.push(pair);
    }

    /// Returns the stiffness, Hz, and the damping ratio of contacts between two materials, numbered from 1, 0 for
    /// shapes without a named one. `None`: those of the settings.
    fn contact_spring(&self, a: usize, b: usize) -> Option<(f32, f32)> {
        let of = |place: usize| self.materials.get(place.checked_sub(1)?);
        let is_pair = |pair: &&MaterialPair| {
            let places = pair.materials.each_ref().map(|name| self.material_place(name).map(|place| place + 1));
            places == [Some(a), Some(b)] || places == [Some(b), Some(a)]
        };
        let own = self
            .material_pairs
            .iter()
            .find(is_pair)
            .and_then(|pair| pair.contact_hertz.map(|hertz| (hertz, pair.contact_damping_ratio)));
        let softer = || {
            let springs = [a, b]
                .into_iter()
                .filter_map(of)
                .filter_map(|material| material.contact_hertz.map(|hertz| (hertz, material.contact_damping_ratio)));
            springs.min_by(|x, y| x.0.total_cmp(&y.0))
        };
        let (hertz, damping_ratio) = own.or_else(softer)?;
        Some((hertz, damping_ratio.unwrap_or(self.settings.contact_damping_ratio)))
    }

    /// Returns the springs that the materials give to contacts.
    pub(super) fn contact_springs(&self) -> ContactSprings {
        let of_materials = self.materials.iter().map(|material| material.contact_hertz);
        if of_materials.chain(self.material_pairs.iter().map(|pair| pair.contact_hertz)).all(|hertz| hertz.is_none()) {
            return ContactSprings::default();
        }
        let (mut springs, mut kinds) = (Vec::new(), Vec::new());
        for b in 0..=self.materials.len() {
            for a in 0..=b {
                let Some(spring) = self.contact_spring(a, b) else { continue };
                let found = springs.iter().position(|&known| known == spring).unwrap_or_else(|| {
                    springs.push(spring);
                    springs.len() - 1
                });
                kinds.push(([a, b], found + 1));
            }
        }
        ContactSprings { springs, kinds }
    }

    /// Returns the material with this name.
    #[must_use]
    pub fn material(&self, name: &str) -> Option<Material> {
        Some(self.materials[self.material_place(name)?].material)
    }

    /// Returns the index of the material with this name.
    pub(crate) fn material_place(&self, name: &str) -> Option<usize> {
        self.materials.iter().position(|material| material.name == name)
    }
}
