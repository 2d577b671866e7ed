//! How a wished number of bodies becomes parameters of a scene: what `--sizes` of `drystone bench` means.
//!
//! The rule of each scene is one line here. It picks whole parameters so that the bodies that are free to move come
//! near the number; what stands around (grounds, drums) does not count. Proportions stay those of the default where two
//! parameters share the number.

use super::{CatalogueError, Entry, pyramid_count};

/// Parameters by name.
type Given = Vec<(&'static str, f64)>;

impl Entry {
    /// The parameters with which this scene has about `bodies` bodies that are free to move, for [`Entry::build`].
    /// `None` if there is no rule: then the scene has one size.
    ///
    /// # Errors
    /// More bodies than the ranges of the parameters allow, with the largest size there is.
    pub fn sized(&self, bodies: u64) -> Result<Option<Given>, CatalogueError> {
        match rule(self.name, bodies) {
            Some(given) if !self.takes(&given) => {
                Err(CatalogueError::Size { scene: self.name, bodies, most: self.most() })
            }
            given => Ok(given),
        }
    }

    /// Whether all of them are parameters of this scene and within their ranges.
    fn takes(&self, given: &Given) -> bool {
        given
            .iter()
            .all(|&(name, value)| self.parameters.iter().any(|p| p.name == name && value >= p.min && value <= p.max))
    }

    /// The largest size there is a rule for, by doubling and halving.
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

fn rule(name: &str, bodies: u64) -> Option<Given> {
    let n = bodies.max(1) as f64;
    // A whole number, one at least.
    let whole = |x: f64| x.round().max(1.0);
    // About `n` in rows and columns, `ratio` columns a row.
    let grid = |n: f64, ratio: f64| {
        let rows = whole((n / ratio).sqrt());
        (rows, whole(n / rows))
    };
    let given = match name {
        "large_pyramid" | "overlap_recovery" | "far_pyramid" => vec![("base", base(bodies))],
        "high_mass_ratio_1" => vec![("base", base(bodies.div_ceil(3)))],
        // 55 boxes a pyramid.
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
        "spinner" => vec![("bodies", n)],
        "compounds" => {
            // The vessel takes 39 side by side; above what is as high as wide it grows upwards.
            let columns = grid(n, 20.0 / 150.0).1.min(39.0);
            vec![("columns", columns), ("rows", whole(n / columns))]
        }
        "junkyard" => {
            let columns = grid(n, 5.0).1.min(200.0);
            vec![("columns", columns), ("rows", whole(n / columns))]
        }
        "vertical_stack" | "circle_stack" | "domino" | "rush" | "particles_in_a_turning_box" => vec![("count", n)],
        "bridge" => vec![("planks", n)],
        "ball_and_chain" | "rod_chain" => vec![("links", n)],
        _ => return None,
    };
    Some(given)
}

/// Of the pyramid whose number of boxes is nearest; of two as near the smaller.
fn base(boxes: u64) -> f64 {
    let boxes = boxes.max(1);
    let apart = |base: u64| pyramid_count(base).abs_diff(boxes);
    let mut base = boxes.isqrt();
    while apart(base + 1) < apart(base) {
        base += 1;
    }
    // Whole and far below 2⁵³.
    base as f64
}
