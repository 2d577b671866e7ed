//! A gallery: pages of several scenes, with pictures and an index.
//!
//! ```
//! use drystone_web::gallery::{GalleryEntry, index};
//!
//! let [title, page, picture] = ["arch", "arch.html", "arch.png"].map(str::to_owned);
//! let html = index(&[GalleryEntry { title, summary: String::new(), page, picture }]);
//! assert!(html.contains("href=\"arch.html\""));
//! ```

use super::escaped;

/// Scenes of a gallery, as specs of the catalogue.
pub const SCENES: [&str; 12] = [
    "large_pyramid:base=30",
    "tumbler:grid=12",
    "vertical_stack",
    "card_house",
    "smash:columns=8,rows=6",
    "domino",
    "circle_stack",
    "bridge",
    "pendulum",
    "joint_grid:size=10",
    "mixed_sizes:bodies=200",
    "friction_ramp",
];

/// Page of a gallery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GalleryEntry {
    /// Name of the scene.
    pub title: String,
    /// A sentence about it.
    pub summary: String,
    /// Name of its page, in the same folder.
    pub page: String,
    /// Name of its picture, in the same folder.
    pub picture: String,
}

/// Returns the index of a gallery.
#[must_use]
pub fn index(entries: &[GalleryEntry]) -> String {
    let mut cards = String::new();
    for GalleryEntry { title, summary, page, picture } in entries {
        let [title, summary, page, picture] = [title, summary, page, picture].map(|text| escaped(text));
        cards += &format!(
            "<a href=\"{page}\"><img src=\"{picture}\" alt=\"\" width=\"480\" height=\"300\" loading=\"lazy\">\
             <strong>{title}</strong><span>{summary}</span></a>\n"
        );
    }
    include_str!("../page/gallery.html").replacen("{{cards}}", &cards, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_link_pages() {
        let entry = GalleryEntry {
            title: "a & b".to_owned(),
            summary: String::new(),
            page: "a.html".to_owned(),
            picture: "a.png".to_owned(),
        };
        let html = index(&[entry]);
        assert!(html.contains("href=\"a.html\"") && html.contains("a &amp; b") && !html.contains("{{"));
    }
}
