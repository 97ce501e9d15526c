//! What a file that is not text contains, by its first bytes, then by its name.

use twig_core::MediaKind;

/// The first bytes of files, and what they are. Programs come first: a name cannot hide them.
const STARTS: [(&[u8], &str); 22] = [
    (b"\x7fELF", "program"),
    (b"MZ", "program"),
    (b"\xfe\xed\xfa\xce", "program"),
    (b"\xfe\xed\xfa\xcf", "program"),
    (b"\xce\xfa\xed\xfe", "program"),
    (b"\xcf\xfa\xed\xfe", "program"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"\0asm", "WebAssembly"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"PK\x03\x04", "archive"),
    (b"\x1f\x8b", "archive"),
    (b"BZh", "archive"),
    (b"\xfd7zXZ", "archive"),
    (b"7z\xbc\xaf", "archive"),
    (b"\x28\xb5\x2f\xfd", "archive"),
    (b"%PDF", "PDF"),
    (b"SQLite format 3", "database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"wOF", "font"),
];

/// The word for what a file contains.
pub(super) fn kind(path: &str, bytes: &[u8]) -> &'static str {
    let start = STARTS.iter().find(|(start, _)| bytes.starts_with(start));
    if let Some((_, kind)) = start {
        return kind;
    }
    let media = [MediaKind::Image, MediaKind::Audio].into_iter();
    let mut media = media.filter(|kind| kind.mime_of(path).is_some());
    media.next().map_or("unknown", MediaKind::as_str)
}
