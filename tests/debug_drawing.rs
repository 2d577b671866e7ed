//! Debug drawing: figures are those of the world, each kind of thing by its option, and lines stand for the others.

use drystone::debug_draw::{
    ASLEEP_COLOR, BOUNDS_COLOR, CENTER_COLOR, CONTACT_COLOR, DYNAMIC_COLOR, DebugDraw, DebugDrawOptions, JOINT_COLOR,
    KINEMATIC_COLOR, NAME_COLOR, NORMAL_COLOR, SENSOR_COLOR, STATIC_COLOR, VELOCITY_COLOR,
};
use drystone::geometry::PlacedShape;
use drystone::{Body, Geometry, Joint, JointKind, Scene, Settings, Shape, World};
use glam::Vec2;

use crate::shapes::kit::shapes;

#[derive(Clone, Debug, PartialEq)]
enum Figure {
    Line([Vec2; 2]),
    Polygon(Vec<Vec2>),
    Circle(Vec2, f32),
    Point(Vec2),
    Text(Vec2, String),
}

/// Keeps all figures.
#[derive(Default)]
struct Record(Vec<(u32, Figure)>);

impl DebugDraw for Record {
    fn line(&mut self, from: Vec2, to: Vec2, color: u32) {
        self.0.push((color, Figure::Line([from, to])));
    }

    fn polygon(&mut self, points: &[Vec2], color: u32) {
        self.0.push((color, Figure::Polygon(points.to_vec())));
    }

    fn circle(&mut self, center: Vec2, radius: f32, color: u32) {
        self.0.push((color, Figure::Circle(center, radius)));
    }

    fn point(&mut self, at: Vec2, _: f32, color: u32) {
        self.0.push((color, Figure::Point(at)));
    }

    fn text(&mut self, at: Vec2, text: &str, color: u32) {
        self.0.push((color, Figure::Text(at, text.to_owned())));
    }
}

impl Record {
    fn of(&self, color: u32) -> Vec<&Figure> {
        self.0.iter().filter(|(own, _)| *own == color).map(|(_, figure)| figure).collect()
    }
}

/// Keeps lines alone.
struct Lines(Vec<[Vec2; 2]>);

impl DebugDraw for Lines {
    fn line(&mut self, from: Vec2, to: Vec2, _: u32) {
        self.0.push([from, to]);
    }
}

fn draw(world: &mut World, options: &DebugDrawOptions) -> Record {
    let mut record = Record::default();
    world.debug_draw(&mut record, options).unwrap();
    record
}

/// A world with one of each kind.
fn world() -> World {
    let mut scene = Scene::new("kinds").settings(Settings::default().sleep(true));
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::dynamic(0.0, 0.5).id("rests").shape(Shape::half_box(0.5, 0.5)));
    scene.add(Body::kinematic(5.0, 2.0).velocity(0.1, 0.0).shape(Shape::circle(0.4)));
    scene.add(Body::fixed(8.0, 2.0).shape(Shape::half_box(0.2, 0.2).sensor()));
    let bob = scene.add(Body::dynamic(-5.0, 4.0).shape(Shape::capsule([-0.2, 0.0], [0.2, 0.0], 0.1)));
    scene.join(Joint::to_world(JointKind::rod(), bob).anchors([-7.0, 4.0], [0.1, 0.0]));
    World::new(&scene).unwrap()
}

#[test]
fn figures_are_those_of_the_world() {
    let mut world = world();
    (0..20).for_each(|_| world.step().unwrap());
    let record = draw(&mut world, &DebugDrawOptions::everything());
    let body = |index: usize| world.body(index).unwrap();

    let plane = record.of(STATIC_COLOR);
    let [Figure::Line([from, to])] = plane[..] else { panic!("{plane:?}") };
    assert!(from.y.abs() < 1e-6 && to.y.abs() < 1e-6 && from.distance(*to) > 100.0);

    let disc = record.of(KINEMATIC_COLOR);
    let [Figure::Circle(center, radius), Figure::Line(_)] = disc[..] else { panic!("{disc:?}") };
    assert_eq!((*center, *radius), (body(2).position(), 0.4));

    let [Figure::Polygon(square), Figure::Polygon(capsule)] = &record.of(DYNAMIC_COLOR)[..] else { panic!() };
    let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]].map(|corner| body(1).to_world(corner));
    assert!(square.iter().zip(corners).all(|(ours, truth)| ours.distance(truth) < 1e-6), "{square:?}");
    assert!(capsule.len() > 20, "{}", capsule.len());
    assert_eq!(record.of(SENSOR_COLOR).len(), 1);
    assert_eq!(record.of(BOUNDS_COLOR).len(), 4, "the half plane has no box");

    let joint = record.of(JOINT_COLOR);
    let between = Figure::Line([Vec2::new(-7.0, 4.0), body(4).to_world([0.1, 0.0])]);
    assert!(joint.contains(&&between), "{joint:?}, not {between:?}");

    let contacts = record.of(CONTACT_COLOR);
    assert_eq!(contacts.len(), 2);
    for contact in contacts {
        let Figure::Point(at) = contact else { panic!("{contact:?}") };
        assert!(at.y.abs() < 0.01 && (at.x.abs() - 0.5).abs() < 0.01, "{at}");
    }
    for normal in record.of(NORMAL_COLOR) {
        let Figure::Line([from, to]) = normal else { panic!("{normal:?}") };
        let along = *to - *from;
        assert!(along.x.abs() < 1e-4 && (along.y.abs() - 0.2).abs() < 1e-4, "{along}");
    }
    let centers = record.of(CENTER_COLOR);
    assert!(centers.contains(&&Figure::Point(body(1).center())) && centers.contains(&&Figure::Point(body(4).center())));
    assert!(record.of(NAME_COLOR).contains(&&Figure::Text(body(1).center(), "rests".to_owned())));
    let (from, speed) = (body(2).center(), Vec2::new(0.1, 0.0));
    assert!(record.of(VELOCITY_COLOR).contains(&&Figure::Line([from, from + 0.1 * speed])));

    // Asleep it has another colour, and its contacts stay.
    (0..120).for_each(|_| world.step().unwrap());
    let record = draw(&mut world, &DebugDrawOptions::everything());
    assert_eq!((record.of(ASLEEP_COLOR).len(), record.of(DYNAMIC_COLOR).len()), (1, 1));
    assert_eq!(record.of(CONTACT_COLOR).len(), 2);
}

/// Each option adds its own figures, and no others.
#[test]
fn options_choose() {
    let mut world = world();
    (0..20).for_each(|_| world.step().unwrap());
    let none = DebugDrawOptions { shapes: false, joints: false, ..DebugDrawOptions::default() };
    assert_eq!(draw(&mut world, &none).0, []);
    let cases: [(&str, DebugDrawOptions, &[u32]); 8] = [
        (
            "shapes",
            DebugDrawOptions { shapes: true, ..none },
            &[STATIC_COLOR, KINEMATIC_COLOR, DYNAMIC_COLOR, SENSOR_COLOR],
        ),
        ("joints", DebugDrawOptions { joints: true, ..none }, &[JOINT_COLOR]),
        ("bounds", DebugDrawOptions { bounds: true, ..none }, &[BOUNDS_COLOR]),
        ("contacts", DebugDrawOptions { contacts: true, ..none }, &[CONTACT_COLOR]),
        ("normals", DebugDrawOptions { normals: true, ..none }, &[NORMAL_COLOR]),
        ("centers", DebugDrawOptions { centers: true, ..none }, &[CENTER_COLOR]),
        ("velocities", DebugDrawOptions { velocities: true, ..none }, &[VELOCITY_COLOR]),
        ("names", DebugDrawOptions { names: true, ..none }, &[NAME_COLOR]),
    ];
    let mut all = Vec::new();
    for (name, options, colors) in cases {
        let record = draw(&mut world, &options);
        let mut found: Vec<u32> = record.0.iter().map(|(color, _)| *color).collect();
        found.sort_unstable();
        found.dedup();
        let mut wanted = colors.to_vec();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{name}");
        all.extend(record.0);
    }
    let everything = draw(&mut world, &DebugDrawOptions::everything()).0;
    assert_eq!(all.len(), everything.len());
    assert!(everything.iter().all(|figure| all.contains(figure)));
    let view = [Vec2::new(7.0, 0.0), Vec2::new(9.0, 4.0)];
    let record =
        draw(&mut world, &DebugDrawOptions { within: Some(view), joints: false, ..DebugDrawOptions::default() });
    assert_eq!((record.of(SENSOR_COLOR).len(), record.of(DYNAMIC_COLOR).len()), (1, 0));
    let [(_, Figure::Line([from, to])), _] = &record.0[..] else { panic!("{:?}", record.0) };
    assert!((0.5 * (*from + *to) - Vec2::new(8.0, 0.0)).length() < 1e-5, "{from} {to}");
}

/// Lines of every shape lie on its surface, to the corners that stand for arcs.
#[test]
fn outlines_lie_on_the_surface() {
    for (name, shape) in shapes() {
        let mut scene = Scene::new("one shape");
        scene.add(Body::fixed(1.0, 2.0).angle(0.4).shape(shape.clone()));
        let mut lines = Lines(Vec::new());
        World::new(&scene).unwrap().debug_draw(&mut lines, &DebugDrawOptions::default()).unwrap();
        let placed = PlacedShape::new(&shape, [1.0, 2.0], 0.4).unwrap();
        let distance = |point: Vec2| {
            let dot = PlacedShape::new(&Shape::circle(1e-5), point, 0.0).unwrap();
            placed.distance(&dot).unwrap().distance
        };
        let is_round = matches!(shape.geometry, Geometry::Circle { .. } | Geometry::Particle { .. });
        let sides = if is_round { &lines.0[..lines.0.len() - 1] } else { &lines.0[..] };
        let bound = placed.bounds().map(|[low, high]| 0.5 * low.distance(high)).unwrap();
        for [from, to] in sides {
            assert!(distance(*from).abs() < 1e-4, "{name}: {from} is {} off", distance(*from));
            // The middle of a side of 15 degrees is inside by less than a hundredth of the radius.
            let middle = distance(0.5 * (*from + *to));
            assert!(middle < 1e-4 && middle > -0.02 * bound - 1e-4, "{name}: {middle}");
        }
        // They go around: each begins where the one before ended.
        let is_open = matches!(shape.geometry, Geometry::Segment { .. });
        let is_loop = (0..sides.len()).all(|side| sides[side][1] == sides[(side + 1) % sides.len()][0]);
        assert_eq!(is_loop, !is_open, "{name}: {sides:?}");
    }
}
