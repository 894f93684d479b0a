//! The pool's books, its line, and threads that fight over it.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Wake;
use std::thread;

use super::*;

fn pool(total: u64, buffer_size: usize) -> Arc<BufferPool> {
    Arc::new(BufferPool::new(total, buffer_size))
}

fn take(pool: &Arc<BufferPool>, size: usize) -> Memory {
    pool.try_take(size).unwrap().expect("there is enough")
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A request with a waker of its own.
struct Asking {
    taking: Pin<Box<Taking>>,
    woken: Arc<Woken>,
}

impl Asking {
    fn new(pool: &Arc<BufferPool>, size: usize) -> Self {
        let mut asking = Self {
            taking: Box::pin(pool.take(size)),
            woken: Arc::default(),
        };
        assert!(asking.poll().is_pending());
        asking
    }

    fn poll(&mut self) -> Poll<Result<Memory, PoolError>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.taking.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::SeqCst) > 0
    }
}

/// Covers PR-052, P4.1.
#[test]
fn buffers_of_one_size_are_kept_and_others_are_not() {
    let pool = pool(64 * 1024, 1024);
    let mut memory = take(&pool, 1024);
    let mut buffer = memory.buffer().unwrap();
    assert!(buffer.is_empty());
    buffer.push(7);
    let place = buffer.as_ptr();
    memory.give_back(buffer);
    assert_eq!(pool.available(), 64 * 1024);

    let mut again = take(&pool, 1024);
    let buffer = again.buffer().unwrap();
    assert_eq!(buffer.as_ptr(), place);
    let mut other = take(&pool, 2 * 1024);
    assert_eq!(pool.available(), 61 * 1024);
    let buffer = other.buffer().unwrap();
    other.give_back(buffer);
    assert!(pool.books.lock().kept.is_empty());
    drop(again);
    assert_eq!(pool.available(), 64 * 1024);
}

#[test]
fn pr_053_more_than_there_is_is_refused_at_once() {
    let pool = pool(2000, 1000);
    let error = PoolError::TooLarge {
        size: 2001,
        total: 2000,
    };
    assert_eq!(pool.try_take(2001).unwrap_err(), error);
    let mut taking = pin!(pool.take(2001));
    let polled = taking
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Err(refused)) if refused == error));
}

/// Covers PR-055, P4.2.
#[test]
fn those_in_line_are_served_in_order_and_the_large_is_not_starved() {
    let pool = pool(10, 1);
    let (first, second, third) = (take(&pool, 4), take(&pool, 4), take(&pool, 2));
    let mut large = Asking::new(&pool, 7);
    let mut small = Asking::new(&pool, 1);
    drop(first);
    assert!(
        pool.try_take(1).unwrap().is_none(),
        "what came back is set aside"
    );
    assert!(large.poll().is_pending() && small.poll().is_pending());
    drop(second);
    // 8 bytes came back: 7 for the first in line, 1 for the next.
    assert!(large.is_woken() && small.is_woken());
    let (large, small) = (large.poll(), small.poll());
    assert!(matches!(&large, Poll::Ready(Ok(memory)) if memory.size() == 7));
    assert!(matches!(&small, Poll::Ready(Ok(memory)) if memory.size() == 1));
    assert_eq!(pool.available(), 0);
    drop((large, small, third));
    assert_eq!((pool.available(), pool.waiting()), (10, 0));
}

/// Covers PR-056, P4.3.
#[test]
fn who_gives_up_gives_back_what_was_gathered_and_lets_the_next_have_it() {
    let pool = pool(10, 1);
    let held = [take(&pool, 5), take(&pool, 5)];
    let large = Asking::new(&pool, 10);
    let mut next = Asking::new(&pool, 5);
    let [one, other] = held;
    drop(one);
    assert!(!next.is_woken());
    drop(large);
    assert!(next.is_woken());
    assert!(matches!(next.poll(), Poll::Ready(Ok(_))));
    drop(other);

    // One who has enough and never comes for it.
    let held = take(&pool, 10);
    let granted = Asking::new(&pool, 10);
    let mut next = Asking::new(&pool, 1);
    drop(held);
    assert!(granted.is_woken() && !next.is_woken());
    drop(granted);
    assert!(matches!(next.poll(), Poll::Ready(Ok(_))));
    drop(next);
    assert_eq!((pool.available(), pool.waiting()), (10, 0));
}

#[test]
fn pr_057_memory_that_the_system_does_not_have_is_nobodys() {
    let pool = pool(u64::MAX, 1);
    let size = isize::MAX.unsigned_abs();
    let mut memory = take(&pool, size);
    let mut next = Asking::new(&pool, usize::MAX);
    assert_eq!(memory.buffer(), Err(PoolError::OutOfMemory { size }));
    drop(memory);
    assert!(matches!(next.poll(), Poll::Ready(Ok(_))));
    drop(next);
    assert_eq!(pool.available(), u64::MAX);
}

/// Covers PR-058, P4.3.
#[test]
fn closing_fails_those_in_line_and_takes_back_what_is_out() {
    let pool = pool(10, 1);
    let held = [take(&pool, 6), take(&pool, 4)];
    let mut waiting = [Asking::new(&pool, 8), Asking::new(&pool, 1)];
    let [one, other] = held;
    drop(one);
    pool.close();
    for asking in &mut waiting {
        assert!(asking.is_woken());
        assert!(matches!(asking.poll(), Poll::Ready(Err(PoolError::Closed))));
    }
    assert_eq!(pool.try_take(1).unwrap_err(), PoolError::Closed);
    drop(other);
    assert_eq!(pool.available(), 10);
}

#[test]
fn pr_059_the_books_have_64_bits() {
    let (total, size) = (20_000_000_000, 2_000_000_000);
    let pool = pool(total, size);
    let first = take(&pool, size);
    assert_eq!(pool.available(), 18_000_000_000);
    let second = take(&pool, size);
    assert_eq!(pool.available(), 16_000_000_000);
    drop(first);
    assert_eq!(pool.available(), 18_000_000_000);
    drop(second);
    assert_eq!(pool.available(), 20_000_000_000);
}

#[test]
fn pr_060_kept_buffers_are_given_up_for_another_size() {
    let pool = pool(3000, 1000);
    for memory in [take(&pool, 1000), take(&pool, 1000), take(&pool, 1000)] {
        memory.give_back(Vec::with_capacity(1000));
    }
    assert_eq!(pool.books.lock().kept.len(), 3);
    let other = take(&pool, 1500);
    assert_eq!(pool.books.lock().kept.len(), 1);
    drop(other);
    let all = take(&pool, 3000);
    assert!(pool.books.lock().kept.is_empty());
    drop(all);
    assert_eq!(pool.available(), 3000);
}

#[test]
fn pr_062_ten_threads_with_random_sizes_all_finish() {
    const BUFFER: usize = 1024;
    let pool = pool(5 * BUFFER as u64, BUFFER);
    let failed = AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    thread::scope(|scope| {
        for seed in 0..10 {
            let (pool, failed, handle) = (Arc::clone(&pool), &failed, handle.clone());
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                for _ in 0..50_000 {
                    let size = if rng.bool() {
                        BUFFER
                    } else {
                        rng.usize(1..5 * BUFFER)
                    };
                    match handle.block_on(pool.take(size)) {
                        Ok(mut memory) => {
                            let buffer = memory.buffer().expect("a few KiB");
                            memory.give_back(buffer);
                        }
                        Err(_) => failed.store(true, Ordering::SeqCst),
                    }
                }
            });
        }
    });
    assert!(!failed.load(Ordering::SeqCst));
    assert_eq!((pool.available(), pool.waiting()), (5 * BUFFER as u64, 0));
    assert!(pool.books.lock().kept.len() <= 5);
}
