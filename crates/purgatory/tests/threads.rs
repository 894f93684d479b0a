//! Many threads at once. Each test is bounded by counts; none waits for time to pass.

mod support;

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use klamm_purgatory::{DelayedOperation, Purgatory, PurgatoryConfig, TimingWheel, WheelConfig};
use support::{Op, Outcome, Setting, an_instant, ms};

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        // An xorshift generator: good enough to mix the order of steps.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

fn assert_send_and_sync<T: Send + Sync>() {}

/// Can be sent to another thread and not be shared between two.
struct Sent(Cell<u8>);

impl DelayedOperation for Sent {
    type Done = u8;

    fn try_complete(&mut self) -> Option<u8> {
        None
    }

    fn expire(&mut self) -> u8 {
        self.0.get()
    }
}

#[test]
fn a_purgatory_is_shared_between_threads_if_its_operations_can_be_sent() {
    assert_send_and_sync::<Purgatory<String, Op>>();
    assert_send_and_sync::<Purgatory<String, Sent>>();
}

/// Checks, expiry and cancelling race for the same operations, under one and under many keys.
#[test]
fn pu_002_each_operation_has_one_outcome_however_many_want_it() {
    const ROUNDS: u64 = 300;
    const OPERATIONS: usize = 24;
    for (shards, purge_interval) in [(1, 0), (4, 5), (512, 1000)] {
        let setting = Setting::with(PurgatoryConfig {
            shards,
            purge_interval,
            ..PurgatoryConfig::default()
        });
        for round in 0..ROUNDS {
            let handles: Vec<_> = (0..OPERATIONS)
                .map(|id| {
                    let keys = [id % 3, 3 + id % 4, 7];
                    let timeout = ms(round + id as u64 % 2);
                    setting.enter(id, &keys[..=(id % 3)], timeout)
                })
                .collect();
            let barrier = Barrier::new(4);
            let wait = || {
                barrier.wait();
            };
            let (setting, wait, handles) = (&setting, &wait, &handles);
            let outcomes: Vec<usize> = thread::scope(|scope| {
                let checker = |keys: [usize; 4]| {
                    move || {
                        wait();
                        handles
                            .iter()
                            .step_by(2)
                            .for_each(|handle| handle.make_ready());
                        let done = keys.iter().flat_map(|key| setting.check(key));
                        done.collect::<Vec<_>>()
                    }
                };
                let forwards = scope.spawn(checker([0, 1, 5, 7]));
                let backwards = scope.spawn(checker([7, 4, 3, 0]));
                let expirer = scope.spawn(move || {
                    wait();
                    setting.advance(ms(round))
                });
                let canceller = scope.spawn(move || {
                    wait();
                    let cancelled = setting.purgatory.cancel(&2);
                    cancelled
                        .operations
                        .iter()
                        .map(|op| op.id)
                        .collect::<Vec<_>>()
                });
                let mut ids = canceller.join().unwrap();
                for finished in [forwards, backwards, expirer] {
                    ids.extend(
                        finished
                            .join()
                            .unwrap()
                            .iter()
                            .map(|outcome| match outcome {
                                Outcome::Completed(id) | Outcome::Expired(id) => *id,
                            }),
                    );
                }
                ids
            });
            // What is left expires, now that nobody has anything in hand.
            let left = setting.advance(ms(round + 1));
            let mut ids: Vec<usize> = outcomes;
            ids.extend(left.iter().map(|outcome| match outcome {
                Outcome::Expired(id) => *id,
                Outcome::Completed(id) => panic!("{id} was not checked"),
            }));
            ids.sort_unstable();
            assert_eq!(ids, (0..OPERATIONS).collect::<Vec<_>>());
            assert!(handles.iter().all(|handle| handle.dropped() == 1));
            assert_eq!(setting.purgatory.delayed(), 0);
        }
        setting.purgatory.purge();
        assert_eq!(setting.counts(), (0, 0));
        assert_eq!(setting.purgatory.watched_keys(), 0);
    }
}

/// Shares a lock with the test, and complains if it is asked twice at a time.
struct Exclusive {
    inside: Arc<AtomicBool>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    asked: usize,
    ready: bool,
}

impl DelayedOperation for Exclusive {
    type Done = usize;

    fn try_complete(&mut self) -> Option<usize> {
        assert!(!self.inside.swap(true, Ordering::SeqCst), "asked by two");
        let mut shared = self.shared.lock().unwrap();
        shared.asked += 1;
        thread::yield_now();
        let done = shared.ready.then_some(shared.asked);
        self.inside.store(false, Ordering::SeqCst);
        done
    }

    fn expire(&mut self) -> usize {
        0
    }
}

/// Covers PU-006: also with a lock that the operation shares with other state.
#[test]
fn pu_006_checks_of_one_operation_never_overlap() {
    const CHECKS: usize = 500;
    let start = an_instant();
    let purgatory = Purgatory::new(start, PurgatoryConfig::default()).unwrap();
    let shared = Arc::new(Mutex::new(Shared::default()));
    let op = Exclusive {
        inside: Arc::default(),
        shared: Arc::clone(&shared),
    };
    let entered = purgatory.try_complete_else_watch(op, &[1, 2], None);
    assert_eq!(entered.unwrap(), None);
    let completed: usize = thread::scope(|scope| {
        let checkers: Vec<_> = (0..4)
            .map(|number| {
                let (purgatory, shared) = (&purgatory, &shared);
                scope.spawn(move || {
                    let mut done = Vec::new();
                    for round in 0..CHECKS {
                        if number == 0 && round == CHECKS / 2 {
                            // The state it shares is changed between two of its checks.
                            shared.lock().unwrap().ready = true;
                        }
                        purgatory.check(&(1 + number % 2), &mut done);
                    }
                    done.len()
                })
            })
            .collect();
        checkers
            .into_iter()
            .map(|checker| checker.join().unwrap())
            .sum()
    });
    assert_eq!(completed, 1);
    assert_eq!(purgatory.delayed(), 0);
}

/// Covers PU-024: what was made ready before its last check has completed, with no further event.
#[test]
fn pu_024_random_checks_by_twenty_threads_leave_nothing_behind() {
    const OPERATIONS: usize = 100;
    const CHECKS: usize = 20;
    let setting = Setting::new();
    let handles: Vec<_> = (0..OPERATIONS)
        .map(|id| setting.enter(id, &[id, OPERATIONS + id % 10], ms(1_000)))
        .collect();
    let checks_left: Vec<AtomicUsize> = (0..OPERATIONS).map(|_| AtomicUsize::new(CHECKS)).collect();
    let completed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for thread in 0..20u64 {
            let (setting, handles) = (&setting, &handles);
            let (checks_left, completed) = (&checks_left, &completed);
            scope.spawn(move || {
                let mut numbers = Numbers(thread + 1);
                for _ in 0..OPERATIONS * CHECKS / 20 {
                    // Any operation that still has checks to come.
                    let mut id = numbers.below(OPERATIONS);
                    let taken = |id: usize| {
                        checks_left[id].fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                            left.checked_sub(1)
                        })
                    };
                    let left = loop {
                        match taken(id) {
                            Ok(left) => break left,
                            Err(_) => id = (id + 1) % OPERATIONS,
                        }
                    };
                    if left == 1 {
                        handles[id].make_ready();
                    }
                    let done = setting.check(&id);
                    completed.lock().unwrap().extend(done);
                }
            });
        }
    });
    let mut completed = completed.into_inner().unwrap();
    completed.sort_unstable();
    let expected: Vec<_> = (0..OPERATIONS).map(Outcome::Completed).collect();
    assert_eq!(completed, expected);
    assert_eq!(setting.purgatory.delayed(), 0);
}

/// Covers PU-010, PU-019: entering races with checks that announce the very event it waits for,
/// and with the forgetting of its key.
#[test]
fn pu_019_an_operation_that_enters_while_its_key_is_forgotten_is_not_lost() {
    const ROUNDS: usize = 20_000;
    for keys in [&[1u8][..], &[2, 1][..], &[1, 2, 3][..]] {
        let setting = Setting::new();
        let barrier = Barrier::new(2);
        let handles: Mutex<Option<Arc<support::Handle>>> = Mutex::new(None);
        let outcomes: usize = thread::scope(|scope| {
            let (setting, barrier, handles) = (&setting, &barrier, &handles);
            let enterer = scope.spawn(move || {
                let mut completed = 0;
                for round in 0..ROUNDS {
                    let (op, handle) = Op::new(round);
                    *handles.lock().unwrap() = Some(handle);
                    // One that is there first, so that the key may be forgotten meanwhile.
                    let first = setting.enter(round, &[1], ms(1_000));
                    first.make_ready();
                    barrier.wait();
                    let entered = setting.purgatory.try_complete_else_watch(op, keys, None);
                    completed += usize::from(entered.unwrap().is_some());
                    barrier.wait();
                }
                completed
            });
            let checker = scope.spawn(move || {
                let mut completed = 0;
                for _ in 0..ROUNDS {
                    barrier.wait();
                    handles.lock().unwrap().as_ref().unwrap().make_ready();
                    completed += setting.check(&1).len();
                    barrier.wait();
                }
                completed
            });
            enterer.join().unwrap() + checker.join().unwrap()
        });
        assert_eq!(outcomes, 2 * ROUNDS);
        assert_eq!(setting.purgatory.delayed(), 0);
    }
}

/// Covers PU-043: for the purgatory's timers, and for a wheel behind a lock.
#[test]
fn pu_043_many_threads_add_while_the_time_moves() {
    const EACH: usize = 2_000;
    const THREADS: usize = 4;
    let setting = Setting::new();
    let wheel = TimingWheel::new(setting.start, WheelConfig::default()).unwrap();
    let wheel = Mutex::new(wheel);
    let adding = AtomicUsize::new(THREADS);
    let (mut expired, mut due) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (setting, wheel, adding) = (&setting, &wheel, &adding);
            scope.spawn(move || {
                let mut numbers = Numbers(thread as u64 + 1);
                for number in 0..EACH {
                    let id = thread * EACH + number;
                    let timeout = ms(numbers.below(2_000) as u64);
                    setting.enter(id, &[id % 50], timeout);
                    wheel.lock().unwrap().insert(setting.start + timeout, id);
                }
                adding.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let mut now = 0;
        while adding.load(Ordering::SeqCst) > 0 {
            now += 1;
            expired.extend(setting.advance(ms(now)));
            let now = setting.start + ms(now);
            wheel.lock().unwrap().advance(now, &mut due);
            thread::yield_now();
        }
    });
    expired.extend(setting.advance(ms(u64::from(u32::MAX))));
    wheel
        .into_inner()
        .unwrap()
        .advance(setting.start + ms(u64::from(u32::MAX)), &mut due);
    let expected: HashSet<usize> = (0..THREADS * EACH).collect();
    let expired_ids: Vec<usize> = expired
        .iter()
        .map(|outcome| match outcome {
            Outcome::Completed(id) | Outcome::Expired(id) => *id,
        })
        .collect();
    for ids in [expired_ids, due] {
        assert_eq!(ids.len(), expected.len());
        assert_eq!(ids.into_iter().collect::<HashSet<_>>(), expected);
    }
}
