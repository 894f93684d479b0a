//! [`TcpNet`]: TCP by tokio.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpSocket, TcpStream};

use crate::net::{ListenOptions, Listener, Net, SocketOptions};
use crate::net_error::{NetError, NetOperation};

/// TCP, by the operating system and tokio's runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpNet;

/// A listening socket of [`TcpNet`].
#[derive(Debug)]
pub struct TcpListener {
    listener: tokio::net::TcpListener,
    local_address: SocketAddr,
}

impl Net for TcpNet {
    type Stream = TcpStream;
    type Listener = TcpListener;

    fn bind(&self, address: SocketAddr, options: ListenOptions) -> Result<TcpListener, NetError> {
        let bind = || {
            // What the kernel hands to `accept` inherits the options of the listening socket; the
            // buffers must be known before it listens, for the window that is announced.
            let socket = socket_for(address, options.socket)?;
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            let listener = socket.listen(options.backlog)?;
            Ok(TcpListener {
                local_address: listener.local_addr()?,
                listener,
            })
        };
        bind().map_err(|source| NetError::new(NetOperation::Bind, address.to_string(), source))
    }

    fn check_free(&self, address: SocketAddr) -> Result<(), NetError> {
        let check = || {
            let socket = socket_for(address, SocketOptions::default())?;
            socket.set_reuseaddr(true)?;
            // Bound and not listening, it refuses whoever comes, as a port does that nobody has.
            socket.bind(address)
        };
        check().map_err(|source| NetError::new(NetOperation::Bind, address.to_string(), source))
    }

    async fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> Result<TcpStream, NetError> {
        let connect = async { socket_for(address, options)?.connect(address).await };
        connect
            .await
            .map_err(|source| NetError::new(NetOperation::Connect, address.to_string(), source))
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, NetError> {
        let look_up = async {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
            if found.is_empty() {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(found)
        };
        look_up
            .await
            .map_err(|source| NetError::new(NetOperation::Resolve, host, source))
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    fn local_address(&self) -> SocketAddr {
        self.local_address
    }

    async fn accept(&mut self) -> Result<(TcpStream, SocketAddr), NetError> {
        self.listener.accept().await.map_err(|source| {
            NetError::new(NetOperation::Accept, self.local_address.to_string(), source)
        })
    }
}

/// A socket with the options that all of ours have.
fn socket_for(address: SocketAddr, options: SocketOptions) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.set_nodelay(true)?;
    socket.set_keepalive(true)?;
    if let Some(bytes) = options.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use rustix::net::sockopt;

    use super::*;
    use crate::testing::check_net;
    use crate::{NetErrorKind, SystemClock};

    #[tokio::test]
    async fn conforms() {
        check_net(&TcpNet, &SystemClock, "127.0.0.1".parse().unwrap()).await;
    }

    /// Covers CL-085.
    #[tokio::test]
    async fn both_ends_have_the_options() {
        let options = SocketOptions {
            send_buffer_bytes: Some(100_000),
            receive_buffer_bytes: Some(50_000),
        };
        let listen = ListenOptions {
            backlog: 3,
            socket: options,
        };
        let mut listener = TcpNet.bind("127.0.0.1:0".parse().unwrap(), listen).unwrap();
        let client = TcpNet
            .connect(listener.local_address(), options)
            .await
            .unwrap();
        let (server, peer) = listener.accept().await.unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
        for stream in [&client, &server] {
            assert!(stream.nodelay().unwrap());
            assert!(sockopt::socket_keepalive(stream).unwrap());
            // Linux doubles what is asked for, to count its own bookkeeping.
            assert!(sockopt::socket_send_buffer_size(stream).unwrap() >= 100_000);
            let receive = sockopt::socket_recv_buffer_size(stream).unwrap();
            assert!((50_000..=100_000).contains(&receive), "{receive}");
        }
    }

    #[tokio::test]
    async fn an_address_is_free_again_at_once() {
        let any = "127.0.0.1:0".parse().unwrap();
        let mut listener = TcpNet.bind(any, ListenOptions::default()).unwrap();
        let address = listener.local_address();
        let client = TcpNet
            .connect(address, SocketOptions::default())
            .await
            .unwrap();
        // The accepted side closes first, so that its address stays in TIME-WAIT.
        drop(listener.accept().await.unwrap());
        drop(listener);
        let listener = TcpNet.bind(address, ListenOptions::default()).unwrap();
        drop((client, listener));
    }

    #[tokio::test]
    async fn an_address_of_another_machine_is_refused() {
        // Reserved for documentation, so nobody's.
        let address = "192.0.2.1:0".parse().unwrap();
        let error = TcpNet.bind(address, ListenOptions::default()).unwrap_err();
        assert_eq!(error.kind(), NetErrorKind::Failed);
        assert_eq!(error.to_string(), "cannot listen on 192.0.2.1:0");
    }
}
