//! [`FrameBuffers`]: memory for large frames, used again by the next ones.
//!
//! Memory of a size that comes and goes is taken from the system and given back each time by usual
//! allocators. With requests of 1 MB a sixth of the processor's time went into that: the system
//! clears each page, and all of it is cold when the socket is read.
//!
//! Frames that are larger than that are seldom, and what counts with them is that their memory goes
//! back. The allocator of glibc learns from each large piece that is freed to keep pieces of its size
//! at hand, up to 32 MiB, and a hundred clients that broke off in a frame of 5 MB, four times over,
//! left a broker of 9 MiB with 333 MiB. What is larger than 32 MiB it maps and unmaps each time; so
//! that is the room that a large frame gets. It is address space: memory is what bytes have come to.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes of a buffer: enough for a produce request as clients make them by default.
pub(crate) const FRAME_BUFFER_LEN: usize = 1_114_112;

/// Allocators keep memory for frames below this at hand themselves.
const FRAME_LEN_MIN: usize = 64 * 1024;

/// Buffers that are kept for the next to come.
const FREE_MAX: usize = 8;

/// While so many are lent, others are treated as large ones.
const LENT_MAX: usize = 64;

/// Room for a frame above [`FRAME_BUFFER_LEN`], whatever its size.
const LARGE_ROOM_LEN: usize = 33 << 20;

/// While so many frames have that room, others grow as their bytes arrive: where address space is
/// counted as memory, it must not run out for all.
const LARGE_MAX: usize = 128;

/// Buffers for all connections of a server.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffers {
    /// Held to take or give one back only.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Vec<u8>>,
    lent: usize,
    large: usize,
}

/// The bytes of a frame so far. The memory returns to where it is from when this, or the last part
/// of what was [frozen](Self::freeze), is dropped.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffer {
    pub(crate) bytes: Vec<u8>,
    home: Option<Arc<FrameBuffers>>,
    is_large: bool,
}

impl FrameBuffers {
    /// A buffer for a frame of this size. One of the size that is kept has room for it, a large one
    /// for [`LARGE_ROOM_LEN`] of it, and a small one has no room yet.
    pub(crate) fn take(self: &Arc<Self>, frame_len: usize) -> FrameBuffer {
        if frame_len < FRAME_LEN_MIN {
            return FrameBuffer::default();
        }
        if frame_len > FRAME_BUFFER_LEN {
            return self.take_large().unwrap_or_default();
        }
        let Some(mut bytes) = self.take_kept() else {
            return self.take_large().unwrap_or_default();
        };
        if bytes.capacity() == 0 {
            bytes.reserve_exact(FRAME_BUFFER_LEN);
        }
        FrameBuffer {
            bytes,
            home: Some(Arc::clone(self)),
            is_large: false,
        }
    }

    /// One that was kept, or an empty one in its place; nothing where as many are lent as may be.
    fn take_kept(&self) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        if state.lent == LENT_MAX {
            return None;
        }
        state.lent += 1;
        Some(state.free.pop().unwrap_or_default())
    }

    fn take_large(self: &Arc<Self>) -> Option<FrameBuffer> {
        {
            let mut state = self.state.lock();
            if state.large == LARGE_MAX {
                return None;
            }
            state.large += 1;
        }
        let mut bytes = Vec::new();
        // Where there is no address space for it, the frame may still find room as it grows.
        _ = bytes.try_reserve_exact(LARGE_ROOM_LEN);
        Some(FrameBuffer {
            bytes,
            home: Some(Arc::clone(self)),
            is_large: true,
        })
    }

    fn give_large(&self) {
        self.state.lock().large -= 1;
    }

    fn give(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        let mut state = self.state.lock();
        state.lent -= 1;
        if state.free.len() < FREE_MAX {
            state.free.push(bytes);
        }
    }
}

impl FrameBuffer {
    /// The frame, of which parts may be handed on.
    pub(crate) fn freeze(mut self) -> Bytes {
        if self.home.is_some() {
            Bytes::from_owner(self)
        } else {
            std::mem::take(&mut self.bytes).into()
        }
    }
}

impl AsRef<[u8]> for FrameBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for FrameBuffer {
    fn drop(&mut self) {
        match self.home.take() {
            Some(home) if self.is_large => home.give_large(),
            Some(home) => home.give(std::mem::take(&mut self.bytes)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(buffers: &Arc<FrameBuffers>, len: usize) -> Bytes {
        let mut buffer = buffers.take(len);
        buffer.bytes.resize(len, 7);
        buffer.freeze()
    }

    #[test]
    fn the_memory_of_a_large_frame_is_used_again_once_its_last_part_is_gone() {
        let buffers = Arc::new(FrameBuffers::default());
        let mut first = filled(&buffers, FRAME_LEN_MIN);
        let part = first.split_off(9);
        let place = first.as_ptr();
        drop(first);
        assert_ne!(filled(&buffers, FRAME_BUFFER_LEN).as_ptr(), place);
        assert!(part.iter().all(|byte| *byte == 7));
        drop(part);
        assert_eq!(filled(&buffers, FRAME_BUFFER_LEN).as_ptr(), place);
    }

    #[test]
    fn small_frames_have_memory_of_their_own() {
        let buffers = Arc::new(FrameBuffers::default());
        for len in [0, FRAME_LEN_MIN - 1] {
            assert_eq!(buffers.take(len).bytes.capacity(), 0);
            assert_eq!(filled(&buffers, len).len(), len);
        }
        assert_eq!(buffers.state.lock().lent, 0);
        assert!(buffers.state.lock().free.is_empty());
    }

    #[test]
    fn large_frames_have_room_that_is_given_back_and_not_too_many_of_them() {
        let buffers = Arc::new(FrameBuffers::default());
        let mut lent: Vec<_> = (0..LARGE_MAX)
            .map(|_| buffers.take(FRAME_BUFFER_LEN + 1))
            .collect();
        assert!(lent.iter().all(|it| it.bytes.capacity() >= LARGE_ROOM_LEN));
        assert_eq!(buffers.take(FRAME_BUFFER_LEN + 1).bytes.capacity(), 0);
        let mut frame = lent.pop().unwrap();
        frame.bytes.extend_from_slice(b"abc");
        let part = frame.freeze().split_off(1);
        assert_eq!(buffers.state.lock().large, LARGE_MAX);
        assert_eq!(part, b"bc"[..]);
        drop(part);
        assert_eq!(buffers.state.lock().large, LARGE_MAX - 1);
        drop(lent);
        let state = buffers.state.lock();
        assert_eq!((state.large, state.lent, state.free.len()), (0, 0, 0));
    }

    #[test]
    fn few_are_kept_and_not_many_lent() {
        let buffers = Arc::new(FrameBuffers::default());
        let lent: Vec<_> = (0..LENT_MAX)
            .map(|_| buffers.take(FRAME_BUFFER_LEN))
            .collect();
        let one_more = buffers.take(FRAME_BUFFER_LEN);
        assert!(one_more.bytes.capacity() >= LARGE_ROOM_LEN);
        drop((lent, one_more));
        let state = buffers.state.lock();
        let left = (state.lent, state.large, state.free.len());
        assert_eq!(left, (0, 0, FREE_MAX));
    }
}
