//! A mailbox that readers long-poll: each waits until there is mail for it, or for 200 ms.
//!
//! `cargo run -p klamm-purgatory --example long_poll`

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use klamm_purgatory::{Clock, DelayedOperation, Driver, Purgatory, PurgatoryConfig, TokioClock};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Mail by its reader's name.
type Mailboxes = Arc<Mutex<HashMap<&'static str, Vec<String>>>>;

/// A request that waits for mail to any of some readers.
struct LongPoll {
    readers: Vec<&'static str>,
    mailboxes: Mailboxes,
    reply: Option<oneshot::Sender<Vec<String>>>,
}

/// What is to be sent, and to whom.
struct Answer {
    mail: Vec<String>,
    reply: oneshot::Sender<Vec<String>>,
}

impl Answer {
    /// Acting on an outcome: the caller's business, with no lock held.
    fn send(self) {
        // The reader may have gone; then nobody wants it.
        let _ = self.reply.send(self.mail);
    }
}

impl LongPoll {
    fn answer(&mut self, mail: Vec<String>) -> Answer {
        let reply = self.reply.take().expect("it finishes once");
        Answer { mail, reply }
    }
}

impl DelayedOperation for LongPoll {
    type Done = Answer;

    fn try_complete(&mut self) -> Option<Answer> {
        let mut mail = Vec::new();
        {
            let mut mailboxes = self.mailboxes.lock().expect("nobody panics with it");
            for reader in &self.readers {
                mail.extend(mailboxes.remove(reader).into_iter().flatten());
            }
        }
        (!mail.is_empty()).then(|| self.answer(mail))
    }

    fn expire(&mut self) -> Answer {
        self.answer(Vec::new())
    }
}

/// The server: polls come in, and mail does.
struct Server {
    mailboxes: Mailboxes,
    waiting: Arc<Purgatory<&'static str, LongPoll>>,
    clock: TokioClock,
}

impl Server {
    async fn poll(&self, readers: &[&'static str]) -> Vec<String> {
        let (reply, answer) = oneshot::channel();
        let poll = LongPoll {
            readers: readers.to_vec(),
            mailboxes: Arc::clone(&self.mailboxes),
            reply: Some(reply),
        };
        let now = self.clock.now();
        let deadline = now.checked_add(Duration::from_millis(200));
        let entered = self
            .waiting
            .try_complete_else_watch(poll, readers, deadline);
        if let Some(at_once) = entered.expect("it names a reader") {
            at_once.send();
        }
        answer.await.unwrap_or_default()
    }

    fn deliver(&self, reader: &'static str, mail: &str) {
        self.mailboxes
            .lock()
            .expect("nobody panics with it")
            .entry(reader)
            .or_default()
            .push(mail.to_owned());
        let mut answers = Vec::new();
        self.waiting.check(&reader, &mut answers);
        answers.into_iter().for_each(Answer::send);
    }
}

#[tokio::main]
async fn main() -> Result<(), klamm_purgatory::ConfigError> {
    let clock = TokioClock;
    let waiting = Arc::new(Purgatory::new(clock.now(), PurgatoryConfig::default())?);
    let driver = Driver::start(
        &Handle::current(),
        Arc::clone(&waiting),
        clock,
        Answer::send,
    );
    let server = Arc::new(Server {
        mailboxes: Mailboxes::default(),
        waiting,
        clock,
    });

    let early = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.poll(&["ada", "grace"]).await }
    });
    let late = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.poll(&["nobody"]).await }
    });
    while server.waiting.delayed() < 2 {
        tokio::task::yield_now().await;
    }
    server.deliver("grace", "the compiler works");
    println!("woken by mail: {:?}", early.await);
    println!("timed out:     {:?}", late.await);
    server.deliver("ada", "so does the engine");
    println!("at once:       {:?}", server.poll(&["ada"]).await);

    driver.shutdown(Duration::from_secs(5)).await;
    Ok(())
}
