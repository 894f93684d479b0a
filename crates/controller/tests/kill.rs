//! A real process with a real directory, killed in the middle of its work.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use klamm_controller::{Quorum, RaftOptions, RaftQuorum};
use klamm_io::{RealDisk, SystemClock};
use klamm_primitives::{BrokerId, Uuid};
use klamm_wire::metadata::topic::TopicRecord;

/// Where the process works; it does nothing without.
const DIRECTORY: &str = "KLAMM_TEST_QUORUM_DIRECTORY";

/// What stands before the name of a topic that was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged ";

async fn open(directory: &Path) -> RaftQuorum<RealDisk, SystemClock> {
    let options = RaftOptions {
        // So that snapshots are taken and the log is cut meanwhile.
        snapshot_bytes: 2_000,
        ..RaftOptions::new(
            BrokerId::new(1),
            "a-cluster",
            directory.join("klamm-metadata"),
        )
    };
    let opened = RaftQuorum::open(RealDisk, options, SystemClock).await;
    opened.expect("a killed process leaves a directory that opens")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other test runs it as a process of its own"]
async fn proposes_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let quorum = open(&directory).await;
    let mut count = quorum.watch().borrow().topic_count() as u128;
    loop {
        count += 1;
        let name = format!("topic-{count}");
        let record = TopicRecord {
            name: name.as_str().into(),
            topic_id: Uuid::from_u128(count << 64),
            ..TopicRecord::default()
        };
        quorum.propose(vec![record.into()]).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{ACKNOWLEDGED}{name}").unwrap();
        out.flush().unwrap();
    }
}

/// Runs the process, and kills it after so many topics. Returns all that it acknowledged.
fn run_and_kill(directory: &Path, topics: usize) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "proposes_until_it_is_killed",
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    for line in lines.map_while(Result::ok) {
        acknowledged.extend(line.strip_prefix(ACKNOWLEDGED).map(str::to_owned));
        if acknowledged.len() == topics {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    acknowledged
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for topics in [1, 2, 30, 75, 40] {
        let more = run_and_kill(directory.path(), topics);
        assert!(more.len() >= topics);
        acknowledged.extend(more);

        let quorum = open(directory.path()).await;
        let image = quorum.watch().borrow().clone();
        for name in &acknowledged {
            assert!(
                image.topic(name).is_some(),
                "{name} of {}",
                acknowledged.len()
            );
        }
        let count = image.topic_count();
        assert!(count <= acknowledged.len() + 1, "{count} topics");
        // One that was under way may have come through.
        acknowledged = image.topics().map(|topic| topic.name.to_string()).collect();
        quorum.stop().await;
    }
}
