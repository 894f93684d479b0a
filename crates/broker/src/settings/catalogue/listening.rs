//! Listeners, connections, and who may come in.

use crate::settings::definition::{Change, Definition, row, unset};
use crate::settings::kind::{Kind, any_int, any_long, int, long, threads};

const MAX_INT: &str = "2147483647";
const PROTOCOL_MAP: &str =
    "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL";
const PROTOCOLS: &[&str] = &["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"];

#[rustfmt::skip] // A row a line, as a table is read.
pub(super) const TABLE: &[Definition] = &[
    row("listeners", Kind::List, "PLAINTEXT://:9092", "where to listen, as NAME://host:port; port 0 takes a free one")
        .change(Change::Broker),
    unset("advertised.listeners", Kind::List, "what clients are told instead, in the same form")
        .change(Change::Broker),
    row("listener.security.protocol.map", Kind::List, PROTOCOL_MAP, "the protocol of each listener, as NAME:PROTOCOL")
        .change(Change::Broker),
    unset("inter.broker.listener.name", Kind::Text, "the listener that brokers call each other by"),
    row("security.inter.broker.protocol", Kind::Choice(PROTOCOLS), "PLAINTEXT", "the protocol between brokers, where their listener is not named")
        .guard(),
    row("num.network.threads", threads(1), "3", "threads that carry bytes, for each listener").change(Change::Listener),
    row("num.io.threads", threads(1), "8", "threads that handle requests").change(Change::Cluster),
    row("queued.max.requests", int(1), "500", "so many requests may wait for a handler; then nothing more is read"),
    row("queued.max.request.bytes", any_long(), "-1", "so many bytes of requests may wait; -1: no bound"),
    row("socket.request.max.bytes", int(1), "104857600", "the largest request"),
    row("socket.send.buffer.bytes", int(-1), "102400", "the socket's buffer for what is sent; -1: the system's"),
    row("socket.receive.buffer.bytes", int(-1), "102400", "the socket's buffer for what arrives; -1: the system's"),
    row("socket.listen.backlog.size", int(1), "50", "connections that may wait to be accepted"),
    row("max.connections", int(0), MAX_INT, "connections at a time").change(Change::Listener),
    row("max.connections.per.ip", int(0), MAX_INT, "connections at a time from one address").change(Change::Cluster),
    row("max.connections.per.ip.overrides", Kind::List, "", "addresses with another bound, as host:count").change(Change::Cluster),
    row("max.connection.creation.rate", int(0), MAX_INT, "new connections per second").change(Change::Listener),
    row("connections.max.idle.ms", any_long(), "600000", "a connection without traffic is closed after so long"),
    row("connection.failed.authentication.delay.ms", int(0), "100", "the pause before a client is told that its login failed"),
    row("request.timeout.ms", any_int(), "30000", "how long requests to other brokers may take"),
    row("klamm.requests.per.connection", int(1), "5", "requests of a connection that may wait for their answers; 1: as Apache Kafka"),
    row("connections.max.reauth.ms", any_long(), "0", "a login holds for so long; 0: for ever").change(Change::Listener).guard(),
    row("sasl.enabled.mechanisms", Kind::List, "GSSAPI", "the ways to log in").change(Change::Listener).guard(),
    row("sasl.server.max.receive.size", any_int(), "524288", "the largest frame during a login").guard(),
    row("ssl.client.auth", Kind::Choice(&["none", "requested", "required"]), "none", "whether clients show certificates")
        .change(Change::Listener)
        .guard(),
    row("authorizer.class.name", Kind::Text, "", "what decides who may do what; empty: everyone may do everything").guard(),
    row("super.users", Kind::Text, "", "users who may do everything").guard(),
    row("allow.everyone.if.no.acl.found", Kind::Bool, "true", "whether what no rule speaks of is allowed").guard(),
    unset("create.topic.policy.class.name", Kind::Text, "what may refuse new topics").guard(),
    unset("alter.config.policy.class.name", Kind::Text, "what may refuse changes of settings").guard(),
    row("connection_creation_rate", long(0), MAX_INT, "new connections per second of an address").change(Change::Entity),
];
