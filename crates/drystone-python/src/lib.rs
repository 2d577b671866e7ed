//! Extension module `drystone._drystone` of the Python package in `python/`: worlds and batches of worlds, with their
//! bodies as NumPy arrays. The package wraps it in classes with docs and checks arguments before they get here.
//!
//! ```python
//! from drystone import _drystone
//!
//! world = _drystone.World(_drystone.Scene.build("large_pyramid:base=20"), "cpu", 2)
//! world.step(60)
//! print(world.column("positions"))
//! ```
//!
//! | file | content |
//! |---|---|
//! | `world.rs`, `batch.rs` | `World` and `Batch` |
//! | `arrays.rs`, `columns.rs` | arrays that the caller keeps while their content follows the world; their values |
//! | `loads.rs` | forces and torques that the caller writes into arrays |
//! | `bulk.rs`, `touches.rs` | commands to many worlds in one call; bodies that touch something |
//! | `pushes.rs` | explosions and winds |
//! | `contacts.rs`, `rays.rs`, `outlines.rs` | contact points, ray casts and outlines of shapes as arrays |
//! | `scene.rs`, `backend.rs` | scenes from text; selection of the backend |
//! | `picture.rs` | pictures, movies, the window |
//! | `call.rs` | work without the interpreter lock; errors as exceptions |

#![allow(clippy::needless_pass_by_value, reason = "arguments are made from Python objects for the call")]

mod arrays;
mod backend;
mod batch;
mod bulk;
mod call;
mod columns;
mod contacts;
mod loads;
mod outlines;
mod picture;
mod pushes;
mod rays;
mod scene;
mod touches;
mod world;

use pyo3::pymodule;

/// Worlds of rigid bodies in 2D. Use the package `drystone`.
#[pymodule]
mod _drystone {
    #[pymodule_export]
    use crate::batch::BatchHandle;
    #[pymodule_export]
    use crate::picture::open_window;
    #[pymodule_export]
    use crate::scene::{SceneHandle, json_schema, scene_names, search_scenes};
    #[pymodule_export]
    use crate::world::{SnapshotHandle, WorldHandle};

    /// Version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    /// Hash of the compiler, the target and the sources of the solver.
    #[pymodule_export]
    const FINGERPRINT: &str = drystone::FINGERPRINT;
}
