//! [`Sending`]: from pieces of input to records on their way.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Error, Result};
use bytes::Bytes;
use klamm_producer::{Delivery, Producer, SendError};

use crate::produce::framing::Frames;
use crate::produce::input::{Input, Piece};
use crate::produce::line_format::LineFormat;
use crate::produce::parts::Parts;
use crate::produce::summary::Left;
use crate::produce::tally::{Place, Tally};
use crate::produce::{binary_format, json_format};
use crate::stop::Stop;

/// What turns a line or a frame into a record.
#[derive(Debug)]
pub(crate) enum Reader {
    /// A line with separators.
    Lines(LineFormat),
    /// A line of JSON.
    Json,
    /// A frame of bytes.
    Binary,
}

impl Reader {
    fn read(&self, frame: &Bytes) -> Result<Parts> {
        match self {
            Self::Lines(format) => format.read(frame).map_err(Error::from),
            Self::Json => json_format::read(frame).map_err(Error::from),
            Self::Binary => binary_format::read(frame).map_err(Error::from),
        }
    }
}

/// Sends the records of inputs.
pub(crate) struct Sending<'a> {
    producer: &'a Producer,
    topic: Arc<str>,
    reader: Reader,
    /// Whether each record's outcome is awaited before the next is sent.
    is_sync: bool,
    tally: &'a Arc<Tally>,
}

/// Why no more is sent.
enum Halt {
    /// Somebody asked.
    Stopped,
    /// A record or an input that cannot be read or sent.
    Broken,
}

impl<'a> Sending<'a> {
    /// For one topic.
    pub(crate) fn new(
        producer: &'a Producer,
        topic: Arc<str>,
        reader: Reader,
        is_sync: bool,
        tally: &'a Arc<Tally>,
    ) -> Self {
        Self {
            producer,
            topic,
            reader,
            is_sync,
            tally,
        }
    }

    /// Reads and sends until the last input ends, one cannot be read on, or somebody asks to stop.
    /// What was sent may still be on its way.
    pub(crate) async fn run(&self, inputs: Vec<Input>, stop: &mut Stop) -> Left {
        let mut left = Left::default();
        let mut pieces = match Input::read_all(inputs) {
            Ok(pieces) => pieces,
            Err(error) => {
                eprintln!("klamm-producer: the input's thread cannot be started: {error}");
                left.is_input_unfinished = true;
                return left;
            }
        };
        let mut frames = Frames::new(self.reader.framing());
        let mut place = Place {
            input: 0,
            number: 0,
        };
        loop {
            let piece = tokio::select! {
                piece = pieces.recv() => piece,
                () = stop.requested() => return left,
            };
            let Some(piece) = piece else { return left };
            let sent = self
                .take(piece, &mut frames, &mut place, &mut left, stop)
                .await;
            match sent {
                Ok(()) => {}
                Err(Halt::Stopped) => return left,
                Err(Halt::Broken) => {
                    left.is_input_unfinished = true;
                    return left;
                }
            }
        }
    }

    /// Sends all that is whole in what was read.
    async fn take(
        &self,
        piece: Piece,
        frames: &mut Frames,
        place: &mut Place,
        left: &mut Left,
        stop: &mut Stop,
    ) -> Result<(), Halt> {
        let is_end = match piece {
            Piece::Read(read) => {
                let size = read.len() as u64;
                self.tally.read_bytes.fetch_add(size, Ordering::Relaxed);
                frames.extend(&read);
                false
            }
            Piece::End => true,
            Piece::Failed(error) => return Err(self.broken(*place, &error)),
        };
        loop {
            let next = if is_end {
                frames.finish()
            } else {
                frames.next()
            };
            let Some(frame) = next.map_err(|error| {
                let number = place.number + 1;
                self.broken(Place { number, ..*place }, &error)
            })?
            else {
                break;
            };
            place.number += 1;
            self.tally.read.fetch_add(1, Ordering::Relaxed);
            self.send(&frame, *place, left, stop).await?;
        }
        if is_end {
            place.input += 1;
            place.number = 0;
        }
        Ok(())
    }

    async fn send(
        &self,
        frame: &Bytes,
        place: Place,
        left: &mut Left,
        stop: &mut Stop,
    ) -> Result<(), Halt> {
        let record = self.reader.read(frame);
        let record = record.and_then(|parts| Ok(parts.into_record(&self.topic)?));
        let record = record.map_err(|error| {
            left.refused += 1;
            self.broken(place, &error)
        })?;
        if stop.is_requested() {
            left.unsent += 1;
            return Err(Halt::Stopped);
        }
        let tally = Arc::clone(self.tally);
        let sent = self
            .producer
            .send_with(record, move |outcome| match outcome {
                Ok(_) => tally.acknowledge(),
                Err(error) => tally.fail(place, &error),
            });
        let sent: Result<Delivery, SendError> = tokio::select! {
            biased;
            sent = sent => sent,
            () = stop.requested() => {
                left.unsent += 1;
                return Err(Halt::Stopped);
            }
        };
        let delivery = sent.map_err(|error| {
            left.unsent += 1;
            self.broken(place, &error)
        })?;
        self.tally.sent.fetch_add(1, Ordering::Relaxed);
        if self.is_sync {
            tokio::select! {
                biased;
                // Whoever asks for the outcome finds it counted.
                _ = delivery => {}
                () = stop.requested() => return Err(Halt::Stopped),
            }
        }
        Ok(())
    }

    /// Tells what ends the reading, and where.
    fn broken(&self, place: Place, error: &impl std::fmt::Display) -> Halt {
        let at = self.tally.describe(place);
        eprintln!("klamm-producer: {at}: {error:#}");
        Halt::Broken
    }
}
