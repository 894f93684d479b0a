//! [`AfterPanic`]: what becomes of a request at which a handler has panicked, and what the log says.

use klamm_wire::ApiKey;
use tracing::error;

use crate::context::ConnectionContext;
use crate::pipeline::Outcome;

/// What becomes of a request at which a handler has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterPanic {
    /// Its client gets the answer that the handler has for it.
    Answered,
    /// Its connection is closed.
    Closed,
    /// Nothing: it had ended before the panic, or its connection had.
    EndedBefore,
}

impl AfterPanic {
    /// By how the request ends, if it does so only now.
    pub(crate) const fn of<A>(outcome: &Outcome<A>, is_first: bool) -> Self {
        match outcome {
            _ if !is_first => Self::EndedBefore,
            Outcome::Answer(_) => Self::Answered,
            Outcome::Nothing | Outcome::Close => Self::Closed,
        }
    }

    /// Writes to the log what there is to say. The panic hook has told where the panic came from.
    pub(crate) fn log(self, context: &ConnectionContext, key: ApiKey) {
        let connection = &context.id;
        match self {
            Self::Answered => {
                error!(%connection, %key, "a handler panicked, the client is told of an error");
            }
            Self::Closed => {
                error!(%connection, %key, "a handler panicked, the request's connection is closed");
            }
            Self::EndedBefore => {
                error!(%connection, %key, "a handler panicked, its request or its connection had ended before");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ends_a_request_says_what_becomes_of_it() {
        let outcomes = [Outcome::Answer(()), Outcome::Close];
        let of = |is_first| outcomes.each_ref().map(|it| AfterPanic::of(it, is_first));
        assert_eq!(of(true), [AfterPanic::Answered, AfterPanic::Closed]);
        assert_eq!(of(false), [AfterPanic::EndedBefore; 2]);
    }
}
