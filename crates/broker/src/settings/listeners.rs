//! [`Listeners`]: where the broker listens, and where its clients are told to come.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use super::error::SettingsError;
use super::values::Values;

/// Where the broker listens, and where its clients are told to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listeners {
    /// The listeners, by the order in which they were given.
    pub bound: Vec<Bound>,
    /// What `advertised.listeners` says; empty where clients are told the listeners themselves.
    pub advertised: Vec<Address>,
    /// The name of the listener that brokers call each other by; none has to be there while this
    /// node is alone.
    pub inter_broker: String,
}

/// One listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// Its name and where it is.
    pub address: Address,
    /// Whether it is one of the controller's, whom clients of the broker are not sent to.
    pub is_controllers: bool,
}

/// `NAME://host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The listener's name, in capital letters.
    pub name: String,
    /// Host name or address, the latter without brackets; empty: every address of the machine.
    pub host: String,
    /// The port; 0 takes a free one, and tells clients that one.
    pub port: u16,
}

/// The protocols that Apache Kafka has.
const PROTOCOLS: [&str; 4] = ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// What was expected.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let parsed = Self::parse_but_port(text);
        let (address, port) = parsed.ok_or("NAME://host:port, with commas between")?;
        match port.parse() {
            Ok(port) => Ok(Self { port, ..address }),
            Err(_) => Err("NAME://host:port with a port from 0 to 65535"),
        }
    }

    /// Reads what stands before the port, which comes back as it is.
    fn parse_but_port(text: &str) -> Option<(Self, &str)> {
        let (name, place) = text.split_once("://")?;
        let (host, port) = place.rsplit_once(':')?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']')?,
            // Two colons would be an address of IPv6 whose last part is no port.
            None if host.contains(':') => return None,
            None => host,
        };
        let is_name = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
        let is_fine = !name.is_empty() && name.bytes().all(is_name) && !host.contains('/');
        let address = Self {
            name: name.to_ascii_uppercase(),
            host: host.to_owned(),
            port: 0,
        };
        is_fine.then_some((address, port))
    }

    /// Whether clients cannot come to this host, as it stands for all addresses of a machine.
    fn is_everywhere(&self) -> bool {
        let address: Result<IpAddr, _> = self.host.parse();
        address.is_ok_and(|it| it.is_unspecified())
    }

    /// Whether the two can have one port: one is an IPv4 address, the other an IPv6 address.
    fn shares_port_with(&self, other: &Self) -> bool {
        let family = |it: &Self| it.host.parse::<IpAddr>().ok().map(|it| it.is_ipv4());
        let families = family(self).zip(family(other));
        families.is_some_and(|(one, other)| one != other)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, host, port } = self;
        if host.contains(':') {
            write!(f, "{name}://[{host}]:{port}")
        } else {
            write!(f, "{name}://{host}:{port}")
        }
    }
}

impl Listeners {
    /// Reads the listeners.
    ///
    /// # Errors
    /// [`SettingsError`] for an address that is none, a name or port used twice, a listener
    /// without a protocol, a protocol that protects, and an address that clients cannot come to.
    pub(super) fn read(values: &Values) -> Result<Self, SettingsError> {
        let addresses = addresses(values, "listeners")?;
        if addresses.is_empty() {
            return Err(values.invalid("listeners", "at least one NAME://host:port"));
        }
        let of_controllers = controllers_names(values);
        check_protocols(values, &addresses, &of_controllers)?;
        for name in &of_controllers {
            let is_there = addresses.iter().any(|it| it.name == *name);
            if !is_there {
                let problem = format!("names {name}, which is none of the listeners");
                return Err(values.contradiction("controller.listener.names", problem));
            }
        }
        let bound: Vec<_> = addresses
            .into_iter()
            .map(|address| Bound {
                is_controllers: of_controllers.contains(&address.name),
                address,
            })
            .collect();
        if bound.iter().all(|it| it.is_controllers) {
            let problem = "leaves no listener for the clients of the broker";
            return Err(values.contradiction("controller.listener.names", problem));
        }
        let inter_broker = values.text("inter.broker.listener.name");
        let listeners = Self {
            advertised: advertised(values, &bound)?,
            inter_broker: inter_broker.unwrap_or("PLAINTEXT").to_ascii_uppercase(),
            bound,
        };
        listeners.check_inter_broker(values)?;
        Ok(listeners)
    }

    fn check_inter_broker(&self, values: &Values) -> Result<(), SettingsError> {
        const NAME: &str = "inter.broker.listener.name";
        let Some(name) = values.text(NAME) else {
            return Ok(());
        };
        if values.is_given("security.inter.broker.protocol") {
            let problem = "and security.inter.broker.protocol must not both be given";
            return Err(values.contradiction(NAME, problem));
        }
        let mut for_clients = self.bound.iter().filter(|it| !it.is_controllers);
        if for_clients.any(|it| it.address.name == self.inter_broker) {
            return Ok(());
        }
        let problem = format!("names {name}, which is none of the broker's listeners");
        Err(values.contradiction(NAME, problem))
    }
}

fn controllers_names(values: &Values) -> Vec<String> {
    let names = values.list("controller.listener.names").iter();
    names.map(|it| it.to_ascii_uppercase()).collect()
}

/// Reads a list of addresses, and sees to it that no name is there twice, nor a port.
fn addresses(values: &Values, setting: &'static str) -> Result<Vec<Address>, SettingsError> {
    let mut addresses: Vec<Address> = Vec::new();
    for text in values.list(setting) {
        let address = Address::parse(text).map_err(|expected| values.invalid(setting, expected))?;
        for other in &addresses {
            if other.name == address.name {
                let problem = format!("has the name {} twice", address.name);
                return Err(values.contradiction(setting, problem));
            }
            let same = address.port != 0 && other.port == address.port;
            // What is advertised may be one port of a proxy in front of several listeners.
            if setting == "listeners" && same && !address.shares_port_with(other) {
                let problem = format!("has port {} twice", address.port);
                return Err(values.contradiction(setting, problem));
            }
        }
        addresses.push(address);
    }
    Ok(addresses)
}

fn advertised(values: &Values, bound: &[Bound]) -> Result<Vec<Address>, SettingsError> {
    const SETTING: &str = "advertised.listeners";
    let mut advertised = addresses(values, SETTING)?;
    for address in &advertised {
        let Some(listener) = bound.iter().find(|it| it.address.name == address.name) else {
            let problem = format!("names {}, which is none of the listeners", address.name);
            return Err(values.contradiction(SETTING, problem));
        };
        if listener.is_controllers {
            continue;
        }
        if address.is_everywhere() {
            let problem = format!("has {address}, where no client can come to");
            return Err(values.contradiction(SETTING, problem));
        }
    }
    // Controllers may be advertised, but not to those whom this is about.
    let is_controllers = |address: &Address| {
        let mut of_controllers = bound.iter().filter(|it| it.is_controllers);
        of_controllers.any(|it| it.address.name == address.name)
    };
    advertised.retain(|it| !is_controllers(it));
    if advertised.is_empty() {
        let mut for_clients = bound.iter().filter(|it| !it.is_controllers);
        if let Some(listener) = for_clients.find(|it| it.address.is_everywhere()) {
            let problem = format!(
                "has {}, where no client can come to: say in advertised.listeners where they can",
                listener.address
            );
            return Err(values.contradiction("listeners", problem));
        }
    }
    Ok(advertised)
}

/// Sees to it that each listener has a protocol, and that it is one without protection.
///
/// Where the map is not given, listeners of controllers need not be in it, as in Apache Kafka: they
/// are without protection, unless a listener is named like a protocol that protects.
fn check_protocols(
    values: &Values,
    addresses: &[Address],
    of_controllers: &[String],
) -> Result<(), SettingsError> {
    const SETTING: &str = "listener.security.protocol.map";
    let mut protocols = BTreeMap::new();
    for entry in values.list(SETTING) {
        let parts = entry.split_once(':');
        let (name, protocol) = parts.ok_or_else(|| values.invalid(SETTING, "NAME:PROTOCOL,…"))?;
        let (name, protocol) = (name.trim().to_ascii_uppercase(), protocol.trim());
        if !PROTOCOLS.contains(&protocol) {
            let expected = format!("protocols out of {}", PROTOCOLS.join(", "));
            return Err(values.invalid(SETTING, expected));
        }
        protocols.insert(name, protocol);
    }
    let mut names = addresses.iter().map(|it| &it.name).chain(of_controllers);
    let is_plain = |name: &String| name == "PLAINTEXT" || !PROTOCOLS.contains(&&**name);
    if !values.is_given(SETTING) && names.all(is_plain) {
        for name in of_controllers {
            protocols.insert(name.clone(), "PLAINTEXT");
        }
    }
    for address in addresses {
        match protocols.get(&address.name) {
            Some(&"PLAINTEXT") => {}
            Some(_) => {
                return Err(SettingsError::NotProtected {
                    name: format!("listener {}", address.name),
                    origin: values.origin("listeners"),
                });
            }
            None => {
                let name = &address.name;
                let problem = format!(
                    "has {address}, and {SETTING} has no protocol for {name}: without security it \
                     is {name}:PLAINTEXT (protocols are {})",
                    PROTOCOLS.join(", ")
                );
                return Err(values.contradiction("listeners", problem));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sources::from_assignment;
    use super::*;

    fn read(assignments: &[&str]) -> Result<Listeners, SettingsError> {
        let given = assignments.iter().map(|it| from_assignment(it).unwrap());
        Listeners::read(&Values::resolve(given.collect())?.0)
    }

    fn refused(assignments: &[&str]) -> String {
        read(assignments).unwrap_err().to_string()
    }

    fn shown(listeners: &Listeners) -> Vec<String> {
        listeners
            .bound
            .iter()
            .map(|it| it.address.to_string())
            .collect()
    }

    #[test]
    fn addresses_are_read_with_names_in_capitals() {
        let listeners = read(&[
            "listeners=plaintext://127.0.0.1:9092, Inside://[::1]:0,OUT-1_a://:9094",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,out-1_a:PLAINTEXT",
        ])
        .unwrap();
        assert_eq!(
            shown(&listeners),
            [
                "PLAINTEXT://127.0.0.1:9092",
                "INSIDE://[::1]:0",
                "OUT-1_A://:9094"
            ]
        );
        for text in [
            "localhost:9092",
            "PLAINTEXT://localhost",
            "PLAINTEXT://::1:9092",
            "PLAINTEXT://[::1:9092",
            "://h:1",
            "A B://h:1",
            "PLAINTEXT://h/x:1",
        ] {
            let shown = refused(&[&format!("listeners={text}")]);
            assert!(shown.contains("expected NAME://host:port"), "{shown}");
        }
        for port in ["65536", "-1", "", "x"] {
            let shown = refused(&[&format!("listeners=PLAINTEXT://h:{port}")]);
            assert!(shown.contains("a port from 0 to 65535"), "{shown}");
        }
        assert!(refused(&["listeners="]).contains("at least one"));
    }

    #[test]
    fn names_and_ports_are_there_once() {
        let twice = "listeners=PLAINTEXT://h:1,PLAINTEXT://h:2";
        assert!(refused(&[twice]).contains("has the name PLAINTEXT twice"));
        let map = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT";
        assert!(refused(&["listeners=A://h:1,B://i:1", map]).contains("has port 1 twice"));
        assert!(read(&["listeners=A://127.0.0.1:1,B://[::1]:1", map]).is_ok());
        assert!(read(&["listeners=A://h:0,B://h:0", map]).is_ok());
    }

    #[test]
    fn each_listener_has_a_protocol_and_it_is_plaintext() {
        assert_eq!(
            refused(&["listeners=INSIDE://h:1"]),
            "--set: listeners has INSIDE://h:1, and listener.security.protocol.map has no protocol \
             for INSIDE: without security it is INSIDE:PLAINTEXT (protocols are PLAINTEXT, SSL, \
             SASL_PLAINTEXT, SASL_SSL)"
        );
        for protocol in ["SSL", "SASL_SSL", "SASL_PLAINTEXT"] {
            let shown = refused(&[&format!("listeners={protocol}://h:1")]);
            assert!(
                shown.contains(&format!("listener {protocol} asks for protection")),
                "{shown}"
            );
        }
        let shown = refused(&["listener.security.protocol.map=PLAINTEXT:TLS"]);
        assert!(shown.contains("expected protocols"), "{shown}");
    }

    #[test]
    fn a_controllers_listener_is_not_told_to_clients() {
        let given = [
            "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.listener.names=CONTROLLER",
            "inter.broker.listener.name=PLAINTEXT",
        ];
        let listeners = read(&given).unwrap();
        let roles: Vec<_> = listeners.bound.iter().map(|it| it.is_controllers).collect();
        assert_eq!(roles, [false, true]);

        let with = |more| [&given[..3], &[more]].concat();
        let told = "advertised.listeners=PLAINTEXT://h:1,CONTROLLER://h:2";
        let advertised = read(&with(told)).unwrap().advertised;
        assert_eq!(advertised.len(), 1);
        assert_eq!(advertised[0].to_string(), "PLAINTEXT://h:1");
        let shown = refused(&with("inter.broker.listener.name=CONTROLLER"));
        assert!(shown.contains("none of the broker's listeners"), "{shown}");
        let shown = refused(&["controller.listener.names=CONTROLLER"]);
        assert!(shown.contains("none of the listeners"), "{shown}");
        let shown = refused(&["controller.listener.names=PLAINTEXT"]);
        assert!(shown.contains("leaves no listener"), "{shown}");
    }

    #[test]
    fn a_controllers_listener_needs_no_protocol_where_no_map_is_given() {
        let given = [
            "process.roles=broker,controller",
            "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "controller.listener.names=CONTROLLER",
        ];
        let roles = |it: &Listeners| it.bound.iter().map(|it| it.is_controllers).collect();
        let roles: Vec<bool> = roles(&read(&given).unwrap());
        assert_eq!(roles, [false, true]);

        let map = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT";
        let shown = refused(&[&given[..], &[map]].concat());
        assert!(shown.contains("has no protocol for CONTROLLER"), "{shown}");
        let protected = "listeners=CONTROLLER://localhost:9093,SSL://localhost:9092";
        let shown = refused(&[protected, given[2]]);
        assert!(shown.contains("has no protocol for CONTROLLER"), "{shown}");
        let other = "listeners=PLAINTEXT://h:1,CONTROLLER://h:2,INSIDE://h:3";
        let shown = refused(&[other, given[2]]);
        assert!(shown.contains("has no protocol for INSIDE"), "{shown}");
    }

    #[test]
    fn clients_are_told_an_address_they_can_come_to() {
        let everywhere = "listeners=PLAINTEXT://0.0.0.0:9092";
        assert!(refused(&[everywhere]).contains("say in advertised.listeners"));
        let told = read(&[everywhere, "advertised.listeners=PLAINTEXT://example.org:1"]).unwrap();
        assert_eq!(told.advertised[0].to_string(), "PLAINTEXT://example.org:1");
        for nowhere in ["0.0.0.0", "[::]"] {
            let told = format!("advertised.listeners=PLAINTEXT://{nowhere}:1");
            assert!(refused(&[everywhere, &told]).contains("no client can come to"));
        }
        let shown = refused(&["advertised.listeners=OTHER://h:1"]);
        assert!(shown.contains("none of the listeners"), "{shown}");
        assert!(
            read(&["listeners=PLAINTEXT://:9092"])
                .unwrap()
                .advertised
                .is_empty()
        );
    }
}
