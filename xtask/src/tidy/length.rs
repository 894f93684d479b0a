//! A long file usually holds a second subject.

use super::Finding;
use super::tree::File;

/// Past this many lines somebody should look for it.
const LONG: usize = 600;

/// Warns of a long file; whether it holds two subjects only a reader can tell.
pub(super) fn check(file: &File) -> Option<Finding> {
    let count = file.text.lines().count();
    (count > LONG).then(|| {
        Finding::warning(
            &*file.path,
            format!("{count} lines: is there a second subject?"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::File;
    use super::{LONG, check};

    #[test]
    fn only_a_long_file_is_named_and_it_is_a_warning() {
        let of = |lines| File {
            path: "a.rs".to_owned(),
            text: "x\n".repeat(lines),
        };
        assert_eq!(check(&of(LONG)), None);
        assert!(check(&of(LONG + 1)).expect("too long").warning);
    }
}
