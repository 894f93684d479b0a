//! Frames as a stranger may send them, over a simulated network.

use klamm_client::{BootstrapAddress, ClientConfig, ClientTask};
use klamm_io::sim::{SimClock, SimNet};
use klamm_io::{ListenOptions, Listener, Net};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::*;

/// What a stranger says, in pieces, and whether it hangs up then.
async fn stranger_says(pieces: &[&[u8]], hangs_up: bool) -> (u32, bool) {
    let clock = SimClock::new();
    let net = SimNet::new(clock.clone());
    let [here, there] = ["10.0.0.1", "10.0.0.2"].map(|ip| net.host(ip.parse().unwrap()));
    let address = "10.0.0.2:9092".parse().unwrap();
    let mut listener = there.bind(address, ListenOptions::default()).unwrap();
    let config = ClientConfig {
        bootstrap: BootstrapAddress::parse_list("10.0.0.2:9092").unwrap(),
        response_bytes_max: 1_000,
        ..ClientConfig::default()
    };
    let task = ClientTask::spawn(here, clock.clone(), config, 1, ());
    let mut closed_by_client = 0;
    let mut alive = false;
    for _ in 0..3 {
        let (mut stream, _) = tokio::select! {
            accepted = listener.accept() => accepted.unwrap(),
            () = async { loop { settle().await; clock.advance(ms(10)); } } => unreachable!(),
        };
        let mut size = [0; 4];
        stream.read_exact(&mut size).await.unwrap();
        let mut question = vec![0; usize::try_from(u32::from_be_bytes(size)).unwrap()];
        stream.read_exact(&mut question).await.unwrap();
        for piece in pieces {
            stream.write_all(piece).await.unwrap();
            settle().await;
        }
        if hangs_up {
            drop(stream);
        } else {
            settle().await;
            let mut rest = Vec::new();
            let ended = tokio::select! {
                biased;
                ended = stream.read_to_end(&mut rest) => Some(ended),
                () = settle() => None,
            };
            closed_by_client += u32::from(ended.is_some());
        }
        alive = !task.handle().metadata().is_closed();
    }
    (closed_by_client, alive)
}

/// Covers CL-087, P6.4.
#[tokio::test]
async fn sizes_that_cannot_be_end_the_connection_and_never_the_client() {
    let negative: &[&[u8]] = &[&[0xff, 0xff, 0xff, 0xff]];
    let too_large: &[&[u8]] = &[&[0, 0], &[3, 0xe9]];
    let tls: &[&[u8]] = &[&[0x15, 3, 3, 0, 2, 2, 40]];
    for pieces in [negative, too_large, tls] {
        assert_eq!(stranger_says(pieces, false).await, (3, true), "{pieces:?}");
    }
    // The end of the stream, between frames and within one.
    for pieces in [&[][..], &[&[0, 0, 0][..]], &[&[0, 0, 0, 9, 1, 2][..]]] {
        assert_eq!(stranger_says(pieces, true).await, (0, true), "{pieces:?}");
    }
    // Within the limit, and still incomplete: it is waited for.
    let partial: &[&[u8]] = &[&[0, 0, 3, 0xe8], &[0; 64], &[0; 64]];
    assert_eq!(stranger_says(partial, false).await, (0, true));
}
