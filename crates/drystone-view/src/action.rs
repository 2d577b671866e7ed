//! What a user can ask for: one vocabulary for keys, buttons and scripts.

use glam::Vec2;

use super::run::On;
use drystone::scene::Settings;

/// Something asked for; done between two frames.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// A scene by its name, spec or path.
    Open(String),
    /// A parameter of the catalogue's scene, by its place; builds the scene anew.
    Parameter(usize, f64),
    Restart,
    TogglePause,
    Pause,
    /// So many steps, then pause.
    Step(u64),
    /// So many steps back.
    Back(u64),
    Seek(u64),
    /// Simulated seconds a second.
    Speed(f64),
    Slower,
    Faster,
    On(On),
    OtherBackend,
    Settings(Box<Settings>),
    /// Backend and settings: what the three above mean.
    Carry(On, Box<Settings>),
    Twin,
    FrameAll,
    Gravity(Vec2),
    /// Turns gravity, rad.
    Tilt(f32),
    ResetGravity,
    /// Drops what is chosen, m.
    Drop(Vec2),
    Shoot(Vec2),
    Explode(Vec2),
    /// Removes the body at a place, m; `None`: the pointer is not over the world.
    Remove(Option<Vec2>),
    /// Takes back the last change, and goes back to where it was made.
    Undo,
    Panel,
    Keys,
    Dark,
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
    /// Cancels what takes its time.
    LeaveOff,
    /// A world on its way to a step stays where it is.
    Halt,
    Quit,
}

/// What must be so before something that was asked for can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: it changes only what is seen.
    Nothing,
    /// Nothing, but it comes after what was asked for before.
    Turn,
    /// The world, between two steps.
    World,
    /// Nothing, and what was asked of the world before is void: there is another one.
    Another,
}

impl Action {
    /// See [`Needs`].
    pub fn needs(&self) -> Needs {
        match self {
            Self::Open(_) | Self::Parameter(..) | Self::Restart => Needs::Another,
            Self::TogglePause | Self::Pause | Self::Step(_) | Self::Speed(_) | Self::Slower | Self::Faster => {
                Needs::Turn
            }
            Self::Panel
            | Self::Keys
            | Self::Dark
            | Self::NextColoring
            | Self::Layer(..)
            | Self::Coloring(_)
            | Self::Csv
            | Self::Trace
            | Self::DropCount(_)
            | Self::DropKind(_)
            | Self::LeaveOff
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
            | Self::Undo
            | Self::Measure
            | Self::SavePicture
            | Self::SaveState
            | Self::SaveScene
            | Self::Record => Needs::World,
        }
    }
}

/// A key, what it asks for, and what is said of it.
pub(crate) struct Key {
    pub code: egui::Key,
    pub shown: &'static str,
    pub meaning: &'static str,
    /// Given the place under the pointer.
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
pub(crate) const KEYS: [Key; 29] = [
    key(egui::Key::Space, "Space", "run or pause", |_| Action::TogglePause),
    key(egui::Key::ArrowRight, "→", "one step", |_| Action::Step(1)),
    key(egui::Key::ArrowLeft, "←", "one step back", |_| Action::Back(1)),
    key(egui::Key::PageDown, "Page down", "60 steps", |_| Action::Step(60)),
    key(egui::Key::PageUp, "Page up", "60 steps back", |_| Action::Back(60)),
    key(egui::Key::R, "R", "restart the scene", |_| Action::Restart),
    key(egui::Key::Minus, "−", "slower", |_| Action::Slower),
    key(egui::Key::Equals, "=", "faster", |_| Action::Faster),
    key(egui::Key::F, "F", "frame everything", |_| Action::FrameAll),
    key(egui::Key::D, "D", "drop bodies at the pointer", |under| Action::Drop(under.at)),
    key(egui::Key::S, "S", "shoot at the pointer", |under| Action::Shoot(under.at)),
    key(egui::Key::X, "X", "explode at the pointer", |under| Action::Explode(under.at)),
    key(egui::Key::Delete, "Delete", "remove the body under the pointer", |under| {
        Action::Remove(under.is_over.then_some(under.at))
    }),
    key(egui::Key::Z, "Z", "undo the last change", |_| Action::Undo),
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
    key(egui::Key::Escape, "Esc", "cancel what is being opened or moved", |_| Action::LeaveOff),
    key(egui::Key::Questionmark, "?", "these keys", |_| Action::Keys),
];

/// What the pointer does.
pub(crate) const POINTER: [(&str, &str); 5] = [
    ("drag a body", "pull it along"),
    ("drag elsewhere", "move the view"),
    ("right drag", "move the view, from anywhere"),
    ("wheel", "zoom at the pointer"),
    ("drop a file", "open the scene or world"),
];

/// rad.
const TILT: f32 = std::f32::consts::PI / 12.0;

const fn key(code: egui::Key, shown: &'static str, meaning: &'static str, action: fn(Under) -> Action) -> Key {
    Key { code, shown, meaning, action }
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
