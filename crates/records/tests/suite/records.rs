//! Records: how they are laid out, and how they are read.

use klamm_primitives::{ProducerEpoch, ProducerId, Sequence, varint};
use klamm_records::{
    BatchOptions, Codec, Codecs, Compression, HEADER_LEN, Header, ProducerStamp, RecordBatch,
    RecordFault, RecordField, RecordsError, record_size,
};

use crate::support::{
    Plain, batch_around, build, compressed, compressions, noise, read, read_both_ways, read_until,
    three, three_plain,
};

/// The field and the fault of a record that cannot be read.
fn fault(batch: &RecordBatch) -> (RecordField, RecordFault) {
    match read_both_ways(batch, &mut Codecs::default()) {
        Err(RecordsError::Record { field, fault, .. }) => (field, fault),
        other => panic!("{other:?}"),
    }
}

/// A batch of one record of these bytes, its length in front.
fn one(record: &[u8]) -> RecordBatch {
    batch_around(1, Codec::None, record)
}

/// A record of that body with the length that it has.
fn framed(body: &[u8]) -> Vec<u8> {
    let len = i32::try_from(body.len()).unwrap();
    [varint::encode_i32(len).as_slice(), body].concat()
}

/// Covers RB-019, RB-020, RB-021.
#[test]
fn a_record_is_laid_out_field_by_field() {
    let mut record = Plain::new(0, 1000, "k", "");
    record.headers = vec![
        (b"".to_vec(), None),
        (b"h".to_vec(), Some(b"1".to_vec())),
        (b"h".to_vec(), Some(b"".to_vec())),
    ];
    let second = Plain {
        offset: 300,
        timestamp_ms: 900,
        ..Plain::default()
    };
    let batch = build(BatchOptions::default(), &[record.clone(), second.clone()]);
    let first_bytes = [
        30, 0, 0, 0, 2, b'k', 0, 6, // length 15, attributes, deltas, key, value, 3 headers
        0, 1, 2, b'h', 2, b'1', 2, b'h', 0,
    ];
    let first_len = u8::try_from(first_bytes.len() - 1).unwrap() * 2;
    let mut expected = first_bytes.to_vec();
    expected[0] = first_len;
    expected.extend([16, 0, 0xc7, 1, 0xd8, 4, 1, 1, 0]);
    assert_eq!(batch.payload(), expected);
    assert_eq!(read(&batch).unwrap(), [record, second]);
}

#[test]
fn rb_020_null_is_not_empty() {
    let parts = [None, Some(Vec::new()), Some(b"x".to_vec())];
    let mut records = Vec::new();
    for key in &parts {
        for value in &parts {
            records.push(Plain {
                offset: i64::try_from(records.len()).unwrap(),
                key: key.clone(),
                value: value.clone(),
                headers: vec![(Vec::new(), value.clone())],
                ..Plain::default()
            });
        }
    }
    for compression in compressions() {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        assert_eq!(read(&build(options, &records)).unwrap(), records);
    }
}

#[test]
fn rb_021_header_keys_may_be_empty_and_repeat_and_keep_their_order() {
    let header = |key: &str, value: Option<&str>| (key.into(), value.map(Into::into));
    let headers = vec![
        header("x", Some("1")),
        header("x", Some("2")),
        header("", None),
        header("y", None),
        header("y", Some("")),
        header("größe", Some("🦀")),
    ];
    let record = Plain {
        headers,
        ..Plain::default()
    };
    let batch = build(BatchOptions::default(), std::slice::from_ref(&record));
    assert_eq!(read(&batch).unwrap(), [record]);
    let first = batch.records().unwrap().next().unwrap().unwrap();
    let keys: Vec<_> = first
        .headers
        .map(|header| header.key_text().unwrap())
        .collect();
    assert_eq!(keys, ["x", "x", "", "y", "y", "größe"]);
    assert_eq!(
        fault(&one(&framed(&[0, 0, 0, 1, 1, 2, 1, 1]))).0,
        RecordField::HeaderKey
    );
}

/// Covers RB-022, RB-023.
#[test]
fn computed_sizes_are_those_that_are_written() {
    let long = noise(70_000);
    let parts = [None, Some(&long[..0]), Some(&long[..1]), Some(&long[..63])];
    let more = [
        Some(&long[..64]),
        Some(&long[..8191]),
        Some(&long[..8192]),
        Some(&long[..]),
    ];
    let headers = [Header::new("k1", Some(b"v1")), Header::new("", None)];
    let many: Vec<_> = (0..64).map(|_| headers[0]).collect();
    let steps = |bits: &[u32]| -> Vec<i64> {
        bits.iter()
            .flat_map(|bit| [(1 << bit) - 1, 1 << bit])
            .collect()
    };
    let timestamp_deltas = steps(&[0, 6, 13, 20, 27, 34, 41, 48, 55, 62]);
    let offset_deltas = steps(&[6, 13, 20, 27]);
    let check = |timestamp_delta: i64, offset_delta: i64, key, value, headers: &[_]| {
        let mut builder =
            klamm_records::RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        let base = if timestamp_delta < 0 {
            -timestamp_delta
        } else {
            0
        };
        builder.append(base, None, None, &[]).unwrap();
        let before = builder.plain_len();
        let timestamp = base + timestamp_delta;
        builder
            .append_at(offset_delta.into(), timestamp, key, value, headers)
            .unwrap();
        let delta = i32::try_from(offset_delta).unwrap();
        let size = record_size(timestamp_delta, delta, key, value, headers);
        assert_eq!(builder.plain_len() - before, size);
        assert_eq!(builder.into_buffer().len(), HEADER_LEN + before + size);
        assert!(size <= klamm_records::record_size_max(key, value, headers));
    };
    for key in parts.into_iter().chain(more) {
        for value in parts.into_iter().chain(more) {
            check(1, 1, key, value, &[]);
            check(1, 1, key, value, &headers);
            check(1, 1, key, value, &many);
        }
    }
    for timestamp_delta in timestamp_deltas {
        for offset_delta in &offset_deltas {
            check(timestamp_delta, *offset_delta, None, None, &[]);
            check(-timestamp_delta, *offset_delta, None, None, &[]);
        }
    }
}

/// Covers RB-024, RB-025.
#[test]
fn offsets_and_timestamps_are_base_plus_delta_and_need_not_rise() {
    let records: Vec<_> = [1000, 5, 2000, 0, 1000 + (1 << 40)]
        .iter()
        .zip([7, 8, 20, 21, 1_000_000])
        .map(|(timestamp_ms, offset)| Plain::new(offset, *timestamp_ms, "k", "v"))
        .collect();
    for compression in compressions() {
        let options = BatchOptions {
            base_offset: 7.into(),
            compression,
            ..BatchOptions::default()
        };
        let batch = build(options, &records);
        assert_eq!(batch.header().base_timestamp_ms, 1000);
        assert_eq!(batch.header().max_timestamp_ms, 1000 + (1 << 40));
        assert_eq!(batch.header().last_offset_delta, 999_993);
        assert_eq!(
            read_both_ways(&batch, &mut Codecs::default()).unwrap(),
            records
        );
    }
}

#[test]
fn rb_026_fields_use_up_the_record_exactly() {
    let body = [0, 0, 0, 2, b'k', 2, b'v', 0];
    let framed = framed(&body);
    assert!(read(&one(&framed)).is_ok());
    let mut short = framed.clone();
    short[0] -= 2;
    let (field, _) = fault(&one(&short));
    assert_eq!(field, RecordField::HeaderCount, "the last field is cut off");
    let mut long = framed;
    long[0] += 2;
    long.push(0);
    let (field, fault) = fault(&one(&long));
    assert_eq!(
        (field, fault),
        (RecordField::End, RecordFault::Leftover { count: 1 })
    );
}

#[test]
fn rb_027_a_body_longer_than_what_is_left_is_refused() {
    let (field, fault_) = fault(&one(&[20, 0, 0, 0, 1, 1]));
    assert_eq!(field, RecordField::Length);
    assert_eq!(fault_, RecordFault::TooLong { value: 10, left: 5 });
    let huge = [varint::encode_i32(i32::MAX).as_slice(), &[0, 0, 0, 1, 1, 0]].concat();
    assert_eq!(
        fault(&one(&huge)).1,
        RecordFault::TooLong {
            value: i32::MAX,
            left: 6
        }
    );
    assert_eq!(fault(&one(&[1])).1, RecordFault::Negative { value: -1 });
    assert_eq!(
        fault(&one(&[0])),
        (RecordField::Attributes, RecordFault::Truncated)
    );
}

#[test]
fn rb_028_lengths_beyond_the_record_are_refused() {
    use RecordField::{HeaderKey, HeaderValue, Key, Value};
    // A length of 5 where 4 bytes are left, and one of 2147483647.
    let cases: [(RecordField, &[u8]); 4] = [
        (Key, &[0, 0, 0]),
        (Value, &[0, 0, 0, 1]),
        (HeaderKey, &[0, 0, 0, 1, 1, 2]),
        (HeaderValue, &[0, 0, 0, 1, 1, 2, 0]),
    ];
    for (field, front) in cases {
        for length in [5, i32::MAX] {
            let body = [front, varint::encode_i32(length).as_slice(), &[0; 4]].concat();
            let expected = (
                field,
                RecordFault::TooLong {
                    value: length,
                    left: 4,
                },
            );
            assert_eq!(fault(&one(&framed(&body))), expected);
        }
        for length in [-2, i32::MIN] {
            let body = [front, varint::encode_i32(length).as_slice(), &[0; 4]].concat();
            let expected = (field, RecordFault::Negative { value: length });
            assert_eq!(fault(&one(&framed(&body))), expected);
        }
    }
}

#[test]
fn rb_029_header_counts_that_cannot_be_are_refused() {
    for count in [-1, i32::MIN] {
        let body = [&[0, 0, 0, 1, 1], varint::encode_i32(count).as_slice()].concat();
        let expected = (
            RecordField::HeaderCount,
            RecordFault::Negative { value: count },
        );
        assert_eq!(fault(&one(&framed(&body))), expected);
    }
    for count in [2, 100, i32::MAX] {
        let body = [
            &[0, 0, 0, 1, 1],
            varint::encode_i32(count).as_slice(),
            &[0, 1],
        ]
        .concat();
        let expected = RecordFault::TooLong {
            value: count,
            left: 2,
        };
        assert_eq!(
            fault(&one(&framed(&body))),
            (RecordField::HeaderCount, expected)
        );
    }
}

#[test]
fn rb_030_varints_that_do_not_end_are_refused() {
    let endless = [0x80; 12];
    let too_long = |len_max| RecordFault::VarintTooLong { len_max };
    let cases: [(RecordField, usize, &[u8]); 6] = [
        (RecordField::TimestampDelta, 10, &[0]),
        (RecordField::OffsetDelta, 5, &[0, 0]),
        (RecordField::Key, 5, &[0, 0, 0]),
        (RecordField::Value, 5, &[0, 0, 0, 1]),
        (RecordField::HeaderCount, 5, &[0, 0, 0, 1, 1]),
        (RecordField::HeaderKey, 5, &[0, 0, 0, 1, 1, 2]),
    ];
    for (field, len_max, front) in cases {
        let body = [front, &endless].concat();
        assert_eq!(fault(&one(&framed(&body))), (field, too_long(len_max)));
    }
    assert_eq!(fault(&one(&endless)), (RecordField::Length, too_long(5)));
}

#[test]
fn rb_031_a_record_cut_anywhere_is_refused_by_both_decoders() {
    let batch = three(Compression::None);
    let payload = batch.payload();
    for codec in Codec::ALL {
        for len in 0..payload.len() {
            let cut = compressed(codec, 3, &payload[..len]);
            let (records, end) = read_until(&cut, &mut Codecs::default());
            assert!(end.is_err(), "{codec}, {len} bytes");
            assert_eq!(records, three_plain()[..records.len()]);
            assert!(read_both_ways(&cut, &mut Codecs::default()).is_err());
        }
    }
}

#[test]
fn rb_032_a_skimmed_value_is_not_held() {
    let value = vec![b'v'; 200 * 1024];
    let record = Plain {
        value: Some(value),
        ..Plain::new(0, 5, "key", "")
    };
    let records = [
        record.clone(),
        Plain {
            offset: 1,
            key: None,
            ..record
        },
    ];
    for compression in compressions() {
        let options = BatchOptions {
            compression,
            ..BatchOptions::default()
        };
        let batch = build(options, &records);
        let mut codecs = Codecs::default();
        assert_eq!(read_both_ways(&batch, &mut codecs).unwrap(), records);
        let metas: Vec<_> = batch
            .skim(&mut codecs)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(metas.len(), 2);
        assert_eq!(metas[0].value_len, Some(200 * 1024));
        assert_eq!((metas[0].has_key(), metas[1].has_key()), (true, false));
        let size = |index: usize| {
            let record: &Plain = &records[index];
            let delta = i32::try_from(record.offset).unwrap();
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            record_size(0, delta, key, value, &[])
        };
        assert_eq!((metas[0].size, metas[1].size), (size(0), size(1)));
    }
}

#[test]
fn rb_033_sequences_count_from_the_base_or_are_none() {
    let plain = three_plain();
    let sequences = |batch: &RecordBatch| -> Vec<i32> {
        let records = batch.records().unwrap();
        records
            .map(|record| record.unwrap().sequence.get())
            .collect()
    };
    assert_eq!(
        sequences(&build(BatchOptions::default(), &plain)),
        [-1, -1, -1]
    );
    let producer = ProducerStamp {
        producer_id: ProducerId::new(1),
        producer_epoch: ProducerEpoch::new(0),
        base_sequence: Sequence::new(i32::MAX),
    };
    let options = BatchOptions {
        producer,
        ..BatchOptions::default()
    };
    let batch = build(options, &plain);
    assert_eq!(sequences(&batch), [i32::MAX, 0, 1]);
    let mut codecs = Codecs::default();
    let skimmed = batch
        .skim(&mut codecs)
        .unwrap()
        .map(|meta| meta.unwrap().sequence.get());
    assert_eq!(skimmed.collect::<Vec<_>>(), [i32::MAX, 0, 1]);
}

#[test]
fn rb_034_header_keys_that_are_no_utf8_are_kept_as_they_are() {
    let body = [0, 0, 0, 1, 1, 2, 4, 0xff, 0xfe, 1];
    let batch = one(&framed(&body));
    let records = read_both_ways(&batch, &mut Codecs::default()).unwrap();
    assert_eq!(records[0].headers, [(vec![0xff, 0xfe], None)]);
    let record = batch.records().unwrap().next().unwrap().unwrap();
    assert!(record.headers.clone().next().unwrap().key_text().is_err());
}
