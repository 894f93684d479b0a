//! Control batches.

use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    AppendError, BatchOptions, BuildError, Codec, Codecs, ControlError, ControlType, EndMarker,
    Outcome, ProducerStamp, RecordBatch, RecordBatchBuilder,
};

const PRODUCER: (ProducerId, ProducerEpoch) = (ProducerId::new(7), ProducerEpoch::new(3));

fn marker(outcome: Outcome) -> RecordBatch {
    let marker = EndMarker {
        outcome,
        coordinator_epoch: 9,
    };
    marker
        .batch(Offset::new(4), LeaderEpoch::new(2), PRODUCER, 1_000)
        .unwrap()
}

fn control_options() -> BatchOptions {
    BatchOptions {
        control: true,
        ..BatchOptions::default()
    }
}

fn transactional_options() -> BatchOptions {
    BatchOptions {
        transactional: true,
        producer: ProducerStamp {
            producer_id: PRODUCER.0,
            producer_epoch: PRODUCER.1,
            base_sequence: Sequence::NONE,
        },
        ..control_options()
    }
}

/// Covers RB-073, RB-079.
#[test]
fn a_marker_batch_has_one_record_and_counts_one_offset() {
    for outcome in [Outcome::Abort, Outcome::Commit] {
        let batch = marker(outcome);
        assert_eq!(batch.size(), 78);
        assert_eq!(batch.check_crc(), Ok(()));
        let header = batch.header();
        assert_eq!(header.attributes.bits(), 0x30);
        assert_eq!(header.attributes.codec(), Ok(Codec::None));
        assert_eq!((header.producer_id, header.producer_epoch), PRODUCER);
        assert_eq!(header.base_sequence, Sequence::NONE);
        assert_eq!(header.record_count, 1);
        assert_eq!(header.leader_epoch, LeaderEpoch::new(2));
        assert_eq!(
            (header.base_offset.get(), header.next_offset().get()),
            (4, 5)
        );
        let record = batch.records().unwrap().next().unwrap().unwrap();
        let read = EndMarker::parse(record.key, record.value).unwrap();
        assert_eq!(
            read,
            EndMarker {
                outcome,
                coordinator_epoch: 9
            }
        );
    }
    let negative = EndMarker {
        outcome: Outcome::Commit,
        coordinator_epoch: 0,
    };
    let producer = (ProducerId::NONE, ProducerEpoch::NONE);
    let refused = negative.batch(Offset::ZERO, LeaderEpoch::NONE, producer, 0);
    assert!(matches!(refused, Err(BuildError::Close(_))));
}

#[test]
fn rb_074_each_control_type_has_its_number() {
    use ControlType::{
        Abort, Commit, KRaftVersion, KRaftVoters, LeaderChange, SnapshotFooter, SnapshotHeader,
    };
    let types = [
        Abort,
        Commit,
        LeaderChange,
        SnapshotHeader,
        SnapshotFooter,
        KRaftVersion,
        KRaftVoters,
    ];
    for (id, control_type) in (0_u8..).zip(types) {
        assert_eq!(control_type.key(), [0, 0, 0, id]);
        assert_eq!(
            ControlType::parse(Some(&[0, 0, 0, id])),
            Ok(Some(control_type))
        );
        // A version of the future, with more behind, is read as this one.
        assert_eq!(
            ControlType::parse(Some(&[0, 5, 0, id, 1, 1])),
            Ok(Some(control_type))
        );
    }
    assert_eq!(ControlType::parse(Some(&[0, 0, 0, 7])), Ok(None));
    assert_eq!(ControlType::parse(Some(&[0, 0, 0xff, 0xff])), Ok(None));
}

#[test]
fn rb_075_an_end_marker_is_six_bytes() {
    let marker = EndMarker {
        outcome: Outcome::Commit,
        coordinator_epoch: 0x0102_0304,
    };
    assert_eq!(marker.value(), [0, 0, 1, 2, 3, 4]);
    let commit = ControlType::Commit.key();
    assert_eq!(
        EndMarker::parse(Some(&commit), Some(&[0, 3, 1, 2, 3, 4, 9])),
        Ok(marker)
    );
}

#[test]
fn rb_076_short_and_negative_control_records_are_refused() {
    let commit = ControlType::Commit.key();
    let value = [0, 0, 0, 0, 0, 1];
    assert_eq!(ControlType::parse(None), Err(ControlError::NoKey));
    for len in 0..4 {
        let error = ControlError::ShortKey { len };
        assert_eq!(ControlType::parse(Some(&commit[..len])), Err(error));
        assert_eq!(
            EndMarker::parse(Some(&commit[..len]), Some(&value)),
            Err(error)
        );
    }
    for len in 0..6 {
        let error = ControlError::ShortValue { len };
        assert_eq!(
            EndMarker::parse(Some(&commit), Some(&value[..len])),
            Err(error)
        );
    }
    assert_eq!(
        EndMarker::parse(Some(&commit), None),
        Err(ControlError::NoValue)
    );
    let negative = ControlError::NegativeVersion { version: -1 };
    assert_eq!(ControlType::parse(Some(&[0xff, 0xff, 0, 1])), Err(negative));
    let value = [0xff, 0xff, 0, 0, 0, 1];
    assert_eq!(EndMarker::parse(Some(&commit), Some(&value)), Err(negative));
    let leader_change = ControlType::LeaderChange.key();
    let error = EndMarker::parse(Some(&leader_change), Some(&value)).unwrap_err();
    assert_eq!(error, ControlError::NoEndMarker { type_id: 2 });
}

/// Covers RB-077: an end marker's outcome is commit or abort by its type.
#[test]
fn end_markers_go_into_transactional_control_batches_alone() {
    let marker = EndMarker {
        outcome: Outcome::Commit,
        coordinator_epoch: 1,
    };
    let append =
        |options| RecordBatchBuilder::new(options, Vec::new()).append_end_marker(0, marker);
    assert_eq!(
        append(BatchOptions::default()),
        Err(AppendError::ControlInDataBatch)
    );
    assert_eq!(
        append(control_options()),
        Err(AppendError::MarkerNotTransactional)
    );
    assert_eq!(append(transactional_options()), Ok(0));
}

#[test]
fn rb_078_a_leader_change_needs_an_epoch_and_no_transaction() {
    let append = |options| {
        let mut builder = RecordBatchBuilder::new(options, Vec::new());
        builder.append_control(0, ControlType::LeaderChange, b"message")?;
        builder.close(&mut Codecs::default()).unwrap();
        Ok::<_, AppendError>(*builder.header().unwrap())
    };
    let leader_epoch = LeaderEpoch::new(0);
    assert_eq!(
        append(control_options()),
        Err(AppendError::LeaderChangeWithoutEpoch)
    );
    let transactional = BatchOptions {
        leader_epoch,
        ..transactional_options()
    };
    assert_eq!(
        append(transactional),
        Err(AppendError::LeaderChangeTransactional)
    );
    let header = append(BatchOptions {
        leader_epoch,
        ..control_options()
    })
    .unwrap();
    assert_eq!(header.attributes.bits(), 0x20);
    assert_eq!(header.leader_epoch, leader_epoch);
}

#[test]
fn rb_070_control_and_data_records_do_not_mix() {
    let mut control = RecordBatchBuilder::new(transactional_options(), Vec::new());
    let refused = Err(AppendError::DataInControlBatch);
    assert_eq!(control.append(0, None, None, &[]), refused);
    assert_eq!(control.append_at(Offset::ZERO, 0, None, None, &[]), refused);
    let mut data = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
    let refused = Err(AppendError::ControlInDataBatch);
    assert_eq!(
        data.append_control(0, ControlType::Commit, &[0; 6]),
        refused
    );
    assert!(data.is_empty());
}
