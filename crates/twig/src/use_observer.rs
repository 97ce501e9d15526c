//! Passes answered requests to the log of reads and to the counts of use, if they are wanted.

use std::time::Instant;

use twig_mcp::{ObservedRequest, Observer};

use crate::audit_log::ReadLog;
use crate::command_error::{CommandError, reason};
use crate::config::ObservedSettings;
use crate::places::Places;
use crate::use_counts::UseCounts;

/// Both of them.
#[derive(Debug)]
pub(crate) struct UseObserver {
    started: Instant,
    reads: Option<ReadLog>,
    counts: Option<UseCounts>,
}

impl UseObserver {
    /// Starts what the configuration asks for; `None` if that is nothing.
    pub(crate) fn start(
        settings: &ObservedSettings,
        places: &Places,
    ) -> Result<Option<Self>, CommandError> {
        let reads = settings.reads_file().map(|path| {
            ReadLog::start(path).map_err(|error| {
                let shown = places.shown(path);
                CommandError::fixable(format!(
                    "the log of reads {shown} cannot be written: {}",
                    reason(&error)
                ))
                .hint("change `file` in [audit] of config.toml, or set `reads = \"off\"`")
            })
        });
        let reads = reads.transpose()?;
        let path = places.use_counts().filter(|_| settings.counts_use);
        let counts = path.map(UseCounts::start).transpose()?;
        if reads.is_none() && counts.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            started: Instant::now(),
            reads,
            counts,
        }))
    }
}

impl UseObserver {
    /// Writes what waits, at the end of the server.
    pub(crate) fn flush(&self) {
        if let Some(reads) = &self.reads {
            reads.flush();
        }
        if let Some(counts) = &self.counts {
            counts.flush();
        }
    }
}

impl Observer for UseObserver {
    fn clock(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn answered(&self, request: &ObservedRequest<'_>) {
        if let Some(reads) = &self.reads {
            reads.record(request);
        }
        if let Some(counts) = &self.counts {
            counts.record(request);
        }
    }
}
