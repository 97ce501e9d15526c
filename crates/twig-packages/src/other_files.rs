//! JSON and YAML that other tools write, read within limits into one kind of value.

use twig_core::depth;
use twig_core::front_matter::{FrontMatterValue, read_yaml};

use crate::source::{PackageSource, PackageSpec, SourceError};

/// The longest file of another tool, in bytes.
pub(crate) const LONGEST: usize = 4 * 1024 * 1024;

/// Reads JSON of at most `longest` bytes; the error says what is wrong with the text.
pub(crate) fn json(text: &str, longest: usize) -> Result<FrontMatterValue, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_length(text, longest)?;
    depth::json(text).map_err(|error| error.to_string())?;
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    Ok(value.into())
}

/// Reads a YAML mapping of at most `longest` bytes; the error says what is wrong with the text.
pub(crate) fn yaml(text: &str, longest: usize) -> Result<FrontMatterValue, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_length(text, longest)?;
    let entries = read_yaml(text).map_err(|error| format!("it {error}"))?;
    Ok(FrontMatterValue::Map(entries))
}

fn check_length(text: &str, longest: usize) -> Result<(), String> {
    if text.len() > longest {
        return Err(format!("it is longer than {} KiB", longest / 1024));
    }
    Ok(())
}

/// The entry of a map as text, unless it is empty.
pub(crate) fn text_at<'v>(value: &'v FrontMatterValue, key: &str) -> Option<&'v str> {
    match value.get(key)? {
        FrontMatterValue::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The entries of a map below a key, sorted by their names.
pub(crate) fn sorted_entries(value: &FrontMatterValue) -> Vec<(&str, &FrontMatterValue)> {
    let entries = value.entries().unwrap_or_default().iter();
    let mut entries: Vec<_> = entries.map(|(key, value)| (&**key, value)).collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// An address that another tool gives to git: one that looks like a host's page is a repository.
pub(crate) fn git_spec(text: &str) -> Result<PackageSpec, SourceError> {
    let spec = PackageSpec::parse(text)?;
    match &spec.source {
        PackageSource::Index { .. } => PackageSpec::parse(&format!("git+{text}")),
        _ => Ok(spec),
    }
}

/// A text of another tool in a message: short and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    short.escape_debug().to_string()
}
