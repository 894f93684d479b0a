//! `cargo xtask interop`: `klamm-log` and Apache Kafka's own programs on each other's files.
//!
//! It needs Java and Maven, by which it fetches Kafka's packages by their names; without them it
//! says that it was skipped, and succeeds. Then
//!
//! - Kafka's dump tool reads a directory that `klamm-log` wrote (`examples/every_feature.rs`), and
//!   each line that it prints must be one that it prints of sound files;
//! - a real broker writes a directory, once ended well and once killed, which `klamm-log check`
//!   must find nothing wrong with. `--keep` makes it the fixture that the tests of `klamm-log` open.

mod broker;
mod dump;
mod kafka;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::broker::{Broker, End};
use self::kafka::Kafka;
use crate::command;
use crate::workspace::Workspace;

/// Where the tests have what a real broker wrote.
const FIXTURE: &str = "crates/log/tests/fixtures/kafka-4.1";

/// What a broker keeps for itself: its own log of metadata, and what only a running one has.
const NOT_KEPT: [&str; 3] = ["__cluster_metadata-0", "bootstrap.checkpoint", ".lock"];

/// What `cargo xtask interop` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Keep what the broker writes as the fixture of klamm-log's tests.
    #[arg(long)]
    keep: bool,
}

/// Does all that Java and Kafka's packages allow.
///
/// # Errors
/// A tool complained, or could not be run though it is there.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let scratch = workspace.target_directory().join("interop");
    let Some(kafka) = Kafka::fetch(&scratch)? else {
        return Ok(());
    };
    let ours = fresh(&scratch.join("ours"))?;
    example(&workspace, "every_feature", &ours)?;
    for partition in directories(&ours)? {
        dump::read(&kafka, &partition)?;
    }

    let data = fresh(&scratch.join("data"))?;
    let broker = Broker::new(&kafka, &scratch, &data)?;
    for (life, (end, name)) in [(End::Well, "stopped"), (End::Killed, "killed")]
        .into_iter()
        .enumerate()
    {
        broker.live(life + 1, end)?;
        let kept = fresh(&scratch.join(name))?;
        copy(&data, &kept)?;
        for partition in directories(&kept)? {
            check(&workspace, &partition)?;
        }
        if options.keep {
            copy(&kept, &fresh(&workspace.root().join(FIXTURE).join(name))?)?;
        }
    }
    Ok(())
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
