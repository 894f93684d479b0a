//! What the tests share: records as plain values, batches made of them, and damage.

use bytes::Bytes;
use klamm_primitives::Offset;
use klamm_records::{
    BatchOptions, Codec, Codecs, Compression, HEADER_LEN, Header, Headers, Levels, Record,
    RecordBatch, RecordBatchBuilder, RecordsError, crc32c,
};

/// A record as a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) offset: i64,
    pub(crate) timestamp_ms: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<PlainHeader>,
}

pub(crate) type PlainHeader = (Vec<u8>, Option<Vec<u8>>);

impl Plain {
    pub(crate) fn new(offset: i64, timestamp_ms: i64, key: &str, value: &str) -> Self {
        Self {
            offset,
            timestamp_ms,
            key: Some(key.into()),
            value: Some(value.into()),
            headers: Vec::new(),
        }
    }

    pub(crate) fn of(record: &Record<'_>) -> Self {
        Self {
            offset: record.offset.get(),
            timestamp_ms: record.timestamp_ms,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: plain_headers(record.headers.clone()),
        }
    }

    pub(crate) fn headers(&self) -> Vec<Header<'_>> {
        self.headers
            .iter()
            .map(|(key, value)| Header {
                key,
                value: value.as_deref(),
            })
            .collect()
    }
}

fn plain_headers(headers: Headers<'_>) -> Vec<PlainHeader> {
    headers
        .map(|header| (header.key.to_vec(), header.value.map(<[u8]>::to_vec)))
        .collect()
}

/// All codecs, each at its default level.
pub(crate) fn compressions() -> [Compression; 5] {
    Codec::ALL.map(|codec| codec.at(&Levels::default()))
}

/// Builds a batch of those records at their offsets.
pub(crate) fn build(options: BatchOptions, records: &[Plain]) -> RecordBatch {
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    for record in records {
        let offset = Offset::new(record.offset);
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        builder
            .append_at(offset, record.timestamp_ms, key, value, &record.headers())
            .unwrap();
    }
    builder.close(&mut Codecs::default()).unwrap();
    RecordBatch::parse(builder.into_bytes().unwrap()).unwrap()
}

/// Three records at offsets 0 to 2, as a producer would send them.
pub(crate) fn three(compression: Compression) -> RecordBatch {
    let options = BatchOptions {
        compression,
        ..BatchOptions::default()
    };
    build(options, &three_plain())
}

pub(crate) fn three_plain() -> [Plain; 3] {
    let mut records = [
        Plain::new(0, 1000, "a", "first"),
        Plain::new(1, 1002, "b", "second"),
        Plain::new(2, 1001, "c", "third"),
    ];
    records[1].headers = vec![(b"h".to_vec(), Some(b"x".to_vec())), (b"h".to_vec(), None)];
    records
}

/// Reads all records of a batch.
pub(crate) fn read(batch: &RecordBatch) -> Result<Vec<Plain>, RecordsError> {
    read_with(batch, &mut Codecs::default())
}

pub(crate) fn read_with(
    batch: &RecordBatch,
    codecs: &mut Codecs,
) -> Result<Vec<Plain>, RecordsError> {
    let (records, end) = read_until(batch, codecs);
    end.map(|()| records)
}

/// Reads records up to the first error.
pub(crate) fn read_until(
    batch: &RecordBatch,
    codecs: &mut Codecs,
) -> (Vec<Plain>, Result<(), RecordsError>) {
    let mut records = Vec::new();
    let mut reader = match batch.read(codecs) {
        Ok(reader) => reader,
        Err(error) => return (records, Err(error)),
    };
    loop {
        match reader.next() {
            Ok(Some(record)) => records.push(Plain::of(&record)),
            Ok(None) => return (records, Ok(())),
            Err(error) => {
                assert_eq!(reader.next(), Ok(None), "an error is the end");
                return (records, Err(error));
            }
        }
    }
}

/// Reads a batch both ways, keeping records and skipping them, and holds the two against each
/// other: same records, and refused or not alike.
pub(crate) fn read_both_ways(
    batch: &RecordBatch,
    codecs: &mut Codecs,
) -> Result<Vec<Plain>, RecordsError> {
    let (records, end) = read_until(batch, codecs);
    let mut metas = Vec::new();
    let mut skim_end = Ok(());
    match batch.skim(codecs) {
        Ok(skim) => {
            for meta in skim {
                match meta {
                    Ok(meta) => metas.push(meta),
                    Err(error) => skim_end = Err(error),
                }
            }
        }
        Err(error) => skim_end = Err(error),
    }
    assert_eq!(end.is_ok(), skim_end.is_ok(), "{end:?} and {skim_end:?}");
    assert_eq!(records.len(), metas.len(), "{end:?} and {skim_end:?}");
    for (record, meta) in records.iter().zip(metas) {
        assert_eq!(meta.offset.get(), record.offset);
        assert_eq!(meta.timestamp_ms, record.timestamp_ms);
        assert_eq!(meta.key_len, record.key.as_ref().map(Vec::len));
        assert_eq!(meta.value_len, record.value.as_ref().map(Vec::len));
        assert_eq!(meta.header_count, record.headers.len());
    }
    end.map(|()| records)
}

/// A batch of these bytes of records, with a header that fits them.
pub(crate) fn batch_around(record_count: i32, codec: Codec, payload: &[u8]) -> RecordBatch {
    let mut bytes = three(Compression::None).bytes()[..HEADER_LEN].to_vec();
    bytes.extend_from_slice(payload);
    bytes[22] = codec.id();
    bytes[23..27].copy_from_slice(&(record_count.wrapping_sub(1)).to_be_bytes());
    bytes[57..61].copy_from_slice(&record_count.to_be_bytes());
    mend(&mut bytes);
    RecordBatch::parse(bytes.into()).unwrap()
}

/// A batch whose payload is those bytes, compressed by the codec.
pub(crate) fn compressed(codec: Codec, record_count: i32, plain: &[u8]) -> RecordBatch {
    batch_around(record_count, codec, &crate::compression::pack(codec, plain))
}

/// Makes length and checksum fit the bytes of a batch.
pub(crate) fn mend(bytes: &mut [u8]) {
    let length = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    let crc = crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
}

/// The batch with some header bytes replaced and the checksum made to fit.
pub(crate) fn with_bytes(batch: &RecordBatch, position: usize, replaced: &[u8]) -> RecordBatch {
    let mut bytes = batch.bytes().to_vec();
    bytes[position..position + replaced.len()].copy_from_slice(replaced);
    mend(&mut bytes);
    RecordBatch::parse(bytes.into()).unwrap()
}

/// The bytes of batches one behind the other.
pub(crate) fn run_of(batches: &[RecordBatch]) -> Bytes {
    let bytes: Vec<_> = batches.iter().map(|batch| &batch.bytes()[..]).collect();
    Bytes::from(bytes.concat())
}

/// Bytes that do not compress, the same each time.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(len).collect()
}
