//! Damage to the files of a quorum: what refuses the opening, and what is cut.

use std::path::{Path, PathBuf};

use klamm_io::Disk;
use klamm_io::sim::{Crash, SimDisk};

use super::*;

/// Covers CO-006.
#[tokio::test]
async fn co_006_damaged_files_refuse_the_opening() {
    let disk = SimDisk::new(0);
    let quorum = open_with(&disk, 1).await.unwrap();
    for number in 1..4 {
        quorum.propose(topic(number)).await.unwrap();
    }
    let directory = Path::new(DIRECTORY);
    until("the log is cut", || log_start(&disk) > 2).await;
    quorum.stop().await;
    drop(quorum);

    let change = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let disk = disk.crash(Crash::Kill);
        let path = directory.join(name);
        let mut bytes = klamm_io::read_whole(&disk, &path, 1 << 20)
            .unwrap()
            .to_vec();
        change(&mut bytes);
        klamm_io::replace_whole(&disk, &path, &bytes).unwrap();
        disk
    };
    let flip: &dyn Fn(&mut Vec<u8>) = &|bytes| *bytes.last_mut().unwrap() ^= 1;
    let empty: &dyn Fn(&mut Vec<u8>) = &Vec::clear;
    for (name, how) in [
        ("snapshot", flip),
        ("snapshot", empty),
        ("quorum-state", empty),
    ] {
        let refused = open(&change(name, how)).await.err();
        assert!(
            matches!(refused, Some(OpenQuorumError::Damaged { .. })),
            "{name}: {refused:?}"
        );
    }
    let without = disk.crash(Crash::Kill);
    without.remove_file(&directory.join("snapshot")).unwrap();
    let refused = open(&without).await.err();
    assert!(
        matches!(refused, Some(OpenQuorumError::NoSnapshot { .. })),
        "{refused:?}"
    );
    open(&disk.crash(Crash::Kill)).await.unwrap();
}

/// Covers CO-006: a state that cannot be this log's is told, and Raft never sees it. That of version
/// 1 has no checksum.
#[tokio::test]
async fn co_006_a_quorum_state_that_cannot_be_is_refused() {
    let (disk, _) = three_topics().await;
    let path = Path::new(DIRECTORY).join("quorum-state");
    let text = |cluster: &str, vote: &str| format!("version=1\ncluster.id={cluster}\n{vote}");
    let vote = |term: &str, node: &str, committed: &str| {
        format!("vote.term={term}\nvote.node={node}\nvote.committed={committed}\n")
    };
    let open_with = async |state: &str| {
        let disk = disk.crash(Crash::Kill);
        klamm_io::replace_whole(&disk, &path, state.as_bytes()).unwrap();
        (open(&disk).await, disk)
    };
    for state in [
        text("a-cluster", &vote("0", "1", "true")),
        text("a-cluster", &vote("99999999999", "1", "true")),
        text("a-cluster", &vote("18446744073709551615", "1", "false")),
        text("a-cluster", &vote("1", "7", "true")),
        text("a-cluster", ""),
    ] {
        match open_with(&state).await.0.err() {
            Some(OpenQuorumError::Damaged { path: at, reason }) => {
                assert_eq!(at, path, "{state}");
                assert!(reason.contains("vote"), "{state}: {reason}");
            }
            other => panic!("{state}: {other:?}"),
        }
    }
    for (term, committed) in [("1", "true"), ("1", "false"), ("5", "true"), ("5", "false")] {
        let state = text("a-cluster", &vote(term, "1", committed));
        let (quorum, disk) = open_with(&state).await;
        let quorum = quorum.unwrap_or_else(|error| panic!("{state}: {error}"));
        quorum.propose(topic(4)).await.unwrap();
        quorum.stop().await;
        drop(quorum);
        let quorum = open(&disk).await.unwrap();
        assert_eq!(image(&quorum).topic_count(), 4, "{state}");
        quorum.stop().await;
    }
}

/// Covers CO-006: any bit of it.
#[tokio::test]
async fn co_006_a_flipped_bit_in_the_quorum_state_refuses_the_opening() {
    let (disk, _) = three_topics().await;
    let path = Path::new(DIRECTORY).join("quorum-state");
    let bytes = klamm_io::read_whole(&disk, &path, 4096).unwrap().to_vec();
    for at in 0..bytes.len() {
        let disk = disk.crash(Crash::Kill);
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 7);
        klamm_io::replace_whole(&disk, &path, &bytes).unwrap();
        match open(&disk).await.err() {
            Some(OpenQuorumError::Damaged { path: found, .. }) => assert_eq!(found, path),
            other => panic!("byte {at}: {other:?}"),
        }
    }
}

/// A point that cannot be read is as good as none: less is known of the log, and nothing wrong.
#[tokio::test]
async fn a_damaged_durable_point_is_made_anew() {
    let (disk, _) = three_topics().await;
    let path = Path::new(DIRECTORY).join("durable-point");
    let whole = klamm_io::read_whole(&disk, &path, 100).unwrap().to_vec();
    let longer = [&whole[..], &[0]].concat();
    let far_longer = [&whole[..], &[7; 5000]].concat();
    for damaged in [&longer[..], &far_longer, &whole[..5], &[0; 12], &[]] {
        let disk = disk.crash(Crash::Kill);
        klamm_io::replace_whole(&disk, &path, damaged).unwrap();
        let quorum = open(&disk).await.unwrap();
        assert_eq!(image(&quorum).topic_count(), 3);
        quorum.stop().await;
        drop(quorum);
        let mended = klamm_io::read_whole(&disk, &path, 100).unwrap();
        assert_eq!(mended, whole);
    }
}

/// The names and contents of all files, but for the lock.
fn contents(disk: &SimDisk) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = disk.list(Path::new(DIRECTORY)).unwrap();
    let paths = entries.iter().map(|it| Path::new(DIRECTORY).join(&it.name));
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "log"))
        .map(|path| {
            let bytes = klamm_io::read_whole(disk, &path, 1 << 20).unwrap();
            (path, bytes.to_vec())
        })
        .collect()
}

/// The disk with other bytes in the segment.
fn altered(disk: &SimDisk, alter: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
    let disk = disk.crash(Crash::Kill);
    let mut bytes = klamm_io::read_whole(&disk, &segment(), 1 << 20)
        .unwrap()
        .to_vec();
    alter(&mut bytes);
    klamm_io::replace_whole(&disk, &segment(), &bytes).unwrap();
    disk
}

/// Where the batches of these bytes begin, and the end of the last.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut boundaries = vec![0];
    while let Some(prefix) =
        klamm_records::BatchPrefix::peek(&bytes[boundaries[boundaries.len() - 1]..]).unwrap()
    {
        boundaries.push(boundaries[boundaries.len() - 1] + prefix.size);
    }
    boundaries
}

/// A disk with the log of three topics, and the bytes of its segment. It was not stopped.
async fn three_topics() -> (SimDisk, Vec<u8>) {
    let disk = SimDisk::new(0);
    let quorum = open(&disk).await.unwrap();
    for number in 1..=3 {
        quorum.propose(topic(number)).await.unwrap();
    }
    let bytes = klamm_io::read_whole(&disk, &segment(), 1 << 20).unwrap();
    (disk.crash(Crash::Kill), bytes.to_vec())
}

async fn assert_refused(disk: &SimDisk, what: &str) {
    let before = contents(disk);
    match open(disk).await.err() {
        Some(OpenQuorumError::Damaged { path, reason }) => {
            assert_eq!(path, segment(), "{what}");
            assert!(reason.starts_with("byte "), "{what}: {reason}");
        }
        other => panic!("{what}: {other:?}"),
    }
    assert_eq!(contents(disk), before, "{what}: nothing was changed");
}

/// Covers CO-006: damage to an entry that was synced is told, and nothing behind it is cut.
#[tokio::test]
async fn co_006_a_flipped_bit_in_a_synced_entry_refuses_the_opening() {
    let (disk, bytes) = three_topics().await;
    for at in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        let flipped = altered(&disk, |bytes| bytes[at] ^= 0x10);
        assert_refused(&flipped, &format!("byte {at}")).await;
    }
    open(&disk.crash(Crash::Kill)).await.unwrap();
}

/// Covers CO-006: where the power has taken the point up to which the log is durable, the entries
/// say of those before them that they were.
#[tokio::test]
async fn co_006_a_flipped_bit_is_told_from_a_torn_end_without_the_durable_point() {
    let (disk, bytes) = three_topics().await;
    disk.remove_file(&Path::new(DIRECTORY).join("durable-point"))
        .unwrap();
    let boundaries = boundaries(&bytes);
    let last = boundaries[boundaries.len() - 2];
    for at in (0..last).step_by(13) {
        let flipped = altered(&disk, |bytes| bytes[at] ^= 0x10);
        assert_refused(&flipped, &format!("byte {at}")).await;
    }
}

/// Covers CO-006.
#[tokio::test]
async fn co_006_entries_that_are_gone_refuse_the_opening() {
    let (disk, bytes) = three_topics().await;
    let boundaries = boundaries(&bytes);
    for end in &boundaries[..boundaries.len() - 1] {
        let cut = altered(&disk, |bytes| bytes.truncate(*end));
        let refused = open(&cut).await.err();
        assert!(
            matches!(refused, Some(OpenQuorumError::Lost { .. })),
            "cut at {end}: {refused:?}"
        );
    }
    let gone = disk.crash(Crash::Kill);
    gone.remove_file(&segment()).unwrap();
    let refused = open(&gone).await.err();
    assert!(
        matches!(refused, Some(OpenQuorumError::Lost { .. })),
        "{refused:?}"
    );
}

/// Covers CO-006: a log goes on from its snapshot, or from nothing; without its first segment it
/// would leave out what that held.
#[tokio::test]
async fn co_006_a_first_segment_that_is_gone_refuses_the_opening() {
    let (disk, bytes) = three_topics().await;
    let boundaries = boundaries(&bytes);
    let middle = boundaries.len() / 2;
    // An entry a batch, so that it is known where the second segment begins.
    let second = Path::new(DIRECTORY).join(format!("{middle:020}.log"));
    let two = altered(&disk, |bytes| bytes.truncate(boundaries[middle]));
    klamm_io::replace_whole(&two, &second, &bytes[boundaries[middle]..]).unwrap();
    let quorum = open(&two.crash(Crash::Kill)).await.unwrap();
    assert_eq!(image(&quorum).topic_count(), 3);
    quorum.stop().await;

    for with_point in [true, false] {
        let gone = two.crash(Crash::Kill);
        gone.remove_file(&segment()).unwrap();
        if !with_point {
            gone.remove_file(&Path::new(DIRECTORY).join("durable-point"))
                .unwrap();
        }
        let before = contents(&gone);
        match open(&gone).await.err() {
            Some(OpenQuorumError::Damaged { path, reason }) => {
                assert_eq!(path, second);
                assert!(reason.contains(&format!("begins at {middle}")), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(contents(&gone), before, "nothing was changed");
    }
}

/// What was being written when the power went is cut: nobody has relied on it.
#[tokio::test]
async fn a_torn_end_is_cut() {
    let (disk, bytes) = three_topics().await;
    let boundaries = boundaries(&bytes);
    let [.., before, last, end] = boundaries[..] else {
        panic!("{boundaries:?}");
    };
    for torn in [
        &bytes[last..end - 1],
        &bytes[last..last + 20],
        &[0; 100],
        &bytes[before..end],
    ] {
        let disk = altered(&disk, |bytes| bytes.extend_from_slice(torn));
        let quorum = open(&disk).await.unwrap();
        assert_eq!(image(&quorum).topic_count(), 3);
        quorum.propose(topic(4)).await.unwrap();
        quorum.stop().await;
    }
    // Several entries are synced at once: of those that never were, any may have come through.
    let unsynced = disk.crash(Crash::Kill);
    unsynced
        .remove_file(&Path::new(DIRECTORY).join("durable-point"))
        .unwrap();
    let unsynced = altered(&unsynced, |bytes| bytes[last] ^= 1);
    let quorum = open(&unsynced).await.unwrap();
    assert_eq!(image(&quorum).topic_count(), 2);
    quorum.stop().await;
}
