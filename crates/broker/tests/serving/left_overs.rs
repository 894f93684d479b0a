//! Partitions' directories that are not, or no longer, where they should be.

use std::path::Path;

use klamm_broker::StartError;
use klamm_primitives::TopicId;
use klamm_wire::ErrorCode;
use klamm_wire::messages::delete_topics::DeleteTopicsRequest;

use crate::broker::{TestBroker, batch, create_topic, fetch, produce, values};
use crate::wire_client::WireClient;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn delete_topic(client: &mut WireClient, name: &'static str) {
    let request = DeleteTopicsRequest {
        topic_names: vec![name.into()],
        timeout_ms: 10_000,
        ..DeleteTopicsRequest::default()
    };
    let answer = client.call(&request, 5).unwrap();
    assert_eq!(answer.responses[0].error_code, ErrorCode::NONE);
}

fn make_and_delete(directory: &Path, settings: &[&str]) -> TopicId {
    let (live, kept) = (directory.join("t-0"), directory.with_extension("kept"));
    let broker = TestBroker::start_in(directory, settings).unwrap();
    let mut client = broker.connect();
    let id = create_topic(&mut client, "t", 1, &[]);
    assert!(
        produce(&mut client, "t", 0, -1, batch(&["a"]))
            .error_code
            .is_none()
    );
    copy(&live, &kept);
    delete_topic(&mut client, "t");
    drop(broker);
    // As if the process had been killed between the two.
    assert!(!live.exists());
    std::fs::rename(&kept, &live).unwrap();
    id
}

/// Covers RE-019: what is left of a topic that was deleted goes, and its name can be used again.
#[test]
fn re_019_a_deletion_that_was_cut_short_is_finished_by_the_next_start() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    std::fs::create_dir(&directory).unwrap();
    // With a snapshot at once, and with the log alone.
    for settings in [
        &["metadata.log.max.record.bytes.between.snapshots=1"][..],
        &[],
    ] {
        let id = make_and_delete(&directory, settings);
        let broker = TestBroker::start_in(&directory, settings).unwrap();
        assert!(
            !directory.join("t-0").exists(),
            "it waits under another name"
        );
        let mut client = broker.connect();
        let gone = fetch(&mut client, "t", 0, 0);
        assert_eq!(gone.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_ne!(create_topic(&mut client, "t", 1, &[]), id);
        let answer = produce(&mut client, "t", 0, -1, batch(&["b"]));
        assert_eq!(
            (answer.error_code, answer.base_offset.get()),
            (ErrorCode::NONE, 0)
        );
        let found = values(&fetch(&mut client, "t", 0, 0));
        assert_eq!(found, [(0, "b".to_owned())]);
        delete_topic(&mut client, "t");
    }
}

/// Covers RE-019: also where the name has gone to another topic meanwhile.
#[test]
fn re_019_a_deleted_topic_is_told_from_its_successor() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    std::fs::create_dir(&directory).unwrap();
    make_and_delete(&directory, &[]);
    std::fs::rename(directory.join("t-0"), parent.path().join("old")).unwrap();
    let broker = TestBroker::start_in(&directory, &[]).unwrap();
    create_topic(&mut broker.connect(), "t", 1, &[]);
    drop(broker);
    std::fs::remove_dir_all(directory.join("t-0")).unwrap();
    std::fs::rename(parent.path().join("old"), directory.join("t-0")).unwrap();

    let broker = TestBroker::start_in(&directory, &[]).unwrap();
    let found = fetch(&mut broker.connect(), "t", 0, 0);
    assert_eq!(found.error_code, ErrorCode::NONE);
    assert!(values(&found).is_empty(), "the new topic is empty");
}

/// Covers RE-019: what the cluster does not know it neither serves nor touches.
#[test]
fn re_019_a_partition_that_nobody_knows_refuses_the_start_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let broker = TestBroker::start_in(directory.path(), &[]).unwrap();
    let mut client = broker.connect();
    create_topic(&mut client, "t", 1, &[]);
    drop(broker);
    let live = directory.path().join("t-0");
    for stranger in ["t-7", "u-0"] {
        let stranger_path = directory.path().join(stranger);
        copy(&live, &stranger_path);
        let Err(error) = TestBroker::start_in(directory.path(), &[]) else {
            panic!("{stranger} is taken in");
        };
        assert!(matches!(error, StartError::ForeignLogs { .. }), "{error}");
        assert!(error.to_string().contains(stranger), "{error}");
        assert!(stranger_path.is_dir(), "it is left as it is");
        std::fs::remove_dir_all(&stranger_path).unwrap();
        TestBroker::start_in(directory.path(), &[]).unwrap();
    }
}

/// Covers RE-019: a topic's id that nobody ever heard of, under a name that is placed here, costs its
/// partition alone, whose files are left as they are.
#[test]
fn re_019_a_topic_id_that_went_bad_takes_one_partition_offline() {
    let directory = tempfile::tempdir().unwrap();
    let broker = TestBroker::start_in(directory.path(), &[]).unwrap();
    let mut client = broker.connect();
    for name in ["bad", "good"] {
        create_topic(&mut client, name, 1, &[]);
        let answer = produce(&mut client, name, 0, -1, batch(&["a"]));
        assert_eq!(answer.error_code, ErrorCode::NONE);
    }
    drop(broker);
    let path = directory.path().join("bad-0/partition.metadata");
    let right = std::fs::read_to_string(&path).unwrap();
    let wrong = format!("version: 0\ntopic_id: {}", TopicId::from_u128(7));
    std::fs::write(&path, &wrong).unwrap();

    for _ in 0..2 {
        let broker = TestBroker::start_in(directory.path(), &[]).unwrap();
        let mut client = broker.connect();
        for _ in 0..2 {
            let answer = produce(&mut client, "bad", 0, -1, batch(&["b"]));
            assert_eq!(answer.error_code, ErrorCode::KAFKA_STORAGE_ERROR);
        }
        let answer = produce(&mut client, "good", 0, -1, batch(&["b"]));
        assert_eq!(answer.error_code, ErrorCode::NONE);
        drop(broker);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
    }
    std::fs::write(&path, right).unwrap();
    let broker = TestBroker::start_in(directory.path(), &[]).unwrap();
    let found = values(&fetch(&mut broker.connect(), "bad", 0, 0));
    assert_eq!(found, [(0, "a".to_owned())]);
}

/// Covers RE-015: a partition that could not be made comes by itself once it can.
#[test]
fn re_015_what_was_in_a_partitions_way_need_only_go() {
    let directory = tempfile::tempdir().unwrap();
    let broker = TestBroker::start_in(directory.path(), &[]).unwrap();
    let in_the_way = directory.path().join("t-0");
    std::fs::create_dir(&in_the_way).unwrap();
    let mut client = broker.connect();
    // The controller has made the topic, and says so.
    create_topic(&mut client, "t", 1, &[]);
    let offline = produce(&mut client, "t", 0, -1, batch(&["a"]));
    assert_eq!(offline.error_code, ErrorCode::KAFKA_STORAGE_ERROR);
    std::fs::remove_dir(&in_the_way).unwrap();
    broker.until("the partition is served", || {
        let answer = produce(&mut client, "t", 0, -1, batch(&["a"]));
        answer.error_code.is_none()
    });
}

#[test]
fn the_metadata_log_names_the_cluster_and_that_of_another_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| parent.path().join(name));
    for directory in [&one, &two] {
        std::fs::create_dir(directory).unwrap();
        drop(TestBroker::start_in(directory, &[]).unwrap());
    }
    let metadata = "klamm-metadata";
    std::fs::rename(one.join(metadata), parent.path().join(metadata)).unwrap();
    std::fs::rename(two.join(metadata), one.join(metadata)).unwrap();
    let Err(error) = TestBroker::start_in(&one, &[]) else {
        panic!("metadata of another cluster");
    };
    assert!(matches!(error, StartError::TwoClusters { .. }), "{error}");
    assert!(error.to_string().contains(metadata), "{error}");
    std::fs::rename(one.join(metadata), two.join(metadata)).unwrap();
    std::fs::rename(parent.path().join(metadata), one.join(metadata)).unwrap();
    drop(TestBroker::start_in(&one, &[]).unwrap());
}
