//! The catalogue of ids: what there is to be shown, and how much it matters.
//!
//! It lies in `xtask/catalogue`, a file a list, a line an id: `WI-004 1 a varint too long is
//! refused`. The mark is 1 (essential), 2 (expected) or 3 (later); the gloss may be missing.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use super::ids::Id;

/// The lists in the order in which the page shows them: each file with its title.
const FILES: [(&str, &str); 13] = [
    ("flows", "flow steps"),
    ("wire", "the wire"),
    ("records", "record batches"),
    ("purgatory", "delayed operations"),
    ("log", "the log"),
    ("network", "the network layer"),
    ("replica", "replicas"),
    ("broker-api", "broker requests"),
    ("client", "the network client"),
    ("producer", "the producer"),
    ("controller", "controllers"),
    ("coordinator", "groups and transactions"),
    ("traps", "traps"),
];

/// All ids there are.
pub(super) struct Catalogue {
    pub(super) entries: Vec<Entry>,
}

/// One id.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: Id,
    pub(super) mark: u8,
    pub(super) gloss: String,
    /// The title of the list that it stands in.
    pub(super) title: &'static str,
}

impl Entry {
    /// Whether a test must name it, or a note say why none does.
    pub(super) fn is_due(&self) -> bool {
        self.mark < 3
    }
}

impl Catalogue {
    /// Reads the files of the workspace at `root`.
    ///
    /// # Errors
    /// A file that is missing, a line that cannot be read, an id that stands twice.
    pub(super) fn load(root: &Path) -> Result<Self> {
        let directory = root.join("xtask/catalogue");
        let mut entries = Vec::new();
        for (name, title) in FILES {
            let path = directory.join(name).with_extension("txt");
            let text = std::fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            entries.extend(parse(&text, title).with_context(|| path.display().to_string())?);
        }
        Self::new(entries)
    }

    /// Makes a catalogue of entries, each id once.
    ///
    /// # Errors
    /// An id that stands twice.
    pub(super) fn new(entries: Vec<Entry>) -> Result<Self> {
        let mut ids: Vec<Id> = entries.iter().map(|entry| entry.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.array_windows().find_map(|[a, b]| (a == b).then_some(a)) {
            bail!("{twice} stands twice in the catalogue");
        }
        Ok(Self { entries })
    }

    pub(super) fn get(&self, id: Id) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }
}

/// Reads one file's lines.
///
/// # Errors
/// A line that is not an id, a mark and perhaps a gloss.
pub(super) fn parse(text: &str, title: &'static str) -> Result<Vec<Entry>> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| entry(line, title).ok_or_else(|| anyhow!("cannot read `{line}`")))
        .collect()
}

fn entry(line: &str, title: &'static str) -> Option<Entry> {
    let (id, rest) = line.split_once(' ')?;
    let (mark, gloss) = rest.split_once(' ').unwrap_or((rest, ""));
    let mark = mark.parse().ok().filter(|mark| (1..=3).contains(mark))?;
    Some(Entry {
        id: Id::parse(id)?,
        mark,
        gloss: gloss.to_owned(),
        title,
    })
}

#[cfg(test)]
mod tests {
    use super::super::ids::Id;
    use super::{Catalogue, Entry, parse};

    #[test]
    fn a_line_is_an_id_a_mark_and_perhaps_a_gloss() {
        let entries = parse("# head\n\nWI-004 1 too long\nLG-002 3\n", "t").expect("two lines");
        let first = Entry {
            id: Id::Behaviour(*b"WI", 4),
            mark: 1,
            gloss: "too long".to_owned(),
            title: "t",
        };
        assert_eq!(entries[0], first);
        assert_eq!((entries[1].mark, entries[1].gloss.as_str()), (3, ""));
        assert!(entries[0].is_due());
        assert!(!entries[1].is_due());
        for line in ["WI-004", "WI-004 4 x", "WI-4 1 x", "WI-004 one"] {
            parse(line, "t").expect_err(line);
        }
    }

    #[test]
    fn an_id_stands_once() {
        let twice = parse("WI-004 1 a\nWI-004 2 b\n", "t").expect("two lines");
        assert!(Catalogue::new(twice).is_err());
    }

    #[test]
    fn the_projects_own_catalogue_can_be_read() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let catalogue = Catalogue::load(root.as_ref()).expect("readable");
        let first = catalogue
            .get(Id::Behaviour(*b"WI", 1))
            .expect("the first of the wire");
        assert_eq!(first.mark, 1);
        assert_eq!(catalogue.get(Id::Behaviour(*b"WI", 999)), None);
    }
}
