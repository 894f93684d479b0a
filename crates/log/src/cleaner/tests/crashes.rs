//! Crashes and failing calls at every point of a swap.

use klamm_io::Disk as _;
use klamm_io::sim::{Crash, Fault, SimDisk};
use klamm_primitives::Offset;
use klamm_records::Outcome;

use super::fixture::{Fixture, Stored, compacted, producer, read};
use crate::cleaner::Swapped;
use crate::config::LogConfig;
use crate::open::OpenOptions;
use crate::read::Isolation;

/// A log of which something is to be cleaned, all of it durable: three segments that become two,
/// an aborted transaction, and one segment that is appended to.
fn filled() -> Fixture {
    let config = LogConfig {
        segment_bytes: 1000,
        ..compacted()
    };
    let mut it = Fixture::new(config);
    it.put(&[("a", &"1".repeat(200)), ("b", "1")]);
    it.put_of(producer(7, 0), true, &[(Some("t"), Some("1"))]);
    it.end(7, Outcome::Abort);
    it.roll();
    it.put(&[("a", "2"), ("c", &"2".repeat(300))]);
    it.roll();
    it.put(&[("d", "0"), ("d", &"3".repeat(500)), ("b", "3")]);
    it.roll();
    it.put(&[("e", "4")]);
    it.log.flush().unwrap();
    it.disk.sync_dir("/data".as_ref()).unwrap();
    it.disk.sync_dir("/".as_ref()).unwrap();
    it
}

type Seen = (Vec<Stored>, Vec<i64>, Offset);

/// What a reader sees: records, aborted transactions, and the end.
fn seen(it: &Fixture) -> Seen {
    let mut aborted = Vec::new();
    let end = it.log.log_end_offset();
    let mut next = 0;
    while next < end.get() {
        let read = read(&it.log.reader(), next, Isolation::Committed);
        let Some(range) = read.range else {
            break;
        };
        aborted.extend(read.aborted.unwrap().iter().map(|it| it.first_offset.get()));
        let bytes = range.read();
        for batch in klamm_records::RecordBatches::new(bytes.unwrap()) {
            next = batch.unwrap().header().next_offset().get();
        }
    }
    aborted.dedup();
    (it.records(), aborted, end)
}

/// One pass that may fail anywhere; removes what it retires.
fn try_clean(it: &mut Fixture) -> Result<(), ()> {
    let cleanable = it.log.cleanable(None, it.now_ms).map_err(drop)?.ok_or(())?;
    let cleaning = it.log.begin_cleaning(&cleanable, 1 << 20, it.now_ms);
    let mut cleaning = cleaning.map_err(drop)?;
    while let Some(cleaned) = cleaning.next(&|| false).map_err(drop)? {
        match it.log.swap_in(cleaned).map_err(drop)? {
            Swapped::Done(retired) => retired.remove().map_err(drop)?,
            Swapped::Outdated => panic!("nobody has changed the log"),
        }
    }
    Ok(())
}

/// The states between which there is nothing: before, after the first group, after the second.
fn states() -> Vec<Seen> {
    let mut it = filled();
    let mut states = vec![seen(&it)];
    let mut cleaning = it.begin(None);
    while let Some(cleaned) = cleaning.next(&|| false).unwrap() {
        assert!(matches!(it.log.swap_in(cleaned).unwrap(), Swapped::Done(_)));
        states.push(seen(&it));
    }
    assert!(states.len() > 2);
    states
}

/// What an opening trusts: all that was durable before, or nothing.
fn trusting(recovery_point: Offset) -> OpenOptions {
    OpenOptions {
        recovery_point,
        ..OpenOptions::new(false, 0)
    }
}

fn reopen(disk: SimDisk, recovery_point: Offset) -> Fixture {
    Fixture::on(disk, compacted(), &trusting(recovery_point))
}

#[test]
fn lg_213_a_crash_at_any_call_leaves_the_old_segments_or_the_new() {
    let states = states();
    let mut reached = std::collections::BTreeSet::new();
    for call in 0.. {
        let mut it = filled();
        it.disk.inject(Fault::on_any().after(call).cutting_power());
        if try_clean(&mut it).is_ok() {
            assert!(call > 50, "the fault has struck nothing");
            break;
        }
        let mut crashes = vec![Crash::Kill, Crash::PowerLossLosingAll];
        crashes.extend((0..4).map(|seed| Crash::PowerLoss { seed }));
        for crash in crashes {
            // Recovery trusts what lies before its point: the cleaned segments above all.
            for recovery_point in [it.log.log_end_offset(), Offset::ZERO] {
                let reopened = reopen(it.disk.crash(crash), recovery_point);
                let state = states.iter().position(|state| *state == seen(&reopened));
                let state = state.unwrap_or_else(|| {
                    panic!("call {call}, {crash:?}: {:?}", reopened.names());
                });
                reached.insert(state);
                reopened.check();
                // The opening may be cut short as well.
                if recovery_point > Offset::ZERO && crash == Crash::Kill {
                    let crashed = it.disk.crash(crash);
                    crash_while_opening(&crashed, recovery_point, &states);
                }
            }
        }
    }
    assert_eq!(reached.len(), states.len(), "each state was met");
}

/// Cuts the power at each call of an opening, and opens again.
fn crash_while_opening(disk: &SimDisk, recovery_point: Offset, states: &[Seen]) {
    for call in 0..10_000 {
        let cut = disk.crash(Crash::Kill);
        cut.inject(Fault::on_any().after(call).cutting_power());
        let options = trusting(recovery_point);
        let opened = crate::Log::open(cut.clone(), "/data/t-0".into(), compacted(), &options);
        if opened.is_ok() {
            return;
        }
        let reopened = reopen(cut.crash(Crash::Kill), recovery_point);
        let now = seen(&reopened);
        assert!(states.contains(&now), "opening call {call}: {now:?}");
    }
    panic!("the opening never ends");
}

#[test]
fn lg_213_a_call_that_fails_leaves_the_old_segments_or_the_new() {
    let states = states();
    for call in 0.. {
        let mut it = filled();
        it.disk.inject(Fault::on_any().after(call));
        let cleaned = try_clean(&mut it);
        it.disk.clear_faults();
        if !it.log.is_failed() {
            assert!(states.contains(&seen(&it)), "call {call}");
        }
        let reopened = reopen(it.disk.crash(Crash::Kill), Offset::ZERO);
        assert!(states.contains(&seen(&reopened)), "call {call}");
        reopened.check();
        if cleaned.is_ok() && call > 300 {
            break;
        }
    }
}
