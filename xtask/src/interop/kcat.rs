//! kcat: lines in, the same lines out.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::{Outcome, Surroundings};
use crate::command;
use crate::running_broker::BrokerSetup;

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];
const ACKS: [&str; 3] = ["0", "1", "all"];
const LINES: u32 = 200_000;

/// Two hundred thousand lines through each codec and acks level come back byte for byte, and so
/// they do when the broker has been stopped and started.
pub(super) fn every_codec_and_acks(surroundings: &Surroundings) -> Result<Outcome> {
    if surroundings.programs.kcat().is_none() {
        return Ok(Outcome::Skipped("kcat cannot be had".to_owned()));
    }
    let directory = surroundings.scratch.join("kcat");
    fs::create_dir_all(&directory)?;
    let setup = BrokerSetup::new(&surroundings.broker, &directory.join("data"), &[])?;
    let lines = directory.join("lines");
    fs::write(&lines, numbered_lines())?;

    let broker = setup.start()?;
    let kcat = || -> Result<Command> {
        let mut kcat = surroundings.programs.kcat().context("kcat is gone")?;
        kcat.args(["-b", &setup.address().to_string()]);
        Ok(kcat)
    };
    let topics = || {
        let each = |codec| ACKS.iter().map(move |acks| (codec, *acks));
        CODECS.iter().copied().flat_map(each)
    };
    for (codec, acks) in topics() {
        let topic = topic_of(codec, acks);
        let mut produce = kcat()?;
        produce.args(["-P", "-t", &topic, "-z", codec]);
        produce
            .args(["-X", &format!("acks={acks}"), "-l"])
            .arg(&lines);
        command::run(&mut produce)?;
        expect_back(kcat()?, &topic, &lines, &directory)?;
    }
    broker.stop()?;
    let broker = setup.start()?;
    for (codec, acks) in topics() {
        expect_back(kcat()?, &topic_of(codec, acks), &lines, &directory)?;
    }
    broker.stop()?;
    Ok(Outcome::Passed)
}

fn topic_of(codec: &str, acks: &str) -> String {
    format!("lines-{codec}-{acks}")
}

/// Lines of many lengths that say where they stand.
fn numbered_lines() -> String {
    let mut lines = String::new();
    for number in 0..LINES {
        let length = (number.wrapping_mul(2_654_435_761) >> 25) as usize;
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{number} {:x<length$}", "");
    }
    lines
}

/// Reads a topic of one partition to its end, and compares.
fn expect_back(mut kcat: Command, topic: &str, lines: &Path, directory: &Path) -> Result<()> {
    let read = directory.join("read");
    kcat.args(["-C", "-q", "-e", "-o", "beginning", "-t", topic]);
    kcat.stdout(Stdio::from(File::create(&read)?));
    command::run(&mut kcat)?;
    let (sent, received) = (fs::read(lines)?, fs::read(&read)?);
    if sent != received {
        let same = sent
            .iter()
            .zip(&received)
            .take_while(|(a, b)| a == b)
            .count();
        bail!(
            "{topic}: {} bytes went in, {} came out, different from byte {same} on",
            sent.len(),
            received.len()
        );
    }
    Ok(())
}
