//! Graphs over time: energies of the world, and the motion of graphed bodies.

use egui::{Align2, Color32, RichText, Sense, vec2};
use egui_plot::{HoverPosition, Line, Plot, PlotPoints};

use super::super::action::Action;
use super::super::app::App;
use super::super::watch::{KEPT, MAX_WATCHED, Quantity, Track};
use super::amount;

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

/// Draws curves over seconds, under a title with the unit.
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
    Plot::new(title)
        .height(height)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        .x_axis_formatter(|mark, _| format!("{} s", mark.value))
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
    /// Shows the energies over time. Of potential energy the change is drawn, as its zero is arbitrary.
    #[allow(clippy::cast_precision_loss, reason = "plots")]
    pub(super) fn energies_plot(&mut self, ui: &mut egui::Ui) {
        let all = &self.figures.qualities;
        let (Some(first), Some(last)) = (all.front(), all.back()) else { return };
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
        let title = format!("energy, potential since step {}", first.step);
        let hint =
            "potential energy, and with it the total, are drawn as they have changed since the first measurement";
        plot(ui, &title, "J", hint, 120.0, curves);
        ui.horizontal_wrapped(|ui| {
            for (color, text) in entries {
                entry(ui, color, &text);
            }
        });
        let points = all.iter().map(|q| [q.step as f64 * dt, 1e3 * q.metrics.max_penetration]).collect();
        let hint = "how far the two shapes that overlap most are inside each other";
        plot(ui, "deepest overlap", "mm", hint, 80.0, vec![("deepest".to_owned(), POTENTIAL, points)]);
        let hint = "energies and deepest overlap, a row per measurement, over the time that these curves show";
        if ui.button("energies as CSV").on_hover_text(hint).clicked() {
            self.ask_for(Action::SaveEnergies);
        }
    }

    /// Shows the section of graphed bodies. It opens and scrolls into sight when a body is added.
    pub(super) fn graphs_header(&mut self, ui: &mut egui::Ui) {
        let opens = std::mem::take(&mut self.watch.opens).then_some(true);
        let header = egui::CollapsingHeader::new(RichText::new("Body graphs").strong()).open(opens);
        let shown = header.show(ui, |ui| {
            self.graphs_section(ui);
            ui.add_space(2.0);
        });
        if opens.is_some() {
            shown.header_response.scroll_to_me(Some(egui::Align::TOP));
        }
    }

    /// Shows the graphed bodies, the choice of quantities, and their curves.
    fn graphs_section(&mut self, ui: &mut egui::Ui) {
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
    use super::*;

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
