//! Layers of a picture (shapes, contacts, joints, arrows, grid, …), and the coloring of bodies by speed, sleep, island,
//! ….

/// Coloring of dynamic bodies; static and kinematic ones keep their colours. All but [`Self::Body`] need the tables of
/// a world ([`DrawInputs::tables`](super::DrawInputs::tables)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coloring {
    /// By index in the scene ([`Style::ramp`](super::Style::ramp)).
    #[default]
    Body,
    /// By speed of the centre of mass, on the logarithmic scale [`Layers::speed_range`].
    Speed,
    /// By the highest graph color among the contacts that touch the body. Colors are solved one after the other, so
    /// this shows how long a sweep takes to reach the body. Bodies without contacts are grey.
    GraphColor,
    /// Awake, below the sleep threshold for some time, asleep.
    Sleep,
    /// By present connection through contacts and joints; static and kinematic bodies do not connect. Bodies that touch
    /// nothing are grey. (The solver itself computes islands only among bodies about to fall asleep.)
    Island,
    /// By distance to the same body of another world ([`DrawInputs::reference`](super::DrawInputs::reference)), on the
    /// logarithmic scale [`Layers::distance_range`]. Bodies at exactly the same position are grey.
    Difference,
}

impl Coloring {
    /// All variants.
    pub const ALL: [Self; 6] = [Self::Body, Self::Speed, Self::GraphColor, Self::Sleep, Self::Island, Self::Difference];

    /// Returns the identifier of the coloring, as used in files and commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Speed => "speed",
            Self::GraphColor => "graph_color",
            Self::Sleep => "sleep",
            Self::Island => "island",
            Self::Difference => "difference",
        }
    }

    /// Returns the description of the coloring, as shown to users.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::GraphColor => "graph colour",
            _ => self.name(),
        }
    }
}

/// Layers to draw. Without tables ([`DrawInputs::tables`](super::DrawInputs::tables)) only `shapes` and `outlines` can
/// be on.
///
/// Lines and arrows have the same width at any zoom. The length of an arrow is proportional to the typical body. The
/// length of an impulse's arrow grows with the square root: the impulse that balances a typical body's weight for a
/// substep gives half a body width, four times that impulse nearly a full width. Arrows of impacts saturate at two and
/// a half widths. Velocities and forces are linear: the speed of a body that has fallen by half its width gives one
/// width, and so does four times the weight of a body. No arrow is longer than half of the picture's height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layers {
    /// Fills of shapes. With fills off and `outlines` on, bodies are drawn as wires.
    pub shapes: bool,
    /// Edges of shapes, and the mark that shows their rotation.
    pub outlines: bool,
    /// Colour of bodies.
    pub coloring: Coloring,
    /// Dims sleeping bodies.
    pub sleep: bool,
    /// AABBs of shapes at their present positions, with margins.
    pub aabbs: bool,
    /// Occupied cells of the broadphase grid, all levels; darker with more shapes.
    pub grid: bool,
    /// Lines between the two bodies of each touching contact, in the contact's graph color.
    pub constraints: bool,
    /// Joints with their anchors, and a sign for each kind.
    pub joints: bool,
    /// Contact points. Those of sleeping bodies are pale.
    pub contacts: bool,
    /// Contact normals.
    pub normals: bool,
    /// Normal impulses of the last substep, as arrows onto the dynamic bodies that they push; between two dynamic
    /// bodies, onto both.
    pub impulses: bool,
    /// Friction impulses of the last substep, as arrows onto the dynamic bodies that they push.
    pub friction: bool,
    /// Forces on dynamic bodies in the last substep, as arrows in three colours: contact forces (normal force and
    /// friction combined) at the contact points, joint forces at the anchors, and the weight at the centre of mass.
    pub forces: bool,
    /// Velocities of centres of mass, as arrows.
    pub velocities: bool,
    /// Legend in the lower right corner: the colours of [`Coloring::Speed`], [`Coloring::Sleep`],
    /// [`Coloring::Difference`] and [`Coloring::GraphColor`], with the present maximum; above it, a sample arrow of a
    /// round value for each kind of arrow. Pictures below 240 × 120 pixels have none.
    pub legend: bool,
    /// Minimum and maximum of the scale of [`Coloring::Speed`], m/s, above 0.
    pub speed_range: [f32; 2],
    /// Minimum and maximum of the scale of [`Coloring::Difference`], m, above 0.
    pub distance_range: [f32; 2],
    /// Index of a body that is highlighted by a rim.
    pub highlight: Option<u32>,
    /// Factor on the width of outlines and of the lines of all layers, and on the size of signs and letters: 1 on
    /// ordinary screens, 2 on screens of twice the pixel density.
    pub line_scale: f32,
    /// Factor on the length of arrows.
    pub arrow_scale: f32,
}

/// Layers whose names are jargon, and the plain name of each.
const PLAIN: [(&str, &str); 3] = [("grid", "search cells"), ("aabbs", "boxes"), ("constraints", "contact lines")];

impl Default for Layers {
    /// Returns shapes with outlines, and the legend if there is something to explain.
    fn default() -> Self {
        Self {
            shapes: true,
            outlines: true,
            coloring: Coloring::Body,
            sleep: false,
            aabbs: false,
            grid: false,
            constraints: false,
            joints: false,
            contacts: false,
            normals: false,
            impulses: false,
            friction: false,
            forces: false,
            velocities: false,
            legend: true,
            speed_range: [0.01, 100.0],
            distance_range: [1e-8, 1.0],
            highlight: None,
            line_scale: 1.0,
            arrow_scale: 1.0,
        }
    }
}

impl Layers {
    /// Names of the layers, in drawing order.
    pub const NAMES: [&'static str; 13] = [
        "grid",
        "shapes",
        "outlines",
        "sleep",
        "aabbs",
        "constraints",
        "joints",
        "contacts",
        "normals",
        "impulses",
        "friction",
        "forces",
        "velocities",
    ];

    /// Returns the plain name of a layer, for users who know neither collision detection nor solvers.
    #[must_use]
    pub fn plain(name: &str) -> &str {
        PLAIN.iter().find(|(known, _)| *known == name).map_or(name, |(_, plain)| plain)
    }

    /// Returns the switch of a layer by its name: one of [`Self::NAMES`], or its plain name ([`Self::plain`]) with `_`
    /// for blanks.
    #[must_use]
    pub fn switch(&mut self, name: &str) -> Option<&mut bool> {
        let known = PLAIN.iter().find(|(_, plain)| plain.replace(' ', "_") == name);
        Some(match known.map_or(name, |(name, _)| name) {
            "grid" => &mut self.grid,
            "shapes" => &mut self.shapes,
            "outlines" => &mut self.outlines,
            "sleep" => &mut self.sleep,
            "aabbs" => &mut self.aabbs,
            "constraints" => &mut self.constraints,
            "joints" => &mut self.joints,
            "contacts" => &mut self.contacts,
            "normals" => &mut self.normals,
            "impulses" => &mut self.impulses,
            "friction" => &mut self.friction,
            "forces" => &mut self.forces,
            "velocities" => &mut self.velocities,
            _ => return None,
        })
    }

    /// Returns true if a layer is on that needs [`DrawInputs::tables`](super::DrawInputs::tables).
    #[must_use]
    pub fn needs_tables(&self) -> bool {
        let drawn = [self.sleep, self.aabbs, self.grid, self.joints, self.velocities, self.shows_contacts()];
        self.coloring != Coloring::Body || drawn.contains(&true)
    }

    /// Returns the range of the colour scale, if the coloring has one.
    pub(crate) fn scale_range(&self) -> Option<[f32; 2]> {
        match self.coloring {
            Coloring::Speed => Some(self.speed_range),
            Coloring::Difference => Some(self.distance_range),
            _ => None,
        }
    }

    pub(crate) fn shows_contacts(&self) -> bool {
        [self.constraints, self.contacts, self.normals, self.impulses, self.friction, self.forces].contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_plain_names_beside_the_technical_ones() {
        for name in Layers::NAMES {
            let plain = Layers::plain(name).replace(' ', "_");
            for word in [name, &plain] {
                let mut layers = Layers::default();
                let before = layers;
                let switch = layers.switch(word).unwrap_or_else(|| panic!("{word}"));
                *switch = !*switch;
                assert_ne!(layers, before, "{word}");
                let mut other = before;
                let same = other.switch(name).expect("a name");
                *same = !*same;
                assert_eq!(layers, other, "{word} is {name}");
            }
        }
        assert_eq!((Layers::plain("aabbs"), Layers::plain("joints")), ("boxes", "joints"));
        assert!(Layers::default().switch("nonsense").is_none());
    }
}
