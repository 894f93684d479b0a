//! How the high watermark moves.

use klamm_log::Checkpoint;
use klamm_primitives::BrokerEpoch;

use crate::support::{Bed, Other, Placed, broker, millis, min_isr, offset, partition};

#[test]
fn re_068_it_is_the_least_log_end_of_those_in_sync_and_never_falls() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2, 3]));
    bed.fill("a-0", 6);
    assert_eq!(bed.high_watermark("a-0"), 0);
    bed.follow("a-0", 2, 6);
    assert_eq!(bed.high_watermark("a-0"), 0);
    bed.follow("a-0", 3, 4);
    assert_eq!(bed.high_watermark("a-0"), 4);
    bed.follow("a-0", 3, 6);
    assert_eq!(bed.high_watermark("a-0"), 6);
    // A follower that was cut back asks from there again.
    bed.follow("a-0", 3, 2);
    bed.fill("a-0", 1);
    bed.follow("a-0", 2, 7);
    assert_eq!(bed.high_watermark("a-0"), 6);
}

#[test]
fn re_069_it_starts_from_the_checkpoint_or_from_0() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.place("b-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 6);
    bed.fill("b-0", 6);
    bed.follow("a-0", 2, 4);
    assert!(bed.logs.stop(BrokerEpoch::NONE).unclean.is_empty());

    let again = Bed::on(bed.disk.clone(), &["/data"]);
    again.place("a-0", &Placed::on(&[1, 2]).in_epoch(2));
    again.place("b-0", &Placed::on(&[1, 2]).in_epoch(2));
    assert_eq!(again.offsets("a-0").log_end, offset(6));
    assert_eq!(again.high_watermark("a-0"), 4);
    assert_eq!(again.high_watermark("b-0"), 0);
}

#[test]
fn re_070_a_fenced_or_stopping_follower_out_of_sync_does_not_hold_it_back() {
    for (fenced, stopping, expected) in [(false, false, 3), (true, false, 5), (false, true, 5)] {
        let bed = Bed::new();
        bed.place("a-0", &Placed::on(&[1, 2, 3]).isr(&[1, 2]));
        bed.register(
            3,
            Other {
                fenced,
                stopping,
                ..Other::default()
            },
        );
        bed.fill("a-0", 3);
        // It has caught up, and would be let in: while that is asked for, it counts.
        bed.follow("a-0", 3, 3);
        assert_eq!(bed.take_proposals().len(), usize::from(expected == 3));
        bed.fill("a-0", 2);
        bed.follow("a-0", 2, 5);
        assert_eq!(bed.high_watermark("a-0"), expected);
    }
}

#[test]
fn re_072_it_is_written_every_five_seconds_and_at_a_clean_stop() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 3);
    bed.fill("b-0", 3);
    bed.follow("b-0", 2, 2);
    let written = |name: &str| {
        let all = Checkpoint::HighWatermark.read(&bed.disk, "/data".as_ref());
        all.unwrap().get(&partition(name)).copied()
    };
    bed.clock.advance(millis(4_999));
    bed.logs.run_due(bed.now());
    assert_eq!(written("a-0"), None);
    bed.clock.advance(millis(1));
    bed.logs.run_due(bed.now());
    assert_eq!(written("a-0"), Some(offset(3)));
    assert_eq!(written("b-0"), Some(offset(2)));
    bed.fill("a-0", 1);
    bed.logs.stop(BrokerEpoch::NONE);
    assert_eq!(written("a-0"), Some(offset(4)));
}

#[test]
fn it_stays_while_fewer_are_in_sync_than_the_topic_asks_for() {
    let bed = Bed::new();
    bed.set("a", min_isr(2));
    bed.place("a-0", &Placed::on(&[1, 2, 3]));
    bed.fill("a-0", 3);
    bed.follow("a-0", 2, 2);
    bed.follow("a-0", 3, 2);
    assert_eq!(bed.high_watermark("a-0"), 2);
    bed.place("a-0", &Placed::on(&[1, 2, 3]).isr(&[1]));
    bed.fill("a-0", 2);
    assert_eq!(bed.high_watermark("a-0"), 2);
    bed.follow("a-0", 2, 5);
    let back = bed.proposal();
    assert_eq!(back.isr.last().unwrap().broker, broker(2));
    bed.accept(&back);
    bed.follow("a-0", 3, 5);
    assert_eq!(bed.high_watermark("a-0"), 5);
}

#[test]
fn with_the_leader_alone_everything_found_at_the_start_is_seen() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 6);
    bed.follow("a-0", 2, 1);
    assert_eq!(bed.high_watermark("a-0"), 1);
    let fenced = Other {
        fenced: true,
        ..Other::default()
    };
    bed.register(2, fenced);
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).in_epoch(2));
    assert_eq!(bed.high_watermark("a-0"), 6);
}
