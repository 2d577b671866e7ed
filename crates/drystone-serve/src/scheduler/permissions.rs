//! Permissions of a time slice: work that a session may begin in it, depending on its worker and its urgency.

/// Permissions of a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leave {
    /// False for a time slice that only answers or ends something.
    pub may_take_long: bool,
    /// False for a time slice that begins no step.
    pub may_step: bool,
}

impl Leave {
    /// Unrestricted.
    pub const ALL: Self = Self { may_take_long: true, may_step: true };
    /// Only short work.
    pub const SHORT: Self = Self { may_take_long: false, may_step: false };

    /// Returns the permissions on the reserved worker, if `only_short`, or on another one; `by_record` is what the
    /// reserved worker allows this world. An urgent time slice precedes those of other worlds and is therefore short
    /// on every worker: longer work waits for a time slice in the usual order.
    pub const fn new(only_short: bool, is_urgent: bool, by_record: Self) -> Self {
        match (is_urgent, only_short) {
            (true, _) => Self::SHORT,
            (false, true) => by_record,
            (false, false) => Self::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Leave;

    #[test]
    fn urgent_turns_are_short_on_every_worker() {
        let answers = Leave { may_step: false, ..Leave::ALL };
        for by_record in [Leave::ALL, Leave::SHORT, answers] {
            for only_short in [true, false] {
                assert_eq!(Leave::new(only_short, true, by_record), Leave::SHORT, "{only_short} {by_record:?}");
            }
            // Any other time slice may take long on most workers, and on the reserved one for qualified worlds.
            assert_eq!(Leave::new(false, false, by_record), Leave::ALL);
            assert_eq!(Leave::new(true, false, by_record), by_record);
        }
    }
}
