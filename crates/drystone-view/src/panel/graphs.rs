//! Graphs over time: energies of the world, and the motion of graphed bodies.

use egui::{Align2, Color32, RichText, Sense, vec2};
use egui_plot::{AxisHints, GridInput, GridMark, HoverPosition, Line, Plot, PlotPoints};

use super::super::action::Action;
use super::super::app::App;
use super::super::figures::Figures;
use super::super::watch::{KEPT, MAX_WATCHED, Quantity, Track};
use super::{ROOM, amount};

/// Maximum number of drawn points of a curve.
const MAX_POINTS: usize = 800;
/// Colours of graphed bodies, visible on light and on dark.
const BODY_COLORS: [Color32; MAX_WATCHED] = [
    Color32::from_rgb(0x2f, 0x7f, 0xd0),
    Color32::from_rgb(0xe0, 0x7a, 0x2c),
    Color32::from_rgb(0x3d, 0xa0, 0x62),
    Color32::from_rgb(0xc4, 0x4f, 0x9a),
];
const KINETIC: Color32 = Color32::from_rgb(0xe0, 0x7a, 0x2c);
const POTENTIAL: Color32 = Color32::from_rgb(0x2f, 0x7f, 0xd0);
const ELASTIC: Color32 = Color32::from_rgb(0x9b, 0x6d, 0xc4);

/// Colour of a graphed body.
pub(super) fn body_color(track: &Track) -> Color32 {
    BODY_COLORS[track.color % MAX_WATCHED]
}

/// Writes a value with three significant digits.
#[allow(clippy::cast_possible_truncation, reason = "shown with three digits")]
fn short(value: f64) -> String {
    amount(value as f32)
}

/// Reduces the points of a curve: of those that share a place on the screen, the lowest and the highest stay.
fn thin(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    if points.len() <= MAX_POINTS {
        return points;
    }
    let each = points.len().div_ceil(MAX_POINTS / 2);
    let ends = |part: &[[f64; 2]]| {
        let by_value = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        let (low, high) = (part.iter().min_by(by_value), part.iter().max_by(by_value));
        let mut ends: Vec<[f64; 2]> = low.into_iter().chain(high).copied().collect();
        ends.sort_by(|a, b| a[0].total_cmp(&b[0]));
        ends
    };
    points.chunks(each).flat_map(ends).collect()
}

/// Minimum distance of grid lines over time and over values, points: so much room do their labels take.
const LINES_APART: [f32; 2] = [44.0, 20.0];
/// Part of the distance of grid lines that egui_plot takes for the finest grid, points.
const FINEST: f64 = 8.0;

/// Distance of grid lines: the smallest of 1, 2, 5 · 10ⁿ that is at least this.
fn round_step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * decade).find(|step| *step >= least).unwrap_or(10.0 * decade)
}

/// Grid lines at least `apart` points from each other, which all have labels.
#[allow(clippy::cast_possible_truncation, reason = "some dozens of lines")]
fn grid_lines(input: &GridInput, apart: f32) -> Vec<GridMark> {
    let step = round_step(input.base_step_size / FINEST * f64::from(apart));
    let (low, high) = input.bounds;
    if !(step.is_normal() && low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    #[allow(clippy::cast_precision_loss, reason = "some dozens of lines")]
    let mark = |index: i64| GridMark { value: index as f64 * step, step_size: step };
    (first..=last.min(first.saturating_add(200))).map(mark).collect()
}

/// Label of a grid line, with as many decimals as the distance of two lines needs.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few decimals")]
fn line_label(mark: &GridMark) -> String {
    let (value, step) = (if mark.value.abs() < 1e-9 * mark.step_size { 0.0 } else { mark.value }, mark.step_size);
    if value.abs() >= 1e6 || step < 1e-4 {
        return if value == 0.0 { "0".to_owned() } else { format!("{value:.1e}") };
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{value:.decimals$}")
}

/// Draws curves over seconds, under a title with the unit. The height is for a panel of the usual width; in a wider one
/// the plot is higher in proportion.
pub(super) fn plot(
    ui: &mut egui::Ui,
    title: &str,
    unit: &str,
    hint: &str,
    height: f32,
    curves: Vec<(String, Color32, Vec<[f64; 2]>)>,
) {
    ui.label(RichText::new(format!("{title}, {unit}")).small()).on_hover_text(hint);
    let unit = unit.to_owned();
    let font = egui::TextStyle::Small.resolve(ui.style());
    let ink = ui.visuals().text_color();
    let axis = |axis: AxisHints<'static>, [near, far]: [f32; 2]| {
        axis.label_spacing(egui::Rangef::new(near, far)).tick_label_font(font.clone()).tick_label_color(ink)
    };
    let [across, up] = LINES_APART;
    let time = axis(AxisHints::new_x(), [0.3 * across, 0.5 * across]);
    let value = axis(AxisHints::new_y(), [0.3 * up, 0.5 * up]);
    Plot::new(title)
        .height(height * (ui.available_width() / ROOM).max(1.0))
        .grid_spacing(egui::Rangef::new(8.0, 220.0))
        .x_grid_spacer(move |input| grid_lines(&input, across))
        .y_grid_spacer(move |input| grid_lines(&input, up))
        .custom_x_axes(vec![time.formatter(|mark, _| format!("{} s", line_label(&mark)))])
        .custom_y_axes(vec![value.formatter(|mark, _| line_label(&mark))])
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .label_formatter(move |at| {
            let (HoverPosition::NearDataPoint { position: place, .. } | HoverPosition::Elsewhere { position: place }) =
                at;
            Some(format!("{} s\n{} {unit}", short(place.x), short(place.y)))
        })
        .show(ui, |plot| {
            for (name, color, points) in curves {
                plot.line(Line::new(name, PlotPoints::from(thin(points))).color(color));
            }
        });
}

/// Shows an entry of a legend: a coloured square with a text.
fn entry(ui: &mut egui::Ui, color: Color32, text: &str) {
    let font = egui::TextStyle::Small.resolve(ui.style());
    let galley = ui.painter().layout_no_wrap(text.to_owned(), font.clone(), ui.visuals().text_color());
    let (rect, _) = ui.allocate_exact_size(vec2(galley.size().x + 14.0, 15.0), Sense::hover());
    let square = egui::Rect::from_center_size(rect.left_center() + vec2(4.0, 0.0), vec2(8.0, 8.0));
    ui.painter().rect_filled(square, 1.0, color);
    let ink = ui.visuals().text_color();
    ui.painter().text(rect.left_center() + vec2(12.0, 0.0), Align2::LEFT_CENTER, text, font, ink);
}

impl App {
    /// Shows the energies of the whole scene over time. Of potential energy the change is drawn, as its zero is
    /// arbitrary.
    #[allow(clippy::cast_precision_loss, reason = "plots")]
    fn energies_plot(&mut self, ui: &mut egui::Ui) {
        self.wants.quality = true;
        let all = &self.figures.qualities;
        let (Some(first), Some(last)) = (all.front(), all.back()) else {
            ui.label(RichText::new("no energy measured yet").weak());
            return;
        };
        let (dt, zero) = (self.dt(), first.metrics.potential_energy);
        let ink = ui.visuals().text_color();
        let mut energies: Vec<(&str, Color32, f64, Vec<[f64; 2]>)> = Vec::new();
        let mut add = |name, color, value: &dyn Fn(&drystone::low_level::state::Metrics) -> f64| {
            let points = all.iter().map(|q| [q.step as f64 * dt, value(&q.metrics)]).collect();
            energies.push((name, color, value(&last.metrics), points));
        };
        add("kinetic", KINETIC, &|m| m.kinetic_energy);
        add("potential", POTENTIAL, &|m| m.potential_energy - zero);
        if self.facts().joints > 0 {
            add("elastic", ELASTIC, &|m| m.elastic_energy);
        }
        add("total", ink, &|m| m.total_energy - zero);
        let entries: Vec<_> =
            energies.iter().map(|(name, color, now, _)| (*color, format!("{name} {} J", short(*now)))).collect();
        let curves = energies.into_iter().map(|(name, color, _, points)| (name.to_owned(), color, points)).collect();
        let title = format!("energy of the scene, potential since step {}", first.step);
        let hint = "of all dynamic bodies and of the springs of joints. Potential energy, and with it the total, are drawn as \
                    they have changed since the first measurement";
        plot(ui, &title, "J", hint, 120.0, curves);
        ui.horizontal_wrapped(|ui| {
            for (color, text) in entries {
                entry(ui, color, &text);
            }
        });
        let hint = "energies and deepest overlap, a row per measurement, over the time that these curves show";
        if ui.button("energies as CSV").on_hover_text(hint).clicked() {
            self.ask_for(Action::SaveEnergies);
        }
    }

    /// Shows the deepest overlap over time.
    #[allow(clippy::cast_precision_loss, reason = "plots")]
    pub(super) fn overlap_plot(&self, ui: &mut egui::Ui) {
        let dt = self.dt();
        let points =
            self.figures.qualities.iter().map(|q| [q.step as f64 * dt, 1e3 * q.metrics.max_penetration]).collect();
        let hint = "how far the two shapes that overlap most are inside each other";
        plot(ui, "deepest overlap", "mm", hint, 80.0, vec![("deepest".to_owned(), POTENTIAL, points)]);
    }

    /// Shows the section of graphs. It opens and scrolls into sight when a body is added.
    pub(super) fn graphs_header(&mut self, ui: &mut egui::Ui) {
        let opens = std::mem::take(&mut self.watch.opens).then_some(true);
        let header = egui::CollapsingHeader::new(RichText::new("Graphs").strong()).open(opens);
        let shown = header.show(ui, |ui| {
            self.graphs_section(ui);
            ui.add_space(2.0);
        });
        if opens.is_some() {
            shown.header_response.scroll_to_me(Some(egui::Align::TOP));
        }
    }

    /// Shows the graphs of bodies, and those of the energies of the scene.
    fn graphs_section(&mut self, ui: &mut egui::Ui) {
        self.body_graphs(ui);
        let mut energies = self.watch.energies;
        let hint = "kinetic, potential and elastic energy of the whole scene, and their sum";
        if ui.checkbox(&mut energies, "energies of the scene").on_hover_text(hint).changed() {
            self.watch.energies = energies;
        }
        if energies {
            if !Figures::measures_itself(self.facts().bodies) && ui.button("measure").clicked() {
                self.ask_for(Action::Measure);
            }
            self.energies_plot(ui);
        }
    }

    /// Shows the graphed bodies, the choice of quantities, and their curves.
    fn body_graphs(&mut self, ui: &mut egui::Ui) {
        if self.watch.tracks.is_empty() {
            let text = format!("point at a body and press W: it is graphed; {MAX_WATCHED} bodies at most");
            ui.label(RichText::new(text).weak());
            return;
        }
        let mut ends = None;
        for (at, track) in self.watch.tracks.iter().enumerate() {
            ui.horizontal(|ui| {
                entry(ui, body_color(track), &track.name);
                if ui.small_button("×").on_hover_text(format!("stop graphing {}", track.name)).clicked() {
                    ends = Some(at);
                }
            });
        }
        if let Some(at) = ends {
            self.ask_for(Action::Unwatch(at));
        }
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(2.0, 2.0);
            for quantity in Quantity::ALL {
                let [name, unit, meaning] = quantity.words();
                let shown = self.watch.shown.contains(&quantity);
                let label = ui.selectable_label(shown, RichText::new(name).small());
                if label.on_hover_text(format!("{meaning}, {unit}")).clicked() {
                    self.watch.shown.retain(|&other| other != quantity);
                    if !shown {
                        self.watch.shown.push(quantity);
                    }
                }
            }
        });
        for quantity in Quantity::ALL.into_iter().filter(|quantity| self.watch.shown.contains(quantity)) {
            let [name, unit, meaning] = quantity.words();
            let curves = self
                .watch
                .tracks
                .iter()
                .map(|track| (track.name.clone(), body_color(track), track.curve(quantity)))
                .collect();
            plot(ui, name, unit, meaning, 96.0, curves);
            ui.horizontal_wrapped(|ui| {
                for track in &self.watch.tracks {
                    if let Some(now) = track.now(quantity) {
                        entry(ui, body_color(track), &format!("{} {unit}", short(now)));
                    }
                }
            });
        }
        ui.horizontal(|ui| {
            let hint = format!("all quantities of these bodies, a row per step; the last {KEPT} steps are kept");
            if ui.button("graphs as CSV").on_hover_text(hint).clicked() {
                self.ask_for(Action::SaveGraphs);
            }
        });
    }

    /// Shows rings around graphed bodies, in the colours of their curves.
    pub(super) fn watched_rings(&self, painter: &egui::Painter, scale: f32) {
        let Some(camera) = super::split(&self.camera, self.worlds()).first().copied() else { return };
        for track in &self.watch.tracks {
            let Some(last) = track.moments.back() else { continue };
            let at = camera.to_pixel(last.position.as_vec2());
            let [width, height] = camera.size.map(f64::from);
            let own = (at - camera.origin).as_dvec2();
            if (0.0..width).contains(&own.x) && (0.0..height).contains(&own.y) {
                let at = egui::pos2(at.x / scale, at.y / scale);
                painter.circle(at, 5.0, body_color(track), egui::Stroke::new(1.5, Color32::WHITE));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::shown_texts;
    use super::*;

    /// Each grid line of the time axis has its label, and the lines are at round times, in plots of any length and
    /// width.
    #[test]
    fn the_time_axis_has_labels_at_its_lines() {
        let labels = |seconds: f64, width: f32| -> Vec<String> {
            let points = (0..=100).map(|index| [f64::from(index) * seconds / 100.0, f64::from(index % 7)]).collect();
            let curves = vec![("y".to_owned(), KINETIC, points)];
            let texts = shown_texts(vec2(width, 400.0), |ui| plot(ui, "y", "m", "", 96.0, curves.clone()));
            texts.into_iter().filter(|text| text.ends_with(" s")).collect()
        };
        assert_eq!(labels(4.5, 317.0), ["0 s", "1 s", "2 s", "3 s", "4 s"]);
        assert_eq!(labels(0.3, 200.0), ["0.0 s", "0.1 s", "0.2 s", "0.3 s"]);
        let wide = labels(4.5, 700.0);
        assert!(wide.len() > 8 && wide.contains(&"0.5 s".to_owned()), "{wide:?}");
        assert!((3..=8).contains(&labels(60.0, 317.0).len()), "{:?}", labels(60.0, 317.0));
    }

    #[test]
    fn lines_are_at_round_values() {
        assert_eq!([0.7, 1.0, 1.3, 3.0, 7.0, 0.03].map(round_step), [1.0, 1.0, 2.0, 5.0, 10.0, 0.05]);
        let lines = grid_lines(&GridInput { bounds: (-0.2, 4.6), base_step_size: 0.15 }, 44.0);
        let values: Vec<f64> = lines.iter().map(|mark| mark.value).collect();
        assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert!(grid_lines(&GridInput { bounds: (0.0, f64::NAN), base_step_size: 0.1 }, 44.0).is_empty());
        let label = |value: f64, step_size: f64| line_label(&GridMark { value, step_size });
        assert_eq!([label(0.1 + 0.2, 0.1), label(-1e-18, 0.5), label(20.0, 10.0)], ["0.3", "0.0", "20"]);
    }

    #[test]
    fn thin_curves_keep_their_peaks() {
        let mut points: Vec<[f64; 2]> = (0..3600).map(|index| [f64::from(index), 0.0]).collect();
        points[1234][1] = 9.0;
        points[1235][1] = -7.0;
        let thin = thin(points.clone());
        assert!(thin.len() <= MAX_POINTS, "{}", thin.len());
        assert!(thin.contains(&[1234.0, 9.0]) && thin.contains(&[1235.0, -7.0]));
        assert!(thin.windows(2).all(|pair| pair[0][0] <= pair[1][0]), "in the order of time");
        let few = points[..MAX_POINTS].to_vec();
        assert_eq!(super::thin(few.clone()), few);
    }
}
