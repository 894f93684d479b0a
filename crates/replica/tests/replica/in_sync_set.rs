//! The in-sync set, and what is asked of the controller.

use klamm_primitives::{BrokerEpoch, BrokerId};
use klamm_replica::{Fetcher, IsrAnswer, IsrMember, PartitionRole};

use crate::support::{
    Bed, Other, Placed, broker, brokers, from_follower, min_isr, partition, produced, records, secs,
};

const LAG_MAX_SECS: u64 = 30;

fn members(isr: &[IsrMember]) -> Vec<BrokerId> {
    isr.iter().map(|it| it.broker).collect()
}

/// Covers RE-052, RE-053.
#[test]
fn re_052_stuck_and_slow_followers_leave_after_the_same_time() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2, 3, 4]));
    bed.fill("a-0", 10);
    // 2 keeps up, 3 goes slow, 4 is stuck.
    for (at, slow) in [(1, 3), (2, 4), (3, 5)] {
        bed.clock.advance(secs(10));
        bed.follow("a-0", 2, 10);
        bed.follow("a-0", 3, slow);
        if at == 1 {
            bed.follow("a-0", 4, 1);
        }
        bed.pass(secs(0));
        assert!(bed.take_proposals().is_empty());
    }
    bed.clock.advance(secs(10));
    bed.follow("a-0", 2, 10);
    bed.pass(secs(5));
    assert_eq!(members(&bed.proposal().isr), brokers(&[1, 2]));
}

#[test]
fn re_053_the_check_comes_every_half_of_the_time() {
    let bed = Bed::new();
    let begin = bed.instant();
    assert_eq!(bed.manager.next_deadline(), None);
    bed.place("a-0", &Placed::on(&[1]));
    bed.place("b-0", &Placed::on(&[2, 1]));
    assert_eq!(bed.manager.next_deadline(), None, "nobody is to be watched");
    bed.clock.advance(secs(4));
    bed.place("c-0", &Placed::on(&[1, 2]));
    let half = secs(LAG_MAX_SECS / 2);
    assert_eq!(bed.manager.next_deadline(), Some(begin + secs(4) + half));
    bed.pass(half);
    assert_eq!(
        bed.manager.next_deadline(),
        Some(begin + secs(4) + 2 * half)
    );
    bed.pass(half);
    assert!(
        bed.take_proposals().is_empty(),
        "30 s are not more than 30 s"
    );
    bed.pass(half);
    assert_eq!(bed.proposal().partition, partition("c-0"));
    bed.delete_topic("c");
    assert_eq!(bed.manager.next_deadline(), None);
}

#[test]
fn re_054_one_that_never_fetched_is_out_of_sync_after_the_time_and_not_before() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 1);
    bed.pass(secs(15));
    bed.pass(secs(15));
    assert!(bed.take_proposals().is_empty());
    bed.pass(secs(15));
    assert_eq!(members(&bed.proposal().isr), brokers(&[1]));
}

#[test]
fn a_member_that_has_everything_stays_however_long_ago_it_fetched() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 1);
    bed.follow("a-0", 2, 1);
    bed.pass(secs(300));
    assert!(bed.take_proposals().is_empty());
}

/// Covers RE-055, RE-057, RE-058, RE-061.
#[test]
fn re_055_the_set_changes_with_the_answer_alone() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 1);
    let (_, done) = bed.produce(-1, &[("a-0", records(1))], 8);
    assert!(done.is_empty());
    bed.pass(secs(45));
    let proposal = bed.proposal();
    assert_eq!(bed.isr("a-0"), brokers(&[1, 2]));
    assert_eq!(bed.high_watermark("a-0"), 0);
    bed.pass(secs(15));
    assert!(bed.take_proposals().is_empty(), "one at a time");
    bed.accept(&proposal);
    assert_eq!(bed.isr("a-0"), brokers(&[1]));
    assert_eq!(bed.high_watermark("a-0"), 2);
    assert_eq!(
        bed.status("a-0").partition_epoch,
        proposal.partition_epoch + 1
    );
}

#[test]
fn re_061_a_smaller_set_moves_the_mark_and_ends_the_wait() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.clock.advance(secs(20));
    let (_, done) = bed.produce(-1, &[("a-0", records(1))], 8);
    assert!(done.is_empty());
    assert!(bed.pass(secs(20)).is_empty());
    let proposal = bed.proposal();
    let (ticket, results) = produced(bed.accept(&proposal));
    assert_eq!((ticket, results[0].is_ok()), (8, true));
}

#[test]
fn re_056_while_a_set_is_to_grow_the_newcomer_counts() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.fill("a-0", 2);
    assert_eq!(bed.high_watermark("a-0"), 2);
    bed.follow("a-0", 2, 2);
    let proposal = bed.proposal();
    assert_eq!(members(&proposal.isr), brokers(&[1, 2]));
    assert_eq!(bed.isr("a-0"), brokers(&[1]));
    let (at_once, _) = bed.produce(-1, &[("a-0", records(1))], 3);
    assert!(at_once.is_none());
    assert_eq!(bed.high_watermark("a-0"), 2);
    let (_, results) = produced(bed.follow("a-0", 2, 3));
    assert!(results[0].is_ok());
    assert!(bed.take_proposals().is_empty());
    bed.accept(&proposal);
    assert_eq!(bed.isr("a-0"), brokers(&[1, 2]));
}

#[test]
fn re_059_only_live_incarnations_are_proposed() {
    let bed = Bed::new();
    let fetch = |broker_epoch: i64| {
        let fetcher = Fetcher::Follower {
            broker: broker(2),
            broker_epoch: Some(BrokerEpoch::new(broker_epoch)),
        };
        bed.fetch_one(fetcher, from_follower("a-0", 0)).unwrap();
        bed.take_proposals().len()
    };
    let registered = |epoch, fenced, stopping| {
        let other = Other {
            epoch,
            fenced,
            stopping,
        };
        bed.register(2, other);
    };
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    registered(7, true, false);
    assert_eq!(fetch(7), 0);
    registered(7, false, true);
    assert_eq!(fetch(7), 0);
    registered(8, false, false);
    assert_eq!(fetch(7), 0);
    assert_eq!(fetch(8), 1);
}

#[test]
fn re_060_a_proposal_carries_all_epochs() {
    let bed = Bed::new();
    for (id, epoch) in [(1, 11), (2, 12), (3, 13)] {
        let other = Other {
            epoch,
            ..Other::default()
        };
        bed.register(id, other);
    }
    let placed = Placed::on(&[1, 2, 3]).isr(&[1, 3]).in_epoch(6).version(40);
    bed.place("a-0", &placed);
    let fetcher = Fetcher::Follower {
        broker: broker(2),
        broker_epoch: Some(BrokerEpoch::new(12)),
    };
    bed.fetch_one(fetcher, from_follower("a-0", 0)).unwrap();
    let proposal = bed.proposal();
    assert_eq!(proposal.topic_id, bed.topic_id("a"));
    assert_eq!(
        (proposal.leader_epoch.get(), proposal.partition_epoch),
        (6, 40)
    );
    let member = |id, epoch| IsrMember {
        broker: broker(id),
        broker_epoch: BrokerEpoch::new(epoch),
    };
    assert_eq!(proposal.isr, [member(1, 11), member(3, -1), member(2, 12)]);
}

#[test]
fn a_refusal_lets_the_next_fetch_try_again_and_news_ends_the_wait_for_an_answer() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.follow("a-0", 2, 0);
    let first = bed.proposal();
    bed.answer(&first, IsrAnswer::TryLater);
    bed.follow("a-0", 2, 0);
    let second = bed.proposal();
    assert_eq!(second, first);
    bed.answer(&second, IsrAnswer::Superseded);
    bed.follow("a-0", 2, 0);
    assert!(bed.take_proposals().is_empty());
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).version(50));
    bed.follow("a-0", 2, 0);
    assert_eq!(bed.proposal().partition_epoch, 50);
}

#[test]
fn a_late_refusal_does_not_end_the_proposal_that_came_after() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.follow("a-0", 2, 0);
    let first = bed.proposal();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.follow("a-0", 2, 0);
    let second = bed.proposal();
    bed.answer(&first, IsrAnswer::TryLater);
    bed.follow("a-0", 2, 0);
    assert!(bed.take_proposals().is_empty());
    bed.accept(&second);
    assert_eq!(bed.isr("a-0"), brokers(&[1, 2]));
}

#[test]
fn an_answer_to_what_is_over_changes_nothing() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.follow("a-0", 2, 0);
    let proposal = bed.proposal();
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).in_epoch(2));
    let before = bed.status("a-0");
    bed.accept(&proposal);
    assert_eq!(bed.status("a-0"), before);
}

#[test]
fn one_that_has_not_come_to_the_leader_epoch_stays_out() {
    let bed = Bed::new();
    bed.set("a", min_isr(2));
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]));
    bed.fill("a-0", 5);
    assert_eq!(bed.high_watermark("a-0"), 0);
    bed.place("a-0", &Placed::on(&[1, 2]).isr(&[1]).in_epoch(2));
    bed.follow("a-0", 2, 4);
    assert!(
        bed.take_proposals().is_empty(),
        "it has the mark but not the epoch"
    );
    bed.follow("a-0", 2, 5);
    assert_eq!(bed.take_proposals().len(), 1);
}

/// Covers RE-067: while replicas are on the move, those that come and those that go are followed, and
/// the target counts; otherwise there is one list.
#[test]
fn re_067_a_reassignment_follows_all_and_counts_its_target() {
    let bed = Bed::new();
    let known = |placed: &Placed| {
        bed.place("a-0", placed);
        let PartitionRole::Leader {
            followers,
            assigned,
            ..
        } = bed.status("a-0").role
        else {
            panic!("it leads");
        };
        let ids: Vec<_> = followers.iter().map(|it| it.broker.get()).collect();
        (ids, assigned)
    };
    assert_eq!(known(&Placed::on(&[1, 2])), (vec![2], 2));
    let moving = Placed::on(&[1, 2, 3, 4]).isr(&[1, 2]);
    let moving = moving.reassigning(&[3, 4], &[2]);
    assert_eq!(known(&moving), (vec![2, 3, 4], 3));
    assert_eq!(known(&Placed::on(&[1, 3, 4])), (vec![3, 4], 3));
}

#[test]
fn re_066_a_partition_is_short_of_replicas_by_its_target_and_by_the_minimum() {
    let bed = Bed::new();
    bed.set("a", min_isr(2));
    let flags = |placed: &Placed| {
        bed.place("a-0", placed);
        let role = bed.status("a-0").role;
        let flag = |it: fn(&PartitionRole) -> bool| it(&role);
        [
            flag(PartitionRole::is_under_replicated),
            flag(PartitionRole::is_at_min_isr),
            flag(PartitionRole::is_under_min_isr),
        ]
    };
    let on = Placed::on(&[1, 2, 3]);
    assert_eq!(flags(&on), [false, false, false]);
    assert_eq!(flags(&on.clone().isr(&[1, 2])), [true, true, false]);
    assert_eq!(flags(&on.clone().isr(&[1])), [true, false, true]);
    // On the way from 1, 2 to 1, 3: the target has two.
    let moving = on.isr(&[1, 2]).reassigning(&[3], &[2]);
    assert_eq!(flags(&moving), [false, true, false]);
    assert_eq!(flags(&Placed::on(&[2, 1]).in_epoch(2)), [false; 3]);
}
