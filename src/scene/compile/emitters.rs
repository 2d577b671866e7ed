//! Bodies and joints that emitters will make: room for them in the tables, and in pictures.

use super::Compiled;
use crate::types::{GEOMETRY_MASK, HALF_PLANE, Pose, ShapeData, u32_from};

impl Compiled {
    /// Returns the most slots of bodies that the scene and its emitters need.
    #[must_use]
    pub fn most_slots(&self) -> usize {
        self.bodies.len().max(self.script.first + self.script.most.bodies)
    }

    /// Returns the poses and shapes of a world, followed by those of one batch of each emitter at its start: the area
    /// that a picture of the whole run should show.
    #[must_use]
    pub fn with_what_comes(&self, poses: &[Pose]) -> (Vec<Pose>, Vec<ShapeData>) {
        let (mut poses, mut shapes) = (poses.to_vec(), self.shapes.clone());
        for body in self.script.emitters.iter().flat_map(|emitter| &emitter.bodies) {
            let laid = Self::compile_body(body, u32_from(poses.len()));
            poses.push(laid.pose);
            shapes.extend(laid.shapes.into_iter().map(|(shape, _)| shape));
        }
        (poses, shapes)
    }

    /// Builds the grid and sets the switches for the shapes of the scene and of its emitters, so that neither changes
    /// when batches are added.
    pub(super) fn prepare_for_all(&mut self) {
        let own = (self.shapes.len(), self.vertices.len(), self.poses.len());
        for emitter in self.script.emitters.clone().iter() {
            for body in &emitter.bodies {
                // One copy for each batch that there can be at a time: the size of the grid follows the number of
                // shapes.
                let copies = usize::try_from(emitter.max_batches().unwrap_or(1)).unwrap_or(usize::MAX);
                let laid = Self::compile_body(body, u32_from(self.poses.len()));
                self.poses.push(laid.pose);
                for (mut shape, vertices) in laid.shapes {
                    debug_assert!(shape.kind & GEOMETRY_MASK != HALF_PLANE, "refused by the check");
                    shape.first_vertex = u32_from(self.vertices.len());
                    self.vertices.extend(vertices);
                    self.shapes.extend(std::iter::repeat_n(shape, copies));
                }
            }
        }
        self.build_grid();
        self.refresh_switches();
        self.shapes.truncate(own.0);
        self.vertices.truncate(own.1);
        self.poses.truncate(own.2);
    }
}
