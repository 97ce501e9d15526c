//! Which parts of a prompt are code in another language, where `${name}` belongs to that language.

use std::ops::Range;

use super::FoundPlaceholder;

/// Ranges of a text in which `${…}` is no placeholder.
pub(super) struct Code(Vec<Range<usize>>);

impl Code {
    /// Fenced blocks in a language that writes `${…}` itself, or that show an expression there.
    pub(super) fn of(text: &str) -> Self {
        let mut stretches = Vec::new();
        let mut open: Option<(usize, &str, bool)> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let bare = line.trim();
            if bare.starts_with("```") || bare.starts_with("~~~") {
                let fence = &bare[..3];
                match open {
                    Some((start, opened, is_foreign)) if opened == fence => {
                        if is_foreign || has_expression(&text[start..at]) {
                            stretches.push(start..at);
                        }
                        open = None;
                    }
                    None => open = Some((at + line.len(), fence, is_foreign(&bare[3..]))),
                    Some(_) => {}
                }
            } else if open.is_none() && is_code(line) {
                stretches.push(at..at + line.len());
            }
            at += line.len();
        }
        if let Some((start, _, is_foreign)) = open
            && (is_foreign || text.get(start..).is_some_and(has_expression))
        {
            stretches.push(start..text.len());
        }
        Self(stretches)
    }

    /// True if a placeholder is in code.
    pub(super) fn covers(&self, found: &FoundPlaceholder<'_>) -> bool {
        let after = self.0.partition_point(|range| range.end <= found.start);
        self.0
            .get(after)
            .is_some_and(|range| range.start <= found.start)
    }
}

/// Languages in which `${…}` is no placeholder.
fn is_foreign(info: &str) -> bool {
    let language: String = info
        .trim_start_matches(['`', '~', ' '])
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    matches!(
        language.to_ascii_lowercase().as_str(),
        "js" | "jsx"
            | "mjs"
            | "ts"
            | "tsx"
            | "javascript"
            | "typescript"
            | "bash"
            | "sh"
            | "shell"
            | "zsh"
            | "fish"
            | "console"
            | "php"
            | "perl"
            | "kotlin"
            | "kt"
            | "dart"
            | "groovy"
            | "gradle"
            | "scala"
            | "powershell"
            | "ps1"
            | "dockerfile"
            | "makefile"
            | "make"
            | "terraform"
            | "hcl"
            | "vue"
            | "svelte"
            | "astro"
            | "nix"
            | "cmake"
            | "java"
    )
}

/// True if a line outside of fences is code: it has an expression, and an ending that only code
/// has.
fn is_code(line: &str) -> bool {
    let looks = line.contains('`') || line.trim_end().ends_with([';', '{', '(', ',']);
    looks && has_expression(line)
}

/// True if a text has `${…}` with an expression in it: a call, a member, an operator.
fn has_expression(text: &str) -> bool {
    text.match_indices("${").any(|(start, _)| {
        let inner = &text[start + 2..];
        let window = inner.char_indices().nth(200);
        let inner = window.map_or(inner, |(end, _)| &inner[..end]);
        let Some(end) = inner.find(['}', '\n']) else {
            return false;
        };
        let name = inner[..end].split(':').next().unwrap_or_default();
        let has_member = name.char_indices().any(|(at, c)| {
            let next = name[at + c.len_utf8()..].chars().next();
            c == '.' && at > 0 && next.is_some_and(char::is_alphabetic)
        });
        has_member || name.contains(['(', '[', '?', '+', '*', '=', '`'])
    })
}
