//! The program `klamm-log` on real files: what it prints and how it ends.

#![cfg(feature = "cli")]

use std::path::Path;
use std::process::Command;

use klamm_io::RealDisk;
use klamm_log::{Log, LogConfig, OpenOptions};
use klamm_primitives::LeaderEpoch;
use klamm_records::{BatchOptions, Codecs, RecordBatchBuilder, ValidationRules, validate};

fn make(directory: &Path) {
    let options = OpenOptions::new(true, 0);
    let config = LogConfig::default();
    let opened = Log::open(RealDisk, directory.to_owned(), config, &options);
    let (mut log, _) = opened.unwrap();
    let mut codecs = Codecs::default();
    for _ in 0..3 {
        let mut builder = RecordBatchBuilder::new(BatchOptions::default(), Vec::new());
        builder
            .append(1000, Some(b"key"), Some(b"value"), &[])
            .unwrap();
        builder.close(&mut codecs).unwrap();
        let sent = builder.into_bytes().unwrap();
        let valid = validate(sent, &ValidationRules::default(), 1000, &mut codecs).unwrap();
        log.append(&[valid], LeaderEpoch::new(0), 1000).unwrap();
    }
    log.close().unwrap();
}

/// How the program ended, and what it printed.
fn run(command: &str, path: &Path) -> (Option<i32>, String) {
    let program = env!("CARGO_BIN_EXE_klamm-log");
    let output = Command::new(program)
        .arg(command)
        .arg(path)
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(printed).unwrap())
}

#[test]
fn it_checks_without_writing_and_repairs_when_told_to() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("t-0");
    make(&directory);
    let (code, printed) = run("check", root.path());
    assert_eq!(code, Some(2), "{printed}");
    assert!(
        printed.contains("the directory of one partition"),
        "{printed}"
    );
    let (code, printed) = run("check", &root.path().join("nowhere"));
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("nowhere"), "{printed}");
    assert!(printed.contains("No such file or directory"), "{printed}");
    let (code, printed) = run("check", &directory);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains("3 batches, 3 records, offsets 0 to 2"),
        "{printed}"
    );
    assert!(printed.ends_with("good\n"), "{printed}");

    let path = directory.join("00000000000000000000.log");
    let good = std::fs::read(&path).unwrap();
    let torn = [&good[..], &good[..50]].concat();
    std::fs::write(&path, &torn).unwrap();
    let (code, printed) = run("check", &directory);
    assert_eq!(code, Some(1), "{printed}");
    let cut = format!("by 50 bytes to {}", good.len());
    assert!(
        printed.contains(&format!("repair would cut {} {cut}", path.display())),
        "{printed}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), torn, "nothing was written");

    let (code, printed) = run("repair", &directory);
    assert_eq!(code, Some(0), "{printed}");
    assert!(
        printed.contains(&format!("cut {} {cut}", path.display())),
        "{printed}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), good);
    assert_eq!(run("check", &directory).0, Some(0));
}

#[test]
fn it_prints_files_and_says_what_it_cannot_read() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("t-0");
    make(&directory);
    let path = directory.join("00000000000000000000.log");
    let (code, printed) = run("dump", &path);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(printed.lines().count(), 4, "{printed}");
    std::fs::write(&path, b"no batch").unwrap();
    assert_eq!(run("dump", &path).0, Some(1));
    assert_eq!(run("dump", &directory.join("notes.txt")).0, Some(2));
    let nowhere = root.path().join("nowhere");
    assert_eq!(run("check", &nowhere).0, Some(2));
    assert_eq!(run("repair", &nowhere).0, Some(2));
    assert!(!nowhere.exists());
}

#[test]
fn it_repairs_nothing_that_a_broker_has_open() {
    use klamm_io::Disk as _;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("t-0");
    make(&directory);
    let held = RealDisk.try_lock(&root.path().join(".lock")).unwrap();
    let (code, printed) = run("repair", &directory);
    assert_eq!(code, Some(2));
    assert!(
        printed.contains("is in use by another process"),
        "{printed}"
    );
    drop(held);
    assert_eq!(run("repair", &directory).0, Some(0));
}

/// As behind `| head`: who reads no more has what it wanted.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("t-0");
    make(&directory);
    let file = directory.join("00000000000000000000.log");
    for (command, path) in [("dump", &file), ("check", &directory)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let program = Command::new(env!("CARGO_BIN_EXE_klamm-log"))
            .arg(command)
            .arg(path)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(program.status.code(), Some(0), "{command}");
        assert!(program.stderr.is_empty(), "{command}");
    }
}
