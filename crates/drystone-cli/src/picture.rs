//! Pictures of a world, for `--picture` and `--movie`. Bodies and joints are drawn by the software rasteriser,
//! identically for every backend and without a GPU. Additional layers are drawn from the solver's tables, on the
//! world's own adapter or, for the CPU backend, on any available adapter.

use clap::Args;
use clap::builder::PossibleValuesParser;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::Pose;
use drystone::{AdapterChoice, Context, Scene, Snapshot, ViewBox, World};
use drystone_draw::{
    Camera, Coloring, DrawError, DrawInputs, Framing, Image, Layers, Offscreen, Style, Upload, raster,
};

use super::failure::{Code, Failure};
use super::number::arrow_scale;
use super::output::Destination;

/// Values of [`PictureStyle::layers`]. Shapes and outlines are always drawn, except with `wires`. Three layers have a
/// plain name and the solver's name: search_cells is grid, boxes is aabbs, contact_lines is constraints.
const LAYERS: [&str; 15] = [
    "grid",
    "search_cells",
    "wires",
    "sleep",
    "boxes",
    "aabbs",
    "contact_lines",
    "constraints",
    "joints",
    "contacts",
    "normals",
    "impulses",
    "friction",
    "forces",
    "velocities",
];
/// Values of [`PictureStyle::coloring`]. Differences are missing, as they need a second world.
const COLORINGS: [&str; 5] = ["body", "speed", "graph_color", "sleep", "island"];

/// Appearance of picture and movie.
#[derive(Args, Clone, Debug)]
pub struct PictureStyle {
    /// Draw picture and movie in dark colours
    #[arg(long)]
    dark: bool,
    /// Additional layers of picture and movie; needs a graphics adapter (a software adapter will do)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(LAYERS))]
    layers: Vec<String>,
    /// Colour the bodies by a quantity; needs a graphics adapter, too
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(COLORINGS))]
    coloring: Option<String>,
    /// Factor on the length of arrows in --layers, 0.1 to 10, as in the window [default: 1]
    #[arg(long, value_name = "FACTOR", requires = "layers", allow_negative_numbers = true, value_parser = arrow_scale)]
    arrows: Option<f32>,
    /// Omit joints from picture and movie
    #[arg(long)]
    no_joints: bool,
    /// Visible rectangle: left, bottom, right and top in metres [default: the scene's view, or its bodies]
    #[arg(long, value_name = "X0,Y0,X1,Y1", allow_hyphen_values = true, value_parser = view)]
    view: Option<ViewBox>,
}

fn view(text: &str) -> Result<ViewBox, String> {
    let wrong = || "expected LEFT,BOTTOM,RIGHT,TOP in metres, such as -10,0,10,8".to_owned();
    let numbers: Vec<f32> = text.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>().ok_or_else(wrong)?;
    let &[left, bottom, right, top] = &numbers[..] else { return Err(wrong()) };
    let scene = Scene::new("").view([left, bottom], [right, top]);
    scene.check().map_err(|error| format!("{} {}; expected {}", error.path, error.problem, error.expected))?;
    scene.view.ok_or_else(wrong)
}

impl PictureStyle {
    /// Returns true if an option was given that only pictures use.
    pub fn is_chosen(&self) -> bool {
        self.dark || !self.layers.is_empty() || self.coloring.is_some() || self.no_joints || self.view.is_some()
    }

    /// Frames a world at its start for pictures of a size in pixels: by `--view`, else by the scene's view, else by its
    /// bodies.
    pub fn framing(&self, compiled: &Compiled, poses: &[Pose], (width, height): (u32, u32)) -> Framing {
        let size = [width, height];
        self.view.map_or_else(|| Framing::new(compiled, poses, size), |view| Framing::of_view(view.into(), size))
    }

    /// Returns the layers to draw on an adapter; `None` if the rasteriser can draw everything.
    fn layers(&self) -> Option<Layers> {
        let plain = Layers { joints: !self.no_joints, ..Layers::default() };
        let mut layers = Layers { arrow_scale: self.arrows.unwrap_or(plain.arrow_scale), ..plain };
        for name in &self.layers {
            if name == "wires" {
                layers.shapes = false;
            } else if let Some(switch) = layers.switch(name) {
                *switch = true;
            }
        }
        let named = self.coloring.as_deref();
        layers.coloring = Coloring::ALL.into_iter().find(|it| Some(it.name()) == named).unwrap_or_default();
        (layers != plain).then_some(layers)
    }
}

/// Draws one world repeatedly.
pub struct Artist {
    style: Style,
    joints: bool,
    layered: Option<Layered>,
}

/// Drawing with layers, on an adapter.
struct Layered {
    layers: Layers,
    offscreen: Offscreen,
    /// Tables uploaded from the CPU backend.
    upload: Option<Upload>,
}

impl Artist {
    /// Creates an artist for a world.
    ///
    /// # Errors
    /// If layers are requested and there is no adapter.
    pub fn new(look: &PictureStyle, world: &World) -> Result<Self, Failure> {
        let style = if look.dark { Style::dark() } else { Style::light() };
        let layered = look.layers().map(|layers| Layered::new(layers, world)).transpose()?;
        Ok(Self { style, joints: !look.no_joints, layered })
    }

    /// Draws the current state of a world, which `snapshot` contains.
    ///
    /// # Errors
    /// If nothing finite is visible, or the adapter fails.
    pub fn draw(&mut self, world: &World, snapshot: &Snapshot, camera: &Camera) -> Result<Image, Failure> {
        let image = match &mut self.layered {
            Some(layered) => layered.draw(world, camera, &self.style),
            None => raster::picture_of_world(world.compiled(), snapshot, self.joints, camera, &self.style),
        };
        image.map_err(|error| Failure::new(Code::Check, error))
    }

    /// Draws a world into a PNG file.
    ///
    /// # Errors
    /// Those of [`Self::draw`], and of writing the file.
    pub fn write(
        &mut self,
        destination: &mut Destination,
        world: &World,
        snapshot: &Snapshot,
        camera: &Camera,
    ) -> Result<(), Failure> {
        let image = self.draw(world, snapshot, camera)?;
        let png = image.to_png().map_err(|error| Failure::write(&destination.shown, &error))?;
        destination.fill(&png)
    }
}

impl Layered {
    fn new(layers: Layers, world: &World) -> Result<Self, Failure> {
        let context = match world {
            World::Gpu(world) => world.context().clone(),
            World::Cpu(_) => Context::new(AdapterChoice::Any).map_err(|error| {
                Failure::new(Code::NoGpu, format_args!("--layers and --coloring draw on a graphics adapter: {error}"))
                    .hint("pictures without these options need no adapter")
            })?,
        };
        let (device, queue) = (context.device(), context.queue());
        let offscreen = Offscreen::new(device, queue).map_err(|error| Failure::new(Code::NoGpu, error))?;
        let upload = matches!(world, World::Cpu(_)).then(|| Upload::new(device, queue));
        Ok(Self { layers, offscreen, upload })
    }

    fn draw(&mut self, world: &World, camera: &Camera, style: &Style) -> Result<Image, DrawError> {
        let Self { layers, offscreen, upload } = self;
        match (world, upload) {
            (World::Cpu(world), Some(upload)) => {
                upload.refresh(world, true)?;
                offscreen.layered_picture(&upload.inputs(), camera, style, layers)
            }
            (World::Gpu(world), _) => offscreen.layered_picture(&DrawInputs::of(world), camera, style, layers),
            // The backend of a world never changes.
            (World::Cpu(_), None) => Err(DrawError::Device("nothing was uploaded".to_owned())),
        }
    }
}
