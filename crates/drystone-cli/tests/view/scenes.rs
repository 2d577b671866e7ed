//! Scenes of the catalogue: every one opens in the window, and the search of the list finds them by name.

use drystone_scenes::catalogue::{Entry, entries};

use crate::kit::Stage;

/// Maximum number of bodies of a scene in these tests.
const MOST: u64 = 500;

/// Spec of a scene in a small size: its integer parameters are halved, down to their minimum.
fn small(entry: &Entry) -> String {
    let mut values: Vec<f64> = entry.parameters.iter().map(|parameter| parameter.default).collect();
    for _ in 0..20 {
        let given: Vec<(&str, f64)> = entry.parameters.iter().zip(&values).map(|(p, &v)| (p.name, v)).collect();
        if entry.body_count(&given).unwrap() <= MOST {
            break;
        }
        for (parameter, value) in entry.parameters.iter().zip(&mut values).filter(|(p, _)| p.integer) {
            *value = (*value / 2.0).ceil().max(parameter.min);
        }
    }
    let differs = entry.parameters.iter().zip(&values).filter(|(parameter, value)| parameter.default != **value);
    let list: Vec<String> = differs.map(|(parameter, value)| format!("{}={value}", parameter.name)).collect();
    if list.is_empty() { entry.name.to_owned() } else { format!("{}:{}", entry.name, list.join(",")) }
}

#[test]
fn every_scene_opens() {
    let stage = Stage::new();
    let specs: Vec<String> = entries().iter().map(small).collect();
    let lines = specs
        .iter()
        .enumerate()
        .map(|(index, spec)| format!("open {spec}\nframes 1\nstep 4\nreport @/{index}.json\nshot @/{index}.png\n"));
    let script = format!("size 640 400\n{}", lines.collect::<String>());
    stage.play(&["slope", "--backend", "cpu", "--paused", "--fresh"], &script);
    for (index, spec) in specs.iter().enumerate() {
        let report = stage.report(&format!("{index}.json"));
        assert_eq!(report["scene"].as_str(), Some(spec.as_str()));
        assert_eq!(report["step"].as_u64(), Some(4), "{spec}");
        assert!(report["note"].is_null(), "{spec}: {report}");
        let shot = stage.shot(&format!("{index}.png"));
        assert!(shot.colors() > 12, "{spec}: only {} colours, so nothing is seen", shot.colors());
    }
}

/// Every scene opens in its default size, each in a window of its own. With `DRYSTONE_PICTURES=folder` screenshots are
/// kept there.
#[test]
#[ignore = "takes minutes"]
fn every_scene_opens_at_full_size() {
    let stage = Stage::new();
    for entry in entries() {
        let name = entry.name;
        let begin = std::time::Instant::now();
        stage.play(
            &[name, "--backend", "cpu", "--paused", "--fresh"],
            "size 1280 720\nstep 4\nreport @/a.json\nshot @/a.png\n",
        );
        let report = stage.report("a.json");
        assert_eq!((report["scene"].as_str(), report["step"].as_u64()), (Some(name), Some(4)));
        assert!(report["note"].is_null(), "{name}: {report}");
        let colors = stage.shot("a.png").colors();
        assert!(colors > 40, "{name}: only {colors} colours, so nothing but the panel is seen");
        println!("{name}: {} bodies, {:.1} s", report["bodies"], begin.elapsed().as_secs_f64());
        if let Some(folder) = std::env::var_os("DRYSTONE_PICTURES") {
            std::fs::copy(stage.path("a.png"), std::path::Path::new(&folder).join(format!("{name}.png"))).unwrap();
        }
    }
}

/// A search puts the scene of that name into the first row, and names that begin with the text before descriptions; a
/// click on that row opens the same scene as Enter.
#[test]
fn a_search_puts_names_first() {
    let stage = Stage::new();
    for (text, expected) in [("pendulum", "pendulum"), ("stack", "vertical_stack"), ("sta", "static_and_kinetic")] {
        for choose in ["click 900 106", "key Enter"] {
            stage.play(
                &["arch", "--backend", "cpu", "--paused", "--fresh"],
                &format!(
                    "size 1280 720\nframes 3\nclick 1027 39\nframes 2\ntext {text}\nframes 2\nshot @/list.png\n{choose}\nopened\n\
                     frames 2\nreport @/{text}.json\n"
                ),
            );
            let scene = stage.report(&format!("{text}.json"))["scene"].as_str().unwrap().to_owned();
            let name = scene.split(':').next().unwrap();
            assert_eq!(name, expected, "{text}, {choose}");
        }
    }
}

/// A few scenes of different kinds open on the device.
#[test]
fn scenes_open_on_the_device() {
    let stage = Stage::new();
    let specs = ["rain", "particles_in_a_turning_box", "ragdoll", "conveyor", "springs"];
    let names: Vec<String> = entries().iter().filter(|entry| specs.contains(&entry.name)).map(small).collect();
    assert_eq!(names.len(), specs.len());
    let lines =
        names.iter().enumerate().map(|(index, spec)| format!("open {spec}\nframes 1\nstep 4\nreport @/{index}.json\n"));
    stage.play(&["slope", "--backend", "gpu", "--paused", "--fresh"], &lines.collect::<String>());
    for (index, spec) in names.iter().enumerate() {
        let report = stage.report(&format!("{index}.json"));
        assert_eq!((report["scene"].as_str(), report["step"].as_u64()), (Some(spec.as_str()), Some(4)));
        assert_eq!(report["backend"].as_str(), Some("gpu"));
    }
}
