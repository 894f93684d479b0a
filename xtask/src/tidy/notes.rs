//! Why an id has no test: the notes in `docs/coverage-notes.txt`.
//!
//! A line is `WI-042..WI-045, WI-060: the reason`, or `LG: the reason` for whatever is left of a
//! list. A line that begins with white space goes on with the reason of the one before.

use std::ops::RangeInclusive;

use super::ids::{Id, List, parse_span};

/// All notes, and what could not be read as one.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) notes: Vec<Note>,
    pub(super) findings: Vec<String>,
}

/// One reason for some ids.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) scope: Scope,
    pub(super) reason: String,
    pub(super) line: usize,
}

/// Which ids a note is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// These, none of which may have a test.
    Ids(Vec<RangeInclusive<Id>>),
    /// Those of a list that have neither a test nor a note of their own.
    RestOf(List),
}

impl Notes {
    /// Reads the file's text. Lines that are empty or begin with `#` say nothing.
    pub(super) fn parse(path: &str, text: &str) -> Self {
        let mut read = Self::default();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with(char::is_whitespace) {
                match read.notes.last_mut() {
                    Some(note) => note.reason = format!("{} {}", note.reason, line.trim()),
                    None => read
                        .findings
                        .push(format!("{path}:{number}: goes on with nothing")),
                }
                continue;
            }
            match note(line, number) {
                Some(note) => read.notes.push(note),
                None => read
                    .findings
                    .push(format!("{path}:{number}: cannot read `{line}`")),
            }
        }
        read
    }

    /// The note for an id that has no test: one of its own, else that for the rest of its list.
    pub(super) fn for_id(&self, id: Id) -> Option<&Note> {
        let named = self.notes.iter().find(|note| note.names(id));
        named.or_else(|| {
            self.notes
                .iter()
                .find(|note| note.scope == Scope::RestOf(id.list()))
        })
    }
}

impl Note {
    /// Whether the note names this very id.
    pub(super) fn names(&self, id: Id) -> bool {
        match &self.scope {
            Scope::Ids(spans) => spans.iter().any(|span| span.contains(&id)),
            Scope::RestOf(_) => false,
        }
    }
}

fn note(line: &str, number: usize) -> Option<Note> {
    let (scope, reason) = line.split_once(':')?;
    let scope = match List::parse(scope) {
        Some(list) => Scope::RestOf(list),
        None => Scope::Ids(
            scope
                .split(',')
                .map(|s| parse_span(s.trim()))
                .collect::<Option<_>>()?,
        ),
    };
    let reason = reason.trim();
    (!reason.is_empty()).then(|| Note {
        scope,
        reason: reason.to_owned(),
        line: number,
    })
}

#[cfg(test)]
mod tests {
    use super::super::ids::Id;
    use super::Notes;

    fn id(text: &str) -> Id {
        Id::parse(text).expect("an id")
    }

    #[test]
    fn a_note_names_ids_and_gives_a_reason_over_several_lines() {
        let text = "# Head.\n\nWI-042..WI-044, WI-060: the broker\n  decides.\n";
        let notes = Notes::parse("n", text);
        assert_eq!(notes.findings, [""; 0]);
        let note = notes.for_id(id("WI-043")).expect("within the span");
        assert_eq!(
            (note.reason.as_str(), note.line),
            ("the broker decides.", 3)
        );
        assert!(notes.for_id(id("WI-060")).is_some());
        assert!(notes.for_id(id("WI-045")).is_none());
    }

    #[test]
    fn the_rest_of_a_list_yields_to_a_note_of_its_own() {
        let notes = Notes::parse("n", "LG: a later crate\nLG-007: never\nP: later\n");
        let reason = |text| notes.for_id(id(text)).map(|note| note.reason.as_str());
        assert_eq!(reason("LG-007"), Some("never"));
        assert_eq!(reason("LG-008"), Some("a later crate"));
        assert_eq!(reason("P1.1"), Some("later"));
        assert_eq!(reason("B1.1"), None);
    }

    #[test]
    fn what_cannot_be_read_is_found() {
        for line in [
            "WI-042",
            "WI-042:",
            "WI-42: x",
            "WI-005..WI-001: x",
            "  nothing before",
        ] {
            assert_eq!(Notes::parse("n", line).findings.len(), 1, "{line}");
        }
    }
}
