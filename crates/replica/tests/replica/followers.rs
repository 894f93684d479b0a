//! What a leader learns from followers' fetches.

use klamm_primitives::BrokerEpoch;
use klamm_replica::{FetchError, FetchPartition, Fetcher, FollowerStatus, PartitionRole};

use crate::support::{
    Bed, Placed, broker, fetch_request, from_follower, offset, offsets_in, secs, wanted,
};

fn known(bed: &Bed, id: i32) -> FollowerStatus {
    match bed.status("a-0").role {
        PartitionRole::Leader { followers, .. } => {
            *followers.iter().find(|it| it.broker == broker(id)).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

fn by(id: i32, broker_epoch: Option<i64>) -> Fetcher {
    Fetcher::Follower {
        broker: broker(id),
        broker_epoch: broker_epoch.map(BrokerEpoch::new),
    }
}

/// Covers RE-046, RE-048.
#[test]
fn re_046_a_fetch_tells_log_end_log_start_and_time() {
    let bed = Bed::new();
    let elected = bed.instant();
    bed.place("a-0", &Placed::on(&[1, 2, 3]).isr(&[1, 2]));
    bed.fill("a-0", 5);
    let before = known(&bed, 3);
    assert_eq!(before.log_end_offset, offset(-1));
    assert_eq!(before.log_start_offset, offset(-1));
    assert_eq!(before.caught_up_at, None);
    bed.clock.advance(secs(1));
    let wanted = FetchPartition {
        log_start_offset: Some(offset(2)),
        ..wanted("a-0", 4)
    };
    let found = bed.fetch_one(by(2, Some(0)), wanted).unwrap();
    assert_eq!(offsets_in(&found), [4]);
    let behind = known(&bed, 2);
    assert_eq!(behind.log_end_offset, offset(4));
    assert_eq!(behind.log_start_offset, offset(2));
    assert_eq!(behind.caught_up_at, Some(elected));
    bed.clock.advance(secs(1));
    bed.follow("a-0", 2, 5);
    assert_eq!(known(&bed, 2).caught_up_at, Some(bed.instant()));
}

#[test]
fn re_047_on_a_fresh_leader_members_are_caught_up_and_others_never_were() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2, 3]).isr(&[1, 2]));
    assert_eq!(known(&bed, 2).caught_up_at, Some(bed.instant()));
    assert_eq!(known(&bed, 3).caught_up_at, None);
}

#[test]
fn re_049_an_earlier_incarnation_is_refused_and_changes_nothing() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 3);
    let fetch = |fetcher, from| bed.fetch_one(fetcher, from_follower("a-0", from));
    assert!(fetch(by(2, Some(5)), 1).is_ok());
    let refused = fetch(by(2, Some(4)), 2);
    assert!(matches!(refused, Err(FetchError::NotAReplica { .. })));
    assert_eq!(known(&bed, 2).log_end_offset, offset(1));
    for unsaid in [None, Some(-1)] {
        assert!(fetch(by(2, unsaid), 2).is_ok());
        assert_eq!(known(&bed, 2).log_end_offset, offset(2));
    }
    assert!(matches!(
        fetch(by(2, Some(4)), 3),
        Err(FetchError::NotAReplica { .. })
    ));
}

#[test]
fn re_050_the_same_leader_again_keeps_positions_and_greets_members_alone() {
    let bed = Bed::new();
    let placed = Placed::on(&[1, 2, 3]).isr(&[1, 2]);
    bed.place("a-0", &placed);
    bed.fill("a-0", 2);
    bed.follow("a-0", 2, 2);
    bed.follow("a-0", 3, 1);
    let then = known(&bed, 3).caught_up_at;
    bed.clock.advance(secs(10));
    bed.place("a-0", &placed.clone().in_epoch(2));
    assert_eq!(known(&bed, 2).log_end_offset, offset(2));
    assert_eq!(known(&bed, 2).caught_up_at, Some(bed.instant()));
    assert_eq!(known(&bed, 3).log_end_offset, offset(1));
    assert_eq!(known(&bed, 3).caught_up_at, then);

    bed.place("a-0", &placed.clone().led_by(2).in_epoch(3));
    bed.place("a-0", &placed.in_epoch(4));
    assert_eq!(known(&bed, 2).log_end_offset, offset(-1));
}

#[test]
fn re_051_an_added_replica_may_fetch_as_soon_as_the_leader_knows_of_it() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 2);
    let fetch = || bed.fetch_one(by(3, Some(0)), from_follower("a-0", 0));
    assert!(matches!(fetch(), Err(FetchError::NotAReplica { .. })));
    let added = Placed::on(&[1, 2, 3]).isr(&[1, 2]).reassigning(&[3], &[2]);
    bed.place("a-0", &added);
    assert_eq!(offsets_in(&fetch().unwrap()), [0, 1]);
    assert_eq!(known(&bed, 3).log_end_offset, offset(0));
}

#[test]
fn a_follower_is_told_the_high_watermark_that_its_own_fetch_has_moved() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 3);
    let request = fetch_request(by(2, Some(0)), vec![from_follower("a-0", 3)]);
    let (results, _) = bed.fetch(request, 0);
    let found = results.unwrap().remove(0).result.unwrap();
    assert_eq!(found.high_watermark, offset(3));
}
