//! A manager over one directory, for benches of many partitions.

use std::path::Path;

use klamm_io::{Clock, RealDisk, SystemClock};
use klamm_log::{LogConfig, LogManager, ManagerOptions, Now, Owner, Wiring};
use klamm_primitives::BrokerId;

pub(crate) fn now() -> Now {
    Now {
        instant: SystemClock.now(),
        unix_ms: SystemClock.unix_ms(),
    }
}

/// Opens what is there.
pub(crate) fn open(path: &Path) -> LogManager<RealDisk> {
    let owner = Owner {
        cluster_id: "bench".to_owned(),
        node_id: BrokerId::new(1),
    };
    let mut last = 0;
    let wiring = Wiring {
        random: Box::new(move || {
            last += 1;
            last
        }),
        events: Box::new(|_| ()),
    };
    let options = ManagerOptions::new(owner, vec![path.to_owned()]);
    let config_of = |_: &_| LogConfig::default();
    let opened = LogManager::open(&RealDisk, options, wiring, &config_of, &|_| {}, now());
    opened.expect("it was made for this").manager
}
