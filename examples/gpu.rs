//! A world on your own device: it records into your encoder, and its poses stay on the GPU for drawing.

use drystone::low_level::GpuWorld;
use drystone::{Body, Context, Scene, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any instance, adapter and device. Drystone needs no optional feature and no more than the default limits.
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    println!("on {}", adapter.get_info().name);

    let mut scene = Scene::new("pile");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    for row in 0..10_u8 {
        scene.add(Body::dynamic(0.1 * f32::from(row % 2), 0.6 + 1.1 * f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
    }

    let context = Context::from_device(adapter.get_info(), device.clone(), queue.clone());
    let mut world = GpuWorld::new(&context, &scene)?;
    for _frame in 0..120 {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        world.record(&mut encoder)?;
        // Here your render pass would bind `world.poses()`, an array of `drystone::low_level::types::Pose`, one per
        // body.
        queue.submit([encoder.finish()]);
    }

    println!("{} bytes of poses on the device", world.poses().size());
    for (body, pose) in world.snapshot()?.poses.iter().enumerate() {
        println!("body {body:2}: x = {:6.3} m, y = {:6.3} m", pose.position[0], pose.position[1]);
    }
    Ok(())
}
