//! What every [`Disk`] must do.

use std::ffi::OsStr;
use std::io::IoSlice;
use std::path::Path;

use crate::{
    Disk, DiskError, DiskErrorKind, DiskFile, DiskOperation, Entry, FileKind, FileRange, OpenMode,
    read_whole, replace_whole,
};

/// Holds a disk to what [`Disk`] and [`DiskFile`] say.
///
/// `root` is an existing directory of the disk, which the suite fills; it should be empty.
///
/// # Panics
/// At the first thing that is not so.
pub fn check_disk<D: Disk>(disk: &D, root: &Path) {
    let cases: [(&str, Case<D>); 17] = [
        ("bytes-read-back", bytes_read_back),
        ("pieces-follow-one-another", pieces_follow_one_another),
        ("open-modes", open_modes),
        ("open-for-reading", open_for_reading),
        ("open-errors", open_errors),
        ("lengths", lengths),
        ("allocated-space", allocated_space),
        ("space-never-written", space_never_written),
        ("renamed-files", renamed_files),
        ("renamed-directories", renamed_directories),
        ("removed-names", removed_names),
        ("listings", listings),
        ("locks", locks),
        ("times", times),
        ("syncs-and-space", syncs_and_space),
        ("resolved-names", resolved_names),
        ("ranges-and-whole-files", ranges_and_whole_files),
    ];
    for (name, case) in cases {
        let directory = root.join(name);
        disk.create_dir_all(&directory).unwrap();
        case(disk, &directory);
    }
}

/// Looks at one thing, within a directory of its own.
type Case<D> = fn(&D, &Path);

fn create<D: Disk>(disk: &D, path: &Path, contents: &[u8]) -> D::File {
    let file = disk.open(path, OpenMode::CreateNew).unwrap();
    file.write_all_at(contents, 0).unwrap();
    file
}

fn contents<D: Disk>(disk: &D, path: &Path) -> Vec<u8> {
    read_whole(disk, path, 1 << 20).unwrap().to_vec()
}

/// The kind of a failure, after a look at the facts that every error carries.
#[track_caller]
fn kind_of<T>(
    outcome: Result<T, DiskError>,
    operation: DiskOperation,
    path: &Path,
) -> DiskErrorKind {
    let Err(error) = outcome else {
        panic!("{operation} {} should have failed", path.display());
    };
    assert_eq!(error.operation(), operation);
    assert_eq!(error.path(), path);
    assert!(error.to_string().contains(&path.display().to_string()));
    assert!(std::error::Error::source(&error).is_some());
    error.kind()
}

fn bytes_read_back<D: Disk>(disk: &D, directory: &Path) {
    let path = directory.join("file");
    let file = create(disk, &path, b"0123456789");
    assert_eq!(file.path(), path);

    // Over the end of a page, over a gap, over what is there.
    file.write_all_at(&[7; 5000], 4090).unwrap();
    file.write_all_at(b"ab", 1).unwrap();
    file.write_all_at(b"", 1 << 40).unwrap();
    let mut expected = vec![0; 9090];
    expected[..10].copy_from_slice(b"0ab3456789");
    expected[4090..].fill(7);
    assert_eq!(file.metadata().unwrap().len, 9090);
    assert_eq!(file.read_bytes_at(0, 20_000).unwrap(), expected);

    // A clone and another handle see the same.
    let clone = file.clone();
    drop(file);
    let other = disk.open(&path, OpenMode::Read).unwrap();
    for file in [&clone, &other] {
        let mut buffer = [1; 20];
        assert_eq!(file.read_at(&mut buffer, 9085).unwrap(), 5);
        assert_eq!(buffer[..6], [7, 7, 7, 7, 7, 1]);
        assert_eq!(file.read_at(&mut buffer, 9090).unwrap(), 0);
        assert_eq!(file.read_at(&mut buffer, u64::from(u32::MAX)).unwrap(), 0);
        assert_eq!(file.read_at(&mut [], 0).unwrap(), 0);
        assert_eq!(file.read_bytes_at(8, 4).unwrap().as_ref(), b"89\0\0");
        assert!(file.read_bytes_at(9090, 4).unwrap().is_empty());

        file.read_exact_at(&mut buffer, 9070).unwrap();
        let short = file.read_exact_at(&mut buffer, 9071);
        let kind = kind_of(short, DiskOperation::Read, &path);
        assert_eq!(kind, DiskErrorKind::UnexpectedEnd);
    }
    clone.write_all_at(b"!", 9090).unwrap();
    assert_eq!(other.read_bytes_at(9089, 2).unwrap().as_ref(), [7, b'!']);

    // What was opened for reading is not written to.
    assert!(other.write_all_at(b"x", 0).is_err());
    assert!(other.set_len(0).is_err());
    assert!(other.allocate(1 << 20).is_err());
    // Nor is what lies where no file reaches.
    assert!(clone.write_all_at(b"xy", u64::MAX).is_err());
    let pieces = [IoSlice::new(b"x"), IoSlice::new(b"y")];
    assert!(clone.write_all_vectored_at(&pieces, u64::MAX).is_err());
    assert!(clone.set_len(u64::MAX).is_err());
    assert!(clone.allocate(u64::MAX).is_err());
    assert_eq!(other.metadata().unwrap().len, 9091);
}

fn pieces_follow_one_another<D: Disk>(disk: &D, directory: &Path) {
    let file = create(disk, &directory.join("file"), b"before");
    // More pieces than one system call takes, some of them empty.
    let pieces: Vec<Vec<u8>> = (0..3000usize)
        .map(|i| vec![(i % 251).to_le_bytes()[0]; i % 7])
        .collect();
    let slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    file.write_all_vectored_at(&slices, 3).unwrap();
    let mut expected = b"bef".to_vec();
    expected.extend(pieces.concat());
    assert_eq!(file.read_bytes_at(0, 1 << 20).unwrap(), expected);

    file.write_all_vectored_at(&[], 1 << 30).unwrap();
    file.write_all_vectored_at(&[IoSlice::new(b""), IoSlice::new(b"")], 1 << 30)
        .unwrap();
    assert_eq!(file.metadata().unwrap().len, expected.len() as u64);
}

fn open_modes<D: Disk>(disk: &D, directory: &Path) {
    let path = directory.join("file");
    let made = disk.open(&path, OpenMode::OpenOrCreate).unwrap();
    made.write_all_at(b"abc", 0).unwrap();
    for mode in [OpenMode::Read, OpenMode::ReadWrite, OpenMode::OpenOrCreate] {
        let file = disk.open(&path, mode).unwrap();
        assert_eq!(file.read_bytes_at(0, 9).unwrap().as_ref(), b"abc");
    }
    let emptied = disk.open(&path, OpenMode::CreateOrTruncate).unwrap();
    assert_eq!(emptied.metadata().unwrap().len, 0);
    assert_eq!(made.metadata().unwrap().len, 0);

    for mode in [OpenMode::CreateNew, OpenMode::CreateOrTruncate] {
        let path = directory.join(format!("{mode:?}"));
        let file = disk.open(&path, mode).unwrap();
        file.write_all_at(b"new", 0).unwrap();
        assert_eq!(contents(disk, &path), b"new");
    }
}

fn open_for_reading<D: Disk>(disk: &D, directory: &Path) {
    let path = directory.join("file");
    create(disk, &path, b"abc");
    let file = disk.open(&path, OpenMode::Read).unwrap();
    let pieces = [IoSlice::new(b"x"), IoSlice::new(b"y")];
    for (outcome, operation) in [
        (file.write_all_at(b"x", 0), DiskOperation::Write),
        (file.write_all_vectored_at(&pieces, 0), DiskOperation::Write),
        (file.set_len(1), DiskOperation::SetLen),
        (file.set_len(10), DiskOperation::SetLen),
        (file.allocate(10).map(drop), DiskOperation::Allocate),
    ] {
        assert_eq!(kind_of(outcome, operation, &path), DiskErrorKind::Denied);
    }
    assert_eq!(contents(disk, &path), b"abc");
}

fn open_errors<D: Disk>(disk: &D, directory: &Path) {
    use DiskErrorKind::{AlreadyExists, IsADirectory, NotADirectory, NotFound};
    const MODES: [OpenMode; 5] = [
        OpenMode::Read,
        OpenMode::ReadWrite,
        OpenMode::OpenOrCreate,
        OpenMode::CreateNew,
        OpenMode::CreateOrTruncate,
    ];
    let file = directory.join("file");
    create(disk, &file, b"abc");
    let kind = |path: &Path, mode| kind_of(disk.open(path, mode), DiskOperation::Open, path);

    assert_eq!(kind(&file, OpenMode::CreateNew), AlreadyExists);
    assert_eq!(contents(disk, &file), b"abc");
    for mode in MODES {
        assert_eq!(kind(&file.join("below"), mode), NotADirectory);
        assert_eq!(kind(&directory.join("missing/file"), mode), NotFound);
        let expected = match mode {
            OpenMode::CreateNew => AlreadyExists,
            _ => IsADirectory,
        };
        assert_eq!(kind(directory, mode), expected, "{mode:?}");
    }
    let missing = directory.join("missing");
    for mode in [OpenMode::Read, OpenMode::ReadWrite] {
        assert_eq!(kind(&missing, mode), NotFound);
    }
    let kind = kind_of(disk.metadata(&missing), DiskOperation::Metadata, &missing);
    assert_eq!(kind, NotFound);
}

fn lengths<D: Disk>(disk: &D, directory: &Path) {
    let file = create(disk, &directory.join("file"), &[9; 5000]);
    file.set_len(4097).unwrap();
    assert_eq!(file.read_bytes_at(4090, 100).unwrap().as_ref(), [9; 7]);
    // What was cut away does not come back.
    file.set_len(6000).unwrap();
    let mut expected = vec![0; 6000];
    expected[..4097].fill(9);
    assert_eq!(file.read_bytes_at(0, 10_000).unwrap(), expected);
    file.set_len(0).unwrap();
    file.set_len(3).unwrap();
    assert_eq!(file.read_bytes_at(0, 9).unwrap().as_ref(), [0; 3]);
}

fn allocated_space<D: Disk>(disk: &D, directory: &Path) {
    let file = create(disk, &directory.join("file"), b"abc");
    file.allocate(0).unwrap();
    assert_eq!(file.metadata().unwrap().len, 3);
    file.allocate(10_000).unwrap();
    assert_eq!(file.metadata().unwrap().len, 10_000);
    file.allocate(2).unwrap();
    let mut expected = vec![0; 10_000];
    expected[..3].copy_from_slice(b"abc");
    assert_eq!(file.read_bytes_at(0, 20_000).unwrap(), expected);
    file.set_len(2).unwrap();
    assert_eq!(file.read_bytes_at(0, 9).unwrap().as_ref(), b"ab");
}

fn renamed_files<D: Disk>(disk: &D, directory: &Path) {
    let [old, new, missing] = ["old", "new", "missing"].map(|name| directory.join(name));
    let file = create(disk, &old, b"moved");
    let replaced = create(disk, &new, b"replaced");
    disk.rename(&old, &new).unwrap();
    assert_eq!(contents(disk, &new), b"moved");
    assert!(disk.metadata(&old).is_err());

    // Handles go on, whatever became of the names.
    file.write_all_at(b"M", 0).unwrap();
    assert_eq!(contents(disk, &new), b"Moved");
    assert_eq!(replaced.read_bytes_at(0, 99).unwrap().as_ref(), b"replaced");
    replaced.write_all_at(b"gone", 8).unwrap();
    assert_eq!(contents(disk, &new), b"Moved");

    disk.rename(&new, &new).unwrap();
    assert_eq!(contents(disk, &new), b"Moved");

    // Into another directory.
    let below = directory.join("below");
    disk.create_dir_all(&below).unwrap();
    disk.rename(&new, &below.join("moved")).unwrap();
    assert_eq!(contents(disk, &below.join("moved")), b"Moved");

    let error = disk.rename(&missing, &new).unwrap_err();
    assert_eq!(error.destination(), Some(new.as_path()));
    assert!(error.to_string().contains("new"));
    let kind = kind_of(Err::<(), _>(error), DiskOperation::Rename, &missing);
    assert_eq!(kind, DiskErrorKind::NotFound);
    let onto_directory = disk.rename(&below.join("moved"), &below);
    assert!(onto_directory.is_err());
    assert_eq!(contents(disk, &below.join("moved")), b"Moved");
}

fn renamed_directories<D: Disk>(disk: &D, directory: &Path) {
    use DiskErrorKind::{DirectoryNotEmpty, IsADirectory, NotADirectory};
    let [full, other, empty, file] =
        ["full", "other", "empty", "file"].map(|name| directory.join(name));
    disk.create_dir_all(&full).unwrap();
    disk.create_dir_all(&other).unwrap();
    disk.create_dir_all(&empty).unwrap();
    let inside = create(disk, &full.join("inside"), b"inside");
    create(disk, &other.join("inside"), b"other");
    create(disk, &file, b"file");

    let kind = |from: &Path, to: &Path| kind_of(disk.rename(from, to), DiskOperation::Rename, from);
    assert_eq!(kind(&full, &other), DirectoryNotEmpty);
    assert_eq!(kind(&full, &file), NotADirectory);
    assert_eq!(kind(&file, &empty), IsADirectory);
    assert_eq!(kind(&full, &full.join("below")), DiskErrorKind::Failed);

    disk.rename(&full, &empty).unwrap();
    assert!(disk.metadata(&full).is_err());
    assert_eq!(contents(disk, &empty.join("inside")), b"inside");
    inside.write_all_at(b"I", 0).unwrap();
    assert_eq!(contents(disk, &empty.join("inside")), b"Inside");
    // The old name is free again.
    disk.create_dir_all(&full).unwrap();
    assert_eq!(disk.list(&full).unwrap(), []);
}

fn removed_names<D: Disk>(disk: &D, directory: &Path) {
    let [file, below] = ["file", "below"].map(|name| directory.join(name));
    let open = create(disk, &file, b"abc");
    disk.create_dir_all(&below.join("deeper")).unwrap();
    let remove_file = |path: &Path| disk.remove_file(path);
    let remove_dir = |path: &Path| disk.remove_dir(path);

    let kind = kind_of(remove_file(&below), DiskOperation::RemoveFile, &below);
    assert_eq!(kind, DiskErrorKind::IsADirectory);
    let kind = kind_of(remove_dir(&file), DiskOperation::RemoveDir, &file);
    assert_eq!(kind, DiskErrorKind::NotADirectory);
    let kind = kind_of(remove_dir(&below), DiskOperation::RemoveDir, &below);
    assert_eq!(kind, DiskErrorKind::DirectoryNotEmpty);

    remove_file(&file).unwrap();
    remove_dir(&below.join("deeper")).unwrap();
    remove_dir(&below).unwrap();
    assert_eq!(disk.list(directory).unwrap(), []);
    let kind = kind_of(remove_file(&file), DiskOperation::RemoveFile, &file);
    assert_eq!(kind, DiskErrorKind::NotFound);
    let kind = kind_of(remove_dir(&below), DiskOperation::RemoveDir, &below);
    assert_eq!(kind, DiskErrorKind::NotFound);

    // The open handle goes on, apart from a new file of that name.
    create(disk, &file, b"new");
    open.write_all_at(b"d", 3).unwrap();
    assert_eq!(open.read_bytes_at(0, 9).unwrap().as_ref(), b"abcd");
    assert_eq!(contents(disk, &file), b"new");
}

fn listings<D: Disk>(disk: &D, directory: &Path) {
    for name in ["b", "a.log", "a", "z", "B"] {
        create(disk, &directory.join(name), b"");
    }
    disk.create_dir_all(&directory.join("c/d/e")).unwrap();
    disk.create_dir_all(&directory.join("c/d")).unwrap();
    let entry = |name: &str, kind| Entry {
        name: OsStr::new(name).to_owned(),
        kind,
    };
    let expected = [
        entry("B", FileKind::File),
        entry("a", FileKind::File),
        entry("a.log", FileKind::File),
        entry("b", FileKind::File),
        entry("c", FileKind::Directory),
        entry("z", FileKind::File),
    ];
    assert_eq!(disk.list(directory).unwrap(), expected);
    let kind = disk.metadata(&directory.join("c/d")).unwrap().kind;
    assert_eq!(kind, FileKind::Directory);

    let [file, missing] = ["a", "missing"].map(|name| directory.join(name));
    let kind = kind_of(disk.list(&file), DiskOperation::List, &file);
    assert_eq!(kind, DiskErrorKind::NotADirectory);
    let kind = kind_of(disk.list(&missing), DiskOperation::List, &missing);
    assert_eq!(kind, DiskErrorKind::NotFound);

    let make = |path: &Path| kind_of(disk.create_dir_all(path), DiskOperation::CreateDir, path);
    assert_eq!(make(&file), DiskErrorKind::AlreadyExists);
    assert_eq!(make(&file.join("below")), DiskErrorKind::NotADirectory);
}

fn locks<D: Disk>(disk: &D, directory: &Path) {
    let path = directory.join(".lock");
    let held = disk.try_lock(&path).unwrap();
    for _ in 0..2 {
        let kind = kind_of(disk.try_lock(&path), DiskOperation::Lock, &path);
        assert_eq!(kind, DiskErrorKind::Locked);
    }
    let _other = disk.try_lock(&directory.join(".other")).unwrap();
    drop(held);
    let _again = disk.try_lock(&path).unwrap();
    assert_eq!(disk.metadata(&path).unwrap().kind, FileKind::File);

    let missing = directory.join("missing/.lock");
    let kind = kind_of(disk.try_lock(&missing), DiskOperation::Lock, &missing);
    assert_eq!(kind, DiskErrorKind::NotFound);
}

fn times<D: Disk>(disk: &D, directory: &Path) {
    let path = directory.join("file");
    let file = create(disk, &path, b"abc");
    let before = file.metadata().unwrap().modified_ms;
    for unix_ms in [1_700_000_000_123, 0, 1] {
        file.set_modified_ms(unix_ms).unwrap();
        assert_eq!(file.metadata().unwrap().modified_ms, unix_ms);
        assert_eq!(disk.metadata(&path).unwrap().modified_ms, unix_ms);
    }
    disk.rename(&path, &directory.join("renamed")).unwrap();
    assert_eq!(file.metadata().unwrap().modified_ms, 1);
    file.write_all_at(b"d", 3).unwrap();
    assert!(file.metadata().unwrap().modified_ms >= before);
}

fn syncs_and_space<D: Disk>(disk: &D, directory: &Path) {
    let [path, missing] = ["file", "missing"].map(|name| directory.join(name));
    let file = create(disk, &path, b"abc");
    file.sync_data().unwrap();
    file.sync_all().unwrap();
    disk.sync_dir(directory).unwrap();
    assert_eq!(contents(disk, &path), b"abc");

    let kind = kind_of(disk.sync_dir(&path), DiskOperation::SyncDir, &path);
    assert_eq!(kind, DiskErrorKind::NotADirectory);
    let kind = kind_of(disk.sync_dir(&missing), DiskOperation::SyncDir, &missing);
    assert_eq!(kind, DiskErrorKind::NotFound);

    let space = disk.space(directory).unwrap();
    assert!(0 < space.available_bytes && space.available_bytes <= space.total_bytes);
    let kind = kind_of(disk.space(&missing), DiskOperation::Space, &missing);
    assert_eq!(kind, DiskErrorKind::NotFound);
}

fn space_never_written<D: Disk>(disk: &D, directory: &Path) {
    const LEN: u64 = 1 << 16;
    for is_reserved in [false, true] {
        let file = create(
            disk,
            &directory.join(format!("reserved-{is_reserved}")),
            b"a",
        );
        if is_reserved {
            file.allocate(LEN).unwrap();
        }
        file.set_len(LEN).unwrap();
        assert_eq!(file.next_written(0).unwrap(), Some(0));
        let behind = file.next_written(LEN / 2).unwrap();
        assert!(behind.is_none_or(|it| it >= LEN / 2), "{behind:?}");
        // What was written is told, though it is in no place but memory yet.
        file.write_all_at(b"b", LEN - 2).unwrap();
        for from in [1, LEN / 2, LEN - 2] {
            let found = file.next_written(from).unwrap();
            assert!(
                found.is_some_and(|it| (from..=LEN - 2).contains(&it)),
                "{found:?}"
            );
        }
    }
}

fn resolved_names<D: Disk>(disk: &D, directory: &Path) {
    let here = disk.resolve(directory).unwrap();
    assert!(here.is_absolute());
    let below = directory.join("below");
    // Whether it is there or not.
    for is_there in [false, true] {
        if is_there {
            disk.create_dir_all(&below).unwrap();
        }
        assert_eq!(disk.resolve(&below).unwrap(), here.join("below"));
        let other = directory.join(".").join("below");
        assert_eq!(disk.resolve(&other).unwrap(), here.join("below"));
    }
    assert_eq!(disk.resolve(&below.join("..")).unwrap(), here);
}

fn ranges_and_whole_files<D: Disk>(disk: &D, directory: &Path) {
    let path = directory.join("file");
    let file = create(disk, &path, b"0123456789");
    let mut range = FileRange::new(file.clone(), 2, 6);
    disk.remove_file(&path).unwrap();
    assert_eq!(range.read().unwrap().as_ref(), b"234567");
    range.advance(4);
    let mut buffer = [0; 4];
    assert_eq!(range.read_front(&mut buffer).unwrap(), 2);
    assert_eq!(&buffer, b"67\0\0");
    assert_eq!(range.read_front(&mut buffer[..1]).unwrap(), 1);
    file.set_len(7).unwrap();
    let kind = kind_of(range.read(), DiskOperation::Read, &path);
    assert_eq!(kind, DiskErrorKind::UnexpectedEnd);
    range.advance(2);
    assert!(range.is_empty() && range.read().unwrap().is_empty());

    replace_whole(disk, &path, b"first").unwrap();
    replace_whole(disk, &path, b"2nd").unwrap();
    assert_eq!(contents(disk, &path), b"2nd");
    assert_eq!(disk.list(directory).unwrap().len(), 1, "no temporary file");
    assert_eq!(read_whole(disk, &path, 3).unwrap().as_ref(), b"2nd");
    let kind = kind_of(read_whole(disk, &path, 2), DiskOperation::Read, &path);
    assert_eq!(kind, DiskErrorKind::Failed);
}
