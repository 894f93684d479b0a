//! Logs on a real disk, in a process that is killed at any moment; then the power is taken from
//! what it had not synced.
//!
//! The test starts itself again as the process to be killed (`writer.rs`), which appends, syncs
//! before it acknowledges, and says so through a pipe. After its end the files are cut, flipped and
//! removed in places that a power cut could reach (`power_cut.rs`): nothing that was synced. What
//! the log holds when it is opened again is held against all that was acknowledged in this and
//! former lives (`history.rs`).
//!
//! A round is a life and its end. `SOAK_ROUNDS` and `SOAK_SEED` say how many and which;
//! `cargo xtask soak` sets them.

mod batches;
mod history;
mod life;
mod manager;
mod power_cut;
#[path = "../log/random.rs"]
mod random;
mod single;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::random::Random;

/// Rounds, unless the environment has another number.
const ROUNDS: u64 = 100;

/// Lives of one directory: so that a log is opened again that was recovered before, and that the
/// reading does not come to last longer than the writing.
const LIVES: u64 = 10;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => otherwise,
    }
}

/// Plays as many rounds as are asked for, a directory for some at a time, each with a seed of its
/// own. Prints the seed by which a failure comes back, as far as a process can be killed twice at
/// the same moment. `directory_of_lives` returns how many batches were acknowledged.
fn play(name: &str, directory_of_lives: impl Fn(&mut Random, u64) -> usize) {
    let rounds = from_environment("SOAK_ROUNDS", ROUNDS);
    let first = from_environment("SOAK_SEED", 1);
    let directories = rounds.div_ceil(LIVES);
    let mut acknowledged = 0;
    for seed in first..first + directories {
        let played = catch_unwind(AssertUnwindSafe(|| {
            directory_of_lives(&mut Random(seed), LIVES.min(rounds))
        }));
        match played {
            Ok(count) => acknowledged += count,
            Err(panic) => {
                eprintln!("{name} failed: SOAK_ROUNDS={LIVES} SOAK_SEED={seed} brings it back");
                resume_unwind(panic);
            }
        }
    }
    let last = first + directories - 1;
    println!("{name}: {rounds} rounds, seeds {first} to {last}, {acknowledged} acknowledged");
    assert!(acknowledged > 0, "nothing was shown");
}

/// Covers LG-056, LG-117, LG-118, LG-150.
#[test]
fn lg_116_killed_and_without_power_a_manager_keeps_what_it_acknowledged() {
    play("manager", manager::live_and_die);
}

/// Covers LG-115, LG-119.
#[test]
fn lg_116_killed_and_without_power_a_log_keeps_what_it_flushed() {
    play("log", single::live_and_die);
}
