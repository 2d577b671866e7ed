//! Inputs that Drystone applies in every step by itself and that other engines must be given before each step: constant
//! forces, fields, and kinematic bodies on paths. Setting them is not timed.

use drystone::{BodyType, Field, Path, Scene};

/// Force or torque that acts in every step.
pub struct Push {
    /// Index of the body in the scene.
    pub body: usize,
    /// Force, N.
    pub force: [f32; 2],
    /// Point of attack in the body's frame, m; `None` for the centre of mass.
    pub point: Option<[f32; 2]>,
    /// Torque, N·m.
    pub torque: f32,
}

/// Kinematic body on a path.
pub struct PathBody {
    /// Index of the body in the scene.
    pub body: usize,
    path: Path,
    /// Body at the start of the scene.
    start: drystone::Body,
}

impl PathBody {
    /// Returns the position of the origin (m) and the angle (rad) after a number of steps of `dt` seconds.
    pub fn place(&self, steps: u64, dt: f32) -> ([f32; 2], f32) {
        // Drystone's own function is private; it reduces the angle in double precision, too.
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as in Drystone")]
        let swing =
            (f64::from(self.path.rate) * f64::from(dt) * steps as f64 + f64::from(self.path.phase)).sin() as f32;
        ((self.start.position + self.path.amplitude * swing).into(), self.start.angle + self.path.turn * swing)
    }
}

/// All inputs of a scene.
pub struct Pushes {
    /// Constant forces.
    pub forces: Vec<Push>,
    /// Bodies on paths.
    pub led: Vec<PathBody>,
    /// Fields of the scene.
    pub fields: Vec<Field>,
}

impl Pushes {
    /// Collects the inputs of a scene.
    pub fn of(scene: &Scene) -> Self {
        let mut this = Self { forces: Vec::new(), led: Vec::new(), fields: scene.fields.clone() };
        for (index, body) in scene.bodies.iter().enumerate() {
            if let Some(path) = body.path {
                this.led.push(PathBody { body: index, path, start: body.clone() });
            }
            let acts = body.force.length_squared() > 0.0 || body.torque != 0.0;
            if acts && body.kind == BodyType::Dynamic {
                this.forces.push(Push {
                    body: index,
                    force: body.force.into(),
                    point: body.force_point.map(Into::into),
                    torque: body.torque,
                });
            }
        }
        this
    }

    /// Returns the force of all fields (N) on a body of this mass (kg) whose centre is at this position (m).
    pub fn pull(&self, [x, y]: [f32; 2], mass: f32) -> [f32; 2] {
        let mut force = [0.0; 2];
        for field in &self.fields {
            let (x, y) = (field.position.x - x, field.position.y - y);
            let distance = x.hypot(y);
            if distance > field.core {
                let share = (field.acceleration * mass + field.force) / distance;
                force = [force[0] + share * x, force[1] + share * y];
            }
        }
        force
    }
}
