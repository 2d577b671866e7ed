//! Scene sizes: converts a target number of bodies to scene parameters, for `--sizes` of `drystone bench`.
//!
//! Each scene's rule is one line here. It picks whole parameters so that the number of bodies that are free to move is
//! near the target; surroundings (grounds, drums) do not count. Where two parameters share the number, their proportion
//! is that of the defaults.

use super::{CatalogueError, Entry, pyramid_count};
use drystone::Scene;

/// Parameters by name.
type NamedParameters = Vec<(&'static str, f64)>;

impl Entry {
    /// Returns the parameters with which this scene has about `bodies` bodies that are free to move, for
    /// [`Entry::build`]; `None` if the scene has no rule, hence a single size.
    ///
    /// # Errors
    /// More bodies than the ranges of the parameters allow; the error holds the maximum size.
    pub fn sized(&self, bodies: u64) -> Result<Option<NamedParameters>, CatalogueError> {
        match rule(self.name, bodies) {
            Some(given) if !self.takes(&given) => {
                Err(CatalogueError::Size { scene: self.name, bodies, most: self.most() })
            }
            given => Ok(given),
        }
    }

    /// Builds the scene with about `bodies` bodies if it has more and can be made smaller; otherwise with its defaults.
    ///
    /// # Errors
    /// Those of [`Entry::build`].
    pub fn build_small(&self, bodies: u64) -> Result<Scene, CatalogueError> {
        let is_large = self.body_count(&[])? > bodies;
        let given = if is_large { self.sized(bodies).ok().flatten() } else { None };
        self.build(&given.unwrap_or_default())
    }

    /// Returns true if all names are parameters of this scene and all values are in range.
    fn takes(&self, given: &NamedParameters) -> bool {
        given
            .iter()
            .all(|&(name, value)| self.parameters.iter().any(|p| p.name == name && value >= p.min && value <= p.max))
    }

    /// Returns the maximum size within the rule, found by doubling and bisection.
    fn most(&self) -> u64 {
        let fits = |bodies: u64| rule(self.name, bodies).is_some_and(|given| self.takes(&given));
        let (mut good, mut bad) = (1, super::MAX_BODIES);
        while bad - good > 1 {
            let middle = good.midpoint(bad);
            if fits(middle) { good = middle } else { bad = middle }
        }
        good
    }
}

fn rule(name: &str, bodies: u64) -> Option<NamedParameters> {
    let n = bodies.max(1) as f64;
    // A whole number, at least one.
    let whole = |x: f64| x.round().max(1.0);
    // About `n` in rows and columns, with `ratio` columns per row.
    let grid = |n: f64, ratio: f64| {
        let rows = whole((n / ratio).sqrt());
        (rows, whole(n / rows))
    };
    let given = match name {
        "large_pyramid" | "overlap_recovery" | "far_pyramid" => vec![("base", base(bodies))],
        "high_mass_ratio_1" => vec![("base", base(bodies.div_ceil(3)))],
        // 55 boxes per pyramid.
        "many_pyramids" => {
            let (rows, columns) = grid(whole(n / 55.0), 1.0);
            vec![("rows", rows), ("columns", columns)]
        }
        "joint_grid" => vec![("size", whole(n.sqrt()))],
        "smash" => {
            let (rows, columns) = grid(n, 1.5);
            vec![("columns", columns), ("rows", rows)]
        }
        "tumbler" | "washer" | "confined" => vec![("grid", whole(n.sqrt()))],
        "spinner" | "mixed_sizes" | "convex_hull" => vec![("bodies", n)],
        "compounds" => {
            // The vessel takes at most 39 columns; larger heaps grow upwards.
            let columns = grid(n, 20.0 / 150.0).1.min(39.0);
            vec![("columns", columns), ("rows", whole(n / columns))]
        }
        "junkyard" => {
            let columns = grid(n, 5.0).1.min(200.0);
            vec![("columns", columns), ("rows", whole(n / columns))]
        }
        "sensor_funnel" => vec![("rings", whole(n / 7.0))],
        "vertical_stack" | "restitution" | "circle_stack" | "domino" | "rush" | "particles_in_a_turning_box" => {
            vec![("count", n)]
        }
        "loaded_plate" => vec![("boxes", n)],
        "bridge" => vec![("planks", n)],
        "ball_and_chain" | "rod_chain" => vec![("links", n)],
        _ => return None,
    };
    Some(given)
}

/// Returns the base of the pyramid with the nearest number of boxes; the smaller one if two are equally near.
fn base(boxes: u64) -> f64 {
    let boxes = boxes.max(1);
    let apart = |base: u64| pyramid_count(base).abs_diff(boxes);
    let mut base = boxes.isqrt();
    while apart(base + 1) < apart(base) {
        base += 1;
    }
    // A whole number far below 2⁵³.
    base as f64
}
