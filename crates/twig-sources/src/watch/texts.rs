//! Changes of texts that a catalog only refers to: it has the name of a prompt's file, and the text is
//! read when somebody asks for it.
//!
//! The system's events name the file. Without them, a `stat` of each prompt's file tells.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use twig_core::state_hash::StateHash;

use crate::live::LiveCatalog;
use crate::stamp::{FileStamp, SeenStamp};

/// What is known of the texts.
#[derive(Debug, Default)]
pub(super) struct FollowedTexts {
    /// Whether the texts are followed already.
    is_started: bool,
    /// The stamps of all files at the last check, if the system does not report changes.
    stamps: Option<u64>,
    /// The number of changes that was announced last.
    announced: u64,
}

impl FollowedTexts {
    /// Counts a change if one of the touched paths may be a text, or a file has another stamp. The
    /// first time it does so anyway: nobody noticed what was written before.
    pub(super) fn look(
        &mut self,
        catalog: &LiveCatalog,
        touched: &BTreeSet<PathBuf>,
        is_reported: bool,
    ) {
        let stamps = (!is_reported).then(|| stamps(catalog));
        let is_other = self.stamps.is_some() && stamps.is_some() && stamps != self.stamps;
        self.stamps = stamps;
        let is_first = !std::mem::replace(&mut self.is_started, true);
        if is_first || is_other || touched.iter().any(|path| may_be_text(path)) {
            catalog.count_text();
        }
    }

    /// True if a change was counted since the last call.
    pub(super) fn is_news(&mut self, catalog: &LiveCatalog) -> bool {
        let now = catalog.texts();
        std::mem::replace(&mut self.announced, now) != now
    }
}

/// Templates may include files that are no prompts, so every file counts, except what editors write
/// beside a file.
fn may_be_text(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_none_or(|name| !name.starts_with('.') && !name.ends_with('~'))
}

/// A number of the stamps of all prompts' files, except on file systems that may not answer.
fn stamps(catalog: &LiveCatalog) -> u64 {
    let mut hash = StateHash::default();
    let published = catalog.published();
    let libraries = published.sources().filter(|library| {
        library.stored().is_none() && !catalog.reach.is_far(Path::new(&*library.root))
    });
    for library in libraries {
        let messages = library.prompts.iter().flat_map(|prompt| &prompt.messages);
        for file in messages.filter_map(|message| message.content.file()) {
            let seen = SeenStamp::at(Path::new(&library.path_of(file)));
            let stamp = seen.stamp().map_or(0, FileStamp::digest);
            hash.part(&stamp.to_le_bytes());
        }
    }
    hash.end()
}
