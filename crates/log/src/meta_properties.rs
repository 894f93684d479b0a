//! `meta.properties`: to which cluster and node a log directory belongs.
//!
//! ```text
//! cluster.id=AAECAwQFBgcICQoLDA0ODw
//! directory.id=EBESExQVFhcYGRobHB0eHw
//! node.id=3
//! version=1
//! ```
//!
//! Version 0, of brokers that used `ZooKeeper`, has `broker.id` instead of `node.id`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use klamm_io::{Disk, DiskError};
use klamm_primitives::{BrokerId, Uuid};

use crate::small_file::{self, SmallFileError};

const FILE_NAME: &str = "meta.properties";

/// Whose log directory it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaProperties {
    /// The cluster; version 0 may lack it.
    pub cluster_id: Option<String>,
    /// The broker; missing in directories of version 0 that no broker has taken yet.
    pub node_id: Option<BrokerId>,
    /// What names this directory for good.
    pub directory_id: Option<Uuid>,
}

impl MetaProperties {
    fn path(directory: &Path) -> PathBuf {
        directory.join(FILE_NAME)
    }

    /// Reads the file; `None` where there is none: nobody has used the directory yet. Comments
    /// and keys of other purposes are passed over.
    ///
    /// # Errors
    /// [`SmallFileError::Damaged`] for no version or one other than 0 and 1, a number or an id that is
    /// none, and in version 1 a missing cluster or node id; [`SmallFileError::Disk`].
    pub fn read<D: Disk>(disk: &D, directory: &Path) -> Result<Option<Self>, SmallFileError> {
        let path = Self::path(directory);
        let Some(text) = small_file::read(disk, &path)? else {
            return Ok(None);
        };
        let property = |key: &str| text.lines().filter_map(property).rfind(|it| it.0 == key);
        let value = |key: &str| property(key).map(|(_, value)| value);
        let damaged = |key: &str| small_file::damaged(&path, format!("`{key}` makes no sense"));

        let node_key = match value("version").as_deref() {
            // Every file has one; without it this is a part of one, or none.
            None => return Err(small_file::damaged(&path, "`version` is missing")),
            Some("0") => "broker.id",
            Some("1") => "node.id",
            Some(version) => {
                let what = format!("version {version} instead of 0 or 1");
                return Err(small_file::damaged(&path, what));
            }
        };
        let node_id = match value(node_key) {
            None => None,
            Some(id) => Some(
                id.parse()
                    .ok()
                    .filter(|&id: &i32| id >= 0)
                    .ok_or_else(|| damaged(node_key))?,
            ),
        };
        let directory_id = match value("directory.id") {
            None => None,
            Some(id) => Some(id.parse().map_err(|_| damaged("directory.id"))?),
        };
        let cluster_id = value("cluster.id");
        if node_key == "node.id" && (node_id.is_none() || cluster_id.is_none()) {
            return Err(small_file::damaged(
                &path,
                "`node.id` or `cluster.id` is missing",
            ));
        }
        Ok(Some(Self {
            cluster_id,
            node_id: node_id.map(BrokerId::new),
            directory_id,
        }))
    }

    /// Replaces the file, in version 1, durably.
    ///
    /// # Errors
    /// The former file is still there, or the new one, whole.
    ///
    /// # Panics
    /// Without a cluster and a node id, which version 1 must have.
    pub fn write<D: Disk>(&self, disk: &D, directory: &Path) -> Result<(), DiskError> {
        let cluster_id = self.cluster_id.as_deref().expect("version 1 has a cluster");
        let node_id = self.node_id.expect("version 1 has a node");
        let mut text = format!("#\ncluster.id={}\n", escaped(cluster_id));
        if let Some(id) = self.directory_id {
            writeln!(text, "directory.id={id}").expect("a string takes any text");
        }
        write!(text, "node.id={node_id}\nversion=1\n").expect("a string takes any text");
        small_file::replace(disk, &Self::path(directory), &text)
    }
}

/// A line's key and value: parted by `=` or `:`, with white space around them, and with `\`
/// before characters that would mean something else. `None` for comments and empty lines.
fn property(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    if line.starts_with(['#', '!']) {
        return None;
    }
    let (key, value) = line.split_once(['=', ':'])?;
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.trim_start().chars();
    while let Some(character) = characters.next() {
        plain.extend(match character {
            '\\' => characters.next(),
            other => Some(other),
        });
    }
    Some((key.trim_end(), plain))
}

fn escaped(value: &str) -> String {
    value
        .chars()
        .flat_map(|character| {
            let special = matches!(character, '\\' | '=' | ':' | '#' | '!');
            special.then_some('\\').into_iter().chain([character])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use klamm_io::RealDisk;

    use super::*;

    fn read(text: &str) -> Result<Option<MetaProperties>, SmallFileError> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("meta.properties"), text).unwrap();
        MetaProperties::read(&RealDisk, directory.path())
    }

    /// Covers LG-191, LG-008.
    #[test]
    fn what_kafka_wrote_is_read() {
        let text = "#\n#Thu Aug 01 00:00:00 UTC 2024\ncluster.id=AAECAwQFBgcICQoLDA0ODw\n\
                    directory.id=EBESExQVFhcYGRobHB0eHw\nnode.id=3\nversion=1\nother=1\n";
        let wanted = MetaProperties {
            cluster_id: Some("AAECAwQFBgcICQoLDA0ODw".to_owned()),
            node_id: Some(BrokerId::new(3)),
            directory_id: Some("EBESExQVFhcYGRobHB0eHw".parse().unwrap()),
        };
        assert_eq!(read(text).unwrap(), Some(wanted));
        let old = read("version=0\nbroker.id = 7\n").unwrap().unwrap();
        assert_eq!(old.node_id, Some(BrokerId::new(7)));
        assert_eq!(old.cluster_id, None);
    }

    #[test]
    fn lg_191_what_is_written_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let read = || MetaProperties::read(&RealDisk, directory.path()).unwrap();
        assert_eq!(read(), None);
        for (cluster, directory_id) in [("plain", None), ("a=b:c\\d#e!", Some(Uuid::ONE))] {
            let properties = MetaProperties {
                cluster_id: Some(cluster.to_owned()),
                node_id: Some(BrokerId::new(1)),
                directory_id,
            };
            properties.write(&RealDisk, directory.path()).unwrap();
            assert_eq!(read(), Some(properties));
        }
    }

    #[test]
    fn lg_191_garbage_is_refused() {
        for text in [
            "version=2\n",
            "version=1\n",
            "version=1\nnode.id=1\n",
            "version=1\nnode.id=-1\ncluster.id=a\n",
            "version=1\nnode.id=one\ncluster.id=a\n",
            "version=1\nnode.id=1\ncluster.id=a\ndirectory.id=short\n",
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("meta.properties"), "{text:?}: {error}");
        }
    }
}
