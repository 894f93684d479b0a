//! The locks and atomics of what is modelled: the machine's own, or loom's under `cfg(loom)`, so that
//! the model in `tests/loom.rs` runs the same code as production does.

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(not(loom))]
mod real {
    pub(crate) use parking_lot::Mutex;
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
}

#[cfg(loom)]
mod modelled {
    use std::ops::{Deref, DerefMut};

    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};

    /// A lock behind the face of the real one, which knows no poison. Whether it is held is an atomic
    /// of its own: loom takes letting go of its own mutex for no step, and so never tries a lock
    /// just before.
    pub(crate) struct Mutex<T> {
        is_held: AtomicBool,
        value: loom::sync::Mutex<T>,
    }

    pub(crate) struct MutexGuard<'a, T> {
        is_held: &'a AtomicBool,
        value: Option<loom::sync::MutexGuard<'a, T>>,
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self {
                is_held: AtomicBool::new(false),
                value: loom::sync::Mutex::new(value),
            }
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            loop {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
                loom::thread::yield_now();
            }
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            let free =
                self.is_held
                    .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
            free.ok()?;
            Some(MutexGuard {
                is_held: &self.is_held,
                value: Some(self.value.lock().expect("no code panics under this lock")),
            })
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            self.value = None;
            self.is_held.store(false, Ordering::Release);
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.value
                .as_ref()
                .expect("it is let go when this is dropped")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.value
                .as_mut()
                .expect("it is let go when this is dropped")
        }
    }
}
