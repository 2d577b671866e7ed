//! Small pictures of the catalogue's scenes, for the list of scenes. A background thread draws them on the CPU, one
//! scene after the other and only those in sight; no frame waits for it. A cache folder keeps them from one session to
//! the next.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::cancel::Cancel;
use super::worker::WakeCallback;
use drystone_draw::{Image, thumbnail};
use drystone_scenes::catalogue::{Entry, THUMBNAIL_BODIES};

/// Size of a picture, px: two for each point of [`POINTS`], for fine screens.
const SIZE: [u32; 2] = [144, 96];
/// Size of a picture in the list, points.
pub(crate) const POINTS: egui::Vec2 = egui::vec2(72.0, 48.0);

/// Maximum size of all files in the folder, and of one that is read, bytes.
const MAX_KEPT: u64 = 4 << 20;
const MAX_FILE: u64 = 1 << 20;
/// Number to be increased when pictures change for a reason that no fingerprint covers.
const EDITION: u32 = 1;

/// Pictures of scenes, by their names.
#[derive(Default)]
pub(crate) struct Thumbs {
    /// Cache folder, if there is one.
    folder: Option<PathBuf>,
    /// Number of scenes whose pictures were in the folder.
    kept: usize,
    /// Pictures by the names of scenes; `None` for a scene that cannot be drawn.
    known: HashMap<&'static str, Option<Pictures>>,
    job: Option<ThumbnailThread>,
}

/// Pictures of a scene in light and in dark colours.
struct Pictures {
    images: [Image; 2],
    textures: [Option<egui::TextureHandle>; 2],
}

/// Thread that draws a scene. Dropping it cancels the thread.
struct ThumbnailThread {
    name: &'static str,
    /// Receives the pictures, and true if they were in the folder.
    done: Receiver<Option<([Image; 2], bool)>>,
    cancel: Cancel,
}

impl Drop for ThumbnailThread {
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
    /// Folder for pictures in the user's cache, if the system has such a place.
    pub fn user_folder() -> Option<PathBuf> {
        Some(directories::ProjectDirs::from("", "", "drystone")?.cache_dir().join("scenes"))
    }

    /// Sets the cache folder.
    pub fn keep_in(&mut self, folder: PathBuf) {
        self.folder = Some(folder);
    }

    /// Number of scenes whose pictures were in the folder.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Number of scenes that have been drawn.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Drops the textures after the device was lost; the pictures stay.
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

    /// Takes over the pictures that the thread has drawn, and starts it for the first of these scenes without a
    /// picture.
    pub fn draw(&mut self, in_sight: &[&'static Entry], wake: &WakeCallback) {
        if let Some(job) = &self.job {
            match job.done.try_recv() {
                Err(TryRecvError::Empty) => return,
                // A scene on which the thread panicked has no picture.
                drawn => {
                    let drawn = drawn.ok().flatten();
                    self.kept += usize::from(drawn.as_ref().is_some_and(|(_, was_kept)| *was_kept));
                    let pictures = drawn.map(|(images, _)| Pictures { images, textures: [None, None] });
                    self.known.insert(job.name, pictures);
                    self.job = None;
                }
            }
        }
        let Some(&entry) = in_sight.iter().find(|entry| !self.known.contains_key(entry.name)) else { return };
        let (to, done) = channel();
        let (cancel, wake) = (Cancel::default(), wake.clone());
        self.job = Some(ThumbnailThread { name: entry.name, done, cancel: cancel.clone() });
        let folder = self.folder.clone();
        let work = move || {
            let drawn = kept_or_drawn(folder.as_deref(), entry, &cancel);
            // The window may be gone.
            let _ = to.send(drawn);
            drop(to);
            (wake.0)();
        };
        // Without a thread the scene has no picture: the next call finds the channel closed.
        let _ = std::thread::Builder::new().name("thumbnail".to_owned()).spawn(work);
    }
}

/// Loads the pictures of a scene from the folder (true), or draws and stores them (false). An unusable folder is
/// ignored.
fn kept_or_drawn(folder: Option<&Path>, entry: &Entry, cancel: &Cancel) -> Option<([Image; 2], bool)> {
    let path = folder.map(|folder| folder.join(file_name(entry.name)));
    if let Some(images) = path.as_deref().and_then(load) {
        return Some((images, true));
    }
    let images = picture(entry, cancel)?;
    if let (Some(folder), Some(path)) = (folder, path) {
        // Without the file the scene is drawn again in the next session.
        let _ = store(folder, &path, &images);
    }
    Some((images, false))
}

/// Name of a scene's file, with fingerprints, so that builds that draw other pictures use other files.
fn file_name(scene: &str) -> String {
    format!("{scene}-{EDITION}-{}-{}.png", drystone::FINGERPRINT, drystone_scenes::FINGERPRINT)
}

/// Reads the pictures in a file, the light one above the dark one; `None` if there is no file or it is damaged.
fn load(path: &Path) -> Option<[Image; 2]> {
    if std::fs::metadata(path).ok()?.len() > MAX_FILE {
        return None;
    }
    let Image { width, height, mut rgba } = Image::from_png(&std::fs::read(path).ok()?)?;
    let whole = [width, height] == [SIZE[0], 2 * SIZE[1]];
    let dark = whole.then(|| rgba.split_off(rgba.len() / 2))?;
    Some([rgba, dark].map(|rgba| Image { width: SIZE[0], height: SIZE[1], rgba }))
}

/// Writes a file, whole or not at all, and removes others to keep the folder within its size.
fn store(folder: &Path, path: &Path, [light, dark]: &[Image; 2]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let rgba = [&light.rgba[..], &dark.rgba[..]].concat();
    let both = Image { width: SIZE[0], height: 2 * SIZE[1], rgba };
    let bytes = both.to_png().map_err(std::io::Error::other)?;
    // Another window may write the same file.
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    std::fs::write(&fresh, bytes)?;
    std::fs::rename(&fresh, path)?;
    make_room(folder, MAX_KEPT)
}

/// Removes files until the rest has at most `most` bytes: those of other builds first, then the oldest.
fn make_room(folder: &Path, most: u64) -> std::io::Result<()> {
    let own = file_name("");
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder)?.flatten() {
        let Ok(about) = file.metadata() else { continue };
        let is_own = file.file_name().to_str().is_some_and(|name| name.ends_with(&own));
        if about.is_file() {
            files.push((is_own, about.modified().ok(), about.len(), file.path()));
        }
    }
    files.sort();
    let mut all: u64 = files.iter().map(|(_, _, bytes, _)| bytes).sum();
    for (_, _, bytes, path) in files {
        if all <= most {
            break;
        }
        all -= bytes;
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Draws a scene shortly after its start, in light and dark colours; `None` if it cannot be drawn or was cancelled.
fn picture(entry: &Entry, cancel: &Cancel) -> Option<[Image; 2]> {
    thumbnail(&entry.build_small(THUMBNAIL_BODIES).ok()?, SIZE, &|| cancel.is_cancelled())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone_scenes::catalogue;

    /// Pictures drawn once are there the next time; a damaged file is drawn again; the folder does not grow for ever.
    #[test]
    fn pictures_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("deeper");
        let entry = catalogue::find("bouncing_ball").unwrap();
        let get = || kept_or_drawn(Some(&folder), entry, &Cancel::default()).unwrap();
        let (drawn, was_kept) = get();
        assert!(!was_kept);
        let again = get();
        assert!(again.1 && again.0 == drawn, "the same pictures, from the file");
        let path = folder.join(file_name(entry.name));
        let whole = std::fs::read(&path).unwrap();
        let other = Image { width: 3, height: 2, rgba: vec![255; 24] }.to_png().unwrap();
        let long = vec![0; usize::try_from(MAX_FILE).unwrap() + 1];
        for damaged in [&whole[..whole.len() / 2], b"no picture", b"", &other, &long] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(get(), (drawn.clone(), false), "drawn again");
            assert_eq!(std::fs::read(&path).unwrap(), whole, "and the file is whole again");
        }
        assert!(!kept_or_drawn(None, entry, &Cancel::default()).unwrap().1);

        std::fs::write(folder.join("slope-0-old.png"), vec![1; 500]).unwrap();
        std::fs::write(folder.join("arch-0-old.png"), vec![1; 500]).unwrap();
        make_room(&folder, whole.len() as u64 + 600).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "one of another build had to go");
        assert!(path.exists());
        make_room(&folder, 10).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    /// Every scene has a picture in which there is more than the background, and is small enough to be stepped.
    #[test]
    fn every_scene_has_a_picture() {
        for entry in catalogue::entries() {
            let bodies = entry.build_small(THUMBNAIL_BODIES).unwrap().bodies.len();
            assert!(bodies <= drystone_draw::MAX_THUMBNAIL_BODIES, "{}: {bodies} bodies", entry.name);
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
