//! What metadata makes of a partition: leader, follower, or nothing.

use klamm_records::Codecs;
use klamm_replica::{AppendError, AppendOutcome, FetchError, Fetcher, NotServed, PartitionRole};

use crate::support::{
    Bed, Placed, append_request, broker, brokers, compacted, epoch, min_isr, offset, partition,
    records, wanted,
};

fn refused(bed: &Bed, name: &str) -> Option<NotServed> {
    let fetched = bed.fetch_one(Fetcher::Consumer, wanted(name, 0));
    let by_fetch = match fetched {
        Err(FetchError::NotServed(error)) => Some(error),
        Ok(_) => None,
        Err(other) => panic!("{other:?}"),
    };
    let by_append = match bed.append_one(1, name, records(1)) {
        Err(AppendError::NotServed(error)) => Some(error),
        Ok(_) => None,
        Err(other) => panic!("{other:?}"),
    };
    assert_eq!(by_fetch, by_append);
    by_fetch
}

#[test]
fn re_001_a_partition_is_unknown_elsewhere_offline_or_served() {
    let bed = Bed::new();
    assert_eq!(refused(&bed, "a-0"), Some(NotServed::UnknownPartition));
    bed.place("a-0", &Placed::on(&[2, 3]));
    assert_eq!(refused(&bed, "a-0"), Some(NotServed::NotLeader));
    assert_eq!(refused(&bed, "a-1"), Some(NotServed::UnknownPartition));
    assert!(bed.manager.status(&partition("a-0")).is_none());
    bed.place("b-0", &Placed::on(&[1]));
    assert_eq!(refused(&bed, "b-0"), None);
    let log = bed.logs.get(&partition("b-0")).unwrap();
    bed.logs
        .report_failure(&log, std::io::Error::other("it burns"));
    bed.take_events();
    assert_eq!(refused(&bed, "b-0"), Some(NotServed::Offline));
    assert_eq!(bed.status("b-0").role, PartitionRole::Offline);
}

#[test]
fn re_002_a_higher_leader_epoch_begins_at_the_log_end_and_forgets_followers() {
    let bed = Bed::new();
    let (applied, _) = bed.place("a-0", &Placed::on(&[1, 2]).in_epoch(3));
    assert_eq!(applied.led, [partition("a-0")]);
    bed.fill("a-0", 5);
    bed.follow("a-0", 2, 4);
    bed.place("a-0", &Placed::on(&[1, 2]).led_by(2).in_epoch(4));
    let (applied, _) = bed.place("a-0", &Placed::on(&[1, 2]).in_epoch(5));
    assert_eq!(applied.led, [partition("a-0")]);
    let log = bed.logs.get(&partition("a-0")).unwrap();
    let starts: Vec<_> = log.lock().epochs();
    let starts: Vec<_> = starts
        .iter()
        .map(|it| (it.epoch.get(), it.start_offset.get()))
        .collect();
    assert_eq!(starts, [(3, 0), (5, 5)]);
    let PartitionRole::Leader { followers, .. } = bed.status("a-0").role else {
        panic!("it leads");
    };
    assert_eq!(followers[0].log_end_offset, offset(-1));
}

#[test]
fn re_003_the_same_leader_epoch_takes_another_set_over_and_is_not_new() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).version(10));
    bed.follow("a-0", 2, 0);
    let wider = Placed::on(&[1, 2, 3]).isr(&[1, 2]).version(11);
    let (applied, _) = bed.place("a-0", &wider);
    assert!(applied.led.is_empty() && applied.followed.is_empty());
    let status = bed.status("a-0");
    assert_eq!(status.partition_epoch, 11);
    let PartitionRole::Leader { isr, followers, .. } = status.role else {
        panic!("it leads");
    };
    assert_eq!(isr, brokers(&[1, 2]));
    let known: Vec<_> = followers
        .iter()
        .map(|it| (it.broker.get(), it.log_end_offset.get()))
        .collect();
    assert_eq!(known, [(2, 0), (3, -1)]);
}

#[test]
fn re_004_an_older_partition_epoch_changes_nothing() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).version(10));
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).version(9));
    assert_eq!(bed.isr("a-0"), brokers(&[1, 2]));
    let elsewhere = Placed::on(&[1, 2]).led_by(2).version(8);
    bed.place("a-0", &elsewhere);
    let by_a_former_leader = Placed::on(&[1, 2]).led_by(2).in_epoch(0).version(11);
    bed.place("a-0", &by_a_former_leader);
    assert!(bed.append_one(1, "a-0", records(1)).is_ok());
    bed.place("b-0", &Placed::on(&[2, 1]).version(10));
    bed.place("b-0", &Placed::on(&[1, 2]).version(9));
    let follows = PartitionRole::Follower {
        leader: Some(broker(2)),
    };
    assert_eq!(bed.status("b-0").role, follows);
    assert_eq!(bed.status("b-0").partition_epoch, 10);
}

#[test]
fn re_005_a_follower_is_new_by_a_higher_leader_epoch_alone() {
    let bed = Bed::new();
    let followed = |placed: &Placed| !bed.place("a-0", placed).0.followed.is_empty();
    assert!(followed(&Placed::on(&[2, 1]).in_epoch(1)));
    assert!(!followed(&Placed::on(&[2, 1]).in_epoch(1).isr(&[2])));
    assert!(followed(&Placed::on(&[2, 1]).in_epoch(4)));
    let follows = PartitionRole::Follower {
        leader: Some(broker(2)),
    };
    assert_eq!(bed.status("a-0").role, follows);
}

#[test]
fn re_006_a_leader_knows_of_each_other_replica_and_a_follower_of_none() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[3, 1, 2]).led_by(1).isr(&[1]));
    let PartitionRole::Leader { followers, .. } = bed.status("a-0").role else {
        panic!("it leads");
    };
    let others: Vec<_> = followers.iter().map(|it| it.broker).collect();
    assert_eq!(others, brokers(&[3, 2]));
    bed.place("a-0", &Placed::on(&[3, 1, 2]).in_epoch(2));
    assert_eq!(
        bed.status("a-0").role,
        PartitionRole::Follower {
            leader: Some(broker(3))
        }
    );
}

/// Covers RE-016.
#[test]
fn without_a_leader_the_log_and_the_epochs_stay() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 3);
    bed.place("a-0", &Placed::on(&[1, 2]).led_by(-1).in_epoch(2));
    let status = bed.status("a-0");
    assert_eq!(status.role, PartitionRole::Follower { leader: None });
    assert_eq!(status.leader_epoch, epoch(2));
    assert_eq!(status.offsets.unwrap().log_end, offset(3));
    assert_eq!(refused(&bed, "a-0"), Some(NotServed::NotLeader));
}

#[test]
fn re_009_the_same_change_again_has_no_effect() {
    let bed = Bed::new();
    let placed = Placed::on(&[1, 2]).version(10);
    bed.place("a-0", &placed);
    bed.fill("a-0", 1);
    bed.follow("a-0", 2, 1);
    let before = bed.status("a-0");
    // Through another state of the image, so that there is a difference to take over.
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).version(9));
    let (applied, done) = bed.place("a-0", &placed);
    assert!(applied.led.is_empty() && done.is_empty());
    assert_eq!(bed.status("a-0"), before);
}

#[test]
fn re_012_what_is_placed_elsewhere_or_deleted_goes_with_its_log() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.place("b-0", &Placed::on(&[2, 1]));
    for name in ["a-0", "b-0"] {
        assert!(bed.logs.get(&partition(name)).is_some());
        let (applied, _) = bed.place(name, &Placed::on(&[2, 3]).in_epoch(2));
        assert_eq!(applied.removed, [partition(name)]);
        assert!(bed.logs.get(&partition(name)).is_none());
        assert_eq!(refused(&bed, name), Some(NotServed::NotLeader));
    }
    bed.place("c-0", &Placed::on(&[1]));
    bed.place("d-0", &Placed::on(&[2, 1]));
    for topic in ["c", "d"] {
        let name = format!("{topic}-0");
        let (applied, _) = bed.delete_topic(topic);
        assert_eq!(applied.removed, [partition(&name)]);
        assert!(bed.logs.get(&partition(&name)).is_none());
        assert_eq!(refused(&bed, &name), Some(NotServed::UnknownPartition));
    }
    assert_eq!(bed.manager.partition_count(), 0);
}

#[test]
fn a_topic_made_again_under_its_name_begins_anew() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let id = bed.topic_id("a");
    bed.fill("a-0", 3);
    bed.delete_topic("a");
    bed.place("a-0", &Placed::on(&[1]));
    assert_ne!(bed.topic_id("a"), id);
    assert_eq!(bed.offsets("a-0").log_end, offset(0));
    assert_eq!(
        bed.append_one(1, "a-0", records(1)).unwrap().first_offset,
        offset(0)
    );
}

/// The topic was looked up by its id just before another one got its name. (KIP-516)
#[test]
fn records_for_a_topic_by_its_id_do_not_land_in_another_of_its_name() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let append = |topic_id| {
        let mut request = append_request(1, &[("a-0", records(1))]);
        request.entries[0].topic_id = topic_id;
        let mut codecs = Codecs::default();
        let (outcome, then) = bed.manager.append(request, &mut codecs, bed.now());
        bed.manager.follow_up(then, &mut Vec::new());
        match outcome {
            AppendOutcome::Done(mut results) => results.remove(0).result,
            AppendOutcome::Waits(_) => panic!("it does not wait"),
        }
    };
    let former = bed.topic_id("a");
    assert!(append(Some(former)).is_ok());
    bed.delete_topic("a");
    bed.place("a-0", &Placed::on(&[1]));
    assert!(matches!(
        append(Some(former)),
        Err(AppendError::UnknownTopicId)
    ));
    assert_eq!(bed.offsets("a-0").log_end, offset(0));
    for id in [Some(bed.topic_id("a")), None] {
        assert!(append(id).is_ok());
    }
    assert_eq!(bed.offsets("a-0").log_end, offset(2));
}

/// Covers RE-018.
#[test]
fn a_log_of_another_topic_id_is_not_taken() {
    let bed = Bed::new();
    let other = klamm_primitives::Uuid::from_u128(77);
    let config = klamm_log::LogConfig::default();
    let log = bed.logs.create(&partition("a-0"), Some(other), &config, 0);
    log.unwrap();
    let (applied, _) = bed.place("a-0", &Placed::on(&[1]));
    assert_eq!(applied.not_taken.len(), 1);
    assert_eq!(refused(&bed, "a-0"), Some(NotServed::Offline));
    assert_eq!(
        bed.logs.get(&partition("a-0")).unwrap().topic_id(),
        Some(other)
    );
}

/// Covers RE-020.
#[test]
fn settings_are_those_of_the_topic_from_the_first_append_on() {
    let bed = Bed::new();
    bed.set("a", compacted);
    bed.set("a", min_isr(2));
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    let log = bed.logs.get(&partition("a-0")).unwrap();
    assert!(log.lock().config().cleanup_policy.compact);
    let refused = bed.append_one(-1, "a-0", records(1));
    assert!(matches!(
        refused,
        Err(AppendError::NotEnoughReplicas { .. })
    ));

    // A log that was there before its partition was, with other settings.
    let found = bed
        .logs
        .create(&partition("b-0"), None, &klamm_log::LogConfig::default(), 0);
    assert!(!found.unwrap().lock().config().cleanup_policy.compact);
    bed.set("b", compacted);
    bed.place("b-0", &Placed::on(&[1]));
    let log = bed.logs.get(&partition("b-0")).unwrap();
    assert!(log.lock().config().cleanup_policy.compact);
}

#[test]
fn an_image_that_is_not_newer_is_passed_over() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let newest = bed.manager.image();
    bed.delete_topic("a");
    let (applied, then) = bed.manager.apply(&newest, bed.now());
    assert!(applied.led.is_empty() && then.is_empty());
    assert_eq!(bed.manager.partition_count(), 0);
}
