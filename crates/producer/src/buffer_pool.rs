//! [`BufferPool`]: the memory of batches, with a limit, handed out in the order of asking. (P4)

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};
use thiserror::Error;

/// What buffers have beyond the size that is counted: a batch's builder writes a little beyond the
/// end of a record.
const SLACK: usize = 64;

/// Memory for batches up to a limit.
///
/// What is counted are bytes that batches may use; buffers of exactly one size, that of a batch,
/// are kept when they come back and given out again. Whoever finds too little waits in line: what
/// comes back goes to the first in line until it has enough, so that a large request is not
/// starved by small ones.
#[derive(Debug)]
pub(crate) struct BufferPool {
    total: u64,
    buffer_size: usize,
    /// Held for bookkeeping alone; buffers are allocated and wakers called without it.
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    /// Bytes that nobody has, and that are set aside for nobody.
    available: u64,
    /// Bytes of all [`Memory`] that is out.
    out: u64,
    /// Buffers of the pooled size, fewer than would pass the total with what is out.
    kept: Vec<Vec<u8>>,
    /// Those who have too little yet. The first gets what comes back.
    line: VecDeque<Waiter>,
    /// Tickets of those who have enough and have not come for it yet, with its size.
    granted: Vec<(u64, usize)>,
    next_ticket: u64,
    closed: bool,
}

/// Somebody in line.
#[derive(Debug)]
struct Waiter {
    ticket: u64,
    size: usize,
    /// Bytes that were set aside for it.
    gathered: u64,
    waker: Waker,
}

/// Why there is no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum PoolError {
    /// The pool will never have as much.
    #[error("{size} bytes are more than the {total} that there are")]
    TooLarge {
        /// What was asked for.
        size: usize,
        /// What there is.
        total: u64,
    },
    /// The pool is closed.
    #[error("the buffer pool is closed")]
    Closed,
    /// The system has no more memory.
    #[error("the system did not give {size} bytes")]
    OutOfMemory {
        /// What was asked for.
        size: usize,
    },
}

impl BufferPool {
    /// A pool of `total` bytes that keeps buffers of `buffer_size`.
    pub(crate) fn new(total: u64, buffer_size: usize) -> Self {
        Self {
            total,
            buffer_size,
            books: Mutex::new(Books {
                available: total,
                out: 0,
                kept: Vec::new(),
                line: VecDeque::new(),
                granted: Vec::new(),
                next_ticket: 0,
                closed: false,
            }),
        }
    }

    /// All bytes that there are.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that nobody has.
    pub(crate) fn available(&self) -> u64 {
        self.books.lock().available
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.books.lock().line.len()
    }

    /// Takes `size` bytes if they are there and nobody waits.
    ///
    /// # Errors
    /// [`PoolError::TooLarge`], [`PoolError::Closed`].
    pub(crate) fn try_take(self: &Arc<Self>, size: usize) -> Result<Option<Memory>, PoolError> {
        if size as u64 > self.total {
            let total = self.total;
            return Err(PoolError::TooLarge { size, total });
        }
        let mut books = self.books.lock();
        if books.closed {
            return Err(PoolError::Closed);
        }
        if !books.line.is_empty() || books.available < size as u64 {
            return Ok(None);
        }
        books.available -= size as u64;
        Ok(Some(self.hand_out(&mut books, size)))
    }

    /// Waits for `size` bytes. Dropping the future gives back what was gathered.
    pub(crate) fn take(self: &Arc<Self>, size: usize) -> Taking {
        Taking {
            pool: Arc::clone(self),
            size,
            ticket: None,
        }
    }

    /// Fails all who wait and all who come. What is out can still come back.
    pub(crate) fn close(&self) {
        let line = {
            let mut books = self.books.lock();
            books.closed = true;
            let line = std::mem::take(&mut books.line);
            books.available += line.iter().map(|waiter| waiter.gathered).sum::<u64>();
            line
        };
        for waiter in line {
            waiter.waker.wake();
        }
    }

    /// Hands out bytes that are no longer available to anybody else.
    fn hand_out(self: &Arc<Self>, books: &mut Books, size: usize) -> Memory {
        books.out += size as u64;
        let kept = if size == self.buffer_size {
            books.kept.pop()
        } else {
            None
        };
        self.let_buffers_go(books);
        Memory {
            pool: Arc::clone(self),
            size,
            kept,
        }
    }

    /// Frees kept buffers that would pass the total with what is out.
    fn let_buffers_go(&self, books: &mut Books) {
        let most = (self.total - books.out)
            .checked_div(self.buffer_size as u64)
            .unwrap_or(0);
        books
            .kept
            .truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }

    fn give_back(&self, size: usize, buffer: Option<Vec<u8>>) {
        let mut books = self.books.lock();
        books.out -= size as u64;
        books.available += size as u64;
        if size == self.buffer_size && !books.closed {
            books.kept.extend(buffer);
        }
        Self::serve(books);
    }

    /// Sets aside what is available for the first in line, then for the next, and wakes those who
    /// have enough.
    fn serve(mut books: MutexGuard<'_, Books>) {
        let mut wakers = Vec::new();
        let books_mut = &mut *books;
        while let Some(first) = books_mut.line.front_mut() {
            let wanted = first.size as u64 - first.gathered;
            let given = wanted.min(books_mut.available);
            books_mut.available -= given;
            first.gathered += given;
            if given < wanted {
                break;
            }
            if let Some(waiter) = books_mut.line.pop_front() {
                books_mut.granted.push((waiter.ticket, waiter.size));
                wakers.push(waiter.waker);
            }
        }
        drop(books);
        for waker in wakers {
            waker.wake();
        }
    }
}

/// A part of the pool's bytes. They go back when it is dropped, so exactly once.
#[derive(Debug)]
pub(crate) struct Memory {
    pool: Arc<BufferPool>,
    size: usize,
    /// A buffer that comes from an earlier batch, or goes to a later one.
    kept: Option<Vec<u8>>,
}

impl Memory {
    /// How many bytes it is.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The buffer that the bytes are for: one that was used before and holds bytes that mean
    /// nothing, or a fresh and empty one.
    ///
    /// # Errors
    /// [`PoolError::OutOfMemory`].
    pub(crate) fn buffer(&mut self) -> Result<Vec<u8>, PoolError> {
        if let Some(buffer) = self.kept.take() {
            return Ok(buffer);
        }
        let mut buffer = Vec::new();
        let size = self.size;
        match buffer.try_reserve_exact(size.saturating_add(SLACK)) {
            Ok(()) => Ok(buffer),
            Err(_) => Err(PoolError::OutOfMemory { size }),
        }
    }

    /// Gives the bytes back together with the buffer, for the next batch to use.
    pub(crate) fn give_back(mut self, buffer: Vec<u8>) {
        self.kept = Some(buffer);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.pool.give_back(self.size, self.kept.take());
    }
}

/// Waits in line for memory.
#[derive(Debug)]
pub(crate) struct Taking {
    pool: Arc<BufferPool>,
    size: usize,
    ticket: Option<u64>,
}

impl Future for Taking {
    type Output = Result<Memory, PoolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(ticket) = this.ticket else {
            match this.pool.try_take(this.size) {
                Ok(None) => {}
                Ok(Some(memory)) => return Poll::Ready(Ok(memory)),
                Err(error) => return Poll::Ready(Err(error)),
            }
            let mut books = this.pool.books.lock();
            let ticket = books.next_ticket;
            books.next_ticket += 1;
            books.line.push_back(Waiter {
                ticket,
                size: this.size,
                gathered: 0,
                waker: context.waker().clone(),
            });
            this.ticket = Some(ticket);
            // What came back since the look above is in nobody's line yet.
            BufferPool::serve(books);
            return Poll::Pending;
        };
        let mut books = this.pool.books.lock();
        if let Some(at) = books
            .granted
            .iter()
            .position(|(granted, _)| *granted == ticket)
        {
            books.granted.swap_remove(at);
            this.ticket = None;
            return Poll::Ready(Ok(this.pool.hand_out(&mut books, this.size)));
        }
        if books.closed {
            this.ticket = None;
            return Poll::Ready(Err(PoolError::Closed));
        }
        let waiting = books.line.iter_mut().find(|waiter| waiter.ticket == ticket);
        if let Some(waiter) = waiting
            && !waiter.waker.will_wake(context.waker())
        {
            waiter.waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let mut books = self.pool.books.lock();
        if let Some(at) = books
            .granted
            .iter()
            .position(|(granted, _)| *granted == ticket)
        {
            let (_, size) = books.granted.swap_remove(at);
            books.available += size as u64;
        } else if let Some(at) = books.line.iter().position(|waiter| waiter.ticket == ticket)
            && let Some(waiter) = books.line.remove(at)
        {
            books.available += waiter.gathered;
        }
        BufferPool::serve(books);
    }
}

#[cfg(test)]
mod tests;
