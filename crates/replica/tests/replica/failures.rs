//! Disks that refuse.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_io::{Disk as _, DiskErrorKind, DiskOperation};
use klamm_log::Isolation;
use klamm_primitives::Uuid;
use klamm_records::Codecs;
use klamm_replica::{
    AppendError, FetchError, Fetcher, NotServed, NotTaken, OffsetError, OffsetQuery, OffsetTarget,
    PartitionRole, ReplicaOptions,
};
use klamm_wire::metadata::topic::TopicRecord;

use crate::support::{
    Bed, LOCAL, Placed, broker, partition, produced, records, secs, sized, wanted,
};

fn of_logs(operation: DiskOperation) -> Fault {
    Fault::on(operation).where_path(|path| path.extension().is_some_and(|it| it == "log"))
}

#[test]
fn a_write_that_fails_takes_the_directory_offline_and_wakes_who_waits_there() {
    let bed = Bed::on(SimDisk::new(0), &["/one", "/two"]);
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[1]));
    bed.place("c-0", &Placed::on(&[1, 2]));
    let directory = |name: &str| {
        let log = bed.logs.get(&partition(name)).unwrap();
        log.log_directory().to_owned()
    };
    assert_eq!(directory("a-0"), directory("c-0"));
    assert_ne!(directory("a-0"), directory("b-0"));
    assert!(bed.produce(-1, &[("c-0", records(1))], 7).0.is_none());

    bed.disk
        .inject(of_logs(DiskOperation::Write).under(directory("a-0")));
    let refused = bed.append_one(1, "a-0", records(1));
    assert!(matches!(refused, Err(AppendError::Log(_))));
    let (ticket, results) = produced(bed.take_events());
    assert_eq!(ticket, 7);
    assert!(matches!(
        results[0],
        Err(AppendError::NotServed(NotServed::Offline))
    ));
    for name in ["a-0", "c-0"] {
        assert_eq!(bed.status(name).role, PartitionRole::Offline);
        let refused = bed.append_one(1, name, records(1));
        assert!(matches!(
            refused,
            Err(AppendError::NotServed(NotServed::Offline))
        ));
    }
    assert!(bed.append_one(1, "b-0", records(1)).is_ok());
}

#[test]
fn a_full_disk_refuses_the_append_and_nothing_else() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.fill("a-0", 2);
    bed.disk
        .inject(of_logs(DiskOperation::Write).failing_with(DiskErrorKind::Full));
    let refused = bed.append_one(1, "a-0", records(1));
    assert!(matches!(refused, Err(AppendError::Log(_))));
    assert_eq!(bed.read("a-0", 0), [0, 1]);
    assert!(bed.append_one(1, "a-0", records(1)).is_ok());
    assert_eq!(bed.read("a-0", 0), [0, 1, 2]);
}

/// The client tries again, and nothing else has happened.
#[test]
fn want_of_descriptors_refuses_the_request_and_nothing_else() {
    let bed = Bed::new();
    bed.set("a", |it| it.log.segment_bytes = 20_000);
    bed.place("a-0", &Placed::on(&[1]));
    bed.append_one(1, "a-0", sized(9000)).unwrap();
    bed.append_one(1, "a-0", sized(9000)).unwrap();
    let used_up = Fault::on(DiskOperation::Open).failing_with(DiskErrorKind::TooManyFiles);
    bed.disk.inject(used_up.always());
    // The segment is full, and the next one cannot be made.
    let refused = bed.append_one(1, "a-0", sized(9000));
    assert!(matches!(refused, Err(AppendError::Log(_))), "{refused:?}");
    assert!(matches!(
        bed.status("a-0").role,
        PartitionRole::Leader { .. }
    ));
    assert_eq!(bed.read("a-0", 0), [0, 1]);
    bed.disk.clear_faults();
    assert!(bed.append_one(1, "a-0", sized(9000)).is_ok());
    assert_eq!(bed.read("a-0", 2), [2]);
}

#[test]
fn an_offset_that_the_disk_does_not_tell_takes_the_directory_offline() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.append_one(1, "a-0", sized(9000)).unwrap();
    let query = OffsetQuery {
        target: OffsetTarget::AtOrAfter(1),
        isolation: Isolation::HighWatermark,
        current_leader_epoch: None,
        from_any_replica: false,
    };
    let ask = || {
        let mut codecs = Codecs::default();
        bed.manager
            .list_offsets(&partition("a-0"), &query, &mut codecs)
    };
    bed.disk
        .inject(of_logs(DiskOperation::Read).failing_with(DiskErrorKind::NoMemory));
    assert!(matches!(ask(), Err(OffsetError::Read(_))));
    assert!(ask().unwrap().is_some());
    bed.disk.inject(of_logs(DiskOperation::Read));
    assert!(matches!(ask(), Err(OffsetError::Read(_))));
    assert!(bed.logs.has_offline_directory());
    bed.take_events();
    assert_eq!(bed.status("a-0").role, PartitionRole::Offline);
}

#[test]
fn a_read_that_the_disk_refuses_takes_the_directory_offline() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.append_one(1, "a-0", sized(9000)).unwrap();
    bed.append_one(1, "a-0", sized(9000)).unwrap();
    bed.disk.inject(of_logs(DiskOperation::Read).always());
    let refused = bed.fetch_one(Fetcher::Consumer, wanted("a-0", 1));
    assert!(matches!(refused, Err(FetchError::Read(_))));
    assert_eq!(bed.status("a-0").role, PartitionRole::Offline);
}

#[test]
fn re_015_a_log_that_cannot_be_made_leaves_its_partition_offline_and_no_other() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let full = Fault::on(DiskOperation::CreateDir).failing_with(DiskErrorKind::Full);
    bed.disk.inject(full);
    let (applied, _) = bed.place("b-0", &Placed::on(&[1]));
    assert!(matches!(applied.not_taken[0].1, NotTaken::Create(_)));
    assert_eq!(bed.status("b-0").role, PartitionRole::Offline);
    assert!(bed.append_one(1, "a-0", records(1)).is_ok());
    // It comes with the next change of its metadata.
    bed.place("b-0", &Placed::on(&[1]).in_epoch(2));
    assert!(bed.append_one(1, "b-0", records(1)).is_ok());
}

/// The log may be in the directory that is missing, so nothing may begin in its place, empty.
#[test]
fn while_a_directory_is_missing_only_what_is_new_gets_a_log() {
    let options = ReplicaOptions {
        has_lost_directory: true,
        ..ReplicaOptions::new(broker(LOCAL))
    };
    let bed = Bed::with(&options, SimDisk::new(0), &["/data"]);
    bed.place("new-0", &Placed::on(&[1]).version(0));
    assert!(bed.append_one(1, "new-0", records(1)).is_ok());
    let (applied, _) = bed.place("led-before-0", &Placed::on(&[1]).version(3));
    assert!(matches!(applied.not_taken[0].1, NotTaken::LogLost));
    assert_eq!(bed.status("led-before-0").role, PartitionRole::Offline);
    // What is there goes on.
    bed.place("new-0", &Placed::on(&[1]).in_epoch(2).version(1));
    assert!(bed.append_one(1, "new-0", records(1)).is_ok());
}

#[test]
fn a_log_that_has_failed_leaves_its_partition_offline() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let log = bed.logs.get(&partition("a-0")).unwrap();
    log.lock().close().unwrap();
    let (applied, _) = bed.place("a-0", &Placed::on(&[1]).in_epoch(2));
    assert!(matches!(applied.not_taken[0].1, NotTaken::Begin(_)));
    let refused = bed.append_one(1, "a-0", records(1));
    assert!(matches!(
        refused,
        Err(AppendError::NotServed(NotServed::Offline))
    ));
}

/// Covers RE-015: as soon as the disk has room again the partition is there, without anybody asking.
#[test]
fn re_015_a_partition_that_had_no_room_comes_when_there_is_some() {
    let bed = Bed::new();
    let full = || Fault::on(DiskOperation::CreateDir).failing_with(DiskErrorKind::Full);
    bed.disk.inject(full().always());
    assert_eq!(bed.manager.next_retry(), None);
    let (applied, _) = bed.place("a-0", &Placed::on(&[1]));
    assert!(matches!(applied.not_taken[0].1, NotTaken::Create(_)));
    let retry = || {
        let (applied, then) = bed.manager.retry(bed.now());
        assert!(bed.follow_up(then).is_empty());
        (applied.led.len(), applied.not_taken.len())
    };
    // Not before it is time, and then less often.
    assert_eq!(bed.manager.next_retry(), Some(bed.instant() + secs(1)));
    assert_eq!(retry(), (0, 0));
    bed.clock.advance(secs(1));
    assert_eq!(retry(), (0, 0));
    assert_eq!(bed.manager.next_retry(), Some(bed.instant() + secs(2)));
    assert_eq!(bed.status("a-0").role, PartitionRole::Offline);
    // Another one comes along, and one goes.
    bed.place("b-0", &Placed::on(&[1]));
    bed.place("c-0", &Placed::on(&[1]));
    bed.place("c-0", &Placed::on(&[2]));
    bed.disk.clear_faults();
    bed.clock.advance(secs(2));
    assert_eq!(retry(), (2, 0));
    assert_eq!(bed.manager.next_retry(), None);
    for name in ["a-0", "b-0"] {
        assert!(bed.append_one(1, name, records(1)).is_ok(), "{name}");
    }
    assert!(bed.logs.get(&partition("c-0")).is_none());
}

#[test]
fn many_partitions_are_taken_and_each_has_its_own_fate() {
    let bed = Bed::new();
    let in_the_way = Path::new("/data/b-0");
    bed.disk.create_dir_all(in_the_way).unwrap();
    let (applied, _) = bed.place_all(&["a-0", "b-0", "c-0"], &Placed::on(&[1]));
    assert_eq!(applied.led, [partition("a-0"), partition("c-0")]);
    assert_eq!(applied.not_taken[0].0, partition("b-0"));
    assert!(bed.append_one(1, "c-0", records(1)).is_ok());
    bed.disk.remove_dir(in_the_way).unwrap();
    bed.clock.advance(secs(1));
    let (applied, _) = bed.manager.retry(bed.now());
    assert_eq!(applied.led, [partition("b-0")]);
    assert!(bed.append_one(1, "b-0", records(1)).is_ok());
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("p{number:04}-0")).collect()
}

/// Covers RE-015: what is put off for want of descriptors is told of once, costs those no more that are
/// there, and comes when there are some.
#[test]
fn re_015_partitions_beyond_the_descriptors_are_put_off_and_come_later() {
    let bed = Bed::new();
    let names = names(200);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    // A directory is opened to be synced, and has not got its name yet when it is made.
    let used_up = Fault::on(DiskOperation::SyncDir)
        .where_path(|path| path.to_string_lossy().ends_with("-delete"))
        .failing_with(DiskErrorKind::TooManyFiles);
    bed.disk.inject(used_up.after(130).always());
    let (applied, _) = bed.place_all(&names, &Placed::on(&[1]));
    let (led, failed) = (applied.led.len(), applied.not_taken.len());
    assert!((64..=130).contains(&led), "{led}");
    assert!(
        (1..=64).contains(&failed),
        "those that were tried together: {failed}"
    );
    assert_eq!(led + failed + applied.put_off, 200);
    assert!(applied.put_off > 0);
    let is_led = |name: &&&str| applied.led.contains(&partition(name));
    let left = *names.iter().find(|name| !is_led(name)).unwrap();
    assert_eq!(bed.status(left).role, PartitionRole::Offline);
    let first = applied.led[0].to_string();
    assert!(bed.append_one(1, &first, records(1)).is_ok());

    for _ in 0..5 {
        bed.clock.advance(secs(30));
        let (applied, _) = bed.manager.retry(bed.now());
        assert_eq!((applied.led.len(), applied.not_taken.len()), (0, 0));
        assert_eq!(applied.put_off, 0);
    }
    bed.disk.clear_faults();
    bed.clock.advance(secs(30));
    let (applied, _) = bed.manager.retry(bed.now());
    assert_eq!(applied.led.len(), 200 - led);
    assert_eq!(bed.manager.next_retry(), None);
    assert!(bed.append_one(1, left, records(1)).is_ok());
}

/// Covers RE-015: where one cannot be made the others are not tried each time, made and undone.
#[test]
fn re_015_a_shortage_puts_the_rest_off_and_a_retry_costs_little() {
    let bed = Bed::new();
    let names = names(1000);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let full = Fault::on(DiskOperation::CreateDir).failing_with(DiskErrorKind::Full);
    bed.disk.inject(full.after(300).always());
    let (applied, _) = bed.place_all(&names, &Placed::on(&[1]));
    let led = applied.led.len();
    assert!((200..=300).contains(&led), "{led}");
    assert_eq!(led + applied.not_taken.len() + applied.put_off, 1000);
    let tried = || bed.disk.calls(DiskOperation::CreateDir);
    for _ in 0..3 {
        let before = tried();
        bed.clock.advance(secs(30));
        let (applied, _) = bed.manager.retry(bed.now());
        assert_eq!(applied.led.len(), 0);
        assert!(tried() - before < 200, "{} attempts", tried() - before);
    }
    bed.disk.clear_faults();
    bed.clock.advance(secs(30));
    let (applied, _) = bed.manager.retry(bed.now());
    assert_eq!(applied.led.len(), 1000 - led);
}

/// Covers RE-015: those that wait for room in one directory do not keep those from being tried that
/// are in another.
#[test]
fn re_015_a_full_directory_keeps_no_partition_of_another_one_waiting() {
    let names = names(300);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let bed = Bed::on(SimDisk::new(0), &["/one", "/two"]);
    bed.place_all(&names, &Placed::on(&[1]));
    for name in &names {
        bed.fill(name, 1);
    }
    let disk = bed.disk.crash(Crash::Kill);
    drop(bed);

    // None can be opened at the start, and those of one directory not later, either.
    let none_left = of_logs(DiskOperation::Open).failing_with(DiskErrorKind::TooManyFiles);
    disk.inject(none_left.always());
    let bed = Bed::on(disk, &["/one", "/two"]);
    bed.disk.clear_faults();
    let full = Fault::on(DiskOperation::Open).where_path(|path| {
        path.starts_with("/one") && path.extension().is_some_and(|it| it == "log")
    });
    bed.disk
        .inject(full.failing_with(DiskErrorKind::Full).always());
    let (applied, _) = bed.place_all(&names, &Placed::on(&[1]));
    let mut led = applied.led.len();
    assert!((1..150).contains(&led), "{led}");
    for _ in 0..8 {
        bed.clock.advance(secs(30));
        led += bed.manager.retry(bed.now()).0.led.len();
    }
    assert_eq!(led, 150, "all of the other directory");
}

/// The end of the broker does not wait until thousands of partitions are made.
#[test]
fn an_image_that_is_being_taken_over_can_be_ended_in_between() {
    let bed = Bed::new();
    let (manager, made) = (Arc::downgrade(&bed.manager), AtomicI64::default());
    bed.disk
        .inject(Fault::on(DiskOperation::CreateDir).where_path(move |_| {
            // The first of those that are made as the second ones.
            if made.fetch_add(1, Ordering::Relaxed) == 64 {
                manager.upgrade().unwrap().stop_taking();
            }
            false
        }));
    let before = bed.manager.image().offset();
    let names = names(500);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (applied, _) = bed.place_all(&names, &Placed::on(&[1]));
    assert_eq!(applied.led.len(), 128, "what had begun was ended");
    assert_eq!(bed.manager.partition_count(), 128);
    assert_eq!(bed.manager.image().offset(), before, "it is not taken over");
    for led in &applied.led {
        assert!(bed.logs.get(led).is_some());
    }
}

/// A bed with a partition of several segments that waits to be recovered, for there was no descriptor
/// when the logs were opened; now there is. Time has come to try again.
fn to_be_recovered() -> Bed {
    let bed = Bed::new();
    bed.set("a", |settings| settings.log.segment_bytes = 700);
    bed.place("a-0", &Placed::on(&[1]));
    bed.fill("a-0", 40);
    let log = bed.logs.get(&partition("a-0")).unwrap();
    assert!(log.lock().segment_count() > 4);
    drop(log);
    let disk = bed.disk.crash(Crash::Kill);
    let none_left = of_logs(DiskOperation::Open).failing_with(DiskErrorKind::TooManyFiles);
    disk.inject(none_left.always());
    let bed = Bed::on(disk, &["/data"]);
    let (applied, _) = bed.place("a-0", &Placed::on(&[1]));
    assert!(matches!(applied.not_taken[0].1, NotTaken::Create(_)));
    bed.disk.clear_faults();
    bed.clock.advance(secs(1));
    bed
}

/// Has this done while the second segment is opened; says how many were. The disk waits meanwhile.
fn in_the_second_segment(disk: &SimDisk, work: impl Fn() + Send + 'static) -> Arc<AtomicI64> {
    let opened = Arc::<AtomicI64>::default();
    let count = Arc::clone(&opened);
    disk.inject(Fault::on(DiskOperation::Open).where_path(move |path| {
        let is_segment = path.extension().is_some_and(|it| it == "log");
        if is_segment && count.fetch_add(1, Ordering::Relaxed) == 1 {
            work();
        }
        false
    }));
    opened
}

/// The end of the broker waits for the threads before it stops the logs.
#[test]
fn a_recovery_by_a_retry_ends_with_the_taking_of_partitions() {
    let bed = to_be_recovered();
    let manager = Arc::downgrade(&bed.manager);
    let opened = in_the_second_segment(&bed.disk, move || {
        manager.upgrade().unwrap().stop_taking();
    });
    let (applied, _) = bed.manager.retry(bed.now());
    assert_eq!(opened.load(Ordering::Relaxed), 2, "it was the last");
    assert_eq!((applied.led.len(), applied.not_taken.len()), (0, 0));
    assert_eq!(bed.status("a-0").role, PartitionRole::Offline);
    assert!(bed.logs.is_unavailable(&partition("a-0")));
}

/// What takes as long as reading gigabytes through keeps no change of the metadata waiting that is
/// about others.
#[test]
fn an_image_is_taken_over_while_a_retry_recovers_a_log() {
    let bed = to_be_recovered();
    let before = bed.manager.image();
    let topic = TopicRecord {
        name: "elsewhere".into(),
        topic_id: Uuid::ONE,
        ..TopicRecord::default()
    };
    let next = before.apply(&[topic.into()], before.offset() + 1).unwrap();
    let (next, now) = (Arc::new(next), bed.now());
    let manager = Arc::downgrade(&bed.manager);
    let is_taken = Arc::<AtomicBool>::default();
    let told = Arc::clone(&is_taken);
    let opened = in_the_second_segment(&bed.disk, move || {
        let (manager, next) = (manager.upgrade().unwrap(), Arc::clone(&next));
        let (tell, done) = sync_channel(1);
        thread::spawn(move || {
            _ = manager.apply(&next, now);
            // Nobody listens any more if it came too late.
            _ = tell.send(());
        });
        told.store(done.recv_timeout(secs(20)).is_ok(), Ordering::Relaxed);
    });
    let (applied, _) = bed.manager.retry(bed.now());
    assert!(opened.load(Ordering::Relaxed) > 4);
    assert!(is_taken.load(Ordering::Relaxed), "it had to wait");
    assert!(bed.manager.image().topic("elsewhere").is_some());
    assert_eq!(applied.led, [partition("a-0")]);
    assert!(bed.append_one(1, "a-0", records(1)).is_ok());
    assert_eq!(bed.read("a-0", 40), [40]);
}
