//! Tables of body and joint rows for the sweeps of the solver: shared by several threads, or faster for a single one.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;
use fearless_simd::f64x2;
use zerocopy::IntoBytes;

use crate::lanes::{
    Bytes, Select, Simd, SimdBase, SimdFrom, SimdMask, SimdSplit, WIDTH, columns, f32x4, f32x8, mask32x4, transpose,
};

/// Table of rows that several threads read and write, each row by one thread at a time (a colour touches a body once).
///
/// Relaxed atomics are plain loads and stores on every CPU we know; they save us `unsafe`. `W` is the size of `T` in
/// words of eight bytes.
#[derive(Debug)]
pub struct Rows<T, const W: usize> {
    words: Vec<[AtomicU64; W]>,
    kind: std::marker::PhantomData<T>,
}

impl<T, const W: usize> Default for Rows<T, W> {
    fn default() -> Self {
        Self { words: Vec::new(), kind: std::marker::PhantomData }
    }
}

impl<T: Pod, const W: usize> Rows<T, W> {
    /// Copies `rows`.
    #[must_use]
    pub fn new(rows: &[T]) -> Self {
        const { assert!(size_of::<T>() == 8 * W) };
        let words = rows.iter().map(|&row| Self::split(row).map(AtomicU64::new)).collect();
        Self { words, kind: std::marker::PhantomData }
    }

    /// Changes the number of rows; new ones are zero.
    pub fn resize(&mut self, rows: usize) {
        self.words.resize_with(rows, || std::array::from_fn(|_| AtomicU64::new(0)));
    }

    fn split(row: T) -> [u64; W] {
        let mut words = [0; W];
        bytemuck::bytes_of_mut(&mut words).copy_from_slice(bytemuck::bytes_of(&row));
        words
    }

    /// Returns row `index`.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: usize) -> T {
        let row = &self.words[index];
        let words: [u64; W] = std::array::from_fn(|w| row[w].load(Ordering::Relaxed));
        bytemuck::pod_read_unaligned(bytemuck::bytes_of(&words))
    }

    /// Returns one of the words of row `index`: less to load than the whole.
    #[inline(always)]
    #[must_use]
    pub fn word(&self, index: usize, word: usize) -> u64 {
        self.words[index][word].load(Ordering::Relaxed)
    }

    /// Writes row `index`.
    #[inline(always)]
    pub fn set(&self, index: usize, row: T) {
        for (word, value) in self.words[index].iter().zip(Self::split(row)) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Copies rows of another table: `count` rows from `from` on to the rows from `to` on.
    pub fn copy(&mut self, to: usize, other: &Self, from: usize, count: usize) {
        for (row, other) in self.words[to..to + count].iter_mut().zip(&other.words[from..from + count]) {
            for (word, other) in row.iter_mut().zip(other) {
                *word.get_mut() = other.load(Ordering::Relaxed);
            }
        }
    }

    fn halves<const H: usize>(&mut self) -> Alone<'_, T, H> {
        const { assert!(W == 2 * H) };
        let halves = bytemuck::cast_slice_mut(self.words.as_mut_slice().as_mut_bytes());
        Alone { rows: Cell::from_mut(halves).as_slice_of_cells(), kind: std::marker::PhantomData }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns a copy of all rows.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.first(self.len())
    }

    /// Returns a copy of the first rows, at most `count`.
    #[must_use]
    pub fn first(&self, count: usize) -> Vec<T> {
        (0..self.len().min(count)).map(|index| self.get(index)).collect()
    }
}

impl<T: Pod> Rows<T, 2> {
    /// Returns the rows for exclusive use by one thread.
    #[must_use]
    pub fn alone(&mut self) -> Alone<'_, T, 1> {
        self.halves()
    }
}

impl<T: Pod> Rows<T, 4> {
    /// Returns the rows for exclusive use by one thread.
    #[must_use]
    pub fn alone(&mut self) -> Alone<'_, T, 2> {
        self.halves()
    }
}

impl<T: Pod> Rows<T, 8> {
    /// Returns the rows for exclusive use by one thread.
    #[must_use]
    pub fn alone(&mut self) -> Alone<'_, T, 4> {
        self.halves()
    }
}

/// Table of rows that sweeps read and write, each row made of halves of sixteen bytes: [`Rows`], which several threads
/// share, or [`Alone`], for one thread.
pub trait RowTable: Copy {
    /// Type of a row's content.
    type Item: Pod;
    /// Handle of a row.
    type Row: Halves;

    /// Returns a handle of row `index`, to read and write parts of it.
    fn row(self, index: usize) -> Self::Row;

    /// Returns row `index`.
    fn get(self, index: usize) -> Self::Item;

    /// Writes row `index`.
    fn set(self, index: usize, row: Self::Item);

    /// Returns handles of eight rows, to read and write them side by side.
    #[inline(always)]
    fn eight(self, [a, b, c, d, e, f, g, h]: [u32; WIDTH]) -> Eight<Self::Row> {
        // Spelled out: `map` on an array is not always inlined, and then the rows go through memory.
        let row = |index: u32| self.row(index as usize);
        Eight([row(a), row(b), row(c), row(d), row(e), row(f), row(g), row(h)])
    }
}

/// Access to a row in units of sixteen bytes. Writing one half does not touch the others.
pub trait Halves: Copy {
    /// Returns a half as lanes.
    fn lanes<S: Simd>(self, simd: S, half: usize) -> f32x4<S>;

    /// Writes a half.
    fn set_lanes<S: Simd>(self, half: usize, lanes: f32x4<S>);
}

impl<'a, T: Pod, const W: usize> RowTable for &'a Rows<T, W> {
    type Item = T;
    type Row = RowHandle<'a, W>;

    #[inline(always)]
    fn row(self, index: usize) -> RowHandle<'a, W> {
        RowHandle(&self.words[index])
    }

    #[inline(always)]
    fn get(self, index: usize) -> T {
        Rows::get(self, index)
    }

    #[inline(always)]
    fn set(self, index: usize, row: T) {
        Rows::set(self, index, row);
    }
}

/// Handle of a row of [`Rows`], so that the index is checked once.
#[derive(Clone, Copy, Debug)]
pub struct RowHandle<'a, const W: usize>(&'a [AtomicU64; W]);

impl<const W: usize> Halves for RowHandle<'_, W> {
    /// The numbers never pass through memory on the way: a wide load of two narrow stores would stall every time.
    #[inline(always)]
    fn lanes<S: Simd>(self, simd: S, half: usize) -> f32x4<S> {
        let word = |w: usize| f64::from_bits(self.0[w].load(Ordering::Relaxed));
        f64x2::simd_from(simd, [word(2 * half), word(2 * half + 1)]).bitcast()
    }

    #[inline(always)]
    fn set_lanes<S: Simd>(self, half: usize, lanes: f32x4<S>) {
        let words: f64x2<S> = lanes.bitcast();
        for (to, word) in self.0[2 * half..].iter().zip(words.to_array()) {
            to.store(word.to_bits(), Ordering::Relaxed);
        }
    }
}

/// Table of [`Rows`] for exclusive use by one thread: halves are loaded and stored in one instruction, where atomics
/// take five. `H` is the size of `T` in halves.
#[derive(Debug)]
pub struct Alone<'a, T, const H: usize> {
    rows: &'a [Cell<[[f32; 4]; H]>],
    kind: std::marker::PhantomData<T>,
}

impl<T, const H: usize> Clone for Alone<'_, T, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const H: usize> Copy for Alone<'_, T, H> {}

impl<'a, T: Pod, const H: usize> RowTable for Alone<'a, T, H> {
    type Item = T;
    type Row = AloneRow<'a, H>;

    #[inline(always)]
    fn row(self, index: usize) -> AloneRow<'a, H> {
        AloneRow(&self.rows[index])
    }

    #[inline(always)]
    fn get(self, index: usize) -> T {
        bytemuck::pod_read_unaligned(bytemuck::cast_slice(self.rows[index].get().as_flattened()))
    }

    #[inline(always)]
    fn set(self, index: usize, row: T) {
        self.rows[index].set(bytemuck::pod_read_unaligned(bytemuck::bytes_of(&row)));
    }
}

/// Handle of a row of [`Alone`].
#[derive(Clone, Copy, Debug)]
pub struct AloneRow<'a, const H: usize>(&'a Cell<[[f32; 4]; H]>);

impl<const H: usize> Halves for AloneRow<'_, H> {
    #[inline(always)]
    fn lanes<S: Simd>(self, simd: S, half: usize) -> f32x4<S> {
        f32x4::load_array(simd, self.0.as_array_of_cells()[half].get())
    }

    #[inline(always)]
    fn set_lanes<S: Simd>(self, half: usize, lanes: f32x4<S>) {
        self.0.as_array_of_cells()[half].set(lanes.to_array());
    }
}

/// Handles of eight rows of a [`RowTable`].
#[derive(Clone, Copy, Debug)]
pub struct Eight<R>([R; WIDTH]);

impl<R: Halves> Eight<R> {
    /// Returns a half of each row: four columns, with a lane for each row.
    #[inline(always)]
    #[must_use]
    pub fn columns<S: Simd>(self, simd: S, half: usize) -> [f32x8<S>; 4] {
        let [a, b, c, d, e, f, g, h] = self.0;
        let row = |row: R| row.lanes(simd, half);
        columns([row(a), row(b), row(c), row(d), row(e), row(f), row(g), row(h)])
    }

    /// Writes four columns back to the rows for which `which(lane)` is true.
    #[inline(always)]
    pub fn set_columns<S: Simd>(self, half: usize, columns: [f32x8<S>; 4], which: impl Fn(usize) -> bool) {
        self.update(columns, which, |row, lanes| row.set_lanes(half, lanes));
    }

    /// Calls `change(row, lanes)` for the rows for which `which(lane)` is true, with each row's lanes of four columns.
    #[inline(always)]
    pub fn update<S: Simd>(self, columns: [f32x8<S>; 4], which: impl Fn(usize) -> bool, change: impl Fn(R, f32x4<S>)) {
        let [a, b, c, d] = transpose(columns);
        // One by one: a list of lanes would go through memory.
        let two = |lane: usize, pair: f32x8<S>| {
            let (low, high) = pair.split();
            if which(lane) {
                change(self.0[lane], low);
            }
            if which(lane + 4) {
                change(self.0[lane + 4], high);
            }
        };
        two(0, a);
        two(1, b);
        two(2, c);
        two(3, d);
    }

    /// Adds three of four columns to the first half of the rows for which `which(lane)` is true; of the fourth the
    /// larger value stays.
    #[inline(always)]
    pub fn add_sums<S: Simd>(self, simd: S, columns: [f32x8<S>; 4], which: impl Fn(usize) -> bool) {
        let [a, b, c, d] = transpose(columns);
        // One by one, without a closure: the compiler would call it, and each operation in it.
        let ((a, e), (b, f), (c, g), (d, h)) = (a.split(), b.split(), c.split(), d.split());
        if which(0) {
            add_sum(simd, self.0[0], a);
        }
        if which(1) {
            add_sum(simd, self.0[1], b);
        }
        if which(2) {
            add_sum(simd, self.0[2], c);
        }
        if which(3) {
            add_sum(simd, self.0[3], d);
        }
        if which(4) {
            add_sum(simd, self.0[4], e);
        }
        if which(5) {
            add_sum(simd, self.0[5], f);
        }
        if which(6) {
            add_sum(simd, self.0[6], g);
        }
        if which(7) {
            add_sum(simd, self.0[7], h);
        }
    }
}

/// Adds three numbers to the first half of a row; of the fourth the larger stays.
#[inline(always)]
fn add_sum<S: Simd>(simd: S, row: impl Halves, lanes: f32x4<S>) {
    let old = row.lanes(simd, 0);
    row.set_lanes(0, mask32x4::from_bitmask(simd, 0b111).select(old + lanes, old.max(lanes)));
}

#[cfg(test)]
mod tests {
    use super::{Halves, RowTable, Rows};
    use crate::lanes::{SimdBase, dispatch};

    /// Exclusive access reads and writes the same bytes as shared access.
    #[test]
    fn rows_are_the_same_alone() {
        let numbers: Vec<[f32; 8]> = (0..20).map(|row| std::array::from_fn(|at| (10 * row + at) as f32)).collect();
        let mut rows: Rows<[f32; 8], 4> = Rows::new(&numbers);
        dispatch!(simd => {
            let shared = RowTable::row(&rows, 7).lanes(simd, 1).to_array();
            let alone = rows.alone();
            assert_eq!(shared, [74.0, 75.0, 76.0, 77.0]);
            assert_eq!(alone.row(7).lanes(simd, 1).to_array(), shared);
            alone.row(3).set_lanes(1, alone.row(5).lanes(simd, 0));
            assert_eq!(alone.get(3), [30.0, 31.0, 32.0, 33.0, 50.0, 51.0, 52.0, 53.0]);
            alone.set(4, [1.0; 8]);
            let eight = alone.eight([0, 1, 2, 3, 4, 5, 6, 7]).columns(simd, 0);
            assert_eq!(eight[1].to_array(), [1.0, 11.0, 21.0, 31.0, 1.0, 51.0, 61.0, 71.0]);
        });
        assert_eq!(rows.get(3), [30.0, 31.0, 32.0, 33.0, 50.0, 51.0, 52.0, 53.0]);
        assert_eq!(rows.get(4), [1.0; 8]);
    }
}
