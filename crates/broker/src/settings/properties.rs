//! The syntax of `server.properties`: that of Java's properties.
//!
//! A line is a key, then `=`, `:` or white space, then a value. A line that begins with `#` or `!`
//! is a comment. A backslash at the end of a line goes on in the next one, whose leading white
//! space does not count. `\t`, `\n`, `\r`, `\f` and `\uXXXX` stand for characters; before any
//! other a backslash is dropped.

use std::char::decode_utf16;
use std::iter::Peekable;

use thiserror::Error;

/// An entry of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Property {
    /// What stands before the separator.
    pub key: String,
    /// What stands behind it; may be empty.
    pub value: String,
    /// The line in which the entry begins, from 1.
    pub line: usize,
}

/// An entry cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("line {line}: \\u must be followed by four hexadecimal digits that make a character")]
pub struct BadEscape {
    /// The line in which the entry begins, from 1.
    pub line: usize,
}

/// Reads a whole file. Entries are in the file's order, and a key may be there more than once.
///
/// # Errors
/// [`BadEscape`].
pub(super) fn parse(text: &str) -> Result<Vec<Property>, BadEscape> {
    let mut properties = Vec::new();
    let mut lines = natural_lines(text).peekable();
    while let Some((line, first)) = lines.next() {
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let logical = join(first, &mut lines);
        if logical.is_empty() {
            continue;
        }
        let (key, value) = split(&logical);
        let unescaped = unescape(key).zip(unescape(value));
        let (key, value) = unescaped.ok_or(BadEscape { line })?;
        properties.push(Property { key, value, line });
    }
    Ok(properties)
}

/// The lines and their numbers, without leading white space. `\r\n` ends one line, not two.
fn natural_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.split('\n').flat_map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.split('\r')
    });
    let trimmed = lines.map(|line| line.trim_start_matches(is_space));
    trimmed.enumerate().map(|(index, line)| (index + 1, line))
}

/// Adds the lines that a line goes on in.
fn join<'a>(
    first: &'a str,
    lines: &mut Peekable<impl Iterator<Item = (usize, &'a str)>>,
) -> String {
    let mut logical = first.to_owned();
    while goes_on(&logical) {
        logical.pop();
        match lines.next() {
            Some((_, next)) => logical.push_str(next),
            None => break,
        }
    }
    logical
}

/// Whether the last character is a backslash that no other one escapes.
fn goes_on(line: &str) -> bool {
    let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\');
    backslashes.count() % 2 == 1
}

/// Parts key and value, both still escaped.
fn split(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = line.find(|it| {
        let ends = !is_escaped && (it == '=' || it == ':' || is_space(it));
        is_escaped = it == '\\' && !is_escaped;
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(is_space);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, rest.trim_start_matches(is_space))
}

fn is_space(it: char) -> bool {
    matches!(it, ' ' | '\t' | '\u{c}')
}

fn unescape(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return Some(text.to_owned());
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    // Characters beyond 16 bits are written as two escapes, so those in a row belong together.
    let mut units = Vec::new();
    while let Some(it) = characters.next() {
        let escaped = if it == '\\' { characters.next() } else { None };
        if escaped == Some('u') {
            let digits: String = characters.by_ref().take(4).collect();
            let is_hex = digits.len() == 4 && digits.bytes().all(|it| it.is_ascii_hexdigit());
            units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?);
            continue;
        }
        take_units(&mut units, &mut plain)?;
        plain.push(match escaped {
            None => it,
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('f') => '\u{c}',
            Some(other) => other,
        });
    }
    take_units(&mut units, &mut plain)?;
    Some(plain)
}

fn take_units(units: &mut Vec<u16>, plain: &mut String) -> Option<()> {
    for character in decode_utf16(units.drain(..)) {
        plain.push(character.ok()?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(text: &str) -> Vec<(String, String, usize)> {
        let properties = parse(text).unwrap().into_iter();
        properties.map(|it| (it.key, it.value, it.line)).collect()
    }

    fn one(text: &str) -> (String, String) {
        let [(key, value, _)] = &entries(text)[..] else {
            panic!("{text:?} is not one entry: {:?}", entries(text));
        };
        (key.clone(), value.clone())
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn key_and_value_are_parted_by_the_first_separator() {
        for text in ["a=b", "a:b", "a b", "a\tb", " a = b", "a : b", "\ta   b"] {
            assert_eq!(one(text), pair("a", "b"), "{text:?}");
        }
        assert_eq!(one("a==b"), pair("a", "=b"));
        assert_eq!(one("a = :b"), pair("a", ":b"));
        assert_eq!(
            one("listeners=A://:1,B://:2"),
            pair("listeners", "A://:1,B://:2")
        );
        assert_eq!(one("a=b c "), pair("a", "b c "));
        assert_eq!(one("a"), pair("a", ""));
        assert_eq!(one("a="), pair("a", ""));
        assert_eq!(one("=b"), pair("", "b"));
    }

    #[test]
    fn comments_and_blank_lines_are_passed_over_and_counted() {
        let text = "# one\n\n  ! two\\\na=1\r\n\r\n \t\nb=2 # not a comment\rc=3";
        let wanted = [("a", "1", 4), ("b", "2 # not a comment", 7), ("c", "3", 8)];
        let wanted = wanted.map(|(key, value, line)| (key.to_owned(), value.to_owned(), line));
        assert_eq!(entries(text), wanted);
    }

    #[test]
    fn a_backslash_at_the_end_goes_on_in_the_next_line() {
        assert_eq!(one("a=b,\\\n   c"), pair("a", "b,c"));
        assert_eq!(one("a=b,\\\r\n\tc\\\n\\\nd"), pair("a", "b,cd"));
        assert_eq!(one("a\\\n=b"), pair("a", "b"));
        assert_eq!(one("a=b\\\n# c"), pair("a", "b# c"));
        assert_eq!(entries("a=b\\\\\nc=d").len(), 2, "an escaped backslash");
        assert_eq!(one("a=b\\"), pair("a", "b"));
        assert_eq!(entries("\\\n\n"), []);
        assert_eq!(entries("a=\\\nb\n c=d")[1].2, 3);
    }

    #[test]
    fn escapes_stand_for_characters() {
        assert_eq!(one(r"a\=b\:c\ d=e"), pair("a=b:c d", "e"));
        assert_eq!(one(r"a=\t\n\r\f\\\q"), pair("a", "\t\n\r\u{c}\\q"));
        assert_eq!(one(r"\#a=\u00e9\u20AC"), pair("#a", "é€"));
        assert_eq!(one(r"a=\ud83d\ude00!"), pair("a", "😀!"));
        assert_eq!(one(r"a=C:\\data"), pair("a", r"C:\data"));
        for text in [r"a=\u", r"a=\u12", r"a=\u12g4", r"a=\ud83d", r"a=\u+123"] {
            assert_eq!(parse(text), Err(BadEscape { line: 1 }), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a=: \\\\\\n\\r\\tu0#!]{0,60}") {
            if let Ok(properties) = parse(&text) {
                let lines: Vec<_> = properties.iter().map(|it| it.line).collect();
                prop_assert!(lines.is_sorted());
            }
        }

        #[test]
        fn what_was_escaped_comes_back(key in "\\PC{1,12}", value in "\\PC{0,20}") {
            let escape = |text: &str| -> String {
                let units: Vec<_> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
                units.concat()
            };
            let text = format!("{}={}", escape(&key), escape(&value));
            prop_assert_eq!(one(&text), (key, value));
        }
    }
}
