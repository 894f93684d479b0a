//! What is printed of files that are written here by hand.

use klamm_io::Disk as _;
use klamm_io::sim::SimDisk;
use klamm_records::{BatchOptions, RecordBatchBuilder};

use super::*;

const BASE: &str = "/t-0/00000000000000000010";

fn disk_with(files: &[(&str, &[u8])]) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/t-0")).unwrap();
    for (name, bytes) in files {
        let file = disk.open(Path::new(name), OpenMode::CreateNew).unwrap();
        file.write_all_at(bytes, 0).unwrap();
    }
    disk
}

fn print(disk: &SimDisk, name: &str) -> Result<(Sound, Vec<String>), DumpError> {
    let mut out = Vec::new();
    let sound = dump(disk, Path::new(name), Depth::Records, &mut out)?;
    let text = String::from_utf8(out).unwrap();
    Ok((sound, text.lines().map(str::to_owned).collect()))
}

fn batch() -> Vec<u8> {
    let options = BatchOptions {
        base_offset: Offset::new(10),
        leader_epoch: 3.into(),
        ..BatchOptions::default()
    };
    let mut builder = RecordBatchBuilder::new(options, Vec::new());
    builder
        .append(1000, Some(b"k\n"), Some(&[b'v'; 100]), &[])
        .unwrap();
    builder.append(1001, None, None, &[]).unwrap();
    builder.close(&mut Codecs::default()).unwrap();
    builder.bytes().unwrap().to_vec()
}

#[test]
fn lg_230_a_log_is_printed_to_the_first_byte_that_is_no_batch() {
    let mut bytes = batch();
    let size = bytes.len();
    bytes.extend([9; 30]);
    let name = format!("{BASE}.log");
    let disk = disk_with(&[(&name, &bytes)]);
    let (sound, lines) = print(&disk, &name).unwrap();
    assert_eq!(sound, Sound::No);
    assert_eq!(lines[0], "base offset 10");
    let expected = format!(
        "at 0: {size} bytes, offsets 10 to 11, 2 records, epoch 3, timestamp 1001, none, crc 0x"
    );
    assert!(lines[1].starts_with(&expected), "{}", lines[1]);
    let value = "v".repeat(80);
    let expected =
        format!(r#"  offset 10 timestamp 1000 key "k\n" value "{value}"... (100 bytes)"#);
    assert_eq!(lines[2], expected);
    assert_eq!(lines[3], "  offset 11 timestamp 1001 key null value null");
    assert!(
        lines[4].starts_with(&format!("at {size}: ")),
        "{}",
        lines[4]
    );
    assert_eq!(lines[5], "30 bytes behind the last whole batch");

    let mut wrong = batch();
    wrong[70] ^= 1;
    let disk = disk_with(&[(&name, &wrong)]);
    let (sound, lines) = print(&disk, &name).unwrap();
    assert_eq!(
        (sound, lines.len()),
        (Sound::No, 3),
        "the records are not believed"
    );
}

#[test]
fn lg_231_indexes_are_printed_beside_their_log_alone() {
    let offset = [0, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut time = vec![0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 7];
    time.push(1);
    let mut transaction = vec![0; 34];
    for (position, byte) in [(9, 7), (17, 11), (25, 13), (33, 12)] {
        transaction[position] = byte;
    }
    let name = |extension: &str| format!("{BASE}.{extension}");
    let files = [
        (name("index"), offset.to_vec()),
        (name("timeindex"), time),
        (name("txnindex"), transaction),
    ];
    let files: Vec<_> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), &bytes[..]))
        .collect();
    let alone = disk_with(&files);
    for (name, _) in &files {
        assert!(matches!(print(&alone, name), Err(DumpError::NoLog { .. })));
    }
    let log = name("log");
    let disk = disk_with(&[&files[..], &[(log.as_str(), &[])]].concat());
    let lines = |name: &str| print(&disk, name).unwrap();
    let (sound, offsets) = lines(files[0].0);
    assert_eq!(offsets, ["offset 15 at 256", "1 entries unused"]);
    assert_eq!(sound, Sound::Yes);
    let (sound, times) = lines(files[1].0);
    assert_eq!(
        times,
        [
            "timestamp 1024 offset 17",
            "1 bytes behind the last whole entry"
        ]
    );
    assert_eq!(sound, Sound::No);
    let expected = "version 0 producer 7 offsets 11 to 13 last stable 12";
    assert_eq!(lines(files[2].0).1, [expected]);
}

#[test]
fn lg_232_a_snapshot_is_printed_field_by_field_or_not_at_all() {
    let bytes = "0001dba0b0470000000100000000000003e900030000002900000000000013880000000200000191\
                 0b3c8000ffffffffffffffffffffffff";
    let mut bytes = hex::decode(bytes).unwrap();
    let crc = klamm_records::crc32c(&bytes[6..]);
    bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    let name = "/t-0/00000000000000005001.snapshot";
    let (sound, lines) = print(&disk_with(&[(name, &bytes)]), name).unwrap();
    assert_eq!(sound, Sound::Yes);
    let expected = [
        "before offset 5001",
        "producer 1001 epoch 3 last sequence 41 last offset 5000 offset delta 2 \
         timestamp 1722470400000 coordinator epoch -1 open transaction none",
    ];
    assert_eq!(lines, expected);

    for position in [1, 5, 20] {
        let mut wrong = bytes.clone();
        wrong[position] ^= 3;
        let printed = print(&disk_with(&[(name, &wrong)]), name);
        assert!(
            matches!(printed, Err(DumpError::Snapshot { .. })),
            "{printed:?}"
        );
    }
}

/// Covers LG-195, LG-167.
#[test]
fn checkpoints_are_printed_by_their_names() {
    let epochs = "/t-0/leader-epoch-checkpoint";
    let offsets = "/recovery-point-offset-checkpoint";
    let disk = disk_with(&[(epochs, b"0\n1\n3 10\n"), (offsets, b"0\n1\nt 0 12\n")]);
    assert_eq!(print(&disk, epochs).unwrap().1, ["epoch 3 from 10"]);
    assert_eq!(print(&disk, offsets).unwrap().1, ["t-0 offset 12"]);
    let unknown = print(&disk, "/t-0/notes.txt");
    assert!(matches!(unknown, Err(DumpError::UnknownName { .. })));
}
