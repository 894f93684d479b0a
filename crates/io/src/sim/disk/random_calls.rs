//! Random calls: the simulated disk against the real one, and against its own promise.

use std::path::Path;

use proptest::prelude::*;

use super::tests::{FILE, ROOT, durable_file, found};
use super::*;
use crate::{DiskErrorKind, DiskFile, RealDisk, read_whole};

/// One call on a disk, with few names and small numbers, so that calls meet.
#[derive(Debug, Clone)]
enum Call {
    Open(usize, OpenMode),
    Write { at: u64, len: usize, byte: u8 },
    SetLen(u64),
    Allocate(u64),
    SyncFile,
    SyncDir(usize),
    CreateDir(usize),
    Rename(usize, usize),
    RemoveFile(usize),
    RemoveDir(usize),
}

const NAMES: [&str; 7] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a"];

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let name = 0..NAMES.len();
    let mode = prop::sample::select(vec![
        OpenMode::ReadWrite,
        OpenMode::OpenOrCreate,
        OpenMode::CreateNew,
        OpenMode::CreateOrTruncate,
    ]);
    let call = prop_oneof![
        4 => (name.clone(), mode).prop_map(|(name, mode)| Call::Open(name, mode)),
        4 => (0..9000u64, 0..5000usize, any::<u8>())
            .prop_map(|(at, len, byte)| Call::Write { at, len, byte }),
        1 => (0..14_000u64).prop_map(Call::SetLen),
        1 => (0..14_000u64).prop_map(Call::Allocate),
        2 => Just(Call::SyncFile),
        2 => name.clone().prop_map(Call::SyncDir),
        2 => name.clone().prop_map(Call::CreateDir),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Call::Rename(from, to)),
        1 => name.clone().prop_map(Call::RemoveFile),
        1 => name.prop_map(Call::RemoveDir),
    ];
    prop::collection::vec(call, 1..40)
}

/// A disk in use: the file that was opened last is the one that is written.
struct User<'a, D: Disk> {
    disk: D,
    root: &'a Path,
    file: Option<D::File>,
}

impl<D: Disk> User<'_, D> {
    fn perform(&mut self, call: &Call) -> Result<(), DiskErrorKind> {
        let path = |name: usize| self.root.join(NAMES[name]);
        let on_file = |change: &dyn Fn(&D::File) -> Result<(), DiskError>| match &self.file {
            Some(file) => change(file),
            None => Ok(()),
        };
        let outcome = match call {
            Call::Open(name, mode) => match self.disk.open(&path(*name), *mode) {
                Ok(file) => {
                    self.file = Some(file);
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Call::Write { at, len, byte } => {
                on_file(&|file| file.write_all_at(&vec![*byte; *len], *at))
            }
            Call::SetLen(len) => on_file(&|file| file.set_len(*len)),
            Call::Allocate(len) => on_file(&|file| file.allocate(*len).map(drop)),
            Call::SyncFile => on_file(&DiskFile::sync_data),
            Call::SyncDir(name) => self.disk.sync_dir(&path(*name)),
            Call::CreateDir(name) => self.disk.create_dir_all(&path(*name)),
            Call::Rename(from, to) => self.disk.rename(&path(*from), &path(*to)),
            Call::RemoveFile(name) => self.disk.remove_file(&path(*name)),
            Call::RemoveDir(name) => self.disk.remove_dir(&path(*name)),
        };
        outcome.map_err(|error| error.kind())
    }

    /// All names and what they hold.
    fn state(&self) -> Vec<(&'static str, Option<Vec<u8>>)> {
        let contents = |name: &str| read_whole(&self.disk, &self.root.join(name), 1 << 20);
        NAMES
            .map(|name| (name, contents(name).ok().map(|bytes| bytes.to_vec())))
            .to_vec()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The simulated disk does, and refuses, what the real one does.
    #[test]
    fn behaves_as_the_real_disk(calls in calls()) {
        let root = tempfile::tempdir().unwrap();
        let mut real = User { disk: RealDisk, root: root.path(), file: None };
        let mut simulated = User { disk: SimDisk::new(1), root: Path::new(ROOT), file: None };
        for call in &calls {
            prop_assert_eq!(simulated.perform(call), real.perform(call), "{:?}", call);
        }
        prop_assert_eq!(simulated.state(), real.state());
    }

    /// Bytes that were synced and not touched since are there after every power cut.
    #[test]
    fn synced_bytes_survive(calls in calls(), seed in any::<u64>()) {
        let disk = SimDisk::new(seed);
        let file = durable_file(&disk, FILE, &[]);
        let mut user = User { disk: disk.clone(), root: Path::new("/none"), file: Some(file.clone()) };
        // The synced contents, `None` where a later call may have changed them.
        let mut synced: Vec<Option<u8>> = Vec::new();
        for call in calls {
            match call {
                Call::Write { at, len, .. } => {
                    let at = usize::try_from(at).unwrap();
                    synced.iter_mut().skip(at).take(len).for_each(|byte| *byte = None);
                }
                Call::SetLen(len) => synced.truncate(usize::try_from(len).unwrap()),
                Call::Allocate(_) | Call::SyncFile => {}
                _ => continue,
            }
            user.perform(&call).unwrap();
            if matches!(call, Call::SyncFile) {
                synced = found(&disk, FILE).unwrap().into_iter().map(Some).collect();
            }
            let cut = disk.crash(Crash::PowerLoss { seed });
            let contents = found(&cut, FILE).unwrap();
            prop_assert!(contents.len() >= synced.len());
            for (found, synced) in contents.iter().zip(&synced) {
                prop_assert!(synced.is_none_or(|synced| synced == *found));
            }
        }
    }
}
