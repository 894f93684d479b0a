//! Record batches of the Apache Kafka protocol: what producers send, brokers store and consumers
//! read, byte for byte.
//!
//! The crate knows bytes and nothing else: no files, no partitions, no sockets. It reads and
//! writes magic 2, the only format since Kafka 0.11; the two before are recognised and refused by
//! name. No input makes it panic, or take memory beyond the bytes that are there and the limit
//! that [`Codecs`] is given.
//!
//! Read first: [`RecordBatch`] (a view of a batch, and three ways to its records),
//! [`RecordBatchBuilder`] (writes one), and [`validate`], out of which comes the [`ValidBatch`]
//! that a log appends.
//!
//! ```
//! use klamm_records::{
//!     BatchOptions, Codecs, Compression, RecordBatchBuilder, ValidationRules, validate,
//! };
//!
//! // A producer builds a batch ...
//! let mut codecs = Codecs::default();
//! let options = BatchOptions { compression: Compression::Snappy, ..BatchOptions::default() };
//! let mut builder = RecordBatchBuilder::new(options, Vec::new());
//! builder.append(1_700_000_000_000, Some(b"key"), Some(b"value"), &[])?;
//! builder.close(&mut codecs)?;
//! let sent = builder.into_bytes()?;
//!
//! // ... a leader checks it, and its log gives it a place ...
//! let now_ms = 1_700_000_000_005;
//! let valid = validate(sent, &ValidationRules::default(), now_ms, &mut codecs)?;
//! let header = valid.stamped(42.into(), 7.into(), now_ms);
//! let stored = [&header.to_bytes(), &valid.records()[..]].concat();
//!
//! // ... and a consumer reads it.
//! let batch = klamm_records::RecordBatch::parse(stored.into())?;
//! let mut reader = batch.read(&mut codecs)?;
//! let record = reader.next()?.expect("one was appended");
//! assert_eq!((record.offset.get(), record.key), (42, Some(b"key".as_slice())));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod crc;

mod attributes;
mod batch;
mod batches;
mod header;

mod decode;
mod lookup;
mod reader;
mod record;
mod records;
mod skim;

mod compression;

mod builder;
mod control;
mod size;

mod filter;
mod valid_batch;
mod validate;

pub use attributes::{Attributes, TimestampType};
pub use batch::RecordBatch;
pub use batches::RecordBatches;
pub use builder::{
    AppendError, BatchOptions, BuildError, CloseError, RecordBatchBuilder, StateError, Timestamps,
};
pub use compression::{
    Codec, Codecs, Compression, DeflateError, GzipLevel, InflateError, LevelError, Levels,
    Lz4Level, TopicCompression, UnknownCodec, UnknownCompression, ZstdLevel,
};
pub use control::{ControlError, ControlType, EndMarker, Outcome};
pub use crc::{crc32c, crc32c_append};
pub use decode::{RecordFault, RecordField};
pub use filter::{
    BatchVerdict, Emptied, FilterError, FilterErrorCause, Filtered, Horizon, RecordFilter, filter,
};
pub use header::{
    BatchError, BatchHeader, BatchPrefix, HEADER_LEN, MAGIC, NO_TIMESTAMP, PREFIX_LEN,
    ProducerStamp,
};
pub use lookup::{FoundBatch, FoundTimestamp, LookupError};
pub use reader::RecordReader;
pub use record::{Header, Headers, Record, RecordMeta};
pub use records::{Records, RecordsError};
pub use size::{CompressionRatios, batch_size_max, record_size, record_size_max};
pub use skim::Skim;
pub use valid_batch::ValidBatch;
pub use validate::{
    FailureReason, RecordFailure, RecordFailures, ValidationError, ValidationRules, validate,
    validate_own,
};

/// The examples of the README are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
