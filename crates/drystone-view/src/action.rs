//! Actions of the user, the same for keys, buttons and scripts; the list of keys; and the state of the world that each
//! action needs.

use glam::Vec2;

use super::build::{DrawnOutline, Stock, Tool};
use super::run::On;
use super::select::{BodyChange, SelectionRequest};
use drystone::{Joint, Settings};

/// Action of the user, done between two frames.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Opens a scene by its name, spec or path.
    Open(String),
    /// Sets a parameter of a catalogue scene, by its index, and builds the scene again.
    Parameter(usize, f64),
    /// Takes the scene back to its start, with everything that was built in it.
    Restart,
    TogglePause,
    Pause,
    /// Pauses, and does this number of steps.
    Step(u64),
    /// Goes back by this number of steps.
    Back(u64),
    /// Goes to a step.
    Seek(u64),
    /// Sets the speed, simulated seconds per second.
    Speed(f64),
    Slower,
    Faster,
    On(On),
    OtherBackend,
    Settings(Box<Settings>),
    /// Moves the world to a backend, with settings: the three above become this.
    Carry(On, Box<Settings>),
    Twin,
    FrameAll,
    Gravity(Vec2),
    /// Turns gravity, rad.
    Tilt(f32),
    ResetGravity,
    /// Drops bodies of the chosen kind at a place, m.
    Drop(Vec2),
    Shoot(Vec2),
    Explode(Vec2),
    /// Removes the body at a place, m; `None`: the pointer is not over the world.
    Remove(Option<Vec2>),
    /// Graphs the body at a place, m, or stops graphing it; `None`: the pointer is not over the world.
    Watch(Option<Vec2>),
    /// Stops graphing a body, by its index among those that are graphed.
    Unwatch(usize),
    /// Writes the graphs of bodies as a table.
    SaveGraphs,
    /// Writes the energies of the world over time as a table.
    SaveEnergies,
    /// Reverts the last change; without one, the opening of this scene.
    Undo,
    /// Makes the last undone change again.
    Redo,
    /// Activates a tool.
    Tool(Tool),
    /// Sets the properties of new bodies and springs.
    Stock(Stock),
    /// Adds a body with an outline.
    Draw(DrawnOutline),
    /// Closes the polygon that is being drawn.
    Finish,
    /// A click with a tool that makes joints, at a place, m.
    Pick(Tool, Vec2),
    Select(SelectionRequest),
    /// Changes the selected body.
    Change(BodyChange),
    /// Gives the selected joint other settings; with the name of the changed one.
    ChangeJoint(&'static str, Box<Joint>),
    /// Removes all dynamic bodies.
    Clear,
    /// Opens an empty scene to build in.
    NewScene,
    Panel,
    Keys,
    Dark,
    /// Makes texts and panel larger by a number of notches, or smaller.
    TextSize(i32),
    /// Gives texts and panel their usual size.
    UsualTextSize,
    NextColoring,
    Layer(String, Option<bool>),
    Coloring(String),
    Measure,
    SavePicture,
    SaveState,
    /// Writes the world as a scene file.
    SaveScene,
    Record,
    Csv,
    Trace,
    DropCount(u32),
    DropKind(String),
    /// Cancels the newest of: opening, job, seek, drawing, tool, selection.
    LeaveOff,
    /// Stops a world on its way to a step where it is.
    Halt,
    Quit,
}

/// Condition for an action to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// None: the action changes only the picture or the panel.
    Nothing,
    /// All actions before it have been carried out.
    Turn,
    /// All actions before it have been carried out, and the world is between two steps.
    World,
    /// None; another world comes, and actions on the old one that still wait are dropped.
    Another,
}

impl Action {
    /// Returns true for actions at a place in the world.
    pub fn has_place(&self) -> bool {
        matches!(self, Self::Drop(_) | Self::Shoot(_) | Self::Explode(_) | Self::Remove(_))
    }

    /// Returns true for actions whose effect a restart keeps.
    pub fn builds(&self) -> bool {
        matches!(
            self,
            Self::Draw(_)
                | Self::Pick(..)
                | Self::Change(_)
                | Self::ChangeJoint(..)
                | Self::Clear
                | Self::Remove(_)
                | Self::Undo
                | Self::Redo
        )
    }

    /// Condition for the action to be carried out.
    pub fn needs(&self) -> Needs {
        match self {
            Self::Open(_) | Self::Parameter(..) | Self::Restart | Self::NewScene => Needs::Another,
            Self::TogglePause | Self::Pause | Self::Step(_) | Self::Speed(_) | Self::Slower | Self::Faster => {
                Needs::Turn
            }
            Self::Panel
            | Self::Keys
            | Self::Dark
            | Self::TextSize(_)
            | Self::UsualTextSize
            | Self::NextColoring
            | Self::Layer(..)
            | Self::Coloring(_)
            | Self::Csv
            | Self::Trace
            | Self::SaveGraphs
            | Self::SaveEnergies
            | Self::DropCount(_)
            | Self::DropKind(_)
            | Self::LeaveOff
            | Self::Tool(_)
            | Self::Stock(_)
            | Self::Finish
            | Self::Quit => Needs::Nothing,
            Self::Back(_)
            | Self::Seek(_)
            | Self::On(_)
            | Self::OtherBackend
            | Self::Settings(_)
            | Self::Carry(..)
            | Self::Halt
            | Self::Twin
            | Self::FrameAll
            | Self::Gravity(_)
            | Self::Tilt(_)
            | Self::ResetGravity
            | Self::Drop(_)
            | Self::Shoot(_)
            | Self::Explode(_)
            | Self::Remove(_)
            | Self::Watch(_)
            | Self::Unwatch(_)
            | Self::Undo
            | Self::Redo
            | Self::Draw(_)
            | Self::Pick(..)
            | Self::Select(_)
            | Self::Change(_)
            | Self::ChangeJoint(..)
            | Self::Clear
            | Self::Measure
            | Self::SavePicture
            | Self::SaveState
            | Self::SaveScene
            | Self::Record => Needs::World,
        }
    }
}

/// A key with its action, and its line in the list of keys.
pub(crate) struct KeyBinding {
    pub code: egui::Key,
    pub shown: &'static str,
    pub meaning: &'static str,
    /// Makes the action for the place under the pointer.
    pub action: fn(Under) -> Action,
}

/// The place under the pointer when a key is pressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Under {
    /// The middle of the picture where the pointer is not over the world, m.
    pub at: Vec2,
    /// True if the pointer is over the world.
    pub is_over: bool,
}

/// All keys, in the order in which they are shown.
pub(crate) const KEYS: [KeyBinding; 40] = [
    key(egui::Key::Space, "Space", "run or pause", |_| Action::TogglePause),
    key(egui::Key::ArrowRight, "→", "one step", |_| Action::Step(1)),
    key(egui::Key::ArrowLeft, "←", "one step back", |_| Action::Back(1)),
    key(egui::Key::PageDown, "Page down", "60 steps", |_| Action::Step(60)),
    key(egui::Key::PageUp, "Page up", "60 steps back", |_| Action::Back(60)),
    key(egui::Key::R, "R", "restart: back to the beginning", |_| Action::Restart),
    key(egui::Key::Minus, "−", "slower", |_| Action::Slower),
    key(egui::Key::Equals, "=", "faster", |_| Action::Faster),
    key(egui::Key::F, "F", "frame everything", |_| Action::FrameAll),
    key(egui::Key::D, "D", "drop bodies at the pointer", |under| Action::Drop(under.at)),
    key(egui::Key::S, "S", "shoot at the pointer", |under| Action::Shoot(under.at)),
    key(egui::Key::X, "X", "explode at the pointer", |under| Action::Explode(under.at)),
    key(egui::Key::Delete, "Delete", "remove the body or joint pointed at", |under| {
        Action::Remove(under.is_over.then_some(under.at))
    }),
    key(egui::Key::W, "W", "graph the body under the pointer", |under| {
        Action::Watch(under.is_over.then_some(under.at))
    }),
    key(egui::Key::Z, "Z", "undo the last change", |_| Action::Undo),
    key(egui::Key::Y, "Y", "make the undone change again", |_| Action::Redo),
    key(egui::Key::Num1, "1", "select and pull bodies", |_| Action::Tool(Tool::Move)),
    key(egui::Key::Num2, "2", "draw boxes", |_| Action::Tool(Tool::Box)),
    key(egui::Key::Num3, "3", "draw circles", |_| Action::Tool(Tool::Circle)),
    key(egui::Key::Num4, "4", "draw polygons", |_| Action::Tool(Tool::Polygon)),
    key(egui::Key::Enter, "Enter", "close the polygon", |_| Action::Finish),
    key(egui::Key::Num5, "5", "hinge between two clicks", |_| Action::Tool(Tool::Hinge)),
    key(egui::Key::Num6, "6", "spring between two clicks", |_| Action::Tool(Tool::Spring)),
    key(egui::Key::Num7, "7", "rod between two clicks", |_| Action::Tool(Tool::Rod)),
    key(egui::Key::Num8, "8", "weld between two clicks", |_| Action::Tool(Tool::Weld)),
    key(egui::Key::OpenBracket, "[", "tilt gravity to the left", |_| Action::Tilt(-TILT)),
    key(egui::Key::CloseBracket, "]", "tilt gravity to the right", |_| Action::Tilt(TILT)),
    key(egui::Key::Backslash, "\\", "gravity as in the scene", |_| Action::ResetGravity),
    key(egui::Key::B, "B", "other backend", |_| Action::OtherBackend),
    key(egui::Key::T, "T", "CPU beside GPU, coloured by distance", |_| Action::Twin),
    key(egui::Key::C, "C", "next colouring", |_| Action::NextColoring),
    key(egui::Key::N, "N", "contact points and normals", |_| Action::Layer("contacts".to_owned(), None)),
    key(egui::Key::L, "L", "light or dark", |_| Action::Dark),
    key(egui::Key::Tab, "Tab", "show or hide the panel", |_| Action::Panel),
    key(egui::Key::P, "P", "save a picture", |_| Action::SavePicture),
    key(egui::Key::G, "G", "record a GIF, or stop", |_| Action::Record),
    key(egui::Key::K, "K", "keep the world in a file, to go on", |_| Action::SaveState),
    key(egui::Key::J, "J", "save as a scene file (JSON)", |_| Action::SaveScene),
    key(egui::Key::Escape, "Esc", "cancel what is under way, deselect", |_| Action::LeaveOff),
    key(egui::Key::Questionmark, "?", "these keys", |_| Action::Keys),
];

/// Keys with Ctrl in the list of keys.
pub(crate) const WITH_CONTROL: [(&str, &str); 2] =
    [("Ctrl + −", "larger or smaller text"), ("Ctrl 0", "text as large as usual")];

/// Lines about the pointer in the list of keys.
pub(crate) const POINTER: [(&str, &str); 6] = [
    ("click a body", "select it (or a joint)"),
    ("drag a body", "pull it along"),
    ("drag elsewhere", "move the view"),
    ("right drag", "move the view, from anywhere"),
    ("wheel", "zoom at the pointer"),
    ("drop a file", "open the scene or world"),
];

/// The action of a key that is pressed with Ctrl or the command key.
pub(crate) fn with_control(key: egui::Key, shift: bool) -> Option<Action> {
    match (key, shift) {
        (egui::Key::Z, false) => Some(Action::Undo),
        (egui::Key::Z, true) | (egui::Key::Y, _) => Some(Action::Redo),
        (egui::Key::Plus | egui::Key::Equals, _) => Some(Action::TextSize(1)),
        (egui::Key::Minus, _) => Some(Action::TextSize(-1)),
        (egui::Key::Num0, _) => Some(Action::UsualTextSize),
        _ => None,
    }
}

/// Turn of gravity by one press of a key, rad.
const TILT: f32 = std::f32::consts::PI / 12.0;

const fn key(code: egui::Key, shown: &'static str, meaning: &'static str, action: fn(Under) -> Action) -> KeyBinding {
    KeyBinding { code, shown, meaning, action }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings() {
        for (index, one) in KEYS.iter().enumerate() {
            for other in &KEYS[..index] {
                assert!(one.code != other.code && one.shown != other.shown && one.meaning != other.meaning);
            }
        }
    }
}
