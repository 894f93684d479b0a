//! Timeouts, and the purge of what finished operations leave behind.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use klamm_purgatory::{ConfigError, DelayedOperation, Purgatory, PurgatoryConfig, WheelConfig};
use support::{Op, Outcome, Setting, an_instant, ms};

#[test]
fn pu_026_an_operation_never_expires_before_its_time_and_its_neighbour_stays() {
    let setting = Setting::new();
    setting.enter(1, &["a"], ms(20));
    setting.enter(2, &["a"], ms(200_000));
    let just_before = std::time::Duration::from_nanos(19_999_999);
    assert_eq!(setting.advance(just_before), []);
    assert_eq!(setting.advance(ms(20)), [Outcome::Expired(1)]);
    assert_eq!(setting.purgatory.delayed(), 1);
    assert_eq!(setting.advance(ms(199_999)), []);
    assert_eq!(setting.advance(ms(200_000)), [Outcome::Expired(2)]);
}

#[test]
fn pu_028_entries_left_by_finished_operations_are_purged_at_the_interval() {
    for (interval, most_left) in [(0, 0), (1, 2), (10, 20)] {
        let setting = Setting::with(PurgatoryConfig {
            purge_interval: interval,
            ..PurgatoryConfig::default()
        });
        let mut most = 0;
        for id in 0..100u64 {
            // Three keys each, of which one is checked.
            let keys = [3 * id, 3 * id + 1, 3 * id + 2];
            let handle = setting.enter(0, &keys, ms(50));
            handle.make_ready();
            assert_eq!(setting.check(&keys[1]).len(), 1);
            most = most.max(setting.purgatory.watched());
        }
        assert_eq!(most, most_left, "with an interval of {interval}");
        let left = setting.purgatory.watched();
        assert_eq!(setting.purgatory.purge(), left);
        assert_eq!(setting.purgatory.watched_keys(), 0);
    }
    assert_eq!(PurgatoryConfig::default().purge_interval, 1000);
}

#[test]
fn pu_028_a_purge_leaves_those_that_wait() {
    let setting = Setting::new();
    let finished = setting.enter(1, &["a", "b"], ms(50));
    let waiting = setting.enter(2, &["a", "b"], ms(50));
    finished.make_ready();
    setting.check(&"a");
    assert_eq!(setting.purgatory.purge(), 1);
    assert_eq!(setting.counts(), (2, 1));
    waiting.make_ready();
    assert_eq!(setting.check(&"b"), [Outcome::Completed(2)]);
}

/// Covers PU-029: nothing expires unless somebody moves the time, and then exactly what is due.
#[test]
fn pu_029_the_clock_is_moved_by_hand_or_not_at_all() {
    let setting = Setting::new();
    let handle = setting.enter(1, &["a"], ms(1));
    let (op, without) = Op::new(2);
    setting
        .purgatory
        .try_complete_else_watch(op, &["a"], None)
        .unwrap();
    assert_eq!((handle.expired(), setting.purgatory.delayed()), (0, 2));
    assert_eq!(setting.advance(ms(1)), [Outcome::Expired(1)]);
    assert_eq!(without.expired(), 0);
}

#[test]
fn pu_035_a_deadline_that_has_passed_is_due_without_any_move_of_the_time() {
    let setting = Setting::new();
    assert_eq!(setting.advance(ms(100)), []);
    setting.enter(1, &["a"], ms(100));
    setting.enter(2, &["b"], ms(0));
    let next = setting.purgatory.next_deadline();
    assert!(next.is_some_and(|next| next <= setting.start + ms(100)));
    let mut done = setting.advance(ms(100));
    done.sort_unstable();
    assert_eq!(done, [Outcome::Expired(1), Outcome::Expired(2)]);
}

#[test]
fn pu_036_moving_the_time_from_deadline_to_deadline_finds_each_operation_at_its_tick() {
    let setting = Setting::new();
    let timeouts = [1, 19, 20, 21, 399, 400, 401, 7_999, 8_001, 160_001];
    for timeout in timeouts {
        let id = usize::try_from(timeout).unwrap();
        setting.enter(id, &[timeout], ms(timeout));
    }
    let mut expired = Vec::new();
    let mut idle_turns = 0;
    while let Some(next) = setting.purgatory.next_deadline() {
        let mut done = Vec::new();
        if setting.purgatory.advance(next, &mut done) == 0 {
            idle_turns += 1;
        }
        for outcome in done {
            let Outcome::Expired(id) = outcome else {
                panic!("nothing was checked");
            };
            assert_eq!(setting.start + ms(id as u64), next);
            expired.push(id as u64);
        }
    }
    assert_eq!(expired, timeouts);
    // At most one for each wheel above the lowest that an operation passes through.
    assert!(idle_turns <= 4 * timeouts.len(), "{idle_turns}");
}

/// Covers PU-044, and C125: clocks that seem to go back harm nobody.
#[test]
fn pu_044_a_time_that_lies_back_is_harmless() {
    let setting = Setting::new();
    setting.enter(1, &["a"], ms(100));
    assert_eq!(setting.advance(ms(60)), []);
    assert_eq!(setting.advance(ms(10)), []);
    setting.enter(2, &["a"], ms(70));
    assert_eq!(setting.advance(ms(70)), [Outcome::Expired(2)]);
    assert_eq!(setting.advance(ms(100)), [Outcome::Expired(1)]);
}

/// C112: a timeout that was huge and not needed is not kept.
#[test]
fn pu_003_huge_timeouts_that_finish_at_once_do_not_pile_up() {
    let setting = Setting::new();
    for round in 0..20_000u64 {
        let keys = [round % 7, 7 + round % 5];
        let handle = setting.enter(0, &keys, ms(2_147_483_647));
        handle.make_ready();
        assert_eq!(setting.check(&keys[0]).len(), 1);
        assert_eq!(handle.dropped(), 1);
        // Entries of as many operations as the interval allows, and no more.
        let (watched, delayed) = setting.counts_cheaply(round);
        assert!(watched <= 1001 && delayed == 0, "{watched} {delayed}");
    }
    assert_eq!(setting.purgatory.next_deadline(), None);
}

impl Setting<u64> {
    /// The counts go through all shards: every now and then is enough.
    fn counts_cheaply(&self, round: u64) -> (usize, usize) {
        if round.is_multiple_of(97) {
            self.counts()
        } else {
            (0, 0)
        }
    }
}

/// C109: what a check costs depends on who waits under its key, and on nobody else.
#[test]
fn pu_013_a_check_asks_nobody_but_the_operations_of_its_key() {
    let setting = Setting::new();
    let many: Vec<_> = (0..5_000)
        .map(|id| setting.enter(id, &["busy"], ms(5_000)))
        .collect();
    let one = setting.enter(0, &["quiet"], ms(5_000));
    one.make_ready();
    assert_eq!(setting.check(&"quiet").len(), 1);
    assert!(many.iter().all(|handle| handle.asked() == 1));
    many[4_999].make_ready();
    assert_eq!(setting.check(&"busy"), [Outcome::Completed(4_999)]);
    assert!(many.iter().all(|handle| handle.asked() == 2));
}

#[derive(Default)]
struct CountedWaker(AtomicUsize);

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn pu_025_whoever_waits_for_the_next_deadline_is_woken_when_it_becomes_earlier() {
    let setting = Setting::new();
    let woken = Arc::new(CountedWaker::default());
    let waker = Waker::from(Arc::clone(&woken));
    let count = || woken.0.load(Ordering::SeqCst);

    assert_eq!(setting.purgatory.watch_next_deadline(&waker), None);
    setting.enter(1, &["a"], ms(15));
    assert_eq!(count(), 1);
    let next = setting.purgatory.watch_next_deadline(&waker);
    assert_eq!(next, Some(setting.start + ms(15)));
    setting.enter(2, &["b"], ms(15));
    setting.enter(3, &["c"], ms(500));
    assert_eq!(count(), 1, "later ones change nothing");
    setting.enter(4, &["d"], ms(14));
    assert_eq!(count(), 2);
    setting.enter(5, &["e"], ms(13));
    assert_eq!(count(), 2, "woken already, it has not looked since");
    let next = setting.purgatory.watch_next_deadline(&waker);
    assert_eq!(next, Some(setting.start + ms(13)));
}

#[test]
fn a_waiting_operation_that_comes_and_goes_again_and_again_wakes_the_driver_once() {
    let setting = Setting::new();
    let woken = Arc::new(CountedWaker::default());
    let waker = Waker::from(Arc::clone(&woken));
    setting.purgatory.watch_next_deadline(&waker);
    for round in 0..1_000 {
        if woken.0.load(Ordering::SeqCst) > 0 && round == 1 {
            setting.purgatory.watch_next_deadline(&waker);
        }
        let handle = setting.enter(1, &["a"], ms(30_000 + round));
        handle.make_ready();
        setting.check(&"a");
    }
    assert!(woken.0.load(Ordering::SeqCst) <= 2);
}

/// Its time comes while it is being asked.
struct Overtaken {
    purgatory: Arc<Purgatory<&'static str, Overtaken>>,
    asked: usize,
    at: std::time::Instant,
    driver: Waker,
}

impl DelayedOperation for Overtaken {
    type Done = &'static str;

    fn try_complete(&mut self) -> Option<&'static str> {
        self.asked += 1;
        if self.asked > 1 {
            let mut done = Vec::new();
            assert_eq!(self.purgatory.advance(self.at, &mut done), 0);
            // As a driver does after advancing.
            assert_eq!(self.purgatory.watch_next_deadline(&self.driver), None);
            assert_eq!(self.purgatory.cancel(&"a").being_asked, 1);
        }
        None
    }

    fn expire(&mut self) -> &'static str {
        "expired"
    }
}

#[test]
fn an_operation_whose_time_comes_while_it_is_asked_expires_with_the_next_advance() {
    let start = an_instant();
    let purgatory = Arc::new(Purgatory::new(start, PurgatoryConfig::default()).unwrap());
    let woken = Arc::new(CountedWaker::default());
    let op = Overtaken {
        purgatory: Arc::clone(&purgatory),
        asked: 0,
        at: start + ms(50),
        driver: Waker::from(Arc::clone(&woken)),
    };
    purgatory
        .try_complete_else_watch(op, &["a"], Some(start + ms(50)))
        .unwrap();
    let mut done = Vec::new();
    assert_eq!(purgatory.check(&"a", &mut done), 0);
    // The driver hears of it when the operation is put back, although nothing has entered.
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(
        purgatory
            .next_deadline()
            .is_some_and(|next| next <= start + ms(50))
    );
    assert_eq!(purgatory.advance(start + ms(50), &mut done), 1);
    assert_eq!(done, ["expired"]);
    assert_eq!((purgatory.delayed(), purgatory.watched()), (0, 0));
}

#[test]
fn a_purgatory_that_could_not_work_is_not_made() {
    let made = |change: fn(&mut PurgatoryConfig)| {
        let mut config = PurgatoryConfig::default();
        change(&mut config);
        Purgatory::<u8, Op>::new(an_instant(), config).map(|purgatory| purgatory.delayed())
    };
    assert_eq!(made(|_| ()), Ok(0));
    assert_eq!(made(|config| config.shards = 0), Err(ConfigError::NoShards));
    assert_eq!(
        made(|config| config.wheel.slots = 65),
        Err(ConfigError::Slots(65))
    );
    assert_eq!(
        made(|config| config.wheel = WheelConfig {
            tick: ms(0),
            slots: 2
        }),
        Err(ConfigError::Tick(ms(0)))
    );
}
