//! A node's tasks: one that accepts, and one for each connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use klamm_io::{Clock, Listener, Net};
use klamm_primitives::{BrokerId, TopicPartition};
use klamm_wire::messages::produce::ProduceRequest;
use klamm_wire::{ApiKey, Encoded, FrameCodec, RequestError, RequestFrame};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio_util::codec::Decoder;
use tracing::debug;

use crate::answers::{OFFER, Outcome};
use crate::fault::{Chosen, Fault, RequestFacts};
use crate::model::{Model, SeenRequest};

/// The greatest request that is taken.
const FRAME_BYTES_MAX: usize = 128 << 20;

/// Accepts until `life` ends; with it end the connections.
pub(crate) async fn accept<N: Net, C: Clock>(
    mut listener: N::Listener,
    node: BrokerId,
    model: Arc<Mutex<Model>>,
    clock: C,
    mut life: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            _ = life.wait_for(|alive| !alive) => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            continue;
        };
        let number = {
            let mut model = model.lock();
            model.open_connections += 1;
            model.connections += 1;
            model.connections
        };
        let served = Connection {
            stream,
            node,
            number,
            model: model.clone(),
            clock: clock.clone(),
        };
        let (mut life, model) = (life.clone(), model.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = life.wait_for(|alive| !alive) => {}
                () = served.serve() => {}
            }
            model.lock().open_connections -= 1;
        });
    }
}

struct Connection<S, C> {
    stream: S,
    node: BrokerId,
    number: u64,
    model: Arc<Mutex<Model>>,
    clock: C,
}

/// Whether a connection goes on.
enum Next {
    GoOn,
    End,
}

impl<S, C> Connection<S, C>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    C: Clock,
{
    /// One request after the other, until one of them ends it.
    async fn serve(mut self) {
        let mut codec = FrameCodec::new(FRAME_BYTES_MAX);
        let mut inbound = BytesMut::new();
        loop {
            match codec.decode(&mut inbound) {
                Ok(Some(frame)) => match self.handle(frame).await {
                    Ok(Next::GoOn) => {}
                    Ok(Next::End) | Err(_) => return,
                },
                Ok(None) => match self.stream.read_buf(&mut inbound).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                },
                Err(error) => {
                    debug!(%error, "not a frame");
                    return;
                }
            }
        }
    }

    async fn handle(&mut self, frame: Bytes) -> std::io::Result<Next> {
        let request = match RequestFrame::parse(frame, &OFFER) {
            Ok(request) => request,
            // A version beyond any that is known: its answer is made below.
            Err(RequestError::ApiVersionsUnknown { header }) => RequestFrame {
                key: ApiKey::ApiVersions,
                header: *header,
                body: Bytes::new(),
            },
            Err(_) => return Ok(Next::End),
        };
        let faults = self.look(&request);
        let has = |wanted: &Fault| faults.iter().any(|chosen| chosen.fault == *wanted);
        if let Some(delay) = delay_of(&faults) {
            let until = self.clock.now() + delay;
            self.clock.sleep_until(Some(until)).await;
        }
        if has(&Fault::CloseBefore) {
            return Ok(Next::End);
        }
        for chosen in &faults {
            if let Fault::Garbage(bytes) = &chosen.fault {
                self.stream.write_all(bytes).await?;
                return Ok(Next::GoOn);
            }
        }
        if has(&Fault::Ignore) {
            return Ok(Next::GoOn);
        }
        let outcome = self.model.lock().answer(self.node, &request, &faults);
        if has(&Fault::CloseAfter) {
            return Ok(Next::End);
        }
        match outcome {
            Outcome::Close => Ok(Next::End),
            Outcome::Silence(acknowledged) => {
                self.model.lock().acknowledged.extend(acknowledged);
                Ok(Next::GoOn)
            }
            Outcome::Write(..) if has(&Fault::Swallow) => Ok(Next::GoOn),
            Outcome::Write(frame, acknowledged) => {
                let mut bytes = whole(frame);
                if has(&Fault::CloseInAnswer) {
                    bytes.truncate(bytes.len() / 2);
                    self.stream.write_all(&bytes).await?;
                    return Ok(Next::End);
                }
                if has(&Fault::WrongCorrelationId) {
                    bytes[4] ^= 0x40;
                } else {
                    // Noted first: once it is written, somebody may look.
                    self.model.lock().acknowledged.extend(acknowledged);
                }
                self.stream.write_all(&bytes).await?;
                Ok(Next::GoOn)
            }
        }
    }

    /// Notes a request, and finds what is to go wrong with it.
    fn look(&self, request: &RequestFrame) -> Vec<Chosen> {
        let mut model = self.model.lock();
        let number = model.nodes.get_mut(&self.node).map_or(0, |node| {
            node.requests += 1;
            node.requests - 1
        });
        if model.options.keep_requests {
            model.seen.push(SeenRequest {
                node: self.node,
                connection: self.number,
                key: request.key,
                version: request.version(),
                client_id: request.header.client_id.as_ref().map(ToString::to_string),
            });
        }
        if model.script.is_empty() {
            return Vec::new();
        }
        let facts = RequestFacts {
            node: self.node,
            key: request.key,
            version: request.version(),
            number,
            partitions: partitions_of(request, &model),
        };
        model.script.choose(&facts)
    }
}

fn partitions_of(request: &RequestFrame, model: &Model) -> Vec<TopicPartition> {
    let mut partitions = Vec::new();
    if request.key == ApiKey::Produce
        && let Ok(produce) = request.decode::<ProduceRequest>()
    {
        for topic in &produce.topic_data {
            if let Some(name) = model.produced_topic(topic) {
                let indices = topic.partition_data.iter().map(|partition| partition.index);
                partitions.extend(indices.map(|index| TopicPartition::new(name.clone(), index)));
            }
        }
    }
    partitions
}

fn delay_of(faults: &[Chosen]) -> Option<Duration> {
    faults.iter().find_map(|chosen| match chosen.fault {
        Fault::Delay(delay) => Some(delay),
        _ => None,
    })
}

fn whole(frame: Encoded) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(frame.len());
    let mut whole = frame.into_bytes().expect("no answer here has a gap");
    bytes.extend_from_slice(&whole);
    whole.advance(whole.len());
    bytes
}
