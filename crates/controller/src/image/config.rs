//! [`ConfigResource`]: what has settings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use klamm_primitives::BrokerId;

/// What was set for a resource, by name. Values may be secrets: they are not for logs.
pub type Settings = BTreeMap<Arc<str>, Arc<str>>;

/// Something that has settings of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfigResource {
    /// A topic, by name.
    Topic(Arc<str>),
    /// One broker.
    Broker(BrokerId),
    /// All brokers that have no value of their own.
    AllBrokers,
    /// A subscription to clients' metrics, by name (KIP-714).
    ClientMetrics(Arc<str>),
    /// A group, by its id (KIP-848).
    Group(Arc<str>),
}

impl ConfigResource {
    /// The kind, by the number that records and requests have for it.
    pub const fn kind(&self) -> i8 {
        match self {
            Self::Topic(_) => TOPIC,
            Self::Broker(_) | Self::AllBrokers => BROKER,
            Self::ClientMetrics(_) => CLIENT_METRICS,
            Self::Group(_) => GROUP,
        }
    }

    /// The name, as records and requests have it.
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Topic(name) | Self::ClientMetrics(name) | Self::Group(name) => name.clone(),
            Self::Broker(id) => id.to_string().into(),
            Self::AllBrokers => "".into(),
        }
    }

    /// What the kind and name of a record or request stand for; `None` for a kind without
    /// settings here, and for the name of a broker that is no number.
    pub fn from_parts(kind: i8, name: &str) -> Option<Self> {
        match kind {
            TOPIC => Some(Self::Topic(name.into())),
            BROKER if name.is_empty() => Some(Self::AllBrokers),
            BROKER => {
                let id = name.parse().ok().filter(|id| *id >= 0)?;
                Some(Self::Broker(BrokerId::new(id)))
            }
            CLIENT_METRICS => Some(Self::ClientMetrics(name.into())),
            GROUP => Some(Self::Group(name.into())),
            _ => None,
        }
    }
}

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(name) => write!(f, "topic {name}"),
            Self::Broker(id) => write!(f, "broker {id}"),
            Self::AllBrokers => f.write_str("all brokers"),
            Self::ClientMetrics(name) => write!(f, "client metrics {name}"),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}
