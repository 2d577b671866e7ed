//! Scripted user: reads lines that move the pointer, press keys, queue actions, resize the window, lose its surface or
//! device, and take screenshots. For tests and the pictures of the documentation. While a script runs, every frame is
//! 1/60 s.
//!
//! ```text
//! open vertical_stack:count=5     # any action by its word
//! frames 3                        # let frames pass; `run 60`: until 60 more steps are done
//! drag 400 300 500 250 12         # press, move in 12 frames, release; physical pixels of the window
//! key Space
//! shot stack.png
//! ```

use std::collections::VecDeque;
use std::path::PathBuf;

use super::action::Action;
use super::build::{DrawnOutline, Stock, Tool};
use super::run::On;
use super::select::{BodyChange, SelectionRequest};
use drystone::BodyType;

/// Line of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptLine {
    /// Queues an action.
    Act(Action),
    /// Lets a number of frames pass.
    Frames(u32),
    /// Lets frames pass until a number of steps more are done; the world must run.
    Run(u64),
    /// Lets frames pass until all steps, seeks, jobs, queries and actions are done.
    Settle,
    /// Lets frames pass until a number of scenes of the open list have their pictures.
    Thumbs(usize),
    /// Lets frames pass until no scene is being opened; with `true` until cancelled threads have ended as well.
    Opened(bool),
    /// Moves the pointer, px.
    Move([f32; 2]),
    /// Presses (true) or releases a button.
    Button(bool, egui::PointerButton),
    /// Puts down, moves or lifts a finger, at a place, px.
    Touch(egui::TouchPhase, [f32; 2]),
    /// Turns the wheel, lines.
    Wheel(f32),
    /// Presses and releases a key.
    Key(egui::Key),
    /// Types text.
    Text(String),
    /// Drops a file onto the window.
    DropFile(PathBuf),
    /// Resizes the window, px.
    Size([u32; 2]),
    /// Moves the window on the screen, px.
    Place([f32; 2]),
    /// Sets the pixels per point of the screen.
    Scale(f32),
    /// Gives the surface no size, as a minimized window has.
    Minimize,
    /// Makes a new surface, as after a loss.
    LoseSurface,
    /// Destroys the device.
    LoseDevice,
    /// Closes the window, as its own button does.
    Close,
    /// Writes a screenshot.
    Shot(PathBuf),
    /// Writes the state as JSON.
    Report(PathBuf),
    /// Writes the remembered choices.
    Prefs(PathBuf),
    /// Sets the folder for files that the window writes.
    Folder(PathBuf),
    /// Copies the content of the first file into the second, as another program would.
    Rewrite(PathBuf, PathBuf),
    /// Length of the frames that follow for the panel, s, as on a slow machine. The world does not see it.
    FrameTime(f64),
    /// Switches frames that do not wait for the world, as for a user, on (true) or off.
    Live(bool),
    /// Switches input of the display on (true) or off.
    Hear(bool),
    /// Lets frames pass until a file exists.
    Await(PathBuf),
    /// Changes a setting, by its name in a scene file and its value.
    Setting(String),
}

/// Lines of a script that are still to be played.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowScript {
    pub lines: VecDeque<ScriptLine>,
}

impl WindowScript {
    /// Reads a script.
    ///
    /// # Errors
    /// The first line that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = VecDeque::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split(" #").next().unwrap_or("").trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = read(line).ok_or_else(|| format!("script line {number}: {}", fault(line)))?;
            lines.extend(read);
        }
        Ok(Self { lines })
    }
}

/// First words of lines, in the order of [`read`].
const WORDS: [&str; 78] = [
    "open",
    "restart",
    "pause",
    "toggle",
    "step",
    "back",
    "seek",
    "speed",
    "backend",
    "parameter",
    "setting",
    "twin",
    "frame_all",
    "gravity",
    "drop",
    "drop_count",
    "drop_kind",
    "shoot",
    "explode",
    "remove",
    "watch",
    "graphs",
    "energies",
    "panel",
    "keys",
    "dark",
    "layer",
    "coloring",
    "measure",
    "picture",
    "state",
    "save_scene",
    "redo",
    "clear",
    "new",
    "tool",
    "stock",
    "draw",
    "pick",
    "select",
    "change",
    "undo",
    "record",
    "csv",
    "trace",
    "quit",
    "frames",
    "run",
    "settle",
    "thumbs",
    "opened",
    "left_off",
    "move",
    "down",
    "up",
    "click",
    "drag",
    "touch",
    "wheel",
    "key",
    "text",
    "drop_file",
    "size",
    "place",
    "scale",
    "rewrite",
    "frame_time",
    "live",
    "hear",
    "await",
    "minimize",
    "lose_surface",
    "lose_device",
    "close",
    "folder",
    "shot",
    "report",
    "prefs",
];

/// Error text for a line: an unknown word with the nearest known one and a list of all, or the text after a known word.
fn fault(line: &str) -> String {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    if WORDS.contains(&word) {
        return match rest.trim() {
            "" => format!("`{word}` needs more than the word"),
            rest => format!("cannot read {rest:?} after `{word}`"),
        };
    }
    let wanted: String = word.chars().take(32).flat_map(char::to_lowercase).collect();
    let likeness = |other: &str| strsim::jaro_winkler(&wanted, other);
    let nearest = WORDS.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let meant = nearest.filter(|word| likeness(word) > 0.8).map(|word| format!("; did you mean `{word}`?"));
    format!("unknown word {word:?} in a script{}\nwords: {}", meant.unwrap_or_default(), WORDS.join(", "))
}

/// Reads a line; `None` if it cannot be read.
fn read(line: &str) -> Option<Vec<ScriptLine>> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let numbers: Vec<f32> = rest.split_whitespace().map_while(|part| part.parse().ok()).collect();
    let number = |index: usize| numbers.get(index).copied();
    let point = |index: usize| Some([number(index)?, number(index + 1)?]);
    let place = || Some(glam::Vec2::from(point(0)?));
    let count = || rest.parse::<u32>().ok();
    let steps = || rest.parse::<u64>().ok();
    let path = || (!rest.is_empty()).then(|| PathBuf::from(rest));
    let act = |action| Some(vec![ScriptLine::Act(action)]);
    let primary = egui::PointerButton::Primary;
    match word {
        "open" => act(Action::Open(rest.to_owned())),
        "restart" => act(Action::Restart),
        "pause" => act(Action::Pause),
        "toggle" => act(Action::TogglePause),
        "step" => Some(vec![ScriptLine::Act(Action::Step(steps()?)), ScriptLine::Settle]),
        "back" => Some(vec![ScriptLine::Act(Action::Back(steps()?)), ScriptLine::Settle]),
        "seek" => Some(vec![ScriptLine::Act(Action::Seek(steps()?)), ScriptLine::Settle]),
        "speed" => act(Action::Speed(f64::from(number(0)?))),
        "backend" => act(Action::On(match rest {
            "cpu" => On::Cpu,
            "gpu" => On::Gpu,
            _ => return None,
        })),
        "parameter" => {
            let (index, value) = rest.split_once(' ')?;
            act(Action::Parameter(index.parse().ok()?, value.trim().parse().ok()?))
        }
        "setting" => Some(vec![ScriptLine::Setting(rest.to_owned()), ScriptLine::Settle]),
        "twin" => act(Action::Twin),
        "frame_all" => Some(vec![ScriptLine::Act(Action::FrameAll), ScriptLine::Settle]),
        "gravity" => act(Action::Gravity(place()?)),
        "drop" => act(Action::Drop(place()?)),
        "drop_count" => act(Action::DropCount(count()?)),
        "drop_kind" => act(Action::DropKind(rest.to_owned())),
        "shoot" => act(Action::Shoot(place()?)),
        "explode" => act(Action::Explode(place()?)),
        "remove" => act(Action::Remove(place())),
        "watch" => Some(vec![ScriptLine::Act(Action::Watch(place())), ScriptLine::Settle]),
        "graphs" => Some(vec![ScriptLine::Settle, ScriptLine::Act(Action::SaveGraphs)]),
        "energies" => act(Action::SaveEnergies),
        "panel" => act(Action::Panel),
        "keys" => act(Action::Keys),
        "dark" => act(Action::Dark),
        "layer" => {
            let (name, on) = rest.split_once(' ')?;
            act(Action::Layer(name.to_owned(), Some(on == "on")))
        }
        "coloring" => act(Action::Coloring(rest.to_owned())),
        "measure" => act(Action::Measure),
        "picture" => act(Action::SavePicture),
        "state" => act(Action::SaveState),
        "save_scene" => act(Action::SaveScene),
        "redo" => Some(vec![ScriptLine::Act(Action::Redo), ScriptLine::Settle]),
        "clear" => act(Action::Clear),
        "new" => act(Action::NewScene),
        "tool" => act(Action::Tool(Tool::ALL.into_iter().find(|tool| tool.name() == rest)?)),
        "stock" => Some(vec![ScriptLine::Act(Action::Stock(stock(rest)?)), ScriptLine::Settle]),
        "draw" => {
            let (outline, places) = rest.split_once(' ')?;
            Some(vec![ScriptLine::Act(Action::Draw(drawn(outline, places)?)), ScriptLine::Settle])
        }
        "pick" => {
            let (name, place) = rest.split_once(' ')?;
            let tool = Tool::ALL.into_iter().find(|tool| tool.is_joint() && tool.name() == name)?;
            Some(vec![ScriptLine::Act(Action::Pick(tool, vector(place)?)), ScriptLine::Settle])
        }
        "select" => Some(vec![
            ScriptLine::Act(Action::Select(place().map_or(SelectionRequest::Nothing, SelectionRequest::At))),
            ScriptLine::Settle,
        ]),
        "change" => {
            let (name, value) = rest.split_once(' ')?;
            Some(vec![ScriptLine::Act(Action::Change(change(name, value)?)), ScriptLine::Settle])
        }
        "undo" => Some(vec![ScriptLine::Act(Action::Undo), ScriptLine::Settle]),
        "record" => act(Action::Record),
        "csv" => act(Action::Csv),
        "trace" => act(Action::Trace),
        "quit" => act(Action::Quit),
        "frames" => Some(vec![ScriptLine::Frames(count()?)]),
        "run" => Some(vec![ScriptLine::Run(steps()?)]),
        "settle" => Some(vec![ScriptLine::Settle]),
        "thumbs" => Some(vec![ScriptLine::Thumbs(rest.parse().ok()?), ScriptLine::Frames(2)]),
        "opened" => Some(vec![ScriptLine::Frames(1), ScriptLine::Opened(false)]),
        "left_off" => Some(vec![ScriptLine::Frames(1), ScriptLine::Opened(true)]),
        "move" => Some(vec![ScriptLine::Move(point(0)?), ScriptLine::Frames(1)]),
        "down" => Some(vec![ScriptLine::Button(true, button(rest)?)]),
        "up" => Some(vec![ScriptLine::Button(false, button(rest)?)]),
        "click" => Some(vec![
            ScriptLine::Move(point(0)?),
            ScriptLine::Frames(1),
            ScriptLine::Button(true, primary),
            ScriptLine::Frames(1),
            ScriptLine::Button(false, primary),
            ScriptLine::Frames(2),
        ]),
        "drag" => {
            let ([x, y], [to_x, to_y]) = (point(0)?, point(2)?);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few frames")]
            let frames = number(4).unwrap_or(10.0).clamp(1.0, 10_000.0) as u32;
            // Time for the query for the body under the pointer.
            let mut lines = vec![
                ScriptLine::Move([x, y]),
                ScriptLine::Frames(2),
                ScriptLine::Button(true, primary),
                ScriptLine::Frames(1),
                ScriptLine::Settle,
            ];
            for frame in 1..=frames {
                #[allow(clippy::cast_precision_loss, reason = "a few frames")]
                let share = frame as f32 / frames as f32;
                lines.push(ScriptLine::Move([x + (to_x - x) * share, y + (to_y - y) * share]));
                lines.push(ScriptLine::Frames(1));
            }
            lines.extend([ScriptLine::Button(false, primary), ScriptLine::Frames(1)]);
            Some(lines)
        }
        "touch" => {
            let (phase, at) = rest.split_once(' ')?;
            let phase = match phase {
                "down" => egui::TouchPhase::Start,
                "move" => egui::TouchPhase::Move,
                "up" => egui::TouchPhase::End,
                _ => return None,
            };
            let (x, y) = at.trim().split_once(' ')?;
            Some(vec![ScriptLine::Touch(phase, [x.parse().ok()?, y.trim().parse().ok()?]), ScriptLine::Frames(1)])
        }
        "wheel" => Some(vec![ScriptLine::Wheel(number(0)?), ScriptLine::Frames(12)]),
        "key" => Some(vec![ScriptLine::Key(egui::Key::from_name(rest)?), ScriptLine::Frames(2)]),
        "text" => Some(vec![ScriptLine::Text(rest.to_owned()), ScriptLine::Frames(2)]),
        "drop_file" => Some(vec![ScriptLine::DropFile(path()?), ScriptLine::Frames(2)]),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels")]
        "size" => Some(vec![ScriptLine::Size(point(0)?.map(|side| side.max(0.0) as u32)), ScriptLine::Frames(4)]),
        "place" => Some(vec![ScriptLine::Place(point(0)?), ScriptLine::Frames(3)]),
        "scale" => Some(vec![ScriptLine::Scale(number(0)?), ScriptLine::Frames(2)]),
        "rewrite" => {
            let (from, to) = rest.split_once(' ')?;
            Some(vec![ScriptLine::Rewrite(PathBuf::from(from), PathBuf::from(to.trim())), ScriptLine::Frames(2)])
        }
        "frame_time" => Some(vec![ScriptLine::FrameTime(f64::from(number(0)?))]),
        "live" => Some(vec![ScriptLine::Live(rest != "off")]),
        "hear" => Some(vec![ScriptLine::Hear(rest != "off")]),
        // Events of the display sent before the file was written arrive some frames later.
        "await" => Some(vec![ScriptLine::Await(path()?), ScriptLine::Frames(4), ScriptLine::Settle]),
        "minimize" => Some(vec![ScriptLine::Minimize, ScriptLine::Frames(3)]),
        "lose_surface" => Some(vec![ScriptLine::LoseSurface, ScriptLine::Frames(2)]),
        "lose_device" => Some(vec![ScriptLine::LoseDevice, ScriptLine::Frames(4), ScriptLine::Settle]),
        "close" => Some(vec![ScriptLine::Close]),
        "folder" => Some(vec![ScriptLine::Folder(path()?)]),
        "shot" => Some(vec![ScriptLine::Shot(path()?), ScriptLine::Frames(1)]),
        "report" => Some(vec![ScriptLine::Report(path()?), ScriptLine::Frames(1)]),
        "prefs" => Some(vec![ScriptLine::Prefs(path()?)]),
        _ => None,
    }
}

fn button(name: &str) -> Option<egui::PointerButton> {
    match name {
        "" | "left" => Some(egui::PointerButton::Primary),
        "right" => Some(egui::PointerButton::Secondary),
        "middle" => Some(egui::PointerButton::Middle),
        _ => None,
    }
}

fn vector(text: &str) -> Option<glam::Vec2> {
    let numbers: Vec<f32> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    <[f32; 2]>::try_from(numbers).ok().map(glam::Vec2::from)
}

fn kind(name: &str) -> Option<BodyType> {
    match name {
        "static" => Some(BodyType::Static),
        "kinematic" => Some(BodyType::Kinematic),
        "dynamic" => Some(BodyType::Dynamic),
        _ => None,
    }
}

/// Reads properties of new bodies (type, density, friction, restitution) and springs (frequency, damping).
fn stock(text: &str) -> Option<Stock> {
    let (name, numbers) = text.split_once(' ')?;
    let numbers: Vec<f32> = numbers.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [density, friction, restitution, hertz, damping] = <[f32; 5]>::try_from(numbers).ok()?;
    Some(Stock { kind: kind(name)?, density, friction, restitution, hertz, damping })
}

/// Reads an outline: its name and the places that define it, m.
fn drawn(name: &str, places: &str) -> Option<DrawnOutline> {
    let numbers: Vec<f32> = places.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let places: Vec<glam::Vec2> = numbers.chunks_exact(2).map(|pair| glam::Vec2::new(pair[0], pair[1])).collect();
    match (name, places.as_slice()) {
        ("box", &[a, b]) => Some(DrawnOutline::Box(a, b)),
        ("circle", &[center, rim]) => Some(DrawnOutline::Circle(center, rim)),
        ("polygon", _) => Some(DrawnOutline::Polygon(places)),
        _ => None,
    }
}

/// Reads a change of the selected body: the name of a property and its value.
fn change(name: &str, value: &str) -> Option<BodyChange> {
    let number = || value.parse::<f32>().ok();
    let on = || match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    Some(match name {
        "name" => BodyChange::Name((value != "-").then(|| value.to_owned())),
        "type" => BodyChange::Kind(kind(value)?),
        "density" => BodyChange::Density(number()?),
        "mass" => BodyChange::Mass(number()?),
        "friction" => BodyChange::Friction(number()?),
        "restitution" => BodyChange::Restitution(number()?),
        "gravity_scale" => BodyChange::GravityScale(number()?),
        "fixed_rotation" => BodyChange::FixedRotation(on()?),
        "bullet" => BodyChange::Bullet(on()?),
        "can_sleep" => BodyChange::CanSleep(on()?),
        "position" => BodyChange::Position(vector(value)?),
        "angle" => BodyChange::Angle(number()?),
        "velocity" => BodyChange::Velocity(vector(value)?),
        "angular_velocity" => BodyChange::Spin(number()?),
        _ => return None,
    })
}

/// Changes one setting by its name in a scene file.
///
/// # Errors
/// If there is no such setting or it cannot have the value.
pub(crate) fn change_setting(settings: &mut drystone::Settings, text: &str) -> Result<(), String> {
    let wrong = || format!("cannot set {text:?}");
    let (name, value) = text.split_once(' ').ok_or_else(wrong)?;
    let value = value.trim();
    let on = || match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(wrong()),
    };
    match name {
        "substeps" => settings.substeps = Some(value.parse().map_err(|_| wrong())?),
        "iterations" => settings.iterations = Some(value.parse().map_err(|_| wrong())?),
        "contact_hertz" => settings.contact_hertz = Some(value.parse().map_err(|_| wrong())?),
        "contact_damping_ratio" => settings.contact_damping_ratio = value.parse().map_err(|_| wrong())?,
        "push_speed" => settings.push_speed = Some(value.parse().map_err(|_| wrong())?),
        "length_unit" => settings.length_unit = Some(value.parse().map_err(|_| wrong())?),
        "dt" => settings.dt = value.parse().map_err(|_| wrong())?,
        "sleep" => settings.sleep = on()?,
        "relax" => settings.relax = on()?,
        "warm_start" => settings.warm_start = on()?,
        "initial_loads" => settings.initial_loads = on()?,
        "mass_scaling" => settings.mass_scaling = on()?,
        "continuous" => settings.continuous = on()?,
        "mode" => {
            settings.mode = match value {
                "soft" => drystone::Mode::Soft,
                "baumgarte" => drystone::Mode::Baumgarte,
                "projection" => drystone::Mode::Projection,
                _ => return Err(wrong()),
            }
        }
        _ => return Err(wrong()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_mistakes_named() {
        let script =
            WindowScript::parse("# a comment\nopen arch\n\nstep 3 # three\ndrag 1 2 3 4 2\nkey Space\n").unwrap();
        assert_eq!(script.lines[0], ScriptLine::Act(Action::Open("arch".to_owned())));
        assert_eq!(script.lines[1], ScriptLine::Act(Action::Step(3)));
        assert_eq!(script.lines[2], ScriptLine::Settle);
        assert_eq!(script.lines.iter().filter(|line| matches!(line, ScriptLine::Move(_))).count(), 3);
        let error = WindowScript::parse("open arch\nfly 3").unwrap_err();
        assert!(error.contains("line 2") && error.contains("fly"), "{error}");
        assert!(WindowScript::parse("key NoSuchKey").is_err() && WindowScript::parse("touch 3 4").is_err());
        // The error names an unknown word with the nearest and all known ones, a known word with the text after it.
        let error = WindowScript::parse("restrat").unwrap_err();
        assert!(error.contains("did you mean `restart`?") && error.contains("words: open, restart, "), "{error}");
        assert!(!WindowScript::parse("fly 3").unwrap_err().contains("did you mean"));
        assert_eq!(WindowScript::parse("touch 3 4").unwrap_err(), "script line 1: cannot read \"3 4\" after `touch`");
        assert_eq!(WindowScript::parse("click").unwrap_err(), "script line 1: `click` needs more than the word");
        let touch = WindowScript::parse("touch down 3 4").unwrap();
        assert_eq!(touch.lines[0], ScriptLine::Touch(egui::TouchPhase::Start, [3.0, 4.0]));
    }

    /// The list of words has all words that lines can begin with.
    #[test]
    fn all_words_are_listed() {
        let source = include_str!("script.rs");
        let arms = source.split("fn read(line").nth(1).and_then(|rest| rest.split("\nfn ").next()).unwrap();
        let words: Vec<&str> = arms
            .lines()
            .filter_map(|line| line.strip_prefix("        \"")?.split_once("\" =>").map(|(word, _)| word))
            .collect();
        assert!(words.len() > 50 && words.contains(&"open"), "{words:?}");
        assert_eq!(words, WORDS);
    }
}
