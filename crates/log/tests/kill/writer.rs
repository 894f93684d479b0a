//! The process that is killed: it appends, syncs, and says what is durable.

use std::io::Write;
use std::path::PathBuf;

use klamm_primitives::Offset;

use crate::{manager, single};

pub(crate) const ROLE: &str = "KLAMM_KILL_ROLE";
pub(crate) const DIRECTORY: &str = "KLAMM_KILL_DIRECTORY";
pub(crate) const SEED: &str = "KLAMM_KILL_SEED";
pub(crate) const RECOVERY_POINT: &str = "KLAMM_KILL_RECOVERY_POINT";

/// Begins each line that is meant for the parent.
pub(crate) const MARK: &str = "@";

/// What the other process does; by itself it does nothing.
#[test]
fn writes_until_it_is_killed() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let number = |name| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let directory = PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    // The test harness has left a line unfinished.
    println!();
    match role.as_str() {
        manager::ROLE => manager::write(&directory, number(SEED)),
        single::ROLE => {
            let point = Offset::new(number(RECOVERY_POINT).try_into().unwrap());
            single::write(&directory, number(SEED), point);
        }
        other => panic!("no role is called {other}"),
    }
}

/// Says something in one call, so that the parent has all of it or nothing.
pub(crate) fn say(what: &str) {
    let line = format!("{MARK}{what}\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}
