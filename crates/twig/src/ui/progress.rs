//! A line that says that something takes a while, on a terminal only.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Meaning, Paint, one_line};

/// Work that is done before this needs no line.
const PATIENCE: Duration = Duration::from_millis(400);
/// The time between two pictures.
const STEP: Duration = Duration::from_millis(120);
const PICTURES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Shows that work goes on until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
    done: Arc<AtomicUsize>,
    /// What it is at, beyond the count.
    detail: Arc<Mutex<String>>,
}

impl Progress {
    /// Starts the line on standard error.
    pub(super) fn start(what: &str, total: usize, paint: Paint) -> Self {
        let (sender, over) = channel();
        let what = one_line(what);
        let done: Arc<AtomicUsize> = Arc::default();
        let counter = Arc::clone(&done);
        let detail: Arc<Mutex<String>> = Arc::default();
        let told = Arc::clone(&detail);
        let thread = std::thread::Builder::new().name("twig-progress".to_owned());
        let thread = thread.spawn(move || {
            let draw = |text: &str| {
                // A terminal that is gone is no reason to stop the work.
                let _ = io::stderr().write_all(text.as_bytes());
            };
            let text = || {
                let detail = told.lock().unwrap_or_else(PoisonError::into_inner);
                let text = counted(&what, counter.load(Ordering::Relaxed), total);
                match &**detail {
                    "" => text,
                    detail => format!("{text}: {detail}"),
                }
            };
            run(text, paint, (PATIENCE, STEP), &over, draw);
        });
        Self {
            running: thread.ok().map(|thread| (sender, thread)),
            done,
            detail,
        }
    }

    /// Shows what it is at.
    pub(crate) fn detail(&self, text: &str) {
        let text: String = one_line(text).chars().take(60).collect();
        *self.detail.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// What counts the steps, for work that counts itself.
    pub(crate) fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.done)
    }
}

/// What is being done, and how much of it is done if that is known.
fn counted(what: &str, done: usize, total: usize) -> String {
    match total {
        0 => what.to_owned(),
        total => format!("{what} {}/{total}", done.min(total)),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            // What is printed next must come after the line is gone.
            let _ = thread.join();
        }
    }
}

/// Draws until the sender is dropped, then removes the line.
fn run(
    what: impl Fn() -> String,
    paint: Paint,
    (patience, step): (Duration, Duration),
    over: &Receiver<()>,
    mut draw: impl FnMut(&str),
) {
    let mut pictures = PICTURES.iter().cycle();
    let mut wait = patience;
    let mut is_drawn = false;
    while over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let picture = pictures.next().unwrap_or(&"");
        draw(&format!(
            "\r{} {}\u{1b}[K",
            paint.paint(Meaning::Hint, picture),
            what()
        ));
        is_drawn = true;
        wait = step;
    }
    if is_drawn {
        draw("\r\u{1b}[K");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_line_is_drawn_and_removed_and_quick_work_has_none() {
        let (sender, over) = channel();
        let mut sender = Some(sender);
        let mut drawn = Vec::new();
        let quick = (Duration::ZERO, Duration::ZERO);
        let done = Cell::new(0);
        let what = || {
            done.set(done.get() + 1);
            counted("importing", done.get(), 400)
        };
        run(what, Paint::new(false), quick, &over, |text| {
            drawn.push(text.to_owned());
            if drawn.len() == 2 {
                drop(sender.take());
            }
        });
        assert_eq!(
            drawn,
            [
                "\r⠋ importing 1/400\u{1b}[K",
                "\r⠙ importing 2/400\u{1b}[K",
                "\r\u{1b}[K"
            ]
        );
        let (sender, over) = channel();
        drop(sender);
        let slow = (Duration::from_secs(600), Duration::ZERO);
        let what = || counted("importing", 0, 0);
        run(what, Paint::new(false), slow, &over, |_| panic!("drawn"));
        assert_eq!(counted("indexing", 0, 0), "indexing");
        assert_eq!(counted("indexing", 9, 8), "indexing 8/8");
    }
}
