//! What criterion left behind: a directory a benchmark, with its name and its estimates in JSON.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Criterion's directory for the last run of one benchmark.
const LAST_RUN: &str = "new";

/// The median time of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    pub(super) group: String,
    /// `klamm` or a peer.
    pub(super) contender: String,
    /// What is the same for all contenders, such as a size; empty if the benchmark has none.
    pub(super) parameter: String,
    /// Of one iteration, in nanoseconds.
    pub(super) median_ns: f64,
    pub(super) work: Option<Work>,
}

/// What one iteration gets done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    Bytes(u64),
    Elements(u64),
}

/// `benchmark.json`: only what is used here.
#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
enum Throughput {
    Bits(u64),
    Bytes(u64),
    BytesDecimal(u64),
    Elements(u64),
    ElementsAndBytes { elements: u64 },
}

/// `estimates.json`: only what is used here.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Removes what tells of the last run, so that nothing old is taken for new; what criterion keeps
/// to compare the next run with stays.
///
/// # Errors
/// A directory that cannot be read or removed.
pub(super) fn forget_last_run(home: &Path) -> Result<()> {
    for directory in last_runs(home)? {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    Ok(())
}

/// Reads all that was measured in the last run, ordered by group and parameter.
///
/// # Errors
/// A file that cannot be read or is not what criterion 0.8 writes.
pub(super) fn read(home: &Path) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for directory in last_runs(home)? {
        let text = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let (benchmark, estimates) = (text("benchmark.json")?, text("estimates.json")?);
        let measurement = parse(&benchmark, &estimates);
        measurements.push(measurement.with_context(|| directory.display().to_string())?);
    }
    measurements.sort_by(|a, b| {
        let (in_a, in_b) = (number(&a.parameter), number(&b.parameter));
        (&a.group, in_a, &a.parameter).cmp(&(&b.group, in_b, &b.parameter))
    });
    Ok(measurements)
}

fn last_runs(directory: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    let cannot_read = || format!("cannot read {}", directory.display());
    for entry in fs::read_dir(directory).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        if path.file_name().is_some_and(|name| name == LAST_RUN)
            && path.join("benchmark.json").is_file()
        {
            found.push(path);
        } else if path.is_dir() {
            found.extend(last_runs(&path)?);
        }
    }
    Ok(found)
}

fn parse(benchmark: &str, estimates: &str) -> Result<Measurement> {
    let benchmark: Benchmark = serde_json::from_str(benchmark)?;
    let estimates: Estimates = serde_json::from_str(estimates)?;
    // The parameter may be criterion's own or a part of the function's name.
    let parts = [benchmark.function_id, benchmark.value_str];
    let name = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
    let (contender, parameter) = name.split_once('/').unwrap_or((&name, ""));
    Ok(Measurement {
        group: benchmark.group_id,
        contender: contender.to_owned(),
        parameter: parameter.to_owned(),
        median_ns: estimates.median.point_estimate,
        work: benchmark.throughput.map(|throughput| match throughput {
            Throughput::Bits(bits) => Work::Bytes(bits / 8),
            Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => Work::Bytes(bytes),
            Throughput::Elements(elements) | Throughput::ElementsAndBytes { elements } => {
                Work::Elements(elements)
            }
        }),
    })
}

/// The first number in a parameter, so that 4096 comes before 16384.
fn number(parameter: &str) -> u64 {
    let digits = parameter.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Measurement, Work, number, parse};

    const ESTIMATES: &str = r#"{"mean":{"point_estimate":7.0},"median":{"confidence_interval":
        {"confidence_level":0.95,"lower_bound":1.0,"upper_bound":3.0},"point_estimate":2.5,
        "standard_error":0.1}}"#;

    #[test]
    fn the_parameter_may_be_criterions_own_or_part_of_the_name() {
        let expected = Measurement {
            group: "decode produce".to_owned(),
            contender: "klamm".to_owned(),
            parameter: "1024".to_owned(),
            median_ns: 2.5,
            work: Some(Work::Bytes(1024)),
        };
        for name in [
            r#""function_id":"klamm","value_str":"1024""#,
            r#""function_id":"klamm/1024","value_str":null"#,
        ] {
            let benchmark = format!(
                r#"{{"group_id":"decode produce",{name},"throughput":{{"Bytes":1024}},
                "full_id":"","directory_name":"","title":""}}"#
            );
            assert_eq!(
                parse(&benchmark, ESTIMATES).expect("as criterion writes it"),
                expected
            );
        }
    }

    #[test]
    fn a_benchmark_may_have_neither_group_parameter_nor_throughput() {
        let benchmark =
            r#"{"group_id":"start","function_id":null,"value_str":null,"throughput":null}"#;
        let read = parse(benchmark, ESTIMATES).expect("as criterion writes it");
        assert_eq!(
            (read.contender.as_str(), read.parameter.as_str(), read.work),
            ("", "", None)
        );
    }

    #[test]
    fn parameters_are_ordered_by_their_number() {
        assert!(number("4096") < number("16384"));
        assert_eq!(number("batches of 100 B, 16 KiB"), 100);
        assert_eq!(number("none"), 0);
    }
}
