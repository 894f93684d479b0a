//! A cluster, the program, and what they are asked for.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use klamm_fake_broker::{ClusterOptions, FakeCluster, Fault, Place, Rule};
use klamm_io::{Clock, SystemClock, TcpNet};
use klamm_primitives::{PartitionIndex, TopicPartition};
use klamm_wire::{ApiKey, ErrorCode};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

pub(crate) type Cluster = FakeCluster<TcpNet, SystemClock>;

/// A cluster of so many nodes with topic `t`, which has a partition for each.
pub(crate) fn cluster(nodes: usize) -> Cluster {
    let options = ClusterOptions {
        auto_create_partitions: None,
        ..ClusterOptions::default()
    };
    let place = Place::new(TcpNet, "127.0.0.1:0".parse().unwrap());
    let cluster = FakeCluster::start(SystemClock, vec![place; nodes], options).unwrap();
    cluster.model().create_topic("t", nodes);
    cluster
}

/// Every record is refused.
pub(crate) fn refuse_all(cluster: &Cluster) {
    let refused = Fault::Error(ErrorCode::POLICY_VIOLATION);
    cluster
        .model()
        .add_rule(Rule::always(refused).of(ApiKey::Produce));
}

/// No record is answered.
pub(crate) fn swallow_all(cluster: &Cluster) {
    let swallowed = Rule::always(Fault::Swallow).of(ApiKey::Produce);
    cluster.model().add_rule(swallowed);
}

pub(crate) fn partition(index: i32) -> TopicPartition {
    TopicPartition::new("t", PartitionIndex::new(index))
}

/// The program, which gets nothing on its standard input unless somebody says so.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_klamm-producer"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    Ended::of(program(arguments).output().unwrap())
}

/// Starts it, with a standard input that can be written to.
pub(crate) fn start(arguments: &[&str]) -> Child {
    program(arguments).stdin(Stdio::piped()).spawn().unwrap()
}

/// Runs it to its end with that standard input.
pub(crate) fn run_with(arguments: &[&str], input: &[u8]) -> Ended {
    let mut child = start(arguments);
    child.stdin.take().unwrap().write_all(input).unwrap();
    Ended::of(child.wait_with_output().unwrap())
}

/// Presses Ctrl-C, and waits for the end.
pub(crate) fn interrupt(child: Child) -> Ended {
    press_ctrl_c(&child);
    Ended::of(child.wait_with_output().unwrap())
}

/// Presses Ctrl-C, waits until a line with that text is told, presses it once more, and waits for
/// the end.
pub(crate) fn interrupt_twice(mut child: Child, told: &str) -> Ended {
    press_ctrl_c(&child);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut before = String::new();
    while !before.contains(told) {
        let read = stderr.read_line(&mut before).unwrap();
        assert_ne!(read, 0, "{before}");
    }
    press_ctrl_c(&child);
    stderr.read_to_string(&mut before).unwrap();
    let mut ended = Ended::of(child.wait_with_output().unwrap());
    ended.stderr = before;
    ended
}

fn press_ctrl_c(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = SystemClock.now() + PATIENCE;
    while !is_so() {
        let now = SystemClock.now();
        assert!(now < deadline, "waited in vain until {what}");
        SystemClock.sleep_until(Some(now + LOOK_AGAIN)).await;
    }
}

/// How a run has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The lines of the standard output as JSON.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        let lines = self.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
