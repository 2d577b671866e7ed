//! Calls the scene's rule, with contacts shared among threads; the fast form of [`crate::stages::rule`], to the same
//! bits.

use crate::cpu::ContactTables;
use crate::scene::Compiled;
use crate::stages::rule::{drop_by_rule, rule_contact};
use crate::threads::{HEAVY, LIGHT, Rows, Threads};
use crate::types::{BodyState, RuleContact};

/// Calls the rule for all contacts, if the scene has one.
pub fn rule(threads: &Threads, compiled: &Compiled, states: &Rows<BodyState, 4>, current: &mut ContactTables) {
    let Compiled { params, shapes, contact_rule: Some(rule), .. } = compiled else { return };
    let ContactTables { contacts, manifolds, ruled, .. } = current;
    ruled.resize(contacts.len(), RuleContact::default());
    let state_of = |body: u32| states.get(body as usize);
    threads.for_each(HEAVY, ruled, |index, solved| {
        *solved = rule_contact(rule, params, shapes, state_of, &contacts[index], &manifolds[index]);
    });
    threads.for_each_pair(LIGHT, contacts, manifolds, |index, contact, manifold| {
        drop_by_rule(&ruled[index], contact, manifold);
    });
}
