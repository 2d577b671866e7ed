//! Sections of the panel for measurements: stage times, counters with capacities and colours, quality; and the buttons
//! that write files.

use egui::{Align2, Color32, RichText, Sense, vec2};
use egui_plot::{Bar, BarChart, Line, Plot, PlotPoints};

use super::super::action::Action;
use super::super::app::App;
use super::super::figures::{Figures, Sample};
use super::super::run::{On, has_timestamps};
use super::{amount, count, group};
use drystone::low_level::state::Metrics;
use drystone::low_level::step::Stage;
use drystone::low_level::types::{COLOR_COUNT, Counters, OVERFLOW_COLOR};
use drystone_draw::Style;

/// Number of steps that plots show.
const SHOWN: usize = 240;
/// Share of the time below which a stage is not in the legend.
const SMALL: f32 = 0.02;

/// Colour of a stage, along the ramp of the world's colours.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a colour")]
fn stage_color(index: usize) -> Color32 {
    let ramp = Style::light().ramp;
    let at = index as f32 / (Stage::ALL.len() - 1) as f32 * (ramp.len() - 1) as f32;
    let low = (at as usize).min(ramp.len() - 2);
    let mix = |c: usize| ramp[low][c] + (ramp[low + 1][c] - ramp[low][c]) * (at - low as f32);
    // Neighbours differ in lightness as well.
    let shade = if index.is_multiple_of(2) { 1.0 } else { 0.82 };
    let byte = |c: usize| (mix(c) * shade * 255.0) as u8;
    Color32::from_rgb(byte(0), byte(1), byte(2))
}

/// Shows a stage in the legend: its colour, its name, its time.
fn stage_entry(ui: &mut egui::Ui, width: f32, index: usize, time: f32) {
    let (rect, response) = ui.allocate_exact_size(vec2(width, 14.0), Sense::hover());
    response.on_hover_text(stage_meaning(Stage::ALL[index]));
    let painter = ui.painter_at(rect);
    let square = egui::Rect::from_center_size(rect.left_center() + vec2(4.0, 0.0), vec2(7.0, 7.0));
    painter.rect_filled(square, 1.0, stage_color(index));
    let (ink, font) = (ui.visuals().text_color(), egui::TextStyle::Small.resolve(ui.style()));
    let name = Stage::ALL[index].name();
    painter.text(rect.left_center() + vec2(11.0, 0.0), Align2::LEFT_CENTER, name, font, ink);
    let font = egui::FontId::monospace(10.0);
    painter.text(rect.right_center(), Align2::RIGHT_CENTER, amount(time), font, ink);
}

/// Text with the number of contacts, those of sleeping bodies among them, and the capacity of the buffer.
fn contacts(awake: u64, asleep: u64, capacity: Option<u64>) -> String {
    let all = awake + asleep;
    let of = capacity.map_or_else(String::new, |capacity| format!(" of {}", group(capacity)));
    let which = match (awake, asleep) {
        (_, 0) => String::new(),
        (0, 1) => ", asleep".to_owned(),
        (0, _) => ", all asleep".to_owned(),
        _ => format!(", {} asleep", group(asleep)),
    };
    format!("contacts {}{of}{which}", group(all))
}

/// Hover text of the number of contacts.
const CONTACTS_MEANING: &str =
    "pairs of shapes that touch or nearly touch, and how many of them the device has room for before its buffers grow";

/// Hover text of a stage: what it does in a step.
fn stage_meaning(stage: Stage) -> &'static str {
    match stage {
        Stage::Command => "applies commands: bodies added and removed, velocities, pulls of the pointer",
        Stage::Quarantine => "takes bodies whose state is not finite out of the simulation",
        Stage::Bound => "computes the upright boxes around shapes",
        Stage::Bin => "sorts the boxes into the cells of the grid",
        Stage::Pair => "finds pairs of shapes whose boxes overlap",
        Stage::MatchContacts => "finds the contact of each pair in the step before, with its impulses",
        Stage::Collide => "computes where shapes touch: points, normals and gaps",
        Stage::Wake => "wakes sleeping islands that something touches",
        Stage::CollectEvents => "lists contacts that began and ended, sensors and broken joints",
        Stage::Color => "gives contacts colours: those of one colour share no body and are solved at the same time",
        Stage::Prepare => "lays out contacts for the solver",
        Stage::PrepareJoints => "lays out joints for the solver",
        Stage::WarmStart => "begins with the impulses of contacts of the step before",
        Stage::WarmStartJoints => "begins with the impulses of joints of the step before",
        Stage::IntegrateVelocities => "applies gravity and forces to velocities",
        Stage::SolveJoints => "corrects velocities at joints",
        Stage::Solve => "corrects velocities at contacts, colour by colour",
        Stage::IntegratePositions => "moves bodies by their velocities",
        Stage::RelaxJoints => "corrects velocities at joints once more, without pushing positions",
        Stage::Relax => "corrects velocities at contacts once more, without pushing overlaps apart",
        Stage::ProjectJoints => "corrects positions at joints",
        Stage::Project => "corrects positions at contacts",
        Stage::Restitution => "adds bounces",
        Stage::StoreImpulses => "keeps impulses for the next step",
        Stage::Continuous => "stops fast bodies at shapes through which they would pass",
        Stage::Finalize => "writes the new positions",
        Stage::Sleep => "puts islands at rest to sleep",
    }
}

/// Row of a table: a name, a value, and the hover text of both.
#[derive(Clone, Debug, PartialEq)]
struct FigureRow {
    name: &'static str,
    value: String,
    meaning: &'static str,
}

/// Shows a table of figures with this number of names in a row.
fn rows_ui(ui: &mut egui::Ui, id: &str, across: usize, rows: &[FigureRow]) {
    egui::Grid::new(id).num_columns(2 * across).spacing([10.0, 2.0]).show(ui, |ui| {
        for (index, FigureRow { name, value, meaning }) in rows.iter().enumerate() {
            ui.label(RichText::new(*name).weak().small()).on_hover_text(*meaning);
            ui.label(RichText::new(value).monospace().small()).on_hover_text(*meaning);
            if index % across == across - 1 {
                ui.end_row();
            }
        }
    });
}

/// Rows of the counters of a step.
fn counter_rows(counters: &Counters, overflows: u64) -> Vec<FigureRow> {
    let rows = [
        ("pairs", u64::from(counters.pairs_found), "pairs of shapes whose boxes overlap"),
        ("touching", counters.touching.into(), "touching contacts of awake bodies, which are solved"),
        (
            "kept points",
            counters.recycled.into(),
            "contacts whose points were kept from the step before (recycled), as the bodies hardly moved against each other",
        ),
        ("asleep", counters.sleeping_contacts.into(), "contacts of sleeping bodies, kept until they wake"),
        (
            "colour passes",
            counters.rounds.into(),
            "passes (rounds) that gave contacts their colours; contacts of one colour are solved at the same time",
        ),
        ("new", counters.uncolored.into(), "contacts that had no colour when the step began"),
        ("bodies awake", counters.awake.into(), "dynamic bodies that do not sleep"),
        (
            "stopped",
            counters.continuous.into(),
            "fast bodies that were stopped at a shape through which they would have passed",
        ),
        (
            "quarantined",
            counters.quarantined.into(),
            "bodies taken out of the simulation because their state was not finite",
        ),
        (
            "overflows",
            overflows,
            "steps in which a buffer was too small and contacts were left out; the buffer then grew",
        ),
    ];
    rows.into_iter().map(|(name, value, meaning)| FigureRow { name, value: group(value), meaning }).collect()
}

/// Rows of the quality of a state.
fn quality_rows(m: &Metrics, with_joints: bool) -> Vec<FigureRow> {
    #[allow(clippy::cast_possible_truncation, reason = "shown with three digits")]
    let short = |value: f64| amount(value as f32);
    let row = |name, value, meaning| FigureRow { name, value, meaning };
    let mut rows = vec![
        row(
            "penetration, deepest",
            format!("{} mm", short(1e3 * m.max_penetration)),
            "how far the two shapes that overlap most are inside each other",
        ),
        row(
            "penetration, mean",
            format!("{} mm", short(1e3 * m.mean_penetration)),
            "how far shapes are inside each other, on average over points of contact",
        ),
        row("kinetic energy", format!("{} J", short(m.kinetic_energy)), "of all dynamic bodies, moving and turning"),
        row(
            "potential energy",
            format!("{} J", short(m.potential_energy)),
            "of all dynamic bodies by gravity and fields, 0 at the height 0",
        ),
    ];
    if with_joints {
        rows.push(row(
            "elastic energy",
            format!("{} J", short(m.elastic_energy)),
            "of springs, soft rods and welds, and of the joint that pulls a grabbed body",
        ));
    }
    rows.extend([
        row(
            "total energy",
            format!("{} J", short(m.total_energy)),
            "kinetic, potential and elastic energy: constant where nothing rubs, bounces, drives or damps",
        ),
        row("fastest", format!("{} m/s", short(m.max_speed)), "speed of the fastest dynamic body"),
        row(
            "complementarity",
            format!("{} m/s", short(m.complementarity)),
            "a contact either pushes or opens: largest normal speed of one that pushes; 0 is exact",
        ),
        row(
            "beyond friction cone",
            format!("{} N·s", short(m.cone_violation)),
            "largest excess of a friction impulse over friction times the normal impulse; 0 is exact",
        ),
    ]);
    if let Some(ratio) = m.ground_impulse_ratio {
        rows.push(row(
            "ground less weight",
            format!("{} % of the weight", short(100.0 * ratio)),
            "impulse on static bodies in a step, less that of gravity: 0 at rest, negative in free fall",
        ));
    }
    if m.joint_error > 0.0 {
        rows.push(row(
            "joints apart",
            format!("{} mm", short(1e3 * m.joint_error)),
            "largest error of a position or a length that a joint holds",
        ));
    }
    rows
}

impl App {
    /// Shows the times of stages.
    #[allow(clippy::cast_precision_loss, reason = "plots")]
    pub(super) fn times_section(&mut self, ui: &mut egui::Ui) {
        self.wants.stages = true;
        let Some(last) = self.figures.samples.back() else {
            let why = match self.run.on() {
                On::Gpu if !has_timestamps(&self.context) => "this device has no timestamps",
                _ => "nothing measured yet",
            };
            ui.label(RichText::new(why).weak());
            return;
        };
        // The mean of the last ones is steadier than the last.
        let recent: Vec<_> = self.figures.samples.iter().rev().take(12).collect();
        let mut mean = [0.0; Stage::ALL.len()];
        for sample in &recent {
            for (sum, ms) in mean.iter_mut().zip(sample.stages) {
                *sum += ms / recent.len() as f32;
            }
        }
        let total: f32 = mean.iter().sum::<f32>().max(1e-6);
        // Small worlds in a unit in which they have few digits.
        let (unit, scale) = if total < 1.0 { ("µs", 1e3) } else { ("ms", 1.0) };
        ui.label(format!("{} {unit} a step, step {}", amount(scale * total), last.step));
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
        let mut left = rect.left();
        let mut under = None;
        for (index, ms) in mean.iter().enumerate() {
            let width = rect.width() * ms / total;
            let part = egui::Rect::from_min_size(egui::pos2(left, rect.top()), vec2(width, rect.height()));
            ui.painter().rect_filled(part, 0.0, stage_color(index));
            if response.hover_pos().is_some_and(|pos| part.contains(pos)) {
                under = Some(index);
            }
            left += width;
        }
        if let Some(index) = under {
            let (stage, time) = (Stage::ALL[index], amount(scale * mean[index]));
            response.on_hover_text(format!("{}: {time} {unit}\n{}", stage.name(), stage_meaning(stage)));
        }
        let mut order: Vec<usize> = (0..mean.len()).filter(|&index| mean[index] > SMALL * total).collect();
        order.sort_by(|&a, &b| mean[b].total_cmp(&mean[a]));
        for pair in order.chunks(2) {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let width = (ui.available_width() - 6.0) / 2.0;
                for &index in pair {
                    stage_entry(ui, width, index, scale * mean[index]);
                }
            });
        }
        let samples: Vec<_> = self.figures.samples.iter().rev().take(SHOWN).rev().collect();
        Plot::new("times")
            .height(110.0)
            .allow_scroll(false)
            .allow_drag(false)
            .allow_zoom(false)
            .show_x(false)
            .include_y(0.0)
            .show(ui, |plot| {
                let points: PlotPoints<'_> =
                    samples.iter().map(|sample| [sample.step as f64, f64::from(scale * sample.total())]).collect();
                plot.line(Line::new(format!("{unit} a step"), points).color(stage_color(8)).fill(0.0));
                for &index in order.iter().take(3) {
                    let of_stage = |sample: &&Sample| [sample.step as f64, f64::from(scale * sample.stages[index])];
                    let points: PlotPoints<'_> = samples.iter().map(of_stage).collect();
                    plot.line(Line::new(Stage::ALL[index].name(), points).color(stage_color(index)));
                }
            });
    }

    /// Shows the counters of the last step.
    #[allow(clippy::cast_precision_loss, reason = "plots")]
    pub(super) fn counters_section(&mut self, ui: &mut egui::Ui) {
        let Some((_, counters)) = self.facts().counters else {
            ui.label(RichText::new("no step yet").weak());
            return;
        };
        let capacity = self.facts().contact_capacity.map(u64::from);
        let (awake, asleep) = (u64::from(counters.contacts), u64::from(counters.sleeping_contacts));
        let text = contacts(awake, asleep, capacity);
        if let Some(capacity) = capacity {
            let share = (awake + asleep) as f32 / capacity.max(1) as f32;
            let bar = egui::ProgressBar::new(share).desired_height(14.0).text(RichText::new(text).small());
            ui.add(bar).on_hover_text(CONTACTS_MEANING);
        } else {
            ui.label(text).on_hover_text(CONTACTS_MEANING);
        }
        rows_ui(ui, "counters", 2, &counter_rows(&counters, self.facts().overflows as u64));
        if let Some(dispatches) = self.facts().dispatches {
            let bytes = self.facts().device_bytes;
            ui.label(
                RichText::new(format!(
                    "{} dispatches a step, {} MB on the device",
                    dispatches,
                    group(bytes.div_ceil(1 << 20))
                ))
                .weak()
                .small(),
            );
        }
        let (kept, spacing) = self.facts().kept;
        ui.label(
            RichText::new(format!("a state every {spacing} steps to go back to, {} MB", group(kept.div_ceil(1 << 20))))
                .weak()
                .small(),
        );
        ui.label("constraints per colour");
        let starts = counters.color_starts;
        let bars: Vec<Bar> = (0..COLOR_COUNT)
            .map(|color| {
                let count = starts[color as usize + 1].saturating_sub(starts[color as usize]);
                let overflow = color == OVERFLOW_COLOR;
                let fill =
                    if overflow { Color32::from_rgb(0xc8, 0x3c, 0x32) } else { stage_color(color as usize % 26) };
                let name = if overflow { "overflow".to_owned() } else { format!("colour {color}") };
                Bar::new(f64::from(color), f64::from(count)).fill(fill).name(name).width(0.9)
            })
            .filter(|bar| bar.value > 0.0)
            .collect();
        Plot::new("colours")
            .height(90.0)
            .allow_scroll(false)
            .allow_drag(false)
            .allow_zoom(false)
            .include_x(-0.5)
            .include_x(12.0)
            .include_y(0.0)
            .show(ui, |plot| plot.bar_chart(BarChart::new("constraints", bars)));
        let overflow = starts[OVERFLOW_COLOR as usize + 1].saturating_sub(starts[OVERFLOW_COLOR as usize]);
        if overflow > 0 {
            ui.label(format!(
                "{} solved one after the other: no colour was left for them",
                count(overflow.into(), "contact")
            ));
        }
    }

    /// Shows the quality of the last measured state.
    pub(super) fn quality_section(&mut self, ui: &mut egui::Ui) {
        self.wants.quality = true;
        if !Figures::measures_itself(self.facts().bodies) && ui.button("measure").clicked() {
            self.ask_for(Action::Measure);
        }
        let Some(last) = self.figures.qualities.back().copied() else {
            ui.label(RichText::new("nothing measured yet").weak());
            return;
        };
        rows_ui(ui, "quality", 1, &quality_rows(&last.metrics, self.facts().joints > 0));
        ui.label(RichText::new(format!("at step {}", last.step)).weak().small());
        self.overlap_plot(ui);
    }

    /// Shows the buttons that write files.
    pub(super) fn files_section(&mut self, ui: &mut egui::Ui) {
        let record = if self.recording.is_some() { "stop GIF" } else { "record GIF" };
        let things = [
            ("picture", Action::SavePicture, "a PNG of the world as it is shown, without the panel (P)"),
            (record, Action::Record, "a moving picture of what is shown from now on, until it is stopped (G)"),
            (
                "state",
                Action::SaveState,
                "the world with its history and settings (.snap), to go on to the same bits (K)",
            ),
        ];
        let times = [
            ("times as CSV", Action::Csv, "computing times of the stages of each step; energies are under Graphs"),
            ("times as trace", Action::Trace, "computing times of the stages, for a viewer of traces such as Perfetto"),
        ];
        let scene = [("scene as JSON", Action::SaveScene, "the world as a scene file, to open or edit (J)")];
        let folder = super::scene::folder_text(&self.folder);
        let hint = format!(
            "path of the file to save, or of a folder for names of their own; a path without a root begins at {folder}. \
             A file that is there already is replaced only when you save once more"
        );
        ui.horizontal(|ui| {
            super::name(ui, "save as", 52.0, &hint);
            let hint_text = "a name with scene and step";
            let field = egui::TextEdit::singleline(&mut self.save_path).hint_text(hint_text);
            let field = field.desired_width(ui.available_width() - 12.0).margin(egui::Margin::symmetric(4, 2));
            if ui.add(field).on_hover_text(&hint).changed() {
                self.replaces = None;
            }
        });
        for row in [&things[..], &times[..], &scene[..]] {
            ui.horizontal(|ui| {
                for (text, action, meaning) in row {
                    let hint = format!(
                        "{meaning}.\nWrites to the path above, or into {folder}, under a name with scene and step"
                    );
                    // The same width for both texts.
                    let width = if *action == Action::Record { 76.0 } else { 0.0 };
                    let button = ui.add(egui::Button::new(*text).min_size(vec2(width, 0.0)));
                    if button.on_hover_text(hint).clicked() {
                        self.ask_for(action.clone());
                    }
                }
            });
        }
        if self.save_path.trim().is_empty() {
            ui.label(RichText::new("into the folder the window was opened from").weak().small());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::{hover_texts, without_meaning};
    use super::*;

    /// Rows of all figures that there can be.
    fn all_rows() -> [Vec<FigureRow>; 2] {
        let metrics = Metrics { joint_error: 1.0, ground_impulse_ratio: Some(0.5), ..Metrics::default() };
        [counter_rows(&Counters::default(), 3), quality_rows(&metrics, true)]
    }

    /// Each counter and each figure of the quality shows its meaning under the pointer, over its name and its value.
    #[test]
    fn figures_say_what_they_are() {
        for (rows, least) in all_rows().into_iter().zip([10, 11]) {
            assert!(rows.len() >= least, "{rows:?}");
            let meanings: Vec<(&str, &str)> = rows.iter().map(|row| (row.name, row.meaning)).collect();
            assert_eq!(without_meaning(&meanings), Vec::<&str>::new());
            let size = vec2(420.0, 420.0);
            for row in &rows {
                for over in [row.name, row.value.as_str()] {
                    let shown = hover_texts(size, over, |ui| rows_ui(ui, "rows", 1, &rows));
                    let is_of_row = rows.iter().filter(|row| row.value == over || row.name == over);
                    assert!(is_of_row.clone().any(|row| shown.contains(&row.meaning.to_owned())), "{over}: {shown:?}");
                }
            }
        }
        // The control: a row without a meaning shows nothing and is found.
        let mut rows = all_rows()[0].clone();
        rows[2].meaning = "";
        rows[4].meaning = rows[4].name;
        let meanings: Vec<(&str, &str)> = rows.iter().map(|row| (row.name, row.meaning)).collect();
        assert_eq!(without_meaning(&meanings), ["kept points", "colour passes"]);
        let shown = hover_texts(vec2(420.0, 420.0), "kept points", |ui| rows_ui(ui, "rows", 2, &rows));
        assert!(shown.iter().all(String::is_empty), "{shown:?}");
    }

    #[test]
    fn stages_say_what_they_do() {
        let meanings: Vec<(&str, &str)> =
            Stage::ALL.iter().map(|&stage| (stage.name(), stage_meaning(stage))).collect();
        assert_eq!(without_meaning(&meanings), Vec::<&str>::new());
        let solve = Stage::ALL.iter().position(|&stage| stage == Stage::Solve).unwrap();
        let shown = hover_texts(vec2(300.0, 100.0), Stage::Solve.name(), |ui| stage_entry(ui, 150.0, solve, 1.0));
        assert_eq!(shown, [stage_meaning(Stage::Solve)]);
    }

    #[test]
    fn contacts_say_which_of_them_sleep() {
        assert_eq!(contacts(3, 0, None), "contacts 3");
        assert_eq!(contacts(0, 1, None), "contacts 1, asleep");
        assert_eq!(contacts(0, 12, Some(1024)), "contacts 12 of 1,024, all asleep");
        assert_eq!(contacts(2000, 5, None), "contacts 2,005, 5 asleep");
    }
}
