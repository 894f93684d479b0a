//! A log on a simulated disk, filled and cleaned by few words.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use klamm_io::sim::{SimDisk, SimFile};
use klamm_io::{Disk as _, DiskFile as _, OpenMode};
use klamm_primitives::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence};
use klamm_records::{
    BatchHeader, BatchOptions, Codec, Codecs, EndMarker, Levels, Outcome, ProducerStamp,
    RecordBatch, RecordBatchBuilder, RecordBatches, ValidationRules, validate_own,
};

use crate::check::{Depth, check};
use crate::cleaner::{Cleanable, Cleaning, Swapped};
use crate::config::{CleanupPolicy, LogConfig};
use crate::log::Log;
use crate::open::OpenOptions;
use crate::read::{Isolation, LogReader, Read, ReadLimit};
use crate::retention::RetiredFiles;

pub(super) const MIB: u32 = 1 << 20;
const DIRECTORY: &str = "/data/t-0";

/// Where a file of the log is.
pub(super) fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

/// Offset, key and value of a record.
pub(super) type Stored = (i64, Option<String>, Option<String>);

pub(super) fn compacted() -> LogConfig {
    LogConfig {
        cleanup_policy: CleanupPolicy::COMPACT,
        index_interval_bytes: 256,
        segment_bytes: 16 * MIB,
        ..LogConfig::default()
    }
}

pub(super) fn owned(records: &[(i64, &str, &str)]) -> Vec<Stored> {
    let owned = |it: &&str| Some((*it).to_owned());
    let records = records.iter();
    records
        .map(|(offset, key, value)| (*offset, owned(key), owned(value)))
        .collect()
}

pub(super) struct Fixture {
    pub(super) disk: SimDisk,
    pub(super) log: Log<SimDisk>,
    pub(super) now_ms: i64,
    pub(super) codec: Codec,
    pub(super) leader_epoch: i32,
    pub(super) map_bytes: usize,
}

impl Fixture {
    pub(super) fn new(config: LogConfig) -> Self {
        Self::on(SimDisk::new(1), config, &OpenOptions::new(false, 0))
    }

    pub(super) fn on(disk: SimDisk, config: LogConfig, options: &OpenOptions) -> Self {
        let options = OpenOptions {
            high_watermark: Offset::new(i64::MAX),
            ..*options
        };
        let opened = Log::open(disk.clone(), DIRECTORY.into(), config, &options);
        Self {
            disk,
            log: opened.unwrap().0,
            now_ms: 1000,
            codec: Codec::None,
            leader_epoch: 0,
            map_bytes: 1 << 20,
        }
    }

    pub(super) fn reopen(&mut self, clean: bool) {
        if clean {
            self.log.close().unwrap();
        }
        let config = self.log.config().clone();
        let options = OpenOptions::new(clean, 0);
        *self = Self::on(self.disk.clone(), config, &options);
    }

    pub(super) fn file(&self, name: &str) -> Bytes {
        let file = self.disk.open(&path(name), OpenMode::Read).unwrap();
        let len = file.metadata().unwrap().len;
        file.read_bytes_at(0, usize::try_from(len).unwrap())
            .unwrap()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let entries = self.disk.list(Path::new(DIRECTORY)).unwrap();
        entries
            .into_iter()
            .map(|it| it.name.into_string().unwrap())
            .collect()
    }

    pub(super) fn put(&mut self, records: &[(&str, &str)]) {
        let records: Vec<_> = records
            .iter()
            .map(|(key, value)| (Some(*key), Some(*value)))
            .collect();
        self.put_raw(&records);
    }

    /// Appends one batch.
    pub(super) fn put_raw(&mut self, records: &[(Option<&str>, Option<&str>)]) {
        self.put_of(ProducerStamp::NONE, false, records);
    }

    pub(super) fn put_of(
        &mut self,
        producer: ProducerStamp,
        transactional: bool,
        records: &[(Option<&str>, Option<&str>)],
    ) {
        let options = BatchOptions {
            compression: self.codec.at(&Levels::default()),
            producer,
            transactional,
            ..BatchOptions::default()
        };
        let mut builder = RecordBatchBuilder::new(options, Vec::new());
        for (key, value) in records {
            let (key, value) = (key.map(str::as_bytes), value.map(str::as_bytes));
            builder.append(self.now_ms, key, value, &[]).unwrap();
        }
        builder.close(&mut Codecs::default()).unwrap();
        let bytes = builder.into_bytes().unwrap();
        self.append(RecordBatch::parse(bytes).unwrap());
    }

    pub(super) fn end(&mut self, producer_id: i64, outcome: Outcome) {
        let marker = EndMarker {
            outcome,
            coordinator_epoch: 0,
        };
        let producer = (ProducerId::new(producer_id), ProducerEpoch::new(0));
        let batch = marker.batch(Offset::ZERO, LeaderEpoch::new(0), producer, self.now_ms);
        self.append(batch.unwrap());
    }

    fn append(&mut self, batch: RecordBatch) {
        let rules = ValidationRules {
            batch_size_max: 100 << 20,
            ..ValidationRules::default()
        };
        let valid = validate_own(batch, &rules, self.now_ms, &mut Codecs::default()).unwrap();
        let epoch = LeaderEpoch::new(self.leader_epoch);
        self.log.append_own(&[valid], epoch, self.now_ms).unwrap();
        let end = self.log.log_end_offset();
        self.log.set_high_watermark(end);
    }

    pub(super) fn roll(&mut self) {
        let end = self.log.log_end_offset();
        self.log.roll(end, self.now_ms).unwrap();
    }

    pub(super) fn cleanable(&self, cleaner_offset: Option<Offset>) -> Cleanable {
        self.log
            .cleanable(cleaner_offset, self.now_ms)
            .unwrap()
            .unwrap()
    }

    pub(super) fn begin(&self, cleaner_offset: Option<Offset>) -> Cleaning<SimDisk> {
        let cleanable = self.cleanable(cleaner_offset);
        self.log
            .begin_cleaning(&cleanable, self.map_bytes, self.now_ms)
            .unwrap()
    }

    /// A whole pass over everything; returns the first offset that it left.
    pub(super) fn clean(&mut self) -> Offset {
        self.clean_from(None)
    }

    pub(super) fn clean_from(&mut self, cleaner_offset: Option<Offset>) -> Offset {
        let (end, retired) = self.clean_keeping(cleaner_offset);
        for files in retired {
            files.remove().unwrap();
        }
        end
    }

    pub(super) fn clean_keeping(
        &mut self,
        cleaner_offset: Option<Offset>,
    ) -> (Offset, Vec<RetiredFiles<SimDisk>>) {
        let mut cleaning = self.begin(cleaner_offset);
        let mut retired = Vec::new();
        while let Some(cleaned) = cleaning.next(&|| false).unwrap() {
            match self.log.swap_in(cleaned).unwrap() {
                Swapped::Done(files) => retired.push(files),
                Swapped::Outdated => panic!("nobody has changed the log"),
            }
        }
        (cleaning.end_offset(), retired)
    }

    /// All batches, as a reader goes through them.
    pub(super) fn batches(&self) -> Vec<RecordBatch> {
        let reader = self.log.reader();
        let offsets = reader.offsets();
        let mut next = offsets.log_start.get();
        let mut batches: Vec<RecordBatch> = Vec::new();
        while next < offsets.log_end.get() {
            let read = read(&reader, next, Isolation::LogEnd);
            let Some(range) = read.range else {
                break;
            };
            let bytes = range.read().unwrap();
            for batch in RecordBatches::new(bytes) {
                let batch = batch.unwrap();
                batch.check_crc().unwrap();
                assert!(batch.header().last_offset().get() >= next, "read again");
                next = batch.header().next_offset().get();
                batches.push(batch);
            }
        }
        batches
    }

    pub(super) fn headers(&self) -> Vec<BatchHeader> {
        self.batches().iter().map(|it| *it.header()).collect()
    }

    /// All records of data.
    pub(super) fn records(&self) -> Vec<Stored> {
        let text =
            |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
        let mut codecs = Codecs::default();
        let mut found = Vec::new();
        for batch in self.batches() {
            if batch.header().attributes.is_control() {
                continue;
            }
            let mut records = batch.read(&mut codecs).unwrap();
            while let Some(record) = records.next().unwrap() {
                found.push((record.offset.get(), text(record.key), text(record.value)));
            }
        }
        found
    }

    /// Looks at all files.
    pub(super) fn check(&self) {
        let report = check(&self.disk, Path::new(DIRECTORY), Depth::Records).unwrap();
        assert_eq!(report.problems, []);
    }
}

pub(super) fn read(
    reader: &LogReader<SimDisk>,
    offset: i64,
    isolation: Isolation,
) -> Read<SimFile> {
    let limit = ReadLimit {
        bytes_max: u32::MAX,
        whole_first_batch: true,
    };
    reader.read(Offset::new(offset), limit, isolation).unwrap()
}

pub(super) fn producer(producer_id: i64, base_sequence: i32) -> ProducerStamp {
    ProducerStamp {
        producer_id: ProducerId::new(producer_id),
        producer_epoch: ProducerEpoch::new(0),
        base_sequence: Sequence::new(base_sequence),
    }
}
