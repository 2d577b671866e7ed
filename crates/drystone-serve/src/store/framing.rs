//! File format of the store: two parts with a version and a checksum.

use std::io;

/// Version of files; logs have their own. In version 1 worlds began without a log, and checkpoints and logs had no
/// headers.
const VERSION: u32 = 2;
/// Oldest supported version.
const MIN_VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"DRYWORLD";
const HEAD: usize = 16;

pub(super) fn frame(first: &[u8], second: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(first.len()).map_err(|_| io::Error::other("the file would be too large"))?;
    let mut bytes = Vec::with_capacity(HEAD + first.len() + second.len() + 4);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    bytes.extend(first);
    bytes.extend(second);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// Splits a file into version and parts.
pub(super) fn unframe(bytes: Vec<u8>) -> Result<(u32, Vec<u8>, Vec<u8>), String> {
    if bytes.len() < HEAD + 4 || bytes[..8] != MAGIC {
        return Err(format!("{} bytes that are not a file of a world", bytes.len()));
    }
    let word = |from: usize| u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]]);
    let version = word(8);
    if !(MIN_VERSION..=VERSION).contains(&version) {
        return Err(format!("version {version}; this build reads {MIN_VERSION} to {VERSION}"));
    }
    let end = bytes.len() - 4;
    let (found, expected) = (crc32fast::hash(&bytes[..end]), word(end));
    if found != expected {
        return Err(format!("the checksum is {found:08x}, expected {expected:08x}"));
    }
    let middle = HEAD + word(12) as usize;
    if middle > end {
        return Err("its first part is longer than the file".to_owned());
    }
    let mut first = bytes;
    first.truncate(end);
    let second = first.split_off(middle);
    first.drain(..HEAD);
    Ok((version, first, second))
}
