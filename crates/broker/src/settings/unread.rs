//! Variables that containers of Apache Kafka take settings from, and this broker does not.
//!
//! There `KAFKA_LOG_SEGMENT_BYTES` is `log.segment.bytes`; two underscores are one in the name, and
//! three a hyphen. Some containers have `KAFKA_CFG_` in front.

use super::catalogue;
use super::concern::{Concern, Warning};
use super::resolution::is_guard;
use super::sources::Origin;

/// What stands before a setting's name, the longer one first.
const PREFIXES: [&str; 2] = ["KAFKA_CFG_", "KAFKA_"];

/// Warns of each variable that is a setting by its name, and of those by which protection is asked
/// for, known here or not.
pub(super) fn unread<'a>(variables: impl IntoIterator<Item = &'a str>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for variable in variables {
        let name = PREFIXES.iter().find_map(|it| variable.strip_prefix(it));
        let name = name.map(setting_of).unwrap_or_default();
        if catalogue::find(&name).is_some() || is_guard(&name) {
            warnings.push(Warning {
                name,
                origin: Origin::Environment {
                    variable: variable.to_owned(),
                },
                reason: Concern::NotRead,
            });
        }
    }
    warnings.sort_by(|a, b| a.name.cmp(&b.name));
    warnings
}

fn setting_of(rest: &str) -> String {
    let name = rest.to_ascii_lowercase();
    let name = name.replace("___", "-").replace("__", "\0");
    name.replace('_', ".").replace('\0', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_containers_that_are_settings_are_told_of_with_what_to_do() {
        let warnings = unread([
            "KAFKA_OPTS",
            "KAFKA_HEAP_OPTS",
            "KAFKA_",
            "NODE_ID",
            "KLAMM_NODE_ID",
            "KAFKA_NODE_ID",
            "KAFKA_CFG_LOG_SEGMENT_BYTES",
            "KAFKA_SSL_KEYSTORE_LOCATION",
        ]);
        let told: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        let wanted = ["log.segment.bytes", "node.id", "ssl.keystore.location"].map(|name| {
            format!(
                "variable is not read: give the setting as `--set {name}=…`, in a file, or \
                 with KLAMM_ in front"
            )
        });
        assert_eq!(told, wanted);
        assert_eq!(warnings[1].origin.to_string(), "KAFKA_NODE_ID");
    }

    #[test]
    fn underscores_are_read_as_containers_write_them() {
        assert_eq!(setting_of("A_B__C___D"), "a.b_c-d");
    }
}
