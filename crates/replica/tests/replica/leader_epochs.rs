//! Leader epochs: which requests are fenced, and where logs part ways.

use klamm_log::{EpochEnd, Isolation};
use klamm_primitives::LeaderEpoch;
use klamm_records::Codecs;
use klamm_replica::{
    FetchError, FetchPartition, Fetcher, NotServed, OffsetError, OffsetQuery, OffsetTarget,
};

use crate::support::{Bed, Placed, epoch, follower, offset, offsets_in, partition, wanted};

/// What each of the operations that a leader epoch goes along with says.
fn asked(bed: &Bed, name: &str, current: Option<i32>) -> [Option<NotServed>; 3] {
    let current = current.map(epoch);
    let wanted = FetchPartition {
        current_leader_epoch: current,
        ..wanted(name, 0)
    };
    let fetched = match bed.fetch_one(Fetcher::Consumer, wanted) {
        Ok(_) => None,
        Err(FetchError::NotServed(error)) => Some(error),
        Err(other) => panic!("{other:?}"),
    };
    let query = OffsetQuery {
        target: OffsetTarget::Latest,
        isolation: Isolation::HighWatermark,
        current_leader_epoch: current,
        from_any_replica: false,
    };
    let mut codecs = Codecs::default();
    let listed = match bed
        .manager
        .list_offsets(&partition(name), &query, &mut codecs)
    {
        Ok(_) => None,
        Err(OffsetError::NotServed(error)) => Some(error),
        Err(other) => panic!("{other:?}"),
    };
    let end = bed
        .manager
        .offset_for_leader_epoch(&partition(name), current, epoch(0));
    [fetched, listed, end.err()]
}

/// Covers RE-022, RE-023, RE-024, B5.5.
#[test]
fn a_leader_epoch_is_checked_before_the_role_and_alike_everywhere() {
    let bed = Bed::new();
    bed.place("led-0", &Placed::on(&[1]).in_epoch(5));
    bed.place("followed-0", &Placed::on(&[2, 1]).in_epoch(5));
    let current = epoch(5);
    let fenced = Some(NotServed::FencedLeaderEpoch {
        requested: epoch(4),
        current,
    });
    let unknown = Some(NotServed::UnknownLeaderEpoch {
        requested: epoch(6),
        current,
    });
    for name in ["led-0", "followed-0"] {
        assert_eq!(asked(&bed, name, Some(4)), [fenced; 3]);
        assert_eq!(asked(&bed, name, Some(6)), [unknown; 3]);
    }
    for fitting in [None, Some(-1), Some(5)] {
        assert_eq!(asked(&bed, "led-0", fitting), [None; 3]);
        let not_leader = Some(NotServed::NotLeader);
        assert_eq!(asked(&bed, "followed-0", fitting), [not_leader; 3]);
    }
}

/// Leader epochs 0 from 0, 3 from 2, 4 from 8, 7 from 13, 9 from 14 on, then 10 without a record
/// at 17.
fn with_history() -> Bed {
    let bed = Bed::new();
    for (leader_epoch, count) in [(0, 2), (3, 6), (4, 5), (7, 1), (9, 3), (10, 0)] {
        bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).in_epoch(leader_epoch));
        bed.fill("a-0", count);
    }
    bed
}

fn fetch_after(last_epoch: i32, from: i64) -> FetchPartition {
    FetchPartition {
        last_fetched_epoch: Some(epoch(last_epoch)),
        ..wanted("a-0", from)
    }
}

fn end(leader_epoch: i32, end_offset: i64) -> EpochEnd {
    EpochEnd {
        epoch: epoch(leader_epoch),
        end_offset: offset(end_offset),
    }
}

#[track_caller]
fn diverges(bed: &Bed, (last_epoch, from): (i32, i64), expected: Option<EpochEnd>) {
    for fetcher in [follower(2), Fetcher::Consumer] {
        let found = bed.fetch_one(fetcher, fetch_after(last_epoch, from));
        let found = found.unwrap();
        assert_eq!(found.diverging, expected);
        if expected.is_some() {
            assert!(found.records.is_none());
        }
    }
}

/// Covers RE-027, RE-028.
#[test]
fn re_027_logs_part_where_the_last_common_epoch_ends() {
    let bed = with_history();
    assert_eq!(bed.offsets("a-0").log_end, offset(17));
    diverges(&bed, (2, 5), Some(end(0, 2)));
    diverges(&bed, (0, 4), Some(end(0, 2)));
    diverges(&bed, (6, 6), Some(end(4, 13)));
    diverges(&bed, (5, 9), Some(end(4, 13)));
    diverges(&bed, (10, 18), Some(end(10, 17)));
    for agrees in [(0, 2), (7, 14), (9, 17), (10, 17)] {
        diverges(&bed, agrees, None);
    }
    let found = bed.fetch_one(follower(2), fetch_after(0, 2)).unwrap();
    assert_eq!(offsets_in(&found), (2..17).collect::<Vec<_>>());
}

#[test]
fn a_diverging_fetch_says_nothing_of_how_far_the_follower_is() {
    let bed = with_history();
    let found = bed.fetch_one(follower(2), fetch_after(6, 6)).unwrap();
    assert!(found.diverging.is_some());
    let klamm_replica::PartitionRole::Leader { followers, .. } = bed.status("a-0").role else {
        panic!("it leads");
    };
    assert_eq!(followers[0].log_end_offset, offset(-1));
}

#[test]
fn re_029_an_epoch_above_all_that_is_known_is_out_of_range() {
    let bed = with_history();
    let found = bed.fetch_one(follower(2), fetch_after(11, 5));
    assert!(matches!(found, Err(FetchError::OffsetOutOfRange { .. })));
}

#[test]
fn re_030_below_the_log_start_is_out_of_range_whether_it_diverges_or_not() {
    let bed = with_history();
    let (deleted, _) = bed.delete_records(&[("a-0", Some(5))], 0);
    assert!(deleted.is_none(), "the follower has yet to follow");
    diverges(&bed, (2, 8), Some(end(2, 5)));
    diverges(&bed, (0, 5), None);
    diverges(&bed, (3, 5), None);
    for below in [(0, 3), (2, 3), (3, 4)] {
        let found = bed.fetch_one(Fetcher::Consumer, fetch_after(below.0, below.1));
        assert!(matches!(found, Err(FetchError::OffsetOutOfRange { .. })));
    }
}

#[test]
fn re_026_the_end_of_an_epoch_is_that_of_the_largest_not_above_it() {
    let bed = with_history();
    let ask = |leader_epoch: i32| {
        let asked = LeaderEpoch::new(leader_epoch);
        bed.manager
            .offset_for_leader_epoch(&partition("a-0"), None, asked)
            .unwrap()
    };
    assert_eq!(ask(0), Some(end(0, 2)));
    assert_eq!(ask(2), Some(end(0, 2)));
    assert_eq!(ask(3), Some(end(3, 8)));
    assert_eq!(ask(8), Some(end(7, 14)));
    assert_eq!(ask(9), Some(end(9, 17)));
    assert_eq!(ask(10), Some(end(10, 17)));
    bed.fill("a-0", 1);
    assert_eq!(ask(10), Some(end(10, 18)));
    assert_eq!(ask(11), None);
    assert_eq!(ask(-1), None);
}
