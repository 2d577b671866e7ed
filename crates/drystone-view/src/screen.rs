//! The surface of the window, on the device that steps the world: its configuration, its size, its loss, and reading it
//! back for screenshots.

use std::sync::Arc;

use winit::window::Window;

use super::ViewError;
use drystone::low_level::gpu::{ContextError, adapters, is_software};
use drystone::{AdapterChoice, Context};
use drystone_draw::Image;

/// Surface of a window with its configuration.
#[derive(Debug)]
pub(crate) struct Screen {
    surface: wgpu::Surface<'static>,
    adapter: wgpu::Adapter,
    instance: wgpu::Instance,
    config: wgpu::SurfaceConfiguration,
    /// True if the surface was configured on a device that was not lost at the time; an unconfigured surface must not
    /// be asked for a texture.
    configured: bool,
    /// True if the window has no size, so that nothing can be shown.
    hidden: bool,
    /// True if textures of the surface can be read back.
    copies: bool,
}

/// Texture to draw on, or the reason why there is none.
#[derive(Debug)]
pub(crate) enum ScreenTexture {
    /// Draw on it, then present it.
    Ready(wgpu::SurfaceTexture),
    /// There is none for this frame.
    Skip,
    /// The surface is lost; a new one must be made.
    Lost,
}

impl Screen {
    /// Makes a surface and a device that can draw on it. `quick` prefers a present mode that does not wait for the
    /// display.
    ///
    /// # Errors
    /// If there is no surface or no adapter of the wanted kind.
    pub fn new(
        window: &Arc<Window>,
        display: impl winit::raw_window_handle::HasDisplayHandle + std::fmt::Debug + Send + Sync + 'static,
        choice: AdapterChoice,
        quick: bool,
    ) -> Result<(Self, Context), ViewError> {
        let mut descriptor = wgpu::InstanceDescriptor::new_with_display_handle(Box::new(display));
        descriptor.backends = wgpu::Backends::PRIMARY;
        // As in `Context::new`.
        descriptor.flags.remove(wgpu::InstanceFlags::DEBUG);
        let instance = wgpu::Instance::new(descriptor);
        let surface = match instance.create_surface(window.clone()) {
            Ok(surface) => surface,
            // Without any driver there is no surface either.
            Err(_) if adapters().is_empty() => {
                let (wanted, found) = ("Vulkan, Metal or DirectX 12", "none".to_owned());
                return Err(ContextError::NoAdapter { wanted, found }.into());
            }
            Err(error) => return Err(ViewError::display(&error)),
        };
        let (context, adapter) = Context::for_surface(&instance, &surface, choice)?;
        let size = window.inner_size();
        let capabilities = surface.get_capabilities(&adapter);
        let wanted = [wgpu::TextureFormat::Bgra8Unorm, wgpu::TextureFormat::Rgba8Unorm];
        let offered = &capabilities.formats;
        let format = wanted.into_iter().find(|format| offered.contains(format)).or(offered.first().copied());
        let format = format.ok_or_else(|| no_surface(&adapter))?;
        let modes = [wgpu::PresentMode::Mailbox, wgpu::PresentMode::Immediate];
        let quickest = modes.into_iter().find(|mode| quick && capabilities.present_modes.contains(mode));
        let copies = capabilities.usages.contains(wgpu::TextureUsages::COPY_SRC);
        let copy = if copies { wgpu::TextureUsages::COPY_SRC } else { wgpu::TextureUsages::empty() };
        let config = wgpu::SurfaceConfiguration {
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | copy,
            format,
            width: size.width.max(1),
            height: size.height.max(1),
            present_mode: quickest.unwrap_or(wgpu::PresentMode::Fifo),
            // Queued pictures would only delay a software adapter.
            desired_maximum_frame_latency: if is_software(context.info()) { 1 } else { 2 },
            alpha_mode: wgpu::CompositeAlphaMode::Auto,
            view_formats: Vec::new(),
            ..surface
                .get_default_config(&adapter, size.width.max(1), size.height.max(1))
                .ok_or_else(|| no_surface(&adapter))?
        };
        let hidden = size.width == 0 || size.height == 0;
        let mut screen = Self { surface, adapter, instance, config, configured: false, hidden, copies };
        screen.configure(&context);
        Ok((screen, context))
    }

    /// Makes a new device of the same adapter after the old one was lost.
    ///
    /// # Errors
    /// If the adapter gives no device any more.
    pub fn new_device(&mut self) -> Result<Context, ViewError> {
        let context = Context::from_adapter(&self.adapter)?;
        self.configured = false;
        self.configure(&context);
        Ok(context)
    }

    /// Makes a new surface after the old one was lost. Does nothing if the device is lost as well, which may not have
    /// been noticed yet: the new device comes first.
    ///
    /// # Errors
    /// If the system gives no surface.
    pub fn new_surface(&mut self, window: &Arc<Window>, context: &Context) -> Result<(), ViewError> {
        if context.wait().is_err() {
            return Ok(());
        }
        let surface = self.instance.create_surface(window.clone());
        self.surface = surface.map_err(|error| ViewError::display(&error))?;
        self.configured = false;
        self.configure(context);
        Ok(())
    }

    /// Configures the surface for its size.
    fn configure(&mut self, context: &Context) {
        if self.hidden {
            return;
        }
        self.surface.configure(context.device(), &self.config);
        // On a lost device `configure` does nothing and reports nothing. For a new surface the loss is waited for; an
        // old one stays as it was.
        if !self.configured {
            self.configured = context.wait().is_ok();
        }
    }

    /// Takes over the size of the window, which may be 0.
    pub fn resize(&mut self, context: &Context, [width, height]: [u32; 2]) {
        self.hidden = width == 0 || height == 0;
        if !self.hidden {
            let most = context.device().limits().max_texture_dimension_2d;
            self.config.width = width.min(most);
            self.config.height = height.min(most);
            self.configure(context);
        }
    }

    /// Width and height, px.
    pub fn size(&self) -> [u32; 2] {
        [self.config.width, self.config.height]
    }

    /// Format of the textures to draw on.
    pub fn format(&self) -> wgpu::TextureFormat {
        self.config.format
    }

    /// Returns true if the window has no size.
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Returns true if textures can be read back.
    pub fn copies(&self) -> bool {
        self.copies
    }

    /// Next texture to draw on.
    pub fn next(&mut self, context: &Context) -> ScreenTexture {
        if self.hidden || !self.configured {
            return ScreenTexture::Skip;
        }
        match self.surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(texture) => ScreenTexture::Ready(texture),
            wgpu::CurrentSurfaceTexture::Suboptimal(texture) => {
                // The window has changed; a picture of the right size can still be shown.
                let size = texture.texture.size();
                if [size.width, size.height] == self.size() {
                    return ScreenTexture::Ready(texture);
                }
                drop(texture);
                self.configure(context);
                ScreenTexture::Skip
            }
            wgpu::CurrentSurfaceTexture::Outdated => {
                self.configure(context);
                ScreenTexture::Skip
            }
            wgpu::CurrentSurfaceTexture::Timeout | wgpu::CurrentSurfaceTexture::Occluded => ScreenTexture::Skip,
            wgpu::CurrentSurfaceTexture::Lost | wgpu::CurrentSurfaceTexture::Validation => ScreenTexture::Lost,
        }
    }
}

/// Error of an adapter that cannot draw on the surface.
fn no_surface(adapter: &wgpu::Adapter) -> ViewError {
    ViewError::Display(format!("{} cannot draw in this window", adapter.get_info().name))
}

impl From<ContextError> for ViewError {
    fn from(error: ContextError) -> Self {
        Self::Adapter(error)
    }
}

/// Reads a texture of 8-bit colours; waits for the device.
///
/// # Errors
/// If the device is lost.
pub(crate) fn read(context: &Context, texture: &wgpu::Texture) -> Result<Image, String> {
    let (device, size) = (context.device(), texture.size());
    let pitch = (size.width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("screenshot"),
        size: u64::from(pitch) * u64::from(size.height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(pitch), rows_per_image: None },
        },
        size,
    );
    context.queue().submit([encoder.finish()]);
    buffer.map_async(wgpu::MapMode::Read, .., |_| {});
    context.wait().map_err(|error| error.to_string())?;
    let mapped = buffer.get_mapped_range(..).map_err(|error| error.to_string())?;
    let swapped = matches!(texture.format(), wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb);
    let mut rgba = Vec::with_capacity(size.width as usize * size.height as usize * 4);
    for row in mapped.chunks_exact(pitch as usize) {
        for pixel in row[..size.width as usize * 4].chunks_exact(4) {
            let [r, g, b] = if swapped { [pixel[2], pixel[1], pixel[0]] } else { [pixel[0], pixel[1], pixel[2]] };
            rgba.extend([r, g, b, 255]);
        }
    }
    Ok(Image { width: size.width, height: size.height, rgba })
}
