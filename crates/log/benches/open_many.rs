//! Starting with many partitions: after a clean stop, and after a crash. The peer lists the same
//! directories, asks for the length of each segment and opens it, which a start cannot do without.

mod many;

use std::fs;
use std::path::{Path, PathBuf};

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use klamm_log::LogConfig;
use klamm_primitives::{BrokerEpoch, LeaderEpoch, PartitionIndex, TopicPartition};
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder, ValidationRules, validate};

use crate::many::{now, open};

/// Makes so many partitions with 64 KiB each: one by a manager, the others as copies of it.
fn fill(path: &Path, count: i32) {
    let manager = open(path);
    let name = TopicPartition::new("t", PartitionIndex::new(0));
    let log = manager.create(&name, None, &LogConfig::default(), now().unix_ms);
    let log = log.expect("the directory is empty");
    let mut codecs = Codecs::default();
    for _ in 0..64 {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        let value = [b'x'; 950];
        builder
            .append(now().unix_ms, None, Some(&value), &[])
            .expect("it fits");
        builder.close(&mut codecs).expect("nothing is compressed");
        let bytes = builder.into_bytes().expect("it was closed");
        let rules = ValidationRules::default();
        let batch = validate(bytes, &rules, now().unix_ms, &mut codecs).expect("it is valid");
        log.lock()
            .append(&[batch], LeaderEpoch::new(0), now().unix_ms)
            .expect("there is room");
    }
    manager.stop(BrokerEpoch::NONE);
    for index in 1..count {
        let copy = path.join(format!("t-{index}"));
        fs::create_dir(&copy).expect("there is room");
        for entry in fs::read_dir(path.join("t-0")).expect("it was made") {
            let entry = entry.expect("it was made");
            fs::copy(entry.path(), copy.join(entry.file_name())).expect("there is room");
        }
    }
}

/// As after a clean stop, or not.
fn mark(path: &Path, clean: bool) {
    let mark = path.join(".kafka_cleanshutdown");
    if clean {
        fs::write(&mark, "").expect("there is room");
    } else {
        let _ = fs::remove_file(&mark);
    }
    let _ = fs::remove_file(path.join("recovery-point-offset-checkpoint"));
}

fn list_and_open(path: &Path) -> Vec<fs::File> {
    let mut files = Vec::new();
    for directory in fs::read_dir(path).expect("it is there") {
        let directory: PathBuf = directory.expect("it is there").path();
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.expect("it is there").path();
            if path.extension().is_some_and(|it| it == "log") {
                let file = fs::File::open(&path).expect("it is there");
                file.metadata().expect("it is there");
                files.push(file);
            }
        }
    }
    files
}

fn open_many(criterion: &mut Criterion) {
    // Without `--bench` criterion runs each function once, to see that it can.
    let is_test = !std::env::args().any(|it| it == "--bench");
    let counts: &[i32] = if is_test { &[10] } else { &[10, 1_000, 10_000] };
    // Ten thousand directories take longer to make than to open, so both groups open the same.
    let filled = counts.iter().map(|&count| {
        let directory = tempfile::tempdir().expect("there is room");
        fill(directory.path(), count);
        (count, directory)
    });
    let filled: Vec<_> = filled.collect();
    for (group, clean) in [("open_after_clean_stop", true), ("open_after_crash", false)] {
        let mut group = criterion.benchmark_group(group);
        // One start a sample where a start takes long, which bounds the time of the whole.
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        for (count, directory) in &filled {
            let (count, path) = (*count, directory.path());
            group.bench_function(BenchmarkId::new("klamm", count), |bencher| {
                bencher.iter_batched(
                    || mark(path, clean),
                    |()| {
                        let manager = open(path);
                        assert_eq!(manager.len(), usize::try_from(count).expect("it is small"));
                        manager
                    },
                    BatchSize::PerIteration,
                );
            });
            group.bench_function(BenchmarkId::new("list_and_open", count), |bencher| {
                bencher.iter_with_large_drop(|| list_and_open(path));
            });
        }
    }
}

criterion_group!(benches, open_many);
criterion_main!(benches);
