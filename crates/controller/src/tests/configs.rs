//! Settings change.

use std::sync::Arc;

use super::fixture::{Cluster, broker};
use crate::deciders::{
    AlterConfigError, AlterConfigs, ConfigChange, ConfigOperation, NewTopic, ReplaceConfigs,
};
use crate::image::ConfigResource;
use crate::options::InvalidSetting;

fn topic(name: &str) -> ConfigResource {
    ConfigResource::Topic(name.into())
}

fn change(name: &str, operation: ConfigOperation, value: &str) -> ConfigChange {
    ConfigChange {
        name: name.into(),
        operation,
        value: Some(value.into()),
    }
}

fn cluster() -> Cluster {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(NewTopic::new("t")).unwrap();
    cluster.create(NewTopic::new("u")).unwrap();
    cluster
}

impl Cluster {
    fn alter_settings(
        &mut self,
        resource: &ConfigResource,
        changes: Vec<ConfigChange>,
    ) -> Result<(), AlterConfigError> {
        let request = AlterConfigs {
            resources: vec![(resource.clone(), changes)],
            validate_only: false,
        };
        self.ask(request).remove(0)
    }

    fn value(&self, resource: &ConfigResource, name: &str) -> Option<String> {
        self.image.setting(resource, name).map(ToString::to_string)
    }
}

fn invalid(result: Result<(), AlterConfigError>) -> Arc<str> {
    match result {
        Err(AlterConfigError::InvalidSetting(InvalidSetting { name, .. })) => name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn co_056_settings_are_set_deleted_appended_to_and_subtracted_from() {
    let mut cluster = cluster();
    let t = topic("t");
    let policy = "cleanup.policy";
    let mut then = |operation, value, expected: Option<&str>| {
        cluster
            .alter_settings(&t, vec![change(policy, operation, value)])
            .unwrap();
        assert_eq!(cluster.value(&t, policy).as_deref(), expected);
    };
    then(ConfigOperation::Append, "compact", Some("delete,compact"));
    then(
        ConfigOperation::Append,
        "compact, delete",
        Some("delete,compact"),
    );
    then(ConfigOperation::Subtract, "delete", Some("compact"));
    then(ConfigOperation::Set, "delete", Some("delete"));
    then(ConfigOperation::Delete, "", None);

    for operation in [ConfigOperation::Append, ConfigOperation::Subtract] {
        let refused = cluster.alter_settings(&t, vec![change("retention.ms", operation, "5")]);
        assert_eq!(&*invalid(refused), "retention.ms", "it is no list");
    }
    let without_value = ConfigChange {
        value: None,
        ..change("retention.ms", ConfigOperation::Set, "")
    };
    assert_eq!(
        &*invalid(cluster.alter_settings(&t, vec![without_value])),
        "retention.ms"
    );
}

#[test]
fn co_056_one_bad_change_refuses_its_resource_and_no_other() {
    let mut cluster = cluster();
    let request = AlterConfigs {
        resources: vec![
            (
                topic("t"),
                vec![
                    change("retention.ms", ConfigOperation::Set, "5"),
                    change("no.such", ConfigOperation::Set, "5"),
                ],
            ),
            (
                topic("u"),
                vec![change("retention.ms", ConfigOperation::Set, "6")],
            ),
        ],
        validate_only: false,
    };
    let mut answers = cluster.ask(request);
    assert_eq!(answers.pop(), Some(Ok(())));
    assert_eq!(&*invalid(answers.remove(0)), "no.such");
    assert_eq!(cluster.value(&topic("t"), "retention.ms"), None);
    assert_eq!(
        cluster.value(&topic("u"), "retention.ms").as_deref(),
        Some("6")
    );

    let twice = vec![
        change("retention.ms", ConfigOperation::Set, "5"),
        change("retention.ms", ConfigOperation::Delete, ""),
    ];
    let named = |name: &str| AlterConfigError::NamedTwice { name: name.into() };
    assert_eq!(
        cluster.alter_settings(&topic("t"), twice),
        Err(named("retention.ms"))
    );
    let request = AlterConfigs {
        resources: vec![(topic("t"), Vec::new()), (topic("t"), Vec::new())],
        validate_only: false,
    };
    let expected = [Err(named("topic t")), Err(named("topic t"))];
    assert_eq!(cluster.ask(request), expected);
}

#[test]
fn co_057_replacing_takes_back_what_is_not_named() {
    let mut cluster = cluster();
    let t = topic("t");
    cluster.set(&t, "retention.ms", "5");
    cluster.set(&t, "cleanup.policy", "compact");
    let replace = |settings: &[(&str, Option<&str>)], validate_only| ReplaceConfigs {
        resources: vec![(
            topic("t"),
            settings
                .iter()
                .map(|(name, value)| (Arc::from(*name), value.map(Arc::from)))
                .collect(),
        )],
        validate_only,
    };
    let only = [("retention.ms", Some("6"))];
    assert_eq!(cluster.ask(replace(&only, true)), [Ok(())]);
    assert_eq!(
        cluster.value(&t, "cleanup.policy").as_deref(),
        Some("compact")
    );
    assert_eq!(cluster.ask(replace(&only, false)), [Ok(())]);
    assert_eq!(cluster.value(&t, "cleanup.policy"), None);
    assert_eq!(cluster.value(&t, "retention.ms").as_deref(), Some("6"));
    let refused = cluster
        .ask(replace(&[("retention.ms", None)], false))
        .remove(0);
    assert_eq!(&*invalid(refused), "retention.ms");
    assert_eq!(cluster.value(&t, "retention.ms").as_deref(), Some("6"));
}

#[test]
fn co_058_a_resource_must_exist_and_deleting_writes_null() {
    let mut cluster = cluster();
    let set = || vec![change("retention.ms", ConfigOperation::Set, "5")];
    let unknown = AlterConfigError::UnknownTopic { name: "v".into() };
    assert_eq!(cluster.alter_settings(&topic("v"), set()), Err(unknown));
    let resource = ConfigResource::Broker(broker(9));
    let unknown = AlterConfigError::UnknownResource {
        resource: resource.clone(),
    };
    assert_eq!(cluster.alter_settings(&resource, set()), Err(unknown));
    for resource in [
        ConfigResource::Broker(broker(1)),
        ConfigResource::AllBrokers,
    ] {
        cluster.alter_settings(&resource, set()).unwrap();
        assert_eq!(
            cluster.value(&resource, "retention.ms").as_deref(),
            Some("5")
        );
    }

    cluster.alter_settings(&topic("t"), set()).unwrap();
    let delete = vec![change("retention.ms", ConfigOperation::Delete, "")];
    cluster.alter_settings(&topic("t"), delete.clone()).unwrap();
    let expected = crate::deciders::setting_record(&topic("t"), "retention.ms", None);
    assert_eq!(cluster.records, [expected]);
    assert_eq!(cluster.image.settings(&topic("t")), None);
    cluster.alter_settings(&topic("t"), delete).unwrap();
    assert_eq!(cluster.records, [], "there is nothing to delete any more");
}

#[test]
fn validate_only_writes_no_setting() {
    let mut cluster = cluster();
    let request = AlterConfigs {
        resources: vec![(
            topic("t"),
            vec![change("retention.ms", ConfigOperation::Set, "5")],
        )],
        validate_only: true,
    };
    assert_eq!(cluster.ask(request), [Ok(())]);
    assert_eq!(cluster.records, []);
}
