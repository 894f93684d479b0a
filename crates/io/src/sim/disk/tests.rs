//! What a power cut, a kill and a fault leave behind.

use std::collections::BTreeSet;
use std::path::Path;

use super::content::SECTOR_LEN;
use super::*;
use crate::testing::check_disk;
use crate::{Allocated, DiskErrorKind, DiskFile, read_whole, replace_whole};

pub(super) const ROOT: &str = "/";
pub(super) const FILE: &str = "/file";

/// Enough seeds for each outcome below to turn up.
const SEEDS: u64 = 400;

fn open(disk: &SimDisk, path: &str, mode: OpenMode) -> SimFile {
    disk.open(Path::new(path), mode).unwrap()
}

pub(super) fn durable_file(disk: &SimDisk, path: &str, contents: &[u8]) -> SimFile {
    let file = open(disk, path, OpenMode::CreateNew);
    file.write_all_at(contents, 0).unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(Path::new(path).parent().unwrap()).unwrap();
    file
}

/// What a name holds, if anything has it.
pub(super) fn found(disk: &SimDisk, path: &str) -> Option<Vec<u8>> {
    match read_whole(disk, Path::new(path), 1 << 20) {
        Ok(bytes) => Some(bytes.to_vec()),
        Err(error) if error.kind() == DiskErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}

fn after_power_losses(disk: &SimDisk) -> impl Iterator<Item = SimDisk> {
    (0..SEEDS).map(|seed| disk.crash(Crash::PowerLoss { seed }))
}

#[test]
fn conforms() {
    let disk = SimDisk::new(1);
    check_disk(&disk, Path::new(ROOT));
    // And where space is counted.
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(1 << 20));
    check_disk(&disk, Path::new(ROOT));
}

#[test]
fn a_kill_keeps_what_was_written_but_makes_nothing_durable() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, FILE, b"old");
    let lock = disk.try_lock(Path::new("/lock")).unwrap();
    file.write_all_at(b"new", 0).unwrap();
    let removed = open(&disk, "/removed", OpenMode::CreateNew);
    disk.remove_file(Path::new("/removed")).unwrap();

    let killed = disk.crash(Crash::Kill);
    assert_eq!(found(&killed, FILE).unwrap(), b"new");
    assert_eq!(found(&killed, "/removed"), None);
    _ = killed.try_lock(Path::new("/lock")).unwrap();
    let cut = killed.crash(Crash::PowerLossLosingAll);
    assert_eq!(found(&cut, FILE).unwrap(), b"old");

    // The crashed disk stands apart.
    file.write_all_at(b"NEW", 0).unwrap();
    assert_eq!(found(&killed, FILE).unwrap(), b"new");
    drop((lock, removed));
}

#[test]
fn a_power_cut_tears_between_sectors_only() {
    let old = [1; 4 * SECTOR_LEN];
    let new = [2; 4 * SECTOR_LEN];
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, FILE, &old);
    file.write_all_at(&new, 0).unwrap();

    let mut seen = BTreeSet::new();
    for cut in after_power_losses(&disk) {
        let contents = found(&cut, FILE).unwrap();
        assert_eq!(contents.len(), old.len());
        let sectors = contents.chunks(SECTOR_LEN).map(|sector| {
            assert!(sector == &old[..SECTOR_LEN] || sector == &new[..SECTOR_LEN]);
            sector[0]
        });
        seen.insert(sectors.collect::<Vec<u8>>());
    }
    assert_eq!(seen.len(), 16, "each mix of four sectors");

    file.sync_data().unwrap();
    for cut in after_power_losses(&disk) {
        assert_eq!(found(&cut, FILE).unwrap(), new);
    }
}

#[test]
fn an_append_may_leave_its_length_and_zeros_in_its_place() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, FILE, &[1; 700]);
    file.write_all_at(&[2; 100], 700).unwrap();
    file.write_all_at(&[3; 1000], 800).unwrap();

    let (mut lens, mut zeroed) = (BTreeSet::new(), false);
    for cut in after_power_losses(&disk) {
        let contents = found(&cut, FILE).unwrap();
        assert_eq!(contents[..700], [1; 700], "what was synced stays");
        for (position, byte) in contents.iter().enumerate().skip(700) {
            let written = if position < 800 { 2 } else { 3 };
            assert!(*byte == 0 || *byte == written);
            zeroed |= *byte == 0;
        }
        lens.insert(contents.len());
    }
    assert!(zeroed);
    // The lengths that the file had, and those at the ends of sectors between.
    assert_eq!(lens, BTreeSet::from([700, 800, 1024, 1536, 1800]));
}

#[test]
fn stale_sectors_show_only_where_asked_for() {
    for asked_for in [false, true] {
        let mut disk = SimDisk::new(1);
        if asked_for {
            disk = disk.with_stale_sectors();
        }
        let file = durable_file(&disk, FILE, &[1; SECTOR_LEN]);
        file.write_all_at(&[2; SECTOR_LEN], SECTOR_LEN as u64)
            .unwrap();
        let strange = after_power_losses(&disk).any(|cut| {
            let contents = found(&cut, FILE).unwrap();
            assert_eq!(contents[..SECTOR_LEN], [1; SECTOR_LEN]);
            contents.iter().any(|byte| *byte > 2)
        });
        assert_eq!(strange, asked_for);
    }
}

#[test]
fn what_was_cut_off_does_not_come_back_behind_a_later_length() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, FILE, &[1; 9000]);
    // On the border of a page, since the cut would otherwise write zeros behind it, too.
    file.set_len(4096).unwrap();
    file.set_len(9001).unwrap();
    let mut seen = BTreeSet::new();
    for cut in after_power_losses(&disk) {
        let contents = found(&cut, FILE).unwrap();
        let ones: usize = contents.iter().map(|byte| usize::from(*byte)).sum();
        seen.insert((contents.len(), ones));
    }
    assert!(seen.remove(&(9000, 9000)), "neither");
    assert!(seen.remove(&(4096, 4096)), "the cut alone");
    assert!(seen.contains(&(9001, 4096)), "both");
    assert!(seen.iter().all(|(len, ones)| *len > 4096 && *ones == 4096));
}

#[test]
fn a_sync_of_the_file_does_not_keep_its_name() {
    let disk = SimDisk::new(1);
    let file = open(&disk, FILE, OpenMode::CreateNew);
    file.write_all_at(b"abc", 0).unwrap();
    file.sync_all().unwrap();
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(found(&cut, FILE), None);

    // Nor does the name keep the contents.
    let named = open(&disk, "/named", OpenMode::CreateNew);
    named.write_all_at(b"abc", 0).unwrap();
    disk.sync_dir(Path::new(ROOT)).unwrap();
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(found(&cut, "/named").unwrap(), b"");
    assert_eq!(found(&cut, FILE).unwrap(), b"abc");
}

#[test]
fn names_are_lost_from_the_newest_back() {
    let disk = SimDisk::new(1);
    durable_file(&disk, "/a", b"");
    for name in ["/b", "/c"] {
        open(&disk, name, OpenMode::CreateNew);
    }
    disk.rename(Path::new("/b"), Path::new("/d")).unwrap();
    disk.remove_file(Path::new("/a")).unwrap();

    let mut seen = BTreeSet::new();
    for cut in after_power_losses(&disk) {
        let names: Vec<String> = cut
            .list(Path::new(ROOT))
            .unwrap()
            .into_iter()
            .map(|entry| entry.name.into_string().unwrap())
            .collect();
        seen.insert(names.concat());
    }
    assert_eq!(
        seen,
        BTreeSet::from(["a", "ab", "abc", "acd", "cd"].map(String::from))
    );
}

#[test]
fn a_rename_between_directories_is_one_step() {
    let disk = SimDisk::new(1);
    let [from, to] = ["/from", "/to"].map(Path::new);
    disk.create_dir_all(from).unwrap();
    disk.create_dir_all(to).unwrap();
    disk.sync_dir(Path::new(ROOT)).unwrap();
    durable_file(&disk, "/from/x", b"x");
    disk.rename(&from.join("x"), &to.join("y")).unwrap();

    let mut moved = 0;
    for cut in after_power_losses(&disk) {
        match (found(&cut, "/from/x"), found(&cut, "/to/y")) {
            (Some(_), None) => {}
            (None, Some(_)) => moved += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(0 < moved && moved < SEEDS);

    // A sync of either directory makes the whole of it durable.
    disk.sync_dir(from).unwrap();
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(found(&cut, "/to/y").unwrap(), b"x");
}

#[test]
fn a_directory_without_its_own_name_is_lost_with_what_is_in_it() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/new/below")).unwrap();
    durable_file(&disk, "/new/below/file", b"abc");
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(cut.list(Path::new(ROOT)).unwrap(), []);

    disk.sync_dir(Path::new("/new")).unwrap();
    disk.sync_dir(Path::new(ROOT)).unwrap();
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(found(&cut, "/new/below/file").unwrap(), b"abc");
}

#[test]
fn a_failed_sync_is_not_mended_by_the_next() {
    let old = [1; 4 * SECTOR_LEN];
    let new = [2; 4 * SECTOR_LEN];
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, FILE, &old);
        file.write_all_at(&new, 0).unwrap();
        disk.inject(Fault::on(DiskOperation::Sync));
        let error = file.sync_data().unwrap_err();
        assert_eq!(error.kind(), DiskErrorKind::Failed);
        assert_eq!(error.io_error().raw_os_error(), Some(5));
        file.sync_data().unwrap();
        assert_eq!(
            found(&disk, FILE).unwrap(),
            new,
            "reads come from the cache"
        );
        let cut = disk.crash(Crash::PowerLoss { seed });
        let contents = found(&cut, FILE).unwrap();
        seen.insert(
            contents
                .iter()
                .step_by(SECTOR_LEN)
                .copied()
                .collect::<Vec<u8>>(),
        );

        // What is written again is made durable again.
        file.write_all_at(&new, 0).unwrap();
        file.sync_data().unwrap();
        let cut = disk.crash(Crash::PowerLossLosingAll);
        assert_eq!(found(&cut, FILE).unwrap(), new);
    }
    assert_eq!(seen.len(), 16, "each mix of four sectors");
}

#[test]
fn a_failed_directory_sync_is_not_mended_by_the_next() {
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let disk = SimDisk::new(seed);
        durable_file(&disk, "/a", b"");
        open(&disk, "/b", OpenMode::CreateNew);
        disk.remove_file(Path::new("/a")).unwrap();
        disk.inject(Fault::on(DiskOperation::SyncDir).under(ROOT));
        disk.sync_dir(Path::new(ROOT)).unwrap_err();
        disk.sync_dir(Path::new(ROOT)).unwrap();
        let cut = disk.crash(Crash::PowerLoss { seed });
        seen.insert([found(&cut, "/a").is_some(), found(&cut, "/b").is_some()]);
    }
    assert_eq!(
        seen,
        BTreeSet::from([[true, false], [true, true], [false, true]])
    );
}

#[test]
fn a_replaced_file_is_old_or_new_wherever_the_power_goes() {
    let path = Path::new(FILE);
    let (mut old_seen, mut new_seen) = (false, false);
    for passed in 0.. {
        let disk = SimDisk::new(passed);
        replace_whole(&disk, path, &[1; 3000]).unwrap();
        disk.inject(Fault::on_any().after(passed).cutting_power());
        let done = replace_whole(&disk, path, &[2; 2000]).is_ok();
        assert_eq!(done, !disk.state.lock().power_is_off);
        for cut in after_power_losses(&disk) {
            let contents = found(&cut, FILE).unwrap();
            if contents == [2; 2000] {
                new_seen = true;
            } else {
                assert_eq!(contents, [1; 3000]);
                assert!(!done, "a success is durable");
                old_seen = true;
            }
        }
        if done {
            break;
        }
    }
    assert!(old_seen && new_seen);
}

#[test]
fn a_replacement_that_fails_leaves_the_old_file_alone() {
    let path = Path::new(FILE);
    for (operation, kind) in [
        (DiskOperation::Open, DiskErrorKind::TooManyFiles),
        (DiskOperation::Write, DiskErrorKind::Full),
        (DiskOperation::Sync, DiskErrorKind::Failed),
        (DiskOperation::Rename, DiskErrorKind::Denied),
    ] {
        let disk = SimDisk::new(1);
        replace_whole(&disk, path, b"old").unwrap();
        disk.inject(Fault::on(operation).failing_with(kind));
        let error = replace_whole(&disk, path, b"new").unwrap_err();
        assert_eq!((error.operation(), error.kind()), (operation, kind));
        assert_eq!(found(&disk, FILE).unwrap(), b"old");
        assert_eq!(disk.list(Path::new(ROOT)).unwrap().len(), 1);
    }
}

#[test]
fn a_renamed_file_that_was_not_synced_may_be_empty() {
    let disk = SimDisk::new(1);
    durable_file(&disk, FILE, b"old");
    let new = open(&disk, "/new", OpenMode::CreateNew);
    new.write_all_at(b"new", 0).unwrap();
    disk.rename(Path::new("/new"), Path::new(FILE)).unwrap();
    let seen: BTreeSet<Vec<u8>> = after_power_losses(&disk)
        .map(|cut| found(&cut, FILE).unwrap())
        .collect();
    let expected: [&[u8]; 4] = [b"", b"\0\0\0", b"new", b"old"];
    assert_eq!(seen, expected.map(<[u8]>::to_vec).into());
}

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(3 * 4096));
    let file = open(&disk, FILE, OpenMode::CreateNew);
    let error = file.write_all_at(&vec![1; 20_000], 0).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Full);
    assert_eq!(error.io_error().raw_os_error(), Some(28));
    assert_eq!(file.metadata().unwrap().len, 3 * 4096);
    assert_eq!(disk.space(Path::new(ROOT)).unwrap().available_bytes, 0);

    // There is room for what has room, and for holes.
    file.write_all_at(&[2; 4096], 4096).unwrap();
    file.set_len(1 << 30).unwrap();
    let error = file.write_all_at(&[2], 5 * 4096).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Full);

    // Removed, the file keeps its space until the last handle is gone.
    let clone = file.clone();
    disk.remove_file(Path::new(FILE)).unwrap();
    drop(file);
    assert_eq!(disk.space(Path::new(ROOT)).unwrap().available_bytes, 0);
    drop(clone);
    assert_eq!(disk.space(Path::new(ROOT)).unwrap().available_bytes, 12_288);
}

#[test]
fn a_file_system_that_cannot_reserve_says_so_and_extends() {
    let disk = SimDisk::new(1).without_reserving();
    disk.set_capacity(Some(2 * 4096));
    let disk = disk.crash(Crash::Kill);
    let file = open(&disk, FILE, OpenMode::CreateNew);
    assert_eq!(file.allocate(9 * 4096).unwrap(), Allocated::Extended);
    assert_eq!(file.metadata().unwrap().len, 9 * 4096);
    assert_eq!(file.allocate(1).unwrap(), Allocated::Extended);
    assert_eq!(file.metadata().unwrap().len, 9 * 4096);
    let space = disk.space(Path::new("/")).unwrap();
    assert_eq!(space.available_bytes, 2 * 4096);
}

#[test]
fn allocated_space_is_there_when_the_disk_is_full() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(4 * 4096));
    let file = open(&disk, FILE, OpenMode::CreateNew);
    file.allocate(3 * 4096).unwrap();
    let other = open(&disk, "/other", OpenMode::CreateNew);
    other.write_all_at(&[1; 8192], 0).unwrap_err();
    file.write_all_at(&[1; 3 * 4096], 0).unwrap();
    let error = file.allocate(4 * 4096).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Full);
    file.set_len(4096).unwrap();
    other.write_all_at(&[1; 8192], 0).unwrap();
}

#[test]
fn faults_strike_where_and_when_they_are_told_to() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/a")).unwrap();
    let [here, there] = ["/a/here", "/there"].map(|path| open(&disk, path, OpenMode::CreateNew));
    disk.inject(
        Fault::on(DiskOperation::Write)
            .under("/a")
            .after(1)
            .times(2)
            .stopping_after_bytes(2)
            .failing_with(DiskErrorKind::Full),
    );
    for _ in 0..3 {
        there.write_all_at(b"1234", 0).unwrap();
    }
    here.write_all_at(b"1234", 0).unwrap();
    let pieces = [b"5", b"6", b"7"].map(|piece| IoSlice::new(piece));
    let error = here.write_all_vectored_at(&pieces, 0).unwrap_err();
    assert_eq!(error.kind(), DiskErrorKind::Full);
    assert_eq!(here.read_bytes_at(0, 9).unwrap().as_ref(), b"5634");
    here.write_all_at(b"x", 0).unwrap_err();
    here.write_all_at(b"y", 0).unwrap();
    assert_eq!(disk.calls(DiskOperation::Write), 7);

    disk.inject(Fault::on_any().always());
    assert!(here.read_bytes_at(0, 1).is_err());
    assert!(disk.list(Path::new(ROOT)).is_err());
    disk.clear_faults();
    assert_eq!(here.read_bytes_at(0, 1).unwrap().as_ref(), b"y");
}

#[test]
fn without_power_nothing_goes_on() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, FILE, b"old");
    disk.inject(Fault::on(DiskOperation::Sync).cutting_power());
    file.write_all_at(b"new", 0).unwrap();
    let calls = disk.calls(DiskOperation::Sync);
    assert!(file.sync_data().is_err());
    assert_eq!(disk.calls(DiskOperation::Sync), calls + 1);
    disk.clear_faults();
    assert!(file.sync_data().is_err());
    assert!(disk.open(Path::new(FILE), OpenMode::Read).is_err());
    let back = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(found(&back, FILE).unwrap(), b"old");
}

#[test]
fn the_same_seed_has_the_same_outcome() {
    let outcome = |seed| {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, FILE, &vec![1; 50_000]);
        file.write_all_at(&vec![2; 60_000], 0).unwrap();
        disk.inject(Fault::on(DiskOperation::Sync));
        file.sync_data().unwrap_err();
        file.write_all_at(&vec![3; 60_000], 10_000).unwrap();
        found(&disk.crash(Crash::PowerLoss { seed }), FILE)
    };
    assert_eq!(outcome(5), outcome(5));
    assert_ne!(outcome(5), outcome(6));
}

#[test]
fn modification_times_come_from_the_clock() {
    let clock = SimClock::new();
    let disk = SimDisk::with_clock(1, clock.clone());
    let file = open(&disk, FILE, OpenMode::CreateNew);
    let created_ms = clock.unix_ms();
    assert_eq!(file.metadata().unwrap().modified_ms, created_ms);
    clock.jump_unix_ms(-5000);
    file.set_len(3).unwrap();
    assert_eq!(file.metadata().unwrap().modified_ms, created_ms - 5000);
    file.sync_data().unwrap();
    disk.sync_dir(Path::new(ROOT)).unwrap();
    let modified_ms = |disk: &SimDisk| disk.metadata(Path::new(FILE)).unwrap().modified_ms;
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(modified_ms(&cut), created_ms);
    file.sync_all().unwrap();
    let cut = disk.crash(Crash::PowerLossLosingAll);
    assert_eq!(modified_ms(&cut), created_ms - 5000);
}

#[test]
fn what_nothing_refers_to_is_forgotten() {
    let disk = SimDisk::new(1);
    for round in 0..1000 {
        let file = open(&disk, FILE, OpenMode::CreateNew);
        file.write_all_at(&[1; 5000], 0).unwrap();
        disk.remove_file(Path::new(FILE)).unwrap();
        if round % 10 == 0 {
            disk.sync_dir(Path::new(ROOT)).unwrap();
        }
    }
    assert!(disk.state.lock().tree.node_count() < 30);
}

#[test]
fn no_more_files_can_be_open_than_there_may_be() {
    let disk = SimDisk::new(1);
    disk.set_open_files_max(Some(2));
    let first = open(&disk, FILE, OpenMode::CreateNew);
    let clone = first.clone();
    let second = open(&disk, FILE, OpenMode::Read);
    assert_eq!(disk.open_files(), 2);
    let path = Path::new(ROOT);
    for refused in [
        disk.open(Path::new(FILE), OpenMode::Read).map(drop),
        disk.list(path).map(drop),
        disk.sync_dir(path),
    ] {
        assert_eq!(refused.unwrap_err().kind(), DiskErrorKind::TooManyFiles);
    }
    drop(first);
    assert_eq!(disk.open_files(), 2, "a clone of it is there");
    drop(clone);
    disk.sync_dir(path).unwrap();
    second.metadata().unwrap();
    assert_eq!(disk.crash(Crash::Kill).open_files(), 0);
}

#[test]
fn what_was_read_is_counted_as_often_as_it_was_read() {
    let disk = SimDisk::new(1);
    let file = durable_file(&disk, FILE, b"abcdef");
    assert_eq!(disk.bytes_read(), 0);
    file.read_exact_at(&mut [0; 4], 0).unwrap();
    file.read_exact_at(&mut [0; 4], 0).unwrap();
    // Two bytes are left there.
    file.read_at(&mut [0; 4], 4).unwrap();
    assert_eq!(disk.bytes_read(), 10);
    assert_eq!(disk.crash(Crash::Kill).bytes_read(), 0);
}
