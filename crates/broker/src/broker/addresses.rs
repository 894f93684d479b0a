//! Where a broker listens and what it tells others of that.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;

use klamm_controller::Endpoint;
use klamm_io::{ListenOptions, Net, SocketOptions};
use klamm_network::{ConnectionLimits, ListenerConfig, ServerConfig};
use klamm_wire::{Listener, Offer, SecurityProtocol};

use super::descriptors::Descriptors;
use crate::handlers::{SERVED, SERVED_BY_CONTROLLER};
use crate::machine::Machine;
use crate::settings::{Address, Bound, ConnectionSettings, Settings, Value};
use crate::start_error::StartError;

/// What the network layer is opened with.
///
/// # Errors
/// [`StartError::Host`]
pub(super) async fn server_config<N: Net, D, C>(
    machine: &Machine<N, D, C>,
    settings: &Settings,
) -> Result<ServerConfig, StartError> {
    let mut listeners = Vec::with_capacity(settings.listeners.bound.len());
    for bound in &settings.listeners.bound {
        let address = resolve(&machine.net, &bound.address).await?;
        listeners.push(listener(settings, bound, address));
    }
    let connections = &settings.connections;
    Ok(ServerConfig {
        request_bytes_max: connections.request_bytes_max,
        queued_requests_max: connections.queued_requests_max,
        queued_request_bytes_max: connections.queued_bytes_max,
        requests_per_connection: connections.requests_per_connection,
        idle_max: connections.idle_max,
        limits: limits(connections, machine.open_files_max),
        ..ServerConfig::new(listeners)
    })
}

async fn resolve<N: Net>(net: &N, address: &Address) -> Result<SocketAddr, StartError> {
    if address.host.is_empty() {
        return Ok((Ipv4Addr::UNSPECIFIED, address.port).into());
    }
    let failed = |source| StartError::Host {
        listener: address.to_string(),
        source,
    };
    let found = net.resolve(&address.host, address.port).await;
    let found = found.map_err(failed)?;
    // A name that has addresses of both families is bound to the older one, as clients that
    // are told an IPv4 address could not come otherwise.
    let first = found.iter().find(|it| it.is_ipv4()).or(found.first());
    Ok(*first.expect("a host that is found has an address"))
}

fn listener(settings: &Settings, bound: &Bound, address: SocketAddr) -> ListenerConfig {
    let name = &bound.address.name;
    let (listener, apis) = if bound.is_controllers {
        (Listener::Controller, SERVED_BY_CONTROLLER)
    } else {
        (Listener::Broker, SERVED)
    };
    let offer = Offer {
        listener,
        unstable: false,
        telemetry: false,
        apis,
    };
    let connections = &settings.connections;
    ListenerConfig {
        inter_broker: *name == settings.listeners.inter_broker,
        options: ListenOptions {
            backlog: connections.backlog,
            socket: SocketOptions {
                send_buffer_bytes: connections.send_buffer_bytes,
                receive_buffer_bytes: connections.receive_buffer_bytes,
            },
        },
        max_connections: of_listener(settings, name, "max.connections"),
        max_connection_creation_rate: NonZeroU32::new(of_listener(
            settings,
            name,
            "max.connection.creation.rate",
        ))
        .filter(|it| it.get() < i32::MAX.unsigned_abs()),
        ..ListenerConfig::plaintext(name.as_str(), address, offer)
    }
}

/// A listener's own number, else that of all.
fn of_listener(settings: &Settings, listener: &str, name: &'static str) -> u32 {
    match settings.values().listener_entry(listener, name).value {
        Some(Value::Number(number)) => u32::try_from(number).unwrap_or(u32::MAX),
        _ => u32::MAX,
    }
}

fn limits(connections: &ConnectionSettings, open_files_max: Option<u64>) -> ConnectionLimits {
    ConnectionLimits {
        max_connections: connections
            .count_max
            .min(connections_within(open_files_max)),
        max_connections_per_ip: connections.per_address_max,
        max_connections_per_ip_overrides: connections.per_address_overrides.clone(),
        max_connection_creation_rate: connections.creation_rate_max,
        ..ConnectionLimits::default()
    }
}

/// How many connections there may be where so many files may be open.
fn connections_within(open_files_max: Option<u64>) -> u32 {
    let max = open_files_max.map(|max| Descriptors::new(max).connections_max());
    max.map_or(u32::MAX, |max| u32::try_from(max).unwrap_or(u32::MAX))
}

/// What others are told: for each listener of the broker what is advertised for it, or else where
/// it is. `port_of` tells the port that a listener was bound to, if that was left open.
pub(super) fn endpoints(
    settings: &Settings,
    port_of: impl Fn(&str) -> Option<u16>,
) -> Vec<Endpoint> {
    let listeners = &settings.listeners;
    let for_clients = listeners.bound.iter().filter(|it| !it.is_controllers);
    let told = for_clients.filter_map(|bound| {
        let own = &bound.address;
        let told = if listeners.advertised.is_empty() {
            own
        } else {
            listeners.advertised.iter().find(|it| it.name == own.name)?
        };
        let host = if told.host.is_empty() {
            machine_name()
        } else {
            told.host.clone()
        };
        let port = match told.port {
            0 => port_of(&own.name).unwrap_or(own.port),
            port => port,
        };
        Some(Endpoint {
            listener: own.name.as_str().into(),
            host: host.into(),
            port,
            security_protocol: SecurityProtocol::Plaintext,
        })
    });
    told.collect()
}

/// The name of this machine, or an address by which it can be reached by itself.
fn machine_name() -> String {
    let name = rustix::system::uname();
    match name.nodename().to_str() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => IpAddr::from(Ipv4Addr::LOCALHOST).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(assignments: &[&str]) -> Vec<String> {
        let assignments: Vec<_> = assignments.iter().map(ToString::to_string).collect();
        let (settings, _) = Settings::load(None, [], &assignments).unwrap();
        let endpoints = endpoints(&settings, |_| Some(40_000));
        let shown = |it: &Endpoint| format!("{} {}:{}", it.listener, it.host, it.port);
        endpoints.iter().map(shown).collect()
    }

    #[test]
    fn connections_leave_files_for_the_logs() {
        let counts = [None, Some(1_024), Some(0), Some(u64::MAX)].map(connections_within);
        assert_eq!(counts, [u32::MAX, 456, 1, u32::MAX]);
        let (settings, _) = Settings::load(None, [], &["max.connections=5".to_owned()]).unwrap();
        let limits = limits(&settings.connections, Some(1_024));
        assert_eq!(limits.max_connections, 5);
    }

    #[test]
    fn clients_are_told_where_the_listener_is_or_what_is_advertised() {
        assert_eq!(told(&[]), ["PLAINTEXT 127.0.0.1:9092"]);
        let open = ["listeners=PLAINTEXT://localhost:0", "node.id=1"];
        assert_eq!(told(&open), ["PLAINTEXT localhost:40000"]);
        let given = [
            "listeners=PLAINTEXT://:9092",
            "node.id=1",
            "advertised.listeners=PLAINTEXT://example.org:19092",
        ];
        assert_eq!(told(&given), ["PLAINTEXT example.org:19092"]);
        let everywhere = ["listeners=PLAINTEXT://:9092", "node.id=1"];
        assert_eq!(
            told(&everywhere),
            [format!("PLAINTEXT {}:9092", machine_name())]
        );
    }
}
