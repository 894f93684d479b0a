//! What a power cut may do to the directory of a log whose process is dead: anything to what was
//! not synced, nothing to the rest.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use klamm_primitives::Offset;
use klamm_records::RecordBatches;

use crate::random::Random;

const SECTOR_LEN: u64 = 512;

/// The base offset and the leader epoch stand before the checksum and are not under it. What
/// flips there is seen by nobody; a sector that is lost takes the checksum along.
const NOT_UNDER_CRC: [std::ops::Range<u64>; 2] = [0..8, 12..16];

/// A segment's file, and what of it was not synced.
struct Segment {
    base_offset: Offset,
    path: PathBuf,
    len: u64,
    /// Where the first batch that was not synced begins.
    synced_len: u64,
    /// Where those batches begin that were not synced, as far as they are whole.
    starts: Vec<u64>,
}

/// Cuts, flips, blanks, extends and removes, as chance will have it. Everything below `durable`
/// was synced.
pub(crate) fn strike(directory: &Path, durable: Offset, random: &mut Random) {
    let mut names: Vec<_> = match fs::read_dir(directory) {
        Ok(entries) => entries.map(|it| it.unwrap().path()).collect(),
        Err(_) => return,
    };
    names.sort();
    let logs = names.iter().filter(|it| has_extension(it, "log"));
    let segments: Vec<_> = logs.map(|it| look_at(it, durable)).collect();
    let last_synced = segments
        .iter()
        .rev()
        .find(|it| it.base_offset < durable)
        .map_or(Offset::ZERO, |it| it.base_offset);
    for segment in &segments {
        if segment.len > segment.synced_len || segment.base_offset >= durable {
            strike_log(segment, durable, random);
        }
    }
    for path in &names {
        let Some(base_offset) = offset_of(path) else {
            continue;
        };
        let is_index = ["index", "timeindex", "txnindex"]
            .map(OsStr::new)
            .contains(&path.extension().unwrap_or_default());
        // Indexes are synced when their segment is done; snapshots by the flush that goes over
        // their offset.
        let is_unsynced_index = is_index && base_offset >= last_synced;
        let is_unsynced_snapshot = has_extension(path, "snapshot") && base_offset >= durable;
        if is_unsynced_index || is_unsynced_snapshot {
            strike_small(path, random);
        }
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|it| it == extension)
}

fn offset_of(path: &Path) -> Option<Offset> {
    let number = path.file_stem()?.to_str()?.parse().ok()?;
    Some(Offset::new(number))
}

fn look_at(path: &Path, durable: Offset) -> Segment {
    let bytes = Bytes::from(fs::read(path).unwrap());
    let len = bytes.len() as u64;
    let mut batches = RecordBatches::new(bytes);
    let (mut synced_len, mut starts) = (0, Vec::new());
    loop {
        let start = batches.position() as u64;
        // The writer may have died in the middle of a batch.
        let Some(Ok(batch)) = batches.next() else {
            break;
        };
        if batch.header().last_offset() < durable {
            synced_len = batches.position() as u64;
        } else {
            starts.push(start);
        }
    }
    Segment {
        base_offset: offset_of(path).expect("a segment's name"),
        path: path.to_owned(),
        len,
        synced_len,
        starts,
    }
}

fn strike_log(segment: &Segment, durable: Offset, random: &mut Random) {
    let file = OpenOptions::new().write(true).open(&segment.path).unwrap();
    let unsynced = segment.len - segment.synced_len;
    match random.below::<u8>(8) {
        0 if segment.base_offset >= durable => fs::remove_file(&segment.path).unwrap(),
        1 | 2 => {
            let left = random.below::<u64>(unsynced + 1);
            file.set_len(segment.synced_len + left).unwrap();
        }
        3 | 4 if unsynced > 0 => {
            for _ in 0..=random.below::<u8>(8) {
                let position = segment.synced_len + random.below::<u64>(unsynced);
                if segment.is_under_crc(position) {
                    flip(&file, &segment.path, position, random);
                }
            }
        }
        5 => {
            let first = segment.synced_len / SECTOR_LEN;
            let sector = first + random.below::<u64>(unsynced / SECTOR_LEN + 1);
            let from = (sector * SECTOR_LEN).max(segment.synced_len);
            let to = ((sector + 1) * SECTOR_LEN).min(segment.len);
            let blank = vec![0; usize::try_from(to.saturating_sub(from)).unwrap()];
            file.write_all_at(&blank, from).unwrap();
        }
        6 => {
            let garbage: Vec<_> = (0..=random.below::<u16>(1023))
                .map(|_| random.below::<u8>(256))
                .collect();
            file.write_all_at(&garbage, segment.len).unwrap();
        }
        7 => file
            .set_len(segment.len + random.below::<u64>(8192))
            .unwrap(),
        _ => {}
    }
}

impl Segment {
    fn is_under_crc(&self, position: u64) -> bool {
        let before = self.starts.partition_point(|start| *start <= position);
        let Some(start) = before.checked_sub(1).map(|index| self.starts[index]) else {
            return true;
        };
        let within = position - start;
        !NOT_UNDER_CRC.iter().any(|it| it.contains(&within))
    }
}

/// Changes a byte into another one.
fn flip(file: &fs::File, path: &Path, position: u64, random: &mut Random) {
    let mut byte = [0];
    let reader = fs::File::open(path).unwrap();
    reader.read_exact_at(&mut byte, position).unwrap();
    byte[0] ^= 1 + random.below::<u8>(255);
    file.write_all_at(&byte, position).unwrap();
}

fn strike_small(path: &Path, random: &mut Random) {
    let len = fs::metadata(path).unwrap().len();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    match random.below::<u8>(6) {
        0 => fs::remove_file(path).unwrap(),
        1 => file.set_len(random.below::<u64>(len + 1)).unwrap(),
        2 => file.set_len(0).unwrap(),
        3 if len > 0 => {
            for _ in 0..=random.below::<u8>(20) {
                let position = random.below::<u64>(len);
                flip(&file, path, position, random);
            }
        }
        _ => {}
    }
}
