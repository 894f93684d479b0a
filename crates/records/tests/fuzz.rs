//! Random and mangled bytes against every decoder: no panic, and no memory out of proportion.
//!
//! Runs on stable under `cargo test`; `BOLERO_RANDOM_TEST_TIME_MS` sets how long each target
//! runs, `BOLERO_RANDOM_ITERATIONS` how often.

mod allocations;

use std::sync::{Mutex, PoisonError};

use allocations::Counting;
use bytes::Bytes;
use klamm_records::{
    BatchHeader, BatchOptions, BatchVerdict, Codec, Codecs, ControlType, Emptied, EndMarker,
    Horizon, Levels, Record, RecordBatch, RecordBatchBuilder, RecordBatches, RecordFilter,
    TopicCompression, ValidationRules, crc32c, filter, validate,
};

#[global_allocator]
static ALLOCATIONS: Counting = Counting::new();

/// Targets run one at a time, since the memory of all threads is counted together.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The limit on what a batch inflates to, small so that bombs are cheap to make.
const INFLATED_MAX: usize = 1 << 20;

/// What codecs take whatever the input is: their contexts, and for zstd a window of up to 8 MiB,
/// of which only as much is touched as is inflated.
const CONTEXTS_MAX: usize = 12 << 20;

/// Runs `work` and checks what memory it took at its highest, beyond what was there before.
fn bounded<T>(input_len: usize, work: impl FnOnce() -> T) -> T {
    let before = ALLOCATIONS.restart();
    let result = work();
    let taken = ALLOCATIONS.highest() - before;
    let allowed = CONTEXTS_MAX + 4 * INFLATED_MAX + 8 * input_len;
    assert!(
        taken <= allowed,
        "{taken} bytes for {input_len} bytes of input"
    );
    result
}

/// Batches of each codec, as what is mangled.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for codec in Codec::ALL {
        for count in [1, 3, 200] {
            let compression = codec.at(&Levels::default());
            let options = BatchOptions {
                compression,
                ..BatchOptions::default()
            };
            let mut builder = RecordBatchBuilder::new(options, Vec::new());
            for index in 0..count {
                let value = vec![b'v'; usize::try_from(index).unwrap() * 7];
                let header = klamm_records::Header::new("header", Some(b"value"));
                builder
                    .append(index, Some(b"key"), Some(&value), &[header])
                    .unwrap();
            }
            builder.close(&mut Codecs::default()).unwrap();
            seeds.push(builder.bytes().unwrap().to_vec());
        }
    }
    for line in include_str!("golden/record-batches.jsonl").lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let bytes = hex::decode(line["hex"].as_str().unwrap()).unwrap();
        if bytes.len() < 1000 {
            seeds.push(bytes);
        }
    }
    seeds
}

/// Changes bytes of a seed, cuts or repeats a part, and sometimes makes length and checksum fit.
fn mangle(seed: &[u8], changes: &[(u16, u8)], cut: u16, mend: bool) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for (position, byte) in changes {
        let position = usize::from(*position) % bytes.len();
        bytes[position] = *byte;
    }
    match usize::from(cut) % (2 * bytes.len()) {
        0 => bytes.extend_from_within(..),
        len if len < bytes.len() => bytes.truncate(len),
        _ => {}
    }
    if mend {
        mend_header(&mut bytes);
    }
    bytes
}

/// Makes length, magic and checksum fit the bytes.
fn mend_header(bytes: &mut [u8]) {
    if bytes.len() >= 61 {
        let length = u32::try_from(bytes.len() - 12).unwrap();
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        bytes[16] = 2;
        let crc = crc32c(&bytes[21..]);
        bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    }
}

/// Goes through a run in every way there is.
fn exhaust(input: &Bytes) {
    let _ = BatchHeader::read(input);
    let mut codecs = Codecs::with_inflated_max(INFLATED_MAX);
    for batch in RecordBatches::new(input.clone()) {
        let Ok(batch) = batch else { continue };
        let _ = batch.check_crc();
        let _ = batch.header().next_offset();
        assert_eq!(batch.header().to_bytes(), batch.bytes()[..61]);
        read_alike(&batch, &mut codecs);
        let _ = batch.find_max_timestamp(&mut codecs);
    }
}

/// Both decoders give the same records, then both an error or none; and a batch that is read to
/// its end is built again to the same records.
fn read_alike(batch: &RecordBatch, codecs: &mut Codecs) {
    let mut skimmed = 0;
    let mut skim_failed = true;
    if let Ok(skim) = batch.skim(codecs) {
        skim_failed = false;
        for meta in skim {
            skim_failed |= meta.is_err();
            skimmed += usize::from(meta.is_ok());
        }
    }
    let mut read = 0;
    let mut read_failed = true;
    if let Ok(mut reader) = batch.read(codecs) {
        read_failed = loop {
            match reader.next() {
                Ok(Some(record)) => {
                    read += 1;
                    let _ = ControlType::parse(record.key);
                    let _ = EndMarker::parse(record.key, record.value);
                    assert_eq!(record.headers.len(), record.headers.count());
                }
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
    }
    assert_eq!((skimmed, skim_failed), (read, read_failed));
}

#[test]
fn runs_of_random_bytes() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    bolero::check!().for_each(|input: &[u8]| {
        let input = Bytes::copy_from_slice(input);
        bounded(input.len(), || exhaust(&input));
    });
}

/// Covers RB-013, RB-027, RB-029, RB-031.
#[test]
fn runs_of_mangled_batches() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let seeds = seeds();
    bolero::check!()
        .with_type::<(u8, Vec<(u16, u8)>, u16, bool)>()
        .for_each(|(seed, changes, cut, mend)| {
            let seed = &seeds[usize::from(*seed) % seeds.len()];
            let input = Bytes::from(mangle(seed, changes, *cut, *mend));
            bounded(input.len(), || exhaust(&input));
        });
}

/// A batch whose payload is these bytes.
fn around(codec: Codec, payload: &[u8]) -> RecordBatch {
    let seed = &seeds()[0];
    let mut bytes = [&seed[..61], payload].concat();
    bytes[22] = codec.id();
    bytes[57..61].copy_from_slice(&1000_i32.to_be_bytes());
    mend_header(&mut bytes);
    RecordBatch::parse(bytes.into()).unwrap()
}

/// Random payloads for one codec, behind what its payloads begin with.
fn payloads(codec: Codec, beginnings: &[&[u8]]) {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    bolero::check!()
        .with_type::<(u8, Vec<u8>)>()
        .for_each(|(beginning, rest)| {
            let beginning = beginnings[usize::from(*beginning) % beginnings.len()];
            let payload = [beginning, rest].concat();
            let batch = around(codec, &payload);
            bounded(batch.size(), || {
                read_alike(&batch, &mut Codecs::with_inflated_max(INFLATED_MAX));
            });
        });
}

#[test]
fn gzip_payloads() {
    payloads(
        Codec::Gzip,
        &[
            b"",
            b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
            b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff",
        ],
    );
}

#[test]
fn snappy_payloads() {
    payloads(
        Codec::Snappy,
        &[
            b"",
            b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01",
            b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x0f",
        ],
    );
}

/// Covers RB-084.
#[test]
fn lz4_payloads() {
    let beginnings: [&[u8]; 4] = [
        b"",
        &[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82],
        &[0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73],
        &[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 20, 0, 0, 0],
    ];
    payloads(Codec::Lz4, &beginnings);
}

#[test]
fn zstd_payloads() {
    let beginnings: [&[u8]; 4] = [
        b"",
        &[0x28, 0xb5, 0x2f, 0xfd],
        // No content size, a window of 8 MiB and of 128 MiB.
        &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x68],
        &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x88],
    ];
    payloads(Codec::Zstd, &beginnings);
}

/// What is taken after validation holds what it says.
#[test]
fn mangled_batches_to_be_validated() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let seeds = seeds();
    bolero::check!()
        .with_type::<(u8, Vec<(u16, u8)>, u16, bool, u8)>()
        .for_each(|(seed, changes, cut, key_required, target)| {
            let seed = &seeds[usize::from(*seed) % seeds.len()];
            let input = Bytes::from(mangle(seed, changes, *cut, true));
            let compression = match Codec::from_id(*target % 8) {
                Ok(codec) => TopicCompression::Fixed(codec.at(&Levels::default())),
                Err(_) => TopicCompression::Producer,
            };
            let rules = ValidationRules {
                compression,
                key_required: *key_required,
                timestamp_after_max_ms: i64::MAX,
                ..ValidationRules::default()
            };
            let mut codecs = Codecs::with_inflated_max(INFLATED_MAX);
            let valid = bounded(input.len(), || {
                validate(input.clone(), &rules, 0, &mut codecs)
            });
            let Ok(valid) = valid else { return };
            let header = valid.stamped(70.into(), 1.into(), 5);
            let stored = [&header.to_bytes(), &valid.records()[..]].concat();
            let stored = RecordBatch::parse(stored.into()).unwrap();
            stored.check_crc().unwrap();
            let mut offset = 70;
            let mut max_timestamp_ms = -1;
            for meta in stored.skim(&mut codecs).unwrap() {
                let meta = meta.unwrap();
                assert_eq!(meta.offset.get(), offset);
                max_timestamp_ms = max_timestamp_ms.max(meta.timestamp_ms);
                offset += 1;
            }
            assert_eq!(stored.header().next_offset().get(), offset);
            assert_eq!(stored.header().max_timestamp_ms, max_timestamp_ms);
        });
}

struct KeepSome(u64);

impl RecordFilter for KeepSome {
    fn batch(&mut self, _: &BatchHeader) -> BatchVerdict {
        BatchVerdict::Filter {
            emptied: Emptied::KeepHeader,
            horizon: Horizon::Leave,
        }
    }

    fn keep(&mut self, _: &BatchHeader, _: &Record<'_>) -> bool {
        self.0 = self.0.rotate_left(1);
        self.0 & 1 == 1
    }
}

#[test]
fn mangled_runs_to_be_filtered() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let seeds = seeds();
    bolero::check!()
        .with_type::<(u8, Vec<(u16, u8)>, u16, u64)>()
        .for_each(|(seed, changes, cut, kept)| {
            let seed = &seeds[usize::from(*seed) % seeds.len()];
            let input = Bytes::from(mangle(seed, changes, *cut, true));
            let mut codecs = Codecs::with_inflated_max(INFLATED_MAX);
            let mut out = Vec::new();
            let _ = bounded(input.len(), || {
                filter(
                    &input,
                    &mut KeepSome(*kept),
                    &mut out,
                    usize::MAX,
                    &mut codecs,
                )
            });
            for batch in RecordBatches::new(out.into()) {
                let batch = batch.unwrap();
                batch.check_crc().unwrap();
                read_alike(&batch, &mut codecs);
            }
        });
}

/// Covers RB-045: what a few bytes announce takes no memory.
#[test]
fn announced_sizes_take_no_memory() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let varint_max = [0xfe, 0xff, 0xff, 0xff, 0x0f];
    let announcements: [&[u8]; 3] = [
        &[],                   // The record's length.
        &[100, 0, 0, 0],       // The key's.
        &[100, 0, 0, 0, 1, 1], // The number of headers.
    ];
    for announcement in announcements {
        let payload = [announcement, &varint_max, &[0; 40]].concat();
        let batch = around(Codec::None, &payload);
        let before = ALLOCATIONS.restart();
        read_alike(&batch, &mut Codecs::default());
        assert!(ALLOCATIONS.highest() - before < 1024, "{announcement:?}");
    }
    let mut codecs = Codecs::default();
    let header = [
        0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 2,
    ];
    let input = Bytes::copy_from_slice(&header);
    let before = ALLOCATIONS.restart();
    assert_eq!(RecordBatches::new(input.clone()).next(), None);
    assert!(validate(input, &ValidationRules::default(), 0, &mut codecs).is_err());
    assert!(ALLOCATIONS.highest() - before < 1024);
}
