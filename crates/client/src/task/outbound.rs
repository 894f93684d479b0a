//! [`Outbound`]: the frame that a connection is writing.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use klamm_wire::{Encoded, Piece};
use thiserror::Error;
use tokio::io::AsyncWrite;

/// Pieces that go into one call of the operating system. A produce request has one for each batch
/// and one before it; more than this are written by several calls.
const PIECES_MAX: usize = 64;

/// The frame that a connection is writing, if any: pieces that are shared with whoever made them,
/// and are let go as they are written.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    pieces: VecDeque<Bytes>,
}

/// Why a frame is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum Refused {
    /// Another is being written.
    #[error("a frame is still being written")]
    Writing,
    /// It has a gap, and nobody to fill it.
    #[error("the frame has a gap of {bytes} bytes")]
    Gap {
        /// The size of the gap.
        bytes: usize,
    },
}

impl Outbound {
    /// Whether there is something left to write.
    pub(super) fn is_writing(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Begins to write a frame.
    pub(super) fn start(&mut self, frame: Encoded) -> Result<(), Refused> {
        if self.is_writing() {
            return Err(Refused::Writing);
        }
        for piece in frame {
            match piece {
                Piece::Bytes(bytes) => self.pieces.push_back(bytes),
                Piece::Gap(0) => {}
                Piece::Gap(bytes) => {
                    self.pieces.clear();
                    return Err(Refused::Gap { bytes });
                }
            }
        }
        Ok(())
    }

    /// Writes what the socket takes, and counts it; ready when nothing is left.
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
        count: &mut usize,
    ) -> Poll<io::Result<()>> {
        while self.is_writing() {
            let mut slices = [IoSlice::new(&[]); PIECES_MAX];
            let mut filled = 0;
            for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(piece);
                filled += 1;
            }
            let stream = Pin::new(&mut *stream);
            let written = ready!(stream.poll_write_vectored(context, &slices[..filled]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *count += written;
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Lets go of what is written.
    fn advance(&mut self, mut written: usize) {
        while let Some(first) = self.pieces.front_mut() {
            if written < first.len() {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use klamm_primitives::PartitionIndex;
    use klamm_wire::header::RequestHeader;
    use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
    use klamm_wire::{Records, encode_request};
    use tokio::io::AsyncReadExt;

    use super::*;

    fn frame(records: impl IntoIterator<Item = Records>) -> Encoded {
        let partition = |(index, records)| PartitionProduceData {
            index: PartitionIndex::new(index),
            records: Some(records),
            ..PartitionProduceData::default()
        };
        let request = ProduceRequest {
            topic_data: vec![TopicProduceData {
                name: "topic".into(),
                partition_data: (0..).zip(records).map(partition).collect(),
                ..TopicProduceData::default()
            }],
            ..ProduceRequest::default()
        };
        let header = RequestHeader::of::<ProduceRequest>(9, 0.into(), None);
        encode_request(&header, &request).unwrap()
    }

    /// Covers CL-088: the bytes arrive whole and in order, however little the socket takes.
    #[tokio::test]
    async fn cl_088_a_frame_larger_than_the_socket_takes_arrives_whole() {
        let records = (0..150u8).map(|byte| Records::from(Bytes::from(vec![byte; 5_000])));
        let frame = frame(records);
        let expected = frame.clone().into_bytes().unwrap();
        let (mut near, mut far) = tokio::io::duplex(10_007);
        let mut outbound = Outbound::default();
        outbound.start(frame).unwrap();
        assert!(outbound.is_writing());
        let mut count = 0;
        let writing =
            std::future::poll_fn(|context| outbound.poll_write(&mut near, context, &mut count));
        let mut received = vec![0; expected.len()];
        let (written, read) = tokio::join!(writing, far.read_exact(&mut received));
        written.unwrap();
        read.unwrap();
        assert_eq!(received, expected);
        assert_eq!(count, expected.len());
        assert!(!outbound.is_writing());
    }

    #[test]
    fn cl_090_a_second_frame_is_refused_while_one_is_being_written() {
        let mut outbound = Outbound::default();
        outbound
            .start(frame([Records::from(Bytes::from(vec![1; 100]))]))
            .unwrap();
        let (mut near, _far) = tokio::io::duplex(10);
        let mut context = Context::from_waker(Waker::noop());
        let written = outbound.poll_write(&mut near, &mut context, &mut 0);
        assert!(written.is_pending());
        let second = frame([Records::from(Bytes::new())]);
        assert_eq!(outbound.start(second), Err(Refused::Writing));
    }

    #[test]
    fn a_gap_is_refused_and_leaves_nothing() {
        let mut outbound = Outbound::default();
        let refused = outbound.start(frame([Records::Elsewhere(7)]));
        assert_eq!(refused, Err(Refused::Gap { bytes: 7 }));
        assert!(!outbound.is_writing());
    }

    /// Records are written from where they are, and let go once written.
    #[test]
    fn records_are_shared_and_let_go() {
        let records = Bytes::from(vec![1; 5_000]);
        let mut outbound = Outbound::default();
        outbound
            .start(frame([Records::from(records.clone())]))
            .unwrap();
        assert!(
            outbound
                .pieces
                .iter()
                .any(|piece| piece.as_ptr() == records.as_ptr())
        );
        assert!(!records.is_unique());
        let (mut near, _far) = tokio::io::duplex(10_000);
        let mut context = Context::from_waker(Waker::noop());
        assert!(
            outbound
                .poll_write(&mut near, &mut context, &mut 0)
                .is_ready()
        );
        assert!(records.is_unique());
    }
}
