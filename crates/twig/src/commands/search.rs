//! `twig search`: prompts that have every word, best first.

use std::process::ExitCode;

use twig_core::{Bodies, Content, PromptRef};

use super::Opened;
use super::list::{self, Row};
use crate::cli;
use crate::command_error::CommandError;
use crate::ui::Ui;

pub(super) fn run(options: &cli::Search, ui: &mut Ui) -> Result<ExitCode, CommandError> {
    let opened = Opened::new(&options.sources)?;
    let catalog = opened.live.snapshot();
    let words: Vec<String> = options
        .words
        .iter()
        .flat_map(|word| word.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    let mut found: Vec<(u32, PromptRef<'_>)> = catalog
        .prompts(0)
        .filter_map(|found| score(&opened.live, found, &words).map(|score| (score, found)))
        .collect();
    found.sort_by(|one, two| {
        two.0
            .cmp(&one.0)
            .then_with(|| one.1.prompt.full_name.cmp(&two.1.prompt.full_name))
    });
    let rows: Vec<Row<'_>> = found
        .iter()
        .map(|(_, found)| list::row(found.library, found.prompt, None))
        .collect();
    if options.json {
        ui.json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.to_owned(),
                row.description.or(row.title).unwrap_or_default().to_owned(),
            ]
        })
        .collect();
    ui.table(&table)?;
    if rows.is_empty() {
        ui.say(format!("no prompt has `{}`", options.words.join(" ")));
    }
    Ok(ExitCode::SUCCESS)
}

/// How well a prompt fits: a word in the name counts most, one in the text least. `None` where a
/// word is nowhere.
fn score(bodies: &dyn Bodies, found: PromptRef<'_>, words: &[String]) -> Option<u32> {
    let prompt = found.prompt;
    let mut fields = vec![
        (8, prompt.full_name.to_lowercase()),
        (
            4,
            prompt.title.as_deref().unwrap_or_default().to_lowercase(),
        ),
        (
            2,
            prompt
                .description
                .as_deref()
                .unwrap_or_default()
                .to_lowercase(),
        ),
    ];
    let known = |fields: &[(u32, String)], word: &String| -> u32 {
        fields
            .iter()
            .filter(|(_, text)| text.contains(word.as_str()))
            .map(|(weight, _)| weight)
            .sum()
    };
    // Texts are read only where the rest does not have every word.
    if words.iter().any(|word| known(&fields, word) == 0) {
        for message in &prompt.messages {
            let text = match &message.content {
                Content::File(path) => bodies.read(found.library, path).ok().map(|body| body.text),
                Content::Text { text, .. } => Some(text.to_string()),
                Content::Braces { text, .. } => Some(text.as_str().to_owned()),
                _ => None,
            };
            fields.push((1, text.unwrap_or_default().to_lowercase()));
        }
    }
    let scores: Vec<u32> = words.iter().map(|word| known(&fields, word)).collect();
    (!scores.contains(&0)).then(|| scores.iter().sum())
}
