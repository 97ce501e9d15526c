//! The script, the style and the fonts, as they were built into `dist`.
//!
//! The name of each has a part of its digest, so that a browser may keep it for ever.

include!("../dist/assets.rs");

/// A file that the page needs.
#[derive(Debug, Clone, Copy)]
pub struct PageAsset {
    /// Its type.
    pub mime: &'static str,
    /// True if the bytes are compressed with gzip.
    pub is_gzip: bool,
    /// Its bytes.
    pub bytes: &'static [u8],
}

/// The file with this name, without the folder in front.
pub fn asset(name: &str) -> Option<PageAsset> {
    let found = ASSETS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, mime, is_gzip, bytes)| PageAsset {
        mime,
        is_gzip: *is_gzip,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_asks_for_files_that_are_there_and_small() {
        let shell = crate::shell().into_string();
        let names = shell.split("/page/assets/").skip(1);
        let names: Vec<&str> = names.filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(names.len(), 3, "{shell}");
        for name in names {
            let asset = asset(name).unwrap();
            assert!(asset.is_gzip, "{name}");
            // The editor is loaded with the first text that is edited.
            let most = if name.starts_with("editor") { 135 } else { 16 };
            assert!(
                asset.bytes.len() <= most * 1024,
                "{name}: {}",
                asset.bytes.len()
            );
        }
        assert!(asset("../Cargo.toml").is_none());
        let fonts = ASSETS.iter().filter(|(_, mime, ..)| *mime == "font/woff2");
        let fonts: usize = fonts.map(|(.., bytes)| bytes.len()).sum();
        assert!(fonts <= 60 * 1024, "{fonts}");
    }
}
