//! Contact hooks: a program's own rule about which contacts are solved. For worlds on the CPU alone, as a device runs
//! its steps without the host; there, filters, one-way edges and tables of materials are such rules as data.

use std::fmt;

use crate::stages::collide::rule::{drop_points, is_solid};
use crate::types::{Contact, Manifold};

/// Call of a program about a contact that touches; false lets its shapes pass through each other in this step.
type Call = Box<dyn FnMut(&Contact, &Manifold) -> bool + Send + Sync>;

/// The hook of a world, if it has one ([`CpuWorld::with_contact_hook`](super::CpuWorld::with_contact_hook)).
#[derive(Default)]
pub(super) struct ContactHook(Option<Call>);

impl ContactHook {
    pub(super) fn new(call: impl FnMut(&Contact, &Manifold) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(call)))
    }

    /// Takes the points of the contacts that the hook refuses.
    pub(super) fn apply(&mut self, contacts: &mut [Contact], manifolds: &mut [Manifold]) {
        let Some(call) = &mut self.0 else { return };
        for (contact, manifold) in contacts.iter_mut().zip(manifolds) {
            if is_solid(contact) && !call(contact, manifold) {
                drop_points(contact, manifold);
            }
        }
    }
}

impl fmt::Debug for ContactHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContactHook").field(&self.0.is_some()).finish()
    }
}
