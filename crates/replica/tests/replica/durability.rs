//! Records that are synced before they are acknowledged.

use std::time::Duration;

use klamm_io::sim::{Crash, Fault};
use klamm_io::{DiskErrorKind, DiskOperation};
use klamm_replica::{AppendError, Fetcher, NotServed};

use crate::support::{
    Bed, Placed, batch, fetched, follower, from_follower, idempotent, offset, patient, produced,
    records, syncs, tickets, wanted,
};

fn synced() -> Bed {
    let bed = Bed::new();
    bed.set("a", syncs);
    bed.place("a-0", &Placed::on(&[1]));
    bed
}

/// Covers RE-037, B4.5.
#[test]
fn re_037_acks_1_and_all_wait_for_the_leaders_sync_where_the_policy_asks_for_it() {
    for acks in [1, -1] {
        let bed = synced();
        let (at_once, done) = bed.produce(acks, &[("a-0", records(2))], 4);
        assert!(at_once.is_none() && done.is_empty());
        assert_eq!(bed.high_watermark("a-0"), 0);
        let (ticket, results) = produced(bed.sync());
        assert_eq!((ticket, results[0].is_ok()), (4, true));
        assert_eq!(bed.high_watermark("a-0"), 2);
    }
    let bed = synced();
    assert!(bed.produce(0, &[("a-0", records(2))], 4).0.is_some());
    assert!(bed.sync().is_empty());
    assert_eq!(bed.high_watermark("a-0"), 2);
}

#[test]
fn one_sync_acknowledges_all_that_came_before_it() {
    let bed = synced();
    for ticket in 0..10 {
        assert!(bed.produce(1, &[("a-0", records(1))], ticket).0.is_none());
    }
    let before = bed.disk.calls(DiskOperation::Sync);
    assert_eq!(tickets(&bed.sync()), (0..10).collect::<Vec<_>>());
    assert!(bed.disk.calls(DiskOperation::Sync) <= before + 2);
}

#[test]
fn a_flush_age_of_nothing_asks_for_the_same() {
    let bed = Bed::new();
    bed.set("a", |it| it.log.flush_age = Some(Duration::ZERO));
    bed.place("a-0", &Placed::on(&[1]));
    assert!(bed.produce(1, &[("a-0", records(1))], 1).0.is_none());
    assert_eq!(tickets(&bed.sync()), [1]);
}

#[test]
fn a_flush_every_few_records_asks_for_syncs_and_waits_for_none() {
    let bed = Bed::new();
    bed.set("a", |it| it.log.flush_records = Some(3));
    bed.place("a-0", &Placed::on(&[1]));
    let log = bed.logs.get(&"a-0".parse().unwrap()).unwrap();
    let synced = || log.lock().recovery_point();
    for _ in 0..3 {
        bed.sync();
        assert_eq!(synced(), offset(0));
        assert!(bed.produce(-1, &[("a-0", records(1))], 1).0.is_some());
    }
    bed.sync();
    assert_eq!(synced(), offset(3));
}

#[test]
fn the_leader_counts_with_what_it_has_synced_and_consumers_see_no_more() {
    let bed = Bed::new();
    bed.set("a", syncs);
    bed.place("a-0", &Placed::on(&[1, 2]));
    let request = patient(Fetcher::Consumer, 1, vec![wanted("a-0", 0)]);
    assert!(bed.fetch(request, 7).0.is_none());
    assert!(bed.produce(-1, &[("a-0", records(1))], 8).0.is_none());
    // Followers are not kept from what is not synced here.
    let request = patient(follower(2), 1, vec![from_follower("a-0", 0)]);
    assert!(bed.fetch(request, 9).0.is_some());
    assert!(bed.follow("a-0", 2, 1).is_empty());
    let mut woken = tickets(&bed.sync());
    woken.sort_unstable();
    assert_eq!(woken, [7, 8]);
}

#[test]
fn a_batch_sent_again_is_acknowledged_with_the_sync_of_the_first() {
    let bed = synced();
    let once = batch(&idempotent(7, 0), 1, b"value");
    for ticket in [1, 2] {
        assert!(bed.produce(1, &[("a-0", once.clone())], ticket).0.is_none());
    }
    assert_eq!(tickets(&bed.sync()), [1, 2]);
    assert!(bed.produce(1, &[("a-0", once)], 3).0.is_some());
}

#[test]
fn a_sync_that_fails_takes_the_directory_offline_and_acknowledges_nothing() {
    let bed = synced();
    bed.place("b-0", &Placed::on(&[1]));
    let request = patient(Fetcher::Consumer, 1, vec![wanted("b-0", 0)]);
    assert!(bed.fetch(request, 7).0.is_none());
    assert!(bed.produce(1, &[("a-0", records(1))], 1).0.is_none());
    let fault = Fault::on(DiskOperation::Sync).failing_with(DiskErrorKind::Failed);
    bed.disk.inject(fault);
    let mut done = bed.sync();
    assert_eq!(done.len(), 2);
    let by_fetch = done
        .iter()
        .position(|it| tickets(std::slice::from_ref(it)) == [7]);
    let fetch = done.remove(by_fetch.unwrap());
    let (_, results) = produced(done);
    assert!(matches!(
        results[0],
        Err(AppendError::NotServed(NotServed::Offline))
    ));
    assert!(fetched(vec![fetch]).1[0].is_err());
    let refused = bed.append_one(1, "b-0", records(1));
    assert!(matches!(
        refused,
        Err(AppendError::NotServed(NotServed::Offline))
    ));
}

#[test]
fn what_was_acknowledged_is_there_after_the_power_went() {
    for seed in 0..20 {
        let bed = synced();
        let mut acknowledged = 0;
        for round in 0..seed {
            let ticket = u32::try_from(round).unwrap();
            assert!(bed.produce(1, &[("a-0", records(1))], ticket).0.is_none());
            if round % 3 == 0 {
                acknowledged += bed.sync().len();
            }
        }
        let disk = bed.disk.crash(Crash::PowerLoss { seed });
        let again = Bed::on(disk, &["/data"]);
        again.set("a", syncs);
        again.place("a-0", &Placed::on(&[1]).in_epoch(2));
        again.sync();
        let log_end = again.offsets("a-0").log_end.get();
        assert!(log_end >= i64::try_from(acknowledged).unwrap());
        assert_eq!(again.high_watermark("a-0"), log_end);
    }
}

#[test]
fn a_sync_of_a_log_that_was_deleted_says_nothing_of_its_successor() {
    let bed = synced();
    assert!(bed.produce(1, &[("a-0", records(5))], 1).0.is_none());
    bed.logs.sync_requested();
    assert_eq!(tickets(&bed.delete_topic("a").1), [1]);
    bed.place("a-0", &Placed::on(&[1]));
    assert!(bed.produce(1, &[("a-0", records(1))], 2).0.is_none());
    assert!(bed.take_events().is_empty());
    assert_eq!(tickets(&bed.sync()), [2]);
}

#[test]
fn a_new_leader_makes_durable_what_it_found_before_it_counts() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 3);
    bed.set("a", syncs);
    bed.tell_settings("a");
    bed.place("a-0", &Placed::on(&[1, 2]).led_by(2).in_epoch(2));
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).in_epoch(3));
    assert_eq!(bed.high_watermark("a-0"), 0);
    bed.sync();
    assert_eq!(bed.high_watermark("a-0"), 3);
}
