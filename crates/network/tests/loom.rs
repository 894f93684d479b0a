//! Every order of the steps of a connection's task and of those who have letters for it, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p klamm-network --test loom --release`, with a target
//! directory of its own, since the flag rebuilds everything.
#![cfg(loom)]

#[path = "../src/chair.rs"]
mod chair;
#[path = "../src/sync.rs"]
mod sync;

use loom::sync::{Arc, Mutex};
use loom::thread;

use self::chair::Chair;
use self::sync::{AtomicBool, Ordering};

/// A connection that counts the letters that it has taken.
struct Model {
    chair: Chair<usize>,
    /// Letters that are left, as in the mailbox.
    left: Mutex<usize>,
    /// The task has been woken, and is to be polled again.
    is_woken: AtomicBool,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            chair: Chair::new(0),
            left: Mutex::new(0),
            is_woken: AtomicBool::new(false),
        })
    }

    fn take_letters(&self, taken: &mut usize) {
        *taken += std::mem::take(&mut *self.left.lock().unwrap());
    }

    /// What the task does when it is polled.
    fn poll(&self) {
        self.chair.run(|taken| self.take_letters(taken));
    }

    /// What a handler does that has an answer.
    fn answer(&self) {
        *self.left.lock().unwrap() += 1;
        let ran = self.chair.try_run(|taken| self.take_letters(taken));
        if self.chair.was_turned_away() || ran.is_none() {
            self.is_woken.store(true, Ordering::SeqCst);
        }
    }

    /// All is quiet: the task is polled for as long as it is woken.
    fn settle(&self, letters: usize) {
        while self.is_woken.swap(false, Ordering::SeqCst) {
            self.poll();
        }
        assert_eq!(*self.left.lock().unwrap(), 0, "no letter lies there unread");
        assert_eq!(self.chair.take(), Some(letters));
    }
}

#[test]
fn a_letter_is_read_by_its_handler_or_by_the_task() {
    loom::model(|| {
        let model = Model::new();
        let there = Arc::clone(&model);
        let handler = thread::spawn(move || there.answer());
        model.poll();
        handler.join().unwrap();
        model.settle(1);
    });
}

#[test]
fn of_two_handlers_each_has_its_letter_read() {
    loom::model(|| {
        let model = Model::new();
        let there = Arc::clone(&model);
        let handler = thread::spawn(move || there.answer());
        model.answer();
        handler.join().unwrap();
        model.settle(2);
    });
}

/// What the task comes for need not be a letter: bytes have come, or room at the socket.
#[test]
fn what_only_the_task_sees_is_seen_after_it_was_turned_away() {
    loom::model(|| {
        let model = Model::new();
        let has_bytes = Arc::new(AtomicBool::new(true));
        let there = Arc::clone(&model);
        let handler = thread::spawn(move || there.answer());
        let poll = || {
            model.chair.run(|taken| {
                has_bytes.store(false, Ordering::SeqCst);
                model.take_letters(taken);
            });
        };
        poll();
        handler.join().unwrap();
        if model.is_woken.swap(false, Ordering::SeqCst) {
            poll();
        }
        assert!(!has_bytes.load(Ordering::SeqCst), "they were read");
        model.settle(1);
    });
}
