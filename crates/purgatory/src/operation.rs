//! [`DelayedOperation`]: something that cannot be answered yet.

/// An operation that waits until something happens, or until its time is up.
///
/// It finishes exactly once: either one `try_complete` returned `Some`, or `expire` was called,
/// or it was cancelled and handed back as it is. After that the purgatory asks it nothing more,
/// and drops it.
///
/// Both methods are called without any lock of the purgatory held, so they may enter operations
/// into it and check its keys. They are never called at the same time, nor from two threads at
/// once. State that an operation shares with others is behind a lock of its own (an
/// `Arc<Mutex<..>>` field, say); take it inside these methods.
///
/// They decide, they do not act: what is to be done goes into `Done`, which whoever called into
/// the purgatory acts on after leaving its own locks.
pub trait DelayedOperation {
    /// The outcome, handed back as a value: a response with whom to send it to, for instance.
    type Done;

    /// Can it finish now? `Some` finishes it; `None` leaves it waiting, and should leave
    /// everything else as it was too.
    ///
    /// If it panics, the operation is dropped without an outcome; all others stay in order, and
    /// the panic reaches the caller after that.
    fn try_complete(&mut self) -> Option<Self::Done>;

    /// Its time is up: finish it as it stands.
    ///
    /// If it panics, the same holds as for [`try_complete`](Self::try_complete).
    fn expire(&mut self) -> Self::Done;
}
