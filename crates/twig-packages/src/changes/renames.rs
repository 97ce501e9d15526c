//! Which items of the old version are which items of the new one: those with the same content, then
//! those that share at least half of it, as git decides.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{ItemFiles, PackageContent, PackageItemKind};
use crate::capabilities::as_text;

/// Items of one kind on each side that are compared by similarity; beyond that, a rename has to
/// keep the content.
const MOST_ITEMS: usize = 200;
/// Bytes of a file that is compared by similarity.
const LONGEST: u64 = 1024 * 1024;
/// Different lines of all files that are compared.
const MOST_LINES: usize = 2_000_000;
/// Lines that all pairs together may compare.
const MOST_COMPARISONS: usize = 64_000_000;
/// Percent that two versions of an item share.
const ENOUGH: u64 = 50;
/// Percent that two versions of `SKILL.md` share if half of the skill's files are the same.
const ENOUGH_OF_SKILL_FILE: u64 = 25;

/// Takes the pairs out of what is gone and what came; sorted by the old path.
pub(super) fn find<'t>(
    gone: &mut Vec<ItemFiles<'t>>,
    came: &mut Vec<ItemFiles<'t>>,
    old_content: PackageContent<'_>,
    new_content: PackageContent<'_>,
) -> Vec<(ItemFiles<'t>, ItemFiles<'t>)> {
    let by_name = same(gone, came, |item| item.item.name().to_owned());
    let mut found = take(gone, came, &by_name);
    let by_content = same(gone, came, |_| String::new());
    found.extend(take(gone, came, &by_content));
    for kind in [PackageItemKind::Skill, PackageItemKind::File] {
        let pairs = similar(kind, gone, came, old_content, new_content);
        found.extend(take(gone, came, &pairs));
    }
    found.sort_by(|(one, _), (two, _)| one.item.cmp(&two.item));
    found
}

/// Removes pairs, given by their places.
fn take<'t>(
    gone: &mut Vec<ItemFiles<'t>>,
    came: &mut Vec<ItemFiles<'t>>,
    pairs: &[(usize, usize)],
) -> Vec<(ItemFiles<'t>, ItemFiles<'t>)> {
    let taken = pairs
        .iter()
        .map(|(old, new)| (gone[*old].clone(), came[*new].clone()))
        .collect();
    let retain = |items: &mut Vec<ItemFiles<'t>>, mut places: Vec<usize>| {
        places.sort_unstable();
        let mut at = 0;
        items.retain(|_| {
            at += 1;
            places.binary_search(&(at - 1)).is_err()
        });
    };
    retain(gone, pairs.iter().map(|(old, _)| *old).collect());
    retain(came, pairs.iter().map(|(_, new)| *new).collect());
    taken
}

/// The paths in an item and their digests; `None` if there is no content.
type ContentKey<'t> = Option<(PackageItemKind, Vec<(&'t str, [u8; 32])>)>;

fn content_key<'t>(item: &ItemFiles<'t>) -> ContentKey<'t> {
    let files = item.files.iter();
    let files = files.map(|file| (item.item.relative(&file.path), file.digest));
    (item.size() > 0).then(|| (item.item.kind, files.collect()))
}

/// Pairs with the same content and the same name, in the order of their paths.
fn same(
    gone: &[ItemFiles<'_>],
    came: &[ItemFiles<'_>],
    name: impl Fn(&ItemFiles<'_>) -> String,
) -> Vec<(usize, usize)> {
    let mut known: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, item) in gone.iter().enumerate().rev() {
        if let Some(content) = content_key(item) {
            known.entry((content, name(item))).or_default().push(at);
        }
    }
    let pairs = came.iter().enumerate().filter_map(|(new, item)| {
        let key = (content_key(item)?, name(item));
        let old = known.get_mut(&key)?.pop()?;
        Some((old, new))
    });
    pairs.collect()
}

/// Pairs of one kind that share enough, the best first.
fn similar(
    kind: PackageItemKind,
    gone: &[ItemFiles<'_>],
    came: &[ItemFiles<'_>],
    old_content: PackageContent<'_>,
    new_content: PackageContent<'_>,
) -> Vec<(usize, usize)> {
    let mut lines_left = MOST_LINES;
    let old = candidates(kind, gone, old_content, &mut lines_left);
    let Some(old) = old.filter(|old| !old.is_empty()) else {
        return Vec::new();
    };
    let Some(new) = candidates(kind, came, new_content, &mut lines_left) else {
        return Vec::new();
    };
    let lines = |items: &[RenameCandidate<'_>]| items.iter().map(|it| it.lines.len()).sum();
    let (old_lines, new_lines): (usize, usize) = (lines(&old), lines(&new));
    if old_lines * new.len() + new_lines * old.len() > MOST_COMPARISONS {
        return Vec::new();
    }
    let mut scores = Vec::new();
    for one in &old {
        for two in &new {
            let score = one.score(two);
            if score >= ENOUGH {
                let is_renamed = one.item.item.name() != two.item.item.name();
                scores.push((100 - score.min(100), is_renamed, one.at, two.at));
            }
        }
    }
    scores.sort_unstable();
    let (mut used_old, mut used_new) = (vec![false; gone.len()], vec![false; came.len()]);
    let mut pairs = Vec::new();
    for (_, _, old, new) in scores {
        if !used_old[old] && !used_new[new] {
            (used_old[old], used_new[new]) = (true, true);
            pairs.push((old, new));
        }
    }
    pairs
}

/// An item that may be another one under a new path.
struct RenameCandidate<'i> {
    at: usize,
    item: &'i ItemFiles<'i>,
    /// The different lines of its main file by their hashes, sorted, with their bytes.
    lines: Vec<(u64, u64)>,
    size: u64,
}

/// The items of a kind that can be compared; `None` if they are too many or too long.
fn candidates<'i>(
    kind: PackageItemKind,
    items: &'i [ItemFiles<'i>],
    content: PackageContent<'_>,
    lines_left: &mut usize,
) -> Option<Vec<RenameCandidate<'i>>> {
    let items = items.iter().enumerate();
    let items: Vec<_> = items.filter(|(_, item)| item.item.kind == kind).collect();
    if items.len() > MOST_ITEMS {
        return None;
    }
    let mut candidates = Vec::with_capacity(items.len());
    for (at, item) in items {
        let main = item.main_file().filter(|file| file.size <= LONGEST);
        let Some(bytes) = main.and_then(content) else {
            continue;
        };
        let Some(text) = as_text(&bytes).filter(|text| !text.is_empty()) else {
            continue;
        };
        let lines = line_hashes(text);
        *lines_left = lines_left.checked_sub(lines.len())?;
        candidates.push(RenameCandidate {
            at,
            item,
            lines,
            size: text.len() as u64,
        });
    }
    Some(candidates)
}

fn line_hashes(text: &str) -> Vec<(u64, u64)> {
    let hashes = text.split_inclusive('\n').map(|line| {
        let mut hasher = DefaultHasher::new();
        line.trim_end().hash(&mut hasher);
        (hasher.finish(), line.len() as u64)
    });
    let mut lines: Vec<(u64, u64)> = hashes.collect();
    lines.sort_unstable();
    lines.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    lines
}

impl RenameCandidate<'_> {
    /// The percent that two items share.
    fn score(&self, other: &Self) -> u64 {
        let percent = |shared: u64, sizes: [u64; 2]| {
            let most = sizes[0].max(sizes[1]).max(1);
            u64::try_from(u128::from(shared) * 100 / u128::from(most)).unwrap_or(100)
        };
        let score = percent(self.shared_lines(other), [self.size, other.size]);
        if (ENOUGH_OF_SKILL_FILE..ENOUGH).contains(&score) {
            let sizes = [self.item.size(), other.item.size()];
            let files = percent(self.shared_files(other), sizes);
            return if files >= ENOUGH { ENOUGH } else { score };
        }
        score
    }

    /// The bytes of lines that both have.
    fn shared_lines(&self, other: &Self) -> u64 {
        let (mut ones, mut twos) = (self.lines.iter().peekable(), other.lines.iter().peekable());
        let mut shared = 0;
        while let (Some(one), Some(two)) = (ones.peek(), twos.peek()) {
            match one.0.cmp(&two.0) {
                std::cmp::Ordering::Less => drop(ones.next()),
                std::cmp::Ordering::Greater => drop(twos.next()),
                std::cmp::Ordering::Equal => {
                    shared += one.1.min(two.1);
                    ones.next();
                    twos.next();
                }
            }
        }
        shared
    }

    /// The bytes of files that both have.
    fn shared_files(&self, other: &Self) -> u64 {
        let mut known: BTreeMap<[u8; 32], usize> = BTreeMap::new();
        for file in &self.item.files {
            *known.entry(file.digest).or_default() += 1;
        }
        let mut shared = 0_u64;
        for file in &other.item.files {
            if let Some(count) = known.get_mut(&file.digest).filter(|count| **count > 0) {
                *count -= 1;
                shared = shared.saturating_add(file.size);
            }
        }
        shared
    }
}
