//! What the tests share: a manager over a simulated disk, metadata in short form, batches, and
//! requests.

mod asking;
mod placing;
mod requests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm_controller::MetadataImage;
use klamm_io::Clock as _;
use klamm_io::sim::{SimClock, SimDisk, SimFile};
use klamm_log::{
    CleanupPolicy, LogConfig, LogEvent, LogManager, LogOffsets, ManagerOptions, Now, Owner, Wiring,
};
use klamm_primitives::{BrokerId, LeaderEpoch, Offset, TopicPartition};
use klamm_replica::{
    AppendError, AppendedRecords, FetchError, FetchedRecords, Finished, FollowUp, IsrAnswer,
    IsrProposal, IsrProposer, PartitionAppended, PartitionRole, PartitionStatus, ReplicaManager,
    ReplicaOptions, ReplicaWiring, Ticket, TopicSettings, TopicSettingsSource,
};
use parking_lot::Mutex;

pub(crate) use self::placing::{Other, Placed};
pub(crate) use self::requests::{
    append_request, batch, deleted, fetch_request, fetched, follower, from_follower, idempotent,
    offsets_in, patient, produced, records, sized, tickets, wanted,
};

/// This broker.
pub(crate) const LOCAL: i32 = 1;

/// Tells one request that waits from another, and nothing of whoever waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u32);

impl Ticket for Number {}

pub(crate) type Done = Finished<SimFile, Number>;
pub(crate) type Fetched = Result<FetchedRecords<SimFile>, FetchError>;

pub(crate) fn broker(id: i32) -> BrokerId {
    BrokerId::new(id)
}

pub(crate) fn brokers(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId::new).collect()
}

pub(crate) fn offset(offset: i64) -> Offset {
    Offset::new(offset)
}

pub(crate) fn epoch(epoch: i32) -> LeaderEpoch {
    LeaderEpoch::new(epoch)
}

pub(crate) fn partition(name: &str) -> TopicPartition {
    name.parse().unwrap()
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

struct SettingsTable(Arc<Mutex<HashMap<String, TopicSettings>>>);

impl TopicSettingsSource for SettingsTable {
    fn settings_of(&self, _: &MetadataImage, topic: &str) -> TopicSettings {
        self.0.lock().get(topic).cloned().unwrap_or_default()
    }
}

struct Proposals(Arc<Mutex<Vec<IsrProposal>>>);

impl IsrProposer for Proposals {
    fn propose(&self, proposal: IsrProposal) {
        self.0.lock().push(proposal);
    }
}

/// A broker's replicas, with a clock and metadata that a test moves.
pub(crate) struct Bed {
    pub(crate) clock: SimClock,
    pub(crate) disk: SimDisk,
    pub(crate) logs: Arc<LogManager<SimDisk>>,
    pub(crate) manager: Arc<ReplicaManager<SimDisk, Number>>,
    settings: Arc<Mutex<HashMap<String, TopicSettings>>>,
    proposals: Arc<Mutex<Vec<IsrProposal>>>,
    events: Arc<Mutex<Vec<LogEvent<SimDisk>>>>,
    image: Mutex<Arc<MetadataImage>>,
    versions: Mutex<i32>,
}

impl Bed {
    /// Brokers 1 to 4 are alive, nothing is placed anywhere.
    pub(crate) fn new() -> Self {
        Self::on(SimDisk::new(0), &["/data"])
    }

    pub(crate) fn on(disk: SimDisk, directories: &[&str]) -> Self {
        Self::with(&ReplicaOptions::new(broker(LOCAL)), disk, directories)
    }

    pub(crate) fn with(options: &ReplicaOptions, disk: SimDisk, directories: &[&str]) -> Self {
        let clock = SimClock::new();
        let events: Arc<Mutex<Vec<LogEvent<SimDisk>>>> = Arc::default();
        let logs = Arc::new(open_logs(&disk, directories, &clock, &events));
        let settings: Arc<Mutex<HashMap<String, TopicSettings>>> = Arc::default();
        let proposals: Arc<Mutex<Vec<IsrProposal>>> = Arc::default();
        let image = Arc::new(MetadataImage::new("a-cluster"));
        let wiring = ReplicaWiring {
            logs: Arc::clone(&logs),
            settings: Box::new(SettingsTable(Arc::clone(&settings))),
            proposer: Box::new(Proposals(Arc::clone(&proposals))),
        };
        let manager = ReplicaManager::new(options, wiring, Arc::clone(&image), clock.now());
        let bed = Self {
            clock,
            disk,
            logs,
            manager: Arc::new(manager),
            settings,
            proposals,
            events,
            image: Mutex::new(image),
            versions: Mutex::new(0),
        };
        for id in 1..=4 {
            bed.register(id, Other::default());
        }
        bed
    }

    pub(crate) fn now(&self) -> Now {
        Now {
            instant: self.clock.now(),
            unix_ms: self.clock.unix_ms(),
        }
    }

    pub(crate) fn instant(&self) -> Instant {
        self.clock.now()
    }

    /// Settings that partitions of this topic get when they are made, or when told by a change.
    pub(crate) fn set(&self, topic: &str, change: impl FnOnce(&mut TopicSettings)) {
        let mut settings = self.settings.lock();
        change(settings.entry(topic.to_owned()).or_default());
    }

    pub(crate) fn follow_up(&self, then: FollowUp) -> Vec<Done> {
        let mut done = Vec::new();
        self.manager.follow_up(then, &mut done);
        done
    }

    /// Time passes, and what is due is done.
    pub(crate) fn pass(&self, time: Duration) -> Vec<Done> {
        self.clock.advance(time);
        let mut done = Vec::new();
        self.manager.advance(self.clock.now(), &mut done);
        done
    }

    /// Does the syncs that were asked for.
    pub(crate) fn sync(&self) -> Vec<Done> {
        self.logs.sync_requested();
        self.take_events()
    }

    /// Takes over what the logs have told.
    pub(crate) fn take_events(&self) -> Vec<Done> {
        let events = std::mem::take(&mut *self.events.lock());
        let mut done = Vec::new();
        for event in events {
            let then = self.manager.handle_log_event(&event, self.instant());
            self.manager.follow_up(then, &mut done);
        }
        done
    }

    pub(crate) fn take_proposals(&self) -> Vec<IsrProposal> {
        std::mem::take(&mut *self.proposals.lock())
    }

    /// The one proposal that was made.
    pub(crate) fn proposal(&self) -> IsrProposal {
        let mut proposals = self.take_proposals();
        assert_eq!(proposals.len(), 1, "{proposals:?}");
        proposals.remove(0)
    }

    pub(crate) fn answer(&self, proposal: &IsrProposal, answer: IsrAnswer) -> Vec<Done> {
        let then = self.manager.isr_answered(proposal, answer, self.instant());
        self.follow_up(then)
    }

    /// The controller does as it is asked.
    pub(crate) fn accept(&self, proposal: &IsrProposal) -> Vec<Done> {
        let accepted = IsrAnswer::Accepted {
            leader_epoch: proposal.leader_epoch,
            partition_epoch: proposal.partition_epoch + 1,
            isr: proposal.isr.iter().map(|it| it.broker).collect(),
        };
        *self.versions.lock() += 1;
        self.answer(proposal, accepted)
    }

    pub(crate) fn status(&self, name: &str) -> PartitionStatus {
        self.manager.status(&partition(name)).unwrap()
    }

    pub(crate) fn offsets(&self, name: &str) -> LogOffsets {
        self.status(name).offsets.unwrap()
    }

    pub(crate) fn high_watermark(&self, name: &str) -> i64 {
        self.offsets(name).high_watermark.get()
    }

    pub(crate) fn isr(&self, name: &str) -> Vec<BrokerId> {
        match self.status(name).role {
            PartitionRole::Leader { isr, .. } => isr,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn open_logs(
    disk: &SimDisk,
    directories: &[&str],
    clock: &SimClock,
    events: &Arc<Mutex<Vec<LogEvent<SimDisk>>>>,
) -> LogManager<SimDisk> {
    let owner = Owner {
        cluster_id: "a-cluster".to_owned(),
        node_id: broker(LOCAL),
    };
    let directories: Vec<PathBuf> = directories.iter().map(PathBuf::from).collect();
    let events = Arc::clone(events);
    let mut number = 7_u128;
    let wiring = Wiring {
        random: Box::new(move || {
            number = number.wrapping_mul(0xda94_2042_e4dd_58b5_da94_2042_e4dd_58b5) + 1;
            number
        }),
        events: Box::new(move |event| events.lock().push(event)),
    };
    let now = Now {
        instant: clock.now(),
        unix_ms: clock.unix_ms(),
    };
    let options = ManagerOptions::new(owner, directories);
    let config_of = |_: &TopicPartition| LogConfig::default();
    let opened = LogManager::open(disk, options, wiring, &config_of, &|_| {}, now).unwrap();
    opened.manager
}

/// The first of the results of the one request that is done.
pub(crate) type AppendResult = Result<AppendedRecords, AppendError>;

pub(crate) fn appended(it: &PartitionAppended) -> AppendResult {
    it.result.clone()
}

/// Settings under which records are synced before they are acknowledged.
pub(crate) fn syncs(settings: &mut TopicSettings) {
    settings.log.flush_records = Some(1);
}

/// Settings of a topic that is compacted and nothing else.
pub(crate) fn compacted(settings: &mut TopicSettings) {
    settings.log.cleanup_policy = CleanupPolicy::COMPACT;
}

pub(crate) fn min_isr(count: usize) -> impl Fn(&mut TopicSettings) {
    move |settings| settings.min_in_sync_replicas = count
}
