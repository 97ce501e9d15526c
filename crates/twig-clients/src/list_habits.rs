//! What some clients do with the list of prompts, so that it has to be written for them.

use crate::command_guard::{COMMAND_CLIENTS, is_called};

/// VS Code writes `_` for everything outside `[a-z0-9_.-]`, as opencode and its forks do.
const EDITORS: [&str; 2] = ["visual studio code", "code - oss"];

/// Gemini CLI gives a person's words to the required arguments, and drops them if there is none.
const GEMINI: &str = "gemini-cli-mcp-client";

/// True if a client of this name replaces letters outside ASCII: two names of the same length may
/// be one there.
pub fn rewrites_names(name: &str) -> bool {
    let mut known = COMMAND_CLIENTS.iter().chain(&EDITORS);
    known.any(|known| is_called(name, known))
}

/// True if a client of this name fills in required arguments only. It sends an empty value for one
/// without words.
pub fn fills_required_only(name: &str) -> bool {
    is_called(name, GEMINI)
}
