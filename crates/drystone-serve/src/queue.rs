//! Which worlds are next. No clock and no world is needed to say.

use std::time::Duration;

/// Longest turn that is short, s.
const SHORT: f64 = 0.02;
/// Short turns in a row that make a record.
const SHORT_TURNS: u8 = 3;
/// Longest turn that may be the machine's fault, not the world's, s: one after [`CALM_TURNS`] short ones says nothing.
const HICCUP: f64 = 0.1;
/// Short turns in a row after which a hiccup is forgiven.
const CALM_TURNS: u8 = 10;
/// Worlds of a turn, at most.
const MOST_TOGETHER: usize = 64;

/// What is known of the time that a world had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    /// Seconds that it was charged, and what was let go of while it was idle.
    pub had: f64,
    /// What a step of it was charged of late, s; none before the first.
    step: Option<f64>,
    /// Likewise a turn in which it did none.
    rest: Option<f64>,
    /// It shares no turn.
    pub alone: bool,
}

/// What a world will do with its turn, as far as one can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Something that may take long.
    Anything,
    /// A step.
    Step,
    /// Answer, write down, take note.
    Rest,
}

impl Account {
    /// Account of a world whose turn is urgent and short: before all others. What it had counts in its next turns.
    #[must_use]
    pub fn first(self) -> Self {
        Self { had: f64::NEG_INFINITY, ..self }
    }

    /// Of a world that comes when the one that had least had so much.
    pub fn new(least: f64) -> Self {
        Self { had: least, step: None, rest: None, alone: false }
    }

    /// Adds the seconds of a turn, in which it did what was expected, or so many steps.
    pub fn charge(&mut self, took: f64, expected: Expected, steps: u32) {
        self.had += took;
        let (known, now) = match (steps, expected) {
            (0, Expected::Anything) => return,
            (0, _) => (&mut self.rest, took),
            _ => (&mut self.step, took / f64::from(steps)),
        };
        // One that was held up, by whatever else the machine does, says little of the next.
        *known = Some(known.map_or(now, |before| 0.7 * before + 0.3 * now.min(2.0 * before)));
    }

    /// Seconds that the next turn takes, with one step at most.
    fn next(&self, expected: Expected) -> f64 {
        let known = match expected {
            Expected::Anything => None,
            Expected::Step => self.step,
            Expected::Rest => self.rest,
        };
        // What was never measured may be long.
        known.filter(|_| !self.alone).unwrap_or(f64::INFINITY)
    }
}

/// Measured turns of a world: whether the next one will be short. A worker that is kept for short turns takes no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Short turns with steps, and without, since the last long one. Up to [`SHORT_TURNS`].
    steps: u8,
    rests: u8,
    /// Short turns with steps in a row. Up to [`CALM_TURNS`].
    calm: u8,
    /// The last turn that says anything was long.
    is_long: bool,
}

impl Record {
    /// Takes note of a turn, unless it was one in which the world was opened: that says nothing of the next.
    pub fn note(&mut self, took: f64, steps: u32) {
        if took > SHORT {
            let is_hiccup = took <= HICCUP && self.calm == CALM_TURNS;
            *self = if is_hiccup { Self { calm: 0, ..*self } } else { Self { is_long: true, ..Self::default() } };
            return;
        }
        // Answers do not make up for long steps.
        if steps > 0 {
            self.calm = (self.calm + 1).min(CALM_TURNS);
        }
        let count = if steps > 0 { &mut self.steps } else { &mut self.rests };
        *count = (*count + 1).min(SHORT_TURNS);
        self.is_long &= self.steps < SHORT_TURNS;
    }

    /// True if the next turn was short whenever it was measured of late.
    #[must_use]
    pub fn is_short(self, expected: Expected) -> bool {
        match expected {
            Expected::Anything => false,
            Expected::Step => self.steps == SHORT_TURNS,
            Expected::Rest => !self.is_long && (self.rests == SHORT_TURNS || self.steps == SHORT_TURNS),
        }
    }

    /// True if no turn was long so far.
    #[must_use]
    pub fn is_clean(self) -> bool {
        !self.is_long
    }
}

/// A world that is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due<T> {
    pub id: T,
    /// Seconds that all worlds of its owner had.
    pub owner: f64,
    pub account: Account,
    pub expected: Expected,
    /// If it is for a step, by dispatches that it shares with others: with whom, and what all of them take, s.
    pub series: Option<(usize, f64)>,
}

/// Those that are next, of those that are due: of the owner whose worlds had least the one that had least, and, if turns are
/// shared, those that come after it in this order, up to the first that is not small: what they are expected to do shall fit in one turn. Nobody is passed by,
/// but by those who step by the same dispatches as one that is next: these run in any case, and each is charged its part.
/// Changes their order.
pub fn choose<T: Ord>(due: &mut [Due<T>], together: bool, turn: Duration) -> &[Due<T>] {
    // Equal ones by id, so that it does not depend on the order of a table.
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
            full |= sum > turn.as_secs_f64();
        }
        if count == 0 || joins || !full {
            shared.extend(series.filter(|_| !joins).map(|(pool, _)| pool));
            // Behind those that were chosen before; who is passed by keeps its place among the others.
            due[count..=at].rotate_right(1);
            count += 1;
        }
        if count == MOST_TOGETHER {
            break;
        }
    }
    &due[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(4);

    /// One that is due for a step.
    fn due(id: u32, had: f64, step: f64) -> Due<u32> {
        let account = Account { step: Some(step), ..Account::new(had) };
        Due { id, owner: 0.0, account, expected: Expected::Step, series: None }
    }

    fn chosen(due: &[Due<u32>], together: bool) -> Vec<u32> {
        choose(&mut due.to_vec(), together, TURN).iter().map(|due| due.id).collect()
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
        assert_eq!(chosen(&tiny, true).len(), MOST_TOGETHER);
    }

    #[test]
    fn urgent_turns_come_first() {
        let mut all: Vec<_> = (0..3).map(|id| due(id, 1e-3, 0.001)).collect();
        let late = due(9, 1e3, 10.0);
        all.push(Due { owner: f64::NEG_INFINITY, account: late.account.first(), ..late });
        assert_eq!((chosen(&all, false), chosen(&all, true)[0]), (vec![9], 9));
        // Negative control: by what it had it would be last.
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
        // Not those that have no step to do, or are to be alone.
        let rest = Due { expected: Expected::Rest, ..of(7, 0.05, 2) };
        assert_eq!(with(&pooled(0.05, &[1]), &[rest]), [1]);
        let suspect = Due { account: Account { alone: true, ..rest.account }, ..of(7, 0.05, 2) };
        assert_eq!(with(&pooled(0.05, &[1]), &[suspect]), [1]);
        let many: Vec<u32> = (0..100).collect();
        assert_eq!(chosen(&pooled(0.05, &many), true), many[..MOST_TOGETHER]);
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

    /// A minute of turns: fifty worlds whose steps take a millisecond, one whose steps take a second, and all want as many
    /// as they get. `price` is what a second costs. Returns the steps of the large one and the least of a small one.
    fn minute(price: f64) -> (u32, u32) {
        let cost = |id: u32| if id == 0 { 1.0 } else { 0.001 };
        let mut all: Vec<_> = (0..51).map(|id| due(id, 0.0, cost(id))).collect();
        let (mut time, mut steps) = (0.0, [0_u32; 51]);
        while time < 60.0 {
            let next: Vec<u32> = choose(&mut all, true, TURN).iter().map(|due| due.id).collect();
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
        assert!(small > 1000, "each small one likewise: {small}");
        // Negative control: where nothing is charged, the first has every turn.
        assert_eq!(minute(0.0), (60, 0));
    }

    /// A minute of turns: forty worlds of one owner beside one of another, all of which want as many steps of a millisecond as
    /// they get. `price` is what an owner is charged for a second. Returns the steps of the one.
    fn minute_of_owners(together: bool, price: f64) -> u32 {
        let mut all: Vec<_> = (0..41).map(|id| due(id, 0.0, 0.001)).collect();
        let (mut time, mut steps, mut owners) = (0.0, 0, [0.0; 2]);
        while time < 60.0 {
            let next: Vec<u32> = choose(&mut all, together, TURN).iter().map(|due| due.id).collect();
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
        // Alone it has 60,000.
        let half = minute_of_owners(false, 1.0);
        assert!((29_000..31_000).contains(&half), "{half}: each owner has half");
        let together = minute_of_owners(true, 1.0);
        assert!(together > 14_000, "{together}: a step of each turn of four, as a world has one step of a round");
        // Negative control: where owners are charged nothing, each world has its part.
        let part = minute_of_owners(false, 0.0);
        assert!((1_400..1_500).contains(&part), "{part}: one of forty-one");
    }

    #[test]
    fn a_record_of_short_turns_is_measured() {
        let mut record = Record::default();
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

    /// A world is not held up behind long ones because the machine was busy for a moment.
    #[test]
    fn one_hiccup_in_many_turns_is_forgiven() {
        let mut record = Record::default();
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
