//! Bytes that other implementations wrote, and damaged ones.

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchError, BatchHeader, BatchOptions, BatchPrefix, Codec, Codecs, ControlType, HEADER_LEN,
    ProducerStamp, RecordBatch, RecordBatchBuilder, RecordBatches, TimestampType, crc32c,
    crc32c_append,
};
use serde::Deserialize;

use crate::support::{Plain, read_both_ways};

#[derive(Deserialize)]
struct Line {
    name: String,
    hex: String,
    batches: Vec<GoldenBatch>,
}

#[derive(Deserialize)]
struct GoldenBatch {
    magic: u8,
    size: usize,
    crc: String,
    base_offset: i64,
    last_offset: i64,
    codec: String,
    partition_leader_epoch: i32,
    producer_id: i64,
    producer_epoch: i16,
    base_sequence: i32,
    last_sequence: i32,
    #[serde(default)]
    base_timestamp: i64,
    max_timestamp: i64,
    transactional: bool,
    control: bool,
    timestamp_type: String,
    delete_horizon: Option<i64>,
    records: Vec<GoldenRecord>,
}

#[derive(Deserialize)]
struct GoldenRecord {
    offset: i64,
    timestamp: i64,
    key: Option<String>,
    value: Option<String>,
    value_repeat: Option<Repeat>,
    #[serde(default)]
    headers: Vec<(String, Option<String>)>,
}

#[derive(Deserialize)]
struct Repeat {
    hex: String,
    times: usize,
}

impl GoldenRecord {
    fn plain(&self) -> Plain {
        let repeated = self
            .value_repeat
            .as_ref()
            .map(|repeat| unhex(&repeat.hex).repeat(repeat.times));
        let header = |(key, value): &(String, Option<String>)| {
            (key.clone().into_bytes(), value.as_deref().map(unhex))
        };
        Plain {
            offset: self.offset,
            timestamp_ms: self.timestamp,
            key: self.key.as_deref().map(unhex),
            value: repeated.or_else(|| self.value.as_deref().map(unhex)),
            headers: self.headers.iter().map(header).collect(),
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

fn lines<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    let parse = |line| serde_json::from_str(line).unwrap();
    text.lines().map(parse).collect()
}

fn golden() -> Vec<Line> {
    lines(include_str!("../golden/record-batches.jsonl"))
}

fn magic_2() -> Vec<(String, Bytes, Vec<GoldenBatch>)> {
    golden()
        .into_iter()
        .filter(|line| line.batches[0].magic == 2)
        .map(|line| (line.name, unhex(&line.hex).into(), line.batches))
        .collect()
}

fn check_header(name: &str, header: &BatchHeader, expected: &GoldenBatch) {
    assert_eq!(header.size(), expected.size, "{name}");
    assert_eq!(format!("{:08x}", header.crc), expected.crc, "{name}");
    assert_eq!(header.base_offset.get(), expected.base_offset, "{name}");
    assert_eq!(header.last_offset().get(), expected.last_offset, "{name}");
    let codec = header.attributes.codec().unwrap();
    assert_eq!(codec.name(), expected.codec, "{name}");
    assert_eq!(
        header.leader_epoch.get(),
        expected.partition_leader_epoch,
        "{name}"
    );
    assert_eq!(header.producer_id.get(), expected.producer_id, "{name}");
    assert_eq!(
        header.producer_epoch.get(),
        expected.producer_epoch,
        "{name}"
    );
    assert_eq!(header.base_sequence.get(), expected.base_sequence, "{name}");
    assert_eq!(
        header.last_sequence().get(),
        expected.last_sequence,
        "{name}"
    );
    assert_eq!(header.base_timestamp_ms, expected.base_timestamp, "{name}");
    assert_eq!(header.max_timestamp_ms, expected.max_timestamp, "{name}");
    assert_eq!(
        header.attributes.is_transactional(),
        expected.transactional,
        "{name}"
    );
    assert_eq!(header.attributes.is_control(), expected.control, "{name}");
    assert_eq!(
        header.delete_horizon_ms(),
        expected.delete_horizon,
        "{name}"
    );
    let timestamp_type = match header.attributes.timestamp_type() {
        TimestampType::Create => "create",
        TimestampType::LogAppend => "log_append",
    };
    assert_eq!(timestamp_type, expected.timestamp_type, "{name}");
    assert_eq!(
        header.record_count,
        i32::try_from(expected.records.len()).unwrap()
    );
}

/// Covers RB-001, RB-007, RB-011, RB-019, RB-020, RB-024, RB-081, RB-082, RB-084, RB-085, RB-086.
#[test]
fn batches_of_other_implementations_are_read_to_their_last_field() {
    let mut codecs = Codecs::default();
    for (name, bytes, expected) in magic_2() {
        let mut batches = RecordBatches::new(bytes.clone());
        for expected in &expected {
            let batch = batches.next().unwrap().unwrap();
            check_header(&name, batch.header(), expected);
            assert_eq!(batch.check_crc(), Ok(()), "{name}");
            assert_eq!(
                batch.header().to_bytes(),
                batch.bytes()[..HEADER_LEN],
                "{name}"
            );
            let plain: Vec<_> = expected.records.iter().map(GoldenRecord::plain).collect();
            assert_eq!(
                read_both_ways(&batch, &mut codecs).unwrap(),
                plain,
                "{name}"
            );
            if batch.header().attributes.codec() == Ok(Codec::None) {
                let records: Result<Vec<_>, _> = batch
                    .records()
                    .unwrap()
                    .map(|r| r.map(|r| Plain::of(&r)))
                    .collect();
                assert_eq!(records.unwrap(), plain, "{name}");
            }
        }
        assert_eq!(batches.next(), None, "{name}");
        assert_eq!(batches.position(), bytes.len(), "{name}");
    }
}

/// Covers RB-058, RB-060, RB-073, RB-075.
#[test]
fn uncompressed_batches_of_other_implementations_are_built_to_the_same_bytes() {
    let mut built = 0;
    for (name, bytes, _) in magic_2() {
        for batch in RecordBatches::new(bytes) {
            let batch = batch.unwrap();
            let header = *batch.header();
            if header.attributes.codec() == Ok(Codec::None) && header.record_count > 0 {
                assert_eq!(build_again(&batch), batch.bytes()[..], "{name}");
                built += 1;
            }
        }
    }
    assert_eq!(built, 23, "as many are uncompressed and not empty");
}

/// Builds a batch from what was read of another.
fn build_again(batch: &RecordBatch) -> Vec<u8> {
    // With log append time the records keep deltas that reading does not tell: read as if
    // created, and stamp what was built.
    let mut header = *batch.header();
    header.set_timestamps(TimestampType::Create, header.max_timestamp_ms);
    let created = [&header.to_bytes(), batch.payload()].concat();
    let created = RecordBatch::parse(created.into()).unwrap();

    let options = BatchOptions {
        base_offset: header.base_offset,
        leader_epoch: header.leader_epoch,
        transactional: header.attributes.is_transactional(),
        control: header.attributes.is_control(),
        producer: header.producer(),
        delete_horizon_ms: header.delete_horizon_ms(),
        ..BatchOptions::default()
    };
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    for record in created.records().unwrap() {
        let record = record.unwrap();
        let timestamp_ms = record.timestamp_ms;
        if header.attributes.is_control() {
            let control_type = ControlType::parse(record.key).unwrap().unwrap();
            let value = record.value.unwrap();
            builder
                .append_control(timestamp_ms, control_type, value)
                .unwrap();
        } else {
            let headers: Vec<_> = record.headers.collect();
            let (key, value) = (record.key, record.value);
            builder
                .append_at(record.offset, timestamp_ms, key, value, &headers)
                .unwrap();
        }
    }
    builder.close(&mut Codecs::default()).unwrap();
    let mut stamped = *builder.header().unwrap();
    let original = batch.header();
    stamped.set_timestamps(
        original.attributes.timestamp_type(),
        original.max_timestamp_ms,
    );
    [&stamped.to_bytes(), &builder.bytes().unwrap()[HEADER_LEN..]].concat()
}

/// Covers RB-093, RB-094: recognised, and refused by name.
#[test]
fn message_sets_of_magic_0_and_1_are_refused_by_name() {
    let mut seen = [0, 0];
    for line in golden()
        .into_iter()
        .filter(|line| line.batches[0].magic < 2)
    {
        let bytes = Bytes::from(unhex(&line.hex));
        let first = &line.batches[0];
        let prefix = BatchPrefix::peek(&bytes).unwrap().unwrap();
        assert_eq!(
            (prefix.magic, prefix.size),
            (first.magic, first.size),
            "{}",
            line.name
        );
        let refused = BatchError::LegacyMagic { magic: first.magic };
        let mut batches = RecordBatches::new(bytes.clone());
        assert_eq!(batches.next(), Some(Err(refused)), "{}", line.name);
        assert_eq!(batches.next(), None, "{}", line.name);
        assert_eq!(BatchHeader::read(&bytes), Err(refused), "{}", line.name);
        seen[usize::from(first.magic)] += 1;
    }
    assert_eq!(seen, [4, 4]);
}

#[derive(Deserialize)]
struct Malformed {
    what: String,
    hex: String,
    reference: String,
    batches: Option<usize>,
    records: Option<usize>,
}

/// Covers RB-026, RB-037, RB-040, RB-043.
#[test]
fn damaged_batches_are_taken_or_refused_as_by_the_reference() {
    let mut codecs = Codecs::default();
    let lines: Vec<Malformed> = lines(include_str!("../golden/malformed.jsonl"));
    assert_eq!(lines.len(), 21);
    for line in lines {
        let mut counts = (0, 0);
        let mut read = || {
            for batch in RecordBatches::new(unhex(&line.hex).into()) {
                let batch = batch.map_err(|error| error.to_string())?;
                batch.check_crc().map_err(|error| error.to_string())?;
                let records = read_both_ways(&batch, &mut codecs);
                counts.1 += records.map_err(|error| error.to_string())?.len();
                counts.0 += 1;
            }
            Ok::<_, String>(())
        };
        let result = read();
        match line.reference.as_str() {
            "rejects" => assert!(result.is_err(), "{}", line.what),
            "accepts" => {
                assert_eq!(result, Ok(()), "{}", line.what);
                let expected = (line.batches.unwrap(), line.records.unwrap());
                assert_eq!(counts, expected, "{}", line.what);
            }
            other => panic!("{other}"),
        }
    }
}

#[derive(Deserialize)]
struct CrcLine {
    crc32c_of: String,
    crc32c: String,
}

/// Covers RB-004.
#[test]
fn checksums_are_those_of_other_implementations() {
    for line in lines::<CrcLine>(include_str!("../golden/crc32c.jsonl")) {
        let bytes = unhex(&line.crc32c_of);
        assert_eq!(format!("{:08x}", crc32c(&bytes)), line.crc32c);
        let (front, back) = bytes.split_at(bytes.len() / 2);
        let in_pieces = crc32c_append(crc32c(front), back);
        assert_eq!(format!("{in_pieces:08x}"), line.crc32c);
    }
}

/// Every cut of every golden batch, and every bit of the small ones flipped with the checksum
/// made to fit: read or refused, both decoders alike.
///
/// Covers RB-031.
#[test]
fn cut_and_flipped_golden_batches_are_read_or_refused_cleanly() {
    let mut codecs = Codecs::with_inflated_max(1 << 20);
    for (_, bytes, _) in magic_2()
        .into_iter()
        .filter(|(_, bytes, _)| bytes.len() < 300)
    {
        for len in 0..bytes.len() {
            for batch in RecordBatches::new(bytes.slice(..len)) {
                read_both_ways(&batch.unwrap(), &mut codecs).unwrap();
            }
        }
        let batch = RecordBatches::new(bytes).next().unwrap().unwrap();
        for bit in HEADER_LEN * 8..batch.size() * 8 {
            let mut flipped = batch.bytes().to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            crate::support::mend(&mut flipped);
            let flipped = RecordBatch::parse(flipped.into()).unwrap();
            let _ = read_both_ways(&flipped, &mut codecs);
        }
    }
}

#[test]
fn golden_producers_are_what_the_types_say() {
    let (_, bytes, _) = magic_2()
        .into_iter()
        .find(|(name, ..)| name == "jvm_control_commit")
        .unwrap();
    let batch = RecordBatch::parse(bytes).unwrap();
    assert_eq!(
        batch.header().producer(),
        ProducerStamp {
            producer_id: ProducerId::new(1001),
            producer_epoch: ProducerEpoch::new(2),
            base_sequence: Sequence::NONE,
        }
    );
    assert_eq!(batch.header().leader_epoch, LeaderEpoch::new(5));
    assert_eq!(batch.header().next_offset(), Offset::new(101));
}
