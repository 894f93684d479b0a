//! Topics that are deleted while a log of theirs could not be opened, and their namesakes.

use std::path::Path;
use std::time::Duration;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk as _, DiskErrorKind, DiskFile as _, DiskOperation, OpenMode};
use klamm_primitives::TopicId;
use klamm_replica::PartitionRole;
use klamm_wire::metadata::ClusterMetadataRecord;
use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};

use crate::support::{Bed, Placed, partition, records};

/// The id of the topic `a` that [`left_behind`] leaves: not the first one that a bed gives out.
struct Left {
    disk: SimDisk,
    id: TopicId,
}

/// Why a log cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhyNot {
    /// There is no descriptor. It waits for one.
    Descriptors,
    /// What was durable is not there. It is not opened before the next start.
    Damage,
}

/// A disk with a log of `a-0` that cannot be opened.
fn left_behind(why_not: WhyNot) -> Left {
    let bed = Bed::new();
    bed.place("first-0", &Placed::on(&[1]));
    bed.place("a-0", &Placed::on(&[1]));
    bed.fill("a-0", 3);
    let log = bed.logs.get(&partition("a-0")).unwrap();
    log.lock().flush().unwrap();
    bed.logs.checkpoint_all();
    let (disk, id) = (bed.disk.crash(Crash::Kill), bed.topic_id("a"));
    let segment = Path::new("/data/a-0/00000000000000000000.log");
    match why_not {
        WhyNot::Descriptors => {
            let fault = Fault::on(DiskOperation::Open).where_path(move |it| it == segment);
            let none_left = fault.failing_with(DiskErrorKind::TooManyFiles);
            disk.inject(none_left.always());
        }
        WhyNot::Damage => {
            let file = disk.open(segment, OpenMode::ReadWrite).unwrap();
            file.set_len(0).unwrap();
        }
    }
    Left { disk, id }
}

fn topic(id: TopicId) -> ClusterMetadataRecord {
    let topic = TopicRecord {
        name: "a".into(),
        topic_id: id,
        ..TopicRecord::default()
    };
    topic.into()
}

fn removal(id: TopicId) -> ClusterMetadataRecord {
    let removal = RemoveTopicRecord {
        topic_id: id,
        ..RemoveTopicRecord::default()
    };
    removal.into()
}

/// Covers RE-012: what could not be opened is deleted with its topic, and its name is free.
#[test]
fn re_012_a_topic_that_is_made_anew_begins_although_its_forerunner_was_never_opened() {
    for why_not in [WhyNot::Descriptors, WhyNot::Damage] {
        let left = left_behind(why_not);
        let bed = Bed::on(left.disk, &["/data"]);
        bed.apply(&[topic(left.id)]);
        bed.place("a-0", &Placed::on(&[1]));
        assert_eq!(bed.status("a-0").role, PartitionRole::Offline);
        bed.delete_topic("a");
        bed.disk.clear_faults();
        let (applied, _) = bed.place("a-0", &Placed::on(&[1]));
        assert!(applied.not_taken.is_empty(), "{:?}", applied.not_taken);
        assert_ne!(bed.topic_id("a"), left.id);
        assert!(bed.append_one(1, "a-0", records(1)).is_ok());
        assert_eq!(bed.read("a-0", 0), [0], "nothing is left of the former");
    }
}

/// Covers RE-012, RE-019: the broker was stopped between the deletion and the new topic, so that
/// only the log's id tells that it is to go. One that the cluster never heard of stays.
#[test]
fn re_012_a_left_over_that_is_opened_late_gives_its_name_up() {
    for why_not in [WhyNot::Descriptors, WhyNot::Damage] {
        for was_deleted in [true, false] {
            let left = left_behind(why_not);
            let bed = Bed::on(left.disk, &["/data"]);
            if was_deleted {
                bed.apply(&[topic(left.id), removal(left.id)]);
            }
            bed.disk.clear_faults();
            bed.place("a-0", &Placed::on(&[1]));
            assert_ne!(bed.topic_id("a"), left.id);
            assert_eq!(bed.append_one(1, "a-0", records(1)).is_ok(), was_deleted);
        }
    }
}

fn write(disk: &SimDisk, path: &str, text: &str) {
    let file = disk.open(Path::new(path), OpenMode::CreateOrTruncate);
    file.unwrap().write_all_at(text.as_bytes(), 0).unwrap();
}

/// The names of the partition `a-0` that wait to be removed.
fn deleted_ones(disk: &SimDisk) -> Vec<String> {
    let names = disk.list(Path::new("/data")).unwrap().into_iter();
    let names = names.map(|it| it.name.into_string().unwrap());
    names
        .filter(|it| it.starts_with("a-0.") && it.ends_with("-delete"))
        .collect()
}

/// Covers RE-012: files that do not say whose they are go with the topic whose they were by their
/// name, and are kept for as long as others.
#[test]
fn re_012_a_log_that_does_not_say_whose_it_is_goes_with_its_topic() {
    let file = "/data/a-0/partition.metadata";
    for damage in [None, Some(""), Some("version: 0\ntopic_id: AAECAwQFBgcI")] {
        let left = left_behind(WhyNot::Damage);
        match damage {
            None => left.disk.remove_file(Path::new(file)).unwrap(),
            Some(text) => write(&left.disk, file, text),
        }
        let bed = Bed::on(left.disk, &["/data"]);
        bed.apply(&[topic(left.id)]);
        bed.place("a-0", &Placed::on(&[1]));
        assert_eq!(bed.status("a-0").role, PartitionRole::Offline);
        bed.delete_topic("a");
        let deleted = deleted_ones(&bed.disk);
        assert_eq!(deleted.len(), 1, "{deleted:?}");
        let (applied, _) = bed.place("a-0", &Placed::on(&[1]));
        assert!(applied.not_taken.is_empty(), "{:?}", applied.not_taken);
        assert!(bed.append_one(1, "a-0", records(1)).is_ok());
        assert_eq!(bed.read("a-0", 0), [0], "nothing is left of the former");

        let kept = format!("/data/{}/00000000000000000000.log", deleted[0]);
        let mut now = bed.now();
        bed.logs.run_due(now);
        assert!(bed.disk.metadata(Path::new(&kept)).is_ok());
        now.instant += Duration::from_mins(1);
        bed.logs.run_due(now);
        assert!(bed.disk.metadata(Path::new(&kept)).is_err());
    }
}

/// Covers RE-012: files of another id are somebody else's, and are not touched.
#[test]
fn a_log_of_another_topic_does_not_go_with_its_namesake() {
    let left = left_behind(WhyNot::Damage);
    let file = "/data/a-0/partition.metadata";
    let stranger = TopicId::from_u128(77);
    write(
        &left.disk,
        file,
        &format!("version: 0\ntopic_id: {stranger}"),
    );
    let bed = Bed::on(left.disk, &["/data"]);
    bed.apply(&[topic(left.id)]);
    bed.place("a-0", &Placed::on(&[1]));
    bed.delete_topic("a");
    bed.place("a-0", &Placed::on(&[1]));
    assert!(bed.append_one(1, "a-0", records(1)).is_err());
    assert!(deleted_ones(&bed.disk).is_empty());
}

/// Covers RE-012, RE-015: a directory that is offline keeps the files of a deleted topic, and not its
/// name. Those of a replica that has only moved away keep it, for it may move back.
#[test]
fn re_012_a_topic_that_is_made_anew_begins_although_its_forerunner_is_in_a_directory_offline() {
    for is_deleted in [true, false] {
        let bed = Bed::on(SimDisk::new(0), &["/one", "/two"]);
        bed.place("a-0", &Placed::on(&[1]));
        bed.fill("a-0", 3);
        let log = bed.logs.get(&partition("a-0")).unwrap();
        assert_eq!(log.log_directory(), Path::new("/one"));
        bed.logs
            .report_failure(&log, std::io::Error::other("a test"));
        if is_deleted {
            bed.delete_topic("a");
        } else {
            bed.place("a-0", &Placed::on(&[2]));
        }
        let (applied, _) = bed.place("a-0", &Placed::on(&[1]));
        assert_eq!(applied.not_taken.is_empty(), is_deleted);
        assert_eq!(bed.append_one(1, "a-0", records(1)).is_ok(), is_deleted);
        if is_deleted {
            assert_eq!(bed.read("a-0", 0), [0], "nothing is left of the former");
        }
    }
}
