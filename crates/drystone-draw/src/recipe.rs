//! Pictures as data, for programs that draw a world from its tables on a device of their own, without this library:
//! shaders after composition, pipelines with their bindings, and the uniform of camera and style. Made without a
//! device.
//!
//! A picture is drawn by the pens in the order of `PENS`, after the kernels of `cull.wgsl` (count, scan, emit) and of
//! `tint.wgsl` have run. The scale bar and the legend are left out: a page writes text by other means.
//!
//! ```
//! use drystone::low_level::scene::Compiled;
//! use drystone::{Body, Scene, Shape};
//! use drystone_draw::recipe::DrawRecipe;
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let recipe = DrawRecipe::new(&Compiled::new(&scene)?)?;
//! assert!(recipe.shaders["shapes"].contains("fn shape_vertex"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::mem::offset_of;

use drystone::low_level::gpu::kernel::{Binding, BindingKind, Reflection, reflect};
use drystone::low_level::gpu::shader::ShaderError;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::Params;

use super::programs::{
    BACKDROP, BOXES, CELLS, COMPOSER, CONTACTS, JOINTS, PULLS, PenSource, SHAPES, SLEEPING, TINTS, VELOCITIES, WEIGHTS,
};
use super::view::View;
use super::{Camera, DrawError, Layers, Scale, Style};

/// Pens, in drawing order.
const PENS: [PenSource; 10] = [BACKDROP, CELLS, SHAPES, BOXES, JOINTS, SLEEPING, CONTACTS, WEIGHTS, PULLS, VELOCITIES];
/// Kernels of `cull.wgsl`, in their order.
const CULLS: [&str; 4] = ["cull_count", "cull_scan", "cull_emit", "cull_contacts"];

/// A binding of a pen or of a kernel that draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawBinding {
    /// Index in group 0.
    pub index: u32,
    /// Name of the buffer: of a table, of a uniform of the solver, or of a frame.
    pub buffer: String,
    /// Address space and access.
    pub kind: BindingKind,
    /// Visible to the vertex shader.
    pub in_vertex: bool,
    /// Visible to the fragment shader.
    pub in_fragment: bool,
}

/// A render pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PenRecipe {
    /// Name.
    pub name: &'static str,
    /// Name of the module.
    pub shader: &'static str,
    /// Entry point of the vertex shader.
    pub vertex: String,
    /// Entry point of the fragment shader.
    pub fragment: String,
    /// Vertices are a strip of triangles, not a list.
    pub is_strip: bool,
    /// Blends with what is there by its alpha.
    pub blends: bool,
    /// Bindings of group 0.
    pub bindings: Vec<DrawBinding>,
}

/// A compute pipeline that prepares a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawKernelRecipe {
    /// Entry point.
    pub name: &'static str,
    /// Name of the module.
    pub shader: &'static str,
    /// Threads per workgroup.
    pub lanes: u32,
    /// Bindings of group 0.
    pub bindings: Vec<DrawBinding>,
}

/// Pictures of a world as data.
#[derive(Clone, Debug)]
pub struct DrawRecipe {
    /// Pens, in drawing order.
    pub pens: Vec<PenRecipe>,
    /// Kernels.
    pub kernels: Vec<DrawKernelRecipe>,
    /// WGSL of each module.
    pub shaders: BTreeMap<&'static str, String>,
    /// Uniform in the light and in the dark style, at one pixel per metre.
    pub views: [Vec<u8>; 2],
    /// Strength of the grid lines in the two styles.
    pub grid_strength: [f32; 2],
    /// Byte offsets of the fields of the uniform that depend on camera and layers.
    pub offsets: BTreeMap<&'static str, usize>,
    /// Typical length, m, impulse, N·s, weight, N, and speed, m/s, of a body, as [`Scale`].
    pub scale: [f32; 4],
    /// Scale of the colours of [`Coloring::Speed`](super::Coloring::Speed): minimum as a power of two, and share of the
    /// scale per factor of two.
    pub speed_scale: [f32; 2],
}

impl DrawRecipe {
    /// Makes the recipe for a world.
    ///
    /// # Errors
    /// If a shader is not valid.
    pub fn new(compiled: &Compiled) -> Result<Self, DrawError> {
        let mut modules = Modules::default();
        let mut pens = Vec::new();
        for PenSource { name, shader, fragment, is_strip, blends } in PENS {
            let (vertex, fragment) = (format!("{name}_vertex"), format!("{fragment}_fragment"));
            let above = modules.point(shader, &vertex)?.bindings;
            let below = modules.point(shader, &fragment)?.bindings;
            let mut all = above.clone();
            all.extend(below.iter().filter(|&binding| !above.contains(binding)).cloned());
            let binding = |binding: &Binding| DrawBinding {
                in_vertex: above.contains(binding),
                in_fragment: below.contains(binding),
                ..draw_binding(binding)
            };
            let bindings = all.iter().map(binding).collect();
            pens.push(PenRecipe { name, shader, vertex, fragment, is_strip, blends, bindings });
        }
        let mut kernels = Vec::new();
        for (shader, names) in [("cull", &CULLS[..]), ("tint", &TINTS[..])] {
            for &name in names {
                let point = modules.point(shader, name)?;
                let bindings = point.bindings.iter().map(draw_binding).collect();
                kernels.push(DrawKernelRecipe { name, shader, lanes: point.workgroup_size, bindings });
            }
        }
        let Params { shape_count, body_count, joint_count, .. } = compiled.params;
        let scale = Scale::of(compiled);
        let camera = Camera { metres_per_pixel: 1.0, ..Camera::default() };
        let speeds = Layers { coloring: super::Coloring::Speed, ..Layers::default() };
        let view = |style: &Style, layers: &Layers| {
            let mut view = View::new(&camera, &Style { scale_bar: false, ..*style }, shape_count, body_count)?;
            view.put_layers(layers, Some(scale));
            (view.ramp_bodies, view.joint_count) = (compiled.scene_slots, joint_count);
            view.block_count = super::frame::cull_blocks(shape_count);
            Ok::<_, DrawError>(view)
        };
        let bytes = |style: &Style| Ok::<_, DrawError>(bytemuck::bytes_of(&view(style, &Layers::default())?).to_vec());
        let colored = view(&Style::light(), &speeds)?;
        Ok(Self {
            pens,
            kernels,
            shaders: modules.texts,
            views: [bytes(&Style::light())?, bytes(&Style::dark())?],
            grid_strength: [Style::light().grid_strength, Style::dark().grid_strength],
            offsets: offsets(),
            scale: [scale.length, scale.impulse, scale.weight, scale.speed],
            speed_scale: [colored.scale_low, colored.scale_per_octave],
        })
    }
}

/// Shaders that were composed, with their entry points.
#[derive(Default)]
struct Modules {
    points: BTreeMap<&'static str, Vec<(String, Reflection)>>,
    texts: BTreeMap<&'static str, String>,
}

impl Modules {
    fn point(&mut self, shader: &'static str, name: &str) -> Result<Reflection, DrawError> {
        let failed = |error: ShaderError| DrawError::Device(error.to_string());
        if !self.points.contains_key(shader) {
            let composed = COMPOSER.compose(&format!("draw/{shader}")).map_err(failed)?;
            self.points.insert(shader, reflect(&composed).map_err(failed)?);
            self.texts.insert(shader, composed.text().to_owned());
        }
        let found = self.points[shader].iter().find(|(point, _)| point == name);
        found.map(|(_, point)| point.clone()).ok_or_else(|| DrawError::Device(format!("no entry point {name}")))
    }
}

fn draw_binding(binding: &Binding) -> DrawBinding {
    DrawBinding {
        index: binding.index,
        buffer: binding.name.clone(),
        kind: binding.kind,
        in_vertex: false,
        in_fragment: false,
    }
}

fn offsets() -> BTreeMap<&'static str, usize> {
    macro_rules! offsets {
        ($($field:ident),+ $(,)?) => { [$((stringify!($field), offset_of!(View, $field))),+].into() };
    }
    offsets![
        center,
        pixels_per_metre,
        outline,
        size,
        shape_count,
        body_count,
        linear_target,
        grid_steps,
        grid_strength,
        fill_opacity,
        highlight,
        tinted,
        dim,
        unit,
        length,
        arrow,
        contact_parts,
        scale_low,
        scale_per_octave,
        velocity_arrow,
        force_arrow,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::{Body, Scene, Shape};

    /// A recipe has all shaders that its pipelines name, and the styles differ in their colours alone.
    #[test]
    fn recipes_are_whole() {
        let mut scene = Scene::new("ball");
        scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
        let recipe = DrawRecipe::new(&Compiled::new(&scene).unwrap()).unwrap();
        for pen in &recipe.pens {
            let text = &recipe.shaders[pen.shader];
            assert!(text.contains(&format!("fn {}(", pen.vertex)) && text.contains(&format!("fn {}(", pen.fragment)));
            assert!(pen.bindings.iter().all(|binding| binding.in_vertex || binding.in_fragment), "{}", pen.name);
        }
        assert!(recipe.kernels.iter().all(|kernel| recipe.shaders[kernel.shader].contains(kernel.name)));
        let [light, dark] = &recipe.views;
        let colors = offset_of!(View, background)..offset_of!(View, grid_steps);
        assert_ne!(light[colors.clone()], dark[colors.clone()]);
        assert_eq!(light[..colors.start], dark[..colors.start]);
        assert_eq!(recipe.offsets["shape_count"], offset_of!(View, shape_count));
    }
}
