//! Front matter as strict YAML, within a budget.

use super::fields::{Fields, Value};
use crate::limits::Limits;

/// Reads a mapping; the error is a sentence.
pub(super) fn read(front: &str, limits: &Limits) -> Result<Fields, String> {
    let mut fields = Fields::default();
    if front.len() > limits.front_matter {
        return Err(format!(
            "the front matter is {} bytes long and not read; the limit is {}",
            front.len(),
            limits.front_matter
        ));
    }
    if front.trim().is_empty() {
        return Ok(fields);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 64, max_depth: 64 },
        strict_booleans: true,
        with_snippet: false,
    };
    let read: std::collections::BTreeMap<String, String> =
        serde_saphyr::from_str_with_options(front, options)
            .map_err(|error| format!("the front matter is not valid YAML: {error}"))?;
    for (key, text) in read {
        fields.push(&key, Value::Text(text.into()), None);
    }
    Ok(fields)
}
