//! Starting: whose the directories are.

use std::path::{Path, PathBuf};

use klamm_io::sim::SimDisk;
use klamm_io::{Disk, RealDisk};
use klamm_primitives::{BrokerEpoch, BrokerId};

use super::support::*;
use crate::directory::{ClaimError, Owner};
use crate::manager::{LogManager, StartError};
use crate::meta_properties::MetaProperties;

#[test]
fn lg_190_a_second_user_of_a_directory_is_refused_at_once() {
    fn check<D: Disk>(disk: &D, directory: &str) {
        let bench = Bench::of(&[directory]);
        let first = bench.open(disk);
        let refused = bench.try_open(disk).err().expect("it is in use");
        let expected = Path::new(directory);
        assert!(
            matches!(&refused, StartError::Claim(ClaimError::InUse { path }) if path == expected),
            "{refused}"
        );
        first.stop(BrokerEpoch::NONE);
        let second = bench.open(disk);
        // The process that has it is gone without a word.
        drop(second);
        bench.open(disk);
    }
    check(&SimDisk::new(1), "/logs");
    let directory = tempfile::tempdir().unwrap();
    check(&RealDisk, directory.path().to_str().unwrap());
}

/// Covers LG-190, LG-191.
#[test]
fn a_survey_refuses_what_an_opening_would_and_makes_nothing() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs", "/missing"]);
    let survey = |owner: &Owner| LogManager::survey(&disk, owner, &bench.options.directories);
    assert_eq!(survey(&owner()).unwrap(), []);
    assert!(disk.metadata(Path::new("/logs")).is_err());

    let manager = Bench::of(&["/logs"]).open(&disk);
    assert!(matches!(
        survey(&owner()),
        Err(StartError::Claim(ClaimError::InUse { .. }))
    ));
    manager.stop(BrokerEpoch::NONE);
    disk.create_dir_all(Path::new("/logs/t-3")).unwrap();
    let found = [(PathBuf::from("/logs"), partition("t", 3))];
    assert_eq!(survey(&owner()).unwrap(), found);
    let other = Owner {
        node_id: BrokerId::new(2),
        ..owner()
    };
    assert!(matches!(
        survey(&other),
        Err(StartError::Claim(ClaimError::OtherNode { .. }))
    ));

    disk.create_dir_all(Path::new("/missing/t-3")).unwrap();
    assert!(matches!(
        survey(&owner()),
        Err(StartError::Claim(ClaimError::Ownerless { .. }))
    ));
    disk.remove_dir(Path::new("/missing/t-3")).unwrap();
    let copied = String::from_utf8(content(&disk, "/logs/meta.properties")).unwrap();
    write(&disk, "/missing/meta.properties", &copied);
    assert!(matches!(survey(&owner()), Err(StartError::SameId { .. })));
    disk.create_dir_all(Path::new("/logs/photos")).unwrap();
    assert!(matches!(
        survey(&owner()),
        Err(StartError::Claim(ClaimError::NotAPartition { .. }))
    ));
}

#[test]
fn lg_191_a_directory_is_its_owners_from_the_first_start_on() {
    let disk = SimDisk::new(1);
    let bench = Bench::of(&["/logs"]);
    let manager = bench.open(&disk);
    let id = manager.directories()[0].id;
    let meta = MetaProperties::read(&disk, Path::new("/logs")).unwrap();
    let meta = meta.expect("it was written");
    assert_eq!(meta.cluster_id, Some("a-cluster".to_owned()));
    assert_eq!(meta.node_id, Some(BrokerId::new(1)));
    assert_eq!(meta.directory_id, id);
    drop(manager);
    assert_eq!(bench.open(&disk).directories()[0].id, id);

    let mut other = Bench::of(&["/logs"]);
    other.options.owner.node_id = BrokerId::new(2);
    let refused = other.try_open(&disk).err().unwrap();
    assert!(
        matches!(&refused, StartError::Claim(ClaimError::OtherNode { found, .. }) if *found == BrokerId::new(1)),
        "{refused}"
    );
    let mut other = Bench::of(&["/logs"]);
    other.options.owner.cluster_id = "another".to_owned();
    let refused = other.try_open(&disk).err().unwrap();
    assert!(
        matches!(&refused, StartError::Claim(ClaimError::OtherCluster { found, .. }) if found == "a-cluster"),
        "{refused}"
    );
    let after = MetaProperties::read(&disk, Path::new("/logs")).unwrap();
    assert_eq!(after, Some(meta), "who was refused has changed nothing");
}

#[test]
fn lg_191_a_directory_of_an_older_version_gets_an_id_and_keeps_its_partitions() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/logs/old-0")).unwrap();
    write(
        &disk,
        "/logs/meta.properties",
        "version=0\nbroker.id=1\ncluster.id=a-cluster\n",
    );
    let manager = Bench::of(&["/logs"]).open(&disk);
    assert!(manager.get(&partition("old", 0)).is_some());
    let meta = MetaProperties::read(&disk, Path::new("/logs")).unwrap();
    assert_eq!(meta.unwrap().directory_id, manager.directories()[0].id);
}

#[test]
fn partitions_without_an_owner_are_not_taken() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/logs/clicks-0")).unwrap();
    let refused = Bench::of(&["/logs"]).try_open(&disk).err().unwrap();
    assert!(
        matches!(&refused, StartError::Claim(ClaimError::Ownerless { name, .. }) if name == "clicks-0"),
        "{refused}"
    );
    assert!(!exists(&disk, "/logs/meta.properties"));
}

#[test]
fn two_directories_with_one_id_are_refused() {
    let disk = SimDisk::new(1);
    drop(Bench::of(&["/a"]).open(&disk));
    let meta = MetaProperties::read(&disk, Path::new("/a"))
        .unwrap()
        .unwrap();
    disk.create_dir_all(Path::new("/b")).unwrap();
    meta.write(&disk, Path::new("/b")).unwrap();
    let refused = Bench::of(&["/a", "/b"]).try_open(&disk).err().unwrap();
    assert!(matches!(refused, StartError::SameId { .. }), "{refused}");
}

/// Covers LG-190: the process is not another one for having been given a directory twice.
#[test]
fn one_directory_by_two_names_is_refused_before_anything_is_made() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    std::fs::create_dir(path("data")).unwrap();
    std::os::unix::fs::symlink("data", path("link")).unwrap();
    for (first, second) in [
        ("new", "new"),
        ("new", "./new"),
        ("new/", "new"),
        ("data", "link"),
        ("link/new", "data/new"),
        ("data", "data/../data"),
    ] {
        let mut bench = Bench::of(&[]);
        bench.options.directories = [first, "other", second].map(path).into();
        let survey = LogManager::survey(&RealDisk, &owner(), &bench.options.directories);
        for refused in [survey.err(), bench.try_open(&RealDisk).err()] {
            let Some(StartError::SameDirectory {
                first: one,
                second: other,
            }) = refused
            else {
                panic!("{refused:?}");
            };
            assert_eq!((one, other), (path(first), path(second)));
        }
        let made: Vec<_> = std::fs::read_dir(root.path()).unwrap().collect();
        assert_eq!(made.len(), 2, "{made:?}");
    }
}
