//! [`Values`]: all settings with their values, and what is to be said about what was given.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::catalogue;
use super::definition::{Change, Definition};
use super::error::SettingsError;
use super::kind::Value;
use super::sources::{Given, Origin};

/// Stands before the settings of one listener.
const LISTENER_PREFIX: &str = "listener.name.";

/// What is done from time to time is done no more often than this.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// What a listener may have a value of its own for.
const OF_LISTENERS: [&str; 2] = ["max.connections", "max.connection.creation.rate"];

/// First parts of names by which protection is asked for.
const GUARDS: [&str; 5] = [
    "sasl.",
    "ssl.",
    "delegation.token.",
    "password.encoder.",
    "security.",
];

/// First parts of the names of settings that Apache Kafka has, or had, for what is not here.
const FOREIGN: [&str; 11] = [
    "config.providers",
    "confluent.",
    "group.share.",
    "group.streams.",
    "kafka.",
    "metric.",
    "metrics.",
    "remote.",
    "share.",
    "telemetry.",
    "zookeeper.",
];

/// All settings with their values.
///
/// Which of them are read is noted, so that one that was given and has no effect can be
/// [reported](Self::concerns), with what else is to be said of them.
#[derive(Debug, Clone)]
pub struct Values {
    entries: BTreeMap<&'static str, Entry>,
    /// By the listener's name in small letters, then by the setting's.
    of_listeners: BTreeMap<(String, &'static str), Entry>,
    /// Shared by clones. Held for an addition or a look.
    notes: Arc<Mutex<Notes>>,
}

/// What reading settings has shown.
#[derive(Debug, Default)]
struct Notes {
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

/// Something given that has no effect, or another than might be thought. The broker starts all the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The setting.
    pub name: String,
    /// Where it was given.
    pub origin: Origin,
    /// What is to be said of it.
    pub reason: Concern,
}

/// Why a setting is warned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// Nobody knows the name.
    Unknown,
    /// Apache Kafka knows it, Klamm does not use it.
    NotUsed,
    /// It is for users and clients, and set while running.
    ForEntities,
    /// Something would be done without a pause.
    TooOften,
    /// A heartbeat that is a little late would be too late.
    HardlyBeats,
    /// It asks for more brokers than there are.
    TooManyReplicas,
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown setting",
            Self::NotUsed => "setting is not used by klamm",
            Self::ForEntities => "setting is for users and clients, not for a broker",
            Self::TooOften => "shortest interval is 10 ms, which is taken instead",
            Self::HardlyBeats => {
                "is more than half of broker.session.timeout.ms, so a late heartbeat fences the broker"
            }
            Self::TooManyReplicas => {
                "this cluster has one broker, so a topic that is created without a number of \
                 replicas, as on first use, will be refused"
            }
        })
    }
}

impl Values {
    /// Checks what was given and puts it over the defaults; of two values for one name the later
    /// one holds.
    ///
    /// # Errors
    /// [`SettingsError::Invalid`] and [`SettingsError::NotProtected`].
    pub fn resolve(given: Vec<Given>) -> Result<(Self, Vec<Warning>), SettingsError> {
        let mut values = Self::defaults();
        let mut warnings = Vec::new();
        for it in given {
            values.put(it, &mut warnings)?;
        }
        // A name that is given twice is reported where it was given last.
        let mut last = BTreeMap::new();
        for warning in warnings {
            last.insert(warning.name.clone(), warning);
        }
        Ok((values, last.into_values().collect()))
    }

    fn defaults() -> Self {
        let entry = |it: Definition| {
            let entry = Entry {
                text: it.default.map(str::to_owned),
                value: it.default.and_then(|text| it.kind.parse(text).ok()),
                origin: Origin::Default,
            };
            (it.name, entry)
        };
        Self {
            entries: catalogue::all().map(entry).collect(),
            of_listeners: BTreeMap::new(),
            notes: Arc::default(),
        }
    }

    fn put(&mut self, given: Given, warnings: &mut Vec<Warning>) -> Result<(), SettingsError> {
        let of_listener = given.name.strip_prefix(LISTENER_PREFIX);
        let parts = of_listener.and_then(|it| it.split_once('.'));
        let (listener, name) = match parts {
            Some((listener, name)) => (Some(listener.to_ascii_lowercase()), name.to_owned()),
            None => (None, given.name.clone()),
        };
        match catalogue::find(&name) {
            Some(setting) if setting.change == Change::Entity => {
                warnings.push(warning(given, Concern::ForEntities));
            }
            Some(setting) => {
                let unused = listener.is_some() && !OF_LISTENERS.contains(&setting.name);
                if unused {
                    warnings.push(warning(given.clone(), Concern::NotUsed));
                }
                let entry = check(setting, given)?;
                match listener {
                    Some(listener) => {
                        self.of_listeners.insert((listener, setting.name), entry);
                    }
                    None => {
                        self.entries.insert(setting.name, entry);
                    }
                }
            }
            None if is_guard(&name) => {
                return Err(SettingsError::NotProtected {
                    name: given.name,
                    origin: given.origin,
                });
            }
            None if FOREIGN.iter().any(|it| name.starts_with(it)) => {
                warnings.push(warning(given, Concern::NotUsed));
            }
            None => warnings.push(warning(given, Concern::Unknown)),
        }
        Ok(())
    }

    /// Makes two names of numbers stand for one setting: if only the second was given, the first
    /// has its value from there.
    ///
    /// # Errors
    /// [`SettingsError::Contradiction`] where both were given, with two values.
    pub(super) fn join_names(
        &mut self,
        name: &'static str,
        synonym: &'static str,
    ) -> Result<(), SettingsError> {
        if !self.is_given(synonym) {
            return Ok(());
        }
        if !self.is_given(name) {
            let entry = self.entry(synonym).clone();
            self.entries.insert(name, entry);
        }
        match (self.number(name), self.number(synonym)) {
            (Some(one), Some(other)) if one != other => {
                let problem = format!("is {other} and {name} is {one}: they are one setting");
                Err(self.contradiction(synonym, problem))
            }
            _ => Ok(()),
        }
    }

    /// Puts another default under a setting that was not given.
    pub(super) fn set_default(&mut self, name: &'static str, text: &str) {
        let setting = catalogue::find(name).expect("the catalogue has the setting");
        let entry = self
            .entries
            .get_mut(name)
            .expect("every setting has an entry");
        if entry.origin == Origin::Default {
            entry.text = Some(text.to_owned());
            entry.value = setting.kind.parse(text).ok();
        }
    }

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

fn check(setting: Definition, given: Given) -> Result<Entry, SettingsError> {
    let value = match setting.kind.parse(&given.value) {
        Ok(value) => value,
        Err(expected) => {
            return Err(SettingsError::Invalid {
                name: given.name,
                value: given.value,
                expected: expected.to_string(),
                origin: given.origin,
            });
        }
    };
    let default = setting.default.and_then(|it| setting.kind.parse(it).ok());
    let is_empty = value == Value::Text(String::new());
    if setting.is_guard && !is_empty && default.as_ref() != Some(&value) {
        return Err(SettingsError::NotProtected {
            name: given.name,
            origin: given.origin,
        });
    }
    Ok(Entry {
        text: Some(given.value.trim().to_owned()),
        value: Some(value),
        origin: given.origin,
    })
}

fn is_guard(name: &str) -> bool {
    GUARDS.iter().any(|it| name.starts_with(it)) || name == "principal.builder.class"
}

fn warning(given: Given, reason: Concern) -> Warning {
    Warning {
        name: given.name,
        origin: given.origin,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sources::from_assignment;
    use super::*;

    fn resolve(assignments: &[&str]) -> Result<(Values, Vec<Warning>), SettingsError> {
        let given = assignments.iter().map(|it| from_assignment(it).unwrap());
        Values::resolve(given.collect())
    }

    fn refused(assignment: &str) -> String {
        resolve(&[assignment]).unwrap_err().to_string()
    }

    #[test]
    fn the_later_of_two_values_holds() {
        let (values, warnings) = resolve(&["num.io.threads=2", "num.io.threads= 3 "]).unwrap();
        assert_eq!(values.whole::<usize>("num.io.threads"), 3);
        assert_eq!(values.entry("num.io.threads").text.as_deref(), Some("3"));
        assert_eq!(warnings, []);
        assert!(values.is_given("num.io.threads"));
        assert!(!values.is_given("num.network.threads"));
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_place() {
        assert_eq!(
            refused("num.io.threads=0"),
            "--set: num.io.threads is \"0\", expected a whole number from 1 to 1024"
        );
        let line = Given {
            name: "log.segment.bytes".to_owned(),
            value: "5".to_owned(),
            origin: Origin::File {
                path: "server.properties".into(),
                line: 12,
            },
        };
        assert_eq!(
            Values::resolve(vec![line]).unwrap_err().to_string(),
            "server.properties:12: log.segment.bytes is \"5\", expected a whole number from \
             1048576 to 2147483647"
        );
    }

    #[test]
    fn protection_that_is_not_there_stops_the_start_and_secrets_are_not_shown() {
        for assignment in [
            "authorizer.class.name=org.example.Rules",
            "sasl.enabled.mechanisms=PLAIN",
            "sasl.jaas.config=password secret",
            "ssl.keystore.password=secret",
            "ssl.client.auth=required",
            "listener.name.outside.ssl.keystore.password=secret",
            "listener.name.outside.sasl.enabled.mechanisms=PLAIN",
            "security.inter.broker.protocol=SSL",
            "allow.everyone.if.no.acl.found=false",
            "connections.max.reauth.ms=1000",
            "create.topic.policy.class.name=org.example.Policy",
            "principal.builder.class=org.example.Builder",
        ] {
            let shown = refused(assignment);
            let name = assignment.split_once('=').unwrap().0;
            assert!(shown.contains(name), "{shown}");
            assert!(shown.contains("protection"), "{shown}");
            assert!(!shown.contains("secret"), "{shown}");
        }
        // What promises nothing may stand in a file.
        for assignment in [
            "authorizer.class.name=",
            "allow.everyone.if.no.acl.found=true",
            "sasl.enabled.mechanisms=GSSAPI",
            "security.inter.broker.protocol=PLAINTEXT",
        ] {
            assert!(resolve(&[assignment]).is_ok(), "{assignment}");
        }
    }

    #[test]
    fn what_has_no_effect_is_reported_once_and_the_rest_is_not() {
        let given = [
            "log.segment.byte=1",
            "log.segment.byte=2",
            "zookeeper.connect=x:1",
            "nonsense=1",
            "producer_byte_rate=5",
            "group.max.size=5",
            "num.partitions=2",
        ];
        let (values, warnings) = resolve(&given).unwrap();
        let shown: Vec<_> = warnings
            .iter()
            .map(|it| (it.name.as_str(), it.reason))
            .collect();
        let wanted = [
            ("log.segment.byte", Concern::Unknown),
            ("nonsense", Concern::Unknown),
            ("producer_byte_rate", Concern::ForEntities),
            ("zookeeper.connect", Concern::NotUsed),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(values.whole::<i32>("num.partitions"), 2);
        let unread: Vec<_> = values.concerns().into_iter().map(|it| it.name).collect();
        assert_eq!(unread, ["group.max.size"]);
    }

    #[test]
    fn a_listener_may_have_its_own_value() {
        let given = [
            "listener.name.inside.max.connections=1",
            "listener.name.inside.num.io.threads=7",
            "max.connections=2",
        ];
        let (values, warnings) = resolve(&given).unwrap();
        let count = |listener| {
            values
                .listener_entry(listener, "max.connections")
                .value
                .clone()
        };
        assert_eq!(count("INSIDE"), Some(Value::Number(1)));
        assert_eq!(count("OUTSIDE"), Some(Value::Number(2)));
        let shown: Vec<_> = warnings.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(shown, ["listener.name.inside.num.io.threads"]);
    }
}
