//! The header of a batch and the view of its bytes.

use bytes::Bytes;
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    Attributes, BatchError, BatchHeader, BatchOptions, Codec, Compression, HEADER_LEN,
    NO_TIMESTAMP, ProducerStamp, RecordBatch, RecordsError, TimestampType,
};

use crate::support::{Plain, build, compressions, mend, read, three, three_plain, with_bytes};

/// A batch whose header has another number in each field.
fn distinct() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0x0102_0304_0506_0708_i64.to_be_bytes());
    bytes.extend(49_i32.to_be_bytes());
    bytes.extend(0x1112_1314_i32.to_be_bytes());
    bytes.push(2);
    bytes.extend(0x2122_2324_u32.to_be_bytes());
    bytes.extend(0x0034_u16.to_be_bytes());
    bytes.extend(0x4142_4344_i32.to_be_bytes());
    bytes.extend(0x5152_5354_5556_5758_i64.to_be_bytes());
    bytes.extend(0x6162_6364_6566_6768_i64.to_be_bytes());
    bytes.extend(0x7172_7374_7576_7778_i64.to_be_bytes());
    bytes.extend(0x0182_i16.to_be_bytes());
    bytes.extend(0x0192_0394_i32.to_be_bytes());
    bytes.extend(0x01a2_03a4_i32.to_be_bytes());
    bytes
}

/// Covers RB-001, RB-002.
#[test]
fn each_header_field_has_its_place() {
    let bytes = distinct();
    assert_eq!((bytes.len(), HEADER_LEN), (61, 61));
    let header = BatchHeader::read(&bytes).unwrap();
    assert_eq!(header.base_offset, Offset::new(0x0102_0304_0506_0708));
    assert_eq!((header.size(), header.records_len()), (61, 0));
    assert_eq!(header.leader_epoch, LeaderEpoch::new(0x1112_1314));
    assert_eq!(header.crc, 0x2122_2324);
    assert_eq!(header.attributes, Attributes::from_bits(0x0034));
    assert_eq!(header.last_offset_delta, 0x4142_4344);
    assert_eq!(header.base_timestamp_ms, 0x5152_5354_5556_5758);
    assert_eq!(header.max_timestamp_ms, 0x6162_6364_6566_6768);
    assert_eq!(header.producer_id, ProducerId::new(0x7172_7374_7576_7778));
    assert_eq!(header.producer_epoch, ProducerEpoch::new(0x0182));
    assert_eq!(header.base_sequence, Sequence::new(0x0192_0394));
    assert_eq!(header.record_count, 0x01a2_03a4);
    assert_eq!(header.to_bytes().as_slice(), bytes);
}

#[test]
fn rb_003_two_known_records_have_a_known_checksum() {
    let records = [
        Plain::new(0, 283_843, "key1", "value1"),
        Plain::new(1, 1234, "key2", "value2"),
    ];
    let batch = build(BatchOptions::default(), &records);
    assert_eq!(batch.header().crc, 3_851_219_455);
    assert_eq!(batch.size(), 97);
    assert_eq!(batch.check_crc(), Ok(()));
    assert_eq!(batch.header().max_timestamp_ms, 283_843);
}

/// Covers RB-005, RB-006.
#[test]
fn moving_a_batch_changes_base_offset_and_leader_epoch_alone() {
    let batch = three(Compression::None);
    let mut header = *batch.header();
    header.set_last_offset(Offset::new(500));
    header.leader_epoch = LeaderEpoch::new(500);
    assert_eq!(header.base_offset, Offset::new(498));
    assert_eq!(header.crc, batch.header().crc);

    let mut expected = batch.bytes().to_vec();
    expected[0..8].copy_from_slice(&498_i64.to_be_bytes());
    expected[12..16].copy_from_slice(&500_i32.to_be_bytes());
    let moved = Bytes::from([&header.to_bytes(), batch.payload()].concat());
    assert_eq!(moved, expected);

    let moved = RecordBatch::parse(moved).unwrap();
    assert_eq!(moved.check_crc(), Ok(()));
    let offsets: Vec<_> = read(&moved)
        .unwrap()
        .iter()
        .map(|record| record.offset)
        .collect();
    assert_eq!(offsets, [498, 499, 500]);
}

/// Covers RB-008.
#[test]
fn unknown_codecs_are_an_error_when_records_are_asked_for() {
    for id in 5..=7 {
        let batch = with_bytes(&three(Compression::None), 21, &[0, id]);
        assert_eq!(batch.check_crc(), Ok(()));
        let error = read(&batch).unwrap_err();
        assert!(matches!(error, RecordsError::UnknownCodec(unknown) if unknown.id == id));
        assert_eq!(batch.records().unwrap_err(), error);
    }
}

#[test]
fn rb_009_what_is_not_set_is_minus_one() {
    assert_eq!(ProducerStamp::NONE.producer_id.get(), -1);
    assert_eq!(ProducerStamp::NONE.producer_epoch.get(), -1);
    assert_eq!(ProducerStamp::NONE.base_sequence.get(), -1);
    assert_eq!(NO_TIMESTAMP, -1);
    let record = Plain {
        timestamp_ms: NO_TIMESTAMP,
        ..Plain::default()
    };
    let batch = build(BatchOptions::default(), &[record]);
    let bytes = batch.bytes();
    assert_eq!(bytes[12..16], [0xff; 4], "leader epoch");
    assert_eq!(bytes[27..43], [0xff; 16], "base and max timestamp");
    assert_eq!(
        bytes[43..57],
        [0xff; 14],
        "producer id, producer epoch, base sequence"
    );
    assert_eq!(batch.header().leader_epoch_if_set(), None);
}

/// Covers RB-010, RB-011.
#[test]
fn last_offset_and_sequence_come_from_the_delta() {
    let mut header = BatchHeader::read(&distinct()).unwrap();
    header.base_offset = Offset::new(100);
    header.last_offset_delta = 9;
    header.record_count = 2;
    header.base_sequence = Sequence::new(7);
    assert_eq!(header.last_offset(), Offset::new(109));
    assert_eq!(header.next_offset(), Offset::new(110));
    assert_eq!(header.last_sequence(), Sequence::new(16), "not 7 + 2 - 1");
    header.base_sequence = Sequence::new(i32::MAX - 3);
    assert_eq!(header.last_sequence(), Sequence::new(5));
    header.base_sequence = Sequence::NONE;
    assert_eq!(header.last_sequence(), Sequence::NONE);

    header.base_offset = Offset::new(i64::MAX);
    assert_eq!(
        header.next_offset(),
        Offset::new(i64::MIN + 9),
        "wraps, does not panic"
    );
}

/// Covers RB-012.
#[test]
fn size_and_checksum_tell_corruption_without_parsing_records() {
    let batch = three(Compression::None);
    for len in 0..batch.size() {
        let error = RecordBatch::parse(batch.bytes().slice(..len)).unwrap_err();
        let needed = if len < HEADER_LEN {
            HEADER_LEN
        } else {
            batch.size()
        };
        assert_eq!(
            error,
            BatchError::Truncated {
                available: len,
                needed
            }
        );
    }
    for length in [-1, 0, 13, 14, 48] {
        let mut bytes = batch.bytes().to_vec();
        bytes[8..12].copy_from_slice(&i32::to_be_bytes(length));
        let error = RecordBatch::parse(bytes.into()).unwrap_err();
        assert!(
            matches!(error, BatchError::TooSmall { length: l, .. } if l == length),
            "{error}"
        );
    }
    let more = Bytes::from([&batch.bytes()[..], &[0]].concat());
    let error = RecordBatch::parse(more).unwrap_err();
    assert_eq!(
        error,
        BatchError::TrailingBytes {
            size: batch.size(),
            count: 1
        }
    );

    // No record can be read out of this payload, and the checksum is right.
    let mut bytes = [&batch.bytes()[..HEADER_LEN], &[0xff; 20]].concat();
    mend(&mut bytes);
    let mut unreadable = RecordBatch::parse(bytes.clone().into()).unwrap();
    assert_eq!(unreadable.check_crc(), Ok(()));
    bytes[17] ^= 1;
    unreadable = RecordBatch::parse(bytes.into()).unwrap();
    assert!(matches!(
        unreadable.check_crc(),
        Err(BatchError::Crc { .. })
    ));
}

#[test]
fn rb_013_every_flipped_bit_under_the_checksum_is_found() {
    for compression in compressions() {
        let batch = three(compression);
        for bit in 0..batch.size() * 8 {
            let position = bit / 8;
            let mut bytes = batch.bytes().to_vec();
            bytes[position] ^= 1 << (bit % 8);
            let checked = RecordBatch::parse(bytes.into()).and_then(|flipped| flipped.check_crc());
            match position {
                0..8 | 12..16 => assert_eq!(checked, Ok(()), "bit {bit}"),
                8..12 => assert!(
                    !matches!(checked, Ok(()) | Err(BatchError::LegacyMagic { .. })),
                    "bit {bit} of the length: {checked:?}"
                ),
                16 => assert!(
                    matches!(
                        checked,
                        Err(BatchError::LegacyMagic { .. } | BatchError::UnknownMagic { .. })
                    ),
                    "bit {bit} of the magic: {checked:?}"
                ),
                _ => assert!(matches!(checked, Err(BatchError::Crc { .. })), "bit {bit}"),
            }
        }
    }
}

#[test]
fn rb_014_timestamps_are_set_with_a_new_checksum_unless_they_are_so() {
    for compression in compressions() {
        let batch = three(compression);
        let mut header = *batch.header();
        header.set_timestamps(TimestampType::Create, 1002);
        assert_eq!(header, *batch.header());

        header.set_timestamps(TimestampType::LogAppend, 5_000_000_000);
        assert_eq!(header.attributes.timestamp_type(), TimestampType::LogAppend);
        assert_eq!(header.max_timestamp_ms, 5_000_000_000);
        assert_eq!(header.base_timestamp_ms, batch.header().base_timestamp_ms);
        let changed = Bytes::from([&header.to_bytes(), batch.payload()].concat());
        let changed = RecordBatch::parse(changed).unwrap();
        assert_eq!(changed.check_crc(), Ok(()), "{compression:?}");

        // A checksum that was wrong is not put right by the way, unless nothing changes.
        let mut wrong = *batch.header();
        wrong.crc ^= 0x10;
        let before = wrong;
        wrong.set_timestamps(TimestampType::Create, 1002);
        assert_eq!(wrong, before);
        wrong.set_timestamps(TimestampType::LogAppend, 5_000_000_000);
        assert_ne!(wrong.crc, header.crc);
    }
}

#[test]
fn rb_016_with_log_append_time_all_records_have_the_max_timestamp() {
    for compression in compressions() {
        let batch = three(compression);
        let mut header = *batch.header();
        header.set_timestamps(TimestampType::LogAppend, 77);
        let appended = Bytes::from([&header.to_bytes(), batch.payload()].concat());
        let records = read(&RecordBatch::parse(appended).unwrap()).unwrap();
        assert_eq!(records.len(), 3);
        assert!(records.iter().all(|record| record.timestamp_ms == 77));
    }
}

#[test]
fn rb_017_a_header_alone_tells_offsets_timestamps_producer_and_size() {
    let options = BatchOptions {
        base_offset: Offset::new(10),
        leader_epoch: LeaderEpoch::new(4),
        producer: ProducerStamp {
            producer_id: ProducerId::new(9),
            producer_epoch: ProducerEpoch::new(1),
            base_sequence: Sequence::new(40),
        },
        ..BatchOptions::default()
    };
    let records = three_plain().map(|record| Plain {
        offset: record.offset + 10,
        ..record
    });
    let batch = build(options.clone(), &records);
    let header = BatchHeader::read(&batch.bytes()[..61]).unwrap();
    assert_eq!(header, *batch.header());
    assert_eq!(header.size(), batch.size());
    assert_eq!(
        (header.base_offset.get(), header.last_offset().get()),
        (10, 12)
    );
    assert_eq!(
        (header.base_timestamp_ms, header.max_timestamp_ms),
        (1000, 1002)
    );
    assert_eq!(header.producer(), options.producer);
    assert_eq!(header.last_sequence(), Sequence::new(42));
    assert_eq!(header.leader_epoch_if_set(), Some(LeaderEpoch::new(4)));
    let error = BatchHeader::read(&batch.bytes()[..60]).unwrap_err();
    assert_eq!(
        error,
        BatchError::Truncated {
            available: 60,
            needed: 61
        }
    );
}

#[test]
fn rb_018_batches_are_equal_when_their_bytes_are() {
    let batch = three(Compression::Snappy);
    let larger = Bytes::from([b"before", &batch.bytes()[..], b"behind"].concat());
    let copy = RecordBatch::parse(larger.slice(6..6 + batch.size())).unwrap();
    assert_eq!(copy, batch);
    let mut moved = *batch.header();
    moved.base_offset = Offset::new(1);
    let moved = Bytes::from([&moved.to_bytes(), batch.payload()].concat());
    assert_ne!(RecordBatch::parse(moved).unwrap(), batch);
}

#[test]
fn magics_other_than_2_are_named() {
    let batch = three(Compression::None);
    for magic in (0..=u8::MAX).filter(|magic| *magic != 2) {
        let mut bytes = batch.bytes().to_vec();
        bytes[16] = magic;
        let error = RecordBatch::parse(bytes.into()).unwrap_err();
        let expected = match magic {
            0 | 1 => BatchError::LegacyMagic { magic },
            _ => BatchError::UnknownMagic { magic },
        };
        assert_eq!(error, expected);
        assert!(error.to_string().contains(&format!("magic {magic}")));
    }
    assert_eq!(
        three(Compression::None).header().attributes.codec(),
        Ok(Codec::None)
    );
}
