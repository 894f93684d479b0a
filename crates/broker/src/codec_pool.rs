//! [`CodecPool`]: scratch space for compression, lent out to one call at a time.

use klamm_records::Codecs;
use parking_lot::Mutex;

/// Scratch space for compression: as many as were ever in use at a time, so no more than there are
/// handlers.
#[derive(Default)]
pub(crate) struct CodecPool {
    /// Held to take or give back one.
    idle: Mutex<Vec<Codecs>>,
}

impl CodecPool {
    /// Calls `work` with scratch space of its own.
    pub(crate) fn lend<R>(&self, work: impl FnOnce(&mut Codecs) -> R) -> R {
        let idle = self.idle.lock().pop();
        let mut codecs = idle.unwrap_or_default();
        let result = work(&mut codecs);
        self.idle.lock().push(codecs);
        result
    }
}
