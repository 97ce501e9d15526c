//! Logging to stderr: one line per event, without control characters.

use std::io::{self, Write};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

use crate::stderr;
use crate::ui::visible;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// Starts logging for the whole process.
pub(crate) fn start(level: LogLevel) {
    let level = match level {
        LogLevel::Off => return,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| VisibleStderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .log_internal_errors(false)
        .init();
}

/// For servers: neither the log nor a panic blocks until standard error is read.
pub(crate) fn never_wait() {
    if !stderr::never_wait() {
        return;
    }
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("unnamed");
        let said = format!("thread `{name}` {info}");
        stderr::write(format!("{}\n", visible(&said)));
    }));
}

/// Stderr, with control characters made visible: file names and descriptions are untrusted.
struct VisibleStderr;

impl Write for VisibleStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An event arrives in one piece, including its newline.
        let text = String::from_utf8_lossy(bytes);
        stderr::write(format!(
            "{}\n",
            visible(text.trim_end_matches('\n')).replace('\n', "\\n")
        ));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
