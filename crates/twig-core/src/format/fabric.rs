//! Patterns of Fabric: a folder each, with a `system.md` that has no front matter.

/// The file that says what each pattern does, in the folder of patterns.
pub(super) const EXPLANATIONS: &str = "pattern_explanations.md";

/// Descriptions by the names of their patterns: lines like `12. **name**: what it does`.
pub(super) fn explanations(text: &str) -> Vec<(Box<str>, Box<str>)> {
    text.lines().filter_map(explanation).collect()
}

fn explanation(line: &str) -> Option<(Box<str>, Box<str>)> {
    let line = line.trim_start();
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[number..].strip_prefix(". **").filter(|_| number > 0)?;
    let (name, description) = rest.split_once("**:")?;
    let description = description.trim();
    let is_name = !name.is_empty() && !name.contains(['*', '/']) && !description.is_empty();
    is_name.then(|| (name.into(), description.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_are_numbered_lines() {
        let text = "# All\n\n- **x**: no\n1. **ai**: Answers.\n  12. **summarize_pull-requests**:  Sums up. \n3. **empty**: \n4. *a*: no\nx. **b**: no\n";
        let found = explanations(text);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        assert_eq!(
            found,
            [("ai", "Answers."), ("summarize_pull-requests", "Sums up.")]
        );
    }
}
