//! Writes entries to a file, cuts the power at every call in turn, and recovers.
//!
//! An entry is a length, a checksum and as many bytes. `append` calls an entry kept when a sync
//! has succeeded; `recover` reads whole entries until one is torn and cuts the file there. The
//! program shows that no kept entry is ever lost, whatever the disk makes of the rest, and what
//! would be lost without the sync of the directory.
//!
//! Run with `cargo run -p klamm-io --example crash`.

use std::path::Path;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk, DiskError, DiskFile, OpenMode, read_whole};

const ENTRIES: [&[u8]; 4] = [b"first", b"second, a little longer", &[3; 1500], b"last"];
const HEADER_LEN: usize = 8;
const SEEDS: u64 = 200;

fn main() -> Result<(), DiskError> {
    let mut crashes = 0;
    let mut torn = 0;
    for passed in 0.. {
        let disk = SimDisk::new(passed);
        // Let so many calls pass, then cut the power.
        disk.inject(Fault::on_any().after(passed).cutting_power());
        let (kept, outcome) = write_all(&disk);
        for seed in 0..SEEDS {
            let after = disk.crash(Crash::PowerLoss { seed });
            let recovered = recover(&after)?;
            crashes += 1;
            torn += usize::from(recovered.cut_bytes > 0);
            assert!(
                recovered.entries.len() >= kept,
                "seed {seed}: a kept entry is lost"
            );
            for (entry, expected) in recovered.entries.iter().zip(ENTRIES) {
                assert_eq!(entry, expected, "seed {seed}");
            }
        }
        if outcome.is_ok() {
            break;
        }
    }
    println!("{crashes} power cuts, {torn} of them tore an entry; every kept entry was recovered");

    let disk = SimDisk::new(0);
    let file = disk.open(path(), OpenMode::OpenOrCreate)?;
    append(&file, 0, ENTRIES[0])?;
    let recovered = recover(&disk.crash(Crash::PowerLossLosingAll))?;
    println!(
        "without a sync of the directory: {} of 1 entries",
        recovered.entries.len()
    );
    Ok(())
}

fn path() -> &'static Path {
    Path::new("/entries")
}

/// Appends the entries; says how many were kept when the disk failed, if it did.
fn write_all<D: Disk>(disk: &D) -> (usize, Result<(), DiskError>) {
    let mut kept = 0;
    let mut write = || {
        let file = disk.open(path(), OpenMode::OpenOrCreate)?;
        disk.sync_dir(Path::new("/"))?;
        let mut position = 0;
        for entry in ENTRIES {
            position = append(&file, position, entry)?;
            kept += 1;
        }
        Ok(())
    };
    let outcome = write();
    (kept, outcome)
}

/// Writes one entry, makes it durable and returns where the next one goes.
fn append<F: DiskFile>(file: &F, position: u64, entry: &[u8]) -> Result<u64, DiskError> {
    let len = u32::try_from(entry.len()).expect("entries are short");
    let mut bytes = len.to_le_bytes().to_vec();
    bytes.extend(checksum(entry).to_le_bytes());
    bytes.extend(entry);
    file.write_all_at(&bytes, position)?;
    file.sync_data()?;
    Ok(position + bytes.len() as u64)
}

struct Recovered {
    entries: Vec<Vec<u8>>,
    cut_bytes: usize,
}

/// Reads the whole entries at the front of the file and cuts off what follows.
fn recover<D: Disk>(disk: &D) -> Result<Recovered, DiskError> {
    let file = disk.open(path(), OpenMode::OpenOrCreate)?;
    let bytes = read_whole(disk, path(), 1 << 20)?;
    let mut entries = Vec::new();
    let mut left: &[u8] = &bytes;
    while let Some(entry) = whole_entry(left) {
        entries.push(entry.to_vec());
        left = &left[HEADER_LEN + entry.len()..];
    }
    let cut_bytes = left.len();
    file.set_len((bytes.len() - cut_bytes) as u64)?;
    file.sync_data()?;
    Ok(Recovered { entries, cut_bytes })
}

/// The entry at the front, if it is all there. An empty one counts as torn: that is what a
/// stretch of zeros would be taken for.
fn whole_entry(bytes: &[u8]) -> Option<&[u8]> {
    let (len, rest) = bytes.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    let entry = rest.get(..len).filter(|entry| !entry.is_empty())?;
    (checksum(entry) == u32::from_le_bytes(*sum)).then_some(entry)
}

/// Fowler, Noll and Vo's hash: enough for an example.
fn checksum(bytes: &[u8]) -> u32 {
    let mix = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, mix)
}
