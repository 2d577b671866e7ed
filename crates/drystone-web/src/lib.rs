//! Scenes as web pages: one file, without a network and without a build step, that steps the scene on WebGPU with the
//! kernels of the solver and draws it with the shaders of [`drystone_draw`].
//!
//! A step is a list of dispatches that the host records without reading anything back, so it can be exported
//! ([`drystone::low_level::gpu::recipe`]): kernels after composition, their bindings, the tables with their first
//! contents, and the parts of the stages. `page/runtime.js` replays it: by the counters of past steps it chooses
//! kernels, and grows tables, as the library does.
//!
//! ```
//! use drystone::{Body, Scene, Shape};
//! use drystone_web::WebPage;
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let page = WebPage::new(&scene)?;
//! assert!(page.html().starts_with("<!doctype html>"));
//! # Ok::<(), drystone_web::WebError>(())
//! ```

mod data;
pub mod gallery;
mod pull;
pub mod traffic;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use drystone::low_level::CpuWorld;
use drystone::low_level::gpu::kernel::KernelError;
use drystone::low_level::gpu::recipe::StepRecipe;
use drystone::low_level::hash::Fnv;
use drystone::low_level::scene::Compiled;
use drystone::{Body, Scene, Shape, WorldError};
use drystone_draw::{DrawError, Scale};
use pull::PullJoint;
use sha2::{Digest, Sha256};

/// Program of the page.
const RUNTIME: &str = include_str!("../page/runtime.js");
/// Style sheet of the page.
const STYLE: &str = include_str!("../page/page.css");
/// Frame of the page, with the places for the others in double braces.
const FRAME: &str = include_str!("../page/page.html");
/// Frame of a page that measures.
const BENCH_FRAME: &str = include_str!("../page/bench.html");
/// Number of balls and of boxes that a visitor can add.
const SPARES: usize = 24;

/// A scene could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// The scene has a part that a page cannot run.
    #[error("scene {scene}: {part}, which a page cannot do: export the scene without it, or share the scene file")]
    Unsupported {
        /// Name of the scene.
        scene: String,
        /// Part of the scene, and what it does.
        part: String,
    },
    /// The scene is not valid.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A kernel is not valid.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A shader that draws is not valid.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// The data could not be written.
    #[error("the data of the page could not be written: {0}")]
    Data(#[from] std::io::Error),
    /// The data could not be written as JSON.
    #[error("the data of the page could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Body that a visitor can add: the kind, and the slots of the spare bodies of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpareBodies {
    pub kind: &'static str,
    pub slots: std::ops::Range<usize>,
}

/// A scene as a web page.
#[derive(Debug)]
pub struct WebPage {
    title: String,
    summary: String,
    spec: String,
    recipe: StepRecipe,
    /// Tables in which the spare bodies are alive.
    alive: Compiled,
    /// Joint by which the visitor pulls a body.
    pull: PullJoint,
    spares: Vec<SpareBodies>,
    html: String,
}

impl WebPage {
    /// Exports a scene at its start.
    ///
    /// # Errors
    /// If the scene is not valid, or has emitters or a timed command that waits for a condition or removes something.
    pub fn new(scene: &Scene) -> Result<Self, WebError> {
        let unsupported = |part| Err(WebError::Unsupported { scene: scene.name.clone(), part });
        let mut world = CpuWorld::new(scene)?;
        if !scene.emitters.is_empty() {
            return unsupported("emitters[0] adds bodies".to_owned());
        }
        // Bodies that were removed leave slots, into which the page writes those that the visitor adds.
        let length = Scale::of(world.compiled()).length;
        let first = world.compiled().bodies.len();
        let shapes = [("ball", Shape::circle(0.5 * length)), ("box", Shape::half_box(0.5 * length, 0.5 * length))];
        let bodies: Vec<Body> = shapes
            .iter()
            .flat_map(|(_, shape)| std::iter::repeat_n(Body::dynamic(0.0, 0.0).shape(shape.clone()), SPARES))
            .collect();
        let ids = world.add_bodies(&bodies)?;
        // Leaves a slot among the joints, too.
        let joint = world.add_joints(&[pull::joint(first)])?;
        let alive = world.compiled().clone();
        world.remove_bodies(&ids)?;
        let recipe = StepRecipe::new(world.compiled().clone());
        if let Some((index, reason)) = recipe.unlisted_entry() {
            return unsupported(format!("timeline[{index}] {reason}"));
        }
        let pull = PullJoint::new(world.compiled(), &alive, joint[0].index as usize);
        let spares = (0..).zip(&shapes).map(|(index, &(kind, _))| {
            let start = first + index * SPARES;
            SpareBodies { kind, slots: start..start + SPARES }
        });
        let mut page = Self {
            title: scene.name.clone(),
            summary: String::new(),
            spec: String::new(),
            recipe,
            alive,
            pull,
            spares: spares.collect(),
            html: String::new(),
        };
        page.write()?;
        Ok(page)
    }

    /// Sets a sentence about the scene, and the spec or file by which `drystone view` shows it natively.
    ///
    /// # Errors
    /// If the data cannot be written.
    pub fn described(mut self, summary: &str, spec: &str) -> Result<Self, WebError> {
        (self.summary, self.spec) = (summary.to_owned(), spec.to_owned());
        self.write()?;
        Ok(self)
    }

    /// Returns the steps that the page runs. A world made from the tables of the recipe does what the page does.
    #[must_use]
    pub fn recipe(&self) -> &StepRecipe {
        &self.recipe
    }

    /// Returns the page.
    #[must_use]
    pub fn html(&self) -> &str {
        &self.html
    }

    fn write(&mut self) -> Result<(), WebError> {
        let data = data::data(self)?;
        let parts = [
            ("title", escaped(&self.title)),
            ("stamp", stamp()?),
            ("style", STYLE.to_owned()),
            ("data", data),
            ("runtime", RUNTIME.to_owned()),
        ];
        self.html = filled(FRAME, &parts);
        Ok(())
    }
}

/// Worlds of a page that measures, as specs of the catalogue: those of `drystone bench`, at growing sizes.
pub const BENCH_SCENES: [&str; 7] = [
    "large_pyramid:base=14",
    "large_pyramid:base=44",
    "large_pyramid:base=100",
    "large_pyramid:base=200",
    "many_pyramids:rows=1,columns=2",
    "many_pyramids:rows=4,columns=5",
    "many_pyramids:rows=10,columns=9",
];

/// Returns a page that measures these worlds, one after the other, and draws the time of a step against their size.
///
/// # Errors
/// If the data cannot be written.
pub fn bench_page(worlds: &[WebPage]) -> Result<String, WebError> {
    let mut data = String::new();
    for world in worlds {
        data += &format!("<script type=\"application/octet-stream\" class=\"data\">{}</script>\n", data::data(world)?);
    }
    let parts = [("stamp", stamp()?), ("data", data), ("runtime", RUNTIME.to_owned())];
    Ok(filled(BENCH_FRAME, &parts))
}

/// Returns the version and a hash of all kernels, shaders and the program of pages of this build. A page holds it in
/// its element `meta[name="drystone"]`.
///
/// # Errors
/// If a shader is not valid.
pub fn stamp() -> Result<String, WebError> {
    let mut hash = Fnv::START
        .bytes(RUNTIME.as_bytes())
        .bytes(STYLE.as_bytes())
        .bytes(FRAME.as_bytes())
        .bytes(BENCH_FRAME.as_bytes());
    for text in data::all_shaders()? {
        hash = hash.bytes(text.as_bytes());
    }
    Ok(format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), hash.0))
}

/// Returns the stamp of an exported page; `None` if it is none.
#[must_use]
pub fn stamp_of(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("<meta name=\"drystone\" content=\"")?;
    Some(rest.split_once('"')?.0)
}

/// Returns the content security policy under which a page works: its program and its style sheet by their hashes, and
/// nothing else. A page in a `blob:` URL is under the policy of the page that made it, which has to allow
/// [`policy_hashes`].
#[must_use]
pub fn content_security_policy() -> String {
    let [script, style] = policy_hashes();
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; form-action \
         'none'; frame-ancestors 'none'"
    )
}

/// Returns the hashes of the program and of the style sheet of pages, as a content security policy names them.
///
/// ```
/// let [script, style] = drystone_web::policy_hashes();
/// assert!(script.starts_with("'sha256-") && style != script);
/// ```
#[must_use]
pub fn policy_hashes() -> [String; 2] {
    // The frame has both on lines of their own.
    [RUNTIME, STYLE].map(|text| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(format!("\n{text}\n")))))
}

/// Returns a frame in which each name in double braces is replaced by its text.
fn filled(frame: &str, parts: &[(&str, String)]) -> String {
    let fill = |html: String, (name, text): &(&str, String)| html.replacen(&format!("{{{{{name}}}}}"), text, 1);
    parts.iter().fold(frame.to_owned(), fill)
}

/// Returns text as HTML, in which no brace begins the place of another part.
fn escaped(text: &str) -> String {
    let marks = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("{", "&#123;")];
    marks.iter().fold(text.to_owned(), |text, (mark, name)| text.replace(mark, name))
}

#[cfg(test)]
mod tests {
    use drystone::low_level::scene::{StartCondition, TimedAction, TimedCommand};

    use super::*;

    fn ball() -> Scene {
        let mut scene = Scene::new("a <ball>");
        scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
        scene
    }

    #[test]
    fn pages_are_whole() {
        let page = WebPage::new(&ball()).unwrap().described("falls", "ball.json").unwrap();
        let html = page.html();
        assert!(html.contains("<title>a &lt;ball&gt;"));
        for place in ["title", "stamp", "style", "data", "runtime"] {
            assert!(!html.contains(&format!("{{{{{place}}}}}")), "{place} is filled in");
        }
        assert!(!html.contains("http://") && !html.contains("https://"), "a page needs no network");
        assert_eq!(stamp_of(html), Some(&*stamp().unwrap()));
        assert_eq!(stamp_of("<html>"), None);
        // Spare slots are there, and vacant.
        assert_eq!(page.recipe().compiled().bodies.len(), 1 + 2 * SPARES);
        assert_eq!(page.alive.bodies[1].kind, drystone::low_level::types::DYNAMIC);
        assert_ne!(page.recipe().compiled().bodies[1].kind, drystone::low_level::types::DYNAMIC);
    }

    #[test]
    fn what_pages_cannot_do_is_refused() {
        let rain = drystone_scenes::catalogue::build("rain").unwrap();
        let error = WebPage::new(&rain).unwrap_err().to_string();
        assert!(error.contains("rain") && error.contains("emitters[0]"), "{error}");
        let mut scene = ball();
        let gravity = TimedCommand::at(1.0, TimedAction::Gravity([0.0, 1.0].into()));
        scene.timeline = vec![gravity, TimedCommand::at(2.0, TimedAction::Remove { bodies: vec![0], joints: vec![] })];
        let error = WebPage::new(&scene).unwrap_err().to_string();
        assert!(error.contains("timeline[1] removes bodies"), "{error}");
        scene.timeline.pop();
        assert!(WebPage::new(&scene).is_ok());
        scene.timeline[0].when = Some(StartCondition::Bodies(1));
        let error = WebPage::new(&scene).unwrap_err().to_string();
        assert!(error.contains("timeline[0] waits for a condition"), "{error}");
    }

    /// The largest standard pyramid of the demos, well below 6 MB.
    #[test]
    fn pages_are_small() {
        let scene = drystone_scenes::catalogue::build("large_pyramid:base=100").unwrap();
        let bytes = WebPage::new(&scene).unwrap().html().len();
        assert!((100_000..6_000_000).contains(&bytes), "{bytes} bytes");
    }
}
