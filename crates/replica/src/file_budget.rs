//! [`FileBudget`]: how many of the process's file descriptors partitions may take.

/// Says whether a partition that is made may take a file descriptor more. Asked before some are
/// made, so that partitions leave connections their share: a process without a descriptor makes no
/// partition anyway, and accepts nobody either.
pub trait FileBudget: Send + Sync {
    /// Whether there is nothing left for more partitions, for now. Called for every few partitions
    /// that are made, not again while an image is taken over once there is nothing; must not block.
    fn is_spent(&self) -> bool;
}

/// The budget of a process whose files nobody counts.
pub(crate) struct Unbounded;

impl FileBudget for Unbounded {
    fn is_spent(&self) -> bool {
        false
    }
}
