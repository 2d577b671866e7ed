//! Tests of stores in a folder and in memory.

use std::fs;

use super::*;

fn open(place: &str) -> io::Result<Store> {
    Store::open(place, &S3::default(), 0)
}

fn stores() -> (tempfile::TempDir, [Store; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(&folder.path().display().to_string()), open(MEMORY)];
    (folder, stores.map(Result::unwrap))
}

/// Returns the first log of a world that was just created.
fn first_log(store: &Store, id: &str) -> LogEnd {
    LogEnd::of(&store.log(id, 0).unwrap().unwrap()).unwrap()
}

fn append(store: &Store, id: &str, end: &LogEnd, records: &[&[u8]]) -> LogEnd {
    let (rows, grown) = end.grow(&records.iter().map(|record| record.to_vec()).collect::<Vec<_>>()).unwrap();
    store.append(id, end, &rows).unwrap();
    store.sync(id, end.number()).unwrap();
    grown
}

fn next(store: &Store, end: &LogEnd) -> LogEnd {
    let head = LogHead { log: end.number() + 1, before: end.last(), ..end.head().clone() };
    let end = LogEnd::new(head).unwrap();
    store.begin(&end.head().world, &end).unwrap();
    end
}

fn records(store: &Store, id: &str, log: u64) -> io::Result<Vec<Vec<u8>>> {
    store.log(id, log).map(|log| log.map(|log| log.records).unwrap_or_default())
}

#[test]
fn what_is_written_reads_back() {
    let (_folder, stores) = stores();
    for store in stores {
        store.create("w1", b"facts", b"scene").unwrap();
        assert_eq!(store.read("w1", WORLD).unwrap(), (b"facts".to_vec(), b"scene".to_vec()));
        store.write("w1", &checkpoint_name(1), b"one", b"two").unwrap();
        store.write("w1", "keys-1", b"one", b"two").unwrap();
        let mut end = first_log(&store, "w1");
        end = append(&store, "w1", &end, &[b"a", b"bc"]);
        end = append(&store, "w1", &end, &[b"d"]);
        let log = store.log("w1", 0).unwrap().unwrap();
        assert_eq!(log.records, [b"a".to_vec(), b"bc".to_vec(), b"d".to_vec()]);
        assert_eq!((Some(log.tail), log.next), (end.last(), None));
        let second = next(&store, &end);
        store.begin("w1", &second).unwrap();
        let (first, log) = (store.log("w1", 0).unwrap().unwrap(), store.log("w1", 1).unwrap().unwrap());
        assert_eq!((first.next, first.tail, log.tail), (Some(1), end.last().unwrap(), second.last().unwrap()));
        assert_eq!(log.head.unwrap().before, end.last());
        let listing = store.list("w1").unwrap();
        assert_eq!((listing.checkpoints, listing.logs), (vec![1], vec![0, 1]));
        assert_eq!((listing.keys, listing.others), (vec![1], vec![WORLD.to_owned()]));
        assert_eq!(store.worlds().unwrap(), ["w1"]);
        store.delete("w1").unwrap();
        assert!(store.worlds().unwrap().is_empty());
        assert_eq!(store.used(), 0);
    }
}

#[test]
fn damage_is_noticed() {
    let (folder, [store, _]) = stores();
    store.create("w1", b"facts", b"scene").unwrap();
    let place = folder.path().join("worlds/w1/world");
    let whole = fs::read(&place).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&place, &bytes).unwrap();
        assert_eq!(store.read("w1", WORLD).unwrap_err().kind(), io::ErrorKind::InvalidData, "byte {at}");
        fs::write(&place, &whole[..at]).unwrap();
        assert!(store.read("w1", WORLD).is_err(), "{at} bytes");
    }
    fs::write(&place, &whole).unwrap();
    assert!(store.read("w1", WORLD).is_ok());
}

#[test]
fn a_log_ends_where_it_is_torn() {
    let (folder, [store, _]) = stores();
    store.create("w1", b"", b"").unwrap();
    let end = first_log(&store, "w1");
    let head = usize::try_from(end.bytes()).unwrap();
    append(&store, "w1", &end, &[b"first", b"second"]);
    let place = folder.path().join("worlds/w1/log-00000000");
    let whole = fs::read(&place).unwrap();
    drop(store);
    for length in 0..whole.len() {
        fs::write(&place, &whole[..length]).unwrap();
        let store = open(&folder.path().display().to_string()).unwrap();
        if length < head {
            // A log shorter than its header never exists: it was created with it.
            let log = store.log("w1", 0);
            assert!(log.is_err() || log.unwrap().unwrap().head.is_none(), "{length} bytes");
            continue;
        }
        let log = store.log("w1", 0).unwrap().unwrap();
        assert_eq!(log.records.len(), usize::from(length >= head + 12 + 5), "{length} bytes");
        // The next append replaces the torn one.
        append(&store, "w1", &LogEnd::of(&log).unwrap(), &[b"third"]);
        assert_eq!(records(&store, "w1", 0).unwrap().last().unwrap(), b"third");
    }
}

#[test]
fn a_log_that_is_damaged_says_so() {
    let (folder, [store, _]) = stores();
    store.create("w1", b"", b"").unwrap();
    let mut end = first_log(&store, "w1");
    let head = usize::try_from(end.bytes()).unwrap();
    for text in [&b"first"[..], b"second", b"third"] {
        end = append(&store, "w1", &end, &[text, b"and more"]);
    }
    let place = folder.path().join("worlds/w1/log-00000000");
    let whole = fs::read(&place).unwrap();
    let last = whole.len() - (24 + 5 + 8);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&place, &bytes).unwrap();
        match records(&store, "w1", 0) {
            // The last append may not have been acknowledged.
            Ok(records) => assert!(at >= last && (4..6).contains(&records.len()), "byte {at}: {records:?}"),
            Err(error) => {
                assert!(at < last && error.kind() == io::ErrorKind::InvalidData, "byte {at}: {error}");
            }
        }
    }
    // Intact rows: one removed, two swapped, one of another log.
    let (first, second) = (&whole[head..head + 12 + 5], &whole[head + 12 + 5..head + 24 + 13]);
    let rest = &whole[head + 24 + 13..];
    for rows in [[second, rest].concat(), [first, rest].concat(), [second, first, rest].concat()] {
        fs::write(&place, [&whole[..head], &rows].concat()).unwrap();
        assert_eq!(records(&store, "w1", 0).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
    fs::write(folder.path().join("worlds/w1/log-00000001"), &whole).unwrap();
    assert_eq!(records(&store, "w1", 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    // Allocated space that was not written.
    fs::write(&place, [&whole[..], &[0; 4096]].concat()).unwrap();
    assert_eq!(records(&store, "w1", 0).unwrap().len(), 6);
}

/// Logs in the format of version 1 can be read.
#[test]
fn logs_of_version_1_are_read() {
    let (folder, [store, _]) = stores();
    store.create("w1", b"", b"").unwrap();
    let mut bytes = Vec::new();
    for (text, first) in [(&b"first"[..], true), (b"second", false), (b"third", true)] {
        let mark = u32::from(first) << 31;
        bytes.extend((u32::try_from(text.len()).unwrap() | mark).to_le_bytes());
        bytes.extend(crc32fast::hash(text).to_le_bytes());
        bytes.extend(text);
    }
    let place = folder.path().join("worlds/w1/log-00000000");
    fs::write(&place, &bytes).unwrap();
    let log = store.log("w1", 0).unwrap().unwrap();
    assert!(log.head.is_none() && LogEnd::of(&log).is_none());
    assert_eq!(log.records, [b"first".to_vec(), b"second".to_vec(), b"third".to_vec()]);
    fs::write(&place, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(records(&store, "w1", 0).unwrap().len(), 2);
    bytes[9] ^= 1;
    fs::write(&place, &bytes).unwrap();
    assert!(store.log("w1", 0).is_err());
}

#[test]
fn a_full_store_says_so_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().display().to_string(), &S3::default(), 400).unwrap();
    store.create("w1", b"facts", b"scene").unwrap();
    let used = store.used();
    let end = first_log(&store, "w1");
    for error in [
        store.append("w1", &end, &end.grow(&[vec![0; 400]]).unwrap().0).unwrap_err(),
        store.write("w1", "saved-a", &[0; 400], b"").unwrap_err(),
        store.create("w2", &[0; 400], b"").unwrap_err(),
    ] {
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    assert_eq!((store.used(), store.worlds().unwrap().len()), (used, 1));
    append(&store, "w1", &end, &[&[1; 20]]);
}

#[test]
fn one_service_a_folder_and_no_other_names() {
    let (folder, [store, _]) = stores();
    let place = folder.path().display().to_string();
    assert!(open(&place).is_err());
    for id in ["", "..", "a/b", "A", "a.b", ".new"] {
        assert!(!is_id(id) && store.create(id, b"", b"").is_err() && store.list(id).is_err(), "{id}");
    }
    drop(store);
    assert!(open(&place).is_ok());
}
