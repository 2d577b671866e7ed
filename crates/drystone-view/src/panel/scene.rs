//! Sections of the panel for the scene (list with search, parameters, counts) and for drops and gravity.

use egui::RichText;
use glam::Vec2;

use super::super::action::Action;
use super::super::app::App;
use super::super::pointer::{DROP_COUNTS, DROPS};
use super::super::source::SceneSource;
use super::super::thumbs::POINTS;
use super::{amount, count, digits, group, name, plain, slider};
use drystone_scenes::catalogue::{self, Entry, Parameter, Topic};

/// Height of the list of scenes, points, and its minimum in a low window.
const LIST: f32 = 460.0;
const MIN_LIST: f32 = 120.0;
/// Height of a window that the list leaves free, points.
const AROUND_LIST: f32 = 110.0;

impl App {
    /// Shows the list of scenes, and the parameters and counts of the open one.
    pub(super) fn scene_section(&mut self, ui: &mut egui::Ui) {
        let wished = self.wished().clone();
        let title = match &wished {
            SceneSource::Catalogue { entry, .. } => entry.name.to_owned(),
            SceneSource::File { .. } | SceneSource::Given(_) => wished.title(),
        };
        ui.horizontal(|ui| {
            self.scene_list(ui, &title);
            self.path_field(ui);
        });
        match wished {
            SceneSource::Catalogue { entry, values } => {
                ui.label(RichText::new(entry.summary).weak());
                let asked = parameters_ui(ui, entry, &values);
                if let Some((index, value)) = asked {
                    self.ask_for(Action::Parameter(index, value));
                }
            }
            SceneSource::File { path, .. } => {
                ui.label(RichText::new(format!("{} — reloads when it changes", path.display())).weak());
            }
            SceneSource::Given(_) => {}
        }
        self.fault_note(ui);
        // The parameters above are of the scene that is being opened; the counts below would be of the old one.
        if self.opening.is_some() {
            ui.label("opening …");
            return;
        }
        let facts = self.facts();
        let (bodies, shapes, joints) = (facts.there as u64, facts.shapes as u64, facts.joints as u64);
        let [bodies, shapes, joints] =
            [(bodies, "body"), (shapes, "shape"), (joints, "joint")].map(|(n, noun)| count(n, noun));
        ui.label(format!("{bodies}, {shapes}, {joints}"));
        let hint = "with it the scene begins; R, the restart, goes back to the bodies of the beginning and keeps the gravity that you \
                    set, \\ goes back to this one";
        ui.label(RichText::new(gravity_text(self.run.scene().gravity)).weak()).on_hover_text(hint);
    }

    /// Shows the field for the path of a file, and the button that opens it.
    fn path_field(&mut self, ui: &mut egui::Ui) {
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let hint = format!(
                "opens the scene file (.json) or saved world (.snap) of this path, from {}; a file dropped on the window \
                 opens as well",
                folder_text(&self.folder)
            );
            let mut opens = ui.button("open").on_hover_text(&hint).clicked();
            let width = (ui.available_width() - 4.0).max(40.0);
            let field = egui::TextEdit::singleline(&mut self.path).hint_text("path of a file").desired_width(width);
            let field = ui.add(field.margin(egui::Margin::symmetric(4, 2))).on_hover_text(&hint);
            opens |= field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            let path = self.path.trim().to_owned();
            if opens && path.is_empty() {
                self.say("write the path of a scene file or a saved world into the field first");
                field.request_focus();
            } else if opens {
                self.ask_for(Action::Open(path));
            }
        });
    }

    /// Shows the button with the list of scenes.
    fn scene_list(&mut self, ui: &mut egui::Ui, title: &str) {
        ui.menu_button(format!("{}  ⏷", short_title(title)), |ui| {
            ui.set_min_width(330.0);
            let field = egui::TextEdit::singleline(&mut self.search).hint_text("search scenes, or a path");
            let search = ui.add(field.margin(egui::Margin::symmetric(6, 4)).desired_width(318.0));
            // Must be read before the field gets the focus back.
            let entered = search.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            if ui.memory(|memory| memory.focused().is_none()) {
                search.request_focus();
            }
            let wanted = self.search.to_lowercase();
            let mut chosen = None;
            let mut in_sight = Vec::new();
            let room = (ui.ctx().content_rect().height() - AROUND_LIST).clamp(MIN_LIST, LIST);
            egui::ScrollArea::vertical().max_height(room).min_scrolled_height(room).show(ui, |ui| {
                ui.set_width(330.0);
                let recent: Vec<String> = self.prefs.recent.iter().skip(1).take(4).cloned().collect();
                if wanted.is_empty() && !recent.is_empty() {
                    ui.label(RichText::new("recent").weak().small());
                    for spec in recent {
                        if ui.selectable_label(false, &spec).clicked() {
                            chosen = Some(spec);
                        }
                    }
                    ui.separator();
                }
                for (topic, entries) in listed(&wanted) {
                    if let Some(topic) = topic {
                        ui.add_space(4.0);
                        ui.label(RichText::new(topic.title()).strong().small());
                    }
                    for entry in entries {
                        let picture = self.thumbs.texture(ui.ctx(), entry, self.prefs.dark);
                        let response = scene_entry(ui, entry, picture, entry.name == title);
                        if response.clicked() {
                            chosen = Some(entry.name.to_owned());
                        }
                        if ui.is_rect_visible(response.rect) {
                            in_sight.push(entry);
                        }
                    }
                }
            });
            self.thumbs.draw(&in_sight, &self.wake);
            if entered && !wanted.is_empty() {
                let first = found(&wanted).into_iter().next();
                chosen = Some(first.map_or_else(|| self.search.trim().to_owned(), |entry| entry.name.to_owned()));
            }
            if let Some(spec) = chosen {
                self.search.clear();
                self.ask_for(Action::Open(spec));
                ui.close();
            }
        });
    }

    /// Shows the choices for drops, and gravity.
    pub(super) fn tools_section(&mut self, ui: &mut egui::Ui) {
        ui.horizontal(|ui| {
            let size = amount(self.drop_size());
            let hint = format!(
                "at the pointer, each about {size} m wide: as the median dynamic body of this scene, at any zoom"
            );
            ui.spacing_mut().item_spacing.x = 2.0;
            ui.spacing_mut().button_padding.x = 3.0;
            ui.label("D drops").on_hover_text(&hint);
            for count in DROP_COUNTS {
                let label = ui.selectable_label(self.prefs.drop_count == count, group(count.into()));
                if label.on_hover_text(&hint).clicked() {
                    self.ask_for(Action::DropCount(count));
                }
            }
            let mut kind = self.prefs.drop.clone();
            egui::ComboBox::from_id_salt("drop").width(52.0).selected_text(&kind).show_ui(ui, |ui| {
                for name in DROPS {
                    ui.selectable_value(&mut kind, name.to_owned(), name);
                }
            });
            if kind != self.prefs.drop {
                self.ask_for(Action::DropKind(kind));
            }
        });
        let gravity = self.facts().gravity;
        let (mut strength, mut angle) = (gravity.length(), gravity.to_angle().to_degrees() + 90.0);
        if angle > 180.0 {
            angle -= 360.0;
        }
        if strength == 0.0 {
            angle = 0.0;
        }
        let (before_strength, before_angle) = (strength, angle);
        ui.horizontal(|ui| {
            ui.spacing_mut().slider_width = 106.0;
            name(
                ui,
                "gravity now",
                74.0,
                "acceleration of falling bodies; the Earth's is 9.81 m/s². It changes while the world runs",
            );
            ui.add(slider(&mut strength, 0.0..=50.0).suffix(" m/s²").custom_formatter(digits::<2>));
        });
        ui.horizontal(|ui| {
            ui.spacing_mut().slider_width = 106.0;
            name(ui, "tilt", 74.0, "direction of gravity: 0 is down, 90° to the right ([ and ])");
            ui.add(slider(&mut angle, -180.0..=180.0).suffix("°").custom_formatter(digits::<0>));
        });
        if strength != before_strength || angle != before_angle {
            let turned = Vec2::from_angle((angle - 90.0).to_radians()) * strength;
            self.ask_for(Action::Gravity(turned));
        }
        ui.label(RichText::new("drag bodies · S shoots · X explodes · [ ] tilt · Delete removes").weak().small());
    }
}

/// Title of a scene, shortened so that the field beside it has room.
fn short_title(title: &str) -> String {
    const MOST: usize = 20;
    if title.chars().count() <= MOST {
        return title.to_owned();
    }
    title.chars().take(MOST - 1).chain(['…']).collect()
}

/// Name of the folder for files, for hover texts.
pub(super) fn folder_text(folder: &std::path::Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    whole.display().to_string()
}

/// Shows a slider for each parameter of a scene; during a drag, which builds nothing, also the number of bodies that
/// the scene will have. Returns the position of a parameter with its new value once the user has set it.
fn parameters_ui(ui: &mut egui::Ui, entry: &'static Entry, values: &[f64]) -> Option<(usize, f64)> {
    let (mut asked, mut planned) = (None, None);
    for (index, (parameter, value)) in entry.parameters.iter().zip(values).enumerate() {
        let mut new = *value;
        ui.horizontal(|ui| {
            let spacing = ui.spacing();
            let beside = PARAMETER_NAME + value_width(ui, parameter, *value) + 2.0 * spacing.item_spacing.x;
            ui.spacing_mut().slider_width = (ui.available_width() - beside).clamp(60.0, PARAMETER_SLIDER);
            let hint = parameter_hint(parameter);
            name(ui, parameter.name, PARAMETER_NAME, &hint);
            let mut handle = slider(&mut new, parameter.min..=parameter.max);
            handle = if parameter.integer { handle.integer() } else { handle.custom_formatter(plain) };
            if parameter.is_logarithmic() {
                handle = handle.logarithmic(true);
            }
            if let Some(unit) = parameter.unit() {
                handle = handle.suffix(format!(" {unit}"));
            }
            let response = ui.add(handle).on_hover_text(&hint);
            // During a drag nothing is built: the last value counts.
            let id = ui.scope_id().with(("parameter", entry.name, parameter.name));
            if response.changed() {
                ui.data_mut(|data| data.insert_temp(id, new));
            }
            if response.dragged() {
                planned = Some((index, new));
            }
            let settled = response.drag_stopped() || (response.changed() && !response.dragged());
            if settled && let Some(new) = ui.data_mut(|data| data.remove_temp::<f64>(id)) {
                asked = Some((index, new));
            }
        });
    }
    if let Some((index, value)) = planned {
        let given: Vec<(&str, f64)> = entry
            .parameters
            .iter()
            .zip(values)
            .enumerate()
            .map(|(at, (parameter, &old))| (parameter.name, if at == index { value } else { old }))
            .collect();
        if let Ok(bodies) = entry.body_count(&given) {
            ui.label(RichText::new(format!("will have {}", count(bodies, "body"))).strong());
        }
    }
    asked
}

/// Width of a parameter's name, and of its slider where its value has room beside it, points.
const PARAMETER_NAME: f32 = 96.0;
const PARAMETER_SLIDER: f32 = 110.0;

/// Width of the widest value that a parameter's field may show, with its unit, points.
fn value_width(ui: &egui::Ui, parameter: &Parameter, value: f64) -> f32 {
    let unit = parameter.unit().map_or_else(String::new, |unit| format!(" {unit}"));
    let font = egui::TextStyle::Button.resolve(ui.style());
    let width = |text: String| ui.painter().layout_no_wrap(text, font.clone(), egui::Color32::BLACK).size().x;
    let numbers = [parameter.min, parameter.max, value].map(|number| plain(number, 0..=6));
    // During a drag a value has four digits.
    let dragged = (!parameter.integer).then(|| "0.000".to_owned());
    let widest = numbers.into_iter().chain(dragged).map(|number| width(number + &unit)).fold(0.0, f32::max);
    (widest + 2.0 * ui.spacing().button_padding.x).max(ui.spacing().interact_size.x)
}

/// Hover text of a parameter.
fn parameter_hint(parameter: &Parameter) -> String {
    let more = if parameter.name == "gravity" {
        "; builds the scene again. \"gravity now\" in Tools changes it while the world runs"
    } else {
        ""
    };
    format!("{}{more}", parameter.meaning)
}

/// Text with the gravity of a scene, as it begins.
fn gravity_text(gravity: Vec2) -> String {
    if gravity == Vec2::ZERO {
        return "gravity of the scene: none".to_owned();
    }
    let strength = plain(f64::from(gravity.length()), 0..=6);
    if gravity.x == 0.0 {
        let way = if gravity.y < 0.0 { "downwards" } else { "upwards" };
        return format!("gravity of the scene: {strength} m/s² {way}");
    }
    let [x, y] = [gravity.x, gravity.y].map(|side| plain(f64::from(side), 0..=6));
    format!("gravity of the scene: {strength} m/s² ({x}, {y})")
}

/// Scenes of the list: all of them by topics, or the result of a search.
fn listed(wanted: &str) -> Vec<(Option<Topic>, Vec<&'static Entry>)> {
    if wanted.trim().is_empty() {
        return catalogue::by_topic().into_iter().map(|(topic, entries)| (Some(topic), entries)).collect();
    }
    vec![(None, found(wanted))]
}

/// Searches the catalogue: first the scene of that name, then names that begin with the text, then names that contain
/// it, then scenes with the text in their description.
fn found(wanted: &str) -> Vec<&'static Entry> {
    let name = wanted.split_whitespace().collect::<Vec<_>>().join("_");
    let mut found = catalogue::search(wanted);
    found.sort_by_key(|entry| {
        let is_so = [entry.name == name, entry.name.starts_with(&name), entry.name.contains(&name)];
        is_so.iter().position(|&is_so| is_so).unwrap_or(is_so.len())
    });
    found
}

/// Shows a row of the list: picture, name and summary of a scene. The whole summary is in its hover text.
fn scene_entry(
    ui: &mut egui::Ui,
    entry: &Entry,
    picture: Option<egui::TextureId>,
    is_selected: bool,
) -> egui::Response {
    let chosen = ui.visuals().selection.stroke.color;
    let (strong, weak) =
        if is_selected { (chosen, chosen) } else { (ui.visuals().strong_text_color(), ui.visuals().weak_text_color()) };
    let small = egui::TextStyle::Small.resolve(ui.style());
    let mut text = egui::text::LayoutJob::default();
    text.append(entry.name, 0.0, egui::TextFormat { color: strong, ..egui::TextFormat::default() });
    let format = egui::TextFormat { font_id: small, color: weak, ..egui::TextFormat::default() };
    text.append(&format!("\n{}", entry.summary), 0.0, format);
    let frame = egui::IdSalt::new("picture");
    text.wrap.max_width = ui.available_width() - POINTS.x - 24.0;
    // The name, and two lines of the summary.
    text.wrap.max_rows = 3;
    let space = egui::Atom::custom(frame, POINTS);
    let button = egui::Button::selectable(is_selected, (space, text)).min_size(egui::vec2(ui.available_width(), 0.0));
    let shown = button.atom_ui(ui);
    if let Some(rect) = shown.rect(frame) {
        let corner = egui::CornerRadius::same(3);
        if let Some(picture) = picture {
            egui::Image::new((picture, POINTS)).corner_radius(corner).paint_at(ui, rect);
        } else {
            ui.painter().rect_filled(rect, corner, ui.visuals().faint_bg_color);
        }
        ui.painter().rect_stroke(rect, corner, ui.visuals().window_stroke, egui::StrokeKind::Inside);
    }
    shown.response.on_hover_text(format!("{}\n\n{}", entry.summary, entry.source))
}

#[cfg(test)]
mod tests {
    use super::super::texts::{dragged, hover_texts, right_edge, shown_texts, without_meaning};
    use super::*;
    use drystone_scenes::catalogue::Parameter;

    /// A slider dragged to the middle of its range stands at a usual size, and not at half of the largest one; the
    /// number of bodies that this size has is shown during the drag, and the value counts at its end.
    #[test]
    fn sliders_of_sizes_show_the_number_of_bodies() {
        let entry = catalogue::find("tumbler").unwrap();
        let values: Vec<f64> = entry.parameters.iter().map(|parameter| parameter.default).collect();
        let grid = entry.parameters.iter().position(|parameter| parameter.name == "grid").unwrap();
        let mut asked = None;
        let during = dragged(egui::vec2(340.0, 300.0), "grid", [102.0, 158.0], |ui| {
            asked = parameters_ui(ui, entry, &values).or(asked);
        });
        let (index, value) = asked.expect("the drag has ended");
        let Parameter { min, max, .. } = entry.parameters[grid];
        assert_eq!(index, grid);
        assert!((20.0..200.0).contains(&value) && value < 0.05 * (min + max), "{value} of {min} to {max}");
        // The number that the scene has when it is built with this value.
        let bodies = entry.build(&[("grid", value)]).unwrap().bodies.len() as u64;
        let wanted = format!("will have {}", count(bodies, "body"));
        assert!(during.contains(&wanted), "{wanted}: {during:?}");
        assert_ne!(bodies, entry.body_count(&[]).unwrap(), "the control: another size than before");
        // Without a drag nothing is planned.
        let mut asked = None;
        let still = dragged(egui::vec2(340.0, 300.0), "grid", [102.0, 102.0], |ui| {
            asked = parameters_ui(ui, entry, &values).or(asked);
        });
        assert!(asked.is_none_or(|(_, value)| value < 60.0) && !still.contains(&wanted), "{still:?}");
    }

    #[test]
    fn parameters_say_what_they_are() {
        // Each on its own: coordinates may share a text.
        for (entry, p) in catalogue::entries().iter().flat_map(|entry| entry.parameters.iter().map(move |p| (entry, p)))
        {
            assert_eq!(without_meaning(&[(p.name, p.meaning)]), Vec::<&str>::new(), "{}", entry.name);
        }
        let entry = catalogue::find("tumbler").unwrap();
        let values: Vec<f64> = entry.parameters.iter().map(|parameter| parameter.default).collect();
        let shown = hover_texts(egui::vec2(340.0, 300.0), "grid", |ui| {
            parameters_ui(ui, entry, &values);
        });
        let grid = entry.parameters.iter().find(|parameter| parameter.name == "grid").unwrap();
        assert_eq!(shown, [grid.meaning]);
        let gravity = catalogue::find("pendulum").unwrap().parameters.iter().find(|p| p.name == "gravity").unwrap();
        assert!(parameter_hint(gravity).contains("gravity now") && !parameter_hint(grid).contains("gravity"));
    }

    /// The value of a parameter has its unit beside it; a count has none.
    #[test]
    fn parameters_have_their_unit() {
        let shown = |name: &str| {
            let entry = catalogue::find(name).unwrap();
            let values: Vec<f64> = entry.parameters.iter().map(|parameter| parameter.default).collect();
            shown_texts(egui::vec2(super::super::ROOM, 300.0), |ui| _ = parameters_ui(ui, entry, &values))
        };
        let pendulum = shown("pendulum");
        for unit in [" m", " rad", " m/s²"] {
            assert!(pendulum.iter().any(|text| text == unit), "{unit}: {pendulum:?}");
        }
        assert_eq!(shown("tumbler").iter().filter(|text| text.starts_with(' ')).count(), 1, "{:?}", shown("tumbler"));
        // In the width of the panel there is room for all values of all parameters.
        for entry in catalogue::entries() {
            for of in [|p: &Parameter| p.min, |p: &Parameter| p.max, |p: &Parameter| p.default] {
                let values: Vec<f64> = entry.parameters.iter().map(of).collect();
                let right = right_edge(egui::vec2(800.0, 300.0), |ui| {
                    ui.set_max_width(super::super::ROOM);
                    parameters_ui(ui, entry, &values);
                });
                assert!(right <= super::super::ROOM + 0.5, "{}: {right}", entry.name);
            }
        }
    }

    /// The gravity of a scene stands under it, whether or not it is a parameter; a parameter has its slider there.
    #[test]
    fn gravity_stands_with_the_scene() {
        let texts = [Vec2::new(0.0, -9.81), Vec2::new(0.0, 3.0), Vec2::ZERO, Vec2::new(1.0, -2.0)].map(gravity_text);
        let expected = ["9.81 m/s² downwards", "3 m/s² upwards", "none", "2.236 m/s² (1, -2)"];
        for (text, expected) in texts.iter().zip(expected) {
            assert_eq!(*text, format!("gravity of the scene: {expected}"));
        }
        let shown = |name: &str| {
            let entry = catalogue::find(name).unwrap();
            let values: Vec<f64> = entry.parameters.iter().map(|parameter| parameter.default).collect();
            shown_texts(egui::vec2(340.0, 400.0), |ui| _ = parameters_ui(ui, entry, &values))
        };
        assert!(shown("pendulum").contains(&"gravity".to_owned()), "{:?}", shown("pendulum"));
        assert!(!shown("vertical_stack").contains(&"gravity".to_owned()), "the control: it has no such parameter");
    }

    #[test]
    fn long_titles_leave_room_for_the_path() {
        assert_eq!(short_title("arch"), "arch");
        let short = short_title("particles_in_a_turning_box");
        assert!(short.chars().count() == 20 && short.ends_with('…'), "{short}");
    }

    /// A search puts the scene of that name first, then names that begin with the text.
    #[test]
    fn names_come_before_descriptions() {
        let names = |wanted: &str| found(wanted).iter().map(|entry| entry.name).collect::<Vec<_>>();
        for entry in catalogue::entries() {
            assert_eq!(names(entry.name)[0], entry.name);
            assert_eq!(names(&entry.name.replace('_', " "))[0], entry.name);
        }
        assert_eq!(names("pendulum")[0], "pendulum");
        assert!(names("far")[..2].iter().all(|name| name.starts_with("far_")), "{:?}", names("far"));
        let ranks: Vec<bool> = names("stack").iter().map(|name| !name.contains("stack")).collect();
        assert!(ranks.is_sorted() && !ranks[0] && ranks.contains(&true), "{:?}", names("stack"));
    }

    #[test]
    fn sizes_of_large_scenes_are_set_by_powers() {
        let parameter = |scene: &str, name: &str| {
            let entry = catalogue::find(scene).unwrap();
            *entry.parameters.iter().find(|parameter| parameter.name == name).unwrap()
        };
        assert!(parameter("tumbler", "grid").is_logarithmic() && parameter("rod_chain", "links").is_logarithmic());
        assert!(!parameter("tumbler", "speed").is_logarithmic() && !parameter("slope", "friction").is_logarithmic());
    }
}
