//! The kernels as compiled for a GPU, on a machine without one (`.ci/isa`): their registers and memory instructions,
//! and whether the kernels that may replace each other have the same floating-point operations. Software adapters hide
//! all of it: they have no registers to run out of, and never contract a multiplication and an addition.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use drystone::low_level::gpu::shader::{Composed, Composer, SHADERS};
use serde::{Deserialize, Serialize};
use wgpu::naga;

/// Figures of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Figures {
    /// Vector registers of a lane.
    vgprs: u32,
    /// Vector registers that did not fit and live in memory.
    spills: u32,
    /// Scalar registers that live in lanes of vector registers.
    scalar_spills: u32,
    /// Wavefronts that a SIMD unit can hold, of 32.
    waves: u32,
    instructions: u32,
    /// The compiler's estimate, cycles.
    latency: u32,
    /// Memory instructions.
    loads: u32,
    stores: u32,
    atomics: u32,
    /// Number of instructions of each floating-point operation; a contracted multiplication and addition is one.
    floats: Floats,
}

type Floats = BTreeMap<String, u32>;
type Kernels = BTreeMap<String, Figures>;

/// Writes each entry point of a shader as the SPIR-V that wgpu gives to a driver that checks bounds itself.
fn write_spirv(composed: &Composed, folder: &Path) {
    let (module, info) = composed.module().unwrap();
    for entry in &module.entry_points {
        let options = naga::back::spv::Options {
            lang_version: (1, 6),
            flags: naga::back::spv::WriterFlags::LABEL_VARYINGS,
            bounds_check_policies: naga::proc::BoundsCheckPolicies {
                index: naga::proc::BoundsCheckPolicy::Restrict,
                buffer: naga::proc::BoundsCheckPolicy::Unchecked,
                ..Default::default()
            },
            zero_initialize_workgroup_memory: naga::back::spv::ZeroInitializeWorkgroupMemoryMode::None,
            force_loop_bounding: true,
            ..Default::default()
        };
        let pipeline = naga::back::spv::PipelineOptions { shader_stage: entry.stage, entry_point: entry.name.clone() };
        let words = naga::back::spv::write_vec(&module, &info, &options, Some(&pipeline)).unwrap();
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        std::fs::write(folder.join(format!("{}.spv", entry.name)), bytes).unwrap();
    }
}

/// Compiles the kernels of shaders, in a folder with this name.
fn compile(shaders: &[Composed], name: &str) -> Kernels {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for shader in shaders {
        write_spirv(shader, &folder);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/isa");
    let done = Command::new("python3").arg(script).arg(&folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn compose(names: &[&str]) -> Vec<Composed> {
    names.iter().map(|name| Composer::SOLVER.compose(name).unwrap()).collect()
}

/// Table that the kernels are compared with.
const TABLE: &str = "benches/results/navi21-compiler/kernels.json";

/// Returns what grew of a kernel beyond what another version of the compiler explains.
fn growth(now: &Figures, then: &Figures) -> Vec<String> {
    let most = |name: &str, now: u32, then: u32, slack: u32| {
        (now > then + then / 10 + slack).then(|| format!("{now} {name} instead of {then}"))
    };
    let all = [
        most("vector registers", now.vgprs, then.vgprs, 8),
        most("spilled scalar registers", now.scalar_spills, then.scalar_spills, 8),
        most("instructions", now.instructions, then.instructions, 20),
        most("loads", now.loads, then.loads, 2),
        most("stores", now.stores, then.stores, 1),
        most("atomics", now.atomics, then.atomics, 0),
    ];
    all.into_iter().flatten().collect()
}

/// No kernel keeps vector registers in memory, and none needs much more than the table says. A change that is meant is
/// written with `DRYSTONE_WRITE_KERNELS=1`.
#[test]
fn kernels_are_as_small_as_the_table_says() {
    let names: Vec<_> = SHADERS.iter().map(|shader| shader.name).collect();
    let now = compile(&compose(&names), "isa");
    let spilled: Vec<_> = now.iter().filter(|(_, kernel)| kernel.spills > 0).map(|(name, _)| name).collect();
    assert!(spilled.is_empty(), "registers of {spilled:?} do not fit");
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    if std::env::var_os("DRYSTONE_WRITE_KERNELS").is_some() {
        std::fs::write(&place, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let then: Kernels = serde_json::from_str(&std::fs::read_to_string(place).unwrap()).unwrap();
    let names = |kernels: &Kernels| kernels.keys().cloned().collect::<BTreeSet<String>>();
    assert_eq!(names(&now), names(&then), "kernels came or went: DRYSTONE_WRITE_KERNELS=1");
    assert!(then.len() > 70, "{} kernels", then.len());
    let grown: Vec<_> = now
        .iter()
        .flat_map(|(name, kernel)| growth(kernel, &then[name]).into_iter().map(move |what| format!("{name}: {what}")))
        .collect();
    assert!(grown.is_empty(), "{grown:#?}");
    // The sweeps, in which a step spends most of its time.
    let Figures { loads, stores, waves, .. } = now["solve"];
    assert!(loads <= 24 && stores <= 12 && waves >= 16, "solve has {loads} loads, {stores} stores and {waves} waves");
}

/// Negative control: a kernel with 600 values at once does not fit, and a load more in a small kernel is noticed.
#[test]
fn spills_and_growth_are_noticed() {
    let reads: String = (0..600).map(|n| format!("let v{n} = values[{n}u + i];\n")).collect();
    let writes: String = (0..600).map(|n| format!("values[{n}u * i] = v{n} * v{};\n", 599 - n)).collect();
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> values: array<f32>;\n@compute @workgroup_size(64)\n\
         fn greedy(@builtin(local_invocation_index) i: u32) {{\n{reads}values[i] = 1.0;\nstorageBarrier();\n{writes}}}"
    );
    let greedy = &compile(&[Composed::from_text("greedy", &text)], "isa_greedy")["greedy"];
    assert!(greedy.spills > 0, "{greedy:?}");
    let small = Figures { loads: 4, ..Figures::default() };
    assert_eq!(growth(&Figures { loads: 7, ..small.clone() }, &small), ["7 loads instead of 4"]);
    assert_eq!(growth(&small, &small), [] as [&str; 0]);
}

/// Returns the operations of several kernels together.
fn sum<'a>(kernels: impl IntoIterator<Item = &'a Floats>) -> Floats {
    let mut all = Floats::new();
    for (operation, count) in kernels.into_iter().flatten() {
        *all.entry(operation.clone()).or_default() += count;
    }
    all
}

/// Returns the operations that the first kernel has beyond the second.
fn beyond(all: &Floats, part: &Floats) -> BTreeMap<String, i64> {
    let operations: BTreeSet<_> = all.keys().chain(part.keys()).collect();
    let count = |kernel: &Floats, operation| i64::from(kernel.get(operation).copied().unwrap_or(0));
    let rest =
        operations.into_iter().map(|operation| (operation.clone(), count(all, operation) - count(part, operation)));
    rest.filter(|&(_, count)| count != 0).collect()
}

const JOINT_SWEEPS: [&str; 3] = ["warm_start_joints", "solve_joints", "project_joints"];
const SWEEPS: [&str; 4] = ["warm_start", "solve", "restitution", "project"];

/// Returns what differs between the kernels of a sweep, and between those of the sweeps and the fused kernels, beyond
/// the shares of hubs, which each kernel of one workgroup has once.
fn differences(kernels: &Kernels) -> Vec<String> {
    let floats = |name: &str| &kernels[name].floats;
    let shares = beyond(floats("warm_start_tail"), floats("warm_start"));
    let mut found = Vec::new();
    for sweep in SWEEPS {
        let rest = beyond(floats(&format!("{sweep}_tail")), floats(sweep));
        if rest != shares {
            found.push(format!(
                "{sweep}_tail has {rest:?} beyond {sweep}, which are not those of the shares: {shares:?}"
            ));
        }
    }
    let stages = SWEEPS.into_iter().chain(["integrate_velocities", "integrate_positions"]).map(floats);
    let stages = sum(stages);
    for fused in ["fused", "fused_narrow", "fused_wide"] {
        let rest = beyond(floats(fused), &stages);
        if rest != shares {
            found
                .push(format!("{fused} has {rest:?} beyond the stages, which are not those of the shares: {shares:?}"));
        }
    }
    let joints = JOINT_SWEEPS.map(|sweep| {
        // The compiler writes the loop over the joints of a colour twice. The tail alone has trees of hinges, which are
        // not projected.
        let (wide, tail) = (floats(sweep), floats(&format!("{sweep}_tail")));
        let rest = beyond(tail, &sum([wide, wide]));
        if rest.values().any(|&count| count < 0) || (sweep == "project_joints" && !rest.is_empty()) {
            found.push(format!("{sweep}_tail has {rest:?} beyond twice {sweep}"));
        }
        tail
    });
    let rest = beyond(floats("fused_joints"), &sum(joints.into_iter().chain([floats("fused")])));
    if !rest.is_empty() {
        found.push(format!("fused_joints has {rest:?} beyond fused and the sweeps over joints"));
    }
    found
}

/// Which kernel visits a constraint depends on counters, which arrive at different times in two runs. They leave no
/// trace only if the compiler contracts the same multiplications and additions in all of them.
#[test]
fn kernels_that_replace_each_other_compute_the_same() {
    let names = SWEEPS.into_iter().chain(JOINT_SWEEPS);
    let names: Vec<_> = names.chain(["integrate_velocities", "integrate_positions", "fused"]).collect();
    let kernels = compile(&compose(&names), "isa_same");
    assert!(kernels["solve"].floats["v_fma_f32"] > 50, "the compiler contracts nothing: {:?}", kernels["solve"].floats);
    assert_eq!(differences(&kernels), [] as [&str; 0]);

    // Negative control: an operation more in one of them.
    let text = Composer::SOLVER.compose("solve").unwrap().text().replace(
        "let push_0 = normal * (new_0 - old_0);",
        "let push_0 = normal * (select(new_0, new_0 * m_a + i_a, sweep.flags == 77u) - old_0);",
    );
    let tail = &compile(&[Composed::from_text("solve", &text)], "isa_other")["solve_tail"];
    let mut other = kernels.clone();
    other.insert("solve_tail".into(), tail.clone());
    let found = differences(&other);
    assert!(matches!(&found[..], [one] if one.starts_with("solve_tail has ")), "{found:?}");
}
