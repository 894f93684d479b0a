//! What the tests name, held against the catalogue and the notes.

use std::collections::BTreeSet;

use super::catalogue::{Catalogue, Entry};
use super::claims::Claim;
use super::ids::Id;
use super::notes::{Notes, Scope};
use super::{COVERAGE_NOTES, Finding};

/// The catalogue, with what is known of each id.
pub(super) struct Coverage<'a> {
    catalogue: &'a Catalogue,
    claims: &'a [Claim],
    notes: &'a Notes,
    covered: BTreeSet<Id>,
}

/// An id that no test names, and why.
pub(super) struct Open<'a> {
    pub(super) entry: &'a Entry,
    pub(super) reason: Option<&'a str>,
}

/// How many ids of a list there are, and how many a test names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) title: &'static str,
    /// Marked 1 or 2: all, named by a test, explained by a note.
    pub(super) due: usize,
    pub(super) covered: usize,
    pub(super) explained: usize,
    /// Marked 3: all, named by a test.
    pub(super) later: usize,
    pub(super) later_covered: usize,
}

impl<'a> Coverage<'a> {
    pub(super) fn new(catalogue: &'a Catalogue, claims: &'a [Claim], notes: &'a Notes) -> Self {
        let covered = catalogue
            .entries
            .iter()
            .map(|entry| entry.id)
            .filter(|id| claims.iter().any(|claim| claim.ids.contains(id)))
            .collect();
        Self {
            catalogue,
            claims,
            notes,
            covered,
        }
    }

    /// What does not fit: claims of ids that do not exist, notes that have become untrue, and ids
    /// that have neither test nor note.
    pub(super) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for claim in self.claims {
            for end in BTreeSet::from([claim.ids.start(), claim.ids.end()]) {
                if self.catalogue.get(*end).is_none() {
                    let what = format!("{end} is not in the catalogue");
                    findings.push(Finding::error(&*claim.place, what));
                }
            }
        }
        for note in &self.notes.notes {
            let place = format!("{COVERAGE_NOTES}:{}", note.line);
            let error = |what: String| Finding::error(&*place, what);
            match &note.scope {
                Scope::Ids(spans) => {
                    for end in spans
                        .iter()
                        .flat_map(|span| BTreeSet::from([span.start(), span.end()]))
                    {
                        if self.catalogue.get(*end).is_none() {
                            findings.push(error(format!("{end} is not in the catalogue")));
                        }
                    }
                    let tested = self.covered.iter().filter(|id| note.names(**id));
                    findings.extend(tested.map(|id| error(format!("{id} has a test now"))));
                }
                Scope::RestOf(list) => {
                    let needed = self.open().any(|open| {
                        let of_list = open.entry.id.list() == *list;
                        of_list && open.reason == Some(note.reason.as_str())
                    });
                    if !needed {
                        findings.push(error(format!("nothing is left of {list} to explain")));
                    }
                }
            }
        }
        let unexplained = self.unexplained();
        if !unexplained.is_empty() {
            let what = format!("neither a test nor a note names {}", unexplained.join(", "));
            findings.push(Finding::error(COVERAGE_NOTES, what));
        }
        findings
    }

    /// The ids marked 1 and 2 that no test names, in the catalogue's order.
    pub(super) fn open(&self) -> impl Iterator<Item = Open<'_>> {
        self.catalogue
            .entries
            .iter()
            .filter(|entry| entry.is_due() && !self.covered.contains(&entry.id))
            .map(|entry| Open {
                entry,
                reason: self.notes.for_id(entry.id).map(|note| note.reason.as_str()),
            })
    }

    /// The ids marked 1 and 2 that neither a test nor a note names, as spans where they follow one
    /// another in the catalogue.
    fn unexplained(&self) -> Vec<String> {
        let is_open = |entry: &Entry| {
            entry.is_due()
                && !self.covered.contains(&entry.id)
                && self.notes.for_id(entry.id).is_none()
        };
        let runs = self
            .catalogue
            .entries
            .chunk_by(|a, b| is_open(a) == is_open(b) && a.id.list() == b.id.list());
        runs.filter(|run| is_open(&run[0]))
            .map(|run| match run {
                [first, .., last] => format!("{}..{}", first.id, last.id),
                _ => run[0].id.to_string(),
            })
            .collect()
    }

    /// Counts by list, in the catalogue's order.
    pub(super) fn counts(&self) -> Vec<Counts> {
        let mut lists: Vec<Counts> = Vec::new();
        for entry in &self.catalogue.entries {
            if lists
                .last()
                .is_none_or(|counts| counts.title != entry.title)
            {
                lists.push(Counts {
                    title: entry.title,
                    ..Counts::default()
                });
            }
            let Some(counts) = lists.last_mut() else {
                continue;
            };
            let covered = self.covered.contains(&entry.id);
            if entry.is_due() {
                counts.due += 1;
                counts.covered += usize::from(covered);
                let explained = !covered && self.notes.for_id(entry.id).is_some();
                counts.explained += usize::from(explained);
            } else {
                counts.later += 1;
                counts.later_covered += usize::from(covered);
            }
        }
        lists
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{self, Catalogue};
    use super::super::claims::Claim;
    use super::super::ids::parse_span;
    use super::super::notes::Notes;
    use super::{Counts, Coverage};

    fn catalogue() -> Catalogue {
        let text = "WI-001 1 a\nWI-002 2 b\nWI-003 3 c\nWI-004 1 d\n";
        Catalogue::new(catalogue::parse(text, "the wire").expect("lines")).expect("each once")
    }

    fn claim(span: &str) -> Claim {
        Claim {
            ids: parse_span(span).expect("a span"),
            place: "x.rs:1".to_owned(),
        }
    }

    /// The findings for these claims and notes, warnings marked.
    fn findings(claims: &[&str], notes: &str) -> Vec<String> {
        let claims: Vec<_> = claims.iter().map(|span| claim(span)).collect();
        let notes = Notes::parse("n", notes);
        let found = Coverage::new(&catalogue(), &claims, &notes).check();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_named_or_explained_is_in_order() {
        assert_eq!(findings(&["WI-001..WI-002"], "WI-004: later\n"), [""; 0]);
        assert_eq!(findings(&["WI-001"], "WI: later\n"), [""; 0]);
    }

    #[test]
    fn an_id_without_test_and_note_is_named() {
        let found = findings(&["WI-001..WI-002"], "");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("WI-004"), "{}", found[0]);
    }

    #[test]
    fn neighbours_without_test_and_note_are_named_as_a_span() {
        let what = "error: docs/coverage-notes.txt: neither a test nor a note names";
        assert_eq!(
            findings(&["WI-004"], ""),
            [format!("{what} WI-001..WI-002")]
        );
        assert_eq!(
            findings(&["WI-002"], ""),
            [format!("{what} WI-001, WI-004")]
        );
    }

    #[test]
    fn an_id_that_does_not_exist_is_refused() {
        let found = findings(&["WI-001..WI-009"], "");
        assert_eq!(found, ["error: x.rs:1: WI-009 is not in the catalogue"]);
        let found = findings(&["WI-001..WI-004"], "WI-005: later\n");
        assert_eq!(
            found,
            ["error: docs/coverage-notes.txt:1: WI-005 is not in the catalogue"]
        );
    }

    #[test]
    fn a_note_that_became_untrue_is_refused() {
        let found = findings(&["WI-001..WI-004"], "WI-002: later\n");
        assert_eq!(
            found,
            ["error: docs/coverage-notes.txt:1: WI-002 has a test now"]
        );
        let found = findings(&["WI-001..WI-004"], "WI: later\n");
        assert_eq!(
            found,
            ["error: docs/coverage-notes.txt:1: nothing is left of WI to explain"]
        );
    }

    #[test]
    fn counts_keep_what_is_due_apart_from_what_is_later() {
        let (catalogue, claims) = (catalogue(), [claim("WI-001"), claim("WI-003")]);
        let notes = Notes::parse("n", "WI-004: later\n");
        let expected = Counts {
            title: "the wire",
            due: 3,
            covered: 1,
            explained: 1,
            later: 1,
            later_covered: 1,
        };
        assert_eq!(
            Coverage::new(&catalogue, &claims, &notes).counts(),
            [expected]
        );
    }
}
