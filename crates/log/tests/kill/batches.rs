//! Batches that tell whose they are.

use klamm_log::{Isolation, LogReader, ReadLimit};
use klamm_primitives::{Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchOptions, Codecs, ProducerStamp, RecordBatch, RecordBatchBuilder, RecordBatches,
    ValidBatch, ValidationRules, validate,
};

/// Unix time of all batches: nothing here goes by age.
pub(crate) const NOW_MS: i64 = 1_700_000_000_000;

/// A batch of an idempotent producer. Its id stands in each of its records.
pub(crate) fn batch(
    (producer, sequence): (i64, i32),
    id: &str,
    records: usize,
    padding: usize,
) -> ValidBatch {
    let options = BatchOptions {
        producer: ProducerStamp {
            producer_id: ProducerId::new(producer),
            producer_epoch: ProducerEpoch::new(0),
            base_sequence: Sequence::new(sequence),
        },
        ..BatchOptions::default()
    };
    let mut codecs = Codecs::default();
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    let value = vec![b'x'; padding];
    for _ in 0..records {
        builder
            .append(NOW_MS, Some(id.as_bytes()), Some(&value), &[])
            .unwrap();
    }
    builder.close(&mut codecs).unwrap();
    let bytes = builder.into_bytes().unwrap();
    validate(bytes, &ValidationRules::default(), NOW_MS, &mut codecs).unwrap()
}

/// A batch that a log holds.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) base_offset: Offset,
    pub(crate) last_offset: Offset,
    pub(crate) id: String,
    pub(crate) batch: RecordBatch,
}

/// All batches of a log, each by the offset behind the former one, so that the index is asked for
/// all of them. Checks that they are whole, that their checksums are right and that no offset is
/// missing.
pub(crate) fn read_all<D: klamm_io::Disk>(reader: &LogReader<D>) -> Vec<Held> {
    let mut held = Vec::new();
    let offsets = reader.offsets();
    let mut next = offsets.log_start;
    let limit = ReadLimit {
        bytes_max: 1,
        whole_first_batch: true,
    };
    while next < offsets.log_end {
        let read = reader.read(next, limit, Isolation::LogEnd).unwrap();
        let range = read.range;
        let range = range.unwrap_or_else(|| panic!("nothing at {next} of {offsets:?}"));
        let bytes = range.read().unwrap();
        let mut batches = RecordBatches::new(bytes);
        let batch = batches.next().unwrap().unwrap();
        assert!(batches.next().is_none(), "one batch was asked for");
        batch.check_crc().unwrap();
        let header = *batch.header();
        assert_eq!(header.base_offset, next, "no hole, and nothing twice");
        held.push(Held {
            base_offset: header.base_offset,
            last_offset: header.last_offset(),
            id: id_of(&batch),
            batch,
        });
        next = header.next_offset();
    }
    held
}

/// The id that stands in all records of a batch.
fn id_of(batch: &RecordBatch) -> String {
    let mut codecs = Codecs::default();
    let mut records = batch.read(&mut codecs).unwrap();
    let mut id = None;
    while let Some(record) = records.next().unwrap() {
        let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
        assert!(id.replace(key.clone()).is_none_or(|it| it == key));
    }
    id.expect("a batch has a record")
}
