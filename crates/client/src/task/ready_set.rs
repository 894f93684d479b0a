//! [`ReadySet`]: which connections can go on, so that idle ones cost nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};

use parking_lot::Mutex;

use crate::network_client::ConnectionId;

/// The connections that have been woken, and whether somebody wants the task to take a turn. A
/// clone is the same.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadySet {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// A turn is wanted; set until it is taken, so that many wishes are one.
    turn_wanted: AtomicBool,
    /// Held for a push or a take; wakers are called after it is released.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    ready: Vec<ConnectionId>,
    /// The task, while it waits.
    task: Option<Waker>,
}

/// Wakes the task and names the connection.
#[derive(Debug)]
pub(super) struct ConnectionWaker {
    set: ReadySet,
    connection: ConnectionId,
    /// It is in the set already.
    is_ready: AtomicBool,
}

impl ReadySet {
    /// What is handed to the connection's socket and futures.
    pub(super) fn waker(&self, connection: ConnectionId) -> Arc<ConnectionWaker> {
        Arc::new(ConnectionWaker {
            set: self.clone(),
            connection,
            is_ready: AtomicBool::new(false),
        })
    }

    /// Makes the task take a turn.
    pub(super) fn want_turn(&self) {
        // Acquire and release: what was written before this is seen by the turn that takes it.
        if !self.shared.turn_wanted.swap(true, Ordering::AcqRel) {
            self.wake_task();
        }
    }

    fn wake_task(&self) {
        let task = self.shared.state.lock().task.take();
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Adds the connections that have been woken to `ready`, and takes the wish for a turn.
    pub(super) fn take(&self, ready: &mut Vec<ConnectionId>) {
        ready.append(&mut self.shared.state.lock().ready);
        self.shared.turn_wanted.swap(false, Ordering::AcqRel);
    }

    /// Waits for a connection, for a wish, or for `alarm`; adds the connections to `ready`. The
    /// future may be dropped.
    pub(super) async fn wait(
        &self,
        ready: &mut Vec<ConnectionId>,
        alarm: impl Future<Output = ()>,
    ) {
        let mut alarm = pin!(alarm);
        poll_fn(|context| {
            {
                let mut state = self.shared.state.lock();
                ready.append(&mut state.ready);
                // Under the lock: whoever sets it from now on finds the waker, or it is seen here.
                state.task = Some(context.waker().clone());
            }
            let wanted = self.shared.turn_wanted.swap(false, Ordering::AcqRel);
            if wanted || !ready.is_empty() {
                return Poll::Ready(());
            }
            alarm.as_mut().poll(context)
        })
        .await;
    }
}

impl ConnectionWaker {
    /// The connection is being looked at: from now on it may be woken again.
    pub(super) fn taken(&self) {
        self.is_ready.store(false, Ordering::Release);
    }
}

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_ready.swap(true, Ordering::AcqRel) {
            return;
        }
        let task = {
            let mut state = self.set.shared.state.lock();
            state.ready.push(self.connection);
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn wishes_and_wakes_that_come_before_a_turn_are_one() {
        let set = ReadySet::default();
        let mut ready = Vec::new();
        for _ in 0..3 {
            set.want_turn();
        }
        set.wait(&mut ready, pending()).await;
        assert!(ready.is_empty());
        let connection = set.waker(ConnectionId(7));
        let waker = Waker::from(connection.clone());
        waker.wake_by_ref();
        waker.wake_by_ref();
        set.wait(&mut ready, pending()).await;
        assert_eq!(ready, [ConnectionId(7)]);
        ready.clear();
        connection.taken();
        // Nothing is left: only the alarm ends the wait.
        set.wait(&mut ready, std::future::ready(())).await;
        assert!(ready.is_empty());
        waker.wake();
        set.wait(&mut ready, pending()).await;
        assert_eq!(ready, [ConnectionId(7)]);
    }

    /// Covers CL-038: a wake-up from another thread ends the wait.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn cl_038_another_thread_ends_the_wait() {
        let set = ReadySet::default();
        let waiting = tokio::spawn({
            let set = set.clone();
            async move { set.wait(&mut Vec::new(), pending()).await }
        });
        tokio::task::yield_now().await;
        std::thread::spawn(move || set.want_turn()).join().unwrap();
        waiting.await.unwrap();
    }
}
