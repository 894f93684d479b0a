//! [`Report`]: what is printed, as Apache Kafka's tool prints it or as JSON. (PR-152)

use std::fmt::Write as _;

use klamm_producer::Metric;
use serde::Serialize;

/// Rates and latencies of some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    /// Records that were acknowledged.
    pub(crate) records: u64,
    /// Of them.
    pub(crate) records_per_second: f64,
    /// Of their values; an MB is 1048576 bytes.
    pub(crate) mb_per_second: f64,
    /// From the call to the acknowledgement; 0 without records.
    pub(crate) latency_avg_ms: f64,
    /// The same.
    pub(crate) latency_max_ms: f64,
    /// Of a whole run; a window has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) percentiles_ms: Option<Percentiles>,
}

/// So many of a hundred latencies, in milliseconds, are not longer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p99_9: f64,
}

/// How reports are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The words of Apache Kafka's tool, which scripts read.
    Text,
    /// An object a line, with all digits.
    Json,
}

impl Form {
    /// By the option.
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }

    /// A report as a line, without its end.
    pub(crate) fn line(self, report: &Report) -> String {
        match self {
            Self::Text => text(report),
            Self::Json => {
                let kind = report.percentiles_ms.map_or("window", |_| "total");
                json(kind, report)
            }
        }
    }

    /// A metric as a line, without its end.
    pub(crate) fn metric(self, metric: &Metric, client_id: &str) -> String {
        let Metric {
            group,
            name,
            topic,
            value,
        } = metric;
        match self {
            Self::Text => {
                let topic = topic.as_ref().map(|topic| format!(", topic={topic}"));
                let topic = topic.unwrap_or_default();
                format!("{group}:{name}:{{client-id={client_id}{topic}}} : {value:.3}")
            }
            Self::Json => {
                let topic = topic.as_deref();
                json(
                    "metric",
                    &MetricLine {
                        group,
                        name,
                        topic,
                        value: *value,
                    },
                )
            }
        }
    }
}

#[derive(Serialize)]
struct MetricLine<'a> {
    group: &'a str,
    name: &'a str,
    topic: Option<&'a str>,
    /// Null where there is nothing to average.
    value: f64,
}

/// An object with its kind in front.
fn json<T: Serialize>(kind: &'static str, body: &T) -> String {
    #[derive(Serialize)]
    struct Kinded<'a, T> {
        kind: &'static str,
        #[serde(flatten)]
        body: &'a T,
    }
    serde_json::to_string(&Kinded { kind, body }).expect("numbers and texts are always JSON")
}

/// A window has one digit where a total has more, and a total its percentiles in whole
/// milliseconds.
fn text(report: &Report) -> String {
    let Report {
        records,
        records_per_second: rate,
        mb_per_second: mb,
        latency_avg_ms: average,
        latency_max_ms: max,
        percentiles_ms: percentiles,
    } = report;
    let mut line = match percentiles {
        None => format!(
            "{records} records sent, {rate:.1} records/sec ({mb:.2} MB/sec), \
             {average:.1} ms avg latency, {max:.1} ms max latency."
        ),
        Some(_) => format!(
            "{records} records sent, {rate:.6} records/sec ({mb:.2} MB/sec), \
             {average:.2} ms avg latency, {max:.2} ms max latency"
        ),
    };
    if let Some(Percentiles {
        p50,
        p95,
        p99,
        p99_9,
    }) = percentiles
    {
        for (value, name) in [(p50, "50th"), (p95, "95th"), (p99, "99th")] {
            write!(line, ", {value:.0} ms {name}").expect("a text takes all");
        }
        write!(line, ", {p99_9:.0} ms 99.9th.").expect("a text takes all");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(percentiles: Option<Percentiles>) -> Report {
        Report {
            records: 500_000,
            records_per_second: 99_960.015_994,
            mb_per_second: 9.532_9,
            latency_avg_ms: 1.256,
            latency_max_ms: 210.04,
            percentiles_ms: percentiles,
        }
    }

    fn percentiles() -> Percentiles {
        Percentiles {
            p50: 1.2,
            p95: 2.6,
            p99: 9.0,
            p99_9: 200.4,
        }
    }

    #[test]
    fn pr_152_a_window_is_printed_as_kafkas_tool_prints_it() {
        assert_eq!(
            Form::Text.line(&report(None)),
            "500000 records sent, 99960.0 records/sec (9.53 MB/sec), 1.3 ms avg latency, \
             210.0 ms max latency."
        );
    }

    #[test]
    fn pr_152_the_total_has_percentiles() {
        assert_eq!(
            Form::Text.line(&report(Some(percentiles()))),
            "500000 records sent, 99960.015994 records/sec (9.53 MB/sec), 1.26 ms avg latency, \
             210.04 ms max latency, 1 ms 50th, 3 ms 95th, 9 ms 99th, 200 ms 99.9th."
        );
    }

    #[test]
    fn json_has_all_digits_and_says_what_it_is() {
        let window = Form::Json.line(&report(None));
        let expected = "{\"kind\":\"window\",\"records\":500000,\
            \"records_per_second\":99960.015994,\"mb_per_second\":9.5329,\
            \"latency_avg_ms\":1.256,\"latency_max_ms\":210.04}";
        assert_eq!(window, expected);
        let total = Form::Json.line(&report(Some(percentiles())));
        let total: serde_json::Value = serde_json::from_str(&total).unwrap();
        assert_eq!(total["kind"], "total");
        assert_eq!(total["percentiles_ms"]["p99_9"], 200.4);
    }

    #[test]
    fn a_metric_is_a_line_and_without_a_value_it_is_null() {
        let mut metric = Metric {
            group: "producer-topic-metrics",
            name: "byte-rate",
            topic: Some("t".into()),
            value: 1.5,
        };
        assert_eq!(
            Form::Text.metric(&metric, "c"),
            "producer-topic-metrics:byte-rate:{client-id=c, topic=t} : 1.500"
        );
        metric.value = f64::NAN;
        let line = Form::Json.metric(&metric, "c");
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(line["value"].is_null() && line["topic"] == "t");
    }
}
