//! Sending one record: eight steps, of which the usual record takes each once and waits for none.
//! (P2)

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use klamm_client::Topic;
use klamm_primitives::PartitionIndex;
use klamm_records::Header;

use crate::accumulator::{Appended, Attempt, Listener, Place, TopicQueues, partition_count};
use crate::batch::{Draft, run};
use crate::delivery::Delivery;
use crate::error::{DeliveryError, Failure, Field, SendError};
use crate::interceptor::Acknowledged;
use crate::producer::choosing::{Chosen, choice};
use crate::producer::metadata::enough;
use crate::producer::scratch::Scratch;
use crate::producer::{Producer, Shared};
use crate::record::{Record, RecordHeader, RecordMetadata};
use crate::serializer::Target;

/// Records with at most so many headers have them put together on the stack.
const HEADERS_ON_STACK: usize = 8;

/// How a record's way ended before it was in a batch: by the call, or by its delivery.
pub(super) enum Stopped {
    Call(SendError),
    Record(Option<PartitionIndex>, Failure),
}

impl From<SendError> for Stopped {
    fn from(error: SendError) -> Self {
        Self::Call(error)
    }
}

/// A key and a value as bytes.
type Serialized<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// A record's serialized parts.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) topic: &'a Arc<str>,
    pub(super) asked_for: Option<PartitionIndex>,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    pub(super) timestamp_ms: i64,
}

/// How far a record comes without waiting.
enum AtOnce<'a> {
    /// All the way: into the last batch of its queue.
    Appended(Appended),
    /// Its topic, or its partition of it, is not known.
    Unknown,
    /// It has a partition, and there is no batch with room.
    Left(Left<'a>),
}

/// What was made of a record that has to go on by another way.
struct Left<'a> {
    known: Arc<Topic>,
    parts: Parts<'a>,
    chosen: Chosen,
}

impl<K, V> Producer<K, V> {
    /// Sends a record. When this returns the record is in a batch, in the order of the calls; what
    /// becomes of it comes through the [`Delivery`].
    ///
    /// Waits, for `max.block.ms` at most, for a topic that is not known yet and for memory; who
    /// drops the future then sends nothing.
    ///
    /// # Errors
    /// [`SendError`], where the call is at fault. Everything else, a record that is too large
    /// included, comes through the delivery. (P2.9)
    pub fn send(&self, record: Record<K, V>) -> impl Future<Output = Result<Delivery, SendError>> {
        let listener = Listener::new(!self.shared.interceptors.is_empty(), None);
        self.shared.send(record, listener)
    }

    /// As [`send`](Self::send), and has `callback` called with what became of the record: exactly
    /// once, in the sender's task (or in this call, if the record fails in it), in the order of
    /// the records of a partition. It must not block. If the call itself fails, the callback is
    /// dropped.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with(
        &self,
        record: Record<K, V>,
        callback: impl FnOnce(Result<RecordMetadata, DeliveryError>) + Send + 'static,
    ) -> impl Future<Output = Result<Delivery, SendError>> {
        let listener = Listener::new(true, Some(Box::new(callback)));
        self.shared.send(record, listener)
    }
}

impl<K, V> Shared<K, V> {
    /// The whole call. What it is given stays in the future: as arguments of an `async fn` they
    /// would be moved once more, which is a good part of what a record costs.
    #[expect(clippy::manual_async_fn, reason = "see above")]
    fn send(
        &self,
        mut record: Record<K, V>,
        mut listener: Listener,
    ) -> impl Future<Output = Result<Delivery, SendError>> {
        async move {
            if !self.interceptors.is_empty() {
                record = self.interceptors.on_send(record);
            }
            let needs_scratch =
                self.key_serializer.uses_scratch() || self.value_serializer.uses_scratch();
            let mut scratch = if needs_scratch {
                self.scratch.take()
            } else {
                Scratch::default()
            };
            let sent = match self.put_at_once(&record, &mut scratch, &mut listener) {
                Ok(AtOnce::Appended(appended)) => Ok(appended),
                Ok(AtOnce::Left(left)) => self.put_on(&record, left, &mut listener, None).await,
                Ok(AtOnce::Unknown) => self.put_unknown(&record, &mut scratch, &mut listener).await,
                Err(stopped) => Err(stopped),
            };
            if needs_scratch {
                self.scratch.give_back(scratch);
            }
            match sent {
                Ok(appended) => {
                    if appended.wake {
                        self.client.wake();
                    }
                    Ok(listener.into_delivery())
                }
                Err(stopped) => self.stopped(record.topic, stopped, listener),
            }
        }
    }

    /// Tells whoever listens of a record that never came into a batch.
    fn stopped(
        &self,
        topic: Arc<str>,
        stopped: Stopped,
        listener: Listener,
    ) -> Result<Delivery, SendError> {
        match stopped {
            Stopped::Call(error) => {
                self.tell(&Err(DeliveryError {
                    topic,
                    partition: None,
                    failure: Self::call_failed(&error),
                }));
                Err(error)
            }
            Stopped::Record(partition, failure) => {
                let error = DeliveryError {
                    topic,
                    partition,
                    failure,
                };
                let outcome = Err(error.clone());
                self.tell(&outcome);
                if let Some(callback) = listener.into_callback() {
                    run(callback, outcome);
                }
                Ok(Delivery::failed(error))
            }
        }
    }

    /// The whole way of nearly all records: the topic is known, and there is room in the last
    /// batch of its queue. Nothing is counted, cloned or allocated but the record's share of its
    /// batch.
    #[inline]
    fn put_at_once<'a>(
        &self,
        record: &'a Record<K, V>,
        scratch: &'a mut Scratch,
        listener: &mut Listener,
    ) -> Result<AtOnce<'a>, Stopped> {
        self.check_open()?;
        let topics = self.accumulator.topics();
        if let Some(topic) = topics.get(&record.topic) {
            return self.put_into(topic, record, scratch, listener);
        }
        // Its first record: only a topic that is there gets queues.
        if !self.is_known(record) {
            return Ok(AtOnce::Unknown);
        }
        let topic = self.accumulator.topic(&record.topic);
        self.put_into(&topic, record, scratch, listener)
    }

    fn is_known(&self, record: &Record<K, V>) -> bool {
        let cluster = self.client.metadata().look();
        enough(&cluster, &record.topic, record.partition()).is_some()
    }

    #[inline]
    fn put_into<'a>(
        &self,
        topic: &TopicQueues,
        record: &'a Record<K, V>,
        scratch: &'a mut Scratch,
        listener: &mut Listener,
    ) -> Result<AtOnce<'a>, Stopped> {
        let count = self.partition_count(topic);
        let needed = record.partition().map_or(0, PartitionIndex::get);
        let Some(count) = count.filter(|count| needed.unsigned_abs() < count.get()) else {
            return Ok(AtOnce::Unknown);
        };
        let (key, value) = self.serialize(record, scratch)?;
        let parts = Parts {
            topic: &record.topic,
            asked_for: record.partition(),
            key,
            value,
            timestamp_ms: record.timestamp_ms().unwrap_or_else(|| self.time.unix_ms()),
        };
        let attempted = with_headers(&record.headers, |headers| {
            let draft = Draft::new(key, value, headers, parts.timestamp_ms);
            self.try_last_batch(topic, count, parts, &draft, listener)
        });
        Ok(match attempted? {
            Ok(appended) => AtOnce::Appended(appended),
            Err(chosen) => {
                let cluster = self.client.metadata().look();
                match cluster.topic(&record.topic) {
                    Some(known) => AtOnce::Left(Left {
                        known: Arc::clone(known),
                        parts,
                        chosen,
                    }),
                    None => AtOnce::Unknown,
                }
            }
        })
    }

    /// Chooses a partition and looks into its last batch. Without room there, returns what was
    /// chosen.
    #[inline]
    fn try_last_batch(
        &self,
        topic: &TopicQueues,
        count: NonZeroU32,
        parts: Parts<'_>,
        draft: &Draft<'_>,
        listener: &mut Listener,
    ) -> Result<Result<Appended, Chosen>, Stopped> {
        let chosen = self.choose(topic, count, parts)?;
        self.check_size(draft)
            .map_err(|failure| Stopped::Record(Some(chosen.partition), failure))?;
        let candidates = || self.candidates(topic);
        let attempt = topic.with_queue(chosen.partition, |queue| {
            let place = Place {
                topic,
                queue,
                sticky: if chosen.is_sticky {
                    Some(&candidates)
                } else {
                    None
                },
            };
            place.try_append(draft, listener)
        });
        match attempt {
            Some(Attempt::Appended(appended)) => Ok(Ok(appended)),
            Some(Attempt::Closed) => Err(SendError::Closed.into()),
            Some(Attempt::NeedsBatch | Attempt::Moved) | None => Ok(Err(chosen)),
        }
    }

    /// Waits for what is not known of the topic, then sends as ever.
    async fn put_unknown(
        &self,
        record: &Record<K, V>,
        scratch: &mut Scratch,
        listener: &mut Listener,
    ) -> Result<Appended, Stopped> {
        let until = self.deadline();
        loop {
            let found = self
                .await_topic(&record.topic, record.partition(), until)
                .await?;
            found.map_err(|failure| Stopped::Record(record.partition(), failure))?;
            match self.put_at_once(record, scratch, listener)? {
                AtOnce::Appended(appended) => return Ok(appended),
                AtOnce::Left(left) => {
                    return self.put_on(record, left, listener, Some(until)).await;
                }
                // It was known, and is not any more.
                AtOnce::Unknown => {}
            }
        }
    }

    #[inline]
    fn serialize<'a>(
        &self,
        record: &'a Record<K, V>,
        scratch: &'a mut Scratch,
    ) -> Result<Serialized<'a>, SendError> {
        let target = Target {
            topic: &record.topic,
            headers: &record.headers,
        };
        let refused = |field| {
            move |source| SendError::Serialize {
                field,
                topic: Arc::clone(&record.topic),
                source,
            }
        };
        let Scratch { key, value } = scratch;
        let key = match &record.key {
            Some(data) => {
                let bytes = self.key_serializer.serialize(target, data, key);
                Some(bytes.map_err(refused(Field::Key))?)
            }
            None => None,
        };
        let value = match &record.value {
            Some(data) => {
                let bytes = self.value_serializer.serialize(target, data, value);
                Some(bytes.map_err(refused(Field::Value))?)
            }
            None => None,
        };
        Ok((key, value))
    }

    /// Refuses what could never be sent, before it takes memory. (P2.4)
    #[inline]
    fn check_size(&self, draft: &Draft<'_>) -> Result<(), Failure> {
        let size = draft.batch_size_max();
        for (limit, setting) in [
            (self.limits.max_request_size as u64, "max.request.size"),
            (self.limits.buffer_memory, "buffer.memory"),
        ] {
            if size as u64 > limit {
                return Err(Failure::RecordTooLarge {
                    size,
                    limit,
                    setting,
                });
            }
        }
        Ok(())
    }

    /// Goes on with a record that has a partition: finds a batch with room, or memory for one.
    async fn put_on(
        &self,
        record: &Record<K, V>,
        left: Left<'_>,
        listener: &mut Listener,
        mut deadline: Option<Instant>,
    ) -> Result<Appended, Stopped> {
        let Left {
            known,
            parts,
            mut chosen,
        } = left;
        let known = &*known;
        let headers: Vec<Header<'_>> = record.headers.iter().map(borrowed).collect();
        let draft = &Draft::new(parts.key, parts.value, &headers, parts.timestamp_ms);
        let topic = self.accumulator.topic(parts.topic);
        let count = partition_count(known).unwrap_or(NonZeroU32::MIN);
        let candidates = || self.accumulator.candidates(&topic, known);
        loop {
            let queue = self.accumulator.queue(&topic, chosen.partition);
            let place = Place {
                topic: &topic,
                queue: &queue,
                sticky: if chosen.is_sticky {
                    Some(&candidates)
                } else {
                    None
                },
            };
            let attempt = match place.try_append(draft, listener) {
                Attempt::NeedsBatch if chosen.may_change => {
                    let partitioner = self.partitioner.as_deref();
                    if let Some(partitioner) = partitioner {
                        let choice = choice(count, Some(known), parts);
                        partitioner.on_new_batch(&choice, chosen.partition);
                    }
                    chosen = self.choose(&topic, count, parts)?;
                    chosen.may_change = false;
                    continue;
                }
                Attempt::NeedsBatch => {
                    let size = self.accumulator.new_batch_size(draft);
                    let memory = self.memory(size, &mut deadline).await;
                    let memory = memory.map_err(|stopped| match stopped {
                        Stopped::Record(_, failure) => {
                            Stopped::Record(Some(chosen.partition), failure)
                        }
                        call @ Stopped::Call(_) => call,
                    })?;
                    let now = self.time.now();
                    known.touch(now);
                    self.accumulator
                        .append_to_new(place, draft, listener, memory, now)
                }
                other => other,
            };
            match attempt {
                Attempt::Appended(appended) => return Ok(appended),
                Attempt::Moved => chosen = self.choose(&topic, count, parts)?,
                // A batch with room came and went between the two looks.
                Attempt::NeedsBatch => {}
                Attempt::Closed => return Err(SendError::Closed.into()),
            }
        }
    }
}

/// Puts borrowed headers together, on the stack if they are few.
#[inline]
fn with_headers<T>(headers: &[RecordHeader], then: impl FnOnce(&[Header<'_>]) -> T) -> T {
    if headers.is_empty() {
        return then(&[]);
    }
    if headers.len() > HEADERS_ON_STACK {
        let headers: Vec<Header<'_>> = headers.iter().map(borrowed).collect();
        return then(&headers);
    }
    let mut few = [Header::new("", None); HEADERS_ON_STACK];
    for (place, header) in few.iter_mut().zip(headers) {
        *place = borrowed(header);
    }
    then(&few[..headers.len()])
}

fn borrowed(header: &RecordHeader) -> Header<'_> {
    Header::new(&header.key, header.value.as_deref())
}
