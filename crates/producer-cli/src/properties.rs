//! Names and values: of a properties file, and of options that take `name=value`.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};
use thiserror::Error;

/// A name with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Property {
    pub(crate) fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        let (name, value) = (name.into(), value.into());
        Self { name, value }
    }
}

/// What is not `name=value`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected name=value")]
pub(crate) struct NotAPair;

impl FromStr for Property {
    type Err = NotAPair;

    /// The value may be empty and may contain `=`; blanks in it are kept.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok(Self::new(name.trim(), value)),
            _ => Err(NotAPair),
        }
    }
}

/// The last value that was given to a name.
pub(crate) fn last<'a>(properties: &'a [Property], name: &str) -> Option<&'a str> {
    let mut newest_first = properties.iter().rev();
    let property = newest_first.find(|property| property.name == name);
    property.map(|property| property.value.as_str())
}

/// Reads a properties file.
///
/// # Errors
/// If it cannot be read, or a line has a wrong escape.
pub(crate) fn read(path: &Path) -> Result<Vec<Property>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

/// A `\u` that no four digits of a character follow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: \\u needs four hexadecimal digits of a character")]
pub(crate) struct WrongEscape {
    /// Counted from 1.
    pub(crate) line: usize,
}

/// Reads the format of Java's properties: `name=value`, `name: value` or `name value` a line;
/// comments begin with `#` or `!`; a backslash at the end continues a line, and within it
/// escapes. Names may occur several times; the last counts.
///
/// # Errors
/// [`WrongEscape`].
pub(crate) fn parse(text: &str) -> Result<Vec<Property>, WrongEscape> {
    let mut properties = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = line.to_owned();
        while ends_in_escape(&logical) {
            logical.pop();
            let Some((_, more)) = lines.next() else { break };
            logical.push_str(more.trim_start());
        }
        let (name, value) = split(&logical);
        let read = |text| unescape(text).ok_or(WrongEscape { line: number });
        properties.push(Property::new(read(name)?, read(value)?));
    }
    Ok(properties)
}

/// Whether the last backslash is not itself escaped.
fn ends_in_escape(line: &str) -> bool {
    let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
    backslashes % 2 == 1
}

/// Splits at the first blank, `=` or `:` that is not escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|character: char| {
        let ends = !escaped && (matches!(character, '=' | ':') || character.is_whitespace());
        escaped = character == '\\' && !escaped;
        ends
    });
    let Some(end) = end else { return (line, "") };
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (&line[..end], rest.trim_start())
}

/// Resolves `\n`, `\t`, `\r`, `\f` and `\uXXXX`; any other escaped character is itself.
fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            None => {}
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\u{c}'),
            Some('u') => {
                let digits: String = characters.by_ref().take(4).collect();
                let is_code = digits.len() == 4 && digits.bytes().all(|it| it.is_ascii_hexdigit());
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_code)?;
                plain.push(char::from_u32(code)?);
            }
            Some(other) => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_java_reads_it() {
        let text = "# a comment\n! another\n\nacks = all\n  linger.ms:20\nretries 3\n\
            list=a,\\\n   b\nkey\\ with\\=odd = a\\tb\\u00e9 \nempty\nacks=1\nwindows=\\\\\n";
        let read: Vec<(String, String)> = parse(text)
            .unwrap()
            .into_iter()
            .map(|property| (property.name, property.value))
            .collect();
        let expected = [
            ("acks", "all"),
            ("linger.ms", "20"),
            ("retries", "3"),
            ("list", "a,b"),
            ("key with=odd", "a\tbé "),
            ("empty", ""),
            ("acks", "1"),
            ("windows", "\\"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(read, expected);
    }

    #[test]
    fn a_wrong_escape_is_told_with_its_line() {
        for wrong in ["a=1\nb=\\u12", "\nb=\\uzzzz", "\nb=\\ud800", "\nb=\\u+123"] {
            assert_eq!(parse(wrong), Err(WrongEscape { line: 2 }), "{wrong}");
        }
        assert_eq!(parse("a=1\\"), Ok(vec![Property::new("a", "1")]));
    }

    #[test]
    fn a_pair_is_split_at_the_first_sign() {
        assert_eq!("a=b=c".parse(), Ok(Property::new("a", "b=c")));
        assert_eq!(
            "key.separator= ".parse(),
            Ok(Property::new("key.separator", " "))
        );
        assert_eq!("a=".parse(), Ok(Property::new("a", "")));
        for wrong in ["a", "=b", " =b", ""] {
            assert_eq!(wrong.parse::<Property>(), Err(NotAPair));
        }
    }

    #[test]
    fn the_last_value_of_a_name_counts() {
        let properties = [("a", "1"), ("b", "2"), ("a", "3")];
        let properties = properties.map(|(name, value)| Property::new(name, value));
        assert_eq!(last(&properties, "a"), Some("3"));
        assert_eq!(last(&properties, "c"), None);
    }
}
