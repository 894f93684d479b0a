//! Locks, atomics and the identity of a thread: the machine's own, or loom's under `cfg(loom)`.
//!
//! All that threads share in this crate goes through these names, so that the models in
//! `tests/loom.rs` run the same code as production does, under every order of its steps.
//!
//! loom 0.7 finds the orders worth trying by the last access to each atomic. One that a thread
//! reads just before it writes it hides what others read before, and orders are left out without
//! a word. Hence the atomics here are written by read-modify-write steps or without being read;
//! their last value, where it is needed, is kept under the lock that guards the writing.

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(not(loom))]
mod real {
    use std::cell::Cell;

    pub(crate) use parking_lot::{Mutex, MutexGuard};
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

    /// Tells the running thread from every other one that is alive.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct ThreadToken(usize);

    impl ThreadToken {
        /// The running thread's token: where its copy of a thread-local lies. That takes one
        /// instruction, where the standard library's thread id counts a reference up and down.
        #[inline]
        pub(crate) fn current() -> Self {
            thread_local! {
                static HERE: Cell<u8> = const { Cell::new(0) };
            }
            HERE.with(|here| Self(std::ptr::from_ref(here).addr()))
        }
    }
}

#[cfg(loom)]
mod modelled {
    pub(crate) use loom::sync::MutexGuard;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    /// loom's mutex behind the face of the real one, which knows no poison.
    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no code panics under these locks")
        }
    }

    /// Tells the running model thread from the others.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct ThreadToken(loom::thread::ThreadId);

    impl ThreadToken {
        pub(crate) fn current() -> Self {
            Self(loom::thread::current().id())
        }
    }
}
