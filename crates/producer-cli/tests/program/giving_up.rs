//! What a second Ctrl-C says of the records that are given up, while the next one waits for memory.

use std::io::Write as _;

use klamm_wire::ApiKey;

use crate::support::{cluster, interrupt_twice, start, swallow_all, until};

/// A record that was never handed over is not among them.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_waits_for_memory_is_not_told_to_be_on_its_way() {
    let directory = tempfile::tempdir().unwrap();
    let settings = directory.path().join("settings");
    std::fs::write(
        &settings,
        "buffer.memory=3000\nbatch.size=1000\nmax.block.ms=600000\nrequest.timeout.ms=60000\n",
    )
    .unwrap();
    let settings = settings.to_str().unwrap();
    for (command, more) in [
        (
            "perf",
            "--num-records 900 --throughput -1 --record-size 100",
        ),
        ("verify", "--max-messages 900"),
        ("produce", "--json --timeout 0"),
    ] {
        let cluster = cluster(1);
        swallow_all(&cluster);
        let servers = cluster.bootstrap();
        let line = format!(
            "{command} --topic t --bootstrap-server {servers} --producer.config {settings} {more}"
        );
        let mut child = start(&line.split(' ').collect::<Vec<_>>());
        let mut input = child.stdin.take().unwrap();
        if command == "produce" {
            input.write_all(&b"a line\n".repeat(900)).unwrap();
        }
        until("records are out", || {
            cluster.model().count(ApiKey::Produce) > 0
        })
        .await;
        let ended = interrupt_twice(child, " not acknowledged yet, waiting up to");
        let given_up = ended.stderr.split("given up, ").nth(1).unwrap();
        let given_up: usize = given_up.split(' ').next().unwrap().parse().unwrap();
        let failed = match command {
            "perf" => {
                let before = ended.stderr.split(" failed, the first").next().unwrap();
                let records = before.rsplit(": ").next().unwrap();
                records.split(' ').next().unwrap().parse().unwrap()
            }
            "verify" => ended.stdout.matches("producer_send_error").count(),
            _ => usize::try_from(ended.json()[0]["failed"].as_u64().unwrap()).unwrap(),
        };
        assert!(failed < 900, "{command}: nothing waited");
        assert_eq!(given_up, failed, "{command}: {}", ended.stderr);
    }
}
