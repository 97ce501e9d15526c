//! Formatting with `%`, as Python does it: `"%s: %5.1f" % (name, share)`.
//!
//! The format is read here, so that every width has a limit; minijinja writes the numbers.

use std::iter::Peekable;
use std::str::CharIndices;

use minijinja::formatting::{FormatStyle, format as format_value};
use minijinja::{Error, Value};

use super::failure::fault;
use super::text_filters::{TEXT, bounded_width, float_of, limit, padded};

/// What a format is filled with.
pub(super) enum FormatValues {
    /// Values in order.
    Several(Vec<Value>),
    /// A map, for `%(name)s`.
    ByName(Value),
}

/// One `%…` of a format.
#[derive(Default)]
struct Conversion {
    key: Option<String>,
    flags: String,
    width: Option<usize>,
    precision: Option<usize>,
    kind: char,
}

/// Fills a format.
pub(super) fn format(format: &str, values: &FormatValues) -> Result<String, Error> {
    let mut filled = FormatReader {
        format,
        rest: format.char_indices().peekable(),
        values,
        used: 0,
    };
    let mut output = String::with_capacity(format.len());
    while let Some((_, character)) = filled.rest.next() {
        if character != '%' {
            output.push(character);
            continue;
        }
        if filled.rest.next_if(|(_, next)| *next == '%').is_some() {
            output.push('%');
            continue;
        }
        let conversion = filled.conversion()?;
        output.push_str(&filled.convert(&conversion)?);
        if output.len() > TEXT {
            return Err(limit(format!(
                "the text that `%` writes exceeds the limit of {TEXT} bytes"
            )));
        }
    }
    match values {
        FormatValues::Several(values) if filled.used < values.len() => {
            let (has, takes) = (values.len(), filled.used);
            Err(fault(format!(
                "the format takes {takes} of the {has} values after `%`; for a remainder, write `|int` before `%`"
            )))
        }
        _ => Ok(output),
    }
}

struct FormatReader<'f> {
    format: &'f str,
    rest: Peekable<CharIndices<'f>>,
    values: &'f FormatValues,
    used: usize,
}

impl FormatReader<'_> {
    /// Reads what follows a `%`.
    fn conversion(&mut self) -> Result<Conversion, Error> {
        let mut conversion = Conversion::default();
        if let Some((start, _)) = self.rest.next_if(|(_, next)| *next == '(') {
            let rest = &self.format[start + 1..];
            let Some(length) = rest.find(')') else {
                return Err(fault("`%(` has no `)` in the format"));
            };
            conversion.key = Some(rest[..length].to_owned());
            while self
                .rest
                .next_if(|(at, _)| *at <= start + 1 + length)
                .is_some()
            {}
        }
        while let Some((_, flag)) = self.rest.next_if(|(_, next)| "#0- +".contains(*next)) {
            if !conversion.flags.contains(flag) {
                conversion.flags.push(flag);
            }
        }
        conversion.width = self.number()?;
        if self.rest.next_if(|(_, next)| *next == '.').is_some() {
            conversion.precision = Some(self.number()?.unwrap_or_default());
        }
        while self
            .rest
            .next_if(|(_, next)| "hlL".contains(*next))
            .is_some()
        {}
        match self.rest.next() {
            Some((_, kind)) if "diouxXeEfFgGcsra".contains(kind) => conversion.kind = kind,
            Some(_) => {
                return Err(fault(
                    "the format has a `%` that begins no conversion; `%%` writes a percent sign",
                ));
            }
            None => {
                return Err(fault(
                    "the format ends after `%`; `%%` writes a percent sign",
                ));
            }
        }
        Ok(conversion)
    }

    /// Digits, or the next value if there is a `*`.
    fn number(&mut self) -> Result<Option<usize>, Error> {
        if self.rest.next_if(|(_, next)| *next == '*').is_some() {
            let value = self.next_value()?;
            let number = usize::try_from(value);
            let number = number.map_err(|_| fault("`*` in a format needs a whole number"))?;
            return bounded_width(number, "%").map(Some);
        }
        let mut number = None;
        while let Some((_, digit)) = self.rest.next_if(|(_, next)| next.is_ascii_digit()) {
            let digit = digit.to_digit(10).unwrap_or_default() as usize;
            let longer = number
                .unwrap_or(0_usize)
                .saturating_mul(10)
                .saturating_add(digit);
            number = Some(bounded_width(longer, "%")?);
        }
        Ok(number)
    }

    fn next_value(&mut self) -> Result<Value, Error> {
        let FormatValues::Several(values) = self.values else {
            return Err(fault(
                "a format for a map names each value, such as `%(name)s`",
            ));
        };
        let value = values.get(self.used).cloned();
        self.used += 1;
        value.ok_or_else(|| {
            let has = values.len();
            fault(format!(
                "the format needs more values than the {has} after `%`"
            ))
        })
    }

    fn convert(&mut self, conversion: &Conversion) -> Result<String, Error> {
        let value = match (&conversion.key, self.values) {
            (None, _) => self.next_value()?,
            (Some(key), FormatValues::ByName(map)) => {
                let value = map.get_item(&Value::from(key.as_str()))?;
                if value.is_undefined() {
                    return Err(fault("the format names a value that the map does not have"));
                }
                value
            }
            (Some(_), FormatValues::Several(_)) => {
                return Err(fault("`%(name)` in a format needs a map after `%`"));
            }
        };
        match conversion.kind {
            's' => Ok(conversion.pad(&value.to_string())),
            'r' | 'a' => Ok(conversion.pad(&format!("{value:?}"))),
            'c' if value.as_str().is_some_and(|text| text.chars().count() == 1) => {
                Ok(conversion.pad(&value.to_string()))
            }
            kind => conversion.number(kind, value),
        }
    }
}

impl Conversion {
    /// Text in its field.
    fn pad(&self, text: &str) -> String {
        let text: String = match self.precision {
            Some(precision) if self.kind != 'c' => text.chars().take(precision).collect(),
            _ => text.to_owned(),
        };
        let padding = self
            .width
            .unwrap_or_default()
            .saturating_sub(text.chars().count());
        if self.flags.contains('-') {
            padded(&text, 0, padding, ' ')
        } else {
            padded(&text, padding, 0, ' ')
        }
    }

    /// A number in its field.
    fn number(&self, kind: char, value: Value) -> Result<String, Error> {
        let is_whole = "diuoxXc".contains(kind);
        let Some(number) = float_of(&value) else {
            let filter = if is_whole { "int" } else { "float" };
            return Err(fault(format!(
                "`%{kind}` needs a number; convert the value with `|{filter}`"
            )));
        };
        let value = match kind {
            'd' | 'i' | 'u' if !value.is_integer() =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "past the range it saturates"
                )]
                Value::from(number as i128)
            }
            _ => value,
        };
        let width = self.width.map(|it| it.to_string()).unwrap_or_default();
        let precision = self
            .precision
            .map(|it| format!(".{it}"))
            .unwrap_or_default();
        let kind = if matches!(kind, 'i' | 'u') { 'd' } else { kind };
        let spec = format!("%{}{}{precision}{kind}", self.flags, width);
        format_value(FormatStyle::Printf, &spec, &[value])
    }
}
