//! The figures of one package as a table: each contender's time, and how Klamm compares.

use std::fmt::Write as _;

use super::results::{Measurement, Work};
use super::targets;

/// The name under which our own function stands in a bench.
const OURS: &str = "klamm";

/// Writes the table of one package, and under it how the cost of what must be flat grows.
pub(super) fn render(package: &str, measurements: &[Measurement]) -> String {
    let mut table = String::from(
        "| bench | parameter | who | time | rate | Klamm is × as fast | target |\n\
         |---|---|---|---:|---:|---:|---|\n",
    );
    for measurement in measurements {
        let Measurement {
            group,
            contender,
            parameter,
            median_ns,
            work,
        } = measurement;
        let ratio = ratio(measurement, measurements);
        let target = targets::ratio(package, group, parameter, contender);
        let _ = writeln!(
            table,
            "| {group} | {parameter} | {contender} | {} | {} | {} | {} |",
            time(*median_ns),
            work.map(|work| rate(work, *median_ns)).unwrap_or_default(),
            ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            target
                .zip(ratio)
                .map(|(target, ratio)| verdict(target, ratio))
                .unwrap_or_default(),
        );
    }
    for group in measurements.chunk_by(|a, b| a.group == b.group) {
        if targets::is_flat(package, &group[0].group) {
            table.push_str(&growth(group));
        }
    }
    table
}

/// How many times as fast as this contender we are with the same parameter: its time through ours.
fn ratio(measurement: &Measurement, all: &[Measurement]) -> Option<f64> {
    let is_ours = |other: &&Measurement| {
        other.contender == OURS
            && other.group == measurement.group
            && other.parameter == measurement.parameter
    };
    let ours = all
        .iter()
        .find(is_ours)
        .filter(|_| measurement.contender != OURS)?;
    Some(measurement.median_ns / ours.median_ns)
}

fn verdict(target: f64, ratio: f64) -> String {
    if ratio >= target {
        format!("{target}: met")
    } else {
        format!("{target}: **missed**")
    }
}

/// A sentence on what we cost with the first and the last parameter of a group.
fn growth(group: &[Measurement]) -> String {
    let ours: Vec<_> = group
        .iter()
        .filter(|measurement| measurement.contender == OURS)
        .collect();
    let (Some(first), Some(last)) = (ours.first(), ours.last()) else {
        return String::new();
    };
    format!(
        "\n`{}` must not rise with its parameter: Klamm takes {:.2} × as long at {} as at {}.\n",
        first.group,
        last.median_ns / first.median_ns,
        last.parameter,
        first.parameter,
    )
}

fn time(ns: f64) -> String {
    scaled(ns, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

fn rate(work: Work, ns: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let per_second = |count: u64| count as f64 * 1e9 / ns;
    match work {
        Work::Bytes(count) => scaled(
            per_second(count),
            &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
        ),
        Work::Elements(count) => scaled(
            per_second(count),
            &[(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")],
        ),
    }
}

/// Three digits in the largest unit that leaves one before the point.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let smallest = units.last().copied().unwrap_or((1.0, ""));
    let (unit, name) = units
        .iter()
        .copied()
        .find(|(unit, _)| value >= *unit)
        .unwrap_or(smallest);
    let value = value / unit;
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::super::results::{Measurement, Work};
    use super::{render, scaled, time};

    fn measured(contender: &str, parameter: &str, median_ns: f64) -> Measurement {
        Measurement {
            group: "enter_and_complete".to_owned(),
            contender: contender.to_owned(),
            parameter: parameter.to_owned(),
            median_ns,
            work: Some(Work::Bytes(1000)),
        }
    }

    #[test]
    fn each_contender_is_compared_with_ours_of_the_same_parameter() {
        let all = [
            measured("kafka_protocol", "1", 350.0),
            measured("klamm", "1", 100.0),
            measured("memcpy", "1", 50.0),
            measured("memcpy", "2", 50.0),
        ];
        let table = render("klamm-wire", &all);
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| enter_and_complete | 1 | kafka_protocol | 350 ns | 2.86 GB/s | 3.50 | 3: met |",
            "| enter_and_complete | 1 | klamm | 100 ns | 10.0 GB/s |  |  |",
            "| enter_and_complete | 1 | memcpy | 50.0 ns | 20.0 GB/s | 0.50 |  |",
            "| enter_and_complete | 2 | memcpy | 50.0 ns | 20.0 GB/s |  |  |",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_missed_target_is_said() {
        let all = [
            measured("klamm", "1", 100.0),
            measured("kafka_protocol", "1", 299.0),
        ];
        assert!(render("klamm-wire", &all).contains("| 2.99 | 3: **missed** |"));
    }

    #[test]
    fn the_growth_of_what_must_be_flat_is_said() {
        let all = [
            measured("klamm", "1000", 100.0),
            measured("delay_queue", "1000", 100.0),
            measured("klamm", "1000000", 150.0),
        ];
        let table = render("klamm-purgatory", &all);
        let said = "Klamm takes 1.50 × as long at 1000000 as at 1000.\n";
        assert!(table.ends_with(said), "{table}");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(time(0.5), "0.50 ns");
        assert_eq!(time(1234.0), "1.23 µs");
        assert_eq!(time(12_340.0), "12.3 µs");
        assert_eq!(time(123_400.0), "123 µs");
        assert_eq!(scaled(3.0, &[]), "3.00 ");
    }
}
