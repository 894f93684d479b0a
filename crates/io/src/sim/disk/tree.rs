//! [`Tree`]: which names a disk holds, now and after a power cut.
//!
//! Changes of names are atomic and, within one directory, keep their order, as with a journal:
//! a power cut leaves some first part of each directory's changes. A rename between two
//! directories is one change of both. What was made durable by a sync of the directory stays.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path};

use rustix::io::Errno;

use super::super::random::Random;
use super::content::{Content, Survival};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(u64);

const ROOT: NodeId = NodeId(0);

#[derive(Debug, Clone)]
pub(super) struct Tree {
    nodes: BTreeMap<NodeId, Node>,
    next_node: u64,
    /// Changes of names that no sync has made durable, oldest first.
    pending: Vec<Change>,
    /// Names taken away since the last look for nodes that nothing refers to.
    removed: usize,
}

#[derive(Debug, Clone)]
enum Node {
    File(FileNode),
    Directory(Directory),
}

#[derive(Debug, Clone)]
pub(super) struct FileNode {
    pub(super) content: Content,
    /// Handles that are open.
    pub(super) open_count: usize,
    /// Whether a directory holds it; there are no hard links.
    pub(super) is_linked: bool,
}

impl FileNode {
    /// Whether its bytes still take space.
    pub(super) const fn is_alive(&self) -> bool {
        self.is_linked || self.open_count > 0
    }
}

#[derive(Debug, Clone, Default)]
struct Directory {
    now: BTreeMap<OsString, NodeId>,
    durable: BTreeMap<OsString, NodeId>,
}

/// Entries that change together.
#[derive(Debug, Clone)]
struct Change(Vec<(NodeId, OsString, Option<NodeId>)>);

impl Change {
    fn touches(&self, directories: &BTreeSet<NodeId>) -> bool {
        self.0
            .iter()
            .any(|(directory, ..)| directories.contains(directory))
    }

    fn add_to(&self, directories: &mut BTreeSet<NodeId>) {
        directories.extend(self.0.iter().map(|(directory, ..)| *directory));
    }
}

/// Where a path leads.
pub(super) struct Place {
    pub(super) parent: NodeId,
    pub(super) name: OsString,
    pub(super) node: Option<NodeId>,
}

impl Tree {
    /// A root directory and nothing in it.
    pub(super) fn new() -> Self {
        Self {
            nodes: BTreeMap::from([(ROOT, Node::Directory(Directory::default()))]),
            next_node: 1,
            pending: Vec::new(),
            removed: 0,
        }
    }

    /// The node of a path, which must exist.
    pub(super) fn find(&self, path: &Path) -> Result<NodeId, Errno> {
        let mut at = ROOT;
        for name in names_of(path) {
            at = *self.directory(at)?.now.get(&name).ok_or(Errno::NOENT)?;
        }
        Ok(at)
    }

    /// The directory above a path, which must exist, and what it holds under the last name.
    pub(super) fn place(&self, path: &Path) -> Result<Place, Errno> {
        let mut names = names_of(path);
        let name = names.pop().ok_or(Errno::BUSY)?;
        let mut parent = ROOT;
        for name in names {
            parent = *self.directory(parent)?.now.get(&name).ok_or(Errno::NOENT)?;
        }
        let node = self.directory(parent)?.now.get(&name).copied();
        Ok(Place { parent, name, node })
    }

    pub(super) fn is_directory(&self, node: NodeId) -> bool {
        matches!(self.nodes.get(&node), Some(Node::Directory(_)))
    }

    pub(super) fn file(&self, node: NodeId) -> Result<&FileNode, Errno> {
        match self.nodes.get(&node) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Directory(_)) => Err(Errno::ISDIR),
            None => Err(Errno::NOENT),
        }
    }

    pub(super) fn file_mut(&mut self, node: NodeId) -> Result<&mut FileNode, Errno> {
        match self.nodes.get_mut(&node) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Directory(_)) => Err(Errno::ISDIR),
            None => Err(Errno::NOENT),
        }
    }

    fn directory(&self, node: NodeId) -> Result<&Directory, Errno> {
        match self.nodes.get(&node) {
            Some(Node::Directory(directory)) => Ok(directory),
            Some(Node::File(_)) => Err(Errno::NOTDIR),
            None => Err(Errno::NOENT),
        }
    }

    fn directory_mut(&mut self, node: NodeId) -> Option<&mut Directory> {
        match self.nodes.get_mut(&node) {
            Some(Node::Directory(directory)) => Some(directory),
            _ => None,
        }
    }

    /// The names in a directory and what they lead to.
    pub(super) fn entries(
        &self,
        node: NodeId,
    ) -> Result<impl Iterator<Item = (&OsString, NodeId)>, Errno> {
        Ok(self
            .directory(node)?
            .now
            .iter()
            .map(|(name, node)| (name, *node)))
    }

    pub(super) fn create_file(&mut self, place: Place, now_ms: i64) -> NodeId {
        self.create(
            place,
            Node::File(FileNode {
                content: Content::new(now_ms),
                open_count: 0,
                is_linked: true,
            }),
        )
    }

    pub(super) fn create_directory(&mut self, place: Place) -> NodeId {
        self.create(place, Node::Directory(Directory::default()))
    }

    fn create(&mut self, place: Place, node: Node) -> NodeId {
        let id = NodeId(self.next_node);
        self.next_node += 1;
        self.nodes.insert(id, node);
        self.change(Change(vec![(place.parent, place.name, Some(id))]));
        id
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> Result<(), Errno> {
        let place = self.place(path)?;
        let node = place.node.ok_or(Errno::NOENT)?;
        self.file(node)?;
        self.unlink(node);
        self.change(Change(vec![(place.parent, place.name, None)]));
        Ok(())
    }

    pub(super) fn remove_directory(&mut self, path: &Path) -> Result<(), Errno> {
        let place = self.place(path)?;
        let node = place.node.ok_or(Errno::NOENT)?;
        if !self.directory(node)?.now.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.change(Change(vec![(place.parent, place.name, None)]));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        let source = self.place(from)?;
        let target = self.place(to)?;
        let moved = source.node.ok_or(Errno::NOENT)?;
        if target.node == Some(moved) {
            return Ok(());
        }
        // Into itself, or onto a directory that it is in.
        let (from_names, to_names) = (names_of(from), names_of(to));
        if to_names.starts_with(&from_names) {
            return Err(Errno::INVAL);
        }
        if from_names.starts_with(&to_names) {
            return Err(Errno::NOTEMPTY);
        }
        if let Some(replaced) = target.node {
            match (self.is_directory(moved), self.directory(replaced)) {
                (true, Ok(directory)) if !directory.now.is_empty() => return Err(Errno::NOTEMPTY),
                (true, Ok(_)) | (false, Err(_)) => {}
                (true, Err(_)) => return Err(Errno::NOTDIR),
                (false, Ok(_)) => return Err(Errno::ISDIR),
            }
        }
        if let Some(replaced) = target.node {
            self.unlink(replaced);
        }
        self.change(Change(vec![
            (source.parent, source.name, None),
            (target.parent, target.name, Some(moved)),
        ]));
        Ok(())
    }

    /// Notes that a file has lost its name; a directory is merely forgotten.
    fn unlink(&mut self, node: NodeId) {
        if let Ok(file) = self.file_mut(node) {
            file.is_linked = false;
        }
    }

    fn change(&mut self, change: Change) {
        for (directory, name, node) in &change.0 {
            if let Some(directory) = self.directory_mut(*directory) {
                set(&mut directory.now, name, *node);
            }
        }
        let takes_away = change.0.iter().any(|(.., node)| node.is_none());
        self.pending.push(change);
        if takes_away {
            self.removed += 1;
            if self.removed * 2 > self.nodes.len() {
                self.removed = 0;
                self.forget_unreachable();
            }
        }
    }

    /// Makes durable all changes of the directory so far, and of other directories those that
    /// they rest upon.
    pub(super) fn sync_directory(&mut self, node: NodeId) -> Result<(), Errno> {
        self.directory(node)?;
        for change in self.take_pending(node) {
            self.make_durable(&change);
        }
        Ok(())
    }

    /// A sync that failed: chance says which of the changes became durable. The others are
    /// forgotten, so that a later sync will not make them durable.
    pub(super) fn fail_sync_directory(&mut self, node: NodeId, random: &mut Random) {
        let changes = self.take_pending(node);
        for change in surviving(changes, random) {
            self.make_durable(&change);
        }
    }

    fn take_pending(&mut self, node: NodeId) -> Vec<Change> {
        let mut directories = BTreeSet::from([node]);
        let mut taken = Vec::new();
        let mut left = Vec::new();
        // From the newest back, so that what a change rests upon is known when it is met.
        for change in std::mem::take(&mut self.pending).into_iter().rev() {
            if change.touches(&directories) {
                change.add_to(&mut directories);
                taken.push(change);
            } else {
                left.push(change);
            }
        }
        left.reverse();
        taken.reverse();
        self.pending = left;
        taken
    }

    fn make_durable(&mut self, change: &Change) {
        for (directory, name, node) in &change.0 {
            if let Some(directory) = self.directory_mut(*directory) {
                set(&mut directory.durable, name, *node);
            }
        }
    }

    /// The tree as the next process finds it after this one was killed: all is as it was, except
    /// that no file is open.
    pub(super) fn after_kill(&self) -> Self {
        let mut tree = self.clone();
        for node in tree.nodes.values_mut() {
            if let Node::File(file) = node {
                file.open_count = 0;
            }
        }
        tree.forget_unreachable();
        tree
    }

    /// The tree as it is found after a power cut.
    pub(super) fn after_power_loss(&self, survival: &mut Survival<'_>) -> Self {
        let mut durable = self.clone();
        let changes = std::mem::take(&mut durable.pending);
        let kept = match survival {
            Survival::All => changes,
            Survival::None => Vec::new(),
            Survival::Chance { random, .. } => surviving(changes, random),
        };
        for change in kept {
            durable.make_durable(&change);
        }
        let mut found = BTreeMap::new();
        let mut met = BTreeSet::new();
        let mut to_visit = vec![ROOT];
        while let Some(id) = to_visit.pop() {
            let node = match durable.nodes.get(&id) {
                Some(Node::Directory(directory)) => {
                    let mut entries = directory.durable.clone();
                    // A rename whose sync failed may have left a second name: checkers drop it.
                    entries.retain(|_, node| met.insert(*node));
                    to_visit.extend(entries.values());
                    Node::Directory(Directory {
                        now: entries.clone(),
                        durable: entries,
                    })
                }
                Some(Node::File(file)) => Node::File(FileNode {
                    content: file.content.after_power_loss(survival),
                    open_count: 0,
                    is_linked: true,
                }),
                None => continue,
            };
            found.insert(id, node);
        }
        durable.nodes = found;
        durable
    }

    /// All files that take space.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileNode> {
        self.nodes.values().filter_map(|node| match node {
            Node::File(file) if file.is_alive() => Some(file),
            _ => None,
        })
    }

    #[cfg(test)]
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Drops the nodes that no name, no handle and no pending change can bring back.
    fn forget_unreachable(&mut self) {
        let mut kept = BTreeSet::new();
        let mut to_visit = vec![ROOT];
        to_visit.extend(
            (self.pending.iter().flat_map(|change| &change.0)).filter_map(|(.., node)| *node),
        );
        to_visit.extend(self.nodes.iter().filter_map(|(id, node)| match node {
            Node::File(file) if file.open_count > 0 => Some(*id),
            _ => None,
        }));
        while let Some(id) = to_visit.pop() {
            if kept.insert(id)
                && let Some(Node::Directory(directory)) = self.nodes.get(&id)
            {
                to_visit.extend(directory.now.values().chain(directory.durable.values()));
            }
        }
        self.nodes.retain(|id, _| kept.contains(id));
    }
}

/// Those of the changes that a power cut leaves, when each may be the first of its directory to
/// be lost, and with it all that come after.
fn surviving(changes: Vec<Change>, random: &mut Random) -> Vec<Change> {
    // From all to none, so that the ends are met as well as the middle.
    let percent = random.below(101);
    let mut lost = BTreeSet::new();
    let mut kept = Vec::new();
    for change in changes {
        if change.touches(&lost) || !random.percent(percent) {
            change.add_to(&mut lost);
        } else {
            kept.push(change);
        }
    }
    kept
}

fn set(entries: &mut BTreeMap<OsString, NodeId>, name: &OsString, node: Option<NodeId>) {
    match node {
        Some(node) => _ = entries.insert(name.clone(), node),
        None => _ = entries.remove(name),
    }
}

/// The names of a path from the root on; `.` and the root itself are none.
fn names_of(path: &Path) -> Vec<OsString> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => _ = names.pop(),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    names
}
