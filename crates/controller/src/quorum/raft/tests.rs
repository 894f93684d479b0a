//! The quorum of one on a disk: what it survives.

use klamm_io::sim::{Crash, Fault, SimClock, SimDisk};
use klamm_io::{RealDisk, SystemClock};
use klamm_primitives::Uuid;
use klamm_wire::metadata::feature_level::FeatureLevelRecord;
use klamm_wire::metadata::topic::TopicRecord;

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

async fn open(disk: &SimDisk) -> Result<SimNode, OpenQuorumError> {
    RaftQuorum::open(
        disk.clone(),
        options("/data/klamm-metadata"),
        SimClock::new(),
    )
    .await
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

/// Covers CO-002: what was acknowledged is kept, and what was not proposed is not there, whenever
/// the power goes or the process is killed: at every call to the disk in turn, of the first start
/// and of the work after it.
#[tokio::test]
async fn co_002_what_was_acknowledged_survives_a_crash_at_any_call() {
    for crash in [
        Crash::PowerLossLosingAll,
        Crash::PowerLoss { seed: 1 },
        Crash::Kill,
    ] {
        let mut call = 0;
        while crash_at(call, crash).await {
            call += 1;
        }
        assert!(call > 30, "{call} calls");
    }
}

/// Says whether the work reached that call.
async fn crash_at(call: u64, crash: Crash) -> bool {
    let disk = SimDisk::new(call);
    disk.inject(Fault::on_any().after(call).cutting_power());
    let acknowledged = work(&disk).await;
    let was_cut = acknowledged < 3;

    let disk = disk.crash(crash);
    let quorum = open(&disk).await;
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

/// Opens, and proposes three topics. Returns how many were acknowledged.
async fn work(disk: &SimDisk) -> u128 {
    let Ok(quorum) = open(disk).await else {
        return 0;
    };
    let mut acknowledged = 0;
    while acknowledged < 3 && quorum.propose(topic(acknowledged + 1)).await.is_ok() {
        acknowledged += 1;
    }
    disk.cut_power();
    quorum.stop().await;
    acknowledged
}
