//! The settings that are numbers: one table of names, maxima and fields for each section.

use std::time::Duration;

use twig_core::Limits;
use twig_core::parse::{Table, TomlItem, TomlValue};
use twig_sources::FetchLimits;

use crate::http::HttpLimits;

/// One row per configurable limit: its name, its maximum, and the field that it sets.
pub(super) type LimitRow<T> = (&'static str, usize, fn(&mut T, usize));

/// The maximum of the number type.
pub(super) const ANY: usize = usize::MAX;

pub(super) const LIMITS: [LimitRow<Limits>; 29] = [
    ("template_source", ANY, |to, n| to.template_source = n),
    ("template_sources", ANY, |to, n| to.template_sources = n),
    ("manifest", ANY, |to, n| to.manifest = n),
    ("front_matter", ANY, |to, n| to.front_matter = n),
    ("arguments", ANY, |to, n| to.arguments = n),
    ("messages", ANY, |to, n| to.messages = n),
    ("argument_value", ANY, |to, n| to.argument_value = n),
    ("argument_values", ANY, |to, n| to.argument_values = n),
    ("rendered", ANY, |to, n| to.rendered = n),
    ("media", ANY, |to, n| to.media = n),
    ("embedded", ANY, |to, n| to.embedded = n),
    ("embedded_bytes", ANY, |to, n| to.embedded_bytes = n),
    ("skill_files", ANY, |to, n| to.skill_files = n),
    ("skill_bytes", ANY, |to, n| to.skill_bytes = n),
    ("document", ANY, |to, n| to.document = n),
    ("verbatim", ANY, |to, n| to.verbatim = n),
    ("project_items", ANY, |to, n| to.project_items = n),
    ("project_history", ANY, |to, n| to.project_history = n),
    ("store_millis", DAY, |to, n| to.store_millis = n as u64),
    ("queue_millis", DAY, |to, n| to.queue_millis = n as u64),
    ("render_millis", ANY, |to, n| to.render_millis = n as u64),
    ("function_output", ANY, |to, n| to.function_output = n),
    ("function_millis", ANY, |to, n| {
        to.function_millis = n as u64;
    }),
    ("answer_millis", DAY, |to, n| to.answer_millis = n as u64),
    ("include_depth", ANY, |to, n| to.include_depth = n),
    ("includes", ANY, |to, n| to.includes = n),
    ("message", ANY, |to, n| to.message = n),
    ("page", ANY, |to, n| to.page = n),
    ("subscriptions", ANY, |to, n| to.subscriptions = n),
];

/// The one limit that may be zero.
const DRAIN: &str = "drain_millis";

/// More than any machine serves, and less than a semaphore can count.
const MANY: usize = 1_000_000;
/// A day, which overflows no clock.
const DAY: usize = 24 * 60 * 60 * 1_000;

pub(super) const HTTP: [LimitRow<HttpLimits>; 15] = [
    ("connections", MANY, |to, n| to.connections = n),
    ("address_connections", MANY, |to, n| {
        to.address_connections = Some(n);
    }),
    ("sessions", MANY, |to, n| to.sessions = n),
    ("renders", MANY, |to, n| to.renders = n),
    ("reply_bytes", ANY, |to, n| to.reply_bytes = n),
    ("head_millis", DAY, |to, n| to.head = millis(n)),
    ("body_millis", DAY, |to, n| to.body = millis(n)),
    ("idle_millis", DAY, |to, n| to.idle = millis(n)),
    ("stall_millis", DAY, |to, n| to.stall = millis(n)),
    ("keep_alive_millis", DAY, |to, n| to.keep_alive = millis(n)),
    ("session_millis", DAY, |to, n| to.session = millis(n)),
    ("person_requests", MANY, |to, n| to.person.requests = n),
    ("person_burst", MANY, |to, n| to.person.burst = n),
    ("person_functions", MANY, |to, n| to.person.functions = n),
    (DRAIN, DAY, |to, n| to.drain = millis(n)),
];

pub(super) const PACKAGES: [LimitRow<FetchLimits>; 4] = [
    ("bytes", ANY, |to, n| to.bytes = n as u64),
    ("files", MANY, |to, n| to.files = n),
    ("stall_millis", DAY, |to, n| to.stall = millis(n)),
    ("fetch_millis", DAY, |to, n| to.total = millis(n)),
];

fn millis(number: usize) -> Duration {
    Duration::from_millis(number as u64)
}

/// Sets the limits of a table. Entries with another name are an error, unless they are among the
/// `others`, which someone else reads.
pub(super) fn set<'t, 'a, T>(
    limits: &mut T,
    rows: &[LimitRow<T>],
    table: &'t Table<'a>,
    others: &[&str],
) -> Result<(), (String, &'t TomlItem<'a>)> {
    let others_and_rows = || {
        rows.iter()
            .map(|(name, ..)| *name)
            .chain(others.iter().copied())
    };
    for entry in &table.entries {
        let (key, item) = (&*entry.key, &entry.item);
        let Some((_, most, set)) = rows.iter().find(|(name, ..)| *name == key) else {
            if others.contains(&key) {
                continue;
            }
            let near = twig_core::suggest::near(key, others_and_rows());
            let near = near.first().map(|name| format!("; did you mean `{name}`?"));
            let what = if others.is_empty() {
                "limit"
            } else {
                "setting"
            };
            let message = format!("unknown {what} `{key}`{}", near.unwrap_or_default());
            return Err((message, item));
        };
        let number = match item.value {
            TomlValue::Integer(number) if number > 0 => usize::try_from(number).ok(),
            TomlValue::Integer(0) if key == DRAIN => Some(0),
            _ => None,
        };
        let Some(number) = number else {
            let least = if key == DRAIN {
                ", 0 or more"
            } else {
                " above zero"
            };
            let message = format!("limit `{key}` has to be a whole number{least}");
            return Err((message, item));
        };
        if number > *most {
            return Err((format!("limit `{key}` can be {most} at most"), item));
        }
        set(limits, number);
    }
    Ok(())
}
