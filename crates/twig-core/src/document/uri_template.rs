//! URI templates of the simplest form (RFC 6570, level 1): `scheme://{category}/{name}`.

/// A template whose variables are path segments, each without a `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    source: Box<str>,
    parts: Vec<UriTemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum UriTemplatePart {
    Text(Box<str>),
    Variable(Box<str>),
}

impl UriTemplate {
    /// Reads a template; the error says what is wrong with it.
    pub fn parse(source: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some((text, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err("has a `{` without its `}`".to_owned());
            };
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(format!("has no good name in `{{{name}}}`"));
            }
            let is_first = matches!(parts.last(), None | Some(UriTemplatePart::Text(_)));
            if text.is_empty() && !is_first {
                return Err("has two variables with nothing between them".to_owned());
            }
            if !text.is_empty() {
                parts.push(UriTemplatePart::Text(text.into()));
            }
            parts.push(UriTemplatePart::Variable(name.into()));
            rest = after;
        }
        if rest.contains('}') {
            return Err("has a `}` without its `{`".to_owned());
        }
        if !rest.is_empty() {
            parts.push(UriTemplatePart::Text(rest.into()));
        }
        Ok(Self {
            source: source.into(),
            parts,
        })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The names of its variables, in their order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            UriTemplatePart::Variable(name) => Some(&**name),
            UriTemplatePart::Text(_) => None,
        })
    }

    /// The values of its variables in a URI that matches. Each takes as little as it can, and the
    /// last one the rest, so that this is linear in the URI.
    pub fn values<'u>(&self, uri: &'u str) -> Option<Vec<&'u str>> {
        let mut values = Vec::new();
        let mut rest = uri;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let is_last_but_one = parts.len() == 1;
            match part {
                UriTemplatePart::Text(text) => rest = rest.strip_prefix(&**text)?,
                UriTemplatePart::Variable(_) => {
                    let end = match parts.peek() {
                        Some(UriTemplatePart::Text(next)) if is_last_but_one => {
                            rest.strip_suffix(&**next)?.len()
                        }
                        Some(UriTemplatePart::Text(next)) => rest.find(&**next)?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(end);
                    if value.is_empty() || value.contains('/') {
                        return None;
                    }
                    values.push(value);
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl UriTemplate {
        fn fill(&self, values: &[&str]) -> String {
            let mut values = values.iter();
            let parts = self.parts.iter().map(|part| match part {
                UriTemplatePart::Text(text) => text,
                UriTemplatePart::Variable(_) => values.next().copied().unwrap_or_default(),
            });
            parts.collect()
        }
    }

    proptest! {
        #[test]
        fn values_come_back_as_they_were_filled_in(
            texts in proptest::collection::vec("[:/-]{1,3}", 1..5),
            values in proptest::collection::vec("[a-c%0-9]{1,4}", 4),
        ) {
            let parts = texts.iter().enumerate().map(|(at, text)| format!("{text}{{v{at}}}"));
            let template = UriTemplate::parse(&parts.collect::<Vec<_>>().concat()).unwrap();
            let values: Vec<&str> = values.iter().take(texts.len()).map(String::as_str).collect();
            let uri = template.fill(&values);
            prop_assert_eq!(template.values(&uri), Some(values));
        }

        #[test]
        fn what_fits_is_made_of_its_values(source in "[a{}/b]{0,12}", uri in "[ab/]{0,12}") {
            if let Ok(template) = UriTemplate::parse(&source)
                && let Some(values) = template.values(&uri)
            {
                prop_assert!(values.iter().all(|value| !value.is_empty() && !value.contains('/')));
                prop_assert_eq!(template.fill(&values), uri);
            }
        }

        #[test]
        fn any_text_is_a_template_or_not(source in any::<String>(), uri in any::<String>()) {
            if let Ok(template) = UriTemplate::parse(&source) {
                let values = template.values(&uri);
                prop_assert!(values.is_none_or(|values| values.len() == template.variables().count()));
            }
        }
    }

    #[test]
    fn values_are_single_parts_of_a_path() {
        let template = UriTemplate::parse("a://{category}/{name}").unwrap();
        let names: Vec<&str> = template.variables().collect();
        assert_eq!(names, ["category", "name"]);
        assert_eq!(template.values("a://x/y"), Some(vec!["x", "y"]));
        for uri in ["a://x", "a://x/", "a:///y", "a://x/y/z", "b://x/y", ""] {
            assert_eq!(template.values(uri), None, "{uri}");
        }
        let inside = UriTemplate::parse("t://template/{id}/data").unwrap();
        assert_eq!(inside.values("t://template/123/data"), Some(vec!["123"]));
        assert_eq!(inside.values("t://template/1/2/data"), None);
        assert_eq!(inside.values("t://template/data/data"), Some(vec!["data"]));
        let ended = UriTemplate::parse("{a}x").unwrap();
        assert_eq!(ended.values("axx"), Some(vec!["ax"]));
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for source in ["{", "a}", "{}", "{a b}", "{a}{b}", "{+a}"] {
            assert!(UriTemplate::parse(source).is_err(), "{source}");
        }
        assert!(UriTemplate::parse("plain").is_ok());
    }
}
