//! How the records of a batch are read: borrowed, streamed, skimmed, and up to where they break.

use klamm_records::{
    BatchOptions, Codec, Codecs, Compression, InflateError, Levels, RecordBatches, RecordFault,
    RecordField, RecordsError,
};

use crate::support::{
    Plain, batch_around, build, compressed, compressions, noise, read, read_both_ways, read_until,
    run_of, three, three_plain, with_bytes,
};

/// Records of every length around those at which codecs cut their blocks and readers their
/// chunks, so that lengths, keys and values are split at every place.
///
/// Covers RB-035, RB-091.
#[test]
fn records_across_chunk_and_block_boundaries_are_read_right() {
    let noise = noise(70 * 1024);
    let zeros = vec![0; 70 * 1024];
    for around in [2 * 1024, 16 * 1024, 32 * 1024, 64 * 1024] {
        for source in [&noise, &zeros] {
            for shift in [0, 1, 2, 3, 7, 8, 9, 10, 30] {
                // The second record begins about where the chunk ends.
                let first_value = source[..around - 61 - shift].to_vec();
                let records = [
                    Plain {
                        value: Some(first_value),
                        ..Plain::new(0, 1, "key", "")
                    },
                    Plain {
                        value: Some(source[..200].to_vec()),
                        ..Plain::new(1, 2, "key", "")
                    },
                    Plain {
                        value: Some(source.clone()),
                        ..Plain::new(2, 3, "end", "")
                    },
                ];
                for compression in compressions() {
                    let options = BatchOptions {
                        compression,
                        ..BatchOptions::default()
                    };
                    let batch = build(options, &records);
                    let read = read_both_ways(&batch, &mut Codecs::default()).unwrap();
                    assert!(read == records, "{compression:?}, {around} less {shift}");
                }
            }
        }
    }
}

#[test]
fn rb_036_uncompressed_records_are_slices_of_the_batch() {
    let batch = three(Compression::None);
    let inside = batch.bytes().as_ptr_range();
    let records: Vec<_> = batch.records().unwrap().map(Result::unwrap).collect();
    for record in &records {
        let mut slices = vec![record.key.unwrap(), record.value.unwrap()];
        slices.extend(record.headers.clone().map(|header| header.key));
        for slice in slices {
            assert!(inside.contains(&slice.as_ptr()), "{slice:?} was copied");
        }
    }
    let error = three(Compression::Snappy).records().unwrap_err();
    assert_eq!(
        error,
        RecordsError::Compressed {
            codec: Codec::Snappy
        }
    );
}

#[test]
fn rb_037_a_negative_count_is_refused_whatever_follows() {
    for compression in compressions() {
        for count in [-1, i32::MIN] {
            let batch = with_bytes(&three(compression), 57, &i32::to_be_bytes(count));
            let error = read_both_ways(&batch, &mut Codecs::default()).unwrap_err();
            assert_eq!(error, RecordsError::NegativeCount { count });
        }
    }
    let nothing = batch_around(-1, Codec::None, &[]);
    assert_eq!(
        read(&nothing),
        Err(RecordsError::NegativeCount { count: -1 })
    );
}

#[test]
fn counts_that_differ_from_the_records_are_refused_after_the_good_ones() {
    for codec in Codec::ALL {
        let plain = three(Compression::None);
        let more = compressed(codec, 4, plain.payload());
        let (records, end) = read_until(&more, &mut Codecs::default());
        assert_eq!(records, three_plain());
        let cut = |field, index| matches!((field, index), (RecordField::Length, 3));
        assert!(
            matches!(end, Err(RecordsError::Record { index, field, .. }) if cut(field, index)),
            "{end:?}"
        );
        let fewer = compressed(codec, 2, plain.payload());
        let (records, end) = read_until(&fewer, &mut Codecs::default());
        assert_eq!(records, three_plain()[..2]);
        assert!(
            matches!(end, Err(RecordsError::TrailingBytes { count: 2, .. })),
            "{end:?}"
        );
        assert!(read_both_ways(&fewer, &mut Codecs::default()).is_err());
    }
}

/// What a reader that is dropped halfway leaves behind does not disturb the next, and the one
/// buffer of all readings is given back each time.
///
/// Covers RB-038, RB-041.
#[test]
fn reading_twice_or_halfway_gives_the_same_records() {
    let mut codecs = Codecs::default();
    for compression in compressions() {
        let batch = three(compression);
        for _ in 0..3 {
            let mut reader = batch.read(&mut codecs).unwrap();
            assert_eq!(
                Plain::of(&reader.next().unwrap().unwrap()),
                three_plain()[0]
            );
            drop(reader);
            let skimmed = batch.skim(&mut codecs).unwrap().next().unwrap().unwrap();
            assert_eq!(skimmed.offset.get(), 0);
            assert_eq!(read_both_ways(&batch, &mut codecs).unwrap(), three_plain());
        }
    }
    let run = run_of(&compressions().map(three));
    for batch in RecordBatches::new(run) {
        let batch = batch.unwrap();
        assert_eq!(read_both_ways(&batch, &mut codecs).unwrap(), three_plain());
    }
}

/// Covers RB-039, RB-040.
#[test]
fn a_compressed_batch_streams_up_to_where_it_is_broken() {
    let values = noise(400 * 1000);
    let records: Vec<_> = (0..)
        .zip(values.chunks(1000))
        .map(|(offset, value)| Plain {
            value: Some(value.to_vec()),
            ..Plain::new(offset, 1000, "key", "")
        })
        .collect();
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let compression = codec.at(&Levels::default());
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let whole = build(options, &records);
        let kept = whole.payload().len() * 9 / 10;
        let cut = batch_around(400, codec, &whole.payload()[..kept]);
        let (read, end) = read_until(&cut, &mut Codecs::default());
        assert!(
            !read.is_empty(),
            "{codec}: the first record does not need the last"
        );
        assert!(read.len() < 400, "{codec}");
        assert!(read == records[..read.len()], "{codec}");
        let at = read.len();
        assert!(
            matches!(
                &end,
                Err(RecordsError::Inflate { index, source: InflateError::Truncated { .. }, .. })
                    if *index == at
            ),
            "{codec}: {end:?}"
        );

        // A limit far below the whole is no hindrance to the first records.
        let mut frugal = Codecs::with_inflated_max(100_000);
        let (read, end) = read_until(&whole, &mut frugal);
        assert!((50..100).contains(&read.len()), "{codec}: {}", read.len());
        assert!(read == records[..read.len()], "{codec}");
        let too_large = InflateError::TooLarge { limit: 100_000 };
        assert!(
            matches!(&end, Err(RecordsError::Inflate { source, .. }) if *source == too_large),
            "{codec}: {end:?}"
        );
    }
}

#[test]
fn positions_of_faults_are_told_in_plain_bytes() {
    let payload = three(Compression::None).payload().to_vec();
    let first_len = 1 + usize::from(payload[0] / 2);
    for codec in Codec::ALL {
        let mut broken = payload.clone();
        broken[first_len + 4] = 0x7f; // The second record's key is said to have -64 bytes.
        let batch = compressed(codec, 3, &broken);
        let (records, end) = read_until(&batch, &mut Codecs::default());
        assert_eq!(records.len(), 1);
        let error = end.unwrap_err();
        assert_eq!(
            error,
            RecordsError::Record {
                index: 1,
                position: u64::try_from(first_len + 5).unwrap(),
                field: RecordField::Key,
                fault: RecordFault::Negative { value: -64 },
            },
        );
        assert_eq!(
            error.to_string(),
            format!(
                "record 1, byte {} of the records: key: -64 is negative",
                first_len + 5
            )
        );
    }
}
