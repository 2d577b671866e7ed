//! Debug drawing: a world as an SVG file, by a renderer of a few lines. `cargo run --example debug_draw > world.svg`

use drystone::debug_draw::{DebugDraw, DebugDrawOptions};
use drystone::glam::Vec2;
use drystone::{Body, Joint, JointKind, Scene, Shape, World};

/// Lines of an SVG file. What is not here is drawn as lines.
struct Svg(Vec<String>);

impl DebugDraw for Svg {
    fn line(&mut self, a: Vec2, b: Vec2, color: u32) {
        let (x1, y1, x2, y2) = (a.x, -a.y, b.x, -b.y);
        self.0.push(format!(r##"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#{color:06x}"/>"##));
    }

    fn circle(&mut self, at: Vec2, radius: f32, color: u32) {
        let (x, y) = (at.x, -at.y);
        self.0.push(format!(r##"<circle cx="{x}" cy="{y}" r="{radius}" stroke="#{color:06x}"/>"##));
    }

    fn polygon(&mut self, points: &[Vec2], color: u32) {
        let points: Vec<String> = points.iter().map(|point| format!("{},{}", point.x, -point.y)).collect();
        self.0.push(format!(r##"<polygon points="{}" stroke="#{color:06x}"/>"##, points.join(" ")));
    }

    fn text(&mut self, at: Vec2, text: &str, color: u32) {
        let (x, y) = (at.x, -at.y);
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.0.push(format!(r##"<text x="{x}" y="{y}" fill="#{color:06x}" stroke="none">{text}</text>"##));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("a picture of lines");
    let heights = (0_u8..17).map(|x| (0.7 * f32::from(x)).sin() * 0.5);
    scene.add(Body::fixed(-8.0, 0.0).shapes(Shape::height_field(1.0, heights)?));
    let arch = [[-1.5, 0.0], [-1.0, 0.0], [-0.6, 0.8], [0.6, 0.8], [1.0, 0.0], [1.5, 0.0], [1.0, 1.4], [-1.0, 1.4]];
    scene.add(Body::dynamic(-2.0, 1.5).id("arch").shapes(Shape::outline(arch)?));
    scene.add(Body::dynamic(3.0, 2.0).id("egg").shapes(Shape::ellipse(0.8, 0.5, 20)?));
    let bob = scene.add(Body::dynamic(6.0, 3.0).id("bob").shape(Shape::rounded_box(0.3, 0.3, 0.1)));
    scene.join(Joint::to_world(JointKind::rod(), bob).anchors([4.0, 4.0], [0.0, 0.0]));

    let mut world = World::new(&scene)?;
    (0..90).try_for_each(|_| world.step())?;
    let mut svg = Svg(Vec::new());
    world.debug_draw(&mut svg, &DebugDrawOptions::everything())?;
    println!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="-9 -5 18 7" width="1080">"#);
    println!(r#"<g fill="none" stroke-width="0.03" font-size="0.4">"#);
    println!("{}\n</g>\n</svg>", svg.0.join("\n"));
    Ok(())
}
