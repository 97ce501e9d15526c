//! Version tags: `v1.2.3`, `1.2`, `name-v1.2.3`, and which of them is the newest.

use std::cmp::Ordering;

/// A tag that names a version, in the order of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionTag {
    /// The tag as it is written.
    pub tag: String,
    /// What is before the version, such as `v` or `skills-v`.
    prefix: String,
    numbers: Vec<u64>,
    /// The part after `-`, of a version that is not final.
    pre_release: Option<String>,
}

impl VersionTag {
    /// Reads a tag; `None` if it names no version. One number alone is a version only after `v`.
    pub fn parse(tag: &str) -> Option<Self> {
        let start = version_start(tag)?;
        let (prefix, version) = tag.split_at(start);
        let version = version.split('+').next().unwrap_or_default();
        let (numbers, pre_release) = match version.split_once('-') {
            Some((numbers, pre_release)) => (numbers, Some(pre_release.to_owned())),
            None => (version, None),
        };
        let numbers: Option<Vec<u64>> = numbers.split('.').map(|it| it.parse().ok()).collect();
        let numbers = numbers.filter(|it| it.len() <= 4)?;
        (numbers.len() > 1 || prefix.ends_with('v')).then(|| Self {
            tag: tag.to_owned(),
            prefix: prefix.to_owned(),
            numbers,
            pre_release,
        })
    }

    /// The newest final version among tags; of those with the same prefix, if one is given.
    pub fn newest<'t>(
        tags: impl IntoIterator<Item = &'t str>,
        like: Option<&Self>,
    ) -> Option<Self> {
        let tags = tags.into_iter().filter_map(Self::parse);
        let is_alike = |tag: &Self| match like {
            Some(like) => tag.prefix == like.prefix,
            // Tags of one part of a repository say nothing about all of it.
            None => matches!(&*tag.prefix, "" | "v"),
        };
        let tags = tags.filter(|tag| tag.pre_release.is_none() && is_alike(tag));
        tags.max_by(Self::compare)
    }

    /// True if it is a later version than another.
    pub fn is_after(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Greater
    }

    fn compare(&self, other: &Self) -> Ordering {
        let most = self.numbers.len().max(other.numbers.len());
        let at = |tag: &Self, index: usize| tag.numbers.get(index).copied().unwrap_or(0);
        let numbers = (0..most).map(|index| at(self, index).cmp(&at(other, index)));
        let numbers = numbers.fold(Ordering::Equal, Ordering::then);
        // A version that is not final comes before the final one.
        let pre_release = match (&self.pre_release, &other.pre_release) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(one), Some(two)) => compare_pre_releases(one, two),
        };
        numbers
            .then(pre_release)
            .then_with(|| self.tag.cmp(&other.tag))
    }
}

/// Numbers by their value and before words, as semantic versions do.
fn compare_pre_releases(one: &str, two: &str) -> Ordering {
    let (mut ones, mut twos) = (one.split('.'), two.split('.'));
    loop {
        let ordering = match (ones.next(), twos.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(one), Some(two)) => match (one.parse::<u64>(), two.parse::<u64>()) {
                (Ok(one), Ok(two)) => one.cmp(&two),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => one.cmp(two),
            },
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
}

/// Where the version starts: at the first digit that follows nothing, `v`, `-`, `@` or `/`.
fn version_start(tag: &str) -> Option<usize> {
    let bytes = tag.as_bytes();
    let is_start = |at: &usize| {
        bytes[*at].is_ascii_digit()
            && match at.checked_sub(1).map(|before| bytes[before]) {
                None | Some(b'-' | b'@' | b'/') => true,
                Some(b'v') => {
                    let before = at.checked_sub(2).map(|before| bytes[before]);
                    before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
                }
                Some(_) => false,
            }
    };
    (0..bytes.len()).find(is_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(tags: &[&str]) -> Option<String> {
        VersionTag::newest(tags.iter().copied(), None).map(|it| it.tag)
    }

    #[test]
    fn the_newest_version_is_the_highest_final_one() {
        let tags = ["v1.9.0", "v1.10.0", "v2.0.0-rc.1", "nightly", "v1.10"];
        assert_eq!(newest(&tags).as_deref(), Some("v1.10.0"));
        assert_eq!(newest(&["1.0", "1.0.1", "0.9"]).as_deref(), Some("1.0.1"));
        assert_eq!(newest(&["v3", "v2.9"]).as_deref(), Some("v3"));
        assert_eq!(newest(&["2024", "release", "pdf-v2.0.0"]), None);
        assert_eq!(newest(&["v99999999999999999999.0"]), None);
    }

    #[test]
    fn versions_of_one_part_follow_that_part() {
        let tags = ["pdf-v2.0.0", "pdf-v1.0.0", "docx-v9.0.0", "v3.0.0"];
        let like = VersionTag::parse("pdf-v1.0.0").unwrap();
        let newest = VersionTag::newest(tags, Some(&like)).unwrap();
        assert_eq!(newest.tag, "pdf-v2.0.0");
        assert!(newest.is_after(&like));
    }

    #[test]
    fn candidates_come_before_the_version() {
        let tag = |text: &str| VersionTag::parse(text).unwrap();
        for (one, two) in [
            ("v1.0.0", "v1.0.0-rc.1"),
            ("v1.0.0-rc.10", "v1.0.0-rc.9"),
            ("v1.0.0-rc", "v1.0.0-1"),
            ("v1.0.1-alpha", "v1.0.0"),
        ] {
            assert!(tag(one).is_after(&tag(two)), "{one} {two}");
            assert!(!tag(two).is_after(&tag(one)), "{one} {two}");
        }
    }
}
