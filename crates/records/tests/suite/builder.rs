//! Building batches.

use bytes::Bytes;
use klamm_primitives::{Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    AppendError, BatchOptions, CloseError, Codecs, Compression, HEADER_LEN, Header, ProducerStamp,
    RecordBatch, RecordBatchBuilder, RecordBatches, StateError, TimestampType, Timestamps,
    batch_size_max, record_size_max,
};

use crate::support::{Plain, compressions, noise, read, three, three_plain};

fn builder(options: BatchOptions) -> RecordBatchBuilder {
    RecordBatchBuilder::new(options, Vec::new())
}

fn append_three(builder: &mut RecordBatchBuilder) {
    for (index, record) in (0..).zip(three_plain()) {
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        let appended = builder.append(record.timestamp_ms, key, value, &record.headers());
        assert_eq!(appended, Ok(index));
    }
}

fn batch(builder: &RecordBatchBuilder) -> RecordBatch {
    RecordBatch::parse(Bytes::copy_from_slice(builder.bytes().unwrap())).unwrap()
}

const PRODUCER: ProducerStamp = ProducerStamp {
    producer_id: ProducerId::new(9),
    producer_epoch: ProducerEpoch::new(1),
    base_sequence: Sequence::new(17),
};

#[test]
fn rb_058_a_built_batch_says_what_it_holds() {
    for compression in compressions() {
        let options = BatchOptions {
            base_offset: Offset::new(70),
            compression,
            ..BatchOptions::default()
        };
        let mut builder = builder(options);
        append_three(&mut builder);
        assert_eq!(builder.count(), 3);
        builder.close(&mut Codecs::default()).unwrap();
        let batch = batch(&builder);
        assert_eq!(builder.header().unwrap(), batch.header());
        assert_eq!(batch.check_crc(), Ok(()));
        assert_eq!(batch.header().base_offset, Offset::new(70));
        assert_eq!(
            (
                batch.header().record_count,
                batch.header().last_offset_delta
            ),
            (3, 2)
        );
        assert_eq!(batch.header().base_timestamp_ms, 1000);
        assert_eq!(batch.header().max_timestamp_ms, 1002);
    }
}

#[test]
fn rb_059_nothing_appended_is_nothing_written() {
    for compression in compressions() {
        let mut builder = builder(BatchOptions {
            compression,
            ..BatchOptions::default()
        });
        assert!(builder.is_empty());
        builder.close(&mut Codecs::default()).unwrap();
        assert_eq!(builder.bytes(), Ok(&[][..]));
        assert_eq!(builder.compression_ratio(), None);
        assert!(builder.into_bytes().unwrap().is_empty());
    }
}

#[test]
fn rb_060_offsets_must_rise_and_timestamps_must_not_be_negative() {
    let mut builder = builder(BatchOptions {
        base_offset: 5.into(),
        ..BatchOptions::default()
    });
    let mut append =
        |offset: i64, timestamp_ms| builder.append_at(offset.into(), timestamp_ms, None, None, &[]);
    let not_rising = |offset: i64, last: i64| {
        Err(AppendError::OffsetNotRising {
            offset: offset.into(),
            last: last.into(),
        })
    };
    assert_eq!(append(4, 0), not_rising(4, 4));
    assert_eq!(append(5, 0), Ok(0));
    assert_eq!(append(5, 0), not_rising(5, 5));
    assert_eq!(append(8, 0), Ok(1));
    assert_eq!(append(7, 0), not_rising(7, 8));
    assert_eq!(
        append(i64::MIN, 0),
        Err(AppendError::OffsetTooFar {
            offset: i64::MIN.into(),
            base_offset: 5.into(),
        })
    );
    for timestamp_ms in [-2, i64::MIN] {
        assert_eq!(
            append(9, timestamp_ms),
            Err(AppendError::NegativeTimestamp { timestamp_ms })
        );
    }
    assert_eq!(append(9, -1), Ok(2));
    assert_eq!(
        builder.append(-2, None, None, &[]),
        Err(AppendError::NegativeTimestamp { timestamp_ms: -2 })
    );
    assert_eq!(builder.append(0, None, None, &[]), Ok(3));
    builder.close(&mut Codecs::default()).unwrap();
    let offsets: Vec<_> = read(&batch(&builder))
        .unwrap()
        .iter()
        .map(|record| record.offset)
        .collect();
    assert_eq!(offsets, [5, 8, 9, 10]);
}

#[test]
fn rb_061_offsets_too_far_apart_for_a_delta_are_refused() {
    let mut builder = builder(BatchOptions::default());
    builder.append(0, None, None, &[]).unwrap();
    let mut append = |offset: i64| builder.append_at(offset.into(), 0, None, None, &[]);
    let too_far = |offset: i64| {
        Err(AppendError::OffsetTooFar {
            offset: offset.into(),
            base_offset: Offset::ZERO,
        })
    };
    assert_eq!(append(1 << 31), too_far(1 << 31));
    assert_eq!(append(i64::MAX), too_far(i64::MAX));
    assert_eq!(append((1 << 31) - 1), Ok(1));
    assert_eq!(builder.append(0, None, None, &[]), too_far(1 << 31));
    builder.close(&mut Codecs::default()).unwrap();
    assert_eq!(
        batch(&builder).header().last_offset(),
        Offset::new((1 << 31) - 1)
    );
}

#[test]
fn rb_062_producer_fields_must_fit_each_other() {
    let close = |options| {
        let mut builder = builder(options);
        if !builder.options().control {
            builder.append(0, None, None, &[]).unwrap();
        }
        builder.close(&mut Codecs::default())
    };
    let with = |producer| BatchOptions {
        producer,
        ..BatchOptions::default()
    };
    let transactional = |options| BatchOptions {
        transactional: true,
        ..options
    };
    assert_eq!(close(BatchOptions::default()), Ok(()));
    let without_producer = Err(CloseError::TransactionalWithoutProducer);
    assert_eq!(
        close(transactional(BatchOptions::default())),
        without_producer
    );
    assert_eq!(close(transactional(with(PRODUCER))), Ok(()));
    let no_epoch = ProducerStamp {
        producer_epoch: ProducerEpoch::NONE,
        ..PRODUCER
    };
    assert_eq!(close(with(no_epoch)), Err(CloseError::WithoutProducerEpoch));
    let no_sequence = ProducerStamp {
        base_sequence: Sequence::NONE,
        ..PRODUCER
    };
    assert_eq!(close(with(no_sequence)), Err(CloseError::WithoutSequence));
    let control = BatchOptions {
        control: true,
        ..with(no_sequence)
    };
    assert_eq!(close(control), Ok(()));
}

#[test]
fn rb_063_the_producer_may_be_set_until_closing_and_after_reopening() {
    for compression in compressions() {
        let codecs = &mut Codecs::default();
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let mut late = builder(options.clone());
        append_three(&mut late);
        late.set_producer(PRODUCER).unwrap();
        late.close(codecs).unwrap();
        let mut early = builder(BatchOptions {
            producer: PRODUCER,
            ..options.clone()
        });
        append_three(&mut early);
        early.close(codecs).unwrap();
        assert_eq!(late.bytes(), early.bytes());

        let other = ProducerStamp {
            base_sequence: Sequence::new(90),
            ..PRODUCER
        };
        assert_eq!(late.set_producer(other), Err(StateError::Closed));
        let before = late.bytes().unwrap().to_vec();
        late.reopen().unwrap();
        assert_eq!(late.bytes(), Err(StateError::Open));
        assert_eq!(
            late.append(0, None, None, &[]),
            Err(StateError::Closed.into())
        );
        late.set_producer(other).unwrap();
        late.close(codecs).unwrap();
        let reopened = batch(&late);
        assert_eq!(reopened.check_crc(), Ok(()));
        assert_eq!(reopened.header().producer(), other);
        let mut expected = before;
        expected[17..21].copy_from_slice(&reopened.header().crc.to_be_bytes());
        expected[53..57].copy_from_slice(&90_i32.to_be_bytes());
        assert_eq!(reopened.bytes(), &expected[..]);

        let mut afresh = builder(BatchOptions {
            producer: other,
            ..options
        });
        append_three(&mut afresh);
        afresh.close(codecs).unwrap();
        assert_eq!(late.bytes(), afresh.bytes());
    }
    let mut open = builder(BatchOptions::default());
    assert_eq!(open.reopen(), Err(StateError::Open));
}

#[test]
fn rb_064_the_first_record_always_has_room_and_later_ones_if_they_fit_at_most() {
    let value = noise(50);
    let headers = [Header::new("key", Some(b"0123456789"))];
    let without = record_size_max(None, Some(&value), &[]);
    let with = record_size_max(None, Some(&value), &headers);
    assert_eq!(with - without, 4 + 11, "headers count in the bound");
    assert_eq!(
        batch_size_max(None, Some(&value), &[]),
        HEADER_LEN + without
    );

    let limited = |size_limit| {
        builder(BatchOptions {
            size_limit,
            ..BatchOptions::default()
        })
    };
    let mut tiny = limited(1);
    assert!(tiny.has_room_for(usize::MAX));
    assert!(!tiny.is_full());
    tiny.append(0, None, Some(&value), &[]).unwrap();
    assert!(tiny.is_full());
    assert!(!tiny.has_room_for(0));

    let mut builder = limited(300);
    while builder.has_room_for(without) {
        builder.append(0, None, Some(&value), &[]).unwrap();
    }
    assert_eq!(builder.count(), 3);
    assert!(builder.estimated_size() + without > 300);
    assert!(!builder.is_full(), "a smaller one would fit");
    assert!(!builder.has_room_for(with));
    assert!(builder.has_room_for(300 - builder.estimated_size()));
    builder.close(&mut Codecs::default()).unwrap();
    assert!(builder.bytes().unwrap().len() <= 300);
    assert_eq!(builder.estimated_size(), builder.bytes().unwrap().len());
    assert!(builder.is_full() && !builder.has_room_for(0));
}

/// Covers RB-065 where it meets the builder.
#[test]
fn a_compressed_batch_is_full_by_the_expected_ratio() {
    let value = noise(1000);
    let size_max = record_size_max(None, Some(&value), &[]);
    let count = |expected_ratio| {
        let mut builder = builder(BatchOptions {
            compression: Compression::Snappy,
            size_limit: 16_384,
            expected_ratio,
            ..BatchOptions::default()
        });
        while builder.has_room_for(size_max) {
            builder.append(0, None, Some(&value), &[]).unwrap();
        }
        builder.close(&mut Codecs::default()).unwrap();
        let ratio = builder.compression_ratio().unwrap();
        assert!(
            (0.01..0.2).contains(&ratio),
            "the same noise over and over: {ratio}"
        );
        assert!(builder.plain_len() > builder.bytes().unwrap().len());
        builder.count()
    };
    assert_eq!((count(1.0), count(0.5), count(0.1)), (15, 29, 145));
}

#[test]
fn rb_066_the_buffer_grows_where_one_record_needs_it() {
    let value = noise(10_000);
    let options = BatchOptions {
        size_limit: 100,
        ..BatchOptions::default()
    };
    let mut builder = RecordBatchBuilder::new(options, Vec::with_capacity(100));
    builder.append(0, None, Some(&value), &[]).unwrap();
    assert!(builder.is_full());
    builder.close(&mut Codecs::default()).unwrap();
    assert_eq!(
        read(&batch(&builder)).unwrap()[0].value.as_ref(),
        Some(&value)
    );

    // Within its first size it stays where it is.
    let buffer = Vec::with_capacity(1000);
    let place = buffer.as_ptr();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), buffer);
    append_three(&mut builder);
    builder.close(&mut Codecs::default()).unwrap();
    assert_eq!(builder.bytes().unwrap().as_ptr(), place);
}

#[test]
fn rb_067_states_allow_what_they_should() {
    let codecs = &mut Codecs::default();
    let mut closed = builder(BatchOptions::default());
    assert_eq!(closed.bytes(), Err(StateError::Open));
    append_three(&mut closed);
    closed.close(codecs).unwrap();
    let bytes = closed.bytes().unwrap().to_vec();
    assert_eq!(
        closed.append(0, None, None, &[]),
        Err(AppendError::State(StateError::Closed))
    );
    assert_eq!(closed.close(codecs), Ok(()), "twice is harmless");
    assert_eq!(closed.abort(), Err(StateError::Closed));
    assert_eq!(closed.bytes(), Ok(&bytes[..]));

    let mut aborted = builder(BatchOptions::default());
    append_three(&mut aborted);
    aborted.abort().unwrap();
    assert_eq!(aborted.abort(), Ok(()));
    assert_eq!(
        aborted.append(0, None, None, &[]),
        Err(AppendError::State(StateError::Aborted))
    );
    assert_eq!(
        aborted.close(codecs),
        Err(CloseError::State(StateError::Aborted))
    );
    assert_eq!(aborted.set_producer(PRODUCER), Err(StateError::Aborted));
    assert_eq!(aborted.reopen(), Err(StateError::Aborted));
    assert_eq!(aborted.bytes(), Err(StateError::Aborted));
    assert_eq!(aborted.header(), Err(StateError::Aborted));
    assert!(!aborted.has_room_for(0));
    assert!(aborted.into_buffer().is_empty());

    closed.reset(BatchOptions::default());
    append_three(&mut closed);
    closed.close(codecs).unwrap();
    assert_eq!(
        closed.bytes(),
        Ok(&bytes[..]),
        "the next batch in the same buffer"
    );
}

/// What was set in a buffer stays set on its way through a batch that is shared, however little of
/// it the batch takes.
#[test]
fn a_shared_buffer_comes_back_whole() {
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), vec![7; 3]);
    builder.append(1, None, Some(&[9; 5_000]), &[]).unwrap();
    let set = {
        let mut first = RecordBatchBuilder::over(BatchOptions::default(), Vec::new());
        first.append(1, None, Some(&[9; 5_000]), &[]).unwrap();
        first.close(&mut Codecs::default()).unwrap();
        let (whole, _) = first.into_shared().unwrap();
        Vec::from(whole)
    };
    let size = set.len();
    assert!(size > 5_000);
    let mut second = RecordBatchBuilder::over(BatchOptions::default(), set);
    second.append(1, None, Some(b"short"), &[]).unwrap();
    second.close(&mut Codecs::default()).unwrap();
    let expected = second.bytes().unwrap().to_vec();
    let (whole, batch) = second.into_shared().unwrap();
    assert_eq!(batch, expected);
    assert!(!whole.is_unique());
    drop(batch);
    let address = whole.as_ptr();
    let back = Vec::from(whole);
    assert_eq!(
        (back.len(), back.as_ptr()),
        (size, address),
        "nothing is copied"
    );

    // A batch behind other bytes is a part of them.
    builder.close(&mut Codecs::default()).unwrap();
    let (whole, batch) = builder.into_shared().unwrap();
    assert_eq!(whole[..3], [7; 3]);
    assert_eq!(whole[3..3 + batch.len()], batch);
}

#[test]
fn rb_068_a_batch_is_written_behind_what_the_buffer_holds() {
    let codecs = &mut Codecs::default();
    for compression in compressions() {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let mut first = RecordBatchBuilder::new(options.clone(), b"before".to_vec());
        append_three(&mut first);
        first.close(codecs).unwrap();
        let alone = three(compression);
        assert_eq!(first.bytes(), Ok(&alone.bytes()[..]));
        let mut second = RecordBatchBuilder::new(options, first.into_buffer());
        append_three(&mut second);
        second.close(codecs).unwrap();
        assert_eq!(second.bytes(), Ok(&alone.bytes()[..]));
        let buffer = second.into_buffer();
        assert_eq!(buffer[..6], *b"before");
        let batches = RecordBatches::new(Bytes::from(buffer).slice(6..));
        assert_eq!(
            batches.map(Result::unwrap).collect::<Vec<_>>(),
            [alone.clone(), alone]
        );
    }
    let mut aborted = RecordBatchBuilder::new(BatchOptions::default(), b"before".to_vec());
    append_three(&mut aborted);
    aborted.abort().unwrap();
    assert_eq!(aborted.into_buffer(), b"before");
}

#[test]
fn rb_069_with_log_append_time_every_record_takes_the_builders_time() {
    for compression in compressions() {
        let timestamps = Timestamps::LogAppend { at_ms: 4242 };
        let options = BatchOptions {
            compression,
            timestamps,
            ..BatchOptions::default()
        };
        let mut builder = builder(options);
        append_three(&mut builder);
        builder.close(&mut Codecs::default()).unwrap();
        let batch = batch(&builder);
        assert_eq!(
            batch.header().attributes.timestamp_type(),
            TimestampType::LogAppend
        );
        assert_eq!(batch.header().base_timestamp_ms, 4242);
        assert_eq!(batch.header().max_timestamp_ms, 4242);
        let expected = three_plain().map(|record| Plain {
            timestamp_ms: 4242,
            ..record
        });
        assert_eq!(read(&batch).unwrap(), expected);
    }
}

#[test]
fn rb_071_no_timestamps_at_all_are_minus_one() {
    let mut builder = builder(BatchOptions::default());
    for _ in 0..3 {
        builder.append(-1, None, Some(b"v"), &[]).unwrap();
    }
    builder.close(&mut Codecs::default()).unwrap();
    let batch = batch(&builder);
    assert_eq!(batch.header().base_timestamp_ms, -1);
    assert_eq!(batch.header().max_timestamp_ms, -1);
    assert!(
        read(&batch)
            .unwrap()
            .iter()
            .all(|record| record.timestamp_ms == -1)
    );
}

#[test]
fn a_batch_over_a_used_buffer_is_the_same_as_in_a_fresh_one() {
    let codecs = &mut Codecs::default();
    for compression in compressions() {
        for len in [0, 10, 61, 100, 10_000] {
            let options = BatchOptions {
                compression,
                ..BatchOptions::default()
            };
            let mut builder = RecordBatchBuilder::over(options, noise(len));
            append_three(&mut builder);
            builder.close(codecs).unwrap();
            assert_eq!(builder.bytes(), Ok(&three(compression).bytes()[..]));
            assert_eq!(builder.into_buffer(), three(compression).bytes()[..]);
        }
    }
    let mut nothing = RecordBatchBuilder::over(BatchOptions::default(), noise(10));
    nothing.close(codecs).unwrap();
    assert_eq!(nothing.bytes(), Ok(&[][..]));
    assert!(nothing.into_buffer().is_empty());
}

/// Records on either side of each length at which a number takes another byte, which is also
/// where the short way of writing ends.
#[test]
fn records_of_every_length_are_read_back() {
    let bytes = noise(20_000);
    let lengths = [0, 1, 62, 63, 64, 65, 8_150, 8_191, 8_192, 8_193, 16_400];
    let timestamps = [0, 63, 64, -64, -65, 8_191, 8_192, -8_192, -8_193, 1 << 40];
    let mut records = Vec::new();
    for key_len in lengths {
        for value_len in lengths {
            let index = records.len();
            records.push(Plain {
                offset: i64::try_from(index).unwrap(),
                timestamp_ms: 1_000_000 + timestamps[index % timestamps.len()],
                key: (key_len > 0).then(|| bytes[..key_len].to_vec()),
                value: (value_len != 1).then(|| bytes[..value_len].to_vec()),
                headers: Vec::new(),
            });
        }
    }
    records.extend((0..9_000).map(|index| Plain {
        offset: i64::try_from(lengths.len() * lengths.len() + index).unwrap(),
        timestamp_ms: 1_000_000,
        ..Plain::default()
    }));
    let mut builder = builder(BatchOptions::default());
    for record in &records {
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        let size_before = builder.plain_len();
        builder
            .append(record.timestamp_ms, key, value, &[])
            .unwrap();
        let size = builder.plain_len() - size_before;
        let delta = i32::try_from(record.offset).unwrap();
        let timestamp_delta = record.timestamp_ms - records[0].timestamp_ms;
        assert_eq!(
            size,
            klamm_records::record_size(timestamp_delta, delta, key, value, &[])
        );
    }
    builder.close(&mut Codecs::default()).unwrap();
    assert!(read(&batch(&builder)).unwrap() == records);
}

#[test]
fn a_shared_batch_gives_its_buffer_back_without_a_copy() {
    let buffer = Vec::with_capacity(16_384);
    let place = buffer.as_ptr();
    let mut builder = RecordBatchBuilder::new(BatchOptions::default(), buffer);
    append_three(&mut builder);
    builder.close(&mut Codecs::default()).unwrap();
    let bytes = builder.into_bytes().unwrap();
    let sent = bytes.clone();
    drop(bytes);
    let back = Vec::from(sent);
    assert_eq!((back.as_ptr(), back.capacity()), (place, 16_384));
}

#[test]
fn a_delete_horizon_takes_the_place_of_the_base_timestamp() {
    let options = BatchOptions {
        delete_horizon_ms: Some(5000),
        ..BatchOptions::default()
    };
    let mut builder = builder(options);
    append_three(&mut builder);
    builder.close(&mut Codecs::default()).unwrap();
    let batch = batch(&builder);
    assert_eq!(batch.header().delete_horizon_ms(), Some(5000));
    assert_eq!(batch.header().max_timestamp_ms, 1002);
    assert_eq!(read(&batch).unwrap(), three_plain());
}
