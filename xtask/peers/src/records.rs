//! Which records a load consists of, as the command line says it.

use std::net::SocketAddr;

use anyhow::{Context, Result};

#[derive(clap::Args)]
pub(crate) struct Records {
    #[arg(long)]
    pub(crate) address: SocketAddr,
    #[arg(long)]
    pub(crate) topic: String,
    #[arg(long, default_value_t = 1)]
    pub(crate) partitions: i32,
    #[arg(long = "records")]
    pub(crate) count: u64,
    #[arg(long)]
    pub(crate) record_bytes: usize,
    /// Settings of the client, `name=value`; rskafka has none.
    #[arg(short = 'X')]
    settings: Vec<String>,
}

impl Records {
    /// What `-X` says, by name and value.
    pub(crate) fn settings(&self) -> Result<Vec<(&str, &str)>> {
        let given = self.settings.iter();
        given
            .map(|setting| setting.split_once('=').context("-X wants name=value"))
            .collect()
    }

    pub(crate) fn value(&self) -> Vec<u8> {
        let letters = (b'a'..=b'z').cycle().step_by(7);
        letters.take(self.record_bytes).collect()
    }

    /// The partition of a record: each in turn.
    pub(crate) fn partition(&self, index: u64) -> i32 {
        i32::try_from(index % u64::from(self.partitions.unsigned_abs())).unwrap_or(0)
    }

    /// Bytes of all values.
    pub(crate) fn bytes(&self) -> f64 {
        self.count as f64 * self.record_bytes as f64
    }
}
