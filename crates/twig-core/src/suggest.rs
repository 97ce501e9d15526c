//! Near names: what a person most likely meant.

/// The three names nearest to `wanted`, best first; none where nothing is near.
///
/// Case and separators do not count, and a name that ends in what was asked for is near.
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted_key = key(wanted);
    if wanted_key.is_empty() || wanted.len() > 256 {
        return Vec::new();
    }
    let mut found: Vec<(f64, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let name_key = key(name);
            let own_key = name.rsplit_once(':').map(|(_, own)| key(own));
            let score = std::iter::once(&name_key)
                .chain(&own_key)
                .map(|candidate| strsim::jaro_winkler(&wanted_key, candidate))
                .fold(0.0, f64::max);
            (score >= 0.8).then_some((score, name))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.truncate(3);
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// `did you mean …?`, or nothing where nothing is near.
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = near(wanted, names);
    let (last, rest) = near.split_last()?;
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
