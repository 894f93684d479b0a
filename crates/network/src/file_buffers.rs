//! [`FileBuffers`]: memory through which files reach the sockets.

use parking_lot::Mutex;

/// Bytes of a buffer.
///
/// So much is read from a file and written to a socket at a time: enough that the two system
/// calls do not count, little enough to stay in the processor's cache between them, and to keep
/// the task's thread for some ten microseconds only.
pub(crate) const FILE_BUFFER_LEN: usize = 128 * 1024;

/// Buffers that are kept for the next to come.
const FREE_MAX: usize = 16;

/// Buffers that connections may hold on to while their sockets take no more. Beyond it, what was
/// read is given up and read again later, so that slow readers do not add up. (C128)
const HELD_MAX: usize = 128;

/// Buffers for all connections of a server.
#[derive(Debug, Default)]
pub(crate) struct FileBuffers {
    /// Held to take or give one back only.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Box<[u8]>>,
    /// Buffers in use.
    used: usize,
}

impl FileBuffers {
    /// A buffer, of whatever contents.
    pub(crate) fn take(&self) -> Box<[u8]> {
        let free = {
            let mut state = self.state.lock();
            state.used += 1;
            state.free.pop()
        };
        free.unwrap_or_else(|| vec![0; FILE_BUFFER_LEN].into_boxed_slice())
    }

    /// Gives a buffer back.
    pub(crate) fn give(&self, buffer: Box<[u8]>) {
        let mut state = self.state.lock();
        state.used -= 1;
        if state.free.len() < FREE_MAX {
            state.free.push(buffer);
        }
    }

    /// Whether so many are in use that whoever waits should give its own back.
    pub(crate) fn are_scarce(&self) -> bool {
        self.state.lock().used > HELD_MAX
    }
}
