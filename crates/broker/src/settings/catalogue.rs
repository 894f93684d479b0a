//! Every setting that the broker knows, as data.
//!
//! A row says name, kind and range, default, when it may change, and what it does. Which of them
//! have an effect is not written here: a setting that was given and that nobody read is reported
//! (see [`Values`](super::Values)). The settings of topics are in [`topics`](super::topics); those
//! that give their defaults are made out of them.

mod groups;
mod identity;
mod listening;
mod logs;
mod replication;
mod requests;

use super::definition::Definition;
use super::topics::{TOPIC_SETTINGS, TopicSetting};

const TABLES: [&[Definition]; 8] = [
    identity::TABLE,
    listening::TABLE,
    requests::TABLE,
    replication::TABLE,
    logs::TABLE,
    groups::GROUPS,
    groups::TRANSACTIONS,
    groups::QUOTAS,
];

/// All settings of a broker, in no order that means anything.
pub fn all() -> impl Iterator<Item = Definition> {
    let given = TABLES.into_iter().flatten().copied();
    given.chain(
        TOPIC_SETTINGS
            .iter()
            .filter_map(TopicSetting::broker_default),
    )
}

/// The setting of this name.
pub fn find(name: &str) -> Option<Definition> {
    all().find(|it| it.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::definition::Change;
    use super::*;

    #[test]
    fn each_default_is_of_its_own_kind_and_within_its_range() {
        for setting in all() {
            if let Some(default) = setting.default {
                let value = setting.kind.parse(default);
                let must_be_given = setting.name == "node.id";
                assert_eq!(value.is_err(), must_be_given, "{}: {value:?}", setting.name);
            }
        }
    }

    #[test]
    fn names_are_not_given_twice_and_meanings_not_left_out() {
        let names: std::collections::BTreeSet<_> = all().map(|it| it.name).collect();
        assert_eq!(names.len(), all().count());
        for setting in all() {
            assert!(!setting.meaning.is_empty(), "{}", setting.name);
            assert!(!setting.meaning.ends_with('.'), "{}", setting.name);
        }
    }

    #[test]
    fn what_may_change_while_running_is_marked() {
        let change = |name| find(name).unwrap().change;
        assert_eq!(change("node.id"), Change::AtStart);
        assert_eq!(change("num.io.threads"), Change::Cluster);
        assert_eq!(change("num.network.threads"), Change::Listener);
        assert_eq!(change("advertised.listeners"), Change::Broker);
        assert_eq!(change("log.segment.bytes"), Change::Broker);
    }
}
