//! [`Broker`]: all the parts of a broker, from the start to the end.

mod addresses;
mod connections;
mod descriptors;
mod health;
mod owner;
mod storage;
mod tasks;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use klamm_controller::{
    Controller, ControllerOptions, MetadataImage, OpenQuorumError, Quorum, RaftOptions, RaftQuorum,
    RegisterBroker,
};
use klamm_io::{Clock, Disk, DiskErrorKind, Net};
use klamm_network::{Handler, HandlerPool, Server};
use klamm_primitives::Uuid;
use klamm_replica::{
    IsrProposal, IsrProposer, ReplicaManager, ReplicaOptions, ReplicaWiring, Waiting,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use self::connections::Connections;
use self::health::Health;
use self::storage::{EventReceiver, Storage};
use crate::handlers::Handlers;
use crate::machine::Machine;
use crate::node::{Node, NodeParts};
use crate::settings::{Settings, topics};
use crate::start_error::StartError;
use crate::topic_configs::TopicConfigs;

/// How long a stop waits for answers to be made and taken: what appends wait for takes far less, and
/// whoever stops a broker gives it some ten seconds for all.
const ANSWERING_MAX: Duration = Duration::from_secs(3);

/// A broker that serves, with the controller of its cluster of one.
///
/// Its owner must [stop](Self::stop) it; dropped without, its threads go on for as long as the
/// process does, and the next start finds that it was not stopped.
pub struct Broker<N: Net, D: Disk, C: Clock> {
    node: Arc<Node<D, C>>,
    health: Arc<Health>,
    server: Server<N, C, D::File>,
    handlers: HandlerPool<D::File>,
    controller: Controller,
    quorum: Arc<RaftQuorum<D, C>>,
    storage: Storage<D>,
    tasks: Vec<JoinHandle<()>>,
}

impl<N: Net, D: Disk, C: Clock> Broker<N, D, C> {
    /// Starts a broker on the runtime of the caller: opens the metadata log and the logs, joins
    /// the cluster, takes its partitions, and only then listens. Blocks on the disk now and then.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running.
    pub async fn start(machine: Machine<N, D, C>, settings: Settings) -> Result<Self, StartError> {
        let settings = Arc::new(settings);
        // First all that may be wrong with what it is told and finds: nothing has been made then
        // that would have to be undone.
        let config = addresses::server_config(&machine, &settings).await?;
        let limits = config.limits.clone();
        let (net, clock) = (machine.net.clone(), machine.clock.clone());
        let connections = Connections::new();
        let observer = Arc::clone(&connections);
        let server = Server::open(net, clock, config, observer)?;
        server.set_limits(limits).await?;
        owner::check_node(&machine, &settings)?;
        let cluster_id = storage::cluster_id(&machine, &settings)?;
        owner::check_contents(&machine, &settings, &cluster_id)?;

        let quorum = Arc::new(open_quorum(&machine, &settings, &cluster_id).await?);
        let health = Arc::new(Health::new(settings.logs.directories.len()));
        let receiver: EventReceiver<D, C> = Arc::new(OnceLock::new());
        let image = quorum.watch().borrow().clone();
        let opened = Storage::open(&machine, &settings, &image, &health, &receiver);
        let storage = match opened {
            Ok(storage) => storage,
            Err(error) => {
                quorum.stop().await;
                return Err(error);
            }
        };

        let controller = Controller::start(
            Arc::clone(&quorum),
            controller_options(&settings, machine.random),
            Arc::new(TopicConfigs(Arc::clone(&settings))),
            machine.clock.clone(),
        );
        let node = Arc::new(Node::new(NodeParts {
            replicas: replicas(&machine, &settings, &storage, &image),
            clock: machine.clock.clone(),
            controller: controller.handle(),
            runtime: Handle::current(),
            images: quorum.watch(),
            settings: Arc::clone(&settings),
            random: machine.random,
        }));
        // Nobody else sets it.
        _ = receiver.set(Arc::downgrade(&node));
        connections.begin(&node);

        let handler: Arc<dyn Handler<D::File>> = Arc::new(Handlers {
            node: Arc::clone(&node),
        });
        server.handle_quick_requests(Arc::clone(&handler));
        let channel = server.channel().clone();
        let handlers = HandlerPool::start(channel, handler, settings.handler_threads);
        let handlers = match handlers {
            Ok(handlers) => handlers,
            Err(error) => {
                controller.stop().await;
                storage.stop(node.epoch());
                quorum.stop().await;
                return Err(error.into());
            }
        };
        let mut broker = Self {
            node,
            health,
            server,
            handlers,
            controller,
            quorum,
            storage,
            tasks: Vec::new(),
        };
        match broker.join_and_listen((machine.random)()).await {
            Ok(()) => Ok(broker),
            Err(error) => {
                broker.stop().await;
                Err(error)
            }
        }
    }

    /// Registers, takes its partitions, is let in, takes their leaderships, and listens.
    async fn join_and_listen(&mut self, random: u128) -> Result<(), StartError> {
        let node = &self.node;
        let port_of = |name: &str| self.server.address(name).map(|it| it.port());
        let request = RegisterBroker {
            broker: node.id(),
            cluster_id: node.images.borrow().cluster_id().clone(),
            incarnation_id: Uuid::from_random(random),
            endpoints: addresses::endpoints(&node.settings, port_of),
            features: Vec::new(),
            rack: node.settings.rack.as_deref().map(Into::into),
            log_dirs: self.storage.directory_ids(),
            cordoned_log_dirs: Vec::new(),
        };
        let epoch = node.controller.register_broker(request, None).await?;
        node.set_epoch(epoch);
        self.apply_newest();
        tasks::send_heartbeat(node, &self.health).await?;
        self.apply_newest();
        self.start_tasks();
        self.server.start().await?;
        info!(broker = %self.node.id(), %epoch, "broker started");
        Ok(())
    }

    /// Has the replicas go by all that the quorum has agreed on.
    fn apply_newest(&self) {
        let image = self.node.images.borrow().clone();
        tasks::apply(&self.node, &image);
    }

    fn start_tasks(&mut self) {
        let node = || Arc::clone(&self.node);
        let channel = || self.server.channel().clone();
        self.tasks = vec![
            tokio::spawn(tasks::follow_metadata(node(), channel())),
            tokio::spawn(tasks::expire(node(), channel())),
            tokio::spawn(tasks::retry(node(), channel())),
            tokio::spawn(tasks::send_heartbeats(node(), Arc::clone(&self.health))),
        ];
    }

    /// The metadata that requests are answered by.
    pub fn image(&self) -> Arc<MetadataImage> {
        self.node.image()
    }

    /// The settings that it was started with.
    pub fn settings(&self) -> &Settings {
        &self.node.settings
    }

    /// How many requests wait with the replicas.
    pub fn waiting(&self) -> Waiting {
        self.node.replicas.waiting()
    }

    /// Where a listener is bound; `None` if there is none of that name.
    pub fn address(&self, listener: &str) -> Option<SocketAddr> {
        self.server.address(listener)
    }

    /// Waits until the broker cannot go on, because none of its log directories works any more or
    /// the metadata log does not; says which, for people.
    pub async fn failed(&self) -> String {
        tokio::select! {
            () = self.health.lost() => "no log directory is left that works".to_owned(),
            why = self.quorum.failed() => format!("the metadata log has failed: {why}"),
        }
    }

    /// Answers what has been asked by now, for three seconds at most, then closes all connections,
    /// ends all threads and tasks, and closes the logs, so that the next start need not read them
    /// through. Who asked for records that are not there is not waited for.
    pub async fn stop(mut self) {
        self.node.replicas.stop_taking();
        let connections = self.server.finish(ANSWERING_MAX).await;
        if connections > 0 {
            warn!(
                connections,
                "closing connections with requests that are not answered"
            );
        }
        self.server.stop().await;
        for task in self.tasks {
            task.abort();
            if let Err(error) = task.await
                && error.is_panic()
            {
                error!(%error, "a task of the broker panicked");
            }
        }
        self.node.applied.end();
        self.handlers.stop();
        self.controller.stop().await;
        self.storage.stop(self.node.epoch());
        self.quorum.stop().await;
    }
}

async fn open_quorum<N, D: Disk, C: Clock>(
    machine: &Machine<N, D, C>,
    settings: &Settings,
    cluster_id: &str,
) -> Result<RaftQuorum<D, C>, StartError> {
    let directory = storage::metadata_log(settings);
    let options = RaftOptions {
        snapshot_bytes: settings.logs.metadata_snapshot_bytes,
        snapshot_interval: settings.logs.metadata_snapshot_interval,
        ..RaftOptions::new(settings.node_id, cluster_id, &directory)
    };
    let opened = RaftQuorum::open(machine.disk.clone(), options, machine.clock.clone()).await;
    opened.map_err(|source| match source {
        OpenQuorumError::Disk(error) if error.kind() == DiskErrorKind::Locked => {
            StartError::InUse {
                directory: settings.logs.metadata_directory.clone(),
            }
        }
        source => StartError::Quorum { directory, source },
    })
}

fn controller_options(settings: &Settings, random: fn() -> u128) -> ControllerOptions {
    let unclean = topics::find("unclean.leader.election.enable");
    let unclean = unclean.is_some_and(|it| settings.topics.text(it).eq_ignore_ascii_case("true"));
    let seed = u64::try_from(random() >> 64).expect("half of the bits are left");
    ControllerOptions {
        partition_count: settings.requests.partitions_default,
        replication_factor: settings.requests.replication_factor_default,
        may_delete_topics: settings.requests.may_delete_topics,
        unclean_election: unclean,
        unclean_election_interval: settings.replication.unclean_election_interval,
        balance_interval: settings.replication.balance_interval,
        session_timeout: settings.replication.session_timeout,
        // Nobody is there who could lag behind.
        idle_interval: None,
        seed,
    }
}

fn replicas<N, D: Disk, C: Clock, T>(
    machine: &Machine<N, D, C>,
    settings: &Arc<Settings>,
    storage: &Storage<D>,
    image: &MetadataImage,
) -> ReplicaManager<D, T> {
    let options = ReplicaOptions {
        lag_max: settings.replication.lag_max,
        has_lost_directory: storage.has_lost_directory(settings.node_id, image),
        ..ReplicaOptions::new(settings.node_id)
    };
    let wiring = ReplicaWiring {
        logs: Arc::clone(&storage.logs),
        settings: Box::new(TopicConfigs(Arc::clone(settings))),
        proposer: Box::new(Alone),
    };
    let empty = Arc::new(MetadataImage::new(image.cluster_id().clone()));
    ReplicaManager::new(&options, wiring, empty, machine.clock.now())
}

/// Takes proposals of in-sync sets, of which a cluster of one makes none: there is nobody beside
/// the leader who could be in sync or not.
struct Alone;

impl IsrProposer for Alone {
    fn propose(&self, proposal: IsrProposal) {
        error!(partition = %proposal.partition, "a proposal of an in-sync set in a cluster of one");
    }
}
