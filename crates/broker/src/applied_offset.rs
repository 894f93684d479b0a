//! [`AppliedOffset`]: how far the replicas go by the metadata, and those who wait for it.

use klamm_primitives::Offset;
use tokio::sync::watch;

/// The offset of the image that the replicas go by. It only rises.
pub(crate) struct AppliedOffset(watch::Sender<Option<Offset>>);

impl AppliedOffset {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Some(Offset::UNKNOWN)))
    }

    /// The replicas go by the image of this offset.
    pub(crate) fn reached(&self, offset: Offset) {
        self.0.send_modify(|applied| {
            if let Some(applied) = applied {
                *applied = offset.max(*applied);
            }
        });
    }

    /// No further image is taken over: whoever waits for one waits no longer.
    pub(crate) fn end(&self) {
        self.0.send_replace(None);
    }

    /// Waits until the replicas go by the image of this offset, or by none any more.
    pub(crate) async fn wait_for(&self, offset: Offset) {
        let mut applied = self.0.subscribe();
        // An error would mean that the sender is gone, and it is ours.
        _ = applied
            .wait_for(|applied| applied.is_none_or(|applied| applied >= offset))
            .await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn who_waits_is_told_when_the_image_is_there_or_will_never_be() {
        let applied = AppliedOffset::new();
        let mut context = Context::from_waker(Waker::noop());
        let mut third = pin!(applied.wait_for(Offset::new(3)));
        let mut ninth = pin!(applied.wait_for(Offset::new(9)));
        applied.reached(Offset::new(2));
        assert_eq!(third.as_mut().poll(&mut context), Poll::Pending);
        applied.reached(Offset::new(4));
        assert_eq!(third.as_mut().poll(&mut context), Poll::Ready(()));
        assert_eq!(ninth.as_mut().poll(&mut context), Poll::Pending);
        applied.end();
        assert_eq!(ninth.as_mut().poll(&mut context), Poll::Ready(()));
        // What was still under way changes nothing about that.
        applied.reached(Offset::new(5));
        let mut later = pin!(applied.wait_for(Offset::new(6)));
        assert_eq!(later.as_mut().poll(&mut context), Poll::Ready(()));
    }
}
