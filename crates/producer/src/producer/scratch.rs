//! [`ScratchPool`]: buffers that serializers write into, used again and again.

use parking_lot::Mutex;

/// Buffers that grew beyond this are not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// So many are kept: about as many as there are tasks that send at the same moment.
const KEPT_MAX: usize = 64;

/// Two buffers, for a key and a value.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// Buffers that nobody uses at the moment.
#[derive(Debug, Default)]
pub(super) struct ScratchPool(Mutex<Vec<Scratch>>);

impl ScratchPool {
    pub(super) fn take(&self) -> Scratch {
        self.0.lock().pop().unwrap_or_default()
    }

    pub(super) fn give_back(&self, mut scratch: Scratch) {
        scratch.key.clear();
        scratch.value.clear();
        let size = scratch.key.capacity().max(scratch.value.capacity());
        let mut kept = self.0.lock();
        if size <= KEPT_BYTES_MAX && kept.len() < KEPT_MAX {
            kept.push(scratch);
        }
    }
}
