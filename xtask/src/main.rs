//! The project's own commands: `cargo xtask test` and its kin.
//!
//! They are programs of the workspace, not scripts, so that a bare clone needs cargo and a C
//! compiler and nothing else. `test` is what must pass before anything is merged; `deep` holds
//! what is too heavy for that; the others are tools for one task each.

mod artifacts;
mod bench;
mod command;
mod deep;
mod e2e;
mod fuzz;
mod interop;
mod running_broker;
mod soak;
mod stages;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Klamm's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check that a change must pass; needs cargo and a C compiler only.
    Test,
    /// Check the house rules and write docs/coverage.md.
    Tidy(tidy::Options),
    /// Run what is too heavy for `test`: model checking, Miri, long fuzzing.
    Deep(deep::Options),
    /// Run fuzz targets for longer than `test` does, or list them.
    Fuzz(fuzz::Options),
    /// Run programs that are not ours against ours: kcat, librdkafka, Apache Kafka's tools.
    Interop(interop::Options),
    /// Take the broker's program through a million records, a restart and a kill.
    E2e(e2e::Options),
    /// Play tests that gain by being done often for many rounds, or list them.
    Soak(soak::Options),
    /// Run the benches, print how Klamm compares, and write docs/benchmarks.md.
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Test => test::run(),
        Task::Tidy(options) => tidy::run(&options),
        Task::Deep(options) => deep::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Interop(options) => interop::run(&options),
        Task::E2e(options) => e2e::run(&options),
        Task::Soak(options) => soak::run(&options),
        Task::Bench(options) => bench::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
