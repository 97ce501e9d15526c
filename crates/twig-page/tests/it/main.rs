//! The HTML of the page, from the outside.

mod markdown;
