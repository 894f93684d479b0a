//! Offsets by time.

use klamm_log::{Isolation, OffsetAndTime};
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder};
use klamm_replica::{NotServed, OffsetError, OffsetQuery, OffsetTarget};

use crate::support::{Bed, Placed, batch, epoch, idempotent, min_isr, offset, partition};

fn query(target: OffsetTarget, isolation: Isolation) -> OffsetQuery {
    OffsetQuery {
        target,
        isolation,
        current_leader_epoch: None,
        from_any_replica: false,
    }
}

fn ask(bed: &Bed, query: OffsetQuery) -> Result<Option<OffsetAndTime>, OffsetError> {
    let mut codecs = Codecs::default();
    bed.manager
        .list_offsets(&partition("a-0"), &query, &mut codecs)
}

fn offset_of(bed: &Bed, target: OffsetTarget, isolation: Isolation) -> Option<i64> {
    let found = ask(bed, query(target, isolation)).unwrap();
    found.map(|it| it.offset.get())
}

fn at(bed: &Bed, timestamps: &[i64]) {
    for timestamp_ms in timestamps {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        builder
            .append(*timestamp_ms, None, Some(b"value"), &[])
            .unwrap();
        builder.close(&mut Codecs::default()).unwrap();
        bed.append_one(1, "a-0", builder.into_bytes().unwrap())
            .unwrap();
    }
}

/// Covers K005.
#[test]
fn the_latest_is_where_the_asker_s_sight_ends() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).in_epoch(3));
    bed.fill("a-0", 1);
    let options = BatchOptions {
        transactional: true,
        ..idempotent(7, 0)
    };
    bed.append_one(1, "a-0", batch(&options, 1, b"value"))
        .unwrap();
    bed.fill("a-0", 3);
    bed.follow("a-0", 2, 3);
    let latest = |isolation| offset_of(&bed, OffsetTarget::Latest, isolation);
    assert_eq!(latest(Isolation::LogEnd), Some(5));
    assert_eq!(latest(Isolation::HighWatermark), Some(3));
    assert_eq!(latest(Isolation::Committed), Some(1));
    let found = ask(&bed, query(OffsetTarget::Latest, Isolation::LogEnd))
        .unwrap()
        .unwrap();
    assert_eq!(
        (found.timestamp_ms, found.leader_epoch),
        (None, Some(epoch(3)))
    );
    assert_eq!(
        offset_of(&bed, OffsetTarget::Earliest, Isolation::LogEnd),
        Some(0)
    );
}

#[test]
fn by_time_the_first_at_or_after_it_is_found_as_far_as_is_seen() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    at(&bed, &[100, 300, 200, 400]);
    bed.follow("a-0", 2, 3);
    let found =
        |timestamp_ms, isolation| offset_of(&bed, OffsetTarget::AtOrAfter(timestamp_ms), isolation);
    for isolation in [Isolation::LogEnd, Isolation::HighWatermark] {
        assert_eq!(found(0, isolation), Some(0));
        assert_eq!(found(150, isolation), Some(1));
        assert_eq!(found(300, isolation), Some(1));
    }
    assert_eq!(found(301, Isolation::LogEnd), Some(3));
    assert_eq!(found(301, Isolation::HighWatermark), None);
    assert_eq!(found(401, Isolation::LogEnd), None);
    let max = |isolation| offset_of(&bed, OffsetTarget::MaxTimestamp, isolation);
    assert_eq!(max(Isolation::LogEnd), Some(3));
    assert_eq!(max(Isolation::HighWatermark), None);
}

#[test]
fn a_new_leader_whose_mark_lags_behind_its_epoch_does_not_tell_the_latest() {
    let bed = Bed::new();
    bed.set("a", min_isr(2));
    bed.place("a-0", &Placed::on(&[1, 2]));
    at(&bed, &[100, 200, 300]);
    bed.follow("a-0", 2, 2);
    bed.place("a-0", &Placed::on(&[1, 2]).in_epoch(2));
    let refused = ask(&bed, query(OffsetTarget::Latest, Isolation::HighWatermark));
    assert!(matches!(
        refused,
        Err(OffsetError::NotAvailable { epoch_start, visible_end })
            if epoch_start == offset(3) && visible_end == offset(2)
    ));
    let by_time = |at| {
        ask(
            &bed,
            query(OffsetTarget::AtOrAfter(at), Isolation::HighWatermark),
        )
    };
    assert!(matches!(
        by_time(300),
        Err(OffsetError::NotAvailable { .. })
    ));
    assert_eq!(by_time(200).unwrap().unwrap().offset, offset(1));
    assert_eq!(
        offset_of(&bed, OffsetTarget::Earliest, Isolation::HighWatermark),
        Some(0)
    );
    assert_eq!(
        offset_of(&bed, OffsetTarget::Latest, Isolation::LogEnd),
        Some(3)
    );
    bed.follow("a-0", 2, 3);
    assert_eq!(
        offset_of(&bed, OffsetTarget::Latest, Isolation::HighWatermark),
        Some(3)
    );
}

#[test]
fn a_follower_tells_debuggers_alone() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[2, 1]));
    let asked = query(OffsetTarget::Latest, Isolation::LogEnd);
    assert!(matches!(
        ask(&bed, asked),
        Err(OffsetError::NotServed(NotServed::NotLeader))
    ));
    let debugger = OffsetQuery {
        from_any_replica: true,
        ..asked
    };
    assert_eq!(ask(&bed, debugger).unwrap().unwrap().offset, offset(0));
}
