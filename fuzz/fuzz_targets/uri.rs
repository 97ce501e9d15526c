//! Any URI fits a template or not, names come back from URIs, and any bytes have a head.
#![no_main]

mod deep;

use libfuzzer_sys::fuzz_target;
use twig_core::document::Head;
use twig_core::uri::{decode, encode};
use twig_core::UriTemplate;

fuzz_target!(|bytes: &[u8]| {
    let head = Head::read("a.md", bytes, true);
    assert!(head.heading.is_none_or(|heading| !heading.trim().is_empty()));
    let Some(text) = deep::text(bytes) else { return };
    let text = &*text;
    assert_eq!(decode(&encode(text)), text);
    let _ = decode(text);
    let (source, uri) = text.split_once('\n').unwrap_or((text, text));
    let Ok(template) = UriTemplate::parse(source) else { return };
    let Some(values) = template.values(uri) else { return };
    assert_eq!(values.len(), template.variables().count());
    let mut rest = uri;
    for value in values {
        assert!(!value.is_empty() && !value.contains('/'));
        let at = rest.find(value).expect("a part of the URI");
        rest = &rest[at + value.len()..];
    }
});
