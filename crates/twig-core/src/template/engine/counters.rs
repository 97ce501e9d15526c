//! The functions `cycler` and `joiner`: values that remember how often they were used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use minijinja::value::{Object, ObjectRepr, Rest, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::failure::fault;

/// Adds both functions.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_function("cycler", cycler);
    environment.add_function("joiner", joiner);
}

/// Gives its values in turn.
#[derive(Debug)]
struct Cycler {
    values: Vec<Value>,
    next: AtomicUsize,
}

fn cycler(Rest(values): Rest<Value>) -> Result<Value, Error> {
    if values.is_empty() {
        return Err(fault("`cycler` needs at least one value"));
    }
    Ok(Value::from_object(Cycler {
        values,
        next: AtomicUsize::new(0),
    }))
}

impl Cycler {
    fn current(&self) -> Value {
        let at = self.next.load(Ordering::Relaxed) % self.values.len();
        self.values[at].clone()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(
        self: &Arc<Self>,
        _: &mut State<'_, '_>,
        method: &str,
        given: &[Value],
    ) -> Result<Value, Error> {
        let () = from_args(given)?;
        match method {
            "next" => {
                let current = self.current();
                self.next.fetch_add(1, Ordering::Relaxed);
                Ok(current)
            }
            "reset" => {
                self.next.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// Nothing at first, its separator from then on.
#[derive(Debug)]
struct Joiner {
    separator: Value,
    is_used: AtomicBool,
}

fn joiner(separator: Option<Value>) -> Value {
    Value::from_object(Joiner {
        separator: separator.unwrap_or_else(|| Value::from(", ")),
        is_used: AtomicBool::new(false),
    })
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _: &mut State<'_, '_>, given: &[Value]) -> Result<Value, Error> {
        let () = from_args(given)?;
        if self.is_used.swap(true, Ordering::Relaxed) {
            return Ok(self.separator.clone());
        }
        Ok(Value::from(""))
    }
}
