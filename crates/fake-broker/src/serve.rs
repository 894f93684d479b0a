//! A request and what goes wrong with it, to what a node does.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use klamm_primitives::{BrokerId, TopicPartition};
use klamm_wire::messages::produce::ProduceRequest;
use klamm_wire::{ApiKey, RequestError, RequestFrame};

use crate::answers::{OFFER, Outcome};
use crate::fault::{Chosen, Fault, RequestFacts};
use crate::model::{ClusterModel, SeenRequest};

/// What a node does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// How long it waits first; what is behind on the connection waits, too.
    pub delay: Duration,
    /// What it writes: a frame with its size in front, or what a fault makes of it; empty if it
    /// says nothing.
    pub bytes: Bytes,
    /// Whether it closes the connection after that.
    pub closes: bool,
}

impl Reply {
    fn write(bytes: Bytes) -> Self {
        Self {
            delay: Duration::ZERO,
            bytes,
            closes: false,
        }
    }

    fn silence() -> Self {
        Self::write(Bytes::new())
    }

    /// Closes the connection when these bytes are written.
    fn close_after(bytes: Bytes) -> Self {
        Self {
            closes: true,
            ..Self::write(bytes)
        }
    }

    fn close() -> Self {
        Self::close_after(Bytes::new())
    }
}

/// Where in a frame the correlation id begins.
const CORRELATION_ID_AT: usize = 4;

impl ClusterModel {
    /// What a node does with a request, which is carried out at once where it is. `connection`
    /// tells the connections apart; `frame` comes without its size.
    pub fn serve(&mut self, node: BrokerId, connection: u64, frame: Bytes) -> Reply {
        let request = match RequestFrame::parse(frame, &OFFER) {
            Ok(request) => request,
            // A version beyond any that is known: its answer is made below.
            Err(RequestError::ApiVersionsUnknown { header }) => RequestFrame {
                key: ApiKey::ApiVersions,
                header: *header,
                body: Bytes::new(),
            },
            Err(_) => return Reply::close(),
        };
        let faults = self.look(node, connection, &request);
        Reply {
            delay: delay_of(&faults),
            ..self.carry_out(node, &request, &faults)
        }
    }

    fn carry_out(&mut self, node: BrokerId, request: &RequestFrame, faults: &[Chosen]) -> Reply {
        let has = |wanted: &Fault| faults.iter().any(|chosen| chosen.fault == *wanted);
        if has(&Fault::CloseBefore) {
            return Reply::close();
        }
        for chosen in faults {
            if let Fault::Garbage(bytes) = &chosen.fault {
                return Reply::write(Bytes::copy_from_slice(bytes));
            }
        }
        if has(&Fault::Ignore) {
            return Reply::silence();
        }
        let outcome = self.answer(node, request, faults);
        if has(&Fault::CloseAfter) {
            return Reply::close();
        }
        match outcome {
            Outcome::Close => Reply::close(),
            Outcome::Silence(acknowledged) => {
                self.acknowledged.extend(acknowledged);
                Reply::silence()
            }
            Outcome::Write(..) if has(&Fault::Swallow) => Reply::silence(),
            Outcome::Write(frame, acknowledged) => {
                let bytes = frame.into_bytes().expect("no answer here has a gap");
                if has(&Fault::CloseInAnswer) {
                    return Reply::close_after(bytes.slice(..bytes.len() / 2));
                }
                if has(&Fault::WrongCorrelationId) {
                    let mut bytes = BytesMut::from(bytes);
                    bytes[CORRELATION_ID_AT] ^= 0x40;
                    return Reply::write(bytes.freeze());
                }
                self.acknowledged.extend(acknowledged);
                Reply::write(bytes)
            }
        }
    }

    /// Notes a request, and finds what is to go wrong with it.
    fn look(&mut self, node: BrokerId, connection: u64, request: &RequestFrame) -> Vec<Chosen> {
        let number = self.count_request(node);
        if self.options.keep_requests {
            self.seen.push(SeenRequest {
                node,
                connection,
                key: request.key,
                version: request.version(),
                client_id: request.header.client_id.as_ref().map(ToString::to_string),
            });
        }
        if self.script.is_empty() {
            return Vec::new();
        }
        let facts = RequestFacts {
            node,
            key: request.key,
            version: request.version(),
            number,
            partitions: self.partitions_of(request),
        };
        self.script.choose(&facts)
    }

    fn partitions_of(&self, request: &RequestFrame) -> Vec<TopicPartition> {
        let mut partitions = Vec::new();
        if request.key == ApiKey::Produce
            && let Ok(produce) = request.decode::<ProduceRequest>()
        {
            for topic in &produce.topic_data {
                if let Some(name) = self.produced_topic(topic) {
                    let indices = topic.partition_data.iter().map(|partition| partition.index);
                    let named = |index| TopicPartition::new(name.clone(), index);
                    partitions.extend(indices.map(named));
                }
            }
        }
        partitions
    }
}

fn delay_of(faults: &[Chosen]) -> Duration {
    let delay = faults.iter().find_map(|chosen| match chosen.fault {
        Fault::Delay(delay) => Some(delay),
        _ => None,
    });
    delay.unwrap_or_default()
}
