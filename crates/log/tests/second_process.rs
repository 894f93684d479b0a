//! Two processes and one directory.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{
    ClaimError, LogConfig, LogManager, ManagerOptions, Now, Opened, Owner, StartError, Wiring,
};
use klamm_primitives::BrokerId;

const DIRECTORY: &str = "KLAMM_LOG_TEST_DIRECTORY";

fn open(path: &Path) -> Result<Opened<RealDisk>, StartError> {
    let owner = Owner {
        cluster_id: "a-cluster".to_owned(),
        node_id: BrokerId::new(1),
    };
    let wiring = Wiring {
        random: Box::new(|| 4),
        events: Box::new(|_| ()),
    };
    let now = Now {
        instant: SystemClock.now(),
        unix_ms: SystemClock.unix_ms(),
    };
    let options = ManagerOptions::new(owner, vec![path.to_owned()]);
    LogManager::open(
        &RealDisk,
        options,
        wiring,
        &|_| LogConfig::default(),
        &|_| {},
        now,
    )
}

/// What the other process does: the test below starts it.
#[test]
fn holds_the_directory_until_it_is_killed() {
    let Some(path) = std::env::var_os(DIRECTORY).map(PathBuf::from) else {
        return;
    };
    let _held = open(&path).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "held").unwrap();
    out.flush().unwrap();
    // Ends with the other process at the latest.
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
}

#[test]
fn lg_190_a_second_process_fails_at_once_and_a_crash_lets_the_directory_go() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "holds_the_directory_until_it_is_killed",
            "--nocapture",
        ])
        .env(DIRECTORY, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    assert!(out.lines().any(|line| line.unwrap().ends_with("held")));

    let refused = open(directory.path()).err().expect("it is in use");
    assert!(
        matches!(&refused, StartError::Claim(ClaimError::InUse { path }) if path == directory.path()),
        "{refused}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(open(directory.path()).is_ok());
}
