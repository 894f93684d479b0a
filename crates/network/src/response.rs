//! [`Response`]: what goes back, part memory and part file.

use std::vec;

use bytes::Bytes;
use klamm_io::{DiskFile, FileRange};
use klamm_wire::{Encoded, Piece};
use thiserror::Error;

/// A whole response frame: size, header and body, as [`klamm_wire::encode_response`] makes it,
/// with ranges of files for the gaps that it leaves.
///
/// The bytes are sent as they are; the file ranges are read when their turn comes, in pieces.
pub struct Response<F> {
    encoded: Encoded,
    files: vec::IntoIter<FileRange<F>>,
}

/// The ranges are not those that the gaps ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FilesMismatch {
    /// A gap is filled by a range of another length.
    #[error("gap {gap} of the response has {wanted} bytes, its file range {given}")]
    Length {
        /// Which gap, counted from 0, gaps of no bytes left out.
        gap: usize,
        /// Bytes of the gap.
        wanted: usize,
        /// Bytes of the range; 0 where the ranges have run out.
        given: usize,
    },
    /// There are more ranges than gaps.
    #[error("{count} file ranges are left over, the response has only {gaps} gaps")]
    LeftOver {
        /// The ranges without a gap.
        count: usize,
        /// The gaps, those of no bytes left out.
        gaps: usize,
    },
}

/// A stretch of a response.
pub(crate) enum Stretch<F> {
    /// These bytes.
    Bytes(Bytes),
    /// Bytes of a file.
    File(FileRange<F>),
}

impl<F> Response<F> {
    /// A response in memory alone.
    pub fn new(encoded: Encoded) -> Self {
        Self {
            encoded,
            files: Vec::new().into_iter(),
        }
    }

    /// A response whose gaps, in order, are filled by these ranges. Gaps of no bytes and empty
    /// ranges count as absent on either side.
    ///
    /// A response that does not fit together cannot be sent: its connection is closed and the
    /// mismatch logged as an error, since the size in front of the frame has promised otherwise.
    pub fn with_files(encoded: Encoded, files: Vec<FileRange<F>>) -> Self {
        Self {
            encoded,
            files: files.into_iter(),
        }
    }

    /// The size in bytes, files included.
    pub fn len(&self) -> usize {
        self.encoded.len()
    }

    /// Whether there are no bytes, which no frame is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the parts, in order, none of them empty; on an error some may have been.
    pub(crate) fn into_stretches(
        mut self,
        stretches: &mut impl Extend<Stretch<F>>,
    ) -> Result<(), FilesMismatch> {
        let mut gaps = 0;
        for piece in self.encoded {
            let stretch = match piece {
                Piece::Gap(0) => continue,
                Piece::Bytes(bytes) => Stretch::Bytes(bytes),
                Piece::Gap(wanted) => match self.files.find(|file| !file.is_empty()) {
                    Some(file) if file.len == wanted => {
                        gaps += 1;
                        Stretch::File(file)
                    }
                    other => {
                        return Err(FilesMismatch::Length {
                            gap: gaps,
                            wanted,
                            given: other.map_or(0, |file| file.len),
                        });
                    }
                },
            };
            stretches.extend([stretch]);
        }
        match self.files.filter(|file| !file.is_empty()).count() {
            0 => Ok(()),
            count => Err(FilesMismatch::LeftOver { count, gaps }),
        }
    }
}

impl<F> From<Encoded> for Response<F> {
    fn from(encoded: Encoded) -> Self {
        Self::new(encoded)
    }
}

impl<F: DiskFile> std::fmt::Debug for Response<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("len", &self.len())
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
