//! `klamm-producer produce`.

use std::io::Write;

use bytes::Bytes;
use klamm_fake_broker::StoredRecord;
use klamm_wire::ApiKey;

use crate::support::{
    Cluster, cluster, interrupt, interrupt_twice, partition, refuse_all, run, run_with, start,
    swallow_all, until,
};

fn arguments<'a>(servers: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = [
        "produce",
        "--bootstrap-server",
        servers,
        "--topic",
        "t",
        "--timeout",
        "5",
    ];
    [&base, more].concat()
}

fn values(cluster: &Cluster) -> Vec<String> {
    let records = cluster.model().records(&partition(0)).into_iter();
    records
        .map(|record| String::from_utf8(record.value.unwrap().to_vec()).unwrap())
        .collect()
}

/// Covers PR-154, PR-155, PR-156.
#[tokio::test(flavor = "multi_thread")]
async fn lines_of_the_standard_input_become_records() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let properties = [
        "--property",
        "parse.key=true",
        "--property",
        "parse.headers=true",
        "--property",
        "null.marker=NULL",
    ];
    let input = b"a:1,b:NULL\tkey\tvalue\r\nNULL\tNULL\tNULL\n\t\tlast";
    let ended = run_with(&arguments(&servers, &properties), input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "");
    assert_eq!(
        ended.stderr.lines().last(),
        Some("3 records read: 3 acknowledged, 0 failed")
    );
    let stored: Vec<_> = cluster
        .model()
        .records(&partition(0))
        .into_iter()
        .map(fields)
        .collect();
    let text = |text: &'static str| Some(Bytes::from_static(text.as_bytes()));
    let headers = vec![("a".into(), text("1")), ("b".into(), None)];
    assert_eq!(
        stored,
        [
            (text("key"), text("value"), headers),
            (None, None, Vec::new()),
            (text(""), text("last"), Vec::new()),
        ]
    );
    let seen = cluster.model().seen();
    let id = seen.iter().find_map(|request| request.client_id.as_deref());
    assert_eq!(id, Some("console-producer"));
}

type Fields = (Option<Bytes>, Option<Bytes>, Vec<(Bytes, Option<Bytes>)>);

fn fields(record: StoredRecord) -> Fields {
    (record.key, record.value, record.headers)
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_sent_in_their_order_with_any_codec() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let directory = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    let mut paths = Vec::new();
    for file in 0..2 {
        let lines: Vec<String> = (0..20_000).map(|line| format!("{file}/{line}")).collect();
        let path = directory.path().join(file.to_string());
        std::fs::write(&path, lines.join("\n")).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
        expected.extend(lines);
    }
    let more = [
        &*paths[0],
        &paths[1],
        "--json",
        "--compression-codec",
        "lz4",
    ];
    let ended = run(&arguments(&servers, &more));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let summary = &ended.json()[0];
    assert_eq!(
        (&summary["read"], &summary["acknowledged"]),
        (&40_000.into(), &40_000.into())
    );
    assert_eq!(
        (&summary["failed"], &summary["interrupted"]),
        (&0.into(), &false.into())
    );
    assert!(
        values(&cluster) == expected,
        "they are all there in their order"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn json_and_length_prefixed_records_have_their_partition_and_time() {
    let cluster = cluster(2);
    let servers = cluster.bootstrap();
    let json = br#"{"key":"k","value":{"a":1},"headers":{"h":"x"},"partition":1,"timestamp":77}"#;
    let ended = run_with(&arguments(&servers, &["--format", "json"]), json);
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let mut frame = Vec::new();
    frame.extend(1_i32.to_be_bytes());
    frame.extend(78_i64.to_be_bytes());
    frame.extend((-1_i32).to_be_bytes());
    frame.extend([0, 0, 0, 2, b'\n', 0xff]);
    frame.extend(0_i32.to_be_bytes());
    let mut input = u32::try_from(frame.len()).unwrap().to_be_bytes().to_vec();
    input.extend(frame);
    let binary = arguments(&servers, &["--format", "length-prefixed"]);
    let ended = run_with(&binary, &input);
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let stored = cluster.model().records(&partition(1));
    let times: Vec<i64> = stored.iter().map(|record| record.timestamp_ms).collect();
    assert_eq!(times, [77, 78]);
    assert_eq!(stored[0].value.as_deref(), Some(&br#"{"a":1}"#[..]));
    assert_eq!(stored[0].headers, [("h".into(), Some("x".into()))]);
    assert_eq!(stored[1].value.as_deref(), Some(&b"\n\xff"[..]));
    assert_eq!(stored[1].key, None);
    input.pop();
    let ended = run_with(&binary, &input);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("record 1: the input ends within a record"),
        "{ended:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pr_156_a_line_without_its_separator_ends_the_run_and_is_named() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let keyed = [
        "--property",
        "parse.key=true",
        "--property",
        "key.separator=:",
    ];
    let input = b"a:1\nb:2\nno key\nd:4\n";
    let ended = run_with(&arguments(&servers, &keyed), input);
    assert_eq!(ended.code, Some(2));
    let told = "standard input, record 3: no key.separator (`:`) in it";
    assert!(ended.stderr.contains(told), "{ended:?}");
    let summary = "3 records read: 2 acknowledged, 0 failed, 1 not readable; \
        the input was not read to its end";
    assert!(ended.stderr.contains(summary), "{ended:?}");
    assert_eq!(values(&cluster), ["1", "2"]);

    let ignoring = [&keyed[..], &["--property", "ignore.error=true"]].concat();
    let ended = run_with(&arguments(&servers, &ignoring), input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(values(&cluster)[2..], ["1", "2", "no key", "4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pr_157_records_that_fail_are_named_and_counted() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    refuse_all(&cluster);
    for more in [&["--json"][..], &["--json", "--sync"]] {
        let ended = run_with(&arguments(&servers, more), b"a\nb\nc\n");
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let summary = &ended.json()[0];
        assert_eq!(
            (&summary["read"], &summary["failed"]),
            (&3.into(), &3.into())
        );
        assert!(
            ended.stderr.contains("standard input, record 1"),
            "{ended:?}"
        );
        assert!(ended.stderr.contains("POLICY_VIOLATION"), "{ended:?}");
    }
    assert_eq!(cluster.model().stored().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn pr_157_with_sync_each_record_is_awaited_before_the_next() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let input = b"a\nb\nc\nd\n";
    let ended = run_with(&arguments(&servers, &["--sync"]), input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let counts = |cluster: &Cluster| -> Vec<i32> {
        let batches = cluster.model().batches(&partition(0)).into_iter();
        batches.map(|batch| batch.record_count).collect()
    };
    assert_eq!(counts(&cluster), [1, 1, 1, 1]);
    // Those that are not awaited linger for each other, for a second unless something is said.
    let lingering = ["produce", "--bootstrap-server", &servers, "--topic", "t"];
    let ended = run_with(&lingering, input);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(counts(&cluster)[4..], [4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_flushes_what_was_read() {
    let cluster = cluster(2);
    let servers = cluster.bootstrap();
    // Ten minutes; the last record is larger than a batch, so it leaves at once, to another node.
    let mut child = start(&[
        "produce",
        "--bootstrap-server",
        &servers,
        "--topic",
        "t",
        "--format",
        "json",
        "--timeout",
        "600000",
        "--batch-size",
        "1000",
    ]);
    let large = "x".repeat(2_000);
    let mut input = child.stdin.take().unwrap();
    for line in [
        r#"{"value":"a","partition":1}"#.to_owned(),
        r#"{"value":"b","partition":1}"#.to_owned(),
        format!(r#"{{"value":"{large}","partition":0}}"#),
    ] {
        writeln!(input, "{line}").unwrap();
    }
    until("the large record is stored", || {
        cluster.model().stored().0 == 1
    })
    .await;
    assert_eq!(cluster.model().log_end_offset(&partition(1)).get(), 0);
    let ended = interrupt(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let summary = "3 records read: 3 acknowledged, 0 failed; interrupted";
    assert!(ended.stderr.contains(summary), "{ended:?}");
    assert_eq!(cluster.model().log_end_offset(&partition(1)).get(), 2);
    drop(input);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_ctrl_c_gives_up_and_the_summary_accounts_for_every_record() {
    let cluster = cluster(1);
    swallow_all(&cluster);
    let servers = cluster.bootstrap();
    let mut child = start(&arguments(&servers, &["--json"]));
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"a\nb\nc\n").unwrap();
    until("records are out", || {
        cluster.model().count(ApiKey::Produce) > 0
    })
    .await;
    let ended = interrupt_twice(child, " not acknowledged yet, waiting up to 120s");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("given up, "), "{ended:?}");
    let summary = &ended.json()[0];
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(count("acknowledged"), 0, "{summary}");
    assert!(count("failed") > 0, "{summary}");
    assert_eq!(
        count("failed") + count("unsent"),
        count("read"),
        "{summary}"
    );
    drop(input);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_no_json_is_told_once_with_its_place() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let ended = run_with(&arguments(&servers, &["--format", "json"]), b"{}\nvalue\n");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let told =
        "standard input, record 2: not a record in JSON: expected value at line 1 column 1\n";
    assert!(ended.stderr.contains(told), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_sent_as_soon_as_it_is_there() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let mut child = start(&arguments(&servers, &[]));
    let mut input = child.stdin.take().unwrap();
    for (count, line) in (1..).zip(["one\n", "two\n"]) {
        input.write_all(line.as_bytes()).unwrap();
        until("the line is stored", || cluster.model().stored().0 == count).await;
    }
    input.write_all(b"three").unwrap();
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(values(&cluster), ["one", "two", "three"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_not_there_ends_the_run_before_anything_is_read() {
    let cluster = cluster(1);
    cluster.model().delete_topic("t");
    let servers = cluster.bootstrap();
    let ended = run_with(&arguments(&servers, &["--max-block-ms", "300"]), b"");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains(&format!("topic t at {servers}")),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("UNKNOWN_TOPIC_OR_PARTITION"),
        "{ended:?}"
    );
    assert_eq!(cluster.model().count(ApiKey::Produce), 0);
    let ended = run(&arguments(&servers, &["there-is-no-such-file"]));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("there-is-no-such-file"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_acknowledgements_the_summary_does_not_claim_any() {
    let cluster = cluster(1);
    let servers = cluster.bootstrap();
    let more = ["--request-required-acks", "0"];
    let ended = run_with(&arguments(&servers, &more), b"a\nb\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let summary = "2 records read: 2 sent, which nobody confirms (acks=0), 0 failed";
    assert!(ended.stderr.contains(summary), "{ended:?}");
}
