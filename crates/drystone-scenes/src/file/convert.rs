//! Converts file records to a [`Scene`].

use std::collections::{HashMap, HashSet};

use glam::Vec2;

use super::joint_records::{JointRecord, JointType, own_keys};
use super::material_records;
use super::records::{
    BodyRecord, Chain, EmitterRecord, GEOMETRIES, Link, SceneRecord, SettingsRecord, ShapeRecord, ViewRecord,
};
use super::timeline_records::timeline;
use super::values::{BodyRef, Pair, TextLines, Word};
use drystone::low_level::scene::check::{MAX_VALUE, MIN_LENGTH, UNIT_TOLERANCE};
use drystone::low_level::scene::{ContactRule, Units};
use drystone::low_level::types::split_position;
use drystone::{
    Body, Emitter, Field, Filter, Geometry, Joint, JointKind, Motor, NamedMaterial, Path, Scene, SceneError, Settings,
    Shape, ViewBox,
};

/// Converts a scene and checks it ([`Scene::check`]).
pub fn scene(record: SceneRecord) -> Result<Scene, SceneError> {
    if record.version != super::VERSION {
        let expected = format!("{}, the version this release reads", super::VERSION);
        return Err(SceneError::new("version", format!("is {}", record.version), expected));
    }
    let of_emitters = record.emitters.iter().flat_map(|emitter| &emitter.bodies);
    let elsewhere: HashSet<String> = of_emitters.filter_map(|body| body.id.clone()).collect();
    let materials = material_records::named(record.materials);
    let bodies = all_bodies(record.bodies, &materials)?;
    let joints = all_joints(record.joints, &bodies, |id| {
        elsewhere.contains(id).then_some("a body that an emitter makes, which joints of the scene cannot refer to")
    })?;
    let fields = record.fields.into_iter().map(|field| field.point);
    let fields = fields.map(|point| Field {
        position: point.position.0,
        force: point.force,
        acceleration: point.acceleration,
        core: point.core,
    });
    let step = record.settings.dt;
    let timeline = timeline(&record.timeline, &bodies, &joints)?;
    let mut scene = Scene {
        name: record.name,
        gravity: record.gravity.0,
        settings: settings(&record.settings),
        material_pairs: material_records::pairs(record.material_pairs),
        bodies,
        joints,
        fields: fields.collect(),
        emitters: emitters(record.emitters, &materials)?,
        materials,
        timeline,
        view: record.view.map(|ViewRecord { min: Pair(min), max: Pair(max) }| ViewBox { min, max }),
        contact_rule: record.contact_rule.map(|TextLines(wgsl)| contact_rule(&wgsl)).transpose()?,
    };
    scene.check()?;
    if step.is_none() {
        scene.settings.dt = Units::of(&scene).fitting_dt();
    }
    Ok(scene)
}

/// Converts the WGSL of a contact rule.
fn contact_rule(wgsl: &str) -> Result<ContactRule, SceneError> {
    drystone_rules::contact_rule(wgsl).map_err(|error| {
        SceneError::new("contact_rule", error.to_string(), "WGSL with fn rule(contact: RuleContact) -> RuleContact")
    })
}

/// Converts bodies that are added to a world; the world checks them. Materials that are not known here are given by
/// their index, with all values beside it.
pub fn all_bodies(records: Vec<BodyRecord>, materials: &[NamedMaterial]) -> Result<Vec<Body>, SceneError> {
    records.into_iter().enumerate().map(|(index, record)| body(record, index, materials)).collect()
}

/// Converts joints between these bodies. `elsewhere` describes the owner of an id that is not among them.
fn all_joints(
    records: Vec<JointRecord>,
    bodies: &[Body],
    elsewhere: impl Fn(&str) -> Option<&'static str>,
) -> Result<Vec<Joint>, SceneError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    // Duplicate ids are reported by the check.
    let ids: HashMap<&str, usize> =
        bodies.iter().enumerate().filter_map(|(index, body)| Some((body.id.as_deref()?, index))).collect();
    let joints = records.into_iter().enumerate();
    joints.map(|(index, record)| joint(record, &ids, &elsewhere, &|| format!("joints[{index}]"))).collect()
}

fn emitters(records: Vec<EmitterRecord>, materials: &[NamedMaterial]) -> Result<Vec<Emitter>, SceneError> {
    let emitter = |record: EmitterRecord| {
        let bodies = all_bodies(record.bodies, materials)?;
        Ok(Emitter {
            joints: all_joints(record.joints, &bodies, |_| None)?,
            bodies,
            start: record.start,
            every: record.every,
            count: record.count,
            keep: record.keep,
            lifetime: record.lifetime,
        })
    };
    let within = |index: usize| move |error: SceneError| error.within(&format!("emitters[{index}]"));
    records.into_iter().enumerate().map(|(index, record)| emitter(record).map_err(within(index))).collect()
}

fn settings(record: &SettingsRecord) -> Settings {
    Settings {
        dt: record.dt.unwrap_or(Settings::default().dt),
        substeps: record.substeps,
        iterations: record.iterations,
        length_unit: record.length_unit,
        mode: record.mode.0,
        relax: record.relax,
        warm_start: record.warm_start,
        initial_loads: record.initial_loads,
        mass_scaling: record.mass_scaling,
        accumulate: record.accumulate,
        baumgarte: record.baumgarte,
        contact_hertz: record.contact_hertz,
        contact_damping_ratio: record.contact_damping_ratio,
        push_speed: record.push_speed,
        slop: record.slop,
        correct_position: record.correct_position,
        recycle: record.recycle,
        continuous: record.continuous,
        restitution_threshold: record.restitution_threshold,
        restitution_mix: record.restitution_mix.0,
        friction_mix: record.friction_mix.0,
        max_speed: record.max_speed,
        max_spin: record.max_spin,
        strict: record.strict,
        events: record.events,
        sleep: record.sleep,
    }
}

fn body(record: BodyRecord, index: usize, materials: &[NamedMaterial]) -> Result<Body, SceneError> {
    let shapes = shapes(record.shapes, materials, &format!("bodies[{index}]"))?;
    let [position, position_low] = split_position(record.position.0);
    Ok(Body {
        id: record.id,
        kind: record.kind.0,
        position,
        position_low,
        angle: record.angle,
        velocity: record.velocity.0,
        angular_velocity: record.angular_velocity,
        gravity_scale: record.gravity_scale,
        linear_damping: record.linear_damping,
        angular_damping: record.angular_damping,
        fixed_rotation: record.fixed_rotation,
        bullet: record.bullet,
        can_sleep: record.can_sleep,
        sleep_speed: record.sleep_speed,
        force: record.force.0,
        force_point: record.force_point.map(|point| point.0),
        torque: record.torque,
        mass: record.mass,
        inertia: record.inertia,
        path: record.path.map(|path| Path {
            amplitude: path.amplitude.0,
            turn: path.turn,
            rate: path.rate,
            phase: path.phase,
        }),
        color_index: record.color_index,
        user_data: record.user_data,
        shapes,
    })
}

/// Returns the shapes of records. `path` is that of the object that they belong to.
///
/// # Errors
/// The first mistake, with its path.
pub fn shapes(records: Vec<ShapeRecord>, materials: &[NamedMaterial], path: &str) -> Result<Vec<Shape>, SceneError> {
    let mut shapes = Vec::with_capacity(records.len());
    // Behind all others, so that these keep their numbers.
    let mut links = Vec::new();
    for (number, record) in records.into_iter().enumerate() {
        let at = || format!("{path}.shapes[{number}]");
        let mut own = several(&record, &at)?.into_iter().map(|shape| shape.geometry);
        let first = shape(record, own.next(), materials, &at)?;
        links.extend(own.map(|geometry| Shape { geometry, ..first.clone() }));
        shapes.push(first);
    }
    shapes.append(&mut links);
    Ok(shapes)
}

/// Returns the shapes of a record that stands for several; none for others.
fn several(record: &ShapeRecord, at: &dyn Fn() -> String) -> Result<Vec<Shape>, SceneError> {
    let within = |key: &'static str| move |error: SceneError| error.within(&format!("{}.{key}", at()));
    if let Some(chain) = &record.chain {
        chain_links(chain, at)
    } else if let Some(outline) = &record.outline {
        Shape::outline(outline.points.iter().map(|point| point.0)).map_err(within("outline"))
    } else if let Some(field) = &record.height_field {
        Shape::height_field(field.spacing, field.heights.iter().copied()).map_err(within("height_field"))
    } else {
        Ok(Vec::new())
    }
}

/// Returns the links of a chain.
fn chain_links(chain: &Chain, at: &dyn Fn() -> String) -> Result<Vec<Shape>, SceneError> {
    let points: Vec<Vec2> = chain.points.iter().map(|point| point.0).collect();
    let least = if chain.is_loop { 3 } else { 2 };
    if points.len() < least {
        let problem = format!("has {} points", points.len());
        return Err(SceneError::new(format!("{}.chain.points", at()), problem, format!("at least {least}")));
    }
    for (index, &point) in points.iter().enumerate() {
        let before = if index > 0 { points[index - 1] } else { points[points.len() - 1] };
        let is_first = index == 0 && !chain.is_loop;
        if !is_first && point.distance(before) < MIN_LENGTH {
            let expected = format!("points at least {MIN_LENGTH} m apart");
            let path = format!("{}.chain.points[{index}]", at());
            return Err(SceneError::new(path, "is at the point before it", expected));
        }
    }
    Ok(if chain.is_loop { Shape::chain_loop(points) } else { Shape::chain(points) })
}

/// Converts a shape; `made` is its outline if its record stands for several.
fn shape(
    record: ShapeRecord,
    made: Option<Geometry>,
    materials: &[NamedMaterial],
    at: &dyn Fn() -> String,
) -> Result<Shape, SceneError> {
    let there = record.geometries();
    if there.iter().filter(|there| **there).count() > 1 {
        let keys: Vec<&str> = GEOMETRIES.iter().zip(there).filter(|(_, there)| *there).map(|(key, _)| *key).collect();
        return Err(SceneError::new(at(), format!("has {}", keys.join(" and ")), "only one of them in a shape"));
    }
    let material = material_records::of_shape(&record, materials, at)?;
    let geometry = if let Some(made) = made {
        made
    } else if let Some(circle) = record.circle {
        Geometry::Circle { radius: circle.radius }
    } else if let Some(rectangle) = record.rectangle {
        Geometry::Box { half: rectangle.half.0, radius: rectangle.radius }
    } else if let Some(capsule) = record.capsule {
        Geometry::Capsule { a: capsule.a.0, b: capsule.b.0, radius: capsule.radius }
    } else if let Some(polygon) = record.polygon {
        let points = polygon.points.into_iter().map(|point| point.0).collect();
        Geometry::Polygon { points, radius: polygon.radius }
    } else if let Some(segment) = record.segment {
        Geometry::Segment { a: segment.a.0, b: segment.b.0 }
    } else if let Some(link) = record.link {
        let Link { a, b, before, after } = *link;
        Geometry::Link { a: a.0, b: b.0, before: before.map(|point| point.0), after: after.map(|point| point.0) }
    } else if let Some(half_plane) = record.half_plane {
        Geometry::HalfPlane { normal: unit(half_plane.normal.0), offset: half_plane.offset }
    } else if let Some(particle) = record.particle {
        Geometry::Particle { radius: particle.radius }
    } else {
        return Err(SceneError::new(at(), "has no outline", format!("one of {}", GEOMETRIES.join(", "))));
    };
    Ok(Shape {
        geometry,
        offset: record.offset.0,
        rotation: record.rotation,
        density: record.density,
        material,
        filter: Filter { category: record.filter.category, mask: record.filter.mask, group: record.filter.group },
        sensor: record.sensor,
        one_way: record.one_way,
    })
}

/// Normalises a direction, unless its length already passes the check: then its bits are kept. A direction of zero
/// length is kept too, for the check to reject.
fn unit(direction: Vec2) -> Vec2 {
    let length = direction.as_dvec2().length();
    if !(1e-6..=f64::from(2.0 * MAX_VALUE)).contains(&length) || (length - 1.0).abs() <= f64::from(UNIT_TOLERANCE) {
        return direction;
    }
    (direction.as_dvec2() / length).as_vec2()
}

/// Converts a joint whose bodies are given by index; a world checks it.
pub fn joint_by_index(record: JointRecord, at: &dyn Fn() -> String) -> Result<Joint, SceneError> {
    joint(record, &HashMap::new(), &|_| None, at)
}

fn joint(
    record: JointRecord,
    ids: &HashMap<&str, usize>,
    elsewhere: &dyn Fn(&str) -> Option<&'static str>,
    at: &dyn Fn() -> String,
) -> Result<Joint, SceneError> {
    check_keys(&record, at)?;
    let find = |reference: &BodyRef, key: &str| match reference {
        // An index too large for this machine gives the same error as one too large for the scene.
        BodyRef::Index(index) => Ok(usize::try_from(*index).unwrap_or(usize::MAX)),
        BodyRef::Id(id) => ids.get(id.as_str()).copied().ok_or_else(|| {
            let problem = match elsewhere(id) {
                Some(what) => format!("is {id:?}, {what}"),
                None => format!("is {id:?}, and no body has this id"),
            };
            SceneError::new(format!("{}.{key}", at()), problem, "the id of a body, or its index")
        }),
    };
    Ok(Joint {
        a: record.a.as_ref().map(|a| find(a, "a")).transpose()?,
        b: find(&record.b, "b")?,
        anchor_a: record.anchor_a.0,
        anchor_b: record.anchor_b.0,
        collide: record.collide,
        hertz: record.hertz,
        damping_ratio: record.damping_ratio,
        break_force: record.break_force,
        break_torque: record.break_torque,
        spring_range: record.spring_range.map(|range| range.0.to_array()),
        enabled: record.enabled,
        kind: kind(&record),
        id: record.id,
    })
}

fn kind(record: &JointRecord) -> JointKind {
    let limits = record.limits.map(|limits| limits.0.to_array());
    let motor = record.motor.map(Motor::from);
    let spring = record.spring.as_deref().map(|spring| (*spring).into());
    let reference_angle = record.reference_angle;
    // The required keys of each type have been checked already.
    let axis = unit(record.axis.unwrap_or_default().0);
    match record.kind.0 {
        JointType::Distance => JointKind::Distance { length: record.length, limits, motor },
        JointType::Spring => JointKind::Spring {
            rest_length: record.rest_length,
            stiffness: record.stiffness.unwrap_or_default(),
            damping: record.damping.unwrap_or_default(),
        },
        JointType::Revolute => JointKind::Revolute { reference_angle, limits, motor, spring },
        JointType::Prismatic => JointKind::Prismatic { axis, reference_angle, limits, motor, spring },
        JointType::Wheel => JointKind::Wheel { axis, limits, motor, spring },
        JointType::Weld => JointKind::Weld {
            reference_angle,
            angular_hertz: record.angular_hertz,
            angular_damping_ratio: record.angular_damping_ratio,
        },
        JointType::Motor => JointKind::Motor {
            linear_offset: record.linear_offset.unwrap_or_default().0,
            angular_offset: record.angular_offset.unwrap_or_default(),
            max_force: record.max_force.unwrap_or(MAX_VALUE),
            max_torque: record.max_torque.unwrap_or(MAX_VALUE),
        },
        JointType::Mouse => JointKind::Mouse {
            target: record.target.unwrap_or_default().0,
            max_force: record.max_force.unwrap_or(MAX_VALUE),
        },
        JointType::Velocity => JointKind::Velocity {
            axis: record.axis.map(|axis| unit(axis.0)),
            velocity: record.velocity.unwrap_or_default().0,
            angular_velocity: record.angular_velocity.unwrap_or_default(),
            max_force: record.max_force.unwrap_or(MAX_VALUE),
            max_torque: record.max_torque.unwrap_or(MAX_VALUE),
        },
        JointType::Gear => JointKind::Gear { ratio: record.ratio.unwrap_or(1.0) },
        JointType::Pulley => JointKind::Pulley {
            ground_a: record.ground_a.unwrap_or_default().0,
            ground_b: record.ground_b.unwrap_or_default().0,
            ratio: record.ratio.unwrap_or(1.0),
            length: record.length,
        },
    }
}

/// Checks that a joint has all keys that its type requires, and no others than its type allows.
fn check_keys(record: &JointRecord, at: &dyn Fn() -> String) -> Result<(), SceneError> {
    let kind = record.kind.0;
    let (required, optional) = own_keys(kind);
    for (key, there) in record.given_keys() {
        if required.contains(&key) && !there {
            let expected = format!("the key `{key}` in a {} joint", kind.word());
            return Err(SceneError::new(at(), format!("has no `{key}`"), expected));
        }
        let common = key == "a" && kind != JointType::Mouse;
        if there && !common && !required.contains(&key) && !optional.contains(&key) {
            let problem = format!("is no key of a {} joint", kind.word());
            let known: Vec<&str> = required.iter().chain(optional).copied().collect();
            return Err(SceneError::new(format!("{}.{key}", at()), problem, known.join(", ")));
        }
    }
    Ok(())
}
