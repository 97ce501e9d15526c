//! Arbitrary files keep everything but our entry.

use proptest::prelude::*;

use super::{ONE, depth, entry, remove, set};
use crate::connect::jsonc::others;

/// Whitespace and comments, as allowed between any two tokens.
fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just("// a , } \" b\n".to_owned()),
        1 => Just("/* { \" : , */".to_owned()),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("mcpServers".to_owned()),
        Just("twig".to_owned()),
        "[a-c]{1,2}",
        Just("\\u00e9 \\\"".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e+3".to_owned()),
        Just("\"a \\\" // b\"".to_owned()),
        Just("[1, /* two */ 2,]".to_owned()),
        Just("{}".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| object(inner.boxed()))
}

fn object(value: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let property = (gap(), key(), gap(), gap(), value, gap())
        .prop_map(|(a, key, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"));
    let properties = prop::collection::vec(property, 0..4);
    (properties, gap(), any::<bool>()).prop_map(|(properties, gap, has_comma)| {
        let comma = if has_comma && !properties.is_empty() {
            ","
        } else {
            ""
        };
        format!("{{{}{comma}{gap}}}", properties.join(","))
    })
}

proptest! {
    #[test]
    fn everything_else_stays(
        mark in prop_oneof![Just(""), Just("\u{feff}")],
        top in gap(),
        root in object(value().boxed()),
        bottom in gap(),
    ) {
        let before = format!("{mark}{top}{root}{bottom}");
        // If `mcpServers` is not an object, the file is refused; the rest is edited.
        if let Ok(after) = set(&before, ONE, "twig", &entry()) {
            prop_assert_eq!(others(&before, ONE, "twig"), others(&after, ONE, "twig"));
            let had = super::entries(&before, ONE).is_ok_and(|listed| {
                listed.iter().any(|(name, ..)| name == "twig")
            });
            let restored = remove(&after, ONE, "twig", depth(&before, ONE));
            prop_assert!(restored.is_ok());
            if !had {
                // Whitespace alone between braces is not worth preserving.
                let dense = |text: &str| -> String { text.split_whitespace().collect() };
                prop_assert_eq!(dense(&restored.unwrap_or_default()), dense(&before));
            }
        }
    }
}
