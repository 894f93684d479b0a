//! Klamm beside each peer, as a table.

use std::fmt::Write as _;

use super::results::{Measurement, Work};
use super::targets;

/// The name under which our own functions stand in a bench.
const OURS: &str = "klamm";

/// Our measurement and that of one peer with the same parameter.
#[derive(Debug, PartialEq)]
pub(super) struct Comparison<'a> {
    ours: &'a Measurement,
    /// None where we ran alone.
    peer: Option<&'a Measurement>,
}

impl Comparison<'_> {
    /// How many times as fast as the peer we are.
    fn ratio(&self) -> Option<f64> {
        self.peer.map(|peer| peer.median_ns / self.ours.median_ns)
    }
}

/// Puts each of our measurements beside those of the peers; keeps the order.
pub(super) fn compare(measurements: &[Measurement]) -> Vec<Comparison<'_>> {
    let mut comparisons = Vec::new();
    for ours in measurements
        .iter()
        .filter(|measurement| measurement.contender == OURS)
    {
        let is_peer = |other: &&Measurement| {
            other.contender != OURS
                && other.group == ours.group
                && other.parameter == ours.parameter
        };
        let before = comparisons.len();
        let peers = measurements.iter().filter(is_peer);
        comparisons.extend(peers.map(|peer| Comparison {
            ours,
            peer: Some(peer),
        }));
        if comparisons.len() == before {
            comparisons.push(Comparison { ours, peer: None });
        }
    }
    comparisons
}

/// Writes the table of one package.
pub(super) fn render(package: &str, comparisons: &[Comparison<'_>]) -> String {
    let mut table = String::from(
        "| bench | parameter | Klamm | | peer | its time | ratio | target |\n\
         |---|---|---:|---:|---|---:|---:|---|\n",
    );
    for comparison in comparisons {
        let Comparison { ours, peer } = comparison;
        let peer_time = peer.map(|peer| time(peer.median_ns)).unwrap_or_default();
        let peer_name = peer.map(|peer| peer.contender.as_str()).unwrap_or_default();
        let ratio = comparison
            .ratio()
            .map(|ratio| format!("{ratio:.2}"))
            .unwrap_or_default();
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {peer_name} | {peer_time} | {ratio} | {} |",
            ours.group,
            ours.parameter,
            time(ours.median_ns),
            ours.work
                .map(|work| rate(work, ours.median_ns))
                .unwrap_or_default(),
            verdict(package, comparison),
        );
    }
    table
}

fn verdict(package: &str, comparison: &Comparison<'_>) -> String {
    let Some((peer, ratio)) = comparison.peer.zip(comparison.ratio()) else {
        return String::new();
    };
    match targets::target(package, &comparison.ours.group, &peer.contender) {
        Some(target) if ratio >= target => format!("{target}: met"),
        Some(target) => format!("{target}: **missed**"),
        None => String::new(),
    }
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
    use super::{compare, render, scaled, time};

    fn measured(contender: &str, parameter: &str, median_ns: f64) -> Measurement {
        Measurement {
            group: "decode".to_owned(),
            contender: contender.to_owned(),
            parameter: parameter.to_owned(),
            median_ns,
            work: Some(Work::Bytes(1000)),
        }
    }

    #[test]
    fn each_of_ours_stands_beside_the_peers_of_its_parameter() {
        let all = [
            measured("klamm", "1", 100.0),
            measured("kafka-protocol", "1", 350.0),
            measured("memcpy", "1", 50.0),
            measured("klamm", "2", 200.0),
        ];
        let table = render("klamm-wire", &compare(&all));
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| decode | 1 | 100 ns | 10.0 GB/s | kafka-protocol | 350 ns | 3.50 | 3: met |",
            "| decode | 1 | 100 ns | 10.0 GB/s | memcpy | 50.0 ns | 0.50 |  |",
            "| decode | 2 | 200 ns | 5.00 GB/s |  |  |  |  |",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_missed_target_is_said() {
        let all = [
            measured("klamm", "1", 100.0),
            measured("kafka-protocol", "1", 299.0),
        ];
        assert!(render("klamm-wire", &compare(&all)).contains("| 2.99 | 3: **missed** |"));
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
