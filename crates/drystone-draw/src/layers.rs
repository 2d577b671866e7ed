//! What of a world is drawn, and how its bodies are coloured.

/// How dynamic bodies are coloured; static and kinematic ones keep their colours. All but [`Self::Body`] need the
/// tables of a world ([`DrawInputs::tables`](super::DrawInputs::tables)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coloring {
    /// By their place in the scene ([`Style::ramp`](super::Style::ramp)).
    #[default]
    Body,
    /// By speed of the centre of mass, on the logarithmic scale [`Layers::speed_range`].
    Speed,
    /// By the last colour, in the order of a sweep, of the contacts that touch the body: how long a sweep has to
    /// wait for it. Bodies without contacts are grey.
    GraphColor,
    /// Awake, quiet for a while, asleep.
    Sleep,
    /// By what hangs together by contacts and joints now; static and kinematic bodies do not connect. Bodies that
    /// touch nothing are grey. (The solver itself only looks for islands among bodies about to fall asleep.)
    Island,
    /// By distance to the same body of another world ([`DrawInputs::reference`](super::DrawInputs::reference)), on the
    /// logarithmic scale [`Layers::distance_range`]. Bodies at the very same place are grey.
    Difference,
}

impl Coloring {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Body, Self::Speed, Self::GraphColor, Self::Sleep, Self::Island, Self::Difference];

    /// A word for it.
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

    /// The same for somebody who reads it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::GraphColor => "graph colour",
            _ => self.name(),
        }
    }
}

/// Switches: what of a world is drawn. Without tables ([`DrawInputs::tables`](super::DrawInputs::tables)) only
/// `shapes` and `outlines` can be on.
///
/// Lines and arrows are as wide at any zoom. The length of an arrow is in proportion to the bodies. That of an impulse
/// grows with its root: what would carry a typical body for a substep is half as long as such a body is wide, and four
/// times as much nearly twice as long. Those of impacts are pressed below two and a half widths. Velocities and forces
/// are true to scale: the speed of a body that fell by half its width is as long as it is wide, and so is four times the
/// weight of a body. No arrow is longer than half of the picture is high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layers {
    /// The insides of shapes. With these off and `outlines` on, bodies are drawn as wires.
    pub shapes: bool,
    /// The edges of shapes, and what shows their rotation.
    pub outlines: bool,
    /// The colour of bodies.
    pub coloring: Coloring,
    /// Bodies that sleep are dimmed.
    pub sleep: bool,
    /// Boxes around shapes where they are, margins included.
    pub aabbs: bool,
    /// Cells of the broadphase grid that hold shapes, darker the more they hold; of all levels.
    pub grid: bool,
    /// Lines from body to body over each contact that touches, in its graph colour.
    pub constraints: bool,
    /// Joints with their anchors, a sign for each kind.
    pub joints: bool,
    /// Points of contact. Those of bodies asleep are pale.
    pub contacts: bool,
    /// Their normals.
    pub normals: bool,
    /// Normal impulses of the last substep, as arrows onto the dynamic bodies that they push: of two such bodies onto
    /// both.
    pub impulses: bool,
    /// Friction impulses of the last substep, as arrows onto the dynamic bodies that they push.
    pub friction: bool,
    /// Forces on dynamic bodies in the last substep, as arrows in three colours: of contacts, normal force and friction
    /// together, at their points; of joints at their anchors; and the weight at the centre of mass.
    pub forces: bool,
    /// Velocities of centres of mass, as arrows.
    pub velocities: bool,
    /// What colours mean, in the lower right corner, for [`Coloring::Speed`], [`Coloring::Sleep`],
    /// [`Coloring::Difference`], [`Coloring::GraphColor`]; with the largest value there is. Above it, for each kind of
    /// arrow, one of a round value. Pictures below 240 × 120 pixels have none.
    pub legend: bool,
    /// Least and greatest value of [`Coloring::Speed`], m/s, above 0.
    pub speed_range: [f32; 2],
    /// Least and greatest value of [`Coloring::Difference`], m, above 0.
    pub distance_range: [f32; 2],
    /// Index of a body that is set off by a rim.
    pub highlight: Option<u32>,
    /// Factor on the width of outlines and of the lines of all layers, and on the size of their signs and letters: 1 on
    /// ordinary screens, 2 where pixels are half as large.
    pub line_scale: f32,
    /// Factor on the length of arrows.
    pub arrow_scale: f32,
}

/// Switches whose word is jargon, and the plain word for each.
const PLAIN: [(&str, &str); 3] = [("grid", "search cells"), ("aabbs", "boxes"), ("constraints", "contact lines")];

impl Default for Layers {
    /// Shapes with outlines, and the legend if there is something to explain.
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
    /// The words for the switches, in the order in which they are drawn.
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

    /// A switch's word for people who know neither collision detection nor solvers.
    #[must_use]
    pub fn plain(name: &str) -> &str {
        PLAIN.iter().find(|(known, _)| *known == name).map_or(name, |(_, plain)| plain)
    }

    /// The switch that a word is for: one of [`Self::NAMES`], or its plain word ([`Self::plain`]) with `_` for blanks.
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

    /// Whether something is on that needs [`DrawInputs::tables`](super::DrawInputs::tables).
    #[must_use]
    pub fn needs_tables(&self) -> bool {
        let drawn = [self.sleep, self.aabbs, self.grid, self.joints, self.velocities, self.shows_contacts()];
        self.coloring != Coloring::Body || drawn.contains(&true)
    }

    /// Of the colours, if they are on a scale.
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
    fn switches_have_plain_words_and_keep_the_old_ones() {
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
