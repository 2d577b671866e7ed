//! Frames: reuse, both backends, empty worlds, missing buffers.

use drystone::{Joint, JointKind, Scene};
use drystone_draw::{Camera, Coloring, DrawInputs, Layers, Style, Upload};

use super::support::{self, context, cpu, gpu};
use super::{all_layers, bare, box_on_ground, close_up, difference, draw, keep, offscreen, stepped, upload};

/// A reused frame draws the same pictures as new frames.
#[test]
fn a_frame_can_be_used_again() {
    let small = stepped(&box_on_ground(), 10);
    let large = stepped(&support::pile(3, 80), 60);
    let mut kept = offscreen();
    for (index, (world, layers, size)) in [
        (&small, all_layers(), [640, 360]),
        (&large, Layers { coloring: Coloring::Speed, ..all_layers() }, [640, 360]),
        (&small, Layers { coloring: Coloring::Island, ..Layers::default() }, [320, 200]),
        (&large, Layers::default(), [640, 360]),
        (&large, Layers { coloring: Coloring::GraphColor, ..Layers::default() }, [640, 360]),
        (&small, Layers { coloring: Coloring::Speed, ..Layers::default() }, [640, 360]),
    ]
    .into_iter()
    .enumerate()
    {
        let upload = upload(world);
        let camera = Camera::fit_scene(world.poses(), &world.compiled().shapes, size);
        let again = kept.layered_picture(&upload.inputs(), &camera, &Style::dark(), &layers).expect("draws");
        keep(&again, &format!("again-{index}"));
        assert!(again == draw(&upload.inputs(), &camera, &Style::dark(), &layers), "picture {index}");
    }
}

#[test]
fn missing_buffers_are_errors() {
    let world = cpu(&box_on_ground());
    let mut upload = Upload::new(context().device(), context().queue());
    upload.refresh(&world, false).expect("uploads");
    let mut offscreen = offscreen();
    let mut try_it = |inputs: &DrawInputs<'_>, layers: &Layers| {
        offscreen.layered_picture(inputs, &close_up(), &bare(), layers).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(try_it(&upload.inputs(), &Layers::default()), Ok(()));
    for layers in
        [Layers { contacts: true, ..Layers::default() }, Layers { coloring: Coloring::Speed, ..Layers::default() }]
    {
        let error = try_it(&upload.inputs(), &layers).expect_err("no tables");
        assert_eq!(error, "the states buffer is missing, and a layer needs it");
    }
    upload.refresh(&world, true).expect("uploads");
    let layers = Layers { coloring: Coloring::Difference, ..Layers::default() };
    let error = try_it(&upload.inputs(), &layers).expect_err("no other world");
    assert_eq!(error, "the reference buffer is missing, and a layer needs it");
    let poses = upload.inputs().poses.clone();
    assert_eq!(try_it(&upload.inputs().against(&poses), &layers), Ok(()));
    let mut broken = upload.inputs();
    let tables = broken.tables.as_mut().expect("there now");
    tables.params = &poses;
    assert!(try_it(&broken, &all_layers()).expect_err("no uniform").contains("params buffer"));
}

/// Every layer can be drawn for empty worlds, unstepped worlds and worlds without bodies.
#[test]
fn empty_worlds_are_drawn() {
    let world = cpu(&Scene::new("nothing"));
    let mut layers = all_layers();
    let mut device_world = gpu(&Scene::new("nothing"));
    device_world.step().expect("a step");
    for coloring in Coloring::ALL {
        layers.coloring = coloring;
        let uploaded = upload(&world);
        for inputs in [uploaded.inputs(), DrawInputs::of(&device_world)] {
            let image = draw(&inputs.against(inputs.poses), &close_up(), &bare(), &Layers { legend: false, ..layers });
            assert!(image.rgba.chunks(4).all(|pixel| pixel == &image.rgba[..4]), "{coloring:?}");
        }
    }
}

/// Pictures from the GPU's own buffers equal those from uploaded buffers of the CPU.
#[test]
fn both_backends_look_the_same() {
    let mut scene = support::pile(5, 60);
    scene.settings.sleep = true;
    for index in 0..3 {
        let [a, b] = [2 * index + 5, 2 * index + 6];
        scene.join(Joint::new(JointKind::spring(10.0, 0.1), a, b));
    }
    let mut offscreen = offscreen();
    let (mut on_gpu, mut on_cpu) = (gpu(&scene), cpu(&scene));
    for step in 1..=12 {
        on_gpu.step().expect("a step");
        on_cpu.step().unwrap();
        if step % 4 != 0 {
            continue;
        }
        let camera = Camera::fit_scene(on_cpu.poses(), &on_cpu.compiled().shapes, [800, 500]);
        let uploaded = upload(&on_cpu);
        for coloring in Coloring::ALL {
            let layers = Layers { coloring, ..all_layers() };
            let (a, b) = (DrawInputs::of(&on_gpu), uploaded.inputs());
            let one = offscreen.layered_picture(&a.against(a.poses), &camera, &Style::light(), &layers).expect("draws");
            let other =
                offscreen.layered_picture(&b.against(b.poses), &camera, &Style::light(), &layers).expect("draws");
            keep(&one, &format!("gpu-{coloring:?}"));
            keep(&other, &format!("cpu-{coloring:?}"));
            let (worst, mean) = difference(&one, &other);
            println!("step {step}, {coloring:?}: worst {worst}, mean {mean:.4}");
            assert!(mean < 0.05, "step {step}, {coloring:?}: worst {worst}, mean {mean}");
        }
    }
    // Negative control: one step later the picture differs.
    let camera = Camera::fit_scene(on_cpu.poses(), &on_cpu.compiled().shapes, [800, 500]);
    let before =
        offscreen.layered_picture(&DrawInputs::of(&on_gpu), &camera, &Style::light(), &all_layers()).expect("draws");
    on_cpu.step().unwrap();
    let after =
        offscreen.layered_picture(&upload(&on_cpu).inputs(), &camera, &Style::light(), &all_layers()).expect("draws");
    assert!(difference(&before, &after).1 > 0.5, "{:?}", difference(&before, &after));
}
