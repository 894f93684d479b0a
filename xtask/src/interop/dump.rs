//! Kafka's dump tool on our files. It says much and fails seldom, so its words are judged: each
//! line must be one that it has for sound files.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use super::kafka::Kafka;
use crate::command;

/// What the tool reads of a partition.
const EXTENSIONS: [&str; 5] = ["log", "index", "timeindex", "txnindex", "snapshot"];

/// How lines begin that say what is there: a batch, a record, an entry of an index, a producer.
const SOUND: [&str; 9] = [
    "Dumping ",
    "Log starting offset: ",
    "baseOffset: ",
    "| offset: ",
    "offset: ",
    "timestamp: ",
    "version: 0 ",
    "producerId: ",
    "payload: ",
];

/// Has the tool read all files of a partition, down to the records.
///
/// # Errors
/// The tool failed, or printed anything but what is there; the error has its first such line.
pub(super) fn read(kafka: &Kafka, partition: &Path) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(partition)? {
        let path = entry?.path();
        if EXTENSIONS
            .iter()
            .any(|it| path.extension().is_some_and(|found| found == *it))
        {
            files.push(path.display().to_string());
        }
    }
    files.sort();
    let mut tool = kafka.program("kafka.tools.DumpLogSegments");
    let printed = command::output(
        tool.args(["--deep-iteration", "--files"])
            .arg(files.join(",")),
    )?;
    if let Some(complaint) = printed.lines().find(|line| !is_sound(line)) {
        bail!("the dump tool says of {}: {complaint}", partition.display());
    }
    let records = printed
        .lines()
        .filter(|line| line.starts_with("| offset: "));
    let (records, files) = (records.count(), files.len());
    if records == 0 {
        bail!("the dump tool found no record in {}", partition.display());
    }
    println!(
        "{}: {files} files, {records} records, no complaint",
        partition.display()
    );
    Ok(())
}

fn is_sound(line: &str) -> bool {
    // Kafka's own segments have empty indexes too, where they are short.
    let is_empty_index = line.ends_with("index is empty.");
    let is_known = line.is_empty() || SOUND.iter().any(|it| line.starts_with(it));
    is_empty_index || is_known && !line.contains("isvalid: false")
}

#[cfg(test)]
mod tests {
    use super::is_sound;

    #[test]
    fn what_is_no_line_of_a_sound_file_is_a_complaint() {
        assert!(is_sound(
            "| offset: 7 CreateTime: 17 keySize: 1 valueSize: 2"
        ));
        assert!(is_sound(
            "baseOffset: 0 lastOffset: 2 count: 3 isvalid: true"
        ));
        assert!(!is_sound(
            "baseOffset: 0 lastOffset: 2 count: 3 isvalid: false"
        ));
        assert!(!is_sound("Found 3 invalid bytes at the end of 00.log"));
        assert!(!is_sound("Mismatches in :00.index"));
    }
}
