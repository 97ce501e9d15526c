//! `read`, `network` and `environment`: what a prompt's program asks for beyond its library.

use super::fields::ManifestFields;
use super::{Manifest, UnavailablePrompt};
use crate::grants::Grants;
use crate::hidden::{self, TextPlace};
use crate::name::{NameError, RelativePath};
use crate::parse::toml::{TomlItem, TomlValue};
use crate::problem::{ProblemCode, shorten};

/// The maximum number of paths and of variables that one program asks for.
const PATHS: usize = 16;
const VARIABLES: usize = 32;
/// The longest name of a variable.
const VARIABLE: usize = 128;

/// Variables that every function has.
const ALWAYS: [&str; 2] = ["PATH", "LANG"];
/// Variables that make a program load or run something else, and those of Twig itself.
const NEVER: [&str; 9] = [
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "IFS",
    "LOCPATH",
    "PS4",
    "SHELLOPTS",
];
const NEVER_BEGINNINGS: [&str; 3] = ["LD_", "DYLD_", "TWIG_"];

impl Manifest<'_> {
    pub(super) fn grants(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
    ) -> Result<Grants, UnavailablePrompt> {
        let mut grants = Grants::default();
        if let Some(item) = fields.take("read") {
            for text in self.names("read", "[\"repository\", \"~/notes\"]", PATHS, item)? {
                let (text, item) = text;
                if text == "repository" {
                    grants.repository = true;
                } else {
                    grants.paths.push(self.granted_path(text, item)?);
                }
            }
        }
        grants.network = self.flag_field(fields, "network")?;
        if let Some(item) = fields.take("environment") {
            for (name, item) in self.names("environment", "[\"AWS_PROFILE\"]", VARIABLES, item)? {
                if let Some(message) = bad_variable(name) {
                    return Err(self.bad_grant(item, message));
                }
                grants.environment.push(name.into());
            }
        }
        grants.paths.sort_unstable();
        grants.paths.dedup();
        grants.environment.sort_unstable();
        grants.environment.dedup();
        Ok(grants)
    }

    fn bad_grant(&mut self, item: &TomlItem<'_>, message: String) -> UnavailablePrompt {
        self.error(ProblemCode::BadGrant, item.span.clone(), message)
    }

    /// The strings of a list.
    fn names<'t>(
        &mut self,
        key: &str,
        example: &str,
        limit: usize,
        item: &'t TomlItem<'_>,
    ) -> Result<Vec<(&'t str, &'t TomlItem<'t>)>, UnavailablePrompt> {
        let expected = format!("an array of strings such as {example}");
        let TomlValue::List(items) = &item.value else {
            return Err(self.wrong_type(key, &expected, item));
        };
        if items.len() > limit {
            let count = items.len();
            let message = format!("`{key}` has {count} entries; the limit is {limit}");
            return Err(self.bad_grant(item, message));
        }
        let mut names = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                TomlValue::Text(text) => names.push((text.as_ref(), item)),
                _ => return Err(self.wrong_type(key, &expected, item)),
            }
        }
        Ok(names)
    }

    /// A path from the root or from home, without `.`, `..` and empty parts.
    fn granted_path(
        &mut self,
        text: &str,
        item: &TomlItem<'_>,
    ) -> Result<Box<str>, UnavailablePrompt> {
        let shown = shorten(text, 64);
        let shown = shown.escape_debug();
        let (start, rest) = match (text.strip_prefix("~/"), text.strip_prefix('/')) {
            (Some(rest), _) => ("~/", rest),
            (None, Some(rest)) => ("/", rest),
            (None, None) => {
                let message = format!(
                    "`read` takes \"repository\" or a path that starts with / or ~/, not `{shown}`"
                );
                let refusal = self.bad_grant(item, message);
                self.help("a function reads its library's folder without asking".to_owned());
                return Err(refusal);
            }
        };
        // What the user is shown has to be what is granted.
        if hidden::find(text, TextPlace::Label).is_some() {
            let message = format!("`read` has `{shown}`, which has an invisible character");
            return Err(self.bad_grant(item, message));
        }
        match RelativePath::parse(rest.trim_start_matches('/')) {
            Ok(rest) => Ok(format!("{start}{}", rest.as_str()).into()),
            Err(NameError::Empty) => {
                let message = format!("`read` has `{shown}`, which is everything");
                let refusal = self.bad_grant(item, message);
                self.help("name the files or folders that the program needs".to_owned());
                Err(refusal)
            }
            Err(NameError::Outside) => {
                let message = format!("`read` has `{shown}`; a granted path has no `..`");
                Err(self.bad_grant(item, message))
            }
            Err(error) => {
                let message = format!("`read` has `{shown}`, which {error}");
                Err(self.bad_grant(item, message))
            }
        }
    }
}

/// Why a program cannot get a variable.
fn bad_variable(name: &str) -> Option<String> {
    let shown = shorten(name, 64);
    let shown = shown.escape_debug();
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = name.len() <= VARIABLE
        && name.bytes().all(inner)
        && name.starts_with(|c: char| !c.is_ascii_digit());
    if !is_name {
        return Some(format!(
            "`environment` has `{shown}`, which is no name of a variable"
        ));
    }
    if ALWAYS.contains(&name) {
        return Some(format!(
            "`environment` has `{shown}`, which Twig sets for every function"
        ));
    }
    let is_refused =
        NEVER.contains(&name) || NEVER_BEGINNINGS.iter().any(|start| name.starts_with(start));
    is_refused.then(|| {
        format!("`environment` has `{shown}`, which functions never get: it changes how programs start, or is Twig's own")
    })
}
