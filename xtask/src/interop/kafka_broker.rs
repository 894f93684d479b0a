//! Apache Kafka's broker: one node, on the loopback, in a directory of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::kafka::Kafka;
use crate::command;
use crate::running_broker::RunningBroker;

const PROPERTIES: &str = include_str!("server.properties");
const WORKLOAD: &str = include_str!("Workload.java");

/// The cluster that the directories belong to.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qk";

/// A broker is looked for so often, each time after [`LOOK_AGAIN_AFTER`].
const LOOKS_MAX: u32 = 600;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// How a broker's life ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// It is asked to stop.
    Well,
    /// It is killed.
    Killed,
}

/// A broker that can be started on a directory.
pub(super) struct KafkaBroker<'a> {
    kafka: &'a Kafka,
    properties: PathBuf,
    workload: PathBuf,
    port: u16,
}

impl<'a> KafkaBroker<'a> {
    /// Prepares an empty directory for a broker of its own. `settings` are lines of its file and
    /// win over what stands there.
    pub(super) fn new(
        kafka: &'a Kafka,
        scratch: &Path,
        data: &Path,
        settings: &[&str],
    ) -> Result<Self> {
        let (port, controller_port) = (free_port()?, free_port()?);
        let properties = scratch.join("server.properties");
        let here = format!(
            "{PROPERTIES}\
             listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
             controller.quorum.voters=1@127.0.0.1:{controller_port}\n\
             log.dirs={}\n{}\n",
            data.display(),
            settings.join("\n")
        );
        fs::write(&properties, here)?;
        let workload = scratch.join("Workload.java");
        fs::write(&workload, WORKLOAD)?;
        let mut format = kafka.program("kafka.tools.StorageTool");
        format
            .args(["format", "-t", CLUSTER_ID, "-c"])
            .arg(&properties);
        command::run(&mut format)?;
        Ok(Self {
            kafka,
            properties,
            workload,
            port,
        })
    }

    /// Starts the broker, has it written to, and ends it.
    pub(super) fn live(&self, life: usize, end: End) -> Result<()> {
        let broker = self.start()?;
        let mut workload = self.kafka.source(&self.workload);
        workload.arg(self.address().to_string());
        command::run(workload.arg(life.to_string()))?;
        match end {
            // Java tells that a signal ended it, however well it ended.
            End::Well => broker.end().map(drop),
            End::Killed => broker.kill(),
        }
    }

    /// Where clients find it.
    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Starts the broker and waits until it listens.
    pub(super) fn start(&self) -> Result<RunningBroker> {
        let mut broker = self.kafka.program("kafka.Kafka");
        broker
            .arg(&self.properties)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        println!("$ java kafka.Kafka {}", self.properties.display());
        let broker = broker.spawn().context("cannot start the broker")?;
        let mut broker = RunningBroker::of(broker);
        self.wait_for(&mut broker)?;
        Ok(broker)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the broker tells nobody when it is ready; one asks it from time to time"
    )]
    fn wait_for(&self, broker: &mut RunningBroker) -> Result<()> {
        for _ in 0..LOOKS_MAX {
            if TcpStream::connect(self.address()).is_ok() {
                return Ok(());
            }
            if let Some(status) = broker.has_ended()? {
                bail!("the broker has ended by itself: {status}");
            }
            thread::sleep(LOOK_AGAIN_AFTER);
        }
        bail!("the broker does not answer")
    }
}

/// A port that nobody uses now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}
