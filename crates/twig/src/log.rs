//! Logging: to stderr, one line an event, with nothing in it that a terminal would obey.

use std::io::{self, Write};

use tracing::level_filters::LevelFilter;

use crate::cli::LogLevel;
use crate::ui::visible;

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

/// Stderr, with control characters made visible: file names and descriptions are not ours.
struct VisibleStderr;

impl Write for VisibleStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An event arrives in one piece, its line end included.
        let text = String::from_utf8_lossy(bytes);
        let line = format!(
            "{}\n",
            visible(text.trim_end_matches('\n')).replace('\n', "\\n")
        );
        // A client that closed its end wants no log, and that is no reason to stop serving it.
        let _ = io::stderr().write_all(line.as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
