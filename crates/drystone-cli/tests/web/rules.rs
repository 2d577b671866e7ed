//! Scenes with a contact rule: the page runs it as the library does.

use drystone::Scene;
use drystone::low_level::CpuWorld;
use drystone_scenes::file;

use crate::{OpenPage, apart};

/// Boxes, of which that of category 2 falls through the floor, which moves the others to one side.
const SCENE: &str = r#"{ "version": 1,
  "contact_rule": [
    "fn rule(contact: RuleContact) -> RuleContact {",
    "    var solved = contact;",
    "    if ((contact.category_a | contact.category_b) & 2u) != 0u {",
    "        solved.touches = 0u;",
    "    }",
    "    solved.tangent_speed = 1.0;",
    "    return solved;",
    "}"
  ],
  "bodies": [
    { "type": "static", "position": [0, -1], "shapes": [{ "box": { "half": [20, 1] } }] },
    { "position": [-6, 1], "shapes": [{ "box": { "half": [0.5, 0.5] } }] },
    { "position": [0, 1], "shapes": [{ "box": { "half": [0.5, 0.5] }, "filter": { "category": 2 } }] },
    { "position": [6, 1], "shapes": [{ "box": { "half": [0.5, 0.5] } }] }
  ] }"#;

#[test]
fn contact_rules_act_as_natively() {
    let scene = file::parse(SCENE, "rules.json").unwrap();
    let mut open = OpenPage::new(&scene);
    let mut world = CpuWorld::new(&scene).unwrap();
    let mut without = CpuWorld::new(&Scene { contact_rule: None, ..scene.clone() }).unwrap();
    open.step(90);
    for _ in 0..90 {
        world.step().unwrap();
        without.step().unwrap();
    }
    let away = apart(&open.poses(), world.poses());
    assert!(away < 2e-3, "{away} m");
    // Negative control.
    let away = apart(&open.poses(), without.poses());
    assert!(away > 1.0, "{away} m without the rule");
    open.check();
}
