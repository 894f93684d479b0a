//! `cargo xtask soak`: tests that gain by being done often, done as often as one likes.
//!
//! A soak is a test that plays so many rounds as `SOAK_ROUNDS` says, from seeds that begin with
//! `SOAK_SEED`, and prints the seed of a failure. Without these variables it plays the few that
//! `cargo xtask test` has time for. [`SOAKS`] is the list; one more is a line there.

use anyhow::{Result, bail};
use cargo_metadata::TargetKind;

use crate::artifacts::{self, Artifact};
use crate::command;
use crate::workspace::Workspace;

const ROUNDS: &str = "SOAK_ROUNDS";
const SEED: &str = "SOAK_SEED";

/// A test function that soaks.
struct Soak {
    /// What it is called on the command line.
    name: &'static str,
    package: &'static str,
    home: Home,
    function: &'static str,
    /// How many rounds are played unless another number is asked for.
    rounds: u64,
}

/// The program that a test function is in.
enum Home {
    /// The library's unit tests.
    Library,
    /// An integration test.
    Test(&'static str),
}

const SOAKS: &[Soak] = &[
    Soak {
        name: "log-manager-killed",
        package: "klamm-log",
        home: Home::Test("kill"),
        function: "lg_116_killed_and_without_power_a_manager_keeps_what_it_acknowledged",
        rounds: 1000,
    },
    Soak {
        name: "log-killed",
        package: "klamm-log",
        home: Home::Test("kill"),
        function: "lg_116_killed_and_without_power_a_log_keeps_what_it_flushed",
        rounds: 1000,
    },
    Soak {
        name: "producer-simulation",
        package: "klamm-producer",
        home: Home::Library,
        function: "sender::tests::simulation::no_acknowledged_record_is_missing_twice_or_out_of_order",
        rounds: 10_000,
    },
];

/// What `cargo xtask soak` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The soak to run, by its name; without it all run, one after another.
    soak: Option<String>,
    /// How many rounds each plays; without it as many as each is listed with.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// List the soaks and run none.
    #[arg(long, conflicts_with = "soak")]
    list: bool,
}

/// Lists the soaks, or runs those asked for. The first that fails ends the run.
///
/// # Errors
/// One failed, and has said by which seed; there is none of that name.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.list {
        for soak in SOAKS {
            println!(
                "{:24} {:16} {:6} rounds",
                soak.name, soak.package, soak.rounds
            );
        }
        return Ok(());
    }
    let is_asked_for = |soak: &&Soak| options.soak.as_ref().is_none_or(|it| it == soak.name);
    let soaks: Vec<_> = SOAKS.iter().filter(is_asked_for).collect();
    if soaks.is_empty() {
        bail!("there is no such soak; `cargo xtask soak --list` names them");
    }
    let workspace = Workspace::load()?;
    for soak in soaks {
        let program = build(&workspace, soak)?;
        let rounds = options.rounds.unwrap_or(soak.rounds);
        println!(
            "--- {}: {rounds} rounds from seed {}",
            soak.name, options.seed
        );
        command::run(
            program
                .command()
                .args([soak.function, "--exact", "--nocapture"])
                .env(ROUNDS, rounds.to_string())
                .env(SEED, options.seed.to_string()),
        )?;
    }
    Ok(())
}

/// Builds the test that a soak is in; as `cargo xtask test` does, so that nothing is built twice.
fn build(workspace: &Workspace, soak: &Soak) -> Result<Artifact> {
    let (which, kind, name) = match soak.home {
        Home::Library => (&["--lib"][..], TargetKind::Lib, "library"),
        Home::Test(test) => (&["--test", test][..], TargetKind::Test, test),
    };
    let package = ["test", "--all-features", "--package", soak.package];
    let arguments = [&package[..], which, &["--no-run"]].concat();
    let mut programs = artifacts::build(workspace, &arguments, &kind)?;
    let program = programs.pop();
    let Some(program) = program else {
        bail!("{} has no test `{name}`", soak.package);
    };
    let listed = command::output(program.command().args(["--list", "--format", "terse"]))?;
    let listing = format!("{}: test", soak.function);
    if !listed.lines().any(|line| line == listing) {
        bail!(
            "{} has no test function `{}`",
            program.target,
            soak.function
        );
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::SOAKS;

    #[test]
    fn each_soak_has_its_own_name() {
        let names: HashSet<_> = SOAKS.iter().map(|soak| soak.name).collect();
        assert_eq!(names.len(), SOAKS.len());
    }
}
