//! Entering, checking and cancelling, one thread at a time.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use klamm_purgatory::{Cancelled, DelayedOperation, Purgatory, PurgatoryConfig};
use support::{Op, Outcome, Setting, an_instant, ms};

/// Covers PU-001, PU-004: an operation finishes by its check or by its timeout, and is told
/// which.
#[test]
fn pu_001_an_operation_has_a_timeout_a_check_and_an_outcome_for_either() {
    let setting = Setting::new();
    let by_check = setting.enter(1, &["a"], ms(50));
    let by_timeout = setting.enter(2, &["a"], ms(50));
    by_check.make_ready();
    assert_eq!(setting.check(&"a"), [Outcome::Completed(1)]);
    assert_eq!(setting.advance(ms(50)), [Outcome::Expired(2)]);
    assert_eq!((by_check.expired(), by_timeout.expired()), (0, 1));
    assert_eq!((by_check.dropped(), by_timeout.dropped()), (1, 1));
}

#[test]
fn pu_003_finishing_early_takes_the_timeout_out() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a"], ms(50));
    assert!(setting.purgatory.next_deadline().is_some());
    handle.make_ready();
    setting.check(&"a");
    assert_eq!(setting.purgatory.next_deadline(), None);
    assert_eq!(setting.advance(ms(1_000)), []);
    assert_eq!(handle.expired(), 0);
}

#[test]
fn pu_004_at_its_timeout_an_operation_is_finished_without_being_asked() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a"], ms(50));
    let asked = handle.asked();
    assert_eq!(setting.advance(ms(50)), [Outcome::Expired(1)]);
    assert_eq!((handle.asked(), handle.expired()), (asked, 1));
    assert_eq!(setting.counts(), (0, 0));
}

#[test]
fn pu_005_what_has_finished_stays_finished() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a", "b"], ms(50));
    handle.make_ready();
    assert_eq!(setting.check(&"a"), [Outcome::Completed(1)]);
    let asked = handle.asked();
    assert_eq!(setting.purgatory.delayed(), 0);
    assert_eq!(setting.check(&"a"), []);
    assert_eq!(setting.check(&"b"), []);
    assert_eq!(setting.advance(ms(50)), []);
    assert_eq!(setting.purgatory.cancel(&"b").operations.len(), 0);
    assert_eq!(
        (handle.asked(), handle.expired(), handle.dropped()),
        (asked, 0, 1)
    );
}

#[test]
fn pu_008_a_check_that_finds_nothing_changed_changes_nothing() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a", "b"], ms(50));
    let before = (setting.counts(), setting.purgatory.next_deadline());
    assert_eq!(setting.check(&"a"), []);
    assert_eq!(
        (setting.counts(), setting.purgatory.next_deadline()),
        before
    );
    handle.make_ready();
    assert_eq!(setting.check(&"b"), [Outcome::Completed(1)]);
}

#[test]
fn pu_009_what_can_finish_on_entering_is_never_watched_nor_timed() {
    let setting = Setting::new();
    let (op, handle) = Op::new(1);
    handle.make_ready();
    let deadline = Some(setting.start + ms(50));
    let entered = setting
        .purgatory
        .try_complete_else_watch(op, &["a", "b"], deadline);
    assert_eq!(entered.unwrap(), Some(Outcome::Completed(1)));
    assert_eq!((setting.counts(), handle.asked()), ((0, 0), 1));
    assert_eq!(setting.purgatory.next_deadline(), None);
}

#[test]
fn pu_010_an_operation_is_watched_under_every_key_and_then_timed() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a", "b", "c"], ms(50));
    assert_eq!(setting.counts(), (3, 1));
    // Nothing happened while it entered, so it was asked once.
    assert_eq!(handle.asked(), 1);
    for (checks, key) in (2..).zip(["a", "b", "c"]) {
        assert_eq!(setting.check(&key), []);
        assert_eq!(handle.asked(), checks);
    }
    assert_eq!(setting.advance(ms(50)), [Outcome::Expired(1)]);
}

/// Covers PU-009, PU-010: an event between the first check and the watching is not lost.
#[test]
fn pu_010_an_operation_is_asked_again_if_one_of_its_keys_is_checked_while_it_enters() {
    /// Becomes ready, and announces it, right after it has been found not to be.
    struct OvertakenBy {
        key: u32,
        purgatory: Arc<Purgatory<u32, OvertakenBy>>,
        asked: usize,
    }

    impl DelayedOperation for OvertakenBy {
        type Done = usize;

        fn try_complete(&mut self) -> Option<usize> {
            self.asked += 1;
            if self.asked == 1 {
                let mut done = Vec::new();
                assert_eq!(self.purgatory.check(&self.key, &mut done), 0);
                return None;
            }
            Some(self.asked)
        }

        fn expire(&mut self) -> usize {
            0
        }
    }

    for shards in [1, 512] {
        for key in 0..3 {
            let config = PurgatoryConfig {
                shards,
                ..PurgatoryConfig::default()
            };
            let start = an_instant();
            let purgatory = Arc::new(Purgatory::new(start, config).unwrap());
            let op = OvertakenBy {
                key,
                purgatory: Arc::clone(&purgatory),
                asked: 0,
            };
            let entered = purgatory.try_complete_else_watch(op, &[0, 1, 2], None);
            assert_eq!(entered.unwrap(), Some(2));
            assert_eq!(purgatory.delayed(), 0);
        }
    }
}

#[test]
fn pu_011_entering_under_no_key_is_refused_and_the_operation_handed_back() {
    let setting = Setting::<&str>::new();
    let (op, handle) = Op::new(1);
    let refused = setting
        .purgatory
        .try_complete_else_watch(op, &[], None)
        .unwrap_err();
    assert_eq!((refused.0.id, handle.asked(), handle.dropped()), (1, 0, 0));
    assert_eq!(setting.counts(), (0, 0));
}

#[test]
fn pu_012_a_check_asks_every_operation_under_the_key_and_counts_its_own() {
    let setting = Setting::new();
    let handles: Vec<_> = (0..200)
        .map(|id| setting.enter(id, &["a"], ms(50)))
        .collect();
    for handle in handles.iter().step_by(2) {
        handle.make_ready();
    }
    let expected: Vec<_> = (0..200).step_by(2).map(Outcome::Completed).collect();
    assert_eq!(setting.check(&"a"), expected, "oldest first");
    assert!(handles.iter().all(|handle| handle.asked() == 2));
    assert_eq!(setting.check(&"nobody waits here"), []);
}

#[test]
fn pu_013_operations_under_other_keys_are_untouched() {
    let setting = Setting::new();
    let first = setting.enter(1, &["test1"], ms(50));
    let second = setting.enter(2, &["test2"], ms(50));
    first.make_ready();
    second.make_ready();
    assert_eq!(setting.check(&"test1"), [Outcome::Completed(1)]);
    assert_eq!(second.asked(), 1);
    assert_eq!(setting.check(&"test2"), [Outcome::Completed(2)]);
}

#[test]
fn pu_014_of_two_checks_the_first_one_completes() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a"], ms(50));
    assert_eq!(setting.check(&"a"), []);
    handle.make_ready();
    assert_eq!(setting.check(&"a").len(), 1);
    assert_eq!(setting.check(&"a").len(), 0);
}

#[test]
fn pu_015_a_finished_operation_leaves_the_list_without_being_counted() {
    let setting = Setting::new();
    let both = setting.enter(1, &["a", "b"], ms(50));
    let other = setting.enter(2, &["b"], ms(50));
    both.make_ready();
    setting.check(&"a");
    assert_eq!(setting.purgatory.watched(), 2, "one left under b");
    other.make_ready();
    assert_eq!(setting.check(&"b"), [Outcome::Completed(2)]);
    assert_eq!(setting.counts(), (0, 0));
}

#[test]
fn pu_016_watched_counts_entries_and_delayed_counts_operations() {
    let setting = Setting::new();
    setting.enter(1, &["test1"], ms(50));
    setting.enter(2, &["test1", "test2"], ms(50));
    setting.enter(3, &["test1", "test2", "test3"], ms(50));
    assert_eq!(setting.counts(), (6, 3));
}

#[test]
fn pu_017_finishing_lowers_delayed_at_once_and_watched_key_by_key() {
    let setting = Setting::new();
    setting.enter(1, &["test1"], ms(1_000));
    setting.enter(2, &["test1", "test2"], ms(50));
    setting.enter(3, &["test1", "test2", "test3"], ms(50));
    // Finished by nobody's check.
    assert_eq!(setting.advance(ms(50)).len(), 2);
    assert_eq!(setting.counts(), (6, 1));
    for (key, watched) in [("test1", 4), ("test2", 2), ("test3", 1)] {
        setting.check(&key);
        assert_eq!(setting.counts(), (watched, 1));
    }
}

#[test]
fn pu_018_a_key_is_forgotten_with_its_last_entry() {
    let setting = Setting::new();
    for key in 0..10_000u64 {
        let handle = setting.enter(0, &[key], ms(50));
        handle.make_ready();
        assert_eq!(setting.check(&key).len(), 1);
    }
    assert_eq!(setting.purgatory.watched_keys(), 0);
    setting.enter(0, &[7, 8], ms(50));
    assert_eq!(setting.purgatory.watched_keys(), 2);
    setting.advance(ms(50));
    setting.check(&7);
    setting.check(&8);
    assert_eq!(setting.purgatory.watched_keys(), 0);
}

/// Covers PU-019: the key comes back for the next operation, with its list.
#[test]
fn pu_019_a_key_that_was_forgotten_is_found_when_something_is_added_again() {
    let setting = Setting::new();
    for _ in 0..3 {
        let handle = setting.enter(1, &["a"], ms(50));
        handle.make_ready();
        assert_eq!(setting.check(&"a").len(), 1);
        assert_eq!(setting.purgatory.watched_keys(), 0);
    }
}

#[test]
fn pu_020_any_key_works_over_any_number_of_shards() {
    for shards in [1, 2, 3, 512] {
        let setting = Setting::with(PurgatoryConfig {
            shards,
            ..PurgatoryConfig::default()
        });
        let keys: Vec<i64> = (-1_000..1_000).chain([i64::MIN, i64::MAX]).collect();
        let handles: Vec<_> = (0..keys.len())
            .map(|id| setting.enter(id, &keys[id..=id], ms(50)))
            .collect();
        for (id, key) in keys.iter().enumerate() {
            handles[id].make_ready();
            assert_eq!(setting.check(key), [Outcome::Completed(id)]);
        }
        assert_eq!(setting.counts(), (0, 0));
    }
}

#[test]
fn pu_021_cancelling_takes_the_operations_out_as_they_are() {
    let setting = Setting::new();
    let nothing = setting.purgatory.cancel(&"a");
    assert_eq!((nothing.operations.len(), nothing.being_asked), (0, 0));

    let first = setting.enter(1, &["a"], ms(50));
    let second = setting.enter(2, &["b", "a"], ms(50));
    let third = setting.enter(3, &["b"], ms(50));
    let Cancelled {
        operations,
        being_asked,
    } = setting.purgatory.cancel(&"a");
    let ids: Vec<usize> = operations.iter().map(|op| op.id).collect();
    assert_eq!((ids, being_asked), (vec![1, 2], 0));
    assert_eq!(setting.purgatory.delayed(), 1);

    // Cancelled, they are neither asked nor expired any more.
    for handle in [&first, &second, &third] {
        handle.make_ready();
    }
    assert_eq!(setting.check(&"a"), []);
    assert_eq!(setting.check(&"b"), [Outcome::Completed(3)]);
    assert_eq!(setting.advance(ms(1_000)), []);
    assert_eq!((first.asked(), second.asked()), (1, 1));
    assert_eq!((first.dropped(), second.dropped()), (0, 0));
    assert_eq!(setting.counts(), (0, 0));
}

/// Covers PU-022: outcomes are values, so nothing that a caller holds is wanted inside.
#[test]
fn pu_022_a_key_may_be_checked_under_a_lock_that_acting_on_the_outcome_needs() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a"], ms(50));
    handle.make_ready();
    let answered = Mutex::new(Vec::new());
    let done = {
        let _held = answered.lock().unwrap();
        setting.check(&"a")
    };
    answered.lock().unwrap().extend(done);
    assert_eq!(*answered.lock().unwrap(), [Outcome::Completed(1)]);
}

#[test]
fn pu_023_acting_on_an_outcome_may_enter_and_check_the_same_purgatory() {
    let setting = Setting::new();
    let first = setting.enter(1, &["a"], ms(50));
    first.make_ready();
    let mut acted = Vec::new();
    for done in setting.check(&"a") {
        let next = setting.enter(2, &["a"], ms(50));
        next.make_ready();
        acted.push(done);
        acted.extend(setting.check(&"a"));
    }
    assert_eq!(acted, [Outcome::Completed(1), Outcome::Completed(2)]);
}

/// Covers PU-023: even an operation may, while it is asked, and so may one that expires.
#[test]
fn pu_023_an_operation_may_enter_and_check_others_while_it_is_asked() {
    struct Chain {
        left: u32,
        purgatory: Arc<Purgatory<u32, Chain>>,
        waits: bool,
    }

    impl Chain {
        /// Enters one operation and finishes it, which does the same one key further down.
        fn go_on(&self) -> u32 {
            let Some(left) = self.left.checked_sub(1) else {
                return 0;
            };
            let next = Self {
                left,
                purgatory: Arc::clone(&self.purgatory),
                waits: true,
            };
            let entered = self.purgatory.try_complete_else_watch(next, &[left], None);
            assert_eq!(entered.unwrap(), None);
            let mut done = Vec::new();
            assert_eq!(self.purgatory.check(&left, &mut done), 1);
            done[0] + 1
        }
    }

    impl DelayedOperation for Chain {
        type Done = u32;

        fn try_complete(&mut self) -> Option<u32> {
            (!std::mem::take(&mut self.waits)).then(|| self.go_on())
        }

        fn expire(&mut self) -> u32 {
            self.go_on()
        }
    }

    let start = an_instant();
    let config = PurgatoryConfig {
        shards: 1,
        ..PurgatoryConfig::default()
    };
    let purgatory = Arc::new(Purgatory::new(start, config).unwrap());
    let chain = || Chain {
        left: 10,
        purgatory: Arc::clone(&purgatory),
        waits: true,
    };
    let mut done = Vec::new();
    purgatory
        .try_complete_else_watch(chain(), &[10], None)
        .unwrap();
    purgatory.check(&10, &mut done);
    purgatory
        .try_complete_else_watch(chain(), &[10], Some(start + ms(1)))
        .unwrap();
    purgatory.advance(start + ms(1), &mut done);
    assert_eq!(done, [10, 10]);
    assert_eq!((purgatory.delayed(), purgatory.watched()), (0, 0));
}

/// Moves a counter on by one each time it is asked, and says so under its own key.
struct Stepper {
    counter: Arc<AtomicUsize>,
    enough: usize,
    purgatory: Arc<Purgatory<&'static str, Stepper>>,
}

impl DelayedOperation for Stepper {
    type Done = usize;

    fn try_complete(&mut self) -> Option<usize> {
        let seen = self.counter.load(Ordering::SeqCst);
        if seen >= self.enough {
            return Some(seen);
        }
        self.counter.fetch_add(1, Ordering::SeqCst);
        let mut done = Vec::new();
        assert_eq!(self.purgatory.check(&"own", &mut done), 0);
        // It still judges by what it saw before.
        None
    }

    fn expire(&mut self) -> usize {
        usize::MAX
    }
}

/// Covers PU-007: no hang, and what it brought about itself is not missed.
#[test]
fn pu_007_an_operation_that_checks_its_own_key_while_it_is_asked_is_asked_again() {
    for keys in [&["own"][..], &["other", "own"][..]] {
        let start = an_instant();
        let purgatory = Arc::new(Purgatory::new(start, PurgatoryConfig::default()).unwrap());
        let counter = Arc::new(AtomicUsize::new(0));
        let op = Stepper {
            counter: Arc::clone(&counter),
            enough: 3,
            purgatory: Arc::clone(&purgatory),
        };
        let entered = purgatory.try_complete_else_watch(op, keys, None);
        assert_eq!(entered.unwrap(), Some(3));

        let endless = Stepper {
            counter: Arc::clone(&counter),
            enough: usize::MAX,
            purgatory: Arc::clone(&purgatory),
        };
        let entered = purgatory.try_complete_else_watch(endless, keys, Some(start));
        assert_eq!(entered.unwrap(), None, "it would go on for ever");
        let mut done = Vec::new();
        let asked_before = counter.load(Ordering::SeqCst);
        assert_eq!(purgatory.check(&keys[0], &mut done), 0);
        let asked = counter.load(Ordering::SeqCst) - asked_before;
        assert_eq!(asked, 9, "once, and eight times for its own checks");
        assert_eq!(purgatory.advance(start, &mut done), 1);
    }
}

/// Whenever it is asked, another thread checks its key meanwhile, up to a number of times.
struct Besieged {
    checks_left: usize,
    asked: usize,
    purgatory: Arc<Purgatory<&'static str, Besieged>>,
}

impl DelayedOperation for Besieged {
    type Done = usize;

    fn try_complete(&mut self) -> Option<usize> {
        self.asked += 1;
        let left = self.checks_left.checked_sub(1)?;
        self.checks_left = left;
        let purgatory = &self.purgatory;
        let completed_there = std::thread::scope(|scope| {
            let checker = scope.spawn(|| purgatory.check(&"key", &mut Vec::new()));
            checker.join().unwrap()
        });
        assert_eq!(completed_there, 0);
        (left == 0).then_some(self.asked)
    }

    fn expire(&mut self) -> usize {
        0
    }
}

/// Covers PU-006: word left by others counts however often it comes, and nobody waits meanwhile.
#[test]
fn pu_006_an_operation_is_asked_again_for_each_check_that_found_it_being_asked() {
    let start = an_instant();
    let purgatory = Arc::new(Purgatory::new(start, PurgatoryConfig::default()).unwrap());
    let op = Besieged {
        checks_left: 100,
        asked: 0,
        purgatory: Arc::clone(&purgatory),
    };
    let entered = purgatory.try_complete_else_watch(op, &["key"], None);
    assert_eq!(entered.unwrap(), Some(100));
    assert_eq!((purgatory.delayed(), purgatory.watched()), (0, 0));
}

#[test]
fn a_key_given_twice_is_watched_twice_and_finishes_once() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a", "b", "a"], ms(50));
    assert_eq!(setting.counts(), (3, 1));
    assert_eq!(setting.check(&"a"), []);
    handle.make_ready();
    assert_eq!(setting.check(&"a"), [Outcome::Completed(1)]);
    setting.purgatory.purge();
    assert_eq!(setting.counts(), (0, 0));
}

#[test]
fn an_operation_without_deadline_waits_until_it_is_checked() {
    let setting = Setting::new();
    let (op, handle) = Op::new(1);
    let entered = setting.purgatory.try_complete_else_watch(op, &["a"], None);
    assert_eq!(entered.unwrap(), None);
    assert_eq!(setting.purgatory.next_deadline(), None);
    assert_eq!(setting.advance(ms(1 << 40)), []);
    handle.make_ready();
    assert_eq!(setting.check(&"a"), [Outcome::Completed(1)]);
}

/// An operation that panics when it is asked, or when it expires.
struct Panics {
    id: usize,
    when_asked: bool,
    asked: usize,
}

impl DelayedOperation for Panics {
    type Done = usize;

    fn try_complete(&mut self) -> Option<usize> {
        self.asked += 1;
        assert!(!(self.when_asked && self.asked > 1), "on purpose");
        (self.asked > 2).then_some(self.id)
    }

    fn expire(&mut self) -> usize {
        assert!(self.id != 1, "on purpose");
        self.id
    }
}

/// A panic takes its own operation with it and nothing else.
#[test]
fn pu_045_an_operation_that_panics_leaves_the_others_in_order() {
    let start = an_instant();
    let purgatory = Purgatory::new(start, PurgatoryConfig::default()).unwrap();
    let enter = |id, when_asked| {
        let op = Panics {
            id,
            when_asked,
            asked: 0,
        };
        let deadline = Some(start + ms(50));
        let entered = purgatory.try_complete_else_watch(op, &["a"], deadline);
        assert!(entered.unwrap().is_none());
    };
    let caught = |call: &mut dyn FnMut()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
    };
    let mut done = Vec::new();

    for id in 0..3 {
        enter(id, id == 1);
    }
    assert!(caught(&mut || {
        purgatory.check(&"a", &mut done);
    }));
    assert_eq!(purgatory.delayed(), 2);
    assert_eq!(purgatory.check(&"a", &mut done), 2);

    for id in 0..3 {
        enter(id, false);
    }
    assert!(caught(&mut || {
        purgatory.advance(start + ms(50), &mut done);
    }));
    assert_eq!(done, [0, 2, 0, 2], "those beside it had their outcome");
    assert_eq!((purgatory.delayed(), purgatory.watched()), (0, 0));
    assert_eq!(purgatory.next_deadline(), None);
}
