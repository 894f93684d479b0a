//! `klamm-producer perf`.

use std::process::Stdio;
use std::time::Duration;

use klamm_io::{Clock, SystemClock};
use klamm_wire::ApiKey;

use crate::support::{
    Ended, cluster, interrupt, interrupt_twice, partition, program, refuse_all, run, swallow_all,
    until,
};

fn perf(servers: &str, more: &str) -> Ended {
    let servers = format!("bootstrap.servers={servers}");
    let line = format!("perf --topic t --producer-props {servers} linger.ms=5 {more}");
    run(&line.split(' ').collect::<Vec<_>>())
}

/// Covers PR-149, PR-150, PR-152.
#[tokio::test(flavor = "multi_thread")]
async fn every_record_is_sent_and_the_total_is_printed_as_kafkas_tool_prints_it() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let ended = perf(
        &servers,
        "--num-records 1000 --throughput -1 --record-size 100",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let total = ended.stdout.lines().last().unwrap();
    assert!(total.starts_with("1000 records sent, "), "{total}");
    let mut rest = total;
    for word in [
        " records/sec (",
        " MB/sec), ",
        " ms avg latency, ",
        " ms max latency, ",
        " ms 50th, ",
        " ms 95th, ",
        " ms 99th, ",
        " ms 99.9th.",
    ] {
        let (number, behind) = rest.split_once(word).unwrap_or_else(|| panic!("{total}"));
        let number = number.rsplit([',', ' ']).next().unwrap();
        assert!(number.parse::<f64>().is_ok(), "{number} in {total}");
        rest = behind;
    }
    assert_eq!(rest, "");
    let stored = cluster.model().records(&partition(0));
    assert_eq!(stored.len(), 1_000);
    let values = stored.iter().map(|record| record.value.as_ref().unwrap());
    assert!(values.clone().all(|value| value.len() == 100));
    assert!(values.flatten().all(u8::is_ascii_uppercase));
    let seen = cluster.model().seen();
    let id = seen.iter().find_map(|request| request.client_id.as_deref());
    assert_eq!(id, Some("perf-producer-client"));
}

/// Covers PR-149, PR-150, PR-152.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_and_pieces_of_a_file_are_sent_and_json_is_printed() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let json = "--num-records 30 --throughput 1000 --payload-monotonic --json --print-metrics";
    let ended = perf(&servers, json);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let values = || -> Vec<String> {
        let records = cluster.model().records(&partition(0)).into_iter();
        let values = records.map(|record| record.value.unwrap().to_vec());
        values
            .map(|value| String::from_utf8(value).unwrap())
            .collect()
    };
    let expected: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    assert_eq!(values(), expected);
    let lines = ended.json();
    assert_eq!(
        (&lines[0]["kind"], &lines[0]["records"]),
        (&"total".into(), &30.into())
    );
    let sent = lines
        .iter()
        .find(|line| line["name"] == "record-send-total");
    assert_eq!(sent.unwrap()["value"], 30.0);

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("payload");
    std::fs::write(&path, "red;green;blue").unwrap();
    let path = path.display();
    let pieces =
        format!("--num-records 50 --throughput -1 --payload-file {path} --payload-delimiter ;");
    let ended = perf(&servers, &pieces);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut drawn = values().split_off(30);
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn, ["blue", "green", "red"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pr_152_records_that_fail_are_not_counted_and_the_exit_code_says_so() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    refuse_all(&cluster);
    let ended = perf(&servers, "--num-records 7 --throughput -1 --record-size 9");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stdout.starts_with("0 records sent, "), "{ended:?}");
    assert!(
        ended.stderr.contains("7 records failed, the first: "),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("POLICY_VIOLATION"), "{ended:?}");
}

/// Covers PR-153.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_of_0_sends_nothing_until_somebody_asks_to_end() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let child = program(&[
        "perf",
        "--topic",
        "t",
        "--num-records",
        "5",
        "--throughput",
        "0",
        "--payload-monotonic",
        "--bootstrap-server",
        &servers,
    ]);
    let child = { child }.stdin(Stdio::null()).spawn().unwrap();
    until("it has connected", || cluster.open_connections() > 0).await;
    let ended = interrupt(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(cluster.model().stored().0, 0);
}

/// With a broker that says nothing any more the first Ctrl-C tells what is waited for, and the
/// second one ends the waiting with an account.
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_tells_what_it_waits_for_and_a_second_one_gives_it_up() {
    let cluster = cluster(1);
    swallow_all(&cluster);
    let servers = cluster.bootstrap();
    let line = "perf --topic t --num-records 70 --throughput -1 --record-size 10";
    let arguments = line.split(' ').chain(["--bootstrap-server", &servers]);
    let child = program(&arguments.collect::<Vec<_>>()).spawn().unwrap();
    until("records are out", || {
        cluster.model().count(ApiKey::Produce) > 0
    })
    .await;
    let told = " not acknowledged yet, waiting up to 120s (delivery.timeout.ms); \
        Ctrl-C again to give them up";
    let began = SystemClock.now();
    let ended = interrupt_twice(child, told);
    let took = SystemClock.now() - began;
    assert!(took < Duration::from_mins(1), "it waited: {took:?}");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    // On a slow machine the first one may come before the last record is sent.
    let before = ended.stderr.split(told).next().unwrap();
    let records = before.rsplit("ending, ").next().unwrap();
    let given_up = format!("given up, {records} not acknowledged");
    assert!(ended.stderr.contains(&given_up), "{ended:?}");
    let failed = format!("{records} failed, the first: ");
    assert!(ended.stderr.contains(&failed), "{ended:?}");
    assert!(ended.stdout.starts_with("0 records sent"), "{ended:?}");
}

/// Covers PR-149.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_are_refused_by_name() {
    let base = "--num-records 5 --throughput -1 --payload-monotonic";
    let ended = perf("127.0.0.1:1", &format!("{base} --transactional-id x"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("--transactional-id"), "{ended:?}");
}
