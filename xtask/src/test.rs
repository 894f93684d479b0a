//! `cargo xtask test`: every check that a change must pass, in stages.
//!
//! All stages build with the same features (all of them), the same profile and the same flags, so
//! that cargo compiles each crate once to be checked and once to be run; only the stage that checks
//! each crate alone must differ. What is cheap and often wrong comes first.

use std::time::Duration;

use anyhow::Result;
use cargo_metadata::TargetKind;

use crate::command::{cargo, run as run_command};
use crate::stages::Stages;
use crate::workspace::Workspace;
use crate::{artifacts, fuzz, tidy};

/// Random input of all fuzz targets together.
const FUZZ_TIME: Duration = Duration::from_mins(1);

/// While the other tests run, a fuzz target reads its corpus and this many random inputs.
const FUZZ_ITERATIONS_AS_A_TEST: &str = "256";

/// What is compiled to be run: everything but the examples, which are built as what they are.
const TESTS: [&str; 4] = ["test", "--workspace", "--all-features", "--no-fail-fast"];

/// Runs the stages up to the first that fails, then prints how long each took.
///
/// # Errors
/// That of the stage that failed.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::load()?;
    let mut stages = Stages::default();
    let result = run_stages(&workspace, &mut stages);
    stages.finish(result)
}

fn run_stages(workspace: &Workspace, stages: &mut Stages) -> Result<()> {
    let root = workspace.root();
    stages.run("format", || {
        run_command(&mut cargo(root, ["fmt", "--all", "--check"]))
    })?;
    stages.run("tidy", || tidy::check(workspace))?;
    stages.run("clippy", || {
        let scope = ["clippy", "--workspace", "--all-targets", "--all-features"];
        run_command(cargo(root, scope).args(["--", "--deny", "warnings"]))
    })?;
    stages.run("each crate alone", || check_each_alone(workspace))?;
    stages.run("build tests and benches", || {
        let kinds = ["--lib", "--bins", "--tests", "--bench", "*", "--no-run"];
        run_command(cargo(root, TESTS).args(kinds))
    })?;
    stages.run("tests", || {
        let kinds = ["--lib", "--bins", "--tests"];
        let bound = ("BOLERO_RANDOM_ITERATIONS", FUZZ_ITERATIONS_AS_A_TEST);
        run_command(cargo(root, TESTS).args(kinds).env(bound.0, bound.1))
    })?;
    stages.run("fuzz targets", || fuzz::run_short(workspace, FUZZ_TIME))?;
    stages.run("benches, once each", || {
        run_command(cargo(root, TESTS).args(["--bench", "*"]))
    })?;
    stages.run("examples", || run_examples(workspace))?;
    stages.run("doc tests", || run_command(cargo(root, TESTS).arg("--doc")))?;
    stages.run("docs", || {
        let scope = ["doc", "--workspace", "--all-features", "--no-deps"];
        run_command(cargo(root, scope).env("RUSTDOCFLAGS", "--deny warnings"))
    })
}

/// Checks each package by itself, without its optional features and with all of them: within the
/// workspace it is lent the features that its neighbours ask of a common dependency.
fn check_each_alone(workspace: &Workspace) -> Result<()> {
    for package in workspace.packages() {
        for features in ["--no-default-features", "--all-features"] {
            let check = ["check", "--quiet", "--package", &package.name, features];
            run_command(&mut cargo(workspace.root(), check))?;
        }
    }
    Ok(())
}

/// Builds each example and runs it: an example that does not run is no example.
fn run_examples(workspace: &Workspace) -> Result<()> {
    let build = ["build", "--workspace", "--all-features", "--examples"];
    for example in artifacts::build(workspace, &build, &TargetKind::Example)? {
        println!("--- {}: {}", example.package, example.target);
        run_command(&mut example.command())?;
    }
    Ok(())
}
