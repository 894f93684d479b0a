//! Against the records of the crate kafka-protocol, which shares no code with this one.
//!
//! It takes the smallest timestamp for the base timestamp, where this crate and the reference take
//! the first one, so bytes can be compared where the first is the smallest. It keeps headers in a
//! map, so keys have to differ.

use std::collections::BTreeSet;

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records as peer;
use klamm_primitives::{LeaderEpoch, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{BatchOptions, Codec, Levels, ProducerStamp, RecordBatch};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::model::records;
use crate::support::{Plain, build, read};

const EPOCH: i32 = 6;
const PRODUCER: ProducerStamp = ProducerStamp {
    producer_id: ProducerId::new(77),
    producer_epoch: ProducerEpoch::new(3),
    base_sequence: Sequence::new(500),
};

fn options(codec: Codec, transactional: bool) -> BatchOptions {
    BatchOptions {
        leader_epoch: LeaderEpoch::new(EPOCH),
        compression: codec.at(&Levels::default()),
        producer: PRODUCER,
        transactional,
        ..BatchOptions::default()
    }
}

fn to_peer(record: &Plain, transactional: bool) -> peer::Record {
    let headers = record.headers.iter().map(|(key, value)| {
        let key = String::from_utf8(key.clone()).unwrap();
        (StrBytes::from_string(key), value.clone().map(Bytes::from))
    });
    peer::Record {
        transactional,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: EPOCH,
        producer_id: PRODUCER.producer_id.get(),
        producer_epoch: PRODUCER.producer_epoch.get(),
        timestamp_type: peer::TimestampType::Creation,
        offset: record.offset,
        sequence: PRODUCER.base_sequence.get() + i32::try_from(record.offset).unwrap(),
        timestamp: record.timestamp_ms,
        key: record.key.clone().map(Bytes::from),
        value: record.value.clone().map(Bytes::from),
        headers: headers.collect::<IndexMap<_, _>>(),
    }
}

fn of_peer(record: &peer::Record) -> Plain {
    let headers = record.headers.iter().map(|(key, value)| {
        (
            key.as_bytes().to_vec(),
            value.as_ref().map(|value| value.to_vec()),
        )
    });
    Plain {
        offset: record.offset,
        timestamp_ms: record.timestamp,
        key: record.key.as_ref().map(|key| key.to_vec()),
        value: record.value.as_ref().map(|value| value.to_vec()),
        headers: headers.collect(),
    }
}

fn peer_codec(codec: Codec) -> peer::Compression {
    match codec {
        Codec::None => peer::Compression::None,
        Codec::Gzip => peer::Compression::Gzip,
        Codec::Snappy => peer::Compression::Snappy,
        Codec::Lz4 => peer::Compression::Lz4,
        Codec::Zstd => peer::Compression::Zstd,
    }
}

/// Records as both can hold them: text for header keys, none twice.
fn comparable() -> impl Strategy<Value = Vec<Plain>> {
    (records(), vec("[a-zäß]{0,8}", 120)).prop_map(|(mut records, keys)| {
        let mut keys = keys.into_iter();
        for record in &mut records {
            let mut seen = BTreeSet::new();
            for (key, _) in &mut record.headers {
                *key = keys.next().unwrap_or_default().into_bytes();
            }
            record.headers.retain(|(key, _)| seen.insert(key.clone()));
            // Deltas between the extremes do not fit the peer's arithmetic.
            record.timestamp_ms = record.timestamp_ms.min(1 << 60);
        }
        // Its base offset is the first record's.
        let first = records[0].offset;
        for record in &mut records {
            record.offset -= first;
        }
        records
    })
}

proptest! {
    #[test]
    fn both_read_what_either_wrote(
        mut records in comparable(),
        codec in prop::sample::select(Codec::ALL.to_vec()),
        transactional in any::<bool>(),
        in_order in any::<bool>(),
    ) {
        if in_order {
            let mut timestamps: Vec<_> = records.iter().map(|r| r.timestamp_ms).collect();
            timestamps.sort_unstable();
            for (record, timestamp_ms) in records.iter_mut().zip(timestamps) {
                record.timestamp_ms = timestamp_ms;
            }
        }
        let ours = build(options(codec, transactional), &records);
        let peers_input: Vec<_> = records.iter().map(|r| to_peer(r, transactional)).collect();
        let mut theirs = BytesMut::new();
        let encoding = peer::RecordEncodeOptions { version: 2, compression: peer_codec(codec) };
        peer::RecordBatchEncoder::encode(&mut theirs, &peers_input, &encoding).unwrap();
        let theirs = theirs.freeze();
        if codec == Codec::None && in_order {
            prop_assert_eq!(ours.bytes(), &theirs);
        }

        let read_by_peer =
            peer::RecordBatchDecoder::decode(&mut ours.bytes().clone()).unwrap().records;
        prop_assert_eq!(&read_by_peer, &peers_input);
        prop_assert_eq!(&read_by_peer.iter().map(of_peer).collect::<Vec<_>>(), &records);

        let theirs = RecordBatch::parse(theirs).unwrap();
        prop_assert_eq!(theirs.check_crc(), Ok(()));
        prop_assert_eq!(read(&theirs).unwrap(), records);
        prop_assert_eq!(theirs.header().producer(), PRODUCER);
        prop_assert_eq!(theirs.header().max_timestamp_ms, ours.header().max_timestamp_ms);
        prop_assert_eq!(theirs.header().last_offset(), ours.header().last_offset());
    }
}
