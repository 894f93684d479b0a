//! What every [`Net`] must do.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    Clock, ListenOptions, Listener, Net, NetError, NetErrorKind, NetOperation, SocketOptions,
};

/// More than any implementation keeps in its buffers for one connection.
const MORE_THAN_BUFFERED_BYTES: usize = 32 << 20;

/// How long something that must not happen is waited for.
const QUIET: Duration = Duration::from_millis(50);

/// Holds a network to what [`Net`] and [`Listener`] say, by connections of the machine with
/// itself at `host`. To be run within a tokio runtime; the clock must move by itself, or be
/// moved, while the future waits.
///
/// # Panics
/// At the first thing that is not so.
pub async fn check_net<N: Net, C: Clock>(net: &N, clock: &C, host: IpAddr) {
    bytes_go_both_ways(net, host).await;
    one_way_is_closed(net, host).await;
    a_dropped_stream_is_closed(net, host).await;
    unread_bytes_reset(net, host).await;
    a_slow_reader_holds_the_writer(net, clock, host).await;
    connections_wait_to_be_accepted(net, clock, host).await;
    addresses(net, host).await;
    names(net, host).await;
}

async fn pair<N: Net>(net: &N, host: IpAddr) -> (N::Stream, N::Stream) {
    let mut listener = listen(net, host);
    let address = listener.local_address();
    let (client, server) = tokio::join!(
        net.connect(address, SocketOptions::default()),
        listener.accept()
    );
    let (server, peer) = server.unwrap();
    assert_eq!(peer.ip(), host);
    assert_ne!(peer.port(), address.port());
    (client.unwrap(), server)
}

fn listen<N: Net>(net: &N, host: IpAddr) -> N::Listener {
    let any = SocketAddr::new(host, 0);
    let listener = net.bind(any, ListenOptions::default()).unwrap();
    assert_eq!(listener.local_address().ip(), host);
    assert_ne!(listener.local_address().port(), 0);
    listener
}

#[track_caller]
fn kind_of<T>(outcome: Result<T, NetError>, operation: NetOperation, target: &str) -> NetErrorKind {
    let Err(error) = outcome else {
        panic!("to {operation} {target} should have failed");
    };
    assert_eq!(error.operation(), operation);
    assert_eq!(error.target(), target);
    assert!(std::error::Error::source(&error).is_some());
    error.kind()
}

async fn bytes_go_both_ways<N: Net>(net: &N, host: IpAddr) {
    // The listener is gone; what was accepted goes on.
    let (mut client, mut server) = pair(net, host).await;
    let sent: Vec<u8> = (0..200_000u32).map(|i| i.to_le_bytes()[1]).collect();
    for _ in 0..2 {
        let mut received = vec![0; sent.len()];
        let (written, read) = tokio::join!(
            async {
                client.write_all(&sent).await?;
                client.flush().await
            },
            server.read_exact(&mut received)
        );
        written.unwrap();
        read.unwrap();
        assert_eq!(received, sent);
        std::mem::swap(&mut client, &mut server);
    }
}

async fn one_way_is_closed<N: Net>(net: &N, host: IpAddr) {
    let (mut client, mut server) = pair(net, host).await;
    client.write_all(b"request").await.unwrap();
    client.shutdown().await.unwrap();
    assert!(client.write_all(b"more").await.is_err());
    let mut received = Vec::new();
    server.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"request");
    // The end stays the end.
    assert_eq!(server.read(&mut [0]).await.unwrap(), 0);

    server.write_all(b"response").await.unwrap();
    drop(server);
    let mut received = Vec::new();
    client.read_to_end(&mut received).await.unwrap();
    assert_eq!(received, b"response");
}

async fn a_dropped_stream_is_closed<N: Net>(net: &N, host: IpAddr) {
    let (mut client, server) = pair(net, host).await;
    drop(server);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    // The first write may still be taken; what comes back for it is a reset.
    let error = loop {
        if let Err(error) = client.write_all(b"x").await {
            break error;
        }
        tokio::task::yield_now().await;
    };
    assert!(matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    ));
}

async fn unread_bytes_reset<N: Net>(net: &N, host: IpAddr) {
    let (mut client, mut server) = pair(net, host).await;
    client.write_all(b"half a frame").await.unwrap();
    server.read_exact(&mut [0; 4]).await.unwrap();
    drop(server);
    let error = client.read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

async fn a_slow_reader_holds_the_writer<N: Net, C: Clock>(net: &N, clock: &C, host: IpAddr) {
    let (mut client, mut server) = pair(net, host).await;
    let bytes = vec![1; MORE_THAN_BUFFERED_BYTES];
    let writing = client.write_all(&bytes);
    tokio::pin!(writing);
    tokio::select! {
        _ = &mut writing => panic!("nobody reads, and all of it was taken"),
        () = clock.sleep_until(Some(clock.now() + QUIET)) => {}
    }
    let mut read = 0;
    let mut buffer = vec![0; 1 << 20];
    tokio::join!(async { writing.await.unwrap() }, async {
        while read < bytes.len() {
            read += server.read(&mut buffer).await.unwrap();
        }
    });
    assert_eq!(read, bytes.len());
}

async fn connections_wait_to_be_accepted<N: Net, C: Clock>(net: &N, clock: &C, host: IpAddr) {
    let mut listener = listen(net, host);
    let address = listener.local_address();
    // An acceptor that is interrupted loses nothing.
    tokio::select! {
        _ = listener.accept() => panic!("nobody connects"),
        () = clock.sleep_until(Some(clock.now() + QUIET)) => {}
    }
    let mut waiting = Vec::new();
    for number in 0..3 {
        let mut client = net
            .connect(address, SocketOptions::default())
            .await
            .unwrap();
        client.write_all(&[number]).await.unwrap();
        waiting.push(client);
    }
    for number in 0..2 {
        let (mut server, _) = listener.accept().await.unwrap();
        let mut received = [9];
        server.read_exact(&mut received).await.unwrap();
        assert_eq!(received, [number], "in the order in which they came");
    }
    drop(listener);
    let error = waiting[2].read(&mut [0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

async fn addresses<N: Net>(net: &N, host: IpAddr) {
    let listener = listen(net, host);
    let address = listener.local_address();
    let target = address.to_string();
    let taken = net.bind(address, ListenOptions::default());
    let kind = kind_of(taken, NetOperation::Bind, &target);
    assert_eq!(kind, NetErrorKind::AddressInUse);
    let kind = kind_of(net.check_free(address), NetOperation::Bind, &target);
    assert_eq!(kind, NetErrorKind::AddressInUse);

    drop(listener);
    net.check_free(address).unwrap();
    let refused = net.connect(address, SocketOptions::default()).await;
    let kind = kind_of(refused, NetOperation::Connect, &target);
    assert_eq!(kind, NetErrorKind::Refused);
    drop(net.bind(address, ListenOptions::default()).unwrap());
}

async fn names<N: Net>(net: &N, host: IpAddr) {
    let found = net.resolve(&host.to_string(), 9092).await.unwrap();
    assert_eq!(found, [SocketAddr::new(host, 9092)]);
    // Set aside so that no resolver ever finds it.
    let unknown = net.resolve("broker.invalid", 9092).await;
    let kind = kind_of(unknown, NetOperation::Resolve, "broker.invalid");
    assert_eq!(kind, NetErrorKind::NoSuchHost);
}
