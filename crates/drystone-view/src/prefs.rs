//! Choices that are remembered from one session to the next, in a JSON file in the user's configuration folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Choices of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Prefs {
    /// Dark colours.
    pub dark: bool,
    /// Names of active layers ([`drystone_draw::Layers::NAMES`]).
    pub layers: Vec<String>,
    /// Name of the colouring ([`drystone_draw::Coloring::name`]).
    pub coloring: String,
    /// True if the panel is shown in a wide window.
    pub panel: bool,
    /// True if bodies sleep also in scenes that do not enable it.
    pub sleep: bool,
    /// Name of the kind of bodies that are dropped.
    pub drop: String,
    /// Number of bodies of a drop.
    pub drop_count: u32,
    /// Size of the window, points.
    pub size: [u32; 2],
    /// Factor of the user on the size of texts and panel, beside that of the window's size.
    pub zoom: f32,
    /// Width of the panel, points.
    pub panel_width: f32,
    /// Scenes opened last, the newest first.
    pub recent: Vec<String>,
}

impl Default for Prefs {
    fn default() -> Self {
        Self {
            dark: false,
            layers: vec!["shapes".to_owned(), "outlines".to_owned(), "sleep".to_owned(), "joints".to_owned()],
            coloring: "body".to_owned(),
            panel: true,
            sleep: true,
            drop: "box".to_owned(),
            drop_count: 1,
            size: [1280, 720],
            zoom: 1.0,
            panel_width: 334.0,
            recent: Vec::new(),
        }
    }
}

impl Prefs {
    /// Path of the file, if the system has a configuration folder.
    pub fn path() -> Option<PathBuf> {
        Some(directories::ProjectDirs::from("", "", "drystone")?.config_dir().join("view.json"))
    }

    /// Reads the file; gives the defaults if there is none or it is not valid, which must not keep the window from
    /// opening.
    pub fn load(path: Option<&std::path::Path>) -> Self {
        let text = path.and_then(|path| std::fs::read_to_string(path).ok());
        let mut prefs: Self = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        prefs.size = prefs.size.map(|side| side.clamp(320, 8192));
        prefs.zoom = if prefs.zoom.is_finite() { prefs.zoom.clamp(0.5, 3.0) } else { 1.0 };
        prefs.panel_width = if prefs.panel_width.is_finite() { prefs.panel_width.clamp(200.0, 8192.0) } else { 334.0 };
        prefs.recent.truncate(8);
        prefs
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &std::path::Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // The file is replaced whole or not at all.
        let fresh = path.with_extension("json.new");
        std::fs::write(&fresh, serde_json::to_string_pretty(self)? + "\n")?;
        std::fs::rename(&fresh, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/view.json");
        let prefs = Prefs { dark: true, zoom: 1.5, recent: vec!["arch".to_owned()], ..Prefs::default() };
        prefs.save(&path).unwrap();
        assert_eq!(Prefs::load(Some(&path)), prefs);
        assert_ne!(Prefs::load(Some(&path)), Prefs::default());
    }

    #[test]
    fn a_broken_file_is_no_obstacle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("view.json");
        std::fs::write(&path, "{ not json").unwrap();
        assert_eq!(Prefs::load(Some(&path)), Prefs::default());
        std::fs::write(&path, r#"{ "zoom": 1e9, "size": [0, 99999999], "unknown": 1, "dark": true }"#).unwrap();
        let prefs = Prefs::load(Some(&path));
        assert!(prefs.dark && prefs.zoom == 3.0 && prefs.size == [320, 8192]);
    }
}
