//! What Drystone does by itself in every step and others have to be told before each: constant forces, fields, and
//! kinematic bodies on paths. Telling is not timed.

use drystone::{BodyType, Field, Path, Scene};

/// A force or torque that acts in every step.
pub struct Push {
    /// Its place in the scene.
    pub body: usize,
    /// N.
    pub force: [f32; 2],
    /// On the body, in its frame, m; `None` is the centre of mass.
    pub point: Option<[f32; 2]>,
    /// N·m.
    pub torque: f32,
}

/// A kinematic body on a path.
pub struct Led {
    /// Its place in the scene.
    pub body: usize,
    path: Path,
    /// As the scene starts it.
    start: drystone::Body,
}

impl Led {
    /// Where it should be after so many steps of so many seconds: its origin, m, and its angle, rad.
    pub fn place(&self, steps: u64, dt: f32) -> ([f32; 2], f32) {
        let (position, angle) = self.path.place(self.start.position, self.start.angle, steps, dt);
        (position.into(), angle)
    }
}

/// All of a scene.
pub struct Pushes {
    /// Constant forces.
    pub forces: Vec<Push>,
    /// Bodies on paths.
    pub led: Vec<Led>,
    /// Of the whole scene.
    pub fields: Vec<Field>,
}

impl Pushes {
    /// Those of a scene.
    pub fn of(scene: &Scene) -> Self {
        let mut this = Self { forces: Vec::new(), led: Vec::new(), fields: scene.fields.clone() };
        for (index, body) in scene.bodies.iter().enumerate() {
            if let Some(path) = body.path {
                this.led.push(Led { body: index, path, start: body.clone() });
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

    /// What all fields together do to a body of some mass (kg) whose centre is there (m), N.
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
