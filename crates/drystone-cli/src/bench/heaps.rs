//! `drystone bench --quality`: heaps that should stand, each with the goals that its final state must reach.

use std::fmt::Write as _;

use super::super::report::{count, group, significant};
use super::quality::Quality;
use super::row::BenchRow;

/// Number of steps of each scene: 20 s at the default step.
pub const STEPS: u32 = 1_200;

/// Scene with the goals of its final state.
struct QualityScene {
    scene: &'static str,
    goals: &'static [QualityGoal],
}

/// Largest value that a quality may have in the final state.
#[derive(Clone, Copy)]
enum QualityGoal {
    /// Deepest overlap of two shapes, mm.
    Deepest(f64),
    /// Mean overlap, mm.
    Mean(f64),
    /// Largest distance between the anchors of a joint, mm.
    Joint(f64),
    /// Largest distance of a body from its place at the start, m.
    Moved(f64),
    /// Largest speed of a body, m/s.
    Speed(f64),
}

/// Speed below which a body is at rest, m/s: Box2D's for sleep.
const REST: QualityGoal = QualityGoal::Speed(0.05);
const PYRAMID: &[QualityGoal] = &[QualityGoal::Deepest(30.0), QualityGoal::Moved(0.2), REST];
const MIXED: &[QualityGoal] = &[QualityGoal::Deepest(20.0), QualityGoal::Mean(3.0), REST];

/// Scenes that are measured unless `--scenes` names others. Those without goals are compared with other engines only.
const HEAPS: [QualityScene; 18] = [
    QualityScene { scene: "large_pyramid", goals: PYRAMID },
    QualityScene { scene: "large_pyramid:base=200", goals: PYRAMID },
    QualityScene { scene: "large_pyramid:base=400", goals: PYRAMID },
    // A fiftieth of their height.
    QualityScene {
        scene: "vertical_stack:count=100",
        goals: &[QualityGoal::Deepest(30.0), QualityGoal::Moved(2.0), REST],
    },
    QualityScene {
        scene: "vertical_stack:count=200",
        goals: &[QualityGoal::Deepest(30.0), QualityGoal::Moved(4.0), REST],
    },
    QualityScene { scene: "mixed_sizes", goals: MIXED },
    QualityScene { scene: "mixed_sizes:seed=2", goals: MIXED },
    QualityScene { scene: "mixed_sizes:seed=3", goals: MIXED },
    // As high as those of 1,500.
    QualityScene { scene: "mixed_sizes:bodies=20000,aspect=13", goals: MIXED },
    QualityScene { scene: "mixed_sizes:bodies=20000,seed=2,aspect=13", goals: MIXED },
    QualityScene { scene: "mixed_sizes:bodies=20000,seed=3,aspect=13", goals: MIXED },
    // A twentieth of a box.
    QualityScene { scene: "vertical_stack:count=11,top=1000", goals: &[QualityGoal::Deepest(50.0), REST] },
    // A twentieth of the small boxes.
    QualityScene { scene: "high_mass_ratio_2", goals: &[QualityGoal::Deepest(50.0), REST] },
    // The ball weighs 1,000 links. A fiftieth of a link.
    QualityScene { scene: "ball_and_chain:links=100,radius=9.76", goals: &[QualityGoal::Joint(20.0)] },
    QualityScene { scene: "card_house:levels=10", goals: &[QualityGoal::Moved(0.2), REST] },
    QualityScene { scene: "arch", goals: &[QualityGoal::Moved(0.2), REST] },
    QualityScene { scene: "tumbler", goals: &[] },
    QualityScene { scene: "junkyard", goals: &[] },
];

/// Scenes that take too long to be measured unless they are named, a quarter of an hour.
const LARGE: [QualityScene; 1] = [QualityScene { scene: "large_pyramid:base=1000", goals: PYRAMID }];

/// Returns the specs of all scenes.
pub fn scenes() -> String {
    HEAPS.map(|heap| heap.scene).join(",")
}

impl QualityGoal {
    /// Returns the name of the column, and the limit.
    fn named(self) -> (&'static str, f64) {
        match self {
            Self::Deepest(limit) => ("deepest mm", limit),
            Self::Mean(limit) => ("mean mm", limit),
            Self::Joint(limit) => ("joint mm", limit),
            Self::Moved(limit) => ("moved m", limit),
            Self::Speed(limit) => ("speed m/s", limit),
        }
    }

    /// Returns true if the final state has this quality. A value that is not finite does not reach it.
    fn is_reached(self, quality: &Quality) -> bool {
        let (value, scale) = match self {
            Self::Deepest(_) => (quality.max_penetration, 1e3),
            Self::Mean(_) => (quality.mean_penetration, 1e3),
            Self::Joint(_) => (quality.joint_error, 1e3),
            Self::Moved(_) => (quality.moved, 1.0),
            Self::Speed(_) => (quality.max_speed, 1.0),
        };
        value.is_some_and(|value| scale * value <= self.named().1)
    }
}

/// Returns the goals of a scene.
fn goals(scene: &str) -> &'static [QualityGoal] {
    HEAPS.iter().chain(&LARGE).find(|heap| heap.scene == scene).map_or(&[], |heap| heap.goals)
}

/// Returns the table of one scene, with its goals below.
pub fn table(rows: &[BenchRow]) -> String {
    let mut text = String::new();
    let Some(first) = rows.first() else { return text };
    let seconds = f64::from(first.steps + 1) * f64::from(first.dt);
    let _ = writeln!(
        text,
        "{}: {}, {} s, {}",
        first.scene,
        count(first.bodies as u64, "body"),
        significant(seconds),
        count(first.substeps.into(), "substep")
    );
    let _ = writeln!(
        text,
        "{:<18}{:>9} |{:>11}{:>9}{:>10}{:>9}{:>11}{:>10}  goals",
        "", "ms/step", "deepest mm", "mean mm", "joint mm", "moved m", "speed m/s", "touching"
    );
    let goals = goals(&first.scene);
    for row in rows {
        let quality = &row.quality;
        let optional = |x: Option<f64>| x.map_or_else(|| "not finite".to_owned(), significant);
        let mm = |x: Option<f64>| optional(x.map(|x| 1e3 * x));
        let missed: Vec<&str> =
            goals.iter().filter(|goal| !goal.is_reached(quality)).map(|goal| goal.named().0).collect();
        let _ = writeln!(
            text,
            "{:<18}{:>9} |{:>11}{:>9}{:>10}{:>9}{:>11}{:>10}  {}",
            row.label(),
            significant(row.ms_per_step.median),
            mm(quality.max_penetration),
            mm(quality.mean_penetration),
            if row.joints > 0 { mm(quality.joint_error) } else { String::new() },
            // Absent if bodies came or went.
            quality.moved.map_or_else(String::new, significant),
            optional(quality.max_speed),
            group(quality.touching.into()),
            match (goals, &missed[..]) {
                ([], _) => String::new(),
                (_, []) => "reached".to_owned(),
                (_, missed) => format!("missed: {}", missed.join(", ")),
            }
        );
    }
    if !goals.is_empty() {
        let limits: Vec<String> = goals
            .iter()
            .map(|goal| goal.named())
            .map(|(name, limit)| format!("{name} at most {}", significant(limit)))
            .collect();
        let _ = writeln!(text, "goals: {}", limits.join(", "));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use drystone_scenes::catalogue;

    use super::*;

    #[test]
    fn all_scenes_exist() {
        for heap in &HEAPS {
            let scene = catalogue::build(heap.scene).unwrap_or_else(|error| panic!("{}: {error}", heap.scene));
            assert_eq!(scene.name, heap.scene, "rows are found by this name");
        }
    }

    #[test]
    fn goals_are_reached_up_to_their_limit() {
        let quality = |x| Quality {
            max_penetration: x,
            mean_penetration: x,
            joint_error: x,
            moved: x,
            max_speed: x,
            ..Quality::default()
        };
        for goal in [
            QualityGoal::Deepest(30.0),
            QualityGoal::Mean(30.0),
            QualityGoal::Joint(30.0),
            QualityGoal::Moved(0.03),
            QualityGoal::Speed(0.03),
        ] {
            assert!(goal.is_reached(&quality(Some(0.03))), "{:?}", goal.named());
            assert!(!goal.is_reached(&quality(Some(0.0301))), "{:?}", goal.named());
            assert!(!goal.is_reached(&quality(None)), "{:?}", goal.named());
        }
    }
}
