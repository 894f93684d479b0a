//! Built batches against a plain list of records.

use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchOptions, Codec, Codecs, Compression, GzipLevel, HEADER_LEN, Levels, Lz4Level,
    ProducerStamp, RecordBatch, RecordBatchBuilder, RecordBatches, ZstdLevel, record_size,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::support::{Plain, build, mend, read_both_ways, read_until, run_of};

fn blob() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => vec(any::<u8>(), 0..20),
        2 => (any::<u8>(), 0..5000_usize).prop_map(|(byte, len)| vec![byte; len]),
        1 => vec(any::<u8>(), 0..3000),
    ]
}

fn timestamp() -> impl Strategy<Value = i64> {
    prop_oneof![
        Just(-1),
        0..100_i64,
        1_700_000_000_000..1_700_000_100_000_i64,
        0..=i64::MAX,
    ]
}

/// Records whose offsets rise by the given steps.
pub(crate) fn records() -> impl Strategy<Value = Vec<Plain>> {
    let step = prop_oneof![20 => Just(1), 4 => 1..200_i64, 1 => 1..1_000_000_i64];
    let header = (blob(), option::of(blob()));
    let record = (
        step,
        timestamp(),
        option::of(blob()),
        option::of(blob()),
        vec(header, 0..3),
    );
    vec(record, 1..40).prop_map(|drafts| {
        let mut offset = -1;
        drafts
            .into_iter()
            .map(|(step, timestamp_ms, key, value, headers)| {
                offset += step;
                Plain {
                    offset,
                    timestamp_ms,
                    key,
                    value,
                    headers,
                }
            })
            .collect()
    })
}

pub(crate) fn compression() -> impl Strategy<Value = Compression> {
    prop_oneof![
        Just(Compression::None),
        (1..=9).prop_map(|level| Compression::Gzip(GzipLevel::new(level).unwrap())),
        Just(Compression::Snappy),
        (1..=17).prop_map(|level| Compression::Lz4(Lz4Level::new(level).unwrap())),
        (-5..=6).prop_map(|level| Compression::Zstd(ZstdLevel::new(level).unwrap())),
    ]
}

fn producer() -> impl Strategy<Value = ProducerStamp> {
    prop_oneof![
        Just(ProducerStamp::NONE),
        (0..=i64::MAX, 0..=i16::MAX, 0..=i32::MAX).prop_map(|(id, epoch, sequence)| {
            ProducerStamp {
                producer_id: ProducerId::new(id),
                producer_epoch: ProducerEpoch::new(epoch),
                base_sequence: Sequence::new(sequence),
            }
        }),
    ]
}

proptest! {
    /// Covers RB-018, RB-019, RB-023, RB-024, RB-058.
    #[test]
    fn what_is_built_is_what_is_read(
        records in records(),
        compression in compression(),
        producer in producer(),
        leader_epoch in any::<i32>(),
    ) {
        let options = BatchOptions {
            leader_epoch: LeaderEpoch::new(leader_epoch),
            compression,
            producer,
            ..BatchOptions::default()
        };
        let batch = build(options, &records);
        let header = batch.header();
        prop_assert_eq!(batch.check_crc(), Ok(()));
        prop_assert_eq!(header.record_count, i32::try_from(records.len()).unwrap());
        prop_assert_eq!(header.last_offset(), Offset::new(records.last().unwrap().offset));
        let base_timestamp_ms = records[0].timestamp_ms;
        prop_assert_eq!(header.base_timestamp_ms, base_timestamp_ms);
        let max = records.iter().map(|record| record.timestamp_ms).max().unwrap();
        prop_assert_eq!(header.max_timestamp_ms, max);
        prop_assert_eq!(header.producer(), producer);
        prop_assert_eq!(header.leader_epoch.get(), leader_epoch);
        prop_assert_eq!(&header.to_bytes()[..], &batch.bytes()[..HEADER_LEN]);

        let mut codecs = Codecs::default();
        prop_assert_eq!(&read_both_ways(&batch, &mut codecs).unwrap(), &records);
        let metas = batch.skim(&mut codecs).unwrap().map(Result::unwrap);
        for (meta, record) in metas.zip(&records) {
            let size = record_size(
                record.timestamp_ms.wrapping_sub(base_timestamp_ms),
                i32::try_from(record.offset).unwrap(),
                record.key.as_deref(),
                record.value.as_deref(),
                &record.headers(),
            );
            prop_assert_eq!(meta.size, size);
            prop_assert_eq!(meta.sequence, producer.base_sequence.advance(meta.offset_delta));
        }
    }

    /// Covers RB-031, RB-040.
    #[test]
    fn a_batch_whose_records_are_cut_gives_the_good_ones_and_an_error(
        records in records(),
        compression in compression(),
        cut in any::<prop::sample::Index>(),
    ) {
        let options = BatchOptions { compression, ..BatchOptions::default() };
        let batch = build(options, &records);
        let mut bytes = batch.bytes().to_vec();
        bytes.truncate(HEADER_LEN + cut.index(batch.payload().len()));
        mend(&mut bytes);
        let batch = RecordBatch::parse(bytes.into()).unwrap();
        let (read, end) = read_until(&batch, &mut Codecs::default());
        prop_assert!(end.is_err());
        prop_assert_eq!(&read[..], &records[..read.len()]);
        prop_assert!(read_both_ways(&batch, &mut Codecs::default()).is_err());
    }

    /// A builder and its buffer used over and over make what fresh ones make.
    ///
    /// Covers RB-068.
    #[test]
    fn a_reused_builder_makes_what_a_fresh_one_makes(
        batches in vec((records(), compression()), 1..5),
        before in vec(any::<u8>(), 0..10),
    ) {
        let mut codecs = Codecs::default();
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), before.clone());
        let mut run = Vec::new();
        let mut expected = Vec::new();
        for (records, compression) in batches {
            let options = BatchOptions { compression, ..BatchOptions::default() };
            builder.reset(options.clone());
            for record in &records {
                let (key, value) = (record.key.as_deref(), record.value.as_deref());
                let (offset, timestamp_ms) = (Offset::new(record.offset), record.timestamp_ms);
                let headers = record.headers();
                builder.append_at(offset, timestamp_ms, key, value, &headers).unwrap();
            }
            builder.close(&mut codecs).unwrap();
            run.extend_from_slice(builder.bytes().unwrap());
            expected.push(build(options, &records));
        }
        prop_assert_eq!(&run_of(&expected), &run);
        let read: Vec<_> = RecordBatches::new(run.into()).map(Result::unwrap).collect();
        prop_assert_eq!(read, expected);
        prop_assert_eq!(&builder.into_buffer()[..before.len()], &before[..]);
    }

    #[test]
    fn any_bytes_behind_a_header_are_read_or_refused_by_both_decoders_alike(
        payload in vec(any::<u8>(), 0..100),
        count in prop_oneof![0..5_i32, any::<i32>()],
        codec in prop::sample::select(Codec::ALL.to_vec()),
        packed in any::<bool>(),
    ) {
        let payload = if packed { crate::compression::pack(codec, &payload) } else { payload };
        let batch = crate::support::batch_around(count, codec, &payload);
        let _ = read_both_ways(&batch, &mut Codecs::with_inflated_max(1 << 16));
        let levels = Levels::default();
        prop_assert_eq!(codec.at(&levels).codec(), codec);
    }
}
