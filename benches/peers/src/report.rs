//! What is measured, as rows for a program and tables for a person.

use std::fmt::Write as _;

use drystone::Context;
use drystone::gpu::is_software;
use serde::Serialize;

use crate::box2d;
use crate::engine::Run;
use crate::quality::Quality;

/// Where and with what it was measured.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Of the processor.
    pub cpu: String,
    /// Logical.
    pub cores: usize,
    /// Mean number of runnable threads over the last minute, when the measurement began. Above zero, times are of a
    /// machine that had other work, and only ratios mean something.
    pub load: Option<f64>,
    /// Compiler of Drystone.
    pub rustc: &'static str,
    /// Version and commit.
    pub drystone: &'static str,
    /// Whether Drystone may use AVX2.
    pub drystone_avx2: bool,
    /// Version and commit.
    pub box2d: &'static str,
    /// What Box2D is built for.
    pub box2d_simd: &'static str,
    /// What its compiler was told on top of its build script's `-O2`.
    pub box2d_cflags: &'static str,
    /// If a GPU takes part.
    pub adapter: Option<Adapter>,
}

/// What stands for the GPU.
#[derive(Debug, Serialize)]
pub struct Adapter {
    /// As the driver says.
    pub name: String,
    /// Discrete, integrated, virtual or CPU.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name and version.
    pub driver: String,
    /// It is no GPU, but a program that behaves like one.
    pub software: bool,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn here(gpu: Option<&Context>) -> Self {
        let cpu = sysinfo::System::new().ok().and_then(|mut system| {
            system.refresh_cpu_all();
            Some(system.cpus().first()?.brand().trim().to_owned())
        });
        Self {
            cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: sysinfo::System::load_average().ok().map(|load| load.one),
            rustc: env!("PEERS_RUSTC"),
            drystone: env!("PEERS_DRYSTONE"),
            drystone_avx2: cfg!(target_feature = "avx2"),
            box2d: box2d::VERSION,
            box2d_simd: box2d::SIMD,
            box2d_cflags: env!("PEERS_CFLAGS"),
            adapter: gpu.map(|context| {
                let info = context.info();
                Adapter {
                    name: info.name.clone(),
                    kind: format!("{:?}", info.device_type).to_lowercase(),
                    driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
                    software: is_software(info),
                }
            }),
        }
    }

    /// A few lines for a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}, {} cores, load {}\ndrystone {} ({}{})\n{} ({}, -O2 {})\n",
            self.cpu,
            self.cores,
            self.load.map_or_else(|| "unknown".into(), |load| format!("{load:.1}")),
            self.drystone,
            self.rustc,
            if self.drystone_avx2 { ", AVX2" } else { "" },
            self.box2d,
            self.box2d_simd,
            self.box2d_cflags
        );
        if let Some(adapter) = &self.adapter {
            let kind = if adapter.software { "a software adapter, not a GPU" } else { &adapter.kind };
            let _ = writeln!(text, "gpu: {} ({kind}, {})", adapter.name, adapter.driver);
        }
        text
    }
}

/// A number measured in every repeat.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Middle; the mean of the two middle ones if their number is even.
    pub median: f64,
    /// Largest.
    pub max: f64,
    /// In the order of the repeats.
    pub samples: Vec<f64>,
}

impl Spread {
    /// Of at least one sample.
    #[must_use]
    pub fn of(samples: Vec<f64>) -> Option<Self> {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let half = sorted.len() / 2;
        let median =
            if sorted.len().is_multiple_of(2) { 0.5 * (sorted[half - 1] + sorted[half]) } else { sorted[half] };
        Some(Self { min, median, max, samples })
    }
}

/// How much longer than Box2D it took, repeat by repeat. Below 1 is faster.
#[derive(Clone, Debug, Serialize)]
pub struct Ratio {
    /// The row it is compared with.
    pub to: &'static str,
    /// Of wall time.
    pub wall: Spread,
    /// Of processor time, if both are known.
    pub cpu: Option<Spread>,
}

/// One contender on one scene.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Spec.
    pub scene: String,
    /// Who.
    pub backend: &'static str,
    /// Threads or workers.
    pub threads: usize,
    /// Static ones included.
    pub bodies: usize,
    /// Colliders.
    pub shapes: usize,
    /// Timed, after the first.
    pub steps: u32,
    /// s.
    pub dt: f32,
    /// A step.
    pub substeps: u32,
    /// Wall time, one sample a repeat: the mean over its steps.
    pub ms_per_step: Spread,
    /// Processor time likewise, where one thread does all the work.
    pub cpu_ms_per_step: Option<Spread>,
    /// Wall time of the step before those.
    pub first_step_ms: Spread,
    /// Against Box2D on as many threads.
    pub ratio: Option<Ratio>,
    /// ms a step by stage, of the fastest repeat.
    pub stages_ms: Vec<(&'static str, f64)>,
    /// At the end, the same in every repeat.
    pub quality: Quality,
}

/// Ratios of two contenders' runs, repeat by repeat.
#[must_use]
pub fn ratio(to: &'static str, mine: &[Run], theirs: &[Run]) -> Option<Ratio> {
    let pairs = || mine.iter().zip(theirs);
    let cpu: Option<Vec<f64>> = pairs().map(|(mine, theirs)| Some(mine.cpu_ms? / theirs.cpu_ms?)).collect();
    Some(Ratio {
        to,
        wall: Spread::of(pairs().map(|(mine, theirs)| mine.ms / theirs.ms).collect())?,
        cpu: cpu.and_then(Spread::of),
    })
}

/// The rows of one scene as a table.
#[must_use]
pub fn table(rows: &[Row], with_stages: bool) -> String {
    let mut text = String::new();
    let Some(first) = rows.first() else { return text };
    let _ = writeln!(
        text,
        "{}: {} bodies, {} steps after the first, dt {:.5} s, {} substeps, {} repeats",
        first.scene,
        first.bodies,
        first.steps,
        first.dt,
        first.substeps,
        first.ms_per_step.samples.len()
    );
    let _ = writeln!(
        text,
        "{:<9}{:>10}{:>10}{:>10}  {:<24}{:<24}|{:>10}{:>10}{:>10}{:>11}{:>9}",
        "",
        "ms: min",
        "median",
        "cpu",
        "x Box2D, wall (spread)",
        "x Box2D, cpu (spread)",
        "sink m",
        "drift m",
        "depth m",
        "energy J",
        "touching"
    );
    for row in rows {
        let name = if row.backend.ends_with('N') {
            format!("{} {}T", row.backend.trim_end_matches('N'), row.threads)
        } else {
            row.backend.to_owned()
        };
        let spread = |spread: Option<&Spread>| {
            spread.map_or_else(String::new, |s| format!("{:.3} ({:.3} - {:.3})", s.median, s.min, s.max))
        };
        let cpu = row.cpu_ms_per_step.as_ref().map_or_else(String::new, |ms| format!("{:.3}", ms.median));
        let quality = &row.quality;
        let _ = writeln!(
            text,
            "{name:<9}{:>10.3}{:>10.3}{cpu:>10}  {:<24}{:<24}|{:>10.4}{:>10.4}{:>10.4}{:>11.4e}{:>9}",
            row.ms_per_step.min,
            row.ms_per_step.median,
            spread(row.ratio.as_ref().map(|ratio| &ratio.wall)),
            spread(row.ratio.as_ref().and_then(|ratio| ratio.cpu.as_ref())),
            quality.top_sink,
            quality.top_drift,
            quality.max_penetration,
            quality.kinetic_energy,
            quality.touching
        );
    }
    if with_stages {
        for row in rows.iter().filter(|row| !row.stages_ms.is_empty()) {
            let _ = writeln!(text, "  {}, ms a step in the fastest repeat ({:.3}):", row.backend, row.ms_per_step.min);
            for (stage, ms) in row.stages_ms.iter().filter(|(_, ms)| *ms > 0.0) {
                let _ = writeln!(text, "    {stage:<22}{ms:>8.3}");
            }
        }
    }
    text
}

/// How the time a box and step takes grows with the number of boxes, for one contender.
#[derive(Debug, Serialize)]
pub struct Growth {
    /// Who.
    pub backend: &'static str,
    /// Whether it is processor time; else wall time.
    pub cpu_time: bool,
    /// From the smallest size to the largest.
    pub sizes: Vec<GrowthSize>,
    /// The largest size's over the smallest's. 1 is linear.
    pub factor: f64,
    /// The worst size's over the best's.
    pub worst_factor: f64,
}

/// One size.
#[derive(Debug, Serialize)]
pub struct GrowthSize {
    /// Spec.
    pub scene: String,
    /// That can move.
    pub boxes: usize,
    /// Microseconds a box and step, of the fastest repeat.
    pub us_per_box: f64,
    /// Likewise by stage, wall time.
    pub stages_us_per_box: Vec<(&'static str, f64)>,
}

/// As a table.
#[must_use]
pub fn growth_table(growths: &[Growth], with_stages: bool) -> String {
    let mut text = String::new();
    let Some(first) = growths.first() else { return text };
    let _ = write!(text, "many_pyramids, us a box and step\n{:<24}", "boxes");
    for size in &first.sizes {
        let _ = write!(text, "{:>10}", size.boxes);
    }
    let _ = writeln!(text, "{:>14}{:>12}", "last/first", "worst/best");
    for growth in growths {
        let _ = write!(text, "{:<24}", format!("{} {}", growth.backend, if growth.cpu_time { "cpu" } else { "wall" }));
        for size in &growth.sizes {
            let _ = write!(text, "{:>10.4}", size.us_per_box);
        }
        let _ = writeln!(text, "{:>14.3}{:>12.3}", growth.factor, growth.worst_factor);
        let stages = growth.sizes.first().map_or(0, |size| size.stages_us_per_box.len());
        for stage in 0..if with_stages { stages } else { 0 } {
            let of = |size: &GrowthSize| size.stages_us_per_box.get(stage).copied().unwrap_or(("", 0.0));
            let costs: Vec<f64> = growth.sizes.iter().map(|size| of(size).1).collect();
            if costs.iter().all(|cost| *cost > 0.0) {
                let _ = write!(text, "  {:<22}", of(&growth.sizes[0]).0);
                for cost in &costs {
                    let _ = write!(text, "{cost:>10.4}");
                }
                let _ = writeln!(text, "{:>14.3}", costs[costs.len() - 1] / costs[0]);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn a_spread_keeps_the_order_of_its_samples() {
        let odd = Spread::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 3.0));
        assert_eq!(odd.samples, [3.0, 1.0, 2.0]);
        assert!((Spread::of(vec![4.0, 1.0]).unwrap().median - 2.5).abs() < 1e-12);
        assert!(Spread::of(vec![]).is_none());
    }
}
