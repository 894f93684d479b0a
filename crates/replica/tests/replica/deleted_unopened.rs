//! Topics that are deleted while a log of theirs could not be opened, and their namesakes.

use std::path::Path;

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
