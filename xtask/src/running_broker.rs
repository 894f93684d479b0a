//! A broker in a process of its own, for the commands that need one.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::workspace::Workspace;

/// The broker says so on its standard output once it serves.
const READY: &str = "ready on ";

/// How long a broker may take to say that it is ready; recovery included.
const START_MAX: Duration = Duration::from_mins(1);

/// Builds the broker for release and returns where it lies.
///
/// # Errors
/// The build failed.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let build = ["build", "--release", "--bin", "klamm-broker"];
    command::run(&mut command::cargo(workspace.root(), build))?;
    Ok(workspace.target_directory().join("release/klamm-broker"))
}

/// How to start a broker again and again on the same address and data.
pub(crate) struct BrokerSetup {
    program: PathBuf,
    data: PathBuf,
    address: SocketAddr,
    settings: Vec<String>,
}

impl BrokerSetup {
    /// A broker with data in `data` on a port of the loopback that is free now.
    ///
    /// # Errors
    /// No port can be had.
    pub(crate) fn new(program: &Path, data: &Path, settings: &[&str]) -> Result<Self> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        Ok(Self {
            program: program.to_owned(),
            data: data.to_owned(),
            address: free.local_addr().context("no free port")?,
            settings: settings.iter().map(|&it| it.to_owned()).collect(),
        })
    }

    /// Where clients find it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the broker and waits until it is ready.
    ///
    /// # Errors
    /// It cannot be started, ends, or is not ready within a minute.
    pub(crate) fn start(&self) -> Result<RunningBroker> {
        let mut command = Command::new(&self.program);
        command
            .args(["--set", "node.id=1"])
            .arg("--set")
            .arg(format!("listeners=PLAINTEXT://{}", self.address))
            .arg("--set")
            .arg(format!("log.dirs={}", self.data.display()))
            .args(["--log", "warn"]);
        for setting in &self.settings {
            command.arg("--set").arg(setting);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let output = child.stdout.take().context("the broker has no output")?;
        let (ready, is_ready) = mpsc::sync_channel(1);
        // Reads on to the end, so that the broker is never held up by a full pipe.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if line.contains(READY) {
                    // Nobody listens any more after the first.
                    let _ = ready.try_send(());
                }
            }
        });
        let broker = RunningBroker { child };
        if is_ready.recv_timeout(START_MAX).is_err() {
            bail!("the broker ended or was not ready within {START_MAX:?}");
        }
        Ok(broker)
    }
}

/// A broker that runs; killed when dropped.
pub(crate) struct RunningBroker {
    child: Child,
}

impl RunningBroker {
    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The memory that is its own at present, where the system tells.
    pub(crate) fn memory_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    }

    /// Takes over a broker that another program started.
    pub(crate) fn of(child: Child) -> Self {
        Self { child }
    }

    /// Asks it to stop, and waits until it has.
    ///
    /// # Errors
    /// It ended with anything but success.
    pub(crate) fn stop(self) -> Result<()> {
        let status = self.end()?;
        if !status.success() {
            bail!("the broker ended with {status}");
        }
        Ok(())
    }

    /// Asks it to stop, waits until it has, and tells how it ended.
    ///
    /// # Errors
    /// It cannot be asked or waited for.
    pub(crate) fn end(mut self) -> Result<ExitStatus> {
        let id = self.child.id().to_string();
        command::output(Command::new("kill").args(["-TERM", &id]))?;
        self.child.wait().context("cannot wait for the broker")
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) fn has_ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().context("cannot look at the broker")
    }

    /// Kills it without a warning, as `kill -9` does.
    ///
    /// # Errors
    /// It cannot be killed or waited for.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().context("cannot kill the broker")?;
        self.child.wait().context("cannot wait for the broker")?;
        Ok(())
    }
}

impl Drop for RunningBroker {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
