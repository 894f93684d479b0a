//! Settings of topics, brokers and the rest are changed. (CO-056 to CO-058)

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use klamm_wire::metadata::ClusterMetadataRecord as Record;
use thiserror::Error;

use super::create_topics::{GivenSettings, setting_record};
use crate::core::{Core, Decide, Decision};
use crate::image::{ConfigResource, MetadataImage, Settings};
use crate::options::InvalidSetting;

/// Changes single settings of resources. One bad change refuses its resource as a whole, not the
/// others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlterConfigs {
    /// The resources with their changes, in order.
    pub resources: Vec<(ConfigResource, Vec<ConfigChange>)>,
    /// Only says what would be done.
    pub validate_only: bool,
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The setting.
    pub name: Arc<str>,
    /// What is done to it.
    pub operation: ConfigOperation,
    /// The value; of no meaning for [`ConfigOperation::Delete`], and needed by the others.
    pub value: Option<Arc<str>>,
}

/// What is done to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigOperation {
    /// It gets the value.
    Set,
    /// It goes back to its default.
    Delete,
    /// The items of the value that are not in the list are added to it.
    Append,
    /// The items of the value are taken out of the list.
    Subtract,
}

/// Replaces all settings of resources: what is not named goes back to its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplaceConfigs {
    /// The resources with all their settings.
    pub resources: Vec<(ConfigResource, GivenSettings)>,
    /// Only says what would be done.
    pub validate_only: bool,
}

/// A resource's settings were not changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AlterConfigError {
    /// There is no such topic.
    #[error("there is no topic {name}")]
    UnknownTopic {
        /// The name.
        name: Arc<str>,
    },
    /// There is no such broker.
    #[error("there is no {resource}")]
    UnknownResource {
        /// The resource.
        resource: ConfigResource,
    },
    /// The request names the resource, or one of its settings, twice.
    #[error("the request names {name} more than once")]
    NamedTwice {
        /// The resource or setting.
        name: Arc<str>,
    },
    /// A setting is not valid, or has no value, or is no list.
    #[error(transparent)]
    InvalidSetting(#[from] InvalidSetting),
}

impl Decide for AlterConfigs {
    type Answer = Vec<Result<(), AlterConfigError>>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let named = self.resources.iter().map(|(resource, _)| resource);
        let twice = resources_named_twice(named);
        let mut records = Vec::new();
        let mut alter = |(resource, changes): &(ConfigResource, Vec<ConfigChange>)| {
            check_resource(image, resource, &twice)?;
            let before = settings_of(image, resource);
            let after = changed(core, resource, &before, changes)?;
            core.rules.check(resource, &after)?;
            records.extend(difference(resource, &before, &after));
            Ok(())
        };
        let answer = self.resources.iter().map(&mut alter).collect();
        if self.validate_only {
            records.clear();
        }
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }
}

impl Decide for ReplaceConfigs {
    type Answer = Vec<Result<(), AlterConfigError>>;

    fn decide(
        self,
        core: &mut Core,
        image: &MetadataImage,
        _now: Instant,
    ) -> Decision<Self::Answer> {
        let named = self.resources.iter().map(|(resource, _)| resource);
        let twice = resources_named_twice(named);
        let mut records = Vec::new();
        let mut answer = Vec::new();
        for (resource, settings) in self.resources {
            let replaced = check_resource(image, &resource, &twice).and_then(|()| {
                let mut after = Settings::new();
                for (name, value) in settings {
                    let value = value.ok_or_else(|| without_value(&name))?;
                    after.insert(name, value);
                }
                core.rules.check(&resource, &after)?;
                let before = settings_of(image, &resource);
                records.extend(difference(&resource, &before, &after));
                Ok(())
            });
            answer.push(replaced);
        }
        if self.validate_only {
            records.clear();
        }
        Decision { records, answer }
    }

    fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }
}

fn resources_named_twice<'a>(
    resources: impl Iterator<Item = &'a ConfigResource>,
) -> BTreeSet<ConfigResource> {
    let mut seen = BTreeSet::new();
    resources.filter(|it| !seen.insert(*it)).cloned().collect()
}

/// A resource must exist, where that can be known here: subscriptions and groups come with their
/// first setting.
fn check_resource(
    image: &MetadataImage,
    resource: &ConfigResource,
    twice: &BTreeSet<ConfigResource>,
) -> Result<(), AlterConfigError> {
    if twice.contains(resource) {
        return Err(AlterConfigError::NamedTwice {
            name: resource.to_string().into(),
        });
    }
    match resource {
        ConfigResource::Topic(name) if image.topic(name).is_none() => {
            Err(AlterConfigError::UnknownTopic { name: name.clone() })
        }
        ConfigResource::Broker(id) if image.broker(*id).is_none() => {
            Err(AlterConfigError::UnknownResource {
                resource: resource.clone(),
            })
        }
        _ => Ok(()),
    }
}

fn settings_of(image: &MetadataImage, resource: &ConfigResource) -> Settings {
    let settings = image.settings(resource);
    settings.map(|it| Settings::clone(it)).unwrap_or_default()
}

/// The settings after the changes.
fn changed(
    core: &Core,
    resource: &ConfigResource,
    before: &Settings,
    changes: &[ConfigChange],
) -> Result<Settings, AlterConfigError> {
    let mut after = before.clone();
    let mut seen = BTreeSet::new();
    for change in changes {
        let name = &change.name;
        if !seen.insert(name) {
            return Err(AlterConfigError::NamedTwice { name: name.clone() });
        }
        if change.operation == ConfigOperation::Delete {
            after.remove(name);
            continue;
        }
        let value = change.value.as_ref().ok_or_else(|| without_value(name))?;
        if change.operation == ConfigOperation::Set {
            after.insert(name.clone(), value.clone());
            continue;
        }
        if !core.rules.is_list(resource, name) {
            let (name, reason) = (name.clone(), "it is no list".to_owned());
            return Err(InvalidSetting { name, reason }.into());
        }
        let default = || core.rules.default_value(resource, name);
        let list = before.get(name).cloned().or_else(default);
        let mut items: Vec<&str> = items(list.as_deref().unwrap_or_default()).collect();
        if change.operation == ConfigOperation::Append {
            for item in self::items(value) {
                if !items.contains(&item) {
                    items.push(item);
                }
            }
        } else {
            let gone: Vec<&str> = self::items(value).collect();
            items.retain(|item| !gone.contains(item));
        }
        after.insert(name.clone(), items.join(",").into());
    }
    Ok(after)
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|it| !it.is_empty())
}

fn without_value(name: &Arc<str>) -> InvalidSetting {
    InvalidSetting {
        name: name.clone(),
        reason: "it has no value".to_owned(),
    }
}

/// The records that lead from the one to the other; those that take a setting back have no value.
fn difference(resource: &ConfigResource, before: &Settings, after: &Settings) -> Vec<Record> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let gone = gone.map(|name| setting_record(resource, name, None));
    let new = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(value));
    let new = new.map(|(name, value)| setting_record(resource, name, Some(value)));
    gone.chain(new).collect()
}
