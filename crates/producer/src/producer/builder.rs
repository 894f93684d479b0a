//! [`ProducerBuilder`]: puts a producer together. (P1)

use std::sync::Arc;

use bytes::Bytes;
use klamm_client::{BootstrapError, ClientTask, resolvable};
use klamm_io::{Clock, Net, SystemClock, TcpNet};
use parking_lot::Mutex;
use thiserror::Error;
use tracing::warn;

use crate::accumulator::{RecordAccumulator, Rules};
use crate::buffer_pool::BufferPool;
use crate::config::{ProducerConfig, Strategy};
use crate::interceptor::{Acknowledged, Interceptor, Interceptors};
use crate::lifecycle::Lifecycle;
use crate::metrics::Metrics;
use crate::partitioner::{Partitioner, RoundRobin};
use crate::producer::scratch::ScratchPool;
use crate::producer::{Limits, Producer, Shared};
use crate::sender::{Sender, SenderShared};
use crate::serializer::{BytesSerializer, Serializer};
use crate::time::Time;

/// Why no producer was built. Nothing is left behind.
#[derive(Debug, Error)]
pub enum BuildError {
    /// No address of the cluster can be found.
    #[error("bootstrap.servers: {0}")]
    Bootstrap(BootstrapError),
}

// The words of the cause are in those of the error: it is not its source, too.
impl From<BootstrapError> for BuildError {
    fn from(error: BootstrapError) -> Self {
        Self::Bootstrap(error)
    }
}

/// Puts a producer together.
pub struct ProducerBuilder<K, V> {
    config: ProducerConfig,
    key_serializer: Arc<dyn Serializer<K>>,
    value_serializer: Arc<dyn Serializer<V>>,
    partitioner: Option<Arc<dyn Partitioner>>,
    interceptors: Vec<Arc<dyn Interceptor<K, V>>>,
}

impl Producer {
    /// A producer of bytes.
    pub fn builder(config: ProducerConfig) -> ProducerBuilder<Bytes, Bytes> {
        Producer::typed(config, BytesSerializer, BytesSerializer)
    }
}

impl<K: Send + Sync + 'static, V: Send + Sync + 'static> Producer<K, V> {
    /// A producer of keys and values that have these serializers.
    pub fn typed(
        config: ProducerConfig,
        key_serializer: impl Serializer<K> + 'static,
        value_serializer: impl Serializer<V> + 'static,
    ) -> ProducerBuilder<K, V> {
        ProducerBuilder {
            config,
            key_serializer: Arc::new(key_serializer),
            value_serializer: Arc::new(value_serializer),
            partitioner: None,
            interceptors: Vec::new(),
        }
    }
}

impl<K: Send + Sync + 'static, V: Send + Sync + 'static> ProducerBuilder<K, V> {
    /// Chooses partitions in place of what the configuration says.
    #[must_use]
    pub fn partitioner(mut self, partitioner: impl Partitioner + 'static) -> Self {
        self.partitioner = Some(Arc::new(partitioner));
        self
    }

    /// Adds an interceptor behind those that are there.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor<K, V> + 'static) -> Self {
        self.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Builds the producer, whose task runs on the tokio runtime that this is called in. No
    /// broker is asked anything yet; only the bootstrap names are looked up.
    ///
    /// # Errors
    /// [`BuildError::Bootstrap`] if none of them has an address.
    pub async fn build(self) -> Result<Producer<K, V>, BuildError> {
        self.build_on(TcpNet, SystemClock, fastrand::u64(..)).await
    }

    /// As [`build`](Self::build), with another network and clock: of a simulation, say. `seed` is
    /// for jitter and draws, so that the same seed on the same network does the same.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub async fn build_on<N: Net, C: Clock>(
        self,
        net: N,
        clock: C,
        seed: u64,
    ) -> Result<Producer<K, V>, BuildError> {
        let Self {
            mut config,
            key_serializer,
            value_serializer,
            partitioner,
            interceptors,
        } = self;
        for warning in config.warnings() {
            warn!(%warning, "producer setting");
        }
        config.client.bootstrap = resolvable(&net, &config.client.bootstrap).await?;
        if config.client.client_id.is_empty() {
            // Without a count of all producers there ever were, a number that is likely new.
            config.client.client_id = format!("producer-{}", seed % 1_000_000).into();
        }
        let now = Clock::now(&clock);
        let pool = BufferPool::new(config.batching.buffer_memory, config.batching.batch_size);
        let rules = Rules::of(&config);
        let accumulator = Arc::new(RecordAccumulator::new(rules, Arc::new(pool), seed));
        let interceptors = Arc::new(Interceptors(interceptors));
        let lifecycle = Arc::new(Lifecycle::new());
        let metrics = Arc::new(Metrics::new(&config.metrics, now));
        let sender_shared = SenderShared {
            lifecycle: Arc::clone(&lifecycle),
            interceptors: Arc::clone(&interceptors) as Arc<dyn Acknowledged>,
            metrics: Arc::clone(&metrics),
        };
        let queues = Arc::clone(&accumulator);
        let sender = Sender::new(&config, queues, sender_shared, seed.wrapping_add(1), now);
        let client_config = config.client.clone();
        let task = ClientTask::spawn(net, clock.clone(), client_config, seed, sender);
        let client = task.handle().clone();
        let task = tokio::spawn(async move {
            drop(task.join().await);
        });
        let partitioner = partitioner.or_else(|| match config.partitioning.strategy {
            Strategy::BuiltIn => None,
            Strategy::RoundRobin => Some(Arc::new(RoundRobin::default()) as Arc<dyn Partitioner>),
        });
        Ok(Producer {
            shared: Arc::new(Shared {
                client_id: (*config.client.client_id).into(),
                limits: Limits {
                    max_request_size: config.batching.max_request_size,
                    buffer_memory: config.batching.buffer_memory,
                    max_block: config.batching.max_block,
                    ignore_keys: config.partitioning.ignore_keys,
                },
                accumulator,
                client,
                lifecycle,
                time: Arc::new(clock) as Arc<dyn Time>,
                metrics,
                partitioner,
                key_serializer,
                value_serializer,
                scratch: ScratchPool::default(),
                interceptors,
                task: Mutex::new(Some(task)),
            }),
        })
    }
}
