//! `file://` URIs of the editor, and the paths that they name.

use std::path::{Path, PathBuf};

use twig_core::uri::{decode, encode};

/// The URI of a path.
pub(super) fn uri_of(path: &Path) -> String {
    format!("file://{}", encode(&path.to_string_lossy()))
}

/// The absolute path of a URI; `None` for files that are nowhere on this machine.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = decode(rest.strip_prefix("localhost").unwrap_or(rest));
    path.starts_with('/').then(|| PathBuf::from(&*path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_one_of_its_uri() {
        for path in ["/a/b c/\u{e4}%20.md", "/x#y?z"] {
            assert_eq!(path_of(&uri_of(Path::new(path))).unwrap(), Path::new(path));
        }
        assert_eq!(path_of("file://localhost/a").unwrap(), Path::new("/a"));
        for uri in ["untitled:Untitled-1", "https://x/y", "file://host/a"] {
            assert_eq!(path_of(uri), None, "{uri}");
        }
    }
}
