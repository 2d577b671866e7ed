//! The data of a page: a JSON text and the first contents of the tables, compressed.

use std::collections::BTreeMap;
use std::io::Write;
use std::mem::{offset_of, size_of};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use drystone::low_level::gpu::kernel::BindingKind;
use drystone::low_level::gpu::recipe::{RecipeContents, RecipeKernel, RecipeKernels, RecipeLine, StepRecipe};
use drystone::low_level::gpu::shader::{Composer, SHADERS};
use drystone::low_level::gpu::{StageWork, ThreadCount, ThreadUnit};
use drystone::low_level::step::Stage;
use drystone::low_level::types::{self, BodyData, BodyState, Counters, Pose, ShapeData};
use drystone_draw::Framing;
use drystone_draw::recipe::{DrawBinding, DrawRecipe};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};

use super::traffic::{self, RowCounts};
use super::{WebError, WebPage};

/// Steps for which the motion of bodies on paths is given: ten minutes at the usual 60 a second.
const PATH_STEPS: u64 = 36_000;
/// Largest size of the motion of all bodies on paths, and of the timeline, in commands.
const MAX_PATH_COMMANDS: u64 = 100_000;
/// Sizes of the pictures by which the first view is chosen on a wide and on a tall screen, px.
const VIEWS_AT_START: [[u32; 2]; 2] = [[1280, 600], [450, 600]];

/// Returns the texts of all modules that pages can contain.
pub(crate) fn all_shaders() -> Result<Vec<String>, WebError> {
    let mut all = Vec::new();
    for shader in SHADERS {
        all.push(
            Composer::SOLVER
                .compose(shader.name)
                .map_err(drystone::low_level::gpu::kernel::KernelError::from)?
                .text()
                .to_owned(),
        );
    }
    let empty = drystone::Scene::new("");
    let compiled = drystone::low_level::scene::Compiled::new(&empty).map_err(drystone::WorldError::from)?;
    all.extend(DrawRecipe::new(&compiled)?.shaders.into_values());
    Ok(all)
}

/// Binary part of the data.
#[derive(Default)]
pub(crate) struct Blob(Vec<u8>);

impl Blob {
    /// Appends bytes; returns their start and length.
    pub fn push(&mut self, bytes: &[u8]) -> Value {
        let start = self.0.len();
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        json!([start, bytes.len()])
    }
}

/// Returns the data of a page as text.
pub(crate) fn data(page: &WebPage) -> Result<String, WebError> {
    let (recipe, compiled) = (page.recipe(), page.recipe().compiled());
    let mut blob = Blob::default();
    let (kernels, mut texts) = kernels(page)?;
    let draw = DrawRecipe::new(compiled)?;
    texts.extend(draw.shaders.iter().map(|(name, text)| (format!("draw/{name}"), text.clone())));

    let contents = |RecipeContents { table, offset, bytes }: &RecipeContents, blob: &mut Blob| json!({ "table": table, "offset": offset, "bytes": blob.push(bytes) });
    let contents: Vec<Value> = recipe.contents().iter().map(|part| contents(part, &mut blob)).collect();
    let uniforms: serde_json::Map<String, Value> =
        recipe.uniforms().into_iter().map(|(name, bytes)| (name.to_owned(), blob.push(&bytes))).collect();
    let tables: Vec<Value> = recipe
        .tables()
        .iter()
        .map(|table| {
            let per = table.per.map(|per| format!("{per:?}"));
            json!({ "name": table.name, "row": table.row, "rows": table.rows, "per": per, "kept": table.is_kept })
        })
        .collect();
    let paths = (compiled.paths.len() as u64).max(1);
    let steps = if compiled.paths.is_empty() { 0 } else { PATH_STEPS.min(MAX_PATH_COMMANDS / paths) };
    let commands: Vec<_> = (0..steps).flat_map(|step| recipe.path_commands(step)).collect();
    let timed = recipe.timed_commands(PATH_STEPS, usize::try_from(MAX_PATH_COMMANDS).unwrap_or(usize::MAX));
    let timed = timed.into_iter().map(|timed| {
        json!({ "step": timed.step, "gravity": timed.gravity, "bytes": blob.push(bytemuck::cast_slice(&timed.commands)) })
    });
    let timed: Vec<Value> = timed.collect();
    let cameras: Vec<Value> = VIEWS_AT_START
        .iter()
        .map(|&size| {
            let camera = Framing::new(compiled, &compiled.poses, size).camera();
            let [width, height] = camera.seen().size().to_array();
            json!({ "center": camera.center.to_array(), "width": width, "height": height })
        })
        .collect();
    let spares: Vec<Value> = page.spares.iter().map(|spares| spare(page, spares, &mut blob)).collect();
    let json = json!({
        "format": 1,
        "title": page.title, "summary": page.summary,
        "command": if page.spec.is_empty() { String::new() } else { format!("drystone view {}", page.spec) },
        "dt": compiled.params.dt, "sleeps": compiled.settings.sleep, "gravity": compiled.params.gravity,
        "bodies": page.spares.first().map_or(compiled.bodies.len(), |spares| spares.slots.start),
        "shapes": compiled.shapes.len(),
        "rules": { "hardware": recipe.rules(false), "software": recipe.rules(true) }, "contact_capacity": recipe.contact_capacity(),
        "fused": recipe.fused().iter().map(|&(_, name)| name).collect::<Vec<_>>(),
        "tables": tables, "uniforms": uniforms, "contents": contents, "kernels": kernels, "lines": lines(recipe),
        "joints": compiled.joints.count(), "pull": page.pull.json(&mut blob),
        "counters": counters(), "kinds": kinds(), "rows": rows(),
        "paths": { "count": compiled.paths.len(), "steps": steps, "bytes": blob.push(bytemuck::cast_slice(&commands)) },
        "spares": spares, "timed": timed,
        "bench": bench(page), "model": model(recipe),
        "draw": {
            "pens": draw.pens.iter().map(|pen| json!({
                "name": pen.name, "shader": format!("draw/{}", pen.shader), "vertex": pen.vertex,
                "fragment": pen.fragment, "strip": pen.is_strip, "blend": pen.blends,
                "bindings": pen.bindings.iter().map(draw_binding).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "kernels": draw.kernels.iter().map(|kernel| json!({
                "name": kernel.name, "shader": format!("draw/{}", kernel.shader), "lanes": kernel.lanes,
                "bindings": kernel.bindings.iter().map(draw_binding).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "views": draw.views.iter().map(|view| blob.push(view)).collect::<Vec<_>>(),
            "grid_strength": draw.grid_strength, "offsets": draw.offsets, "scale": draw.scale,
            "speed_scale": draw.speed_scale,
            "cameras": cameras,
        },
        "shaders": texts,
    });
    let json = serde_json::to_vec(&json)?;
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&length.to_le_bytes())?;
    encoder.write_all(&json)?;
    encoder.write_all(&vec![0; (4 + json.len()).next_multiple_of(4) - 4 - json.len()])?;
    encoder.write_all(&blob.0)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// Returns the kernels of all steps, and the texts of their modules.
fn kernels(page: &WebPage) -> Result<(Vec<Value>, BTreeMap<String, String>), WebError> {
    let RecipeKernels { mut kernels, mut shaders } = page.recipe().kernels()?;
    let pulling = page.pull.recipe.kernels()?;
    let more = pulling.kernels.into_iter().filter(|kernel| kernels.iter().all(|other| other.name != kernel.name));
    kernels.extend(more.collect::<Vec<_>>());
    shaders.extend(pulling.shaders);
    let kernel = |kernel: &RecipeKernel| {
        let bindings = kernel.bindings.iter();
        let bindings = bindings.map(|one| json!([one.index, kind(one.kind), one.buffers[0], one.buffers[1]]));
        json!({
            "name": kernel.name, "entry": kernel.entry, "shader": kernel.shader, "lanes": kernel.lanes,
            "sweep": kernel.uses_sweep, "bindings": bindings.collect::<Vec<_>>(),
        })
    };
    let texts = shaders.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
    Ok((kernels.iter().map(kernel).collect(), texts))
}

/// Returns the lines of the plan of a step.
pub(crate) fn lines(recipe: &StepRecipe) -> Vec<Value> {
    let line = |line: &RecipeLine| {
        let works: Vec<Value> = line.works.iter().map(work).collect();
        json!({ "stage": line.stage.stage.name(), "fused": line.is_fused, "works": works })
    };
    recipe.lines().iter().map(line).collect()
}

/// Returns the fields of a row of `drystone bench` that the page does not know otherwise.
fn bench(page: &WebPage) -> Value {
    let compiled = page.recipe().compiled();
    let spares = page.spares.iter().map(|spares| spares.slots.len()).sum::<usize>();
    let dynamic = compiled.bodies.iter().filter(|body| body.kind == types::DYNAMIC).count();
    json!({
        "scene": if page.spec.is_empty() { &page.title } else { &page.spec },
        "dynamic": dynamic, "shapes": compiled.shapes.len() - spares,
        "version": env!("CARGO_PKG_VERSION"), "substeps": compiled.settings.substep_count(),
        "mode": format!("{:?}", compiled.settings.mode).to_lowercase(),
    })
}

/// Returns the model of a step's time as far as it does not depend on the device: bytes that each stage moves, fixed,
/// per pair and per constraint, and the kernels by which the page measures the device.
fn model(recipe: &StepRecipe) -> Value {
    let plan: Vec<_> = recipe.lines().iter().map(|line| line.stage).collect();
    let moved = |pairs, constraints| traffic::bytes(&plan, &RowCounts::of(recipe.compiled(), pairs, constraints));
    let of = |list: &[(Stage, u64)], stage| list.iter().find(|(name, _)| *name == stage).map_or(0, |&(_, bytes)| bytes);
    let [fixed, pair, constraint] = [moved(0, 0), moved(1, 0), moved(0, 1)];
    let stages = moved(1, 1).into_iter().map(|(stage, _)| {
        let base = of(&fixed, stage);
        json!([stage.name(), base, of(&pair, stage) - base, of(&constraint, stage) - base])
    });
    json!({ "stages": stages.collect::<Vec<_>>(), "kernels": traffic::SPEED_KERNELS })
}

fn kind(kind: BindingKind) -> &'static str {
    match kind {
        BindingKind::Uniform => "uniform",
        BindingKind::Read => "read-only-storage",
        BindingKind::ReadWrite => "storage",
    }
}

fn draw_binding(binding: &DrawBinding) -> Value {
    json!([binding.index, kind(binding.kind), binding.buffer, binding.in_vertex, binding.in_fragment])
}

fn work(work: &StageWork) -> Value {
    let threads = |&ThreadCount { least, per }: &ThreadCount| {
        let per = match per {
            ThreadUnit::Nothing => "nothing",
            ThreadUnit::Contact => "contact",
            ThreadUnit::BlockContact => "block_contact",
            ThreadUnit::BlockColor => "block_color",
        };
        json!([least, per])
    };
    match work {
        StageWork::Kernel { name, threads: count, sweep } => {
            let sweep = sweep.map(|sweep| [sweep.first_color, sweep.end_color, sweep.flags, sweep.round]);
            json!({ "kernel": name, "threads": threads(count), "sweep": sweep })
        }
        StageWork::Scan { list, length } => json!({ "scan": list, "threads": threads(length) }),
        StageWork::ColorRounds => json!({ "rounds": true }),
        // Sweeps over joints were resolved.
        StageWork::ContactSweep { wide, tail, flags } | StageWork::JointSweep { wide, tail, flags } => {
            json!({ "wide": wide, "tail": tail, "flags": flags })
        }
    }
}

/// Returns the rows of a spare body while it is alive, without those that are the same for all bodies.
fn spare(page: &WebPage, spares: &super::SpareBodies, blob: &mut Blob) -> Value {
    let alive = &page.alive;
    let first = spares.slots.start;
    let shape_of = |body: usize| alive.shapes.iter().position(|shape| shape.body as usize == body).unwrap_or(0);
    let shapes: Vec<usize> = spares.slots.clone().map(shape_of).collect();
    let shape = shapes.first().copied().unwrap_or(0);
    json!({
        "kind": spares.kind, "first": first, "count": spares.slots.len(), "shapes": shapes,
        "body": blob.push(bytemuck::bytes_of(&alive.bodies[first])),
        "pose": blob.push(bytemuck::bytes_of(&alive.poses[first])),
        "state": blob.push(bytemuck::bytes_of(&alive.states[first])),
        "shape": blob.push(bytemuck::bytes_of(&alive.shapes[shape])),
        "ccd": shapes.iter().map(|&shape| blob.push(bytemuck::bytes_of(&alive.ccd_bodies[shape]))).collect::<Vec<_>>(),
    })
}

/// Returns the words of the counters, by name.
fn counters() -> Value {
    macro_rules! words {
        ($($field:ident),+ $(,)?) => { json!({ $(stringify!($field): offset_of!(Counters, $field) / 4),+ }) };
    }
    let mut words = words![
        pairs_found,
        contacts,
        touching,
        recycled,
        overflow_bits,
        quarantined,
        uncolored,
        rounds,
        color_starts,
        continuous,
        awake,
        was_awake,
        sleeping_contacts,
        slept,
        woken,
    ];
    words["size"] = json!(size_of::<Counters>());
    words["overflow_contacts"] = json!(types::OVERFLOW_CONTACTS);
    words
}

/// Returns the numbers of the kinds of commands.
fn kinds() -> Value {
    json!({
        "impulse": types::COMMAND_IMPULSE, "angular_impulse": types::COMMAND_ANGULAR_IMPULSE,
        "force": types::COMMAND_FORCE, "torque": types::COMMAND_TORQUE, "velocity": types::COMMAND_VELOCITY,
        "angular_velocity": types::COMMAND_ANGULAR_VELOCITY, "teleport": types::COMMAND_TELEPORT,
        "target": types::COMMAND_TARGET, "wake": types::COMMAND_WAKE, "wake_all": types::COMMAND_WAKE_ALL,
    })
}

/// Returns sizes of rows, words in them and bits that the page reads.
fn rows() -> Value {
    json!({
        "body": size_of::<BodyData>(), "body_kind": offset_of!(BodyData, kind) / 4,
        "inv_mass": offset_of!(BodyData, inv_mass) / 4,
        "pose": size_of::<Pose>(), "state": size_of::<BodyState>(), "velocity": offset_of!(BodyState, velocity) / 4,
        "shape": size_of::<ShapeData>(), "half": offset_of!(ShapeData, half) / 4,
        "radius": offset_of!(ShapeData, radius) / 4, "shape_kind": offset_of!(ShapeData, kind) / 4,
        "offset": offset_of!(ShapeData, offset) / 4, "rotation": offset_of!(ShapeData, rotation) / 4,
        "shape_body": offset_of!(ShapeData, body) / 4, "bound": offset_of!(ShapeData, bound) / 4,
        "first_vertex": offset_of!(ShapeData, first_vertex) / 4,
        "command": size_of::<types::CommandData>(), "first_joint_command": types::COMMAND_JOINT_GOAL,
        "dynamic": types::DYNAMIC, "circle": types::CIRCLE, "box": types::BOX, "polygon": types::POLYGON,
        "geometry_mask": types::GEOMETRY_MASK, "vertex_count_shift": types::VERTEX_COUNT_SHIFT,
    })
}
