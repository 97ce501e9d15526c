//! Images, which are asked for with the key and shown from memory.

use maud::{Markup, html};

/// Types of images that are shown; all others are not, SVG among them.
pub const IMAGES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
];

/// An image, which the script asks for with its key and shows from memory.
pub(crate) fn image(query: &str, mime: &str, title: &str) -> Markup {
    html! {
        figure.media {
            img data-media=(format!("/page/media?{query}")) data-mime=(mime) alt=(title);
        }
    }
}
