//! The filters of plain templates, with a limit on the text they process in one render.
//!
//! A plain template renders on the calling thread and cannot be interrupted. Its filters take time
//! in proportion to the length of a value, ten milliseconds for the longest one, and a template may
//! use many.

use std::borrow::Cow;

use minijinja::value::StringInput;
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

/// Bytes that all filters of one render may work on.
const BYTES: usize = 4 * 1024 * 1024;

/// The remaining bytes.
struct Meter(usize);

/// Adds the filters that cannot multiply.
pub(super) fn add_filters(environment: &mut Environment<'static>) {
    environment.add_filter(
        "upper",
        |state: &mut State<'_, '_>, text: StringInput<'_>| {
            charge(state, text.as_str()).map(|()| filters::upper(text))
        },
    );
    environment.add_filter(
        "lower",
        |state: &mut State<'_, '_>, text: StringInput<'_>| {
            charge(state, text.as_str()).map(|()| filters::lower(text))
        },
    );
    environment.add_filter(
        "capitalize",
        |state: &mut State<'_, '_>, text: StringInput<'_>| {
            charge(state, text.as_str()).map(|()| filters::capitalize(text))
        },
    );
    environment.add_filter(
        "trim",
        |state: &mut State<'_, '_>, text: StringInput<'_>| {
            charge(state, text.as_str()).map(|()| filters::trim(text, None))
        },
    );
    environment.add_filter("title", |state: &mut State<'_, '_>, text: Cow<'_, str>| {
        charge(state, &text).map(|()| filters::title(text))
    });
    environment.add_filter("length", length);
    environment.add_filter("count", length);
}

fn length(state: &mut State<'_, '_>, value: &Value) -> Result<usize, Error> {
    charge(state, value.as_str().unwrap_or_default())?;
    filters::length(value)
}

fn charge(state: &mut State<'_, '_>, text: &str) -> Result<(), Error> {
    let meter = state.get_or_insert_extension_with(|| Meter(BYTES));
    match meter.0.checked_sub(text.len()) {
        Some(left) => {
            meter.0 = left;
            Ok(())
        }
        None => Err(Error::new(
            ErrorKind::OutOfFuel,
            format!("the template's filters work on too much text; the limit is {BYTES} bytes"),
        )),
    }
}
