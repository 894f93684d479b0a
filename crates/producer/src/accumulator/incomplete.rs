//! [`Incomplete`]: the batches whose outcome is not known, for those who wait for all of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::completion::Completion;

/// The completions that are not settled. Parts of a divided batch are not listed: whoever waits
/// for the whole waits for them.
#[derive(Default)]
pub(crate) struct Incomplete {
    /// By address, which is a batch's own as long as it is here. Held for one insertion, removal
    /// or copy; after a queue's lock.
    completions: Mutex<HashMap<usize, Arc<Completion>>>,
}

impl Incomplete {
    pub(crate) fn add(&self, completion: &Arc<Completion>) {
        let key = Arc::as_ptr(completion).addr();
        self.completions.lock().insert(key, Arc::clone(completion));
    }

    pub(crate) fn remove(&self, completion: &Arc<Completion>) {
        let key = Arc::as_ptr(completion).addr();
        self.completions.lock().remove(&key);
    }

    /// All that are here now.
    pub(crate) fn all(&self) -> Vec<Arc<Completion>> {
        self.completions.lock().values().cloned().collect()
    }
}
