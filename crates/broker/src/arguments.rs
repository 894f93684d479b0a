//! [`Arguments`]: what the command line may say.

use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};

/// Shown behind the options.
const MORE: &str = "\
Without any arguments this is a broker for one machine: it listens on 127.0.0.1:9092, keeps its \
data in ./klamm-data, and creates topics when they are asked for.

Settings have the names that Apache Kafka has for them. The last of these places that gives one \
holds: a file (--config), the environment (KLAMM_LOG_SEGMENT_BYTES is log.segment.bytes), the \
command line (--set).

Once listeners or process.roles are given, Apache Kafka's own defaults hold: node.id must be \
given, too, and the data go to /tmp/kafka-logs unless log.dirs says otherwise.

Examples:
  klamm-broker
  klamm-broker --set log.dirs=/var/lib/klamm
  klamm-broker --set node.id=1 --set listeners=PLAINTEXT://:9092 --set log.dirs=klamm-data
  klamm-broker server.properties --set num.partitions=8
  KLAMM_LOG=debug klamm-broker --log-format json

When it serves, it prints one line to the standard output; the log goes to the standard error. \
SIGTERM and SIGINT stop it cleanly; one more, a second later or after that, stops it at once.";

/// A log broker that speaks Apache Kafka's protocol.
#[derive(Debug, Parser)]
#[command(name = "klamm-broker", version, after_help = MORE)]
pub(crate) struct Arguments {
    /// File of settings, such as Kafka's `server.properties`
    #[arg(value_name = "FILE", value_parser = file, conflicts_with = "config")]
    file: Option<PathBuf>,

    /// The same, with a name
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Setting, which outweighs all others; may be given often (also as `--override`, Kafka's word)
    #[arg(long, alias = "override", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,

    /// What is logged: a level (error, warn, info, debug, trace), also by module
    /// (`info,klamm_network=debug`) [default: `KLAMM_LOG`, else `RUST_LOG`, else info]
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// How it is logged
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

impl Arguments {
    /// The file of settings.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.file.as_deref().or(self.config.as_deref())
    }
}

/// What stands alone is a file, and what looks like a setting was meant as one.
fn file(text: &str) -> Result<PathBuf, String> {
    if text.contains('=') && !Path::new(text).exists() {
        return Err(format!(
            "there is no such file; a setting is given as `--set {text}`"
        ));
    }
    Ok(PathBuf::from(text))
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// Objects for programs, one a line
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound_and_its_help_teaches() {
        let mut command = Arguments::command();
        command.clone().debug_assert();
        let help = command.render_long_help().to_string();
        for word in ["--config", "--set", "KLAMM_LOG_SEGMENT_BYTES", "SIGTERM"] {
            assert!(help.contains(word), "{word}");
        }
    }

    #[test]
    fn settings_may_be_given_often() {
        let words = ["klamm-broker", "--set", "a=1", "--set", "b=2"];
        let arguments = Arguments::try_parse_from(words).unwrap();
        assert_eq!(arguments.set, ["a=1", "b=2"]);
        let words = ["klamm-broker", "a=1"];
        let error = Arguments::try_parse_from(words).unwrap_err().to_string();
        assert!(error.contains("`--set a=1`"), "{error}");
    }

    #[test]
    fn a_command_line_of_apache_kafka_is_understood() {
        let file = Some(Path::new("server.properties"));
        for words in [
            &["klamm-broker", "server.properties", "--override", "a=1"][..],
            &[
                "klamm-broker",
                "--config",
                "server.properties",
                "--set",
                "a=1",
            ],
        ] {
            let arguments = Arguments::try_parse_from(words).unwrap();
            assert_eq!(arguments.config(), file);
            assert_eq!(arguments.set, ["a=1"]);
        }
        let both = ["klamm-broker", "a", "--config", "b"];
        assert!(Arguments::try_parse_from(both).is_err());
    }
}
