//! Graphed bodies: their tables agree with mechanics, on both backends, also after steps back.

use std::collections::HashMap;

use crate::kit::Stage;

/// A ball of 2 kg falls from 10 m beside one that flies without gravity; g is 10 m/s².
const SCENE: &str = r#"{ "version": 1, "gravity": [0, -10], "bodies": [
    { "id": "ball", "position": [0, 10], "mass": 2, "shapes": [ { "circle": { "radius": 0.5 } } ] },
    { "id": "kite", "position": [3, 10], "velocity": [0.3, 0.4], "gravity_scale": 0,
      "shapes": [ { "circle": { "radius": 0.5 } } ] } ] }"#;

/// Columns of a table by their names; NaN for empty cells.
struct Table(HashMap<String, Vec<f64>>);

impl Table {
    fn read(stage: &Stage, name: &str) -> Self {
        let text = std::fs::read_to_string(stage.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().expect("a head").split(',').collect();
        let mut columns: HashMap<String, Vec<f64>> = HashMap::new();
        for line in lines {
            for (name, value) in names.iter().zip(line.split(',')) {
                columns.entry((*name).to_owned()).or_default().push(value.parse().unwrap_or(f64::NAN));
            }
        }
        Self(columns)
    }

    fn column(&self, name: &str) -> &[f64] {
        self.0.get(name).unwrap_or_else(|| panic!("no column {name} in {:?}", self.0.keys()))
    }
}

/// The bodies fall as in symplectic Euler integration with 4 substeps of 1/240 s.
fn check(table: &Table, last: u32) {
    let steps: Vec<f64> = (0..=last).map(f64::from).collect();
    assert_eq!(table.column("step"), steps);
    let h = 1.0 / 240.0;
    for (row, step) in steps.iter().enumerate() {
        let near = |name: &str, want: f64, tolerance: f64| {
            let found = table.column(name)[row];
            assert!((found - want).abs() <= tolerance, "{name} at step {step}: {found}, expected {want}");
        };
        let substeps = 4.0 * step;
        let height = 10.0 - 10.0 * h * h * 0.5 * substeps * (substeps + 1.0);
        let speed = 10.0 * h * substeps;
        near("time_s", step / 60.0, 1e-6);
        near("ball_y_m", height, 1e-4);
        near("ball_vy_m_per_s", -speed, 1e-4);
        near("ball_speed_m_per_s", speed, 1e-4);
        near("ball_kinetic_energy_J", speed * speed, 1e-3);
        near("ball_potential_energy_J", 20.0 * height, 2e-3);
        near("kite_x_m", 3.0 + 0.3 * step / 60.0, 1e-4);
        near("kite_speed_m_per_s", 0.5, 1e-5);
        if row > 0 {
            near("ball_ay_m_per_s2", -10.0, 1e-3);
            near("ball_ax_m_per_s2", 0.0, 1e-4);
            near("ball_net_force_N", 20.0, 2e-3);
            near("kite_acceleration_m_per_s2", 0.0, 1e-4);
        }
    }
    assert!(table.column("ball_acceleration_m_per_s2")[0].is_nan(), "an acceleration takes two steps");
}

/// Tables stay right after steps, a step back with other changes, a restart and a move to the other backend.
fn graphs(backend: &str) {
    let stage = Stage::new();
    std::fs::write(stage.path("fall.json"), SCENE).expect("a scene");
    let file = stage.path("fall.json").display().to_string();
    stage.play(
        &[&file, "--backend", backend, "--paused", "--fresh"],
        "size 900 600\nfolder @\nframes 2\nwatch 0 10\nwatch 3 10\nstep 12\ngraphs\nframes 2\nseek 5\ngraphs\nframes 2\n\
         step 4\ngraphs\nframes 2\nrestart\nframes 4\nsettle\nstep 3\ngraphs\nframes 2\nshot @/graphs.png\n",
    );
    let files: Vec<String> = std::fs::read_dir(stage.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    for steps in [12, 5, 9, 3] {
        let ending = format!("-{steps}.graphs.csv");
        let file = files.iter().find(|file| file.ends_with(&ending));
        let file = file.unwrap_or_else(|| panic!("no table of step {steps}: {files:?}"));
        check(&Table::read(&stage, file), steps);
    }
}

#[test]
fn graphs_show_a_fall_on_the_cpu() {
    graphs("cpu");
}

#[test]
fn graphs_show_a_fall_on_the_device() {
    graphs("gpu");
}

/// W graphs the body under the pointer, and ends that when it is pressed again.
#[test]
fn a_key_watches_the_body_under_the_pointer() {
    let stage = Stage::new();
    std::fs::write(stage.path("fall.json"), SCENE).expect("a scene");
    let file = stage.path("fall.json").display().to_string();
    let play = |script: &str| {
        stage.play(&[&file, "--backend", "cpu", "--paused", "--fresh"], &format!("size 900 600\nframes 4\n{script}"));
    };
    play("report @/start.json\n");
    let camera = &stage.report("start.json")["camera"];
    let number = |key: &str, index: usize| camera[key][index].as_f64().expect("a number");
    let pixel = |x: f64, y: f64| {
        let scale = camera["metres_per_pixel"].as_f64().expect("a number");
        let across = number("origin", 0) + 0.5 * number("size", 0) + (x - number("center", 0)) / scale;
        let down = number("origin", 1) + 0.5 * number("size", 1) - (y - number("center", 1)) / scale;
        format!("move {across} {down}\nframes 2\n")
    };
    let (ball, between) = (pixel(0.0, 10.0), pixel(1.5, 10.0));
    play(&format!(
        "{ball}key W\nsettle\nstep 3\nreport @/on.json\n{ball}key W\nsettle\nreport @/off.json\n\
         {between}key W\nsettle\nframes 2\nreport @/between.json\ngraphs\nframes 2\nreport @/nothing.json\n"
    ));
    let watched = |name: &str| stage.report(name)["watched"].clone();
    let note = |name: &str| stage.report(name)["note"].as_str().unwrap_or_default().to_owned();
    assert_eq!(watched("on.json"), serde_json::json!([["ball", 4]]), "its name, and four moments of steps 0 to 3");
    assert_eq!(watched("off.json"), serde_json::json!([]));
    assert_eq!(watched("between.json"), serde_json::json!([]));
    assert_eq!(note("between.json"), "there is no body under the pointer to graph, and none is selected");
    assert_eq!(note("nothing.json"), "no body is graphed: point at one and press W");
}

/// Graphed bodies of a scene are graphed on, by their index, when one of its parameters changes; a body that the new
/// world does not have is named, and so is one that was built.
#[test]
fn graphs_outlive_a_parameter() {
    for backend in ["cpu", "gpu"] {
        let stage = Stage::new();
        stage.play(
            &["vertical_stack:count=5", "--backend", backend, "--paused", "--fresh"],
            "size 900 600\nframes 2\nwatch 0 0.5\nwatch 0 4.5\nstep 5\nreport @/first.json\nparameter 3 0.3\nopened\nsettle\nreport @/friction.json\n\
             step 3\nreport @/runs.json\nparameter 0 3\nopened\nsettle\nreport @/fewer.json\ndraw box 3 0 4 1\nwatch 3.5 0.5\nstep 2\n\
             report @/built.json\nparameter 0 6\nopened\nsettle\nstep 4\nreport @/more.json\nopen arch\nopened\nsettle\nreport @/other.json\n",
        );
        let report = |name: &str| stage.report(&format!("{name}.json"));
        let watched = |name: &str| report(name)["watched"].clone();
        let note = |name: &str| report(name)["note"].as_str().unwrap_or_default().to_owned();
        assert_eq!(watched("first"), serde_json::json!([["body 1", 6], ["body 5", 6]]), "{backend}");
        assert_eq!(watched("friction"), serde_json::json!([["body 1", 1], ["body 5", 1]]), "{backend}");
        assert!(!note("friction").contains("no longer"), "{}", note("friction"));
        assert_eq!(watched("runs"), serde_json::json!([["body 1", 4], ["body 5", 4]]), "{backend}");
        assert_eq!(watched("fewer"), serde_json::json!([["body 1", 1]]), "{backend}");
        assert!(
            note("fewer").ends_with("no longer graphed, as the world does not have it: body 5"),
            "{}",
            note("fewer")
        );
        assert_eq!(watched("built"), serde_json::json!([["body 1", 3], ["body 4", 3]]), "{backend}");
        // The scene has a body 4 by then, but that is another one.
        assert_eq!(watched("more"), serde_json::json!([["body 1", 5]]), "{backend}");
        assert!(note("more").ends_with("does not have it: body 4"), "{}", note("more"));
        assert_eq!(watched("other"), serde_json::json!([]), "{backend}: another scene");
    }
}
