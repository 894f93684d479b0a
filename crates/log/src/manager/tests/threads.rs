//! The threads, on a real disk.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use klamm_io::{RealDisk, SystemClock};
use klamm_primitives::TopicPartition;

use super::support::*;
use crate::durability::{Durability, SYNC_THREADS};
use crate::housekeeping::Housekeeping;
use crate::log_event::LogEvent;
use crate::manager::{LogManager, Wiring};

#[test]
fn every_writer_hears_that_its_records_are_durable() {
    let directory = tempfile::tempdir().unwrap();
    let bench = Bench::of(&[directory.path().to_str().unwrap()]);
    let (tell, told) = sync_channel(10_000);
    let wiring = Wiring {
        events: Box::new(move |event| {
            if let LogEvent::Synced { log, offset } = event {
                tell.send((log.partition().clone(), offset.get())).unwrap();
            }
        }),
        ..bench.wiring()
    };
    let config_of = |_: &TopicPartition| bench.config.clone();
    let options = bench.options.clone();
    let opened = LogManager::open(&RealDisk, options, wiring, &config_of, &|_| {}, bench.now());
    let manager = Arc::new(opened.unwrap().manager);
    let durability = Durability::start(manager.clone(), SYNC_THREADS).unwrap();
    let names: Vec<_> = (0..4).map(|index| partition("t", index)).collect();
    for name in &names {
        bench.create(&manager, name);
    }
    thread::scope(|scope| {
        for name in names.iter().chain(&names) {
            let manager = &manager;
            scope.spawn(move || {
                let log = manager.get(name).unwrap();
                for _ in 0..25 {
                    append(&log, 1);
                    log.request_sync();
                }
            });
        }
    });
    durability.stop();
    let mut durable = std::collections::BTreeMap::new();
    for (name, offset) in told.try_iter() {
        let former = durable.insert(name, offset);
        assert!(former.is_none_or(|former| former <= offset), "it went back");
    }
    for name in &names {
        assert_eq!(durable[name], 50, "{name}");
    }
    manager.stop(epoch(1));
}

#[test]
fn housekeeping_does_what_is_due_and_stops_when_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::of(&[directory.path().to_str().unwrap()]);
    bench.options.flush_check_interval = Some(Duration::from_millis(1));
    bench.config.flush_age = Some(Duration::from_millis(1));
    let (tell, told) = sync_channel(100);
    let wiring = Wiring {
        events: Box::new(move |_| tell.send(()).unwrap()),
        ..bench.wiring()
    };
    let config_of = |_: &TopicPartition| bench.config.clone();
    let options = bench.options.clone();
    let now = crate::Now {
        instant: klamm_io::Clock::now(&SystemClock),
        unix_ms: klamm_io::Clock::unix_ms(&SystemClock),
    };
    let opened = LogManager::open(&RealDisk, options, wiring, &config_of, &|_| {}, now);
    let manager = Arc::new(opened.unwrap().manager);
    let durability = Durability::start(manager.clone(), SYNC_THREADS).unwrap();
    let housekeeping = Housekeeping::start(manager.clone(), SystemClock).unwrap();
    append(&bench.create(&manager, &partition("t", 0)), 1);
    told.recv().unwrap();
    housekeeping.stop();
    durability.stop();
    assert!(manager.stop(epoch(1)).unclean.is_empty());
}

#[test]
fn housekeeping_that_waits_for_an_hour_stops_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::of(&[directory.path().to_str().unwrap()]);
    let hour = Duration::from_hours(1);
    bench.options.high_watermark_interval = hour;
    bench.options.recovery_point_interval = hour;
    bench.options.log_start_interval = hour;
    // Nothing is due before half a minute has passed: a test that waited for it would be seen.
    let manager = Arc::new(bench.open(&RealDisk));
    let housekeeping = Housekeeping::start(manager, SystemClock).unwrap();
    housekeeping.stop();
}
