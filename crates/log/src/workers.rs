//! Work on several directories at once, by several threads each.

use std::thread;

use tracing::warn;

/// Calls `work` for each item from `threads_each` threads, and returns when all calls have. A
/// thread that cannot be had is done without; the caller then works in its place.
pub(crate) fn on_threads<T: Sync>(items: &[T], threads_each: usize, work: impl Fn(&T) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for item in items {
            for _ in 0..threads_each.max(1) {
                let builder = thread::Builder::new().name("klamm-log".to_owned());
                if let Err(error) = builder.spawn_scoped(scope, move || work(item)) {
                    warn!(%error, "a thread less than asked for");
                    work(item);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_item_is_worked_on_by_its_own_threads() {
        let items = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let count = |item: &AtomicUsize| {
            item.fetch_add(1, Ordering::Relaxed);
        };
        on_threads(&items, 3, count);
        on_threads(&items[..1], 0, count);
        assert_eq!(items.map(AtomicUsize::into_inner), [4, 3]);
    }
}
