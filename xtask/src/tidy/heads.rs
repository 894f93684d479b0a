//! Every Rust file says first what it is.

use super::Finding;
use super::tree::File;

/// A file must open with `//!` and some words.
pub(super) fn check(file: &File) -> Option<Finding> {
    let first = file.text.lines().next().unwrap_or_default();
    let says_something = first
        .strip_prefix("//!")
        .is_some_and(|words| !words.trim().is_empty());
    (!says_something).then(|| {
        Finding::error(
            &*file.path,
            "must open with a `//!` line that says what it is",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::check;

    fn found(text: &str) -> bool {
        check(&File {
            path: "crates/x/src/x.rs".to_owned(),
            text: text.to_owned(),
        })
        .is_some()
    }

    #[test]
    fn a_head_is_the_first_line_and_has_words() {
        assert!(!found("//! The high watermark.\nuse x;\n"));
        assert!(found("use x;\n//! The high watermark.\n"));
        assert!(found("//!\nuse x;\n"));
        assert!(found("// The high watermark.\n"));
        assert!(found(""));
    }
}
