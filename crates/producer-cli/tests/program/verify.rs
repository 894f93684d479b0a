//! `klamm-producer verify`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::support::{
    Ended, cluster, interrupt, interrupt_twice, partition, program, refuse_all, run, until,
};

fn verify(servers: &str, more: &str) -> Ended {
    let line = format!("verify --topic t --bootstrap-server {servers} {more}");
    run(&line.split(' ').collect::<Vec<_>>())
}

fn names(lines: &[Value]) -> HashMap<&str, usize> {
    let mut names = HashMap::new();
    for line in lines {
        assert!(line["timestamp"].is_i64(), "{line}");
        *names.entry(line["name"].as_str().unwrap()).or_default() += 1;
    }
    names
}

/// Covers PR-158, PR-159.
#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledgement_is_told_with_the_place_where_the_record_is() {
    let cluster = cluster(2);
    let servers = cluster.bootstrap();
    let more = "--max-messages 500 --value-prefix 7 --repeating-keys 3 --message-create-time 1000";
    let ended = verify(&servers, more);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = ended.json();
    assert_eq!(lines[0]["name"], "startup_complete");
    assert_eq!(lines[lines.len() - 2]["name"], "shutdown_complete");
    let data = lines.last().unwrap();
    assert_eq!(data["name"], "tool_data");
    assert_eq!((&data["sent"], &data["acked"]), (&500.into(), &500.into()));
    assert_eq!(data["target_throughput"], -1);
    assert!(data["avg_throughput"].as_f64().unwrap() > 0.0);
    assert_eq!(names(&lines)["producer_send_success"], 500);

    let stored = [0, 1].map(|index| cluster.model().records(&partition(index)));
    let mut numbers = Vec::new();
    for line in &lines[1..=500] {
        let place = |name: &str| usize::try_from(line[name].as_i64().unwrap()).unwrap();
        let record = &stored[place("partition")][place("offset")];
        let text = |name: &str| Some(line[name].as_str().unwrap().as_bytes());
        assert_eq!(record.value.as_deref(), text("value"));
        assert_eq!(record.key.as_deref(), text("key"));
        assert!((1_000..1_000_000).contains(&record.timestamp_ms));
        assert_eq!(line["topic"], "t");
        let number = line["value"].as_str().unwrap().strip_prefix("7.").unwrap();
        let number: u64 = number.parse().unwrap();
        assert_eq!(line["key"], (number % 3).to_string());
        numbers.push(number);
    }
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..500));
}

/// Covers PR-158, PR-159.
#[tokio::test(flavor = "multi_thread")]
async fn every_failure_is_told() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    refuse_all(&cluster);
    let ended = verify(&servers, "--max-messages 20 --acks 1");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let lines = ended.json();
    assert_eq!(names(&lines)["producer_send_error"], 20);
    let error = &lines[1];
    assert_eq!(error["exception"], "POLICY_VIOLATION");
    assert_eq!(
        (&error["key"], &error["value"]),
        (&Value::Null, &"0".into())
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("POLICY_VIOLATION")
    );
    let data = lines.last().unwrap();
    assert_eq!((&data["sent"], &data["acked"]), (&20.into(), &0.into()));
}

/// Covers PR-158, PR-159.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_run_ends_when_asked_and_accounts_for_all() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let arguments = format!("verify --topic t --bootstrap-server {servers} --throughput 500");
    let mut child = program(&arguments.split(' ').collect::<Vec<_>>())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut read = String::new();
    for _ in 0..30 {
        output.read_line(&mut read).unwrap();
    }
    let rest = std::thread::spawn(move || {
        let lines: Result<Vec<String>, _> = output.lines().collect();
        lines.unwrap()
    });
    let ended = interrupt(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rest = rest.join().unwrap();
    let lines = read.lines().chain(rest.iter().map(String::as_str));
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let data = lines.last().unwrap();
    let told = names(&lines)["producer_send_success"] as u64;
    assert_eq!(
        (&data["sent"], &data["acked"]),
        (&told.into(), &told.into())
    );
    assert_eq!(cluster.model().stored().0, told);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_nobody_reads_any_more_ends_the_run() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let arguments = format!("verify --topic t --bootstrap-server {servers}");
    let mut child = program(&arguments.split(' ').collect::<Vec<_>>())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    // What was sent is acknowledged, and whoever closes a pipe has seen enough.
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}

/// The output's pipe is full, and whoever has it neither reads nor goes.
#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_nobody_reads_is_given_up_with_the_second_ctrl_c() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let arguments = format!("verify --topic t --bootstrap-server {servers}");
    let child = program(&arguments.split(' ').collect::<Vec<_>>())
        .spawn()
        .unwrap();
    // More than a pipe holds.
    until("the pipe is full", || cluster.model().stored().0 >= 10_000).await;
    let ended = interrupt_twice(child, "ending, ");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("nobody reads"), "{ended:?}");
}
