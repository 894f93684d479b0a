//! [`Guest`]: what decides which requests are sent, on the client's own task.

use std::time::Instant;

use crate::answer::Answer;
use crate::network_client::NetworkClient;
use crate::task::ClientHandle;

/// Shares the client's task and its [`NetworkClient`]: the sender of a producer, a fetcher, the
/// queue behind [`Requests`](crate::Requests). Synchronous; it must not block.
pub trait Guest: Send + 'static {
    /// The task begins. The handle is for those outside who have something for this guest to do.
    fn started(&mut self, handle: &ClientHandle) {
        let _ = handle;
    }

    /// Has a look around and sends what there is to send. Called after every batch of events,
    /// when the time that it named has come, and after
    /// [`ClientHandle::wake`](crate::ClientHandle::wake).
    ///
    /// Returns when it wants its next turn even if nothing happens; `None` for never. A client
    /// that it [closes](NetworkClient::close) ends the task. The last turn of all has a client
    /// that [is closed](NetworkClient::is_closed).
    fn turn(&mut self, now: Instant, client: &mut NetworkClient) -> Option<Instant>;

    /// One of its requests is done. Called in the order in which the outcomes became known,
    /// before the next turn.
    fn answered(&mut self, now: Instant, answer: Answer, client: &mut NetworkClient);
}

/// Nobody: a client that only keeps its metadata fresh.
impl Guest for () {
    fn turn(&mut self, _: Instant, _: &mut NetworkClient) -> Option<Instant> {
        None
    }

    fn answered(&mut self, _: Instant, _: Answer, _: &mut NetworkClient) {}
}
