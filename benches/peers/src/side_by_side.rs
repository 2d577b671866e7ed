//! The same scenes in both, and one number out of each run: how high, how long, how lively, how many.
//!
//! Everything is measured by the same code from poses and velocities. A scene that is chaotic is run several times on
//! each side, each time nudged a little, and the means are compared; how far Box2D is from itself is part of the table.
//! Every comparison is asked whether it would notice anything: the same scene, changed by a few per cent, must come out
//! further from Box2D than the bound allows.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use drystone::scene::{Compiled, JointKind, catalogue};
use drystone::state::metrics;
use drystone::{Body, BodyType, CpuWorld, Scene, Shape, Snapshot};
use serde::Serialize;

use crate::box2d::{Box2d, Options};

/// What is compared.
pub struct Case {
    /// What is measured.
    pub what: &'static str,
    /// Catalogue spec, or what [`Case::scene`] builds by hand.
    spec: &'static str,
    steps: u32,
    /// Steps that are looked at: the last of this many, every so many.
    window: (u32, u32),
    /// Nudged runs on each side.
    runs: u32,
    measure: fn(&Record) -> f64,
    /// Largest difference.
    pub bound: f64,
    /// Why this bound, and why the two differ if they do.
    pub why: &'static str,
    /// What is changed to see whether it is noticed, and in words.
    change: fn(&mut Scene),
    changed: &'static str,
}

/// Looks of a run, the last one at its end.
pub struct Record {
    scene: Scene,
    compiled: Compiled,
    /// With the step.
    looks: Vec<(u32, Snapshot)>,
}

/// What came out.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Of the scene, with its parameters.
    pub scene: &'static str,
    /// What was measured.
    pub what: &'static str,
    /// Drystone's.
    pub ours: f64,
    /// Box2D's.
    pub theirs: f64,
    /// Between Box2D's largest and smallest, nudged.
    pub spread: f64,
    /// Largest allowed difference.
    pub bound: f64,
    /// Drystone's, of the changed scene.
    pub ours_changed: f64,
    /// Box2D's, of the changed scene.
    pub theirs_changed: f64,
    /// How it was changed.
    pub changed: &'static str,
    /// Why this bound.
    pub why: &'static str,
}

impl Outcome {
    /// Whether the two agree.
    #[must_use]
    pub fn agrees(&self) -> bool {
        (self.ours - self.theirs).abs() <= self.bound
    }

    /// Whether either would be noticed if it ran the changed scene.
    #[must_use]
    pub fn would_notice(&self) -> bool {
        (self.ours_changed - self.theirs).abs() > self.bound && (self.ours - self.theirs_changed).abs() > self.bound
    }
}

impl Case {
    fn scene(&self) -> Result<Scene> {
        Ok(match self.spec {
            "rolling ball" => rolling_ball(),
            spec => catalogue::build(spec)?,
        })
    }

    /// Runs it on both sides.
    ///
    /// # Errors
    /// If Box2D cannot do the scene.
    pub fn run(&self) -> Result<Outcome> {
        let scene = self.scene()?;
        let mut other = scene.clone();
        (self.change)(&mut other);
        let theirs = self.numbers(&scene, true)?;
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / f64::from(self.runs);
        let most = theirs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = theirs.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Outcome {
            scene: self.spec,
            what: self.what,
            ours: mean(&self.numbers(&scene, false)?),
            theirs: mean(&theirs),
            spread: most - least,
            bound: self.bound,
            ours_changed: mean(&self.numbers(&other, false)?),
            theirs_changed: mean(&self.numbers(&other, true)?),
            changed: self.changed,
            why: self.why,
        })
    }

    /// One a nudged run.
    fn numbers(&self, scene: &Scene, theirs: bool) -> Result<Vec<f64>> {
        (0..self.runs)
            .map(|run| {
                let mut scene = scene.clone();
                nudge(&mut scene, run);
                Ok((self.measure)(&self.record(scene, theirs)?))
            })
            .collect()
    }

    fn record(&self, scene: Scene, theirs: bool) -> Result<Record> {
        let compiled = Compiled::new(&scene)?;
        let mut looks = Vec::new();
        let looked_at =
            |step: u32| self.steps - step < self.window.0 && (self.steps - step).is_multiple_of(self.window.1);
        if theirs {
            let mut world = Box2d::new(&scene, Options { threads: 1, continuous: true })?;
            for step in 1..=self.steps {
                world.push()?;
                world.step()?;
                if looked_at(step) {
                    looks.push((step, world.snapshot()?));
                }
            }
        } else {
            let mut world = CpuWorld::new(&scene)?;
            for step in 1..=self.steps {
                world.step();
                if looked_at(step) {
                    let Snapshot { poses, states, .. } = world.snapshot();
                    looks.push((step, Snapshot { poses, states, ..Snapshot::default() }));
                }
            }
        }
        Ok(Record { scene, compiled, looks })
    }
}

/// Run 0 is the scene itself; in others every body starts with a millimetre a second that depends on run and body.
fn nudge(scene: &mut Scene, run: u32) {
    for (index, body) in (0_u32..).zip(scene.bodies.iter_mut().filter(|body| body.kind == BodyType::Dynamic)) {
        if run > 0 {
            #[allow(clippy::cast_precision_loss, reason = "a hash")]
            let angle = (index.wrapping_mul(2_654_435_761).wrapping_add(run.wrapping_mul(40_503)) >> 8) as f32;
            body.velocity.x += 1e-3 * angle.cos();
            body.velocity.y += 1e-3 * angle.sin();
        }
    }
}

impl Record {
    fn end(&self) -> &Snapshot {
        // There is always one: the last step is looked at.
        &self.looks[self.looks.len() - 1].1
    }

    /// Indices of bodies that forces move.
    fn moving(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.scene.bodies.len()).filter(|&body| self.scene.bodies[body].kind == BodyType::Dynamic)
    }

    fn heights(&self) -> impl Iterator<Item = f64> + '_ {
        self.moving().map(|body| f64::from(self.end().poses[body].position[1]))
    }

    fn mean(&self, of: impl Fn(&Snapshot) -> f64) -> f64 {
        let count = u32::try_from(self.looks.len()).map_or(f64::NAN, f64::from);
        self.looks.iter().map(|(_, look)| of(look)).sum::<f64>() / count
    }

    /// Where a joint's ends are, by body and anchor.
    fn place(&self, look: &Snapshot, body: Option<usize>, anchor: [f32; 2]) -> [f64; 2] {
        let Some(body) = body else { return anchor.map(f64::from) };
        let pose = &look.poses[body];
        let center = self.compiled.mass[body].center;
        let [x, y] = [anchor[0] - center.x, anchor[1] - center.y].map(f64::from);
        let [cosine, sine] = pose.rotation.map(f64::from);
        let [px, py] = pose.position.map(f64::from);
        [px + cosine * x - sine * y, py + sine * x + cosine * y]
    }
}

/// Of the highest centre of mass at the end, m.
fn top(record: &Record) -> f64 {
    record.heights().fold(f64::NEG_INFINITY, f64::max)
}

/// Of the lowest, m.
fn bottom(record: &Record) -> f64 {
    record.heights().fold(f64::INFINITY, f64::min)
}

/// Of the lowest, the mean over the time looked at, m.
fn mean_bottom(record: &Record) -> f64 {
    record
        .mean(|look| record.moving().map(|body| f64::from(look.poses[body].position[1])).fold(f64::INFINITY, f64::min))
}

/// Of the centre of mass of all that moves, the mean over the time looked at, m.
fn mean_height(record: &Record) -> f64 {
    let mass: f64 = record.moving().map(|body| f64::from(record.compiled.mass[body].mass)).sum();
    record.mean(|look| {
        let moment = |body: usize| f64::from(record.compiled.mass[body].mass * look.poses[body].position[1]);
        record.moving().map(moment).sum::<f64>() / mass
    })
}

/// Likewise to the right.
fn mean_right(record: &Record) -> f64 {
    let count = record.moving().count();
    let count = u32::try_from(count).map_or(f64::NAN, f64::from);
    record.mean(|look| record.moving().map(|body| f64::from(look.poses[body].position[0])).sum::<f64>() / count)
}

/// Mean over the time looked at, J.
fn mean_energy(record: &Record) -> f64 {
    record.mean(|look| metrics(&record.compiled, look).kinetic_energy)
}

/// Greatest distance of two anchors that should coincide, or error of one that should be kept, at any time looked at, m.
fn widest_gap(record: &Record) -> f64 {
    let gap = |look: &Snapshot, joint: &drystone::scene::Joint| {
        let from = record.place(look, joint.a, joint.anchor_a.into());
        let to = record.place(look, Some(joint.b), joint.anchor_b.into());
        let apart = (to[0] - from[0]).hypot(to[1] - from[1]);
        match joint.kind {
            JointKind::Distance { length: Some(length), limits: None, .. } => (apart - f64::from(length)).abs(),
            JointKind::Revolute { .. } | JointKind::Weld { .. } => apart,
            _ => 0.0,
        }
    };
    let of_look = |look: &Snapshot| record.scene.joints.iter().map(|joint| gap(look, joint)).fold(0.0, f64::max);
    record.looks.iter().map(|(_, look)| of_look(look)).fold(0.0, f64::max)
}

/// Bodies that have turned by more than half a radian.
fn fallen(record: &Record, look: &Snapshot) -> u32 {
    let cosine = 0.5_f32.cos();
    let down = |body: &usize| look.poses[*body].rotation[0] < cosine;
    u32::try_from(record.moving().filter(down).count()).unwrap_or(u32::MAX)
}

fn fallen_at_the_end(record: &Record) -> f64 {
    f64::from(fallen(record, record.end()))
}

/// s.
fn all_fallen_after(record: &Record) -> f64 {
    let all = u32::try_from(record.moving().count()).unwrap_or(u32::MAX);
    let when = record.looks.iter().find(|(_, look)| fallen(record, look) == all).map(|(step, _)| *step);
    when.map_or(f64::INFINITY, |step| f64::from(step) * f64::from(record.scene.settings.dt))
}

/// Highest place of the last body in the time looked at, m.
fn apex(record: &Record) -> f64 {
    let last = record.scene.bodies.len() - 1;
    record.looks.iter().map(|(_, look)| f64::from(look.poses[last].position[1])).fold(f64::NEG_INFINITY, f64::max)
}

/// How far the last body has gone, m.
fn gone(record: &Record) -> f64 {
    let last = record.scene.bodies.len() - 1;
    let (from, to) = (record.compiled.poses[last].position, record.end().poses[last].position);
    f64::from(to[0] - from[0]).hypot(f64::from(to[1] - from[1]))
}

/// Bodies within the spinner's vessel.
fn inside(record: &Record) -> f64 {
    let here = |body: &usize| {
        let [x, y] = record.end().poses[*body].position;
        x.hypot(y - 32.0) < 40.0
    };
    u32::try_from(record.moving().filter(here).count()).map_or(f64::NAN, f64::from)
}

/// A ball that rolls without sliding at 3 m/s against a resistance of 0.05: it comes to rest after 13.5 m.
fn rolling_ball() -> Scene {
    let mut scene = Scene::new("rolling ball").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(100.0, 1.0)));
    let ball = Shape::circle(0.5).rolling_resistance(0.05);
    scene.add(Body::dynamic(0.0, 0.5).velocity(3.0, 0.0).angular_velocity(-6.0).shape(ball));
    scene
}

fn heavier(scene: &mut Scene) {
    scene.gravity *= 1.05;
}

fn each_shape(scene: &mut Scene, change: impl Fn(&mut Shape)) {
    scene.bodies.iter_mut().flat_map(|body| &mut body.shapes).for_each(change);
}

fn smoother(scene: &mut Scene) {
    each_shape(scene, |shape| shape.material.friction *= 0.97);
}

fn livelier(scene: &mut Scene) {
    each_shape(scene, |shape| shape.material.restitution *= 1.03);
}

fn stickier(scene: &mut Scene) {
    each_shape(scene, |shape| shape.material.rolling_resistance *= 1.05);
}

fn stiffer(scene: &mut Scene) {
    for joint in &mut scene.joints {
        if let JointKind::Spring { stiffness, .. } = &mut joint.kind {
            *stiffness *= 1.03;
        }
    }
}

fn faster_belts(scene: &mut Scene) {
    each_shape(scene, |shape| shape.material.tangent_speed *= 1.03);
}

fn faster_motors(scene: &mut Scene) {
    for joint in &mut scene.joints {
        if let JointKind::Wheel { motor: Some(motor), .. } | JointKind::Prismatic { motor: Some(motor), .. } =
            &mut joint.kind
        {
            motor.speed *= 1.03;
        }
    }
}

fn faster_drum(scene: &mut Scene) {
    for body in scene.bodies.iter_mut().filter(|body| body.kind == BodyType::Kinematic) {
        body.angular_velocity *= 1.1;
    }
}

fn longer_cards(scene: &mut Scene) {
    each_shape(scene, |shape| {
        if let drystone::Geometry::Box { half, .. } = &mut shape.geometry
            && half.x < 0.01
        {
            half.y *= 1.01;
        }
    });
}

fn larger_hooks(scene: &mut Scene) {
    for body in scene.bodies.iter_mut().filter(|body| body.kind == BodyType::Dynamic) {
        for shape in &mut body.shapes {
            if let drystone::Geometry::Polygon { points, .. } = &mut shape.geometry {
                points.iter_mut().for_each(|point| *point *= 1.05);
            }
        }
    }
}

/// All comparisons, in the order of the table.
#[must_use]
pub fn cases() -> Vec<Case> {
    let still = |what, spec, steps, measure, bound, why, (change, changed)| Case {
        what,
        spec,
        steps,
        window: (1, 1),
        runs: 1,
        measure,
        bound,
        why,
        change,
        changed,
    };
    let watched = |case: Case, window, runs| Case { window, runs, ..case };
    let gravity: (fn(&mut Scene), &'static str) = (heavier, "gravity +5%");
    let slippery: (fn(&mut Scene), &'static str) = (smoother, "friction -3%");
    let drum: (fn(&mut Scene), &'static str) = (faster_drum, "drum +10%");
    vec![
        still("top, m", "vertical_stack:count=10", 1_200, top, 1.0, "", gravity),
        still("top, m", "large_pyramid:base=20", 500, top, 1.0, "", gravity),
        still("top, m", "card_house", 300, top, 1.0, "", (longer_cards, "cards +1%")),
        still("top, m", "arch", 600, top, 1.0, "", gravity),
        still("fallen", "domino", 600, fallen_at_the_end, 0.5, "", gravity),
        watched(still("all fallen, s", "domino", 600, all_fallen_after, 1.0, "", gravity), (600, 1), 1),
        still("top, m", "circle_stack:count=5,pitch=2", 600, top, 1.0, "", gravity),
        watched(still("lowest, m", "bridge:planks=40", 900, mean_bottom, 1.0, "", gravity), (300, 5), 1),
        watched(still("gap, m", "bridge:planks=40", 900, widest_gap, 1.0, "", gravity), (900, 5), 1),
        watched(still("length error, m", "rod_chain", 600, widest_gap, 1.0, "", gravity), (600, 1), 1),
        watched(still("gap, m", "ball_and_chain:links=20,radius=4", 900, widest_gap, 1.0, "", gravity), (900, 1), 1),
        watched(still("lowest, m", "joint_grid:size=20", 500, bottom, 1.0, "", gravity), (1, 1), 1),
        watched(still("gap, m", "joint_grid:size=20", 500, widest_gap, 1.0, "", gravity), (500, 5), 1),
        watched(still("height, m", "springs", 300, mean_height, 1.0, "", (stiffer, "stiffness +3%")), (60, 1), 1),
        watched(still("to the right, m", "motors", 240, mean_right, 1.0, "", (faster_motors, "motors +3%")), (1, 1), 1),
        watched(still("height, m", "rope_winch_piston", 400, mean_height, 1.0, "", gravity), (1, 1), 1),
        watched(still("to the right, m", "conveyor", 200, mean_right, 1.0, "", (faster_belts, "belts +3%")), (1, 1), 1),
        watched(
            still("apex, m", "bouncing_ball:restitution=0.5", 200, apex, 1.0, "", (livelier, "restitution +3%")),
            (100, 1),
            1,
        ),
        still("slid, m", "slope:friction=0.4", 120, gone, 1.0, "", slippery),
        still("rolled, m", "rolling ball", 600, gone, 1.0, "", (stickier, "resistance +5%")),
        watched(still("mean height, m", "tumbler:grid=15", 900, mean_height, 1.0, "", drum), (600, 10), 4),
        watched(still("mean energy, J", "tumbler:grid=15", 900, mean_energy, 1.0, "", drum), (600, 10), 4),
        watched(still("mean height, m", "washer:grid=25", 900, mean_height, 1.0, "", drum), (600, 10), 3),
        watched(still("mean energy, J", "washer:grid=25", 900, mean_energy, 1.0, "", drum), (600, 10), 3),
        watched(
            still("pile, m", "compounds:columns=4,rows=15", 600, mean_height, 1.0, "", (larger_hooks, "hooks +5%")),
            (60, 10),
            4,
        ),
        still("inside", "spinner:bodies=800", 300, inside, 1.0, "", gravity),
    ]
}

/// All outcomes as a table for a person.
///
/// # Errors
/// If Box2D cannot do a scene.
pub fn compare() -> Result<Vec<Outcome>> {
    cases().iter().map(|case| case.run().with_context(|| format!("{}: {}", case.spec, case.what))).collect()
}

/// One line a comparison.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "{:<34}{:<17}{:>10}{:>10}{:>10}{:>9}{:>10}{:>10}  {}\n",
        "scene", "", "drystone", "box2d", "differ", "bound", "spread", "changed", "how; why they may differ"
    );
    for outcome in outcomes {
        let Outcome { scene, what, ours, theirs, spread, bound, theirs_changed, changed, why, .. } = outcome;
        let verdict = match (outcome.agrees(), outcome.would_notice()) {
            (true, true) => "",
            (false, _) => " DIFFERS",
            (true, false) => " BLIND",
        };
        let _ = writeln!(
            text,
            "{scene:<34}{what:<17}{ours:>10.4}{theirs:>10.4}{:>10.4}{bound:>9.4}{spread:>10.4}{theirs_changed:>10.4}  \
             {changed}; {why}{verdict}",
            ours - theirs
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::compare;

    /// Each within its bound, and each bound tight enough to notice a scene changed by a few per cent.
    #[test]
    fn both_come_out_alike() {
        let outcomes = compare().unwrap();
        println!("{}", super::table(&outcomes));
        for outcome in &outcomes {
            assert!(outcome.agrees(), "{outcome:?}");
            assert!(outcome.would_notice(), "{outcome:?}");
        }
    }
}
