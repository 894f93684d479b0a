//! [`Record`]: what an application hands over, and [`RecordMetadata`]: what it gets back.

use std::sync::Arc;

use bytes::Bytes;
use bytestring::ByteString;
use klamm_primitives::{Offset, PartitionIndex};
use thiserror::Error;

/// A record to be sent.
///
/// Key and value are of any type that the producer has serializers for; absent is not empty: a
/// record without a value is a tombstone where the topic is compacted. The topic's name is shared,
/// so that whoever sends many records clones one `Arc<str>` and allocates nothing.
///
/// A record that was sent has been given away, so its headers cannot be changed afterwards:
///
/// ```compile_fail
/// # async fn never(producer: klamm_producer::Producer) {
/// let mut record: klamm_producer::Record = klamm_producer::Record::to("clicks");
/// let delivery = producer.send(record).await;
/// record.headers.clear();
/// # }
/// ```
///
/// ```
/// use klamm_producer::Record;
///
/// let record: Record = Record::to("clicks")
///     .with_key("user-7")
///     .with_value("page-3")
///     .with_header("trace", Some("7f".into()));
/// assert!(record.clone().with_timestamp_ms(-5).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record<K = Bytes, V = Bytes> {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The key, which decides the partition where no other rule does.
    pub key: Option<K>,
    /// The value.
    pub value: Option<V>,
    /// In this order; keys may occur several times.
    pub headers: Vec<RecordHeader>,
    partition: Option<PartitionIndex>,
    timestamp_ms: Option<i64>,
}

/// A name and a value beside a record's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordHeader {
    /// The name.
    pub key: ByteString,
    /// The value; absent is not empty.
    pub value: Option<Bytes>,
}

/// What no record can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidRecord {
    /// Partitions count from 0.
    #[error("partition {0} is negative")]
    NegativePartition(PartitionIndex),
    /// Unix time in milliseconds is not negative; a record without a time leaves it out.
    #[error("timestamp {0} is negative")]
    NegativeTimestamp(i64),
}

impl<K, V> Record<K, V> {
    /// A record without key, value and headers, to which the producer gives partition and time.
    pub fn to(topic: impl Into<Arc<str>>) -> Self {
        Self {
            topic: topic.into(),
            key: None,
            value: None,
            headers: Vec::new(),
            partition: None,
            timestamp_ms: None,
        }
    }

    /// With that key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<K>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With that value.
    #[must_use]
    pub fn with_value(mut self, value: impl Into<V>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, key: impl Into<ByteString>, value: Option<Bytes>) -> Self {
        let key = key.into();
        self.headers.push(RecordHeader { key, value });
        self
    }

    /// For that partition, whatever partitioner there is.
    ///
    /// # Errors
    /// [`InvalidRecord::NegativePartition`].
    pub fn with_partition(
        mut self,
        partition: impl Into<PartitionIndex>,
    ) -> Result<Self, InvalidRecord> {
        let partition = partition.into();
        if partition.get() < 0 {
            return Err(InvalidRecord::NegativePartition(partition));
        }
        self.partition = Some(partition);
        Ok(self)
    }

    /// With that time, in Unix milliseconds.
    ///
    /// # Errors
    /// [`InvalidRecord::NegativeTimestamp`].
    pub fn with_timestamp_ms(mut self, timestamp_ms: i64) -> Result<Self, InvalidRecord> {
        if timestamp_ms < 0 {
            return Err(InvalidRecord::NegativeTimestamp(timestamp_ms));
        }
        self.timestamp_ms = Some(timestamp_ms);
        Ok(self)
    }

    /// The partition that was asked for.
    pub fn partition(&self) -> Option<PartitionIndex> {
        self.partition
    }

    /// The time that was given.
    pub fn timestamp_ms(&self) -> Option<i64> {
        self.timestamp_ms
    }
}

/// Where a record ended up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Its topic.
    pub topic: Arc<str>,
    /// Its partition; unknown for a record that failed before one was chosen.
    pub partition: Option<PartitionIndex>,
    /// Its place in the partition; [`Offset::UNKNOWN`] without acknowledgements (`acks=0`), for a
    /// failed record, and for one that the broker had already (a resent batch that it no longer
    /// knows the place of).
    pub offset: Offset,
    /// Its time in Unix milliseconds: the broker's where the topic asks for that, else its own;
    /// -1 for a failed record.
    pub timestamp_ms: i64,
    /// Bytes of the serialized key; none without a key.
    pub key_size: Option<usize>,
    /// Bytes of the serialized value; none without a value.
    pub value_size: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Record {
        Record::to("t")
            .with_key("k")
            .with_value("v")
            .with_header("h", None)
            .with_partition(1)
            .unwrap()
            .with_timestamp_ms(0)
            .unwrap()
    }

    #[test]
    fn pr_001_negative_numbers_are_refused_and_absent_ones_are_fine() {
        let record = || Record::<Bytes, Bytes>::to("t");
        assert_eq!(
            record().with_partition(-1),
            Err(InvalidRecord::NegativePartition((-1).into()))
        );
        assert_eq!(
            record().with_timestamp_ms(-1),
            Err(InvalidRecord::NegativeTimestamp(-1))
        );
        assert_eq!(
            (record().partition(), record().timestamp_ms()),
            (None, None)
        );
        assert_eq!(full().timestamp_ms(), Some(0), "0 is a time like any other");
    }

    #[test]
    fn pr_002_records_are_equal_when_all_their_parts_are() {
        assert_eq!(full(), full());
        assert_eq!(Record::<Bytes>::to("t"), Record::to("t"));
        let mut others = vec![full(), full(), full(), full()];
        others[0].topic = "u".into();
        others[1].key = None;
        others[2].value = Some("w".into());
        others[3].headers[0].value = Some(Bytes::new());
        others.push(full().with_partition(2).unwrap());
        others.push(full().with_timestamp_ms(1).unwrap());
        for other in others {
            assert_ne!(other, full());
        }
    }
}
