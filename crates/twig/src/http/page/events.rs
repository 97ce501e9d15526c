//! What the page is notified of: numbers that grow when something changed.
//!
//! The page compares them and asks again for what it shows, so a change costs as much as what is
//! seen of it.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use twig_core::Revisions;

use super::super::drain::StreamEnding;
use super::super::metrics::OpenStream;
use super::super::stream::{COMMENT, event_stream};
use super::answers::PageVisit;

/// What the page was told of a view.
#[derive(PartialEq, Eq)]
struct SentNumbers {
    view: u64,
    revisions: Revisions,
    fingerprint: [u8; 32],
    /// Changes of texts that no list shows.
    texts: u64,
}

/// The stream of one page.
struct PageEvents {
    visit: PageVisit,
    changes: watch::Receiver<u64>,
    ending: StreamEnding,
    beat: Instant,
    /// What was sent last.
    sent: Option<SentNumbers>,
    _open: OpenStream,
}

/// Answers with the numbers as they are, and again whenever one of them changed.
pub(super) fn stream(visit: PageVisit) -> Response {
    let shared = &visit.shared;
    let stream = PageEvents {
        changes: shared.changes.subscribe(),
        ending: shared.stream_ending(),
        beat: Instant::now() + shared.limits.keep_alive,
        sent: None,
        _open: shared.streams.open(),
        visit,
    };
    let events = unfold(Some(stream), |stream| async {
        let (event, stream) = stream?.next().await?;
        Some((Ok::<_, Infallible>(event), Some(stream)))
    });
    event_stream(Body::from_stream(events))
}

impl PageEvents {
    /// The next event; `None` if the server ends, or nothing is there for this visitor any more.
    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        loop {
            if let Some(event) = self.news() {
                self.beat = Instant::now() + self.visit.shared.limits.keep_alive;
                return Some((event, self));
            }
            tokio::select! {
                biased;
                () = self.ending.reached() => return None,
                changed = self.changes.changed() => {
                    changed.ok()?;
                    self.changes.mark_unchanged();
                    self.visit.caller = self.visit.caller.renewed(&self.visit.shared)?;
                }
                () = sleep_until(self.beat) => {
                    self.beat = Instant::now() + self.visit.shared.limits.keep_alive;
                    return Some((COMMENT.to_vec(), self));
                }
            }
        }
    }

    fn news(&mut self) -> Option<Vec<u8>> {
        let (view, service) = (&self.visit.caller.view, &self.visit.shared.service);
        // Counted before the catalog is taken: a change in between is sent again, and never missed.
        let texts = service.live.texts();
        let catalog = view.published(service);
        let now = SentNumbers {
            view: view.number(),
            revisions: catalog.revisions(),
            fingerprint: *catalog.fingerprint(),
            texts,
        };
        if self.sent.as_ref() == Some(&now) {
            return None;
        }
        // The fingerprint tells of changes that no list shows, such as of a broken file.
        let [a, b, c, d, ..] = now.fingerprint;
        let all = u32::from_le_bytes([a, b, c, d]);
        let event = format!(
            "data: {{\"prompts\":{},\"documents\":{},\"contents\":{},\"all\":{all},\"texts\":{texts}}}\n\n",
            now.revisions.prompts, now.revisions.documents, now.revisions.contents
        );
        self.sent = Some(now);
        Some(event.into_bytes())
    }
}
