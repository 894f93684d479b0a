//! Frames out of whatever arrives.

use std::collections::VecDeque;
use std::task::Waker;

use proptest::prelude::*;

use super::*;

/// A stream that brings these pieces, one a read at most, and then ends.
struct Pieces {
    left: VecDeque<Vec<u8>>,
    reads: usize,
    /// The most room that a read was given.
    room_max: usize,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            left: pieces.into_iter().collect(),
            reads: 0,
            room_max: 0,
        }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.reads += 1;
        self.room_max = self.room_max.max(buffer.remaining());
        if let Some(piece) = self.left.front_mut() {
            let count = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece[..count]);
            piece.drain(..count);
            if piece.is_empty() {
                self.left.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn framed(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for frame in frames {
        stream.extend(u32::try_from(frame.len()).unwrap().to_be_bytes());
        stream.extend(frame);
    }
    stream
}

fn next(reader: &mut FrameReader, stream: &mut Pieces) -> Result<Read, FrameError> {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match reader.poll_read(stream, &mut context) {
            Poll::Ready(Ok(Read::Announced(_))) => {}
            Poll::Ready(read) => return read,
            Poll::Pending => panic!("the stream is always ready"),
        }
    }
}

fn reader(size_max: usize) -> FrameReader {
    FrameReader::new(size_max, Arc::default())
}

fn read_all(stream: &mut Pieces, size_max: usize) -> Result<Vec<Vec<u8>>, FrameError> {
    let (mut reader, mut frames) = (reader(size_max), Vec::new());
    while let Read::Frame(frame) = next(&mut reader, stream)? {
        frames.push(frame.to_vec());
    }
    Ok(frames)
}

proptest! {
    /// Covers NE-001, NE-002.
    #[test]
    fn any_slicing_yields_each_frame_once(
        sizes in prop::collection::vec(prop_oneof![0_usize..50, 3_000..9_000_usize, 60_000..80_000_usize], 0..8),
        cuts in prop::collection::vec(1_usize..5_000, 1..40),
    ) {
        let frames: Vec<Vec<u8>> = sizes
            .iter()
            .enumerate()
            .map(|(number, size)| vec![u8::try_from(number).unwrap(); *size])
            .collect();
        let (mut pieces, mut rest) = (Vec::new(), &framed(&frames)[..]);
        let mut cuts = cuts.iter().cycle();
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            pieces.push(piece.to_vec());
            rest = later;
        }
        prop_assert_eq!(read_all(&mut Pieces::new(pieces), 100_000).unwrap(), frames);
    }
}

#[test]
fn ne_002_one_byte_at_a_time_and_all_at_once() {
    let frames = [b"one".to_vec(), Vec::new(), b"three".to_vec()];
    let stream = framed(&frames);
    let mut slow = Pieces::new(stream.iter().map(|byte| vec![*byte]));
    assert_eq!(read_all(&mut slow, 10).unwrap(), frames);
    let mut fast = Pieces::new([stream]);
    assert_eq!(read_all(&mut fast, 10).unwrap(), frames);
    assert_eq!(fast.reads, 2, "one for the frames, one for the end");
}

#[test]
fn ne_003_a_frame_above_the_limit_is_refused_before_room_is_taken() {
    for (size, fits) in [(10, true), (11, false), (i32::MAX, false), (-1, false)] {
        let mut stream = Pieces::new([[&size.to_be_bytes()[..], &[7; 10]].concat()]);
        let read = read_all(&mut stream, 10);
        match read {
            Ok(frames) => assert!(fits && frames == [[7; 10]]),
            Err(FrameError::TooLarge { .. } | FrameError::NegativeSize { .. }) => assert!(!fits),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Covers C025, NE-003.
#[test]
fn an_announced_size_takes_no_memory_before_its_bytes_come() {
    let size = 100 * 1024 * 1024;
    let mut stream = Pieces::new([i32::to_be_bytes(size).to_vec(), vec![1; 5_000]]);
    let read = read_all(&mut stream, usize::try_from(size).unwrap());
    assert!(matches!(
        read,
        Err(FrameError::Disconnected { received: 5_004 })
    ));
    assert!(stream.room_max <= RESERVED_MAX, "{}", stream.room_max);
}

#[test]
fn ne_002_a_large_frame_is_read_straight_into_its_own_memory() {
    let frame: Vec<u8> = (0..3_000_000_u32).map(|at| at.to_be_bytes()[3]).collect();
    let mut stream = Pieces::new([framed(&[frame.clone(), b"next".to_vec()])]);
    let frames = read_all(&mut stream, 10_000_000).unwrap();
    assert!(frames == [frame, b"next".to_vec()]);
    assert!(stream.reads < 10, "{} reads", stream.reads);
}

#[test]
fn a_stream_that_ends_inside_a_frame_says_so() {
    for cut in 1..8 {
        let mut stream = Pieces::new([framed(&[b"four".to_vec()])[..cut].to_vec()]);
        let read = read_all(&mut stream, 10);
        assert!(
            matches!(read, Err(FrameError::Disconnected { received }) if received == cut),
            "{cut}: {read:?}"
        );
    }
}

#[test]
fn no_memory_is_held_between_frames() {
    let mut stream = Pieces::new([framed(&[vec![1; 3_000], vec![2; 100]])]);
    let mut reader = reader(10_000);
    for _ in 0..2 {
        assert!(matches!(next(&mut reader, &mut stream), Ok(Read::Frame(_))));
    }
    assert_eq!(reader.beyond.capacity(), 0);
    assert!(matches!(reader.state, State::Size { len: 0, .. }));
}
