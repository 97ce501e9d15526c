//! Imported prompts in a project: each is a first version, with its text as it was written.

use std::collections::{BTreeMap, VecDeque};

use sha2::{Digest as _, Sha256};
use twig_clients::import::ImportedPrompt;
use twig_core::Limits;
use twig_core::store::{
    Author, Change, Digest, GivenContent, ItemDraft, ItemKind, ItemWrite, Noun, Project, Store,
    StoreError, StoreName, Write, decide,
};

use super::Fate;
use crate::project_folder::{ImportedWrite, UNDER_WAY, UNDER_WAY_BYTES, start, wait};

/// What an import will do to a project.
#[derive(Debug)]
pub struct ProjectPlan {
    /// One for each given prompt.
    pub fates: Vec<Fate>,
    writes: Vec<(usize, ItemWrite)>,
}

/// Decides the result for each prompt, and writes nothing.
pub fn plan_project(
    project: &Project,
    name: &StoreName,
    prompts: &[&ImportedPrompt],
    author: &Author,
    limits: &Limits,
) -> ProjectPlan {
    let of_prompts = project.items.iter();
    let of_prompts = of_prompts.filter(|item| item.kind == ItemKind::Prompt);
    let known: BTreeMap<&str, Digest> = of_prompts
        .map(|item| (item.name.as_str(), item.head.content.digest))
        .collect();
    let mut room = limits.project_items.saturating_sub(project.items.len());
    let mut plan = ProjectPlan {
        fates: Vec::with_capacity(prompts.len()),
        writes: Vec::new(),
    };
    for (at, prompt) in prompts.iter().enumerate() {
        let digest: Digest = Sha256::digest(prompt.original.as_bytes()).into();
        let fate = match known.get(prompt.name.as_str()) {
            Some(own) if *own == digest => Fate::Same,
            Some(_) => Fate::Left(format!(
                "the project has another prompt `{}`, which stays as it is",
                prompt.name
            )),
            None => match checked(name, prompt, author, limits) {
                Err(error) => Fate::Left(error.to_string()),
                Ok(_) if room == 0 => Fate::Left(format!(
                    "the project may hold {} prompts and resources",
                    limits.project_items
                )),
                Ok(write) => {
                    room -= 1;
                    plan.writes.push((at, write));
                    Fate::New
                }
            },
        };
        plan.fates.push(fate);
    }
    plan
}

impl ProjectPlan {
    /// Writes the planned prompts. One that the store refuses after all is not imported, and its
    /// result says why. `step` is called after each.
    pub fn write(&mut self, store: &dyn Store, step: &dyn Fn()) {
        let mut under_way: VecDeque<(usize, usize, ImportedWrite)> =
            VecDeque::with_capacity(UNDER_WAY);
        let mut total = 0;
        let fates = &mut self.fates;
        let mut finish = |(at, size, outcome): (usize, usize, ImportedWrite)| {
            if let Err(error) = wait(&outcome) {
                fates[at] = Fate::Left(error.to_string());
            }
            step();
            size
        };
        for (at, write) in self.writes.drain(..) {
            let size = match &write.change {
                Change::Create(draft) => size(&draft.content),
                _ => 0,
            };
            while (under_way.len() == UNDER_WAY || total + size > UNDER_WAY_BYTES)
                && let Some(first) = under_way.pop_front()
            {
                total -= finish(first);
            }
            total += size;
            let outcome = start(store, Write::Item(Box::new(write)));
            under_way.push_back((at, size, outcome));
        }
        for last in under_way {
            finish(last);
        }
    }
}

/// The write that creates a prompt, if the store would accept it.
fn checked(
    project: &StoreName,
    prompt: &ImportedPrompt,
    author: &Author,
    limits: &Limits,
) -> Result<ItemWrite, StoreError> {
    let write = ItemWrite {
        project: project.clone(),
        kind: ItemKind::Prompt,
        name: StoreName::parse(Noun::Prompt, &prompt.name)?,
        change: Change::Create(ItemDraft {
            content: GivenContent::Bytes(prompt.original.clone().into_bytes()),
            description: prompt.description.as_deref().map(Into::into),
            uri: None,
            mime: None,
        }),
        expected: None,
        author: author.clone(),
    };
    decide(&write, None, None, limits)?;
    Ok(write)
}

fn size(content: &GivenContent) -> usize {
    match content {
        GivenContent::Text(text) => text.len(),
        GivenContent::Bytes(bytes) => bytes.len(),
    }
}
