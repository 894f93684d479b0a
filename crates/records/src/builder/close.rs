//! Closing a batch, and what can be done with a closed one.

use bytes::Bytes;

use crate::attributes::{Attributes, TimestampType};
use crate::batch::RecordBatch;
use crate::builder::{
    BuildError, CloseError, RecordBatchBuilder, SIZE_MAX, State, StateError, Timestamps,
};
use crate::compression::{Codecs, Compression, DeflateError};
use crate::crc::crc32c;
use crate::header::{BatchHeader, CHECKED_FROM, HEADER_LEN, ProducerStamp};

impl RecordBatchBuilder {
    /// Sets what marks the producer.
    ///
    /// # Errors
    /// [`StateError::Closed`] until the batch is [reopened](Self::reopen),
    /// [`StateError::Aborted`].
    pub fn set_producer(&mut self, producer: ProducerStamp) -> Result<(), StateError> {
        match self.state {
            State::Open | State::Reopened => {
                self.options.producer = producer;
                Ok(())
            }
            State::Closed => Err(StateError::Closed),
            State::Aborted => Err(StateError::Aborted),
        }
    }

    /// Makes the batch final: compresses the records and writes the header with its checksum.
    /// Closing a closed batch does nothing; closing a reopened one sets header and checksum and
    /// reads no record.
    ///
    /// # Errors
    /// Any of [`CloseError`].
    pub fn close(&mut self, codecs: &mut Codecs) -> Result<(), CloseError> {
        match self.state {
            State::Closed => return Ok(()),
            State::Aborted => return Err(StateError::Aborted.into()),
            State::Open | State::Reopened => {}
        }
        self.check_producer()?;
        match self.state {
            State::Reopened => self.header.set_producer(self.options.producer),
            _ => self.header = self.seal(codecs)?,
        }
        if !self.is_empty() {
            self.buffer[self.start..][..HEADER_LEN].copy_from_slice(&self.header.to_bytes());
        }
        self.state = State::Closed;
        self.steady = false;
        Ok(())
    }

    fn check_producer(&self) -> Result<(), CloseError> {
        let producer = self.options.producer;
        if producer.producer_id.get() < 0 {
            if self.options.transactional {
                return Err(CloseError::TransactionalWithoutProducer);
            }
            return Ok(());
        }
        if producer.producer_epoch.get() < 0 {
            return Err(CloseError::WithoutProducerEpoch);
        }
        if producer.base_sequence.is_none() && !self.options.control {
            return Err(CloseError::WithoutSequence);
        }
        Ok(())
    }

    fn seal(&mut self, codecs: &mut Codecs) -> Result<BatchHeader, DeflateError> {
        let mut header = BatchHeader {
            attributes: self.attributes(),
            last_offset_delta: self.contents.last_offset_delta,
            base_timestamp_ms: self.contents.base_timestamp_ms,
            max_timestamp_ms: self.contents.max_timestamp_ms,
            producer_id: self.options.producer.producer_id,
            producer_epoch: self.options.producer.producer_epoch,
            base_sequence: self.options.producer.base_sequence,
            record_count: self.contents.count.cast_signed(),
            ..BatchHeader::empty(self.options.base_offset, self.options.leader_epoch)
        };
        if self.is_empty() {
            return Ok(header);
        }
        let records_at = self.start + HEADER_LEN;
        self.contents.plain_len = self.end - records_at;
        if self.options.compression != Compression::None {
            self.buffer.truncate(self.end);
            codecs.deflate_in_place(
                self.options.compression,
                &mut self.buffer,
                records_at,
                SIZE_MAX - HEADER_LEN,
            )?;
            self.end = self.buffer.len();
        }
        let records_len = self.end - records_at;
        header.set_records_len(u32::try_from(records_len).expect("at most SIZE_MAX"));
        self.buffer[self.start..records_at].copy_from_slice(&header.to_bytes());
        header.crc = crc32c(&self.buffer[self.start + CHECKED_FROM..self.end]);
        Ok(header)
    }

    fn attributes(&self) -> Attributes {
        let mut attributes = Attributes::default().with_codec(self.options.compression.codec());
        if let Timestamps::LogAppend { .. } = self.options.timestamps {
            attributes = attributes.with_timestamp_type(TimestampType::LogAppend);
        }
        if self.options.transactional {
            attributes = attributes.with_transactional();
        }
        if self.options.control {
            attributes = attributes.with_control();
        }
        if self.options.delete_horizon_ms.is_some() {
            attributes = attributes.with_delete_horizon();
        }
        attributes
    }

    /// Lets the producer of a closed batch be set again: of one that was never sent, or whose
    /// producer got a new epoch. Records stay as they are.
    ///
    /// # Errors
    /// [`StateError::Open`], [`StateError::Aborted`].
    pub fn reopen(&mut self) -> Result<(), StateError> {
        match self.state {
            State::Closed | State::Reopened => {
                self.state = State::Reopened;
                Ok(())
            }
            State::Open => Err(StateError::Open),
            State::Aborted => Err(StateError::Aborted),
        }
    }

    /// Gives up what was appended. The buffer can still be had back.
    ///
    /// # Errors
    /// [`StateError::Closed`]: somebody may be sending the batch.
    pub fn abort(&mut self) -> Result<(), StateError> {
        match self.state {
            State::Open | State::Aborted => {
                self.clear();
                self.state = State::Aborted;
                Ok(())
            }
            State::Closed | State::Reopened => Err(StateError::Closed),
        }
    }

    /// The header of the closed batch.
    ///
    /// # Errors
    /// [`StateError::Open`], [`StateError::Aborted`].
    pub fn header(&self) -> Result<&BatchHeader, StateError> {
        match self.state {
            State::Closed => Ok(&self.header),
            State::Open | State::Reopened => Err(StateError::Open),
            State::Aborted => Err(StateError::Aborted),
        }
    }

    /// The closed batch, empty if nothing was appended.
    ///
    /// # Errors
    /// [`StateError::Open`], [`StateError::Aborted`].
    pub fn bytes(&self) -> Result<&[u8], StateError> {
        self.header()?;
        Ok(&self.buffer[self.start..self.end])
    }

    /// The closed batch, to be shared. The buffer comes back through `Vec::from(bytes)` without
    /// a copy once no other share of it is left.
    ///
    /// # Errors
    /// [`StateError::Open`], [`StateError::Aborted`].
    pub fn into_bytes(self) -> Result<Bytes, StateError> {
        Ok(self.into_shared()?.1)
    }

    /// The whole buffer and, as a part of it, the closed batch. Once the batch and all its shares
    /// are gone, `Vec::from(buffer)` has all bytes set that were set before, so that they need not
    /// be set anew for the next batch.
    ///
    /// # Errors
    /// [`StateError::Open`], [`StateError::Aborted`].
    pub fn into_shared(self) -> Result<(Bytes, Bytes), StateError> {
        self.header()?;
        let (start, end) = (self.start, self.end);
        let whole = Bytes::from(self.buffer);
        let batch = whole.slice(start..end);
        Ok((whole, batch))
    }

    /// Closes the batch, which has records, and views it.
    pub(crate) fn finish(mut self, codecs: &mut Codecs) -> Result<RecordBatch, BuildError> {
        self.close(codecs)?;
        let bytes = self.into_bytes().expect("the batch was closed just now");
        Ok(RecordBatch::parse(bytes).expect("a batch with records is written whole"))
    }

    /// The buffer, with the batch in it as far as it was written.
    pub fn into_buffer(mut self) -> Vec<u8> {
        self.buffer.truncate(self.end);
        self.buffer
    }

    /// Makes the batch end at that offset, whatever its last record has.
    pub(crate) fn end_at(&mut self, last_offset_delta: i32) {
        self.contents.last_offset_delta = last_offset_delta;
    }
}
