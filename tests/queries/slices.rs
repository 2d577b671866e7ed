//! Queries in slices, and their limits.

use crate::support::{build, on_all};
use drystone::{Geometry, Query, QueryBounds, WorldError};
use glam::Vec2;

/// Rays and regions alternating, small and large ones.
fn queries() -> Vec<Query> {
    let at = |index: u16| Vec2::new(f32::from(index % 17) - 8.0, f32::from(index % 11));
    let query = |index: u16| match index % 4 {
        0 => Query::ray(at(index) - Vec2::X * 30.0, at(index) + Vec2::X * 30.0),
        1 => Query::point(at(index)),
        2 => Query::aabb(at(index) - Vec2::splat(f32::from(index % 7)), at(index) + Vec2::splat(3.0)),
        _ => Query::overlap(Geometry::Circle { radius: 0.5 + f32::from(index % 5) }, at(index), 0.0),
    };
    (0..600).map(query).collect()
}

#[test]
fn slices_come_to_the_same_as_the_whole() {
    let queries = queries();
    for (_, mut world) in on_all(&build("large_pyramid:base=12")) {
        let whole = world.query(&queries).unwrap();
        for (effort, queries) in [(0, &queries[..40]), (1000, &queries[..]), (20_000, &queries[..])] {
            let (mut done, mut slices) = (0, 0);
            while done < queries.len() {
                let bounds = QueryBounds { effort, ..QueryBounds::default() };
                let part = world.query_within(&queries[done..], bounds).unwrap();
                assert!(!part.is_empty(), "at least the first one is answered");
                for index in 0..part.len() {
                    assert_eq!(part.hit(index), whole.hit(done + index), "query {}", done + index);
                    assert_eq!(part.found(index), whole.found(done + index), "query {}", done + index);
                }
                (done, slices) = (done + part.len(), slices + 1);
            }
            assert!(slices > 1, "effort {effort}: {slices}");
        }
    }
}

#[test]
fn the_query_that_finds_too_much_is_named() {
    let queries = queries();
    for (_, mut world) in on_all(&build("large_pyramid:base=12")) {
        let whole = world.query(&queries).unwrap();
        let sums: Vec<usize> = (0..queries.len())
            .scan(0, |sum, query| {
                *sum += whole.found(query).len();
                Some(*sum)
            })
            .collect();
        let all = sums[queries.len() - 1];
        for limit in [0, all / 3, all - 1] {
            let expected = sums.iter().position(|&sum| sum > limit).unwrap();
            let bounds = QueryBounds { found: limit, ..QueryBounds::default() };
            match world.query_within(&queries, bounds) {
                Err(WorldError::TooManyFound { index, found, limit: told }) => {
                    assert_eq!((index, found, told), (expected, sums[expected], limit));
                }
                other => panic!("{other:?}"),
            }
        }
        let bounds = QueryBounds { found: all, ..QueryBounds::default() };
        assert_eq!(world.query_within(&queries, bounds).unwrap(), whole);
    }
}
