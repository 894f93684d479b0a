//! [`Encoded`]: what encoding yields.

use std::vec;

use bytes::{Bytes, BytesMut};

/// A message's bytes: pieces in order, some of which may be gaps that somebody else fills.
///
/// Small values are copied into one buffer; large ones are passed on by reference and stand
/// between slices of it. Iterating yields the pieces, for a vectored write; where records are
/// [elsewhere](crate::Records::Elsewhere), so many bytes of theirs are to be written in the gap's
/// place. Whoever has no gap and wants one stretch calls [`into_bytes`](Self::into_bytes).
///
/// ```
/// use bytes::Bytes;
/// use klamm_wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
/// use klamm_wire::{Message, Piece, Records};
///
/// let partition = PartitionProduceData {
///     records: Some(Records::Elsewhere(1000)),
///     ..PartitionProduceData::default()
/// };
/// let topic = TopicProduceData { partition_data: vec![partition], ..Default::default() };
/// let request = ProduceRequest { topic_data: vec![topic], ..Default::default() };
///
/// let encoded = request.encode(9)?;
/// assert_eq!(encoded.len(), request.encoded_len(9)?, "the gap is counted");
/// let lens: Vec<usize> = encoded.into_iter().map(|piece| piece.len()).collect();
/// assert_eq!(lens, [16, 1000, 3], "what is before it, the gap, three empty tagged sections");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    copied: Bytes,
    /// What comes between, each with the number of copied bytes before it.
    apart: Vec<(usize, Piece)>,
}

/// A part of an encoded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These bytes.
    Bytes(Bytes),
    /// So many bytes, which were given as [`Records::Elsewhere`](crate::Records::Elsewhere).
    Gap(usize),
}

impl Piece {
    /// The size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Gap(len) => *len,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Encoded {
    pub(super) fn new(copied: Bytes, apart: Vec<(usize, Piece)>) -> Self {
        Self { copied, apart }
    }

    /// The size in bytes, gaps included.
    pub fn len(&self) -> usize {
        let apart: usize = self.apart.iter().map(|(_, piece)| piece.len()).sum();
        self.copied.len() + apart
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes in one stretch, which copies the large ones; `None` if there is a gap.
    pub fn into_bytes(self) -> Option<Bytes> {
        if self.apart.is_empty() {
            return Some(self.copied);
        }
        let mut whole = BytesMut::with_capacity(self.len());
        for piece in self {
            match piece {
                Piece::Bytes(bytes) => whole.extend_from_slice(&bytes),
                Piece::Gap(_) => return None,
            }
        }
        Some(whole.freeze())
    }
}

impl IntoIterator for Encoded {
    type Item = Piece;
    type IntoIter = Pieces;

    fn into_iter(self) -> Pieces {
        Pieces {
            copied: self.copied,
            taken: 0,
            apart: self.apart.into_iter(),
            next: None,
        }
    }
}

/// The pieces of an [`Encoded`], in order; none is empty but for gaps of no bytes.
#[derive(Debug)]
pub struct Pieces {
    copied: Bytes,
    /// How many copied bytes were handed out.
    taken: usize,
    apart: vec::IntoIter<(usize, Piece)>,
    /// What comes after the copied bytes that were handed out last.
    next: Option<Piece>,
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        if let Some(piece) = self.next.take() {
            return Some(piece);
        }
        let Some((before, piece)) = self.apart.next() else {
            let rest = self.copied.split_off(0);
            return (!rest.is_empty()).then_some(Piece::Bytes(rest));
        };
        let copied = self.copied.split_to(before - self.taken);
        self.taken = before;
        if copied.is_empty() {
            return Some(piece);
        }
        self.next = Some(piece);
        Some(Piece::Bytes(copied))
    }
}
