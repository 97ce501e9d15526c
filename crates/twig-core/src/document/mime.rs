//! The MIME type of a document: by its extension, else by its first bytes.

use crate::media::MediaKind;

/// Extensions and their MIME types; [`MediaKind`] knows those of images and audio.
const ENDINGS: &[(&str, &str)] = &[
    ("adoc", "text/asciidoc"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mdx", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("rst", "text/x-rst"),
    ("rtf", "application/rtf"),
    ("sh", "application/x-sh"),
    ("sql", "application/sql"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webm", "video/webm"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Extensions that are more common than others of the same type.
const USUAL: [&str; 2] = ["html", "md"];

/// Magic bytes and their MIME types.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
];

/// The MIME type of a file with this name whose contents begin like this.
pub fn mime_of(file_name: &str, head: &[u8]) -> &'static str {
    mime_of_name(file_name).unwrap_or_else(|| by_beginning(head))
}

/// The MIME type of a file with this name, if its extension is known.
pub fn mime_of_name(file_name: &str) -> Option<&'static str> {
    let mut kinds = [MediaKind::Image, MediaKind::Audio].into_iter();
    let by_kind = kinds.find_map(|kind| kind.mime_of(file_name));
    by_kind.or_else(|| by_ending(file_name))
}

/// The usual extension of a MIME type, without its dot; parameters do not matter.
pub fn ending_of(mime: &str) -> Option<&'static str> {
    let essence = mime.split(';').next().unwrap_or_default().trim();
    let kinds = [MediaKind::Image, MediaKind::Audio].map(MediaKind::endings);
    let known = kinds.into_iter().chain([ENDINGS]).flatten();
    let mut fitting = known.filter(|(_, mime)| mime.eq_ignore_ascii_case(essence));
    let (first, _) = fitting.next()?;
    let usual = fitting.find(|(ending, _)| USUAL.contains(ending));
    Some(usual.map_or(*first, |(ending, _)| *ending))
}

fn by_ending(file_name: &str) -> Option<&'static str> {
    let (_, ending) = file_name.rsplit_once('.')?;
    let mut known = ENDINGS.iter();
    known.find_map(|(name, mime)| name.eq_ignore_ascii_case(ending).then_some(*mime))
}

fn by_beginning(head: &[u8]) -> &'static str {
    match sniff(head) {
        Some(mime) => mime,
        None if is_text(head) => "text/plain",
        None => "application/octet-stream",
    }
}

/// The MIME type if the first bytes are conclusive.
pub(crate) fn sniff(head: &[u8]) -> Option<&'static str> {
    // Containers name their content a few bytes later.
    match (head.get(..4), head.get(8..12)) {
        (Some(b"RIFF"), Some(b"WAVE")) => return Some("audio/wav"),
        (Some(b"RIFF"), Some(b"WEBP")) => return Some("image/webp"),
        (_, Some(b"avif")) if head.get(4..8) == Some(b"ftyp") => return Some("image/avif"),
        (_, Some(b"M4A ")) if head.get(4..8) == Some(b"ftyp") => return Some("audio/mp4"),
        _ => {}
    }
    let mut known = BEGINNINGS.iter();
    known.find_map(|(start, mime)| head.starts_with(start).then_some(*mime))
}

/// True if bytes look like the beginning of a text; its last character may be cut.
pub(crate) fn is_text(head: &[u8]) -> bool {
    if head.contains(&0) {
        return false;
    }
    match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_first_and_then_the_beginning() {
        for (name, head, mime) in [
            ("a.md", &b"\x89PNG\r\n\x1a\n"[..], "text/markdown"),
            ("A.PNG", b"", "image/png"),
            ("a.opus", b"OggS", "audio/ogg"),
            ("a.m4a", b"\0", "audio/mp4"),
            ("a.aac", b"\0", "audio/aac"),
            ("a.mp4", b"\0", "video/mp4"),
            ("a", b"\x89PNG\r\n\x1a\n\0", "image/png"),
            ("a.unknown", "Grüße".as_bytes(), "text/plain"),
            ("a.unknown", &"Grüße".as_bytes()[..3], "text/plain"),
            ("a", b"\xff\xfe", "application/octet-stream"),
            ("a", b"a\0b", "application/octet-stream"),
            ("a", b"", "text/plain"),
        ] {
            assert_eq!(mime_of(name, head), mime, "{name}");
        }
    }

    #[test]
    fn a_type_has_an_ending_that_means_it() {
        for (mime, ending) in [
            ("text/markdown", Some("md")),
            ("TEXT/HTML; charset=utf-8", Some("html")),
            ("image/jpeg", Some("jpg")),
            ("text/x-unheard", None),
        ] {
            assert_eq!(ending_of(mime), ending, "{mime}");
        }
        for (_, mime) in ENDINGS {
            let ending = ending_of(mime).expect("known");
            assert_eq!(mime_of_name(&format!("a.{ending}")), Some(*mime));
        }
    }
}
