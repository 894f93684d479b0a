//! What the tests of a log share: batches, a log on a simulated disk, and ways to look at it.

use std::path::{Path, PathBuf};

use klamm_io::sim::{Crash, SimDisk};
use klamm_io::{Disk, DiskErrorKind, OpenMode, read_whole};
use klamm_log::{
    Appended, Isolation, Log, LogConfig, LogReader, OpenError, OpenOptions, Opening, Read,
    ReadLimit,
};
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchOptions, Codecs, Compression, EndMarker, Outcome, ProducerStamp, RecordBatch,
    RecordBatchBuilder, RecordBatches, TimestampType, ValidBatch, ValidationRules, validate,
    validate_own,
};

/// When the tests take place, in Unix milliseconds.
pub(crate) const NOW_MS: i64 = 1_700_000_000_000;

pub(crate) const DIRECTORY: &str = "/data/topic-0";

pub(crate) fn offset(offset: i64) -> Offset {
    Offset::new(offset)
}

pub(crate) fn epoch(epoch: i32) -> LeaderEpoch {
    LeaderEpoch::new(epoch)
}

/// A batch in the making.
#[derive(Clone)]
pub(crate) struct Batch {
    /// Offset and timestamp of each record; offsets count for followers alone.
    records: Vec<(i64, i64)>,
    options: BatchOptions,
    value: Vec<u8>,
    rules: ValidationRules,
}

impl Batch {
    /// Records with these timestamps.
    pub(crate) fn at(timestamps: &[i64]) -> Self {
        let rules = ValidationRules {
            timestamp_after_max_ms: i64::MAX,
            batch_size_max: usize::MAX,
            ..ValidationRules::default()
        };
        Self {
            records: (0..).zip(timestamps.iter().copied()).collect(),
            options: BatchOptions::default(),
            value: b"value".to_vec(),
            rules,
        }
    }

    /// So many records of now.
    pub(crate) fn of(count: usize) -> Self {
        Self::at(&vec![NOW_MS; count])
    }

    /// For a follower: the first record's offset, the others behind it.
    pub(crate) fn at_offset(mut self, base_offset: i64) -> Self {
        for (record, (offset, _)) in (0..).zip(&mut self.records) {
            *offset = base_offset + record;
        }
        self.options.base_offset = offset(base_offset);
        self
    }

    pub(crate) fn in_epoch(mut self, leader_epoch: i32) -> Self {
        self.options.leader_epoch = epoch(leader_epoch);
        self
    }

    pub(crate) fn by(mut self, id: i64, producer_epoch: i16, sequence: i32) -> Self {
        self.options.producer = ProducerStamp {
            producer_id: ProducerId::new(id),
            producer_epoch: ProducerEpoch::new(producer_epoch),
            base_sequence: Sequence::new(sequence),
        };
        self
    }

    pub(crate) fn transactional(mut self) -> Self {
        self.options.transactional = true;
        self
    }

    pub(crate) fn value(mut self, value: &[u8]) -> Self {
        self.value = value.to_vec();
        self
    }

    pub(crate) fn sized(self, value_len: usize) -> Self {
        self.value(&vec![b'x'; value_len])
    }

    pub(crate) fn compressed(mut self, compression: Compression) -> Self {
        self.options.compression = compression;
        self
    }

    pub(crate) fn with_log_append_time(mut self) -> Self {
        self.rules.timestamp_type = TimestampType::LogAppend;
        self
    }

    pub(crate) fn build(&self) -> RecordBatch {
        let mut builder = RecordBatchBuilder::new(self.options.clone(), Vec::new());
        for &(record_offset, timestamp_ms) in &self.records {
            builder
                .append_at(
                    offset(record_offset),
                    timestamp_ms,
                    None,
                    Some(&self.value),
                    &[],
                )
                .unwrap();
        }
        builder.close(&mut Codecs::default()).unwrap();
        RecordBatch::parse(builder.into_bytes().unwrap()).unwrap()
    }

    /// As a leader takes it from a client.
    pub(crate) fn produced(&self) -> ValidBatch {
        let bytes = self.build().into_bytes();
        validate(bytes, &self.rules, NOW_MS, &mut Codecs::default()).unwrap()
    }

    /// As a coordinator appends it.
    pub(crate) fn own(&self) -> ValidBatch {
        validate_own(self.build(), &self.rules, NOW_MS, &mut Codecs::default()).unwrap()
    }

    /// As a follower takes it from a leader.
    pub(crate) fn replicated(&self) -> ValidBatch {
        ValidBatch::replicated(self.build()).unwrap()
    }
}

/// The marker that ends a producer's transaction; at this offset for followers.
pub(crate) fn marker_at(
    base_offset: i64,
    (id, producer_epoch): (i64, i16),
    coordinator_epoch: i32,
    outcome: Outcome,
) -> RecordBatch {
    let marker = EndMarker {
        outcome,
        coordinator_epoch,
    };
    let producer = (ProducerId::new(id), ProducerEpoch::new(producer_epoch));
    marker
        .batch(offset(base_offset), epoch(0), producer, NOW_MS)
        .unwrap()
}

pub(crate) fn marker(producer: (i64, i16), outcome: Outcome) -> ValidBatch {
    let batch = marker_at(0, producer, 0, outcome);
    let rules = ValidationRules::default();
    validate_own(batch, &rules, NOW_MS, &mut Codecs::default()).unwrap()
}

/// Settings with which a few batches make a segment, and nearly each has an index entry.
pub(crate) fn small() -> LogConfig {
    LogConfig {
        segment_bytes: 1000,
        index_bytes: 4096,
        index_interval_bytes: 100,
        ..LogConfig::default()
    }
}

/// A log on a disk, with what the calls of a test have in common.
pub(crate) struct Bed {
    pub(crate) disk: SimDisk,
    pub(crate) log: Log<SimDisk>,
}

impl Bed {
    pub(crate) fn new(config: LogConfig) -> Self {
        Self::on(SimDisk::new(0), config)
    }

    pub(crate) fn on(disk: SimDisk, config: LogConfig) -> Self {
        let (log, opening) = open_clean(&disk, config).unwrap();
        assert_eq!(opening, Opening::default());
        Self { disk, log }
    }

    pub(crate) fn append(&mut self, batch: &Batch) -> Appended {
        self.append_in(0, batch)
    }

    pub(crate) fn append_in(&mut self, leader_epoch: i32, batch: &Batch) -> Appended {
        let batch = batch.produced();
        self.log
            .append(&[batch], epoch(leader_epoch), NOW_MS)
            .unwrap()
    }

    pub(crate) fn append_marker(&mut self, producer: (i64, i16), outcome: Outcome) -> Appended {
        let marker = marker(producer, outcome);
        let leader_epoch = self.log.latest_epoch().unwrap_or(epoch(0));
        self.log
            .append_own(&[marker], leader_epoch, NOW_MS)
            .unwrap()
    }

    pub(crate) fn follow(&mut self, batches: &[Batch]) -> Appended {
        let batches: Vec<_> = batches.iter().map(Batch::replicated).collect();
        self.log.append_as_follower(&batches, NOW_MS).unwrap()
    }

    /// So many batches of one record.
    pub(crate) fn fill(&mut self, count: usize) {
        for _ in 0..count {
            self.append(&Batch::of(1));
        }
    }

    pub(crate) fn commit_all(&mut self) {
        let end = self.log.log_end_offset();
        self.log.set_high_watermark(end);
    }

    /// The offsets of all records that followers read from here on.
    pub(crate) fn offsets_from(&self, from: i64) -> Vec<i64> {
        read_offsets(&self.log.reader(), from)
    }

    /// Closes well and opens again.
    pub(crate) fn reopen(self) -> Self {
        let config = self.log.config().clone();
        self.reopen_with(config)
    }

    pub(crate) fn reopen_with(mut self, config: LogConfig) -> Self {
        self.log.close().unwrap();
        let options = OpenOptions {
            recovery_point: self.log.recovery_point(),
            log_start: self.log.log_start_offset(),
            high_watermark: self.log.high_watermark(),
            ..OpenOptions::new(true, NOW_MS)
        };
        let (log, opening) = open(&self.disk, config, &options).unwrap();
        assert_eq!(opening, Opening::default());
        Self { log, ..self }
    }

    /// Kills the process and recovers everything.
    pub(crate) fn kill(self) -> (Self, Opening) {
        let disk = self.disk.crash(Crash::Kill);
        let options = OpenOptions {
            log_start: self.log.log_start_offset(),
            high_watermark: self.log.high_watermark(),
            ..OpenOptions::new(false, NOW_MS)
        };
        let config = self.log.config().clone();
        let (log, opening) = open(&disk, config, &options).unwrap();
        (Self { disk, log }, opening)
    }

    pub(crate) fn path(name: &str) -> PathBuf {
        Path::new(DIRECTORY).join(name)
    }

    /// The base offsets of the segments, by their files.
    pub(crate) fn segments(&self) -> Vec<i64> {
        let offsets = self.files().into_iter().filter_map(|name| {
            let digits = name.strip_suffix(".log")?;
            digits.parse().ok()
        });
        offsets.collect()
    }

    /// As [`Bed::segments`], while the disk cannot list: by their names one by one.
    pub(crate) fn segments_by_name(&self) -> Vec<i64> {
        let is_there = |base: &i64| self.disk.metadata(&Self::path(&log_file(*base))).is_ok();
        (0..100).filter(is_there).collect()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let entries = self.disk.list(Path::new(DIRECTORY)).unwrap();
        let names = entries.into_iter().map(|it| it.name.into_string().unwrap());
        names.collect()
    }

    pub(crate) fn snapshots(&self) -> Vec<i64> {
        let offsets = self.files().into_iter().filter_map(|name| {
            let digits = name.strip_suffix(".snapshot")?;
            digits.parse().ok()
        });
        offsets.collect()
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        content(&self.disk, name)
    }

    pub(crate) fn overwrite(&self, name: &str, bytes: &[u8]) {
        use klamm_io::DiskFile as _;
        let file = self
            .disk
            .open(&Self::path(name), OpenMode::CreateOrTruncate);
        file.unwrap().write_all_at(bytes, 0).unwrap();
    }

    /// The entries of an offset index, relative offset and position, without unused space.
    pub(crate) fn offset_index(&self, base: i64) -> Vec<(u32, u32)> {
        let bytes = self.content(&format!("{base:020}.index"));
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        let entries = bytes
            .chunks_exact(8)
            .map(|it| (number(&it[..4]), number(&it[4..])));
        entries.take_while(|&it| it != (0, 0)).collect()
    }

    /// The entries of a time index: timestamp, relative offset.
    pub(crate) fn time_index(&self, base: i64) -> Vec<(i64, u32)> {
        let bytes = self.content(&format!("{base:020}.timeindex"));
        let entries = bytes.chunks_exact(12).map(|it| {
            let timestamp = i64::from_be_bytes(it[..8].try_into().unwrap());
            (timestamp, u32::from_be_bytes(it[8..].try_into().unwrap()))
        });
        entries.take_while(|&it| it != (0, 0)).collect()
    }
}

pub(crate) fn log_file(base: i64) -> String {
    format!("{base:020}.log")
}

/// The bytes of a file; none where there is no file.
pub(crate) fn content(disk: &SimDisk, name: &str) -> Vec<u8> {
    match read_whole(disk, &Bed::path(name), 1 << 30) {
        Ok(bytes) => bytes.to_vec(),
        Err(error) if error.kind() == DiskErrorKind::NotFound => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

/// Makes the names above the partition's files durable, which a manager would have done.
pub(crate) fn keep_directory(disk: &SimDisk) {
    for directory in ["/", "/data"] {
        disk.sync_dir(Path::new(directory)).unwrap();
    }
}

pub(crate) fn open(
    disk: &SimDisk,
    config: LogConfig,
    options: &OpenOptions,
) -> Result<(Log<SimDisk>, Opening), OpenError> {
    Log::open(disk.clone(), PathBuf::from(DIRECTORY), config, options)
}

pub(crate) fn open_clean(
    disk: &SimDisk,
    config: LogConfig,
) -> Result<(Log<SimDisk>, Opening), OpenError> {
    open(disk, config, &OpenOptions::new(true, NOW_MS))
}

pub(crate) const WHOLE: ReadLimit = ReadLimit {
    bytes_max: u32::MAX >> 1,
    whole_first_batch: true,
};

/// The batches of a read.
pub(crate) fn batches<F: klamm_io::DiskFile>(read: &Read<F>) -> Vec<RecordBatch> {
    let Some(range) = &read.range else {
        return Vec::new();
    };
    let batches = RecordBatches::new(range.read().unwrap());
    let batches: Vec<_> = batches.map(Result::unwrap).collect();
    for batch in &batches {
        batch.check_crc().unwrap();
    }
    batches
}

/// All batches from an offset on, segment after segment.
pub(crate) fn read_all<D: Disk>(
    reader: &LogReader<D>,
    from: i64,
    isolation: Isolation,
) -> Vec<RecordBatch> {
    let mut found = Vec::new();
    let mut next = offset(from);
    loop {
        let read = reader.read(next, WHOLE, isolation).unwrap();
        let more = batches(&read);
        let Some(last) = more.last() else {
            return found;
        };
        next = last.header().next_offset();
        found.extend(more);
    }
}

/// The offsets of all records that followers read from here on.
pub(crate) fn read_offsets<D: Disk>(reader: &LogReader<D>, from: i64) -> Vec<i64> {
    offsets_of(&read_all(reader, from, Isolation::LogEnd))
}

pub(crate) fn offsets_of(batches: &[RecordBatch]) -> Vec<i64> {
    let mut codecs = Codecs::default();
    let mut offsets = Vec::new();
    for batch in batches {
        let records = batch.skim(&mut codecs).unwrap();
        offsets.extend(records.map(|record| record.unwrap().offset.get()));
    }
    offsets
}

/// Every offset of a range.
pub(crate) fn all(offsets: std::ops::Range<i64>) -> Vec<i64> {
    offsets.collect()
}

/// As after a kill, with this recovery point in the checkpoint.
pub(crate) fn unclean(recovery_point: i64) -> OpenOptions {
    OpenOptions {
        recovery_point: offset(recovery_point),
        ..OpenOptions::new(false, NOW_MS)
    }
}
