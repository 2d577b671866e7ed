//! A world in your own window: your render loop, one device for both, everything recorded into your own encoder.
//!
//! `cargo run --release --example embed_in_your_renderer`; with a number, it closes after that many frames.

use std::sync::Arc;

use drystone::low_level::GpuWorld;
use drystone::{AdapterChoice, Context};
use drystone_draw::{Camera, DrawInputs, Frame, Layers, Renderer, Style};
use drystone_scenes::catalogue;
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, OwnedDisplayHandle};
use winit::window::{Window, WindowId};

/// State of the application, with the world.
struct Game {
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    context: Context,
    world: GpuWorld,
    renderer: Renderer,
    frame: Frame,
    camera: Camera,
    window: Arc<Window>,
}

impl Game {
    fn new(event_loop: &ActiveEventLoop, display: OwnedDisplayHandle) -> Result<Self, Box<dyn std::error::Error>> {
        let window = Arc::new(event_loop.create_window(Window::default_attributes().with_title("your game"))?);
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_with_display_handle(Box::new(display)));
        let surface = instance.create_surface(window.clone())?;
        // A device that can draw in this window and steps the world. With a device of your own use
        // `Context::from_device`.
        let (context, adapter) = Context::for_surface(&instance, &surface, AdapterChoice::Any)?;
        let size = window.inner_size();
        let config = surface.get_default_config(&adapter, size.width.max(1), size.height.max(1)).ok_or("no surface")?;
        surface.configure(context.device(), &config);

        let world = GpuWorld::new(&context, &catalogue::build("large_pyramid:base=20")?)?;
        let (device, queue) = (context.device(), context.queue());
        let renderer = Renderer::new(device, config.format, 1);
        let start = world.compiled();
        let camera = Camera::fit_scene(&start.poses, &start.shapes, [config.width, config.height]);
        let frame =
            renderer.frame(device, queue, &DrawInputs::of(&world), &camera, &Style::dark(), &Layers::default())?;
        Ok(Self { surface, config, context, world, renderer, frame, camera, window })
    }

    fn draw(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let (device, queue) = (self.context.device(), self.context.queue());
        let target = match self.surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(target) => target,
            wgpu::CurrentSurfaceTexture::Outdated | wgpu::CurrentSurfaceTexture::Suboptimal(_) => {
                self.surface.configure(device, &self.config);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        // The step, its drawing and your own commands in one submission; nothing is read back.
        self.world.record(&mut encoder)?;
        let inputs = DrawInputs::of(&self.world);
        let (style, layers) = (Style::dark(), Layers::default());
        self.renderer.update(&mut self.frame, device, queue, &inputs, &self.camera, &style, &layers)?;
        self.renderer.prepare(&mut encoder, &self.frame);
        let view = target.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..wgpu::RenderPassDescriptor::default()
        });
        self.renderer.draw(&mut pass, &self.frame);
        drop(pass);
        queue.submit([encoder.finish()]);
        queue.present(target);
        Ok(())
    }
}

struct App {
    display: OwnedDisplayHandle,
    game: Option<Game>,
    frames_left: Option<u32>,
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        match Game::new(event_loop, self.display.clone()) {
            Ok(game) => self.game = Some(game),
            Err(error) => {
                eprintln!("{error}");
                event_loop.exit();
            }
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(game) = &mut self.game else { return };
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) if size.width > 0 && size.height > 0 => {
                (game.config.width, game.config.height) = (size.width, size.height);
                game.camera.size = [size.width, size.height];
                game.surface.configure(game.context.device(), &game.config);
            }
            WindowEvent::RedrawRequested => {
                if let Err(error) = game.draw() {
                    eprintln!("{error}");
                    event_loop.exit();
                }
                if let Some(left) = &mut self.frames_left {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        println!("{} steps", game.world.steps());
                        event_loop.exit();
                    }
                }
            }
            _ => {}
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        event_loop.set_control_flow(ControlFlow::Poll);
        if let Some(game) = &self.game {
            game.window.request_redraw();
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let frames_left = std::env::args().nth(1).map(|frames| frames.parse()).transpose()?;
    let event_loop = EventLoop::new()?;
    let mut app = App { display: event_loop.owned_display_handle(), game: None, frames_left };
    event_loop.run_app(&mut app)?;
    Ok(())
}
