//! From what the file says to the [`Scene`] it means. Whatever this release cannot do is refused, never left out.

use super::records::{BodyRecord, SceneRecord, SettingsRecord, ShapeRecord};
use super::refuse;
use crate::scene::check::FRICTION;
use crate::scene::{Body, Filter, Geometry, Material, Scene, SceneError, Settings, Shape};

/// Also checks the scene ([`Scene::check`]).
pub fn scene(record: SceneRecord) -> Result<Scene, SceneError> {
    if record.version != super::VERSION {
        let expected = format!("{}, the version this release reads", super::VERSION);
        return Err(SceneError::new("version", format!("is {}", record.version), expected));
    }
    let mut bodies = Vec::with_capacity(record.bodies.len());
    for (index, body_record) in record.bodies.into_iter().enumerate() {
        bodies.push(body(body_record, index)?);
    }
    let scene = Scene {
        name: record.name,
        gravity: record.gravity.0,
        settings: settings(&record.settings),
        bodies,
        joints: Vec::new(),
    };
    scene.check()?;
    // Last, because joints refer to bodies.
    refuse::joints(&record.joints, &scene.bodies)?;
    Ok(scene)
}

fn settings(record: &SettingsRecord) -> Settings {
    Settings {
        dt: record.dt,
        substeps: record.substeps,
        iterations: record.iterations,
        mode: record.mode.0,
        relax: record.relax,
        warm_start: record.warm_start,
        accumulate: record.accumulate,
        baumgarte: record.baumgarte,
        slop: record.slop,
        correct_position: record.correct_position,
        recycle: record.recycle,
        restitution_threshold: record.restitution_threshold,
        restitution_mix: record.restitution_mix.0,
        strict: record.strict,
    }
}

fn body(record: BodyRecord, index: usize) -> Result<Body, SceneError> {
    let mut shapes = Vec::with_capacity(record.shapes.len());
    for (number, shape_record) in record.shapes.iter().enumerate() {
        let fixed = record.kind.0 != crate::scene::BodyType::Dynamic;
        shapes.push(shape(shape_record, fixed, &|| format!("bodies[{index}].shapes[{number}]"))?);
    }
    Ok(Body {
        id: record.id,
        kind: record.kind.0,
        position: record.position.0,
        angle: record.angle,
        velocity: record.velocity.0,
        angular_velocity: record.angular_velocity,
        gravity_scale: record.gravity_scale,
        linear_damping: record.linear_damping,
        angular_damping: record.angular_damping,
        fixed_rotation: record.fixed_rotation,
        bullet: record.bullet,
        force: record.force.0,
        force_point: record.force_point.map(|point| point.0),
        torque: record.torque,
        mass: record.mass,
        inertia: record.inertia,
        shapes,
    })
}

fn shape(record: &ShapeRecord, fixed: bool, at: &dyn Fn() -> String) -> Result<Shape, SceneError> {
    refuse::several_geometries(record, at)?;
    let geometry = if let Some(circle) = record.circle {
        Geometry::Circle { radius: circle.radius }
    } else if let Some(rectangle) = record.rectangle {
        if rectangle.radius != 0.0 {
            refuse::ROUNDING.check(rectangle.radius, format_args!("{}.box.radius", at()))?;
            let problem = format!("is {}, and rounded boxes are not supported yet", rectangle.radius);
            return Err(SceneError::new(at() + ".box.radius", problem, "0"));
        }
        Geometry::Box { half: rectangle.half.0, radius: 0.0 }
    } else {
        return Err(refuse::geometry(record, fixed, at));
    };
    if let Some(kinetic) = record.kinetic_friction {
        FRICTION.check(kinetic, format_args!("{}.kinetic_friction", at()))?;
        #[allow(clippy::float_cmp, reason = "the same number or another one")]
        if kinetic != record.friction {
            let problem = format!("is {kinetic}, and two coefficients of friction are not supported yet");
            let expected = format!("{}, as friction", record.friction);
            return Err(SceneError::new(at() + ".kinetic_friction", problem, expected));
        }
    }
    Ok(Shape {
        geometry,
        offset: record.offset.0,
        rotation: record.rotation,
        density: record.density,
        material: Material { friction: record.friction, restitution: record.restitution, ..Material::default() },
        filter: Filter { category: record.filter.category, mask: record.filter.mask, group: record.filter.group },
    })
}
