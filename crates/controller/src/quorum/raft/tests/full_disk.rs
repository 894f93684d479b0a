//! A disk without room, and a process without descriptors: what is refused, and that the node goes on.

use klamm_io::sim::SimFile;
use klamm_io::{DiskFile, OpenMode};
use klamm_primitives::BrokerEpoch;
use klamm_wire::metadata::broker_registration_change::BrokerRegistrationChangeRecord;
use klamm_wire::metadata::register_broker::RegisterBrokerRecord;
use klamm_wire::metadata::topic::RemoveTopicRecord;

use super::*;

const CAPACITY: u64 = 8 << 20;

fn removal(number: u128) -> Vec<ClusterMetadataRecord> {
    let record = RemoveTopicRecord {
        topic_id: Uuid::from_u128(number << 64 | 1),
        ..RemoveTopicRecord::default()
    };
    vec![record.into()]
}

/// Somebody else takes all the room that is left.
fn fill(disk: &SimDisk) -> SimFile {
    let filling = disk.open(Path::new("/data/filling"), OpenMode::OpenOrCreate);
    let filling = filling.unwrap();
    take_rest(disk, &filling);
    filling
}

fn take_rest(disk: &SimDisk, filling: &SimFile) {
    let free = disk.space(Path::new("/data")).unwrap().available_bytes;
    let len = filling.metadata().unwrap().len;
    filling.allocate(len + free).unwrap();
}

async fn is_refused_for_room(quorum: &SimNode, records: Vec<ClusterMetadataRecord>) -> bool {
    match quorum.propose(records).await {
        Ok(_) => false,
        Err(ProposeError::NoRoom { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

/// A full disk refuses what adds, lets in what takes away, and loses nothing.
#[tokio::test]
async fn a_full_disk_refuses_changes_and_the_node_goes_on() {
    let disk = SimDisk::new(0);
    disk.set_capacity(Some(CAPACITY));
    let quorum = open(&disk).await.unwrap();
    for number in 1..=100 {
        quorum.propose(topic(number)).await.unwrap();
    }
    let filling = fill(&disk);
    let before = image(&quorum);
    for number in 101..110 {
        assert!(is_refused_for_room(&quorum, topic(number)).await);
    }
    assert_eq!(image(&quorum), before, "it serves what it had");
    for number in 1..=90 {
        quorum.propose(removal(number)).await.unwrap();
        // Whoever else writes takes what was freed.
        take_rest(&disk, &filling);
    }
    assert!(is_refused_for_room(&quorum, topic(101)).await);
    assert_eq!(image(&quorum).topic_count(), 10);

    filling.set_len(0).unwrap();
    quorum.propose(topic(101)).await.unwrap();
    let after = image(&quorum);
    quorum.stop().await;
    drop(quorum);
    let quorum = open(&disk.crash(Crash::PowerLossLosingAll)).await.unwrap();
    assert_eq!(image(&quorum), after);
    quorum.stop().await;
}

/// A node that was killed, or stopped, on a full disk comes up on it, and has the broker registered.
#[tokio::test]
async fn a_node_starts_on_a_full_disk() {
    for is_clean in [true, false] {
        let disk = SimDisk::new(0);
        disk.set_capacity(Some(CAPACITY));
        let quorum = open(&disk).await.unwrap();
        for number in 1..=20 {
            quorum.propose(topic(number)).await.unwrap();
        }
        let filling = fill(&disk);
        if is_clean {
            quorum.stop().await;
        }
        drop(quorum);
        let mut disk = disk;
        let directory = Path::new(DIRECTORY);
        for start in 1..10_i32 {
            if !is_clean {
                // What a write that was cut off has left behind.
                let end = klamm_io::read_whole(&disk, &segment(), 1 << 20).unwrap();
                let file = disk.open(&segment(), OpenMode::ReadWrite).unwrap();
                file.write_all_at(b"torn", end.len() as u64).unwrap();
                drop(file);
                disk = disk.crash(Crash::Kill);
                assert_eq!(disk.space(directory).unwrap().available_bytes, 0);
            }
            let quorum = open(&disk).await.unwrap();
            assert_eq!(image(&quorum).topic_count(), 20);
            let registered = RegisterBrokerRecord {
                broker_id: node(),
                broker_epoch: BrokerEpoch::NONE,
                incarnation_id: Uuid::from_u128(start.unsigned_abs().into()),
                fenced: true,
                ..RegisterBrokerRecord::default()
            };
            let epoch = quorum.propose(vec![registered.into()]).await.unwrap();
            let let_in = BrokerRegistrationChangeRecord {
                broker_id: node(),
                broker_epoch: epoch.get().into(),
                fenced: -1,
                ..BrokerRegistrationChangeRecord::default()
            };
            quorum.propose(vec![let_in.into()]).await.unwrap();
            assert!(is_refused_for_room(&quorum, topic(21)).await);
            if is_clean {
                quorum.stop().await;
            }
            drop(quorum);
            let free = disk.space(directory).unwrap().available_bytes;
            if free > 0 {
                let filling = disk.open(Path::new("/data/filling"), OpenMode::ReadWrite);
                take_rest(&disk, &filling.unwrap());
            }
        }
        drop(filling);
    }
}

/// Once the reserve is used up every change is refused, and the node goes on still.
#[tokio::test]
async fn a_reserve_that_is_used_up_refuses_the_rest() {
    let disk = SimDisk::new(0);
    disk.set_capacity(Some(CAPACITY));
    let quorum = open(&disk).await.unwrap();
    let name = "n".repeat(30_000);
    let long = |number: u128| TopicRecord {
        name: format!("{number}-{name}").into(),
        topic_id: Uuid::from_u128(number << 64 | 1),
        ..TopicRecord::default()
    };
    for number in 1..=10 {
        quorum.propose(vec![long(number).into()]).await.unwrap();
    }
    let filling = fill(&disk);
    let mut count = 0_u128;
    loop {
        let made = RegisterBrokerRecord {
            broker_id: node(),
            rack: Some(name.clone().into()),
            incarnation_id: Uuid::from_u128(count),
            ..RegisterBrokerRecord::default()
        };
        if is_refused_for_room(&quorum, vec![made.into()]).await {
            break;
        }
        take_rest(&disk, &filling);
        count += 1;
        assert!(count < 100, "the reserve has an end");
    }
    assert!(count > 20, "{count} of 30 000 bytes went into the reserve");
    let before = image(&quorum);
    assert!(is_refused_for_room(&quorum, vec![long(11).into()]).await);
    let (after, stopped) = (disk.crash(Crash::Kill), quorum.stop());
    stopped.await;
    let quorum = open(&after).await.unwrap();
    assert_eq!(image(&quorum), before);
    quorum.stop().await;
}

/// The room may go between the look at it and the write, and come back in part.
#[tokio::test]
async fn a_write_that_finds_no_room_after_all_goes_into_the_reserve() {
    for kind in [DiskErrorKind::Full, DiskErrorKind::TooManyFiles] {
        let disk = SimDisk::new(0);
        let quorum = open(&disk).await.unwrap();
        quorum.propose(topic(1)).await.unwrap();
        for number in 2..20 {
            let path = segment();
            let fault = Fault::on(DiskOperation::Write).where_path(move |it| *it == path);
            disk.inject(fault.failing_with(kind).stopping_after_bytes(7));
            quorum.propose(topic(number)).await.unwrap();
        }
        let before = image(&quorum);
        assert_eq!(before.topic_count(), 19);
        quorum.stop().await;
        let quorum = open(&disk.crash(Crash::PowerLossLosingAll)).await.unwrap();
        assert_eq!(image(&quorum), before);
        quorum.stop().await;
    }
}

/// What cannot be a reserve keeps nobody from making topics while there is room, and a full disk from
/// ending the node no less.
#[tokio::test]
async fn something_else_in_the_place_of_the_reserve_is_gone_on_with() {
    let disk = SimDisk::new(0);
    disk.set_capacity(Some(CAPACITY));
    let in_the_way = Path::new(DIRECTORY).join("reserve");
    disk.create_dir_all(&in_the_way).unwrap();
    let quorum = open(&disk).await.unwrap();
    for number in 1..=10 {
        quorum.propose(topic(number)).await.unwrap();
    }
    let filling = fill(&disk);
    assert!(is_refused_for_room(&quorum, topic(11)).await);
    assert!(is_refused_for_room(&quorum, removal(1)).await);
    filling.set_len(CAPACITY / 2).unwrap();
    quorum.propose(removal(1)).await.unwrap();

    disk.remove_dir(&in_the_way).unwrap();
    quorum.propose(topic(11)).await.unwrap();
    let kept = disk.open(&in_the_way, OpenMode::Read).unwrap();
    assert!(kept.metadata().unwrap().len > 0, "it is made anew");
    assert_eq!(image(&quorum).topic_count(), 10);
    quorum.stop().await;
}
