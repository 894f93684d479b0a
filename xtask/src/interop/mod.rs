//! `cargo xtask interop`: programs that are not ours against ours, and ours against them.
//!
//! They are fetched by the names of their public packages into a temporary directory, unless the
//! machine has them; what cannot be had is named and skipped.

mod dump;
mod kafka;
mod kafka_broker;
mod kafka_files;
mod kcat;
mod librdkafka;
mod our_producer;
mod programs;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::running_broker;
use crate::stages::Stages;
use crate::workspace::Workspace;
use programs::Programs;

/// What `cargo xtask interop` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only the checks with this in their name.
    #[arg(long)]
    only: Option<String>,
    /// A broker that is built already, instead of building one for release.
    #[arg(long, value_name = "PROGRAM")]
    broker: Option<PathBuf>,
    /// A producer's program that is built already, instead of building one for release.
    #[arg(long, value_name = "PROGRAM")]
    producer: Option<PathBuf>,
    /// Where fetched programs are kept for the next run, instead of a temporary directory.
    #[arg(long, value_name = "DIRECTORY")]
    programs: Option<PathBuf>,
    /// Keep what Apache Kafka's broker writes as the fixture of klamm-log's tests.
    #[arg(long)]
    keep_fixture: bool,
}

/// One check of a foreign program against ours.
struct Check {
    name: &'static str,
    run: fn(&Surroundings) -> Result<Outcome>,
}

const CHECKS: [Check; 6] = [
    Check {
        name: "klamm-log: Apache Kafka's dump tool reads our files",
        run: kafka_files::ours_are_dumped,
    },
    Check {
        name: "klamm-log: what Apache Kafka's broker writes is sound",
        run: kafka_files::theirs_are_sound,
    },
    Check {
        name: "kcat: every codec and acks, and after a restart",
        run: kcat::every_codec_and_acks,
    },
    Check {
        name: "librdkafka: an idempotent producer while the broker is killed",
        run: librdkafka::killed_in_mid_stream,
    },
    Check {
        name: "klamm-producer: every codec and acks, with Apache Kafka's broker restarted",
        run: our_producer::to_their_broker,
    },
    Check {
        name: "klamm-producer: every codec and acks, with our broker restarted",
        run: our_producer::to_our_broker,
    },
];

/// What a check is given.
struct Surroundings {
    workspace: Workspace,
    /// Our broker's program.
    broker: PathBuf,
    /// Our producer's program, if it is built already.
    producer: Option<PathBuf>,
    keeps_fixture: bool,
    /// Programs that are not ours.
    programs: Programs,
    /// For a check's files; gone after the run.
    scratch: PathBuf,
}

/// How a check ended, if not with an error.
enum Outcome {
    Passed,
    /// What it needs and cannot be had.
    Skipped(String),
}

/// Runs the checks, up to the first that fails.
///
/// # Errors
/// That of the check, or there is none of the name.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let is_wanted = |check: &&Check| {
        let only = options.only.as_deref().unwrap_or_default();
        check.name.contains(only)
    };
    let checks: Vec<&Check> = CHECKS.iter().filter(is_wanted).collect();
    if checks.is_empty() {
        bail!("no check has that in its name");
    }
    let scratch = tempfile::tempdir().context("no temporary directory")?;
    let broker = match &options.broker {
        Some(program) => std::path::absolute(program)?,
        None => running_broker::build(&workspace)?,
    };
    let fetched = scratch.path().join("programs");
    let surroundings = Surroundings {
        broker,
        producer: match &options.producer {
            Some(program) => Some(std::path::absolute(program)?),
            None => None,
        },
        workspace,
        keeps_fixture: options.keep_fixture,
        programs: Programs::new(options.programs.as_ref().unwrap_or(&fetched))?,
        scratch: scratch.path().to_owned(),
    };
    let mut stages = Stages::default();
    let result = checks.into_iter().try_for_each(|check| {
        stages.run_or_skip(check.name, || {
            Ok(match (check.run)(&surroundings)? {
                Outcome::Passed => None,
                Outcome::Skipped(reason) => Some(reason),
            })
        })
    });
    stages.finish(result)
}
