//! An allocator that knows how much memory is taken, now and at its highest.

#![expect(
    unsafe_code,
    reason = "an allocator cannot be written without; it only counts and passes on"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes that are allocated through it.
pub(crate) struct Counting {
    now: AtomicUsize,
    highest: AtomicUsize,
}

impl Counting {
    pub(crate) const fn new() -> Self {
        Self {
            now: AtomicUsize::new(0),
            highest: AtomicUsize::new(0),
        }
    }

    /// Forgets the highest so far; gives what is taken now.
    pub(crate) fn restart(&self) -> usize {
        let now = self.now.load(Ordering::Relaxed);
        self.highest.store(now, Ordering::Relaxed);
        now
    }

    /// The most that was taken at once since the last restart.
    pub(crate) fn highest(&self) -> usize {
        self.highest.load(Ordering::Relaxed)
    }

    fn add(&self, size: usize) {
        let now = self.now.fetch_add(size, Ordering::Relaxed) + size;
        self.highest.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator with the layout that the caller gave, whose
// contract is the caller's to keep; counting touches no memory but two atomics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: as said above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.now.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as said above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
