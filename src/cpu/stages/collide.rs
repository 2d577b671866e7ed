//! Computes the manifolds, with contacts shared among threads; the fast form of [`crate::stages::collide`], to the same
//! bits.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::cpu::{BodyTables, ContactTables};
use crate::scene::Compiled;
use crate::stages::collide::collide_contact;
use crate::stages::collide::rule::{drop_by_rule, rule_contact};
use crate::threads::{HEAVY, LIGHT, Rows, Threads};
use crate::types::{BodyState, Manifold, RuleContact};

/// Computes all manifolds. Returns the number of recycled ones.
pub fn collide(
    threads: &Threads,
    compiled: &Compiled,
    tables: &BodyTables,
    previous: &[Manifold],
    current: &mut ContactTables,
) -> u32 {
    let Compiled { params, shapes, vertices, .. } = compiled;
    let BodyTables { poses, motions, .. } = tables;
    let ContactTables { contacts, manifolds, .. } = current;
    let recycled = AtomicU32::new(0);
    threads.for_chunk_pairs(HEAVY, contacts, manifolds, |_, contacts, manifolds| {
        // Counted here: a separate pass over all contacts would cost as much as the caches that they fall out of.
        let mut kept = 0;
        for (contact, manifold) in contacts.iter_mut().zip(manifolds) {
            let is_kept = collide_contact(params, shapes, vertices, poses, motions, previous, contact, manifold);
            kept += u32::from(is_kept);
        }
        recycled.fetch_add(kept, Ordering::Relaxed);
    });
    recycled.into_inner()
}

/// Calls the rule for all contacts, if the scene has one. `ruled` gets the rows that it returns.
pub fn rule(
    threads: &Threads,
    compiled: &Compiled,
    states: &Rows<BodyState, 4>,
    current: &mut ContactTables,
    ruled: &mut Vec<RuleContact>,
) {
    let Compiled { params, shapes, contact_rule: Some(rule), .. } = compiled else { return };
    let ContactTables { contacts, manifolds, .. } = current;
    ruled.resize(contacts.len(), RuleContact::default());
    let state_of = |body: u32| states.get(body as usize);
    threads.for_each(HEAVY, ruled, |index, solved| {
        *solved = rule_contact(rule, params, shapes, state_of, &contacts[index], &manifolds[index]);
    });
    threads.for_each_pair(LIGHT, contacts, manifolds, |index, contact, manifold| {
        drop_by_rule(&ruled[index], contact, manifold);
    });
}
