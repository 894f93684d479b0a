//! What Klamm aims at, as far as a bench can show it.

/// One aim: with this parameter (any, if it is empty) in groups whose name begins so, against this
/// peer, at least this ratio.
struct Target {
    package: &'static str,
    group: &'static str,
    parameter: &'static str,
    peer: &'static str,
    ratio: f64,
}

const TARGETS: [Target; 5] = [
    Target {
        package: "klamm-wire",
        group: "",
        parameter: "",
        peer: "kafka_protocol",
        ratio: 3.0,
    },
    Target {
        package: "klamm-records",
        group: "build",
        parameter: "100",
        peer: "memcpy_crc",
        ratio: 0.8,
    },
    Target {
        package: "klamm-records",
        group: "build",
        parameter: "100",
        peer: "one_memcpy_crc",
        ratio: 0.8,
    },
    Target {
        package: "klamm-purgatory",
        group: "enter_and_complete",
        parameter: "",
        peer: "delay_queue",
        ratio: 3.0,
    },
    Target {
        package: "klamm-log",
        group: "append",
        parameter: "65536",
        peer: "pwrite",
        ratio: 0.85,
    },
];

/// Groups whose cost must not rise with their parameter: a package, and how the group's name begins.
const FLAT: [(&str, &str); 1] = [("klamm-purgatory", "enter_and_complete")];

/// The ratio to reach (the peer's time through ours), where there is an aim.
pub(super) fn ratio(package: &str, group: &str, parameter: &str, peer: &str) -> Option<f64> {
    let aimed_at = |target: &&Target| {
        target.package == package
            && group.starts_with(target.group)
            && (target.parameter.is_empty() || target.parameter == parameter)
            && target.peer == peer
    };
    TARGETS.iter().find(aimed_at).map(|target| target.ratio)
}

/// Whether the cost of this group must not rise with its parameter.
pub(super) fn is_flat(package: &str, group: &str) -> bool {
    let begins = |flat: &(&str, &str)| flat.0 == package && group.starts_with(flat.1);
    FLAT.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::{is_flat, ratio};

    #[test]
    fn an_aim_holds_for_its_package_group_parameter_and_peer() {
        assert_eq!(
            ratio("klamm-wire", "decode_fetch", "1024", "kafka_protocol"),
            Some(3.0)
        );
        assert_eq!(
            ratio("klamm-records", "build", "100", "memcpy_crc"),
            Some(0.8)
        );
        assert_eq!(ratio("klamm-records", "build", "1024", "memcpy_crc"), None);
        assert_eq!(
            ratio("klamm-records", "read", "100", "kafka_protocol"),
            None
        );
    }

    #[test]
    fn only_what_is_entered_and_completed_must_be_flat() {
        assert!(is_flat("klamm-purgatory", "enter_and_complete_newest"));
        assert!(!is_flat("klamm-purgatory", "check_in_vain"));
        assert!(!is_flat("klamm-records", "enter_and_complete_newest"));
    }
}
