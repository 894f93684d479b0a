//! The log: where it goes, in which form, and what is in it.

use std::io::{self, IsTerminal, Write, stderr};

use anyhow::{Context, Error, Result, bail};
use tracing::{Level, error, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::arguments::{Arguments, LogFormat};

/// What is logged where nobody says it.
const DEFAULT_FILTER: &str = "info";

/// The consensus library, which tells at `info` what is for its own developers: it is heard only
/// where somebody names it.
const QUIET: &str = "openraft";

/// The words that say how much is logged.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A writer that loses what it cannot write: a log that nobody takes must not stop the service.
struct Lossy<W>(W);

impl<W: Write> Write for Lossy<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        _ = self.0.flush();
        Ok(())
    }
}

/// Writes a line for people; nothing comes of it where nobody takes it.
pub(crate) fn say(mut to: impl Write, line: &str) {
    _ = writeln!(to, "{line}");
}

/// Tells why the program ends: in the log where that is for programs, else as a line for people.
pub(crate) fn say_fatal(format: LogFormat, why: &str) {
    // Before the log has begun, or where it is off, the line is all there is.
    if matches!(format, LogFormat::Json) && tracing::enabled!(Level::ERROR) {
        error!("{why}");
    } else {
        say(stderr(), &format!("klamm-broker: {why}"));
    }
}

/// Starts logging to the standard error.
///
/// # Errors
/// If the filter that was given to this program is none.
pub(crate) fn start(arguments: &Arguments) -> Result<()> {
    let variable = |name| std::env::var(name).ok().filter(|it| !it.is_empty());
    let ours = arguments.log.clone().or_else(|| variable("KLAMM_LOG"));
    let (targets, passed_over) = chosen(ours.as_deref(), variable("RUST_LOG").as_deref())?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| Lossy(stderr()))
        .log_internal_errors(false)
        .with_ansi(stderr().is_terminal());
    let log = tracing_subscriber::registry().with(targets);
    match arguments.log_format {
        LogFormat::Text => log.with(lines.with_target(false)).init(),
        LogFormat::Json => log.with(lines.json()).init(),
    }
    if let Some(error) = passed_over {
        warn!(
            error = format!("{error:#}"),
            default = DEFAULT_FILTER,
            "RUST_LOG is passed over"
        );
    }
    Ok(())
}

/// What is logged: as the filter says that was given to this program, else the one that is inherited
/// by all programs. The latter may be written for another one, which knows of more than targets and
/// levels: where it makes no sense here, it comes back why, with the default.
///
/// # Errors
/// If the filter that was given to this program is none.
fn chosen(ours: Option<&str>, inherited: Option<&str>) -> Result<(Targets, Option<Error>)> {
    if let Some(filter) = ours {
        return Ok((parsed(filter)?, None));
    }
    match parsed(inherited.unwrap_or(DEFAULT_FILTER)) {
        Ok(targets) => Ok((targets, None)),
        Err(error) => Ok((parsed(DEFAULT_FILTER)?, Some(error))),
    }
}

fn parsed(filter: &str) -> Result<Targets> {
    let parsed = checked(filter)?.parse();
    parsed.with_context(|| format!("`{filter}` does not say what to log"))
}

/// The filter, with what is quiet unless it is named.
///
/// # Errors
/// If a part of it is neither a level nor says what of, or tells spans or fields apart: it would be
/// taken for the name of a module, and nothing of any other one would be logged.
fn checked(filter: &str) -> Result<String> {
    for part in filter.split(',').map(str::trim) {
        if part.contains('[') {
            bail!("`{part}` tells spans or fields apart, which this log does not");
        }
        let says_of_what = part.contains('=');
        let is_level = LEVELS.iter().any(|it| part.eq_ignore_ascii_case(it));
        if !(part.is_empty() || says_of_what || is_level) {
            bail!("`{part}` is no level of logging: {}", LEVELS.join(", "));
        }
    }
    if filter.contains(QUIET) {
        Ok(filter.to_owned())
    } else {
        Ok(format!("{filter},{QUIET}=warn"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::{DEFAULT_FILTER, Lossy, checked, chosen, parsed};

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn what_cannot_be_written_is_lost_and_nothing_else() {
        let mut log = Lossy(Full);
        log.write_all(b"a line").unwrap();
        log.flush().unwrap();
    }

    #[test]
    fn the_consensus_library_is_quiet_unless_it_is_named() {
        assert_eq!(checked("debug").unwrap(), "debug,openraft=warn");
        let named = "info,klamm_log=debug,openraft=info";
        assert_eq!(checked(named).unwrap(), named);
    }

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        let error = checked("warn,inf").unwrap_err().to_string();
        assert!(error.starts_with("`inf` is no level"), "{error}");
        assert!(checked("OFF").is_ok());
    }

    #[test]
    fn a_filter_for_another_program_is_passed_over_and_one_for_this_is_refused() {
        let default = parsed(DEFAULT_FILTER).unwrap();
        for foreign in ["a[b]=debug", "info,a[{b=1}]=trace", "everything"] {
            let (targets, passed_over) = chosen(None, Some(foreign)).unwrap();
            assert_eq!(targets, default, "{foreign}");
            let why = format!("{:#}", passed_over.unwrap());
            assert!(why.contains('`'), "{why}");
            assert!(chosen(Some(foreign), None).is_err(), "{foreign}");
            let (targets, passed_over) = chosen(Some("warn"), Some(foreign)).unwrap();
            assert_eq!(targets, parsed("warn").unwrap());
            assert!(passed_over.is_none());
        }
        let (targets, passed_over) = chosen(None, Some("debug")).unwrap();
        assert_eq!(targets, parsed("debug").unwrap());
        assert!(passed_over.is_none());
        assert_eq!(chosen(None, None).unwrap().0, default);
    }
}
