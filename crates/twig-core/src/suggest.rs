//! Similar names: what a person most likely meant.

/// The three names most similar to `wanted`, best first; empty if none is similar.
///
/// Case and separators do not count, and a name that ends in `wanted` is similar.
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted_key = key(wanted);
    if wanted_key.is_empty() || wanted.len() > 256 {
        return Vec::new();
    }
    let mut found: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (score(wanted, &wanted_key, name), name))
        .filter(|(score, _)| *score >= 0.8)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.truncate(3);
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// How similar two names are, 1 for equal ones. A name without its library is compared with names
/// without theirs.
fn score(wanted: &str, wanted_key: &str, name: &str) -> f64 {
    let alike = |one: &str, two: &str| strsim::jaro_winkler(&key(one), &key(two));
    match (wanted.split_once(':'), name.split_once(':')) {
        (Some((library, own)), Some((its_library, its_own))) => {
            0.4 * alike(library, its_library) + 0.6 * alike(own, its_own)
        }
        (None, Some((_, its_own))) => {
            alike(wanted, its_own).max(strsim::jaro_winkler(wanted_key, &key(name)))
        }
        _ => strsim::jaro_winkler(wanted_key, &key(name)),
    }
}

/// `did you mean …?`, or `None` if no name is similar.
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    did_you_mean_any(&near(wanted, names))
}

/// The same for names that were chosen already.
pub fn did_you_mean_any(names: &[String]) -> Option<String> {
    let (last, rest) = names.split_last()?;
    Some(if rest.is_empty() {
        format!("did you mean `{last}`?")
    } else {
        format!("did you mean `{}` or `{last}`?", rest.join("`, `"))
    })
}

fn key(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
