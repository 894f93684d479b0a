//! What settings a topic has, where each comes from, and which it may be given.

use std::sync::Arc;

use klamm_controller::{
    ConfigResource, InvalidSetting, MetadataImage, SettingRules, Settings as OwnSettings,
};
use klamm_replica::{TopicSettings, TopicSettingsSource};

use crate::settings::topics::{self, TOPIC_SETTINGS, TopicSettingError};
use crate::settings::{Kind, Origin, Settings, Width};

/// Where a value comes from, as `DescribeConfigs` numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Set for the topic.
    Topic,
    /// Given to the broker at its start.
    Broker,
    /// Built in.
    Default,
}

impl Source {
    pub(crate) const fn number(self) -> i8 {
        match self {
            Self::Topic => 1,
            Self::Broker => 4,
            Self::Default => 5,
        }
    }

    /// Where a broker's own setting comes from.
    pub(crate) const fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Default => Self::Default,
            Origin::File { .. } | Origin::Environment { .. } | Origin::CommandLine => Self::Broker,
        }
    }
}

/// A setting of a topic.
#[derive(Debug)]
pub(crate) struct Effective<'a> {
    pub(crate) name: &'static str,
    pub(crate) value: &'a str,
    pub(crate) source: Source,
    pub(crate) kind: Kind,
    pub(crate) meaning: &'static str,
    /// All that could give the value, the weightiest first: under what name, the value, and where.
    pub(crate) synonyms: Vec<(&'static str, &'a str, Source)>,
}

/// All settings of a topic with these of its own.
pub(crate) fn effective<'a>(
    settings: &'a Settings,
    own: Option<&'a OwnSettings>,
) -> impl Iterator<Item = Effective<'a>> {
    TOPIC_SETTINGS.iter().map(move |setting| {
        let mut synonyms = Vec::with_capacity(3);
        if let Some(value) = own.and_then(|it| it.get(setting.name)) {
            synonyms.push((setting.name, &**value, Source::Topic));
        }
        let default_name = setting.broker_name.unwrap_or(setting.name);
        let given = settings.topics.text(setting);
        if given != setting.default {
            synonyms.push((default_name, given, Source::Broker));
        }
        synonyms.push((default_name, setting.default, Source::Default));
        let (_, value, source) = synonyms[0];
        Effective {
            name: setting.name,
            value,
            source,
            kind: setting.kind,
            meaning: setting.meaning,
            synonyms,
        }
    })
}

/// The number of a setting's type, as `DescribeConfigs` has it.
pub(crate) const fn type_number(kind: Kind) -> i8 {
    match kind {
        Kind::Bool => 1,
        Kind::Text | Kind::Choice(_) => 2,
        Kind::Number { width, .. } => match width {
            Width::Int => 3,
            Width::Short => 4,
            Width::Long => 5,
        },
        Kind::Double { .. } => 6,
        Kind::List | Kind::Words(_) => 7,
    }
}

/// Tells the controller which settings there are, and the replicas what a topic's come to.
pub(crate) struct TopicConfigs(pub(crate) Arc<Settings>);

impl TopicSettingsSource for TopicConfigs {
    fn settings_of(&self, image: &MetadataImage, topic: &str) -> TopicSettings {
        let own = image.settings(&ConfigResource::Topic(topic.into()));
        let own = own.iter().flat_map(|it| it.iter());
        let own = own.map(|(name, value)| (&**name, &**value));
        self.0.topics.with_what_fits(topic, own)
    }
}

impl SettingRules for TopicConfigs {
    fn check(
        &self,
        resource: &ConfigResource,
        settings: &OwnSettings,
    ) -> Result<(), InvalidSetting> {
        let refuse = |name: &str, reason: String| {
            Err(InvalidSetting {
                name: name.into(),
                reason,
            })
        };
        match resource {
            ConfigResource::Topic(_) => {
                let own = settings.iter().map(|(name, value)| (&**name, &**value));
                match self.0.topics.with(own) {
                    Ok(_) => Ok(()),
                    Err(error) => {
                        let (TopicSettingError::Unknown { name }
                        | TopicSettingError::Invalid { name, .. }) = &error;
                        refuse(name, error.to_string())
                    }
                }
            }
            ConfigResource::Broker(_)
            | ConfigResource::AllBrokers
            | ConfigResource::ClientMetrics(_)
            | ConfigResource::Group(_) => match settings.keys().next() {
                Some(name) => refuse(name, format!("{resource} has no settings that can change")),
                None => Ok(()),
            },
        }
    }

    fn is_list(&self, resource: &ConfigResource, name: &str) -> bool {
        let setting = matches!(resource, ConfigResource::Topic(_))
            .then(|| topics::find(name))
            .flatten();
        setting.is_some_and(|it| matches!(it.kind, Kind::List | Kind::Words(_)))
    }

    fn default_value(&self, resource: &ConfigResource, name: &str) -> Option<Arc<str>> {
        matches!(resource, ConfigResource::Topic(_)).then_some(())?;
        Some(self.0.topics.text(topics::find(name)?).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(assignments: &[&str]) -> Settings {
        let assignments: Vec<_> = assignments.iter().map(ToString::to_string).collect();
        Settings::load(None, [], &assignments).unwrap().0
    }

    #[test]
    fn ap_069_a_value_is_told_with_all_that_could_have_given_it() {
        let settings = settings(&["log.retention.hours=1"]);
        let own: OwnSettings = [("retention.ms".into(), "5".into())].into();
        let find = |own| {
            effective(&settings, own)
                .find(|it| it.name == "retention.ms")
                .unwrap()
        };
        let own = find(Some(&own));
        assert_eq!((own.value, own.source), ("5", Source::Topic));
        let wanted = [
            ("retention.ms", "5", Source::Topic),
            ("log.retention.ms", "3600000", Source::Broker),
            ("log.retention.ms", "604800000", Source::Default),
        ];
        assert_eq!(own.synonyms, wanted);
        let none = find(None);
        assert_eq!((none.value, none.source), ("3600000", Source::Broker));
        assert_eq!(none.synonyms, wanted[1..]);
    }

    #[test]
    fn the_controller_is_told_what_topics_may_be_given() {
        let rules = TopicConfigs(Arc::new(settings(&[])));
        let topic = ConfigResource::Topic("t".into());
        let check = |name: &str, value: &str| {
            let own: OwnSettings = [(name.into(), value.into())].into();
            rules.check(&topic, &own)
        };
        assert_eq!(check("retention.ms", "5"), Ok(()));
        for (name, value) in [("retention.ms", "-2"), ("retention", "5")] {
            assert_eq!(&*check(name, value).unwrap_err().name, name);
        }
        assert!(rules.is_list(&topic, "cleanup.policy"));
        assert!(!rules.is_list(&topic, "retention.ms"));
        let default = rules.default_value(&topic, "cleanup.policy");
        assert_eq!(default.as_deref(), Some("delete"));
        let broker = ConfigResource::AllBrokers;
        let own: OwnSettings = [("num.io.threads".into(), "5".into())].into();
        assert!(rules.check(&broker, &own).is_err());
    }
}
