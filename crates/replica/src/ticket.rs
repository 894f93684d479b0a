//! [`Ticket`]: what the caller leaves with a request that waits.

/// What the caller leaves with a request that waits: all that it needs to answer it later. One that
/// tells nothing of whoever waits is never hurried, and goes on waiting.
pub trait Ticket {
    /// The number of whoever waits, by which [`ReplicaManager::hurry`](crate::ReplicaManager::hurry)
    /// finds what waits for it; less than 2⁶³. It must not change.
    fn reader(&self) -> Option<u64> {
        None
    }

    /// Whether it goes on waiting. Asked now and then, also under no change.
    fn patience(&self) -> Patience {
        Patience::Left
    }
}

/// Whether whoever waits goes on waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Patience {
    /// Until its time is up.
    Left,
    /// It takes what there is now.
    Over,
    /// It is gone, and takes nothing any more.
    Gone,
}
