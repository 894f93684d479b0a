//! `klamm-log` and Apache Kafka's own programs on each other's files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::kafka::Kafka;
use super::kafka_broker::{End, KafkaBroker};
use super::{Outcome, Surroundings, dump};
use crate::command;
use crate::workspace::Workspace;

/// Where the tests have what a real broker wrote.
const FIXTURE: &str = "crates/log/tests/fixtures/kafka-4.1";

/// What a broker keeps for itself: its own log of metadata, and what only a running one has.
const NOT_KEPT: [&str; 3] = ["__cluster_metadata-0", "bootstrap.checkpoint", ".lock"];

/// Kafka's dump tool reads a directory that `klamm-log` wrote (`examples/every_feature.rs`), and
/// each line that it prints must be one that it prints of sound files.
pub(super) fn ours_are_dumped(surroundings: &Surroundings) -> Result<Outcome> {
    let Some(kafka) = surroundings.programs.kafka()? else {
        return Ok(Outcome::Skipped(Kafka::MISSING.to_owned()));
    };
    let ours = fresh(&surroundings.scratch.join("ours"))?;
    example(&surroundings.workspace, "every_feature", &ours)?;
    for partition in directories(&ours)? {
        dump::read(&kafka, &partition)?;
    }
    Ok(Outcome::Passed)
}

/// A real broker writes a directory, once ended well and once killed, in which `klamm-log check`
/// must find nothing wrong.
pub(super) fn theirs_are_sound(surroundings: &Surroundings) -> Result<Outcome> {
    let Some(kafka) = surroundings.programs.kafka()? else {
        return Ok(Outcome::Skipped(Kafka::MISSING.to_owned()));
    };
    let (workspace, scratch) = (&surroundings.workspace, &surroundings.scratch);
    let data = fresh(&scratch.join("theirs"))?;
    let broker = KafkaBroker::new(&kafka, scratch, &data, &[])?;
    for (life, (end, name)) in [(End::Well, "stopped"), (End::Killed, "killed")]
        .into_iter()
        .enumerate()
    {
        broker.live(life + 1, end)?;
        let kept = fresh(&scratch.join(name))?;
        copy(&data, &kept)?;
        for partition in directories(&kept)? {
            check(workspace, &partition)?;
        }
        if surroundings.keeps_fixture {
            copy(&kept, &fresh(&workspace.root().join(FIXTURE).join(name))?)?;
        }
    }
    Ok(Outcome::Passed)
}

/// An empty directory.
fn fresh(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot empty {}", path.display()))?;
    }
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path.to_owned())
}

fn directories(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    if found.is_empty() {
        bail!("no partition in {}", path.display());
    }
    found.sort();
    Ok(found)
}

/// Copies a log directory without what only its broker needs.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if NOT_KEPT.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn example(workspace: &Workspace, name: &str, directory: &Path) -> Result<()> {
    let call = ["run", "--package", "klamm-log", "--example", name, "--"];
    command::run(command::cargo(workspace.root(), call).arg(directory))
}

/// Checks one partition with our own tool, down to the records.
fn check(workspace: &Workspace, partition: &Path) -> Result<()> {
    let call = [
        "run",
        "--package",
        "klamm-log",
        "--features",
        "cli",
        "--bin",
        "klamm-log",
        "--",
        "check",
        "--records",
    ];
    command::run(command::cargo(workspace.root(), call).arg(partition))
}
