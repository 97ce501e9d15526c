//! The fields of a table, taken one by one; the remaining fields are unknown.

use std::ops::Range;

use super::{Manifest, UnavailablePrompt};
use crate::parse::toml::{Table, TomlItem, TomlValue};
use crate::problem::{ProblemCode, Severity, shorten};
use crate::suggest;

/// The fields of one table and which of them were read.
pub(super) struct ManifestFields<'t, 'a> {
    table: &'t Table<'a>,
    /// No table has more fields than this; there are too many tables to allocate for each.
    asked: [&'static str; 16],
    count: usize,
}

impl<'t, 'a> ManifestFields<'t, 'a> {
    pub(super) fn new(table: &'t Table<'a>) -> Self {
        Self {
            table,
            asked: [""; 16],
            count: 0,
        }
    }

    /// A field's value, if it exists.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'t TomlItem<'a>> {
        if let Some(place) = self.asked.get_mut(self.count) {
            *place = key;
            self.count += 1;
        }
        self.table.get(key)
    }
}

/// The first mistake in a prompt. Reading goes on after it, so that all mistakes are reported at
/// once; a client that asks for the prompt gets the sentence of the first.
#[derive(Debug, Default)]
pub(super) struct FirstMistake(Option<UnavailablePrompt>);

impl FirstMistake {
    /// A value that could be read.
    pub(super) fn keep<T>(&mut self, read: Result<T, UnavailablePrompt>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.note(mistake);
                None
            }
        }
    }

    /// The same, or the value of an absent field.
    pub(super) fn keep_field<T: Default>(&mut self, read: Result<T, UnavailablePrompt>) -> T {
        self.keep(read).unwrap_or_default()
    }

    /// Adds a mistake.
    pub(super) fn note(&mut self, mistake: UnavailablePrompt) {
        self.0.get_or_insert(mistake);
    }

    /// What was read, unless there is a mistake in it.
    pub(super) fn or<T>(self, value: T) -> Result<T, UnavailablePrompt> {
        match self.0 {
            Some(mistake) => Err(mistake),
            None => Ok(value),
        }
    }
}

impl Manifest<'_> {
    /// A problem with a place in the manifest. A client that asks for the prompt gets its sentence.
    pub(super) fn error(
        &mut self,
        code: ProblemCode,
        span: Range<usize>,
        message: String,
    ) -> UnavailablePrompt {
        let refusal = message.as_str().into();
        self.problems.add(code, Severity::Error, span, message);
        refusal
    }

    /// Adds help to the last reported problem.
    pub(super) fn help(&mut self, help: String) {
        self.problems.help(help);
    }

    pub(super) fn warning(&mut self, code: ProblemCode, span: Range<usize>, message: String) {
        self.problems.add(code, Severity::Warning, span, message);
    }

    pub(super) fn wrong_type(
        &mut self,
        key: &str,
        expected: &str,
        item: &TomlItem<'_>,
    ) -> UnavailablePrompt {
        let found = item.value.type_name();
        self.error(
            ProblemCode::WrongType,
            item.span.clone(),
            format!("`{key}` has to be {expected}, not {found}"),
        )
    }

    /// Reports unknown fields: most likely they are misspelt.
    pub(super) fn unknown(&mut self, fields: &ManifestFields<'_, '_>, place: &str) {
        let asked = &fields.asked[..fields.count];
        #[cfg(test)]
        tests::record(place, asked);
        for entry in &fields.table.entries {
            if asked.contains(&&*entry.key) {
                continue;
            }
            let key = shorten(&entry.key, 64);
            let message = format!(
                "unknown field `{}` in {place} is ignored",
                key.escape_debug()
            );
            let span = entry.key_span.clone();
            self.warning(ProblemCode::UnknownField, span, message);
            let help = suggest::did_you_mean(&entry.key, asked.iter().copied());
            self.problems.help(help);
        }
    }

    /// A text for people, such as a title.
    pub(super) fn text_field(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
        key: &'static str,
    ) -> Result<Option<Box<str>>, UnavailablePrompt> {
        match fields.take(key) {
            None => Ok(None),
            Some(TomlItem {
                value: TomlValue::Text(text),
                ..
            }) => Ok(Some(text.as_ref().into())),
            Some(item) => Err(self.wrong_type(key, "a string", item)),
        }
    }

    /// `true` or `false`; `false` if it is absent.
    pub(super) fn flag_field(
        &mut self,
        fields: &mut ManifestFields<'_, '_>,
        key: &'static str,
    ) -> Result<bool, UnavailablePrompt> {
        match fields.take(key) {
            None => Ok(false),
            Some(TomlItem {
                value: TomlValue::Bool(flag),
                ..
            }) => Ok(*flag),
            Some(item) => Err(self.wrong_type(key, "true or false", item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    use super::super::MANIFEST_SCHEMA;
    use crate::body::BodyError;
    use crate::limits::Limits;
    use crate::name::{LibraryName, RelativePath};
    use crate::parse::library::{Files, LibraryRoot, twig_library};

    thread_local! {
        static ASKED: RefCell<BTreeMap<String, BTreeSet<&'static str>>> = RefCell::default();
    }

    /// Remembers which fields were asked for.
    pub(super) fn record(place: &str, asked: &[&'static str]) {
        ASKED.with_borrow_mut(|all| all.entry(place.to_owned()).or_default().extend(asked));
    }

    struct AnyFile;

    impl Files for AnyFile {
        fn look(&self, _: &RelativePath) -> Result<(), BodyError> {
            Ok(())
        }
    }

    #[test]
    fn the_schema_has_every_field_that_is_read() {
        let folder = LibraryRoot {
            name: LibraryName::from_folder("lib").unwrap(),
            root: "/lib".into(),
            shown_root: "/lib".into(),
            prefix: "lib:".into(),
        };
        let text = "[library]\n[documents]\n[prompts.a]\narguments = [{ name = \"x\" }]\nmessages = [{ text = \"x\" }]\n[prompts.b]\ncommand = [\"./x\"]\n";
        twig_library(&folder, text, &AnyFile, &Limits::default());
        let schema: Value = serde_json::from_str(MANIFEST_SCHEMA).unwrap();
        for (place, at) in [
            ("the manifest", ""),
            ("[library]", "/definitions/library"),
            ("[documents]", "/definitions/documents"),
            ("a prompt", "/definitions/prompt"),
            ("an argument", "/definitions/argument/else"),
            ("a message", "/definitions/message"),
        ] {
            let fields = schema.pointer(&format!("{at}/properties")).unwrap();
            let fields = fields.as_object().unwrap().keys().map(String::as_str);
            let asked = ASKED.with_borrow_mut(|all| all.remove(place)).unwrap();
            assert_eq!(fields.collect::<BTreeSet<_>>(), asked, "{place}");
        }
        assert!(ASKED.with_borrow(BTreeMap::is_empty), "another place");
    }
}
