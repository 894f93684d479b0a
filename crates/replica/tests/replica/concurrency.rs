//! Many threads at one partition.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use klamm_records::Codecs;
use klamm_replica::{AppendOutcome, FetchOutcome, Fetcher};

use crate::support::{
    Bed, Done, Number, Placed, append_request, fetch_request, follower, from_follower, patient,
    records, secs, wanted,
};

const THREADS: usize = 4;
const APPENDS: usize = 100;

/// Covers RE-110, PU-002.
#[test]
fn re_110_appends_fetches_and_changes_at_once_answer_each_request_once() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    let answered: Vec<_> = (0..THREADS * APPENDS)
        .map(|_| AtomicUsize::new(0))
        .collect();
    let stop = AtomicBool::new(false);
    let tell = |done: Vec<Done>| {
        for ticket in crate::support::tickets(&done) {
            answered[ticket as usize].fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let appenders: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (bed, answered, tell) = (&bed, &answered, &tell);
                scope.spawn(move || {
                    let mut codecs = Codecs::default();
                    for index in 0..APPENDS {
                        let ticket = u32::try_from(thread * APPENDS + index).unwrap();
                        let request = append_request(-1, &[("a-0", records(1))]);
                        let (outcome, then) = bed.manager.append(request, &mut codecs, bed.now());
                        let mut done = Vec::new();
                        match outcome {
                            AppendOutcome::Done(results) => {
                                // The follower has had it before anybody looked.
                                assert!(results[0].result.is_ok(), "{:?}", results[0].result);
                                answered[ticket as usize].fetch_add(1, Ordering::Relaxed);
                            }
                            AppendOutcome::Waits(wait) => {
                                bed.manager.wait_produce(wait, Number(ticket), &mut done);
                            }
                        }
                        bed.manager.follow_up(then, &mut done);
                        tell(done);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            // A follower that keeps up.
            let mut at = 0;
            while !stop.load(Ordering::Relaxed) {
                let request = fetch_request(follower(2), vec![from_follower("a-0", at)]);
                let (outcome, then) = bed.manager.fetch(request, bed.instant());
                let FetchOutcome::Done(results) = outcome else {
                    panic!("it does not wait");
                };
                let found = results[0].result.as_ref().unwrap();
                if let Some(last) = crate::support::offsets_in(found).last() {
                    at = last + 1;
                }
                tell(bed.follow_up(then));
            }
        });
        scope.spawn(|| {
            // The metadata changes all the time, and changes nothing.
            while !stop.load(Ordering::Relaxed) {
                tell(bed.place("a-0", &Placed::on(&[1, 2])).1);
                thread::yield_now();
            }
        });
        for appender in appenders {
            appender.join().unwrap();
        }
        let all = i64::try_from(THREADS * APPENDS).unwrap();
        while bed.high_watermark("a-0") < all {
            thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(bed.manager.waiting().produces, 0);
    assert!(answered.iter().all(|it| it.load(Ordering::Relaxed) == 1));
}

/// Covers RE-114.
#[test]
fn deleting_a_topic_while_it_is_fetched_harms_nobody() {
    let bed = Bed::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            let mut answered = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                let request = patient(Fetcher::Consumer, 1, vec![wanted("a-0", 0)]);
                let (outcome, then) = bed.manager.fetch(request, bed.instant());
                let mut done = Vec::new();
                match outcome {
                    FetchOutcome::Done(_) => answered += 1,
                    FetchOutcome::Waits(wait) => bed.manager.wait_fetch(wait, Number(1), &mut done),
                }
                bed.manager.follow_up(then, &mut done);
                answered += done.len();
            }
            answered
        });
        for _ in 0..50 {
            bed.place("a-0", &Placed::on(&[1]));
            bed.delete_topic("a");
        }
        stop.store(true, Ordering::Relaxed);
        fetching.join().unwrap();
    });
    bed.place("a-0", &Placed::on(&[1]));
    bed.delete_topic("a");
    assert_eq!(bed.manager.waiting().fetches, 0);
}

/// Covers RE-113: a replica of both assignments is found whatever is being changed.
#[test]
fn re_113_a_follower_that_stays_is_known_while_others_come_and_go() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2, 3]));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let fetching = scope.spawn(|| {
            let mut fetches = 0_usize;
            while !stop.load(Ordering::Relaxed) || fetches == 0 {
                bed.follow("a-0", 2, 0);
                fetches += 1;
            }
            fetches
        });
        for _ in 0..200 {
            for replicas in [[1, 2, 4], [1, 2, 3]] {
                bed.place("a-0", &Placed::on(&replicas));
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(fetching.join().unwrap() > 0, "each of them was let in");
    });
    // One that has gone is not.
    let request = fetch_request(follower(4), vec![from_follower("a-0", 0)]);
    let (results, _) = bed.fetch(request, 0);
    assert!(results.unwrap()[0].result.is_err());
}

/// Covers RE-111.
#[test]
fn the_check_of_in_sync_sets_waits_for_no_append_where_nothing_is_to_change() {
    let bed = Bed::new();
    bed.place("a-0", &Placed::on(&[1, 2]));
    bed.fill("a-0", 1);
    bed.follow("a-0", 2, 1);
    let log = bed.logs.get(&"a-0".parse().unwrap()).unwrap();
    thread::scope(|scope| {
        // This append stays where it needs the log, with the partition's lock for reading.
        let held = log.lock();
        let appending = scope.spawn(|| bed.fill("a-0", 1));
        for _ in 0..20 {
            assert!(bed.pass(secs(15)).is_empty());
            thread::yield_now();
        }
        assert!(!appending.is_finished());
        drop(held);
        appending.join().unwrap();
    });
    assert!(bed.take_proposals().is_empty());
}
