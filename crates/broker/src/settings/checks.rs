//! What settings must have to do with each other.

use super::error::SettingsError;
use super::values::Values;

/// What the checks leave no other way to follow than this broker does: it is what they ask for.
pub(super) const HONOURED: [&str; 3] = [
    "process.roles",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
];

/// What a client begins with fits, and a request for a few topics.
const REQUEST_BYTES_MIN: i64 = 1024;

/// A broker tells no more often than this that it lives, whatever the setting.
const HEARTBEAT_MS_MIN: i64 = 10;

/// Looks at all pairs of settings that must go together.
///
/// # Errors
/// [`SettingsError`], the first that is found.
pub(super) fn check(values: &Values) -> Result<(), SettingsError> {
    roles(values)?;
    quorum(values)?;
    connections(values)?;
    replication(values)?;
    groups(values)
}

/// A node is broker and controller in one: others are not there yet, and one that only seemed to
/// be started would be worse than one that is not.
fn roles(values: &Values) -> Result<(), SettingsError> {
    const SETTING: &str = "process.roles";
    let roles = values.list(SETTING);
    let has = |role: &str| roles.iter().any(|it| it == role);
    if roles.is_empty() || has("broker") && has("controller") {
        return Ok(());
    }
    let problem = "must have both broker and controller in this version, or be empty";
    Err(values.contradiction(SETTING, problem))
}

/// The quorum is this node alone.
fn quorum(values: &Values) -> Result<(), SettingsError> {
    const VOTERS: &str = "controller.quorum.voters";
    const SERVERS: &str = "controller.quorum.bootstrap.servers";
    let alone = "must name this node alone in this version";
    let voters = values.list(VOTERS);
    for voter in voters {
        let id = voter
            .split_once('@')
            .map(|(id, _)| id.trim().parse::<i64>());
        let Some(Ok(id)) = id else {
            return Err(values.invalid(VOTERS, "id@host:port,…"));
        };
        if voters.len() > 1 || values.number("node.id").is_some_and(|own| own != id) {
            return Err(values.contradiction(VOTERS, alone));
        }
    }
    if values.list(SERVERS).len() > 1 {
        return Err(values.contradiction(SERVERS, alone));
    }
    Ok(())
}

fn connections(values: &Values) -> Result<(), SettingsError> {
    const COUNT: &str = "max.connections";
    const REQUEST: &str = "socket.request.max.bytes";
    const IDLE: &str = "connections.max.idle.ms";
    let nobody = values.number("max.connections.per.ip") == Some(0);
    if nobody && values.list("max.connections.per.ip.overrides").is_empty() {
        let problem = "is 0, and max.connections.per.ip.overrides lets nobody in";
        return Err(values.contradiction("max.connections.per.ip", problem));
    }
    // Apache Kafka takes these, and then nobody can do anything with the broker.
    if values.number(COUNT) == Some(0) {
        return Err(values.invalid(COUNT, "1 to 2147483647: 0 lets nobody in"));
    }
    if values
        .number(REQUEST)
        .is_some_and(|bytes| bytes < REQUEST_BYTES_MIN)
    {
        return Err(values.invalid(REQUEST, "1024 to 2147483647"));
    }
    if values.number(IDLE) == Some(0) {
        return Err(values.invalid(IDLE, "1 or more, or less than 0 for no limit"));
    }
    let delay = "connection.failed.authentication.delay.ms";
    let idle = values
        .number("connections.max.idle.ms")
        .filter(|ms| *ms > 0);
    if idle.is_some_and(|idle| values.number(delay).is_some_and(|ms| ms >= idle)) {
        let problem = format!("must be above {delay}");
        return Err(values.contradiction("connections.max.idle.ms", problem));
    }
    Ok(())
}

fn replication(values: &Values) -> Result<(), SettingsError> {
    let (session, heartbeat) = ("broker.session.timeout.ms", "broker.heartbeat.interval.ms");
    let interval = values.number(heartbeat).max(Some(HEARTBEAT_MS_MIN));
    if values.number(session) <= interval {
        let problem = format!("must be above {heartbeat}, or the broker is fenced between two");
        return Err(values.contradiction(session, problem));
    }
    let (wait, lag) = ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms");
    if values.number(wait) > values.number(lag) {
        let problem = format!("must not be above {lag}, or every replica would fall behind");
        return Err(values.contradiction(wait, problem));
    }
    let timeout = "replica.socket.timeout.ms";
    if values.number(timeout) < values.number(wait) {
        return Err(values.contradiction(timeout, format!("must not be below {wait}")));
    }
    Ok(())
}

fn groups(values: &Values) -> Result<(), SettingsError> {
    let session = "group.consumer.session.timeout.ms";
    let heartbeat = "group.consumer.heartbeat.interval.ms";
    let bounds = [
        (
            session,
            "group.consumer.min.session.timeout.ms",
            "group.consumer.max.session.timeout.ms",
        ),
        (
            heartbeat,
            "group.consumer.min.heartbeat.interval.ms",
            "group.consumer.max.heartbeat.interval.ms",
        ),
    ];
    for (setting, min, max) in bounds {
        let own = values.number(setting);
        if own < values.number(min) || own > values.number(max) {
            let problem = format!("must be between {min} and {max}");
            return Err(values.contradiction(setting, problem));
        }
    }
    if values.number(heartbeat) >= values.number(session) {
        return Err(values.contradiction(heartbeat, format!("must be below {session}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sources::from_assignment;
    use super::*;

    fn refused(assignments: &[&str]) -> Option<String> {
        let given = assignments.iter().map(|it| from_assignment(it).unwrap());
        let (values, _) = Values::resolve(given.collect()).unwrap();
        check(&values).err().map(|it| it.to_string())
    }

    #[test]
    fn the_defaults_go_together() {
        assert_eq!(refused(&[]), None);
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        for (given, name) in [
            (&["process.roles=broker"][..], "process.roles"),
            (&["process.roles=controller"], "process.roles"),
            (&["max.connections.per.ip=0"], "max.connections.per.ip"),
            (&["connections.max.idle.ms=100"], "connections.max.idle.ms"),
            (&["connections.max.idle.ms=0"], "connections.max.idle.ms"),
            (&["max.connections=0"], "max.connections"),
            (&["socket.request.max.bytes=1"], "socket.request.max.bytes"),
            (
                &["broker.session.timeout.ms=0"],
                "broker.session.timeout.ms",
            ),
            (
                &["broker.session.timeout.ms=-1"],
                "broker.session.timeout.ms",
            ),
            (
                &[
                    "broker.session.timeout.ms=1",
                    "broker.heartbeat.interval.ms=0",
                ],
                "broker.session.timeout.ms",
            ),
            (
                &["broker.heartbeat.interval.ms=9000"],
                "broker.session.timeout.ms",
            ),
            (
                &["replica.fetch.wait.max.ms=30001"],
                "replica.fetch.wait.max.ms",
            ),
            (
                &["replica.socket.timeout.ms=499"],
                "replica.socket.timeout.ms",
            ),
            (
                &["group.consumer.session.timeout.ms=60001"],
                "group.consumer.session.timeout.ms",
            ),
            (
                &["group.consumer.heartbeat.interval.ms=4999"],
                "group.consumer.heartbeat.interval.ms",
            ),
            (
                &[
                    "group.consumer.heartbeat.interval.ms=9000",
                    "group.consumer.min.session.timeout.ms=9000",
                    "group.consumer.session.timeout.ms=9000",
                ],
                "group.consumer.heartbeat.interval.ms",
            ),
            (
                &["controller.quorum.voters=1@a:1,2@b:1"],
                "controller.quorum.voters",
            ),
            (
                &["controller.quorum.voters=2@a:1", "node.id=1"],
                "controller.quorum.voters",
            ),
            (
                &["controller.quorum.voters=a:1"],
                "controller.quorum.voters",
            ),
            (
                &["controller.quorum.bootstrap.servers=a:1,b:1"],
                "controller.quorum.bootstrap.servers",
            ),
        ] {
            let shown = refused(given).unwrap();
            let is_named = ["--set", "default"]
                .iter()
                .any(|origin| shown.starts_with(&format!("{origin}: {name} ")));
            assert!(is_named, "{shown}");
        }
    }

    #[test]
    fn what_can_be_used_is_taken() {
        let given = [
            "connections.max.idle.ms=-1",
            "max.connections=1",
            "socket.request.max.bytes=1024",
            "broker.heartbeat.interval.ms=100",
            "broker.session.timeout.ms=101",
        ];
        assert_eq!(refused(&given), None);
    }

    #[test]
    fn one_node_of_both_roles_is_fine() {
        let given = [
            "process.roles=controller, broker",
            "node.id=3",
            "controller.quorum.voters=3@localhost:9093",
        ];
        assert_eq!(refused(&given), None);
    }
}
