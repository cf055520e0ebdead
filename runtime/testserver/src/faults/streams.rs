//! Responses whose bodies go wrong on their way.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::faults::{Disturbance, refusal};
use crate::http::responses::ResponseBody;

/// A body that breaks in its middle.
pub(crate) async fn cut(body: ResponseBody) -> ResponseBody {
    let whole = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let half = whole.slice(..whole.len() / 2);
    let parts = [Ok(Frame::data(half)), Err(broken())];
    StreamBody::new(stream::iter(parts)).boxed_unsync()
}

/// A watch that goes wrong after some events. Each frame of its body is one event.
pub(crate) fn disturb(body: ResponseBody, after: usize, how: Disturbance) -> ResponseBody {
    let state = Disturbed {
        body,
        untouched: after,
        how,
        waiting: VecDeque::new(),
        over: false,
    };
    let frames = stream::unfold(state, |mut state| async move {
        let frame = state.next().await?;
        Some((frame.map(Frame::data), state))
    });
    StreamBody::new(frames).boxed_unsync()
}

struct Disturbed {
    body: ResponseBody,
    /// Events that still come as they should.
    untouched: usize,
    how: Disturbance,
    /// Events that are read and not yet passed on, with the time for it.
    waiting: VecDeque<(Instant, Bytes)>,
    over: bool,
}

impl Disturbed {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.over {
            return None;
        }
        if self.untouched > 0 {
            self.untouched -= 1;
            return self.read().await;
        }
        match self.how {
            Disturbance::Stall => pending().await,
            Disturbance::Close => None,
            Disturbance::Break => Some(self.end(Err(broken()))),
            Disturbance::Cut => match self.read().await? {
                Ok(line) => {
                    self.how = Disturbance::Break;
                    Some(Ok(line.slice(..line.len() / 2)))
                }
                error => Some(error),
            },
            Disturbance::Error(code) => {
                let event = json!({"type": "ERROR", "object": refusal(code, "", None).to_value()});
                Some(self.end(Ok(Bytes::from(format!("{event}\n")))))
            }
            Disturbance::Status(code) => {
                let status = refusal(code, "", Some(1)).to_value();
                Some(self.end(Ok(Bytes::from(format!("{status:#}\n")))))
            }
            Disturbance::Malformed => {
                self.untouched = usize::MAX;
                Some(Ok(Bytes::from_static(
                    b"{\"type\": \"MODIFIED\", \"object\": {\"meta\n",
                )))
            }
            Disturbance::Duplicate => {
                if let Some((_, line)) = self.waiting.pop_front() {
                    return Some(Ok(line));
                }
                let line = self.read().await?;
                if let Ok(line) = &line {
                    self.waiting.push_back((Instant::now(), line.clone()));
                }
                Some(line)
            }
            Disturbance::Reorder => match self.waiting.pop_front() {
                Some((_, line)) => Some(Ok(line)),
                None => match self.read().await? {
                    Ok(first) => {
                        let second = self.read().await.unwrap_or_else(|| Ok(Bytes::new()));
                        self.waiting.push_back((Instant::now(), first));
                        Some(second)
                    }
                    error => Some(error),
                },
            },
            Disturbance::Late(delay) => self.next_late(delay).await,
        }
    }

    /// Passes each event on when it has been late for long enough; others come in meanwhile.
    async fn next_late(&mut self, delay: Duration) -> Option<io::Result<Bytes>> {
        loop {
            let due = self.waiting.front().map(|(due, _)| *due);
            tokio::select! {
                biased;
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    return self.waiting.pop_front().map(|(_, line)| Ok(line));
                }
                line = read(&mut self.body) => match line {
                    Some(Ok(line)) => self.waiting.push_back((Instant::now() + delay, line)),
                    Some(error) => return Some(error),
                    None if self.waiting.is_empty() => return None,
                    None => {
                        sleep_until(due.unwrap_or_else(Instant::now)).await;
                        return self.waiting.pop_front().map(|(_, line)| Ok(line));
                    }
                },
            }
        }
    }

    async fn read(&mut self) -> Option<io::Result<Bytes>> {
        read(&mut self.body).await
    }

    fn end(&mut self, last: io::Result<Bytes>) -> io::Result<Bytes> {
        self.over = true;
        last
    }
}

async fn read(body: &mut ResponseBody) -> Option<io::Result<Bytes>> {
    let frame = body.frame().await?;
    Some(frame.map(|frame| frame.into_data().unwrap_or_default()))
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset, as planned")
}
