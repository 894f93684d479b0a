//! [`ReadBudget`]: how the limits of a fetch are used up, partition by partition. (RE-079, B3.3)

use klamm_io::DiskFile;
use klamm_log::ReadLimit;

use crate::fetch_request::FetchedRecords;

/// What is left of the bytes that one answer may hold, and of the files that it may keep open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadBudget {
    bytes_left: u32,
    files_left: usize,
    /// Nothing was found yet: the first batch may be larger than all limits (KIP-74).
    is_first: bool,
}

impl ReadBudget {
    pub(crate) const fn new(max_bytes: u32, files_max: usize) -> Self {
        Self {
            bytes_left: max_bytes,
            files_left: files_max,
            is_first: true,
        }
    }

    /// How much may be read of the next partition, which has a limit of its own.
    pub(crate) fn limit(self, of_partition: u32) -> ReadLimit {
        if self.is_spent() {
            return ReadLimit::NOTHING;
        }
        ReadLimit {
            bytes_max: self.bytes_left.min(of_partition),
            whole_first_batch: self.is_first,
        }
    }

    /// Whether nothing more has room. There is no use in waiting for more, then.
    pub(crate) const fn is_spent(self) -> bool {
        !self.is_first && (self.bytes_left == 0 || self.files_left == 0)
    }

    /// Takes off what was found.
    pub(crate) fn spend<F: DiskFile>(&mut self, found: &FetchedRecords<F>) {
        if let Some(range) = &found.records {
            let len = u32::try_from(range.len).unwrap_or(u32::MAX);
            self.bytes_left = self.bytes_left.saturating_sub(len);
            self.files_left -= 1;
            self.is_first = false;
        }
    }
}
