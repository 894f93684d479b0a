//! Deleting the oldest records.

use klamm_log::CleanupPolicy;
use klamm_primitives::Offset;
use klamm_replica::{DeleteRecordsError, FetchPartition, NotServed};

use crate::support::{
    Bed, Other, Placed, compacted, deleted, fetch_request, follower, millis, offset, wanted,
};

fn one(bed: &Bed, name: &str, before: Option<i64>) -> Result<i64, DeleteRecordsError> {
    let (results, done) = bed.delete_records(&[(name, before)], 0);
    assert!(done.is_empty());
    let result = results.expect("it does not wait").remove(0).result;
    result.map(Offset::get)
}

/// A follower has everything, and has deleted what is before `log_start`.
fn followed(bed: &Bed, id: i32, log_start: i64) -> Vec<crate::support::Done> {
    let wanted = FetchPartition {
        log_start_offset: Some(offset(log_start)),
        ..wanted("a-0", 5)
    };
    bed.fetch(fetch_request(follower(id), vec![wanted]), 0).1
}

#[test]
fn re_090_only_the_leader_deletes_and_only_where_the_policy_does() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[2, 1]));
    assert!(matches!(
        one(&bed, "a-0", Some(0)),
        Err(DeleteRecordsError::NotServed(NotServed::NotLeader))
    ));
    assert!(matches!(
        one(&bed, "nowhere-0", Some(0)),
        Err(DeleteRecordsError::NotServed(NotServed::UnknownPartition))
    ));
    bed.set("b", compacted);
    bed.place("b-0", &Placed::on(&[1]));
    assert!(matches!(
        one(&bed, "b-0", Some(0)),
        Err(DeleteRecordsError::PolicyViolation)
    ));
    bed.set("b", |it| {
        it.log.cleanup_policy = CleanupPolicy {
            delete: true,
            compact: true,
        };
    });
    bed.tell_settings("b");
    assert!(matches!(one(&bed, "b-0", Some(0)), Ok(0)));
}

#[test]
fn re_091_it_moves_the_log_start_and_answers_the_low_watermark() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.fill("a-0", 5);
    assert_eq!(one(&bed, "a-0", Some(3)).unwrap(), 3);
    assert_eq!(bed.offsets("a-0").log_start, offset(3));
    assert_eq!(one(&bed, "a-0", Some(1)).unwrap(), 3);
    assert_eq!(one(&bed, "a-0", None).unwrap(), 5);
    assert_eq!(bed.offsets("a-0").log_start, offset(5));
}

#[test]
fn beyond_the_high_watermark_or_below_0_nothing_is_deleted() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 5);
    bed.follow("a-0", 2, 3);
    for before in [4, 5, 6, -2, i64::MAX, i64::MIN] {
        assert!(matches!(
            one(&bed, "a-0", Some(before)),
            Err(DeleteRecordsError::OffsetOutOfRange { .. })
        ));
    }
    assert_eq!(bed.offsets("a-0").log_start, offset(0));
}

/// Covers PU-061.
#[test]
fn pu_061_it_waits_for_the_living_replicas_an_error_or_the_timeout() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2, 3]));
    bed.fill("a-0", 5);
    for id in [2, 3] {
        followed(&bed, id, 0);
    }
    let ask = |before, ticket| bed.delete_records(&[("a-0", Some(before))], ticket).0;
    assert!(ask(3, 1).is_none());
    assert!(followed(&bed, 2, 3).is_empty());
    let (ticket, results) = deleted(followed(&bed, 3, 4));
    assert_eq!(ticket, 1);
    assert_eq!(*results[0].result.as_ref().unwrap(), offset(3));

    assert!(ask(4, 2).is_none());
    assert!(bed.pass(millis(9_999)).is_empty());
    let (_, results) = deleted(bed.pass(millis(1)));
    assert!(matches!(
        results[0].result,
        Err(DeleteRecordsError::TimedOut)
    ));

    // The dead are not waited for.
    let fenced = Other {
        fenced: true,
        ..Other::default()
    };
    bed.register(2, fenced);
    assert_eq!(ask(4, 3).unwrap()[0].result.clone().unwrap(), offset(4));

    assert!(ask(5, 4).is_none());
    let (_, done) = bed.place("a-0", &Placed::on(&[1, 2, 3]).led_by(3).in_epoch(2));
    let (_, results) = deleted(done);
    assert!(matches!(
        results[0].result,
        Err(DeleteRecordsError::NotServed(NotServed::NotLeader))
    ));
}
