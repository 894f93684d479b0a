//! The project's own files, read once.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::Finding;

/// What belongs at the workspace's root. Names that begin with a dot are somebody's tools'; of
/// those only the project's own are read.
const AT_ROOT: [&str; 13] = [
    ".cargo",
    ".ci",
    ".gitignore",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "clippy.toml",
    "crates",
    "docs",
    "rustfmt.toml",
    "xtask",
];

/// What lies among the project's files and is not read: what cargo built, what fuzzing found.
const NOT_READ: [&str; 2] = ["target", "__fuzz__"];

/// Past this many bytes a file is hardly written by a person, nor test data that one looks at.
const LARGE: usize = 4 << 20;

/// Every text file of the project, in the order of their paths.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    /// What lies there and should not.
    pub(super) findings: Vec<Finding>,
}

/// One text file.
#[derive(Debug)]
pub(super) struct File {
    /// From the workspace's root, with `/` between the parts.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn is_rust(&self) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|extension| extension == "rs")
    }

    pub(super) fn is_under(&self, directory: &str) -> bool {
        Path::new(&self.path).starts_with(directory)
    }

    /// The lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

impl Tree {
    /// Reads the tree below `root`. Files that are not UTF-8 are data, not text, and are left out.
    ///
    /// # Errors
    /// A directory or a file that cannot be read.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self {
            files: Vec::new(),
            findings: Vec::new(),
        };
        tree.walk(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// The text of one file, if it is there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        Some(&self.files[at].text)
    }

    fn walk(&mut self, directory: &Path, prefix: &str) -> Result<()> {
        let cannot_read = |path: &Path| format!("cannot read {}", path.display());
        let entries = fs::read_dir(directory).with_context(|| cannot_read(directory))?;
        for entry in entries {
            let entry = entry.with_context(|| cannot_read(directory))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if NOT_READ.contains(&&*name) {
                continue;
            }
            if prefix.is_empty() && !AT_ROOT.contains(&&*name) {
                if !name.starts_with('.') {
                    let what = "does not belong at the root; if it does, say so in tidy/tree.rs";
                    self.findings.push(Finding::error(name, what));
                }
                continue;
            }
            let place = if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            };
            if path.is_dir() {
                self.walk(&path, &place)?;
            } else {
                let bytes = fs::read(&path).with_context(|| cannot_read(&path))?;
                self.add(place, bytes);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) {
        if bytes.len() > LARGE {
            let what = format!("{} bytes: too large to belong to the project", bytes.len());
            self.findings.push(Finding::error(&*path, what));
        } else if let Ok(text) = String::from_utf8(bytes) {
            self.files.push(File { path, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, Tree};

    #[test]
    fn text_is_kept_data_is_not_and_what_is_too_large_is_found() {
        let mut tree = Tree {
            files: Vec::new(),
            findings: Vec::new(),
        };
        tree.add("a.rs".to_owned(), b"text".to_vec());
        tree.add("b.bin".to_owned(), vec![0xff]);
        tree.add("c.txt".to_owned(), vec![b'x'; LARGE + 1]);
        assert_eq!(tree.text("a.rs"), Some("text"));
        assert_eq!(tree.files.len(), 1);
        assert_eq!(tree.findings.len(), 1);
        assert_eq!(tree.findings[0].place, "c.txt");
    }

    #[test]
    fn the_projects_own_root_holds_what_belongs_there() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let tree = Tree::read(root.as_ref()).expect("readable");
        assert_eq!(tree.findings, []);
        assert!(tree.text("xtask/src/tidy/tree.rs").is_some());
    }
}
