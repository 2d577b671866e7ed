//! Reference solutions for soft point joints in the limit of short steps, in double precision. For tests.
//!
//! Drystone and Box2D agree on rigid joints and on springs along a line. For a spring at a point, given by its
//! frequency, the force of both is `−M (ω² c + 2ζω ċ)` with `c` from anchor to anchor, and `M` the inverse of the
//! effective-mass matrix. They push at different places, so each is compared with its own law: Box2D pushes each body
//! at its own anchor, which creates torque from nothing, and damps the change of `c`. Drystone pushes both bodies at
//! B's anchor, and damps the motion of B's anchor relative to A's material point there (`src/stages/solve_joints.rs`).
//!
//! Body A swings on a fixed hinge, body B is free, so the state is `[φ, x, y, θ]` and its derivative.

use drystone::low_level::scene::Compiled;
use drystone::{Joint, JointKind};

type Pair = [f64; 2];

/// Engine whose law is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Drystone,
    Box2d,
}

/// Integration step, s; the stiffest spring here decays within a millisecond.
const STEP: f64 = 2e-5;

fn add(a: Pair, b: Pair) -> Pair {
    [a[0] + b[0], a[1] + b[1]]
}

fn scaled(a: Pair, s: f64) -> Pair {
    [a[0] * s, a[1] * s]
}

fn less(a: Pair, b: Pair) -> Pair {
    add(a, scaled(b, -1.0))
}

fn cross(a: Pair, b: Pair) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

/// Velocity of the end of an arm.
fn spun(w: f64, arm: Pair) -> Pair {
    [-w * arm[1], w * arm[0]]
}

fn turned(angle: f64, v: Pair) -> Pair {
    let (s, c) = angle.sin_cos();
    [c * v[0] - s * v[1], s * v[0] + c * v[1]]
}

fn wide(v: impl Into<[f32; 2]>) -> Pair {
    v.into().map(f64::from)
}

/// Spring by frequency and damping ratio, with its maximum force or torque.
struct Soft {
    hertz: f64,
    damping: f64,
    most: f64,
}

impl Soft {
    /// Returns the acceleration for a displacement and its rate.
    fn pull(&self, c: f64, speed: f64) -> f64 {
        let omega = std::f64::consts::TAU * self.hertz;
        -(omega * omega * c + 2.0 * self.damping * omega * speed)
    }
}

/// Two bodies, the first on a fixed hinge, connected by a soft point joint.
pub struct Swing {
    law: Law,
    mass: Pair,
    inertia: Pair,
    /// Position of the hinge in the world, and from A's centre in A's frame.
    nail: (Pair, Pair),
    /// Anchors in A's frame, or in the world if A is the world, and in B's frame.
    anchors: (Pair, Pair),
    to_world: bool,
    linear: Soft,
    /// Angular spring and its reference angle.
    angular: Option<(Soft, f64)>,
    state: [f64; 8],
}

impl Swing {
    /// Creates the system of a scene with two bodies, whose first joint fixes body 0 to the world and whose second
    /// joint is soft.
    pub fn new(law: Law, scene: &drystone::Scene) -> Self {
        let compiled = Compiled::new(scene).unwrap();
        let (nail, joint) = (&scene.joints[0], &scene.joints[1]);
        let soft = |hertz: Option<f32>, damping: Option<f32>, usual: (f32, f32), most: f32| Soft {
            hertz: hertz.unwrap_or(usual.0).into(),
            damping: damping.unwrap_or(usual.1).into(),
            most: most.into(),
        };
        let (rigid, free) = ((60.0, 2.0), f32::INFINITY);
        let Joint { hertz, damping_ratio, .. } = *joint;
        let [a, b] = [&scene.bodies[0], &scene.bodies[1]];
        let turned = b.angle - a.angle;
        let mut anchor_a = joint.anchor_a;
        let (linear, angular) = match &joint.kind {
            JointKind::Weld { angular_hertz, reference_angle, .. } => {
                let angular = soft(angular_hertz.or(hertz), damping_ratio, rigid, free);
                let reference = reference_angle.unwrap_or(turned);
                (soft(hertz, damping_ratio, rigid, free), Some((angular, reference.into())))
            }
            JointKind::Motor { linear_offset, angular_offset, max_force, max_torque } => {
                anchor_a += *linear_offset;
                let angular = soft(hertz, damping_ratio, rigid, *max_torque);
                (soft(hertz, damping_ratio, rigid, *max_force), Some((angular, f64::from(*angular_offset))))
            }
            JointKind::Mouse { target, max_force } => {
                anchor_a = *target;
                (soft(hertz, damping_ratio, (5.0, 0.7), *max_force), None)
            }
            kind => panic!("{kind:?} is no soft point"),
        };
        let [x, y] = wide(b.position);
        Self {
            law,
            mass: [0, 1].map(|body| compiled.mass[body].mass.into()),
            inertia: [0, 1].map(|body| compiled.mass[body].inertia.into()),
            nail: (wide(nail.anchor_a), wide(nail.anchor_b)),
            anchors: (wide(anchor_a), wide(joint.anchor_b)),
            to_world: joint.a.is_none(),
            linear,
            angular,
            state: [a.angle.into(), x, y, b.angle.into(), 0.0, 0.0, 0.0, 0.0],
        }
    }

    /// Returns the derivative of the state.
    fn rates(&self, state: &[f64; 8]) -> [f64; 8] {
        let &[phi, x, y, theta, phi_speed, x_speed, y_speed, theta_speed] = state;
        let center_b = [x, y];
        let (nail, gravity) = (self.nail.0, [0.0, -10.0]);
        let center_a = less(nail, turned(phi, self.nail.1));
        let at_b = add(center_b, turned(theta, self.anchors.1));
        let at_a = if self.to_world { self.anchors.0 } else { add(center_a, turned(phi, self.anchors.0)) };
        let place = if self.law == Law::Drystone { at_b } else { at_a };
        let velocity_b = add([x_speed, y_speed], spun(theta_speed, less(at_b, center_b)));
        let velocity_a = if self.to_world { [0.0; 2] } else { spun(phi_speed, less(place, nail)) };
        let (apart, speed) = (less(at_b, at_a), less(velocity_b, velocity_a));

        let (r_a, r_b) = (less(at_a, center_a), less(at_b, center_b));
        let (mut m_a, mut i_a, m_b, i_b) =
            (1.0 / self.mass[0], 1.0 / self.inertia[0], 1.0 / self.mass[1], 1.0 / self.inertia[1]);
        if self.to_world {
            (m_a, i_a) = (0.0, 0.0);
        }
        let xx = m_a + m_b + i_a * r_a[1] * r_a[1] + i_b * r_b[1] * r_b[1];
        let yy = m_a + m_b + i_a * r_a[0] * r_a[0] + i_b * r_b[0] * r_b[0];
        let xy = -i_a * r_a[0] * r_a[1] - i_b * r_b[0] * r_b[1];
        let pull = [self.linear.pull(apart[0], speed[0]), self.linear.pull(apart[1], speed[1])];
        let mut force = scaled([yy * pull[0] - xy * pull[1], xx * pull[1] - xy * pull[0]], 1.0 / (xx * yy - xy * xy));
        let size = force[0].hypot(force[1]);
        if size > self.linear.most {
            force = scaled(force, self.linear.most / size);
        }
        let torque = self.angular.as_ref().map_or(0.0, |(soft, reference)| {
            let wanted = soft.pull(theta - phi - reference, theta_speed - phi_speed) / (i_a + i_b);
            wanted.clamp(-soft.most, soft.most)
        });

        let mut turning = cross(less(center_a, nail), scaled(gravity, self.mass[0]));
        if !self.to_world {
            turning -= cross(less(place, nail), force) + torque;
        }
        let arm = self.nail.1[0].hypot(self.nail.1[1]);
        let about_nail = self.inertia[0] + self.mass[0] * arm * arm;
        let fall = add(gravity, scaled(force, m_b));
        let spin = i_b * (cross(r_b, force) + torque);
        [phi_speed, x_speed, y_speed, theta_speed, turning / about_nail, fall[0], fall[1], spin]
    }

    /// Returns `[x, y, cosine, sine]` of each body after this time in seconds (fourth-order Runge-Kutta).
    pub fn after(mut self, seconds: f64) -> Vec<[f64; 4]> {
        let moved = |state: &[f64; 8], rates: &[f64; 8], h: f64| {
            let mut to = *state;
            to.iter_mut().zip(rates).for_each(|(to, rate)| *to += h * rate);
            to
        };
        let mut time = 0.0;
        while time < seconds - 0.5 * STEP {
            let k_1 = self.rates(&self.state);
            let k_2 = self.rates(&moved(&self.state, &k_1, 0.5 * STEP));
            let k_3 = self.rates(&moved(&self.state, &k_2, 0.5 * STEP));
            let k_4 = self.rates(&moved(&self.state, &k_3, STEP));
            for (k, share) in [(k_1, 1.0), (k_2, 2.0), (k_3, 2.0), (k_4, 1.0)] {
                self.state = moved(&self.state, &k, share * STEP / 6.0);
            }
            time += STEP;
        }
        let [phi, x, y, theta, ..] = self.state;
        let center_a = less(self.nail.0, turned(phi, self.nail.1));
        [(center_a, phi), ([x, y], theta)].map(|([x, y], angle)| [x, y, angle.cos(), angle.sin()]).to_vec()
    }
}
