//! Queries between two steps: casts of rays and shapes, and the shapes at a point, in a box or under a shape; thousands
//! in one batch.

pub(crate) mod cast;
mod flat;
pub(crate) mod narrow;
pub(crate) mod walk;

use glam::Vec2;

pub(crate) use flat::Flat;
use walk::QueryTables;

pub use crate::constants::{MAX_QUERIES, MIN_RAY};
use crate::population::BodyId;
use crate::scene::{Filter, Geometry};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::threads::{HEAVY, Threads};
use crate::types::{FINDS_HITS, Hit, NONE, RAY_ITEM_WORDS, Region};

/// A query. Coordinates are at most 1e7 m from the origin on each axis, as in a scene.
///
/// ```
/// use drystone::low_level::CpuWorld;
/// use drystone::{Body, Query, Scene, Shape};
///
/// let mut scene = Scene::new("one ball");
/// let ball = scene.add(Body::fixed(5.0, 0.0).shape(Shape::circle(1.0)));
/// let mut world = CpuWorld::new(&scene)?;
/// let answers = world.query(&[Query::ray([0.0, 0.0], [10.0, 0.0]), Query::point([5.5, 0.0])])?;
/// let hit = answers.hit(0).expect("the ball is in the way");
/// assert_eq!((hit.body, hit.fraction, hit.normal), (ball, 0.4, glam::Vec2::new(-1.0, 0.0)));
/// assert_eq!(answers.found(1)[0].body, ball);
/// # Ok::<(), drystone::WorldError>(())
/// ```
///
/// Queries see the world between two steps as it is then; commands since the last step ([`Command`](crate::Command))
/// have not acted yet. They use the solver's grid, rebuilt for the present poses, and change nothing that a step
/// depends on. Quarantined bodies are not found; sensors are, like any other shape: give them a category of their own
/// to leave them out.
///
/// # Rules
///
/// - **Solid.** Shapes are filled. A ray that starts in a shape, or on its boundary, hits it at fraction 0, with the
///   normal against the ray; the normal of a ray without length (below 1e-10 m) is (0, 0). A ray that ends on a shape
///   hits it. Segments have no inside: a ray hits them from both sides, and at its end if it runs along them.
/// - **The first hit** is that of the smallest fraction; among several at the same fraction that of the smallest index.
///   All hits are in this order; a shape is hit once, where the ray enters it.
/// - **Touching counts**: shapes that share a boundary with a region reach into it.
/// - **Boxes of shapes** are compared by [`QueryKind::Aabb`], without the solver's margin. A half plane has none, and
///   is found if it reaches into the given box.
/// - **Rounding** is that of f32: about 1e-6 of the distances within a query and, far out, of the distance from the
///   origin. Cases nearer to a tie than that may be decided either way, and differently on the two backends.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Kind, with its place.
    pub kind: QueryKind,
    /// Filter: the query meets shapes that a shape with this filter would collide with. Both must agree, so a shape
    /// whose mask lacks the query's category is not met.
    pub filter: Filter,
    /// Body whose shapes the query does not meet.
    pub ignore: Option<BodyId>,
    /// True if it does not meet sensors. Default false.
    pub solid: bool,
}

/// Kinds of a [`Query`], each with its place.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryKind {
    /// Ray cast: the first shape on the way. Answered by [`Answers::hit`].
    Ray {
        /// Start, m.
        from: Vec2,
        /// End, m.
        to: Vec2,
    },
    /// Ray cast: all shapes on the way. Answered by [`Answers::hits`].
    RayAll {
        /// Start, m.
        from: Vec2,
        /// End, m.
        to: Vec2,
    },
    /// Shapes that contain a point. Answered by [`Answers::found`], like the next one.
    Point {
        /// Point, m.
        at: Vec2,
    },
    /// Shapes whose axis-aligned box meets this one.
    Aabb {
        /// Low corner, m.
        min: Vec2,
        /// High corner, m; on no axis below the low one.
        max: Vec2,
    },
    /// Shape cast: the first shape that this one meets as it moves without turning. Answered by [`Answers::hit`]. Where
    /// it overlaps shapes at the start, the hit is that of the deepest overlap, and the normal the shortest way out.
    Cast {
        /// Shape, any but a half plane.
        shape: Geometry,
        /// Position of its origin at the start, m.
        position: Vec2,
        /// Angle, rad.
        angle: f32,
        /// Motion, m.
        motion: Vec2,
    },
    /// Shapes that overlap this one. Answered by [`Answers::found`].
    Overlap {
        /// Shape, any but a half plane.
        shape: Geometry,
        /// Position of its origin, m.
        position: Vec2,
        /// Angle, rad.
        angle: f32,
    },
}

impl Query {
    /// Returns a query with the default filter: it meets all shapes whose mask has category 1. See [`Self::filter`],
    /// [`Filter::everything`].
    #[must_use]
    fn new(kind: QueryKind) -> Self {
        Self { kind, filter: Filter::default(), ignore: None, solid: false }
    }

    /// Returns a ray cast, m, that finds the first shape on the way, with the default filter.
    #[must_use]
    pub fn ray(from: impl Into<Vec2>, to: impl Into<Vec2>) -> Self {
        Self::new(QueryKind::Ray { from: from.into(), to: to.into() })
    }

    /// Returns a ray cast, m, that finds all shapes on the way, with the default filter.
    #[must_use]
    pub fn ray_all(from: impl Into<Vec2>, to: impl Into<Vec2>) -> Self {
        Self::new(QueryKind::RayAll { from: from.into(), to: to.into() })
    }

    /// Returns a query for the shapes at a point, m, with the default filter.
    #[must_use]
    pub fn point(at: impl Into<Vec2>) -> Self {
        Self::new(QueryKind::Point { at: at.into() })
    }

    /// Returns a query for the shapes whose box meets this one, m, with the default filter.
    #[must_use]
    pub fn aabb(min: impl Into<Vec2>, max: impl Into<Vec2>) -> Self {
        Self::new(QueryKind::Aabb { min: min.into(), max: max.into() })
    }

    /// Returns a query for the shapes that overlap a shape at a position, m, and angle, rad, with the default filter.
    #[must_use]
    pub fn overlap(shape: Geometry, position: impl Into<Vec2>, angle: f32) -> Self {
        Self::new(QueryKind::Overlap { shape, position: position.into(), angle })
    }

    /// Returns a query for the first shape that another one meets on its way from a position, m, by a motion, m, at an
    /// angle, rad, with the default filter.
    #[must_use]
    pub fn cast(shape: Geometry, position: impl Into<Vec2>, angle: f32, motion: impl Into<Vec2>) -> Self {
        Self::new(QueryKind::Cast { shape, position: position.into(), angle, motion: motion.into() })
    }

    /// Returns the query with this filter.
    #[must_use]
    pub fn filter(self, filter: Filter) -> Self {
        Self { filter, ..self }
    }

    /// Returns the query so that it does not meet the shapes of a body, such as the one from which it begins.
    #[must_use]
    pub fn ignoring(self, body: impl Into<BodyId>) -> Self {
        Self { ignore: Some(body.into()), ..self }
    }
}

/// Error of a query with a value out of range. No query of its batch was answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query {index}: {problem}; expected {expected}")]
pub struct QueryError {
    /// Index of the query in the batch.
    pub index: usize,
    /// Problem, such as `from[0] is not a number (NaN)`.
    pub problem: String,
    /// Value that was expected.
    pub expected: String,
}

/// Bounds on the cost of a batch of queries ([`World::query_within`](crate::World::query_within)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryBounds {
    /// Most shapes that all queries of the batch may find together. More is
    /// [`WorldError::TooManyFound`](crate::WorldError::TooManyFound).
    pub found: usize,
    /// Most shapes and cells of the grid that may be tested. When they are used up, no further query is begun: only the
    /// first queries have answers, at least one. On the GPU, where tests are not counted, each query counts as testing
    /// all shapes.
    pub effort: u64,
}

impl Default for QueryBounds {
    /// Returns no bounds.
    fn default() -> Self {
        Self { found: usize::MAX, effort: u64::MAX }
    }
}

impl QueryBounds {
    /// Returns the number of queries to send at once where the effort of each is not known.
    pub(crate) fn batch(&self, queries: usize, shapes: usize) -> usize {
        let most = self.effort / (shapes as u64 + 1);
        usize::try_from(most).unwrap_or(usize::MAX).clamp(1, queries.max(1)).min(queries)
    }
}

/// Hit of a ray or a cast: the point at which it meets a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// Id of the body.
    pub id: BodyId,
    /// Slot of the body: index in the scene, or [`BodyId::index`].
    pub body: usize,
    /// Index of the shape in [`Compiled::shapes`](crate::scene::Compiled::shapes).
    pub shape: usize,
    /// Point on the surface of the shape, m.
    pub point: Vec2,
    /// Normal out of the shape, of length 1.
    pub normal: Vec2,
    /// Fraction of the way from start to end, 0 – 1.
    pub fraction: f32,
    /// Way out of the shape along the normal, m, of a cast that begins in it; else 0.
    pub depth: f32,
}

/// A shape that a query found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Id of the body.
    pub id: BodyId,
    /// Slot of its body: index in the scene, or [`BodyId::index`].
    pub body: usize,
    /// Index of the shape in [`Compiled::shapes`](crate::scene::Compiled::shapes).
    pub shape: usize,
}

/// Answers to a batch of queries, one for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// For each query the end of its hits and of the shapes that it found.
    ends: Vec<[usize; 2]>,
    hits: Vec<RayHit>,
    found: Vec<Found>,
}

impl Answers {
    /// Returns the number of queries answered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if no query was answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the first hit of a ray or a cast; `None` if it hit nothing, the query is another one, or there is none.
    #[must_use]
    pub fn hit(&self, query: usize) -> Option<RayHit> {
        self.hits(query).first().copied()
    }

    /// Returns all hits of a [`QueryKind::RayAll`], nearest first, or the one of another ray or a cast; none if the
    /// query is another one, or there is none.
    #[must_use]
    pub fn hits(&self, query: usize) -> &[RayHit] {
        let Some([(start, end), _]) = self.ranges(query) else { return &[] };
        &self.hits[start..end]
    }

    /// Returns the shapes found, by index of the shape; none if the query is a ray or a cast, or there is none.
    #[must_use]
    pub fn found(&self, query: usize) -> &[Found] {
        let Some([_, (start, end)]) = self.ranges(query) else { return &[] };
        &self.found[start..end]
    }

    fn ranges(&self, query: usize) -> Option<[(usize, usize); 2]> {
        let ends = self.ends.get(query)?;
        let starts = query.checked_sub(1).map_or([0; 2], |before| self.ends[before]);
        Some([(starts[0], ends[0]), (starts[1], ends[1])])
    }

    /// Returns the answers to the first `count` queries from the hits of rays and casts and the items of regions, in
    /// the order of `flat`. `body_of` returns the body of a shape that a query met. Items are sorted here.
    pub(crate) fn new(
        flat: &Flat,
        count: usize,
        body_of: impl Fn(usize, u32) -> BodyId,
        hits: &[Hit],
        lists: Vec<&mut [u32]>,
    ) -> Self {
        let mut answers = Self { ends: Vec::with_capacity(count), ..Self::default() };
        let (of_rays, of_casts) = hits.split_at(flat.rays.len().min(hits.len()));
        let mut rays = flat.ray_places.iter().zip(of_rays).peekable();
        let mut casts = flat.cast_places.iter().zip(of_casts).peekable();
        let mut regions = flat.region_places.iter().zip(flat.regions.iter().zip(lists)).peekable();
        for query in 0..count {
            let is_own = |place: &usize| *place == query;
            let hit = rays.next_if(|(place, _)| is_own(place)).or_else(|| casts.next_if(|(place, _)| is_own(place)));
            if let Some((_, hit)) = hit.filter(|(_, hit)| hit.shape != NONE) {
                answers.hits.push(RayHit::new(body_of(query, hit.shape), hit));
            }
            if let Some((_, (region, list))) = regions.next_if(|(place, _)| is_own(place)) {
                if region.flags & FINDS_HITS == 0 {
                    list.sort_unstable();
                    answers.found.extend(list.iter().map(|&shape| Found::new(body_of(query, shape), shape)));
                } else {
                    let first = answers.hits.len();
                    let hits = list.as_chunks().0.iter().map(|item| hit_of_item(region, item));
                    answers.hits.extend(hits.map(|hit| RayHit::new(body_of(query, hit.shape), &hit)));
                    let order = |a: &RayHit, b: &RayHit| a.fraction.total_cmp(&b.fraction).then(a.shape.cmp(&b.shape));
                    answers.hits[first..].sort_unstable_by(order);
                }
            }
            answers.ends.push([answers.hits.len(), answers.found.len()]);
        }
        answers
    }

    /// Returns the answers to one batch from those to several: for each query its batch and its index there.
    pub(crate) fn gather<'a>(places: impl Iterator<Item = (&'a Self, usize)>) -> Self {
        let mut all = Self::default();
        for (answers, query) in places {
            all.hits.extend_from_slice(answers.hits(query));
            all.found.extend_from_slice(answers.found(query));
            all.ends.push([all.hits.len(), all.found.len()]);
        }
        all
    }
}

impl RayHit {
    fn new(id: BodyId, hit: &Hit) -> Self {
        Self {
            id,
            body: id.index as usize,
            shape: hit.shape as usize,
            point: hit.point.into(),
            normal: hit.normal.into(),
            fraction: hit.fraction,
            depth: hit.depth,
        }
    }
}

impl Found {
    fn new(id: BodyId, shape: u32) -> Self {
        Self { id, body: id.index as usize, shape: shape as usize }
    }
}

/// Returns the words of a hit among the items of a region.
pub(crate) fn item_of_hit(shape: u32, fraction: f32, normal: Vec2) -> [u32; RAY_ITEM_WORDS as usize] {
    [shape, fraction.to_bits(), normal.x.to_bits(), normal.y.to_bits()]
}

fn hit_of_item(region: &Region, &[shape, fraction, x, y]: &[u32; RAY_ITEM_WORDS as usize]) -> Hit {
    let fraction = f32::from_bits(fraction);
    let point = Vec2::from(region.center) + Vec2::from(region.delta) * fraction;
    let normal = [x, y].map(f32::from_bits);
    Hit { point: point.into(), normal, fraction, shape, ..Hit::default() }
}

/// Error of a batch of queries that find more shapes than its bounds allow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooManyFound {
    /// Index of the query in the batch.
    pub index: usize,
    /// Shapes found up to and with that query.
    pub found: usize,
    /// Shapes allowed.
    pub limit: usize,
}

/// Answers the first queries of a batch within bounds, or all without bounds. With `brute` it tests every shape for
/// every query.
pub(crate) fn answer(
    threads: &Threads,
    tables: &QueryTables,
    flat: &Flat,
    brute: bool,
    bounds: &QueryBounds,
    body_of: impl Fn(u32) -> BodyId,
) -> Result<Answers, TooManyFound> {
    let bounded = bounds.effort / 3;
    let mut hits = answer_hits(threads, flat.rays.len(), bounded, |index, effort| {
        let ray = &flat.rays[index];
        if brute { walk::ray_brute(tables, ray) } else { walk::ray(tables, ray, effort) }
    });
    let of_casts = answer_hits(threads, flat.casts.len(), bounded, |index, effort| {
        let cast = &flat.casts[index];
        if brute { walk::cast_brute(tables, cast) } else { walk::cast(tables, cast, effort) }
    });
    let mut parts = answer_regions(threads, tables, flat, brute, bounds);
    let lists = lists_of(&mut parts, flat.regions.len());
    // Count of queries before the first one without an answer.
    let places =
        [flat.ray_places.get(hits.len()), flat.cast_places.get(of_casts.len()), flat.region_places.get(lists.len())];
    let count = places.into_iter().flatten().fold(flat.count, |count, &place| count.min(place));
    hits.resize(flat.rays.len(), Hit { shape: NONE, ..Hit::default() });
    hits.extend(of_casts);
    let mut sum = 0;
    let regions = flat.region_places.iter().zip(&flat.regions).zip(&lists);
    for ((&query, region), list) in regions.take_while(|((query, _), _)| **query < count) {
        sum += list.len() / region.words_per_item();
        if sum > bounds.found {
            return Err(TooManyFound { index: query, found: sum, limit: bounds.found });
        }
    }
    Ok(Answers::new(flat, count, |_, shape| body_of(shape), &hits, lists))
}

/// Returns the hits of the first rays or casts, until an effort is used up: rays, casts and regions have a third each,
/// so that none uses up that of the others.
fn answer_hits(
    threads: &Threads,
    count: usize,
    bounded: u64,
    answer: impl Fn(usize, &mut u64) -> Hit + Sync,
) -> Vec<Hit> {
    let used = AtomicU64::new(0);
    let parts = threads.map_ranges(HEAVY, count, |first, end| {
        let mut hits: Vec<Hit> = Vec::with_capacity(end - first);
        for index in first..end {
            if index > 0 && used.load(Ordering::Relaxed) > bounded {
                break;
            }
            let mut effort = 1;
            hits.push(answer(index, &mut effort));
            used.fetch_add(effort, Ordering::Relaxed);
        }
        (end - first, hits)
    });
    let mut hits = Vec::with_capacity(count);
    for (all, part) in parts {
        let is_whole = part.len() == all;
        hits.extend(part);
        if !is_whole {
            break;
        }
    }
    hits
}

/// Items that some consecutive regions find.
struct FoundInRegions {
    /// Number of the regions.
    regions: usize,
    /// End in `items` of each region that was answered.
    ends: Vec<usize>,
    items: Vec<u32>,
}

/// Returns the items that the first regions find, until their third of the effort is used up or they are too many.
fn answer_regions(
    threads: &Threads,
    tables: &QueryTables,
    flat: &Flat,
    brute: bool,
    bounds: &QueryBounds,
) -> Vec<FoundInRegions> {
    let (used, found) = (AtomicU64::new(0), AtomicUsize::new(0));
    threads.map_ranges(HEAVY, flat.regions.len(), |first, end| {
        let (mut ends, mut items) = (Vec::with_capacity(end - first), Vec::new());
        for (index, region) in (first..end).zip(&flat.regions[first..end]) {
            let is_over =
                used.load(Ordering::Relaxed) > bounds.effort / 3 || found.load(Ordering::Relaxed) > bounds.found;
            if index > 0 && is_over {
                break;
            }
            let (mut effort, before) = (1, items.len());
            if brute {
                walk::region_brute(tables, region, &mut items);
            } else {
                walk::region(tables, region, &mut items, &mut effort);
            }
            used.fetch_add(effort, Ordering::Relaxed);
            found.fetch_add((items.len() - before) / region.words_per_item(), Ordering::Relaxed);
            ends.push(items.len());
        }
        FoundInRegions { regions: end - first, ends, items }
    })
}

/// Returns the items of each region, up to the first without an answer.
fn lists_of(parts: &mut [FoundInRegions], regions: usize) -> Vec<&mut [u32]> {
    let mut lists = Vec::with_capacity(regions);
    for FoundInRegions { regions, ends, items } in parts {
        let (mut rest, mut start) = (&mut items[..], 0);
        for &end in &*ends {
            let (list, after) = rest.split_at_mut(end - start);
            lists.push(list);
            (rest, start) = (after, end);
        }
        if ends.len() < *regions {
            break;
        }
    }
    lists
}
