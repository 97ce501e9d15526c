//! The values that a template sees: every declared argument, given or not.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use minijinja::value::{Enumerator, Object, ObjectRepr, Rest, ValueOrKwargs};
use minijinja::{Error, State, Value};

use super::engine::Parameters;

/// Declared arguments and their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateValues<'a> {
    pairs: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> TemplateValues<'a> {
    /// Takes every declared argument; `None` is one without a value.
    pub fn new(pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        Self {
            pairs: pairs.into_iter().collect(),
        }
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + '_ {
        self.pairs.iter().copied()
    }

    /// Bytes of all values.
    pub(crate) fn len(&self) -> usize {
        self.iter()
            .map(|(_, value)| value.map_or(0, str::len))
            .sum()
    }

    /// The values as a template looks them up: copied once, then shared.
    pub(crate) fn to_context(&self) -> Value {
        let pairs = self.iter().map(|(name, value)| {
            let value = value.map_or_else(|| ABSENT.clone(), Value::from);
            // Short names are kept inside the value, so this allocates nothing.
            (Value::from(name), value)
        });
        Value::from_object(ValuesContext {
            pairs: pairs.collect(),
            last: AtomicUsize::new(0),
        })
    }
}

#[derive(Debug)]
struct ValuesContext {
    pairs: Vec<(Value, Value)>,
    /// The pair that was found last: most templates print arguments in the order of their
    /// declaration, each right after a condition on it.
    last: AtomicUsize,
}

impl Object for ValuesContext {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        let last = self.last.load(Ordering::Relaxed);
        let is_it = |at: &usize| {
            self.pairs
                .get(*at)
                .is_some_and(|it| it.0.as_str() == Some(key))
        };
        let near = (last..last + 2).find(is_it);
        let at = near.or_else(|| (0..self.pairs.len()).find(is_it))?;
        self.last.store(at, Ordering::Relaxed);
        Some(self.pairs[at].1.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

static ABSENT: LazyLock<Value> = LazyLock::new(|| Value::from_object(Absent));

/// A declared argument without a value: it prints as nothing, is false and empty, and so are its
/// attributes. An undeclared variable, in contrast, is an error.
#[derive(Debug)]
struct Absent;

impl Object for Absent {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        Some(ABSENT.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }

    fn is_true(self: &Arc<Self>) -> bool {
        false
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        _: &str,
        _: &[Value],
    ) -> Result<Value, Error> {
        Ok(ABSENT.clone())
    }

    fn render(self: &Arc<Self>, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

fn is_absent(value: &Value) -> bool {
    value.is_undefined() || value.downcast_object_ref::<Absent>().is_some()
}

/// The test `defined`.
pub(crate) fn is_defined(value: &Value) -> bool {
    !is_absent(value)
}

/// The test `undefined`.
pub(crate) fn is_undefined(value: &Value) -> bool {
    is_absent(value)
}

/// The filter `default`, which also applies to an argument without a value.
pub(crate) fn default(value: &Value, given: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let given = given.into_values();
    let given = Parameters::read(&["default_value", "boolean"], &given)?;
    let also_false = given.flag(1).unwrap_or_default();
    if is_absent(value) || (also_false && !value.is_true()) {
        let default = given.required(0).cloned();
        return Ok(default.unwrap_or_else(|_| Value::from("")));
    }
    Ok(value.clone())
}
