//! Format of a log: a header, then numbered records, then optionally a closing row with the number of the next log.
//!
//! ```text
//! DRYLOG02                                             8 bytes
//! u32 length, u32 sequence, u32 CRC-32, {"head":{…}}   row 0
//! u32 length, u32 sequence, u32 CRC-32, record         rows 1, 2, …
//! u32 length, u32 sequence, u32 CRC-32, {"next":8}     last row, once log 8 is there
//! ```
//!
//! The highest bit of a length is set at the start of an append. Checksums cover the name of the world and the log,
//! the length and the sequence number, so that a row of another log, or one in another position, is invalid. An
//! append only begins when the previous one is durable. Incomplete rows with no later append after them therefore
//! belong to the last append, which was never acknowledged. Otherwise the log is damaged.
//!
//! The header records the number of rows, the bytes and the checksum of the previous log. It is durable, together
//! with the name of the file, before the first record is acknowledged; then the previous log gets its closing row.
//! So a log that is missing, empty, or shorter than when the next one began is detected. A cut at the end of the
//! newest log is not: nothing else knows how many records it had. After an orderly stop that log has none.
//!
//! Logs of version 1 have no header, and rows without sequence numbers.

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
/// Upper bound of a record's length, bytes. A row that claims more is invalid.
const MAX_RECORD: u32 = 1 << 30;
/// Bit of a length that marks the first row of an append.
const FIRST: u32 = 1 << 31;
/// Largest number of rows. The highest byte of a sequence number is 0, a byte that no record contains, which makes
/// row headers quick to find.
const MAX_ROWS: u32 = 1 << 24;
/// Budget of the search for a later append: bytes to checksum, as a multiple of the log's size.
const MAX_SEARCH: usize = 16;

/// Header of a log. The checkpoint written together with the log carries the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHead {
    /// Id of the world.
    pub world: String,
    /// Number of the log.
    pub log: u64,
    /// Build that writes the log. The same build reproduces the same bits.
    pub build: String,
    /// Number of steps done when the log began.
    pub step: u64,
    /// True if the world was restored to another state, so that the log continues its checkpoint only.
    #[serde(default)]
    pub restored: bool,
    /// True if the world was rewound: records before `step` in earlier logs are its history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
    /// End of the previous log. None at the beginning of a world.
    pub before: Option<Tail>,
}

/// End of a log: its size and checksum with all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Number of the log.
    pub log: u64,
    /// Number of rows, with the header and without the closing row.
    pub rows: u32,
    /// Bytes of these rows.
    pub bytes: u64,
    /// CRC-32 of these rows.
    pub crc: u32,
    /// True if the log has a header and can be closed; false in version 1, and for a missing log.
    #[serde(default)]
    pub is_headed: bool,
}

/// Log, as read.
#[derive(Debug, Default)]
pub struct Log {
    /// Header; None in version 1.
    pub head: Option<LogHead>,
    /// Records, without those of an incomplete last append.
    pub records: Vec<Vec<u8>>,
    /// Number of the next log, if this one is closed.
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

/// Position of the next record of a world.
#[derive(Clone, Debug, Default)]
pub struct LogEnd {
    head: LogHead,
    tail: Tail,
    /// Set by the thread that has stored the log's beginning.
    begun: Arc<AtomicBool>,
}

/// First bytes of a log, and the row that closes the previous one.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// Number of the log.
    pub log: u64,
    /// Magic and header.
    pub bytes: Vec<u8>,
    /// Closing row of the previous log. None if there is none, or it is of version 1.
    pub close: Option<Closing>,
}

/// Closing row of a log, and its position.
#[derive(Clone, Debug)]
pub struct Closing {
    /// Number of the log.
    pub log: u64,
    /// Number of bytes before the row.
    pub at: u64,
    /// The row.
    pub row: Vec<u8>,
}

impl LogEnd {
    /// Returns the end of a log that is not in the store yet.
    ///
    /// # Errors
    /// The header is too long.
    pub fn new(head: LogHead) -> io::Result<Self> {
        let mut end = Self { tail: Tail { log: head.log, ..Tail::default() }, head, begun: Arc::default() };
        end.tail = end.grown(&end.first_bytes()?, 1);
        Ok(end)
    }

    /// Returns the end of a log that was read. None in version 1, which takes no more records.
    #[must_use]
    pub fn of(log: &Log) -> Option<Self> {
        Some(Self { head: log.head.clone()?, tail: log.tail, begun: Arc::new(AtomicBool::new(true)) })
    }

    /// Returns the number of the log.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.head.log
    }

    /// Returns the header of the log.
    #[must_use]
    pub fn head(&self) -> &LogHead {
        &self.head
    }

    /// Returns the bytes of the log.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tail.bytes
    }

    /// Returns true if the log is in the store.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Marks the log as stored.
    pub fn set_begun(&self) {
        self.begun.store(true, Ordering::SeqCst);
    }

    /// Returns the end of the newest log in the store.
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

    /// Returns the first bytes of the log, and the row that closes the previous one.
    ///
    /// # Errors
    /// The header is too long.
    pub fn beginning(&self) -> io::Result<Beginning> {
        let before = self.head.before.filter(|before| before.is_headed);
        let close = before.map(|before| closing(&self.head.world, before, self.head.log)).transpose()?;
        Ok(Beginning { log: self.head.log, bytes: self.first_bytes()?, close })
    }

    /// Encodes records as rows, and returns the end of the log after them.
    ///
    /// # Errors
    /// A record is too long, or there are too many.
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

/// Encodes the closing row of a log.
///
/// # Errors
/// Cannot fail in practice: the row is short.
pub fn closing(world: &str, end: Tail, next: u64) -> io::Result<Closing> {
    let mut row = Vec::new();
    put_row(&mut row, seed(world, end.log), end.rows, true, &serde_json::to_vec(&NextRow { next })?)?;
    Ok(Closing { log: end.log, at: end.bytes, row })
}

/// Returns the seed of a log's checksums.
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

/// Row format, by version.
#[derive(Clone, Copy)]
enum LogRows {
    Old,
    /// Current version, with the seed of the checksums.
    Numbered(u32),
}

/// Intact row.
struct LogRow<'a> {
    record: &'a [u8],
    /// 0 in version 1.
    sequence: u32,
    is_first: bool,
}

impl LogRows {
    fn head(self) -> usize {
        match self {
            Self::Old => OLD_ROW,
            Self::Numbered(_) => ROW,
        }
    }

    /// Returns the length field and the record length of a row, if its header is plausible and its bytes are there.
    fn header(self, bytes: &[u8], at: usize) -> Option<(u32, usize)> {
        let length = word(bytes, at)?;
        let count = length & !FIRST;
        // No record is empty: zeros are the remains of one that was not written.
        let fits = (1..MAX_RECORD).contains(&count) && bytes.len() - at >= self.head() + count as usize;
        let numbered = matches!(self, Self::Old) || word(bytes, at + 4)? < MAX_ROWS;
        (fits && numbered).then_some((length, count as usize))
    }

    /// Returns the row at a position, if it is intact.
    fn row(self, bytes: &[u8], at: usize) -> Option<LogRow<'_>> {
        let (length, count) = self.header(bytes, at)?;
        let record = bytes.get(at + self.head()..at + self.head() + count)?;
        let is_first = length & FIRST != 0;
        match self {
            Self::Old => {
                let whole = crc32fast::hash(record) == word(bytes, at + 4)?;
                whole.then_some(LogRow { record, sequence: 0, is_first })
            }
            Self::Numbered(seed) => {
                let sequence = word(bytes, at + 4)?;
                let whole = checksum(seed, length, sequence, record) == word(bytes, at + 8)?;
                whole.then_some(LogRow { record, sequence, is_first })
            }
        }
    }

    /// Returns the position of an append after `broken`, if there is one: then the row at `broken` is not of the
    /// last append. Takes time in proportion to the bytes, for any content.
    fn append_after(self, bytes: &[u8], broken: usize) -> Option<usize> {
        self.search(bytes, broken, &mut bytes.len().saturating_mul(MAX_SEARCH))
    }

    /// Like [`Self::append_after`], with a budget of bytes to checksum. Subtracts what was used.
    fn search(self, bytes: &[u8], broken: usize, budget: &mut usize) -> Option<usize> {
        for at in broken..bytes.len() {
            // The mark is checked first: few bytes have it, and a checksum is expensive.
            if bytes.get(at + 3).is_none_or(|byte| byte & 0x80 == 0) {
                continue;
            }
            let Some((_, count)) = self.header(bytes, at) else { continue };
            // Bytes that cost this much are not an accidental tear.
            let Some(left) = budget.checked_sub(count) else { return Some(at) };
            *budget = left;
            if self.row(bytes, at).is_some_and(|row| row.is_first) {
                return Some(at);
            }
        }
        None
    }
}

/// Intact rows at the beginning of a log.
struct Whole<'a> {
    records: Vec<&'a [u8]>,
    bytes: usize,
}

fn whole_rows(rows: LogRows, bytes: &[u8], from: usize) -> Whole<'_> {
    let (mut records, mut at) = (Vec::new(), from);
    while let Some(row) = rows.row(bytes, at) {
        let expected = matches!(rows, LogRows::Old) || u32::try_from(records.len()) == Ok(row.sequence);
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

/// Parses a log of a world.
///
/// # Errors
/// Describes the damaged or missing part.
pub fn read(world: &str, number: u64, bytes: &[u8]) -> Result<Log, String> {
    let rows = LogRows::Numbered(seed(world, number));
    let damaged = |from: usize, to: usize| {
        format!("it is damaged between bytes {from} and {to}: what was acknowledged is missing")
    };
    if !bytes.starts_with(&MAGIC) {
        let whole = whole_rows(LogRows::Old, bytes, 0);
        let later = LogRows::Old.append_after(bytes, whole.bytes);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading takes time in proportion to the bytes. In these bytes every fourth position looks like the start of a
    /// row of 16 KiB.
    #[test]
    fn a_search_has_a_budget() {
        let bytes = [0, 0x40, 0, 0x80].repeat(1 << 15);
        let most = bytes.len() * MAX_SEARCH;
        let mut budget = usize::MAX;
        assert_eq!(LogRows::Old.search(&bytes, 0, &mut budget), None);
        assert!(usize::MAX - budget > 10 * most, "without a budget it is expensive: {}", usize::MAX - budget);
        // Bytes that cost too much count as damage, and a log of them is refused.
        let mut budget = most;
        let found = LogRows::Old.search(&bytes, 0, &mut budget);
        assert!(found.is_some() && found == LogRows::Old.append_after(&bytes, 0), "{found:?}");
        assert!(budget < 1 << 14, "{budget}");
        assert!(read("w1", 0, &bytes).unwrap_err().contains("damaged"));
        // In rows with a number, they do not look like one.
        let mut budget = most;
        assert_eq!(LogRows::Numbered(0).search(&bytes, 0, &mut budget), None);
        assert_eq!(budget, most);
    }
}
