//! From what was given to [`Values`]: names and kinds are checked, later values put over earlier ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalogue;
use super::concern::{Concern, Warning};
use super::definition::{Change, Definition};
use super::error::SettingsError;
use super::kind::Value;
use super::sources::{Given, Origin};
use super::values::{Entry, Values};

/// Stands before the settings of one listener.
const LISTENER_PREFIX: &str = "listener.name.";

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

pub(super) fn is_guard(name: &str) -> bool {
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
