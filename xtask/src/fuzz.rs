//! `cargo xtask fuzz`: the fuzz targets, for as long as one likes.
//!
//! A fuzz target is a test function in an integration test called `fuzz`, written with bolero. On
//! the stable toolchain it reads its corpus (`tests/__fuzz__/<target>/corpus`) and then random
//! input until a limit, which bolero takes from the environment. With cargo-bolero and a nightly
//! toolchain the same function runs under libFuzzer, led by coverage, and its finds join the corpus.

use std::time::Duration;

use anyhow::{Result, bail};
use cargo_metadata::TargetKind;

use crate::artifacts::{self, Artifact};
use crate::command::{self, nightly_cargo};
use crate::workspace::Workspace;

/// The integration test that holds a crate's fuzz targets.
const FUZZ_TEST: &str = "fuzz";

/// Bolero's limit on the time of one target, its corpus included.
const TIME_LIMIT: &str = "BOLERO_RANDOM_TEST_TIME_MS";

/// What `cargo xtask fuzz` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The target to run, by its name; without it all run, one after another.
    target: Option<String>,
    /// How long each target runs.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// List the targets and run none.
    #[arg(long, conflicts_with = "target")]
    list: bool,
}

/// One fuzz target: a test function of a program.
struct Target<'a> {
    program: &'a Artifact,
    name: String,
}

/// Lists the targets, or runs those asked for.
///
/// # Errors
/// A target failed; there is none of that name.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let programs = build(&workspace, "fuzz")?;
    let mut targets = targets(&programs)?;
    if options.list {
        for target in &targets {
            println!("{:32} {}", target.name, target.program.package);
        }
        return Ok(());
    }
    if let Some(wanted) = &options.target {
        targets.retain(|target| target.name == *wanted);
        if targets.is_empty() {
            bail!("there is no fuzz target `{wanted}`; `cargo xtask fuzz --list` names them");
        }
    }
    run_each(&workspace, &targets, Duration::from_secs(options.seconds))
}

/// Runs all targets on the stable toolchain, sharing `total` among them; the targets of one program
/// run side by side. Uses what the tests have built.
///
/// # Errors
/// The first failure of a target.
pub(crate) fn run_short(workspace: &Workspace, total: Duration) -> Result<()> {
    let programs = build(workspace, "dev")?;
    let count = targets(&programs)?.len();
    let Some(each) = share(total, count) else {
        return Ok(());
    };
    println!("{count} targets, {} ms each", each.as_millis());
    for program in &programs {
        println!("--- {}", program.package);
        let limit = each.as_millis().to_string();
        command::run(program.command().arg("--nocapture").env(TIME_LIMIT, limit))?;
    }
    Ok(())
}

/// Runs all targets one after another with the best engine there is, sharing `total` among them.
///
/// # Errors
/// The first failure of a target.
pub(crate) fn run_long(workspace: &Workspace, total: Duration) -> Result<()> {
    let programs = build(workspace, "fuzz")?;
    let targets = targets(&programs)?;
    let Some(each) = share(total, targets.len()) else {
        return Ok(());
    };
    run_each(workspace, &targets, each)
}

fn run_each(workspace: &Workspace, targets: &[Target<'_>], each: Duration) -> Result<()> {
    let guided = has_libfuzzer(workspace);
    let engine = if guided {
        "libFuzzer, through cargo-bolero"
    } else {
        "bolero's random one"
    };
    println!(
        "{} targets, {} s each, engine: {engine}",
        targets.len(),
        each.as_secs()
    );
    for target in targets {
        println!("--- {}: {}", target.program.package, target.name);
        if guided {
            run_guided(workspace, target, each)?;
        } else {
            run_random(target, each)?;
        }
    }
    Ok(())
}

/// Runs a target under libFuzzer. It is built with other flags than anything else, so elsewhere.
fn run_guided(workspace: &Workspace, target: &Target<'_>, time: Duration) -> Result<()> {
    let package = &*target.program.package;
    let scope = [
        "bolero",
        "test",
        &target.name,
        "--package",
        package,
        "--all-features",
    ];
    let mut bolero = nightly_cargo(workspace.root(), scope);
    bolero
        .arg("--target-dir")
        .arg(workspace.target_directory().join("bolero"));
    command::run(bolero.args(["-T", &format!("{}s", time.as_secs())]))
}

/// Runs a target on its corpus and on random input.
fn run_random(target: &Target<'_>, time: Duration) -> Result<()> {
    let exactly = [target.name.as_str(), "--exact", "--nocapture"];
    let limit = time.as_millis().to_string();
    command::run(
        target
            .program
            .command()
            .args(exactly)
            .env(TIME_LIMIT, limit),
    )
}

fn share(total: Duration, count: usize) -> Option<Duration> {
    total.checked_div(u32::try_from(count).ok()?)
}

fn build(workspace: &Workspace, profile: &str) -> Result<Vec<Artifact>> {
    let build = [
        "test",
        "--workspace",
        "--all-features",
        "--profile",
        profile,
    ];
    let which = ["--test", FUZZ_TEST, "--no-run"];
    artifacts::build(
        workspace,
        &[&build[..], &which[..]].concat(),
        &TargetKind::Test,
    )
}

fn targets(programs: &[Artifact]) -> Result<Vec<Target<'_>>> {
    let mut found = Vec::new();
    for program in programs {
        let listed = command::output(program.command().args(["--list", "--format", "terse"]))?;
        found.extend(test_names(&listed).map(|name| Target {
            program,
            name: name.to_owned(),
        }));
    }
    Ok(found)
}

/// The names in a test program's terse listing, where each test is a line `name: test`.
fn test_names(listed: &str) -> impl Iterator<Item = &str> {
    listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
}

fn has_libfuzzer(workspace: &Workspace) -> bool {
    command::succeeds(&mut nightly_cargo(
        workspace.root(),
        ["bolero", "--version"],
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{share, test_names};

    #[test]
    fn a_listing_names_tests_and_nothing_else() {
        let listed = "decode_any: test\nframes: test\nspeed: benchmark\n";
        assert_eq!(
            test_names(listed).collect::<Vec<_>>(),
            ["decode_any", "frames"]
        );
    }

    #[test]
    fn the_time_is_shared_and_no_target_is_no_share() {
        assert_eq!(
            share(Duration::from_mins(1), 4),
            Some(Duration::from_secs(15))
        );
        assert_eq!(share(Duration::from_mins(1), 0), None);
    }
}
