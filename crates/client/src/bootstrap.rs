//! [`BootstrapAddress`]: where a client first looks for its cluster.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use klamm_io::Net;
use thiserror::Error;
use tracing::warn;

use crate::node::{Node, NodeId};

/// An entry of `bootstrap.servers`: `host:port`, where an IPv6 address stands in brackets.
///
/// ```
/// use klamm_client::BootstrapAddress;
///
/// let address: BootstrapAddress = "[::1]:9092".parse().unwrap();
/// assert_eq!((address.host(), address.port()), ("::1", 9092));
/// assert!("broker".parse::<BootstrapAddress>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BootstrapAddress {
    host: Arc<str>,
    port: u16,
}

/// What is wrong with an entry of `bootstrap.servers`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BootstrapError {
    /// Not of the form `host:port`.
    #[error("`{entry}` is not `host:port`")]
    NoPort {
        /// The entry.
        entry: String,
    },
    /// What should be the port is not a number from 1 to 65535.
    #[error("the port in `{entry}` is not a number from 1 to 65535")]
    Port {
        /// The entry.
        entry: String,
    },
    /// There is no host, or one with characters that no name or address has.
    #[error("the host in `{entry}` is neither a name nor an address; IPv6 ones go in brackets")]
    Host {
        /// The entry.
        entry: String,
    },
    /// There is no entry.
    #[error("there is no address")]
    Empty,
    /// Not one of the entries could be resolved.
    #[error("none of the hosts could be resolved: {hosts}")]
    Unresolved {
        /// The hosts, with commas between.
        hosts: String,
    },
}

impl BootstrapAddress {
    /// The host's name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The entries of a list with commas between; blanks around an entry and empty entries are
    /// passed over.
    ///
    /// # Errors
    /// Of the first entry that has one; [`BootstrapError::Empty`] if there is none at all.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, BootstrapError> {
        let entries = list.split(',').map(str::trim);
        let addresses: Vec<Self> = entries
            .filter(|entry| !entry.is_empty())
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        if addresses.is_empty() {
            return Err(BootstrapError::Empty);
        }
        Ok(addresses)
    }

    /// The node that stands for the entry at `index` of its list.
    pub(crate) fn node(&self, index: usize) -> Node {
        Node {
            id: NodeId::bootstrap(index),
            host: self.host.clone(),
            port: self.port,
            rack: None,
        }
    }
}

/// The addresses whose host can be resolved, in their order; each of the others is warned of.
///
/// # Errors
/// [`BootstrapError::Unresolved`] if none is left.
pub async fn resolvable<N: Net>(
    net: &N,
    addresses: &[BootstrapAddress],
) -> Result<Vec<BootstrapAddress>, BootstrapError> {
    let mut found = Vec::new();
    for address in addresses {
        match net.resolve(address.host(), address.port()).await {
            Ok(_) => found.push(address.clone()),
            Err(error) => warn!(
                %address,
                error = &error as &dyn std::error::Error,
                "bootstrap server cannot be resolved, leaving it out"
            ),
        }
    }
    if found.is_empty() {
        let hosts: Vec<&str> = addresses.iter().map(BootstrapAddress::host).collect();
        return Err(BootstrapError::Unresolved {
            hosts: hosts.join(", "),
        });
    }
    Ok(found)
}

impl FromStr for BootstrapAddress {
    type Err = BootstrapError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let entry = || text.to_owned();
        let (host, port) = text
            .rsplit_once(':')
            .ok_or_else(|| BootstrapError::NoPort { entry: entry() })?;
        // `[::1]` alone has a colon, but no port behind it.
        if port.ends_with(']') || port.is_empty() {
            return Err(BootstrapError::NoPort { entry: entry() });
        }
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port > 0);
        let port = port.ok_or_else(|| BootstrapError::Port { entry: entry() })?;
        let bare = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').filter(|host| host.contains(':')),
            None => Some(host).filter(|host| !host.contains([':', ']'])),
        };
        let legal = |host: &&str| {
            let mut bytes = host.bytes();
            !host.is_empty()
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-._:%".contains(&byte))
        };
        let host = bare.filter(legal);
        let host = host.ok_or_else(|| BootstrapError::Host { entry: entry() })?;
        Ok(Self {
            host: host.into(),
            port,
        })
    }
}

impl fmt::Display for BootstrapAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use klamm_io::sim::{SimClock, SimNet};

    use super::*;

    fn parsed(text: &str) -> (String, u16) {
        let address: BootstrapAddress = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
        (address.host().to_owned(), address.port())
    }

    #[test]
    fn cl_019_names_v4_and_bracketed_v6_are_accepted() {
        assert_eq!(parsed("localhost:9092"), ("localhost".to_owned(), 9092));
        assert_eq!(parsed("10.1.2.3:1"), ("10.1.2.3".to_owned(), 1));
        assert_eq!(parsed("[::1]:65535"), ("::1".to_owned(), 65535));
        assert_eq!(
            parsed("[fe80::1%eth0]:9092"),
            ("fe80::1%eth0".to_owned(), 9092)
        );
        let list = BootstrapAddress::parse_list(" a:1, b:2 ,,[::1]:3").unwrap();
        let shown: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a:1", "b:2", "[::1]:3"]);
    }

    #[test]
    fn cl_019_whatever_has_no_port_from_1_to_65535_is_an_error() {
        type Check = fn(&BootstrapError) -> bool;
        let no_port: Check = |error| matches!(error, BootstrapError::NoPort { .. });
        let port: Check = |error| matches!(error, BootstrapError::Port { .. });
        let host: Check = |error| matches!(error, BootstrapError::Host { .. });
        for (entry, expected) in [
            ("broker", no_port),
            ("broker:", no_port),
            ("[::1]", no_port),
            ("broker:65536", port),
            ("broker:0", port),
            ("broker:-1", port),
            ("broker:+1", port),
            ("broker:http", port),
            (":9092", host),
            ("::1:9092", host),
            ("[::1:9092", host),
            ("[localhost]:9092", host),
            ("PLAINTEXT://broker:9092", host),
            ("a b:9092", host),
        ] {
            let error = entry.parse::<BootstrapAddress>().unwrap_err();
            assert!(expected(&error), "{entry}: {error:?}");
            assert!(error.to_string().contains(entry), "{error}");
        }
        assert_eq!(
            BootstrapAddress::parse_list(" , "),
            Err(BootstrapError::Empty)
        );
    }

    #[tokio::test]
    async fn cl_020_what_does_not_resolve_is_left_out_and_nothing_left_is_an_error() {
        let net = SimNet::new(SimClock::new());
        let host = net.host("10.0.0.1".parse().unwrap());
        net.set_name("known", &["10.0.0.2".parse().unwrap()]);
        let list = BootstrapAddress::parse_list("lost:1,known:2,10.0.0.3:3").unwrap();
        let found = resolvable(&host, &list).await.unwrap();
        assert_eq!(found, list[1..]);
        let error = resolvable(&host, &list[..1]).await.unwrap_err();
        let hosts = "lost".to_owned();
        assert_eq!(error, BootstrapError::Unresolved { hosts });
    }
}
