//! Format of a log: a head, then numbered records, then perhaps the number of the log that goes on.
//!
//! ```text
//! DRYLOG02                                             8 bytes
//! u32 length, u32 sequence, u32 CRC-32, {"head":{…}}   row 0
//! u32 length, u32 sequence, u32 CRC-32, record         rows 1, 2, …
//! u32 length, u32 sequence, u32 CRC-32, {"next":8}     last row, once log 8 is there
//! ```
//!
//! The highest bit of a length is set where an append began. Checksums cover the name of the world and the log, length and
//! sequence, so that a row of another log, or one in another place, is none. An append is only begun when the one before
//! is durable: rows that are not whole, with no later append after them, are of the last append, which nobody was told of.
//! Elsewhere the log is damaged.
//!
//! The head says how many rows, which bytes and which checksum the log before had. It is durable, together with the name of
//! the file, before the first record is acknowledged; then the log before gets its last row. So a log that is missing,
//! empty, or shorter than it was when the next one began is noticed. A cut at the end of the newest log is not: there is
//! nothing else that knows how many records it had. After an orderly stop that log has none.
//!
//! Logs of version 1 have no head, and rows without sequence.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::log_name;

const MAGIC: [u8; 8] = *b"DRYLOG02";
/// Bytes before the record of a row.
const ROW: usize = 12;
/// Bytes before the record of a row in version 1.
const OLD_ROW: usize = 8;
/// A record that claims to be longer is none.
const MAX_RECORD: u32 = 1 << 30;
/// Bit of a length: the row is the first of those that were appended together.
const FIRST: u32 = 1 << 31;
/// Rows of a log. The highest byte of a sequence is 0, which no byte of a record is: headers are found quickly.
const MAX_ROWS: u32 = 1 << 24;
/// Bytes, times those of a log, whose checksums are computed in search of a later append, before the search is given up.
const MAX_SEARCH: usize = 16;

/// Beginning of a log. The checkpoint that was made together with the log carries the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHead {
    /// Id of the world.
    pub world: String,
    /// Number of the log.
    pub log: u64,
    /// Build that writes the log: the same build comes to the same bits.
    pub build: String,
    /// Steps done when the log began.
    pub step: u64,
    /// Set if the world was restored to another state, so that the log goes on from its checkpoint only.
    #[serde(default)]
    pub restored: bool,
    /// Set if it went back by steps: what came before `step` in the logs before is its past.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
    /// End of the log before. None at the beginning of a world.
    pub before: Option<Tail>,
}

/// End of a log: what a log with all its records comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Number of the log.
    pub log: u64,
    /// Rows, the head included, and the last row not.
    pub rows: u32,
    /// Bytes of these.
    pub bytes: u64,
    /// CRC-32 of these.
    pub crc: u32,
    /// Set if the log has a head, and can be closed: false in version 1, and for a log that is not there.
    #[serde(default)]
    pub is_headed: bool,
}

/// A log, read.
#[derive(Debug, Default)]
pub struct Log {
    /// None in version 1.
    pub head: Option<LogHead>,
    /// Records, without those of a last append that is not whole.
    pub records: Vec<Vec<u8>>,
    /// Number of the log that goes on, if this one is closed.
    pub next: Option<u64>,
    /// End of the log.
    pub tail: Tail,
}

#[derive(Serialize, Deserialize)]
struct HeadRow {
    head: LogHead,
}

#[derive(Serialize, Deserialize)]
struct NextRow {
    next: u64,
}

/// Place where the next record of a world goes.
#[derive(Clone, Debug, Default)]
pub struct LogEnd {
    head: LogHead,
    tail: Tail,
    /// Set once the log is in the store, by the thread that has begun it.
    begun: Arc<AtomicBool>,
}

/// First bytes of a log, and what closes the one before.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// Number of the log.
    pub log: u64,
    /// Magic and head.
    pub bytes: Vec<u8>,
    /// Closing row of the log before. None if there is none, or it is of version 1.
    pub close: Option<Closing>,
}

/// Last row of a log, and its place.
#[derive(Clone, Debug)]
pub struct Closing {
    /// Number of the log.
    pub log: u64,
    /// Bytes before the row.
    pub at: u64,
    /// The row.
    pub row: Vec<u8>,
}

impl LogEnd {
    /// End of a log that is not in the store yet.
    ///
    /// # Errors
    /// The head is longer than a log takes.
    pub fn new(head: LogHead) -> io::Result<Self> {
        let mut end = Self { tail: Tail { log: head.log, ..Tail::default() }, head, begun: Arc::default() };
        end.tail = end.grown(&end.first_bytes()?, 1);
        Ok(end)
    }

    /// End of a log that was read. None in version 1, which takes no more records.
    #[must_use]
    pub fn of(log: &Log) -> Option<Self> {
        Some(Self { head: log.head.clone()?, tail: log.tail, begun: Arc::new(AtomicBool::new(true)) })
    }

    /// Number of the log.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.head.log
    }

    /// Head of the log.
    #[must_use]
    pub fn head(&self) -> &LogHead {
        &self.head
    }

    /// Bytes of the log.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tail.bytes
    }

    /// Returns whether the log is in the store.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Notes that the log is in the store.
    pub fn set_begun(&self) {
        self.begun.store(true, Ordering::SeqCst);
    }

    /// End of the newest log that is in the store.
    #[must_use]
    pub fn last(&self) -> Option<Tail> {
        if self.is_begun() { Some(self.tail) } else { self.head.before }
    }

    fn first_bytes(&self) -> io::Result<Vec<u8>> {
        let head = serde_json::to_vec(&HeadRow { head: self.head.clone() })?;
        let mut bytes = MAGIC.to_vec();
        put_row(&mut bytes, seed(&self.head.world, self.head.log), 0, true, &head)?;
        Ok(bytes)
    }

    /// First bytes of the log, and what closes the log before.
    ///
    /// # Errors
    /// The head is longer than a log takes.
    pub fn beginning(&self) -> io::Result<Beginning> {
        let before = self.head.before.filter(|before| before.is_headed);
        let close = before.map(|before| closing(&self.head.world, before, self.head.log)).transpose()?;
        Ok(Beginning { log: self.head.log, bytes: self.first_bytes()?, close })
    }

    /// Records as rows, and the end of the log with them.
    ///
    /// # Errors
    /// A record is longer than a log takes, or there are too many.
    pub fn grow(&self, records: &[Vec<u8>]) -> io::Result<(Vec<u8>, Self)> {
        let seed = seed(&self.head.world, self.head.log);
        let mut bytes = Vec::with_capacity(records.iter().map(|record| record.len() + ROW).sum());
        for (sequence, record) in (self.tail.rows..).zip(records) {
            let is_first = bytes.is_empty();
            put_row(&mut bytes, seed, sequence, is_first, record)?;
        }
        let count = u32::try_from(records.len()).unwrap_or(MAX_ROWS);
        let tail = self.grown(&bytes, count);
        Ok((bytes, Self { tail, ..self.clone() }))
    }

    fn grown(&self, bytes: &[u8], rows: u32) -> Tail {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.tail.crc);
        hasher.update(bytes);
        Tail {
            log: self.tail.log,
            rows: self.tail.rows.saturating_add(rows),
            bytes: self.tail.bytes + bytes.len() as u64,
            crc: hasher.finalize(),
            is_headed: true,
        }
    }
}

/// Makes the last row of a log.
///
/// # Errors
/// None that can be: the row is short.
pub fn closing(world: &str, end: Tail, next: u64) -> io::Result<Closing> {
    let mut row = Vec::new();
    put_row(&mut row, seed(world, end.log), end.rows, true, &serde_json::to_vec(&NextRow { next })?)?;
    Ok(Closing { log: end.log, at: end.bytes, row })
}

/// Seed of the checksums of a log.
fn seed(world: &str, log: u64) -> u32 {
    crc32fast::hash(format!("{world}/{}", log_name(log)).as_bytes())
}

fn checksum(seed: u32, length: u32, sequence: u32, record: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(&length.to_le_bytes());
    hasher.update(&sequence.to_le_bytes());
    hasher.update(record);
    hasher.finalize()
}

fn put_row(bytes: &mut Vec<u8>, seed: u32, sequence: u32, is_first: bool, record: &[u8]) -> io::Result<()> {
    let length = u32::try_from(record.len()).ok().filter(|length| (1..MAX_RECORD).contains(length));
    let length = length.ok_or_else(|| io::Error::other("a record is longer than a log takes"))?;
    if sequence >= MAX_ROWS {
        return Err(io::Error::new(io::ErrorKind::StorageFull, format!("the log has {MAX_ROWS} records already")));
    }
    let length = length | if is_first { FIRST } else { 0 };
    bytes.extend(length.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(checksum(seed, length, sequence, record).to_le_bytes());
    bytes.extend(record);
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Rows of either version.
#[derive(Clone, Copy)]
enum Rows {
    Old,
    /// With the seed of the checksums.
    Numbered(u32),
}

/// A row that is whole.
struct Row<'a> {
    record: &'a [u8],
    /// 0 in version 1.
    sequence: u32,
    is_first: bool,
}

impl Rows {
    fn head(self) -> usize {
        match self {
            Self::Old => OLD_ROW,
            Self::Numbered(_) => ROW,
        }
    }

    /// Length and mark of the row that begins there, if its header can be one and its bytes are there.
    fn header(self, bytes: &[u8], at: usize) -> Option<(u32, usize)> {
        let length = word(bytes, at)?;
        let count = length & !FIRST;
        // None is empty: zeros are what is left of one that was not written.
        let fits = (1..MAX_RECORD).contains(&count) && bytes.len() - at >= self.head() + count as usize;
        let numbered = matches!(self, Self::Old) || word(bytes, at + 4)? < MAX_ROWS;
        (fits && numbered).then_some((length, count as usize))
    }

    /// The row that begins there, if it is whole.
    fn row(self, bytes: &[u8], at: usize) -> Option<Row<'_>> {
        let (length, count) = self.header(bytes, at)?;
        let record = bytes.get(at + self.head()..at + self.head() + count)?;
        let is_first = length & FIRST != 0;
        match self {
            Self::Old => {
                let whole = crc32fast::hash(record) == word(bytes, at + 4)?;
                whole.then_some(Row { record, sequence: 0, is_first })
            }
            Self::Numbered(seed) => {
                let sequence = word(bytes, at + 4)?;
                let whole = checksum(seed, length, sequence, record) == word(bytes, at + 8)?;
                whole.then_some(Row { record, sequence, is_first })
            }
        }
    }

    /// Place of an append after `broken`, if there is one: then what is at `broken` is not of the last append. Takes time
    /// in proportion to the bytes, whatever they are.
    fn append_after(self, bytes: &[u8], broken: usize) -> Option<usize> {
        let mut budget = bytes.len().saturating_mul(MAX_SEARCH);
        for at in broken..bytes.len() {
            // The mark is looked at first: few bytes have it, and a checksum is long to compute.
            if bytes.get(at + 3).is_none_or(|byte| byte & 0x80 == 0) {
                continue;
            }
            let Some((_, count)) = self.header(bytes, at) else { continue };
            // Bytes that cost so much were not torn by accident.
            let Some(left) = budget.checked_sub(count) else { return Some(at) };
            budget = left;
            if self.row(bytes, at).is_some_and(|row| row.is_first) {
                return Some(at);
            }
        }
        None
    }
}

/// Whole rows at the beginning of a log.
struct Whole<'a> {
    records: Vec<&'a [u8]>,
    bytes: usize,
}

fn whole_rows(rows: Rows, bytes: &[u8], from: usize) -> Whole<'_> {
    let (mut records, mut at) = (Vec::new(), from);
    while let Some(row) = rows.row(bytes, at) {
        let expected = matches!(rows, Rows::Old) || u32::try_from(records.len()) == Ok(row.sequence);
        if !expected {
            break;
        }
        records.push(row.record);
        at += rows.head() + row.record.len();
    }
    Whole { records, bytes: at }
}

fn tail(log: u64, rows: usize, bytes: &[u8], is_headed: bool) -> Tail {
    let rows = u32::try_from(rows).unwrap_or(u32::MAX);
    Tail { log, rows, bytes: bytes.len() as u64, crc: crc32fast::hash(bytes), is_headed }
}

/// Reads a log of a world.
///
/// # Errors
/// Describes the damaged or missing part.
pub fn read(world: &str, number: u64, bytes: &[u8]) -> Result<Log, String> {
    let rows = Rows::Numbered(seed(world, number));
    let damaged = |from: usize, to: usize| {
        format!("it is damaged between bytes {from} and {to}: what was acknowledged is missing")
    };
    if !bytes.starts_with(&MAGIC) {
        let whole = whole_rows(Rows::Old, bytes, 0);
        let later = Rows::Old.append_after(bytes, whole.bytes);
        let newer = if whole.records.is_empty() { rows.append_after(bytes, 0) } else { None };
        if let Some(later) = later.or(newer) {
            return Err(damaged(whole.bytes, later));
        }
        let tail = tail(number, whole.records.len(), &bytes[..whole.bytes], false);
        let records = whole.records.into_iter().map(<[u8]>::to_vec).collect();
        return Ok(Log { head: None, records, next: None, tail });
    }
    let whole = whole_rows(rows, bytes, MAGIC.len());
    let Some((head, mut records)) = whole.records.split_first().map(|(head, rest)| (*head, rest.to_vec())) else {
        return Err(format!("its head is damaged or missing; it has {} bytes", bytes.len()));
    };
    if let Some(later) = rows.append_after(bytes, whole.bytes) {
        return Err(damaged(whole.bytes, later));
    }
    let head: HeadRow = serde_json::from_slice(head).map_err(|error| format!("its head: {error}"))?;
    let head = head.head;
    if head.world != world || head.log != number {
        return Err(format!("it is {} of world {}", log_name(head.log), head.world));
    }
    let is_next = |record: &[u8]| record.starts_with(b"{\"next\":");
    let mut end = whole.bytes;
    let mut next = None;
    if let Some(last) = records.pop_if(|last| is_next(last)) {
        end -= ROW + last.len();
        let row: NextRow = serde_json::from_slice(last).map_err(|error| format!("its last row: {error}"))?;
        next = Some(row.next);
    }
    if records.iter().any(|record| is_next(record)) {
        return Err("it goes on after its last row".to_owned());
    }
    let tail = tail(number, records.len() + 1, &bytes[..end], true);
    Ok(Log { head: Some(head), records: records.into_iter().map(<[u8]>::to_vec).collect(), next, tail })
}
