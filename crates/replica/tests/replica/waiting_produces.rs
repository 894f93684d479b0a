//! Appends that wait until they are safe.

use klamm_records::Codecs;
use klamm_replica::{AppendError, AppendOutcome, Fetcher, NotServed};

use crate::support::{
    AppendResult, Bed, Done, Placed, append_request, batch, idempotent, millis, min_isr, offset,
    patient, produced, records, secs, tickets, wanted,
};

fn three() -> Bed {
    let bed = Bed::new();
    bed.set("a", min_isr(2));
    bed.place("a-0", &Placed::on(&[1, 2, 3]));
    bed
}

/// An append with acks=-1 waits under this ticket.
fn waits(bed: &Bed, ticket: u32) {
    let (at_once, done) = bed.produce(-1, &[("a-0", records(1))], ticket);
    assert!(at_once.is_none() && done.is_empty());
}

fn result(done: Vec<Done>) -> AppendResult {
    produced(done).1.remove(0)
}

/// Covers RE-071, PU-049, B2.6, B5.2.
#[test]
fn pu_049_it_is_done_when_the_mark_has_reached_the_offset_behind_its_last_record() {
    let bed = three();
    let (at_once, _) = bed.produce(-1, &[("a-0", records(3))], 1);
    assert!(at_once.is_none());
    bed.follow("a-0", 2, 3);
    assert!(bed.follow("a-0", 3, 2).is_empty());
    let done = result(bed.follow("a-0", 3, 3)).unwrap();
    assert_eq!(
        (done.first_offset, done.last_offset),
        (offset(0), offset(2))
    );
    assert_eq!(bed.manager.waiting().produces, 0);
}

/// Covers PU-047, PU-050, B2.4, B2.5.
#[test]
fn pu_050_it_is_done_when_no_partition_waits_any_more_and_once() {
    let bed = three();
    bed.place("b-0", &Placed::on(&[1, 2]));
    let entries = [
        ("a-0", records(1)),
        ("b-0", records(1)),
        ("c-0", records(1)),
    ];
    assert!(bed.produce(-1, &entries, 9).0.is_none());
    bed.follow("a-0", 2, 1);
    assert!(bed.follow("a-0", 3, 1).is_empty());
    let (ticket, results) = produced(bed.follow("b-0", 2, 1));
    assert_eq!(ticket, 9);
    assert!(results[0].is_ok() && results[1].is_ok());
    assert!(matches!(
        results[2],
        Err(AppendError::NotServed(NotServed::UnknownPartition))
    ));
    bed.fill("a-0", 1);
    bed.follow("a-0", 2, 2);
    assert!(bed.follow("a-0", 3, 2).is_empty());
    assert!(bed.pass(secs(100)).is_empty());
}

#[test]
fn pu_048_at_the_timeout_those_that_wait_are_late_and_others_keep_their_outcome() {
    let bed = three();
    bed.place("b-0", &Placed::on(&[1]));
    let entries = [
        ("a-0", records(1)),
        ("b-0", records(1)),
        ("c-0", records(1)),
    ];
    assert!(bed.produce(-1, &entries, 9).0.is_none());
    bed.follow("a-0", 2, 1);
    assert!(bed.pass(millis(29_999)).is_empty());
    let (_, results) = produced(bed.pass(millis(1)));
    assert!(matches!(results[0], Err(AppendError::TimedOut)));
    assert!(results[1].is_ok());
    assert!(matches!(results[2], Err(AppendError::NotServed(_))));
}

#[test]
fn re_013_who_waits_for_a_former_leader_is_told_at_once() {
    let bed = three();
    waits(&bed, 1);
    let (_, done) = bed.place("a-0", &Placed::on(&[1, 2, 3]).led_by(2).in_epoch(2));
    let refused = result(done);
    assert!(matches!(
        refused,
        Err(AppendError::NotServed(NotServed::NotLeader))
    ));

    bed.place("b-0", &Placed::on(&[1, 2]));
    assert!(bed.produce(-1, &[("b-0", records(1))], 1).0.is_none());
    assert!(result(bed.delete_topic("b").1).is_err());

    bed.place("c-0", &Placed::on(&[1, 2]));
    assert!(bed.produce(-1, &[("c-0", records(1))], 1).0.is_none());
    assert!(result(bed.place("c-0", &Placed::on(&[2, 3]).in_epoch(2)).1).is_err());
}

#[test]
fn who_waits_goes_on_waiting_when_the_same_leader_is_elected_again() {
    let bed = three();
    waits(&bed, 1);
    let (_, done) = bed.place("a-0", &Placed::on(&[1, 2, 3]).in_epoch(2));
    assert!(done.is_empty());
    bed.follow("a-0", 2, 1);
    assert!(result(bed.follow("a-0", 3, 1)).is_ok());
}

#[test]
fn who_leads_again_after_epochs_that_were_not_seen_takes_nothing_for_granted() {
    let bed = three();
    waits(&bed, 1);
    bed.follow("a-0", 2, 1);
    let (_, done) = bed.place("a-0", &Placed::on(&[1, 2, 3]).in_epoch(3));
    assert!(matches!(
        result(done),
        Err(AppendError::NotServed(NotServed::NotLeader))
    ));
    bed.follow("a-0", 3, 1);
    assert_eq!(bed.high_watermark("a-0"), 0, "2 may have been cut");
    bed.follow("a-0", 2, 1);
    assert_eq!(bed.high_watermark("a-0"), 1);
}

#[test]
fn re_115_covered_by_the_mark_but_with_too_few_in_sync_it_is_said_so() {
    let bed = three();
    waits(&bed, 1);
    bed.follow("a-0", 2, 1);
    // The set falls below the minimum in the same moment as the mark covers the record, which
    // a set of one does not move by itself.
    let raised = bed.logs.get(&"a-0".parse().unwrap()).unwrap();
    raised.lock().raise_high_watermark(offset(1), None).unwrap();
    let (_, done) = bed.place("a-0", &Placed::on(&[1, 2, 3]).isr(&[1]));
    assert!(matches!(
        result(done),
        Err(AppendError::NotEnoughReplicasAfterAppend {
            in_sync: 1,
            min_in_sync: 2
        })
    ));
    assert_eq!(bed.offsets("a-0").log_end, offset(1));
}

/// Covers C113.
#[test]
fn c113_a_batch_sent_again_waits_like_the_first() {
    let bed = three();
    let once = batch(&idempotent(7, 0), 1, b"value");
    for ticket in [1, 2] {
        let (at_once, done) = bed.produce(-1, &[("a-0", once.clone())], ticket);
        assert!(at_once.is_none() && done.is_empty());
    }
    bed.follow("a-0", 2, 1);
    assert_eq!(tickets(&bed.follow("a-0", 3, 1)), [1, 2]);
    let (at_once, _) = bed.produce(-1, &[("a-0", once)], 3);
    assert!(at_once.unwrap()[0].result.is_ok());
}

#[test]
fn c112_a_request_that_is_done_leaves_nothing_behind_whatever_its_timeout_was() {
    let bed = three();
    for ticket in 0..100 {
        let mut request = append_request(-1, &[("a-0", records(1))]);
        request.timeout = millis(u64::from(u32::MAX / 2));
        assert!(bed.produce_request(&request, ticket).0.is_none());
        let end = i64::from(ticket) + 1;
        bed.follow("a-0", 2, end);
        assert_eq!(tickets(&bed.follow("a-0", 3, end)), [ticket]);
    }
    assert_eq!(bed.manager.waiting().produces, 0);
    let isr_check = bed.instant() + secs(15);
    assert_eq!(bed.manager.next_deadline(), Some(isr_check));
}

/// Covers PU-062.
#[test]
fn pu_062_a_partitions_events_reach_what_waits_for_it_and_no_more() {
    let bed = three();
    bed.place("b-0", &Placed::on(&[1, 2]));
    waits(&bed, 1);
    assert!(bed.produce(-1, &[("b-0", records(1))], 2).0.is_none());
    assert_eq!(tickets(&bed.follow("b-0", 2, 1)), [2]);
    assert_eq!(bed.manager.waiting().produces, 1);
}

/// Covers RE-040.
#[test]
fn an_append_wakes_others_only_once_its_own_answer_was_given() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1]));
    let request = patient(Fetcher::Consumer, 1, vec![wanted("a-0", 0)]);
    assert!(bed.fetch(request, 5).0.is_none());
    let request = append_request(-1, &[("a-0", records(1))]);
    let (outcome, then) = bed
        .manager
        .append(request, &mut Codecs::default(), bed.now());
    assert!(matches!(outcome, AppendOutcome::Done(_)));
    assert_eq!(bed.manager.waiting().fetches, 1);
    assert_eq!(tickets(&bed.follow_up(then)), [5]);
}

#[test]
fn a_change_of_many_partitions_completes_across_them() {
    let bed = Bed::new();
    let names: Vec<_> = (0..20).map(|index| format!("a-{index}")).collect();
    for name in &names {
        bed.place(name, &Placed::on(&[1, 2]));
    }
    for ticket in 0..20_usize {
        let pair = [&names[ticket], &names[(ticket + 1) % 20]];
        let entries = pair.map(|name| (&**name, records(1)));
        let (at_once, _) = bed.produce(-1, &entries, u32::try_from(ticket).unwrap());
        assert!(at_once.is_none());
    }
    let mut woken = Vec::new();
    for name in &names {
        woken.extend(tickets(&bed.follow(name, 2, 2)));
    }
    woken.sort_unstable();
    assert_eq!(woken, (0..20).collect::<Vec<_>>());
}
