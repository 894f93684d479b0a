//! [`HandlerPool`]: threads that take requests from the channel.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use tracing::error;

use crate::handler::{Handler, handle_guarded};
use crate::request_channel::RequestChannel;

/// So many threads (`num.io.threads`) that take requests from a channel and call a handler.
///
/// Dropped without [`HandlerPool::stop`], its threads end by themselves after the requests that
/// wait.
pub struct HandlerPool<F> {
    channel: RequestChannel<F>,
    handler: Arc<dyn Handler<F>>,
    /// Those that were not told to stop, as many as [`HandlerPool::threads`], and some that were
    /// and have not been waited for.
    threads: Vec<JoinHandle<()>>,
    size: usize,
    /// The number of the next thread, for its name.
    next: usize,
}

impl<F: Send + 'static> HandlerPool<F> {
    /// Starts the threads.
    ///
    /// # Errors
    /// Where the operating system gives no thread; those that were started end again.
    pub fn start(
        channel: RequestChannel<F>,
        handler: Arc<dyn Handler<F>>,
        threads: usize,
    ) -> io::Result<Self> {
        let mut pool = Self {
            channel,
            handler,
            threads: Vec::with_capacity(threads),
            size: 0,
            next: 0,
        };
        pool.resize(threads)?;
        Ok(pool)
    }

    /// Grows or shrinks to so many threads. One that is to go ends what it does, and what waited
    /// when it was told. (NE-025)
    ///
    /// # Errors
    /// Where the operating system gives no thread; those that were started stay.
    pub fn resize(&mut self, threads: usize) -> io::Result<()> {
        self.threads.retain(|thread| !thread.is_finished());
        while self.size > threads {
            self.channel.stop_one();
            self.size -= 1;
        }
        while self.size < threads {
            let thread = self.spawn()?;
            self.threads.push(thread);
            self.size += 1;
        }
        Ok(())
    }

    fn spawn(&mut self) -> io::Result<JoinHandle<()>> {
        let (channel, handler) = (self.channel.clone(), Arc::clone(&self.handler));
        let name = format!("klamm-handler-{}", self.next);
        self.next += 1;
        std::thread::Builder::new()
            .name(name)
            .spawn(move || run(&channel, &*handler))
    }
}

impl<F> HandlerPool<F> {
    /// How many threads there are, without those that were told to stop.
    pub const fn threads(&self) -> usize {
        self.size
    }

    /// Stops every thread behind the requests that wait now, and waits for them. Blocks; the
    /// server is to be stopped first, so that no requests are left behind. (NE-026)
    pub fn stop(mut self) {
        self.stop_all();
        for thread in self.threads.drain(..) {
            // A thread catches the panics of its handler, and has no others.
            _ = thread.join();
        }
    }

    fn stop_all(&mut self) {
        for _ in 0..std::mem::take(&mut self.size) {
            self.channel.stop_one();
        }
    }
}

/// Takes requests until it is told to stop. The panic hook has told where a panic came from.
fn run<F: 'static>(channel: &RequestChannel<F>, handler: &dyn Handler<F>) {
    loop {
        // Work that was handed back is done within it.
        let received = match catch_unwind(AssertUnwindSafe(|| channel.recv_in_pool())) {
            Ok(Some(received)) => received,
            Ok(None) => return,
            Err(_) => {
                error!("work that was handed back to a handler panicked");
                continue;
            }
        };
        handle_guarded(handler, received);
    }
}

impl<F> Drop for HandlerPool<F> {
    fn drop(&mut self) {
        self.stop_all();
    }
}

impl<F> fmt::Debug for HandlerPool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerPool")
            .field("threads", &self.size)
            .finish_non_exhaustive()
    }
}
