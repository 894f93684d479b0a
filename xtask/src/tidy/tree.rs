//! The project's own text files, read once.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// What is not the project's text. In a second work tree `.git` is a file.
const LEFT_OUT: [&str; 3] = ["target", ".git", "__fuzz__"];

/// Every text file below the workspace's root, in the order of their paths.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
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
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// The text of one file, if it is there.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        Some(&self.files[at].text)
    }
}

fn walk(directory: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    let cannot_read = |path: &Path| format!("cannot read {}", path.display());
    let entries = fs::read_dir(directory).with_context(|| cannot_read(directory))?;
    for entry in entries {
        let entry = entry.with_context(|| cannot_read(directory))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = entry.path();
        let place = if prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{prefix}/{name}")
        };
        let kind = entry.file_type().with_context(|| cannot_read(&path))?;
        if LEFT_OUT.contains(&name) {
            continue;
        }
        if kind.is_dir() {
            walk(&path, &place, files)?;
        } else if kind.is_file() {
            let bytes = fs::read(&path).with_context(|| cannot_read(&path))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path: place, text });
            }
        }
    }
    Ok(())
}
