//! A server that sends back what it gets, and a client that talks to it.
//!
//! `SaslAuthenticate` carries the bytes: a request and a response with one field of bytes each.
//!
//! ```sh
//! cargo run -p klamm-network --example echo
//! ```

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use klamm_io::{Net, RealFile, SocketOptions, SystemClock, TcpNet};
use klamm_network::{
    HandlerPool, ListenerConfig, Received, Response, Server, ServerConfig, Unobserved,
};
use klamm_wire::header::RequestHeader;
use klamm_wire::messages::sasl_authenticate::{SaslAuthenticateRequest, SaslAuthenticateResponse};
use klamm_wire::{Listener, Offer, decode_response, encode_request, encode_response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Answers one request.
fn echo(received: Received<RealFile>) {
    let Received { request, responder } = received;
    // A body that cannot be read, or a request that is not for us, ends the connection.
    if request.frame.key != klamm_wire::ApiKey::SaslAuthenticate {
        return responder.close();
    }
    let version = request.frame.version();
    let Ok(asked) = request.frame.decode::<SaslAuthenticateRequest>() else {
        return responder.close();
    };
    println!(
        "{} says {} bytes on {}",
        request.client_id(),
        asked.auth_bytes.len(),
        request.context.listener
    );
    let answer = SaslAuthenticateResponse {
        auth_bytes: asked.auth_bytes,
        ..SaslAuthenticateResponse::default()
    };
    match encode_response(request.frame.header.correlation_id, &answer, version) {
        Ok(encoded) => responder.send(Response::new(encoded)),
        Err(_) => responder.close(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let offer = Offer {
        listener: Listener::Broker,
        unstable: false,
        telemetry: false,
        apis: klamm_wire::ApiSet::ALL,
    };
    let listener = ListenerConfig::plaintext("PLAINTEXT", "127.0.0.1:0".parse()?, offer);
    let config = ServerConfig::new(vec![listener]);
    let mut server = Server::open(TcpNet, SystemClock, config, Arc::new(Unobserved))?;
    let pool = HandlerPool::start(server.channel().clone(), Arc::new(echo), 2)?;
    server.start().await?;
    let address = server.address("PLAINTEXT").ok_or("it is bound")?;
    println!("listening on {address}");

    let mut client = TcpNet.connect(address, SocketOptions::default()).await?;
    let header = RequestHeader::of::<SaslAuthenticateRequest>(0, 1.into(), Some("example".into()));
    let request = SaslAuthenticateRequest {
        auth_bytes: Bytes::from_static(b"hello"),
        ..SaslAuthenticateRequest::default()
    };
    let encoded = encode_request(&header, &request)?.into_bytes();
    client.write_all(&encoded.ok_or("it has no gaps")?).await?;
    let mut frame = vec![0; client.read_u32().await? as usize];
    client.read_exact(&mut frame).await?;
    let (_, answer) = decode_response::<SaslAuthenticateRequest>(frame.into(), 0)?;
    println!("and back came {:?}", answer.auth_bytes);

    server.stop().await;
    tokio::task::spawn_blocking(move || pool.stop()).await?;
    Ok(())
}
