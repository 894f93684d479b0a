//! [`Server`]: the fake cluster behind sockets on the loopback address.

use std::sync::Arc;

use bytes::Bytes;
use klamm_io::{Clock, SystemClock};
use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::fake_cluster::{FakeCluster, Reply};

/// A fake cluster that can be connected to. Dropping it stops its listeners.
pub(crate) struct Server {
    cluster: Arc<Mutex<FakeCluster>>,
    pub(crate) bootstrap: String,
    listeners: Vec<JoinHandle<()>>,
}

impl Server {
    pub(crate) async fn start(mut cluster: FakeCluster) -> Self {
        let mut sockets = Vec::new();
        for id in 1..=cluster.brokers {
            let socket = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback");
            let port = socket.local_addr().expect("it is bound").port();
            cluster.addresses.insert(id, ("127.0.0.1".to_owned(), port));
            sockets.push((id, socket, port));
        }
        let bootstrap = format!("127.0.0.1:{}", sockets[0].2);
        let cluster = Arc::new(Mutex::new(cluster));
        let listeners = sockets
            .into_iter()
            .map(|(id, socket, _)| {
                let cluster = Arc::clone(&cluster);
                tokio::spawn(async move {
                    while let Ok((stream, _)) = socket.accept().await {
                        tokio::spawn(serve(id, stream, Arc::clone(&cluster)));
                    }
                })
            })
            .collect();
        Self {
            cluster,
            bootstrap,
            listeners,
        }
    }

    pub(crate) fn cluster(&self) -> MutexGuard<'_, FakeCluster> {
        self.cluster.lock()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

async fn serve(id: i32, mut stream: TcpStream, cluster: Arc<Mutex<FakeCluster>>) {
    while let Ok(size) = stream.read_u32().await {
        let mut frame = vec![0; size as usize];
        if stream.read_exact(&mut frame).await.is_err() {
            return;
        }
        let reply = cluster.lock().answer(id, Bytes::from(frame));
        match reply {
            Reply::Frame(frame, delay) => {
                if !delay.is_zero() {
                    let clock = SystemClock;
                    clock.sleep_until(Some(clock.now() + delay)).await;
                }
                let size = u32::try_from(frame.len()).expect("a small answer");
                if stream.write_u32(size).await.is_err() || stream.write_all(&frame).await.is_err()
                {
                    return;
                }
            }
            Reply::Close => return,
            Reply::Nothing => {}
        }
    }
}
