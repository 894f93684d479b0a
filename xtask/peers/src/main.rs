//! What Klamm is measured with and against: a load by librdkafka, and the machine's raw limits.
//!
//! Each command prints one JSON object; `cargo xtask bench --peers` calls them and makes a table.

mod cpu;
mod first_answer;
mod limits;
mod load;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// What the machine can do at most, for the same bytes.
    Limits(limits::Options),
    /// Produce records of one size as fast as librdkafka can.
    Produce(load::Options),
    /// Read a topic from its beginning.
    Consume(load::Options),
    /// Produce at a steady rate, and time each record from when it was due.
    Latency(load::LatencyOptions),
    /// Start a broker, and time it until it has answered a Metadata request.
    FirstAnswer(first_answer::Options),
}

fn main() -> Result<()> {
    let printed = match Cli::parse().task {
        Task::Limits(options) => serde_json::to_string(&limits::measure(&options)?),
        Task::Produce(options) => serde_json::to_string(&load::produce(&options)?),
        Task::Consume(options) => serde_json::to_string(&load::consume(&options)?),
        Task::Latency(options) => serde_json::to_string(&load::latency(&options)?),
        Task::FirstAnswer(options) => serde_json::to_string(&first_answer::measure(&options)?),
    };
    println!("{}", printed?);
    Ok(())
}
