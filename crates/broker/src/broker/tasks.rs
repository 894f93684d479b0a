//! What a broker does besides answering: it follows the metadata, lets requests expire that have
//! waited long enough, tries partitions again that could not be served, and tells the controller that
//! it lives.
//!
//! Each is a task; what blocks in it is done on a handler's thread, and the task waits for that.

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use klamm_controller::{Heartbeat, HeartbeatAnswer, HeartbeatError, MetadataImage};
use klamm_io::{Clock, Disk};
use klamm_network::RequestChannel;
use klamm_replica::Applied;
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::health::Health;
use crate::node::Node;

/// Takes over each image of the quorum, one after the other. Those that come while one is taken
/// over are passed over but for the last.
pub(super) async fn follow_metadata<D: Disk, C: Clock>(
    node: Arc<Node<D, C>>,
    channel: RequestChannel<D::File>,
) {
    let mut images = node.images.clone();
    while images.changed().await.is_ok() {
        let image = images.borrow_and_update().clone();
        let applying = Arc::clone(&node);
        on_a_handlers_thread(&channel, move || apply(&applying, &image)).await;
    }
}

/// Has the replicas go by an image. Blocks on the disk where partitions come or go.
pub(super) fn apply<D: Disk, C: Clock>(node: &Node<D, C>, image: &Arc<MetadataImage>) {
    let (applied, then) = node.replicas.apply(image, node.now());
    node.follow_up(then);
    tell(&applied);
    for partition in &applied.removed {
        info!(%partition, "partition removed");
    }
    node.applied.reached(image.offset());
}

fn tell(applied: &Applied) {
    for (partition, reason) in &applied.not_taken {
        let error = reason as &dyn Error;
        error!(%partition, error, "partition cannot be served");
    }
    if applied.put_off > 0 {
        let partitions = applied.put_off;
        error!(
            partitions,
            "no room or no file descriptor for more partitions, they are tried later"
        );
    }
}

/// Tries partitions again that could not be served. A task of its own: a disk that is full or slow
/// must not keep requests from expiring.
pub(super) async fn retry<D: Disk, C: Clock>(
    node: Arc<Node<D, C>>,
    channel: RequestChannel<D::File>,
) {
    loop {
        let deadline = node.replicas.next_retry();
        let moved = deadline_moved(deadline, |waker| node.replicas.watch_next_retry(waker));
        tokio::select! {
            () = moved => continue,
            () = node.clock.sleep_until(deadline) => {}
        }
        let retrying = Arc::clone(&node);
        on_a_handlers_thread(&channel, move || {
            let (applied, then) = retrying.replicas.retry(retrying.now());
            retrying.follow_up(then);
            tell(&applied);
        })
        .await;
    }
}

/// Lets requests expire in time, and looks at in-sync sets.
pub(super) async fn expire<D: Disk, C: Clock>(
    node: Arc<Node<D, C>>,
    channel: RequestChannel<D::File>,
) {
    loop {
        let deadline = node.replicas.next_deadline();
        let moved = deadline_moved(deadline, |waker| node.replicas.watch_next_deadline(waker));
        tokio::select! {
            () = moved => continue,
            () = node.clock.sleep_until(deadline) => {}
        }
        let advancing = Arc::clone(&node);
        // What expired fetches find is read from the disk.
        on_a_handlers_thread(&channel, move || {
            let mut finished = Vec::new();
            let now = advancing.clock.now();
            advancing.replicas.advance(now, &mut finished);
            advancing.settle(finished);
        })
        .await;
    }
}

/// Waits until there is an earlier deadline than this.
async fn deadline_moved(deadline: Option<Instant>, watch_next: impl Fn(&Waker) -> Option<Instant>) {
    poll_fn(|context| {
        let next = watch_next(context.waker());
        let is_earlier = next.is_some_and(|next| deadline.is_none_or(|deadline| next < deadline));
        if is_earlier {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Tells the controller from time to time that this broker lives, and at once when a log
/// directory has failed.
pub(super) async fn send_heartbeats<D: Disk, C: Clock>(node: Arc<Node<D, C>>, health: Arc<Health>) {
    let interval = node.settings.replication.heartbeat_interval;
    loop {
        let next = node.clock.now() + interval;
        tokio::select! {
            () = node.clock.sleep_until(Some(next)) => {}
            () = health.changed() => {}
        }
        match send_heartbeat(&node, &health).await {
            Ok(answer) if answer.is_fenced => {
                warn!("the controller keeps this broker from serving");
            }
            Ok(_) => {}
            Err(error) => {
                let error = &error as &dyn Error;
                warn!(error, "the controller did not take a sign of life");
            }
        }
    }
}

pub(super) async fn send_heartbeat<D: Disk, C: Clock>(
    node: &Node<D, C>,
    health: &Health,
) -> Result<HeartbeatAnswer, HeartbeatError> {
    let heartbeat = Heartbeat {
        broker: node.id(),
        epoch: node.epoch(),
        metadata_offset: node.image().offset(),
        wants_fence: false,
        wants_shutdown: false,
        failed_log_dirs: health.failed(),
    };
    node.controller.heartbeat(heartbeat, None).await
}

/// Has work done where it may block, and waits for it.
async fn on_a_handlers_thread<F>(
    channel: &RequestChannel<F>,
    work: impl FnOnce() + Send + 'static,
) {
    let (done, is_done) = oneshot::channel();
    channel.resume(move || {
        work();
        // Whoever waits may have been stopped.
        _ = done.send(());
    });
    // It ends without a word if the work panicked, which the handler's thread has told.
    _ = is_done.await;
}
