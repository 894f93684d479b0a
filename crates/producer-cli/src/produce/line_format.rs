//! [`LineFormat`]: what the fields of a line are. (PR-155, PR-156)
//!
//! ```text
//! name:value,name:value <headers.delimiter> key <key.separator> value
//! ```

use bytes::Bytes;
use thiserror::Error;

use crate::produce::parts::Parts;
use crate::properties::Property;

/// What the fields of a line are, and what is between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineFormat {
    /// `parse.key` (false)
    has_key: bool,
    /// `key.separator` (tab)
    key_separator: String,
    /// `parse.headers` (false)
    has_headers: bool,
    /// `headers.delimiter` (tab): between the headers and the rest.
    headers_delimiter: String,
    /// `headers.separator` (`,`): between two headers.
    headers_separator: String,
    /// `headers.key.separator` (`:`): between a header's name and its value.
    headers_key_separator: String,
    /// `ignore.error` (false): what has no separator is all value.
    ignores_errors: bool,
    /// `null.marker` (none): a field that is this is absent.
    null_marker: Option<String>,
}

/// A format that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum InvalidFormat {
    /// Neither true nor false.
    #[error("{name} = `{value}`: expected true or false")]
    NotAFlag {
        /// The property.
        name: &'static str,
        /// What it was given.
        value: String,
    },
    /// A separator without a byte separates nothing.
    #[error("{0} must not be empty")]
    Empty(&'static str),
    /// Two that have to differ are the same.
    #[error("{one} and {other} must differ, both are `{value}`")]
    Same {
        /// The one property.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// What both were given.
        value: String,
    },
}

/// A line that does not have its fields.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum LineError {
    /// A separator is not there.
    #[error("no {name} (`{separator}`) in it")]
    Missing {
        /// The property that says what it is.
        name: &'static str,
        /// What it is.
        separator: String,
    },
    /// A header's name is the null marker.
    #[error("a header's name is the null marker")]
    NullHeaderName,
    /// A header's name is not text.
    #[error("a header's name is not UTF-8")]
    HeaderName,
}

const PARSE_KEY: &str = "parse.key";
const PARSE_HEADERS: &str = "parse.headers";
const IGNORE_ERROR: &str = "ignore.error";
const KEY_SEPARATOR: &str = "key.separator";
const HEADERS_DELIMITER: &str = "headers.delimiter";
const HEADERS_SEPARATOR: &str = "headers.separator";
const HEADERS_KEY_SEPARATOR: &str = "headers.key.separator";
const NULL_MARKER: &str = "null.marker";

impl Default for LineFormat {
    fn default() -> Self {
        Self {
            has_key: false,
            key_separator: "\t".to_owned(),
            has_headers: false,
            headers_delimiter: "\t".to_owned(),
            headers_separator: ",".to_owned(),
            headers_key_separator: ":".to_owned(),
            ignores_errors: false,
            null_marker: None,
        }
    }
}

impl LineFormat {
    /// Takes properties, of which the last wins; yields the names of those that no format has, too.
    ///
    /// # Errors
    /// [`InvalidFormat`].
    pub(crate) fn of(properties: &[Property]) -> Result<(Self, Vec<&str>), InvalidFormat> {
        let (mut format, mut unknown) = (Self::default(), Vec::new());
        for property in properties {
            let value = || property.value.clone();
            match property.name.as_str() {
                PARSE_KEY => format.has_key = flag(PARSE_KEY, property)?,
                PARSE_HEADERS => format.has_headers = flag(PARSE_HEADERS, property)?,
                IGNORE_ERROR => format.ignores_errors = flag(IGNORE_ERROR, property)?,
                KEY_SEPARATOR => format.key_separator = value(),
                HEADERS_DELIMITER => format.headers_delimiter = value(),
                HEADERS_SEPARATOR => format.headers_separator = value(),
                HEADERS_KEY_SEPARATOR => format.headers_key_separator = value(),
                NULL_MARKER => format.null_marker = Some(value()),
                name => unknown.push(name),
            }
        }
        format.check()?;
        Ok((format, unknown))
    }

    fn check(&self) -> Result<(), InvalidFormat> {
        let separators = [
            (HEADERS_DELIMITER, &self.headers_delimiter),
            (HEADERS_SEPARATOR, &self.headers_separator),
            (HEADERS_KEY_SEPARATOR, &self.headers_key_separator),
        ];
        let key_separator = (KEY_SEPARATOR, &self.key_separator);
        let all = separators.iter().chain([&key_separator]);
        if let Some((name, _)) = all.clone().find(|(_, separator)| separator.is_empty()) {
            return Err(InvalidFormat::Empty(name));
        }
        let differ = |one: (&'static str, &String), other: (&'static str, &String)| {
            if one.1 != other.1 {
                return Ok(());
            }
            Err(InvalidFormat::Same {
                one: one.0,
                other: other.0,
                value: one.1.clone(),
            })
        };
        let [delimiter, separator, within] = separators;
        differ(delimiter, separator)?;
        differ(delimiter, within)?;
        differ(separator, within)?;
        match &self.null_marker {
            Some(marker) => all
                .copied()
                .try_for_each(|other| differ((NULL_MARKER, marker), other)),
            None => Ok(()),
        }
    }

    /// Reads a line. Its fields are slices of it.
    ///
    /// # Errors
    /// [`LineError`]; with `ignore.error` a missing separator is none.
    pub(crate) fn read(&self, line: &Bytes) -> Result<Parts, LineError> {
        let mut rest = line.clone();
        let headers = if self.has_headers {
            self.field(&mut rest, HEADERS_DELIMITER, &self.headers_delimiter)?
        } else {
            None
        };
        let key = if self.has_key {
            self.field(&mut rest, KEY_SEPARATOR, &self.key_separator)?
        } else {
            None
        };
        let headers = headers.and_then(|headers| self.unless_null(headers));
        Ok(Parts {
            headers: headers.map_or(Ok(Vec::new()), |headers| self.headers(headers))?,
            key: key.and_then(|key| self.unless_null(key)),
            value: self.unless_null(rest),
            ..Parts::default()
        })
    }

    /// Takes what is in front of a separator, and the separator.
    fn field(
        &self,
        rest: &mut Bytes,
        name: &'static str,
        separator: &str,
    ) -> Result<Option<Bytes>, LineError> {
        match split(rest, separator) {
            Some((field, behind)) => {
                *rest = behind;
                Ok(Some(field))
            }
            None if self.ignores_errors => Ok(None),
            None => Err(LineError::Missing {
                name,
                separator: separator.to_owned(),
            }),
        }
    }

    /// The headers of a field that is not the null marker; an empty one has none.
    fn headers(&self, mut field: Bytes) -> Result<Vec<(String, Option<Bytes>)>, LineError> {
        let mut headers = Vec::new();
        while !field.is_empty() {
            let (header, behind) = match split(&field, &self.headers_separator) {
                Some(divided) => divided,
                None => (field, Bytes::new()),
            };
            field = behind;
            let mut value = header.clone();
            let name = self.field(
                &mut value,
                HEADERS_KEY_SEPARATOR,
                &self.headers_key_separator,
            )?;
            // Without a separator, and if that is fine, it is all name.
            let (name, value) = match name {
                Some(name) => (name, self.unless_null(value)),
                None => (header, None),
            };
            let Some(name) = self.unless_null(name) else {
                return Err(LineError::NullHeaderName);
            };
            let name = std::str::from_utf8(&name).map_err(|_| LineError::HeaderName)?;
            headers.push((name.to_owned(), value));
        }
        Ok(headers)
    }

    fn unless_null(&self, field: Bytes) -> Option<Bytes> {
        let marker = self.null_marker.as_ref();
        (marker.is_none_or(|marker| field != marker.as_bytes())).then_some(field)
    }
}

fn flag(name: &'static str, property: &Property) -> Result<bool, InvalidFormat> {
    match property.value.trim() {
        text if text.eq_ignore_ascii_case("true") => Ok(true),
        text if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(InvalidFormat::NotAFlag {
            name,
            value: property.value.clone(),
        }),
    }
}

/// What is in front of a separator's first place and behind it.
fn split(field: &Bytes, separator: &str) -> Option<(Bytes, Bytes)> {
    let separator = separator.as_bytes();
    let at = match separator {
        [single] => field.iter().position(|byte| byte == single),
        _ => field
            .windows(separator.len())
            .position(|it| it == separator),
    }?;
    Some((field.slice(..at), field.slice(at + separator.len()..)))
}

#[cfg(test)]
mod tests;
