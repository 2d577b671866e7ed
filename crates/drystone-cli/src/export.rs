//! `drystone export`: writes scenes as web pages that run on the visitor's GPU.

use std::fs;
use std::path::{Path, PathBuf};

use drystone_scenes::catalogue;
use drystone_web::gallery::{self, GalleryEntry};
use drystone_web::{BENCH_SCENES, WebError, WebPage, bench_page, stamp, stamp_of};

use super::console;
use super::failure::{Code, Failure, reason};
use super::output::{self, Destination};
use super::source;

/// Size of the pictures of a gallery, px.
const PICTURE_SIZE: [u32; 2] = [480, 300];

/// Write a scene as a web page that runs on the visitor's GPU: one file, no network
///
/// Timed commands of the scene act as in the library. Emitters, timed commands that wait for a condition, and those
/// that remove bodies or joints are refused.
#[derive(clap::Args, Debug)]
pub struct ExportOptions {
    /// A scene file (JSON or RON), - for standard input, or a built-in scene such as large_pyramid:base=50
    #[arg(value_name = "SCENE", required_unless_present_any = ["gallery", "check", "bench"])]
    scene: Option<String>,
    /// Page to write (.html)
    #[arg(long, value_name = "FILE", required_unless_present_any = ["gallery", "check", "bench"])]
    web: Option<PathBuf>,
    /// Write pages of twelve built-in scenes, with pictures and an index, into this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scene", "web", "check", "bench"])]
    gallery: Option<PathBuf>,
    /// Write a page that measures scenes of `drystone bench` at growing sizes, beside the model of the visitor's
    /// device; its results are for `drystone bench --from` (.html)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scene", "web", "check"])]
    bench: Option<PathBuf>,
    /// Check that a page has the kernels and the program of this version; exit code 1 if not
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scene", "web"])]
    check: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A scene that is unknown, not valid or that a page cannot run; a file that cannot be written; an outdated page.
pub fn run(options: &ExportOptions) -> Result<(), Failure> {
    match options {
        ExportOptions { check: Some(page), .. } => check(page),
        ExportOptions { gallery: Some(folder), .. } => write_gallery(folder),
        ExportOptions { bench: Some(path), .. } => write_bench(path),
        ExportOptions { scene: Some(scene), web: Some(path), .. } => write(scene, path),
        // Refused by the parser.
        _ => Ok(()),
    }
}

fn write(spec: &str, path: &Path) -> Result<(), Failure> {
    let mut destination = Destination::open("--web", path, &["html"])?;
    let page = page_of(spec)?;
    destination.fill(page.html().as_bytes())?;
    let files = output::publish(vec![destination])?;
    let kilobytes = page.html().len().div_ceil(1000);
    console::print(&format!("wrote {} ({kilobytes} kB): open it in a browser with WebGPU\n", files.join(", ")))
}

/// Exports a scene.
fn page_of(spec: &str) -> Result<WebPage, Failure> {
    let scene = source::load(spec)?.scene;
    let failed = |error: WebError| Failure::usage(error);
    let page = WebPage::new(&scene).map_err(failed)?;
    page.described(summary(spec), spec).map_err(failed)
}

/// Returns the sentence about a built-in scene; empty for others.
fn summary(spec: &str) -> &'static str {
    catalogue::find(spec.split(':').next().unwrap_or(spec)).map_or("", |entry| entry.summary)
}

fn write_gallery(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::write(folder.display(), &error))?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| Failure::write(path.display(), &error))
    };
    let mut entries = Vec::new();
    for spec in gallery::SCENES {
        let title = spec.split(':').next().unwrap_or(spec);
        let page = page_of(spec)?;
        let (name, picture) = (format!("{title}.html"), format!("{title}.png"));
        write(&name, page.html().as_bytes())?;
        let scene = source::load(spec)?.scene;
        let pictures = drystone_draw::thumbnail(&scene, PICTURE_SIZE, &|| false);
        let [light, _] = pictures.ok_or_else(|| Failure::new(Code::Check, format_args!("{spec}: cannot be drawn")))?;
        let png = light.to_png().map_err(|error| Failure::write(&picture, &error))?;
        write(&picture, &png)?;
        entries.push(GalleryEntry { title: title.to_owned(), summary: summary(spec).to_owned(), page: name, picture });
    }
    write("index.html", gallery::index(&entries).as_bytes())?;
    console::print(&format!("wrote {} pages and {}\n", entries.len(), folder.join("index.html").display()))
}

fn write_bench(path: &Path) -> Result<(), Failure> {
    let mut destination = Destination::open("--bench", path, &["html"])?;
    let worlds = BENCH_SCENES.iter().map(|spec| page_of(spec)).collect::<Result<Vec<_>, _>>()?;
    let html = bench_page(&worlds).map_err(Failure::usage)?;
    destination.fill(html.as_bytes())?;
    let files = output::publish(vec![destination])?;
    console::print(&format!("wrote {} ({} kB)\n", files.join(", "), html.len().div_ceil(1000)))
}

fn check(path: &Path) -> Result<(), Failure> {
    let refuse = |why: &str| Failure::usage(format_args!("{}: {why}", path.display()));
    let html = fs::read_to_string(path).map_err(|error| refuse(&reason(&error)))?;
    let found = stamp_of(&html).ok_or_else(|| refuse("is not a page that `drystone export` has written"))?;
    let now = stamp().map_err(|error| Failure::new(Code::Check, error))?;
    if found != now {
        let message = format_args!("{}: is of version {found}, this one is {now}", path.display());
        return Err(Failure::new(Code::Check, message).hint("export the page again"));
    }
    console::print(&format!("{}: is of this version\n", path.display()))
}
