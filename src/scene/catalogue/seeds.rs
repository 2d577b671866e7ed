//! One scene for each idea of the tutorials that this project began with.

use glam::Vec2;

use super::{Entry, Parameter, Values, real};
use crate::math::{rotate, rotation};
use crate::scene::{Body, Mode, Scene, Shape};

/// Box2D's reference values are for 10.
const GRAVITY: Parameter = Parameter::real("gravity", 9.81, 0.1, 100.0, "downwards, m/s²");

pub(super) const SMALL_SI: Entry = Entry {
    name: "small_si",
    summary: "boxes slide down two chutes and a kicker towards a tower, solved as in the tutorial",
    source: "SmallSI (XMAMan): its kind of room at 0.02 m a pixel, with its settings: sequential impulses, 10 \
             iterations, Baumgarte 0.2, 1 pixel of slop, no warm start, restitution 0.5 by the smaller. Box sizes and \
             masses are about its own, places are ours. It bounds friction by g·μ·dt whatever the load; the \
             coefficients here give about the same bound for these masses.",
    parameters: &[
        Parameter::whole("boxes", 6, 0, 9, "on the upper chute"),
        Parameter::whole("tower", 5, 0, 50, "boxes in the tower"),
        Parameter::real("restitution", 0.5, 0.0, 1.0, "of everything"),
    ],
    steps: 900,
    count: |values| 6 + values.count("boxes") + values.count("tower"),
    construct: small_si,
};

fn small_si(values: &Values) -> Scene {
    /// Half the thickness of chutes, floor and walls, m.
    const PLANK: f32 = 0.15;
    /// Half a small box, m.
    const SMALL: [f32; 2] = [0.37, 0.385];
    /// Half a tower box, m.
    const LARGE: f32 = 0.69;
    /// SmallSI's 10⁻⁴ per square pixel, kg/m².
    const DENSITY: f32 = 0.25;
    const SMOOTH: f32 = 0.04;
    const ROUGH: f32 = 0.4;
    let restitution = values.real("restitution");
    let mut scene = Scene::default();
    let settings = &mut scene.settings;
    settings.mode = Mode::Baumgarte;
    settings.iterations = Some(10);
    settings.warm_start = false;
    settings.slop = 0.02;
    settings.restitution_threshold = 0.0;
    let upper = (Vec2::new(-4.3, 8.6), -0.33);
    for ((center, angle), half_width, friction) in [
        ((Vec2::new(0.0, -PLANK), 0.0), 9.0, ROUGH),
        ((Vec2::new(-8.85, 5.5), std::f32::consts::FRAC_PI_2), 5.5, SMOOTH),
        ((Vec2::new(8.85, 5.5), std::f32::consts::FRAC_PI_2), 5.5, SMOOTH),
        (upper, 4.5, SMOOTH),
        ((Vec2::new(-1.6, 4.4), 0.28), 4.2, SMOOTH),
        ((Vec2::new(-7.2, 1.6), -0.73), 1.5, SMOOTH),
    ] {
        let plank = Shape::half_box(half_width, PLANK).friction(friction).restitution(restitution);
        scene.add(Body::fixed(center.x, center.y).angle(angle).shape(plank));
    }
    for i in 0..values.count("boxes") {
        let on_chute = Vec2::new(-3.8 + 0.9 * real(i), PLANK + SMALL[1]);
        let at = upper.0 + rotate(rotation(upper.1), on_chute);
        let shape = Shape::half_box(SMALL[0], SMALL[1]).density(DENSITY).friction(SMOOTH).restitution(restitution);
        scene.add(Body::dynamic(at.x, at.y).angle(upper.1).shape(shape));
    }
    for i in 0..values.count("tower") {
        // A crooked tower: each box is moved by up to a fifth of its width.
        let x = 5.0 + [0.0, 0.3, -0.25, 0.2, -0.15][usize::try_from(i % 5).unwrap_or(0)];
        let shape = Shape::half_box(LARGE, LARGE).density(DENSITY).friction(ROUGH).restitution(restitution);
        scene.add(Body::dynamic(x, LARGE * (2.0 * real(i) + 1.0)).shape(shape));
    }
    scene
}

pub(super) const THRUSTER: Entry = Entry {
    name: "thruster",
    summary: "a box in the air, pushed up at a point off its centre",
    source: "SmallSI's thruster, in metres: a 1 m box of 1 kg, free. The force always points up and its point turns \
             with the box, which swings like a pendulum: ½·I·ω² = force·arm·sin(angle). At the default the force \
             carries the weight, and the centre stays where it is.",
    parameters: &[
        Parameter::real("force", 9.81, -1_000.0, 1_000.0, "upwards, N"),
        Parameter::real("arm", 0.25, -0.5, 0.5, "how far to the right of the centre it acts, m"),
        GRAVITY,
    ],
    steps: 300,
    count: |_| 1,
    construct: thruster,
};

fn thruster(values: &Values) -> Scene {
    let mut scene = Scene::default().gravity(0.0, -values.real("gravity"));
    let mut body = Body::dynamic(0.0, 0.0).shape(Shape::half_box(0.5, 0.5));
    body.force = Vec2::new(0.0, values.real("force"));
    body.force_point = Some(Vec2::new(values.real("arm"), 0.0));
    scene.add(body);
    scene
}

pub(super) const CIRCLE_MASSES: Entry = Entry {
    name: "circle_masses",
    summary: "two circles of 1 kg and 0.5 kg meet head-on",
    source: "Physics engines for dummies (Paul Firth): the impulse is (1 + e)·v·m_a·m_b/(m_a + m_b), shared by \
             the masses. No gravity, no friction; every impact bounces, however slow.",
    parameters: &[
        Parameter::real("mass_a", 1.0, 0.001, 1_000.0, "of the left circle, kg"),
        Parameter::real("mass_b", 0.5, 0.001, 1_000.0, "of the right circle, kg"),
        Parameter::real("velocity_a", 2.0, -20.0, 20.0, "of the left circle, to the right, m/s"),
        Parameter::real("velocity_b", -1.0, -20.0, 20.0, "of the right circle, to the right, m/s"),
        Parameter::real("restitution", 1.0, 0.0, 1.0, "of both"),
    ],
    steps: 180,
    count: |_| 2,
    construct: circle_masses,
};

fn circle_masses(values: &Values) -> Scene {
    let mut scene = Scene::default().gravity(0.0, 0.0);
    scene.settings.restitution_threshold = 0.0;
    let shape = Shape::circle(0.5).friction(0.0).restitution(values.real("restitution"));
    for (id, x, mass, velocity) in [("a", -2.0, "mass_a", "velocity_a"), ("b", 2.0, "mass_b", "velocity_b")] {
        let mut body = Body::dynamic(x, 0.0).id(id).velocity(values.real(velocity), 0.0).shape(shape.clone());
        body.mass = Some(values.real(mass));
        scene.add(body);
    }
    scene
}

pub(super) const BOUNCING_BALL: Entry = Entry {
    name: "bouncing_ball",
    summary: "a ball falls 9.5 m and bounces",
    source: "SmallSI's jumping ball. It should rise to restitution² of the drop; Box2D's rises to 0.517, 2.304, 5.287, \
             9.466 m at 0.25, 0.5, 0.75, 1 and gravity=10. Ball and ground have the same restitution: any mixing will \
             do.",
    parameters: &[
        Parameter::real("restitution", 1.0, 0.0, 1.0, "of ball and ground"),
        Parameter::real("height", 9.5, 0.0, 1_000.0, "how far the ball's lowest point starts above the ground, m"),
        GRAVITY,
    ],
    steps: 600,
    count: |_| 2,
    construct: bouncing_ball,
};

fn bouncing_ball(values: &Values) -> Scene {
    let restitution = values.real("restitution");
    let mut scene = Scene::default().gravity(0.0, -values.real("gravity"));
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0).restitution(restitution)));
    let ball = Shape::circle(0.5).restitution(restitution);
    scene.add(Body::dynamic(0.0, values.real("height") + 0.5).id("ball").shape(ball));
    scene
}

pub(super) const SLOPE: Entry = Entry {
    name: "slope",
    summary: "a box on a slope: rests if friction exceeds the slope's tangent, else slides",
    source: "SmallSI's cube on a slope. It slides ½·g·(sin − friction·cos)·t²; Box2D's box slides 5.394, 1.825, 0.401, \
             0.0007 m in 2 s at 0.2, 0.4, 0.48, 0.52 and gravity=10.",
    parameters: &[
        Parameter::real("friction", 0.6, 0.0, 10.0, "of box and slope"),
        Parameter::real("tangent", 0.5, 0.0, 2.0, "rise over run; the slope falls to the left"),
        GRAVITY,
    ],
    steps: 120,
    count: |_| 2,
    construct: slope,
};

fn slope(values: &Values) -> Scene {
    let friction = values.real("friction");
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let angle = values.get("tangent").atan() as f32;
    let turn = rotation(angle);
    let mut scene = Scene::default().gravity(0.0, -values.real("gravity"));
    // The surface goes through the origin; the slope is 100 m long and the box starts at its middle.
    let slab = rotate(turn, Vec2::new(0.0, -1.0));
    scene.add(Body::fixed(slab.x, slab.y).angle(angle).shape(Shape::half_box(50.0, 1.0).friction(friction)));
    let at = rotate(turn, Vec2::new(0.0, 0.5));
    scene.add(Body::dynamic(at.x, at.y).angle(angle).id("box").shape(Shape::half_box(0.5, 0.5).friction(friction)));
    scene
}
