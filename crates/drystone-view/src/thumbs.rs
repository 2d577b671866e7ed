//! Small pictures of the scenes of the catalogue, for the list of scenes. A thread of its own draws them on the CPU,
//! one scene after the other, and only those that are in sight; no frame waits for it.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::cancel::Cancel;
use super::seat::Wake;
use drystone::low_level::cpu::CpuWorld;
use drystone::low_level::scene::Compiled;
use drystone_draw::{Framing, Image, Style, raster};
use drystone_scenes::catalogue::Entry;

/// Size of a picture, px: two for each point of [`POINTS`], for fine screens.
const SIZE: [u32; 2] = [144, 96];
/// Size in the list, points.
pub(crate) const POINTS: egui::Vec2 = egui::vec2(72.0, 48.0);
/// Bodies of a scene in its picture, about: of larger scenes a smaller one is drawn, in which bodies can be told apart.
const BODIES: u64 = 300;
/// Maximum number of bodies of a scene that is stepped; one that cannot be made smaller is drawn as it begins.
const STEPPED: usize = 1_000;
/// Steps done before the picture: by then things move, and few have come to rest.
const STEPS: u32 = 75;
/// Time for the steps of a scene. On a slow machine there are fewer.
const TIME: Duration = Duration::from_secs(2);

/// Pictures of scenes, by their names.
#[derive(Default)]
pub(crate) struct Thumbs {
    /// `None`: the scene cannot be drawn.
    known: HashMap<&'static str, Option<Pictures>>,
    job: Option<Job>,
}

/// Pictures of a scene in light and in dark colours.
struct Pictures {
    images: [Image; 2],
    textures: [Option<egui::TextureHandle>; 2],
}

/// A thread that draws a scene.
struct Job {
    name: &'static str,
    done: Receiver<Option<[Image; 2]>>,
    cancel: Cancel,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl std::fmt::Debug for Thumbs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Thumbs({})", self.known.len())
    }
}

impl Thumbs {
    /// Number of scenes that have been drawn.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Forgets what is on a device that was lost. The pictures stay.
    pub fn forget_textures(&mut self) {
        for pictures in self.known.values_mut().flatten() {
            pictures.textures = [None, None];
        }
    }

    /// Texture of a scene's picture, if it has been drawn.
    pub fn texture(&mut self, ctx: &egui::Context, entry: &Entry, dark: bool) -> Option<egui::TextureId> {
        let Pictures { images, textures } = self.known.get_mut(entry.name)?.as_mut()?;
        let (image, texture) = (&images[usize::from(dark)], &mut textures[usize::from(dark)]);
        let texture = texture.get_or_insert_with(|| {
            let size = [image.width, image.height].map(|side| side as usize);
            let pixels = egui::ColorImage::from_rgba_unmultiplied(size, &image.rgba);
            ctx.load_texture(entry.name, pixels, egui::TextureOptions::LINEAR)
        });
        Some(texture.id())
    }

    /// Takes up what the thread has drawn, and has it draw the first of these scenes that has no picture.
    pub fn draw(&mut self, in_sight: &[&'static Entry], wake: &Wake) {
        if let Some(job) = &self.job {
            match job.done.try_recv() {
                Err(TryRecvError::Empty) => return,
                // A scene that broke the thread has no picture.
                drawn => {
                    let images = drawn.ok().flatten();
                    let pictures = images.map(|images| Pictures { images, textures: [None, None] });
                    self.known.insert(job.name, pictures);
                    self.job = None;
                }
            }
        }
        let Some(&entry) = in_sight.iter().find(|entry| !self.known.contains_key(entry.name)) else { return };
        let (to, done) = channel();
        let (cancel, wake) = (Cancel::default(), wake.clone());
        self.job = Some(Job { name: entry.name, done, cancel: cancel.clone() });
        let work = move || {
            let drawn = picture(entry, &cancel);
            // The window may be gone.
            let _ = to.send(drawn);
            drop(to);
            (wake.0)();
        };
        // Without a thread the scene has no picture: the next look finds the other end closed.
        let _ = std::thread::Builder::new().name("thumbnail".to_owned()).spawn(work);
    }
}

/// Pictures of a scene shortly after its start, light and dark; `None`: it cannot be drawn, or is not wanted any more.
fn picture(entry: &Entry, cancel: &Cancel) -> Option<[Image; 2]> {
    let is_large = entry.body_count(&[]).ok()? > BODIES;
    let given = if is_large { entry.sized(BODIES).ok().flatten() } else { None };
    let scene = entry.build(&given.unwrap_or_default()).ok()?;
    let mut world = CpuWorld::from_compiled(Compiled::new(&scene).ok()?);
    let framing = Framing::new(world.compiled(), &world.compiled().poses, SIZE);
    let steps = if scene.bodies.len() > STEPPED { 0 } else { STEPS };
    let began = Instant::now();
    for _ in 0..steps {
        if cancel.is_cancelled() {
            return None;
        }
        if began.elapsed() > TIME {
            break;
        }
        world.step().ok()?;
    }
    let snapshot = world.snapshot();
    let camera = framing.camera_later(world.compiled(), &snapshot.poses);
    // The grid and the ticks would be most of what is seen.
    let plain = |style: Style| Style { grid_strength: 0.0, marks: 0.0, ..style };
    let draw = |style: Style| raster::picture_of_world(world.compiled(), &snapshot, true, &camera, &style).ok();
    Some([draw(plain(Style::light()))?, draw(plain(Style::dark()))?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone_scenes::catalogue;

    /// Every scene has a picture in which there is more than the background, and is small enough to be stepped.
    #[test]
    fn every_scene_has_a_picture() {
        for entry in catalogue::entries() {
            let given = entry.sized(BODIES).ok().flatten().filter(|_| entry.body_count(&[]).unwrap() > BODIES);
            let bodies = entry.build(&given.unwrap_or_default()).unwrap().bodies.len();
            assert!(bodies <= STEPPED, "{}: {bodies} bodies", entry.name);
        }
        // A few of each kind: a heap, joints, an emitter, a single body.
        for name in ["large_pyramid", "springs", "rain", "bouncing_ball"] {
            let entry = catalogue::find(name).unwrap();
            let [light, dark] = picture(entry, &Cancel::default()).unwrap();
            for image in [&light, &dark] {
                // Ball and ground at least cover a fiftieth of it, and leave a tenth to the background.
                let all = image.rgba.len() / 4;
                let background = image.rgba.chunks_exact(4).filter(|pixel| *pixel == &image.rgba[..4]).count();
                assert!((all / 10..all - all / 50).contains(&background), "{name}: {background} of {all} pixels");
            }
            let brightness = |image: &Image| image.rgba.iter().map(|&byte| u64::from(byte)).sum::<u64>();
            assert!(brightness(&light) > brightness(&dark), "{name}");
        }
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(picture(catalogue::find("springs").unwrap(), &cancel).is_none());
    }
}
