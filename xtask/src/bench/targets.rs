//! The ratios that Klamm aims at, as far as a bench can show them.

/// One aim: in groups whose name begins so, against this peer, at least this ratio.
struct Target {
    package: &'static str,
    group: &'static str,
    peer: &'static str,
    ratio: f64,
}

const TARGETS: [Target; 3] = [
    Target {
        package: "klamm-wire",
        group: "",
        peer: "kafka-protocol",
        ratio: 3.0,
    },
    Target {
        package: "klamm-records",
        group: "build",
        peer: "memcpy-crc",
        ratio: 0.8,
    },
    Target {
        package: "klamm-purgatory",
        group: "",
        peer: "delay-queue",
        ratio: 3.0,
    },
];

/// The ratio to reach (the peer's time through ours), where there is an aim.
pub(super) fn target(package: &str, group: &str, peer: &str) -> Option<f64> {
    TARGETS
        .iter()
        .find(|target| {
            target.package == package && group.starts_with(target.group) && target.peer == peer
        })
        .map(|target| target.ratio)
}
