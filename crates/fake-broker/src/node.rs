//! A node's tasks: one that accepts, and one for each connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;
use klamm_io::{Clock, Listener, Net};
use klamm_primitives::BrokerId;
use klamm_wire::FrameCodec;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio_util::codec::Decoder;
use tracing::debug;

use crate::cluster::Shared;

/// The greatest request that is taken.
const FRAME_BYTES_MAX: usize = 128 << 20;

/// Accepts until `life` ends; with it end the connections.
pub(crate) async fn accept<N: Net, C: Clock>(
    mut listener: N::Listener,
    node: BrokerId,
    shared: Arc<Shared>,
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
        shared.open_connections.fetch_add(1, Ordering::Relaxed);
        let served = Connection {
            stream,
            node,
            number: 1 + shared.connections.fetch_add(1, Ordering::Relaxed),
            shared: shared.clone(),
            clock: clock.clone(),
        };
        let (mut life, shared) = (life.clone(), shared.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = life.wait_for(|alive| !alive) => {}
                served = served.serve() => {
                    if let Err(error) = served {
                        debug!(%error, "a connection was lost");
                    }
                }
            }
            shared.open_connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

struct Connection<S, C> {
    stream: S,
    node: BrokerId,
    number: u64,
    shared: Arc<Shared>,
    clock: C,
}

impl<S, C> Connection<S, C>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    C: Clock,
{
    /// One request after the other, until one of them ends it.
    async fn serve(mut self) -> io::Result<()> {
        let mut codec = FrameCodec::new(FRAME_BYTES_MAX);
        let mut inbound = BytesMut::new();
        loop {
            let Some(frame) = codec.decode(&mut inbound).map_err(io::Error::other)? else {
                if self.stream.read_buf(&mut inbound).await? == 0 {
                    return Ok(());
                }
                continue;
            };
            let reply = (self.shared.model.lock()).serve(self.node, self.number, frame);
            if !reply.delay.is_zero() {
                let until = self.clock.now() + reply.delay;
                self.clock.sleep_until(Some(until)).await;
            }
            self.stream.write_all(&reply.bytes).await?;
            if reply.closes {
                return Ok(());
            }
        }
    }
}
