//! Counts the memory that a thread has in use, to see the peak of what a piece of code takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with counting.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes in use, since the last reset. Memory from another thread may be given back here.
    static IN_USE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Runs `code` and says by how many bytes what this thread has in use grew at most.
pub(crate) fn peak_of<T>(code: impl FnOnce() -> T) -> (T, usize) {
    IN_USE.set(0);
    PEAK.set(0);
    let value = code();
    (value, PEAK.get().unsigned_abs())
}

fn count(taken: usize, given_back: usize) {
    let difference = taken.cast_signed() - given_back.cast_signed();
    IN_USE.set(IN_USE.get() + difference);
    PEAK.set(PEAK.get().max(IN_USE.get()));
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call is passed on to the system's allocator as it is; counting takes no memory, as
// the counters are constants at first and have nothing to drop.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the pointer came from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size, layout.size());
        // SAFETY: the pointer came from `System`, with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[test]
fn the_peak_is_seen_though_it_is_given_back() {
    let ((), peak) = peak_of(|| {
        drop(std::hint::black_box(vec![0u8; 5000]));
        drop(std::hint::black_box(vec![0u8; 700]));
    });
    assert_eq!(peak, 5000);
}
