// A region of a query and a shape, for query and region: src/query/narrow.rs. The importer binds `shapes`, `vertices`
// and `regions`.

//#import types
//#import math
//#import outline

// Region in the frame of a shape: its centre is at `at`; `turn` rotates the shape into the world.
struct Meeting {
    region: u32,
    shape: u32,
    at: vec2<f32>,
    turn: vec2<f32>,
}

fn side_count(meeting: Meeting, of_region: bool) -> u32 {
    if of_region {
        return regions[meeting.region].count;
    }
    return hull_count(meeting.shape);
}

fn side_point(meeting: Meeting, of_region: bool, index: u32) -> vec2<f32> {
    if of_region {
        return meeting.at + inv_rotate(meeting.turn, regions[meeting.region].points[index]);
    }
    return hull_point(meeting.shape, index);
}

fn path_of(region: u32) -> Ray {
    return Ray(
        regions[region].center, regions[region].delta, regions[region].category, regions[region].mask,
        regions[region].group, regions[region].world, regions[region].ignore, regions[region].flags, array<u32, 2>(),
    );
}
