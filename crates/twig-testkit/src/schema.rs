//! Checks a value against a JSON Schema, as far as the schemas of Twig use the language: a keyword that
//! is not known here fails the test.

use serde_json::{Map, Value};
use twig_core::argument::Pattern;

/// The places of a value that a schema refuses, each as the keys and indices that lead there.
pub fn schema_errors(schema: &Value, value: &Value) -> Vec<Vec<String>> {
    let mut check = SchemaCheck {
        root: schema,
        path: Vec::new(),
        places: Vec::new(),
    };
    check.check(schema, value);
    check.places
}

struct SchemaCheck<'s> {
    root: &'s Value,
    path: Vec<String>,
    places: Vec<Vec<String>>,
}

impl<'s> SchemaCheck<'s> {
    fn check(&mut self, schema: &'s Value, value: &Value) {
        let Value::Object(keywords) = schema else {
            assert!(schema.is_boolean(), "not a schema: {schema}");
            return self.expect(*schema == Value::Bool(true));
        };
        // In draft 7 a reference stands alone.
        if let Some(name) = keywords.get("$ref").and_then(Value::as_str) {
            let target = name.strip_prefix('#').and_then(|at| self.root.pointer(at));
            return self.check(target.expect("a definition"), value);
        }
        for (keyword, wanted) in keywords {
            self.keyword(keywords, keyword, wanted, value);
        }
    }

    fn expect(&mut self, holds: bool) {
        if !holds {
            self.places.push(self.path.clone());
        }
    }

    fn holds(&self, schema: &'s Value, value: &Value) -> bool {
        let mut inner = SchemaCheck {
            root: self.root,
            path: Vec::new(),
            places: Vec::new(),
        };
        inner.check(schema, value);
        inner.places.is_empty()
    }

    fn at(&mut self, step: &str, schema: &'s Value, value: &Value) {
        self.path.push(step.to_owned());
        self.check(schema, value);
        self.path.pop();
    }

    fn keyword(
        &mut self,
        keywords: &'s Map<String, Value>,
        keyword: &str,
        wanted: &'s Value,
        value: &Value,
    ) {
        let all = |schemas: &'s Value| schemas.as_array().expect("schemas").iter();
        let number = || wanted.as_u64().expect("a number");
        match keyword {
            "$schema" | "title" | "description" | "definitions" | "then" | "else" => {}
            "type" => {
                let types = wanted
                    .as_array()
                    .map_or(std::slice::from_ref(wanted), |it| it);
                self.expect(types.iter().any(|it| *it == type_of(value)));
            }
            "enum" => self.expect(all(wanted).any(|it| it == value)),
            "const" => self.expect(wanted == value),
            "not" => self.expect(!self.holds(wanted, value)),
            "allOf" => all(wanted).for_each(|schema| self.check(schema, value)),
            "anyOf" => {
                let fits = all(wanted).any(|schema| self.holds(schema, value));
                self.expect(fits);
            }
            "oneOf" => {
                let fitting = all(wanted).filter(|schema| self.holds(schema, value));
                let is_one = fitting.count() == 1;
                self.expect(is_one);
            }
            "if" => {
                let next = if self.holds(wanted, value) {
                    "then"
                } else {
                    "else"
                };
                if let Some(next) = keywords.get(next) {
                    self.check(next, value);
                }
            }
            "pattern" => {
                let pattern = Pattern::parse(wanted.as_str().expect("a pattern"));
                let pattern = pattern.expect("a regular expression");
                self.expect(value.as_str().is_none_or(|text| pattern.is_match(text)));
            }
            "minLength" | "maxLength" => {
                let length = value.as_str().map(|text| text.chars().count() as u64);
                let is_least = keyword == "minLength";
                self.expect(length.is_none_or(|it| in_bound(it, number(), is_least)));
            }
            "minItems" | "maxItems" => {
                let length = value.as_array().map(|items| items.len() as u64);
                let is_least = keyword == "minItems";
                self.expect(length.is_none_or(|it| in_bound(it, number(), is_least)));
            }
            "minimum" | "maximum" => {
                let bound = wanted.as_i64().expect("a number");
                let holds = value.as_i64().is_none_or(|it| match keyword {
                    "minimum" => it >= bound,
                    _ => it <= bound,
                });
                self.expect(holds);
            }
            "items" => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                for (at, item) in items.iter().enumerate() {
                    let schema = match wanted {
                        Value::Array(schemas) => schemas.get(at),
                        schema => Some(schema),
                    };
                    if let Some(schema) = schema {
                        self.at(&at.to_string(), schema, item);
                    }
                }
            }
            _ => self.member_keyword(keywords, keyword, wanted, value),
        }
    }

    /// A keyword that says something about objects.
    fn member_keyword(
        &mut self,
        keywords: &'s Map<String, Value>,
        keyword: &str,
        wanted: &'s Value,
        value: &Value,
    ) {
        let Value::Object(members) = value else {
            return;
        };
        let names = |names: &'s Value| {
            let names = names.as_array().expect("names").iter();
            names.map(|name| name.as_str().expect("a name"))
        };
        match keyword {
            "required" => {
                let has_all = names(wanted).all(|name| members.contains_key(name));
                self.expect(has_all);
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("schemas") {
                    if let Some(member) = members.get(name) {
                        self.at(name, schema, member);
                    }
                }
            }
            "additionalProperties" => {
                let known = keywords.get("properties").and_then(Value::as_object);
                let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
                for (name, member) in members.iter().filter(|(name, _)| !is_known(name)) {
                    self.at(name, wanted, member);
                }
            }
            "propertyNames" => {
                for name in members.keys() {
                    self.at(name, wanted, &Value::from(name.as_str()));
                }
            }
            "dependencies" => {
                for (name, needed) in wanted.as_object().expect("lists of names") {
                    let has_all = names(needed).all(|name| members.contains_key(name));
                    self.expect(!members.contains_key(name) || has_all);
                }
            }
            _ => panic!("the keyword `{keyword}` is not known here"),
        }
    }
}

fn in_bound(found: u64, bound: u64, is_least: bool) -> bool {
    if is_least {
        found >= bound
    } else {
        found <= bound
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
