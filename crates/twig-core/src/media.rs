//! Images and audio: the MIME type, by a file's extension.

use std::borrow::Cow;

/// How a client presents bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// An image.
    Image,
    /// Audio.
    Audio,
}

impl MediaKind {
    /// The word for it in files and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
        }
    }

    /// The extensions of files of this kind, each with its MIME type.
    pub fn endings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Image => &[
                ("png", "image/png"),
                ("jpg", "image/jpeg"),
                ("jpeg", "image/jpeg"),
                ("gif", "image/gif"),
                ("webp", "image/webp"),
                ("avif", "image/avif"),
                ("svg", "image/svg+xml"),
            ],
            Self::Audio => &[
                ("wav", "audio/wav"),
                ("mp3", "audio/mpeg"),
                ("ogg", "audio/ogg"),
                ("opus", "audio/ogg"),
                ("flac", "audio/flac"),
                ("m4a", "audio/mp4"),
                ("aac", "audio/aac"),
            ],
        }
    }

    /// The MIME type of a file of this kind; `None` for other extensions.
    pub fn mime_of(self, file_name: &str) -> Option<&'static str> {
        let (_, ending) = file_name.rsplit_once('.')?;
        let mut known = self.endings().iter();
        known.find_map(|(name, mime)| name.eq_ignore_ascii_case(ending).then_some(*mime))
    }
}

/// An image or audio in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Which of the two.
    pub kind: MediaKind,
    /// The MIME type.
    pub mime: Cow<'static, str>,
    /// The bytes themselves.
    pub bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_name_tells_what_a_file_is() {
        for (kind, name, mime) in [
            (MediaKind::Image, "a.png", Some("image/png")),
            (MediaKind::Image, "a.b.JPG", Some("image/jpeg")),
            (MediaKind::Audio, "a.opus", Some("audio/ogg")),
            (MediaKind::Audio, "a.png", None),
            (MediaKind::Image, "png", None),
            (MediaKind::Image, "a.txt", None),
        ] {
            assert_eq!(kind.mime_of(name), mime, "{name}");
        }
    }
}
