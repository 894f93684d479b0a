//! [`Layers`]: where a producer's settings come from, and which of them wins. (PR-154)

use anyhow::Result;
use klamm_producer::{ConfigError, ProducerConfig};

use crate::properties::{Property, last};

/// Settings in layers. From the weakest: what the program has for defaults, the file, the
/// properties of the command line, the options that were given.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    defaults: Vec<Property>,
    properties: Vec<Property>,
    given: Vec<Property>,
}

impl Layers {
    /// Begins with what a file says and, winning over it, the properties of the command line.
    pub(crate) fn of(file: Vec<Property>, pairs: &[Property]) -> Self {
        let mut properties = file;
        properties.extend_from_slice(pairs);
        Self {
            properties,
            ..Self::default()
        }
    }

    /// Says what a setting is where nobody says it.
    #[must_use]
    pub(crate) fn default_value(mut self, name: &str, value: &str) -> Self {
        self.defaults.push(Property::new(name, value));
        self
    }

    /// Takes an option, if it was given: it wins.
    #[must_use]
    pub(crate) fn given(mut self, name: &str, value: Option<impl ToString>) -> Self {
        let value = value.map(|value| Property::new(name, value.to_string()));
        self.given.extend(value);
        self
    }

    /// An option with its own default, which holds only if nothing else sets the setting.
    #[must_use]
    pub(crate) fn option(self, name: &str, value: Option<impl ToString>, default: &str) -> Self {
        self.default_value(name, default).given(name, value)
    }

    /// The value that wins, if there is any.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        last(&self.given, name)
            .or_else(|| last(&self.properties, name))
            .or_else(|| last(&self.defaults, name))
    }

    /// The settings as a whole.
    ///
    /// # Errors
    /// A value that is out of range or contradicts another; the setting is named.
    pub(crate) fn config(&self) -> Result<ProducerConfig, ConfigError> {
        let mut names: Vec<&str> = Vec::new();
        for property in [&self.defaults, &self.properties, &self.given]
            .into_iter()
            .flatten()
        {
            // Each is set once: whatever had been set before leaves its traces.
            if !names.contains(&property.name.as_str()) {
                names.push(&property.name);
            }
        }
        let winners = names.into_iter();
        ProducerConfig::from_properties(winners.filter_map(|name| Some((name, self.value(name)?))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn layers() -> Layers {
        let file = vec![
            Property::new("bootstrap.servers", "127.0.0.1:1"),
            Property::new("linger.ms", "1"),
            Property::new("client.id", "file"),
            Property::new("batch.size", "1"),
        ];
        let pairs = [
            Property::new("client.id", "pair"),
            Property::new("batch.size", "2"),
        ];
        Layers::of(file, &pairs)
    }

    #[test]
    fn pr_154_options_win_over_properties_and_these_over_the_file_and_defaults_hold_last() {
        let config = layers()
            .option("batch.size", Some(3), "16384")
            .option("client.id", None::<&str>, "console-producer")
            .option("linger.ms", None::<u32>, "1000")
            .option("retries", None::<u32>, "3")
            .config()
            .unwrap();
        assert_eq!(config.batching.batch_size, 3, "the option");
        assert_eq!(&*config.client.client_id, "pair", "the property");
        assert_eq!(config.batching.linger, Duration::from_millis(1), "the file");
        assert_eq!(config.delivery.retries, 3, "the default");
    }

    #[test]
    fn a_wrong_value_is_refused_by_name_unless_another_wins_over_it() {
        let wrong = [Property::new("acks", "7")];
        let layers = Layers::of(Vec::new(), &wrong).given("bootstrap.servers", Some("h:1"));
        let error = layers.config().unwrap_err().to_string();
        assert!(error.contains("acks") && error.contains('7'), "{error}");
        assert!(layers.given("acks", Some(1)).config().is_ok());
    }
}
