//! Materials with names and pairs of them in scene files: which values shapes take from them, what is written, saved
//! worlds, and mistakes.

use drystone::low_level::{Alteration, Journal};
use drystone::{Body, Material, MaterialPair, NamedMaterial, Scene, Shape, World};
use drystone_scenes::file;
use drystone_scenes::saved::SavedWorld;

/// Returns the materials and pairs of `good_scenes/everything.json`.
pub fn everything() -> (Vec<NamedMaterial>, Vec<MaterialPair>) {
    let mut scene = Scene::default();
    let rubber = Material {
        friction: 1.0,
        kinetic_friction: Some(0.8),
        restitution: 0.7,
        tangent_speed: 2.0,
        rolling_resistance: 0.02,
        index: None,
    };
    scene.add_material("ice", Material { friction: 0.05, ..Material::default() });
    scene.add_material("rubber \u{1f300}", rubber);
    scene.materials[1].contact_hertz = Some(12.0);
    scene.materials[1].contact_damping_ratio = Some(0.5);
    let pair = MaterialPair::new("ice", "rubber \u{1f300}").friction(0.3).kinetic_friction(0.2).restitution(0.1);
    scene.add_material_pair(pair);
    scene.add_material_pair(MaterialPair::new("ice", "ice").restitution(0.0).contact_softness(25.0, 2.0));
    (scene.materials, scene.material_pairs)
}

/// Returns a scene with these materials, under names of their own, and some pairs of them.
pub fn scene_of(materials: Vec<(String, Material)>) -> Scene {
    let mut scene = Scene::default();
    for (index, (name, material)) in materials.into_iter().enumerate() {
        let name: String = format!("{index} {name}").chars().take(60).collect();
        scene.add_material(name, material);
    }
    let named = scene.materials.clone();
    for (index, NamedMaterial { name, material, .. }) in named.iter().enumerate() {
        let mut pair = MaterialPair::new(&named[index / 2].name, name).friction(material.friction);
        pair.kinetic_friction = material.kinetic_friction;
        pair.restitution = (index != 1).then_some(material.restitution);
        scene.add_material_pair(pair);
    }
    scene
}

/// Gives shapes materials, some with values of their own.
pub fn spread(bodies: &mut [Body], materials: &[NamedMaterial]) {
    for shape in bodies.iter_mut().flat_map(|body| &mut body.shapes) {
        let bits = shape.density.to_bits() as usize;
        if let Some(found) = materials.get(bits % (materials.len() + 2)) {
            let Material { friction, kinetic_friction, index, .. } = found.material;
            shape.material = match bits >> 8 & 3 {
                0 => found.material,
                1 => Material { friction, kinetic_friction, index, ..shape.material },
                2 => Material { kinetic_friction: None, ..found.material },
                _ => Material { index, ..shape.material },
            };
        }
    }
}

const TEXT: &str = r#"{ "version": 1,
    "materials": [{ "name": "ice", "friction": 0.05 },
                  { "name": "rubber", "friction": 1, "kinetic_friction": 0.8, "restitution": 0.7, "rolling_resistance": 0.1 }],
    "material_pairs": [{ "materials": ["ice", "rubber"], "friction": 0.3, "restitution": 0.1 }],
    "bodies": [{ "type": "static", "shapes": [{ "half_plane": { "normal": [0, 1] }, "material": "rubber" }] },
               { "position": [0, 1], "shapes": [SHAPE] }] }"#;

fn read(shape: &str) -> Result<Material, String> {
    let scene = file::parse(&TEXT.replace("SHAPE", shape), "a.json").map_err(|error| error.to_string())?;
    Ok(scene.bodies[1].shapes[0].material)
}

#[test]
fn shapes_take_what_they_do_not_give() {
    let rubber = Material {
        friction: 1.0,
        kinetic_friction: Some(0.8),
        restitution: 0.7,
        tangent_speed: 0.0,
        rolling_resistance: 0.1,
        index: Some(1),
    };
    for (given, expected) in [
        (r#""material": "rubber""#, rubber),
        (r#""material": 1"#, rubber),
        (r#""material": "rubber", "restitution": 0"#, Material { restitution: 0.0, ..rubber }),
        (r#""material": "rubber", "tangent_speed": 3"#, Material { tangent_speed: 3.0, ..rubber }),
        // A friction of its own comes without the material's friction while sliding.
        (r#""material": "rubber", "friction": 0.6"#, Material { friction: 0.6, kinetic_friction: None, ..rubber }),
        (r#""material": "rubber", "kinetic_friction": 0.9"#, Material { kinetic_friction: Some(0.9), ..rubber }),
        (r#""material": "ice""#, Material { friction: 0.05, index: Some(0), ..Material::default() }),
        (r#""friction": 0.25"#, Material { friction: 0.25, ..Material::default() }),
    ] {
        let shape = format!(r#"{{ "circle": {{ "radius": 1 }}, {given} }}"#);
        assert_eq!(read(&shape), Ok(expected), "{given}");
        // The written file is the same scene when read again, and names the material.
        let scene = file::parse(&TEXT.replace("SHAPE", &shape), "a.json").unwrap();
        let written = file::write_json(&scene);
        assert_eq!(file::parse(&written, "b.json").as_ref(), Ok(&scene), "{written}");
        assert_eq!(written.matches(r#""material": "rubber""#).count(), 1 + usize::from(expected.index == Some(1)));
        assert_eq!(file::parse(&file::write_ron(&scene), "b.ron").as_ref(), Ok(&scene));
    }
}

#[test]
fn mistakes_have_their_place() {
    for (shape, expected) in [
        (
            r#"{ "circle": { "radius": 1 }, "material": "snow" }"#,
            "a.json:6:90: bodies[1].shapes[0].material: is \"snow\", and no material has this name; expected the name \
             of a material, or its index",
        ),
        (
            r#"{ "circle": { "radius": 1 }, "material": 2 }"#,
            "a.json:6:90: bodies[1].shapes[0].material: is 2; expected the index of a material of the scene, at most 1",
        ),
        (
            r#"{ "circle": { "radius": 1 }, "material": 16 }"#,
            "bodies[1].shapes[0].material: is 16; expected the name of a material, or its index, below 16",
        ),
        (
            r#"{ "circle": { "radius": 1 }, "material": 0.5 }"#,
            "bodies[1].shapes[0].material: is 0.5; expected the name or the index of a material",
        ),
        (
            r#"{ "circle": { "radius": 1 }, "material": "rubber", "kinetic_friction": 1.5 }"#,
            "bodies[1].shapes[0].kinetic_friction: is 1.5; expected a coefficient from 0 to 1",
        ),
    ] {
        let message = read(shape).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    let text = TEXT.replace("SHAPE", r#"{ "circle": { "radius": 1 } }"#);
    let many: Vec<String> = (0..17).map(|index| format!(r#"{{ "name": "{index}" }}"#)).collect();
    let many = format!(r#""materials": [{}], "bodies""#, many.join(", "));
    for (from, to, expected) in [
        (
            r#"["ice", "rubber"]"#,
            r#"["ice", "wood"]"#,
            "a.json:4:47: material_pairs[0].materials[1]: is \"wood\", and no",
        ),
        (r#"["ice", "rubber"]"#, r#"["ice"]"#, "material_pairs[0].materials: has 1 elements; expected an array of two"),
        (r#"["ice", "rubber"]"#, r#"["ice", "ice", "ice"]"#, "has more than two names; expected an array of two names"),
        (
            r#", "friction": 0.3, "restitution": 0.1"#,
            "",
            "material_pairs[0]: has neither friction, restitution nor contact_hertz",
        ),
        (
            r#""restitution": 0.1 }"#,
            r#""restitution": 1.1 }"#,
            "material_pairs[0].restitution: is 1.1; expected a rest",
        ),
        (r#"{ "name": "ice", "#, "{ ", "materials[0]: has no name; expected one"),
        (r#""name": "ice""#, r#""name": "rubber""#, "materials[1].name: is \"rubber\", as materials[0].name is"),
        (r#""friction": 0.05"#, r#""density": 2"#, "materials[0].density: is an unknown key"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        let message = file::parse(&changed, "a.json").unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let message = file::parse(&format!("{{ \"version\": 1, {many}: [] }}"), "a.json").unwrap_err().to_string();
    assert!(message.contains("materials: ") && message.contains("16"), "{message}");
}

/// A saved world continues with the table, also with bodies that were added by hand, and becomes a scene with it.
#[test]
fn saved_worlds_keep_the_table() {
    let text = TEXT.replace("SHAPE", r#"{ "box": { "half": [0.5, 0.5] }, "material": "ice" }"#);
    let scene = file::parse(&text, "a.json").unwrap();
    let ice = scene.material("ice").unwrap();
    let late = Body::dynamic(9.0, 0.5).velocity(3.0, 0.0).shape(Shape::half_box(0.5, 0.5).material(ice));
    let own = Body::dynamic(19.0, 0.5).shape(Shape::circle(0.5).material(Material { restitution: 0.25, ..ice }));
    let mut world = World::new(&scene).unwrap();
    let mut journal = Journal::default();
    let bodies = vec![late, own];
    world.add_bodies(&bodies).unwrap();
    journal.push(0, Alteration::AddBodies(bodies.clone()));
    for _ in 0..20 {
        world.step().unwrap();
    }
    let bytes = SavedWorld::new(&scene, journal, &mut world).unwrap().to_bytes().unwrap();
    let saved = SavedWorld::from_bytes(&bytes).unwrap();
    assert_eq!(saved.scene, scene);
    let mut again = World::new(&saved.scene).unwrap();
    saved.resume(&mut again).unwrap();
    for world in [&mut world, &mut again] {
        (0..20).for_each(|_| world.step().unwrap());
    }
    let place = |world: &mut World| world.snapshot().unwrap().poses;
    assert_eq!(place(&mut world), place(&mut again));

    let present = saved.to_scene().unwrap();
    assert_eq!((&present.materials, &present.material_pairs), (&scene.materials, &scene.material_pairs));
    let material = |index: usize| present.bodies[index].shapes[0].material;
    assert_eq!([material(1), material(2), material(3)], [ice, ice, bodies[1].shapes[0].material]);

    let mut other = scene.clone();
    other.material_pairs[0].friction = Some(0.2);
    assert_eq!(saved.difference(&other).as_deref(), Some("material_pairs[0] differs"));
    assert_eq!(saved.difference(&scene), None);
}
