//! Random calls on a log and on a plain list of batches must agree.

use std::time::Duration;

use klamm_io::sim::Crash;
use klamm_log::{Isolation, LogConfig, OpenOptions, ReadError, ReadLimit, TimeTarget};
use klamm_records::{Codecs, Outcome, RecordBatches};
use proptest::prelude::*;

use crate::support::{Batch, Bed, NOW_MS, epoch, offset, open, read_all, small};

/// A call. Offsets are parts in a thousand of the log's length.
#[derive(Debug, Clone)]
enum Call {
    Append {
        timestamps: Vec<i64>,
        producer: Option<(i64, bool)>,
    },
    Mark {
        producer: i64,
        aborts: bool,
    },
    Follow {
        gap: i64,
        counts: Vec<usize>,
    },
    Roll,
    Truncate(i64),
    StartOver {
        ahead: i64,
    },
    RaiseHighWatermark(i64),
    RaiseLogStart(i64),
    Retain {
        bytes: u64,
    },
    Flush,
    Reopen {
        was_clean: bool,
    },
    BeginEpoch,
}

fn call() -> impl Strategy<Value = Call> {
    let part = 0i64..=1000;
    prop_oneof![
        8 => (prop::collection::vec(-1i64..200, 1..5), prop::option::of((0i64..3, any::<bool>())))
            .prop_map(|(timestamps, producer)| Call::Append { timestamps, producer }),
        3 => (0i64..3, any::<bool>()).prop_map(|(producer, aborts)| Call::Mark { producer, aborts }),
        3 => (0i64..6, prop::collection::vec(1usize..4, 1..4))
            .prop_map(|(gap, counts)| Call::Follow { gap, counts }),
        1 => Just(Call::Roll),
        2 => part.clone().prop_map(Call::Truncate),
        1 => (0i64..50).prop_map(|ahead| Call::StartOver { ahead }),
        4 => part.clone().prop_map(Call::RaiseHighWatermark),
        1 => part.prop_map(Call::RaiseLogStart),
        1 => (0u64..4000).prop_map(|bytes| Call::Retain { bytes }),
        1 => Just(Call::Flush),
        2 => any::<bool>().prop_map(|was_clean| Call::Reopen { was_clean }),
        1 => Just(Call::BeginEpoch),
    ]
}

/// A batch as the model keeps it.
#[derive(Debug, Clone)]
struct Kept {
    base: i64,
    last: i64,
    size: usize,
    /// By record, -1 for none.
    timestamps: Vec<i64>,
    leader_epoch: i32,
    /// Whose, and whether it is transactional, and for markers whether they abort.
    producer: Option<(i64, bool)>,
    marker: Option<bool>,
    records: usize,
}

/// The log as it should be.
#[derive(Debug, Default)]
struct Model {
    kept: Vec<Kept>,
    start: i64,
    high_watermark: i64,
    end: i64,
    leader_epoch: i32,
    /// By leader epoch.
    epochs: Vec<(i32, i64)>,
}

/// A transaction: whose, first offset, marker, whether it was aborted.
type Transaction = (i64, i64, i64, bool);

impl Model {
    fn at(&self, part: i64) -> i64 {
        self.start + (self.end - self.start) * part / 1000
    }

    fn note_epoch(&mut self, leader_epoch: i32, at: i64) {
        if self.epochs.last().is_none_or(|last| last.0 != leader_epoch) {
            self.epochs.retain(|it| it.0 < leader_epoch && it.1 < at);
            self.epochs.push((leader_epoch, at));
        }
    }

    fn push(&mut self, kept: Kept) {
        self.note_epoch(kept.leader_epoch, kept.base);
        self.end = kept.last + 1;
        self.kept.push(kept);
    }

    fn next_sequence(&self, producer: i64) -> i32 {
        let of_it = self
            .kept
            .iter()
            .filter(|it| it.marker.is_none() && it.producer.is_some_and(|(id, _)| id == producer));
        of_it.map(|it| i32::try_from(it.records).unwrap()).sum()
    }

    /// Ended transactions in the order of their markers, and where open ones begin.
    fn transactions(&self) -> (Vec<Transaction>, Vec<(i64, i64)>) {
        let mut ended = Vec::new();
        let mut open: Vec<(i64, i64)> = Vec::new();
        for it in &self.kept {
            let Some((id, transactional)) = it.producer else {
                continue;
            };
            let is_open = open.iter().position(|(open_id, _)| *open_id == id);
            match (it.marker, is_open) {
                (Some(aborts), Some(index)) => {
                    let (_, first) = open.remove(index);
                    ended.push((id, first, it.base, aborts));
                }
                (None, None) if transactional => open.push((id, it.base)),
                _ => {}
            }
        }
        (ended, open)
    }

    fn is_open(&self, producer: i64) -> bool {
        self.transactions().1.iter().any(|(id, _)| *id == producer)
    }

    fn last_stable(&self) -> i64 {
        let (ended, open) = self.transactions();
        let undecided = ended
            .iter()
            .filter(|it| it.2 >= self.high_watermark)
            .map(|it| it.1);
        let unstable = undecided.chain(open.iter().map(|it| it.1)).min();
        let unstable = unstable.map_or(i64::MAX, |it| it.max(self.start));
        unstable.min(self.high_watermark)
    }

    /// Cuts at an offset. Where in a gap the log ends then depends on the segments.
    fn truncate(&mut self, at: i64, end: i64) {
        if at >= self.end {
            return;
        }
        self.kept.retain(|it| it.last < at);
        let behind_last = self.kept.last().map_or(0, |it| it.last + 1);
        assert!((behind_last..=at).contains(&end));
        self.end = end;
        self.epochs.retain(|it| it.1 < end);
        self.start = self.start.min(end);
        self.high_watermark = self.high_watermark.min(end);
    }

    fn raise_start(&mut self, at: i64) {
        if at <= self.start {
            return;
        }
        self.start = at;
        self.high_watermark = self.high_watermark.max(at);
        self.cut_epochs();
    }

    fn cut_epochs(&mut self) {
        let holds = self.epochs.iter().rposition(|it| it.1 <= self.start);
        if let Some(index) = holds {
            self.epochs.drain(..index);
            self.epochs[0].1 = self.start;
        }
    }
}

/// The log, its model, and what both must show.
struct Pair {
    bed: Bed,
    model: Model,
}

fn config() -> LogConfig {
    LogConfig {
        retention_age: None,
        producer_id_expiration: Duration::from_secs(u64::MAX / 2),
        ..small()
    }
}

impl Pair {
    fn perform(&mut self, call: &Call) {
        match call {
            Call::Append {
                timestamps,
                producer,
            } => self.append(timestamps, *producer),
            Call::Mark { producer, aborts } => {
                let outcome = if *aborts {
                    Outcome::Abort
                } else {
                    Outcome::Commit
                };
                let marker = crate::support::marker((*producer, 0), outcome);
                let leader_epoch = self.model.leader_epoch;
                let base = self.model.end;
                self.bed
                    .log
                    .append_own(std::slice::from_ref(&marker), epoch(leader_epoch), NOW_MS)
                    .unwrap();
                self.model.push(Kept {
                    base,
                    last: base,
                    size: marker.size(),
                    timestamps: vec![NOW_MS],
                    leader_epoch,
                    producer: Some((*producer, true)),
                    marker: Some(*aborts),
                    records: 1,
                });
            }
            Call::Follow { gap, counts } => self.follow(*gap, counts),
            Call::Roll => self.bed.log.roll(offset(0), NOW_MS).unwrap(),
            Call::Truncate(part) => {
                let at = self.model.at(*part);
                let point = self.bed.log.cut_point(offset(at)).unwrap();
                self.bed.log.truncate_to(offset(at), NOW_MS).unwrap();
                assert_eq!(self.bed.log.log_end_offset(), point);
                self.model.truncate(at, point.get());
            }
            Call::StartOver { ahead } => {
                let at = self.model.end + ahead;
                self.bed
                    .log
                    .truncate_fully_and_start_at(offset(at), None, NOW_MS)
                    .unwrap();
                self.model = Model {
                    start: at,
                    high_watermark: at,
                    end: at,
                    leader_epoch: self.model.leader_epoch,
                    ..Model::default()
                };
            }
            Call::RaiseHighWatermark(part) => {
                let at = self.model.at(*part);
                let moved = self.bed.log.raise_high_watermark(offset(at), None).unwrap();
                assert_eq!(moved.is_some(), at > self.model.high_watermark);
                self.model.high_watermark = self.model.high_watermark.max(at);
            }
            Call::RaiseLogStart(part) => {
                let at = self.model.at(*part);
                self.bed.log.raise_log_start(offset(at)).unwrap();
                self.model.raise_start(at);
            }
            Call::Retain { bytes } => self.retain(*bytes),
            Call::Flush => self.bed.log.flush().unwrap(),
            Call::Reopen { was_clean } => self.reopen(*was_clean),
            Call::BeginEpoch => {
                self.model.leader_epoch += 1;
                self.bed
                    .log
                    .begin_epoch(epoch(self.model.leader_epoch))
                    .unwrap();
                self.model
                    .note_epoch(self.model.leader_epoch, self.model.end);
            }
        }
    }

    fn append(&mut self, timestamps: &[i64], producer: Option<(i64, bool)>) {
        // Within an open transaction every batch belongs to it.
        let producer =
            producer.map(|(id, transactional)| (id, transactional || self.model.is_open(id)));
        let mut batch = Batch::at(timestamps);
        if let Some((id, transactional)) = producer {
            batch = batch.by(id, 0, self.model.next_sequence(id));
            if transactional {
                batch = batch.transactional();
            }
        }
        let batch = batch.produced();
        let leader_epoch = self.model.leader_epoch;
        let appended = self
            .bed
            .log
            .append(std::slice::from_ref(&batch), epoch(leader_epoch), NOW_MS)
            .unwrap();
        let base = self.model.end;
        assert_eq!(
            (appended.first_offset, appended.is_duplicate),
            (offset(base), false)
        );
        let count = i64::try_from(timestamps.len()).unwrap();
        self.model.push(Kept {
            base,
            last: base + count - 1,
            size: batch.size(),
            timestamps: timestamps.to_vec(),
            leader_epoch,
            producer,
            marker: None,
            records: timestamps.len(),
        });
        if producer.is_some() {
            let again = self
                .bed
                .log
                .append(&[batch], epoch(leader_epoch), NOW_MS)
                .unwrap();
            assert!(again.is_duplicate);
            assert_eq!(again.first_offset, offset(base));
        }
    }

    fn follow(&mut self, gap: i64, counts: &[usize]) {
        let mut next = self.model.end + gap;
        let leader_epoch = self.model.leader_epoch;
        let mut set = Vec::new();
        for &count in counts {
            let timestamps = vec![next; count];
            let batch = Batch::at(&timestamps)
                .at_offset(next)
                .in_epoch(leader_epoch);
            let batch = batch.replicated();
            let last = next + i64::try_from(count).unwrap() - 1;
            self.model.push(Kept {
                base: next,
                last,
                size: batch.size(),
                timestamps,
                leader_epoch,
                producer: None,
                marker: None,
                records: count,
            });
            set.push(batch);
            next = last + 1;
        }
        self.bed.log.append_as_follower(&set, NOW_MS).unwrap();
    }

    fn retain(&mut self, bytes: u64) {
        let before = self.bed.log.size();
        self.bed.log.set_config(LogConfig {
            retention_bytes: Some(bytes),
            ..config()
        });
        self.bed
            .log
            .delete_old_segments(NOW_MS)
            .unwrap()
            .remove()
            .unwrap();
        self.bed.log.set_config(config());
        let start = self.bed.log.log_start_offset().get();
        assert!(start <= self.model.high_watermark.max(self.model.start));
        if start == self.model.start {
            assert_eq!(self.bed.segments().len(), self.bed.log.segment_count());
        } else {
            // What went was too much, and no more than that.
            assert!(before > bytes && self.bed.log.size() >= bytes);
        }
        self.model.raise_start(start);
    }

    fn reopen(&mut self, was_clean: bool) {
        if was_clean {
            self.bed.log.close().unwrap();
        }
        let disk = self.bed.disk.crash(Crash::Kill);
        let options = OpenOptions {
            recovery_point: self.bed.log.recovery_point(),
            log_start: self.bed.log.log_start_offset(),
            high_watermark: self.bed.log.high_watermark(),
            ..OpenOptions::new(was_clean, NOW_MS)
        };
        let (log, opening) = open(&disk, config(), &options).unwrap();
        assert_eq!((opening.cut, opening.segments_removed.len()), (None, 0));
        self.bed = Bed { disk, log };
        // A gap behind the last record is nowhere written down, and epochs without a record are
        // dropped.
        let behind_last = self.model.kept.last().map_or(0, |it| it.last + 1);
        let end = self.bed.log.log_end_offset().get();
        assert!((behind_last..=self.model.end).contains(&end));
        self.model.end = end;
        self.model.high_watermark = self.model.high_watermark.min(end);
        let end = self.model.end;
        self.model.epochs.retain(|it| it.1 < end);
        self.model.cut_epochs();
        if !was_clean {
            self.adopt_epochs();
        }
    }

    /// Recovery may drop epochs that have no record to be read, and must keep the others.
    fn adopt_epochs(&mut self) {
        let found = self.epochs();
        let model = &mut self.model;
        assert!(found.iter().all(|it| model.epochs.contains(it)));
        let has_records = |(of, start): &(i32, i64)| {
            let mut kept = model.kept.iter();
            kept.any(|it| it.leader_epoch == *of && it.last >= model.start.max(*start))
        };
        let needed = model.epochs.iter().filter(|it| has_records(it));
        assert!(needed.into_iter().all(|it| found.contains(it)));
        model.epochs = found;
    }

    fn epochs(&self) -> Vec<(i32, i64)> {
        let epochs = self.bed.log.epochs();
        let pairs = epochs
            .iter()
            .map(|it| (it.epoch.get(), it.start_offset.get()));
        pairs.collect()
    }

    fn compare(&self, limit: u32) {
        let (log, model) = (&self.bed.log, &self.model);
        let bounds = (
            log.log_start_offset(),
            log.high_watermark(),
            log.log_end_offset(),
        );
        assert_eq!(
            bounds,
            (
                offset(model.start),
                offset(model.high_watermark),
                offset(model.end)
            )
        );
        assert_eq!(log.last_stable_offset(), offset(model.last_stable()));
        assert_eq!(self.epochs(), model.epochs);
        self.compare_batches();
        self.compare_reads(limit);
        self.compare_times();
    }

    fn visible(&self, from: i64, end: i64) -> impl Iterator<Item = &Kept> {
        let kept = self.model.kept.iter();
        kept.skip_while(move |it| it.last < from)
            .take_while(move |it| it.last < end)
    }

    fn compare_batches(&self) {
        let ends = [
            (Isolation::LogEnd, self.model.end),
            (Isolation::HighWatermark, self.model.high_watermark),
            (Isolation::Committed, self.model.last_stable()),
        ];
        for (isolation, end) in ends {
            let found = read_all(&self.bed.log.reader(), self.model.start, isolation);
            let found: Vec<_> = found
                .iter()
                .map(|it| {
                    (
                        it.header().base_offset.get(),
                        it.header().last_offset().get(),
                        it.size(),
                    )
                })
                .collect();
            let visible = self.visible(self.model.start, end);
            let expected: Vec<_> = visible.map(|it| (it.base, it.last, it.size)).collect();
            assert_eq!(found, expected, "{isolation:?}");
        }
    }

    fn compare_reads(&self, bytes_max: u32) {
        let reader = self.bed.log.reader();
        let (ended, _) = self.model.transactions();
        let stable = self.model.last_stable();
        for from in self.model.start - 1..=self.model.end + 1 {
            let limit = ReadLimit {
                bytes_max,
                whole_first_batch: from % 2 == 0,
            };
            let read = reader.read(offset(from), limit, Isolation::Committed);
            if from < self.model.start || from > self.model.end {
                assert!(matches!(read, Err(ReadError::OffsetOutOfRange { .. })));
                continue;
            }
            let read = read.unwrap();
            let len = read.range.as_ref().map_or(0, |it| it.len);
            let Some(first) = self.visible(from, stable).next() else {
                assert_eq!(len, 0);
                continue;
            };
            if limit.whole_first_batch {
                assert!(len >= first.size && len <= first.size.max(bytes_max as usize));
                assert!(!read.first_batch_is_cut);
            } else {
                assert!(len <= bytes_max as usize);
                assert!(len >= first.size.min(bytes_max as usize));
                assert_eq!(read.first_batch_is_cut, len > 0 && len < first.size);
            }
            let Some(range) = &read.range else { continue };
            let whole = RecordBatches::new(range.read().unwrap()).map_while(Result::ok);
            let Some(last) = whole.last() else { continue };
            let to = last.header().next_offset().get();
            let listed: Vec<_> = read
                .aborted
                .unwrap()
                .iter()
                .map(|it| {
                    (
                        it.producer_id.get(),
                        it.first_offset.get(),
                        it.last_offset.get(),
                    )
                })
                .collect();
            for (id, first, marker, aborted) in &ended {
                let needed = *aborted && *marker >= from && *first < to;
                assert!(
                    !needed || listed.contains(&(*id, *first, *marker)),
                    "reading {from}: {id} from {first}"
                );
            }
            assert!(
                listed
                    .iter()
                    .all(|it| ended.contains(&(it.0, it.1, it.2, true)))
            );
        }
    }

    fn compare_times(&self) {
        let reader = self.bed.log.reader();
        let mut codecs = Codecs::default();
        let records: Vec<_> = self
            .model
            .kept
            .iter()
            .flat_map(|it| {
                it.timestamps
                    .iter()
                    .zip(it.base..)
                    .map(|(time, at)| (*time, at, it.leader_epoch))
            })
            .filter(|it| it.1 >= self.model.start)
            .collect();
        let mut find = |target| {
            let found = reader.offset_for_timestamp(target, &mut codecs).unwrap();
            found.map(|it| {
                (
                    it.timestamp_ms.unwrap(),
                    it.offset.get(),
                    it.leader_epoch.unwrap().get(),
                )
            })
        };
        for timestamp in [0, 1, 50, 100, 150, 199, 200, NOW_MS, NOW_MS + 1] {
            let expected = records.iter().find(|it| it.0 >= timestamp).copied();
            assert_eq!(
                find(TimeTarget::AtOrAfter(timestamp)),
                expected,
                "at {timestamp}"
            );
        }
        let largest = records.iter().map(|it| it.0).max().filter(|it| *it >= 0);
        let expected = largest.and_then(|max| records.iter().find(|it| it.0 == max).copied());
        assert_eq!(find(TimeTarget::MaxTimestamp), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Covers LG-097, LG-128, LG-150, LG-162.
    #[test]
    fn a_log_agrees_with_a_list_of_batches(
        calls in prop::collection::vec(call(), 1..60),
        limit in 0u32..1500,
    ) {
        let mut pair = Pair { bed: Bed::new(config()), model: Model::default() };
        for call in &calls {
            pair.perform(call);
            pair.compare(limit);
        }
        let (bed, model) = (&mut pair.bed, &pair.model);
        bed.log.close().unwrap();
        prop_assert_eq!(bed.offsets_from(model.start).len(), {
            model.kept.iter().filter(|it| it.last >= model.start).map(|it| it.records).sum::<usize>()
        });
    }
}
