//! One log, whose owner flushes it and then says so.

use std::path::Path;

use klamm_io::RealDisk;
use klamm_log::{Log, LogConfig, OpenOptions};
use klamm_primitives::{LeaderEpoch, Offset};

use crate::batches::{NOW_MS, batch};
use crate::history::{Histories, send_again};
use crate::life::{Orders, live};
use crate::power_cut::strike;
use crate::random::Random;
use crate::writer::say;

pub(crate) const ROLE: &str = "log";

fn open(directory: &Path, recovery_point: Offset) -> Log<RealDisk> {
    let config = LogConfig {
        segment_bytes: 8 << 10,
        index_bytes: 1 << 10,
        index_interval_bytes: 256,
        ..LogConfig::default()
    };
    let options = OpenOptions {
        recovery_point,
        ..OpenOptions::new(false, NOW_MS)
    };
    let opened = Log::open(RealDisk, directory.to_owned(), config, &options);
    opened.unwrap().0
}

/// Writes until somebody ends the process.
pub(crate) fn write(directory: &Path, seed: u64, recovery_point: Offset) {
    let mut log = open(directory, recovery_point);
    let mut random = Random(seed);
    let producer = random.next().cast_signed() >> 1 & i64::MAX;
    let (mut sequence, mut waiting) = (0, Vec::new());
    loop {
        let records = 1 + random.below::<usize>(4);
        let id = format!("{producer}-{sequence}");
        let batch = batch((producer, sequence), &id, records, random.below(900));
        let appended = log.append(&[batch], LeaderEpoch::new(0), NOW_MS).unwrap();
        sequence += i32::try_from(records).unwrap();
        waiting.push((appended.first_offset, id));
        if random.below::<u8>(30) == 0 {
            log.roll(log.log_end_offset(), NOW_MS).unwrap();
        }
        if random.below::<u8>(5) == 0 {
            log.flush().unwrap();
            say(&format!("durable log {}", log.recovery_point()));
            for (first, id) in waiting.drain(..) {
                say(&format!("acked log {first} {id}"));
            }
        }
    }
}

/// The lives of one directory. Returns how many batches were acknowledged.
pub(crate) fn live_and_die(random: &mut Random, lives: u64) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("t-0");
    let mut histories = Histories::default();
    for _ in 0..lives {
        // A checkpoint may be old.
        let durable = histories.of("log").durable.get();
        let orders = Orders {
            role: ROLE,
            directory: path,
            recovery_point: random.below(durable.unsigned_abs() + 1),
        };
        for said in live(&orders, random) {
            histories.note(&said);
        }
        let history = histories.of("log");
        strike(path, history.durable, random);
        let durable = history.durable.get().unsigned_abs();
        let mut log = open(path, Offset::new(random.below(durable + 1)));
        let held = history.check(&log.reader());
        send_again(&mut log, &held);
    }
    histories.acknowledged_count()
}
