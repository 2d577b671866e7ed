//! Checks of materials with names, of the table of their pairs, and of the materials that shapes refer to.

use std::collections::HashMap;

use super::shape::{check_kinetic_friction, check_material};
use super::{DAMPING_RATIO, FRICTION, RESTITUTION, STIFFNESS, SceneError, check_count, check_name};
use crate::scene::{Body, MaterialPair, Scene};
use crate::types::{MAX_MATERIAL_PAIRS, MAX_MATERIALS, MAX_SPRINGS};

/// Checks the materials of a scene and the table of their pairs.
pub(super) fn check(scene: &Scene) -> Result<(), SceneError> {
    check_count("materials", "materials", scene.materials.len(), MAX_MATERIALS)?;
    let mut places = HashMap::new();
    for (index, named) in scene.materials.iter().enumerate() {
        let at = format!("materials[{index}]");
        if named.name.is_empty() {
            return Err(SceneError::new(format!("{at}.name"), "is empty", "a name"));
        }
        check_name(&named.name, format_args!("{at}.name"), "a name")?;
        if let Some(first) = places.insert(named.name.as_str(), index) {
            let problem = format!("is {:?}, as materials[{first}].name is", named.name);
            return Err(SceneError::new(format!("{at}.name"), problem, "a name of its own"));
        }
        check_material(&named.material, format_args!("{at}"))?;
        check_softness(named.contact_hertz, named.contact_damping_ratio, &at)?;
        if named.material.index.map(usize::from) != Some(index) {
            let problem = format!("is {:?}", named.material.index);
            let expected = format!("Some({index}), as Scene::add_material sets it");
            return Err(SceneError::new(format!("{at}.index"), problem, expected));
        }
    }
    check_count("material_pairs", "pairs", scene.material_pairs.len(), MAX_MATERIAL_PAIRS)?;
    let mut seen = HashMap::new();
    for (index, pair) in scene.material_pairs.iter().enumerate() {
        let at = format!("material_pairs[{index}]");
        let mut pair_places = [0; 2];
        for (end, (name, place)) in pair.materials.iter().zip(&mut pair_places).enumerate() {
            *place = *places.get(name.as_str()).ok_or_else(|| {
                let problem = format!("is {name:?}, and no material has this name");
                SceneError::new(format!("{at}.materials[{end}]"), problem, "the name of a material")
            })?;
        }
        pair_places.sort_unstable();
        if let Some(first) = seen.insert(pair_places, index) {
            let [a, b] = &pair.materials;
            let problem = format!("is the pair of {a:?} and {b:?}, as material_pairs[{first}] is");
            return Err(SceneError::new(format!("{at}.materials"), problem, "each pair once"));
        }
        check_values(pair, &at)?;
    }
    // Their number is bounded by that of the materials, so that it is counted last.
    check_count("materials", "different contact springs", scene.contact_springs().springs.len(), MAX_SPRINGS - 1)
}

/// Checks the values of a pair.
fn check_values(pair: &MaterialPair, at: &str) -> Result<(), SceneError> {
    let MaterialPair { materials: _, friction, kinetic_friction, restitution, contact_hertz, contact_damping_ratio } =
        *pair;
    if let Some(friction) = friction {
        FRICTION.check(friction, format_args!("{at}.friction"))?;
    }
    match (kinetic_friction, friction) {
        (Some(kinetic), Some(friction)) => {
            check_kinetic_friction(kinetic, friction, format_args!("{at}.kinetic_friction"))?;
        }
        (Some(_), None) => {
            let path = format!("{at}.kinetic_friction");
            return Err(SceneError::new(path, "is given without friction", "`friction` as well, or neither"));
        }
        (None, _) => {}
    }
    if let Some(restitution) = restitution {
        RESTITUTION.check(restitution, format_args!("{at}.restitution"))?;
    }
    check_softness(contact_hertz, contact_damping_ratio, at)?;
    if friction.is_none() && restitution.is_none() && contact_hertz.is_none() {
        return Err(SceneError::new(at, "has neither friction, restitution nor contact_hertz", "at least one of them"));
    }
    Ok(())
}

/// Checks stiffness and damping of the contacts of a material or a pair.
fn check_softness(hertz: Option<f32>, damping_ratio: Option<f32>, at: &str) -> Result<(), SceneError> {
    if let Some(hertz) = hertz {
        STIFFNESS.check(hertz, format_args!("{at}.contact_hertz"))?;
    }
    let Some(damping_ratio) = damping_ratio else { return Ok(()) };
    let path = format!("{at}.contact_damping_ratio");
    if hertz.is_none() {
        return Err(SceneError::new(path, "is given without contact_hertz", "`contact_hertz` as well, or neither"));
    }
    DAMPING_RATIO.check(damping_ratio, format_args!("{path}"))
}

/// Checks that the shapes of a body are of materials that there are; `count` is their number. `index` is that of the
/// body.
pub(crate) fn check_materials_of(body: &Body, index: usize, count: usize) -> Result<(), SceneError> {
    for (number, shape) in body.shapes.iter().enumerate() {
        if let Some(material) = shape.material.index
            && usize::from(material) >= count
        {
            let expected = match count {
                0 => "no material, as the scene has none with a name".to_owned(),
                _ => format!("the index of a material of the scene, at most {}", count - 1),
            };
            let path = format!("bodies[{index}].shapes[{number}].material");
            return Err(SceneError::new(path, format!("is {material}"), expected));
        }
    }
    Ok(())
}
