//! Whatever a program prints is a prompt within its limits, or one sentence that says why not.
#![no_main]

mod deep;

use libfuzzer_sys::fuzz_target;
use twig_core::Block;
use twig_core::function::read_output;

fuzz_target!(|bytes: &[u8]| {
    // What is no text is given as it is.
    let text = deep::text(bytes);
    let bytes = text.as_ref().map_or(bytes, |text| text.as_bytes());
    match read_output(bytes) {
        Ok(finished) => {
            assert!((1..=64).contains(&finished.messages.len()));
            for message in &finished.messages {
                if let Block::Text(text) = &message.block {
                    assert!(!text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t')));
                }
            }
        }
        Err(sentence) => assert!(!sentence.is_empty() && sentence.len() < 4096, "{sentence}"),
    }
});
