//! Any text is cut and read, or refused, and the cut loses nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use twig_core::Limits;
use twig_core::parse::front_matter::{read, split};

fuzz_target!(|text: &str| {
    let cut = split(text);
    assert!(text.ends_with(cut.body));
    if let Some(front) = cut.front {
        assert_eq!(front, &text[cut.front_span.clone()]);
        let _ = read(front, &Limits::default());
    }
});
