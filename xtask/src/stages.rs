//! Stages of a long run: each is announced, timed and listed in a table at the end.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// What has run so far. The first stage that fails ends the run.
#[derive(Default)]
pub(crate) struct Stages {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    took: Duration,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    Failed,
    Skipped(String),
}

impl Stages {
    /// Announces, runs and times one stage.
    ///
    /// # Errors
    /// Those of the stage, with its name in front.
    pub(crate) fn run(&mut self, name: &str, stage: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n=== {name}");
        let started = now();
        let result = stage();
        let took = now().duration_since(started);
        let outcome = if result.is_ok() {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        println!("=== {name}: {outcome} after {:.1} s", took.as_secs_f64());
        self.rows.push(Row {
            name: name.to_owned(),
            took,
            outcome,
        });
        result.with_context(|| format!("stage `{name}`"))
    }

    /// As [`run`](Self::run), for a stage that finds out by itself that it cannot run here: it
    /// returns the reason.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn run_or_skip(
        &mut self,
        name: &str,
        stage: impl FnOnce() -> Result<Option<String>>,
    ) -> Result<()> {
        let mut reason = None;
        self.run(name, || {
            reason = stage()?;
            Ok(())
        })?;
        if let (Some(reason), Some(row)) = (reason, self.rows.last_mut()) {
            println!("=== {name}: skipped: {reason}");
            row.outcome = Outcome::Skipped(reason);
        }
        Ok(())
    }

    /// Lists a stage that cannot run here, with the reason.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        println!("\n=== {name}: skipped: {reason}");
        self.rows.push(Row {
            name: name.to_owned(),
            took: Duration::ZERO,
            outcome: Outcome::Skipped(reason.to_owned()),
        });
    }

    /// Prints the table, then passes the outcome of the whole run on.
    ///
    /// # Errors
    /// Those of the run.
    pub(crate) fn finish(self, result: Result<()>) -> Result<()> {
        println!("\n{self}");
        result
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self
            .rows
            .iter()
            .map(|row| row.name.len())
            .max()
            .unwrap_or(0)
            .max(5);
        for row in &self.rows {
            let Row {
                name,
                took,
                outcome,
            } = row;
            writeln!(
                out,
                "{name:widest$} {:>8.1} s  {outcome}",
                took.as_secs_f64()
            )?;
        }
        let total: Duration = self.rows.iter().map(|row| row.took).sum();
        write!(out, "{:widest$} {:>8.1} s", "total", total.as_secs_f64())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => out.write_str("passed"),
            Self::Failed => out.write_str("FAILED"),
            Self::Skipped(reason) => write!(out, "skipped: {reason}"),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "stages are timed for the person who waits for them"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::Stages;

    #[test]
    fn the_table_names_each_stage_and_its_outcome() {
        let mut stages = Stages::default();
        stages.run("format", || Ok(())).expect("passes");
        stages.skip("miri", "not installed");
        let error = stages
            .run("tests", || anyhow::bail!("three failed"))
            .expect_err("fails");
        assert_eq!(format!("{error:#}"), "stage `tests`: three failed");
        let table = stages.to_string();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!((rows[0][0], rows[0][3]), ("format", "passed"));
        assert_eq!(rows[1][3..], ["skipped:", "not", "installed"]);
        assert_eq!((rows[2][0], rows[2][3]), ("tests", "FAILED"));
        assert_eq!(rows[3][0], "total");
    }
}
