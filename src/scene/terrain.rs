//! Shapes made of many: outlines of any form, ellipses, height fields, and tiles of a grid as chains.

use glam::Vec2;

use super::check::{LENGTH, MAX_LENGTH, SceneError, show};
use super::outline::convex_parts;
use super::{OFFSET, Shape};
use crate::constants::{MAX_OUTLINE_CORNERS, MAX_TILES};
use crate::math::rotation;

impl Shape {
    /// Returns the convex shapes of an outline, clockwise or counter-clockwise, m: its corners may turn inwards, and
    /// there may be 3 to 1024. Together they have its mass. They lie edge to edge, so that a body which slides along
    /// the outline may be caught where two of them meet; for a ground take [`Self::chain_loop`].
    ///
    /// ```
    /// use drystone::{Body, Scene, Shape, World};
    ///
    /// let l = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
    /// let mut scene = Scene::new("an L");
    /// let body = scene.add(Body::dynamic(0.0, 2.0).shapes(Shape::outline(l)?));
    /// assert!((World::new(&scene)?.body(body)?.mass() - 4.0).abs() < 1e-5);
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`convex_parts`](crate::geometry::convex_parts).
    pub fn outline(points: impl IntoIterator<Item = impl Into<Vec2>>) -> Result<Vec<Self>, SceneError> {
        let points: Vec<Vec2> = points.into_iter().map(Into::into).collect();
        Ok(convex_parts(&points)?.into_iter().map(Self::polygon).collect())
    }

    /// Returns an ellipse about the body's origin, by half width and half height, m, as a polygon with this number of
    /// corners on the ellipse, 3 to 1024. Above 8 corners it is several shapes, as in [`Self::outline`].
    ///
    /// # Errors
    /// A half width, half height or number of corners that is out of range, or corners nearer to each other than
    /// 1e-5 m.
    pub fn ellipse(half_width: f32, half_height: f32, corners: u16) -> Result<Vec<Self>, SceneError> {
        LENGTH.check(half_width, format_args!("half_width"))?;
        LENGTH.check(half_height, format_args!("half_height"))?;
        if !(3..=MAX_OUTLINE_CORNERS).contains(&usize::from(corners)) {
            return Err(SceneError::new("corners", format!("is {corners}"), format!("3 to {MAX_OUTLINE_CORNERS}")));
        }
        let step = std::f32::consts::TAU / f32::from(corners);
        let half = Vec2::new(half_width, half_height);
        Self::outline((0..corners).map(|corner| half * rotation(step * f32::from(corner))))
    }

    /// Returns a height field: the links of a chain ([`Self::chain`]) over heights, m, `spacing` apart, m, from left to
    /// right, the first at the body's origin. Bodies lie on it from above.
    ///
    /// ```
    /// use drystone::{Body, Scene, Shape, World};
    ///
    /// let mut scene = Scene::new("dunes");
    /// let heights = (0_u8..41).map(|x| (0.4 * f32::from(x)).cos());
    /// scene.add(Body::fixed(-20.0, 0.0).shapes(Shape::height_field(1.0, heights)?));
    /// let ball = scene.add(Body::dynamic(0.0, 3.0).shape(Shape::circle(0.3)));
    /// let mut world = World::new(&scene)?;
    /// (0..120).try_for_each(|_| world.step())?;
    /// assert!(world.body(ball)?.position().y > -1.0);
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// By its path, such as `heights[3]`: a height that is NaN or out of range, fewer than two, a spacing below 1e-5 m,
    /// or a field that is longer than 100 km.
    pub fn height_field(spacing: f32, heights: impl IntoIterator<Item = f32>) -> Result<Vec<Self>, SceneError> {
        LENGTH.check(spacing, format_args!("spacing"))?;
        let heights: Vec<f32> = heights.into_iter().collect();
        if heights.len() < 2 {
            return Err(SceneError::new("heights", format!("has {} of them", heights.len()), "at least 2"));
        }
        check_extent(heights.len(), spacing, "heights")?;
        let mut points = Vec::with_capacity(heights.len());
        for (index, height) in heights.into_iter().enumerate() {
            OFFSET.check(height, format_args!("heights[{index}]"))?;
            points.push(Vec2::new(distance(index, spacing), height));
        }
        points.reverse();
        Ok(Self::chain(points))
    }
}

/// Returns the length of a number of steps, m.
fn distance(steps: usize, step: f32) -> f32 {
    #[allow(clippy::cast_precision_loss, reason = "below 2^24: the length is below 100 km, the step above 1e-5 m")]
    let steps = steps as f32;
    steps * step
}

fn check_extent(count: usize, step: f32, path: &str) -> Result<(), SceneError> {
    let length = distance(count, step);
    if length > MAX_LENGTH {
        let problem = format!("is {} m long: {count} times {} m", show(length), show(step));
        return Err(SceneError::new(path, problem, format!("at most {} m", show(MAX_LENGTH))));
    }
    Ok(())
}

/// Steps to the right, up, to the left and down, in the order of left turns.
const STEPS: [[isize; 2]; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];

/// Merges the solid tiles of a grid into outlines: closed chains around all that hang together by their sides, and
/// around the holes in them, as points with a corner at each turn, m. Rows go up, the first from the origin to the
/// right; a tile has the width and the height `size`, m. Bodies touch the chains from the side that is not solid
/// ([`Shape::chain_loop`]), and slide over the seams of tiles without a bump. Where two tiles share only a corner,
/// chains pass between them.
///
/// ```
/// use drystone::geometry::tiles_to_chains;
/// use drystone::{Body, Shape};
///
/// let map = "###\n#.#\n###";
/// let solid: Vec<bool> = map.lines().rev().flat_map(str::chars).map(|tile| tile == '#').collect();
/// let chains = tiles_to_chains(&solid, 3, [1.0, 1.0])?;
/// assert_eq!(chains.len(), 2, "one around, and one around the hole");
/// let ground = Body::fixed(0.0, 0.0).shapes(chains.into_iter().flat_map(Shape::chain_loop));
/// assert_eq!(ground.shapes.len(), 8);
/// # Ok::<(), drystone::SceneError>(())
/// ```
///
/// # Errors
/// A number of tiles that is no multiple of `columns` or above four million, a size that is out of range, or a grid
/// that is longer than 100 km.
pub fn tiles_to_chains(solid: &[bool], columns: usize, size: impl Into<Vec2>) -> Result<Vec<Vec<Vec2>>, SceneError> {
    let size = size.into();
    LENGTH.check_pair(size, format_args!("size"))?;
    if columns == 0 || !solid.len().is_multiple_of(columns) || solid.len() > MAX_TILES {
        let problem = format!("has {} tiles in rows of {columns}", solid.len());
        return Err(SceneError::new("solid", problem, format!("whole rows, and at most {MAX_TILES} tiles")));
    }
    let rows = solid.len() / columns;
    check_extent(columns, size.x, "columns")?;
    check_extent(rows, size.y, "rows")?;
    let mut outlets = outlets(solid, columns, rows);
    let width = columns + 1;
    let mut chains = Vec::new();
    for start in 0..outlets.len() {
        // From left to right and from below, the first side to the right of a chain begins at a corner.
        if outlets[start] & 1 != 0 {
            let corner = |at: usize| Vec2::new(distance(at % width, size.x), distance(at / width, size.y));
            chains.push(walk(&mut outlets, width, start).into_iter().map(corner).collect());
        }
    }
    Ok(chains)
}

/// Returns for each point of a grid the directions in which sides of solid tiles leave it that have the solid on their
/// left, as bits in the order of [`STEPS`].
fn outlets(solid: &[bool], columns: usize, rows: usize) -> Vec<u8> {
    let width = columns + 1;
    let is_solid = |x: Option<usize>, y: Option<usize>| {
        let (Some(x), Some(y)) = (x, y) else { return false };
        x < columns && y < rows && solid[y * columns + x]
    };
    let mut outlets = vec![0_u8; width * (rows + 1)];
    for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
        if !is_solid(Some(x), Some(y)) {
            continue;
        }
        let at = y * width + x;
        let sides = [
            (is_solid(Some(x), y.checked_sub(1)), at),
            (is_solid(Some(x + 1), Some(y)), at + 1),
            (is_solid(Some(x), Some(y + 1)), at + width + 1),
            (is_solid(x.checked_sub(1), Some(y)), at + width),
        ];
        for (direction, (is_inner, from)) in sides.into_iter().enumerate() {
            outlets[from] |= u8::from(!is_inner) << direction;
        }
    }
    outlets
}

/// Takes one chain out of the sides and returns its corners.
fn walk(outlets: &mut [u8], width: usize, start: usize) -> Vec<usize> {
    let (mut at, mut direction) = (start, 0);
    let mut corners = vec![start];
    loop {
        outlets[at] &= !(1 << direction);
        let [x, y] = STEPS[direction];
        at = at.wrapping_add_signed(x + y * width.cast_signed());
        // To the left first: it stays with its tile where another one shares only the corner.
        let turns = [1, 0, 3].map(|turn| (direction + turn) % 4);
        let is_end = |next: usize| at == start && next == 0;
        let next = turns.into_iter().find(|&next| is_end(next) || outlets[at] & 1 << next != 0);
        let Some(next) = next.filter(|&next| !is_end(next)) else { return corners };
        if next != direction {
            corners.push(at);
        }
        direction = next;
    }
}
