//! Clamping the accumulated impulse instead of each impulse, and why it matters (tutorials: "accumulated impulse").
//!
//! A contact may only push. A solver that visits its contacts several times must be able to take back a push that was
//! too strong: the *sum* must not be negative, but each part may be. Clamping each part keeps every mistake, and a
//! solver that warm-starts from the impulses of the previous step keeps it in all later steps: the stack blows up.
//! (Without warm starting, both ways give the same result for this stack, as its impulses only grow.)

use drystone::Mode;
use drystone::low_level::state;
use drystone::{Scene, World};
use drystone_scenes::catalogue;

fn run(accumulate: bool) -> Result<(), Box<dyn std::error::Error>> {
    // Five stacked boxes at rest, as in the tutorials: 10 sweeps, warm-started from the previous step.
    let mut scene: Scene = catalogue::build("vertical_stack:count=5")?;
    scene.settings.mode = Mode::Baumgarte;
    scene.settings.accumulate = accumulate;

    let clamped = if accumulate { "the sum" } else { "each impulse" };
    println!("clamped: {clamped}");
    let mut world = World::new(&scene)?;
    for step in 1..=240 {
        world.step()?;
        if step % 60 == 0 {
            let snapshot = world.snapshot()?;
            let measured = state::metrics(world.compiled(), &snapshot);
            println!(
                "  {} s  the top rose by {:7.4} m  fastest {:7.4} m/s  kinetic energy {:9.5} J",
                step / 60,
                -measured.top_sink,
                measured.max_speed,
                measured.kinetic_energy
            );
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(true)?;
    run(false)
}
