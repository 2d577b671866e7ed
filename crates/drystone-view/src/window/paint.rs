//! Input and picture of a frame: runs the panel on the events since the last frame, sends its textures, and draws the
//! worlds and the panel.

use std::time::Instant;

use super::super::action::Action;
use super::super::panel::apply_theme;
use super::OpenWindow;
use drystone::Context;
use drystone::WorldError;

/// Longest time from a press to a release that are a click, s. Both are timed by frames: where these are slow, two more
/// of them are granted.
const MAX_CLICK_SECONDS: f64 = 0.8;

/// Every eighth frame of a script is drawn, and each of which a picture is taken: on a software adapter pixels are most
/// of a frame.
const FRAMES_A_DRAWING: u64 = 8;

/// Factor on the size of texts for a window of this height, points of the screen: 1 up to 1080, 1.5 at 1440, 2 at 2160,
/// as such windows are on large screens and seen from afar.
fn text_zoom(height: f32) -> f32 {
    let low = 1.0 + 0.5 * (height - 1080.0) / 360.0;
    let high = 1.5 + 0.5 * (height - 1440.0) / 720.0;
    // In notches, so that not every line of a resize makes new glyphs.
    (low.min(high).clamp(1.0, 2.0) * 20.0).round() / 20.0
}

/// Parts of the events of a frame: in each at most one press or release of a button, and after that no movement.
fn by_buttons(events: Vec<egui::Event>) -> Vec<Vec<egui::Event>> {
    let mut parts = vec![Vec::new()];
    let mut has_button = false;
    for event in events {
        let is_button = matches!(event, egui::Event::PointerButton { .. });
        let is_next = is_button || matches!(event, egui::Event::PointerMoved(_) | egui::Event::Touch { .. });
        if has_button && is_next {
            parts.push(Vec::new());
            has_button = false;
        }
        has_button |= is_button;
        if let Some(part) = parts.last_mut() {
            part.push(event);
        }
    }
    parts
}

/// Renderer of the panel.
pub(super) fn painter(context: &Context, format: wgpu::TextureFormat) -> egui_wgpu::Renderer {
    egui_wgpu::Renderer::new(
        context.device(),
        format,
        egui_wgpu::RendererOptions {
            // Dithering differs between adapters.
            dithering: false,
            ..egui_wgpu::RendererOptions::default()
        },
    )
}

impl OpenWindow {
    /// Runs the panel on the input since the last frame, and returns what it draws.
    ///
    /// Each press and each release of a button gets a pass of its own: egui tests hits only for the pointer's last
    /// place in a pass, so that in slow frames a click would hit what the pointer has reached since, and a press with
    /// its release in the picture would be lost.
    pub(super) fn hear(&mut self) -> egui::FullOutput {
        let context = self.egui.egui_ctx().clone();
        let longest = MAX_CLICK_SECONDS + 2.0 * self.frame_seconds.min(10.0);
        context.options_mut(|options| options.input_options.max_click_duration = longest);
        self.fit_text(&context);
        let input = self.take_input();
        let mut parts = by_buttons(input.events.clone()).into_iter().peekable();
        loop {
            let events = parts.next().unwrap_or_default();
            let mut part = egui::RawInput { events, ..input.clone() };
            let app = &mut self.app;
            app.take_keys(&mut part, &context);
            let mut output = context.run_ui(part, |ui| app.ui(ui));
            if self.hears {
                self.egui.handle_platform_output(&self.window, std::mem::take(&mut output.platform_output));
            }
            self.send_textures(&mut output.textures_delta);
            if parts.peek().is_none() {
                return output;
            }
            self.free_textures(&mut output.textures_delta);
        }
    }

    /// Sets the size of texts and panel: by the height of the window, and the factor of the user.
    fn fit_text(&self, context: &egui::Context) {
        let native = self.native_scale();
        #[allow(clippy::cast_precision_loss, reason = "pixels")]
        let height = self.screen.size()[1] as f32 / native;
        let zoom = text_zoom(height) * self.app.prefs.zoom;
        if (context.zoom_factor() - zoom).abs() > 1e-3 {
            context.set_zoom_factor(zoom);
        }
    }

    /// Pixels of a point of the screen.
    fn native_scale(&self) -> f32 {
        #[allow(clippy::cast_possible_truncation, reason = "a scale of a screen")]
        let of_screen = self.window.scale_factor() as f32;
        // A scripted window has a screen of its own.
        if self.script.is_some() { self.scale.unwrap_or(1.0) } else { of_screen }
    }

    /// Input of the panel since the last frame, from the display or the script.
    fn take_input(&mut self) -> egui::RawInput {
        let mut input = self.egui.take_egui_input(&self.window);
        if self.script.is_some() {
            input.time = Some(self.clock);
            input.focused = true;
            if !self.hears {
                input.events.clear();
            }
            input.events.append(&mut self.made);
            let native = self.native_scale();
            let scale = native * self.egui.egui_ctx().zoom_factor();
            let [width, height] = self.screen.size();
            #[allow(clippy::cast_precision_loss, reason = "pixels")]
            let size = egui::vec2(width as f32 / scale, height as f32 / scale);
            input.screen_rect = Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size));
            if let Some(viewport) = input.viewports.get_mut(&egui::ViewportId::ROOT) {
                viewport.native_pixels_per_point = Some(native);
            }
        } else if self.measured.is_some() {
            input.events.append(&mut self.made);
        }
        for path in self.made_files.drain(..) {
            self.app.queue.push(Action::Open(path.display().to_string()));
        }
        input
    }

    /// Uploads changed textures of the panel: glyphs and small pictures.
    pub(super) fn send_textures(&mut self, delta: &mut egui::TexturesDelta) {
        let (device, queue) = (self.app.context.device(), self.app.context.queue());
        for (id, images) in &delta.set {
            for image in images {
                self.painter.update_texture(device, queue, *id, image);
            }
        }
        delta.set.clear();
    }

    /// Frees textures that are not used any more, after they were drawn for the last time.
    pub(super) fn free_textures(&mut self, delta: &mut egui::TexturesDelta) {
        for id in &delta.free {
            self.painter.free_texture(id);
        }
        delta.clear();
    }

    /// Draws a frame: the worlds, and the panel over and around them.
    pub(super) fn paint(&mut self, target: wgpu::SurfaceTexture) -> Result<(), WorldError> {
        let begin = Instant::now();
        let context = self.egui.egui_ctx().clone();
        if self.themed != Some(self.app.prefs.dark) {
            self.themed = Some(self.app.prefs.dark);
            apply_theme(&context, self.app.prefs.dark);
            if self.script.is_some() {
                // Screenshots show final states, no animations.
                context.all_styles_mut(|style| style.animation_time = 0.0);
            }
        }
        let mut output = self.hear();
        let again = output.viewport_output.get(&egui::ViewportId::ROOT).map(|viewport| viewport.repaint_delay);
        self.repaint_at = again.and_then(|delay| Instant::now().checked_add(delay));
        let scale = output.pixels_per_point;
        let jobs = context.tessellate(output.shapes, scale);
        let (device, queue) = (self.app.context.device().clone(), self.app.context.queue().clone());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("frame") });
        let screen = egui_wgpu::ScreenDescriptor { size_in_pixels: self.screen.size(), pixels_per_point: scale };
        let more = self.painter.update_buffers(&device, &queue, &mut encoder, &jobs, &screen);
        if let Err(error) = self.app.prepare(&mut encoder, scale) {
            self.app.say(error.to_string());
        }
        let view = target.texture.create_view(&wgpu::TextureViewDescriptor::default());
        {
            let [r, g, b] = self.app.style().background.map(f64::from);
            let mut pass = encoder
                .begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some("window"),
                    color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                        view: &view,
                        depth_slice: None,
                        resolve_target: None,
                        ops: wgpu::Operations {
                            load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }),
                            store: wgpu::StoreOp::Store,
                        },
                    })],
                    ..wgpu::RenderPassDescriptor::default()
                })
                .forget_lifetime();
            let is_due = self.app.frames.is_multiple_of(FRAMES_A_DRAWING);
            if self.script.is_none() || self.shot.is_some() || is_due {
                self.app.drawing.draw(&mut pass);
                let [width, height] = self.screen.size();
                #[allow(clippy::cast_precision_loss, reason = "pixels")]
                pass.set_viewport(0.0, 0.0, width as f32, height as f32, 0.0, 1.0);
                self.painter.render(&mut pass, &jobs, &screen);
            }
        }
        queue.submit(more.into_iter().chain([encoder.finish()]));
        self.free_textures(&mut output.textures_delta);
        if let Some(path) = self.shot.take() {
            self.take_shot(&path, &target.texture);
        }
        if let Some(path) = self.report.take() {
            self.write_report(&path)?;
        }
        self.window.pre_present_notify();
        queue.present(target);
        self.app.painted(begin.elapsed());
        self.seen();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_grows_with_the_window() {
        let heights = [300.0, 720.0, 1080.0, 1260.0, 1440.0, 1800.0, 2160.0, 4320.0];
        assert_eq!(heights.map(text_zoom), [1.0, 1.0, 1.0, 1.25, 1.5, 1.75, 2.0, 2.0]);
    }
}
