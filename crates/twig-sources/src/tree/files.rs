//! The files of a tree, each with what is known of it, and a look at all of them.

use twig_core::RelativePath;

use super::base::Base;
use crate::listing::Entry;

/// This many files that are not known yet are worth the start of threads.
const MANY: usize = 256;

/// A file of a tree and what was last seen of it.
pub(crate) trait SeenFile: Send {
    /// From the library's folder.
    fn path(&self) -> &RelativePath;
    /// What its listing said that it is.
    fn entry(&self) -> Entry;
    /// Whether nobody looked at it yet.
    fn is_new(&self) -> bool;
    /// Whether what is known of it holds for what was listed now.
    fn is_same(&self, listed: &Self) -> bool {
        self.path() == listed.path() && self.entry() == listed.entry()
    }
}

/// Puts files in the order of a new listing; those that were there keep what is known of them.
pub(crate) fn arrange<F: SeenFile>(files: &mut Vec<F>, mut listed: Vec<F>) {
    listed.sort_by(|one, two| one.path().cmp(two.path()));
    let mut old = std::mem::take(files).into_iter().peekable();
    for file in listed {
        while old.next_if(|old| old.path() < file.path()).is_some() {}
        let known = old.next_if(|old| old.is_same(&file));
        files.push(known.unwrap_or(file));
    }
}

/// Looks at files, at many new ones with all processors together; says whether any differs.
pub(crate) fn look_at_all<F: SeenFile>(
    files: &mut [F],
    base: &Base<'_>,
    look: impl Fn(&mut F, &Base<'_>) -> bool + Sync,
) -> bool {
    let new = files.iter().filter(|file| file.is_new()).count();
    let threads = match new {
        0..MANY => 1,
        _ => std::thread::available_parallelism().map_or(1, |threads| threads.get().min(8)),
    };
    let look = |base: &Base<'_>, files: &mut [F]| {
        let looked = files.iter_mut().map(|file| look(file, base));
        looked.fold(false, |changed, differs| changed | differs)
    };
    if threads == 1 {
        return look(base, files);
    }
    let (look, part) = (&look, files.len().div_ceil(threads));
    std::thread::scope(|scope| {
        let parts = files.chunks_mut(part);
        let helpers = parts.map(|part| {
            let (folder, below) = (base.folder, base.below);
            let work = move || look(&Base::new(folder, below), part);
            std::thread::Builder::new().spawn_scoped(scope, work)
        });
        let helpers: Vec<_> = helpers.collect();
        // Where one could not start or broke off, its files are as new as before: the next look,
        // seconds later, takes them in.
        let looked = helpers
            .into_iter()
            .map(|helper| helper.is_ok_and(|helper| helper.join().unwrap_or(true)));
        looked.fold(false, |changed, differs| changed | differs)
    })
}
