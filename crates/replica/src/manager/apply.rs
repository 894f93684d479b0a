//! Taking over metadata: which partitions are here, and who leads them.

use std::error::Error;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use klamm_controller::{ConfigResource, ImageChanges, MetadataImage, PartitionImage, TopicImage};
use klamm_io::Disk;
use klamm_log::{ChangeError, CreateError, DeleteError, NewPartition, Now, PartitionLog};
use klamm_primitives::{PartitionIndex, TopicId, TopicPartition};
use thiserror::Error;
use tracing::{info, warn};

use super::{Hosted, ReplicaManager};
use crate::follow_up::FollowUp;
use crate::partition::{Became, Partition};
use crate::topic_settings::TopicSettings;

/// Partitions whose logs are made together, and between which the taking over can be ended.
const MADE_TOGETHER: usize = 64;

/// What taking over an image has come to.
#[derive(Debug, Default)]
pub struct Applied {
    /// Partitions that are led here from now on, by a leader epoch that was not known before.
    pub led: Vec<TopicPartition>,
    /// Partitions that follow another leader than before, or the same by a new leader epoch.
    pub followed: Vec<TopicPartition>,
    /// Partitions that are not here any more. Their logs are deleted.
    pub removed: Vec<TopicPartition>,
    /// Partitions that should be here and cannot be served; they are offline. One that is
    /// [tried again](ReplicaManager::retry) is told once.
    pub not_taken: Vec<(TopicPartition, NotTaken)>,
    /// How many more are offline by [`NotTaken::PutOff`], for the first time.
    pub put_off: usize,
}

/// A partition that should be here cannot be served.
#[derive(Debug, Error)]
pub enum NotTaken {
    /// It has no log.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Others before it could not be made for want of room or of descriptors; it was not tried, and
    /// is later on.
    #[error("no partition can be made now")]
    PutOff,
    /// It has been led before, its log is not here, and neither is one of the log directories that
    /// this broker had.
    #[error("its log is not here, and neither is a log directory that this broker had")]
    LogLost,
    /// The beginning of its leader epoch could not be written.
    #[error(transparent)]
    Begin(#[from] ChangeError),
}

impl<D: Disk, T> ReplicaManager<D, T> {
    /// Takes an image over: makes the partitions that it places here, with their logs, gives each
    /// its role, and lets those go that are elsewhere now. Images may be left out, but not come
    /// out of order: one that is not newer than the last is passed over. Blocks on the disk.
    ///
    /// The cost goes with what changed. (RE-001 to RE-018)
    pub fn apply(&self, image: &Arc<MetadataImage>, now: Now) -> (Applied, FollowUp) {
        let _applying = self.taking.turn.lock();
        let mut applying = Applying::new(self, image, now);
        let before = self.image.load_full();
        if image.offset() <= before.offset() {
            return (applying.applied, applying.then);
        }
        let changes = image.changes_since(&before);
        if !changes.brokers.is_empty() {
            self.around.learn(image);
        }
        applying.take_topics(&changes);
        applying.take_settings(&changes);
        if let Some(hosted) = applying.hosted {
            self.hosted.store(Arc::new(hosted));
        }
        if self.taking.is_stopping() {
            return (applying.applied, applying.then);
        }
        // Last, so that a partition is not told to be elsewhere while it is on its way in.
        self.image.store(Arc::clone(image));
        (applying.applied, applying.then)
    }

    /// Tries those partitions again that could not be taken because the disk had no room, or the
    /// process no descriptor, if it is time for that: a second after the failure, then less and less
    /// often, at least every half minute. Blocks on the disk. (RE-015)
    pub fn retry(&self, now: Now) -> (Applied, FollowUp) {
        let due = self.taking.retries.lock().take_due(now.instant);
        if due.is_empty() {
            return (Applied::default(), FollowUp::default());
        }
        let mut not_opened = self.open_logs(&due, now.unix_ms);
        let _applying = self.taking.turn.lock();
        let image = self.image.load_full();
        // Whoever has taken an image over meanwhile may have deleted some of them, or opened them.
        not_opened.retain(|name, _| self.logs.is_to_be_opened(name));
        let mut applying = Applying::new(self, &image, now);
        applying.not_opened = not_opened;
        let is_waiting = |name: &&TopicPartition| self.taking.retries.lock().is_waiting(name);
        let known = due.iter().filter(is_waiting).filter_map(|name| {
            let topic = image.topic(&name.topic)?;
            let partition = topic.partition(name.partition)?;
            Some((&**topic, name.partition, partition))
        });
        let known: Vec<_> = known.collect();
        applying.take_all(&known);
        if let Some(hosted) = applying.hosted {
            self.hosted.store(Arc::new(hosted));
        }
        (applying.applied, applying.then)
    }

    /// Opens the logs of those partitions whose files are here and could not be opened before; says
    /// which still cannot be for want of something, and why. Called without the turn: a recovery may
    /// take long, and an image waits for it only where it is about the same partition.
    fn open_logs(&self, due: &[TopicPartition], now_ms: i64) -> HashMap<TopicPartition, NotTaken> {
        let image = self.image.load_full();
        let mut not_opened = HashMap::new();
        let mut is_short = false;
        let waiting: Vec<_> = due
            .iter()
            .filter(|it| self.logs.is_to_be_opened(it))
            .collect();
        for some in waiting.chunks(MADE_TOGETHER) {
            // As where they are made: some go on for the sake of other directories, no more.
            let is_put_off = is_short;
            for &partition in some {
                if self.taking.is_stopping() {
                    return not_opened;
                }
                let Some(topic) = image.topic(&partition.topic) else {
                    continue;
                };
                if is_put_off {
                    not_opened.insert(partition.clone(), NotTaken::PutOff);
                    continue;
                }
                let settings = self.settings.settings_of(&image, &partition.topic);
                let new = NewPartition {
                    partition,
                    topic_id: topic_id(topic),
                    config: &settings.log,
                };
                // What else is wrong with it is found again at once, when it is taken.
                if let Some(Err(error @ CreateError::Shortage(_))) =
                    self.logs.open_waiting(&new, now_ms)
                {
                    is_short = true;
                    not_opened.insert(partition.clone(), error.into());
                }
            }
        }
        not_opened
    }
}

/// One image on its way in.
struct Applying<'a, D: Disk, T> {
    manager: &'a ReplicaManager<D, T>,
    image: &'a MetadataImage,
    now: Now,
    /// What will be hosted, once anything has come or gone.
    hosted: Option<Hosted<D>>,
    /// The settings of topics that were asked for already.
    settings: HashMap<Arc<str>, Arc<TopicSettings>>,
    /// What became of the logs that were made ahead, all at once.
    made: HashMap<TopicPartition, Result<Arc<PartitionLog<D>>, CreateError>>,
    /// Those whose logs were tried to be opened ahead, and are not to be tried once more.
    not_opened: HashMap<TopicPartition, NotTaken>,
    /// Whether a log could not be made for want of something. No other one is tried then: each would
    /// cost as much, and come to nothing.
    is_short: bool,
    applied: Applied,
    then: FollowUp,
}

impl<'a, D: Disk, T> Applying<'a, D, T> {
    fn new(manager: &'a ReplicaManager<D, T>, image: &'a MetadataImage, now: Now) -> Self {
        Self {
            manager,
            image,
            now,
            hosted: None,
            settings: HashMap::new(),
            made: HashMap::new(),
            not_opened: HashMap::new(),
            is_short: false,
            applied: Applied::default(),
            then: FollowUp::default(),
        }
    }

    fn take_topics(&mut self, changes: &ImageChanges) {
        for topic in &changes.topics_deleted {
            // What stays is known as deleted to the next start.
            if self.manager.taking.is_stopping() {
                return;
            }
            for (index, _) in topic.indexed() {
                self.let_go(topic, index);
            }
        }
        let mut coming: Vec<Placed<'_>> = Vec::new();
        for change in &changes.topics_changed {
            let partitions = change.partitions();
            coming.extend(partitions.map(|it| (&*change.new, it.index, it.new)));
        }
        for topic in &changes.topics_created {
            let partitions = topic.indexed();
            coming.extend(partitions.map(|(index, it)| (&**topic, index, it)));
        }
        self.take_all(&coming);
    }

    /// Takes partitions, some at a time.
    fn take_all(&mut self, coming: &[Placed<'_>]) {
        for some in coming.chunks(MADE_TOGETHER) {
            if self.manager.taking.is_stopping() {
                break;
            }
            self.make_logs(some);
            for (topic, index, partition) in some {
                self.take_partition(topic, *index, partition);
            }
        }
    }

    /// Makes the logs of those partitions that have none here and are to have one. Many at once
    /// wait for the disk not much longer than one.
    fn make_logs(&mut self, coming: &[Placed<'_>]) {
        let manager = self.manager;
        let local = manager.around.local;
        let mut new = Vec::new();
        for (topic, index, partition) in coming {
            let name = TopicPartition::new(topic.name.clone(), *index);
            let is_wanted = partition.is_replica(local) && manager.logs.get(&name).is_none();
            let is_tried = self.not_opened.contains_key(&name);
            if is_wanted && !is_tried && !manager.taking.may_be_lost(partition) {
                let settings = self.settings_of(&topic.name);
                new.push((name, topic_id(topic), settings));
            }
        }
        if new.len() < 2 || self.is_short {
            return;
        }
        let partitions: Vec<_> = new
            .iter()
            .map(|(partition, topic_id, settings)| NewPartition {
                partition,
                topic_id: *topic_id,
                config: &settings.log,
            })
            .collect();
        let made = manager.logs.create_many(&partitions, self.now.unix_ms);
        self.is_short |= made.iter().any(is_short);
        let names = new.into_iter().map(|(name, ..)| name);
        self.made = names.zip(made).collect();
    }

    /// Topics of which a setting has changed, and all of them if it is one of the broker's that
    /// topics fall back to. Each partition is told once.
    fn take_settings(&mut self, changes: &ImageChanges) {
        let local = ConfigResource::Broker(self.manager.around.local);
        let is_ours = |it: &ConfigResource| *it == local || *it == ConfigResource::AllBrokers;
        let of_all = changes.settings.iter().any(is_ours);
        let topics: HashSet<&str> = changes
            .settings
            .iter()
            .filter_map(|it| match it {
                ConfigResource::Topic(name) => Some(&**name),
                _ => None,
            })
            .collect();
        if topics.is_empty() && !of_all {
            return;
        }
        let hosted = self.manager.hosted.load();
        let hosted = self.hosted.as_ref().unwrap_or(&hosted);
        let affected: Vec<_> = hosted
            .values()
            .filter(|it| of_all || topics.contains(&*it.name().topic))
            .cloned()
            .collect();
        for partition in affected {
            let settings = self.settings_of(&partition.name().topic.clone());
            partition.set_settings(settings);
        }
    }

    fn take_partition(&mut self, topic: &TopicImage, index: PartitionIndex, it: &PartitionImage) {
        let manager = self.manager;
        if !it.is_replica(manager.around.local) {
            self.let_go(topic, index);
            return;
        }
        let name = TopicPartition::new(topic.name.clone(), index);
        let known = self.hosted().get(&name).cloned();
        let settings = self.settings_of(&topic.name);
        let partition = known
            .filter(|it| it.topic_id() == topic.id)
            .unwrap_or_else(|| {
                let key = manager.taking.next_key();
                let around = Arc::clone(&manager.around);
                let settings = Arc::clone(&settings);
                Arc::new(Partition::new(
                    key,
                    name.clone(),
                    topic.id,
                    around,
                    settings,
                ))
            });
        let taken = self.take(&partition, topic, it, &settings);
        if manager.taking.is_stopping()
            && matches!(taken, Err(NotTaken::Create(CreateError::NoDirectory)))
        {
            // Its recovery was ended, which says nothing of the directories.
            return;
        }
        let is_news = self.note_for_retry(&name, &taken);
        match taken {
            Ok(Became::Leader { is_new: true }) => self.applied.led.push(name.clone()),
            Ok(Became::Follower { is_new: true, .. }) => self.applied.followed.push(name.clone()),
            Ok(Became::Leader { .. } | Became::Follower { .. } | Became::Ignored) => {}
            Err(error) => {
                self.then
                    .check(partition.key(), partition.go_offline(|_| true));
                if is_news && matches!(error, NotTaken::PutOff) {
                    self.applied.put_off += 1;
                } else if is_news {
                    warn!(partition = %name, error = &error as &dyn Error, "partition is offline");
                    self.applied.not_taken.push((name.clone(), error));
                }
            }
        }
        let mut isr_check = manager.isr_check.lock();
        isr_check.partition_changed(&partition, self.now.instant);
        drop(isr_check);
        self.hosted().insert(name, partition);
    }

    /// Has a partition tried again that may do better later. Says whether it is news that it could
    /// not be taken, if it could not.
    fn note_for_retry(&self, name: &TopicPartition, taken: &Result<Became, NotTaken>) -> bool {
        let may_pass = matches!(
            taken,
            Err(NotTaken::PutOff
                | NotTaken::Create(CreateError::Shortage(_) | CreateError::NameTaken { .. }))
        );
        let mut retries = self.manager.taking.retries.lock();
        if !may_pass {
            retries.remove(name);
            return true;
        }
        let added = match taken {
            Err(NotTaken::PutOff) => retries.add(name, self.now.instant),
            _ => retries.add_failed(name, self.now.instant),
        };
        drop(retries);
        if let Some(waker) = added.wakes {
            waker.wake();
        }
        added.is_news
    }

    /// Gives a partition its log, and its role over it.
    fn take(
        &mut self,
        partition: &Partition<D>,
        topic: &TopicImage,
        image: &PartitionImage,
        settings: &TopicSettings,
    ) -> Result<Became, NotTaken> {
        let name = partition.name();
        let logs = &self.manager.logs;
        if self.manager.taking.may_be_lost(image) && logs.get(name).is_none() {
            return Err(NotTaken::LogLost);
        }
        if let Some(not_opened) = self.not_opened.remove(name) {
            self.is_short |= matches!(not_opened, NotTaken::Create(_));
            return Err(not_opened);
        }
        let log = match self.made.remove(name) {
            Some(made) => made,
            None if logs.get(name).is_none() && self.is_short => return Err(NotTaken::PutOff),
            None => self.make_log(name, topic, settings),
        };
        let log = match log {
            Err(error) if self.makes_way(name, &error) => self.make_log(name, topic, settings),
            made => made,
        }?;
        {
            // One that was there already may have been opened with others.
            let mut log = log.lock();
            if *log.config() != settings.log {
                log.set_config(settings.log.clone());
            }
        }
        let (became, checks) = partition.become_role(image, &log, self.now.instant);
        self.then.check(partition.key(), checks);
        let became = became?;
        match became {
            Became::Leader { is_new: true } => {
                let (leader_epoch, isr) = (image.leader_epoch, &image.isr);
                info!(partition = %name, %leader_epoch, ?isr, "partition is led here");
            }
            Became::Follower {
                is_new: true,
                leader,
            } => {
                let leader_epoch = image.leader_epoch;
                info!(partition = %name, %leader_epoch, ?leader, "partition follows");
            }
            _ => {}
        }
        Ok(became)
    }

    fn make_log(
        &mut self,
        name: &TopicPartition,
        topic: &TopicImage,
        settings: &TopicSettings,
    ) -> Result<Arc<PartitionLog<D>>, CreateError> {
        let logs = &self.manager.logs;
        let made = logs.create(name, topic_id(topic), &settings.log, self.now.unix_ms);
        self.is_short |= is_short(&made);
        made
    }

    /// Whether what kept the partition from being made was a deleted topic of the same name, whose
    /// log could not be opened when it should have gone, and is gone now; or is in a log directory that
    /// is offline, and is not minded any more.
    fn makes_way(&self, name: &TopicPartition, error: &CreateError) -> bool {
        let (logs, now) = (&self.manager.logs, self.now.instant);
        let was_deleted = |id| self.image.deleted_topics().any(|it| it == id);
        let deleted = match error {
            CreateError::InconsistentTopicId { found, .. } if was_deleted(*found) => {
                logs.delete(name, now)
            }
            // Nothing tells that files without an id are of such a topic.
            CreateError::Unavailable { .. } => {
                logs.delete_unserved(name, |id| id.is_some_and(was_deleted), now)
            }
            // It is deleted already, and keeps its name until there is room for another; for good
            // if its directory has failed since.
            CreateError::NameTaken { .. } => Err(DeleteError::Offline),
            _ => return false,
        };
        match deleted {
            Err(DeleteError::Offline) => logs.forget_offline(name, was_deleted),
            deleted => deleted.is_ok(),
        }
    }

    /// A partition that is not placed here, if it was. (RE-012)
    fn let_go(&mut self, topic: &TopicImage, index: PartitionIndex) {
        let name = TopicPartition::new(topic.name.clone(), index);
        self.manager.taking.retries.lock().remove(&name);
        let is_it = |it: &Arc<Partition<D>>| it.topic_id() == topic.id;
        let hosted = self.manager.hosted.load();
        let hosted = self.hosted.as_ref().unwrap_or(&hosted);
        if !hosted.get(&name).is_some_and(is_it) {
            return;
        }
        let Some(partition) = self.hosted().remove(&name) else {
            return;
        };
        self.then.check(partition.key(), partition.remove());
        self.manager
            .isr_check
            .lock()
            .partition_gone(partition.key());
        let (logs, now) = (&self.manager.logs, self.now.instant);
        let deleted = match logs.delete(&name, now) {
            // Unless its files are only waiting to be opened, or make no sense. Those that do not say
            // whose they are have been this topic's, by their name.
            Err(DeleteError::Offline) => {
                logs.delete_unserved(&name, |id| id.is_none_or(|id| id == topic.id), now)
            }
            deleted => deleted,
        };
        match deleted {
            Ok(()) | Err(DeleteError::NotFound) => {}
            Err(error @ DeleteError::Offline) => {
                warn!(partition = %name, error = &error as &dyn Error, "log not deleted");
            }
        }
        self.applied.removed.push(name);
    }

    /// What is hosted, to be changed.
    fn hosted(&mut self) -> &mut Hosted<D> {
        let now = &self.manager.hosted;
        self.hosted.get_or_insert_with(|| (**now.load()).clone())
    }

    fn settings_of(&mut self, topic: &Arc<str>) -> Arc<TopicSettings> {
        let ask = || Arc::new(self.manager.settings.settings_of(self.image, topic));
        let known = self.settings.entry(Arc::clone(topic));
        Arc::clone(known.or_insert_with(ask))
    }
}

/// A partition of a topic, and what the metadata says of it.
type Placed<'a> = (&'a TopicImage, PartitionIndex, &'a PartitionImage);

fn is_short<L>(made: &Result<L, CreateError>) -> bool {
    matches!(made, Err(CreateError::Shortage(_)))
}

fn topic_id(topic: &TopicImage) -> Option<TopicId> {
    Some(topic.id).filter(|id| !id.is_zero())
}
