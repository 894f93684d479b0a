//! The project stands alone: its text names no place on some machine where it was written.

use super::Finding;
use super::tree::File;

/// What may not stand in the project's text. A word counts where it begins and ends as one.
const FORBIDDEN: [(&str, &str); 5] = [
    ("/work", "names a directory of one machine"),
    ("shared/", "names a directory outside the project"),
    ("/root", "names a directory of one machine"),
    ("crates.io", "names a package registry"),
    ("artifactory", "names a package registry"),
];

/// Cargo writes the registry into its lock file; this file has to name the words.
const EXEMPT: [&str; 3] = [
    "Cargo.lock",
    "xtask/peers/Cargo.lock",
    "xtask/src/tidy/words.rs",
];

/// Finds forbidden words, at most one a line.
pub(super) fn check(file: &File) -> Vec<Finding> {
    if EXEMPT.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        if let Some((word, why)) = FORBIDDEN.iter().find(|(word, _)| stands_in(line, word)) {
            let place = format!("{}:{number}", file.path);
            findings.push(Finding::error(place, format!("`{word}` {why}")));
        }
    }
    findings
}

/// Whether `word` is in the line and is not part of a longer one: `/worker` and `network/work` do
/// not hold `/work`, but `"/work/x"` does.
fn stands_in(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let open = word.ends_with('/') || !after.is_some_and(part);
        open && !before.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::{check, stands_in};

    #[test]
    fn a_word_is_found_whole_only() {
        for line in ["see /work/x", "\"/work\"", "(/work)", "/work"] {
            assert!(stands_in(line, "/work"), "{line}");
        }
        for line in [
            "src/worker.rs",
            "crates/network/work.rs",
            "/works",
            "net/work_queue.rs",
        ] {
            assert!(!stands_in(line, "/work"), "{line}");
        }
        assert!(stands_in("../shared/protocol", "shared/"));
        assert!(!stands_in("unshared/x", "shared/"));
    }

    #[test]
    fn a_finding_names_file_and_line() {
        let file = File {
            path: "docs/a.md".to_owned(),
            text: "fine\nfrom crates.io\n".to_owned(),
        };
        let found = check(&file);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "docs/a.md:2");
        assert!(!found[0].warning);
    }

    #[test]
    fn the_lock_file_may_name_the_registry() {
        let text = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        assert!(
            check(&File {
                path: "Cargo.lock".to_owned(),
                text: text.to_owned()
            })
            .is_empty()
        );
    }
}
