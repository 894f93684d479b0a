//! `cargo xtask deep`: what is too heavy for every change.
//!
//! Model checking runs real code under every order of its atomic steps; Miri runs it on an
//! interpreter that knows undefined behaviour; fuzzing gets minutes instead of seconds.
//! `--short` runs a small form of each, to see that none of it has rotted.

use std::time::Duration;

use anyhow::Result;

use crate::command::{cargo, nightly_cargo, run as run_command, succeeds};
use crate::fuzz;
use crate::stages::Stages;
use crate::workspace::Workspace;

/// The integration test that holds a crate's loom models.
const LOOM_TEST: &str = "loom";

/// Crates whose unit tests Miri can run: those without files, sockets and foreign code.
const MIRI_PACKAGES: [&str; 2] = ["klamm-primitives", "klamm-purgatory"];

/// What `cargo xtask deep` takes.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run a short form of each stage.
    #[arg(long)]
    short: bool,
    /// How long the fuzz targets run, all together.
    #[arg(long, default_value_t = 30, conflicts_with = "short")]
    fuzz_minutes: u64,
}

impl Options {
    fn fuzz_time(&self) -> Duration {
        if self.short {
            Duration::from_mins(1)
        } else {
            Duration::from_mins(self.fuzz_minutes)
        }
    }
}

/// Runs the stages up to the first that fails, then prints how long each took.
///
/// # Errors
/// That of the stage that failed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let mut stages = Stages::default();
    let result = run_stages(&workspace, options, &mut stages);
    stages.finish(result)
}

fn run_stages(workspace: &Workspace, options: &Options, stages: &mut Stages) -> Result<()> {
    for package in workspace.packages_with_test(LOOM_TEST) {
        stages.run(&format!("loom: {package}"), || {
            run_loom(workspace, package, options.short)
        })?;
    }
    let miri = succeeds(&mut nightly_cargo(workspace.root(), ["miri", "--version"]));
    for package in MIRI_PACKAGES {
        let name = format!("miri: {package}");
        if miri {
            stages.run(&name, || run_miri(workspace, package, options.short))?;
        } else {
            stages.skip(&name, "needs a nightly toolchain with the component miri");
        }
    }
    stages.run("fuzz targets", || {
        fuzz::run_long(workspace, options.fuzz_time())
    })
}

/// Runs a crate's models in a target directory of their own: the flag that switches the atomics
/// reaches every crate, and what was built without it must not be thrown away. The development
/// profile keeps our assertions on, and models of a few steps are over in no time.
fn run_loom(workspace: &Workspace, package: &str, short: bool) -> Result<()> {
    let test = ["test", "--package", package, "--test", LOOM_TEST];
    let mut command = cargo(workspace.root(), test);
    command.env("RUSTFLAGS", "--cfg loom");
    command
        .arg("--target-dir")
        .arg(workspace.target_directory().join("loom"));
    if short {
        // Nearly all such bugs show within two preemptions, at a fraction of the orders.
        command.env("LOOM_MAX_PREEMPTIONS", "2");
    }
    run_command(&mut command)
}

/// Runs a crate's unit tests in Miri. Property tests run a few cases only, and may look for the
/// file of their earlier failures, which Miri forbids unless told otherwise.
fn run_miri(workspace: &Workspace, package: &str, short: bool) -> Result<()> {
    let test = [
        "miri",
        "test",
        "--package",
        package,
        "--lib",
        "--all-features",
    ];
    let mut command = nightly_cargo(workspace.root(), test);
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    command.env("PROPTEST_CASES", if short { "2" } else { "16" });
    run_command(&mut command)
}
