//! What tests claim to show, read from their names and their doc lines.
//!
//! Two forms count and no other. A test's name may begin with ids: `wi_001_unsigned_varint`,
//! `p6_4_frames_over_several_reads`. A doc line of a test may begin with `Covers`, then ids and spans
//! of ids with commas between, over several lines if need be; a full stop, a colon or another word
//! ends them: `/// Covers WI-001, RB-020..RB-023, P5.4.` An ignored test shows nothing.

use std::ops::RangeInclusive;

use super::Finding;
use super::ids::{Id, parse_span};
use super::tree::File;

/// The word that opens a claim in a doc line.
const COVERS: &str = "Covers ";

/// A claim: these ids are shown by the test at that place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) ids: RangeInclusive<Id>,
    pub(super) place: String,
}

/// What a file claims, and what in it looks like a claim and is none.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) claims: Vec<Claim>,
    pub(super) findings: Vec<Finding>,
}

/// Reads the claims of one Rust file, line by line: a test inside a macro's braces is text to the
/// compiler's parser and a test like any other to us.
pub(super) fn scan(file: &File) -> Found {
    let mut found = Found::default();
    let mut head = Head::default();
    for (number, line) in file.lines() {
        let mut line = line.trim();
        let place = || format!("{}:{number}", file.path);
        if head.attribute_is_open() {
            line = head.read_attribute(line);
        }
        while line.starts_with("#[") {
            line = head.read_attribute(line);
        }
        if let Some(doc) = line.strip_prefix("///") {
            head.docs.push((number, doc.trim().to_owned()));
        } else if line.starts_with("//") {
            if line
                .split_once(COVERS)
                .is_some_and(|(_, rest)| begins_with_ids(rest))
            {
                found.findings.push(Finding::error(
                    place(),
                    "a claim counts in a test's doc only",
                ));
            }
        } else if !line.is_empty() {
            std::mem::take(&mut head).settle(function_name(line), file, number, &mut found);
        }
    }
    found
}

/// What stands before an item: its doc lines and what its attributes say.
#[derive(Default)]
struct Head {
    docs: Vec<(usize, String)>,
    /// The attribute being read, while its brackets are open.
    attribute: String,
    is_test: bool,
    is_ignored: bool,
}

impl Head {
    fn attribute_is_open(&self) -> bool {
        !self.attribute.is_empty()
    }

    /// Takes an attribute, or the next line of one, off the line's front and returns the rest.
    fn read_attribute<'a>(&mut self, line: &'a str) -> &'a str {
        let mut depth = depth_of(&self.attribute);
        let end = line.char_indices().find_map(|(at, c)| {
            depth += depth_change(c);
            (c == ']' && depth == 0).then_some(at + 1)
        });
        let (part, rest) = line.split_at(end.unwrap_or(line.len()));
        self.attribute.push_str(part);
        if end.is_some() {
            let path = self.attribute.trim_start_matches("#[").trim_start();
            let path = path.split(['(', ']', '=', ' ']).next().unwrap_or_default();
            self.is_test |= path.rsplit("::").next() == Some("test");
            self.is_ignored |= path == "ignore";
            self.attribute.clear();
        }
        rest.trim_start()
    }

    /// The item's first line is here: turns what was read into claims or findings.
    fn settle(self, function: Option<&str>, file: &File, line: usize, found: &mut Found) {
        let is_test = self.is_test && function.is_some();
        let (claims, findings) = documented(&self.docs, &file.path);
        found.findings.extend(findings);
        if !is_test {
            found.findings.extend(
                claims.into_iter().map(|claim| {
                    Finding::error(claim.place, "a claim counts in a test's doc only")
                }),
            );
        } else if !self.is_ignored {
            let place = format!("{}:{line}", file.path);
            let named = Id::of_function(function.unwrap_or_default());
            found.claims.extend(named.into_iter().map(|id| Claim {
                ids: id..=id,
                place: place.clone(),
            }));
            found.claims.extend(claims);
        }
    }
}

/// Where in a doc comment a word stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// No claim.
    Prose,
    /// The ids of a claim.
    Ids,
    /// The sentence that goes on after them.
    Sentence,
}

/// The claims in doc lines, and what looks like a claim and cannot be read as one.
fn documented(docs: &[(usize, String)], path: &str) -> (Vec<Claim>, Vec<Finding>) {
    let (mut claims, mut findings) = (Vec::new(), Vec::new());
    let mut within = Within::Prose;
    for (number, line) in docs {
        let place = format!("{path}:{number}");
        let mut text = line.as_str();
        if let Some(rest) = text
            .strip_prefix(COVERS)
            .filter(|rest| begins_with_ids(rest))
        {
            (within, text) = (Within::Ids, rest);
        } else if text
            .split_once(COVERS)
            .is_some_and(|(_, rest)| begins_with_ids(rest))
        {
            findings.push(Finding::error(&*place, "a claim must begin its doc line"));
        }
        for word in text
            .split([' ', ','])
            .filter(|word| !matches!(*word, "" | "and"))
        {
            let bare = word.trim_matches(['.', ':', '(', ')']);
            match (within, parse_span(bare)) {
                (Within::Prose, _) => break,
                (Within::Ids, Some(ids)) => claims.push(Claim {
                    ids,
                    place: place.clone(),
                }),
                (Within::Ids, None) if looks_like_id(bare) || bare == "to" => {
                    let what = format!("`{bare}` is neither an id nor a span of ids, first..last");
                    findings.push(Finding::error(&*place, what));
                    within = Within::Sentence;
                }
                (Within::Ids, None) => within = Within::Sentence,
                (Within::Sentence, Some(_)) => {
                    let what = format!("`{bare}` does not count: ids come before other words");
                    findings.push(Finding::error(&*place, what));
                }
                (Within::Sentence, None) => {}
            }
            if word.ends_with(['.', ':']) {
                within = Within::Prose;
            }
        }
    }
    (claims, findings)
}

/// Whether the first word after `Covers` is an id, or was meant to be one.
fn begins_with_ids(text: &str) -> bool {
    looks_like_id(text.split([' ', ',']).next().unwrap_or_default())
}

fn looks_like_id(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_digit())
}

/// The name of the function whose signature begins on this line.
fn function_name(line: &str) -> Option<&str> {
    let before = line.split('(').next().unwrap_or_default();
    let (qualifiers, name) = match before.strip_prefix("fn ") {
        Some(name) => ("", name),
        // `pub(crate) fn` has its bracket before the keyword.
        None => line.split_once(" fn ")?,
    };
    let qualifier = |word: &str| {
        matches!(word, "pub" | "async" | "const" | "unsafe") || word.starts_with("pub(")
    };
    qualifiers.split_whitespace().all(qualifier).then_some(())?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
        .filter(|name| !name.is_empty())
}

fn depth_of(text: &str) -> i32 {
    text.chars().map(depth_change).sum()
}

fn depth_change(c: char) -> i32 {
    match c {
        '[' => 1,
        ']' => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::{Found, scan};

    fn scan_text(text: &str) -> Found {
        scan(&File {
            path: "crates/x/src/x.rs".to_owned(),
            text: text.to_owned(),
        })
    }

    /// The claims of a text without findings, as `id` or `first..last`, each with its line.
    fn claims(text: &str) -> Vec<String> {
        let found = scan_text(text);
        assert_eq!(found.findings, []);
        let line = |place: &str| place.rsplit(':').next().map(str::to_owned).expect("a line");
        let shown = found.claims.iter().map(|claim| {
            let (first, last) = (claim.ids.start(), claim.ids.end());
            let ids = if first == last {
                first.to_string()
            } else {
                format!("{first}..{last}")
            };
            format!("{ids} @{}", line(&claim.place))
        });
        shown.collect()
    }

    #[test]
    fn names_of_tests_count() {
        assert_eq!(claims("#[test]\nfn wi_001_varint() {}\n"), ["WI-001 @2"]);
        assert_eq!(claims("#[test] fn p6_4_frames() {}\n"), ["P6.4 @1"]);
        let tokio = "#[tokio::test(flavor = \"current_thread\")]\nasync fn pu_002_once() {}\n";
        assert_eq!(claims(tokio), ["PU-002 @2"]);
        let spread = "#[tokio::test(\n    start_paused = true,\n)]\nasync fn pu_002_once() {}\n";
        assert_eq!(claims(spread), ["PU-002 @4"]);
    }

    #[test]
    fn a_function_that_is_no_test_claims_nothing() {
        assert_eq!(claims("fn wi_001_helper() {}\n"), [""; 0]);
        assert_eq!(claims("#[cfg(test)]\nfn wi_001_helper() {}\n"), [""; 0]);
        assert_eq!(
            claims("#[test]\nconst X: u8 = 1;\nfn wi_001_helper() {}\n"),
            [""; 0]
        );
    }

    #[test]
    fn an_ignored_test_shows_nothing() {
        assert_eq!(
            claims("#[test]\n#[ignore = \"slow\"]\nfn wi_001_varint() {}\n"),
            [""; 0]
        );
    }

    #[test]
    fn tests_inside_a_macro_count() {
        let text =
            "proptest! {\n    /// Covers RB-003.\n    #[test]\n    fn crc(x in any::<u8>()) {\n";
        assert_eq!(claims(text), ["RB-003 @2"]);
    }

    #[test]
    fn doc_lines_list_ids_and_spans_over_several_lines() {
        let text = "/// Varints of all kinds.\n/// Covers WI-001, RB-020..RB-023,\n/// P5.4. And so on.\n\
                    // A remark between.\n#[test]\nfn varints() {}\n";
        assert_eq!(claims(text), ["WI-001 @2", "RB-020..RB-023 @2", "P5.4 @3"]);
    }

    #[test]
    fn words_may_follow_the_ids() {
        for claim in [
            "Covers WI-001: all of it.",
            "Covers WI-001 over the wire, twice.",
        ] {
            let text = format!("/// {claim}\n/// As WI-002 says.\n#[test]\nfn x() {{}}\n");
            assert_eq!(claims(&text), ["WI-001 @1"], "{claim}");
        }
    }

    #[test]
    fn a_claim_that_cannot_be_read_is_found() {
        for claim in [
            "Covers WI-1.",
            "Covers WI-002 to WI",
            "Covers RB-009..RB-001.",
            "Covers RB-009 and, when full, RB-001.",
        ] {
            let found = scan_text(&format!("/// {claim}\n#[test]\nfn x() {{}}\n"));
            assert_eq!(found.findings.len(), 1, "{claim}");
        }
    }

    #[test]
    fn a_claim_in_the_wrong_place_is_found() {
        for text in [
            "//! Covers WI-001.\n",
            "// Covers WI-001.\n",
            "/// Covers WI-001.\nfn helper() {}\n",
            "/// Covers WI-001.\nmod tests {\n",
            "/// As said. Covers WI-001.\n#[test]\nfn x() {}\n",
        ] {
            let found = scan_text(text);
            assert_eq!((found.claims.len(), found.findings.len()), (0, 1), "{text}");
        }
    }

    #[test]
    fn prose_about_covering_is_no_claim() {
        assert_eq!(
            claims("/// Covers all there is. Covers nothing else.\nfn x() {}\n"),
            [""; 0]
        );
    }
}
