//! Any text is cut and read, and the cut loses nothing.
#![no_main]

mod deep;

use libfuzzer_sys::fuzz_target;
use twig_core::Limits;
use twig_core::front_matter::{read, split};

fuzz_target!(|bytes: &[u8]| {
    let Some(text) = deep::text(bytes) else { return };
    let text = &*text;
    let cut = split(text);
    let end = cut.body_start + cut.body.len();
    assert_eq!(&text[cut.body_start..end], cut.body);
    assert!(text[end..].trim().bytes().all(|byte| byte == b'`'));
    if let Some(front) = cut.front {
        assert!(matches!(text[front.end..cut.body_start].trim_end(), "---" | "..."));
    }
    let read = read(text, &Limits::default());
    assert_eq!(read.body, cut.body);
    assert!(serde_json::from_str::<serde_json::Value>(&read.fields.to_json()).is_ok());
});
