// Written by page/build.mjs.
pub(crate) const SCRIPT: &str = "/page/assets/page-08bd10d14e.js";
pub(crate) const EDITOR: &str = "/page/assets/editor-4aaae3ca86.js";
pub(crate) const STYLE: &str = "/page/assets/page-bc40904aa3.css";
pub(crate) static ASSETS: [(&str, &str, bool, &[u8]); 5] = [
    (
        "instrument-sans-2ee17598a9.woff2",
        "font/woff2",
        false,
        include_bytes!("instrument-sans.woff2"),
    ),
    (
        "geist-mono-684ad5b531.woff2",
        "font/woff2",
        false,
        include_bytes!("geist-mono.woff2"),
    ),
    (
        "page-bc40904aa3.css",
        "text/css; charset=utf-8",
        true,
        include_bytes!("page.css.gz"),
    ),
    (
        "page-08bd10d14e.js",
        "text/javascript; charset=utf-8",
        true,
        include_bytes!("page.js.gz"),
    ),
    (
        "editor-4aaae3ca86.js",
        "text/javascript; charset=utf-8",
        true,
        include_bytes!("editor.js.gz"),
    ),
];
