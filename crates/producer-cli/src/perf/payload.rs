//! [`Payload`]: what the values are. (PR-150)

use std::path::Path;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;

/// Random letters are drawn once, into a block of at least this size, and every value is a slice
/// of it from a random place. So a value costs no copy and no draw per byte, while a batch repeats
/// almost nothing that a codec could find.
const BLOCK_BYTES: usize = 8 * 1024 * 1024;

/// What the values are.
#[derive(Debug)]
pub(crate) enum Payload {
    /// Slices of random capital letters.
    Letters {
        /// Where they are cut from.
        block: Bytes,
        /// How many bytes a value has.
        size: usize,
        /// Says where.
        random: fastrand::Rng,
    },
    /// One of these pieces, at random.
    Pieces {
        /// At least one.
        pieces: Vec<Bytes>,
        /// Says which.
        random: fastrand::Rng,
    },
    /// The record's number as text, from 0 on.
    Number,
}

impl Payload {
    /// Values of so many random capital letters.
    pub(crate) fn letters(size: usize, mut random: fastrand::Rng) -> Self {
        let block = (0..BLOCK_BYTES + size).map(|_| random.u8(b'A'..=b'Z'));
        Self::Letters {
            block: block.collect(),
            size,
            random,
        }
    }

    /// Values that are pieces of a file.
    ///
    /// # Errors
    /// If it cannot be read or is empty, or the delimiter is.
    pub(crate) fn file(path: &Path, delimiter: &str, random: fastrand::Rng) -> Result<Self> {
        let content = std::fs::read(path);
        let content = content.with_context(|| format!("payload file {}", path.display()))?;
        let delimiter = unescape(delimiter);
        ensure!(
            !delimiter.is_empty(),
            "--payload-delimiter must not be empty"
        );
        let pieces = pieces(&content.into(), delimiter.as_bytes());
        ensure!(
            !pieces.is_empty(),
            "payload file {} is empty",
            path.display()
        );
        Ok(Self::Pieces { pieces, random })
    }

    /// The value of the record that has so many before it.
    pub(crate) fn next(&mut self, number: u64) -> Bytes {
        match self {
            Self::Letters {
                block,
                size,
                random,
            } => {
                let at = random.usize(..block.len() - *size);
                block.slice(at..at + *size)
            }
            Self::Pieces { pieces, random } => pieces[random.usize(..pieces.len())].clone(),
            Self::Number => number.to_string().into(),
        }
    }
}

/// What is between delimiters; one at the end has nothing behind it.
fn pieces(content: &Bytes, delimiter: &[u8]) -> Vec<Bytes> {
    let (mut pieces, mut rest) = (Vec::new(), content.clone());
    while !rest.is_empty() {
        let end = rest.windows(delimiter.len()).position(|it| it == delimiter);
        let end = end.unwrap_or(rest.len());
        pieces.push(rest.split_to(end));
        drop(rest.split_to(delimiter.len().min(rest.len())));
    }
    pieces
}

/// Resolves `\n`, `\t`, `\r`, `\0` and `\\`; another backslash stays.
fn unescape(text: &str) -> String {
    let (mut plain, mut characters) = (String::new(), text.chars().peekable());
    while let Some(character) = characters.next() {
        let resolved = match (character, characters.peek()) {
            ('\\', Some('n')) => Some('\n'),
            ('\\', Some('t')) => Some('\t'),
            ('\\', Some('r')) => Some('\r'),
            ('\\', Some('0')) => Some('\0'),
            ('\\', Some('\\')) => Some('\\'),
            _ => None,
        };
        if resolved.is_some() {
            characters.next();
        }
        plain.push(resolved.unwrap_or(character));
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn random() -> fastrand::Rng {
        fastrand::Rng::with_seed(7)
    }

    #[test]
    fn pr_150_letters_are_capital_and_of_the_size_and_differ() {
        let mut payload = Payload::letters(50, random());
        let values: HashSet<Bytes> = (0..1_000).map(|number| payload.next(number)).collect();
        assert_eq!(values.len(), 1_000);
        assert!(values.iter().all(|value| value.len() == 50));
        let letters: HashSet<u8> = values.iter().flatten().copied().collect();
        assert_eq!(letters, (b'A'..=b'Z').collect());
    }

    #[test]
    fn pr_150_numbers_are_text_from_0_on() {
        let values = [0, 1, 10].map(|number| Payload::Number.next(number));
        assert_eq!(values, ["0", "1", "10"]);
    }

    fn of_file(content: &str, delimiter: &str) -> Result<Payload> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        Payload::file(file.path(), delimiter, random())
    }

    /// Covers PR-149, PR-150.
    #[test]
    fn values_are_random_pieces_of_the_file() {
        for (content, delimiter, expected) in [
            (
                "one\ntwo\n\nthree\n",
                "\\n",
                vec!["", "one", "three", "two"],
            ),
            ("a||b|c", "||", vec!["a", "b|c"]),
            ("a\tb", "\\t", vec!["a", "b"]),
            ("a\nb", "\\\\n", vec!["a\nb"]),
        ] {
            let mut payload = of_file(content, delimiter).unwrap();
            let drawn: HashSet<Bytes> = (0..200).map(|number| payload.next(number)).collect();
            let mut drawn: Vec<Bytes> = drawn.into_iter().collect();
            drawn.sort();
            assert_eq!(drawn, expected, "{content}");
        }
    }

    #[test]
    fn pr_150_an_empty_or_missing_file_is_an_error() {
        let error = of_file("", "\\n").unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
        let error = of_file("a", "").unwrap_err().to_string();
        assert!(error.contains("--payload-delimiter"), "{error}");
        let missing = Path::new("there is no such file");
        let error = Payload::file(missing, "\\n", random()).unwrap_err();
        assert!(error.to_string().contains("there is no such file"));
    }
}
