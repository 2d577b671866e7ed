//! Drawings of a world. Plain ones by the rasteriser, the same from every backend and without a GPU; those with layers
//! straight from the tables of the solver, on the world's own adapter or, for the CPU backend, on any there is.

use clap::Args;
use clap::builder::PossibleValuesParser;
use drystone::draw::{Camera, Coloring, DrawError, Image, Layers, Offscreen, Style, Upload, raster};
use drystone::scene::Compiled;
use drystone::{AdapterChoice, Context, Snapshot, World};

use super::failure::{Code, Failure};
use super::output::Destination;

/// What [`Look::layers`] can name: shapes and outlines are always drawn, but for wires.
const LAYERS: [&str; 10] =
    ["grid", "wires", "sleep", "aabbs", "constraints", "joints", "contacts", "normals", "impulses", "friction"];
/// What [`Look::coloring`] can name. A difference needs a second world.
const COLORINGS: [&str; 5] = ["body", "speed", "graph_color", "sleep", "island"];

/// How picture and movie look.
#[derive(Args, Clone, Debug)]
pub struct Look {
    /// Draw picture and movie in dark colours
    #[arg(long)]
    dark: bool,
    /// Draw more than bodies into picture and movie; needs a graphics adapter, of which a software one will do
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(LAYERS))]
    layers: Vec<String>,
    /// Colour the bodies of picture and movie by what they do; needs a graphics adapter too
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(COLORINGS))]
    coloring: Option<String>,
}

impl Look {
    /// Whether something is said that only pictures show.
    pub fn is_chosen(&self) -> bool {
        self.dark || !self.layers.is_empty() || self.coloring.is_some()
    }

    /// `None` if the rasteriser draws all of it.
    fn layers(&self) -> Option<Layers> {
        let mut layers = Layers::default();
        for name in &self.layers {
            if name == "wires" {
                layers.shapes = false;
            } else if let Some(switch) = layers.switch(name) {
                *switch = true;
            }
        }
        let named = self.coloring.as_deref();
        layers.coloring = Coloring::ALL.into_iter().find(|it| Some(it.name()) == named).unwrap_or_default();
        (layers != Layers::default()).then_some(layers)
    }
}

/// Draws a world again and again.
pub struct Artist {
    style: Style,
    layered: Option<Layered>,
}

struct Layered {
    layers: Layers,
    offscreen: Offscreen,
    /// Of the CPU backend.
    upload: Option<Upload>,
}

impl Artist {
    /// For a world.
    ///
    /// # Errors
    /// Layers are asked for and there is no adapter.
    pub fn new(look: &Look, world: &World) -> Result<Self, Failure> {
        let style = if look.dark { Style::dark() } else { Style::light() };
        let layered = look.layers().map(|layers| Layered::new(layers, world)).transpose()?;
        Ok(Self { style, layered })
    }

    /// Draws a world as it is now, which `snapshot` says.
    ///
    /// # Errors
    /// The camera sees nothing finite, or the adapter fails.
    pub fn draw(&mut self, world: &World, snapshot: &Snapshot, camera: &Camera) -> Result<Image, Failure> {
        let image = match &mut self.layered {
            Some(layered) => layered.draw(world, camera, &self.style),
            None => {
                let Compiled { shapes, vertices, .. } = world.compiled();
                raster::picture(&snapshot.poses, shapes, vertices, camera, &self.style)
            }
        };
        image.map_err(|error| Failure::new(Code::Check, error))
    }

    /// Draws a world into a PNG file.
    ///
    /// # Errors
    /// As [`Self::draw`], and those of files.
    pub fn write(
        &mut self,
        destination: &mut Destination,
        world: &World,
        snapshot: &Snapshot,
        size: (u32, u32),
    ) -> Result<(), Failure> {
        let image = self.draw(world, snapshot, &camera(world.compiled(), snapshot, size))?;
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
                    .hint("without them pictures need none")
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
            (World::Gpu(world), _) => offscreen.layered_picture(&world.draw_inputs(), camera, style, layers),
            // Which backend it is does not change.
            (World::Cpu(_), None) => Err(DrawError::Device("nothing was uploaded".to_owned())),
        }
    }
}

/// From where a state is seen whole, and what emitters will make where it comes. Compute it once for a movie, so that
/// nothing but bodies moves.
pub fn camera(compiled: &Compiled, snapshot: &Snapshot, (width, height): (u32, u32)) -> Camera {
    let (poses, shapes) = compiled.with_what_comes(&snapshot.poses);
    Camera::fit_scene(&poses, &shapes, [width, height])
}
