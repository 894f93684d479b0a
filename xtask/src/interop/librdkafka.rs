//! librdkafka's idempotent producer against a broker that is killed again and again.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Outcome, Surroundings};
use crate::running_broker::BrokerSetup;

/// Produces until its standard input ends, then reads everything back and judges.
const SCRIPT: &str = include_str!("killed_in_mid_stream.py");

const KILLS: u32 = 10;

/// With a sync before each acknowledgement and `kill -9` in mid stream, ten times, every
/// acknowledged record is there, at its offset, in order, once.
pub(super) fn killed_in_mid_stream(surroundings: &Surroundings) -> Result<Outcome> {
    let Some(mut python) = surroundings.programs.python_with_librdkafka() else {
        let reason = "Python's package confluent-kafka cannot be had";
        return Ok(Outcome::Skipped(reason.to_owned()));
    };
    let directory = surroundings.scratch.join("librdkafka");
    fs::create_dir_all(&directory)?;
    let settings = ["log.flush.interval.messages=1", "num.partitions=3"];
    let setup = BrokerSetup::new(&surroundings.broker, &directory.join("data"), &settings)?;
    let mut broker = setup.start()?;
    let mut producer = python
        .args(["-c", SCRIPT, &setup.address().to_string()])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start Python")?;
    for round in 0..KILLS {
        wait(Duration::from_millis(700 + 130 * u64::from(round)));
        broker.kill()?;
        broker = setup.start()?;
    }
    wait(Duration::from_secs(1));
    drop(producer.stdin.take());
    let status = producer.wait().context("cannot wait for Python")?;
    if !status.success() {
        bail!("the check of what was acknowledged failed ({status})");
    }
    broker.stop()?;
    Ok(Outcome::Passed)
}

/// Lets the producer produce. Which moment it is does not matter, so nothing is waited for.
#[expect(
    clippy::disallowed_methods,
    reason = "the kill is to come at any moment"
)]
fn wait(time: Duration) {
    thread::sleep(time);
}
