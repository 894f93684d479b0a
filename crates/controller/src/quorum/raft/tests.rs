//! The quorum of one on a disk: what it survives.

mod damage;
mod full_disk;

use std::path::Path;

use klamm_io::sim::{Crash, Fault, SimClock, SimDisk};
use klamm_io::{Clock as _, Disk, DiskErrorKind, DiskOperation, RealDisk, SystemClock};
use klamm_primitives::Uuid;
use klamm_wire::metadata::feature_level::FeatureLevelRecord;
use klamm_wire::metadata::topic::TopicRecord;

use proptest::prelude::*;

use super::*;
use crate::testing::check_quorum;

fn node() -> BrokerId {
    BrokerId::new(1)
}

fn options(directory: impl Into<PathBuf>) -> RaftOptions {
    let level = FeatureLevelRecord {
        name: "metadata.version".into(),
        feature_level: 25,
        ..FeatureLevelRecord::default()
    };
    RaftOptions {
        bootstrap: vec![level.into()],
        ..RaftOptions::new(node(), "a-cluster", directory)
    }
}

fn topic(number: u128) -> Vec<ClusterMetadataRecord> {
    let record = TopicRecord {
        name: name(number).into(),
        topic_id: Uuid::from_u128(number << 64 | 1),
        ..TopicRecord::default()
    };
    vec![record.into()]
}

fn name(number: u128) -> String {
    format!("topic-{number}")
}

type SimNode = RaftQuorum<SimDisk, SimClock>;

const DIRECTORY: &str = "/data/klamm-metadata";

async fn open(disk: &SimDisk) -> Result<SimNode, OpenQuorumError> {
    RaftQuorum::open(disk.clone(), options(DIRECTORY), SimClock::new()).await
}

/// With a snapshot as soon as this much was written.
async fn open_with(disk: &SimDisk, snapshot_bytes: u64) -> Result<SimNode, OpenQuorumError> {
    let options = RaftOptions {
        snapshot_bytes,
        ..options(DIRECTORY)
    };
    RaftQuorum::open(disk.clone(), options, SimClock::new()).await
}

fn image(quorum: &impl Quorum) -> Arc<MetadataImage> {
    quorum.watch().borrow().clone()
}

#[tokio::test]
async fn conforms_on_a_simulated_disk() {
    let quorum = open(&SimDisk::new(0)).await.unwrap();
    check_quorum(&quorum).await;
    quorum.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_on_a_real_disk_and_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = async || {
        let options = options(directory.path().join("klamm-metadata"));
        RaftQuorum::open(RealDisk, options, SystemClock).await
    };
    let quorum = open().await.unwrap();
    check_quorum(&quorum).await;
    let before = image(&quorum);
    quorum.stop().await;
    drop(quorum);

    let quorum = open().await.unwrap();
    assert_eq!(quorum.leader(), Some(node()), "it leads when it is open");
    assert_eq!(image(&quorum), before);
    let offset = quorum.propose(topic(9)).await.unwrap();
    assert!(offset > before.offset());
    quorum.stop().await;
}

/// A board without a battery may begin its time anywhere.
#[tokio::test]
async fn a_clock_before_1970_is_no_reason_not_to_write() {
    let disk = SimDisk::new(0);
    let clock = SimClock::new();
    clock.jump_unix_ms(-5_000 - clock.unix_ms());
    let open = async || {
        let quorum = RaftQuorum::open(disk.clone(), options(DIRECTORY), clock.clone());
        quorum.await.unwrap()
    };
    for number in 1..4 {
        let quorum = open().await;
        quorum.propose(topic(number)).await.unwrap();
        assert!(image(&quorum).topic(&name(number)).is_some());
        quorum.stop().await;
        clock.jump_unix_ms(-10_000_000_000_000);
    }
}

/// Covers CO-007.
#[tokio::test]
async fn co_007_an_empty_log_begins_with_its_first_records_once() {
    let disk = SimDisk::new(0);
    let quorum = open(&disk).await.unwrap();
    assert_eq!(image(&quorum).feature_level("metadata.version"), 25);
    let before = image(&quorum);
    quorum.stop().await;
    drop(quorum);

    let quorum = open(&disk).await.unwrap();
    assert_eq!(image(&quorum), before, "nothing was written again");
    quorum.stop().await;
}

/// The first entry is durable with the second, and until then the quorum can be begun once more.
#[tokio::test]
async fn co_007_a_new_quorum_costs_three_syncs_and_may_lose_its_first_entry_until_the_next() {
    let open = async |disk: &SimDisk| {
        let options = RaftOptions::new(node(), "a-cluster", DIRECTORY);
        let opened = RaftQuorum::open(disk.clone(), options, SimClock::new()).await;
        opened.unwrap()
    };
    let disk = SimDisk::new(0);
    disk.create_dir_all(Path::new("/data")).unwrap();
    let syncs =
        |disk: &SimDisk| [DiskOperation::Sync, DiskOperation::SyncDir].map(|it| disk.calls(it));
    let before = syncs(&disk);
    let quorum = open(&disk).await;
    // Of the vote; of the directory's name, and the vote's.
    assert_eq!(syncs(&disk), [before[0] + 1, before[1] + 2]);
    let first = quorum.log.last().unwrap();

    let disk = disk.crash(Crash::PowerLossLosingAll);
    let quorum = open(&disk).await;
    assert_eq!(quorum.log.last(), Some(first), "it was made again");
    quorum.propose(topic(1)).await.unwrap();
    let disk = disk.crash(Crash::PowerLossLosingAll);
    let quorum = open(&disk).await;
    assert!(image(&quorum).topic(&name(1)).is_some());
    quorum.stop().await;
}

/// Covers CO-002, B6.1: what was acknowledged is kept, and what was not proposed is not there, whenever
/// the power goes or the process is killed: at every call to the disk in turn, of the first start
/// and of the work after it, with snapshots and without.
#[tokio::test]
async fn co_002_what_was_acknowledged_survives_a_crash_at_any_call() {
    for snapshot_bytes in [u64::MAX, 1] {
        for crash in [
            Crash::PowerLossLosingAll,
            Crash::PowerLoss { seed: 1 },
            Crash::Kill,
        ] {
            let mut call = 0;
            while crash_at(call, snapshot_bytes, crash).await {
                call += 1;
            }
            assert!(call > 30, "{call} calls");
        }
    }
}

/// Says whether the work reached that call.
async fn crash_at(call: u64, snapshot_bytes: u64, crash: Crash) -> bool {
    let disk = SimDisk::new(call);
    disk.inject(Fault::on_any().after(call).cutting_power());
    let acknowledged = work(&disk, snapshot_bytes).await;
    let was_cut = acknowledged < TOPICS;

    let disk = disk.crash(crash);
    let quorum = open_with(&disk, snapshot_bytes).await;
    let quorum = quorum.unwrap_or_else(|error| panic!("cut at {call}, {crash:?}: {error}"));
    let found = image(&quorum);
    for number in 1..=acknowledged {
        let name = name(number);
        assert!(
            found.topic(&name).is_some(),
            "{name}, cut at {call}, {crash:?}"
        );
    }
    let most = acknowledged + u128::from(was_cut);
    assert!(
        found.topic_count() as u128 <= most,
        "more than was proposed"
    );
    assert_eq!(found.feature_level("metadata.version"), 25);
    quorum.propose(topic(99)).await.unwrap();
    assert!(image(&quorum).topic(&name(99)).is_some());
    quorum.stop().await;
    was_cut
}

const TOPICS: u128 = 3;

/// Opens, and proposes topics. Returns how many were acknowledged.
async fn work(disk: &SimDisk, snapshot_bytes: u64) -> u128 {
    let Ok(quorum) = open_with(disk, snapshot_bytes).await else {
        return 0;
    };
    let mut acknowledged = 0;
    while acknowledged < TOPICS && quorum.propose(topic(acknowledged + 1)).await.is_ok() {
        acknowledged += 1;
    }
    disk.cut_power();
    quorum.stop().await;
    acknowledged
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_acknowledged_until_it_is_opened_again() {
    let disk = SimDisk::new(0);
    let quorum = open(&disk).await.unwrap();
    quorum.propose(topic(1)).await.unwrap();
    disk.inject(Fault::on(DiskOperation::Sync));
    for number in 2..5 {
        let refused = quorum.propose(topic(number)).await;
        assert!(
            matches!(
                refused,
                Err(ProposeError::Unsure { .. } | ProposeError::NotLeader { .. })
            ),
            "{refused:?}"
        );
    }
    assert_eq!(image(&quorum).topic_count(), 1);
    quorum.stop().await;
    drop(quorum);

    let quorum = open(&disk.crash(Crash::PowerLossLosingAll)).await.unwrap();
    assert_eq!(image(&quorum).topic_count(), 1);
    quorum.propose(topic(2)).await.unwrap();
    quorum.stop().await;
}

/// Where the log begins, by the names of its segments.
fn log_start(disk: &SimDisk) -> i64 {
    let entries = disk.list(Path::new(DIRECTORY)).unwrap();
    let names = entries.iter().filter_map(|entry| entry.name.to_str());
    let bases = names.filter_map(|name| name.strip_suffix(".log")?.parse::<i64>().ok());
    bases.min().unwrap()
}

/// The first segment of the log.
fn segment() -> PathBuf {
    Path::new(DIRECTORY).join("00000000000000000000.log")
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if holds() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("{what}");
}

/// Covers CO-009, CO-010.
#[tokio::test]
async fn co_010_a_snapshot_is_taken_after_so_many_bytes_and_the_log_is_cut() {
    let disk = SimDisk::new(0);
    let quorum = open_with(&disk, 1000).await.unwrap();
    quorum.propose(topic(1)).await.unwrap();
    let snapshot = Path::new(DIRECTORY).join("snapshot");
    assert!(disk.metadata(&snapshot).is_err(), "it is too early");
    for number in 2..200 {
        quorum.propose(topic(number)).await.unwrap();
    }
    until("a snapshot is taken", || disk.metadata(&snapshot).is_ok()).await;
    until("the log is cut", || log_start(&disk) > 10).await;
    let before = image(&quorum);
    quorum.stop().await;
    drop(quorum);

    let quorum = open_with(&disk, 1000).await.unwrap();
    assert_eq!(image(&quorum), before);
    quorum.propose(topic(200)).await.unwrap();
    let before = image(&quorum);
    assert_eq!(before.topic_count(), 200);
    drop(quorum);
    let quorum = open(&disk.crash(Crash::PowerLossLosingAll)).await.unwrap();
    assert_eq!(image(&quorum), before);
    quorum.stop().await;
}

#[tokio::test]
async fn co_010_a_snapshot_is_taken_after_an_hour() {
    let (disk, clock) = (SimDisk::new(0), SimClock::new());
    let quorum = RaftQuorum::open(disk.clone(), options(DIRECTORY), clock.clone()).await;
    let quorum = quorum.unwrap();
    let snapshot = Path::new(DIRECTORY).join("snapshot");
    clock.advance(Duration::from_mins(59));
    quorum.propose(topic(1)).await.unwrap();
    assert!(disk.metadata(&snapshot).is_err());
    clock.advance(Duration::from_mins(1));
    quorum.propose(topic(2)).await.unwrap();
    until("a snapshot is taken", || disk.metadata(&snapshot).is_ok()).await;
    quorum.stop().await;
}

/// Covers CO-006.
#[tokio::test]
async fn co_006_a_node_that_cannot_replay_stops_and_does_not_start() {
    let disk = SimDisk::new(0);
    let quorum = open(&disk).await.unwrap();
    quorum.propose(topic(1)).await.unwrap();
    let again = Change::new(topic(1)).unwrap();
    // Past the check that keeps such records out.
    assert!(quorum.raft.client_write(again).await.is_err());
    let refused = quorum.propose(topic(2)).await;
    assert!(matches!(
        refused,
        Err(ProposeError::Unsure { .. } | ProposeError::NotLeader { .. })
    ));
    quorum.stop().await;
    drop(quorum);
    let refused = open(&disk.crash(Crash::Kill)).await.err();
    assert!(
        matches!(refused, Some(OpenQuorumError::Replay { .. })),
        "{refused:?}"
    );
}

/// The metadata of one cluster are not those of another.
#[tokio::test]
async fn a_log_of_another_cluster_is_refused() {
    let disk = SimDisk::new(0);
    let directory = Path::new(DIRECTORY);
    assert_eq!(cluster_of(&disk, directory).unwrap(), None);
    let quorum = open(&disk).await.unwrap();
    quorum.stop().await;
    drop(quorum);
    assert_eq!(
        cluster_of(&disk, directory).unwrap().as_deref(),
        Some("a-cluster")
    );
    let other = RaftOptions {
        cluster_id: "another".into(),
        ..options(DIRECTORY)
    };
    let refused = RaftQuorum::open(disk.clone(), other, SimClock::new()).await;
    match refused.err() {
        Some(OpenQuorumError::OtherCluster {
            found, expected, ..
        }) => {
            assert_eq!((&*found, &*expected), ("a-cluster", "another"));
        }
        other => panic!("{other:?}"),
    }
    open(&disk).await.unwrap();
}

/// Covers CO-010: a full disk leaves the log longer, and the node goes on.
#[tokio::test]
async fn co_010_a_snapshot_that_cannot_be_written_is_tried_again_later() {
    let (disk, clock) = (SimDisk::new(0), SimClock::new());
    let options = RaftOptions {
        snapshot_bytes: 1000,
        ..options(DIRECTORY)
    };
    let quorum = RaftQuorum::open(disk.clone(), options, clock.clone())
        .await
        .unwrap();
    let is_snapshot = |path: &Path| path.to_string_lossy().contains("snapshot");
    let full = Fault::on(DiskOperation::Write).where_path(is_snapshot);
    disk.inject(full.failing_with(DiskErrorKind::Full).always());
    for number in 1..100 {
        quorum.propose(topic(number)).await.unwrap();
    }
    disk.clear_faults();
    let snapshot = Path::new(DIRECTORY).join("snapshot");
    quorum.propose(topic(100)).await.unwrap();
    assert!(disk.metadata(&snapshot).is_err(), "it is too early");
    clock.advance(Duration::from_secs(30));
    quorum.propose(topic(101)).await.unwrap();
    until("a snapshot is taken", || disk.metadata(&snapshot).is_ok()).await;
    until("the log is cut", || log_start(&disk) > 10).await;
    assert_eq!(image(&quorum).topic_count(), 101);
    quorum.stop().await;
}

/// Covers CO-010: a disk that is full, or a process without a descriptor, when the log is to be cut
/// behind a snapshot leaves it longer, and the node goes on.
#[tokio::test]
async fn co_010_a_log_that_cannot_be_cut_goes_on_and_is_cut_later() {
    for kind in [DiskErrorKind::Full, DiskErrorKind::TooManyFiles] {
        let disk = SimDisk::new(0);
        let quorum = open_with(&disk, 1000).await.unwrap();
        let path = segment();
        // What is appended to the segment that is open, and the snapshot, find their room.
        let is_other = move |it: &Path| *it != path && !it.to_string_lossy().contains("snapshot");
        let operations = [
            DiskOperation::Open,
            DiskOperation::Write,
            DiskOperation::SetLen,
            DiskOperation::Allocate,
            DiskOperation::Rename,
        ];
        for operation in operations {
            let fault = Fault::on(operation).where_path(is_other.clone());
            disk.inject(fault.failing_with(kind).always());
        }
        for number in 1..100 {
            quorum.propose(topic(number)).await.unwrap();
        }
        let snapshot = Path::new(DIRECTORY).join("snapshot");
        until("a snapshot is taken", || disk.metadata(&snapshot).is_ok()).await;
        assert_eq!(log_start(&disk), 0, "{kind:?}: it could not be cut");
        // A node that stops like this comes up again.
        let killed = disk.crash(Crash::Kill);
        killed.clear_faults();
        let other = open(&killed).await.unwrap();
        assert_eq!(image(&other).topic_count(), 99);
        other.stop().await;

        disk.clear_faults();
        for number in 100..200 {
            quorum.propose(topic(number)).await.unwrap();
        }
        until("the log is cut", || log_start(&disk) > 10).await;
        quorum.stop().await;
        let quorum = open(&disk.crash(Crash::PowerLossLosingAll)).await.unwrap();
        assert_eq!(image(&quorum).topic_count(), 199);
        quorum.stop().await;
    }
}

#[tokio::test]
async fn two_cannot_have_the_directory() {
    let disk = SimDisk::new(0);
    let quorum = open(&disk).await.unwrap();
    let refused = open(&disk).await.err();
    let Some(OpenQuorumError::Disk(error)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error.kind(), DiskErrorKind::Locked);
    quorum.stop().await;
}

#[tokio::test]
async fn a_proposal_that_no_batch_holds_is_refused() {
    let quorum = open(&SimDisk::new(0)).await.unwrap();
    let long = TopicRecord {
        name: "n".repeat(1000).into(),
        ..TopicRecord::default()
    };
    let records = vec![ClusterMetadataRecord::from(long); PROPOSAL_SIZE_MAX / 1000];
    let refused = quorum.propose(records).await;
    assert!(
        matches!(refused, Err(ProposeError::TooLarge { .. })),
        "{refused:?}"
    );
    let large: Vec<_> = (1..100_000).flat_map(topic).collect();
    quorum.propose(large).await.unwrap();
    assert_eq!(image(&quorum).topic_count(), 99_999);
    quorum.stop().await;
}

#[tokio::test]
async fn whoever_stopped_proposes_nothing() {
    let quorum = open(&SimDisk::new(0)).await.unwrap();
    quorum.stop().await;
    assert!(quorum.propose(topic(1)).await.is_err());
}

fn entries() -> Vec<Entry> {
    let membership = Membership::new(
        vec![[node()].into(), [node(), BrokerId::new(300)].into()],
        std::collections::BTreeMap::from([(BrokerId::new(300), openraft::BasicNode::new("b:9"))]),
    );
    let payloads = [
        openraft::EntryPayload::Blank,
        openraft::EntryPayload::Membership(membership),
        openraft::EntryPayload::Normal(Change::new(topic(7)).unwrap()),
    ];
    let log_id = entry::log_id(5, node(), 9).unwrap();
    payloads
        .into_iter()
        .map(|payload| Entry { log_id, payload })
        .collect()
}

fn decoded(bytes: Vec<u8>) -> Result<Entry, entry::EntryError> {
    entry::decode(Offset::new(9), 5.into(), bytes.into())
}

#[test]
fn an_entry_is_read_as_it_was_written_and_no_prefix_of_it_panics() {
    for entry in entries() {
        let bytes = entry::encode(&entry);
        let read = decoded(bytes.clone()).unwrap();
        assert_eq!(entry::encode(&read), bytes);
        assert_eq!(read.log_id, entry.log_id);
        for len in 0..bytes.len() {
            if let Ok(read) = decoded(bytes[..len].to_vec()) {
                assert_eq!(
                    entry::encode(&read),
                    bytes[..len],
                    "a change without records"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_decoders_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        kind in 0..3_u8,
    ) {
        _ = decoded(bytes.clone());
        _ = decoded([&[1, kind], &bytes[..]].concat());
        let mut file = b"KLAMMSNP".to_vec();
        file.extend_from_slice(&klamm_records::crc32c(&bytes).to_be_bytes());
        file.extend_from_slice(&bytes);
        _ = snapshot::Snapshot::decode(&file.into(), &"a-cluster".into());
        _ = snapshot::Snapshot::decode(&bytes.into(), &"a-cluster".into());
    }
}
