//! Where settings come from: a file, the environment, the command line.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::SettingsError;
use super::properties;

/// Stands before a setting's name in the environment.
const PREFIX: &str = "KLAMM_";

/// Variables with that prefix that are no settings.
const NOT_SETTINGS: [&str; 1] = ["KLAMM_LOG"];

/// Where a setting was given. A later one of these outweighs an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is the built-in value.
    Default,
    /// In a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// In an environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// On the command line.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => f.write_str(variable),
            Self::CommandLine => f.write_str("--set"),
        }
    }
}

/// A setting as it was given, name and value unchecked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where.
    pub origin: Origin,
}

/// Reads a file of properties. It is UTF-8; if not, each byte is a character, as in the files of
/// old.
///
/// # Errors
/// [`SettingsError::Unreadable`] and [`SettingsError::Syntax`].
pub(super) fn from_file(path: &Path) -> Result<Vec<Given>, SettingsError> {
    let bytes = fs::read(path).map_err(|source| SettingsError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect());
    let properties = properties::parse(&text).map_err(|source| SettingsError::Syntax {
        path: path.to_owned(),
        source,
    })?;
    let given = |it: properties::Property| Given {
        name: it.key,
        value: it.value,
        origin: Origin::File {
            path: path.to_owned(),
            line: it.line,
        },
    };
    Ok(properties.into_iter().map(given).collect())
}

/// Takes the settings out of environment variables: `KLAMM_LOG_SEGMENT_BYTES` is
/// `log.segment.bytes`.
pub(super) fn from_environment(
    variables: impl IntoIterator<Item = (String, String)>,
) -> Vec<Given> {
    let mut given = Vec::new();
    for (variable, value) in variables {
        let Some(name) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        if name.is_empty() || NOT_SETTINGS.contains(&variable.as_str()) {
            continue;
        }
        given.push(Given {
            // The name that `KLAMM_` itself would hide: `KLAMM_KLAMM_…` is there, too.
            name: name.to_ascii_lowercase().replace('_', "."),
            value,
            origin: Origin::Environment { variable },
        });
    }
    given.sort_by(|a, b| a.name.cmp(&b.name));
    given
}

/// Takes `name=value` apart, as `--set` has it.
///
/// # Errors
/// [`SettingsError::NotAssignment`] without a `=`, or without a name.
pub(super) fn from_assignment(text: &str) -> Result<Given, SettingsError> {
    let parts = text.split_once('=').filter(|it| !it.0.trim().is_empty());
    let (name, value) = parts.ok_or_else(|| SettingsError::NotAssignment {
        text: text.to_owned(),
    })?;
    Ok(Given {
        name: name.trim().to_owned(),
        value: value.to_owned(),
        origin: Origin::CommandLine,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_become_names() {
        let variables = [
            ("KLAMM_LOG_SEGMENT_BYTES", "1048576"),
            ("KLAMM_KLAMM_REQUESTS_PER_CONNECTION", "1"),
            ("KLAMM_LOG", "debug"),
            ("KLAMM_", "x"),
            ("LOG_SEGMENT_BYTES", "5"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let given = from_environment(variables);
        let names: Vec<_> = given.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(
            names,
            ["klamm.requests.per.connection", "log.segment.bytes"]
        );
        assert_eq!(given[1].origin.to_string(), "KLAMM_LOG_SEGMENT_BYTES");
    }

    #[test]
    fn an_assignment_is_parted_at_the_first_equals_sign() {
        let given = from_assignment("listeners = A://:1?x=y").unwrap();
        assert_eq!(
            (given.name.as_str(), given.value.as_str()),
            ("listeners", " A://:1?x=y")
        );
        for text in ["listeners", "=x", " =x", ""] {
            let error = from_assignment(text).unwrap_err();
            assert!(
                matches!(error, SettingsError::NotAssignment { .. }),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_file_is_read_with_its_lines_and_named_where_it_is_wrong() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.properties");
        fs::write(&path, b"# caf\xe9\nbroker.rack=caf\xe9\n").unwrap();
        let given = from_file(&path).unwrap();
        assert_eq!(given[0].value, "café");
        assert_eq!(given[0].origin.to_string(), format!("{}:2", path.display()));

        fs::write(&path, "\n\na=\\uz\n").unwrap();
        let error = from_file(&path).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{}: line 3: ", path.display())),
            "{error}"
        );

        let missing = directory.path().join("none");
        let error = from_file(&missing).unwrap_err().to_string();
        assert!(error.contains(&missing.display().to_string()), "{error}");
    }
}
