//! What the tests share: a manager over a simulated disk, metadata in short form, batches, and
//! requests.

mod requests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use klamm_controller::MetadataImage;
use klamm_io::Clock as _;
use klamm_io::sim::{SimClock, SimDisk, SimFile};
use klamm_log::{
    CleanupPolicy, LogConfig, LogEvent, LogManager, LogOffsets, ManagerOptions, Now, Owner, Wiring,
};
use klamm_primitives::{
    BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionIndex, TopicId, TopicPartition, Uuid,
};
use klamm_records::Codecs;
use klamm_replica::{
    AppendError, AppendOutcome, AppendRequest, AppendedRecords, Applied, DeleteRecordsOutcome,
    DeleteRecordsRequest, FetchError, FetchOutcome, FetchPartition, FetchRequest, FetchedRecords,
    Fetcher, FileBudget, Finished, FollowUp, IsrAnswer, IsrProposal, IsrProposer,
    PartitionAppended, PartitionDeleted, PartitionFetched, PartitionRole, PartitionStatus,
    ReplicaManager, ReplicaOptions, ReplicaWiring, TopicSettings, TopicSettingsSource,
};
use klamm_wire::metadata::ClusterMetadataRecord;
use klamm_wire::metadata::config::ConfigRecord;
use klamm_wire::metadata::partition::PartitionRecord;
use klamm_wire::metadata::register_broker::RegisterBrokerRecord;
use klamm_wire::metadata::topic::{RemoveTopicRecord, TopicRecord};
use parking_lot::Mutex;

pub(crate) use self::requests::{
    append_request, batch, deleted, fetch_request, fetched, follower, from_follower, idempotent,
    offsets_in, patient, produced, records, sized, tickets, wanted,
};

/// This broker.
pub(crate) const LOCAL: i32 = 1;

pub(crate) type Done = Finished<SimFile, u32>;
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

/// What metadata says of a partition.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    replicas: Vec<i32>,
    isr: Vec<i32>,
    adding: Vec<i32>,
    removing: Vec<i32>,
    leader: i32,
    leader_epoch: i32,
    partition_epoch: Option<i32>,
}

impl Placed {
    /// Led by the first of the replicas, all in sync.
    pub(crate) fn on(replicas: &[i32]) -> Self {
        Self {
            replicas: replicas.to_vec(),
            isr: replicas.to_vec(),
            adding: Vec::new(),
            removing: Vec::new(),
            leader: replicas[0],
            leader_epoch: 1,
            partition_epoch: None,
        }
    }

    pub(crate) fn isr(mut self, isr: &[i32]) -> Self {
        self.isr = isr.to_vec();
        self
    }

    pub(crate) fn led_by(mut self, leader: i32) -> Self {
        self.leader = leader;
        self
    }

    pub(crate) fn in_epoch(mut self, leader_epoch: i32) -> Self {
        self.leader_epoch = leader_epoch;
        self
    }

    pub(crate) fn reassigning(mut self, adding: &[i32], removing: &[i32]) -> Self {
        self.adding = adding.to_vec();
        self.removing = removing.to_vec();
        self
    }

    /// With this partition epoch; otherwise each change has a higher one.
    pub(crate) fn version(mut self, partition_epoch: i32) -> Self {
        self.partition_epoch = Some(partition_epoch);
        self
    }
}

/// What a test knows of a broker beside itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Other {
    pub(crate) epoch: i64,
    pub(crate) fenced: bool,
    pub(crate) stopping: bool,
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
    pub(crate) manager: Arc<ReplicaManager<SimDisk, u32>>,
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
        Self::build(options, disk, directories, None)
    }

    /// With a bound to the files of its partitions.
    pub(crate) fn within(files: Box<dyn FileBudget>) -> Self {
        let options = ReplicaOptions::new(broker(LOCAL));
        Self::build(&options, SimDisk::new(0), &["/data"], Some(files))
    }

    fn build(
        options: &ReplicaOptions,
        disk: SimDisk,
        directories: &[&str],
        files: Option<Box<dyn FileBudget>>,
    ) -> Self {
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
        let mut manager = ReplicaManager::new(options, wiring, Arc::clone(&image), clock.now());
        if let Some(files) = files {
            manager = manager.within(files);
        }
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

    /// Takes records over as one image, and answers who is ready by that.
    pub(crate) fn apply(&self, records: &[ClusterMetadataRecord]) -> (Applied, Vec<Done>) {
        let image = {
            let mut image = self.image.lock();
            let next = image.apply(records, image.offset() + 1).unwrap();
            *image = Arc::new(next);
            Arc::clone(&image)
        };
        let (applied, then) = self.manager.apply(&image, self.now());
        (applied, self.follow_up(then))
    }

    pub(crate) fn register(&self, id: i32, other: Other) {
        let record = RegisterBrokerRecord {
            broker_id: broker(id),
            broker_epoch: BrokerEpoch::new(other.epoch),
            fenced: other.fenced,
            in_controlled_shutdown: other.stopping,
            ..RegisterBrokerRecord::default()
        };
        assert!(self.apply(&[record.into()]).1.is_empty());
    }

    /// Places a partition, and its topic if it is new.
    pub(crate) fn place(&self, name: &str, placed: &Placed) -> (Applied, Vec<Done>) {
        let name = partition(name);
        let known = self.image.lock().topic(&name.topic).map(|it| it.id);
        let mut records = Vec::new();
        let topic_id = known.unwrap_or_else(|| {
            let topic_id = self.new_topic_id();
            let record = TopicRecord {
                name: (*name.topic).into(),
                topic_id,
                ..TopicRecord::default()
            };
            records.push(record.into());
            topic_id
        });
        records.push(self.record(topic_id, name.partition, placed));
        self.apply(&records)
    }

    /// Places partitions of topics that are new, all in one image.
    pub(crate) fn place_all(&self, names: &[&str], placed: &Placed) -> (Applied, Vec<Done>) {
        let mut records = Vec::new();
        for name in names {
            let (name, topic_id) = (partition(name), self.new_topic_id());
            let topic = TopicRecord {
                name: (*name.topic).into(),
                topic_id,
                ..TopicRecord::default()
            };
            records.push(topic.into());
            records.push(self.record(topic_id, name.partition, placed));
        }
        self.apply(&records)
    }

    fn new_topic_id(&self) -> TopicId {
        let mut versions = self.versions.lock();
        *versions += 1;
        Uuid::from_u128(1000 + u128::from(versions.unsigned_abs()))
    }

    fn record(
        &self,
        topic_id: TopicId,
        partition_id: PartitionIndex,
        placed: &Placed,
    ) -> ClusterMetadataRecord {
        let partition_epoch = placed.partition_epoch.unwrap_or_else(|| {
            let mut versions = self.versions.lock();
            *versions += 1;
            *versions
        });
        let record = PartitionRecord {
            partition_id,
            topic_id,
            replicas: brokers(&placed.replicas),
            isr: brokers(&placed.isr),
            adding_replicas: brokers(&placed.adding),
            removing_replicas: brokers(&placed.removing),
            leader: broker(placed.leader),
            leader_epoch: epoch(placed.leader_epoch),
            partition_epoch,
            ..PartitionRecord::default()
        };
        record.into()
    }

    pub(crate) fn delete_topic(&self, topic: &str) -> (Applied, Vec<Done>) {
        let topic_id = self.topic_id(topic);
        let record = RemoveTopicRecord {
            topic_id,
            ..RemoveTopicRecord::default()
        };
        self.apply(&[record.into()])
    }

    /// The topic's settings have changed.
    pub(crate) fn tell_settings(&self, topic: &str) {
        let mut versions = self.versions.lock();
        *versions += 1;
        let record = ConfigRecord {
            resource_type: 2,
            resource_name: topic.into(),
            name: "changed".into(),
            value: Some(versions.to_string().into()),
            ..ConfigRecord::default()
        };
        drop(versions);
        assert!(self.apply(&[record.into()]).1.is_empty());
    }

    pub(crate) fn topic_id(&self, topic: &str) -> TopicId {
        self.image.lock().topic(topic).unwrap().id
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

    /// Appends; the answer is there at once, or the request waits under this ticket.
    pub(crate) fn produce(
        &self,
        acks: i16,
        entries: &[(&str, Bytes)],
        ticket: u32,
    ) -> (Option<Vec<PartitionAppended>>, Vec<Done>) {
        self.produce_request(&append_request(acks, entries), ticket)
    }

    pub(crate) fn produce_request(
        &self,
        request: &AppendRequest,
        ticket: u32,
    ) -> (Option<Vec<PartitionAppended>>, Vec<Done>) {
        let mut codecs = Codecs::default();
        let (outcome, then) = self
            .manager
            .append(request.clone(), &mut codecs, self.now());
        let mut done = Vec::new();
        let at_once = match outcome {
            AppendOutcome::Done(results) => Some(results),
            AppendOutcome::Waits(wait) => {
                self.manager.wait_produce(wait, ticket, &mut done);
                None
            }
        };
        self.manager.follow_up(then, &mut done);
        (at_once, done)
    }

    /// Appends so many records, one a batch, without waiting for anybody.
    pub(crate) fn fill(&self, name: &str, count: usize) -> Vec<Done> {
        let mut done = Vec::new();
        for _ in 0..count {
            let (results, others) = self.produce(0, &[(name, records(1))], 0);
            assert!(appended(&results.unwrap()[0]).is_ok());
            done.extend(others);
        }
        done
    }

    /// Appends to one partition, and is answered at once.
    pub(crate) fn append_one(&self, acks: i16, name: &str, bytes: Bytes) -> AppendResult {
        let (results, _) = self.produce(acks, &[(name, bytes)], 0);
        appended(&results.expect("it does not wait")[0])
    }

    /// Fetches; the answer is there at once, or the request waits under this ticket.
    pub(crate) fn fetch(
        &self,
        request: FetchRequest,
        ticket: u32,
    ) -> (Option<Vec<PartitionFetched<SimFile>>>, Vec<Done>) {
        let (outcome, then) = self.manager.fetch(request, self.instant());
        let mut done = Vec::new();
        let at_once = match outcome {
            FetchOutcome::Done(results) => Some(results),
            FetchOutcome::Waits(wait) => {
                self.manager.wait_fetch(wait, ticket, &mut done);
                None
            }
        };
        self.manager.follow_up(then, &mut done);
        (at_once, done)
    }

    /// Fetches from one partition without waiting.
    pub(crate) fn fetch_one(&self, fetcher: Fetcher, wanted: FetchPartition) -> Fetched {
        let (results, _) = self.fetch(fetch_request(fetcher, vec![wanted]), 0);
        let mut results = results.expect("it does not wait");
        assert_eq!(results.len(), 1);
        results.remove(0).result
    }

    /// What a consumer reads from an offset on.
    pub(crate) fn read(&self, name: &str, from: i64) -> Vec<i64> {
        let found = self.fetch_one(Fetcher::Consumer, wanted(name, from));
        offsets_in(&found.unwrap())
    }

    /// A follower has everything below `offset`. Returns who was ready by that.
    pub(crate) fn follow(&self, name: &str, id: i32, offset: i64) -> Vec<Done> {
        let request = fetch_request(follower(id), vec![from_follower(name, offset)]);
        let (results, done) = self.fetch(request, 0);
        let results = results.expect("it does not wait");
        assert!(results[0].result.is_ok(), "{:?}", results[0].result);
        done
    }

    pub(crate) fn delete_records(
        &self,
        entries: &[(&str, Option<i64>)],
        ticket: u32,
    ) -> (Option<Vec<PartitionDeleted>>, Vec<Done>) {
        let entries = entries
            .iter()
            .map(|(name, before)| (partition(name), before.map(offset)))
            .collect();
        let request = DeleteRecordsRequest {
            timeout: secs(10),
            entries,
        };
        let (outcome, then) = self.manager.delete_records(request, self.instant());
        let mut done = Vec::new();
        let at_once = match outcome {
            DeleteRecordsOutcome::Done(results) => Some(results),
            DeleteRecordsOutcome::Waits(wait) => {
                self.manager.wait_delete_records(wait, ticket, &mut done);
                None
            }
        };
        self.manager.follow_up(then, &mut done);
        (at_once, done)
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
