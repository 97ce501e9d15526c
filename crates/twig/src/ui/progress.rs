//! A line that says that something takes a while, on a terminal only.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
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
}

impl Progress {
    /// Starts the line on standard error.
    pub(super) fn start(what: &str, paint: Paint) -> Self {
        let (sender, over) = channel();
        let what = one_line(what);
        let thread = std::thread::Builder::new().name("twig-progress".to_owned());
        let thread = thread.spawn(move || {
            let draw = |text: &str| {
                // A terminal that is gone is no reason to stop the work.
                let _ = io::stderr().write_all(text.as_bytes());
            };
            run(&what, paint, (PATIENCE, STEP), &over, draw);
        });
        Self {
            running: thread.ok().map(|thread| (sender, thread)),
        }
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
    what: &str,
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
            "\r{} {what}\u{1b}[K",
            paint.paint(Meaning::Hint, picture)
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
    use super::*;

    #[test]
    fn a_line_is_drawn_and_removed_and_quick_work_has_none() {
        let (sender, over) = channel();
        let mut sender = Some(sender);
        let mut drawn = Vec::new();
        let quick = (Duration::ZERO, Duration::ZERO);
        run("importing", Paint::new(false), quick, &over, |text| {
            drawn.push(text.to_owned());
            if drawn.len() == 2 {
                drop(sender.take());
            }
        });
        assert_eq!(
            drawn,
            [
                "\r⠋ importing\u{1b}[K",
                "\r⠙ importing\u{1b}[K",
                "\r\u{1b}[K"
            ]
        );
        let (sender, over) = channel();
        drop(sender);
        let slow = (Duration::from_secs(600), Duration::ZERO);
        run("importing", Paint::new(false), slow, &over, |_| {
            panic!("drawn")
        });
    }
}
