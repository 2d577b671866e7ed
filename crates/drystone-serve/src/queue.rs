//! Fair order of worlds by measured computing time. Pure functions of their arguments, without clocks or worlds.

use std::time::Duration;

/// Longest time slice that counts as short, s.
const SHORT: f64 = 0.02;
/// Number of short time slices in a row that qualify a world for the worker for short time slices.
const SHORT_TURNS: u8 = 3;
/// Longest time slice that may be the machine's fault rather than the world's, s. One after [`CALM_TURNS`] short
/// ones is ignored.
const HICCUP: f64 = 0.1;
/// Number of short time slices in a row after which a hiccup is ignored.
const CALM_TURNS: u8 = 10;
/// Largest number of worlds in one time slice.
const MAX_TOGETHER: usize = 64;

/// Computing time of a world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// Seconds charged to the world, plus credit that expired while it was idle.
    pub had: f64,
    /// Recent cost of a step, s; none before the first.
    step: Option<f64>,
    /// Recent cost of a time slice without steps, s; none before the first.
    rest: Option<f64>,
    /// True if the world shares no time slice.
    pub alone: bool,
}

/// Expected content of a world's next time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Anything, perhaps for long.
    Anything,
    /// Step of the world.
    Step,
    /// Answers, log entries and bookkeeping.
    Rest,
}

impl Account {
    /// Returns the account of a world whose time slice is urgent and short: it precedes all others. Its real charge
    /// counts again in later time slices.
    #[must_use]
    pub fn first(self) -> Self {
        Self { had: f64::NEG_INFINITY, ..self }
    }

    /// Returns the account of a new world, which starts at the current minimum `least`.
    pub fn new(least: f64) -> Self {
        Self { had: least, step: None, rest: None, alone: false }
    }

    /// Charges the seconds of a time slice, and updates the estimate for what was expected or for the `steps` done.
    pub fn charge(&mut self, took: f64, expected: Expected, steps: u32) {
        self.had += took;
        let (known, now) = match (steps, expected) {
            (0, Expected::Anything) => return,
            (0, _) => (&mut self.rest, took),
            _ => (&mut self.step, took / f64::from(steps)),
        };
        // A delayed time slice says little about the next: the estimate at most doubles.
        *known = Some(known.map_or(now, |before| 0.7 * before + 0.3 * now.min(2.0 * before)));
    }

    /// Returns the estimated seconds of the next time slice, with at most one step.
    fn next(&self, expected: Expected) -> f64 {
        let known = match expected {
            Expected::Anything => None,
            Expected::Step => self.step,
            Expected::Rest => self.rest,
        };
        // A cost that was never measured may be long.
        known.filter(|_| !self.alone).unwrap_or(f64::INFINITY)
    }
}

/// Recent lengths of a world's time slices. They qualify it for the worker for short time slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceHistory {
    /// Numbers of short time slices with and without steps since the last long one, up to [`SHORT_TURNS`].
    steps: u8,
    rests: u8,
    /// Number of short time slices with steps in a row, up to [`CALM_TURNS`].
    calm: u8,
    /// True if the last conclusive time slice was long.
    is_long: bool,
}

impl SliceHistory {
    /// Records a time slice. The caller leaves out those that opened the world: they say nothing about the next.
    pub fn note(&mut self, took: f64, steps: u32) {
        if took > SHORT {
            let is_hiccup = took <= HICCUP && self.calm == CALM_TURNS;
            *self = if is_hiccup { Self { calm: 0, ..*self } } else { Self { is_long: true, ..Self::default() } };
            return;
        }
        // Short answers do not make up for long steps.
        if steps > 0 {
            self.calm = (self.calm + 1).min(CALM_TURNS);
        }
        let count = if steps > 0 { &mut self.steps } else { &mut self.rests };
        *count = (*count + 1).min(SHORT_TURNS);
        self.is_long &= self.steps < SHORT_TURNS;
    }

    /// Returns true if the next time slice will be short according to the recent ones.
    #[must_use]
    pub fn is_short(self, expected: Expected) -> bool {
        match expected {
            Expected::Anything => false,
            Expected::Step => self.steps == SHORT_TURNS,
            Expected::Rest => !self.is_long && (self.rests == SHORT_TURNS || self.steps == SHORT_TURNS),
        }
    }

    /// Returns true if no long time slice stands in the record.
    #[must_use]
    pub fn is_clean(self) -> bool {
        !self.is_long
    }
}

/// World that is due for a time slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due<T> {
    pub id: T,
    /// Seconds charged to all worlds of the owner.
    pub owner: f64,
    pub account: Account,
    pub expected: Expected,
    /// For a step in a pool: the id of the pool, and the seconds of a step of all its worlds.
    pub series: Option<(usize, f64)>,
}

/// Selects the worlds of the next time slice, reordering `due`. First comes the world with the least charge of the
/// owner with the least. With `together`, the worlds that follow in this order share the time slice, up to the first
/// whose expected work does not fit. No world is overtaken, except by those that share dispatches with a selected
/// one: their step runs in any case, and each is charged its part.
pub fn choose<T: Ord>(due: &mut [Due<T>], together: bool, time_slice: Duration) -> &[Due<T>] {
    // Ties are broken by id, so that the order does not depend on a hash table.
    let order = |a: &Due<T>, b: &Due<T>| {
        let by_owner = a.owner.total_cmp(&b.owner);
        by_owner.then(a.account.had.total_cmp(&b.account.had)).then_with(|| a.id.cmp(&b.id))
    };
    if !together {
        if !due.is_empty() {
            due.select_nth_unstable_by(0, order);
        }
        return &due[..due.len().min(1)];
    }
    due.sort_unstable_by(order);
    let (mut sum, mut count, mut full) = (0.0, 0, false);
    let mut shared = Vec::new();
    for at in 0..due.len() {
        let Due { account, expected, series, .. } = &due[at];
        let series = series.filter(|_| !account.alone && *expected == Expected::Step);
        let joins = series.is_some_and(|(pool, _)| shared.contains(&pool));
        if !joins {
            sum += series.map_or_else(|| account.next(*expected), |(_, seconds)| seconds);
            full |= sum > time_slice.as_secs_f64();
        }
        if count == 0 || joins || !full {
            shared.extend(series.filter(|_| !joins).map(|(pool, _)| pool));
            // Behind those selected before; overtaken worlds keep their order.
            due[count..=at].rotate_right(1);
            count += 1;
        }
        if count == MAX_TOGETHER {
            break;
        }
    }
    &due[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_SLICE: Duration = Duration::from_millis(4);

    /// Returns a world that is due for a step.
    fn due(id: u32, had: f64, step: f64) -> Due<u32> {
        let account = Account { step: Some(step), ..Account::new(had) };
        Due { id, owner: 0.0, account, expected: Expected::Step, series: None }
    }

    fn chosen(due: &[Due<u32>], together: bool) -> Vec<u32> {
        choose(&mut due.to_vec(), together, TIME_SLICE).iter().map(|due| due.id).collect()
    }

    #[test]
    fn small_worlds_share_a_turn() {
        let small: Vec<_> = (0..10).map(|id| due(id, f64::from(10 - id), 0.0007)).collect();
        assert_eq!(chosen(&small, true), [9, 8, 7, 6, 5], "as many as fit, those that had least");
        assert_eq!(chosen(&small, false), [9]);
        let with = |other: Due<u32>| chosen(&small.iter().copied().chain([other]).collect::<Vec<_>>(), true);
        assert_eq!(with(due(10, 2.5, 0.5)), [9, 8], "a large one is not passed by");
        assert_eq!(with(due(10, 0.5, 0.5)), [10], "and has a turn of its own");
        let other = due(10, 0.5, 0.0001);
        assert_eq!(with(other), [10, 9, 8, 7, 6, 5]);
        for expected in [Expected::Anything, Expected::Rest] {
            assert_eq!(with(Due { expected, ..other }), [10], "as has one of which nothing is known");
        }
        let account = Account { alone: true, ..other.account };
        assert_eq!(with(Due { account, ..other }), [10], "or that is to be alone");
        assert_eq!(chosen(&[], true), [0; 0]);
        let tiny: Vec<_> = (0..100).map(|id| due(id, 0.0, 1e-6)).collect();
        assert_eq!(chosen(&tiny, true).len(), MAX_TOGETHER);
    }

    #[test]
    fn urgent_turns_come_first() {
        let mut all: Vec<_> = (0..3).map(|id| due(id, 1e-3, 0.001)).collect();
        let late = due(9, 1e3, 10.0);
        all.push(Due { owner: f64::NEG_INFINITY, account: late.account.first(), ..late });
        assert_eq!((chosen(&all, false), chosen(&all, true)[0]), (vec![9], 9));
        // Negative control: by its charge it would be last.
        all[3] = late;
        assert_eq!((chosen(&all, false), chosen(&all, true)), (vec![0], vec![0, 1, 2]));
    }

    #[test]
    fn who_shares_dispatches_comes_along() {
        let own = |id: u32, had: f64| due(id, had, 0.0007);
        let of =
            |pool: usize, seconds: f64, id: u32| Due { series: Some((pool, seconds)), ..due(id, f64::from(id), 0.1) };
        let pooled = |seconds: f64, ids: &[u32]| ids.iter().map(|&id| of(7, seconds, id)).collect::<Vec<_>>();
        let with = |due: &[Due<u32>], others: &[Due<u32>]| chosen(&[due, others].concat(), true);
        assert_eq!(chosen(&pooled(0.001, &[3, 1, 2]), true), [1, 2, 3], "all of it at the price of one series");
        assert_eq!(chosen(&pooled(0.05, &[3, 1, 2]), true), [1, 2, 3], "and if that takes longer than a turn");
        assert_eq!(chosen(&pooled(f64::INFINITY, &[3, 1, 2]), true), [1, 2, 3], "or was never measured");
        assert_eq!(chosen(&pooled(0.05, &[3, 1, 2]), false), [1]);
        assert_eq!(with(&pooled(0.05, &[1, 3]), &[own(2, 2.0)]), [1, 3], "it may pass others by");
        assert_eq!(with(&pooled(0.05, &[1, 3]), &[own(0, 0.5)]), [0], "unless it is not next itself");
        assert_eq!(with(&pooled(0.001, &[1, 3]), &[own(2, 2.0)]), [1, 2, 3]);
        assert_eq!(
            with(&pooled(0.003, &[1, 4]), &[own(2, 2.0), own(3, 3.0)]),
            [1, 2, 4],
            "3.7 ms, and 4.4 are too much"
        );
        assert_eq!(with(&pooled(0.001, &[1]), &[of(8, 0.001, 2), of(8, 0.001, 4), of(9, 0.05, 3)]), [1, 2, 4]);
        // Excluded: worlds that have no step to do, or may share no time slice.
        let rest = Due { expected: Expected::Rest, ..of(7, 0.05, 2) };
        assert_eq!(with(&pooled(0.05, &[1]), &[rest]), [1]);
        let suspect = Due { account: Account { alone: true, ..rest.account }, ..of(7, 0.05, 2) };
        assert_eq!(with(&pooled(0.05, &[1]), &[suspect]), [1]);
        let many: Vec<u32> = (0..100).collect();
        assert_eq!(chosen(&pooled(0.05, &many), true), many[..MAX_TOGETHER]);
    }

    #[test]
    fn what_a_turn_takes_is_learnt() {
        let mut account = Account::new(1.0);
        account.charge(0.3, Expected::Anything, 0);
        assert_eq!((account.had, account.step, account.rest), (1.3, None, None), "it was opened");
        account.charge(0.2, Expected::Rest, 2);
        assert_eq!((account.step, account.rest), (Some(0.1), None));
        account.charge(0.001, Expected::Step, 0);
        assert_eq!((account.step, account.rest), (Some(0.1), Some(0.001)));
        (0..40).for_each(|_| account.charge(0.001, Expected::Step, 1));
        assert!(account.step.unwrap() < 0.0011, "the first is forgotten");
        account.charge(10.0, Expected::Step, 1);
        assert!(account.step.unwrap() < 0.0015, "one that took long changes little");
        (0..40).for_each(|_| account.charge(0.1, Expected::Step, 1));
        assert!(account.step.unwrap() > 0.09, "all of them do");
    }

    /// Simulates a minute: fifty worlds with steps of a millisecond, one with steps of a second, all of which always
    /// want to step. `price` scales the charges. Returns the steps of the large world, and the fewest steps of a
    /// small one.
    fn minute(price: f64) -> (u32, u32) {
        let cost = |id: u32| if id == 0 { 1.0 } else { 0.001 };
        let mut all: Vec<_> = (0..51).map(|id| due(id, 0.0, cost(id))).collect();
        let (mut time, mut steps) = (0.0, [0_u32; 51]);
        while time < 60.0 {
            let next: Vec<u32> = choose(&mut all, true, TIME_SLICE).iter().map(|due| due.id).collect();
            for id in next {
                time += cost(id);
                steps[id as usize] += 1;
                let due = all.iter_mut().find(|due| due.id == id).unwrap();
                due.account.charge(price * cost(id), Expected::Step, 1);
            }
        }
        (steps[0], steps[1..].iter().copied().min().unwrap())
    }

    #[test]
    fn a_large_world_starves_no_small_ones() {
        let (large, small) = minute(1.0);
        assert!((1..=2).contains(&large), "a fifty-first of a minute: {large} steps of a second");
        assert!(small > 1000, "each small one gets its share: {small}");
        // Negative control: without charges the first world gets every time slice.
        assert_eq!(minute(0.0), (60, 0));
    }

    /// Simulates a minute: forty worlds of one owner beside one of another, all of which always want steps of a
    /// millisecond. `price` scales the charges of the owners. Returns the steps of the single world.
    fn minute_of_owners(together: bool, price: f64) -> u32 {
        let mut all: Vec<_> = (0..41).map(|id| due(id, 0.0, 0.001)).collect();
        let (mut time, mut steps, mut owners) = (0.0, 0, [0.0; 2]);
        while time < 60.0 {
            let next: Vec<u32> = choose(&mut all, together, TIME_SLICE).iter().map(|due| due.id).collect();
            for id in next {
                time += 0.001;
                steps += u32::from(id == 0);
                owners[usize::from(id != 0)] += 0.001 * price;
                let due = all.iter_mut().find(|due| due.id == id).unwrap();
                due.account.charge(0.001, Expected::Step, 1);
            }
            for due in &mut all {
                due.owner = owners[usize::from(due.id != 0)];
            }
        }
        steps
    }

    #[test]
    fn many_worlds_of_one_owner_starve_no_other_owner() {
        // Without the others it has 60,000.
        let half = minute_of_owners(false, 1.0);
        assert!((29_000..31_000).contains(&half), "{half}: each owner has half");
        let together = minute_of_owners(true, 1.0);
        assert!(together > 14_000, "{together}: a step of each turn of four, as a world has one step of a round");
        // Negative control: without charges to owners, each world gets an equal part.
        let part = minute_of_owners(false, 0.0);
        assert!((1_400..1_500).contains(&part), "{part}: one of forty-one");
    }

    #[test]
    fn a_record_of_short_turns_is_measured() {
        let mut record = SliceHistory::default();
        let all = [Expected::Anything, Expected::Step, Expected::Rest];
        assert_eq!(all.map(|expected| record.is_short(expected)), [false; 3], "nothing is known");
        (0..10).for_each(|_| record.note(0.001, 0));
        assert_eq!(all.map(|expected| record.is_short(expected)), [false, false, true], "answers say nothing of steps");
        (0..2).for_each(|_| record.note(0.001, 4));
        assert!(!record.is_short(Expected::Step));
        record.note(0.001, 4);
        assert!(record.is_short(Expected::Step) && record.is_clean());
        record.note(0.5, 1);
        assert_eq!(all.map(|expected| record.is_short(expected)), [false; 3], "one long turn is enough");
        (0..10).for_each(|_| record.note(0.001, 0));
        assert_eq!(all.map(|expected| record.is_short(expected)), [false; 3], "until its steps are short again");
        (0..3).for_each(|_| record.note(0.001, 1));
        assert!(record.is_short(Expected::Step) && record.is_short(Expected::Rest));
    }

    /// A world is not delayed behind long ones because the machine was busy for a moment.
    #[test]
    fn one_hiccup_in_many_turns_is_forgiven() {
        let mut record = SliceHistory::default();
        (0..CALM_TURNS).for_each(|_| record.note(0.001, 1));
        record.note(HICCUP, 1);
        assert!(record.is_short(Expected::Step) && record.is_clean());
        let mut twice = record;
        twice.note(HICCUP, 1);
        assert!(!twice.is_short(Expected::Step), "two of them are no hiccup");
        (0..CALM_TURNS).for_each(|_| record.note(0.001, 1));
        record.note(1.1 * HICCUP, 1);
        assert!(!record.is_short(Expected::Step), "nor is a longer one");
    }
}
