//! Every shader is valid on any GPU that wgpu supports, and every pipeline of a world can be created and recorded. No
//! GPU is needed: naga validates the shaders, and wgpu's noop backend validates everything else without computing
//! anything.

use std::sync::{Arc, Mutex};

use drystone::low_level::GpuWorld;
use drystone::low_level::gpu::kernel::reflect;
use drystone::low_level::gpu::shader::{Composed, Composer, Patch, SHADERS};
use drystone::{Context, Mode, Scene, WorldBatch};
use drystone_scenes::catalogue;
use wgpu::naga;

/// Returns the limits that wgpu guarantees on every device.
fn limits() -> wgpu::Limits {
    wgpu::Limits::default()
}

#[test]
fn shaders_need_no_optional_feature() {
    for shader in SHADERS {
        let composed = Composer::SOLVER.compose(shader.name).unwrap();
        composed.module_with(naga::valid::Capabilities::empty()).unwrap_or_else(|error| panic!("{error}"));
        // Floats of other precision, subgroups and the like differ between devices, and results would too.
        assert!(
            !composed.text().lines().any(|line| line.trim_start().starts_with("enable ")),
            "{} enables something",
            shader.name
        );
    }
}

/// Returns name, number of storage buffers and workgroup size of each entry point.
fn storage_buffers(composed: &Composed) -> Vec<(String, usize, u32)> {
    reflect(composed)
        .unwrap()
        .into_iter()
        .map(|(name, found)| {
            let uniform = drystone::low_level::gpu::kernel::BindingKind::Uniform;
            let count = found.bindings.iter().filter(|binding| binding.kind != uniform).count();
            (name, count, found.workgroup_size)
        })
        .collect()
}

#[test]
fn kernels_stay_within_the_default_limits() {
    let limits = limits();
    let mut kernels = 0;
    for shader in SHADERS {
        let composed = Composer::SOLVER.compose(shader.name).unwrap();
        for (name, buffers, lanes) in storage_buffers(&composed) {
            kernels += 1;
            // These run only on devices that allow it.
            let most = if name.starts_with("fused_joints") { 13 } else { limits.max_storage_buffers_per_shader_stage };
            assert!(buffers <= most as usize, "{name} has {buffers} storage buffers");
            assert!(lanes <= limits.max_compute_invocations_per_workgroup, "{name} has {lanes} lanes");
        }
        let (module, _) = composed.module().unwrap();
        let shared: u32 = module
            .global_variables
            .iter()
            .filter(|(_, global)| global.space == naga::AddressSpace::WorkGroup)
            .map(|(_, global)| module.types[global.ty].inner.size(module.to_ctx()))
            .sum();
        assert!(shared <= limits.max_compute_workgroup_storage_size, "{} shares {shared} bytes", shader.name);
    }
    assert!(kernels > SHADERS.len(), "only {kernels} kernels were examined");
}

/// Negative control of the test above.
#[test]
fn nine_storage_buffers_are_counted() {
    let declared: String =
        (0..9).map(|n| format!("@group(0) @binding({n}) var<storage, read_write> b{n}: array<u32>;\n")).collect();
    let used: String = (0..9).map(|n| format!("b{n}[0] = 1u;\n")).collect();
    let text = format!("{declared}@compute @workgroup_size(512) fn greedy() {{\n{used}}}");
    assert_eq!(storage_buffers(&Composed::from_text("test", &text)), [("greedy".to_owned(), 9, 512)]);
}

/// Returns a device that only validates, and its list of errors.
fn noop() -> (Context, Arc<Mutex<Vec<String>>>) {
    noop_with(limits())
}

fn noop_with(limits: wgpu::Limits) -> (Context, Arc<Mutex<Vec<String>>>) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).unwrap();
    let (device, queue) = pollster::block_on(
        adapter
            .request_device(&wgpu::DeviceDescriptor { required_limits: limits, ..wgpu::DeviceDescriptor::default() }),
    )
    .unwrap();
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let heard = complaints.clone();
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| heard.lock().unwrap().push(error.to_string())));
    (Context::from_device(adapter.get_info(), device, queue), complaints)
}

/// Returns scenes that together use every stage, and both ways of running scans, sweeps and coloring rounds.
fn scenes() -> Vec<Scene> {
    let build = |spec: &str| catalogue::build(spec).unwrap();
    let mut projection = build("large_pyramid:base=10");
    projection.settings.mode = Mode::Projection;
    let mut cold = build("large_pyramid:base=10");
    cold.settings.warm_start = false;
    let mut strict = build("large_pyramid:base=10");
    strict.settings.strict = true;
    vec![Scene::new("nothing"), build("bouncing_ball"), build("large_pyramid:base=100"), projection, cold, strict]
}

#[test]
fn worlds_build_and_record_without_errors() {
    let (context, complaints) = noop();
    for scene in scenes() {
        let mut world = GpuWorld::new(&context, &scene).unwrap();
        for _ in 0..3 {
            world.step().unwrap();
        }
        let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        world.record(&mut encoder).unwrap();
        context.queue().submit([encoder.finish()]);
        context.wait().unwrap();
        assert!(world.dispatches() > 0);
        assert_eq!(*complaints.lock().unwrap(), [] as [String; 0], "scene {}", scene.name);
    }
}

#[test]
fn many_worlds_build_and_record_without_errors() {
    let (context, complaints) = noop_with(wgpu::Limits { max_storage_buffers_per_shader_stage: 10, ..limits() });
    for mut scene in scenes() {
        scene.settings.sleep = true;
        scene.settings.events = true;
        let mut worlds = WorldBatch::on_gpu(&context, &vec![scene.clone(); 3]).unwrap();
        // Some worlds step alone, so that they get the other parity.
        for which in [&[0, 1, 2][..], &[1], &[2, 0, 1]] {
            // Nothing is computed, which looks like all bodies at rest.
            (0..3).for_each(|world| worlds.wake_all(world).unwrap());
            worlds.step_some(which).unwrap();
        }
        worlds.wait().unwrap();
        assert!(worlds.dispatches().unwrap() > 0);
        assert_eq!(*complaints.lock().unwrap(), [] as [String; 0], "scene {}", scene.name);
    }
}

/// A single world needs only what every device has; for many worlds, the error names the missing limit.
#[test]
fn many_worlds_on_a_device_that_allows_too_few_tables() {
    let (context, _) = noop();
    let scene = catalogue::build("large_pyramid:base=3").unwrap();
    let error = WorldBatch::on_gpu(&context, &[scene]).unwrap_err().to_string();
    assert!(error.starts_with("many worlds: kernel "), "{error}");
    assert!(error.ends_with(" storage buffers, the device allows 8"), "{error}");
}

/// Negative control: a kernel that no device accepts is reported, and so is one that does not parse.
#[test]
fn invalid_kernels_are_rejected() {
    let (context, complaints) = noop();
    let scene = catalogue::build("bouncing_ball").unwrap();
    let broken = Patch { shader: "bound", from: "fn bound(", to: "fn bound((" };
    let error = GpuWorld::patched(&context, &scene, &[broken]).unwrap_err().to_string();
    assert!(error.starts_with("shader bound: bound.wgsl:"), "{error}");
    assert!(error.contains("fn bound(("), "{error}");
    assert_eq!(*complaints.lock().unwrap(), [] as [String; 0]);

    let wide = Patch { shader: "bound", from: "@workgroup_size(LANES)", to: "@workgroup_size(257)" };
    let _ = GpuWorld::patched(&context, &scene, &[wide]);
    let complaints = complaints.lock().unwrap();
    assert!(complaints.iter().any(|complaint| complaint.contains("257")), "{complaints:?}");
}
