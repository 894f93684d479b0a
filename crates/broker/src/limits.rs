//! How many files this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

/// Lets this process have as many files open as it may: a soft limit is for programs that cannot
/// deal with more. Every connection is one, and so is every segment that is written to.
pub(crate) fn raise_open_files() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        info!(limit = current, "files that may be open");
        return;
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => info!(limit = maximum, before = current, "files that may be open"),
        Err(error) => warn!(%error, limit = current, "no more files may be open than before"),
    }
}
