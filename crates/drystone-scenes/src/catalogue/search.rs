//! Text search for scenes: in names, keywords and summaries, with tolerance for misspellings.

use super::{ENTRIES, Entry};

/// Minimum Jaro-Winkler similarity, 0 to 1, for a word to count as a misspelling of another.
const MIN_LIKENESS: f64 = 0.9;
/// Minimum similarity for a name to count as a misspelling. Names are longer than words, and differ more.
const MIN_NAME_LIKENESS: f64 = 0.75;
/// Minimum length of a partial word that matches, in letters.
const MIN_PART: usize = 3;
/// Maximum length of a search text, in letters: comparing takes time quadratic in the length.
const MAX_WANTED: usize = 64;

/// Returns search keywords that occur in neither the name nor the summary of a scene.
fn keywords(name: &str) -> &'static [&'static str] {
    match name {
        "large_pyramid" | "many_pyramids" => &["stack", "pile", "tower"],
        "joint_grid" => &["cloth", "net", "hinge", "fabric"],
        "smash" => &["impact", "collision", "destruction", "projectile"],
        "tumbler" => &["drum", "mixer", "rotating", "granular"],
        "washer" => &["drum", "washing", "machine", "rotating"],
        "spinner" => &["mixer", "rotor", "chain"],
        "compounds" => &["compound", "concave", "several", "shapes"],
        "junkyard" => &["pusher", "bulldozer", "heap"],
        "rain" => &["ragdoll", "emitter", "people"],
        "vertical_stack" | "circle_stack" | "far_stack" => &["tower", "pile", "stacking"],
        "card_house" => &["cards", "house", "friction"],
        "arch" => &["bridge", "masonry", "vault", "keystone", "voussoir"],
        "domino" => &["dominoes", "chain", "reaction"],
        "high_mass_ratio_1" | "high_mass_ratio_2" | "high_mass_ratio_3" => &["heavy", "light", "weight", "stack"],
        "friction_ramp" | "slope" | "static_and_kinetic" => &["inclined", "incline", "plane", "slide", "coefficient"],
        "overlap_recovery" | "far_pyramid" => &["pyramid", "penetration", "precision"],
        "mixed_sizes" => &["polydisperse", "granular", "heap", "grains", "silo"],
        "loaded_plate" => &["hub", "table", "floor", "load", "carry"],
        "confined" => &["gas", "pressure", "packing", "container"],
        "rush" => &["crowd", "attraction", "gravity", "swarm"],
        "bridge" | "naphy_bridge" => &["suspension", "hinge", "rope", "planks"],
        "ball_and_chain" => &["pendulum", "wrecking", "hinge", "rope", "swing"],
        "ragdoll" => &["human", "doll", "skeleton", "person"],
        "small_si" => &["tutorial", "chute", "sequential", "impulse"],
        "thruster" => &["rocket", "force", "torque", "drone"],
        "particles_in_a_turning_box" => &["gas", "balls", "restitution", "bounce"],
        "circle_masses" => &["collision", "momentum", "energy", "elastic", "billiards", "mass"],
        "pendulum" => {
            &["double", "chaos", "chaotic", "period", "swing", "oscillation", "oscillator", "harmonic", "energy"]
        }
        "rod_chain" => &["pendulum", "double", "chaos", "swing", "rope"],
        "rope_winch_piston" => &["crane", "pulley", "pendulum", "distance", "lift"],
        "springs" => &["oscillator", "oscillation", "harmonic", "hooke", "energy", "mass", "bounce"],
        "pulleys" => &["pulley", "rope", "atwood", "tackle", "weight", "lift"],
        "gears" => &["gear", "cog", "wheel", "belt", "motor", "paddle"],
        "motors" => &["motor", "car", "vehicle", "wheel", "elevator", "suspension"],
        "conveyor" => &["belt", "conveyor", "factory", "friction"],
        "weeble" => &["toy", "roly", "poly", "balance", "upright"],
        "bounce_house" => &["restitution", "elastic", "billiards", "bullet"],
        "ghost_bumps" => &["chain", "terrain", "valley", "seams"],
        "pinball" => &["flipper", "arcade", "bumper", "game"],
        "sensor_funnel" => &["trigger", "donut", "soft", "silo"],
        "convex_hull" => &["polygon", "rocks", "stones", "random"],
        "rolling_resistance" => &["wheel", "roll", "stop"],
        "restitution" => &["bounce", "drop", "balls"],
        "platformer" => &["jump", "game", "elevator", "moving"],
        "bouncing_ball" => &["restitution", "fall", "drop", "gravity", "bounce", "free", "energy"],
        _ => &[],
    }
}

/// Returns the similarity of a text to a scene; 0 if it does not match.
fn likeness(entry: &Entry, wanted: &str) -> f64 {
    let of_name = strsim::jaro_winkler(wanted, entry.name);
    if wanted.chars().count() >= MIN_PART {
        if entry.name.contains(wanted) {
            return 4.0 + of_name;
        }
        if entry.mentions(&wanted.replace(['_', '-'], " ")) {
            return 3.0 + of_name;
        }
    }
    let summary = entry.summary.to_lowercase();
    let words = summary.split(|c: char| !c.is_alphanumeric()).chain(entry.name.split('_'));
    let words = words.chain(keywords(entry.name).iter().copied()).filter(|word| word.chars().count() >= MIN_PART);
    let of_words = words
        .map(|word| if word.starts_with(wanted) { 1.0 } else { strsim::jaro_winkler(wanted, word) })
        .fold(0.0, f64::max);
    match (of_name >= MIN_NAME_LIKENESS, of_words >= MIN_LIKENESS) {
        (true, _) if of_name >= MIN_LIKENESS => 2.0 + of_name,
        (_, true) => 1.0 + of_words,
        (true, false) => of_name,
        (false, false) => 0.0,
    }
}

/// Normalises a text for comparison.
fn normal(text: &str) -> String {
    text.trim().chars().take(MAX_WANTED).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the scenes similar to a text, the best match first.
pub(super) fn nearest(text: &str) -> Vec<&'static Entry> {
    let wanted = normal(text);
    if !wanted.contains(char::is_alphanumeric) {
        return Vec::new();
    }
    let mut near: Vec<(f64, &Entry)> = ENTRIES.iter().map(|entry| (likeness(entry, &wanted), entry)).collect();
    near.retain(|&(likeness, _)| likeness > 0.0);
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().map(|(_, entry)| entry).collect()
}

impl Entry {
    /// Returns words for a search, beside those of name and summary.
    #[must_use]
    pub fn keywords(&self) -> &'static [&'static str] {
        keywords(self.name)
    }

    /// Returns true if the name, the summary or the keywords of this scene contain all words of a text, at least in
    /// part, ignoring case: the filter of a search field. An empty text matches every scene.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        let summary = self.summary.to_lowercase();
        text.to_lowercase().split_whitespace().all(|word| {
            let has = |text: &str| text.contains(word);
            has(self.name)
                || has(&self.name.replace('_', " "))
                || has(&summary)
                || self.keywords().iter().any(|k| has(k))
        })
    }
}

/// Returns the scenes that match a text ([`Entry::mentions`]), matches by name first; each group in the order of the
/// list.
///
/// ```
/// let found = drystone_scenes::catalogue::search("pendulum");
/// let names: Vec<&str> = found.iter().map(|entry| entry.name).collect();
/// assert_eq!(names[0], "pendulum");
/// assert!(names.contains(&"rod_chain"));
/// ```
#[must_use]
pub fn search(text: &str) -> Vec<&'static Entry> {
    let mut found: Vec<&Entry> = ENTRIES.iter().filter(|entry| entry.mentions(text)).collect();
    let wanted = text.trim().to_lowercase();
    found.sort_by_key(|entry| !entry.name.contains(&wanted));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &[&Entry]) -> Vec<&'static str> {
        found.iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn a_word_finds_the_scenes_of_its_topic() {
        let found = names(&search("pendulum"));
        assert_eq!(found[0], "pendulum");
        assert!(found.contains(&"rod_chain") && found.contains(&"ball_and_chain"), "{found:?}");
        assert!(!found.contains(&"tumbler"), "{found:?}");
        assert_eq!(names(&search(" Double  PENDULUM ")), ["pendulum", "rod_chain"]);
        assert_eq!(search("").len(), ENTRIES.len());
        assert!(search("no such word").is_empty());
    }

    #[test]
    fn a_misspelt_word_finds_the_nearest_scene() {
        for (wrong, right) in [
            ("pendelum", "pendulum"),
            ("double_pendulum", "pendulum"),
            ("large_piramid", "large_pyramid"),
            ("wrecking", "ball_and_chain"),
            ("wreking", "ball_and_chain"),
            ("LARGE_PYRAMID", "large_pyramid"),
        ] {
            assert_eq!(names(&nearest(wrong)).first(), Some(&right), "{wrong}");
        }
        assert!(names(&nearest("pendelum")).contains(&"rod_chain"));
        assert!(nearest("zzzzzz").is_empty(), "{:?}", names(&nearest("zzzzzz")));
        assert!(nearest("").is_empty() && nearest("___").is_empty());
        // A text of any length is handled in no time.
        assert!(nearest(&"x".repeat(1_000_000)).is_empty());
    }

    #[test]
    fn keywords_belong_to_scenes_and_are_lowercase() {
        for entry in &ENTRIES {
            let words = keywords(entry.name);
            assert!(!words.is_empty(), "{} has none", entry.name);
            assert!(words.iter().all(|word| *word == normal(word)), "{}", entry.name);
        }
        assert!(keywords("no_such_scene").is_empty());
    }
}
