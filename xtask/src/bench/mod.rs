//! `cargo xtask bench`: runs the benches and tells how Klamm compares.
//!
//! A bench names its functions `klamm/<parameter>` and `<peer>/<parameter>` within a group; what is
//! compared ran in the same run, and the ratio of the medians is what counts. Figures are for
//! people: no test judges them.

mod machine;
mod page;
mod peers;
mod producers;
mod results;
mod table;
mod targets;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use cargo_metadata::TargetKind;

use self::results::Measurement;
use crate::workspace::Workspace;
use crate::{artifacts, command};

/// The page that keeps the figures.
const PAGE: &str = "docs/benchmarks.md";

/// What `cargo xtask bench` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run only what this regular expression matches in `group/function/parameter`. The figures
    /// are then printed only: the page holds whole runs.
    filter: Option<String>,
    /// Run the benches of this package only; may be given several times.
    #[arg(long, short)]
    package: Vec<String>,
    /// Warm up and measure each for so long in place of criterion's three and five seconds. A second
    /// is enough for what takes nanoseconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: Option<u64>,
    /// Load the broker by librdkafka instead, beside the raw limits of the machine, and send by our
    /// producer and its peers; the first time this takes minutes to build.
    #[arg(long, conflicts_with_all = ["filter", "package", "seconds"])]
    peers: bool,
    /// With `--peers`, one of the two only.
    #[arg(long, requires = "peers")]
    only: Option<Subject>,
    /// With `--peers`, a broker that is built already, instead of building one for release.
    #[arg(long, requires = "peers", value_name = "PROGRAM")]
    broker: Option<PathBuf>,
}

/// What `--peers` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    Broker,
    Producer,
}

/// Builds the benches, runs those asked for, prints the ratios and writes them into the page.
///
/// # Errors
/// A bench that does not build or fails; results that cannot be read; a page that cannot be written.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    if options.peers {
        let programs = peers::Programs::build(&workspace, options.broker.as_deref())?;
        let mut tables = Vec::new();
        if options.only != Some(Subject::Producer) {
            tables.push((peers::SECTION, peers::measure(&programs)?));
        }
        if options.only != Some(Subject::Broker) {
            tables.push((producers::SECTION, producers::measure(&programs)?));
        }
        return keep(&workspace, &tables, true);
    }
    // `--benches` would build the unit tests of every library and program for release as well.
    let mut build = vec!["bench", "--all-features", "--bench", "*", "--no-run"];
    if options.package.is_empty() {
        build.push("--workspace");
    }
    for package in &options.package {
        build.extend(["--package", package]);
    }
    let programs = artifacts::build(&workspace, &build, &TargetKind::Bench)?;
    if programs.is_empty() {
        bail!("there is no such bench");
    }

    let mut sections: Vec<(String, Vec<Measurement>)> = Vec::new();
    for of_package in programs.chunk_by(|a, b| a.package == b.package) {
        let package = &of_package[0].package;
        let home = workspace.target_directory().join("criterion").join(package);
        results::forget_last_run(&home)?;
        for program in of_package {
            println!("--- {package}: {}", program.target);
            let mut bench = program.command();
            bench
                .arg("--bench")
                .args(&options.filter)
                .env("CRITERION_HOME", &home);
            if let Some(seconds) = options.seconds {
                let seconds = seconds.to_string();
                bench.args(["--warm-up-time", &seconds, "--measurement-time", &seconds]);
            }
            command::run(&mut bench)?;
        }
        sections.push((package.clone(), results::read(&home)?));
    }

    let tables: Vec<(&str, String)> = sections
        .iter()
        .map(|(package, measurements)| (package.as_str(), table::render(package, measurements)))
        .collect();
    keep(&workspace, &tables, options.filter.is_none())
}

/// Prints tables, each with the machine that they come from, and writes them into the page.
fn keep(workspace: &Workspace, tables: &[(&str, String)], whole: bool) -> Result<()> {
    let machine = machine::describe(workspace)?;
    let path = workspace.root().join(PAGE);
    let mut text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    for (section, table) in tables {
        let figures = format!("{machine}\n\n{table}");
        println!("\n{section}\n\n{figures}");
        text = page::with_figures(&text, section, &figures);
    }
    if whole {
        std::fs::write(&path, text).with_context(|| format!("cannot write {PAGE}"))?;
        println!("{PAGE} is written");
    }
    Ok(())
}
