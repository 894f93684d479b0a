//! [`Values`]: all settings with their values, and which of them were read.
//!
//! How they come from what was given is in `resolution`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::concern::{Concern, Warning};
use super::error::SettingsError;
use super::kind::Value;
use super::sources::Origin;

/// What is done from time to time is done no more often than this.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// All settings with their values.
///
/// Which of them are read is noted, so that one that was given and has no effect can be
/// [reported](Self::concerns), with what else is to be said of them.
#[derive(Debug, Clone)]
pub struct Values {
    pub(super) entries: BTreeMap<&'static str, Entry>,
    /// By the listener's name in small letters, then by the setting's.
    pub(super) of_listeners: BTreeMap<(String, &'static str), Entry>,
    /// Shared by clones. Held for an addition or a look.
    pub(super) notes: Arc<Mutex<Notes>>,
}

/// What reading settings has shown.
#[derive(Debug, Default)]
pub(super) struct Notes {
    read: BTreeSet<&'static str>,
    concerns: BTreeMap<&'static str, Concern>,
}

/// A setting's value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// As text; `None` where it has none.
    pub text: Option<String>,
    /// The same, read.
    pub value: Option<Value>,
    /// Where it was given.
    pub origin: Origin,
}

impl Values {
    /// A setting's value.
    ///
    /// # Panics
    /// If the catalogue has no such setting.
    pub fn entry(&self, name: &'static str) -> &Entry {
        self.notes.lock().read.insert(name);
        self.entries
            .get(name)
            .expect("the catalogue has the setting")
    }

    /// All settings, by name. Does not count as reading them.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (*name, entry))
    }

    /// A setting's value for one listener: its own, else that for all.
    pub fn listener_entry(&self, listener: &str, name: &'static str) -> &Entry {
        self.notes.lock().read.insert(name);
        let own = self
            .of_listeners
            .get(&(listener.to_ascii_lowercase(), name));
        own.unwrap_or_else(|| self.entry(name))
    }

    /// Whether a setting was given.
    pub fn is_given(&self, name: &'static str) -> bool {
        self.entry(name).origin != Origin::Default
    }

    /// Where a setting was given.
    pub fn origin(&self, name: &'static str) -> Origin {
        self.entry(name).origin.clone()
    }

    /// The same settings for somebody whose reading gives none of them an effect, as a check of
    /// whether they go together.
    #[must_use]
    pub(super) fn unnoted(&self) -> Self {
        Self {
            notes: Arc::default(),
            ..self.clone()
        }
    }

    /// Notes that a setting has its effect, as this broker cannot be other than it asks for.
    pub(super) fn honour(&self, name: &'static str) {
        self.notes.lock().read.insert(name);
    }

    /// Notes what is to be said of a setting.
    pub(super) fn note(&self, name: &'static str, concern: Concern) {
        self.notes.lock().concerns.insert(name, concern);
    }

    /// What is to be said of settings that were given and are known: that nobody has read them
    /// until now, or what was found when they were read.
    pub fn concerns(&self) -> Vec<Warning> {
        let notes = self.notes.lock();
        let given = self.entries.iter();
        let given = given.filter(|(_, entry)| entry.origin != Origin::Default);
        let warnings = given.filter_map(|(name, entry)| {
            let reason = match notes.concerns.get(name) {
                Some(concern) => *concern,
                None if notes.read.contains(name) => return None,
                None => Concern::NotUsed,
            };
            Some(Warning {
                name: (*name).to_owned(),
                origin: entry.origin.clone(),
                reason,
            })
        });
        warnings.collect()
    }

    /// A yes or no.
    ///
    /// # Panics
    /// If the setting is of another kind.
    pub fn bool(&self, name: &'static str) -> bool {
        match self.entry(name).value {
            Some(Value::Bool(value)) => value,
            _ => panic!("{name} is yes or no"),
        }
    }

    /// A number, if there is one.
    ///
    /// # Panics
    /// If the setting is of another kind.
    pub fn number(&self, name: &'static str) -> Option<i64> {
        match self.entry(name).value {
            Some(Value::Number(value)) => Some(value),
            None => None,
            _ => panic!("{name} is a number"),
        }
    }

    /// A number that there is and that fits into the type.
    ///
    /// # Panics
    /// If the setting may be nothing, or more than the type can say.
    pub fn whole<T: TryFrom<i64>>(&self, name: &'static str) -> T {
        let number = self.number(name).expect("a setting with a default");
        let fitting = T::try_from(number).ok();
        fitting.expect("a range within the type's")
    }

    /// Milliseconds; below 0 they count as 0.
    pub fn millis(&self, name: &'static str) -> Duration {
        Duration::from_millis(self.number(name).map_or(0, clamped))
    }

    /// Milliseconds between two times at which something is done: no fewer than would keep a
    /// processor busy with it.
    pub fn interval(&self, name: &'static str) -> Duration {
        let given = self.millis(name);
        if given < INTERVAL_MIN {
            self.note(name, Concern::TooOften);
        }
        given.max(INTERVAL_MIN)
    }

    /// As [`Self::interval`], where the greatest number means "never".
    pub fn interval_unless_endless(&self, name: &'static str) -> Option<Duration> {
        let is_endless = self.number(name) == Some(i64::MAX);
        (!is_endless).then(|| self.interval(name))
    }

    /// A number with a fraction that there is.
    ///
    /// # Panics
    /// If the setting is of another kind, or may be nothing.
    pub fn double(&self, name: &'static str) -> f64 {
        match self.entry(name).value {
            Some(Value::Double(value)) => value,
            _ => panic!("{name} is a number with a fraction"),
        }
    }

    /// A text, if there is one; an empty one counts as none.
    ///
    /// # Panics
    /// If the setting is of another kind.
    pub fn text(&self, name: &'static str) -> Option<&str> {
        match &self.entry(name).value {
            Some(Value::Text(value)) => Some(value.as_str()).filter(|it| !it.is_empty()),
            None => None,
            _ => panic!("{name} is a text"),
        }
    }

    /// The elements of a list.
    ///
    /// # Panics
    /// If the setting is of another kind.
    pub fn list(&self, name: &'static str) -> &[String] {
        match &self.entry(name).value {
            Some(Value::List(value)) => value,
            None => &[],
            _ => panic!("{name} is a list"),
        }
    }

    /// Paths, absolute or not.
    pub fn paths(&self, name: &'static str) -> Vec<PathBuf> {
        self.list(name).iter().map(PathBuf::from).collect()
    }

    /// The error for a value that is of its kind and still cannot be.
    pub fn invalid(&self, name: &'static str, expected: impl Into<String>) -> SettingsError {
        let entry = self.entry(name);
        SettingsError::Invalid {
            name: name.to_owned(),
            value: entry.text.clone().unwrap_or_default(),
            expected: expected.into(),
            origin: entry.origin.clone(),
        }
    }

    /// The error for settings that do not go together.
    pub fn contradiction(&self, name: &'static str, problem: impl Into<String>) -> SettingsError {
        SettingsError::Contradiction {
            name,
            problem: problem.into(),
            origin: self.origin(name),
        }
    }
}

fn clamped(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}
