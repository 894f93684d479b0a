//! The tokio driver, by a clock that is moved by hand. Nothing here waits for time to pass: each
//! wait is for an event, and would last for ever if that did not come.

mod support;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use klamm_purgatory::{
    Clock, DelayedOperation, Driver, Purgatory, PurgatoryConfig, Shutdown, TokioClock,
};
use support::{HandClock, Op, Outcome, Setting, ms};
use tokio::runtime::{Builder, Handle, Runtime};

fn a_runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap()
}

/// A driver whose handler sends the outcomes to the test.
fn driven(
    runtime: &Runtime,
    setting: &Setting<&'static str>,
    clock: impl Clock,
) -> (Driver<Outcome>, Receiver<Outcome>) {
    let (sender, outcomes) = sync_channel(1_000);
    let driver = Driver::start(
        runtime.handle(),
        Arc::clone(&setting.purgatory),
        clock,
        move |done| sender.send(done).unwrap(),
    );
    (driver, outcomes)
}

#[test]
fn pu_025_expiry_needs_no_traffic() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (_driver, outcomes) = driven(&runtime, &setting, clock.clone());
    setting.enter(1, &["a"], ms(30_000));
    setting.enter(2, &["a"], ms(20));
    clock.move_on(ms(20));
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(2)));
    clock.move_on(ms(30_000));
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(1)));
}

#[test]
fn pu_025_a_sleeping_driver_is_woken_for_an_earlier_deadline() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (_driver, outcomes) = driven(&runtime, &setting, clock.clone());
    for round in 0..100u64 {
        let now = ms(round * 20);
        // The driver sleeps for the first, or is on its way to.
        setting.enter_at(now, 1, &["a"], ms(10_000_000));
        setting.enter_at(now, 2, &["b"], ms(20));
        clock.move_on(ms(20));
        assert_eq!(outcomes.recv(), Ok(Outcome::Expired(2)));
    }
}

/// Covers PU-026 over the driver: it does not ask the time early.
#[test]
fn pu_026_the_driver_makes_nothing_expire_before_its_time() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (_driver, outcomes) = driven(&runtime, &setting, clock.clone());
    let early = setting.enter(1, &["a"], ms(20));
    let late = setting.enter(2, &["a"], ms(21));
    clock.move_on(ms(20));
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(1)));
    assert_eq!((early.expired(), late.expired()), (1, 0));
    clock.move_on(ms(1));
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(2)));
}

/// A handler that stops in the first call until it is let go on.
struct Gate {
    entered: Receiver<()>,
    go_on: SyncSender<()>,
}

impl Gate {
    fn new() -> (Self, impl Fn() + Send + Sync + 'static) {
        let (enter, entered) = sync_channel(1_000);
        let (go_on, may_go_on) = sync_channel(1_000);
        let may_go_on = Mutex::new(may_go_on);
        let pass = move || {
            enter.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        };
        (Self { entered, go_on }, pass)
    }

    fn await_entered(&self) {
        self.entered.recv().unwrap();
    }

    fn open(&self) {
        self.go_on.send(()).unwrap();
    }
}

#[test]
fn pu_027_a_slow_handler_does_not_stop_the_clock() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (gate, pass) = Gate::new();
    let (sender, outcomes) = sync_channel(1_000);
    let entered_on = std::thread::current().id();
    let _driver = Driver::start(
        runtime.handle(),
        Arc::clone(&setting.purgatory),
        clock.clone(),
        move |done| {
            assert_ne!(std::thread::current().id(), entered_on);
            pass();
            sender.send(done).unwrap();
        },
    );
    setting.enter(1, &["a"], ms(20));
    let second = setting.enter(2, &["a"], ms(40));
    clock.move_on(ms(20));
    gate.await_entered();
    // The handler is at work on the first and will not finish; the second expires all the same.
    clock.move_on(ms(20));
    while second.expired() == 0 {
        std::thread::yield_now();
    }
    gate.open();
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(1)));
    gate.await_entered();
    gate.open();
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(2)));
}

#[test]
fn pu_030_shutting_down_wakes_the_task_and_lets_the_handler_finish() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (gate, pass) = Gate::new();
    let handled = Arc::new(Mutex::new(Vec::new()));
    let handled_by = Arc::clone(&handled);
    let driver = Driver::start(
        runtime.handle(),
        Arc::clone(&setting.purgatory),
        clock.clone(),
        move |done| {
            pass();
            handled_by.lock().unwrap().push(done);
        },
    );
    setting.enter(1, &["a"], ms(20));
    let second = setting.enter(2, &["a"], ms(21));
    setting.enter(3, &["a"], ms(1_000_000));
    clock.move_on(ms(20));
    gate.await_entered();
    clock.move_on(ms(1));
    while second.expired() == 0 {
        std::thread::yield_now();
    }
    // One is being handled, one has expired, one waits, and the clock stands still.
    let shutdown = runtime.spawn(driver.shutdown(ms(5_000)));
    gate.open();
    gate.open();
    let nothing_left = Shutdown {
        unhandled: Vec::new(),
        still_running: false,
    };
    assert_eq!(runtime.block_on(shutdown).unwrap(), nothing_left);
    assert_eq!(
        *handled.lock().unwrap(),
        [Outcome::Expired(1), Outcome::Expired(2)]
    );
    assert_eq!(setting.purgatory.delayed(), 1);
    clock.move_on(ms(1_000_000));
    assert_eq!(setting.purgatory.delayed(), 1, "nobody moves its time");
}

#[test]
fn pu_030_a_handler_that_does_not_finish_is_waited_for_as_long_as_was_said() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (gate, pass) = Gate::new();
    let driver = Driver::start(
        runtime.handle(),
        Arc::clone(&setting.purgatory),
        clock.clone(),
        move |_| pass(),
    );
    setting.enter(1, &["a"], ms(20));
    let second = setting.enter(2, &["a"], ms(21));
    clock.move_on(ms(20));
    gate.await_entered();
    clock.move_on(ms(1));
    while second.expired() == 0 {
        std::thread::yield_now();
    }
    let shutdown = runtime.spawn(driver.shutdown(ms(5_000)));
    // Moved on again and again, since the grace begins only when the task has heard of it.
    while !shutdown.is_finished() {
        clock.move_on(ms(5_000));
        std::thread::yield_now();
    }
    let left = Shutdown {
        unhandled: vec![Outcome::Expired(2)],
        still_running: true,
    };
    assert_eq!(runtime.block_on(shutdown).unwrap(), left);
    gate.open();
}

#[test]
fn pu_030_dropping_the_driver_stops_its_task() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (driver, outcomes) = driven(&runtime, &setting, clock.clone());
    drop(driver);
    // All that the task owned goes with it: the handler with the sender, and the purgatory.
    assert!(outcomes.recv().is_err());
    while Arc::strong_count(&setting.purgatory) > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn pu_045_a_handler_that_panics_stops_nothing() {
    let runtime = a_runtime();
    let setting = Setting::new();
    let clock = HandClock::new(setting.start);
    let (sender, outcomes) = sync_channel(1_000);
    let driver = Driver::start(
        runtime.handle(),
        Arc::clone(&setting.purgatory),
        clock.clone(),
        move |done| {
            assert_ne!(done, Outcome::Expired(1), "on purpose");
            sender.send(done).unwrap();
        },
    );
    // In the same batch and in a later one.
    setting.enter(1, &["a"], ms(20));
    setting.enter(2, &["a"], ms(20));
    setting.enter(3, &["a"], ms(40));
    clock.move_on(ms(20));
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(2)));
    clock.move_on(ms(20));
    assert_eq!(outcomes.recv(), Ok(Outcome::Expired(3)));
    assert_eq!(driver.panics(), 1);
}

/// Panics when it expires if its number is odd.
struct Odd(usize);

impl DelayedOperation for Odd {
    type Done = usize;

    fn try_complete(&mut self) -> Option<usize> {
        None
    }

    fn expire(&mut self) -> usize {
        assert!(self.0.is_multiple_of(2), "on purpose");
        self.0
    }
}

#[test]
fn pu_045_an_operation_that_panics_on_expiring_stops_nothing() {
    let runtime = a_runtime();
    let start = support::an_instant();
    let purgatory = Arc::new(Purgatory::new(start, PurgatoryConfig::default()).unwrap());
    let clock = HandClock::new(start);
    let (sender, outcomes) = sync_channel(1_000);
    let driver = Driver::start(
        runtime.handle(),
        Arc::clone(&purgatory),
        clock.clone(),
        move |done| sender.send(done).unwrap(),
    );
    for number in 0..10 {
        let deadline = Some(start + ms(20 + number as u64 / 5));
        let entered = purgatory.try_complete_else_watch(Odd(number), &["a"], deadline);
        assert!(entered.unwrap().is_none());
    }
    clock.move_on(ms(20));
    let first: Vec<usize> = (0..3).map(|_| outcomes.recv().unwrap()).collect();
    assert_eq!(first, [0, 2, 4]);
    clock.move_on(ms(1));
    let second: Vec<usize> = (0..2).map(|_| outcomes.recv().unwrap()).collect();
    assert_eq!(second, [6, 8]);
    assert_eq!(driver.panics(), 2, "one for each advance that met any");
    assert_eq!((purgatory.delayed(), purgatory.watched()), (0, 0));
}

/// Covers PU-046 on tokio's own clock, which stands still unless every task waits for it.
#[tokio::test(start_paused = true)]
async fn pu_046_a_driven_purgatory_makes_all_time_out_without_a_caller() {
    let start = TokioClock.now();
    let purgatory = Arc::new(Purgatory::new(start, PurgatoryConfig::default()).unwrap());
    let (sender, mut outcomes) = tokio::sync::mpsc::channel(10);
    let driver = Driver::start(
        &Handle::current(),
        Arc::clone(&purgatory),
        TokioClock,
        move |done| sender.blocking_send(done).unwrap(),
    );
    for (id, timeout) in [(3, 300), (1, 100), (2, 200)] {
        let (op, _) = Op::new(id);
        let entered = purgatory.try_complete_else_watch(op, &[id], Some(start + ms(timeout)));
        assert_eq!(entered.unwrap(), None);
    }
    for id in 1..=3 {
        assert_eq!(outcomes.recv().await, Some(Outcome::Expired(id)));
        assert!(TokioClock.now() >= start + ms(100 * id as u64));
    }
    driver.shutdown(ms(5_000)).await;
    assert_eq!(outcomes.recv().await, None, "closed with the driver");
}
