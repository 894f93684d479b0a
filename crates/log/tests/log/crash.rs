//! The power goes at every call in turn. What was flushed is there afterwards, what follows it is
//! a prefix of what was appended, and opening once more changes nothing.

use std::path::Path;

use klamm_io::Disk;
use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_log::{CleanupPolicy, Isolation, Log, LogConfig, OpenOptions, Opening};
use klamm_primitives::Offset;
use klamm_records::RecordBatch;

use crate::random::Random;
use crate::support::{
    Batch, Bed, DIRECTORY, NOW_MS, epoch, keep_directory, log_file, offset, open, read_all, small,
};

/// A batch that was appended, and the sequence that follows its own.
#[derive(Clone)]
struct Written {
    batch: RecordBatch,
    next_sequence: i32,
}

impl Written {
    fn next_offset(&self) -> Offset {
        self.batch.header().next_offset()
    }
}

/// What the log may hold, and what it must.
struct Expected {
    /// The log as it is, and as it was before the call that is under way: a crash leaves a prefix
    /// of either.
    now: Vec<Written>,
    before: Vec<Written>,
    /// Everything below was flushed.
    durable: Offset,
    log_start: Offset,
    /// What a checkpoint file says.
    recovery_point: Offset,
    checkpointed_start: Offset,
    /// Makes every value another one.
    values: i32,
}

impl Expected {
    fn new() -> Self {
        Self {
            now: Vec::new(),
            before: Vec::new(),
            durable: Offset::ZERO,
            log_start: Offset::ZERO,
            recovery_point: Offset::ZERO,
            checkpointed_start: Offset::ZERO,
            values: 0,
        }
    }

    fn next_sequence(&self) -> i32 {
        self.now.last().map_or(0, |it| it.next_sequence)
    }

    /// The next batch of the one producer, at this offset.
    fn batch(&mut self, random: &mut Random, base_offset: Offset) -> Written {
        self.values += 1;
        let count = 1 + random.below::<i32>(4);
        let value = format!("{} {}", self.values, "x".repeat(random.below(100)));
        let sequence = self.next_sequence();
        let batch = Batch::of(usize::try_from(count).unwrap())
            .by(1, 0, sequence)
            .value(value.as_bytes())
            .at_offset(base_offset.get())
            .in_epoch(self.values / 20);
        Written {
            batch: batch.build(),
            next_sequence: sequence + count,
        }
    }

    /// Notes that the log is cut, from now on.
    fn cut(&mut self, at: Offset) {
        self.before = self.now.clone();
        self.now.retain(|it| it.next_offset() <= at);
        let end = self.now.last().map_or(Offset::ZERO, Written::next_offset);
        self.durable = self.durable.min(end);
    }
}

/// One call, chosen by chance. An error means that the power is gone.
fn step(
    log: &mut Log<SimDisk>,
    expected: &mut Expected,
    random: &mut Random,
) -> Result<(), Box<dyn std::error::Error>> {
    match random.below::<u8>(20) {
        0..=9 => {
            expected.before.clone_from(&expected.now);
            let gap = if random.below::<u8>(8) == 0 {
                random.below::<i64>(5)
            } else {
                0
            };
            let mut at = log.log_end_offset() + gap;
            let mut set = Vec::new();
            for _ in 0..=random.below::<i32>(3) {
                let written = expected.batch(random, at);
                at = written.next_offset();
                set.push(klamm_records::ValidBatch::replicated(
                    written.batch.clone(),
                )?);
                expected.now.push(written);
            }
            log.append_as_follower(&set, NOW_MS)?;
        }
        10 => log.roll(Offset::ZERO, NOW_MS)?,
        11..=13 => {
            log.flush()?;
            expected.durable = log.log_end_offset();
        }
        14 | 15 => {
            expected.recovery_point = log.recovery_point();
            expected.checkpointed_start = log.log_start_offset();
        }
        16 => {
            let end = log.log_end_offset().get();
            let at = offset((end - random.below::<i64>(20)).max(0));
            expected.cut(at);
            // As `truncate_to` asks for: written down before anything is cut.
            let point = log.cut_point(at)?;
            expected.recovery_point = expected.recovery_point.min(point);
            log.truncate_to(at, NOW_MS)?;
            assert_eq!(log.log_end_offset(), point);
            expected.log_start = log.log_start_offset();
            expected.checkpointed_start = expected.checkpointed_start.min(expected.log_start);
        }
        17 if random.below::<u8>(4) == 0 => {
            expected.cut(Offset::ZERO);
            let at = log.log_end_offset() + random.below::<i64>(100);
            expected.recovery_point = Offset::ZERO;
            expected.log_start = at;
            log.truncate_fully_and_start_at(at, None, NOW_MS)?;
            expected.checkpointed_start = at;
        }
        17 => {}
        18 => {
            log.set_high_watermark(log.log_end_offset());
            let kept = random.below::<i64>(60);
            let start = offset(log.log_end_offset().get() - kept);
            expected.log_start = expected.log_start.max(start);
            log.raise_log_start(start)?;
            log.delete_old_segments(NOW_MS)?.remove()?;
        }
        _ => {
            expected.before.clone_from(&expected.now);
            log.begin_epoch(epoch(expected.values / 20))?;
        }
    }
    Ok(())
}

fn options(expected: &Expected) -> OpenOptions {
    OpenOptions {
        recovery_point: expected.recovery_point,
        log_start: expected.checkpointed_start,
        ..OpenOptions::new(false, NOW_MS)
    }
}

/// Runs a workload until the power goes, or for as many steps. Says what may be found.
fn run(disk: &SimDisk, config: &LogConfig, seed: u64, steps: u64) -> (Expected, bool) {
    let mut random = Random(seed);
    let mut expected = Expected::new();
    let Ok((mut log, _)) = open(disk, config.clone(), &options(&expected)) else {
        return (expected, false);
    };
    for _ in 0..steps {
        if step(&mut log, &mut expected, &mut random).is_err() {
            return (expected, false);
        }
    }
    (expected, true)
}

fn spans<'a>(batches: impl Iterator<Item = &'a RecordBatch>) -> Vec<(i64, i64)> {
    let headers = batches.map(RecordBatch::header);
    headers
        .map(|it| (it.base_offset.get(), it.last_offset().get()))
        .collect()
}

/// Opens what a crash has left, and compares.
fn check(disk: &SimDisk, config: &LogConfig, expected: &Expected, context: &str) {
    let (log, _) = open(disk, config.clone(), &options(expected)).expect(context);
    let start = log.log_start_offset();
    let found = read_all(&log.reader(), start.get(), Isolation::LogEnd);
    let is_prefix = |history: &[Written]| {
        let behind = history.iter().filter(|it| it.next_offset() > start);
        let same = |pair: (&RecordBatch, &Written)| pair.0.bytes() == pair.1.batch.bytes();
        behind.clone().count() >= found.len() && found.iter().zip(behind).all(same)
    };
    assert!(
        is_prefix(&expected.now) || is_prefix(&expected.before),
        "{context}: from {start} on stands {:?}, which is no prefix of {:?}, nor of {:?}",
        spans(found.iter()),
        spans(expected.now.iter().map(|it| &it.batch)),
        spans(expected.before.iter().map(|it| &it.batch)),
    );
    assert!(
        start <= expected.log_start.max(expected.checkpointed_start),
        "{context}"
    );
    let durable = expected
        .now
        .iter()
        .filter(|it| it.next_offset() <= expected.durable);
    // Retention may have deleted what is before the log start.
    for written in durable.filter(|it| it.next_offset() > start.max(expected.log_start)) {
        let base = written.batch.header().base_offset;
        assert!(
            found.iter().any(|it| it.bytes() == written.batch.bytes()),
            "{context}: {base} was flushed and is gone"
        );
    }
    // The producer goes on where it was.
    let last = found.last().map(|it| it.header().last_sequence());
    drop(log);

    let files = |disk: &SimDisk| -> Vec<_> {
        let names = disk.list(Path::new(DIRECTORY)).unwrap();
        let names = names.into_iter().map(|it| it.name.into_string().unwrap());
        names
            .map(|name| {
                let mut content = crate::support::content(disk, &name);
                if Path::new(&name).extension().is_some_and(|it| it == "log") {
                    // Space that is reserved for a new segment is cut off.
                    content.truncate(content.len() - trailing_zeros(&content));
                }
                (content, name)
            })
            .collect()
    };
    let before = files(disk);
    let (mut log, opening) = open(disk, config.clone(), &options(expected)).expect(context);
    assert_eq!(
        (&opening.cut, opening.segments_removed.len()),
        (&None, 0),
        "{context}"
    );
    let after = files(disk);
    // Indexes and snapshots may have come, but nothing that was there is another one.
    let changed = before.iter().filter(|it| !after.contains(it));
    let changed: Vec<_> = changed.map(|it| &it.1).collect();
    assert!(
        changed.is_empty(),
        "{context}: opening again changed {changed:?}"
    );
    if let Some(last) = last {
        let next = last.get() + 1;
        log.append(&[Batch::of(1).by(1, 0, next).produced()], epoch(99), NOW_MS)
            .expect(context);
        log.flush().expect(context);
    }
}

fn trailing_zeros(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == 0).count()
}

fn disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let disk = if seed.is_multiple_of(2) {
        disk
    } else {
        disk.with_stale_sectors()
    };
    disk.create_dir_all(Path::new(DIRECTORY)).unwrap();
    keep_directory(&disk);
    disk
}

fn config(seed: u64) -> LogConfig {
    LogConfig {
        preallocate: seed % 4 == 1,
        cleanup_policy: CleanupPolicy::DELETE,
        segment_bytes: 2000,
        ..small()
    }
}

fn crash_at(seed: u64, passed: u64, steps: u64) -> bool {
    let disk = disk(seed);
    disk.inject(Fault::on_any().after(passed).cutting_power());
    let config = config(seed);
    let (expected, is_done) = run(&disk, &config, seed, steps);
    for survival in 0..3 {
        let crash = match survival {
            0 => Crash::PowerLossLosingAll,
            1 => Crash::Kill,
            _ => Crash::PowerLoss {
                seed: seed ^ (passed << 20),
            },
        };
        let context = format!("seed {seed}, power cut at call {passed}, {crash:?}");
        check(&disk.crash(crash), &config, &expected, &context);
    }
    is_done
}

/// Covers LG-128, C089: at every call of some workloads.
#[test]
fn flushed_records_survive_a_power_cut_at_every_call() {
    for seed in 0..6 {
        for passed in 0.. {
            if crash_at(seed, passed, 40) {
                break;
            }
        }
    }
}

/// Covers LG-128: longer workloads, at calls chosen by chance.
#[test]
fn flushed_records_survive_power_cuts_in_a_hundred_workloads() {
    for seed in 100..200 {
        let mut random = Random(seed);
        for _ in 0..6 {
            let passed = random.below(2500);
            crash_at(seed, passed, 250);
        }
    }
}

/// A stop that was closed well is found as it was, whatever the power does afterwards.
#[test]
fn a_closed_log_needs_no_recovery_after_a_power_cut() {
    for seed in 0..20 {
        let disk = disk(seed);
        let config = config(seed);
        let mut random = Random(seed);
        let mut expected = Expected::new();
        let (mut log, _) = open(&disk, config.clone(), &options(&expected)).unwrap();
        for _ in 0..100 {
            step(&mut log, &mut expected, &mut random).unwrap();
        }
        log.close().unwrap();
        let bed = Bed {
            disk: disk.clone(),
            log,
        };
        let bases = bed.segments();
        for survival in 0..10 {
            let after = disk.crash(Crash::PowerLoss { seed: survival });
            let options = OpenOptions {
                was_clean: true,
                ..options(&expected)
            };
            let (log, opening) = open(&after, config.clone(), &options).unwrap();
            assert_eq!(opening, Opening::default());
            assert_eq!(log.log_end_offset(), bed.log.log_end_offset());
            for base in &bases {
                let name = log_file(*base);
                assert_eq!(crate::support::content(&after, &name), bed.content(&name));
                let name = format!("{base:020}.index");
                assert_eq!(crate::support::content(&after, &name), bed.content(&name));
            }
        }
    }
}
